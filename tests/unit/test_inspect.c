/* Statistics, histograms, values and bytes of tensors against plain sums in double. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "db/db.h"
#include "src/base/half.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/ctx.h"
#include "src/ops/heat.h"
#include "src/ops/inspect.h"
#include "src/ops/inspect_dist.h"
#include "src/ops/inspect_read.h"
#include "src/quant/codec.h"
#include "src/store/store.h"
#include "tests/unit/unit.h"

static struct op_ctx ctx;

/* A file that holds the tensors with this data, opened. */
static struct model *
model_of(const char *file, struct st_tensor *t, size_t n, const void *const *data,
	 const struct st_meta *meta, size_t nmeta)
{
	struct tb_buf b = TB_BUF(256u << 20);
	struct tb_err err = { 0 };
	struct store_roots none = { 0 };
	struct model_loc loc;
	struct model *m;
	const char *path;

	assert_ok(st_layout(t, n, meta, nmeta, &b, &err), err);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(b.len, t[i].off);
		tb_buf_add(&b, data[i], t[i].len);
	}
	assert_false(tb_buf_failed(&b));
	path = unit_write(file, b.p, b.len);
	tb_buf_free(&b);
	assert_ok(store_resolve(&none, path, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	assert_int_equal(m->nproblems, 0);
	return m;
}

static struct model *
one_tensor(enum dtype d, uint64_t n, const void *data)
{
	struct st_tensor t = { .name = "t", .dtype = d, .ndim = 1, .dim = { n } };

	return model_of("one.safetensors", &t, 1, &data, NULL, 0);
}

static void
run(const struct model *m, const char *name, unsigned bins, struct inspect_result *out)
{
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, name), .bins = bins };
	struct tb_err err = { 0 };

	assert_non_null(req.tensor);
	assert_ok(inspect_run(&ctx, &req, out, NULL, &err), err);
}

static void
near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g", got, want);
}

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

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
	near(r->stats.mean, sum / (double)n, tolerance);
	near(r->stats.std, sqrt(m2 / (double)n), tolerance);
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
			v[k] = (float)((double)(int64_t)(next(&seed) % 20001) - 9000) / 3000;
		if (d == DT_F32)
			memcpy(raw, v, 4 * n);
		else
			(d == DT_BF16 ? tb_f32_to_bf16 : tb_f32_to_f16)(v, n, raw);
		dtype_to_f32(d, raw, n, v);
		m = one_tensor(d, n, raw);
		run(m, "t", 64, &r);
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
		m = one_tensor(DT_BF16, 5000, raw);
		run(m, "t", 0, &r);
		check_against(&r, v, 5000, 5e-3);
		model_free(m);
	}
	raw[4100] = 0xff80;
	m = one_tensor(DT_BF16, 5000, raw);
	run(m, "t", 0, &r);
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
	m = one_tensor(DT_F32, 5000, v);
	run(m, "t", 4, &r);
	assert_int_equal(r.stats.nans, 1);
	assert_int_equal(r.stats.infs, 2);
	assert_int_equal(r.stats.first_nan, 2500);
	assert_int_equal(r.stats.first_inf, 1500);
	assert_int_equal(r.stats.zeros, 1);
	assert_true(r.stats.min == 0 && r.stats.max == 3);
	near(r.stats.mean, (4995.0 + 3) / 4997, 1e-9);
	assert_int_equal(r.hist.count[0], 1);
	assert_int_equal(r.hist.count[1], 4995);
	assert_int_equal(r.hist.count[3], 1);
	model_free(m);
	for (unsigned i = 0; i < 5000; i++)
		v[i] = NAN;
	m = one_tensor(DT_F32, 5000, v);
	run(m, "t", 4, &r);
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
	m = one_tensor(DT_F32, 4096, v);
	run(m, "t", 2, &r);
	near(r.stats.mean, 100000, 1e-9);
	near(r.stats.std, 0.5, 1e-9);
	assert_int_equal(r.hist.count[0], 2048);
	model_free(m);
	for (unsigned i = 0; i < 4096; i++)
		v[i] = i % 2 ? 3e38f : -3e38f;
	m = one_tensor(DT_F32, 4096, v);
	run(m, "t", 2, &r);
	near(r.stats.std / 3e38, 1, 1e-6);
	assert_int_equal(r.hist.count[0], 2048);
	assert_int_equal(r.hist.count[1], 2048);
	model_free(m);
	for (unsigned i = 0; i < 4096; i++)
		v[i] = 0.1f;
	m = one_tensor(DT_F32, 4096, v);
	run(m, "t", 8, &r);
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
	struct model *m = one_tensor(DT_I64, 4, wide);

	(void)state;
	run(m, "t", 3, &r);
	assert_true(r.stats.max == (double)wide[3] && r.stats.min == (double)wide[0]);
	assert_int_equal(r.hist.count[1], 2);
	model_free(m);
	m = one_tensor(DT_U8, 3, narrow);
	run(m, "t", 0, &r);
	assert_true(r.stats.max == 255 && r.stats.zeros == 1);
	near(r.stats.mean, 262 / 3.0, 1e-5);
	model_free(m);
	m = one_tensor(DT_F32, 0, narrow);
	run(m, "t", 8, &r);
	assert_int_equal(r.stats.count, 0);
	assert_true(r.stats.first_nan == INSPECT_NONE);
	model_free(m);
}

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
			v[k] = (float)(sqrt(-2 * log(((double)next(&seed) + 1) * 0x1p-31)) *
				       cos((double)next(&seed)));
		if (d == DT_F32)
			memcpy(raw, v, 4 * n);
		else
			(d == DT_BF16 ? tb_f32_to_bf16 : tb_f32_to_f16)(v, n, raw);
		m = one_tensor(d, n, raw);
		dtype_to_f32(d, raw, n, v);
		run(m, "t", 0, &r);
		qsort(v, n, sizeof(*v), by_value);
		assert_int_equal(r.dist.exact, exact);
		assert_int_equal(r.dist.counted, n);
		for (unsigned q = 0; q < INSPECT_QUANTILES; q++) {
			double want = quantile(v, n, inspect_shares[q]);

			near(r.dist.quantile[q], want, exact ? 1e-12 : fabs(want) / 128 + 1e-5);
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
	m = one_tensor(DT_F32, 4096, v);
	run(m, "t", 0, &r);
	near(r.dist.quantile[4], 1 + 2047.5 * 0x1p-20, 1e-12);
	assert_int_equal(r.dist.hist.count[0], 16);
	assert_int_equal(r.dist.hist.count[255], 16);
	near(r.stats.std, 4096 * 0x1p-20 / sqrt(12), 1e-9);
	model_free(m);
}

