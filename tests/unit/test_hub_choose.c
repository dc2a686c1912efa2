/* Which files of a repository a pull takes. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/ops/hub_pull/hub_choose.h"

/* "a b:9 c" -> those files, 1 byte long or as it says; in order. */
static void
list_files(struct hub_files *f, const char *names)
{
	struct tb_buf json = TB_BUF(1 << 20);
	struct tb_err err;

	tb_buf_chr(&json, '[');
	while (*names) {
		size_t n = strcspn(names, " ");

		tb_buf_printf(&json, "%s{\"type\":\"file\",\"path\":\"%.*s\",\"size\":1,"
			      "\"oid\":\"0123456789012345678901234567890123456789\"}", json.len > 1 ? "," : "",
			      (int)n, names);
		names += n + (names[n] == ' ');
	}
	tb_buf_chr(&json, ']');
	*f = (struct hub_files){ 0 };
	assert_ok(hub_files_add(f, json.p, json.len, "x", &err), err);
	assert_ok(hub_files_sort(f, "x", &err), err);
	tb_buf_free(&json);
}

static enum tb_status
choose(const char *names, const struct hub_wish *w, struct tb_buf *out, struct tb_err *err)
{
	struct hub_files f;
	enum tb_status status;
	bool *take;

	list_files(&f, names);
	take = tb_calloc(f.n + 1, sizeof(*take));
	assert_non_null(take);
	status = hub_choose(&f, w, take, err);
	*out = TB_BUF(1 << 20);
	for (size_t i = 0; !status && i < f.n; i++)
		if (take[i])
			tb_buf_printf(out, "%s%s", out->len ? " " : "", f.v[i].path);
	free(take);
	hub_files_free(&f);
	return status;
}

/* names of files, what is asked for, what is taken. */
struct row { const char *names, *which, *want; };

static void
check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hub_wish w = { .what = "hf:o/n", .which = rows[i].which };
		struct tb_err err;
		struct tb_buf got;

		assert_ok(choose(rows[i].names, &w, &got, &err), err);
		assert_string_equal(tb_buf_cstr(&got), rows[i].want);
		tb_buf_free(&got);
	}
}

static void
a_model_is_its_weights_and_texts(void **state)
{
	static const struct row rows[] = {
		{ ".gitattributes LICENSE README.md config.json flax_model.msgpack model.safetensors "
		  "modeling.py pytorch_model.bin pytorch_model.bin.index.json tokenizer.json vocab.txt", "",
		  "LICENSE README.md config.json model.safetensors tokenizer.json vocab.txt" },
		{ "config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors "
		  "model.safetensors.index.json original/consolidated.00.pth original/params.json "
		  "original/tokenizer.model", NULL,
		  "config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors "
		  "model.safetensors.index.json" },
		{ "consolidated.safetensors model.safetensors params.json", NULL,
		  "model.safetensors params.json" },
		{ "consolidated.safetensors params.json", NULL, "consolidated.safetensors params.json" },
		{ "config.json model.fp16.safetensors model.safetensors", NULL,
		  "config.json model.safetensors" },
		{ "config.json model.fp16-00001-of-00002.safetensors model.fp16-00002-of-00002.safetensors "
		  "model-00001-of-00001.safetensors", NULL,
		  "config.json model-00001-of-00001.safetensors" },
		{ "config.json model.fp16.safetensors", NULL, "config.json model.fp16.safetensors" },
		{ "config.json metal/model.bin model.safetensors onnx/config.json onnx/model.onnx "
		  "original/model.safetensors", NULL, "config.json model.safetensors" },
		{ "1_Pooling/config.json 2_Dense/model.safetensors 2_Dense/config.json config.json "
		  "model.safetensors modules.json", NULL, "1_Pooling/config.json 2_Dense/config.json "
		  "2_Dense/model.safetensors config.json model.safetensors modules.json" },
		{ "model_index.json unet/config.json unet/m.fp16.safetensors unet/m.safetensors "
		  "vae/config.json vae/m.safetensors vae/m.bin", NULL, "model_index.json unet/config.json "
		  "unet/m.safetensors vae/config.json vae/m.safetensors" },
		{ "README.md deep/config.json deep/model.safetensors other/notes.json", NULL,
		  "README.md deep/config.json deep/model.safetensors" },
		{ "README.md a.gguf model.safetensors", NULL, "README.md model.safetensors" },
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(*rows));
}

#define GGUFS "README.md imatrix.dat m-BF16/m-BF16-00001-of-00002.gguf m-BF16/m-BF16-00002-of-00002.gguf " \
	"m-IQ4_XS.gguf m-Q4_K_M.gguf m-Q8_0.gguf m-UD-Q4_K_XL.gguf mmproj-F16.gguf m.imatrix.gguf"

