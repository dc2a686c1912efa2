/* How rows reach an encoder: those that are weighted are whole, and each matrix of a stack
 * has its own weights. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/mem.h"
#include "src/format/ggml_type.h"
#include "src/ops/convert/window.h"
#include "src/quant/ggml_encode.h"

#define COLS 512u
#define ROWS 5u
#define EXPERTS 3u
#define LONG (WINDOW_ELEMS + 96)	/* columns that no window has room for at first */

static float columns[EXPERTS][LONG];

/* Two tensors are weighted, "w" and "long"; anything else is not. */
static const float *
weights(const void *arg, const struct tensor *t, uint64_t matrix)
{
	assert_ptr_equal(arg, columns);
	assert_true(matrix < EXPERTS);
	return strcmp(t->name, "other") ? columns[matrix] : NULL;
}

static struct tensor
tensor(const char *name, uint64_t experts, uint64_t rows, uint64_t cols)
{
	return (struct tensor){ .name = name, .scheme = scheme_plain(DT_BF16), .ndim = 3,
				.weight = { .dtype = DT_BF16 }, .dim = { experts, rows, cols }, .elems = experts * rows * cols };
}

static void
test_stretches(void **state)
{
	const struct plan_care none = { 0 }, care = { .weights = weights, .arg = columns },
			       search = { .search = 1 };
	struct tensor t = tensor("w", EXPERTS, ROWS, COLS), u = tensor("other", EXPERTS, ROWS, COLS);
	const uint64_t matrix = ROWS * COLS;
	struct encode_how how = encode_how(FLAVOUR_METAL, &none, &t, NULL, COLS, 0);

	(void)state;
	assert_true(how.cols == COLS && !how.weights && !how.search);
	assert_int_equal(encode_stretch(&how, &t, NULL, 0, 2000), 2000);
	assert_int_equal(encode_stretch(&how, &t, NULL, t.elems - 64, 2000), 64);
	how = encode_how(FLAVOUR_METAL, &care, &t, NULL, COLS, matrix);
	assert_ptr_equal(how.weights, columns[1]);
	assert_int_equal(encode_stretch(&how, &t, NULL, matrix, 2000), 3 * COLS);
	assert_int_equal(encode_stretch(&how, &t, NULL, matrix, 100), COLS);
	assert_int_equal(encode_stretch(&how, &t, NULL, matrix, 1u << 20), matrix);
	assert_int_equal(encode_stretch(&how, &t, NULL, matrix + 4 * COLS, 2000), COLS);
	how = encode_how(FLAVOUR_METAL, &care, &u, NULL, COLS, 0);
	assert_null(how.weights);
	assert_int_equal(encode_stretch(&how, &u, NULL, 0, 1u << 20), matrix);	/* the next may have some */
	how = encode_how(FLAVOUR_METAL, &search, &t, NULL, COLS, 0);
	assert_int_equal(encode_stretch(&how, &t, NULL, 0, 2000), 3 * COLS);
	assert_int_equal(encode_stretch(&how, &t, NULL, 0, 1u << 20), t.elems);
}

