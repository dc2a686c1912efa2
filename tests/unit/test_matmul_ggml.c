/* Products with ggml's types on every CPU path, in odd shapes, against doubles: values of
 * blocks as they are decoded (which is compared with ggml bit for bit elsewhere), x
 * rounded to 8 bits here. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/engine/mm.h"
#include "src/engine/synthetic_ggml.h"
#include "src/engine/team.h"
#include "src/format/ggml_type.h"
#include "src/quant/ggml.h"
#include "tests/unit/matrices.h"
#include "tests/unit/unit.h"

static const char *const paths[] = { "scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16",
				     "amx" };
#define PATHS (sizeof(paths) / sizeof(*paths))

/* Rows, blocks a row (eight times as many of the small ones, and `more`), x at once. */
static const struct shape { uint32_t rows, blocks, more; size_t m; } shapes[] = {
	{ 1, 1, 0, 1 }, { 5, 0, 1, 2 }, { 3, 3, 3, 3 }, { 67, 2, 7, 7 }, { 16, 0, 5, 32 },
	{ 33, 1, 2, 100 }, { 19, 8, 3, 1 }, { 130, 4, 6, 1 }, { 9, 5, 0, 5 }, { 70, 2, 1, 22 },
	{ 3, 17, 1, 13 },
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

struct sum { struct matrix w; float *value; void *map; size_t map_len; };

/* Random blocks that end where memory ends. */
static void
make(struct sum *s, unsigned type, uint32_t rows, uint32_t cols, uint64_t seed)
{
	struct scheme scheme = scheme_ggml(type);
	size_t n = (size_t)rows * cols, len = scheme_code_bytes(&scheme, n);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (len + page - 1) / page * page;
	uint8_t *p;

	s->map_len = body + page;
	s->map = mmap(NULL, s->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(s->map != MAP_FAILED);
	assert_int_equal(mprotect((char *)s->map + body, page, PROT_NONE), 0);
	p = (uint8_t *)s->map + body - len;
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(sample_random(&seed) >> 24);
	synthetic_ggml(type, p, n / scheme.group);
	s->w = (struct matrix){ .scheme = scheme, .rows = rows, .cols = cols, .codes = p,
				.global = 1 };
	s->value = test_calloc(n, sizeof(*s->value));
	ggml_decode(type, p, n, s->value);
}

static void
drop(struct sum *s)
{
	munmap(s->map, s->map_len);
	test_free(s->value);
}

static float *
make_x(size_t n, uint64_t seed)
{
	float *x = test_calloc(n, sizeof(*x));

	for (size_t i = 0; i < n; i++)
		x[i] = sample_normal(&seed) * (i % 251 == 17 ? 30.0f : 1.0f);
	return x;
}

static bool exactly_x;	/* what is tried is what --exact does: x is not rounded */

/* x as 8 bits hold it; where it lies between two integers, half is a half step. */
struct round { double q, half; };

/* Of a block of x: what its sum, which went through F16, is more than that of its q; and
 * how much the sum is uncertain. */
struct apart { double more, half; };

static struct round *
round_x(const float *x, size_t n, size_t block, bool as_it_is)
{
	struct round *out = test_calloc(n, sizeof(*out));

	for (size_t i = 0; as_it_is && i < n; i++)
		out[i].q = x[i];
	for (size_t b = 0; !as_it_is && b < n; b += block) {
		float max = 0, unit, steps;

		for (size_t i = b; i < b + block; i++)
			max = fmaxf(max, fabsf(x[i]));
		if (!(max > 0))
			continue;
		steps = 127 / max;
		unit = block == 256 ? 1 / steps : tb_f16_f32(tb_f32_f16(max / 127));
		for (size_t i = b; i < b + block; i++) {
			double q = (double)x[i] * steps;
			bool tie = fabs(fabs(q - floor(q)) - 0.5) < 1e-4;

			out[i] = (struct round){ rint(q) * unit, tie ? unit : 0 };
		}
	}
	return out;
}

/* Minima of Q4_1 and Q5_1 meet a sum that went through F16 on its own. */
static struct apart *
sums_of(const float *x, const struct round *q, size_t n, bool as_it_is)
{
	struct apart *out = test_calloc(n / 32, sizeof(*out));

	for (size_t b = 0; !as_it_is && b < n / 32; b++) {
		float max = 0, unit, sum;
		double exact = 0, steps = 0;

		for (size_t i = 32 * b; i < 32 * b + 32; i++) {
			max = fmaxf(max, fabsf(x[i]));
			exact += q[i].q;
			out[b].half += q[i].half;
		}
		if (!(max > 0))
			continue;
		unit = tb_f16_f32(tb_f32_f16(max / 127));
		steps = rint(exact / (double)unit);
		sum = max / 127 * (float)steps;
		out[b].more = (double)tb_f16_f32(tb_f32_f16(sum)) - exact;
		if (out[b].half > 0)		/* another sum may be rounded otherwise */
			out[b].half += fabs(exact) * 0x1p-10;
	}
	return out;
}

/* Minimum of block b of all of the matrix. */
static double
minimum(const struct sum *s, size_t b)
{
	uint16_t half;

	memcpy(&half, s->w.codes + b * ggml_info(s->w.scheme.ggml)->bytes + 2, sizeof(half));
	return (double)tb_f16_f32(half);
}

/* May weights and many rounded x become BF16? */
static bool
as_bf16(const struct matrix *w, size_t m)
{
	const struct mm_kernel *many = mm_find(w, mv_level());

	return !exactly_x && many && m > 8 && !many->step &&
	       (m >= many->many || m > mv_find(w, mv_level())->few);
}

static void
compare(const struct sum *s, const float *x, const float *y, bool bf16, const char *path)
{
	unsigned type = s->w.scheme.ggml;
	size_t block = s->w.scheme.group == 256 ? 256 : 32, blocks = s->w.cols / 32;
	struct round *q = round_x(x, s->w.cols, block, exactly_x);
	struct apart *a = sums_of(x, q, s->w.cols, exactly_x || bf16);
	char name[SCHEME_NAME_MAX];

	for (uint32_t r = 0; r < s->w.rows; r++) {
		double sum = 0, bound = 1e-30;

		for (size_t c = 0; c < s->w.cols; c++) {
			double v = s->value[(size_t)r * s->w.cols + c];

			sum += v * q[c].q;
			bound += fabs(v) * q[c].half + (fabs(v) + 0.02) * fabs(q[c].q) * 2e-6;
			bound += bf16 ? fabs(v * q[c].q) * 0x1.01p-8 : 0;
		}
		for (size_t b = 0; (type == GGML_Q4_1 || type == GGML_Q5_1) && b < blocks; b++) {
			double m = minimum(s, r * blocks + b);

			sum += m * a[b].more;
			bound += fabs(m) * a[b].half;
		}
		if (!(fabs(y[r] - sum) <= bound))
			fail_msg("%s %s %ux%u: y[%u] is %g, not %g +- %g", path,
				 scheme_name(&s->w.scheme, name), s->w.rows, s->w.cols, r,
				 (double)y[r], sum, bound);
	}
	test_free(q);
	test_free(a);
}

static void
check(const struct sum *s, const char *path, size_t m, unsigned threads)
{
	float *x = make_x(m * s->w.cols, 77 + s->w.cols), *y = test_calloc(m * s->w.rows, sizeof(*y));
	struct team *team;
	struct matmul *mm;
	struct tb_err err;

	assert_int_equal(setenv("TBTUI_CPU", path, 1), 0);
	team = team_new(threads);
	assert_non_null(team);
	assert_ok(matmul_new(&mm, team, &err), err);
	if (exactly_x)
		matmul_exactly(mm);
	assert_ok(matmul_one(mm, &s->w, x, m, y, &err), err);
	for (size_t i = 0; i < m; i++)
		compare(s, x + i * s->w.cols, y + i * s->w.rows, as_bf16(&s->w, m), path);
	matmul_free(mm);
	team_free(team);
	unsetenv("TBTUI_CPU");
	test_free(x);
	test_free(y);
}

static void
every_type(void **state)
{
	unsigned types = 0;

	(void)state;
	for (unsigned type = 0; type <= GGML_Q2_0; type++) {
		for (size_t i = 0; i < SHAPES && ggml_decodable(type); i++) {
			uint32_t group = ggml_info(type)->block;
			uint32_t blocks = shapes[i].blocks * (256 / group) + shapes[i].more;
			struct sum s;

			make(&s, type, shapes[i].rows, blocks * group, 1000 + i);
			for (size_t p = 0; p < PATHS; p++)
				check(&s, paths[p], shapes[i].m, 1 + i % 3);
			for (size_t p = 0; shapes[i].m == 7 && !exactly_x && p < PATHS; p++)
				matmul_together(&s.w, paths[p]);
			drop(&s);
		}
		types += ggml_decodable(type);
	}
	assert_int_equal(types, 25);
}

static void
exactly(void **state)
{
	exactly_x = true;
	every_type(state);
	exactly_x = false;
}

/* Part of the matrix's file begins where it likes. */
static void
odd_addresses(void **state)
{
	(void)state;
	for (unsigned type = 0; type <= GGML_Q2_0; type++) {
		struct sum s;
		const uint8_t *own;
		uint8_t *p;
		size_t len;

		if (!ggml_decodable(type))
			continue;
		make(&s, type, 7, 768, 8);
		own = s.w.codes;
		len = scheme_code_bytes(&s.w.scheme, 7 * 768);
		p = test_malloc(len + 1);
		memcpy(p + 1, own, len);
		s.w.codes = p + 1;
		for (size_t i = 0; i < PATHS; i++)
			check(&s, paths[i], 3, 2);
		test_free(p);
		drop(&s);
	}
}

/* What is not finite comes out so, and the tiniest and the largest do no harm. */
static void
strange_x(void **state)
{
	static const float odd[] = { 0, NAN, INFINITY, -INFINITY, 1e-20f, 1e25f, 1e-42f };
	static const unsigned types[] = { GGML_Q8_0, GGML_Q4_0, GGML_Q5_1, GGML_Q4_K, GGML_Q6_K,
					  GGML_IQ4_XS, GGML_IQ3_S, GGML_Q2_K, GGML_Q3_K, GGML_IQ2_XS,
					  GGML_IQ1_S };

	(void)state;
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		struct sum s;
		float x[256] = { 0 }, y[4];

		make(&s, types[t], 4, 256, 3);
		for (size_t i = 0; i < PATHS * sizeof(odd) / sizeof(*odd); i++) {
			struct team *team;
			struct matmul *mm;
			struct tb_err err;

			setenv("TBTUI_CPU", paths[i % PATHS], 1);
			team = team_new(1);
			x[70] = odd[i / PATHS];
			assert_ok(matmul_new(&mm, team, &err), err);
			assert_ok(matmul_one(mm, &s.w, x, 1, y, &err), err);
			for (size_t r = 0; r < 4; r++)
				assert_int_equal(isfinite(y[r]), isfinite(x[70]));
			matmul_free(mm);
			team_free(team);
		}
		unsetenv("TBTUI_CPU");
		drop(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type), cmocka_unit_test(odd_addresses),
		cmocka_unit_test(strange_x),  cmocka_unit_test(exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
