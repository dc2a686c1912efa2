/* content.h - the files of all models of the stores and what lies among their blobs, each
 * once, with what its bytes should be and what is known of them.
 *
 * Asks the stores themselves; the index's memory of hashes is believed only where a file is
 * what it was when it was hashed. */
#ifndef TBTUI_OPS_CONTENT_H
#define TBTUI_OPS_CONTENT_H

#include "src/base/arena.h"
#include "src/base/job.h"
#include "src/ops/home/home.h"
#include "src/store/model.h"

#define CONTENT_NONE UINT32_MAX

struct content_file {
	const char *path;		/* of the list, as are all texts */
	uint32_t model;			/* the first that uses it; CONTENT_NONE: none does */
	struct tb_ident id;		/* zero: not there */
	uint64_t nlink;
	int64_t ctime_ns;
	uint32_t uid, gid, mode;
	uint64_t want_size;		/* if sized: as a manifest states it */
	bool sized, missing, unread;
	bool manifest;
	bool odd;			/* a problem of its model speaks of it */
	bool wanted;			/* of a model that was asked for */
	/* "sha256:…" or "gitsha1:…" that its name or manifest states; "": nobody does. */
	char digest[TB_DIGEST_MAX];
	/* Its last hash, whatever the file was then; "": never hashed. */
	char last[TB_DIGEST_MAX];
	struct tb_ident last_id;
	int64_t last_ns;
	bool last_ok;
};

struct content_model {
	struct model_loc loc;		/* owned */
	bool wanted, odd;		/* odd: parts of it could not be read, or are not there */
	const char *failure;		/* why it could not be opened, or NULL */
	const char *problems;		/* in what could be, a line each; "" */
	struct content_file *files;	/* of its own memory; until they are all in one list */
	size_t nfiles;
	struct tb_arena mem;
};

struct content {
	struct content_model *models;	/* owned */
	size_t nmodels, models_cap;
	struct content_file *files;	/* owned: by path */
	size_t n, cap;
	struct tb_arena mem;
	struct unread unread;		/* owned: what is there is not all that there is */
};

/* Everything in ctx->roots; refs that are elsewhere join it.  `wanted` are the models of
 * the refs, or without any all.  recover: operations on these stores that were killed are dealt
 * with first, or what is found would not stay so. */
enum tb_status content_collect(struct op_ctx *ctx, const char *const *refs, size_t nrefs,
			       bool recover, struct tb_job *job, struct content *out,
			       struct tb_err *err) TB_MUST_USE;
void content_free(struct content *c);
/* Why each place that could not be read is unknown, as texts of `mem`. */
enum tb_status content_unread(const struct content *c, struct tb_arena *mem, const char ***out,
			      size_t *n, struct tb_err *err) TB_MUST_USE;

/* A file that somebody who is no verify has hashed, and found to be what `digest` says. */
struct content_hashed {
	const char *path, *digest;	/* borrowed */
	struct tb_ident was;		/* then */
	bool placed;			/* it got its name, and another time, after that */
};
/* content_hashed.c: notes them in the index as a verify does, if they are still what they were, and
 * that those of the models (as store_resolve() takes them) are right of which every byte is known
 * by now.  What cannot be noted is hashed again by who wants to know. */
void content_note_hashed(const struct op_ctx *ctx, const struct content_hashed *v, size_t n,
			 const char *const *models, size_t nmodels);

/* What the bytes of the file are known to be, without reading it: its last hash if it is
 * what it was then, else what its name says; "": nobody knows. */
const char *content_known(const struct content_file *f);
/* The folder of the store that the file of a model is in, or its own folder where that is on
 * another file system; NULL when out of memory, caller frees. */
char *content_store(const struct content *c, const struct content_file *f);
#endif
