/* dedupe.h - equal files become one on the disk.
 *
 * Where the file system can, they share their bytes and stay two files (FIDEDUPERANGE: the
 * kernel compares them, and whoever writes to one has it for himself again).  Else one
 * gets the name of the other as well, which is right only where nobody ever writes into
 * either: files that are named by their content, and weights, which programs replace as a
 * whole.  The file that goes is in the quarantine of its store then, and its bytes are free
 * when that is emptied.
 *
 * Which files may be equal is known from names and hashes, else they are hashed; that they are
 * is found by comparing all of their bytes. */
#ifndef TBTUI_OPS_DEDUPE_H
#define TBTUI_OPS_DEDUPE_H

#include "src/base/arena.h"
#include "src/base/job.h"
#include "src/ops/home/home.h"

enum dedupe_how { DEDUPE_REFLINK, DEDUPE_LINK };
const char *dedupe_how_word(enum dedupe_how how);

/* A file, as it was when it was compared. */
struct dedupe_file {
	const char *path, *store, *model;	/* model: the first that uses it, or "" */
	uint64_t dev, ino, size, nlink;
	int64_t mtime_ns, ctime_ns;
	uint32_t uid, gid, mode;
};

struct dedupe_item {
	struct dedupe_file keep, file;
	const char *digest;		/* of both */
	enum dedupe_how how;
	uint64_t set;			/* items of one content have one number, from 0 */
	uint64_t bytes;			/* that are free then (0: a name more of the same file) */
	bool done;
	const char *why;		/* it is not done, or cannot be; NULL */
};

struct dedupe_request {
	uint64_t min;			/* bytes; smaller files are left alone */
	bool reflink_only;
	bool recover;			/* deal with what was killed first: for who will do it */
};

struct dedupe_plan {
	struct dedupe_item *items;
	size_t n;
	uint64_t sets, files;		/* files: that were looked at */
	const char **unread;		/* sentences: places of which nobody knows what is in them */
	size_t nunread;
	uint64_t failed;		/* files and models that could not be read */
	uint64_t hashed, compared;	/* bytes */
	uint64_t todo, links;		/* items that can be done; of them, by hard links */
	uint64_t bytes, link_bytes;	/* that are free then */
	uint64_t done, freed, held;	/* freed: now; held: in quarantines */
	uint64_t *undo;
	size_t nundo;
	double seconds;
	struct tb_arena mem;
};

/* Looks, and changes nothing but for `recover`. */
enum tb_status op_dedupe_plan(struct op_ctx *ctx, const struct dedupe_request *req,
			      struct tb_job *job, struct dedupe_plan *out, struct tb_err *err)
	TB_MUST_USE;
enum tb_status op_dedupe(struct op_ctx *ctx, struct dedupe_plan *plan, struct tb_job *job,
			 struct tb_err *err) TB_MUST_USE;
void dedupe_free(struct dedupe_plan *plan);

/* Have two files, as far as the file system tells, their bytes in one place already? */
bool dedupe_is_shared(int a, int b);
#endif
