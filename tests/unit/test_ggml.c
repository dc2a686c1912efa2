/* ggml's own values of random and of encoded blocks: the files hold both. */
#include "config.h"

#include <math.h>

#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/quant/codec.h"
#include "src/quant/ggml.h"
#include "src/quant/ggml_fields.h"
#include "tests/unit/ggml_golden.h"

/* Types that have a decoder: golden files must have been seen for each. */
#define DECODERS 25

/* Bits, so that zeros have signs; said with the first that differs. */
static void
compare(const struct tb_file *f, const struct gguf *g, const char *name)
{
	const struct gguf_tensor *t = golden_tensor(g, name);
	char other[32];
	uint32_t *want;
	float *got;
	size_t n, bad = 0, first = 0;
	struct scheme s = scheme_ggml(t->type);
	struct quant_src q = { .global = 1 };
	void *src = golden_data(f, t);

	snprintf(other, sizeof(other), "%s.f32", name);
	want = golden_data(f, golden_tensor(g, other));
	n = golden_tensor(g, other)->len / 4;
	assert_int_equal(scheme_code_bytes(&s, n), t->len);
	got = tb_calloc(n, sizeof(*got));
	assert_non_null(got);
	q.codes = src;
	quant_decode(&s, &q, n, got);
	for (size_t i = n; i-- > 0;)
		if (memcmp(&got[i], &want[i], 4)) {
			bad++;
			first = i;
		}
	if (bad)
		fail_msg("%s: %s: %zu of %zu differ, first %zu: %a", f->path, name, bad, n, first,
			 (double)got[first]);
	free(got);
	free(want);
	free(src);
}

static void
test_golden(void **state)
{
	const char *dir = unit_shared("data/gguf-golden");
	struct tb_err err = { 0 };
	unsigned seen = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d))) {
		char *path = tb_path_join(dir, e->d_name);
		struct tb_file f;
		struct gguf g;

		if (!tb_ends(e->d_name, ".gguf")) {
			free(path);
			continue;
		}
		assert_ok(tb_file_open(&f, path, &err), err);
		assert_ok(gguf_read(&g, &f, &err), err);
		if (ggml_decodable(golden_tensor(&g, "q.random")->type)) {
			compare(&f, &g, "q.random");
			compare(&f, &g, "q.encoded");
			seen++;
		}
		gguf_free(&g);
		tb_file_close(&f);
		free(path);
	}
	closedir(d);
	assert_int_equal(seen, DECODERS);
}

/* The machine's own path against one element at a time, on any bits at all. */
static void
test_paths(void **state)
{
	enum { N = 7 * 256 };
	static float one[N], other[N];
	uint8_t src[N * 4 + 1];
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 40 * DECODERS; i++) {
		unsigned type = i % (GGML_Q2_0 + 1);
		struct quant_src q = { .codes = src + i % 2, .global = 1 };
		struct scheme s;

		if (!ggml_decodable(type))
			continue;
		s = scheme_ggml(type);
		for (size_t k = 0; k < sizeof(src); k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			src[k] = (uint8_t)(seed >> 56);
		}
		quant_decode(&s, &q, N, one);
		ggml_decode(type, q.codes, N, other);
		if (memcmp(one, other, sizeof(one)))
			fail_msg("%s: the vector path differs", ggml_info(type)->name);
	}
}

static void
test_scheme(void **state)
{
	struct scheme a = scheme_ggml(GGML_Q4_K), b = scheme_ggml(GGML_Q5_K), s;
	char name[SCHEME_NAME_MAX];
	struct tb_err err = { 0 };
	unsigned n = 0;

	(void)state;
	assert_false(scheme_equal(&a, &b));
	assert_true(scheme_equal(&a, &a));
	assert_string_equal(scheme_name(&a, name), "Q4_K");
	assert_int_equal(scheme_code_bytes(&a, 512), 288);
	assert_int_equal(scheme_scales(&a, 512), 0);
	assert_true(scheme_fits(&a, 512) && !scheme_fits(&a, 128) && !scheme_has_bias(&a));
	assert_null(scheme_quant_type(&a));
	assert_int_equal(scheme_ggml(GGML_BF16).kind, SCHEME_PLAIN);
	assert_fails(scheme_parse("iq2_xxs", &s, &err), err, TB_EUNSUP, "read but not written");
	assert_false(scheme_from_mode("ggml", 0, 0, &s));
	for (unsigned type = 0; type < 100; type++)
		n += ggml_decodable(type);
	assert_int_equal(n, DECODERS);
	assert_false(ggml_decodable(GGML_Q8_K));
	assert_false(ggml_decodable(UINT32_MAX));
}

/* ---- fields ---- */

struct parts { double v[8][GGML_FIELD_NUMBERS]; unsigned n[8]; };

static void
take_apart(unsigned type, const uint8_t *block, struct parts *out)
{
	const struct ggml_field *f;

	for (unsigned i = 0; i < 8 && (f = ggml_field(type, i)); i++)
		out->n[i] = ggml_field_read(f, block, out->v[i]);
}

