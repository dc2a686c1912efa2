/* delta.c - attention without positions to look back at: a matrix a head, in which each
 * token replaces what its key finds there (the gated delta rule). */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>
#include <string.h>

#include "src/engine/mixer.h"
#include "src/engine/team.h"

#define L2_EPS 1e-6f
#define CONV_COLUMNS 256	/* of a chunk */

/* What the projections give, each [m][its width], and where rows of the state lie. */
struct delta {
	struct run *run;
	const struct layer *l;
	const struct delta_shape *d;
	size_t m;
	size_t k_width, v_width, width;	/* of q or k, of v, of all that goes through the convolution */
	float *qkv, *z, *a, *b;		/* a becomes the decay, b the share of what is new */
	float *fused, *fused_ba;	/* as some files have them, a key head after the other */
	float *out;
	uint32_t layer;
	size_t conv_chunks, state_chunks;	/* of each session's rows */
	size_t blocks;			/* of a head's state */
};

static size_t
past_floats(const struct hparams *hp)
{
	const struct delta_shape *d = &hp->delta;
	size_t width = 2 * (size_t)d->k_heads * d->k_dim + (size_t)d->v_heads * d->v_dim;

	return ((hp->conv_kernel - 1) * width + 15) / 16 * 16;
}

size_t
delta_state(const struct hparams *hp, uint32_t layer)
{
	const struct delta_shape *d = &hp->delta;

	(void)layer;
	return past_floats(hp) + (size_t)d->v_heads * d->k_dim * d->v_dim;
}

/* q k v, z, out; the same once more as files with one matrix have them; a, b twice. */
size_t
delta_scratch(const struct hparams *hp, uint32_t layer)
{
	const struct delta_shape *d = &hp->delta;
	size_t k = (size_t)d->k_heads * d->k_dim, v = (size_t)d->v_heads * d->v_dim;

	(void)layer;
	return 2 * (2 * k + 2 * v) + v + 4 * (size_t)d->v_heads;
}

static void
delta_init(struct delta *x, struct run *run, const struct layer *l, uint32_t layer, size_t m)
{
	const struct delta_shape *d = &run->hp->delta;
	float *p = run->e->work.scratch;

	*x = (struct delta){
		.run = run, .l = l, .d = d, .m = m, .k_width = (size_t)d->k_heads * d->k_dim,
		.v_width = (size_t)d->v_heads * d->v_dim, .layer = layer,
		.blocks = (d->v_dim + SCAN_COLUMNS - 1) / SCAN_COLUMNS,
	};
	x->width = 2 * x->k_width + x->v_width;
	x->conv_chunks = (x->width + CONV_COLUMNS - 1) / CONV_COLUMNS;
	x->state_chunks = d->v_heads * x->blocks;
	x->qkv = p;
	x->z = x->qkv + m * x->width;
	x->out = x->z + m * x->v_width;
	x->fused = x->out + m * x->v_width;
	x->a = x->fused + m * (x->width + x->v_width);
	x->b = x->a + m * d->v_heads;
	x->fused_ba = x->b + m * d->v_heads;
}

/* Rows of a key head together: q, k, its values, their z. */
static void
ungroup_qkvz(void *arg, size_t row)
{
	const struct delta *x = arg;
	const struct delta_shape *d = x->d;
	size_t k = d->k_dim, v = d->v_heads / d->k_heads * d->v_dim;
	const float *from = x->fused + row * (x->width + x->v_width);
	float *q = x->qkv + row * x->width, *z = x->z + row * x->v_width;

	for (uint32_t h = 0; h < d->k_heads; h++, from += 2 * (k + v)) {
		memcpy(q + h * k, from, k * sizeof(*q));
		memcpy(q + x->k_width + h * k, from + k, k * sizeof(*q));
		memcpy(q + 2 * x->k_width + h * v, from + 2 * k, v * sizeof(*q));
		memcpy(z + h * v, from + 2 * k + v, v * sizeof(*z));
	}
}

/* The same of b and a. */
static void
ungroup_ba(void *arg, size_t row)
{
	const struct delta *x = arg;
	size_t heads = x->d->v_heads, each = heads / x->d->k_heads;
	const float *from = x->fused_ba + row * 2 * heads;

	for (size_t h = 0; h < heads; h += each, from += 2 * each) {
		memcpy(x->b + row * heads + h, from, each * sizeof(*from));
		memcpy(x->a + row * heads + h, from + each, each * sizeof(*from));
	}
}

static enum tb_status
project(struct delta *x)
{
	const struct matrix *w = x->l->m, *in[4];
	float *y[4];
	bool qkvz = w[SLOT_DELTA_QKVZ].codes, ba = w[SLOT_DELTA_BA].codes;
	size_t n = 0;
	enum tb_status status;

	in[n] = qkvz ? &w[SLOT_DELTA_QKVZ] : &w[SLOT_DELTA_QKV];
	y[n++] = qkvz ? x->fused : x->qkv;
	if (!qkvz) {
		in[n] = &w[SLOT_DELTA_Z];
		y[n++] = x->z;
	}
	in[n] = ba ? &w[SLOT_DELTA_BA] : &w[SLOT_DELTA_B];
	y[n++] = ba ? x->fused_ba : x->b;
	if (!ba) {
		in[n] = &w[SLOT_DELTA_A];
		y[n++] = x->a;
	}
	if ((status = run_matmul(x->run, in, n, x->run->e->work.h, x->m, y)))
		return status;
	if (qkvz)
		run_rows(x->run, ungroup_qkvz, x, x->m, x->width + x->v_width);
	if (ba)
		run_rows(x->run, ungroup_ba, x, x->m, 2 * (size_t)x->d->v_heads);
	return TB_OK;
}

