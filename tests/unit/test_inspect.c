/* Statistics, histograms, values and bytes of tensors against plain sums in double. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/inspect/inspect.h"
#include "src/quant/codec.h"
#include "tests/unit/tensors.h"

/* Everything the slow way. */
static void
check_against(const struct inspect_result *r, const float *v, size_t n, double tolerance)
{
	double min = INFINITY, max = -INFINITY, sum = 0, m2 = 0;
	uint64_t zeros = 0, counted = 0;

	for (size_t i = 0; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		sum += v[i];
		zeros += v[i] == 0;
	}
	for (size_t i = 0; i < n; i++)
		m2 += (v[i] - sum / (double)n) * (v[i] - sum / (double)n);
	assert_int_equal(r->stats.count, n);
	assert_int_equal(r->stats.zeros, zeros);
	assert_int_equal(r->stats.nans + r->stats.infs, 0);
	assert_true(r->stats.min == min && r->stats.max == max);
	assert_true(r->stats.absmax == fmax(-min, max));
	tensors_near(r->stats.mean, sum / (double)n, tolerance);
	tensors_near(r->stats.std, sqrt(m2 / (double)n), tolerance);
	for (unsigned i = 0; i < r->hist.n; i++)
		counted += r->hist.count[i];
	assert_int_equal(counted, r->hist.n ? n : 0);
}

/* Over chunks and blocks, in each of the types that have a loop of their own. */
static void
test_floats(void **state)
{
	static const size_t sizes[] = { 1, 2, 7, 1023, 1024, 1025, 100000, (2u << 20) + 77 };
	static const enum dtype types[] = { DT_F32, DT_BF16, DT_F16 };
	float *v = tb_calloc(3u << 20, sizeof(*v));
	void *raw = tb_calloc(3u << 20, sizeof(*v));
	struct inspect_result r;
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 24; i++) {
		size_t n = sizes[i / 3];
		enum dtype d = types[i % 3];
		struct model *m;

		for (size_t k = 0; k < n; k++)
			v[k] = (float)((double)(int64_t)(tensors_next(&seed) % 20001) - 9000) / 3000;
		if (d == DT_F32)
			memcpy(raw, v, 4 * n);
		else
			(d == DT_BF16 ? tb_f32_to_bf16 : tb_f32_to_f16)(v, n, raw);
		dtype_to_f32(d, raw, n, v);
		m = tensors_one(d, n, raw);
		tensors_run(m, "t", 64, &r);
		check_against(&r, v, n, 5e-6);	/* sums of a block are F32 */
		model_free(m);
	}
	free(v);
	free(raw);
}

/* The ends of BF16 are found by patterns: of one sign, with zeros of either. */
static void
test_signs(void **state)
{
	float v[5000];
	uint16_t raw[5000];
	struct inspect_result r;
	struct model *m;

	(void)state;
	for (int sign = -2; sign <= 2; sign++) {
		for (int i = 0; i < 5000; i++)
			v[i] = sign == 0 ? (i % 2 ? 0.f : -0.f)
			     : (float)((i * 37) % 1000 + (sign * sign == 1)) / (float)sign;
		tb_f32_to_bf16(v, 5000, raw);
		dtype_to_f32(DT_BF16, raw, 5000, v);
		m = tensors_one(DT_BF16, 5000, raw);
		tensors_run(m, "t", 0, &r);
		check_against(&r, v, 5000, 5e-3);
		model_free(m);
	}
	raw[4100] = 0xff80;
	m = tensors_one(DT_BF16, 5000, raw);
	tensors_run(m, "t", 0, &r);
	assert_true(r.stats.infs == 1 && r.stats.first_inf == 4100 && r.stats.min == 0);
	model_free(m);
}

static void
test_not_finite(void **state)
{
	float v[5000];
	struct inspect_result r;
	struct model *m;

	(void)state;
	for (unsigned i = 0; i < 5000; i++)
		v[i] = 1;
	v[1500] = INFINITY;
	v[3000] = -INFINITY;
	v[2500] = NAN;
	v[4999] = 3;
	v[4998] = 0;
	m = tensors_one(DT_F32, 5000, v);
	tensors_run(m, "t", 4, &r);
	assert_int_equal(r.stats.nans, 1);
	assert_int_equal(r.stats.infs, 2);
	assert_int_equal(r.stats.first_nan, 2500);
	assert_int_equal(r.stats.first_inf, 1500);
	assert_int_equal(r.stats.zeros, 1);
	assert_true(r.stats.min == 0 && r.stats.max == 3);
	tensors_near(r.stats.mean, (4995.0 + 3) / 4997, 1e-9);
	assert_int_equal(r.hist.count[0], 1);
	assert_int_equal(r.hist.count[1], 4995);
	assert_int_equal(r.hist.count[3], 1);
	model_free(m);
	for (unsigned i = 0; i < 5000; i++)
		v[i] = NAN;
	m = tensors_one(DT_F32, 5000, v);
	tensors_run(m, "t", 4, &r);
	assert_int_equal(r.stats.nans, 5000);
	assert_true(r.stats.min == 0 && r.stats.max == 0 && r.stats.std == 0);
	model_free(m);
}

