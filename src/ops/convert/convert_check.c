/* convert_check.c - is what was written what was planned?  Read as any reader would. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/convert/dest.h"
#include "src/ops/plan/plan.h"
#include "src/quant/fp.h"

#define SAMPLE 4096u		/* elements; a multiple of every group */

struct check {
	const struct plan *p;
	struct model *m;
	struct values_files *source, *made;
	struct window *was, *is;
	float *values;
};

/* The first elements of the source, as they should read in the result: *n at most. */
static enum tb_status
expected(struct check *c, const struct plan_out *o, size_t *n, struct tb_err *err)
{
	const struct plan_piece *piece = &c->p->parts->pieces[o->piece];
	const struct plan_row *r = &c->p->rows[piece->row];
	const struct change *change = blob_change(c->p, piece->change);
	const struct encode_how how = encode_how(c->p->flavour, &c->p->care, r->src, change,
						 o->ndim ? o->dim[o->ndim - 1] : 1, piece->first);
	size_t whole = encode_stretch(&how, r->src, change, piece->first, *n);
	struct values v;
	enum tb_status status = values_open(&v, c->p->model, r->src, c->source, err);

	*n = *n < whole ? *n : whole;
	if (!status)
		status = window_reserve(c->was, whole, err);
	if (!status)
		status = window_load(c->was, &v, change, piece->first, whole, err);
	if (status)
		return status;
	if (r->repack) {
		memcpy(c->values, c->was->f32, *n * sizeof(float));
		return TB_OK;
	}
	if (scheme_equal(&r->target, &r->src->scheme)) {
		dtype_to_f32(values_dtype(r->src), c->was->src, *n, c->values);
		return TB_OK;
	}
	status = window_encode(c->was, r->src, &r->target, &how, piece->first, whole, err);
	if (status)
		return status;
	window_decode(c->was, r->src, &r->target, whole);
	memcpy(c->values, c->was->f32, *n * sizeof(float));
	return TB_OK;
}

/* What the new file gives, rounded as window_load() rounds. */
static enum tb_status
sample(struct check *c, const struct plan_out *o, const struct tensor *t, struct tb_err *err)
{
	const struct plan_piece *piece = &c->p->parts->pieces[o->piece];
	enum dtype d = values_dtype(t), source = values_dtype(c->p->rows[o->row].src);
	size_t n = piece->elems < SAMPLE ? piece->elems : SAMPLE;
	struct values v;
	enum tb_status status;

	if ((d != DT_BF16 && d != DT_F16 && d != DT_F32) || t->origin == ORIGIN_UNKNOWN ||
	    (source != DT_BF16 && source != DT_F16 && source != DT_F32))
		return TB_OK;
	status = expected(c, o, &n, err);
	if (!status)
		status = values_open(&v, c->m, t, c->made, err);
	if (!status)
		status = window_load(c->is, &v, NULL, 0, n, err);
	if (status)
		return status;
	dtype_to_f32(d, c->is->src, n, c->is->f32);
	for (size_t i = 0; i < n; i++) {
		float want = t->has_scale ? fp_round(d, c->values[i]) : c->values[i];

		if (want != c->is->f32[i] && !(isnan(want) && isnan(c->is->f32[i])))
			return tb_fail(err, TB_EIO, "%s: element %zu reads %g, not %g", o->name, i,
				       (double)c->is->f32[i], (double)want);
	}
	return TB_OK;
}

static enum tb_status
check_out(struct check *c, const struct plan_out *o, struct tb_err *err)
{
	const struct plan_row *r = &c->p->rows[o->row];
	const struct tensor *t = model_tensor(c->m, o->name);
	char want[SCHEME_NAME_MAX], got[SCHEME_NAME_MAX];

	if (!t)
		return tb_fail(err, TB_EFORMAT, "%s: is not found in what was written", o->name);
	if (r->src->origin == ORIGIN_UNKNOWN)
		return TB_OK;
	if (!scheme_equal(&t->scheme, &r->target))
		return tb_fail(err, TB_EFORMAT, "%s: reads as %s, not %s", o->name,
			       scheme_name(&t->scheme, got), scheme_name(&r->target, want));
	if (t->ndim != o->ndim || memcmp(t->dim, o->dim, o->ndim * sizeof(*o->dim)))
		return tb_fail(err, TB_EFORMAT, "%s: has another shape than planned", o->name);
	return sample(c, o, t, err);
}

enum tb_status
convert_check(const struct plan *p, enum model_kind kind, const char *name, const char *path,
	      const char *root, struct tb_err *err)
{
	struct model_loc loc = { kind, tb_strdup(name), tb_strdup(path), tb_strdup(root), 0 };
	struct window was = { 0 }, is = { 0 };
	struct check c = { p, NULL, NULL, NULL, &was, &is, tb_calloc(SAMPLE, sizeof(float)) };
	enum tb_status status = c.values && loc.name && loc.path && loc.root
		? model_open(&c.m, &loc, err) : tb_nomem(err);

	if (!status)
		status = values_files_open(&c.source, p->model, err);
	if (!status)
		status = values_files_open(&c.made, c.m, err);
	if (!status)
		status = window_init(&was, err);
	if (!status)
		status = window_init(&is, err);
	if (!status && c.m->nproblems && !p->model->nproblems)
		status = tb_fail(err, TB_EFORMAT, "what was written: %s", c.m->problems[0].message);
	for (size_t i = 0; i < p->parts->nouts && !status; i++)
		status = check_out(&c, &p->parts->outs[i], err);
	window_free(&was);
	window_free(&is);
	values_files_close(c.source);
	values_files_close(c.made);
	model_free(c.m);
	model_loc_free(&loc);
	free(c.values);
	return status;
}
