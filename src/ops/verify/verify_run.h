/* verify_run.h - inside a verify run: the models, the distinct files, the findings. */
#ifndef TBTUI_OPS_VERIFY_RUN_H
#define TBTUI_OPS_VERIFY_RUN_H

#include <pthread.h>

#include "db/run_files.h"
#include "db/write.h"
#include "src/base/arena.h"
#include "src/base/pool.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/ops/verify/verify.h"
#include "src/ops/verify/verify_complete.h"
#include "src/store/lock.h"
#include "src/store/unread.h"

/* What stays of a model once its headers were read: a store has more tensors than
 * anybody wants to hold for the length of a run. */
struct verify_file {
	const char *path;		/* of its model or of the run, as are all texts */
	char digest[TB_DIGEST_MAX];	/* "gitsha1:…" as well */
	const char *sums;		/* the list beside it that states `digest`; NULL: its name
					 * or manifest does, or nobody */
	uint64_t want_size;
	struct tb_ident id;
	bool missing, unread, outside, manifest;
	bool sized;			/* want_size is what the manifest says */
	const char *odd_media;		/* a media type nobody knows, or NULL */
	const char *tensor;		/* the first in it, or NULL */
	uint64_t tensor_off;		/* of its bytes; if ntensors */
	uint32_t ntensors;		/* 0: only the manifest says what it should hold */
	const struct verify_target *target;	/* once all is hashed; NULL: it was not */
	struct verify_bytes *bytes;	/* owned; by offset; --deep */
	size_t nbytes, bytes_cap;
};

/* How a finding calls it: what its name says of its bytes, or else its path. */
static inline const char *
verify_label(const struct verify_file *f)
{
	return *f->digest && !f->sums ? f->digest : f->path;
}

struct verify_model {
	struct model_loc loc;		/* owned */
	struct tb_arena mem;		/* what it points to */
	struct verify_file *files;
	size_t nfiles;
	struct verify_problem {
		const char *message;
		char digest[TB_DIGEST_MAX];
		bool absent, index;
	} *problems;
	const char *remark;		/* or NULL */
	size_t nproblems;
	struct verify_gaps gaps;	/* why it would not run */
	const char *failure;		/* why it could not be opened at all, or NULL */
	char manifest[TB_DIGEST_MAX];	/* of its bytes; "" if it has none */
	uint64_t bytes;			/* of all its files */
	bool unchecked;			/* because of digests that cannot be computed here */
	uint64_t stamp, errors;
	uint64_t incomplete;		/* of the errors: nothing is damaged, but something is not
					 * there that a run would need */
	uint64_t equal;			/* uses of files that are equal to a digest */
	bool doubled;			/* another store has listed it, too */
	bool gone;			/* it was taken away before it could be read */
};

/* A file that is looked at once, whoever uses it. */
struct verify_target {
	const struct verify_file *file;	/* of its first user, or an orphan */
	struct verify_use { uint32_t model, file; } *uses;	/* borrowed from the run */
	size_t nuses;			/* 0: an orphan */
	const char *real;		/* its path without links and "..", where that is another
					 * one: what it was is found under both */
	struct db_hash was;		/* the last hash, if `known` */
	bool known, bad;
	struct verify_summing *sums;	/* owned: while it is hashed */
	struct verify_scan *scan;	/* the same; --deep */
	bool summed;			/* the sums of its good bytes are kept */
	bool unsized;			/* a manifest says another size than it has */
	bool rotten;			/* other bytes behind the same size and time */
	/* Every byte is what a digest says: now, or when it was skipped. */
	bool equal;
	char found[TB_DIGEST_MAX];	/* SHA-256 of its bytes, then too; "": not read */
};

struct verify_run {
	struct op_ctx *ctx;
	const struct verify_request *req;
	struct tb_job *job;
	struct verify_result *out;
	struct db *db;
	int64_t started_ns;