/* A small spread around a large mean, values whose squares overflow, all equal. */
static void
test_hard_sums(void **state)
{
	float v[4096];
	struct inspect_result r;
	struct model *m;

	(void)state;
	for (unsigned i = 0; i < 4096; i++)
		v[i] = 100000.0f + (i % 2 ? 0.5f : -0.5f);
	m = tensors_one(DT_F32, 4096, v);
	tensors_run(m, "t", 2, &r);
	tensors_near(r.stats.mean, 100000, 1e-9);
	tensors_near(r.stats.std, 0.5, 1e-9);
	assert_int_equal(r.hist.count[0], 2048);
	model_free(m);
	for (unsigned i = 0; i < 4096; i++)
		v[i] = i % 2 ? 3e38f : -3e38f;
	m = tensors_one(DT_F32, 4096, v);
	tensors_run(m, "t", 2, &r);
	tensors_near(r.stats.std / 3e38, 1, 1e-6);
	assert_int_equal(r.hist.count[0], 2048);
	assert_int_equal(r.hist.count[1], 2048);
	model_free(m);
	for (unsigned i = 0; i < 4096; i++)
		v[i] = 0.1f;
	m = tensors_one(DT_F32, 4096, v);
	tensors_run(m, "t", 8, &r);
	assert_true(r.stats.std == 0 && r.hist.lo == r.hist.hi);
	assert_int_equal(r.hist.count[0], 4096);
	model_free(m);
}

static void
test_integers(void **state)
{
	const int64_t wide[] = { -9007199254740993, 0, 5, 9007199254740993 };
	const uint8_t narrow[] = { 0, 255, 7 };
	struct inspect_result r;
	struct model *m = tensors_one(DT_I64, 4, wide);

	(void)state;
	tensors_run(m, "t", 3, &r);
	assert_true(r.stats.max == (double)wide[3] && r.stats.min == (double)wide[0]);
	assert_int_equal(r.hist.count[1], 2);
	model_free(m);
	m = tensors_one(DT_U8, 3, narrow);
	tensors_run(m, "t", 0, &r);
	assert_true(r.stats.max == 255 && r.stats.zeros == 1);
	tensors_near(r.stats.mean, 262 / 3.0, 1e-5);
	model_free(m);
	m = tensors_one(DT_F32, 0, narrow);
	tensors_run(m, "t", 8, &r);
	assert_int_equal(r.stats.count, 0);
	assert_true(r.stats.first_nan == INSPECT_NONE);
	model_free(m);
}

#define ROWS 48u
#define COLS 320u

/* Group 77 of an int4 tensor, and what bytes belong to it. */
static void
check_block(const struct model *m, const uint8_t *codes, const uint8_t *scales,
	    const uint8_t *biases, const float *values)
{
	const struct tensor *t = model_tensor(m, "w");
	struct tb_err err = { 0 };
	float scale, bias;
	struct block b;

	assert_int_equal(block_count(t), ROWS * COLS / 64);
	assert_int_equal(block_at(t, PART_WEIGHT, 77 * 32 + 31), 77);
	assert_int_equal(block_at(t, PART_SCALE, 77 * 2 + 1), 77);
	assert_true(block_at(t, PART_WEIGHT, ROWS * COLS) == INSPECT_NONE);
	assert_ok(block_read(m, t, 77, &b, &err), err);
	assert_true(b.first == 77 * 64 && b.n == 64 && b.off == 77 * 32 && b.len == 32);
	assert_int_equal(b.nfields, 3);
	dtype_to_f32(DT_BF16, scales + 154, 1, &scale);
	dtype_to_f32(DT_BF16, biases + 154, 1, &bias);
	assert_true(b.field[0].v[0] == (double)scale && b.field[1].v[0] == (double)bias);
	assert_memory_equal(b.value, values + 77 * 64, sizeof(*values) * 64);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(b.field[2].v[i], codes[77 * 32 + i / 2] >> i % 2 * 4 & 15);
	assert_fails(block_read(m, t, 240, &b, &err), err, TB_EUSAGE, "240 of 240");
}

