#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "src/store/model_meta.h"
#include "src/store/split.h"
#include "src/store/store.h"
#include "tests/unit/fixture.h"
#include "tests/unit/gguf_make.h"

static void
add_arch(struct tb_buf *b, const char *arch)
{
	make_key(b, "general.architecture", GGUF_STRING);
	make_str(b, arch);
}

/* Two tensors: "q" of 8 x 256 elements of Q4_K, and "norm", 256 of F32. */
static struct tb_buf
small(const char *arch, const char *q)
{
	struct tb_buf b = make_head(2, 1);

	add_arch(&b, arch);
	make_tensor(&b, q, 256, 8, GGML_Q4_K, 0);
	make_str(&b, "norm");
	make_num(&b, 1, 4);
	make_num(&b, 256, 8);
	make_num(&b, GGML_F32, 4);
	make_num(&b, 8 * 144, 8);
	make_pad(&b, 32, 8 * 144 + 1024);
	return b;
}

static struct model *
open_path(const char *rel)
{
	struct store_roots none = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(store_resolve(&none, unit_path(rel), &loc, &err), err);
	assert_int_equal(loc.kind, MODEL_GGUF_FILE);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	return m;
}

static void
write_file(const char *rel, struct tb_buf b)
{
	assert_false(tb_buf_failed(&b));
	unit_write(rel, b.p, b.len);
	tb_buf_free(&b);
}

static void
problem(const struct model *m, size_t i, const char *part)
{
	assert_true(i < m->nproblems);
	if (!strstr(m->problems[i].message, part))
		fail_msg("\"%s\" does not say \"%s\"", m->problems[i].message, part);
}

static void
test_file(void **state)
{
	char name[SCHEME_NAME_MAX];
	const struct tensor *t;
	struct model *m;

	(void)state;
	write_file("a.gguf", small("llama", "q"));
	m = open_path("a.gguf");
	assert_int_equal(m->nproblems, 0);
	assert_string_equal(m->arch, "llama");
	assert_string_equal(m->scheme, "Q4_K");
	assert_int_equal(m->ntensors, 2);
	assert_int_equal(m->params, 8 * 256 + 256);
	t = model_tensor(m, "q");
	assert_string_equal(scheme_name(&t->scheme, name), "Q4_K");
	assert_int_equal(t->origin, ORIGIN_TYPE);
	assert_true(t->ndim == 2 && t->dim[0] == 8 && t->dim[1] == 256);
	assert_int_equal(t->elems, 2048);
	assert_int_equal(t->bytes, 8 * 144);
	assert_true(t->weight.ndim == 2 && t->weight.dim[1] == 144 && t->weight.dtype == DT_U8);
	t = model_tensor(m, "norm");
	assert_string_equal(scheme_name(&t->scheme, name), "F32");
	assert_true(t->ndim == 1 && t->dim[0] == 256 && t->origin == ORIGIN_NONE);
	model_free(m);
}

/* A U8 part is not somebody's codes, whatever its name and its neighbours'. */
static void
test_names(void **state)
{
	struct tb_buf b = make_head(2, 0);
	struct model *m;

	(void)state;
	make_tensor(&b, "a.weight", 32, 4, GGML_Q4_0, 0);
	make_tensor(&b, "a.weight_scale", 1, 1, GGML_F32, 96);
	make_pad(&b, 32, 100);
	write_file("n.gguf", b);
	m = open_path("n.gguf");
	assert_int_equal(m->ntensors, 2);
	assert_false(m->tensors[0].has_scale);
	assert_string_equal(m->arch, "");
	model_free(m);
}

/* ---- several files ---- */

static void
write_split(const char *rel, const char *tensor, unsigned no, unsigned count, unsigned total)
{
	struct tb_buf b = make_head(1, 4);

	add_arch(&b, "qwen3");
	make_key(&b, "split.no", GGUF_U16);
	make_num(&b, no, 2);
	make_key(&b, "split.count", GGUF_U16);
	make_num(&b, count, 2);
	make_key(&b, "split.tensors.count", GGUF_I32);
	make_num(&b, total, 4);
	make_tensor(&b, tensor, 32, 2, GGML_Q8_0, 0);
	make_pad(&b, 32, 68);
	write_file(rel, b);
}

