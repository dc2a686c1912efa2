/* mamba.c - a state space instead of attention (Mamba-2): every head keeps a matrix that
 * decays, takes in what a token brings and is looked into.
 *
 * One matrix makes all of a token's parts: z (a gate), x (of all heads), b and c (how x goes
 * into a head's state and is seen in it, shared by the heads of a group), and a step a head. */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>

#include "src/engine/mixer.h"
#include "src/engine/team.h"

#define CONV_COLUMNS 256	/* of a chunk */

struct mamba {
	struct run *run;
	const struct layer *l;
	const struct mamba_shape *shape;
	size_t m, width, conv;	/* tokens; floats of a token's row; of them x, b and c */
	size_t first;		/* the first token with an answer */
	float *in;		/* [m][width] */
	float *decay, *step;	/* [m][heads] */
	float *out;		/* [m][inner] */
	uint32_t layer;
	size_t conv_chunks, state_chunks;	/* of each session's rows */
};

size_t
mamba_state(const struct hparams *hp, uint32_t layer)
{
	return (size_t)(hp->conv_kernel - 1) * hparams_dim(hp, layer, DIM_MAMBA_CONV) +
	       (size_t)hp->mamba.inner * hp->mamba.state;
}

size_t
mamba_scratch(const struct hparams *hp, uint32_t layer)
{
	return (size_t)hparams_dim(hp, layer, DIM_MAMBA_IN) + 2 * hp->mamba.heads + hp->mamba.inner;
}

static void
conv_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct mamba *a = arg;
	const struct run_seq q = run_seq_at(a->run, chunk / a->conv_chunks, a->m);
	const struct scan_conv c = {
		.x = a->in + q.first * a->width + a->shape->inner, .m = q.n, .stride = a->width,
		.width = a->conv, .past = state_layer(&q.s->state, a->layer), .w = a->l->v[SLOT_MAMBA_CONV], .bias = a->l->v[SLOT_MAMBA_CONV_BIAS],
		.kernel = a->run->hp->conv_kernel, .silu = true,
	};
	size_t first = chunk % a->conv_chunks * CONV_COLUMNS, end = first + CONV_COLUMNS;

	(void)thread;
	a->run->e->scan->conv(&c, first, end < a->conv ? end : a->conv);
}

/* How much of its state each head keeps, and how long its step is. */
static void
step_row(void *arg, size_t row)
{
	const struct mamba *a = arg;
	size_t heads = a->shape->heads;
	const float *rate = a->l->v[SLOT_MAMBA_RATE], *bias = a->l->v[SLOT_MAMBA_DT_BIAS];
	const float *t = a->in + (row + 1) * a->width - heads;
	float *step = a->step + row * heads, *decay = a->decay + row * heads;

	for (size_t h = 0; h < heads; h++) {
		float x = t[h] + bias[h];

		x = x > 20 ? x : log1pf(expf(x));
		x = x < a->shape->step_least ? a->shape->step_least : x;
		step[h] = x > a->shape->step_most ? a->shape->step_most : x;
		decay[h] = expf(step[h] * rate[h]);
	}
}

/* Some columns of a head's state, which lie together. */
static void
state_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct mamba *a = arg;
	const struct mamba_shape *s = a->shape;
	size_t dim = s->inner / s->heads, pieces = (dim + SCAN_COLUMNS - 1) / SCAN_COLUMNS;
	const struct run_seq q = run_seq_at(a->run, chunk / a->state_chunks, a->m);
	size_t piece = chunk % a->state_chunks;
	size_t h = piece / pieces, first = piece % pieces * SCAN_COLUMNS, column = h * dim + first;
	size_t cols = dim - first < SCAN_COLUMNS ? dim - first : SCAN_COLUMNS;
	size_t group = h / (s->heads / s->groups) * s->state;
	float *x = a->in + q.first * a->width + s->inner;
	float *states = state_layer(&q.s->state, a->layer) +
			(a->run->hp->conv_kernel - 1) * a->conv;
	const struct scan_state scan = {
		.s = states + column * s->state, .rows = s->state, .cols = cols, .m = q.n,
		.k = x + s->inner + group, .q = x + s->inner + (size_t)s->groups * s->state + group,
		.v = x + column, .decay = a->decay + q.first * s->heads + h,
		.beta = a->step + q.first * s->heads + h,
		.out = a->out + q.first * s->inner + column, .qk_stride = a->width, .v_stride = a->width,
		.gate_stride = s->heads, .out_stride = s->inner,
	};

	(void)thread;
	a->run->e->scan->state(&scan);
}

/* What passes the state by, the gate, and then a norm of each group. */
static void
finish_row(void *arg, size_t row)
{
	const struct mamba *a = arg;
	const struct vec_ops *vec = a->run->e->vec;
	const struct mamba_shape *s = a->shape;
	size_t dim = s->inner / s->heads, group = s->inner / s->groups;
	float *z = a->in + (a->first + row) * a->width, *x = z + s->inner;
	float *y = a->out + (a->first + row) * s->inner;

	for (size_t h = 0; h < s->heads; h++)
		vec->add_scaled(y + h * dim, x + h * dim, a->l->v[SLOT_MAMBA_PASS][h], dim);
	vec->act_mul[ACT_SILU](z, y, s->inner);
	for (size_t g = 0; g < s->inner; g += group)
		vec->rmsnorm(y + g, z + g, a->l->v[SLOT_MAMBA_NORM] + g, group,
			     a->run->hp->rms_eps);
}

enum tb_status
run_mamba(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	const struct mamba_shape *s = &run->hp->mamba;
	struct work *w = &run->e->work;
	const struct matrix *in = &l->m[SLOT_MAMBA_IN], *out = &l->m[SLOT_MAMBA_OUT];
	struct mamba a = {
		.run = run, .l = l, .shape = s, .m = m, .first = m - want,
		.width = in->rows, .conv = hparams_dim(run->hp, layer, DIM_MAMBA_CONV),
		.in = w->scratch, .layer = layer,
	};
	size_t pieces = (s->inner / s->heads + SCAN_COLUMNS - 1) / SCAN_COLUMNS;
	enum tb_status status;

	a.decay = a.in + m * a.width;
	a.step = a.decay + m * s->heads;
	a.out = a.step + m * s->heads;
	a.conv_chunks = (a.conv + CONV_COLUMNS - 1) / CONV_COLUMNS;
	a.state_chunks = s->heads * pieces;
	if ((status = run_matmul(run, &in, 1, w->h, m, &a.in)))
		return status;
	team_run(run->e->team, conv_chunk, &a, (unsigned)(run->nseq * a.conv_chunks));
	run_rows(run, step_row, &a, m, 16 * s->heads);
	team_run(run->e->team, state_chunk, &a, (unsigned)(run->nseq * a.state_chunks));
	if (!want)
		return TB_OK;
	run_rows(run, finish_row, &a, want, 4 * s->inner);
	return run_matmul(run, &out, 1, a.out + a.first * s->inner, want, &w->out);
}
