/* look_parts.h - private to src/ops/look. */
#ifndef TBTUI_OPS_LOOK_PARTS_H
#define TBTUI_OPS_LOOK_PARTS_H

#include <pthread.h>

#include "src/base/partial.h"
#include "src/base/pool.h"
#include "src/net/http.h"
#include "src/ops/look/look.h"

struct op_ctx;

/* A file of the mirror. */
struct look_file {
	struct look *look;
	char *path;			/* in the mirror; owned */
	char *name;			/* where it comes from: digest, or path there; owned */
	char digest[TB_DIGEST_MAX];	/* "sha256:…", "gitsha1:…" */
	uint64_t size;
	const void *ref;		/* the source's own; borrowed */
	char *copy;			/* a file here that is known to have its bytes; or NULL; owned */
	bool whole;			/* small: read at once, and compared with its digest */
	bool here;			/* a link to what a store has, and all there */
	bool early;			/* whoever opens the model will read it */
	bool busy;			/* somebody fetches some of it */
	struct stretch { uint64_t from, to; } *v;	/* what is there, in order, apart; owned */
	size_t n, cap;
	uint64_t ahead;			/* bytes to fetch at once of a header that does not say how
					 * long it is; 0: it does */
	struct tb_partial partial;
};

/* Where the bytes are. */
struct look_source {
	/* [off, off + len) of the file, in order, to fn. */
	enum tb_status (*get)(void *arg, struct http *h, const struct look_file *f, uint64_t off,
			      uint64_t len, http_body_fn *fn, void *fn_arg, struct tb_job *job,
			      struct http_fate *fate, struct tb_err *err);
	const char *(*host)(const void *arg);
	/* What people call the file there, in fresh memory; NULL: no memory. */
	char *(*place)(const void *arg, const struct look_file *f);
	/* What a pull would take; NULL: the blobs that an Ollama store has not. */
	void (*cost)(const void *arg, struct look_facts *out);
	void (*free)(void *arg);
	void *arg;			/* owned */
};

struct look {
	char *dir;			/* the mirror; owned */
	int held;			/* it, open and locked: nobody sweeps it */
	struct model_loc loc;
	struct look_source source;
	struct look_file **files;	/* owned, by path once they are all there */
	size_t n, cap;
	struct tb_pool *streams;	/* threads that wait for connections; owned */
	/* Of what follows and of the files' v, busy, ahead: */
	pthread_mutex_t lock;
	pthread_cond_t idle;		/* no longer busy */
	struct http **http;		/* those that nobody uses; owned */
	size_t nhttp, http_cap;
	struct tb_job *job;
	uint64_t moved, planned, allowed;
	uint64_t header;		/* bytes that headers had lately */
	bool heads;			/* headers are being read: what follows will be wanted, too */
	struct tb_err failed;
};

/* look_mirror.c: the folder and its files. */
enum tb_status mirror_make(struct look *l, struct tb_err *err) TB_MUST_USE;
void mirror_remove(struct look *l);
/* A file with these bytes, or (data NULL) one of that length that is empty so far; `below` the
 * mirror.  The second of one path is not made again: *out is NULL. */
enum tb_status mirror_file(struct look *l, const char *below, const void *data, uint64_t size,
			   const char *name, const char *digest, struct look_file **out,
			   struct tb_err *err) TB_MUST_USE;
/* It is what a store has at `path`. */
enum tb_status mirror_link(struct look *l, const char *below, const char *path, const char *name,
			   uint64_t size, struct look_file **out, struct tb_err *err) TB_MUST_USE;
/* A link of its layout. */
enum tb_status mirror_entry(struct look *l, const char *below, const char *target,
			    struct tb_err *err) TB_MUST_USE;
void mirror_sort(struct look *l);
struct look_file *mirror_find(const struct look *l, const char *path);

/* look_read.c: for struct tb_partial. */
enum tb_status look_file_need(void *file, uint64_t off, uint64_t len, struct tb_err *err);
uint64_t look_file_there(void *file, uint64_t off, uint64_t len);
/* All headers, and the small files that say what they mean. */
enum tb_status look_heads(struct look *l, const char *name, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;

/* Makes the source and the mirror of what the name means. */
enum tb_status look_registry(struct look *l, struct op_ctx *ctx, const struct look_request *req,
			     struct tb_job *job, struct tb_err *err) TB_MUST_USE;
enum tb_status look_hub(struct look *l, struct op_ctx *ctx, const struct look_request *req,
			struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* What is the model in the mirror of a hub's; behind look_heads(). */
enum tb_status look_locate(struct look *l, struct tb_err *err) TB_MUST_USE;
/* look_stores.c: is it the very file that had this digest when it was hashed? */
struct db;
bool look_is_known(struct db *db, const char *path, const char *digest, uint64_t size);
/* The blob of a store of ctx->roots that is known to have these bytes; *path NULL:
 * there is none.  Caller frees. */
enum tb_status look_in_stores(const struct op_ctx *ctx, struct db *db, const char *digest,
			      uint64_t size, char **path, struct tb_err *err) TB_MUST_USE;
#endif