static enum tb_status
note(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	(void)err;
	tb_buf_printf(arg, "%s %s\n", loc->name, strrchr(loc->path, '/') + 1);
	return TB_OK;
}

static void
test_split(void **state)
{
	struct tb_buf b = TB_BUF(1000);
	struct unread unread = { 0 };
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("s");
	write_split("s/m-00001-of-00003.gguf", "a", 0, 3, 3);
	write_split("s/m-00002-of-00003.gguf", "b", 1, 3, 3);
	write_split("s/m-00003-of-00003.gguf", "c", 2, 3, 3);
	write_file("s/x.gguf", small("llama", "q"));
	assert_ok(store_walk(unit_path("s"), note, &b, &unread, &err), err);
	assert_int_equal(unread.n, 0);
	assert_string_equal(tb_buf_cstr(&b), "m m-00001-of-00003.gguf\nx.gguf x.gguf\n");
	tb_buf_free(&b);
	m = open_path("s/m-00002-of-00003.gguf");	/* any of them will do */
	assert_int_equal(m->nproblems, 0);
	assert_int_equal(m->nfiles, 3);
	assert_int_equal(m->ntensors, 3);
	assert_string_equal(m->arch, "qwen3");
	assert_int_equal(model_tensor(m, "c")->weight.file, 2);
	model_free(m);
}

static void
test_split_damage(void **state)
{
	struct model *m;

	(void)state;
	fixture_dir("d");
	write_split("d/m-00001-of-00003.gguf", "a", 0, 3, 4);
	write_split("d/m-00002-of-00003.gguf", "a", 1, 4, 3);
	m = open_path("d/m-00001-of-00003.gguf");
	assert_int_equal(m->nproblems, 3);
	problem(m, 0, "00002-of-00003.gguf: says that it is file 2 of 4");
	problem(m, 1, "00003-of-00003.gguf: missing");
	problem(m, 2, "tensor a: is in ");
	assert_int_equal(m->nfiles, 3);
	assert_true(m->files[2].missing);
	model_free(m);
	write_split("d/m-00002-of-00003.gguf", "b", 1, 3, 3);
	write_file("d/m-00003-of-00003.gguf", small("llama", "q"));
	m = open_path("d/m-00001-of-00003.gguf");
	assert_int_equal(m->nproblems, 1);
	problem(m, 0, "says nothing of a split");
	model_free(m);
	write_split("d/m-00003-of-00003.gguf", "c", 2, 3, 3);
	m = open_path("d/m-00001-of-00003.gguf");
	assert_int_equal(m->nproblems, 1);
	problem(m, 0, "the files have 3 tensors, the first says 4");
	model_free(m);
}

static void
test_split_names(void **state)
{
	static const char *const not[] = {
		"-00001-of-00002.gguf", "m-0001-of-00002.gguf", "m-00000-of-00002.gguf",
		"m-00003-of-00002.gguf", "m-00001-of-99999.gguf", "m-00001-of-00002.ggu",
		"m-0000x-of-00002.gguf", "m_00001-of-00002.gguf", "m.gguf", "",
	};
	struct split s;

	(void)state;
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		assert_false(split_parse(not[i], &s));
	assert_true(split_parse("/a/m-00002-of-00010.gguf", &s));
	assert_true(s.base == 4 && s.no == 2 && s.count == 10);
	assert_true(split_same("m-00002-of-00010.gguf", "m-00003-of-00010.gguf"));
	assert_false(split_same("m-00002-of-00010.gguf", "m-00003-of-00011.gguf"));
	assert_false(split_same("m-00002-of-00010.gguf", "n-00003-of-00010.gguf"));
}

/* ---- layers of a store ---- */

