#include "config.h"

#include "src/engine/weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/format/dtype.h"
#include "src/quant/ggml.h"
#include "src/store/model.h"

#define NAME_MAX_LEN 256

/* What is being loaded, so that what follows needs one argument. */
struct loader {
	struct weights *w;
	const struct hparams *hp;
	const struct model *m;
	bool *used;		/* [m->ntensors] */
	struct tb_err *err;
};

struct layer *
weights_at(const struct weights *w, enum slot s, uint32_t layer)
{
	return slot_layered(s) ? &w->layers[layer] : w->rest;
}

enum tb_status
weights_init(struct weights *w, const struct hparams *hp, struct tb_err *err)
{
	*w = (struct weights){ .nlayers = hp->layers };
	w->layers = tb_calloc((size_t)hp->layers + 1, sizeof(*w->layers));
	if (!w->layers)
		return tb_nomem(err);
	w->rest = &w->layers[hp->layers];
	return TB_OK;
}

void
weights_free(struct weights *w)
{
	for (size_t i = 0; w->layers && i <= w->nlayers; i++) {
		for (size_t s = 0; s < SLOT_COUNT; s++) {
			free(w->layers[i].v[s]);
			free(w->layers[i].x[s]);
		}
	}
	for (size_t i = 0; i < w->nmaps; i++)
		if (w->maps[i].p)
			tb_map_close(&w->maps[i]);
	for (size_t i = 0; i < w->nmade; i++)
		free(w->made[i]);
	free(w->layers);
	free(w->maps);
	free(w->made);
	*w = (struct weights){ 0 };
}

enum tb_status
weights_check(const struct weights *w, struct tb_err *err)
{
	for (size_t i = 0; i < w->nmaps; i++)
		if (w->maps[i].p && tb_map_torn(&w->maps[i]))
			return tb_fail(err, TB_EIO, "a file of the model was cut short while it "
				       "was in use");
	return TB_OK;
}

/* The bytes of a part, in a file that is mapped at first need. */
static enum tb_status
map_part(struct loader *l, const struct tensor *t, const struct tensor_part *part,
	 const uint8_t **out)
{
	const struct model_file *mf = &l->m->files[part->file];
	struct tb_map *map = &l->w->maps[part->file];
	struct tb_file f;
	enum tb_status status;

	if (!map->p) {
		if ((status = tb_file_open(&f, mf->path, l->err)))
			return status;
		if (!tb_ident_equal(&f.id, &mf->id))
			status = tb_fail(l->err, TB_EIO, "%s: has changed since it was looked at",
					 mf->path);
		else
			status = tb_map_open(map, &f, 0, f.id.size, l->err);
		tb_file_close(&f);
		if (status)
			return status;
	}
	if (part->off > map->len || part->len > map->len - part->off)
		return tb_fail(l->err, TB_EFORMAT, "%s: data outside the file %s", t->name,
			       mf->path);
	*out = map->p + part->off;
	return TB_OK;
}

/* Rows [first, first + …) of a tensor of experts * rows. */
struct view { uint64_t first, rows; uint32_t expert, experts; };

/* The next rule for a slot in this architecture; r NULL: the first. */
static const struct slot_rule *
next_rule(const struct loader *l, enum slot s, const struct slot_rule *r)
{
	unsigned ways = l->hp->arch->ways;

	for (r = r ? r + 1 : slot_rules; r->pattern; r++)
		if (r->slot == s && (!r->only || ways & r->only) && !(ways & r->never))
			return r;
	return NULL;
}

/* The tensor that a rule means here, or NULL; its name goes to `name`. */
static const struct tensor *
find(const struct loader *l, const char *pattern, uint32_t layer, uint32_t expert,
     char name[NAME_MAX_LEN])
{
	for (const char *const *p = slot_prefixes; *p; p++) {
		size_t n = strlen(*p);
		const struct tensor *t;

		memcpy(name, *p, n);
		if (slot_expand(pattern, layer, expert, name + n, NAME_MAX_LEN - n) &&
		    (t = model_tensor(l->m, name))) {
			l->used[t - l->m->tensors] = true;
			return t;
		}
	}
	return NULL;
}

static uint64_t
sum_dims(const struct hparams *hp, const enum dim *d)
{
	uint64_t sum = 0;

	for (; *d != DIM_NONE; d++)
		sum += hparams_dim(hp, *d);
	return sum;
}

