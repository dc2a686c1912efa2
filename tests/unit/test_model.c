#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "src/store/store.h"
#include "tests/unit/fixture.h"
#include "tests/unit/models.h"

#define L0 "model.layers.0."

/* Era A: experts one by one in a group blob, mixed int4 of group 32 and int8, no
 * metadata: the shapes tell. A linear bias stays a tensor of its own. */
static void
test_era_a(void **state)
{
	struct fixture f = { 0 }, g = { 0 }, bias = { 0 };
	struct ollama_writer w;
	const struct tensor *t;
	struct model *m;
	char name[100];

	(void)state;
	models_begin(&w, "a");
	for (int e = 0; e < 2; e++) {
		snprintf(name, sizeof(name), L0 "mlp.experts.%d.gate_proj.weight", e);
		fixture_quant(&f, name, "affine:4:32", DIMS(6, 128), OLLAMA);
		snprintf(name, sizeof(name), L0 "mlp.experts.%d.down_proj.weight", e);
		fixture_quant(&f, name, "int8", DIMS(8, 192), OLLAMA);
	}
	fixture_blob(&f, &w, L0 "mlp.experts");
	fixture_quant(&g, L0 "self_attn.q_proj.weight", "affine:4:32", DIMS(16, 64), OLLAMA);
	fixture_meta(&g, "quant_type", "int4");
	fixture_meta(&g, "group_size", "32");
	fixture_blob(&g, &w, L0 "self_attn.q_proj.weight");
	fixture_add(&bias, L0 "self_attn.q_proj.bias", DT_BF16, DIMS(16));
	fixture_blob(&bias, &w, L0 "self_attn.q_proj.bias");
	m = models_finish(&w, "era:a", "{\"model_format\":\"safetensors\",\"file_type\":\"int4\"}");
	models_clean(m);
	assert_int_equal(m->ntensors, 6);
	assert_int_equal(m->loc.kind, MODEL_OLLAMA_TENSORS);
	models_expect(m, L0 "mlp.experts.1.gate_proj.weight", "affine:4:32", ORIGIN_SHAPES, DIMS(6, 128));
	models_expect(m, L0 "mlp.experts.1.down_proj.weight", "int8", ORIGIN_SHAPES, DIMS(8, 192));
	t = models_expect(m, L0 "self_attn.q_proj.weight", "affine:4:32", ORIGIN_BLOB_META, DIMS(16, 64));
	assert_true(t->has_scale && t->has_bias && !t->has_global);
	assert_int_equal(t->bytes, 16 * 64 / 2 + 2 * 2 * 16 * 2);
	models_expect(m, L0 "self_attn.q_proj.bias", "BF16", ORIGIN_NONE, DIMS(16));
	assert_int_equal(m->params, 2 * (6 * 128 + 8 * 192) + 16 * 64 + 16);
	model_free(m);
}

/* Blobs that say all about their tensors, and others that have a say after all: the same
 * name once more, and what could be another's scales. */
static void
test_shared_blobs(void **state)
{
	struct fixture a = { 0 }, b = { 0 }, c = { 0 }, again = { 0 }, scale = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "sh");
	fixture_quant(&a, L0 "q_proj.weight", "int4", DIMS(16, 64), OLLAMA);
	fixture_meta(&a, "quant_type", "int4");
	fixture_blob(&a, &w, L0 "q_proj.weight");
	fixture_add(&b, L0 "norm.weight", DT_BF16, DIMS(16));
	fixture_blob(&b, &w, L0 "norm.weight");
	fixture_add(&c, L0 "norm10.weight", DT_BF16, DIMS(8));
	fixture_blob(&c, &w, L0 "norm10.weight");
	m = models_finish(&w, "plain:a", "{}");
	models_clean(m);
	assert_int_equal(m->ntensors, 3);
	model_free(m);

	models_begin(&w, "sh");
	fixture_blob(&a, &w, L0 "q_proj.weight");
	fixture_blob(&b, &w, L0 "norm.weight");
	fixture_add(&again, L0 "norm.weight", DT_F16, DIMS(32));
	fixture_blob(&again, &w, L0 "norm.weight");
	m = models_finish(&w, "twice:a", "{}");
	models_problem(m, "norm.weight: is in ");
	assert_int_equal(m->ntensors, 2);
	model_free(m);

	models_begin(&w, "sh");
	fixture_blob(&a, &w, L0 "q_proj.weight");
	fixture_add(&scale, L0 "q_proj.weight.scale", DT_BF16, DIMS(16, 1));
	fixture_blob(&scale, &w, L0 "q_proj.weight.scale");
	m = models_finish(&w, "scale:a", "{}");
	models_problem(m, "q_proj.weight.scale: is in ");
	assert_int_equal(m->ntensors, 1);
	model_free(m);
}

