/* A search costs no group more than rounding does, whatever is in it, and ordinary weights
 * clearly less; where columns cost something, that is what becomes less. */
#include "config.h"

#include <math.h>

#include "src/base/half.h"
#include "src/quant/feedback.h"
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
	const struct quant_weights weights = { cost, COLS, 0 };
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

#define FED 192			/* columns, in blocks of 128: the last one is not full */

/* Inputs that go together: three things that happen, seen in every column. */
static void
make_inputs(float (*x)[FED], size_t n)
{
	static float mix[FED][3];
	uint64_t s = 3;

	for (size_t i = 0; i < FED * 3; i++)
		mix[i / 3][i % 3] = normal(&s);
	for (size_t i = 0; i < n; i++) {
		float z[3] = { normal(&s), normal(&s), normal(&s) };

		for (size_t k = 0; k < FED; k++)
			x[i][k] = 0.3f * normal(&s) + z[0] * mix[k][0] + z[1] * mix[k][1] +
				  z[2] * mix[k][2];
	}
}

/* What the errors do to the products with those inputs. */
static double
output_error(const struct scheme *s, enum dtype t, float (*x)[FED], size_t n)
{
	struct quant_src q = { codes, scales, biases, scheme_scale_dtype(s, t), 1 };
	double sum = 0;

	quant_decode(s, &q, FED * ROWS, back);
	for (size_t r = 0; r < ROWS; r++)
		for (size_t i = 0; i < n; i++) {
			double y = 0;

			for (size_t k = 0; k < FED; k++)
				y += ((double)w[r * FED + k] - back[r * FED + k]) * x[i][k];
			sum += y * y;
		}
	return sum;
}

static struct quant_feedback *
make_feedback(float (*x)[FED], size_t n)
{
	static float gram[128 * 128];
	struct quant_feedback *f;
	struct tb_err err;

	assert_ok(quant_feedback_new(&f, FED, 128, &err), err);
	for (size_t b = 0; b < 2; b++) {
		memset(gram, 0, sizeof(gram));
		for (size_t i = 0; i < n; i++)
			for (size_t j = b * 128; j < FED && j < (b + 1) * 128; j++)
				for (size_t k = b * 128; k < FED && k < (b + 1) * 128; k++)
					gram[(j - b * 128) * 128 + k - b * 128] +=
						x[i][j] * x[i][k] / (float)n;
		assert_ok(quant_feedback_set(f, b, gram, &err), err);
	}
	return f;
}

static void
test_feedback(void **state)
{
	static float x[300][FED];
	const struct quant_parts out = { codes, scales, biases };
	struct quant_feedback *f;
	struct tb_err err;

	(void)state;
	make_inputs(x, 300);
	f = make_feedback(x, 300);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		enum dtype t = i % 2 ? DT_F32 : DT_BF16;
		struct scheme s;
		double was, is;

		assert_ok(scheme_parse(wanted[i].scheme, &s, &err), err);
		if (s.group == 128)
			continue;
		fill(0, t);
		quant_search(&s, FLAVOUR_METAL, t, src, FED * ROWS, NULL, &out);
		was = output_error(&s, t, x, 300);
		assert_ok(quant_encode_fed(&s, FLAVOUR_METAL, t, src, ROWS, f, &out, &err), err);
		is = output_error(&s, t, x, 300);
		if (is > was * 0.4)
			fail_msg("%s: %g, %g before", wanted[i].scheme, is, was);
	}
	quant_feedback_free(f);
}

/* Of products that say nothing, each column is for itself: the search's codes. */
static void
test_no_feedback(void **state)
{
	static float gram[FED * FED];
	static uint8_t first[4 * N];
	const struct quant_parts out = { codes, scales, biases };
	struct quant_feedback *f;
	struct scheme s = scheme_affine(4, 64);
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < FED; i++)
		gram[i * FED + i] = 2;
	assert_ok(quant_feedback_new(&f, FED, FED, &err), err);
	assert_ok(quant_feedback_set(f, 0, gram, &err), err);
	fill(0, DT_F32);
	quant_search(&s, FLAVOUR_METAL, DT_F32, src, FED * ROWS, NULL, &out);
	memcpy(first, codes, sizeof(codes));
	assert_ok(quant_encode_fed(&s, FLAVOUR_METAL, DT_F32, src, ROWS, f, &out, &err), err);
	assert_memory_equal(first, codes, FED * ROWS / 2);
	gram[0] = -1e9f;
	gram[1] = gram[FED] = 1e9f;
	assert_fails(quant_feedback_set(f, 0, gram, &err), err, TB_EFORMAT, "calibrate again");
	quant_feedback_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_worse),
		cmocka_unit_test(test_subnormal_scales),
		cmocka_unit_test(test_feedback),
		cmocka_unit_test(test_no_feedback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
