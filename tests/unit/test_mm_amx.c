/* test_mm_amx.c - the tile for CPUs with AMX on tiles in memory, so that every machine
 * with BF16 products sees its packing, its order and its edges. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "src/base/half.h"
#include "src/engine/mm.h"
#include "src/engine/synthetic_ggml.h"
#include "src/format/ggml_type.h"
#include "tests/unit/matrices.h"
#include "tests/unit/unit.h"

/* What the CPU has: eight tiles of 1 KB that may be used between begin and end. */
static _Alignas(64) char tiles[8][MM_TILE];
static bool configured;

static void
tiles_begin(void)
{
	assert_false(configured);
	configured = true;
	memset(tiles, 0, sizeof(tiles));
}

static void
tiles_end(void)
{
	assert_true(configured);
	configured = false;
	memset(tiles, 0xff, sizeof(tiles));
}

static char *
tile(unsigned t)
{
	assert_true(configured && t < 8);
	return tiles[t];
}

/* c[row][token] += of 16 pairs a[row][pair] b[pair][token] */
static void
tile_dot(unsigned c, unsigned a, unsigned b)
{
	const uint16_t *left = (const uint16_t *)tile(a), *right = (const uint16_t *)tile(b);
	float *sum = (float *)tile(c);

	for (unsigned r = 0; r < 16; r++)
		for (unsigned t = 0; t < 16; t++)
			for (unsigned k = 0; k < 32; k++)
				sum[16 * r + t] += tb_bf16_f32(left[32 * r + k]) *
						   tb_bf16_f32(right[k / 2 * 32 + 2 * t + k % 2]);
}

#define TILES_BEGIN() tiles_begin()
#define TILES_END() tiles_end()
#define TILE_ZERO(t) memset(tile(t), 0, MM_TILE)
#define TILE_LOAD(t, p) memcpy(tile(t), p, MM_TILE)
#define TILE_STORE(t, p) memcpy(p, tile(t), MM_TILE)
#define TILE_DOT(c, a, b) tile_dot(c, a, b)
#include "src/engine/mm_amx_body.h"

static const struct mm_tile emulated = { .tokens = TOKENS, .x_size = amx_x_size,
					 .pack = amx_pack, .multiply = amx_multiply };

