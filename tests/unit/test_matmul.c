/* test_matmul.c - every scheme on every CPU path, in odd shapes, against doubles. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "src/engine/mm.h"
#include "src/engine/team.h"
#include "tests/unit/matrices.h"
#include "tests/unit/unit.h"

static const char *const paths[] = { "scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16",
				     "amx" };
#define PATHS (sizeof(paths) / sizeof(*paths))

/* Rows, groups a row, x at once. */
static const struct shape { uint32_t rows, groups; size_t m; } shapes[] = {
	{ 1, 1, 1 }, { 5, 1, 2 }, { 3, 3, 3 }, { 67, 2, 7 }, { 16, 5, 32 }, { 33, 7, 100 },
	{ 19, 35, 1 }, { 130, 17, 1 }, { 9, 18, 5 }, { 70, 9, 45 }, { 3, 130, 13 },
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static bool exact;	/* what is tried is what --exact does */

struct bench { struct team *team; struct matmul *mm; };

static struct bench
bench_new(const char *path, unsigned threads)
{
	struct bench b;
	struct tb_err err;

	assert_int_equal(setenv("TBTUI_CPU", path, 1), 0);
	b.team = team_new(threads);
	assert_non_null(b.team);
	assert_ok(matmul_new(&b.mm, b.team, &err), err);
	if (exact)
		matmul_exactly(b.mm);
	return b;
}

static void
bench_free(struct bench *b)
{
	matmul_free(b->mm);
	team_free(b->team);
	unsetenv("TBTUI_CPU");
}

/* Ordinary numbers, and now and then one that is 30 times as large. */
static float *
make_x(size_t n, uint64_t seed)
{
	float *x = test_calloc(n, sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = sample_normal(&seed) * (i % 251 == 17 ? 30.0f : 1.0f);
	return x;
}

/* What a kernel may do with x: nothing, cut it to 16 bits or to 8, round it and the
 * weights to BF16. */
enum rounding { NOT, DIGITS, EIGHT, HALF };

static enum rounding
rounding(const struct matrix *w, size_t m)
{
	const struct mm_kernel *many = mm_find(w, mv_level());

	if (exact)
		return NOT;
	if (many && m > 8 && (m >= many->many || m > mv_find(w, mv_level())->few))
		return many->level < MV_AVX512_VNNI ? NOT : many->step ? EIGHT : HALF;
	return w->scheme.kind == SCHEME_AFFINE || w->scheme.bits == 4 ? DIGITS : NOT;
}

/* The largest |x| of those that share a unit with x[c], for each c. */
static double *
group_maxima(const struct sample *s, const float *x, enum rounding how)
{
	size_t g = how == EIGHT ? 32 : s->w.scheme.group ? s->w.scheme.group : 1;
	double *max = test_calloc(s->w.cols, sizeof(*max));

	for (size_t c = 0; c < s->w.cols; c++)
		max[c / g * g] = fmax(max[c / g * g], fabsf(x[c]));
	for (size_t c = 0; c < s->w.cols; c++)
		max[c] = max[c / g * g];
	return max;
}

/* A row's product, and how far from it a kernel may be: sums of F32 in any order, half a
 * step of x where it is cut, half a step of both where they are rounded. */
static double
expected(const struct sample *s, const float *x, const double *max, size_t r, enum rounding how,
	 double *bound)
{
	const double *value = s->value + r * s->w.cols, *size = s->size + r * s->w.cols;
	double sum = 0, cut = how == DIGITS ? 1.0 / 65024 : how == EIGHT ? 1.0 / 254 : 0;

	*bound = 1e-30;
	for (size_t c = 0; c < s->w.cols; c++) {
		sum += value[c] * x[c];
		*bound += size[c] * fabsf(x[c]) * 2e-6 + fabs(value[c]) * max[c] * cut;
		*bound += how == HALF ? fabs(value[c] * x[c]) * 0x1.01p-8 : 0;
	}
	return sum;
}

/* Sums of squares of a row's error and size. */
struct error { double diff, all; };

static void
compare_one(const struct sample *s, const float *x, const float *y, const char *what,
	    enum rounding how, struct error *e)
{
	double *max = group_maxima(s, x, how);
	char name[SCHEME_NAME_MAX];

	for (size_t r = 0; r < s->w.rows; r++) {
		double bound, want = expected(s, x, max, r, how, &bound);

		if (!(fabs(y[r] - want) <= bound))
			fail_msg("%s %s %ux%u: y[%zu] is %g, not %g +- %g", what,
				 scheme_name(&s->w.scheme, name), s->w.rows, s->w.cols, r, y[r],
				 want, bound);
		e->diff += (y[r] - want) * (y[r] - want);
		e->all += want * want;
	}
	test_free(max);
}

static void
compare(const struct sample *s, const float *x, size_t m, const float *y, const char *path)
{
	static const double limit[] = { 1e-5, 1.5e-4, 3e-2, 3e-3 };
	struct error e = { 0, 1e-60 };
	char name[SCHEME_NAME_MAX];
	enum rounding how = rounding(&s->w, m);

	for (size_t i = 0; i < m; i++)
		compare_one(s, x + i * s->w.cols, y + i * s->w.rows, path, how, &e);
	if (s->w.rows * m > 30 && sqrt(e.diff / e.all) > limit[how])
		fail_msg("%s %s %ux%u m %zu: relative error %g", path,
			 scheme_name(&s->w.scheme, name), s->w.rows, s->w.cols, m,
			 sqrt(e.diff / e.all));
}

/* What lies in the workspace is none of a product's business: fill it with NaN, where a
 * path keeps x as floats. */
static void
poison(struct bench *b)
{
	enum { N = 1 << 15 };
	float *x = test_malloc(N * sizeof(*x)), y;
	uint8_t *codes = test_calloc(N, 2);
	struct matrix w = { .scheme = scheme_plain(DT_BF16), .rows = 1, .cols = N, .codes = codes,
			    .global = 1 };
	struct tb_err err;

	for (size_t i = 0; i < N; i++)
		x[i] = NAN;
	assert_ok(matmul_one(b->mm, &w, x, 1, &y, &err), err);
	assert_true(isnan(y));
	test_free(codes);
	test_free(x);
}

static void
check_shape(struct bench *b, const char *path, const struct sample *s, size_t m)
{
	float *x = make_x(m * s->w.cols, 77 + s->w.cols), *y = test_calloc(m * s->w.rows, sizeof(*y));
	struct tb_err err;

	poison(b);
	assert_ok(matmul_one(b->mm, &s->w, x, m, y, &err), err);
	compare(s, x, m, y, path);
	test_free(x);
	test_free(y);
}

static void
check_scheme(struct scheme scheme, enum dtype scale_dtype, float global)
{
	for (size_t i = 0; i < SHAPES; i++) {
		uint32_t group = scheme.group ? scheme.group : i % 2 ? 37 : 32;
		struct sample s;

		sample_make(&s, scheme, scale_dtype, shapes[i].rows, shapes[i].groups * group,
			    global, 1000 + i);
		for (size_t p = 0; p < PATHS; p++) {
			struct bench b = bench_new(paths[p], 1 + i % 3);

			check_shape(&b, paths[p], &s, shapes[i].m);
			bench_free(&b);
		}
		sample_free(&s);
	}
}

static void
affine(void **state)
{
	static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 }, groups[] = { 32, 64, 128 };
	static const enum dtype dtypes[] = { DT_BF16, DT_F16, DT_F32 };

	(void)state;
	for (size_t b = 0; b < 6; b++)
		for (size_t g = 0; g < 3; g++)
			for (size_t d = 0; d < 3; d++)
				check_scheme(scheme_affine(bits[b], groups[g]), dtypes[d], 1);
}

static void
floating(void **state)
{
	(void)state;
	check_scheme((struct scheme){ SCHEME_MXFP4, 4, 32, DT_COUNT, 0 }, DT_U8, 1);
	check_scheme((struct scheme){ SCHEME_MXFP8, 8, 32, DT_COUNT, 0 }, DT_U8, 1);
	check_scheme((struct scheme){ SCHEME_NVFP4, 4, 16, DT_COUNT, 0 }, DT_U8, 1);
	check_scheme((struct scheme){ SCHEME_NVFP4, 4, 16, DT_COUNT, 0 }, DT_U8, 0.0371f);
}

static void
plain(void **state)
{
	(void)state;
	check_scheme(scheme_plain(DT_BF16), DT_COUNT, 1);
	check_scheme(scheme_plain(DT_F16), DT_COUNT, 1);
	check_scheme(scheme_plain(DT_F32), DT_COUNT, 1);
}

/* Nothing is rounded: within 1e-5 everywhere. */
static void
exactly(void **state)
{
	exact = true;
	check_scheme(scheme_affine(4, 64), DT_BF16, 1);
	check_scheme(scheme_affine(8, 32), DT_F16, 1);
	check_scheme(scheme_affine(3, 128), DT_F32, 1);
	floating(state);
	plain(state);
	exact = false;
}

static const struct { struct scheme scheme; enum dtype scale_dtype; } kinds[] = {
	{ { SCHEME_AFFINE, 4, 64, DT_COUNT, 0 }, DT_BF16 },
	{ { SCHEME_AFFINE, 8, 32, DT_COUNT, 0 }, DT_F16 },
	{ { SCHEME_AFFINE, 3, 64, DT_COUNT, 0 }, DT_F32 },
	{ { SCHEME_MXFP4, 4, 32, DT_COUNT, 0 }, DT_U8 },
	{ { SCHEME_MXFP8, 8, 32, DT_COUNT, 0 }, DT_U8 },
	{ { SCHEME_NVFP4, 4, 16, DT_COUNT, 0 }, DT_U8 },
	{ { SCHEME_PLAIN, 16, 0, DT_BF16, 0 }, DT_COUNT },
	{ { SCHEME_PLAIN, 16, 0, DT_F16, 0 }, DT_COUNT },
	{ { SCHEME_PLAIN, 32, 0, DT_F32, 0 }, DT_COUNT },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))
