#include "config.h"

#include "src/engine/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/engine/lowrank.h"
#include "src/engine/slots.h"
#include "src/format/dtype.h"
#include "src/store/model.h"

/* What is being loaded, so that what follows needs one argument. */
struct loader {
	struct weights *w;
	const struct hparams *hp;
	const struct model *m;
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
	values_maps_close(&w->maps);
	for (size_t i = 0; i < w->nmade; i++)
		free(w->made[i]);
	for (size_t i = 0; i < w->nlow; i++)
		lowrank_free(w->low[i]);
	free(w->layers);
	free(w->made);
	free(w->low);
	*w = (struct weights){ 0 };
}

/* Where a part has the slot's first row. */
static enum tb_status
load_rows(struct loader *l, const struct slot_at *at, const struct tensor_part *part,
	  const uint8_t **out)
{
	enum tb_status status = values_maps_part(&l->w->maps, l->m, part, out, l->err);

	if (!status)
		*out += part->len / (at->rows * at->experts) * at->first;
	return status;
}

static enum tb_status
load_matrix(struct loader *l, const struct slot_at *at, struct matrix *out)
{
	const struct slot_info *info = slot_info(at->slot);
	uint64_t rows = hparams_dim(l->hp, at->layer, info->rows);
	uint64_t cols = hparams_dim(l->hp, at->layer, info->cols);
	const struct tensor *t = at->t;
	const uint8_t *global = NULL;
	struct matrix m = { .scheme = t->scheme, .rows = (uint32_t)rows, .cols = (uint32_t)cols };
	enum tb_status status;

	if ((status = load_rows(l, at, &t->weight, &m.codes)) ||
	    (t->has_scale && (status = load_rows(l, at, &t->scale, &m.scales))) ||
	    (t->has_bias && (status = load_rows(l, at, &t->bias, &m.biases))) ||
	    (t->has_global &&
	     (status = values_maps_part(&l->w->maps, l->m, &t->global, &global, l->err))) ||
	    (status = values_global(t, global, at->nth, at->experts, &m.global, l->err)))
		return status;
	if (t->has_scale)
		m.scale_dtype = t->scale.dtype;
	*out = m;
	return TB_OK;
}

/* As 16 bits, or 32 where the tensor has those. */
static void
store_turned(void *to, enum dtype d, const float *row, size_t rows, size_t step)
{
	for (size_t i = 0; i < rows; i++, to = (char *)to + step) {
		uint16_t half = d == DT_F16 ? tb_f32_f16(row[i]) : tb_f32_bf16(row[i]);

		if (d == DT_F32)
			memcpy(to, &row[i], sizeof(row[i]));
		else
			memcpy(to, &half, sizeof(half));
	}
}

/* Rows that lie as columns are copied: products read along rows. */
static enum tb_status
load_turned(struct loader *l, const struct slot_at *at, struct matrix *out)
{
	const struct slot_info *info = slot_info(at->slot);
	uint64_t rows = hparams_dim(l->hp, at->layer, info->rows);
	uint64_t cols = hparams_dim(l->hp, at->layer, info->cols), in_row = at->first % at->rows;
	enum dtype d = scheme_is_plain(&at->t->scheme) ? at->t->scheme.dtype : DT_BF16;
	size_t size = dtype_bits(d) / 8;
	char *made = tb_grow(&l->w->made, &l->w->made_cap, l->w->nmade + 1, sizeof(*l->w->made))
		     ? tb_aligned(rows * cols * size) : NULL;
	float *row = tb_calloc(at->rows, sizeof(*row));
	struct values v;
	enum tb_status status = made && row ? values_open(&v, l->m, at->t, NULL, l->err)
					    : tb_nomem(l->err);

	if (!status) {
		for (uint64_t k = 0; k < cols; k++) {
			values_any(&v, (at->nth * cols + k) * at->rows, at->rows, row);
			store_turned(made + k * size, d, row + in_row, rows, cols * size);
		}
		status = values_check(&v, l->err);
		values_close(&v);
	}
	free(row);
	if (status) {
		free(made);
		return status;
	}
	l->w->made[l->w->nmade++] = made;
	*out = (struct matrix){ .scheme = scheme_plain(d), .rows = (uint32_t)rows,
				.cols = (uint32_t)cols, .codes = (const uint8_t *)made, .global = 1 };
	return TB_OK;
}

