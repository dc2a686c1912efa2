/* per_layer.c - a short row of numbers for each token and layer, which that layer mixes into
 * the stream: looked up by the token's id, and made of its embedding. */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>

struct per_layer {
	struct run *run;
	const struct layer *l;
	size_t layer, first;		/* the row of the block that row 0 is */
	const uint32_t *ids;
	float *x;
};

size_t
per_layer_floats(const struct hparams *hp)
{
	return (size_t)hp->per_layer * hp->layers;
}

/* Both parts vary as much as their sum shall.  What some table is too short for is as its
 * first token. */
static void
begin_row(void *arg, size_t row)
{
	const struct per_layer *p = arg;
	const struct hparams *hp = p->run->hp;
	const struct layer *rest = p->run->e->weights.rest;
	struct work *w = &p->run->e->work;
	size_t each = hp->per_layer, all = per_layer_floats(hp);
	float *made = w->per_layer + row * all, *found = w->scratch + row * all;
	float shrink = 1 / sqrtf((float)hp->dim), grow = sqrtf((float)each);

	matrix_row(&rest->m[SLOT_PL_EMBED], p->ids[row] < hp->per_layer_vocab ? p->ids[row] : 0, found);
	for (size_t i = 0; i < all; i++)
		made[i] *= shrink;
	for (size_t at = 0; at < all; at += each)
		p->run->norm(made + at, made + at, rest->v[SLOT_PL_MODEL_NORM], each, hp->rms_eps);
	for (size_t i = 0; i < all; i++)
		made[i] = (made[i] + found[i] * grow) * (float)M_SQRT1_2;
}

enum tb_status
per_layer_begin(struct run *run, const uint32_t *ids, size_t m)
{
	const struct matrix *model = &run->e->weights.rest->m[SLOT_PL_MODEL];
	struct per_layer p = { .run = run, .ids = ids };
	struct work *w = &run->e->work;
	enum tb_status status = run_matmul(run, &model, 1, w->x, m, &w->per_layer);

	if (!status)
		run_rows(run, begin_row, &p, m, per_layer_floats(run->hp));
	return status;
}

static void
gate_row(void *arg, size_t row)
{
	const struct per_layer *p = arg;
	const struct hparams *hp = p->run->hp;
	const struct work *w = &p->run->e->work;
	size_t each = hp->per_layer;

	p->run->e->vec->act_mul[hp->act](w->gate + row * each, w->per_layer +
					 (p->first + row) * per_layer_floats(hp) + p->layer * each,
					 each);
}

static void
join_row(void *arg, size_t row)
{
	const struct per_layer *p = arg;
	size_t dim = p->run->hp->dim;
	float *out = p->run->e->work.out + row * dim;

	p->run->norm(out, out, p->l->v[SLOT_PL_POST_NORM], dim, p->run->hp->rms_eps);
	p->run->e->vec->add(p->x + row * dim, out, dim);
}

enum tb_status
per_layer_add(struct run *run, const struct layer *l, uint32_t layer, size_t first, size_t m)
{
	const struct matrix *gate = &l->m[SLOT_PL_GATE], *out = &l->m[SLOT_PL_OUT];
	struct work *w = &run->e->work;
	struct per_layer p = { .run = run, .l = l, .layer = layer, .first = first,
			       .x = w->x + first * run->hp->dim };
	enum tb_status status;

	if ((status = run_matmul(run, &gate, 1, p.x, m, &w->gate)))
		return status;
	run_rows(run, gate_row, &p, m, run->hp->per_layer);
	if ((status = run_matmul(run, &out, 1, w->gate, m, &w->out)))
		return status;
	run_rows(run, join_row, &p, m, run->hp->dim);
	return TB_OK;
}