#define STRANGE_ROWS 6
#define STRANGE_COLS 192

/* What x holds -> whether each y must be finite. */
static void
check_strange(const struct sample *s, const char *path, float odd, float rest)
{
	struct bench b = bench_new(path, 2);
	float x[STRANGE_COLS], y[STRANGE_ROWS];
	struct tb_err err;

	for (size_t i = 0; i < STRANGE_COLS; i++)
		x[i] = i == 70 ? odd : i % 2 ? rest : -rest;
	assert_ok(matmul_one(b.mm, &s->w, x, 1, y, &err), err);
	if (isfinite(odd))
		compare(s, x, 1, y, path);
	else
		for (size_t r = 0; r < STRANGE_ROWS; r++)
			assert_true(!isfinite(y[r]) || s->value[r * STRANGE_COLS + 70] == 0);
	bench_free(&b);
}

static void
strange_x(void **state)
{
	static const float odd[] = { 0, NAN, INFINITY, -INFINITY, 1e-20f, 1e25f, -3e9f, 1e-32f };

	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		struct sample s;

		sample_make(&s, kinds[k].scheme, kinds[k].scale_dtype, STRANGE_ROWS, STRANGE_COLS, 1,
			    5);
		for (size_t p = 0; p < PATHS; p++)
			for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
				check_strange(&s, paths[p], odd[i], i % 2 ? 0.5f : 0);
		sample_free(&s);
	}
}

