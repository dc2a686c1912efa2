/* What models say about themselves, where their parameters are, what they take. */
#include "config.h"

#include "tests/unit/unit.h"

#include <malloc.h>

#include "src/engine/hparams.h"
#include "src/engine/kv.h"
#include "src/engine/need.h"
#include "src/format/json.h"
#include "src/ops/about/about.h"
#include "src/ops/metadata/metadata.h"
#include "src/store/model_meta.h"
#include "src/store/store.h"
#include "tests/unit/fixture.h"
#include "tests/unit/gguf_make.h"

static struct model *
open_path(const char *rel)
{
	struct store_roots none = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(store_resolve(&none, unit_path(rel), &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	return m;
}

static void
key_num(struct tb_buf *b, const char *name, unsigned type, uint64_t v, unsigned bytes)
{
	make_key(b, name, type);
	make_num(b, v, bytes);
}

/* A key of every kind, and 300 strings of which the last is the longest. */
static void
write_gguf(const char *rel)
{
	struct tb_buf b = make_head(1, 11);
	float third = 1.0f / 3;
	uint32_t bits;

	memcpy(&bits, &third, 4);
	make_key(&b, "general.architecture", GGUF_STRING);
	make_str(&b, "llama");
	key_num(&b, "general.file_type", GGUF_U32, 15, 4);
	key_num(&b, "llama.block_count", GGUF_U32, 2, 4);
	key_num(&b, "llama.embedding_length", GGUF_U32, 32, 4);
	key_num(&b, "llama.attention.head_count", GGUF_U32, 4, 4);
	make_key(&b, "llama.attention.head_count_kv", GGUF_ARRAY);
	make_num(&b, GGUF_I32, 4);
	make_num(&b, 2, 8);
	make_num(&b, 1, 4);
	make_num(&b, 3, 4);
	key_num(&b, "llama.context_length", GGUF_U32, 6000, 4);
	key_num(&b, "x.down", GGUF_I8, 0xfe, 1);
	key_num(&b, "x.third", GGUF_F32, bits, 4);
	make_key(&b, "x.zero", GGUF_STRING);
	make_num(&b, 3, 8);
	tb_buf_add(&b, "a\0b", 3);
	make_key(&b, "x.words", GGUF_ARRAY);
	make_num(&b, GGUF_STRING, 4);
	make_num(&b, 300, 8);
	for (int i = 0; i < 300; i++)
		make_str(&b, i < 299 ? "w" : "the last word");
	make_tensor(&b, "token_embd.weight", 32, 8, GGML_F32, 0);
	make_pad(&b, 32, 32 * 8 * 4);
	assert_false(tb_buf_failed(&b));
	unit_write(rel, b.p, b.len);
	tb_buf_free(&b);
}

static const struct meta_row *
row_of(const struct metadata *md, const char *key)
{
	for (size_t i = 0; i < md->n; i++)
		if (!strcmp(md->rows[i].key, key))
			return &md->rows[i];
	fail_msg("no row %s", key);
	return NULL;
}

static void
row_is(const struct metadata *md, const char *key, const char *type, const char *text, bool whole)
{
	const struct meta_row *r = row_of(md, key);

	assert_string_equal(r->type, type);
	assert_string_equal(r->text, text);
	assert_int_equal(r->whole, whole);
}

struct seen { size_t n; char last[64]; };

static enum tb_status
see(void *arg, const char *text, size_t len, struct tb_err *err)
{
	struct seen *s = arg;

	(void)err;
	assert_int_equal(strlen(text), len);
	assert_true(len < sizeof(s->last));
	memcpy(s->last, text, len + 1);
	s->n++;
	return TB_OK;
}

static enum tb_status
stop(void *arg, const char *text, size_t len, struct tb_err *err)
{
	(void)text;
	(void)len;
	return ++*(int *)arg == 3 ? tb_fail(err, TB_ECANCEL, "enough") : TB_OK;
}

static void
json_is(const struct model *m, const char *key, const char *want)
{
	cJSON *o = json_object();
	struct tb_err err = { 0 };
	char *text;

	assert_ok(metadata_value(m, key, o, NULL, &err), err);
	text = json_print(o);
	assert_string_equal(text, want);
	free(text);
	json_free(o);
}

static void
test_gguf(void **state)
{
	struct metadata md;
	struct seen seen = { 0 };
	struct tb_err err = { 0 };
	struct model *m;
	int calls = 0;

	(void)state;
	write_gguf("meta.gguf");
	m = open_path("meta.gguf");
	assert_ok(metadata_read(m, NULL, &md, &err), err);
	assert_int_equal(md.version, 3);
	assert_int_equal(md.alignment, 32);
	assert_int_equal(md.n, 11);
	row_is(&md, "general.file_type", "u32", "15 (Q4_K_M)", true);
	row_is(&md, "x.down", "i8", "-2", true);
	row_is(&md, "x.third", "f32", "0.33333334", true);
	row_is(&md, "x.zero", "string", "a b", true);
	row_is(&md, "llama.attention.head_count_kv", "i32[2]", "1, 3", true);
	assert_string_equal(row_of(&md, "x.words")->type, "string[300]");
	assert_memory_equal(row_of(&md, "x.words")->text, "\"w\", \"w\", ", 10);
	assert_false(row_of(&md, "x.words")->whole);
	metadata_free(&md);

	assert_ok(metadata_each(m, "x.words", see, &seen, NULL, &err), err);
	assert_int_equal(seen.n, 300);
	assert_string_equal(seen.last, "the last word");
	assert_int_equal(metadata_each(m, "x.words", stop, &calls, NULL, &err), TB_ECANCEL);
	assert_int_equal(calls, 3);
	assert_fails(metadata_each(m, "x.none", see, &seen, NULL, &err), err, TB_ENOENT, "x.none");
	json_is(m, "x.down", "{\"value\":-2}");
	json_is(m, "llama.attention.head_count_kv", "{\"value\":[1,3]}");
	json_is(m, "general.architecture", "{\"value\":\"llama\"}");
	model_free(m);
}

/* Paths, arrays, keys with dots in them, and what two files say alike. */
static void
test_config(void **state)
{
	struct fixture a = { .n = 0 }, b = { .n = 0 };
	struct seen seen = { 0 };
	struct metadata md;
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("conf");
	fixture_text("conf/config.json", "{\"model_type\":\"llama\",\"rope_scaling\":{\"factor\":8},"
		     "\"list\":[1,\"two\",{\"x\":3}],\"empty\":{},\"off\":null,\"on\":true,"
		     "\"quantization\":{\"model.layers.0.mlp\":{\"bits\":4}}}");
	fixture_add(&a, "model.norm.weight", DT_F32, (uint64_t[4]){ 8 });
	fixture_meta(&a, "format", "pt");
	fixture_meta(&a, "only", "here");
	fixture_file(&a, "conf/model-00001-of-00002.safetensors");
	fixture_add(&b, "lm_head.weight", DT_F32, (uint64_t[4]){ 8, 4 });
	fixture_meta(&b, "format", "pt");
	fixture_file(&b, "conf/model-00002-of-00002.safetensors");
	m = open_path("conf");
	assert_ok(metadata_read(m, NULL, &md, &err), err);
	assert_int_equal(md.version, 0);
	row_is(&md, "rope_scaling.factor", "number", "8", true);
	row_is(&md, "list", "array[3]", "[1,\"two\",{\"x\":3}]", true);
	row_is(&md, "empty", "object", "{}", true);
	row_is(&md, "off", "null", "null", true);
	row_is(&md, "on", "bool", "true", true);
	row_is(&md, "quantization.model.layers.0.mlp.bits", "number", "4", true);
	assert_int_equal(row_of(&md, "format")->files, 2);
	assert_int_equal(row_of(&md, "only")->files, 1);
	metadata_free(&md);
	json_is(m, "quantization.model.layers.0.mlp.bits", "{\"value\":4}");
	json_is(m, "rope_scaling", "{\"value\":{\"factor\":8}}");
	json_is(m, "only", "{\"value\":\"here\"}");
	assert_ok(metadata_each(m, "list", see, &seen, NULL, &err), err);
	assert_int_equal(seen.n, 3);
	assert_fails(metadata_each(m, "rope_scaling.", see, &seen, NULL, &err), err, TB_ENOENT,
		     "rope_scaling.");
	model_free(m);
}

/* Packed experts count unpacked; of four, two work on a token. */
static void
test_experts(void **state)
{
	static const char config[] = "{\"model_type\":\"odd\",\"num_experts\":4,"
		"\"num_experts_per_tok\":2,\"hidden_size\":64,\"num_hidden_layers\":1,"
		"\"num_attention_heads\":4,\"max_position_embeddings\":10000}";
	struct fixture f = { .n = 0 };
	struct model_shape shape;
	struct params p;
	struct memory mem;
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("moe");
	fixture_text("moe/config.json", config);
	fixture_add(&f, "model.embed_tokens.weight", DT_F32, (uint64_t[4]){ 10, 64 });
	fixture_add(&f, "lm_head.weight", DT_F32, (uint64_t[4]){ 10, 64 });
	fixture_quant(&f, "model.layers.0.mlp.switch_mlp.up_proj", "int4",
		      (uint64_t[4]){ 4, 32, 64 }, ".weight", ".scales", ".biases");
	fixture_file(&f, "moe/model.safetensors");
	m = open_path("moe");
	assert_ok(model_shape(m, &shape, &err), err);
	assert_null(shape.hp);
	params_count(m, &shape, &p);
	assert_int_equal(p.group[TNAME_EXPERTS].tensors, 1);
	assert_int_equal(p.group[TNAME_EXPERTS].params, 4 * 32 * 64);
	assert_int_equal(p.group[TNAME_EXPERTS].active, 2 * 32 * 64);
	assert_int_equal(p.group[TNAME_EXPERTS].bytes, 4 * 32 * (32 + 2 + 2));
	assert_int_equal(p.total.active, 2 * 640 + 2 * 32 * 64);
	assert_int_equal(p.total.read, 640 * 4 + 2 * 32 * 36);	/* no embedding: a row of it */
	memory_needed(&shape, &p, 1, &mem);
	assert_int_equal(mem.n, 3);			/* 4k, 8k, and all it was made for */
	assert_int_equal(mem.row[0].context, 4096);
	assert_int_equal(mem.row[2].context, 10000);
	assert_int_equal(mem.row[0].kv[KV_F32], 4096 * 2 * 64 * 4);
	assert_int_equal(mem.row[0].kv[KV_F16], 4096 * 2 * 64 * 2);
	assert_int_equal(mem.row[0].kv[KV_INT8], 4096 * 2 * (64 + 2 * 4));
	assert_int_equal(mem.row[0].total, p.total.bytes + mem.row[0].kv[KV_F16]);
	model_shape_free(&shape);
	model_free(m);
}

static void
test_shape_gguf(void **state)
{
	struct model_shape s;
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	write_gguf("shape.gguf");
	m = open_path("shape.gguf");
	assert_ok(model_shape(m, &s, &err), err);
	assert_int_equal(s.layers, 2);
	assert_int_equal(s.head_dim, 8);
	assert_int_equal(s.context, 6000);
	assert_int_equal(s.kv_width, 2 * 8 * (1 + 3));	/* heads differ from layer to layer */
	model_shape_free(&s);
	model_free(m);
}

/* What is foretold is what is taken. */
static void
test_kv(void **state)
{
	struct hparams hp = { .arch = arch_find("llama", NULL), .layers = 3, .dim = 64, .heads = 8,
			      .kv_heads = 2, .head_dim = 32, .context = 5000, .ffn = 100,
			      .vocab = 200, .rope_dims = 32, .rope = { .theta = 10000 } };
	struct engine_need need;
	struct tb_err err = { 0 };
	struct kv kv;

	(void)state;
	assert_ok(hparams_layers(&hp, &err), err);
	for (unsigned i = 0; i < 2 * KV_TYPES; i++) {
		const struct engine_opts opts = { .threads = 1, .kv = i % KV_TYPES };
		uint64_t used = 0;

		hp.window = i < KV_TYPES ? 0 : 400;	/* of which a layer knows */
		hp.layer[1].windowed = true;
		assert_ok(kv_init(&kv, &hp, kv_chosen(&opts), 3000, &err), err);
		assert_ok(kv_reserve(&kv, 3000, &err), err);
		for (size_t k = 0; k < kv.nsteps; k++)
			used += malloc_usable_size(kv.step[k]) + malloc_usable_size(kv.angles[k]);
		kv_free(&kv);
		engine_need(&hp, &opts, 3000, &need);
		if (used < need.kv || used > need.kv + need.kv / 32)	/* pages are whole */
			fail_msg("%s: %ju bytes instead of %ju", kv_type_name(opts.kv),
				 (uintmax_t)used, (uintmax_t)need.kv);
		assert_true(need.work > 512 * (3 * 64 + 2 * 256 + 2 * 64 + 2 * 100) * 4);
	}
	hparams_free(&hp);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gguf),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_shape_gguf),
		cmocka_unit_test(test_kv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