/* Era B: int4 of group 64 without metadata has the shapes of int8 of group 32; the
 * model's file type or the width that config.json gives decides. */
static void
test_era_b(void **state)
{
	static const struct { const char *config, *json, *scheme; uint64_t k; } cases[] = {
		{ "{\"file_type\":\"int4\"}", NULL, "int4", 256 },
		{ "{\"file_type\":\"int8\"}", NULL, "affine:8:32", 128 },
		{ "{}", "{\"hidden_size\":256}", "int4", 256 },
		{ "{}", "{\"text_config\":{\"hidden_size\":128}}", "affine:8:32", 128 },
		{ "{}", "{\"num_attention_heads\":4,\"head_dim\":64}", "int4", 256 },
	};
	char name[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture f = { 0 };
		struct ollama_writer w;
		struct model *m;

		models_begin(&w, "b");
		fixture_quant(&f, "q.weight", "int4", DIMS(4, 256), OLLAMA);
		fixture_blob(&f, &w, "q.weight");
		if (cases[i].json)
			models_json(&w, "config.json", cases[i].json);
		snprintf(name, sizeof(name), "era-b%zu", i);
		m = models_finish(&w, name, cases[i].config);
		models_clean(m);
		models_expect(m, "q.weight", cases[i].scheme, ORIGIN_SHAPES, DIMS(4, cases[i].k));
		model_free(m);
	}
}

static void
test_undecided(void **state)
{
	struct fixture f = { 0 };
	struct ollama_writer w;
	const struct tensor *t;
	struct model *m;

	(void)state;
	models_begin(&w, "u");
	fixture_quant(&f, "q.weight", "int4", DIMS(4, 256), OLLAMA);
	fixture_blob(&f, &w, "q.weight");
	m = models_finish(&w, "undecided", "{}");
	t = models_expect(m, "q.weight", "U32", ORIGIN_UNKNOWN, DIMS(4, 32));
	assert_true(t->has_scale);
	models_problem(m, "no scheme fits");
	model_free(m);
}

/* Era C: stacked, keys say switch_mlp, metadata a tensor; nvfp4 with a global scale. */
static void
test_era_c(void **state)
{
	struct fixture f = { 0 };
	struct ollama_writer w;
	const struct tensor *t;
	struct model *m;

	(void)state;
	models_begin(&w, "c");
	fixture_quant(&f, L0 "mlp.switch_mlp.gate_proj.weight", "nvfp4", DIMS(3, 4, 64), OLLAMA);
	fixture_add(&f, L0 "mlp.switch_mlp.gate_proj.weight.global_scale", DT_F32, DIMS(1));
	fixture_quant(&f, L0 "mlp.switch_mlp.down_proj.weight", "mxfp8", DIMS(3, 8, 32), OLLAMA);
	fixture_quant(&f, L0 "mlp.switch_mlp.up_proj.weight", "mxfp4", DIMS(3, 4, 64), OLLAMA);
	fixture_meta(&f, L0 "mlp.switch_mlp.gate_proj.weight.quant_type", "nvfp4");
	fixture_meta(&f, L0 "mlp.switch_mlp.gate_proj.weight.group_size", "16");
	fixture_meta(&f, L0 "mlp.switch_mlp.down_proj.weight.quant_type", "MXFP8");
	fixture_meta(&f, L0 "mlp.switch_mlp.down_proj.weight.group_size", "32");
	fixture_blob(&f, &w, L0 "mlp.experts");
	m = models_finish(&w, "era:c", "{}");
	models_clean(m);
	assert_int_equal(m->ntensors, 3);
	t = models_expect(m, L0 "mlp.switch_mlp.gate_proj.weight", "nvfp4", ORIGIN_TENSOR_META, DIMS(3, 4, 64));
	assert_true(t->has_global && !t->global_inverse && !t->has_bias);
	models_expect(m, L0 "mlp.switch_mlp.down_proj.weight", "mxfp8", ORIGIN_TENSOR_META, DIMS(3, 8, 32));
	models_expect(m, L0 "mlp.switch_mlp.up_proj.weight", "mxfp4", ORIGIN_SHAPES, DIMS(3, 4, 64));
	model_free(m);
}

