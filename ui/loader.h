/* loader.h - loading a model from where its name says: a registry, or a hub. */
#ifndef TBTUI_UI_LOADER_H
#define TBTUI_UI_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/opt.h"
#include "src/ops/pull/pull.h"

struct op_ctx;
struct tb_job;

/* What somebody typed: NAME [AS] and options as "tbtui pull" has them. */
struct pull_words {
	char *line;			/* as it was typed; owned */
	char *words;			/* what all of the next borrows from; owned */
	struct pull_request req;
	struct tb_strs include, exclude;	/* of a hub; ended by NULL where there are any */
	bool hub;
};
/* *out is empty after a failure. */
enum tb_status pull_words_read(struct pull_words *out, const char *line, struct tb_err *err)
	TB_MUST_USE;
void pull_words_free(struct pull_words *w);	/* fine on zeros */

/* Made by who looks at it, run by a worker: those two at once are fine. */
struct loader;
enum tb_status loader_new(struct loader **out, struct op_ctx *ctx, const struct pull_words *w,
			  struct tb_err *err) TB_MUST_USE;
void loader_free(struct loader *l);		/* not while it runs; NULL is fine */
size_t loader_look(struct loader *l, struct fetch_row *rows, size_t max);	/* as fetch_look() */

struct load_plan {
	char *name, *from, *root;	/* owned; from NULL: the name says it */
	enum pull_name taken;		/* the name in the store */
	size_t files, come_files;
	uint64_t bytes, come, unsure, begun, room;	/* as in struct pull_plan */
	char left[256];			/* what of the repository is not wanted; "": nothing */
};
enum tb_status loader_plan(struct loader *l, struct tb_job *job, struct load_plan *out,
			   struct tb_err *err) TB_MUST_USE;
void load_plan_free(struct load_plan *p);	/* fine on zeros */

struct load_result {
	char *name, *root;		/* owned */
	char *path;			/* where the index has it; owned; NULL: it is found by name */
	char *kept;			/* the one that was replaced; owned; NULL: none was */
	bool current;			/* it was all there: nothing was done */
	size_t files, come_files, mended;
	uint64_t moved, undo;		/* as in struct pull_result */
};
/* Once for a loader; see op_pull() and op_hub_pull(). */
enum tb_status loader_run(struct loader *l, struct tb_job *job, struct load_result *out,
			  struct tb_err *err) TB_MUST_USE;
void load_result_free(struct load_result *r);	/* fine on zeros */
#endif
