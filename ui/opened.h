/* opened.h - a model that a worker has opened, shared by a screen and the jobs that
 * read it: a job may still run when the screen has gone. */
#ifndef TBTUI_UI_OPENED_H
#define TBTUI_UI_OPENED_H

#include <stdatomic.h>

#include "src/ops/translate/translate.h"
#include "src/store/model.h"

struct view;

struct opened {
	atomic_uint refs;
	struct model *m;	/* owned; not changed any more */
	struct hf_view *hf;	/* of a GGUF, where that was asked for; NULL: none; owned */
};
/* The model by Hugging Face's names, if it was opened so. */
const struct model *opened_model(const struct opened *o);

/* Opens its model on a worker for a screen: done() gets it, with a reference that is the
 * screen's, or NULL and what is wrong.  An error here: nothing was started. */
typedef void opened_fn(struct view *v, struct opened *o, const struct tb_err *err);
enum tb_status opened_load(struct view *v, opened_fn *done, struct tb_err *err) TB_MUST_USE;
/* The same; a GGUF as conversions take it. */
enum tb_status opened_load_hf(struct view *v, opened_fn *done, struct tb_err *err) TB_MUST_USE;
/* The same at once, for a worker that has more to do.  *out has one reference,
 * after a failure, too. */
enum tb_status opened_new(struct opened **out, const struct model_loc *loc, struct tb_err *err)
	TB_MUST_USE;
struct opened *opened_ref(struct opened *o);
void opened_unref(struct opened *o);	/* NULL is fine; any thread */
#endif
