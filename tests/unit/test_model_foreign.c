/* Directories as AWQ, GPTQ, compressed-tensors and makers of FP8 checkpoints leave them:
 * one logical tensor a packed weight, with its shape, and values that are right. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/ops/inspect/inspect.h"
#include "tests/unit/models.h"

/* A folder with one file; the tensor of `g_idx`, if there is one, is put in order. */
static struct tb_buf
folder(const char *name, struct fixture *f, const char *config)
{
	struct tb_buf bytes = TB_BUF(1 << 20);
	char path[100];

	fixture_dir(name);
	snprintf(path, sizeof(path), "%s/config.json", name);
	fixture_text(path, config);
	fixture_bytes(f, 1, &bytes);
	for (size_t i = 0; i < f->n; i++)
		for (uint64_t k = 0; strstr(f->t[i].name, "g_idx") && k < f->t[i].len / 4; k++)
			memcpy(bytes.p + f->t[i].off + 4 * k, (uint32_t[]){ k % 2 }, 4);
	snprintf(path, sizeof(path), "%s/model.safetensors", name);
	unit_write(path, bytes.p, bytes.len);
	return bytes;
}

static const char *
at(const struct fixture *f, const struct tb_buf *bytes, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->t[i].name, name))
			return bytes->p + f->t[i].off;
	fail_msg("no %s", name);
	return NULL;
}

static unsigned
nibble(const char *p, size_t i)
{
	return (unsigned char)p[i / 2] >> (i % 2 * 4) & 15;
}

static float
half(const char *p, size_t i)
{
	float v;

	dtype_to_f32(DT_F16, p + 2 * i, 1, &v);
	return v;
}

static float *
values(const struct model *m, const struct tensor *t)
{
	float *out = calloc(t->elems, sizeof(*out));
	struct inspect_window w = { 0 };
	struct tb_err err = { 0 };

	inspect_matrix(t, &w.rows, &w.cols);
	assert_ok(inspect_values(m, t, &w, out, &err), err);
	return out;
}

static void
same(float got, float want, size_t i)
{
	if (got != want && !(isnan(got) && isnan(want)))
		fail_msg("element %zu: %g, not %g", i, (double)got, (double)want);
}