/* Whole pieces of 16 groups and what is left of them, a global scale, more rows than are
 * gone through again. */
static void
together(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		uint32_t group = kinds[k].scheme.group ? kinds[k].scheme.group : 37;
		struct sample s;

		sample_make(&s, kinds[k].scheme, kinds[k].scale_dtype, 83, 35 * group,
			    kinds[k].scheme.kind == SCHEME_NVFP4 ? 0.0371f : 1, 21);
		for (size_t p = 0; p < PATHS; p++)
			matmul_together(&s.w, paths[p]);
		sample_free(&s);
	}
}

static size_t
scale_size(enum dtype d)
{
	return d == DT_U8 ? 1 : d == DT_F32 ? 4 : 2;
}

/* A part of a matrix on an odd address; freed by the caller. */
static uint8_t *
moved(const uint8_t *part, size_t len)
{
	uint8_t *p = part ? test_malloc(len + 1) : NULL;

	if (p)
		memcpy(p + 1, part, len);
	return p;
}

static void
odd_addresses(void **state)
{
	static const size_t ms[] = { 1, 4, 120 };

	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		struct sample s;
		struct matrix own;
		uint8_t *part[3];
		size_t n = (size_t)STRANGE_ROWS * STRANGE_COLS, scales;

		sample_make(&s, kinds[k].scheme, kinds[k].scale_dtype, STRANGE_ROWS, STRANGE_COLS, 1,
			    8);
		own = s.w;
		scales = own.scales ? scheme_scales(&own.scheme, n) * scale_size(own.scale_dtype) : 0;
		part[0] = moved(own.codes, n * own.scheme.bits / 8);
		part[1] = moved(own.scales, scales);
		part[2] = moved(own.biases, scales);
		s.w.codes = part[0] + 1;
		s.w.scales = part[1] ? part[1] + 1 : NULL;
		s.w.biases = part[2] ? part[2] + 1 : NULL;
		for (size_t p = 0; p < PATHS; p++) {
			struct bench b = bench_new(paths[p], 2);

			for (size_t i = 0; i < 3; i++)
				check_shape(&b, paths[p], &s, ms[i]);
			bench_free(&b);
		}
		for (size_t i = 0; i < 3; i++)
			if (part[i])
				test_free(part[i]);
		s.w = own;
		sample_free(&s);
	}
}

