#include "config.h"

#include "src/ops/inspect/inspect.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/model/values.h"
#include "src/ops/home/home.h"
#include "src/quant/stats.h"

#define PIECE 8192u		/* values read at a time */
#define LOOK (1u << 20)		/* values between two looks at the cancel flag */

struct sum { double sum; float max; uint64_t n, bad; };

struct pass {
	const struct values *values;
	struct tb_job *job;
	struct heat *heat;
	uint64_t cols;			/* of the whole matrix */
	double bytes;			/* of a value */
	atomic_bool stop, starved;
};

uint64_t
heat_row(const struct heat *h, unsigned r)
{
	return h->of.row + (uint64_t)((__extension__ (unsigned __int128)h->of.rows * r) / h->rows);
}

uint64_t
heat_col(const struct heat *h, unsigned c)
{
	return h->of.col + (uint64_t)((__extension__ (unsigned __int128)h->of.cols * c) / h->cols);
}

/* n values that begin in column `col` and end in the same row. */
static void
take_run(const struct heat *h, struct sum *sums, const float *v, uint64_t col, size_t n)
{
	unsigned c = (unsigned)((double)(col - h->of.col) / (double)h->of.cols * h->cols);

	while (c > 0 && heat_col(h, c) > col)
		c--;
	while (heat_col(h, c + 1) <= col)
		c++;
	for (; n; c++) {
		uint64_t end = heat_col(h, c + 1);
		size_t k = end - col < n ? (size_t)(end - col) : n;

		sums[c].bad += stats_magnitudes(v, k, &sums[c].sum, &sums[c].max);
		sums[c].n += k;
		v += k;
		col += k;
		n -= k;
	}
}

/* Rows that are narrow are read many at once, with what lies between. */
static uint64_t
take_rows(const struct pass *p, uint64_t row, uint64_t end, struct sum *sums)
{
	const struct inspect_window *w = &p->heat->of;
	uint64_t k = w->cols <= PIECE ? 1 + (PIECE - w->cols) / p->cols : 1;
	float v[PIECE];

	k = k < end - row ? k : end - row;
	if (w->cols <= PIECE) {
		values_any(p->values, row * p->cols + w->col,
			   (size_t)((k - 1) * p->cols + w->cols), v);
		for (uint64_t i = 0; i < k; i++)
			take_run(p->heat, sums, v + i * p->cols, w->col, (size_t)w->cols);
		return k;
	}
	for (uint64_t at = 0; at < w->cols; at += PIECE) {
		size_t n = w->cols - at < PIECE ? (size_t)(w->cols - at) : PIECE;

		values_any(p->values, row * p->cols + w->col + at, n, v);
		take_run(p->heat, sums, v, w->col + at, n);
	}
	return k;
}

/* One row of cells. */
static void
run_row(void *arg, size_t i, unsigned worker)
{
	struct pass *p = arg;
	struct heat *h = p->heat;
	uint64_t row = heat_row(h, (unsigned)i), end = heat_row(h, (unsigned)i + 1), seen = 0;
	struct sum *sums = tb_calloc(h->cols, sizeof(*sums));

	(void)worker;
	if (!sums)
		atomic_store(&p->starved, true);
	while (sums && row < end && !atomic_load_explicit(&p->stop, memory_order_relaxed)) {
		uint64_t k = take_rows(p, row, end, sums);

		row += k;
		seen += k * h->of.cols;
		if (seen < LOOK && row < end)
			continue;
		tb_job_step(p->job, (uint64_t)(p->bytes * (double)seen), 0);
		seen = 0;
		if (tb_job_cancelled(p->job))
			atomic_store(&p->stop, true);
	}
	for (unsigned c = 0; sums && c < h->cols; c++) {
		uint64_t good = sums[c].n - sums[c].bad;

		h->cell[i * h->cols + c] = (struct heat_cell){
			.mean = good ? (float)(sums[c].sum / (double)good) : 0,
			.max = sums[c].max, .bad = sums[c].bad > 0 };
	}
	free(sums);
}

static enum tb_status
shape(const struct heat_request *req, struct heat *h, uint64_t *cols, struct tb_err *err)
{
	const struct tensor *t = req->tensor;
	struct inspect_window *w = &h->of;
	uint64_t rows;

	inspect_matrix(t, &rows, cols);
	*w = req->of;
	if (w->row < rows && !w->rows)
		w->rows = rows - w->row;
	if (w->col < *cols && !w->cols)
		w->cols = *cols - w->col;
	if (w->row > rows || w->rows > rows - w->row || w->col > *cols || w->cols > *cols - w->col)
		return tb_fail(err, TB_EUSAGE, "tensor %s: the window is outside its %ju x %ju",
			       t->name, (uintmax_t)rows, (uintmax_t)*cols);
	if (!req->rows || !req->cols || req->rows > HEAT_SIDE_MAX || req->cols > HEAT_SIDE_MAX)
		return tb_fail(err, TB_EUSAGE, "a map has 1 to %u rows and columns of cells",
			       HEAT_SIDE_MAX);
	h->rows = w->rows < req->rows ? (unsigned)w->rows : req->rows;
	h->cols = w->cols < req->cols ? (unsigned)w->cols : req->cols;
	h->cell = tb_calloc((size_t)h->rows * h->cols + 1, sizeof(*h->cell));
	return h->cell ? TB_OK : tb_nomem(err);
}

enum tb_status
op_heat(struct op_ctx *ctx, const struct heat_request *req, struct tb_job *job,
	struct heat *out, struct tb_err *err)
{
	const struct tensor *t = req->tensor;
	struct values values;
	struct pass p = { .values = &values, .job = job, .heat = out };
	enum tb_status status;

	*out = (struct heat){ 0 };
	status = shape(req, out, &p.cols, err);
	if (status || !out->rows || !out->cols)
		return status;
	status = values_open(&values, req->model, t, NULL, err);
	if (status) {
		heat_free(out);
		return status;
	}
	p.bytes = (double)t->bytes / (double)t->elems;
	tb_job_what(job, "%s", t->name);
	tb_job_total(job, (uint64_t)(p.bytes * (double)out->of.rows * (double)out->of.cols), 0);
	tb_pool_each(ctx->pool, out->rows, run_row, &p);
	status = tb_job_check(job, err);
	if (!status)
		status = p.starved ? tb_nomem(err) : values_check(&values, err);
	values_close(&values);
	if (status)
		heat_free(out);
	return status;
}

void
heat_free(struct heat *h)
{
	free(h->cell);
	*h = (struct heat){ 0 };
}

void
heat_range(const struct heat *h, bool max, float *lo, float *hi)
{
	size_t n = (size_t)h->rows * h->cols;

	*lo = *hi = n ? max ? h->cell[0].max : h->cell[0].mean : 0;
	for (size_t i = 1; i < n; i++) {
		float x = max ? h->cell[i].max : h->cell[i].mean;

		*lo = x < *lo ? x : *lo;
		*hi = x > *hi ? x : *hi;
	}
}

unsigned
heat_level(const struct heat_cell *c, bool max, float lo, float hi, unsigned levels)
{
	float x = max ? c->max : c->mean, share = hi > lo ? (x - lo) / (hi - lo) : 0;
	unsigned level = share > 0 ? (unsigned)(share * (float)levels) : 0;

	return level < levels ? level : levels - 1;
}