static void
test_awq(void **state)
{
	static const unsigned nibble_of[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	struct fixture f = { 0 };
	const struct tensor *t;
	struct tb_buf b;
	struct model *m;
	float *v;

	(void)state;
	fixture_add(&f, "x.q_proj.qweight", DT_I32, DIMS(64, 4));
	fixture_add(&f, "x.q_proj.qzeros", DT_I32, DIMS(2, 4));
	fixture_add(&f, "x.q_proj.scales", DT_F16, DIMS(2, 32));
	fixture_add(&f, "x.q_proj.bias", DT_F16, DIMS(32));
	fixture_add(&f, "norm.weight", DT_F16, DIMS(64));
	b = folder("awq", &f, "{\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,"
		"\"group_size\":32,\"version\":\"gemm\",\"zero_point\":true}}");
	m = models_open("awq");
	models_clean(m);
	assert_int_equal(m->ntensors, 3);
	assert_int_equal(m->params, 64 * 32 + 32 + 64);
	t = models_expect(m, "x.q_proj.weight", "awq:4:32", ORIGIN_CONFIG, DIMS(32, 64));
	assert_int_equal(t->bytes, 64 * 16 + 2 * 16 + 2 * 64);
	v = values(m, t);
	for (size_t i = 0; i < t->elems; i++) {
		size_t r = i / 64, c = i % 64, g = c / 32, n = r / 8 * 8 + nibble_of[r % 8];
		int code = (int)nibble(at(&f, &b, "x.q_proj.qweight"), c * 32 + n);
		int zero = (int)nibble(at(&f, &b, "x.q_proj.qzeros"), g * 32 + n);

		same(v[i], (float)(code - zero) * half(at(&f, &b, "x.q_proj.scales"), g * 32 + r), i);
	}
	free(v);
	tb_buf_free(&b);
	model_free(m);
}

static void
test_gptq(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct tb_buf b;
	struct model *m;
	float *v;

	(void)state;
	fixture_add(&f, "a.g_idx", DT_I32, DIMS(64));
	fixture_add(&f, "a.qweight", DT_I32, DIMS(8, 16));
	fixture_add(&f, "a.qzeros", DT_I32, DIMS(2, 2));
	fixture_add(&f, "a.scales", DT_F16, DIMS(2, 16));
	fixture_add(&f, "b.qweight", DT_I32, DIMS(16, 16));	/* 8 bits, a scale a row */
	fixture_add(&f, "b.qzeros", DT_I32, DIMS(1, 4));
	fixture_add(&f, "b.scales", DT_F16, DIMS(1, 16));
	b = folder("gptq", &f, "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,"
		"\"group_size\":32,\"desc_act\":true,\"checkpoint_format\":\"gptq_v2\"}}");
	m = models_open("gptq");
	models_clean(m);
	assert_int_equal(m->ntensors, 2);
	t = models_expect(m, "a.weight", "gptq_v2:4:32", ORIGIN_CONFIG, DIMS(16, 64));
	assert_true(t->has_order);
	models_expect(m, "b.weight", "gptq_v2:8:row", ORIGIN_SHAPES, DIMS(16, 64));
	v = values(m, t);
	for (size_t i = 0; i < t->elems; i++) {
		size_t r = i / 64, c = i % 64, g = c % 2;	/* as g_idx says */
		int code = (int)nibble(at(&f, &b, "a.qweight"), (c / 8 * 16 + r) * 8 + c % 8);
		int zero = (int)nibble(at(&f, &b, "a.qzeros"), g * 16 + r);

		same(v[i], (float)(code - zero) * half(at(&f, &b, "a.scales"), g * 16 + r), i);
	}
	free(v);
	tb_buf_free(&b);
	model_free(m);
}

/* A group that is none: said with its place, and not decoded. */
static void
test_bad_order(void **state)
{
	struct inspect_window w = { 0, 0, 1, 1 };
	struct fixture f = { 0 };
	struct tb_err err = { 0 };
	struct model *m;
	struct tb_buf b;
	float v;

	(void)state;
	fixture_add(&f, "a.order", DT_I32, DIMS(64));	/* not touched by folder() */
	fixture_add(&f, "a.qweight", DT_I32, DIMS(8, 16));
	fixture_add(&f, "a.qzeros", DT_I32, DIMS(2, 2));
	fixture_add(&f, "a.scales", DT_F16, DIMS(2, 16));
	snprintf(f.names[0], sizeof(f.names[0]), "a.g_idx");
	fixture_dir("bad");
	b = (struct tb_buf)TB_BUF(1 << 20);
	fixture_bytes(&f, 1, &b);
	unit_write("bad/model.safetensors", b.p, b.len);
	m = models_open("bad");
	models_expect(m, "a.weight", "gptq:4:32", ORIGIN_SHAPES, DIMS(16, 64));
	assert_fails(inspect_values(m, &m->tensors[0], &w, &v, &err), err, TB_EFORMAT,
		     "the group of column 0 is none of its groups");
	tb_buf_free(&b);
	model_free(m);
}

/* An order of columns beside parts that are no matrix of a known kind says nothing. */
static void
test_order_of_nothing(void **state)
{
	struct inspect_window w = { 0, 0, 1, 1 };
	struct fixture f = { 0 };
	struct tb_err err = { 0 };
	struct model *m;
	struct tb_buf b;
	float v;

	(void)state;
	fixture_add(&f, "a.g_idx", DT_I32, DIMS(3));
	fixture_add(&f, "a.qweight", DT_I32, DIMS(8, 16));
	fixture_add(&f, "a.qzeros", DT_I32, DIMS(2, 2));
	fixture_add(&f, "a.scales", DT_F16, DIMS(2, 16));
	fixture_add(&f, "b.qweight", DT_I32, DIMS(16));		/* one row of 16 words */
	fixture_add(&f, "b.qzeros", DT_I32, DIMS(1, 2));
	fixture_add(&f, "b.scales", DT_F16, DIMS(1, 16));
	b = folder("nothing", &f, "{}");
	m = models_open("nothing");
	assert_int_equal(m->nproblems, 2);
	models_expect(m, "a.weight", "I32", ORIGIN_UNKNOWN, DIMS(8, 16));
	models_expect(m, "b.weight", "I32", ORIGIN_UNKNOWN, DIMS(16));
	assert_int_equal(inspect_values(m, &m->tensors[0], &w, &v, &err), TB_OK);
	tb_buf_free(&b);
	model_free(m);
}

static void
test_compressed_tensors(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct tb_buf b;
	struct model *m;
	float *v;

	(void)state;
	fixture_add(&f, "a.weight_packed", DT_I32, DIMS(6, 8));
	fixture_add(&f, "a.weight_scale", DT_BF16, DIMS(6, 2));
	fixture_add(&f, "a.weight_shape", DT_I64, DIMS(2));
	fixture_add(&f, "b.weight", DT_I8, DIMS(6, 64));
	fixture_add(&f, "b.weight_scale", DT_F16, DIMS(6, 1));
	fixture_add(&f, "c.weight", DT_F8_E4M3, DIMS(6, 64));
	fixture_add(&f, "c.weight_scale", DT_BF16, DIMS(6, 1));
	fixture_add(&f, "c.input_scale", DT_BF16, DIMS(1));
	fixture_add(&f, "d.weight_packed", DT_U8, DIMS(6, 32));		/* mxfp4 */
	fixture_add(&f, "d.weight_scale", DT_U8, DIMS(6, 2));
	fixture_add(&f, "e.weight", DT_F8_E4M3, DIMS(6, 64));		/* mxfp8 */
	fixture_add(&f, "e.weight_scale", DT_U8, DIMS(6, 2));
	b = folder("ct", &f, "{\"quantization_config\":{\"quant_method\":\"compressed-tensors\","
		"\"format\":\"mixed-precision\",\"config_groups\":{\"group_0\":{\"weights\":{"
		"\"num_bits\":4,\"group_size\":32}},\"group_1\":{\"weights\":{\"num_bits\":8,"
		"\"group_size\":null,\"strategy\":\"channel\"}}}}}");
	m = models_open("ct");
	models_clean(m);
	assert_int_equal(m->ntensors, 6);
	t = models_expect(m, "a.weight", "ct-int4:32", ORIGIN_CONFIG, DIMS(6, 64));
	models_expect(m, "c.weight", "fp8:row", ORIGIN_SHAPES, DIMS(6, 64));
	models_expect(m, "c.input_scale", "BF16", ORIGIN_NONE, DIMS(1));
	models_expect(m, "d.weight", "mxfp4", ORIGIN_SHAPES, DIMS(6, 64));
	models_expect(m, "e.weight", "mxfp8", ORIGIN_SHAPES, DIMS(6, 64));
	v = values(m, t);
	for (size_t i = 0; i < t->elems; i++) {
		int code = (int)nibble(at(&f, &b, "a.weight_packed"), i);
		float scale;

		dtype_to_f32(DT_BF16, at(&f, &b, "a.weight_scale") + i / 32 * 2, 1, &scale);
		same(v[i], (float)(code - 8) * scale, i);
	}
	free(v);
	t = models_expect(m, "b.weight", "ct-int8:row", ORIGIN_SHAPES, DIMS(6, 64));
	v = values(m, t);
	for (size_t i = 0; i < t->elems; i++)
		same(v[i], (float)(signed char)at(&f, &b, "b.weight")[i] *
			   half(at(&f, &b, "b.weight_scale"), i / 64), i);
	free(v);
	tb_buf_free(&b);
	model_free(m);
}

/* Stacked experts, and blocks that do not divide the matrix; two experts in one tensor. */
static void
test_block_fp8(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct tb_buf b;
	struct model *m;
	float *v;

	(void)state;
	fixture_add(&f, "a.weight", DT_F8_E4M3, DIMS(2, 40, 50));
	fixture_add(&f, "a.weight_scale_inv", DT_F32, DIMS(2, 3, 4));
	fixture_add(&f, "e.gate_up_proj", DT_F8_E4M3, DIMS(16, 16));
	fixture_add(&f, "e.gate_up_proj_scale_inv", DT_F32, DIMS(1, 1));
	b = folder("fp8", &f, "{\"quantization_config\":{\"quant_method\":\"fp8\","
		"\"weight_block_size\":[16,16]}}");
	m = models_open("fp8");
	models_clean(m);
	assert_int_equal(m->ntensors, 2);
	t = models_expect(m, "a.weight", "fp8:16x16", ORIGIN_CONFIG, DIMS(2, 40, 50));
	assert_string_equal(tensor_dtype(t), "F8_E4M3");
	v = values(m, t);
	for (size_t i = 0; i < t->elems; i++) {
		size_t e = i / 2000, r = i % 2000 / 50, c = i % 50;
		float code, scale;

		dtype_to_f32(DT_F8_E4M3, at(&f, &b, "a.weight") + i, 1, &code);
		memcpy(&scale, at(&f, &b, "a.weight_scale_inv") + 4 * (e * 12 + r / 16 * 4 + c / 16), 4);
		same(v[i], code * scale, i);
	}
	free(v);
	tb_buf_free(&b);
	model_free(m);
}

/* gpt-oss: groups have a dimension of their own. */
static void
test_gpt_oss(void **state)
{
	struct fixture f = { 0 };
	const struct tensor *t;
	struct model *m;

	(void)state;
	fixture_dir("oss");
	fixture_add(&f, "mlp.experts.down_proj_bias", DT_BF16, DIMS(2, 6));
	fixture_add(&f, "mlp.experts.down_proj_blocks", DT_U8, DIMS(12, 2, 16));
	fixture_add(&f, "mlp.experts.down_proj_scales", DT_U8, DIMS(12, 2));
	fixture_file(&f, "oss/model.safetensors");
	m = models_open("oss");
	models_clean(m);
	t = models_expect(m, "mlp.experts.down_proj", "mxfp4", ORIGIN_SHAPES, DIMS(12, 64));
	assert_int_equal(t->weight.ndim, 2);
	assert_int_equal(m->params, 12 * 64 + 12);
	free(values(m, t));
	model_free(m);
}

/* AWQ has had other layouts, and there are lies: said, and shown as stored. */
static void
test_unknown(void **state)
{
	struct fixture f = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("odd");
	fixture_add(&f, "gemv.qweight", DT_I32, DIMS(32, 16));
	fixture_add(&f, "gemv.qzeros", DT_I32, DIMS(32, 1));
	fixture_add(&f, "gemv.scales", DT_F16, DIMS(32, 8));
	fixture_add(&f, "short.qweight", DT_I32, DIMS(8, 16));
	fixture_add(&f, "short.qzeros", DT_I32, DIMS(2, 3));
	fixture_add(&f, "short.scales", DT_F16, DIMS(2, 16));
	fixture_add(&f, "z.weight", DT_F8_E4M3, DIMS(40, 50));
	fixture_add(&f, "z.weight_scale", DT_F32, DIMS(7, 3));
	fixture_file(&f, "odd/model.safetensors");
	m = models_open("odd");
	assert_int_equal(m->nproblems, 3);
	models_problem(m, "tensor short.weight: has scales, but its layout is none");
	models_expect(m, "short.weight", "I32", ORIGIN_UNKNOWN, DIMS(8, 16));
	models_expect(m, "z.weight", "F8_E4M3", ORIGIN_UNKNOWN, DIMS(40, 50));
	models_problem(m, "gemv.weight");
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awq),
		cmocka_unit_test(test_gptq),
		cmocka_unit_test(test_bad_order),
		cmocka_unit_test(test_order_of_nothing),
		cmocka_unit_test(test_compressed_tensors),
		cmocka_unit_test(test_block_fp8),
		cmocka_unit_test(test_gpt_oss),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
