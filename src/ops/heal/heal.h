/* heal.h - files of models that are not there, or do not have the bytes that they should,
 * get them from where they are: another store or model, a folder or file that was named, what
 * was taken away and not thrown away yet; and, if that is wanted, the registry that they come from.
 *
 * What a file should be is its digest: that of its name or manifest, or the one that a verify
 * has recorded.  What was written since it was recorded is a new version, and left alone.
 * Sources are read and never written.  Where no source has the whole file, one tensor that is
 * damaged can come from another model's tensor of that name, if with it the whole has its
 * digest again.
 *
 * The new file is made beside, synced and hashed before it takes the old one's place, which
 * goes to the quarantine of the store. */
#ifndef TBTUI_OPS_HEAL_H
#define TBTUI_OPS_HEAL_H

#include "src/base/arena.h"
#include "src/base/job.h"
#include "src/ops/home/home.h"

/* id, word in --json, for a person */
#define HEAL_WRONG_LIST(X) \
	X(HEAL_MISSING, "missing", "is not there") \
	X(HEAL_UNREADABLE, "unreadable", "cannot be read") \
	X(HEAL_SIZE, "size", "has not the size that it should") \
	X(HEAL_BYTES, "bytes", "does not have the bytes that it should")
#define X(id, word, text) id,
enum heal_wrong { HEAL_WRONG_LIST(X) };
#undef X
const char *heal_wrong_word(enum heal_wrong w);
const char *heal_wrong_text(enum heal_wrong w);

/* Where the bytes of a tensor come from that is damaged. */
struct heal_patch {
	const char *tensor;
	const char *path;		/* the file, and where in it */
	uint64_t from, off, len;	/* off: in the file that is healed */
};

struct heal_remote;
struct heal_range { uint64_t off, len; };

struct heal_item {
	const char *path, *store;	/* store: the folder whose quarantine the old one goes to */
	const char *model;		/* that uses it, the first of them */
	const char *digest;		/* that it should have */
	uint64_t size;			/* of the good one, once found */
	enum heal_wrong wrong;
	const char *source;		/* the file that has the bytes, or the repository; or NULL */
	const char *from;		/* the kind of source: "model", "quarantine", … */
	struct heal_patch *patches;	/* in order; else they are those of the old one, but for these */
	size_t npatches;
	struct heal_remote *remote;	/* the plan's; NULL: the source is a file */
	struct heal_range *ranges;	/* in order: what comes from there; none: all of it */
	size_t nranges;
	uint64_t come;			/* bytes that come */
	const char *origin;		/* nothing that was asked has it: where its model's name says that
					 * it comes from, if that is a registry and was not; or NULL */
	bool manifest;			/* what it lists is known once it is healed */
	bool done;
	const char *why;		/* it was not healed, or cannot be; NULL */
	/* private: what was at its place when it was looked at, and the time it should have */
	struct { uint64_t dev, ino, size; int64_t mtime_ns; } was;
	int64_t time_ns;
};

struct heal_request {
	const char *const *refs;	/* models; none: all of the stores; borrowed */
	size_t nrefs;
	const char *const *from;	/* models, files, folders; addresses of repositories */
	size_t nfrom;
	bool remote;			/* ask the registries that the models' names speak of */
	bool insecure, skip_verify;	/* plain HTTP; anybody's certificate */
	bool recover;			/* deal with what was killed first: for who will do it */
};

struct heal_plan {
	struct heal_item *items;	/* what is damaged, by path */
	size_t n;
	uint64_t models, files, bytes;	/* looked at; bytes: hashed */
	uint64_t believed;		/* of the files: verified within the last hour */
	uint64_t unknown;		/* files of which nobody knows what they should be */
	uint64_t write, come;		/* bytes that healing writes; of them: from registries */
	uint64_t healed, failed;
	const char **bad;		/* sentences: models that are damaged, and no digest says how */
	size_t nbad;
	const char **unread;		/* sentences: places of which nobody knows what is in them */
	size_t nunread;
	uint64_t *undo;			/* of each operation that was done */
	size_t nundo;
	double seconds;
	struct tb_arena mem;		/* all that is above */
	struct heal_remote *remotes;	/* owned */
};

/* Looks, and changes nothing but for `recover`.  TB_OK also where nothing can be healed. */
enum tb_status op_heal_plan(struct op_ctx *ctx, const struct heal_request *req, struct tb_job *job,
			    struct heal_plan *out, struct tb_err *err) TB_MUST_USE;
/* Does what the plan says; what cannot be done has its `why` then. */
enum tb_status op_heal(struct op_ctx *ctx, struct heal_plan *plan, struct tb_job *job,
		       struct tb_err *err) TB_MUST_USE;
void heal_free(struct heal_plan *plan);
/* A registry's repository that was asked, by its name; NULL: there are no more. */
const char *heal_remote_name(const struct heal_plan *plan, size_t i);
#endif
