/* tidy.h - taking away and bringing back, as screens start it: looked at on a worker,
 * asked with names and bytes, done as a job. */
#ifndef TBTUI_UI_TIDY_H
#define TBTUI_UI_TIDY_H

#include <stdbool.h>
#include <stddef.h>

#include "src/ops/tidy/tidy.h"

struct view;

/* Models, as store_resolve() takes them (copied). title: what they are called. */
void task_remove(struct view *v, const char *const *refs, size_t n, const char *title);
/* What no model uses; with paths (copied) only what lies there. */
void task_prune(struct view *v, const char *const *paths, size_t n);
/* Asks for the new name of the model at `path`, which is called `name` now. */
void task_name(struct view *v, const char *path, const char *name, bool copy);
/* An operation goes back; only_there: that of its store alone, others have one of the same
 * number. */
void task_undo(struct view *v, const struct tidy_op *op, bool only_there);
/* What they hold is deleted for good, once somebody has said yes.  only_there: see above; they
 * are all of one store then. */
void task_empty(struct view *v, const struct tidy_op *const *ops, size_t n, bool only_there);
#endif