	struct verify_model *models;	/* owned */
	size_t nmodels, cap;
	struct verify_use *uses;	/* owned: by path */
	struct verify_target *targets;	/* owned: largest first */
	size_t ntargets;
	struct verify_target **hashed;	/* owned: those that are read */
	struct tb_arena mem;		/* texts of orphans and targets */
	struct verify_file *orphans;	/* owned: those that are hashed, too */
	size_t norphans, orphans_cap;
	struct db_run_root *roots;	/* owned: one for each of ctx->roots; NULL: not looked at */
	struct unread unread;		/* folders and manifests; owned */
	/* verify_resume.c: the runs that this one goes on with, the last first. */
	struct verify_resume {
#define VERIFY_RESUMES 32
		int64_t runs[VERIFY_RESUMES];
		struct db_findings found[VERIFY_RESUMES];	/* owned */
		size_t nruns;
		const struct db_finding **doubts;		/* owned: of all, by blob */
		size_t ndoubts;
	} resume;

	pthread_mutex_t lock;		/* guards what follows, and out's counts */
	struct verify_news {		/* for the next flush */
		struct tb_arena mem;
		struct verify_note { struct verify_note *next; struct db_finding f; } *first, *last;
		struct verify_hash {
			struct verify_hash *next;
			const char *path;
			struct db_hash h;
		} *hashes;
		struct verify_sums {
			struct verify_sums *next;
			char digest[TB_DIGEST_MAX], was[TB_DIGEST_MAX];
			void *packed;
			size_t len;
		} *sums;
	} news;
	double flushed;
	enum tb_status status;		/* first failure of the run itself */
	struct tb_err err;
};

/* verify_find.c */
struct verify_where {
	const struct verify_model *model;	/* NULL: none */
	const char *blob, *tensor;		/* NULL: none */
	const uint64_t *offset, *bytes;		/* NULL: none; bytes that are wrong from there */
	const char *rows;			/* of the tensor; NULL: none */
	const char *expected, *actual;		/* NULL: none */
};
/* One finding: counted, posted, kept for the next flush. Thread-safe. */
void verify_find(struct verify_run *r, enum finding_code code, const struct verify_where *at,
		 const char *fmt, ...) TB_PRINTF(4, 5);
/* A folder that could not be read. */
void verify_find_unread(struct verify_run *r, const struct unread_place *p);
void verify_remember(struct verify_run *r, const char *path, const struct db_hash *h);
/* Packed sums of a file with that digest; those of `was` ("": none) may go. */
void verify_keep_sums(struct verify_run *r, const char *digest, const char *was,
		      const void *packed, size_t len);
void verify_fail(struct verify_run *r, enum tb_status status, const struct tb_err *err);
/* Writes what has come together; only on the thread that owns the connection. */
enum tb_status verify_flush(struct verify_run *r, struct tb_err *err) TB_MUST_USE;
/* fn for each of n parts on the pool; fails as any of them did. */
enum tb_status verify_each(struct verify_run *r, size_t n, tb_pool_fn *fn, struct tb_err *err)
	TB_MUST_USE;

/* verify_models.c: collects the models, reads their headers, finds what manifests and
 * headers alone tell. */
enum tb_status verify_collect(struct verify_run *r, struct tb_err *err) TB_MUST_USE;
enum tb_status verify_read_models(struct verify_run *r, struct tb_err *err) TB_MUST_USE;
void verify_free_models(struct verify_run *r);

/* verify_moved.c: keeps others from taking away what is in the model's store. */
void verify_hold(const struct verify_model *m, struct store_lock *l);
/* A file that was there and could not be opened; *gone (with TB_ENOENT): with all models that
 * had it. */
enum tb_status verify_open_again(struct verify_run *r, const struct verify_target *t,
				 struct tb_file *f, bool *gone, struct tb_err *err) TB_MUST_USE;

/* verify_names.c: the tensors in each file; false: no memory. */
bool verify_name_tensors(struct verify_model *to, const struct model *m) TB_MUST_USE;
/* Puts the tensor of the file (NULL: of none) into *at, unless it has one, and gives words
 * for the end of a message: "" or "; it holds …". */
