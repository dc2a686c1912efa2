/* mla.c - multi-head latent attention: of a position one short vector c is kept, from
 * which each head would make its own keys and values, and a part of a key that positions
 * turn and all heads share.
 *
 * Nothing is made of c for positions that are over.  A head's q (W_k c) is (W_k^T q) c,
 * and the sum of values W_v c is W_v of the sum: heads look at c itself, with one key
 * [c, turned part] and one value c for all of them. */
#include "config.h"

#include "src/engine/mixer.h"

#include <string.h>

#include "src/engine/mla_heads.h"
#include "src/engine/run.h"

/* What a layer computes with, and where in the scratch its rows are. */
struct mla {
	struct run *run;
	const struct layer *l;
	const struct layer_shape *shape;
	uint32_t layer;
	size_t head;		/* elements of a head's q: one that does not turn, one that does */
	float *q_short;		/* [m][mla.q_short] */
	float *q;		/* [m][heads][head] */
	float *o;		/* [want][heads][value] */
	float *gather;
};

size_t
mla_scratch(const struct hparams *hp, uint32_t layer)
{
	const struct mla_shape *d = &hp->mla;
	size_t heads = hp->layer[layer].heads;

	return d->q_short + heads * (d->straight + hp->rope_dims) + heads * d->value + d->kv +
	       (d->straight > d->value ? d->straight : d->value);
}

static void
mla_places(struct mla *a, size_t m)
{
	const struct hparams *hp = a->run->hp;
	size_t heads = a->shape->heads;

	a->head = hp->mla.straight + hp->rope_dims;
	a->q_short = a->run->e->work.scratch;
	a->q = a->q_short + m * hp->mla.q_short;
	a->o = a->q + m * heads * a->head;
	a->gather = a->o + m * heads * hp->mla.value;
}

static void
norm_short_row(void *arg, size_t row)
{
	const struct mla *a = arg;
	const struct hparams *hp = a->run->hp;
	float *q = a->q_short + row * hp->mla.q_short;

	a->run->norm(q, q, a->l->v[SLOT_Q_A_NORM], hp->mla.q_short, hp->rms_eps);
}

/* The turned parts of all heads' q and of the one key; the key's norm; both are kept. */
static void
turn_row(void *arg, size_t row)
{
	const struct mla *a = arg;
	const struct hparams *hp = a->run->hp;
	const struct vec_ops *vec = a->run->e->vec;
	float *k = a->run->e->work.k + row * a->shape->head_dim;
	float *q = a->q + row * a->shape->heads * a->head;
	uint32_t pos;
	struct kv *kv = &run_session(a->run, row, &pos)->kv;
	size_t half = kv_half(kv, false);
	const float *angles = kv_angles(kv, false, pos);
	void (*turn)(float *, size_t, size_t, size_t, const float *, const float *) =
		hp->rope_pairs ? vec->rope_pairs : vec->rope;

	turn(q + hp->mla.straight, a->shape->heads, a->head, half, angles, angles + half);
	a->run->norm(k, k, a->l->v[SLOT_KV_A_NORM], hp->mla.kv, hp->rms_eps);
	turn(k + hp->mla.kv, 1, a->shape->head_dim, half, angles, angles + half);
	kv_store(kv, a->layer, pos, k, k);
}

/* q of all rows, the keys that all heads share. */
static enum tb_status
mla_in(struct mla *a, size_t m)
{
	struct run *run = a->run;
	struct work *w = &run->e->work;
	bool two = run->hp->mla.q_short > 0;
	const struct matrix *in[] = { &a->l->m[SLOT_KV_A], &a->l->m[two ? SLOT_Q_A : SLOT_MLA_Q] };
	const struct matrix *b = &a->l->m[SLOT_Q_B];
	float *y[] = { w->k, two ? a->q_short : a->q };
	enum tb_status status = run_matmul(run, in, 2, w->h, m, y);

	if (!status && two) {
		run_rows(run, norm_short_row, a, m, run->hp->mla.q_short);
		status = run_matmul(run, &b, 1, a->q_short, m, &a->q);
	}
	if (!status)
		run_rows(run, turn_row, a, m, a->shape->heads * a->head);
	return status;
}

static void
copy_turned_row(void *arg, size_t row)
{
	const struct mla *a = arg;
	const struct hparams *hp = a->run->hp;
	size_t key = a->shape->head_dim, n = key - hp->mla.kv;
	float *to = a->run->e->work.q + row * a->shape->heads * key + hp->mla.kv;
	const float *from = a->q + row * a->shape->heads * a->head + hp->mla.straight;

	for (uint32_t h = 0; h < a->shape->heads; h++)
		memcpy(to + h * key, from + h * a->head, n * sizeof(*to));
}

/* Each head's q as what meets c, in the last `want` of m rows. */
static enum tb_status
mla_absorb(struct mla *a, size_t m, size_t want)
{
	struct run *run = a->run;
	const struct mla_shape *d = &run->hp->mla;
	bool whole = a->l->m[SLOT_KV_B].codes;
	size_t heads = a->shape->heads, key = a->shape->head_dim, skip = m - want;
	struct head_product p = {
		.w = &a->l->m[whole ? SLOT_KV_B : SLOT_K_B], .heads = a->shape->heads,
		.each = whole ? d->straight + d->value : d->kv,
		.rows = whole ? d->straight : d->kv, .turned = whole,
		.x = a->q + skip * heads * a->head, .x_step = a->head, .x_row = heads * a->head,
		.y = run->e->work.q + skip * heads * key, .y_step = key, .y_row = heads * key,
		.gather = a->gather,
	};

	run_rows(run, copy_turned_row, a, m, heads * (key - d->kv));
	return head_products(run->e->mm, run->e->team, run->e->vec, &p, want, run->err);
}

/* Each head's values of the c that it has gathered. */
static enum tb_status
mla_values(struct mla *a, size_t want)
{
	struct run *run = a->run;
	const struct mla_shape *d = &run->hp->mla;
	bool whole = a->l->m[SLOT_KV_B].codes;
	size_t heads = a->shape->heads;
	const struct head_product p = {
		.w = &a->l->m[whole ? SLOT_KV_B : SLOT_V_B], .heads = a->shape->heads,
		.each = whole ? d->straight + d->value : d->value,
		.first = whole ? d->straight : 0, .rows = d->value,
		.x = run->e->work.att, .x_step = a->shape->value_dim,
		.x_row = heads * a->shape->value_dim,
		.y = a->o, .y_step = d->value, .y_row = heads * d->value, .gather = a->gather,
	};

	return head_products(run->e->mm, run->e->team, run->e->vec, &p, want, run->err);
}

enum tb_status
run_mla(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	struct mla a = { .run = run, .l = l, .shape = &run->hp->layer[layer], .layer = layer };
	const struct matrix *o = &l->m[SLOT_MLA_O];
	enum tb_status status;

	mla_places(&a, m);
	if ((status = mla_in(&a, m)) || !want || (status = mla_absorb(&a, m, want)))
		return status;
	attention(run, layer, m, want);
	if ((status = mla_values(&a, want)))
		return status;
	return run_matmul(run, &o, 1, a.o, want, &run->e->work.out);
}