static struct model *
finish(struct ollama_writer *w)
{
	const char *config = "{\"model_family\":\"old\",\"file_type\":\"Q4_K_M\"}";
	struct store_roots roots;
	struct tb_err err = { 0 };
	struct model_name n;
	struct model_loc loc;
	struct model *m;

	assert_ok(ollama_add_bytes(w, MEDIA_CONFIG, NULL, config, strlen(config), &err), err);
	assert_ok(name_parse("m", &n, &err), err);
	assert_ok(ollama_commit(w, &n, false, &err), err);
	assert_ok(store_roots_init(&roots, (const char *[]){ w->root }, 1, &err), err);
	assert_ok(store_resolve(&roots, "m", &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	store_roots_free(&roots);
	ollama_writer_free(w);
	return m;
}

static void
test_layers(void **state)
{
	struct tb_buf text = small("llama", "q");
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model_meta mm;
	struct model *m;

	(void)state;
	assert_ok(ollama_writer_init(&w, fixture_dir("o"), &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_MODEL, NULL, text.p, text.len, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_DRAFT, NULL, text.p, text.len - 1024, &err), err);
	m = finish(&w);
	assert_int_equal(m->loc.kind, MODEL_OLLAMA_GGUF);
	assert_string_equal(m->arch, "llama");
	assert_string_equal(m->scheme, "Q4_K");
	assert_int_equal(m->ntensors, 2);
	assert_int_equal(m->nproblems, 1);	/* the draft model is cut */
	problem(m, 0, "tensor norm: 1024 bytes of data at offset");
	assert_ok(model_meta_open(&mm, m, &err), err);
	assert_int_equal(mm.g.nkv, 1);
	assert_int_equal(mm.file.id.size, text.len);
	model_meta_close(&mm);
	assert_string_equal(m->problems[0].digest, m->files[3].digest);
	model_free(m);
	tb_buf_free(&text);
}

/* Adapters change the same tensors of a model: that two have the same names is no damage. */
static void
test_adapters(void **state)
{
	static const char *const names[] = { "adapter.norm", "adapter.q", "adapter2.norm",
		"adapter2.q", "norm", "q" };
	struct tb_buf text = small("llama", "q"), one = small("one", "q"), two = small("two", "q");
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	assert_ok(ollama_writer_init(&w, fixture_dir("ad"), &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_MODEL, NULL, text.p, text.len, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_ADAPTER, NULL, one.p, one.len, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_ADAPTER, NULL, two.p, two.len, &err), err);
	m = finish(&w);
	assert_int_equal(m->nproblems, 0);
	assert_int_equal(m->ntensors, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(m->tensors[i].name, names[i]);
	assert_string_equal(m->arch, "llama");
	model_free(m);
	tb_buf_free(&text);
	tb_buf_free(&one);
	tb_buf_free(&two);
}

/* A draft's names are the model's own: they stay apart, and out of its sums.  Layers of
 * all other kinds are files of the model. */
static void
test_draft(void **state)
{
	static const enum media texts[] = { MEDIA_TEMPLATE, MEDIA_SYSTEM, MEDIA_PARAMS,
		MEDIA_MESSAGES, MEDIA_LICENSE, MEDIA_EMBED, MEDIA_JSON };
	struct tb_buf text = small("llama", "q"), draft = small("tiny", "q");
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	assert_ok(ollama_writer_init(&w, fixture_dir("dr"), &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_MODEL, NULL, text.p, text.len, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_DRAFT, NULL, draft.p, draft.len, &err), err);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_ok(ollama_add_bytes(&w, texts[i], NULL, "{}", i % 2 + 1, &err), err);
	m = finish(&w);
	assert_int_equal(m->nproblems, 0);
	assert_int_equal(m->ntensors, 4);
	assert_true(model_tensor(m, "draft.q")->draft && model_tensor(m, "draft.norm")->draft);
	assert_false(model_tensor(m, "q")->draft);
	assert_int_equal(m->params, 8 * 256 + 256);
	assert_int_equal(m->draft_params, 8 * 256 + 256);
	assert_string_equal(m->arch, "llama");
	assert_string_equal(tensor_dtype(model_tensor(m, "q")), "Q4_K");
	for (size_t i = 0, k = 0; i < m->nfiles; i++)
		if (k < sizeof(texts) / sizeof(*texts) && m->files[i].media == texts[k])
			assert_int_equal(m->files[i].id.size, k++ % 2 + 1);
	model_free(m);
	tb_buf_free(&text);
	tb_buf_free(&draft);
}

static void
test_damaged_layer(void **state)
{
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model_meta mm;
	struct model *m;

	(void)state;
	assert_ok(ollama_writer_init(&w, fixture_dir("x"), &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_MODEL, NULL, "GGUF\0\0\0\3", 8, &err), err);
	m = finish(&w);
	assert_int_equal(m->ntensors, 0);
	assert_string_equal(m->arch, "old");
	assert_string_equal(m->scheme, "Q4_K_M");
	problem(m, 0, "big-endian");
	assert_fails(model_meta_open(&mm, m, &err), err, TB_EUNSUP, "big-endian");
	model_free(m);
}

/* Three matrices of the given types, of `cols` elements a row, and what the file says
 * that it is (file_type 99: nothing). */
static struct tb_buf
mixture(unsigned file_type, const unsigned types[3], unsigned cols)
{
	struct tb_buf b = make_head(3, 1 + (file_type != 99));
	uint64_t off = 0;

	add_arch(&b, "llama");
	if (file_type != 99) {
		make_key(&b, "general.file_type", GGUF_U32);
		make_num(&b, file_type, 4);
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct ggml_info *info = ggml_info(types[i]);
		char name[] = { (char)('a' + i), 0 };

		make_tensor(&b, name, cols, 8 * (i + 1), types[i], off);
		off += (uint64_t)cols / info->block * info->bytes * 8 * (i + 1);
		off = (off + 31) / 32 * 32;
	}
	make_pad(&b, 32, off);
	return b;
}

/* A file is called what it says as long as its tensors do not say otherwise. */
static void
test_mixtures(void **state)
{
	static const struct {
		unsigned file_type, types[3], cols;
		const char *scheme;
	} rows[] = {
		{ 15, { GGML_Q6_K, GGML_Q4_K, GGML_Q4_K }, 256, "Q4_K_M" },
		{ 14, { GGML_Q5_K, GGML_Q4_K, GGML_Q4_K }, 256, "Q4_K_S" },
		/* rows of no whole blocks of 256: what stands in for it */
		{ 15, { GGML_Q8_0, GGML_F16, GGML_Q5_0 }, 64, "Q4_K_M" },
		/* an output matrix that outweighs the rest */
		{ 15, { GGML_Q4_K, GGML_Q4_K, GGML_Q8_0 }, 256, "Q4_K_M" },
		{ 2, { GGML_Q4_0, GGML_Q4_0, GGML_Q6_K }, 256, "Q4_0" },
		/* it says what it is not */
		{ 15, { GGML_F16, GGML_F16, GGML_F16 }, 256, "F16" },
		{ 7, { GGML_Q6_K, GGML_Q4_K, GGML_Q4_K }, 256, "Q4_K/Q6_K" },
		{ 1, { GGML_Q8_0, GGML_Q5_0, GGML_Q5_0 }, 64, "Q5_0/Q8_0" },
		{ 98, { GGML_Q8_0, GGML_Q5_0, GGML_Q5_0 }, 64, "Q5_0/Q8_0" },
		/* it says nothing: what has most bytes first */
		{ 99, { GGML_F16, GGML_Q4_0, GGML_Q4_0 }, 64, "Q4_0/F16" },
		{ 99, { GGML_Q4_0, GGML_F16, GGML_Q4_0 }, 64, "F16/Q4_0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model *m;

		write_file("mixture.gguf", mixture(rows[i].file_type, rows[i].types, rows[i].cols));
		m = open_path("mixture.gguf");
		assert_int_equal(m->nproblems, 0);
		if (strcmp(m->scheme, rows[i].scheme))
			fail_msg("row %zu: %s, not %s", i, m->scheme, rows[i].scheme);
		model_free(m);
	}
}

static void
test_families(void **state)
{
	static const char *const rows[][2] = {
		{ "LlamaForCausalLM", "llama" }, { "llama", "llama" }, { "Llama", "llama" },
		{ "Qwen3MoeForCausalLM", "qwen3moe" }, { "qwen3_moe", "qwen3moe" },
		{ "qwen3moe", "qwen3moe" }, { "GptOssForCausalLM", "gptoss" },
		{ "gpt-oss", "gptoss" }, { "Gemma3ForConditionalGeneration", "gemma3" },
		{ "NomicBertModel", "nomicbert" }, { "GPT2LMHeadModel", "gpt2" }, { "", "" },
		{ "ForCausalLM", "forcausallm" }, { "Model", "model" },
	};
	char out[MODEL_FAMILY_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(model_family(rows[i][0], out), rows[i][1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_split_damage),
		cmocka_unit_test(test_split_names),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_damaged_layer),
		cmocka_unit_test(test_adapters),
		cmocka_unit_test(test_draft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
