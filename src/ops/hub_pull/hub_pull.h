/* hub_pull.h - a model of a Hugging Face hub into a cache as `hf` keeps it:
 *
 *	models--ORG--NAME/blobs/DIGEST
 *	models--ORG--NAME/snapshots/COMMIT/FILE -> ../../blobs/DIGEST
 *	models--ORG--NAME/refs/REVISION
 *
 * What comes lies in the repository's .tbtui/pull until all of it is there and right; then blobs get
 * their names, links are made, and the revision's name comes last.  What is there already is
 * believed only where it was hashed as it is now; what is damaged is replaced, and kept. */
#ifndef TBTUI_OPS_HUB_PULL_H
#define TBTUI_OPS_HUB_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/fetch/fetch.h"

struct op_ctx;
struct tb_job;

struct hub_pull_request {		/* all borrowed for hub_pull_new() */
	const char *name;		/* see src/net/hub_name.h */
	const char *store;		/* the cache; NULL: the first there is, or that of `hf` */
	const char *const *include;	/* globs, ended by NULL; NULL: what a model needs */
	const char *const *exclude;
	bool skip_verify;		/* anybody's certificate */
	unsigned streams;		/* 0: as usual */
};

/* Made by who looks at it, run by a worker: those two at once are fine. */
struct hub_pull;
enum tb_status hub_pull_new(struct hub_pull **out, struct op_ctx *ctx,
			    const struct hub_pull_request *req, struct tb_err *err) TB_MUST_USE;
void hub_pull_free(struct hub_pull *p);		/* not while it runs; NULL is fine */
/* The number of files that come, and how each of them is: see fetch_look(). */
size_t hub_pull_look(struct hub_pull *p, struct fetch_row *rows, size_t max);

/* What a pull would do: the hub was asked for its list, and no file was read. */
struct hub_pull_plan {
	char *name, *root, *snapshot;	/* owned: "hf:org/name@…", the cache, the folder */
	char commit[41];
	bool current;			/* the snapshot has all of these files */
	size_t files, come_files;	/* that are wanted; that are not there, or damaged */
	uint64_t bytes, come;
	uint64_t unsure;		/* bytes that are there, but have to be hashed first */
	uint64_t begun;			/* of `come`: lie there from a pull that did not end */
	uint64_t room;			/* free; UINT64_MAX: nobody knows */
	size_t left_files;		/* of the repository that are not wanted */
	uint64_t left;
	char left_names[160];		/* the largest of them */
};
enum tb_status op_hub_pull_plan(struct hub_pull *p, struct tb_job *job, struct hub_pull_plan *out,
				struct tb_err *err) TB_MUST_USE;
void hub_pull_plan_free(struct hub_pull_plan *plan);

/* After that: the repository's files, which of them are wanted, and whom to ask for them by which
 * commit; borrowed. */
struct hub;
struct hub_files;
const struct hub_files *hub_pull_files(const struct hub_pull *p, const bool **take,
				       const char **commit, struct hub **hub);

struct hub_pull_result {
	struct hub_pull_plan plan;	/* as it was before */
	size_t mended;
	uint64_t moved;			/* bytes that the servers sent; also of what failed */
	uint64_t undo;			/* the operation that keeps what was damaged; 0: none */
	double seconds;
};
/* Once for a struct hub_pull.  Cancelled or failed: the cache is as before, and the next pull goes
 * on with what came.  TB_ESYNC: all is there, and only a power cut could take it away. */
enum tb_status op_hub_pull(struct hub_pull *p, struct tb_job *job, struct hub_pull_result *out,
			   struct tb_err *err) TB_MUST_USE;
void hub_pull_result_free(struct hub_pull_result *r);
#endif
