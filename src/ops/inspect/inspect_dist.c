#include "config.h"

#include "src/ops/inspect/inspect_run.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/model/values.h"

#define COUNTED (1u << 23)	/* values, or half of that at least, if there are as many:
				 * a share is then known to a few hundredths of a percent,
				 * and counting takes a twentieth of the time for 1 GB */
#define SORTED (1u << 16)	/* values at most that are sorted instead */

const double inspect_shares[INSPECT_QUANTILES] = {
	.001, .01, .05, .25, .5, .75, .95, .99, .999
};

enum tb_status
dist_init(struct dist_pass *d, unsigned workers, enum dtype type, uint64_t elems,
	  struct tb_err *err)
{
	*d = (struct dist_pass){ .workers = workers, .every = (elems + COUNTED - 1) / COUNTED,
				 .sketch = tb_calloc(workers, sizeof(*d->sketch)) };
	d->every += d->every == 0;
	if (!d->sketch)
		return tb_nomem(err);
	for (unsigned w = 0; w < workers; w++)
		d->sketch[w].dtype = type;
	return TB_OK;
}

void
dist_free(struct dist_pass *d)
{
	free(d->sketch);
	*d = (struct dist_pass){ 0 };
}

/* Of `every` blocks the one that is looked at: by multiples of the golden section, which
 * take all places equally often and keep step with no length of a row. */
static uint64_t
pick(uint64_t k, uint64_t every)
{
	uint64_t part = k * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)((double)part * 0x1p-64 * (double)every) % every;
}

void
dist_add(struct dist_pass *d, unsigned worker, const void *src, size_t n, uint64_t first)
{
	struct sketch *s = &d->sketch[worker];
	uint64_t span = d->every * DIST_BLOCK, end = first + n;

	if (d->every == 1) {
		sketch_add(s, src, n);
		return;
	}
	for (uint64_t k = first / span; k * span < end; k++) {
		uint64_t at = k * span + pick(k, d->every) * DIST_BLOCK;
		size_t len = end > at && end - at < DIST_BLOCK ? (size_t)(end - at) : DIST_BLOCK;

		if (at >= first && at < end)
			sketch_add(s, (const char *)src + (at - first) * dtype_bits(s->dtype) / 8,
				   len);
	}
}

/* ---- what comes of it ---- */

static enum tb_status
from_sketches(struct dist_pass *d, const struct value_stats *stats, struct inspect_dist *out,
	      struct tb_err *err)
{
	struct sketch_cdf c;

	for (unsigned w = 1; w < d->workers; w++)
		sketch_merge(&d->sketch[0], &d->sketch[w]);
	if (!sketch_cdf(&d->sketch[0], &c))
		return tb_nomem(err);
	out->counted = c.total;
	out->exact = d->every == 1 && sketch_exact(&d->sketch[0]);
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		out->quantile[i] = fmin(fmax(sketch_quantile(&c, inspect_shares[i]), stats->min),
					stats->max);
	if (stats->min < stats->max)
		sketch_bins(&c, stats->min, stats->max, out->hist.n, out->hist.count);
	else			/* equal values fill the first bin */
		out->hist.count[0] = c.total;
	sketch_cdf_free(&c);
	return TB_OK;
}

static int
by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void
from_sorted(const float *v, size_t n, struct inspect_dist *out)
{
	struct inspect_hist *h = &out->hist;
	double half = h->hi / 2 - h->lo / 2;

	out->counted = n;
	out->exact = true;
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++) {
		double at = inspect_shares[i] * (double)(n - 1), part = at - floor(at);
		size_t k = (size_t)at;

		out->quantile[i] = (double)v[k];
		if (part > 0 && k + 1 < n)
			out->quantile[i] = (double)v[k] * (1 - part) + (double)v[k + 1] * part;
	}
	for (size_t i = 0; i < n; i++) {
		double at = half > 0 ? ((double)v[i] / 2 - h->lo / 2) / half * h->n : 0;

		h->count[at < 0 ? 0 : at < h->n ? (unsigned)at : h->n - 1]++;
	}
}

/* A few values, which a bucket's width could be too coarse for (norms are all near 1). */
static enum tb_status
sort_all(const struct values *r, struct inspect_dist *out, struct tb_err *err)
{
	size_t n = (size_t)r->t->elems, k = 0;
	float *v = tb_calloc(n, sizeof(*v));

	if (!v)
		return tb_nomem(err);
	values_f32(r, 0, n, v);
	for (size_t i = 0; i < n; i++)
		if (isfinite(v[i]))
			v[k++] = v[i];
	qsort(v, k, sizeof(*v), by_value);
	if (k)
		from_sorted(v, k, out);
	free(v);
	return TB_OK;
}

enum tb_status
dist_finish(struct dist_pass *d, const struct values *r, const struct value_stats *stats,
	    struct inspect_dist *out, struct tb_err *err)
{
	*out = (struct inspect_dist){ .exact = true, .hist = { .lo = stats->min, .hi = stats->max,
							       .n = INSPECT_DIST_BINS } };
	if (stats->count == stats->nans + stats->infs)
		return TB_OK;
	if (r->t->elems <= SORTED && !sketch_exact(&d->sketch[0]))
		return sort_all(r, out, err);
	return from_sketches(d, stats, out, err);
}