/* Which rows of a tensor are a slot's (an expert's of it). */
static struct view
view_of(const struct loader *l, const struct slot_rule *r, uint32_t expert)
{
	uint64_t own = hparams_dim(l->hp, slot_info(r->slot)->rows);
	uint64_t before = sum_dims(l->hp, r->before), after = sum_dims(l->hp, r->after);
	struct view v = { .expert = r->stacked ? expert : 0, .experts = 1 };

	if (r->stacked)
		v.experts = l->hp->experts;
	v.rows = before + own + after;
	v.first = v.rows * v.expert + before;
	return v;
}

static enum tb_status
check_shape(const struct loader *l, const struct tensor *t, const struct slot_rule *r)
{
	const struct slot_info *info = slot_info(r->slot);
	uint64_t want[3], n = 0;
	struct tb_buf is = TB_BUF(400), should = TB_BUF(400);
	bool same;
	enum tb_status status = TB_OK;

	if (r->stacked)
		want[n++] = l->hp->experts;
	want[n++] = view_of(l, r, 0).rows;
	if (info->cols != DIM_NONE)
		want[n++] = hparams_dim(l->hp, info->cols);
	same = t->ndim == n && !memcmp(t->dim, want, n * sizeof(*want));
	if (!same) {
		for (unsigned i = 0; i < t->ndim; i++)
			tb_buf_printf(&is, "%s%" PRIu64, i ? ", " : "", t->dim[i]);
		for (unsigned i = 0; i < n; i++)
			tb_buf_printf(&should, "%s%" PRIu64, i ? ", " : "", want[i]);
		status = tb_fail(l->err, TB_EFORMAT, "%s: shape [%s], but the model's description"
				 " makes it [%s]", t->name, tb_buf_cstr(&is), tb_buf_cstr(&should));
	}
	tb_buf_free(&is);
	tb_buf_free(&should);
	return status;
}

static bool
plain_dtype(const struct scheme *s)
{
	return s->kind == SCHEME_PLAIN &&
	       (s->dtype == DT_F32 || s->dtype == DT_F16 || s->dtype == DT_BF16);
}

/* Do the parts have the bytes that their scheme says? n elements in all. */
static enum tb_status
check_parts(const struct loader *l, const struct tensor *t, uint64_t n)
{
	const struct scheme *s = &t->scheme;
	char name[SCHEME_NAME_MAX];
	uint64_t codes, scales;

	if (s->kind == SCHEME_PLAIN) {
		if (!plain_dtype(s))
			return tb_fail(l->err, TB_EUNSUP, "%s: cannot compute with %s", t->name,
				       dtype_name(s->dtype));
		if (!dtype_bytes(s->dtype, n, &codes) || codes != t->weight.len)
			return tb_fail(l->err, TB_EFORMAT, "%s: %" PRIu64 " bytes do not fit the "
				       "shape", t->name, t->weight.len);
		return TB_OK;
	}
	if (scheme_foreign(s) || (s->kind == SCHEME_GGML && !ggml_decodable(s->ggml)))
		return tb_fail(l->err, TB_EUNSUP, "%s: cannot compute with %s", t->name,
			       scheme_name(s, name));
	if (t->origin == ORIGIN_UNKNOWN || !scheme_fits(s, t->dim[t->ndim - 1]))
		return tb_fail(l->err, TB_EUNSUP, "%s: quantized in a way that is not known",
			       t->name);
	codes = scheme_code_bytes(s, n);
	scales = scheme_scales(s, n);
	if (s->kind == SCHEME_GGML)
		return t->weight.len == codes ? TB_OK
			: tb_fail(l->err, TB_EFORMAT, "%s: %" PRIu64 " bytes do not fit the shape",
				  t->name, t->weight.len);
	if (t->weight.len != codes || !t->has_scale || t->has_bias != scheme_has_bias(s) ||
	    scheme_scale_dtype(s, t->scale.dtype) != t->scale.dtype ||
	    t->scale.len != scales * dtype_bits(t->scale.dtype) / 8 ||
	    (t->has_bias && (t->bias.len != t->scale.len || t->bias.dtype != t->scale.dtype)))
		return tb_fail(l->err, TB_EFORMAT, "%s: weight, scale and bias do not fit %s",
			       t->name, scheme_name(s, name));
	return TB_OK;
}

