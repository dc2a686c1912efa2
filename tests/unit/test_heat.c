/* Quantiles, what is kept, maps and blocks of tensors against the plain way. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "db/db.h"
#include "src/base/half.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/model/values.h"
#include "src/ops/inspect/inspect.h"
#include "src/ops/inspect/inspect_run.h"
#include "tests/unit/tensors.h"

/* ---- quantiles ---- */

static int
by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* As numpy.quantile() has it. */
static double
quantile(const float *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t k = (size_t)at;

	return k + 1 < n ? (double)sorted[k] + ((double)sorted[k + 1] - (double)sorted[k]) *
			   (at - (double)k) : (double)sorted[n - 1];
}

/* BF16 and F16: the very values, however many; F32: of a few the very values, of many
 * within their bucket. */
static void
test_quantiles(void **state)
{
	static const size_t sizes[] = { 1, 2, 999, 65536, 300000 };
	static const enum dtype types[] = { DT_F32, DT_BF16, DT_F16 };
	float *v = tb_calloc(300000, sizeof(*v));
	void *raw = tb_calloc(300000, sizeof(*v));
	struct inspect_result r;
	uint64_t seed = 5;

	(void)state;
	for (size_t i = 0; i < 15; i++) {
		size_t n = sizes[i / 3];
		enum dtype d = types[i % 3];
		bool exact = d != DT_F32 || n <= 65536;
		uint64_t counted = 0;
		struct model *m;

		for (size_t k = 0; k < n; k++)
			v[k] = (float)(sqrt(-2 * log(((double)tensors_next(&seed) + 1) * 0x1p-31)) *
				       cos((double)tensors_next(&seed)));
		if (d == DT_F32)
			memcpy(raw, v, 4 * n);
		else
			(d == DT_BF16 ? tb_f32_to_bf16 : tb_f32_to_f16)(v, n, raw);
		m = tensors_one(d, n, raw);
		dtype_to_f32(d, raw, n, v);
		tensors_run(m, "t", 0, &r);
		qsort(v, n, sizeof(*v), by_value);
		assert_int_equal(r.dist.exact, exact);
		assert_int_equal(r.dist.counted, n);
		for (unsigned q = 0; q < INSPECT_QUANTILES; q++) {
			double want = quantile(v, n, inspect_shares[q]);

			tensors_near(r.dist.quantile[q], want, exact ? 1e-12 : fabs(want) / 128 + 1e-5);
		}
		for (unsigned b = 0; b < INSPECT_DIST_BINS; b++)
			counted += r.dist.hist.count[b];
		assert_int_equal(counted, n);
		model_free(m);
	}
	free(v);
	free(raw);
}

/* Norms: all values in one or two buckets. */
static void
test_narrow(void **state)
{
	float v[4096];
	struct inspect_result r;
	struct model *m;

	(void)state;
	for (unsigned i = 0; i < 4096; i++)
		v[i] = 1 + (float)i * 0x1p-20f;
	m = tensors_one(DT_F32, 4096, v);
	tensors_run(m, "t", 0, &r);
	tensors_near(r.dist.quantile[4], 1 + 2047.5 * 0x1p-20, 1e-12);
	assert_int_equal(r.dist.hist.count[0], 16);
	assert_int_equal(r.dist.hist.count[255], 16);
	tensors_near(r.stats.std, 4096 * 0x1p-20 / sqrt(12), 1e-9);
	model_free(m);
}

/* Of a large tensor only some blocks are looked at.  Values that depend on the column
 * alone, as rows of 4096, must still come out with their shares. */
static void
test_sampled(void **state)
{
	const uint64_t elems = UINT64_C(1) << 27;
	static float v[8192];
	struct value_stats st = { .count = elems, .min = 0, .max = 1 };
	struct tensor t = { .name = "t", .elems = elems };
	struct values r = { .t = &t };
	struct inspect_dist out;
	struct dist_pass d;
	struct tb_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 8192; i++)
		v[i] = (float)(i % 4096) / 4096;
	assert_ok(dist_init(&d, 2, DT_F32, elems, &err), err);
	assert_int_equal(d.every, 16);
	for (uint64_t at = 0; at < elems; at += 8192)
		dist_add(&d, at / 8192 % 2, v, 8192, at);
	assert_ok(dist_finish(&d, &r, &st, &out, &err), err);
	assert_false(out.exact);
	assert_int_equal(out.counted, elems / 16);
	for (unsigned q = 0; q < INSPECT_QUANTILES; q++)
		tensors_near(out.quantile[q], inspect_shares[q], 0.0005);
	dist_free(&d);
}

