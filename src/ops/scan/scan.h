/* scan.h - bringing the index up to date with the stores.
 *
 * Models whose manifest and files have the identity they had (device, inode, size,
 * mtime) are not opened.  An interrupted scan leaves every model as it was or as it is. */
#ifndef TBTUI_OPS_SCAN_H
#define TBTUI_OPS_SCAN_H

#include "src/base/job.h"
#include "src/ops/home/home.h"

/* id, word in --json */
#define SCAN_CHANGE_LIST(X) \
	X(SCAN_ADDED, "added") \
	X(SCAN_CHANGED, "changed") \
	X(SCAN_REMOVED, "removed") \
	X(SCAN_UNREADABLE, "unreadable")	/* nothing of it can be shown; listed as damaged */ \
	X(SCAN_UNSEEN, "unseen")	/* where it lies could not be read: it stays listed */ \
	X(SCAN_AWAY, "away")	/* a store that is not there now: its models stay listed */
#define X(id, word) id,
enum scan_change { SCAN_CHANGE_LIST(X) SCAN_CHANGE_COUNT };
#undef X
const char *scan_change_word(enum scan_change c);

struct scan_request {
	const char *const *dirs;	/* instead of ctx->roots when ndirs > 0; borrowed */
	size_t ndirs;
	bool again;			/* open everything, changed or not */
	bool forget;			/* drop roots whose folder is there no more: without it
					 * they stay, since the disk may only be away */
};

struct scan_item {
	enum scan_change change;
	char *name, *path;		/* owned by the result */
	char *problem;			/* first of its problems, or NULL */
};

struct scan_result {
	uint64_t added, changed, removed, unchanged;
	uint64_t unseen;		/* models that stay listed though they were not seen */
	uint64_t unread;		/* folders and files that could not be read */
	uint64_t problems;		/* models with parts that cannot be read */
	uint64_t models, tensors;	/* in the index now, below the scanned folders */
	uint64_t blobs, orphans, orphan_bytes, missing, left;
	struct scan_item *items;	/* what changed */
	size_t nitems, cap;
	double seconds;
	char notice[512];		/* an index that was set aside, or "" */
};

/* What tb_job_post() carries: SCAN_MSG_ITEM, the model's name as text; how far it
 * is, is in the job's progress (items = models). */
enum { SCAN_MSG_ITEM = 1 };

enum tb_status op_scan(struct op_ctx *ctx, const struct scan_request *req, struct tb_job *job,
		       struct scan_result *out, struct tb_err *err) TB_MUST_USE;
void scan_result_free(struct scan_result *r);
#endif
