/* plan_gguf.c - what a GGUF makes of a tensor: its name, its shape, which types it can have. */
#include "config.h"

#include <string.h>

#include "src/base/mem.h"
#include "src/ops/plan/plan_parts.h"
#include "src/quant/ggml_encode.h"
#include "src/quant/repack.h"

enum tb_status
plan_gguf_open(struct plan *p, struct tb_err *err)
{
	struct translate t;
	enum tb_status status;

	if (p->view)
		return tb_fail(err, TB_EUSAGE, "%s: is seen as a folder; choose GGUF when the plan is made",
			       p->model->loc.path);
	if (p->translate || model_has_keys(p->model))	/* has GGUF's names already */
		return TB_OK;
	status = translate_hf(&t, p->model, err);
	if (!status)
		status = translate_check(p->model, err);
	if (status)
		return status;
	p->translate = tb_calloc(1, sizeof(*p->translate));
	if (!p->translate)
		return tb_nomem(err);
	*p->translate = t;
	return TB_OK;
}

static enum tb_status
parts_of(const struct plan *p, const struct tensor *t, struct translated out[TRANSLATE_PARTS],
	 unsigned *n, struct tb_err *err)
{
	if (p->translate)
		return translate_to_gguf(p->translate, t, out, n, err);
	*n = 1;
	return translate_same(t, out, err);
}

static bool
is_float(const struct tensor *t)
{
	enum dtype d = values_dtype(t);

	return d == DT_F32 || d == DT_F16 || d == DT_BF16;
}

/* Blocks that repack as those groups: no number changes. */
static bool
gguf_repack(const struct scheme *groups, struct scheme *out)
{
	struct scheme same;

	for (unsigned type = 0; type < 64; type++) {
		if (!ggml_info(type) || ggml_info(type)->dtype != DT_COUNT)
			continue;
		*out = scheme_ggml(type);
		/* of two numbers a group, another could be needed to say the same */
		if (!scheme_has_bias(groups) && ggml_encodable(type) && repack_scheme(out, &same) &&
		    scheme_equal(&same, groups))
			return true;
	}
	return false;
}

bool
plan_gguf_repacks(const struct tensor *t)
{
	struct scheme s;

	return scheme_form(&t->scheme) == FORM_GROUPS && gguf_repack(&t->scheme, &s);
}

void
plan_gguf_target(const struct plan *p, const struct tensor *t, struct plan_target *target,
		 enum plan_why *why)
{
	struct scheme s = target->keep ? t->scheme : scheme_in_gguf(&target->scheme);
	struct translated out[TRANSLATE_PARTS];
	unsigned n;

	if (parts_of(p, t, out, &n, NULL))
		return;			/* plan_gguf_atoms() says why */
	if (!n) {
		*target = (struct plan_target){ .keep = true };
		*why = PLAN_LEFT_OUT;
		return;
	}
	if (scheme_form(&s) == FORM_BLOCKS && !scheme_equal(&s, &t->scheme))
		for (unsigned i = 0; i < n; i++)
			if (!scheme_fits(&s, out[i].dim[out[i].ndim - 1])) {
				s = t->scheme;
				*why = PLAN_ALIGN;
			}
	if (scheme_form(&s) == FORM_GROUPS && is_float(t)) {
		/* What has a type of the same numbers keeps them. */
		*why = gguf_repack(&t->scheme, &s) ? PLAN_REPACKED : PLAN_DECODED;
		if (*why == PLAN_DECODED)
			s = scheme_plain(values_dtype(t));
	}
	if (out[0].f32 && is_float(t)) {
		if (!scheme_is_plain(&s) || s.dtype != DT_F32)
			*why = PLAN_VECTOR;
		s = scheme_plain(DT_F32);
	}
	*target = (struct plan_target){ scheme_equal(&s, &t->scheme), s };
}

enum tb_status
plan_gguf_atoms(struct plan *p, struct layout *l, size_t row, struct tb_err *err)
{
	const struct plan_row *r = &p->rows[row];
	struct translated out[TRANSLATE_PARTS];
	char shown[SCHEME_NAME_MAX];
	unsigned n, type;
	enum tb_status status = parts_of(p, r->src, out, &n, err);

	if (!status && n && !scheme_ggml_type(&r->target, &type))
		status = tb_fail(err, TB_EUNSUP, "%s: GGUF has no place for %s", r->src->name,
				 scheme_name(&r->target, shown));
	for (unsigned i = 0; i < n && !status; i++) {
		const struct translated *o = &out[i];
		/* In one group all are put in the order in which people count. */
		struct atom a = { .name = (char *)o->name, .group = (char *)"", .piece = { .row = row,
				  .elems = 1 }, .index = o->index, .ndim = o->ndim,
				  .part = o->expert ? ATOM_EXPERT : o->rows ? ATOM_ROWS : ATOM_WHOLE };

		for (unsigned d = 0; d < o->ndim; d++)
			a.piece.elems *= o->dim[d];
		memcpy(a.dim, o->dim, sizeof(a.dim));
		if (o->change.moved || o->change.what != CHANGE_NONE)
			status = layout_change(l, &o->change, &a.piece.change, err);
		if (!status)
			status = layout_add(l, &a, err);
	}
	return status;
}

/* What a GGUF was of which nothing changes, or the mix that was asked for, as llama-quantize
 * says it, whatever type stands in for another; NULL: neither. */
static const char *
known_mix(const struct plan *p)
{
	bool same = true, left = false;

	for (size_t i = 0; i < p->nrows; i++) {
		same &= scheme_equal(&p->rows[i].target, &p->rows[i].src->scheme);
		left |= p->rows[i].why == PLAN_QUANTIZED;
	}
	if (same && model_has_keys(p->model))
		return p->model->scheme;
	return p->policy == PLAN_LLAMA && !left ? llama_mix_name(p->mix) : NULL;
}

/* Else the first mixture whose main type most elements of matrices have. */
uint32_t
plan_file_type(const struct plan *p)
{
	const char *name = known_mix(p);
	uint64_t best = 0;
	uint32_t found = 0;

	for (uint32_t type = 0; name && type < 64; type++)
		if (gguf_mixture(type) && !strcmp(gguf_mixture(type)->name, name))
			return type;
	for (uint32_t type = 0; type < 64; type++) {
		const struct gguf_mixture *mix = gguf_mixture(type);
		struct scheme s;
		uint64_t n = 0;

		if (!mix)
			continue;
		s = scheme_ggml(mix->main);
		for (size_t i = 0; i < p->nrows; i++)
			if (p->rows[i].why != PLAN_VECTOR && !plan_left_out(p->rows[i].why) &&
			    p->rows[i].src->ndim > 1 && scheme_equal(&p->rows[i].target, &s))
				n += p->rows[i].src->elems;
		if (n > best) {
			best = n;
			found = type;
		}
	}
	return found;
}
