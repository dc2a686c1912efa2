/* test_attention.c - attention over a cache of each type, on every path, beside doubles that
 * see the numbers as they were kept. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/engine/attn_ops.h"
#include "src/engine/run.h"
#include "src/engine/team.h"

static const char *const paths[] = { "scalar", "avx2", "avx512", "avx512-bf16" };
#define PATHS (sizeof(paths) / sizeof(*paths))

struct attn_case {
	uint32_t heads, kv_heads, dim, value, window, context;
	float softcap;
	bool sinks;
	size_t block;		/* tokens at a time */
};

static const struct attn_case cases[] = {
	{ 8, 2, 64, 64, 0, 700, 0, false, 100 },
	{ 4, 4, 48, 48, 0, 600, 0, true, 512 },
	{ 6, 2, 40, 40, 0, 530, 30, false, 9 },
	{ 12, 1, 18, 50, 37, 1200, 0, true, 77 },
	{ 2, 1, 256, 256, 300, 2000, 20, false, 500 },
	{ 5, 1, 96, 128, 511, 1500, 0, false, 8 },
	{ 3, 3, 2, 2, 0, 300, 0, false, 1 },
	{ 32, 1, 576, 512, 0, 130, 0, false, 60 },
};
#define CASES (sizeof(cases) / sizeof(*cases))

/* A cache without a model, and all that was put into it. */
struct bed {
	const struct attn_case *c;
	struct hparams hp;
	struct engine e;
	struct session s;
	struct run run;
	float *q, *k, *v, *out, *sinks;		/* [context][heads][dim or value] */
};

static uint32_t seed;

static float
next(void)
{
	seed = seed * 1664525 + 1013904223;
	return (float)(seed >> 8) / (1 << 23) - 1;
}

static float *
numbers(size_t n, float most)
{
	float *x = calloc(n, sizeof(*x));

	assert_non_null(x);
	for (size_t i = 0; i < n; i++)
		x[i] = most * next();
	return x;
}

static void
bed_init(struct bed *b, const struct attn_case *c, enum kv_type type, unsigned threads)
{
	struct tb_err err = { 0 };
	size_t room;

	seed = 7;
	*b = (struct bed){ .c = c };
	b->hp = (struct hparams){
		.arch = arch_find("llama", NULL), .layers = 3, .heads = c->heads, .kv_heads = c->kv_heads, .head_dim = c->dim,
		.dim = 16, .context = c->context, .rope_dims = c->dim, .window = c->window,
		.rope = { .theta = 10000 }, .attn_softcap = c->softcap,
	};
	assert_ok(hparams_layers(&b->hp, &err), err);
	b->hp.layer[1].windowed = c->window > 0;
	b->hp.layer[1].value_dim = c->value;
	b->e = (struct engine){ .hp = b->hp, .team = team_new(threads), .vec = vec_ops(),
				.attn = attn_ops(), .attn_bf16 = attn_bf16(), .kv = type };
	b->s.e = &b->e;
	assert_ok(kv_init(&b->s.kv, &b->hp, type, c->context, &err), err);
	room = attention_room(&b->hp, c->context, threads);
	assert_ok(matrix_room(&b->e.work.attn, &b->e.work.attn_cap, room, &err), err);
	b->run = (struct run){ .e = &b->e, .hp = &b->hp, .nseq = 1 };
	b->run.seq[0].s = &b->s;
	b->q = numbers((size_t)c->context * c->heads * c->dim, 3);
	b->k = numbers((size_t)c->context * c->kv_heads * c->dim, 3);
	b->v = numbers((size_t)c->context * c->kv_heads * c->value, 5);
	b->out = numbers((size_t)c->context * c->heads * c->value, 1);
	b->sinks = numbers(c->heads, 4);
}

static void
bed_free(struct bed *b)
{
	kv_free(&b->s.kv);
	hparams_free(&b->hp);
	team_free(b->e.team);
	free(b->e.work.attn);
	free(b->q);
	free(b->k);
	free(b->v);
	free(b->out);
	free(b->sinks);
}

