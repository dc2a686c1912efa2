#include "config.h"

#include "src/ops/inspect/inspect.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/model/values.h"
#include "src/ops/home/home.h"
#include "src/ops/inspect/inspect_run.h"
#include "src/quant/stats.h"

#define CHUNK (1u << 20)		/* elements between two looks at the cancel flag */
#define PIECE 8192u			/* elements decoded at a time: they stay in the cache */
#define CHUNKS_MAX 16384u		/* whose results are kept, so that the order of the
					 * workers does not show in the last digits */

/* One pass over all elements, in chunks. */
struct pass {
	struct values *values;
	struct tb_job *job;
	enum dtype d;			/* in which elements are looked at */
	bool raw;			/* they are stored so */
	uint64_t elems, chunk;		/* chunk: elements, a multiple of CHUNK */
	size_t chunks;
	uint64_t bytes;			/* of all parts */
	struct stats *stats;		/* one a chunk; NULL in the second pass */
	struct stats_bins *bins;	/* one a worker */
	struct dist_pass dist;		/* of the first pass */
	atomic_bool stop;
};

static void
take_wide(struct pass *p, uint64_t first, size_t n, struct stats *stats, unsigned worker)
{
	double v[PIECE];
	float f[PIECE];

	values_f64(p->values, first, n, v);
	if (!stats) {
		stats_bin_f64(&p->bins[worker], v, n);
		return;
	}
	stats_add_f64(stats, v, n, first);
	for (size_t i = 0; i < n; i++)
		f[i] = (float)v[i];
	dist_add(&p->dist, worker, f, n, first);
}

/* At most PIECE elements. */
static void
take_piece(struct pass *p, uint64_t first, size_t n, struct stats *stats, unsigned worker)
{
	const void *src;
	float v[PIECE];

	if (values_wide(p->values)) {
		take_wide(p, first, n, stats, worker);
		return;
	}
	src = p->raw ? values_plain_at(p->values, first) : v;
	if (!p->raw)
		values_f32(p->values, first, n, v);
	if (!stats) {
		stats_bin(&p->bins[worker], p->d, src, n);
		return;
	}
	stats_add(stats, p->d, src, n, first);
	dist_add(&p->dist, worker, src, n, first);
}

static void
run_chunk(void *arg, size_t i, unsigned worker)
{
	struct pass *p = arg;
	uint64_t first = i * p->chunk;
	uint64_t end = p->elems - first < p->chunk ? p->elems : first + p->chunk;

	while (first < end && !atomic_load_explicit(&p->stop, memory_order_relaxed)) {
		size_t n = end - first < CHUNK ? (size_t)(end - first) : CHUNK;

		for (size_t at = 0; at < n; at += PIECE)
			take_piece(p, first + at, n - at < PIECE ? n - at : PIECE,
				   p->stats ? &p->stats[i] : NULL, worker);
		tb_job_step(p->job, (uint64_t)((double)p->bytes * (double)n / (double)p->elems), 0);
		if (tb_job_cancelled(p->job))
			atomic_store(&p->stop, true);
		first += n;
	}
}

static enum tb_status
run_pass(struct op_ctx *ctx, struct pass *p, struct tb_err *err)
{
	enum tb_status status;

	tb_pool_each(ctx->pool, p->chunks, run_chunk, p);
	status = tb_job_check(p->job, err);
	return status ? status : values_check(p->values, err);
}

static void
set_stats(struct value_stats *out, const struct stats *s, uint64_t elems)
{
	*out = (struct value_stats){
		.count = elems, .zeros = s->zeros, .nans = s->nans, .infs = s->infs,
		.first_nan = s->first_nan, .first_inf = s->first_inf,
	};
	if (!s->n)
		return;
	out->min = s->min;
	out->max = s->max;
	out->absmax = fmax(fabs(s->min), fabs(s->max));
	out->mean = s->mean;
	out->std = sqrt(s->m2 / (double)s->n);
}