/* Era D: stacked, one type for the blob, or one a tensor when they are mixed; a type
 * without a group size takes the one that fits. */
static void
test_era_d(void **state)
{
	struct fixture f = { 0 }, g = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "d");
	fixture_quant(&f, L0 "mlp.experts.gate_proj.weight", "int4", DIMS(3, 4, 128), OLLAMA);
	fixture_quant(&f, L0 "mlp.experts.up_proj.weight", "int4", DIMS(3, 4, 128), OLLAMA);
	fixture_meta(&f, "quant_type", "int4");
	fixture_meta(&f, "group_size", "64");
	fixture_blob(&f, &w, L0 "mlp.experts");
	fixture_quant(&g, "model.layers.1.mlp.experts.up_proj.weight", "affine:4:32",
		      DIMS(3, 4, 128), OLLAMA);
	fixture_add(&g, "model.layers.1.mlp.experts.down_proj.weight", DT_BF16, DIMS(3, 4, 8));
	fixture_meta(&g, "model.layers.1.mlp.experts.up_proj.weight.quant_type", "int4");
	fixture_blob(&g, &w, "model.layers.1.mlp.experts");
	m = models_finish(&w, "era:d", "{}");
	models_clean(m);
	models_expect(m, L0 "mlp.experts.gate_proj.weight", "int4", ORIGIN_BLOB_META, DIMS(3, 4, 128));
	models_expect(m, "model.layers.1.mlp.experts.up_proj.weight", "affine:4:32", ORIGIN_TENSOR_META,
	       DIMS(3, 4, 128));
	models_expect(m, "model.layers.1.mlp.experts.down_proj.weight", "BF16", ORIGIN_NONE, DIMS(3, 4, 8));
	model_free(m);
}

/* Era E: a blob a projection. Also: names in natural order, the summary, json layers,
 * and two layers that share a blob. */