static enum tb_status
load_vector(struct loader *l, const struct slot_at *at, float **out)
{
	uint64_t n = hparams_dim(l->hp, at->layer, slot_info(at->slot)->rows);
	const uint8_t *p;
	float *v;
	enum tb_status status = load_rows(l, at, &at->t->weight, &p);

	if (status)
		return status;
	if (!(*out = v = tb_aligned(n * sizeof(*v))))
		return tb_nomem(l->err);
	dtype_to_f32(at->t->scheme.dtype, p, n, v);
	for (uint64_t i = 0; slot_norm(at->slot) && i < n; i++)
		v[i] += l->hp->norm_add;
	for (uint64_t i = 0; at->rule->log && i < n; i++)
		v[i] = -expf(v[i]);
	return TB_OK;
}

/* Turned: a token's factors of all columns together. */
static enum tb_status
load_kernel(struct loader *l, const struct slot_at *at, float **out)
{
	size_t width = hparams_dim(l->hp, at->layer, slot_info(at->slot)->rows);
	size_t n = hparams_dim(l->hp, at->layer, DIM_KERNEL);
	float row[HP_MAX_KERNEL], *v;
	const uint8_t *p;
	enum tb_status status = load_rows(l, at, &at->t->weight, &p);

	if (status)
		return status;
	if (!(*out = v = tb_aligned(n * width * sizeof(*v))))
		return tb_nomem(l->err);
	for (size_t c = 0; c < width; c++) {
		dtype_to_f32(at->t->scheme.dtype, p + at->t->weight.len / width * c, n, row);
		for (size_t i = 0; i < n; i++)
			v[i * width + c] = row[i];
	}
	return TB_OK;
}

static enum tb_status
load_slot(void *arg, const struct slot_at *at, struct tb_err *err)
{
	struct loader *l = arg;
	struct layer *to = weights_at(l->w, at->slot, at->layer);
	struct matrix **x = &to->x[at->slot];

	if (slot_info(at->slot)->cols == DIM_NONE)
		return load_vector(l, at, &to->v[at->slot]);
	if (slot_kernel(at->slot))
		return load_kernel(l, at, &to->v[at->slot]);
	if (!slot_expert(at->slot))
		return load_matrix(l, at, &to->m[at->slot]);
	/* Experts come one after the other, stacked in one tensor or a tensor each. */
	if (!*x && !(*x = tb_calloc(l->hp->experts, sizeof(**x))))
		return tb_nomem(err);
	return at->rule->turned ? load_turned(l, at, &(*x)[at->expert])
			  : load_matrix(l, at, &(*x)[at->expert]);
}

static enum tb_status
refuse_slot(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	const struct loader *l = arg;

	*err = *w->why;
	return model_blame(l->m, w->name, err);
}

enum tb_status
weights_load(struct weights *w, const struct hparams *hp, const struct model *m,
	     struct tb_err *err)
{
	struct loader l = { w, hp, m, err };
	const struct slot_visitor visitor = { load_slot, refuse_slot, &l };
	enum tb_status status = values_maps_open(&w->maps, m, err);

	if (!status)
		status = slots_visit(hp, m, &visitor, err);
	if (!status && (!w->rest->m[SLOT_OUTPUT].codes || (hp->tied_known && hp->tied)))
		w->rest->m[SLOT_OUTPUT] = w->rest->m[SLOT_EMBED];
	return status;
}

/* Codes, scales and biases. */
static uint64_t
matrix_bytes(const struct matrix *m)
{
	uint64_t n = (uint64_t)m->rows * m->cols;
	uint64_t scales = scheme_scales(&m->scheme, n) * dtype_bits(m->scale_dtype) / 8;

	return scheme_code_bytes(&m->scheme, n) + scales * (m->biases ? 2 : 1);
}

uint64_t
weights_token_bytes(const struct weights *w, const struct hparams *hp)
{
	uint64_t sum = 0;

	for (size_t i = 0; i <= w->nlayers; i++) {
		for (enum slot s = 0; s < SLOT_COUNT; s++) {
			const struct layer *l = &w->layers[i];

			if (l->m[s].codes && s != SLOT_EMBED && s != SLOT_PL_EMBED)
				sum += matrix_bytes(&l->m[s]);
			if (l->x[s])
				sum += matrix_bytes(l->x[s]) * hp->experts_used;
		}
	}
	return sum;
}