/* Of a large tensor only some blocks are looked at.  Values that depend on the column
 * alone, as rows of 4096, must still come out with their shares. */
static void
test_sampled(void **state)
{
	const uint64_t elems = UINT64_C(1) << 27;
	static float v[8192];
	struct inspect_stats st = { .count = elems, .min = 0, .max = 1 };
	struct tensor t = { .name = "t", .elems = elems };
	struct reader r = { .t = &t };
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
		near(out.quantile[q], inspect_shares[q], 0.0005);
	dist_free(&d);
}

/* ---- kept results ---- */

static void
test_kept(void **state)
{
	float v[3000];
	struct inspect_result first, second;
	struct inspect_request req = { 0 };
	struct op_ctx with = ctx;
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		v[i] = (float)i / 7 - 100;
	v[7] = NAN;
	m = one_tensor(DT_F32, 3000, v);
	with.db_path = tb_strdup(unit_path("index/index.db"));
	req = (struct inspect_request){ .model = m, .tensor = model_tensor(m, "t"),
					.facts = inspect_facts(&with) };
	assert_non_null(req.facts);
	assert_ok(inspect_run(&with, &req, &first, NULL, &err), err);
	assert_true(first.kept_ns == 0 && first.bytes == 12000);
	assert_ok(inspect_run(&with, &req, &second, NULL, &err), err);
	assert_true(second.kept_ns != 0 && second.bytes == 0);
	assert_memory_equal(&first.stats, &second.stats, sizeof(first.stats));
	assert_memory_equal(first.dist.quantile, second.dist.quantile,
			    sizeof(first.dist.quantile));
	assert_memory_equal(&first.dist.hist, &second.dist.hist, sizeof(first.dist.hist));
	req.again = true;
	assert_ok(inspect_run(&with, &req, &second, NULL, &err), err);
	assert_int_equal(second.kept_ns, 0);
	model_free(m);
	/* other bytes in its place */
	v[8] = 1e6;
	m = one_tensor(DT_F32, 3000, v);
	req = (struct inspect_request){ .model = m, .tensor = model_tensor(m, "t"),
					.facts = req.facts };
	assert_ok(inspect_run(&with, &req, &second, NULL, &err), err);
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

	assert_ok(heat_run(&ctx, &req, &h, NULL, &err), err);
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
			near((double)h.cell[r * h.cols + c].mean, sum / n, 1e-5 * sum / n);
			assert_true((double)h.cell[r * h.cols + c].max == max);
		}
	heat_free(&h);
}

