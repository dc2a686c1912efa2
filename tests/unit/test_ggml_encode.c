/* Blocks of ggml's types as ggml's own quantizers make them: the files hold what went in
 * and what came out. */
#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/quant/codec.h"
#include "src/quant/ggml_encode.h"
#include "tests/unit/ggml_golden.h"

#define COLS 512	/* of the golden files' source */
#define ROWS 16

/* Row for row, then as a scheme, all at once. */
static void
compare(const struct tb_file *f, const struct gguf *g)
{
	const struct gguf_tensor *t = golden_tensor(g, "q.encoded");
	struct scheme s = scheme_ggml(t->type);
	uint8_t *want = golden_data(f, t), *got = tb_calloc(1, t->len);
	float *src = golden_data(f, golden_tensor(g, "src"));
	size_t bytes = t->len / ROWS;

	assert_non_null(got);
	ggml_encode(t->type, src, ROWS, COLS, NULL, got);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = i * bytes; k < (i + 1) * bytes; k++)
			if (got[k] != want[k])
				fail_msg("%s: row %zu, byte %zu: %02x, not %02x", f->path, i,
					 k - i * bytes, got[k], want[k]);
	if (!scheme_is_plain(&s)) {
		memset(got, 0, t->len);
		quant_encode(&s, FLAVOUR_METAL, DT_F32, src, ROWS * COLS,
			     &(struct quant_parts){ .codes = got });
		assert_memory_equal(got, want, t->len);
	}
	free(src);
	free(want);
	free(got);
}

static void
test_golden(void **state)
{
	const char *dir = unit_shared("data/gguf-golden");
	struct tb_err err = { 0 };
	unsigned seen = 0, all = 0;
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
		if (ggml_encodable(golden_tensor(&g, "q.encoded")->type)) {
			compare(&f, &g);
			seen++;
		}
		gguf_free(&g);
		tb_file_close(&f);
		free(path);
	}
	closedir(d);
	for (unsigned type = 0; type <= GGML_Q2_0; type++)
		all += ggml_encodable(type);
	assert_int_equal(seen, all - 1);	/* but for F32 */
}

/* ---- a model, as llama.cpp's quantizer wrote it ---- */

#define MODEL "data/models/stories260K-wide256/stories260K-wide256"

struct model {
	struct tb_file file;
	struct gguf g;
};

static void
model_open(struct model *m, const char *suffix)
{
	struct tb_err err = { 0 };
	char name[128];

	snprintf(name, sizeof(name), MODEL "%s.gguf", suffix);
	assert_ok(tb_file_open(&m->file, unit_shared(name), &err), err);
	assert_ok(gguf_read(&m->g, &m->file, &err), err);
}

static void
model_close(struct model *m)
{
	gguf_free(&m->g);
	tb_file_close(&m->file);
}

/* Is it of a type with an encoder?  Then its bytes are those of the encoder. */
static bool
same_tensor(const struct model *from, const struct model *to, const struct gguf_tensor *t)
{
	const struct gguf_tensor *half;
	uint8_t *want, *got;
	void *halves;
	float *src;

	if (t->type == GGML_F32 || !ggml_encodable(t->type))
		return false;
	half = golden_tensor(&from->g, t->name);
	assert_int_equal(half->type, GGML_F16);
	halves = golden_data(&from->file, half);
	want = golden_data(&to->file, t);
	got = tb_calloc(1, t->len);
	src = tb_calloc(half->len, 2);
	assert_true(got && src);
	tb_f16_to_f32(halves, half->len / 2, src);
	ggml_encode(t->type, src, t->ne[1], t->ne[0], NULL, got);
	if (memcmp(got, want, t->len))
		fail_msg("%s: %s differs", to->file.path, t->name);
	free(halves);
	free(src);
	free(want);
	free(got);
	return true;
}

static void
test_model(void **state)
{
	static const char *const suffixes[] = {
		"-Q2_K", "-Q3_K_M", "-Q4_K_M", "-Q5_K_M", "-Q6_K", "-Q8_0", "-IQ4_XS"
	};
	struct model from;

	(void)state;
	model_open(&from, "");
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		struct model to;
		unsigned same = 0;

		model_open(&to, suffixes[i]);
		for (size_t k = 0; k < to.g.ntensors; k++)
			same += same_tensor(&from, &to, to.g.tensors + k);
		assert_true(same > 30);
		model_close(&to);
	}
	model_close(&from);
}

/* One large value in the second of three blocks, of every type that has scales in F16. */
static void
test_overflow(void **state)
{
	float src[3 * GGML_BLOCK_MAX];
	uint8_t out[4 * sizeof(src) / 3];
	unsigned seen = 0;

	(void)state;
	for (unsigned type = 0; type <= GGML_Q2_0; type++) {
		const struct ggml_info *info = ggml_info(type);

		if (!ggml_encodable(type) || info->block == 1 || type == GGML_MXFP4 ||
		    type == GGML_NVFP4)
			continue;
		for (unsigned i = 0; i < 3 * info->block; i++)
			src[i] = (float)(i % 7) - 3;
		ggml_encode(type, src, 1, 3 * info->block, NULL, out);
		assert_int_equal(ggml_overflow(type, out, 3), 3);
		src[info->block + 5] = -1e12f;
		ggml_encode(type, src, 1, 3 * info->block, NULL, out);
		if (ggml_overflow(type, out, 3) != 1)
			fail_msg("%s: an overflow is not seen", info->name);
		assert_int_equal(ggml_overflow(type, out, 1), 1);
		seen++;
	}
	assert_true(seen >= 6);
}

static void
test_names(void **state)
{
	char name[SCHEME_NAME_MAX];
	struct tb_err err = { 0 };
	struct scheme s;
	unsigned type;

	(void)state;
	assert_ok(scheme_parse("q8_0", &s, &err), err);
	assert_true(s.kind == SCHEME_GGML && s.ggml == GGML_Q8_0 && s.group == 32);
	assert_string_equal(scheme_name(&s, name), "Q8_0");
	assert_true(scheme_fits(&s, 64) && !scheme_fits(&s, 48));
	assert_int_equal(scheme_code_bytes(&s, 64), 68);
	assert_false(ggml_encodable(GGML_Q8_K) || ggml_encodable(4) || ggml_encodable(1000));
	assert_fails(scheme_parse("Q8_K", &s, &err), err, TB_EUNSUP, "read but not written");
	assert_fails(scheme_parse("q9", &s, &err), err, TB_EUSAGE, "GGUF: Q8_0");
	/* Two programs' names: MLX's is meant. */
	assert_ok(scheme_parse("MXFP4", &s, &err), err);
	assert_int_equal(s.kind, SCHEME_MXFP4);
	s = scheme_in_gguf(&s);
	assert_true(s.kind == SCHEME_GGML && s.ggml == GGML_MXFP4 && s.group == 32);
	s = scheme_affine(4, 64);
	assert_int_equal(scheme_in_gguf(&s).kind, SCHEME_AFFINE);
	assert_false(scheme_ggml_type(&s, &type));
	s = scheme_plain(DT_BF16);
	assert_true(scheme_ggml_type(&s, &type) && type == GGML_BF16);
	s = scheme_plain(DT_BOOL);
	assert_false(scheme_ggml_type(&s, &type));
	s = scheme_ggml(GGML_Q6_K);
	assert_true(scheme_ggml_type(&s, &type) && type == GGML_Q6_K);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