/* Every other row of each matrix of a stack, its rows turned into columns, parts of its columns. */
static void
test_moved_rows(void **state)
{
	const struct plan_care care = { .weights = weights, .arg = columns };
	struct tensor t = tensor("w", EXPERTS, 6, COLS);
	const uint64_t matrix = 6 * COLS, half = 3 * COLS;
	const struct change lower = { .moved = true, .walk = { 2, { EXPERTS, half }, { matrix, 1 }, half } };
	const struct change odd = { .moved = true, .walk = { 3, { EXPERTS, 3, COLS },
					{ matrix, (uint64_t)2 * COLS, 1 }, COLS } };
	const struct change turned = { .moved = true, .walk = { 3, { EXPERTS, COLS, 6 },
					   { matrix, 1, COLS }, 0 } };
	const struct change left = { .moved = true, .walk = { 3, { EXPERTS, 6, COLS / 2 },
					 { matrix, COLS, 1 }, 0 } };
	const struct change *const rows[] = { &lower, &odd }, *const others[] = { &turned, &left };
	const uint64_t cols[] = { 6, COLS / 2 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (uint64_t e = 0; e < EXPERTS; e++) {
			struct encode_how how = encode_how(FLAVOUR_METAL, &care, &t, rows[i], COLS, e * half);

			assert_ptr_equal(how.weights, columns[e]);
			assert_true(how.known && how.matrix == e && how.cols == COLS);
			assert_int_equal(encode_stretch(&how, &t, rows[i], e * half, 1u << 20), half);
			assert_int_equal(encode_stretch(&how, &t, rows[i], e * half + COLS, 1u << 20),
					 half - COLS);
			assert_int_equal(encode_stretch(&how, &t, rows[i], e * half, 1000), COLS);
		}
	for (size_t i = 0; i < 2; i++) {
		struct encode_how how = encode_how(FLAVOUR_METAL, &care, &t, others[i], cols[i], 0);

		assert_true(!how.known && !how.weights && how.cols == cols[i]);
	}
}

/* A row after the other, as a task would, against all of a matrix at once. */
static void
encode(struct window *w, const struct tensor *t, unsigned type, uint64_t most)
{
	const struct plan_care care = { .weights = weights, .arg = columns };
	struct scheme s = scheme_ggml(type);
	uint64_t cols = t->dim[2], matrix = t->dim[1] * cols, n;
	uint16_t *src = tb_calloc(t->elems, sizeof(*src));
	float *all = tb_calloc(matrix, sizeof(*all));
	uint8_t *want = tb_calloc(1, scheme_code_bytes(&s, matrix));
	uint32_t seed = 1;
	struct tb_err err;

	assert_true(src && all && want);
	for (uint64_t i = 0; i < t->elems; i++) {	/* between 2^-7 and 2^-5, either sign */
		seed = seed * 1664525 + 1013904223;
		src[i] = (uint16_t)((0x3c00 + (seed >> 24)) | (seed >> 8 & 0x8000));
	}
	for (uint64_t first = 0; first < t->elems; first += n) {
		struct encode_how how = encode_how(FLAVOUR_METAL, &care, t, NULL, cols, first);

		n = encode_stretch(&how, t, NULL, first, most);
		assert_ok(window_reserve(w, n, &err), err);
		memcpy(w->src, src + first, 2 * n);
		assert_ok(window_encode(w, t, &s, &how, first, n, &err), err);
		if (first % matrix == 0) {
			dtype_to_f32(DT_BF16, src + first, matrix, all);
			ggml_encode(type, all, t->dim[1], cols, columns[first / matrix], want);
		}
		assert_memory_equal(w->out.codes, want + scheme_code_bytes(&s, first % matrix),
				    scheme_code_bytes(&s, n));
	}
	free(src);
	free(all);
	free(want);
}

static void
test_weighted(void **state)
{
	struct tensor t = tensor("w", EXPERTS, ROWS, COLS), l = tensor("long", 2, 2, LONG);
	struct window w;
	struct tb_err err;

	(void)state;
	for (unsigned e = 0; e < EXPERTS; e++)
		for (unsigned i = 0; i < LONG; i++)
			columns[e][i] = (float)((i * 7 + e * 5) % 11);
	assert_ok(window_init(&w, &err), err);
	encode(&w, &t, GGML_Q4_0, 2000);
	encode(&w, &t, GGML_IQ4_XS, 1);
	encode(&w, &l, GGML_Q5_1, WINDOW_ELEMS);
	assert_int_equal(w.elems, LONG);
	assert_fails(window_reserve(&w, WINDOW_ROW_MAX + 1, &err), err, TB_EUNSUP, "too long");
	assert_int_equal(w.elems, LONG);
	window_free(&w);
}

/* A scale of F16 that would be infinite ends it, and says where. */
static void
test_overflow(void **state)
{
	struct tensor t = tensor("w", EXPERTS, ROWS, COLS);
	struct encode_how how = encode_how(FLAVOUR_METAL, &(struct plan_care){ 0 }, &t, NULL,
						   COLS, 0);
	struct scheme s = scheme_ggml(GGML_Q4_K);
	const uint16_t large = 0x5380;	/* 2^40 */
	struct tb_err err = { 0 };
	struct window w;

	(void)state;
	assert_ok(window_init(&w, &err), err);
	memset(w.src, 0, (size_t)4 * COLS);
	assert_ok(window_encode(&w, &t, &s, &how, COLS, 2 * COLS, &err), err);
	memcpy(w.src + (size_t)2 * (COLS + 300), &large, 2);
	assert_fails(window_encode(&w, &t, &s, &how, COLS, 2 * COLS, &err), err, TB_EFORMAT,
		     "tensor w: elements from 1280 on are too large for Q4_K");
	window_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_moved_rows),
		cmocka_unit_test(test_weighted),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