/* More matrices than share a fork-join, of all kinds, among them twice the same. */
static void
many_at_once(void **state)
{
	enum { N = 2 * KINDS, COLS = 256, M = 40 };
	static const size_t ms[] = { 1, 5, M };
	struct sample s[N];
	const struct matrix *w[N];
	float *y[N], *x = make_x((size_t)M * COLS, 9);
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		sample_make(&s[i], kinds[i % KINDS].scheme, kinds[i % KINDS].scale_dtype,
			    (uint32_t)(1 + i * 13 % 60), COLS, i % 4 ? 1 : 1.5f, 40 + i);
		w[i] = &s[i].w;
		y[i] = test_calloc(M * s[i].w.rows, sizeof(float));
	}
	for (size_t p = 0; p < PATHS; p++) {
		struct bench b = bench_new(paths[p], 3);

		for (size_t k = 0; k < 3; k++) {
			assert_ok(matmul_run(b.mm, w, N, x, ms[k], y, &err), err);
			for (size_t i = 0; i < N; i++)
				compare(&s[i], x, ms[k], y[i], paths[p]);
		}
		bench_free(&b);
	}
	for (size_t i = 0; i < N; i++) {
		test_free(y[i]);
		sample_free(&s[i]);
	}
	test_free(x);
}

static void
nothing_to_do(void **state)
{
	struct bench b = bench_new("amx", 2);
	struct tb_err err;
	float x = 1, y = 3;
	struct matrix w = { .scheme = scheme_plain(DT_F32), .rows = 1, .cols = 1,
			    .codes = (const uint8_t *)&x, .global = 1 };

	(void)state;
	assert_ok(matmul_one(b.mm, &w, &x, 0, &y, &err), err);
	assert_true(y == 3);
	bench_free(&b);
	matmul_free(NULL);
}

static void
rows_as_f32(void **state)
{
	float out[STRANGE_COLS];

	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		struct sample s;

		sample_make(&s, kinds[k].scheme, kinds[k].scale_dtype, STRANGE_ROWS, STRANGE_COLS,
			    0.75f, 6);
		for (uint32_t r = 0; r < STRANGE_ROWS; r++) {
			matrix_row(&s.w, r, out);
			for (size_t c = 0; c < STRANGE_COLS; c++)
				assert_true(fabs(out[c] - s.value[r * STRANGE_COLS + c]) <=
					    s.size[r * STRANGE_COLS + c] * 1e-6);
		}
		sample_free(&s);
	}
}

/* A path may be held down; it is never more than the CPU has. */
static void
paths_are_named(void **state)
{
	enum mv_level own = mv_level();

	(void)state;
	for (size_t p = 0; p < PATHS; p++) {
		setenv("TBTUI_CPU", paths[p], 1);
		assert_true(mv_level() <= own);
		assert_int_equal(strcmp(matmul_kernels(), paths[p]) != 0, own < (enum mv_level)p);
	}
	assert_int_equal(mv_level(), own);
	setenv("TBTUI_CPU", "abacus", 1);
	assert_int_equal(mv_level(), own);
	unsetenv("TBTUI_CPU");
	print_message("this machine: %s\n", matmul_kernels());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_named), cmocka_unit_test(affine),
		cmocka_unit_test(floating),	   cmocka_unit_test(plain),
		cmocka_unit_test(strange_x),	   cmocka_unit_test(odd_addresses),
		cmocka_unit_test(together),	   cmocka_unit_test(many_at_once),
		cmocka_unit_test(exactly),	   cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(rows_as_f32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