static struct model *
matrix(uint64_t rows, uint64_t cols, const float *v)
{
	struct st_tensor t = { .name = "t", .dtype = DT_F32, .ndim = 2, .dim = { rows, cols } };

	return model_of("matrix.safetensors", &t, 1, (const void *[]){ v }, NULL, 0);
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
		v[i] = ((float)(next(&seed) % 2001) - 1000) / 77;
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
	assert_ok(heat_run(&ctx, &req, &h, NULL, &err), err);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(h.cell[i].bad, i == 3 || i == 12);
	heat_range(&h, false, &lo, &hi);
	assert_true(lo > 0 && hi < 13 && lo < hi);
	heat_free(&h);
	tb_job_cancel(job);
	assert_int_equal(heat_run(&ctx, &req, &h, job, &err), TB_ECANCEL);
	assert_null(h.cell);
	tb_job_free(job);
	req.of.row = 100;
	req.of.rows = 1;
	assert_fails(heat_run(&ctx, &req, &h, NULL, &err), err, TB_EUSAGE, "outside");
	req = (struct heat_request){ .model = m, .tensor = req.tensor, .rows = 0, .cols = 1 };
	assert_fails(heat_run(&ctx, &req, &h, NULL, &err), err, TB_EUSAGE, "cells");
	model_free(m);
	free(v);
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
	t.scheme = scheme_plain(DT_F32);
	inspect_place(&t, 6399, &p);
	assert_true(p.row == 9 && p.col == 639 && p.off == 1000 + 4 * 6399);
}

#define ROWS 48u
#define COLS 320u

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
	m = model_of("quant.safetensors", t, 3, (const void *[]){ codes, biases, scales }, meta, 2);
	run(m, "w", 32, &r);
	check_against(&r, back, ROWS * COLS, 1e-4);
	assert_ok(inspect_values(m, model_tensor(m, "w"), &w, got, &err), err);
	for (unsigned i = 0; i < 7; i++)
		assert_memory_equal(got + i * 100, back + (3 + i) * COLS + 37, 400);
	assert_fails(inspect_values(m, model_tensor(m, "w"), &out_of, got, &err), err, TB_EUSAGE,
		     "outside");
	assert_ok(inspect_bytes(m, inspect_part_of(model_tensor(m, "w"), PART_SCALE), 4, 8, raw,
				&err), err);
	assert_memory_equal(raw, scales + 4, 8);
	assert_fails(inspect_bytes(m, inspect_part_of(model_tensor(m, "w"), PART_SCALE),
				   sizeof(scales), 1, raw, &err), err, TB_EUSAGE, "outside");
	assert_null(inspect_part_of(model_tensor(m, "w"), PART_GLOBAL));
	model_free(m);
}

/* A file that is another one by now is not read. */
static void
test_changed(void **state)
{
	float v[1000] = { 0 };
	struct model *m = one_tensor(DT_F32, 1000, v);
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, "t") };
	struct inspect_result r;
	struct tb_err err = { 0 };

	(void)state;
	assert_int_equal(truncate(unit_path("one.safetensors"), 3000), 0);
	assert_fails(inspect_run(&ctx, &req, &r, NULL, &err), err, TB_EIO, "changed");
	model_free(m);
}

static void
test_cancel(void **state)
{
	float *v = tb_calloc(3u << 20, sizeof(*v));
	struct model *m = one_tensor(DT_F32, 3u << 20, v);
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, "t") };
	struct tb_job *job = tb_job_new(-1);
	struct inspect_result r;
	struct tb_progress p;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(inspect_run(&ctx, &req, &r, job, &err), err);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, p.total);
	tb_job_cancel(job);
	assert_int_equal(inspect_run(&ctx, &req, &r, job, &err), TB_ECANCEL);
	tb_job_free(job);
	model_free(m);
	free(v);
}

static int
set_up(void **state)
{
	struct tb_err err;

	(void)state;
	return op_ctx_init(&ctx, "/nonexistent", (const char *[]){ unit_tmp() }, 1, 3, &err);
}

static int
tear_down(void **state)
{
	(void)state;
	op_ctx_free(&ctx);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_hard_sums),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_quantized),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