static enum tb_status
gather_stats(struct op_ctx *ctx, struct pass *p, struct stats *all, struct tb_err *err)
{
	enum tb_status status = dist_init(&p->dist, tb_pool_size(ctx->pool), p->d, p->elems, err);

	stats_init(all);
	if (status)
		return status;
	p->stats = tb_calloc(p->chunks, sizeof(*p->stats));
	if (!p->stats)
		return tb_nomem(err);
	for (size_t i = 0; i < p->chunks; i++)
		stats_init(&p->stats[i]);
	status = run_pass(ctx, p, err);
	for (size_t i = 0; i < p->chunks; i++)
		stats_merge(all, &p->stats[i]);
	free(p->stats);
	p->stats = NULL;
	return status;
}

static enum tb_status
histogram(struct op_ctx *ctx, struct pass *p, const struct stats *s, struct inspect_hist *h,
	  struct tb_err *err)
{
	unsigned workers = tb_pool_size(ctx->pool);
	enum tb_status status;

	if (!s->n)
		return TB_OK;
	h->lo = s->min;
	h->hi = s->max;
	if (!(s->min < s->max)) {	/* one bin holds them, and there is nothing to read */
		h->count[0] = s->n;
		return TB_OK;
	}
	p->bins = tb_calloc(workers, sizeof(*p->bins));
	if (!p->bins)
		return tb_nomem(err);
	for (unsigned w = 0; w < workers; w++)
		p->bins[w] = (struct stats_bins){ .lo = h->lo, .hi = h->hi, .bins = h->n };
	status = run_pass(ctx, p, err);
	for (unsigned w = 0; w < workers; w++)
		for (unsigned i = 0; i < h->n; i++)
			h->count[i] += p->bins[w].count[i];
	free(p->bins);
	return status;
}

static enum tb_status
inspect_compute(struct op_ctx *ctx, const struct inspect_request *req, struct inspect_result *out,
		struct tb_job *job, struct tb_err *err)
{
	const struct tensor *t = req->tensor;
	enum dtype d = t->scheme.dtype;
	bool raw = scheme_is_plain(&t->scheme) && (d == DT_F32 || d == DT_BF16 || d == DT_F16);
	uint64_t least = (t->elems + CHUNK - 1) / CHUNK;
	struct values values;
	struct pass p = { .values = &values, .job = job, .elems = t->elems, .bytes = t->bytes,
			  .d = raw ? d : DT_F32, .raw = raw,
			  .chunk = (least / CHUNKS_MAX + (least % CHUNKS_MAX || !least)) * CHUNK };
	struct stats all;
	enum tb_status status = values_open(&values, req->model, t, NULL, err);

	if (status)
		return status;
	p.chunks = (size_t)((p.elems + p.chunk - 1) / p.chunk);
	tb_job_what(job, "%s", t->name);
	if (!req->one_of_many)
		tb_job_total(job, (req->bins ? 2 : 1) * p.bytes, 0);
	status = gather_stats(ctx, &p, &all, err);
	set_stats(&out->stats, &all, p.elems);
	if (!status)
		status = dist_finish(&p.dist, &values, &out->stats, &out->dist, err);
	if (!status && req->bins)
		status = histogram(ctx, &p, &all, &out->hist, err);
	dist_free(&p.dist);
	values_close(&values);
	out->bytes = (req->bins && all.n && all.min < all.max ? 2 : 1) * p.bytes;
	return status;
}

enum tb_status
op_inspect(struct op_ctx *ctx, const struct inspect_request *req, struct tb_job *job,
	   struct inspect_result *out, struct tb_err *err)
{
	double start = tb_monotonic();
	enum tb_status status;

	*out = (struct inspect_result){ .hist = { .n = req->bins } };
	if (req->bins > INSPECT_BINS_MAX)
		return tb_fail(err, TB_EUSAGE, "a histogram has at most %d bins", INSPECT_BINS_MAX);
	if (!req->again && !req->bins && kept_get(req, out))
		return TB_OK;
	status = inspect_compute(ctx, req, out, job, err);
	out->seconds = tb_monotonic() - start;
	if (!status)
		kept_put(req, out);
	return status;
}