/* Tokens [b->s.pos, + n) of layer 1, the last `want` of which look. */
static void
feed(struct bed *b, size_t n, size_t want)
{
	const struct attn_case *c = b->c;
	size_t at = b->s.pos, k = (size_t)c->kv_heads * c->dim, v = (size_t)c->kv_heads * c->value;
	struct attention a = {
		.layer = 1, .heads = c->heads, .window = c->window,
		.scale = 1 / sqrtf((float)c->dim), .softcap = c->softcap,
		.sinks = c->sinks ? b->sinks : NULL, .q = b->q + at * c->heads * c->dim,
		.out = b->out + (at + n - want) * c->heads * c->value,
	};
	struct tb_err err = { 0 };

	assert_ok(kv_reserve(&b->s.kv, (uint32_t)(at + n), &err), err);
	kv_stored(&b->s.kv, (uint32_t)(at + n));
	for (size_t i = at; i < at + n; i++)
		kv_store(&b->s.kv, 1, (uint32_t)i, b->k + i * k, b->v + i * v);
	attention_of(&b->run, &a, n, want);
	b->s.pos += (uint32_t)n;
}

static void
feed_all(struct bed *b, size_t block)
{
	while (b->s.pos < b->c->context) {
		size_t left = b->c->context - b->s.pos, n = left < block ? left : block;

		feed(b, n, n);
	}
}

/* What is left of n numbers that were kept together. */
static void
as_kept(enum kv_type type, float *x, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n && type == KV_F16; i++)
		x[i] = tb_f16_f32(tb_f32_f16(x[i]));
	if (type != KV_INT8)
		return;
	for (size_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(x[i]));
	for (size_t i = 0; i < n; i++)
		x[i] = rintf(x[i] * (127 / most)) * (most / 127);
}

static void
rows_as_kept(const struct bed *b, enum kv_type type, float *x, size_t dim)
{
	for (size_t row = 0; row < (size_t)b->c->context * b->c->kv_heads; row++)
		for (size_t i = 0; i < dim; i += 32)
			as_kept(type, x + row * dim + i, dim - i < 32 ? dim - i : 32);
}

/* One head of one token, in doubles. */
static void
expect(const struct bed *b, size_t token, size_t head, double *out)
{
	const struct attn_case *c = b->c;
	const float *q = b->q + (token * c->heads + head) * c->dim;
	size_t kv_head = head / (c->heads / c->kv_heads), stride = (size_t)c->kv_heads * c->dim;
	size_t from = c->window && token + 1 > c->window ? token + 1 - c->window : 0;
	double p[2000], most = c->sinks ? b->sinks[head] : -INFINITY, sum;

	for (size_t i = from; i <= token; i++) {
		p[i] = 0;
		for (size_t k = 0; k < c->dim; k++)
			p[i] += (double)q[k] * b->k[i * stride + kv_head * c->dim + k];
		p[i] /= sqrt(c->dim);
		if (c->softcap > 0)
			p[i] = c->softcap * tanh(p[i] / c->softcap);
		most = fmax(most, p[i]);
	}
	sum = c->sinks ? exp(b->sinks[head] - most) : 0;
	memset(out, 0, c->value * sizeof(*out));
	for (size_t i = from; i <= token; i++) {
		double w = exp(p[i] - most);

		sum += w;
		for (size_t k = 0; k < c->value; k++)
			out[k] += w * b->v[(i * c->kv_heads + kv_head) * c->value + k];
	}
	for (size_t k = 0; k < c->value; k++)
		out[k] /= sum;
}

/* Root of the mean square that is wrong, of that which is right, over some tokens. */
static double
error_of(const struct bed *b)
{
	const struct attn_case *c = b->c;
	double wrong = 0, right = 0, out[600];

	for (size_t token = 0; token < c->context; token += token > 40 && token + 30 < c->context ? 17 : 1)
		for (size_t head = 0; head < c->heads; head += 1 + c->heads / 5) {
			const float *is = b->out + (token * c->heads + head) * c->value;

			expect(b, token, head, out);
			for (size_t k = 0; k < c->value; k++) {
				wrong += (is[k] - out[k]) * (is[k] - out[k]);
				right += out[k] * out[k];
			}
		}
	return sqrt(wrong / right);
}

static void
test_types(void **state)
{
	(void)state;
	for (size_t p = 0; p < PATHS; p++) {
		setenv("TBTUI_CPU", paths[p], 1);
		for (size_t i = 0; i < CASES; i++)
			for (enum kv_type type = KV_USUAL + 1; type < KV_TYPES; type++) {
				struct bed b;
				double error, most;

				bed_init(&b, &cases[i], type, 2);
				/* scores of 3 and more, to 2^-9 of what is summed */
				most = b.e.attn_bf16 && type == KV_F16 ? 8e-3 : 2e-6;
				feed_all(&b, cases[i].block);
				rows_as_kept(&b, type, b.k, cases[i].dim);
				rows_as_kept(&b, type, b.v, cases[i].value);
				error = error_of(&b);
				if (!(error <= most))
					fail_msg("%s, case %zu, %s: off by %g", paths[p], i,
						 kv_type_name(type), error);
				bed_free(&b);
			}
	}
	unsetenv("TBTUI_CPU");
}