static void
one_of_several_gguf_is_named(void **state)
{
	static const struct row rows[] = {
		{ "README.md a.gguf mmproj-F16.gguf", NULL, "README.md a.gguf" },
		{ GGUFS, "Q4_K_M", "README.md m-Q4_K_M.gguf" },
		{ GGUFS, "q8_0", "README.md m-Q8_0.gguf" },
		{ GGUFS, "BF16", "README.md m-BF16/m-BF16-00001-of-00002.gguf "
				 "m-BF16/m-BF16-00002-of-00002.gguf" },
		{ GGUFS, "m-Q8_0.gguf", "README.md m-Q8_0.gguf" },
		{ GGUFS, "m-Q8_0", "README.md m-Q8_0.gguf" },
		{ GGUFS, "Q4_K_XL", "README.md m-UD-Q4_K_XL.gguf" },
		{ GGUFS, "UD-Q4_K_XL", "README.md m-UD-Q4_K_XL.gguf" },
		{ "m.Q4_K_M.gguf m.IQ4_K_M.gguf", "Q4_K_M", "m.Q4_K_M.gguf" },
		{ "m-Q4_K.gguf m-UD-Q4_K.gguf", "Q4_K", "m-Q4_K.gguf" },
		{ "m-Q4_K.gguf model.safetensors", "Q4_K", "m-Q4_K.gguf" },
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(*rows));
}

static void
globs_choose_instead(void **state)
{
	static const char *const shards[] = { "model-00002*", "config.json", NULL };
	static const char *const deep[] = { "deep/", NULL }, *const none[] = { "*.pth", NULL };
	struct hub_wish w = { .what = "hf:o/n", .include = shards };
	struct tb_err err;
	struct tb_buf got;

	(void)state;
	assert_ok(choose("config.json deep/x.bin model-00001-of-00002.safetensors "
			 "model-00002-of-00002.safetensors", &w, &got, &err), err);
	assert_string_equal(tb_buf_cstr(&got), "config.json model-00002-of-00002.safetensors");
	tb_buf_free(&got);
	w.include = deep;
	assert_ok(choose("a deep/b deep/c/d deeper", &w, &got, &err), err);
	assert_string_equal(tb_buf_cstr(&got), "deep/b deep/c/d");
	tb_buf_free(&got);
	w.include = none;
	assert_fails(choose("a b c", &w, &got, &err), err, TB_ENOENT, "--include *.pth");
	w = (struct hub_wish){ .what = "hf:o/n", .exclude = shards };
	assert_ok(choose("config.json model.safetensors", &w, &got, &err), err);
	assert_string_equal(tb_buf_cstr(&got), "model.safetensors");
	tb_buf_free(&got);
	w.include = shards;
	assert_fails(choose("config.json", &w, &got, &err), err, TB_EUSAGE, "leaves nothing");
}

static void
what_is_not_clear_is_asked(void **state)
{
	static const struct { const char *names, *which; enum tb_status status; const char *part; } rows[] = {
		{ GGUFS, NULL, TB_EUSAGE, "it has 5 GGUF models; say which, like hf:o/n:BF16/m-BF16: " },
		{ "m-Q4_0.gguf m-Q8_0.gguf", NULL, TB_EUSAGE, "like hf:o/n:Q4_0: Q4_0 (1 B), Q8_0 (1 B)" },
		{ GGUFS, "Q2_K", TB_ENOENT, "no GGUF model \"Q2_K\"" },
		{ "a-Q4_0.gguf b-Q4_0.gguf", "Q4_0", TB_ENOENT, "or several" },
		{ "m-00001-of-00003.gguf m-00003-of-00003.gguf", NULL, TB_EFORMAT, "2 of 3 files" },
		{ "a/model.safetensors b/model.safetensors", NULL, TB_EUSAGE, "--include 'a/*'" },
		{ "README.md pytorch_model.bin", NULL, TB_ENOENT, "safetensors or GGUF" },
		{ "model.safetensors", "Q4_0", TB_ENOENT, "safetensors or GGUF" },
	};
	struct tb_err err;
	struct tb_buf got;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct hub_wish w = { .what = "hf:o/n", .which = rows[i].which };

		assert_fails(choose(rows[i].names, &w, &got, &err), err, rows[i].status, rows[i].part);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_is_its_weights_and_texts),
		cmocka_unit_test(one_of_several_gguf_is_named),
		cmocka_unit_test(globs_choose_instead),
		cmocka_unit_test(what_is_not_clear_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