/* One number for all, or one an expert. */
static enum tb_status
read_global(struct loader *l, const struct tensor *t, uint32_t expert, uint32_t of, float *out)
{
	unsigned size = dtype_bits(t->global.dtype) / 8;
	const uint8_t *p;
	enum tb_status status;

	*out = 1;
	if (!t->has_global)
		return TB_OK;
	if (!dtype_floating(t->global.dtype) || !size ||
	    (t->global.len != size && t->global.len != (uint64_t)size * of))
		return tb_fail(l->err, TB_EFORMAT, "%s: the global scale is not one number",
			       t->name);
	if ((status = map_part(l, t, &t->global, &p)))
		return status;
	dtype_to_f32(t->global.dtype, p + (t->global.len == size ? 0 : (size_t)expert * size), 1,
		     out);
	if (t->global_inverse && *out == 0)
		return tb_fail(l->err, TB_EFORMAT, "%s: the global scale is zero", t->name);
	if (t->global_inverse)
		*out = 1 / *out;
	return TB_OK;
}

static enum tb_status
load_matrix(struct loader *l, const struct tensor *t, enum slot s, const struct view *v,
	    struct matrix *out)
{
	const struct slot_info *info = slot_info(s);
	uint64_t rows = hparams_dim(l->hp, info->rows), cols = hparams_dim(l->hp, info->cols);
	uint64_t all = v->rows * v->experts;
	struct matrix m = { .scheme = t->scheme, .rows = (uint32_t)rows, .cols = (uint32_t)cols };
	enum tb_status status;

	if ((status = check_parts(l, t, all * cols)) ||
	    (status = map_part(l, t, &t->weight, &m.codes)))
		return status;
	m.codes += t->weight.len / all * v->first;
	if (t->has_scale) {
		if ((status = map_part(l, t, &t->scale, &m.scales)))
			return status;
		m.scales += t->scale.len / all * v->first;
		m.scale_dtype = t->scale.dtype;
	}
	if (t->has_bias) {
		if ((status = map_part(l, t, &t->bias, &m.biases)))
			return status;
		m.biases += t->bias.len / all * v->first;
	}
	if ((status = read_global(l, t, v->expert, v->experts, &m.global)))
		return status;
	*out = m;
	return TB_OK;
}

static enum tb_status
load_vector(struct loader *l, const struct tensor *t, enum slot s, float **out)
{
	uint64_t n = hparams_dim(l->hp, slot_info(s)->rows);
	const uint8_t *p;
	enum tb_status status;

	if ((status = check_parts(l, t, n)))
		return status;
	if (t->scheme.kind != SCHEME_PLAIN)
		return tb_fail(l->err, TB_EUNSUP, "%s: a quantized vector", t->name);
	if ((status = map_part(l, t, &t->weight, &p)))
		return status;
	*out = tb_aligned(n * sizeof(**out));
	if (!*out)
		return tb_nomem(l->err);
	dtype_to_f32(t->scheme.dtype, p, n, *out);
	for (uint64_t i = 0; slot_norm(s) && i < n; i++)
		(*out)[i] += l->hp->norm_add;
	return TB_OK;
}

static enum tb_status
missing(const struct loader *l, enum slot s, uint32_t layer, uint32_t expert)
{
	bool gguf = model_is_gguf(l->m);
	char name[NAME_MAX_LEN];

	for (const struct slot_rule *r = NULL; (r = next_rule(l, s, r));)
		if (slot_rule_gguf(r) == gguf && (gguf || !r->stacked) &&
		    slot_expand(r->pattern, layer, expert, name, sizeof(name)))
			return tb_fail(l->err, TB_EFORMAT, "no tensor %s%s (%s of %s)",
				       gguf || s == SLOT_OUTPUT ? "" : slot_prefixes[0], name,
				       slot_info(s)->name, l->hp->arch->name);
	return tb_fail(l->err, TB_EFORMAT, "no tensor for %s", slot_info(s)->name);
}

/* The best rule that a tensor of the model answers to; *t NULL: there is none. */
static const struct slot_rule *
find_slot(const struct loader *l, enum slot s, uint32_t layer, uint32_t expert,
	  const struct tensor **t)
{
	char name[NAME_MAX_LEN];
	const struct slot_rule *r = NULL;

	for (*t = NULL; (r = next_rule(l, s, r));)
		if ((*t = find(l, r->pattern, layer, expert, name)))
			return r;
	return NULL;
}

