/* A search costs no group more than rounding does, whatever is in it, and ordinary weights
 * clearly less; where columns cost something, that is what becomes less. */
#include "config.h"

#include <math.h>

#include "src/base/half.h"
#include "src/quant/search.h"
#include "tests/unit/unit.h"

#define COLS 512
#define ROWS 40
#define N (COLS * ROWS + 128 * 3)	/* no whole number of blocks, nor of rows */

static float w[N], back[N], cost[COLS];
static uint8_t src[4 * N], codes[N], scales[4 * N], biases[4 * N];

/* Sums of twelve are nearly normal. */
static float
normal(uint64_t *s)
{
	float sum = -6;

	for (unsigned i = 0; i < 12; i++) {
		*s ^= *s << 13;
		*s ^= *s >> 7;
		*s ^= *s << 17;
		sum += (float)(*s >> 40) / 0x1p24f;
	}
	return sum;
}

/* Weights as models have them, then what is odd: small, constant, one-sided, huge. */
static void
fill(unsigned family, enum dtype t)
{
	static const float size[] = { 0.02f, 1e-4f, 0.02f, 1, 100 };
	uint64_t s = 88172645463325252u + family;

	for (size_t i = 0; i < N; i++) {
		w[i] = normal(&s) * size[family];
		if (family == 2 && i / 128 % 3 == 0)
			w[i] = i / 384 % 2 ? 0.25f : 0;
		if (family == 3)
			w[i] = fabsf(w[i]) + 3;
		if (family == 4 && i % 61 == 0)
			w[i] *= 300;
	}
	for (size_t i = 0; i < COLS; i++)
		cost[i] = i % 7 == 0 ? 0 : expf(normal(&s));
	if (t == DT_BF16)
		tb_f32_to_bf16(w, N, src);
	else if (t == DT_F16)
		tb_f32_to_f16(w, N, src);
	else
		memcpy(src, w, sizeof(w));
	dtype_to_f32(t, src, N, w);
}

static double
group_error(size_t at, unsigned group, bool costs)
{
	double sum = 0;

	for (size_t i = at; i < at + group; i++) {
		double d = (double)w[i] - back[i];

		sum += d * d * (costs ? (double)cost[i % COLS] : 1);
	}
	return sum;
}

/* Errors of all groups, of what is in codes, scales, biases. */
static double
errors(const struct scheme *s, enum dtype t, bool costs, double *each)
{
	struct quant_src q = { codes, scales, biases, scheme_scale_dtype(s, t), 1 };
	double sum = 0;

	quant_decode(s, &q, N, back);
	for (size_t i = 0; i < N / s->group; i++)
		sum += each[i] = group_error(i * s->group, s->group, costs);
	return sum;
}

/* least: what the search must gain on ordinary weights, in parts of the squared error. */
struct wanted { const char *scheme; double least; };
static const struct wanted wanted[] = {
	{ "affine:2:64", .25 }, { "affine:3:64", .15 }, { "int4", .1 }, { "affine:4:32", .1 },
	{ "affine:4:128", .1 }, { "affine:5:64", .08 }, { "affine:6:64", .08 }, { "int8", .04 },
	{ "mxfp4", .05 }, { "mxfp8", 0 }, { "nvfp4", .1 },
};

static void
check(const struct wanted *want, enum dtype t, unsigned family, enum flavour f, bool costs)
{
	static double before[N / 16], after[N / 16];
	const struct quant_parts out = { codes, scales, biases };
	const struct quant_weights weights = { cost, COLS };
	struct scheme s;
	struct tb_err err;
	double was, is;

	assert_ok(scheme_parse(want->scheme, &s, &err), err);
	fill(family, t);
	quant_encode(&s, f, t, src, N, &out);
	was = errors(&s, t, costs, before);
	quant_search(&s, f, t, src, N, costs ? &weights : NULL, &out);
	is = errors(&s, t, costs, after);
	for (size_t i = 0; i < N / s.group; i++)
		if (after[i] > before[i] * (1 + 1e-5))
			fail_msg("%s %u family %u: group %zu: %g, %g before", want->scheme, t,
				 family, i, after[i], before[i]);
	if (!family && is > was * (1 - want->least))
		fail_msg("%s %u: %g, %g before", want->scheme, t, is, was);
}

static void
test_never_worse(void **state)
{
	static const enum dtype dtypes[] = { DT_BF16, DT_F16, DT_F32 };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		for (unsigned k = 0; k < 3 * 5 * 2; k++) {
			check(&wanted[i], dtypes[k % 3], k / 3 % 5, k / 15, false);
			check(&wanted[i], dtypes[k % 3], k / 3 % 5, k / 15, true);
		}
}

/* Weights so small that MLX's scale is 0, and with it the group. */
static void
test_subnormal_scales(void **state)
{
	const struct quant_parts out = { codes, scales, biases };
	struct scheme s;
	struct tb_err err;
	double each[N / 16], lost, kept;

	(void)state;
	assert_ok(scheme_parse("nvfp4", &s, &err), err);
	fill(0, DT_F32);
	for (size_t i = 0; i < N; i++)
		w[i] *= 0.12f;
	memcpy(src, w, sizeof(w));
	quant_encode(&s, FLAVOUR_METAL, DT_F32, src, N, &out);
	lost = errors(&s, DT_F32, false, each);
	quant_search(&s, FLAVOUR_METAL, DT_F32, src, N, NULL, &out);
	kept = errors(&s, DT_F32, false, each);
	assert_true(kept < lost * 0.8);
	for (size_t i = 0; i < N / 16; i++)
		assert_true(scales[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_worse),
		cmocka_unit_test(test_subnormal_scales),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