static const struct { uint32_t rows, groups; size_t m; } shapes[] = {
	{ 1, 1, 1 }, { 16, 2, 16 }, { 17, 3, 17 }, { 33, 5, 32 }, { 32, 1, 33 }, { 70, 2, 70 },
	{ 2, 35, 3 },
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static void *
aligned(size_t len)
{
	void *p = aligned_alloc(64, (len + 63) / 64 * 64);

	assert_non_null(p);
	memset(p, 0xff, len);		/* NaN */
	return p;
}

/* All panels of w, as mm.c makes them. */
static void
multiply_all(const struct matrix *w, const struct mm_x *x, float *y)
{
	size_t steps = (size_t)MM_STRETCH / 16 * MM_ROWS * sizeof(float);
	struct mm_panel panel = { aligned(MM_STRETCH * MM_ROWS * 2), aligned(steps), aligned(steps),
				  aligned(MM_STRETCH * sizeof(float)) };

	for (uint32_t r = 0; r < w->rows; r += MM_ROWS) {
		struct mm_job j = { x, &panel, { w, r, 0, 0, 0 }, y, 0, mm_blocks(x) };

		j.part.rows = w->rows - r < MM_ROWS ? w->rows - r : MM_ROWS;
		for (; j.part.col < w->cols; j.part.col += MM_STRETCH) {
			j.part.n = w->cols - j.part.col < MM_STRETCH ? w->cols - j.part.col
								     : MM_STRETCH;
			x->kernel->unpack(x, &j.part, &panel);
			x->kernel->tile->multiply(&j);
		}
	}
	free(panel.tiles);
	free(panel.scale);
	free(panel.bias);
	free(panel.row);
}

/* Rows as they are decoded, x as it is, or as ggml's types meet it. */
static void
compare(const struct matrix *w, const struct mm_x *x, const float *y)
{
	float *row = test_calloc(w->cols, sizeof(*row)), *in = test_calloc(w->cols, sizeof(*in));
	double diff = 0, all = 1e-60;
	char name[SCHEME_NAME_MAX];

	for (size_t i = 0; i < x->m; i++) {
		memcpy(in, x->x + i * w->cols, w->cols * sizeof(*in));
		if (x->kernel->block)
			assert_true(vec_ops()->round8(in, in, w->cols, round8_block(x->group)));
		for (uint32_t r = 0; r < w->rows; r++) {
			double sum = 0, bound = 1e-30;

			matrix_row(w, r, row);
			for (uint32_t c = 0; c < w->cols; c++) {
				sum += (double)row[c] * in[c];
				bound += fabs((double)row[c] * in[c]) * 0x1.02p-8;
			}
			if (!(fabs(y[i * w->rows + r] - sum) <= bound))
				fail_msg("%s %ux%u: y[%zu][%u] is %g, not %g +- %g",
					 scheme_name(&w->scheme, name), w->rows, w->cols, i, r,
					 y[i * w->rows + r], sum, bound);
			diff += pow(y[i * w->rows + r] - sum, 2);
			all += sum * sum;
		}
	}
	if (w->rows * x->m > 30 && !(sqrt(diff / all) < 3e-3))
		fail_msg("%s: relative error %g", scheme_name(&w->scheme, name), sqrt(diff / all));
	test_free(row);
	test_free(in);
}

static void
check(const struct matrix *w, size_t m)
{
	struct mm_kernel kernel = *mm_find(w, MV_AMX);
	struct mm_x x = { .kernel = &kernel, .m = m, .cols = w->cols, .group = w->scheme.group };
	float *in = test_calloc(m * w->cols, sizeof(*in)), *y = test_calloc(m * w->rows, sizeof(*y));
	uint64_t seed = 99;

	assert_int_equal(kernel.level, MV_AMX);
	kernel.tile = &emulated;
	for (size_t i = 0; i < m * w->cols; i++)
		in[i] = sample_normal(&seed) * (i % 251 == 17 ? 30.0f : 1.0f);
	x.x = in;
	x.data = aligned(mm_blocks(&x) * amx_x_size(&x));
	for (size_t b = 0; b < mm_blocks(&x); b++)
		assert_true(amx_pack(&x, b));
	multiply_all(w, &x, y);
	compare(w, &x, y);
	free(x.data);
	test_free(in);
	test_free(y);
}

static void
own_schemes(void **state)
{
	static const char *const names[] = {
		"affine:2:64", "affine:3:32", "affine:4:32", "int4", "affine:4:128", "affine:5:64",
		"affine:6:128", "int8", "mxfp4", "nvfp4", "mxfp8", "bf16",
	};
	struct scheme scheme;
	struct tb_err err;

	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		assert_ok(scheme_parse(names[k], &scheme, &err), err);
		for (size_t i = 0; i < SHAPES; i++) {
			bool affine = scheme.kind == SCHEME_AFFINE;
			struct sample s;

			sample_make(&s, scheme, affine ? DT_BF16 : DT_U8, shapes[i].rows,
				    shapes[i].groups * (scheme.group ? scheme.group : 37),
				    scheme.kind == SCHEME_NVFP4 ? 0.375f : 1, 5 + i);
			check(&s.w, shapes[i].m);
			sample_free(&s);
		}
	}
}

static void
ggml_types(void **state)
{
	static const unsigned types[] = {
		GGML_Q8_0, GGML_Q4_0, GGML_Q4_1, GGML_Q5_0, GGML_Q5_1, GGML_IQ4_NL, GGML_MXFP4,
		GGML_IQ4_XS, GGML_Q2_K, GGML_Q3_K, GGML_Q4_K, GGML_Q5_K, GGML_Q6_K, GGML_IQ2_XS,
	};

	(void)state;
	for (size_t k = 0; k < sizeof(types) / sizeof(*types) * SHAPES; k++) {
		struct scheme scheme = scheme_ggml(types[k / SHAPES]);
		uint32_t rows = shapes[k % SHAPES].rows;
		uint32_t cols = shapes[k % SHAPES].groups * scheme.group;
		size_t len = scheme_code_bytes(&scheme, (uint64_t)rows * cols);
		uint8_t *p = test_malloc(len);
		struct matrix w = { .scheme = scheme, .rows = rows, .cols = cols, .codes = p,
				    .global = 1 };
		uint64_t seed = 7 + k;

		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)(sample_random(&seed) >> 24);
		synthetic_ggml(types[k / SHAPES], p, (uint64_t)rows * cols / scheme.group);
		check(&w, shapes[k % SHAPES].m);
		test_free(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(own_schemes),
					    cmocka_unit_test(ggml_types) };

	if (mv_level() < MV_AVX512_BF16) {
		print_message("this CPU has no BF16 products\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
