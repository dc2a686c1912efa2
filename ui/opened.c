#include "config.h"

#include "ui/opened.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "ui/view.h"

enum tb_status
opened_new(struct opened **out, const struct model_loc *loc, struct tb_err *err)
{
	struct opened *o = tb_calloc(1, sizeof(*o));

	*out = o;
	if (!o)
		return tb_nomem(err);
	atomic_init(&o->refs, 1);
	return model_open(&o->m, loc, err);
}

struct opening {
	struct model_loc loc;	/* owned */
	opened_fn *done;
	bool hf;
	struct opened *o;	/* a reference, until done() has it */
};

static enum tb_status
opened_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct opening *l = arg;
	enum tb_status status = opened_new(&l->o, &l->loc, err);

	(void)job;
	if (!status && l->hf && model_has_keys(l->o->m))
		status = hf_view_open(&l->o->hf, l->o->m, DT_COUNT, err);
	return status;
}

static void
opened_load_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct opening *l = arg;
	struct opened *o = status ? NULL : l->o;

	if (o)
		l->o = NULL;
	l->done(v, o, err);
}

static void
opened_load_free(void *arg)
{
	struct opening *l = arg;

	opened_unref(l->o);
	model_loc_free(&l->loc);
	free(l);
}

static const struct job_ops opened_load_job = {
	.run = opened_load_run, .done = opened_load_done, .free = opened_load_free,
};

static enum tb_status
load(struct view *v, opened_fn *done, bool hf, struct tb_err *err)
{
	struct opening *l = tb_calloc(1, sizeof(*l));

	if (!l || model_loc_copy(&l->loc, &v->loc, NULL)) {
		free(l);
		return tb_nomem(err);
	}
	l->done = done;
	l->hf = hf;
	(void)view_job(v, &opened_load_job, l, "open %s", v->loc.name);
	return TB_OK;
}

enum tb_status
opened_load(struct view *v, opened_fn *done, struct tb_err *err)
{
	return load(v, done, false, err);
}

enum tb_status
opened_load_hf(struct view *v, opened_fn *done, struct tb_err *err)
{
	return load(v, done, true, err);
}

const struct model *
opened_model(const struct opened *o)
{
	return o->hf ? o->hf->model : o->m;
}

struct opened *
opened_ref(struct opened *o)
{
	atomic_fetch_add(&o->refs, 1);
	return o;
}

void
opened_unref(struct opened *o)
{
	if (!o || atomic_fetch_sub(&o->refs, 1) != 1)
		return;
	hf_view_free(o->hf);
	model_free(o->m);
	free(o);
}