static void
test_era_e(void **state)
{
	static const char text[] = "shared text";
	struct fixture f = { 0 }, g = { 0 }, h = { 0 };
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model *m;
	size_t len;
	char *got;

	(void)state;
	models_begin(&w, "e");
	fixture_quant(&f, "model.layers.10.mlp.experts.down_proj.weight", "int8", DIMS(2, 4, 128),
		      OLLAMA);
	fixture_meta(&f, "quant_type", "int8");
	fixture_meta(&f, "group_size", "64");
	fixture_blob(&f, &w, "x");
	fixture_quant(&g, "model.layers.9.mlp.experts.up_proj.weight", "int4", DIMS(2, 4, 128),
		      OLLAMA);
	fixture_meta(&g, "quant_type", "int4");
	fixture_blob(&g, &w, "y");
	fixture_add(&h, "model.norm.weight", DT_F32, DIMS(128));
	fixture_blob(&h, &w, "z");
	models_json(&w, "config.json", "{\"architectures\":[\"Mixtral\"],\"model_type\":\"mixtral\"}");
	models_json(&w, "tokenizer.json", "{\"version\":\"1.0\"}");
	assert_ok(ollama_add_bytes(&w, MEDIA_SYSTEM, NULL, text, 11, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_TEMPLATE, NULL, text, 11, &err), err);
	m = models_finish(&w, "era:e", "{}");
	models_clean(m);
	assert_string_equal(m->tensors[0].name, "model.layers.9.mlp.experts.up_proj.weight");
	assert_string_equal(m->tensors[1].name, "model.layers.10.mlp.experts.down_proj.weight");
	assert_string_equal(m->scheme, "int8/int4");
	assert_string_equal(m->arch, "Mixtral");
	assert_string_equal(m->model_type, "mixtral");
	assert_ok(model_read(m, "tokenizer.json", 1000, &got, &len, &err), err);
	assert_string_equal(got, "{\"version\":\"1.0\"}");
	free(got);
	assert_ok(model_read_layer(m, MEDIA_TEMPLATE, 0, 1000, &got, &len, &err), err);
	assert_string_equal(got, text);
	free(got);
	assert_fails(model_read_layer(m, MEDIA_TEMPLATE, 1, 99, &got, &len, &err), err, TB_ENOENT, "template");
	assert_fails(model_read(m, "merges.txt", 99, &got, &len, &err), err, TB_ENOENT, "merges.txt");
	assert_fails(model_read(m, "x", 9, &got, &len, &err), err, TB_ENOENT, "has no x");
	assert_true(m->files[0].is_manifest);
	assert_int_equal(m->nfiles, 1 + 1 + 3 + 2 + 2);
	for (len = 0; m->nfiles; m->nfiles--) {	/* the shared blob counts once */
		struct model_file *file = &m->files[m->nfiles - 1];

		len += file->media == MEDIA_TEMPLATE ? 0 : file->id.size;
		free(file->path);
	}
	assert_int_equal(m->bytes, len);
	model_free(m);
}

/* Layers may stand in any order in a manifest, also the worst. */
static void
test_order(void **state)
{
	static const char *const orders[] = { "back", "forth", "turns" };
	enum { N = 60 };
	char name[64];

	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		struct ollama_writer w;
		struct model *m;

		models_begin(&w, orders[how]);
		for (unsigned i = 0; i < N; i++) {
			unsigned layer = how == 0 ? N - 1 - i : how == 1 ? i : i * 37 % N;
			struct fixture f = { 0 };

			snprintf(name, sizeof(name), "model.layers.%u.norm.weight", layer);
			fixture_add(&f, name, DT_BF16, DIMS(4));
			fixture_blob(&f, &w, name);
		}
		m = models_finish(&w, orders[how], "{}");
		assert_int_equal(m->ntensors, N);
		for (unsigned i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "model.layers.%u.norm.weight", i);
			assert_string_equal(m->tensors[i].name, name);
		}
		model_free(m);
	}
}

/* Metadata that the shapes refute are not believed. */
static void
test_wrong_metadata(void **state)
{
	struct fixture f = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "w");
	fixture_quant(&f, "q.weight", "affine:4:32", DIMS(4, 128), OLLAMA);
	fixture_quant(&f, "r.weight", "nvfp4", DIMS(4, 128), OLLAMA);
	fixture_quant(&f, "s.weight", "int8", DIMS(4, 128), OLLAMA);
	fixture_meta(&f, "quant_type", "int8");
	fixture_meta(&f, "group_size", "64");
	fixture_meta(&f, "r.weight.quant_type", "int99");
	fixture_blob(&f, &w, "x");
	m = models_finish(&w, "wrong", "{}");
	models_expect(m, "q.weight", "affine:4:32", ORIGIN_SHAPES, DIMS(4, 128));
	models_expect(m, "r.weight", "U32", ORIGIN_UNKNOWN, DIMS(4, 16));
	models_expect(m, "s.weight", "int8", ORIGIN_BLOB_META, DIMS(4, 128));
	assert_int_equal(m->nproblems, 2);
	models_problem(m, "quant_type int8, group_size 64");
	models_problem(m, "quant_type int99 is not known");
	model_free(m);
}