#define VERIFY_NAME_MAX 320
const char *verify_name(const struct verify_file *f, struct verify_where *at,
			char out[VERIFY_NAME_MAX]);

/* verify_sidecar.c: what lists of sums beside a folder's or a file's bytes say of them;
 * fails for want of memory or descriptors alone. */
enum tb_status verify_read_sidecars(struct verify_model *to, const struct model *m,
				     struct tb_err *err) TB_MUST_USE;

/* verify_files.c: hashes every distinct file once, after verify_store(). */
enum tb_status verify_files(struct verify_run *r, struct tb_err *err) TB_MUST_USE;
/* The same finding for each model that uses the file (once a model, however often). */
void verify_find_for_all(struct verify_run *r, struct verify_target *t, enum finding_code code,
			 struct verify_where at, const char *message);

/* verify_where.c: bytes of a file are wrong.  A finding for each place, as far as anything is
 * known of them; `message` is in the first. */
enum tb_status verify_find_damage(struct verify_run *r, struct verify_target *t,
				  const struct tb_file *f, enum finding_code code,
				  const char *expected, const char *actual, const char *message,
				  struct tb_err *err) TB_MUST_USE;
/* The file is shorter than `want`: puts the tensor that it ends in into *at, and words for
 * the end of a message into `out`; both stay as they are where that is not known. */
struct verify_cut { uint64_t off, bytes; char tensor[256], rows[128]; };
enum tb_status verify_cut_off(const struct tb_file *f, uint64_t want, struct verify_cut *cut,
			      struct verify_where *at, char out[VERIFY_NAME_MAX],
			      struct tb_err *err) TB_MUST_USE;

/* verify_kept.c: the digest of a model's manifest.  Fails only when memory runs out. */
enum tb_status verify_hash_manifest(struct verify_model *m, struct tb_err *err) TB_MUST_USE;
/* A file that lies in a store and is no model's, for its report. */
enum tb_status verify_count_unused(struct verify_run *r, const struct blobdir_entry *e,
				   bool orphan, struct tb_err *err) TB_MUST_USE;
/* What a model's state is from now on, and what was seen of it and of the stores. */
enum tb_status verify_keep(struct verify_run *r, struct tb_err *err) TB_MUST_USE;

/* verify_resume.c: is there a run to go on with?  `run` is this one. */
enum tb_status verify_resume_find(struct verify_run *r, const struct db_run *run,
				  struct tb_err *err) TB_MUST_USE;
/* Had it found the target good?  Counts it then. */
bool verify_resume_skips(struct verify_run *r, struct verify_target *t);
void verify_resume_free(struct verify_resume *z);

/* verify_state.c: what it comes to, for a model and for the run. */
enum db_state verify_model_state(const struct verify_model *m);
enum run_state verify_run_state(const struct verify_result *out, enum tb_status status);

/* verify_scan.c (--deep): which U8 and U32 in the files are floats of 8 bits (scales, codes),
 * and which scales go with which codes, as the model has it; false: no memory. */
struct verify_bytes {
	uint64_t off, len;
	enum dtype dtype;
	uint64_t codes_off, codes_len;	/* of the same file, of scales: a group has `step` bytes */
	unsigned bits;			/* a code */
	unsigned step;			/* 0: they are no such scales */
};
bool verify_keep_bytes(struct verify_model *to, const struct model *m) TB_MUST_USE;

/* verify_zeros.c: the first run of zeros that fills pages, in [off, off + len) of a file that
 * is known to be damaged; its len is 0: there is none. */
struct verify_zeros {
	uint64_t off, len;
	char tensor[256];		/* that it begins in, cut; "": in none */
};
enum tb_status verify_find_zeros(struct verify_run *r, const struct tb_file *f, uint64_t off,
				 uint64_t len, struct verify_zeros *out, struct tb_err *err)
	TB_MUST_USE;

/* verify_store.c: orphans, partial downloads, leftovers of the roots.  Orphans join
 * what is hashed where damage in them may be damage to a model. */
enum tb_status verify_store(struct verify_run *r, struct tb_err *err) TB_MUST_USE;
#endif