static double
value_q4_0(const struct parts *p, unsigned i)
{
	return (p->v[1][i % 16 * 2 + i / 16] - 8) * p->v[0][0];
}

static double
value_q8_0(const struct parts *p, unsigned i)
{
	return p->v[1][i] * p->v[0][0];
}

static double
value_q2_k(const struct parts *p, unsigned i)
{
	unsigned g = i / 16;
	double q = p->v[1][(i / 128 * 32 + i % 32) * 4 + i / 32 % 4];

	return p->v[2][0] * p->v[0][2 * g] * q - p->v[3][0] * p->v[0][2 * g + 1];
}

static double
value_q3_k(const struct parts *p, unsigned i)
{
	double q = p->v[1][(i / 128 * 32 + i % 32) * 4 + i / 32 % 4];
	double high = p->v[0][i % 32 * 8 + i / 32];

	return p->v[3][0] * p->v[2][i / 16] * (q - (high != 0 ? 0 : 4));
}

static double
value_q4_k(const struct parts *p, unsigned i)
{
	double q = p->v[4][(i / 64 * 32 + i % 32) * 2 + i / 32 % 2];

	return p->v[0][0] * p->v[2][i / 32] * q - p->v[1][0] * p->v[3][i / 32];
}

static double
value_q6_k(const struct parts *p, unsigned i)
{
	unsigned run = i / 32 % 4, half = i / 128;
	double low = p->v[0][(half * 64 + run % 2 * 32 + i % 32) * 2 + run / 2];
	double high = p->v[1][(half * 32 + i % 32) * 4 + run];

	return p->v[3][0] * p->v[2][i / 16] * (low + 16 * high - 32);
}

static double
e2m1(double code)
{
	static const double table[] = { 0, .5, 1, 1.5, 2, 3, 4, 6 };
	unsigned c = (unsigned)code;

	return c & 8 ? -table[c & 7] : table[c];
}

static double
value_mxfp4(const struct parts *p, unsigned i)
{
	return p->v[0][0] * e2m1(p->v[1][i % 16 * 2 + i / 16]);
}

static double
value_nvfp4(const struct parts *p, unsigned i)
{
	return p->v[0][i / 16] * e2m1(p->v[1][(i / 16 * 8 + i % 8) * 2 + i / 8 % 2]);
}

/* What is said of a block's fields leads to the values that the decoders make. */
static void
test_fields(void **state)
{
	static const struct { unsigned type; double (*value)(const struct parts *, unsigned); }
	rows[] = {
		{ GGML_Q4_0, value_q4_0 }, { GGML_Q8_0, value_q8_0 }, { GGML_Q2_K, value_q2_k },
		{ GGML_Q3_K, value_q3_k }, { GGML_Q4_K, value_q4_k }, { GGML_Q6_K, value_q6_k },
		{ GGML_MXFP4, value_mxfp4 }, { GGML_NVFP4, value_nvfp4 },
	};
	uint64_t seed = 9;

	(void)state;
	for (size_t r = 0; r < 50 * sizeof(rows) / sizeof(*rows); r++) {
		unsigned type = rows[r / 50].type;
		struct parts p = { 0 };
		uint8_t block[256];
		float want[GGML_BLOCK_MAX];

		for (unsigned i = 0; i < sizeof(block); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			block[i] = (uint8_t)(seed >> 40) & 0xbb;	/* no NaN, no infinity */
		}
		ggml_decode(type, block, ggml_info(type)->block, want);
		take_apart(type, block, &p);
		for (unsigned i = 0; i < ggml_info(type)->block; i++) {
			double got = rows[r / 50].value(&p, i), w = (double)want[i];

			if (fabs(got - w) > 1e-5 * (fabs(w) + 1e-3))
				fail_msg("%s: element %u: %g, not %g", ggml_info(type)->name, i,
					 got, w);
		}
	}
}

/* Every byte of every block belongs to a field, and no field leaves its block. */
static void
test_fields_cover(void **state)
{
	static const uint8_t zeros[512];
	double out[GGML_FIELD_NUMBERS];

	(void)state;
	for (unsigned type = 0; type < 64; type++) {
		const struct ggml_info *info = ggml_info(type);
		uint8_t seen[512] = { 0 };
		const struct ggml_field *f;

		if (!info || info->block == 1 || !ggml_decodable(type)) {
			assert_null(ggml_field(type, 0));
			continue;
		}
		for (unsigned i = 0; (f = ggml_field(type, i)); i++) {
			assert_true(i < 8 && f->off + f->len <= info->bytes);
			memset(seen + f->off, 1, f->len);
			assert_true(ggml_field_read(f, zeros, out) <= GGML_FIELD_NUMBERS);
		}
		for (unsigned i = 0; i < info->bytes; i++)
			assert_int_equal(seen[i], 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fields_cover),
		cmocka_unit_test(test_scheme),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