/* All experts of one layer's slot: stacked in one tensor, or a tensor each. */
static enum tb_status
load_experts(struct loader *l, enum slot s, uint32_t layer)
{
	uint32_t n = l->hp->experts;
	struct matrix *x = tb_calloc(n, sizeof(*x));
	enum tb_status status = x ? TB_OK : tb_nomem(l->err);

	l->w->layers[layer].x[s] = x;
	for (uint32_t e = 0; e < n && !status; e++) {
		const struct tensor *t;
		const struct slot_rule *r = find_slot(l, s, layer, e, &t);

		if (!t) {
			status = missing(l, s, layer, e);
		} else if (!(status = check_shape(l, t, r))) {
			struct view v = view_of(l, r, e);

			status = load_matrix(l, t, s, &v, &x[e]);
		}
	}
	return status;
}

static enum tb_status
load_slot(struct loader *l, enum slot s, uint32_t layer)
{
	struct layer *at = weights_at(l->w, s, layer);
	const struct slot_rule *r;
	const struct tensor *t;
	struct view v;
	enum tb_status status;

	if (slot_expert(s))
		return load_experts(l, s, layer);
	r = find_slot(l, s, layer, 0, &t);
	if (!t)
		return l->hp->arch->required & SLOT_BIT(s) ? missing(l, s, layer, 0) : TB_OK;
	if ((status = check_shape(l, t, r)))
		return status;
	if (slot_info(s)->cols == DIM_NONE)
		return load_vector(l, t, s, &at->v[s]);
	v = view_of(l, r, 0);
	return load_matrix(l, t, s, &v, &at->m[s]);
}

/* A tensor that nothing uses means that we would compute something else than the
 * model does: better said than done. */
static enum tb_status
check_unused(const struct loader *l)
{
	for (size_t i = 0; i < l->m->ntensors; i++)
		if (!l->used[i] && !slot_ignored(l->m->tensors[i].name))
			return tb_fail(l->err, TB_EUNSUP, "%s: no such tensor is known in %s; "
				       "without it the model would not be what it is",
				       l->m->tensors[i].name, l->hp->arch->name);
	return TB_OK;
}

static enum tb_status
check_head(const struct loader *l)
{
	struct layer *rest = l->w->rest;

	if (!rest->m[SLOT_OUTPUT].codes && l->hp->tied_known && !l->hp->tied)
		return missing(l, SLOT_OUTPUT, 0, 0);
	if (!rest->m[SLOT_OUTPUT].codes || (l->hp->tied_known && l->hp->tied))
		rest->m[SLOT_OUTPUT] = rest->m[SLOT_EMBED];
	return TB_OK;
}

enum tb_status
weights_load(struct weights *w, const struct hparams *hp, const struct model *m,
	     struct tb_err *err)
{
	uint64_t slots = hp->arch->required | hp->arch->optional;
	struct loader l = { w, hp, m, tb_calloc(m->ntensors, sizeof(bool)), err };
	enum tb_status status = TB_OK;

	w->maps = tb_calloc(m->nfiles, sizeof(*w->maps));
	w->nmaps = w->maps ? m->nfiles : 0;
	if (!l.used || !w->maps)
		status = tb_nomem(err);
	for (enum slot s = 0; s < SLOT_COUNT && !status; s++) {
		uint32_t n = slot_layered(s) ? hp->layers : 1;

		for (uint32_t i = 0; i < n && (slots & SLOT_BIT(s)) && !status; i++)
			status = load_slot(&l, s, i);
	}
	if (!status && !(status = check_head(&l)))
		status = check_unused(&l);
	free(l.used);
	return status;
}

uint64_t
matrix_bytes(const struct matrix *m)
{
	uint64_t n = (uint64_t)m->rows * m->cols, scales;

	if (m->scheme.kind == SCHEME_PLAIN)
		return n * m->scheme.bits / 8;
	scales = scheme_scales(&m->scheme, n) * dtype_bits(m->scale_dtype) / 8;
	return scheme_code_bytes(&m->scheme, n) + scales * (m->biases ? 2 : 1);
}

uint64_t
weights_token_bytes(const struct weights *w, const struct hparams *hp)
{
	uint64_t sum = 0;

	for (size_t i = 0; i <= w->nlayers; i++) {
		for (enum slot s = 0; s < SLOT_COUNT; s++) {
			const struct layer *l = &w->layers[i];

			if (l->m[s].codes && s != SLOT_EMBED)
				sum += matrix_bytes(&l->m[s]);
			if (l->x[s])
				sum += matrix_bytes(l->x[s]) * hp->experts_used;
		}
	}
	return sum;
}