/* One blob removed, one cut, one of another size: each is named, the rest is there. */
static void
test_damage(void **state)
{
	struct fixture f[4] = { 0 };
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model *m;
	struct manifest *list = &w.manifest;
	struct model_name n;
	struct model_loc loc = { .kind = MODEL_OLLAMA_TENSORS, .name = (char *)"m" };
	char *path[4];

	(void)state;
	models_begin(&w, "dmg");
	for (int i = 0; i < 4; i++) {
		fixture_add(&f[i], (const char *[]){ "a", "b", "c", "d" }[i], DT_U8, DIMS(10 + i));
		fixture_blob(&f[i], &w, f[i].names[0]);
		path[i] = ollama_blob_path(w.root, list->layers[i].digest);
	}
	assert_int_equal(unlink(path[0]), 0);
	assert_int_equal(truncate(path[1], 40), 0);
	assert_int_equal(truncate(path[2], 500), 0);
	assert_ok(name_parse("dmg", &n, &err), err);
	assert_ok(ollama_commit(&w, &n, false, &err), err);
	assert_fails(ollama_commit(&w, &n, false, &err), err, TB_EEXIST, "dmg:latest");
	loc.path = ollama_manifest_path(w.root, &n);
	assert_ok(model_open(&m, &loc, &err), err);	/* the root is found from the path */
	assert_int_equal(m->ntensors, 1);
	assert_string_equal(m->tensors[0].name, "d");
	models_problem(m, "(a): missing");
	models_problem(m, "(b): 40 bytes, the manifest says");
	models_problem(m, "header of");
	models_problem(m, "(c): 500 bytes, the manifest says");
	assert_int_equal(m->nproblems, 5);
	assert_string_equal(m->problems[0].digest, list->layers[0].digest);
	assert_true(m->files[1].missing && !m->files[2].missing);
	model_free(m);
	assert_int_equal(truncate(loc.path, 30), 0);
	assert_fails(model_open(&m, &loc, &err), err, TB_EFORMAT, "latest");
	free(loc.path);
	for (int i = 0; i < 4; i++)
		free(path[i]);
	ollama_writer_free(&w);
}

static void
test_gguf_layers(void **state)
{
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "g");
	assert_ok(ollama_add_bytes(&w, MEDIA_MODEL, NULL, "GGUF", 4, &err), err);
	m = models_finish(&w, "old", "{\"model_family\":\"llama\",\"file_type\":\"Q4_K_M\"}");
	assert_int_equal(m->loc.kind, MODEL_OLLAMA_GGUF);
	assert_string_equal(m->arch, "llama");
	assert_string_equal(m->scheme, "Q4_K_M");
	assert_int_equal(m->ntensors, 0);
	models_problem(m, "GGUF");
	model_free(m);
}

/* An MLX folder: a global scheme, overrides that do not inherit from it, tensors left
 * alone, a scheme that does not fit. */
static void
test_mlx_dir(void **state)
{
	struct fixture f = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("mlx");
	fixture_text("mlx/config.json", "{\"model_type\":\"qwen3\",\"quantization\":{\"group_size\":32,"
		"\"bits\":4,\"mode\":\"mxfp4\",\"gate\":{\"bits\":8},\"low\":{\"group_size\":128,\"bits\":3},"
		"\"nulls\":{\"group_size\":null,\"bits\":6},\"same\":true,\"off\":false,"
		"\"bad\":{\"bits\":2,\"group_size\":32}},\"quantization_config\":{\"bits\":2}}");
	fixture_quant(&f, "one", "mxfp4", DIMS(4, 64), MLX);
	fixture_quant(&f, "same", "mxfp4", DIMS(4, 64), MLX);
	fixture_quant(&f, "gate", "int8", DIMS(4, 64), MLX);
	fixture_quant(&f, "low", "affine:3:128", DIMS(4, 256), MLX);
	fixture_quant(&f, "nulls", "affine:6:64", DIMS(4, 128), MLX);
	fixture_quant(&f, "off", "nvfp4", DIMS(4, 32), MLX);
	fixture_quant(&f, "bad", "affine:4:32", DIMS(4, 64), MLX);
	fixture_add(&f, "norm.weight", DT_BF16, DIMS(64));
	fixture_add(&f, "one.bias", DT_BF16, DIMS(4));
	fixture_file(&f, "mlx/model.safetensors");
	m = models_open("mlx");
	models_expect(m, "one.weight", "mxfp4", ORIGIN_CONFIG, DIMS(4, 64));
	models_expect(m, "same.weight", "mxfp4", ORIGIN_CONFIG, DIMS(4, 64));
	models_expect(m, "gate.weight", "int8", ORIGIN_CONFIG, DIMS(4, 64));
	models_expect(m, "low.weight", "affine:3:128", ORIGIN_CONFIG, DIMS(4, 256));
	models_expect(m, "nulls.weight", "affine:6:64", ORIGIN_CONFIG, DIMS(4, 128));
	models_expect(m, "off.weight", "nvfp4", ORIGIN_SHAPES, DIMS(4, 32));
	models_expect(m, "bad.weight", "affine:4:32", ORIGIN_SHAPES, DIMS(4, 64));
	models_expect(m, "norm.weight", "BF16", ORIGIN_NONE, DIMS(64));
	models_expect(m, "one.bias", "BF16", ORIGIN_NONE, DIMS(4));
	assert_int_equal(m->ntensors, 9);
	assert_int_equal(m->nproblems, 1);
	models_problem(m, "tensor bad.weight: shapes do not fit config.json (affine:2:32)");
	assert_string_equal(m->arch, "qwen3");
	model_free(m);
}

