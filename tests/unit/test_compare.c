/* Two runs of values against plain loops, in every instruction set that runs here. */
#include "config.h"

#include <math.h>

#include "src/quant/compare.h"
#include "src/quant/compare_ops.h"
#include "tests/unit/unit.h"

#define N 5000u

static float a[N], b[N];

static void
fill(unsigned seed)
{
	uint64_t s = seed;

	for (unsigned i = 0; i < N; i++) {
		s = s * 6364136223846793005u + 1442695040888963407u;
		a[i] = (float)((double)(int64_t)(s >> 33) - 0x1p30) * 1e-8f;
		b[i] = i % 3 ? a[i] : a[i] * 1.01f + 1e-3f;
	}
}

static void
near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12 * fabs(want)))
		fail_msg("%.17g is not %.17g", got, want);
}

static void
check_kernel(compare_fn *fn)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 8, 9, 31, 1000, COMPARE_BLOCK };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct compare_block got, want = { 0 };

		for (size_t i = 0; i < sizes[k]; i++) {
			double x = (double)a[i], y = (double)b[i], d = x - y;

			want.aa += x * x;
			want.bb += y * y;
			want.ab += x * y;
			want.dd += d * d;
			want.max = fabs(d) > want.max ? fabs(d) : want.max;
			want.unequal += x != y;
		}
		fn(a, b, sizes[k], &got);
		near(got.aa, want.aa);
		near(got.bb, want.bb);
		near(got.ab, want.ab);
		near(got.dd, want.dd);
		assert_true(got.max == want.max);
		assert_int_equal(got.unequal, want.unequal);
	}
}

static void
test_kernels(void **state)
{
	(void)state;
	fill(1);
	check_kernel(compare_scalar);
#ifdef HAVE_X86
	if (__builtin_cpu_supports("avx2"))
		check_kernel(compare_avx2);
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		check_kernel(compare_avx512);
#endif
}

/* Where things are, over several blocks and in two pieces. */
static void
test_places(void **state)
{
	struct compare whole, one, two;

	(void)state;
	fill(2);
	memcpy(b, a, sizeof(b));
	b[3001] += 0.25f;
	b[4100] -= 7;
	b[4101] -= 7;
	compare_init(&whole);
	compare_f32(&whole, a, b, N, 100);
	assert_int_equal(whole.n, N);
	assert_int_equal(whole.unequal, 3);
	assert_int_equal(whole.first, 3101);
	assert_int_equal(whole.odd, 0);
	assert_true(whole.max > 6.9 && whole.max < 7.1);
	assert_true(whole.max_at == 4200 || whole.max_at == 4201);
	compare_init(&one);
	compare_init(&two);
	compare_f32(&one, a, b, 4001, 100);
	compare_f32(&two, a + 4001, b + 4001, N - 4001, 4101);
	compare_merge(&one, &two);
	assert_int_equal(one.n, N);
	assert_int_equal(one.first, 3101);
	assert_int_equal(one.max_at, whole.max_at);
	near(one.dd, whole.dd);
	near(one.ab, whole.ab);
}

static void
test_same(void **state)
{
	struct compare c;

	(void)state;
	fill(3);
	compare_init(&c);
	compare_f32(&c, a, a, N, 0);
	assert_int_equal(c.unequal, 0);
	assert_true(c.first == COMPARE_NONE && c.max_at == COMPARE_NONE);
	assert_true(compare_nmse(&c) == 0 && compare_cos(&c) == 1);
	compare_init(&c);
	assert_true(compare_nmse(&c) == 0 && compare_cos(&c) == 1);
}

/* NaN beside NaN is equal, beside a number it is not; the rest still counts. */
static void
test_not_finite(void **state)
{
	struct compare c;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		a[i] = b[i] = 1;
	b[10] = 2;
	a[20] = b[20] = NAN;
	a[30] = b[30] = -INFINITY;
	a[40] = NAN;
	b[50] = INFINITY;
	a[60] = INFINITY;
	b[60] = -INFINITY;
	compare_init(&c);
	compare_f32(&c, a, b, N, 0);
	assert_int_equal(c.unequal, 4);
	assert_int_equal(c.first, 10);
	assert_int_equal(c.odd, 3);
	assert_int_equal(c.first_odd, 40);
	assert_true(c.max == 1 && c.max_at == 10);
	assert_true(c.dd == 1 && c.aa == N - 5 && c.bb == N - 5 + 3);
}

static void
test_extremes(void **state)
{
	const double x[] = { 0, 1e200, -0.0 }, y[] = { -0.0, -1e200, 0 };
	struct compare c;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		a[i] = 3e38f;
		b[i] = i % 2 ? 3e38f : -3e38f;
	}
	compare_init(&c);
	compare_f32(&c, a, b, N, 0);
	assert_true(fabs(compare_cos(&c)) < 1e-9);
	near(compare_nmse(&c), 2);
	near(c.max, 2.0 * (double)3e38f);
	compare_init(&c);
	compare_f64(&c, x, y, 3, 0);
	assert_int_equal(c.unequal, 1);
	assert_int_equal(c.max_at, 1);
	for (unsigned i = 0; i < N; i++)
		a[i] = 0;
	compare_init(&c);
	compare_f32(&c, a, b, N, 0);
	assert_true(isinf(compare_nmse(&c)) && compare_cos(&c) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
