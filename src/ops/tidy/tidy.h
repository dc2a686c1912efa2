/* tidy.h - house-keeping in stores that cannot hurt: models and files are taken away, copied
 * and renamed as operations of a journal (src/store/journal.h), which can be undone.
 *
 * A plan is made from the stores themselves, without a lock; what is done is what was planned,
 * as far as that is still true when nobody else is in the store. */
#ifndef TBTUI_OPS_TIDY_H
#define TBTUI_OPS_TIDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/dir.h"
#include "src/base/job.h"
#include "src/base/sha256.h"
#include "src/ops/home/home.h"
#include "src/store/journal.h"

enum tidy_kind {
	TIDY_RM,		/* names: models (see store_resolve()), or patterns of names */
	TIDY_PRUNE,		/* what no model uses, in all stores; no names */
	TIDY_CP,		/* two names of an Ollama store */
	TIDY_MV,		/* the same; or a folder or file, and its new name beside it */
};

struct tidy_request {
	enum tidy_kind kind;
	const char *const *names;	/* borrowed for the call */
	size_t n;
	bool young;			/* also what may be on its way */
};

/* id, word in --json */
#define TIDY_DO_LIST(X) \
	X(TIDY_REMOVE, "remove")	/* to the quarantine */ \
	X(TIDY_CLEAR, "clear")		/* an empty folder, which goes at once */ \
	X(TIDY_REWRITE, "rewrite")	/* a list of models; the old one goes to the quarantine */ \
	X(TIDY_COPY, "copy") \
	X(TIDY_MOVE, "move") \
	X(TIDY_RESTORE, "restore")	/* back from the quarantine */ \
	X(TIDY_DELETE, "delete")	/* for good */
#define X(id, word) id,
enum tidy_do { TIDY_DO_LIST(X) TIDY_DO_COUNT };
#undef X
const char *tidy_do_word(enum tidy_do d);

/* id, word in --json, why something stays */
#define TIDY_WHY_LIST(X) \
	X(TIDY_USED, "used", "other models use it") \
	X(TIDY_YOUNG, "young", "younger than an hour: a model that uses it may be on its way") \
	X(TIDY_DOWNLOAD, "download", "a download is under way in its store") \
	X(TIDY_UNCLEAR, "unclear", "a manifest of its store cannot be read, and may name it") \
	X(TIDY_LINKED, "linked", "its folder is a link, and may be that of another store") \
	X(TIDY_ELSEWHERE, "elsewhere", "on another file system than its store") \
	X(TIDY_CHANGED, "changed", "has changed since it was looked at") \
	X(TIDY_GONE, "gone", "deleted from the quarantine, as by an \"undo --empty\" that is cancelled")
#define X(id, word, text) id,
enum tidy_why { TIDY_WHY_LIST(X) TIDY_WHY_COUNT };
#undef X
const char *tidy_why_word(enum tidy_why w);
const char *tidy_why_text(enum tidy_why w);

struct tidy_action {
	enum tidy_do what;
	char *model, *path, *to;	/* owned; model "" and to NULL: none */
	char digest[TB_DIGEST_MAX];	/* of a blob; else "" */
	uint64_t bytes;			/* that are free in the end: none of what has another name */
	uint64_t size;			/* of a folder: of the files in it */
	size_t root;			/* the store: one of roots */
	uint64_t op;			/* of TIDY_DELETE: the operation's number */
	char *text;			/* private: TIDY_REWRITE, TIDY_COPY: the new bytes; owned */
};

struct tidy_stay { uint64_t files, bytes; };

/* A plan, and what came of it.  All owned. */
struct tidy {
	enum tidy_kind kind;
	bool young, done;
	struct tb_names names, roots;
	struct tidy_action *v;
	size_t n, cap;
	uint64_t models;		/* of them */
	uint64_t bytes;			/* free when the quarantine is emptied */
	uint64_t linked;		/* files that free nothing: they have other names */
	struct tidy_stay stays[TIDY_WHY_COUNT];
	uint64_t undo;			/* the operation's number; 0: nothing to undo */
	uint64_t recovered;		/* operations that were killed, and have been dealt with */
	struct tb_names unread;		/* sentences: what of these stores could not be read */
	struct tb_names pulls;		/* the same: downloads that did not end, gone or not */
	char *near;			/* private, owned: the folder that was found to be reachable
					 * last, from near_root, one of roots */
	size_t near_root;
	uint64_t near_dev;
	struct tb_job *job;		/* private, as is what it was told of: bytes, things */
	uint64_t job_bytes, job_things;
};

/* n 0: there is nothing to do.  TB_ENOENT: a name is nobody's; TB_EUSAGE: refused. */
enum tb_status tidy_plan(struct tidy *t, struct op_ctx *ctx, const struct tidy_request *req,
			 struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* Does it: what is in *t afterwards has been done (t->done), and no more, also where one of
 * several stores fails.  TB_ESYNC: done nevertheless; TB_ECANCEL: before anything was moved in
 * the store at hand; t->n: what was in others. */
enum tb_status tidy_do(struct tidy *t, struct op_ctx *ctx, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;
/* Of a plan what lies at these paths alone. */
enum tb_status tidy_only(struct tidy *t, const char *const *paths, size_t n, struct tb_err *err)
	TB_MUST_USE;
void tidy_free(struct tidy *t);	/* fine on a zeroed one */

/* ---- what can be undone ---- */

struct tidy_op {
	char *root, *what;		/* owned */
	uint64_t n;			/* 0: of a store whose operations cannot be listed */
	int64_t when_ns;
	enum journal_state state;
	bool in_use;			/* somebody works on it right now */
	uint64_t things, bytes;		/* that it holds */
	char *problem;			/* owned; NULL: none; else its list cannot be believed */
};
struct tidy_ops { struct tidy_op *v; size_t n, cap; };	/* owned; the last first */

/* Was it killed?  The next writer or house-keeper deals with it. */
bool tidy_op_killed(const struct tidy_op *o);
/* Are they what one command did in several stores? */
bool tidy_op_same(const struct tidy_op *a, const struct tidy_op *b);
/* Of all stores that are looked into. */
enum tb_status tidy_ops(struct op_ctx *ctx, struct tidy_ops *out, struct tb_err *err) TB_MUST_USE;
void tidy_ops_free(struct tidy_ops *o);

/* Operation n, or with n 0 the last that can be undone; what came or would come back is in *out
 * (to be freed in every case).  What was killed is dealt with first; with n 0 or the number of
 * such a one that is all.  dry: a look alone.  TB_ENOENT: there is none; TB_EUSAGE: stores have
 * different ones of that number. */
enum tb_status op_undo(struct op_ctx *ctx, uint64_t n, bool dry, struct tb_job *job,
		       struct tidy *out, struct tb_err *err) TB_MUST_USE;
/* Deletes what operations hold, for good: those of `numbers`, or with none of them all that are
 * at least `older` seconds old.  With `shown`, what a dry one came to: those alone, whatever was
 * taken away since.  Unfinished ones are dealt with first.  TB_ECANCEL: what was not deleted
 * is held as before. */
struct tidy_empty {
	const uint64_t *numbers;
	size_t n;
	uint64_t older;
	const struct tidy *shown;	/* borrowed, as are the numbers */
	bool dry;
};
enum tb_status op_undo_empty(struct op_ctx *ctx, const struct tidy_empty *req, struct tb_job *job,
			     struct tidy *out, struct tb_err *err) TB_MUST_USE;
#endif