static void
test_quantized(void **state)
{
	const struct scheme s = scheme_affine(4, 64);
	static float v[ROWS * COLS], back[ROWS * COLS], got[7 * 100];
	static uint8_t codes[ROWS * COLS / 2], scales[ROWS * COLS / 32], biases[ROWS * COLS / 32];
	uint16_t src[ROWS * COLS];
	const struct quant_src q = { codes, scales, biases, DT_BF16, 1 };
	struct st_tensor t[3] = {
		{ .name = "w", .dtype = DT_U32, .ndim = 2, .dim = { ROWS, COLS / 8 } },
		{ .name = "w.bias", .dtype = DT_BF16, .ndim = 2, .dim = { ROWS, COLS / 64 } },
		{ .name = "w.scale", .dtype = DT_BF16, .ndim = 2, .dim = { ROWS, COLS / 64 } },
	};
	const struct st_meta meta[] = { { "group_size", "64" }, { "quant_type", "int4" } };
	const struct inspect_window w = { .row = 3, .col = 37, .rows = 7, .cols = 100 };
	struct inspect_window out_of = { .row = ROWS, .rows = 1, .cols = 1 };
	struct tb_err err = { 0 };
	struct inspect_result r;
	struct model *m;
	uint8_t raw[8];

	(void)state;
	for (unsigned i = 0; i < ROWS * COLS; i++)
		v[i] = sinf((float)i) * (float)(i % 100);
	tb_f32_to_bf16(v, ROWS * COLS, src);
	quant_encode(&s, FLAVOUR_METAL, DT_BF16, src, ROWS * COLS,
		     &(struct quant_parts){ codes, scales, biases });
	quant_decode(&s, &q, ROWS * COLS, back);
	m = tensors_model("quant.safetensors", t, 3, (const void *[]){ codes, biases, scales }, meta, 2);
	tensors_run(m, "w", 32, &r);
	check_against(&r, back, ROWS * COLS, 1e-4);
	assert_ok(inspect_values(m, model_tensor(m, "w"), &w, got, &err), err);
	for (unsigned i = 0; i < 7; i++)
		assert_memory_equal(got + i * 100, back + (3 + i) * COLS + 37, 400);
	assert_fails(inspect_values(m, model_tensor(m, "w"), &out_of, got, &err), err, TB_EUSAGE,
		     "outside");
	assert_ok(values_bytes(m, values_part_of(model_tensor(m, "w"), PART_SCALE), 4, 8, raw,
				&err), err);
	assert_memory_equal(raw, scales + 4, 8);
	assert_fails(values_bytes(m, values_part_of(model_tensor(m, "w"), PART_SCALE),
				   sizeof(scales), 1, raw, &err), err, TB_EUSAGE, "outside");
	assert_null(values_part_of(model_tensor(m, "w"), PART_GLOBAL));
	check_block(m, codes, scales, biases, back);
	model_free(m);
}

/* A file that is another one by now is not read. */
static void
test_changed(void **state)
{
	float v[1000] = { 0 };
	struct model *m = tensors_one(DT_F32, 1000, v);
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, "t") };
	struct inspect_result r;
	struct tb_err err = { 0 };

	(void)state;
	assert_int_equal(truncate(unit_path("one.safetensors"), 3000), 0);
	assert_fails(op_inspect(&tensors_ctx, &req, NULL, &r, &err), err, TB_EIO, "changed");
	model_free(m);
}

static void
test_cancel(void **state)
{
	float *v = tb_calloc(3u << 20, sizeof(*v));
	struct model *m = tensors_one(DT_F32, 3u << 20, v);
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, "t") };
	struct tb_job *job = tb_job_new(-1);
	struct inspect_result r;
	struct tb_progress p;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(op_inspect(&tensors_ctx, &req, job, &r, &err), err);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, p.total);
	tb_job_cancel(job);
	assert_int_equal(op_inspect(&tensors_ctx, &req, job, &r, &err), TB_ECANCEL);
	tb_job_free(job);
	model_free(m);
	free(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_hard_sums),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_quantized),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, tensors_set_up, tensors_tear_down);
}
