/* ggml's own values of random and of encoded blocks: the files hold both. */
#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf.h"
#include "src/quant/codec.h"
#include "src/quant/ggml.h"

/* Types that have a decoder: golden files must have been seen for each. */
#define DECODERS 25

static const struct gguf_tensor *
tensor(const struct gguf *g, const char *name)
{
	for (size_t i = 0; i < g->ntensors; i++)
		if (!strcmp(g->tensors[i].name, name))
			return &g->tensors[i];
	fail_msg("no tensor %s", name);
	return NULL;
}

static void *
data(const struct tb_file *f, const struct gguf_tensor *t)
{
	struct tb_err err = { 0 };
	void *p = malloc(t->len);

	assert_non_null(p);
	assert_ok(tb_file_read(f, t->off, p, t->len, &err), err);
	return p;
}

/* Bits, so that zeros have signs; said with the first that differs. */
static void
compare(const struct tb_file *f, const struct gguf *g, const char *name)
{
	const struct gguf_tensor *t = tensor(g, name);
	char other[32];
	uint32_t *want;
	float *got;
	size_t n, bad = 0, first = 0;
	struct scheme s = scheme_ggml(t->type);
	struct quant_src q = { .global = 1 };
	void *src = data(f, t);

	snprintf(other, sizeof(other), "%s.f32", name);
	want = data(f, tensor(g, other));
	n = tensor(g, other)->len / 4;
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
		if (ggml_decodable(tensor(&g, "q.random")->type)) {
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
	assert_fails(scheme_parse("q4_k", &s, &err), err, TB_EUNSUP, "read but not written");
	assert_false(scheme_from_mode("ggml", 0, 0, &s));
	for (unsigned type = 0; type < 100; type++)
		n += ggml_decodable(type);
	assert_int_equal(n, DECODERS);
	assert_false(ggml_decodable(GGML_Q8_K));
	assert_false(ggml_decodable(UINT32_MAX));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scheme),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