static void
test_quantization_config(void **state)
{
	struct fixture f = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("qc");
	fixture_text("qc/config.json", "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":3},"
		"\"text_config\":{\"quantization_config\":{\"bits\":5,\"group_size\":32}}}");
	fixture_quant(&f, "a", "affine:5:32", DIMS(2, 3, 64), MLX);
	fixture_file(&f, "qc/model.safetensors");
	m = models_open("qc");
	models_clean(m);
	models_expect(m, "a.weight", "affine:5:32", ORIGIN_CONFIG, DIMS(2, 3, 64));
	model_free(m);
}

/* All widths and groups; scales of the fp modes under their own types, as MLX reads them
 * but does not write them; "quantization" comes first of all blocks. */
static void
test_mlx_widths(void **state)
{
	static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 }, groups[] = { 32, 64, 128 };
	struct fixture f = { 0 };
	struct tb_buf config = TB_BUF(8192);
	char base[16], scheme[SCHEME_NAME_MAX];
	struct model *m;

	(void)state;
	fixture_dir("widths");
	tb_buf_str(&config, "{\"quantization\":{\"group_size\":64,\"bits\":4,\"e\":{\"mode\":\"mxfp8\"},"
			    "\"n\":{\"mode\":\"nvfp4\",\"bits\":null}");
	for (unsigned i = 0; i < 18; i++) {
		struct scheme s = scheme_affine(bits[i / 3], groups[i % 3]);

		snprintf(base, sizeof(base), "t%u", i);
		fixture_quant(&f, base, scheme_name(&s, scheme), DIMS(2, 128), MLX);
		tb_buf_printf(&config, ",\"%s\":{\"bits\":%u,\"group_size\":%u}", base, s.bits, s.group);
	}
	tb_buf_str(&config, "},\"quantization_config\":{\"group_size\":32,\"bits\":2}}");
	fixture_add(&f, "e.weight", DT_U32, DIMS(2, 16));
	fixture_add(&f, "e.scales", DT_F8_E8M0, DIMS(2, 2));
	fixture_add(&f, "n.weight", DT_U32, DIMS(2, 8));
	fixture_add(&f, "n.scales", DT_F8_E4M3, DIMS(2, 4));
	fixture_text("widths/config.json", tb_buf_cstr(&config));
	fixture_file(&f, "widths/model.safetensors");
	m = models_open("widths");
	models_clean(m);
	for (unsigned i = 0; i < 18; i++) {
		struct scheme s = scheme_affine(bits[i / 3], groups[i % 3]);

		snprintf(base, sizeof(base), "t%u.weight", i);
		models_expect(m, base, scheme_name(&s, scheme), ORIGIN_CONFIG, DIMS(2, 128));
	}
	models_expect(m, "e.weight", "mxfp8", ORIGIN_CONFIG, DIMS(2, 64));
	models_expect(m, "n.weight", "nvfp4", ORIGIN_CONFIG, DIMS(2, 64));
	assert_int_equal(m->params, 18 * 256 + 2 * 128);
	model_free(m);
	tb_buf_free(&config);
}