static void
conv_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct delta *x = arg;
	const struct run_seq q = run_seq_at(x->run, chunk / x->conv_chunks, x->m);
	struct scan_conv c = {
		.x = x->qkv + q.first * x->width, .m = q.n, .stride = x->width, .width = x->width,
		.past = state_layer(&q.s->state, x->layer), .w = x->l->v[SLOT_DELTA_CONV], .kernel = x->run->hp->conv_kernel, .silu = true,
	};
	size_t first = chunk % x->conv_chunks * CONV_COLUMNS, end = first + CONV_COLUMNS;

	(void)thread;
	x->run->e->scan->conv(&c, first, end < x->width ? end : x->width);
}

/* Queries and keys of length 1; queries are divided by the root of their dimension, too. */
static void
gates_row(void *arg, size_t row)
{
	const struct delta *x = arg;
	const struct delta_shape *d = x->d;
	const struct scan_ops *scan = x->run->e->scan;
	const float *rate = x->l->v[SLOT_DELTA_RATE], *bias = x->l->v[SLOT_DELTA_DT_BIAS];
	float *q = x->qkv + row * x->width, *k = q + x->k_width;
	float *a = x->a + row * d->v_heads, *b = x->b + row * d->v_heads;

	scan->unit(q, d->k_heads, d->k_dim, L2_EPS, 1 / sqrtf((float)d->k_dim));
	scan->unit(k, d->k_heads, d->k_dim, L2_EPS, 1);
	for (uint32_t h = 0; h < d->v_heads; h++) {
		float t = a[h] + bias[h];

		t = t > 20 ? t : log1pf(expf(t));
		a[h] = expf(rate[h] * t);
		b[h] = 1 / (1 + expf(-b[h]));
	}
}

/* Some columns of a head's state.  Which key head serves a value head: those of a file of
 * GGUF's take turns, else neighbours share one. */
static void
state_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct delta *x = arg;
	const struct delta_shape *d = x->d;
	const struct run_seq q = run_seq_at(x->run, chunk / x->state_chunks, x->m);
	size_t piece = chunk % x->state_chunks;
	size_t h = piece / x->blocks, first = piece % x->blocks * SCAN_COLUMNS;
	size_t k = x->run->hp->delta.tiled ? h % d->k_heads : h / (d->v_heads / d->k_heads);
	size_t cols = d->v_dim - first < SCAN_COLUMNS ? d->v_dim - first : SCAN_COLUMNS;
	size_t at = h * d->v_dim + first;
	float *qkv = x->qkv + q.first * x->width;
	float *state = state_layer(&q.s->state, x->layer) + past_floats(x->run->hp);
	struct scan_state s = {
		.s = state + at * d->k_dim, .rows = d->k_dim, .cols = cols, .m = q.n,
		.q = qkv + k * d->k_dim, .k = qkv + x->k_width + k * d->k_dim,
		.qk_stride = x->width, .v = qkv + 2 * x->k_width + at, .v_stride = x->width,
		.decay = x->a + q.first * d->v_heads + h, .beta = x->b + q.first * d->v_heads + h,
		.gate_stride = d->v_heads,
		.out = x->out + q.first * x->v_width + at, .out_stride = x->v_width, .delta = true,
	};

	(void)thread;
	x->run->e->scan->state(&s);
}

/* z = silu(z) * norm of each head of what was found. */
static void
gate_row(void *arg, size_t row)
{
	const struct delta *x = arg;
	const struct delta_shape *d = x->d;
	const struct vec_ops *vec = x->run->e->vec;
	float *out = x->out + row * x->v_width;

	for (uint32_t h = 0; h < d->v_heads; h++)
		vec->rmsnorm(out + h * d->v_dim, out + h * d->v_dim, x->l->v[SLOT_DELTA_NORM],
			     d->v_dim, x->run->hp->rms_eps);
	vec->act_mul[ACT_SILU](x->z + row * x->v_width, out, x->v_width);
}

enum tb_status
run_delta(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	const struct matrix *out = &l->m[SLOT_DELTA_OUT];
	struct work *w = &run->e->work;
	struct delta x;
	enum tb_status status;

	delta_init(&x, run, l, layer, m);
	if ((status = project(&x)))
		return status;
	team_run(run->e->team, conv_chunk, &x, (unsigned)(run->nseq * x.conv_chunks));
	run_rows(run, gates_row, &x, m, 2 * x.k_width);
	team_run(run->e->team, state_chunk, &x, (unsigned)(run->nseq * x.state_chunks));
	if (!want)
		return TB_OK;
	x.z += (m - want) * x.v_width;
	x.out += (m - want) * x.v_width;
	run_rows(run, gate_row, &x, want, x.v_width);
	return run_matmul(run, &out, 1, x.z, want, &w->out);
}