/* Few tokens give what each gives alone, however many threads there are; and only the last
 * may be wanted. */
static void
test_few(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++)
		for (enum kv_type type = KV_USUAL + 1; type < KV_TYPES; type++) {
			const struct attn_case *c = &cases[i];
			size_t bytes = (size_t)c->context * c->heads * c->value * sizeof(float);
			struct bed one, few;

			bed_init(&one, c, type, 1);
			bed_init(&few, c, type, 3);
			feed_all(&one, 1);
			for (size_t n = 1; few.s.pos < c->context; n = n % 8 + 1) {
				size_t left = c->context - few.s.pos;

				feed(&few, n < left ? n : left, n < left ? n : left);
			}
			assert_memory_equal(few.out, one.out, bytes);
			assert_int_equal(kv_rewind(&few.s.kv, c->context - 20), c->context - 20);
			few.s.pos = c->context - 20;
			memset(few.out, 0, bytes);
			feed(&few, 20, 1);
			assert_memory_equal(few.out + bytes / 4 - c->heads * c->value,
					    one.out + bytes / 4 - c->heads * c->value,
					    c->heads * c->value * sizeof(float));
			bed_free(&one);
			bed_free(&few);
		}
}

/* A layer with a window keeps no more than it needs, says when that is too little, and never
 * so while it is enough. */
static void
test_ring(void **state)
{
	static const struct attn_case c = { 4, 2, 32, 32, 100, 1999, 0, false, 512 };
	struct tb_err err = { 0 };
	struct bed b;
	float *kept;
	uint32_t pos;

	(void)state;
	bed_init(&b, &c, KV_F16, 2);
	b.e.attn_bf16 = NULL;
	feed_all(&b, 512);
	assert_int_equal(b.s.kv.ring, 3);	/* 100 + 512 positions */
	assert_true(b.s.kv.step_bytes < b.s.kv.ring_bytes);
	kept = malloc((size_t)c.context * c.heads * c.dim * sizeof(float));
	memcpy(kept, b.out, (size_t)c.context * c.heads * c.dim * sizeof(float));
	for (uint32_t back = 0; back < 1999; back += 13) {
		pos = kv_rewind(&b.s.kv, c.context - back);
		assert_int_equal(pos, back <= 768 - 100 ? c.context - back : 0);
		if (!pos)
			break;
		b.s.pos = pos;
		feed_all(&b, 8);
		for (size_t i = 0; i < (size_t)c.context * c.heads * c.dim; i++)
			if (fabsf(b.out[i] - kept[i]) > 1e-4f)
				fail_msg("%u back: %g was %g", back, b.out[i], kept[i]);
	}
	b.s.pos = 0;
	assert_ok(kv_reserve(&b.s.kv, 300, &err), err);
	feed(&b, 300, 300);
	assert_int_equal(kv_rewind(&b.s.kv, 5), 5);	/* all is there again */
	free(kept);
	bed_free(&b);
}

/* What cannot be kept is not made into something that can. */
static void
test_not_finite(void **state)
{
	static const struct attn_case c = { 2, 1, 32, 32, 0, 40, 0, false, 40 };

	(void)state;
	for (enum kv_type type = KV_USUAL + 1; type < KV_TYPES; type++) {
		struct bed b;

		bed_init(&b, &c, type, 1);
		b.v[17 * 32 + 7] = NAN;
		b.k[32 * 32 + 3] = INFINITY;
		feed_all(&b, 15);
		assert_true(isfinite(b.out[9 * 64 + 7]));
		assert_false(isfinite(b.out[20 * 64 + 7]));
		assert_true(isfinite(b.out[20 * 64 + 1]) || type == KV_INT8);
		assert_false(isfinite(b.out[35 * 64 + 1]));
		bed_free(&b);
		bed_init(&b, &c, type, 1);	/* too large for 16 bits */
		for (size_t i = 0; i < 40 * 32; i++)
			b.k[i] *= 1e5f;
		feed_all(&b, 15);
		for (size_t i = 0; i < 40 * 64; i++)
			assert_true(isfinite(b.out[i]));
		bed_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_not_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