/* nvfp4 as ModelOpt and compressed-tensors leave it. */
static void
test_foreign_nvfp4(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct model *m;

	(void)state;
	fixture_dir("nv");
	fixture_add(&f, "a.weight", DT_U8, DIMS(4, 32));
	fixture_add(&f, "a.weight_scale", DT_F8_E4M3, DIMS(4, 4));
	fixture_add(&f, "a.weight_scale_2", DT_F32, DIMS(0));
	fixture_add(&f, "b.weight_packed", DT_U8, DIMS(4, 32));
	fixture_add(&f, "b.weight_scale", DT_F8_E4M3, DIMS(4, 4));
	fixture_add(&f, "b.weight_global_scale", DT_F32, DIMS(1));
	fixture_add(&f, "c.weight", DT_F8_E4M3, DIMS(4, 32));
	fixture_add(&f, "c.weight_scale", DT_F32, DIMS(1));
	fixture_file(&f, "nv/model.safetensors");
	m = models_open("nv");
	models_clean(m);
	t = models_expect(m, "a.weight", "nvfp4", ORIGIN_SHAPES, DIMS(4, 64));
	assert_true(t->has_global && !t->global_inverse);
	assert_int_equal(t->weight.dtype, DT_U32);
	assert_int_equal(t->weight.dim[1], 8);
	assert_int_equal(t->scale.dtype, DT_U8);
	t = models_expect(m, "b.weight", "nvfp4", ORIGIN_SHAPES, DIMS(4, 64));
	assert_true(t->has_global && t->global_inverse);
	models_expect(m, "c.weight", "fp8:tensor", ORIGIN_SHAPES, DIMS(4, 32));
	assert_int_equal(m->ntensors, 3);
	model_free(m);
}

static void
shard(const char *rel, const char *a, const char *b)
{
	struct fixture f = { 0 };

	fixture_add(&f, a, DT_F16, DIMS(2, 2));
	if (b)
		fixture_add(&f, b, DT_F16, DIMS(2, 2));
	fixture_file(&f, rel);
}

static void
test_shards(void **state)
{
	struct model *m;

	(void)state;
	fixture_dir("sh");
	shard("sh/model-1.safetensors", "a", "b");
	shard("sh/model-2.safetensors", "c", NULL);
	shard("sh/consolidated.safetensors", "other", NULL);
	fixture_text("sh/model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{"
		"\"a\":\"model-1.safetensors\",\"b\":\"model-1.safetensors\","
		"\"c\":\"model-2.safetensors\"}}");
	m = models_open("sh");
	models_clean(m);
	assert_int_equal(m->ntensors, 3);
	assert_null(m->remark);
	model_free(m);

	fixture_text("sh/model.safetensors.index.json", "{\"metadata\":{\"total_size\":25},"
		"\"weight_map\":{\"a\":\"model-1.safetensors\",\"b\":\"model-1.safetensors\","
		"\"c\":\"model-2.safetensors\"}}");
	m = models_open("sh");
	models_clean(m);		/* nobody needs the total */
	assert_string_equal(m->remark, "model.safetensors.index.json says that the tensors have 25"
			    " bytes, they have 24");
	model_free(m);

	shard("sh/model-2.safetensors", "c", "a");	/* a in two shards */
	shard("sh/model-3.safetensors", "d", NULL);	/* not in the index */
	fixture_text("sh/model.safetensors.index.json", "{\"weight_map\":{"
		"\"a\":\"model-1.safetensors\",\"b\":\"model-2.safetensors\",\"x\":7,"
		"\"c\":\"model-2.safetensors\",\"e\":\"model-2.safetensors\","
		"\"f\":\"../sh/model-1.safetensors\",\"g\":\"model-9.safetensors\"}}");
	m = models_open("sh");
	assert_int_equal(m->ntensors, 3);
	models_problem(m, "tensor a: is in ");
	models_problem(m, "tensor b: is in ");
	models_problem(m, "tensor e: model.safetensors.index.json has it in model-2.safetensors, which lacks");
	models_problem(m, "shard model-9.safetensors, named in");
	models_problem(m, "shard ../sh/model-1.safetensors, named in");
	models_problem(m, "model-3.safetensors: not named in");
	models_problem(m, "x: the shard is no string");
	assert_int_equal(m->nproblems, 7);
	model_free(m);

	fixture_text("sh/model.safetensors.index.json", "{\"weight_map\":");
	m = models_open("sh");				/* the shards are shown anyway */
	assert_int_equal(m->ntensors, 4);
	models_problem(m, "index.json: not JSON");
	model_free(m);
}