/* ---- kept results ---- */

static void
test_kept(void **state)
{
	float v[3000];
	struct inspect_result first, second;
	struct inspect_request req = { 0 };
	struct op_ctx with = tensors_ctx;
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		v[i] = (float)i / 7 - 100;
	v[7] = NAN;
	m = tensors_one(DT_F32, 3000, v);
	with.db_path = tb_strdup(unit_path("index/index.db"));
	req = (struct inspect_request){ .model = m, .tensor = model_tensor(m, "t"),
					.facts = inspect_facts(&with) };
	assert_non_null(req.facts);
	assert_ok(op_inspect(&with, &req, NULL, &first, &err), err);
	assert_true(first.kept_ns == 0 && first.bytes == 12000);
	assert_ok(op_inspect(&with, &req, NULL, &second, &err), err);
	assert_true(second.kept_ns != 0 && second.bytes == 0);
	assert_memory_equal(&first.stats, &second.stats, sizeof(first.stats));
	assert_memory_equal(first.dist.quantile, second.dist.quantile,
			    sizeof(first.dist.quantile));
	assert_memory_equal(&first.dist.hist, &second.dist.hist, sizeof(first.dist.hist));
	req.again = true;
	assert_ok(op_inspect(&with, &req, NULL, &second, &err), err);
	assert_int_equal(second.kept_ns, 0);
	model_free(m);
	/* other bytes in its place */
	v[8] = 1e6;
	m = tensors_one(DT_F32, 3000, v);
	req = (struct inspect_request){ .model = m, .tensor = model_tensor(m, "t"),
					.facts = req.facts };
	assert_ok(op_inspect(&with, &req, NULL, &second, &err), err);
	assert_true(second.kept_ns == 0 && second.stats.max == 1e6);
	db_close(req.facts);
	model_free(m);
	free(with.db_path);
}

/* ---- maps ---- */

/* Every cell against the plain sums, for matrices and windows that divide unevenly. */
static void
check_heat(const struct model *m, const float *v, struct inspect_window w, unsigned rows,
	   unsigned cols)
{
	struct heat_request req = { .model = m, .tensor = model_tensor(m, "t"), .of = w,
				    .rows = rows, .cols = cols };
	uint64_t width = req.tensor->dim[1];
	struct tb_err err = { 0 };
	struct heat h;

	assert_ok(op_heat(&tensors_ctx, &req, NULL, &h, &err), err);
	assert_int_equal(h.rows, w.rows < rows ? w.rows : rows);
	assert_int_equal(h.cols, w.cols < cols ? w.cols : cols);
	assert_int_equal(heat_row(&h, h.rows), w.row + w.rows);
	for (unsigned r = 0; r < h.rows; r++)
		for (unsigned c = 0; c < h.cols; c++) {
			double sum = 0, max = 0, n = 0;

			for (uint64_t i = heat_row(&h, r); i < heat_row(&h, r + 1); i++)
				for (uint64_t k = heat_col(&h, c); k < heat_col(&h, c + 1); k++) {
					sum += fabs((double)v[i * width + k]);
					max = fmax(max, fabs((double)v[i * width + k]));
					n++;
				}
			assert_true(n > 0);
			tensors_near((double)h.cell[r * h.cols + c].mean, sum / n, 1e-5 * sum / n);
			assert_true((double)h.cell[r * h.cols + c].max == max);
		}
	heat_free(&h);
}

static struct model *
matrix(uint64_t rows, uint64_t cols, const float *v)
{
	struct st_tensor t = { .name = "t", .dtype = DT_F32, .ndim = 2, .dim = { rows, cols } };

	return tensors_model("matrix.safetensors", &t, 1, (const void *[]){ v }, NULL, 0);
}

