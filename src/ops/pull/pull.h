/* pull.h - a model from a registry into an Ollama store.
 *
 * Nothing half is ever in the store: what comes lies in .tbtui/pull until all of the model is
 * there and its digests are right; then blobs get their names, and the manifest comes last with
 * the bytes that the registry gave.  What the store has already is believed only where
 * it was hashed as it is now; what is damaged is replaced, and the old one kept. */
#ifndef TBTUI_OPS_PULL_H
#define TBTUI_OPS_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/sha256.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/output/output.h"

struct op_ctx;
struct tb_job;

struct pull_request {			/* all borrowed for pull_new() */
	const char *name;		/* see src/net/image_name.h */
	const char *as;			/* what it shall be called; NULL: as there */
	const char *store;		/* the folder; NULL: where new models go */
	bool insecure;			/* plain HTTP */
	bool skip_verify;		/* anybody's certificate */
	bool replace;			/* the name may be taken; the old one is kept */
	unsigned streams;		/* 0: as usual */
};

/* Made by who looks at it, run by a worker: those two at once are fine. */
struct pull;
enum tb_status pull_new(struct pull **out, struct op_ctx *ctx, const struct pull_request *req,
			struct tb_err *err) TB_MUST_USE;
void pull_free(struct pull *p);		/* not while it runs; NULL is fine */
/* The number of blobs that come, and how each of them is: see fetch_look(). */
size_t pull_look(struct pull *p, struct fetch_row *rows, size_t max);

/* Has the store a model of that name?  id, word in --json */
#define PULL_NAME_LIST(X) \
	X(PULL_NEW, "new") \
	X(PULL_SAME, "same")		/* that very manifest */ \
	X(PULL_OTHER, "other")
#define X(id, word) id,
enum pull_name { PULL_NAME_LIST(X) };
#undef X
const char *pull_name_word(enum pull_name n);

/* What a pull would do: the manifest alone has been asked for, and no file been read. */
struct pull_plan {
	char *from, *name, *root;	/* owned: where it comes from, what it will be called, in
					 * which store */
	char digest[TB_DIGEST_MAX];	/* of the manifest */
	enum pull_name taken;
	size_t blobs, come_blobs;	/* each counted once */
	uint64_t bytes;			/* of all of them */
	uint64_t come;			/* of those that the store has not, or damaged */
	uint64_t unsure;		/* that it has, but that have to be hashed first */
	uint64_t begun;			/* of `come`: lie there from a pull that did not end */
	uint64_t room;			/* free; UINT64_MAX: nobody knows */
};
enum tb_status op_pull_plan(struct pull *p, struct tb_job *job, struct pull_plan *out,
			    struct tb_err *err) TB_MUST_USE;
void pull_plan_free(struct pull_plan *plan);

struct pull_result {
	char *from, *name, *root;	/* owned */
	char digest[TB_DIGEST_MAX];
	bool current;			/* it was all there and right: nothing was done */
	size_t blobs, come_blobs, mended;
	uint64_t bytes, come;		/* come: of the blobs that were not there */
	uint64_t moved;			/* bytes that the servers sent; also of what failed */
	uint64_t undo;			/* the operation that keeps what was damaged; 0: none */
	double seconds;
	struct kept kept;		/* the manifest that was replaced; owned */
};
/* Once for a struct pull.  Cancelled or failed: the store is as before, and the next pull goes on
 * with what came.  TB_ESYNC: all is there, and only a power cut could take it away. */
enum tb_status op_pull(struct pull *p, struct tb_job *job, struct pull_result *out,
		       struct tb_err *err) TB_MUST_USE;
void pull_result_free(struct pull_result *r);
#endif