/* One name in two shards: the index says which is meant, else the first is. */
static void
test_twice(void **state)
{
	static const char *const named[] = { "model-1.safetensors", "model-2.safetensors" };

	(void)state;
	fixture_dir("tw");
	shard("tw/model-1.safetensors", "a", "b");
	shard("tw/model-2.safetensors", "c", "a");
	for (size_t i = 0; i < 2; i++) {
		char text[200];
		struct model *m;

		snprintf(text, sizeof(text), "{\"weight_map\":{\"a\":\"%s\",\"b\":"
			 "\"model-1.safetensors\",\"c\":\"model-2.safetensors\"}}", named[i]);
		fixture_text("tw/model.safetensors.index.json", text);
		m = models_open("tw");
		assert_int_equal(m->nproblems, 1);
		models_problem(m, "tensor a: is in ");
		assert_int_equal(m->ntensors, 3);
		assert_string_equal(m->files[model_tensor(m, "a")->weight.file].name, named[i]);
		model_free(m);
	}
}

static void
test_single_file(void **state)
{
	struct store_roots none = { 0 };
	struct fixture f = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	(void)state;
	fixture_quant(&f, "a.weight", "int8", DIMS(4, 128), OLLAMA);
	fixture_meta(&f, "quant_type", "int8");
	fixture_file(&f, "odd-name");		/* known by its content */
	m = models_open("odd-name");
	models_clean(m);
	assert_int_equal(m->loc.kind, MODEL_SAFETENSORS_FILE);
	models_expect(m, "a.weight", "int8", ORIGIN_BLOB_META, DIMS(4, 128));
	assert_string_equal(m->scheme, "int8");
	model_free(m);
	unit_write("x.bin", "GGUF\3\0\0\0\0\0\0\0", 12);
	assert_ok(store_resolve(&none, unit_path("x.bin"), &loc, &err), err);
	assert_int_equal(loc.kind, MODEL_GGUF_FILE);
	assert_fails(model_open(&m, &loc, &err), err, TB_EFORMAT, "x.bin: tensors: needs 8 bytes");
	model_loc_free(&loc);
	unit_write("broken.safetensors", "\2\0\0\0\0\0\0\0{}trailing", 18);
	assert_ok(store_resolve(&none, unit_path("broken.safetensors"), &loc, &err), err);
	assert_fails(model_open(&m, &loc, &err), err, TB_EFORMAT, "8 bytes at 10 belong to no");
	model_loc_free(&loc);
	fixture_text("note.txt", "hello");
	assert_fails(store_resolve(&none, unit_path("note.txt"), &loc, &err), err, TB_ENOENT,
		     "holds no model");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_era_a),
		cmocka_unit_test(test_shared_blobs),
		cmocka_unit_test(test_era_b),
		cmocka_unit_test(test_undecided),
		cmocka_unit_test(test_era_c),
		cmocka_unit_test(test_era_d),
		cmocka_unit_test(test_era_e),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_wrong_metadata),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_gguf_layers),
		cmocka_unit_test(test_mlx_dir),
		cmocka_unit_test(test_quantization_config),
		cmocka_unit_test(test_mlx_widths),
		cmocka_unit_test(test_foreign_nvfp4),
		cmocka_unit_test(test_shards),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_single_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
