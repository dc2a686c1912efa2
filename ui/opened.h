/* opened.h - a model that a worker has opened, shared by a screen and the jobs that
 * read it: a job may still run when the screen has gone. */
#ifndef TBTUI_UI_OPENED_H
#define TBTUI_UI_OPENED_H

#include <stdatomic.h>

#include "src/store/model.h"

struct opened {
	atomic_uint refs;
	struct model *m;	/* owned; not changed any more */
};

/* Blocks (for a worker). *out has one reference. */
enum tb_status opened_new(struct opened **out, const struct model_loc *loc, struct tb_err *err)
	TB_MUST_USE;
struct opened *opened_ref(struct opened *o);
void opened_unref(struct opened *o);	/* NULL is fine; any thread */
#endif
