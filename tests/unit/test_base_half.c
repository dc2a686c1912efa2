#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>

#include "src/base/half.h"

static uint32_t
bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float
float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* The value of an F16 by its definition. */
static double
f16_value(uint16_t h)
{
	double sign = h & 0x8000 ? -1 : 1;
	int e = h >> 10 & 31, m = h & 0x3ff;

	if (e == 31)
		return m ? NAN : sign * INFINITY;
	return sign * (e ? ldexp(1024 + m, e - 25) : ldexp(m, -24));
}

static void
every_f16_is_exact_and_comes_back(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x10000; h++) {
		double want = f16_value((uint16_t)h);
		float got = tb_f16_f32((uint16_t)h);

		if (isnan(want)) {
			assert_true(isnan(got));
			assert_true(isnan(tb_f16_f32(tb_f32_f16(got))));
			assert_int_equal(tb_f32_f16(got) & 0x8000, h & 0x8000);
			continue;
		}
		assert_true((double)got == want);
		assert_int_equal(!!signbit(got), h >> 15);
		assert_int_equal(tb_f32_f16(got), h);
	}
}

/* Between two neighbours the nearer one, in the middle the even one. */
static void
f16_rounds_to_nearest_even(void **state)
{
	(void)state;
	for (uint16_t h = 0; h < 0x7bff; h++) {
		double a = f16_value(h), b = f16_value((uint16_t)(h + 1));
		float mid = (float)((a + b) / 2);	/* exact */
		uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;

		assert_int_equal(tb_f32_f16(mid), even);
		assert_int_equal(tb_f32_f16(nextafterf(mid, -1)), h);
		assert_int_equal(tb_f32_f16(nextafterf(mid, INFINITY)), h + 1);
		assert_int_equal(tb_f32_f16(-mid), even | 0x8000);
	}
	assert_int_equal(tb_f32_f16(65519.996f), 0x7bff);
	assert_int_equal(tb_f32_f16(65520), 0x7c00);
	assert_int_equal(tb_f32_f16(INFINITY), 0x7c00);
	assert_int_equal(tb_f32_f16(0x1p-25f), 0);
	assert_int_equal(tb_f32_f16(0x1.000002p-25f), 1);
	assert_int_equal(tb_f32_f16(float_of(1)), 0);
	assert_int_equal(tb_f32_f16(-0.0f), 0x8000);
}

static void
bf16_rounds_to_nearest_even(void **state)
{
	(void)state;
	for (uint32_t b = 0; b < 0x10000; b++) {
		float f = tb_bf16_f32((uint16_t)b);
		uint32_t u = b << 16;

		assert_int_equal(bits_of(f), u);
		if (isnan(f)) {
			assert_true(isnan(tb_bf16_f32(tb_f32_bf16(float_of(u | 0xffff)))));
			continue;
		}
		assert_int_equal(tb_f32_bf16(f), b);
		if (isinf(f))
			continue;
		assert_int_equal(tb_f32_bf16(float_of(u | 0x7fff)), b);
		assert_int_equal(tb_f32_bf16(float_of(u | 0x8000)), b + (b & 1));
		assert_int_equal(tb_f32_bf16(float_of(u | 0x8001)), b + 1);
	}
	assert_true(isnan(tb_bf16_f32(tb_f32_bf16(float_of(0x7f800001)))));
}

/* All kinds of F32, most of them none that a half can hold. */
static void
rows_round_as_single_numbers_do(void **state)
{
	enum { N = 1 << 16 };
	float *in = malloc(N * sizeof(*in));
	uint16_t *h = malloc(N * 2), *b = malloc(N * 2);
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 30; round++) {
		for (size_t i = 0; i < N; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			in[i] = float_of(round % 2 ? (uint32_t)(seed >> 32)	/* any bits */
					 : 0x33000000 + (uint32_t)(seed >> 37));	/* near F16's range */
		}
		tb_f32_to_f16(in, N, h);
		tb_f32_to_bf16(in, N, b);
		for (size_t i = 0; i < N; i++) {
			assert_int_equal(h[i], tb_f32_f16(in[i]));
			assert_int_equal(b[i], tb_f32_bf16(in[i]));
		}
	}
	free(in);
	free(h);
	free(b);
}

/* Rows give what single numbers give, at any alignment and length. */
static void
rows_equal_single_numbers(void **state)
{
	enum { N = 0x10000 };
	uint16_t *in = malloc(N * 2), *back = malloc(N * 2);
	unsigned char *odd = malloc(N * 2 + 1);
	float *out = malloc(N * sizeof(*out));

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		in[i] = (uint16_t)(i * 40503u);
	memcpy(odd + 1, in, N * 2);
	for (size_t n = 0; n < 70; n++) {
		tb_f16_to_f32(odd + 1, n, out);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(bits_of(out[i]) & 0xffbfffff,
					 bits_of(tb_f16_f32(in[i])) & 0xffbfffff);
	}
	tb_f16_to_f32(odd + 1, N, out);
	tb_f32_to_f16(out, N, back);
	for (size_t i = 0; i < N; i++) {
		if (isnan(out[i]))
			assert_true(isnan(tb_f16_f32(in[i])) && isnan(tb_f16_f32(back[i])));
		else
			assert_int_equal(back[i], in[i]);
	}
	tb_bf16_to_f32(odd + 1, N, out);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(bits_of(out[i]), (uint32_t)in[i] << 16);
	tb_f32_to_bf16(out, N, odd + 1);
	for (size_t i = 0; i < N; i++) {
		memcpy(&back[i], odd + 1 + 2 * i, 2);
		assert_int_equal(back[i], tb_f32_bf16(out[i]));
	}
	free(in);
	free(back);
	free(odd);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_f16_is_exact_and_comes_back),
		cmocka_unit_test(f16_rounds_to_nearest_even),
		cmocka_unit_test(bf16_rounds_to_nearest_even),
		cmocka_unit_test(rows_round_as_single_numbers_do),
		cmocka_unit_test(rows_equal_single_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
