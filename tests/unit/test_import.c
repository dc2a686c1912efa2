#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>

#include "src/base/job.h"
#include "src/ops/home/home.h"
#include "src/ops/import/import.h"
#include "tests/unit/fixture.h"

#define DIMS(...) ((const uint64_t[4]){ __VA_ARGS__ })
#define MLX ".weight", ".scales", ".biases"
#define E "model.layers.0.mlp.experts"

static struct op_ctx ctx;

static void
begin(const char *root)
{
	struct tb_err err = { 0 };

	fixture_dir(root);
	assert_ok(op_ctx_init(&ctx, unit_path("index.db"), (const char *[]){ unit_path(root) }, 1,
			      2, &err), err);
}

static enum tb_status
import(const char *dir, const char *name, struct tb_job *job, struct tb_err *err)
{
	struct import_request req = { .path = unit_path(dir), .name = name };
	struct import_result res;
	enum tb_status status = op_import(&ctx, &req, job, &res, err);

	import_result_free(&res);
	return status;
}

static struct model *
imported(const char *dir, const char *name)
{
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(import(dir, name, NULL, &err), err);
	assert_ok(store_resolve(&ctx.roots, name, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	assert_int_equal(m->nproblems, 0);
	return m;
}

/* The blob of the layer `name` has this header, and `data` behind it. */
static void
blob_is(const struct model *m, const char *name, const char *header, const void *data, size_t len)
{
	struct tb_err err = { 0 };
	size_t i = 0, got, head = (strlen(header) + 7) / 8 * 8;
	char *text;

	while (i < m->nfiles && (!m->files[i].name || strcmp(m->files[i].name, name) != 0))
		i++;
	assert_true(i < m->nfiles);
	assert_ok(tb_file_slurp(m->files[i].path, 1 << 20, &text, &got, &err), err);
	assert_int_equal((unsigned char)text[0] | (unsigned char)text[1] << 8, head);
	assert_memory_equal(text + 8, header, strlen(header));
	assert_int_equal(got, 8 + head + len);
	if (data)
		assert_memory_equal(text + 8 + head, data, len);
	free(text);
}

/* Experts come in the order of their numbers, not of their names, one blob a layer,
 * behind the plain tensors. */
static void
test_stacking(void **state)
{
	struct fixture f = { 0 };
	struct model *m;
	char name[80];

	(void)state;
	begin("s1");
	fixture_dir("moe");
	for (int e = 11; e >= 9; e--) {
		snprintf(name, sizeof(name), E ".%d.up_proj.weight", e);
		fixture_add(&f, name, DT_U8, DIMS(1, 2));	/* 11: 01 02, 10: 03 04, 9: 05 06 */
	}
	fixture_add(&f, E ".3.down_proj.weight", DT_U8, DIMS(2));
	fixture_add(&f, "model.layers.0.mlp.experts.gate_up_proj", DT_U8, DIMS(1));
	fixture_add(&f, "model.norm.weight", DT_U8, DIMS(1));
	fixture_file(&f, "moe/model.safetensors");
	fixture_text("moe/config.json", "{\"vision_config\":{}}");
	fixture_text("moe/tokenizer_config.json", "{\"chat_template\":\"{{tools}}<think></think>\"}");
	fixture_text("moe/model.safetensors.index.json", "{\"weight_map\":{}}");
	fixture_text("moe/chat_template.jinja", "<think></think>");
	remove(unit_path("moe/model.safetensors.index.json"));
	m = imported("moe", "moe");
	blob_is(m, E, "{\"model.layers.0.mlp.experts.down_proj.weight\":{\"dtype\":\"U8\",\"shape\":[1,2],"
		"\"data_offsets\":[0,2]},\"model.layers.0.mlp.experts.up_proj.weight\":{\"dtype\":\"U8\","
		"\"shape\":[3,1,2],\"data_offsets\":[2,8]}}", "\7\10\5\6\3\4\1\2", 8);
	assert_string_equal(m->files[2].name, E ".gate_up_proj");
	assert_string_equal(m->files[3].name, "model.norm.weight");
	assert_string_equal(m->files[4].name, E);
	assert_string_equal(m->files[5].name, "chat_template.jinja");
	assert_string_equal(m->files[6].name, "config.json");
	assert_int_equal(m->nfiles, 8);
	model_free(m);
	op_ctx_free(&ctx);
}

static size_t
count(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* A refusal and a cancel leave no blob behind. */
static void
test_refusals(void **state)
{
	struct tb_job *job = tb_job_new(-1);
	struct fixture f = { 0 }, g = { 0 };
	struct tb_err err = { 0 };

	(void)state;
	begin("s2");
	fixture_dir("mix");
	fixture_add(&f, E ".0.up_proj.weight", DT_BF16, DIMS(2, 2));
	fixture_add(&f, E ".1.up_proj.weight", DT_F16, DIMS(2, 2));
	fixture_file(&f, "mix/model.safetensors");
	assert_fails(import("mix", "m", NULL, &err), err, TB_EFORMAT, "dtype or shape differs");
	fixture_dir("fp8");
	fixture_add(&g, "a.weight", DT_F8_E4M3, DIMS(2, 2));
	fixture_file(&g, "fp8/model.safetensors");
	assert_fails(import("fp8", "m", NULL, &err), err, TB_EUNSUP, "F8_E4M3 weights");
	tb_job_cancel(job);
	assert_fails(import("moe", "m", job, &err), err, TB_ECANCEL, "");
	assert_true(count(unit_path("s2/blobs")) <= 2);
	assert_int_equal(count(unit_path("s2/manifests")), 0);
	tb_job_free(job);
	op_ctx_free(&ctx);
}

/* Quantized already: weight, scales and biases in one blob, with metadata where there
 * is a word for the scheme. */
static void
test_prequantized(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct model *m;

	(void)state;
	begin("s3");
	fixture_dir("mlx");
	fixture_text("mlx/config.json", "{\"quantization\":{\"group_size\":64,\"bits\":4,"
		"\"six\":{\"bits\":6}}}");
	fixture_quant(&f, E ".0.up_proj", "int4", DIMS(1, 64), MLX);
	fixture_quant(&f, "six", "affine:6:64", DIMS(1, 64), MLX);
	fixture_add(&f, "norm.weight", DT_BF16, DIMS(2));
	fixture_file(&f, "mlx/model.safetensors");
	m = imported("mlx", "q");
	blob_is(m, E ".0.up_proj.weight", "{\"__metadata__\":{\"group_size\":\"64\",\"quant_type\":\"int4\"},"
		"\"model.layers.0.mlp.experts.0.up_proj.weight\":{\"dtype\":\"U32\",\"shape\":[1,8],"
		"\"data_offsets\":[0,32]},\"model.layers.0.mlp.experts.0.up_proj.weight.bias\":"
		"{\"dtype\":\"BF16\",\"shape\":[1,1],\"data_offsets\":[34,36]},"
		"\"model.layers.0.mlp.experts.0.up_proj.weight.scale\":"
		"{\"dtype\":\"BF16\",\"shape\":[1,1],\"data_offsets\":[32,34]}}", NULL, 36);
	t = model_tensor(m, "six.weight");
	assert_int_equal(t->origin, ORIGIN_CONFIG);
	assert_int_equal(t->scheme.bits, 6);
	assert_int_equal(model_tensor(m, E ".0.up_proj.weight")->origin, ORIGIN_BLOB_META);
	model_free(m);
	op_ctx_free(&ctx);
}

/* A global scale that divides is turned into one that multiplies. */
static void
test_compressed(void **state)
{
	static const float four = 4, quarter = .25f;
	struct tb_buf b = TB_BUF(4096);
	struct fixture f = { 0 };
	const struct tensor *t;
	struct tb_err err = { 0 };
	struct tb_file file;
	struct model *m;
	float got;

	(void)state;
	begin("s4");
	fixture_dir("ct");
	fixture_add(&f, "a.weight_packed", DT_U8, DIMS(1, 32));
	fixture_add(&f, "a.weight_scale", DT_F8_E4M3, DIMS(1, 4));
	fixture_add(&f, "a.weight_global_scale", DT_F32, DIMS(1));
	fixture_add(&f, "a.input_global_scale", DT_F32, DIMS(1));
	fixture_bytes(&f, 1, &b);
	memcpy(b.p + f.t[2].off, &four, sizeof(four));
	unit_write("ct/model.safetensors", b.p, b.len);
	tb_buf_free(&b);
	m = imported("ct", "nv");
	assert_int_equal(m->ntensors, 1);
	t = model_tensor(m, "a.weight");
	assert_int_equal(t->origin, ORIGIN_BLOB_META);
	assert_int_equal(t->scheme.kind, SCHEME_NVFP4);
	assert_true(t->has_global && !t->global_inverse);
	assert_ok(tb_file_open(&file, m->files[t->global.file].path, &err), err);
	assert_ok(tb_file_read(&file, t->global.off, &got, sizeof(got), &err), err);
	assert_true(got == quarter);
	tb_file_close(&file);
	model_free(m);
	op_ctx_free(&ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacking),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_prequantized),
		cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