static void
test_heat(void **state)
{
	static const uint64_t shapes[][2] = { { 300, 7 }, { 3, 20001 }, { 100, 1000 }, { 1, 1 } };
	float *v = tb_calloc(100000, sizeof(*v));
	struct heat_request req = { .rows = 4, .cols = 4 };
	struct tb_job *job = tb_job_new(-1);
	struct tb_err err = { 0 };
	uint64_t seed = 3;
	struct heat h;
	struct model *m;
	float lo, hi;

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		v[i] = ((float)(tensors_next(&seed) % 2001) - 1000) / 77;
	for (size_t i = 0; i < 4; i++) {
		uint64_t rows = shapes[i][0], cols = shapes[i][1];

		m = matrix(rows, cols, v);
		check_heat(m, v, (struct inspect_window){ 0, 0, rows, cols }, 7, 30);
		check_heat(m, v, (struct inspect_window){ rows / 3, cols / 4, rows - rows / 3,
							  cols - cols / 4 - cols / 5 }, 40, 3);
		model_free(m);
	}
	v[5 * 1000 + 999] = NAN;
	v[99 * 1000] = INFINITY;
	m = matrix(100, 1000, v);
	req.model = m;
	req.tensor = model_tensor(m, "t");
	assert_ok(op_heat(&tensors_ctx, &req, NULL, &h, &err), err);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(h.cell[i].bad, i == 3 || i == 12);
	heat_range(&h, false, &lo, &hi);
	assert_true(lo > 0 && hi < 13 && lo < hi);
	heat_free(&h);
	tb_job_cancel(job);
	assert_int_equal(op_heat(&tensors_ctx, &req, job, &h, &err), TB_ECANCEL);
	assert_null(h.cell);
	tb_job_free(job);
	req.of.row = 100;
	req.of.rows = 1;
	assert_fails(op_heat(&tensors_ctx, &req, NULL, &h, &err), err, TB_EUSAGE, "outside");
	req = (struct heat_request){ .model = m, .tensor = req.tensor, .rows = 0, .cols = 1 };
	assert_fails(op_heat(&tensors_ctx, &req, NULL, &h, &err), err, TB_EUSAGE, "cells");
	model_free(m);
	free(v);
}

static void
test_plain_block(void **state)
{
	float v[10];
	struct model *m;
	struct tb_err err = { 0 };
	struct block b;

	(void)state;
	for (int i = 0; i < 10; i++)
		v[i] = (float)i;
	m = tensors_one(DT_F32, 10, v);
	assert_int_equal(block_count(model_tensor(m, "t")), 3);
	assert_ok(block_read(m, model_tensor(m, "t"), 2, &b, &err), err);
	assert_true(b.n == 2 && b.off == 32 && b.len == 8 && b.nfields == 0);
	assert_true(b.value[0] == 8 && b.value[1] == 9);
	model_free(m);
}

static void
test_place(void **state)
{
	struct tensor t = { .scheme = scheme_affine(4, 64), .ndim = 2, .dim = { 10, 640 },
			    .elems = 6400, .weight = { .off = 1000 } };
	struct inspect_place p;

	(void)state;
	inspect_place(&t, 641, &p);
	assert_true(p.row == 1 && p.col == 1 && p.off == 1320);
	inspect_place(&t, 642, &p);
	assert_int_equal(p.off, 1321);
	t.scheme = (struct scheme){ .kind = SCHEME_GPTQ, .bits = 4, .group = 64 };
	inspect_place(&t, 3 * 640 + 17, &p);	/* third word down, row 3 of 10 */
	assert_int_equal(p.off, 1000 + (2 * 10 + 3) * 4);
	t.scheme.kind = SCHEME_CT_INT;
	inspect_place(&t, 3 * 640 + 17, &p);
	assert_int_equal(p.off, 1000 + (3 * 80 + 2) * 4);
	t.scheme.kind = SCHEME_AWQ;
	t.dim[0] = 16;
	inspect_place(&t, 9 * 640 + 17, &p);
	assert_int_equal(p.off, 1000 + (17 * 2 + 1) * 4);
	t.dim[0] = 10;
	t.scheme = scheme_plain(DT_F32);
	inspect_place(&t, 6399, &p);
	assert_true(p.row == 9 && p.col == 639 && p.off == 1000 + 4 * 6399);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_plain_block),
		cmocka_unit_test(test_heat),
	};

	return cmocka_run_group_tests(tests, tensors_set_up, tensors_tear_down);
}
