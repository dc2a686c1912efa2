/* convert_price.c - what schemes cost tensors, measured on stretches spread over them.
 *
 * A tensor is cut into as many strata as stretches are looked at, and one is taken from
 * each: from a row that chance picks (the same each time), but from all columns equally
 * often, since what is large is mostly so in a whole column. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/ops/convert/convert.h"
#include "src/ops/convert/window.h"

#define STRETCH 2048u		/* elements: a multiple of every group */
#define STRETCHES 1024u		/* of a tensor, at most */
#define STRETCHES_FEW 64u	/* … at least, unless there are */
#define ROWS_MANY 4096u		/* so many tensors: then */
#define STRETCHES_LEAST 16u
#define STRETCHES_ALL 200000u	/* of all that are looked at, for each of their candidates */
#define STRETCHES_SHARE 512u	/* of those that are looked at together */

/* Samples [first, end) are of one tensor: it is read once. */
struct priced { size_t first, end; };

struct pricing {
	const struct model *model;
	enum flavour flavour;
	const struct plan_care *care;
	struct plan_sample *samples;
	struct priced *rows;		/* owned */
	size_t nrows, nsamples;
	struct values_files *files;
	struct window *windows;		/* one a worker, as is: */
	struct room { float *p; size_t n; } *before;	/* owned */
	struct tb_job *job;
};

/* What is summed up for a sample: its error, and that weighted by columns. */
struct sums { struct quant_error plain, weighted; };

/* One tensor while it is looked at. */
struct looking {
	struct pricing *p;
	struct window *w;
	struct room *before;
	struct values v;
	const struct priced *row;
	struct sums *sums;		/* of each sample */
};

static void
add_errors(struct sums *s, const struct encode_how *how, const float *a, const float *b, size_t n)
{
	quant_error_add(&s->plain, a, b, n);
	for (size_t i = 0; how->weights && i < n; i++) {
		double w = how->weights[i % how->cols], d = (double)a[i] - (double)b[i];

		s->weighted.sum_sq_diff += w * d * d;
		s->weighted.sum_sq += w * (double)a[i] * (double)a[i];
	}
}

/* What is not rounded to the source's dtype first, where that is so for the target, too. */
static void
remember(struct looking *l, const struct scheme *to, size_t n)
{
	const struct tensor *t = l->v.t;

	if (l->w->decoded && scheme_form(to) != FORM_GROUPS)
		memcpy(l->before->p, l->w->f32, n * sizeof(*l->before->p));
	else
		dtype_to_f32(values_dtype(t), l->w->src, n, l->before->p);
}

static enum tb_status
make_room(struct looking *l, size_t n, struct tb_err *err)
{
	enum tb_status status = window_reserve(l->w, n, err);

	if (status || l->before->n >= n)
		return status;
	free(l->before->p);
	l->before->n = n > WINDOW_ELEMS ? n : WINDOW_ELEMS;
	l->before->p = tb_aligned(l->before->n * sizeof(*l->before->p));
	if (l->before->p)
		return TB_OK;
	l->before->n = 0;
	return tb_nomem(err);
}

static uint64_t
last_dim(const struct tensor *t)
{
	return t->ndim ? t->dim[t->ndim - 1] : 1;
}

/* Decoding writes over what was read as numbers: then it is read again for each. */
static enum tb_status
price_stretch(struct looking *l, uint64_t first, size_t n, struct tb_err *err)
{
	const struct tensor *t = l->v.t;
	const struct encode_how how = encode_how(l->p->flavour, l->p->care, t, NULL, last_dim(t), first);
	enum tb_status status = make_room(l, n, err);

	for (size_t i = l->row->first; i < l->row->end && !status; i++) {
		const struct scheme *to = &l->p->samples[i].target;

		if (i == l->row->first || l->w->decoded)
			status = window_read(l->w, &l->v, NULL, first, n, err);
		if (status)
			break;
		remember(l, to, n);
		status = window_encode(l->w, t, to, &how, first, n, err);
		if (status)
			break;
		window_decode(l->w, t, to, n);
		add_errors(&l->sums[i - l->row->first], &how, l->before->p, l->w->f32, n);
	}
	return status;
}

/* Chance that is the same each time. */
static uint64_t
mixed(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Stretch s of n: where it begins and how long it is. */
static void
place(const struct looking *l, uint64_t s, uint64_t n, uint64_t *first, size_t *len)
{
	const struct tensor *t = l->v.t;
	const struct plan_care *care = l->p->care;
	uint64_t salt = l->p->samples[l->row->first].row;
	uint64_t cols = t->dim[t->ndim - 1], rows = t->elems / cols;
	uint64_t low = (uint64_t)((double)rows / (double)n * (double)s);
	uint64_t high = (uint64_t)((double)rows / (double)n * (double)(s + 1));
	uint64_t row = low + mixed(s ^ salt << 20) % (high > low ? high - low : 1);
	uint64_t unit = cols & -cols;	/* what groups there may be divide it */
	uint64_t pieces = (cols + STRETCH - 1) / STRETCH, at;

	if (unit > VALUES_STEP)
		unit = VALUES_STEP;
	if (row >= rows)
		row = rows - 1;
	*first = row * cols;
	*len = (size_t)cols;
	if (cols > STRETCH && !care->weights && !care->search) {
		at = (s + s / pieces + salt) % pieces * STRETCH;	/* each in turn, not in step */
		if (at + STRETCH > cols)
			at = (cols - STRETCH) / unit * unit;
		*first += at;
		*len = STRETCH;
	} else if (cols < STRETCH) {
		const struct encode_how how = encode_how(l->p->flavour, care, t, NULL, last_dim(t),
							   *first);
		uint64_t many = STRETCH / cols < rows - row ? STRETCH / cols : rows - row;

		*len = (size_t)encode_stretch(&how, t, NULL, *first, many * cols);
	}
}

static enum tb_status
look_at_all(struct looking *l, struct tb_err *err)
{
	const struct tensor *t = l->v.t;
	uint64_t most = dtype_bits(values_dtype(t)) > 32 ? WINDOW_ELEMS / 4 : WINDOW_ELEMS, n;
	enum tb_status status = TB_OK;

	for (uint64_t i = 0; i < t->elems && !status; i += n) {
		const struct encode_how how = encode_how(l->p->flavour, l->p->care, t, NULL, last_dim(t), i);

		n = encode_stretch(&how, t, NULL, i, most);
		status = price_stretch(l, i, n, err);
	}
	return status;
}

/* More of few tensors: what is large in a few places only is found by looking often. */
static uint64_t
how_many(const struct pricing *p, unsigned share)
{
	uint64_t least = p->nrows > ROWS_MANY ? STRETCHES_LEAST : STRETCHES_FEW;
	uint64_t n = STRETCHES_ALL / p->nsamples;

	if (share > 1)
		return STRETCHES_SHARE / share < 2 ? 2 : STRETCHES_SHARE / share;
	return n > STRETCHES ? STRETCHES : n < least ? least : n;
}

static enum tb_status
look(struct looking *l, unsigned share, struct tb_err *err)
{
	const struct tensor *t = l->v.t;
	uint64_t n = how_many(l->p, share);
	enum tb_status status = TB_OK;

	if (!t->ndim || t->elems <= 2 * n * STRETCH || t->elems / t->dim[t->ndim - 1] < n)
		return look_at_all(l, err);
	for (uint64_t s = 0; s < n && !status; s++) {
		uint64_t first;
		size_t len;

		place(l, s, n, &first, &len);
		status = price_stretch(l, first, len, err);
	}
	return status;
}

static enum tb_status
price_row(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct pricing *p = arg;
	struct looking l = { p, &p->windows[worker], &p->before[worker], .row = &p->rows[i] };
	struct plan_sample *s = &p->samples[l.row->first];
	size_t n = l.row->end - l.row->first;
	enum tb_status status;

	l.sums = tb_calloc(n, sizeof(*l.sums));
	status = l.sums ? values_open(&l.v, p->model, &p->model->tensors[s->row], p->files, err)
			  : tb_nomem(err);
	if (!status)
		status = look(&l, s->share, err);
	for (size_t k = 0; k < n && !status; k++) {
		const struct sums *sums = &l.sums[k];
		double loss = quant_error_rms(sums->weighted.sum_sq > 0 ? &sums->weighted
								      : &sums->plain);

		s[k].error = quant_error_rms(&sums->plain);
		s[k].loss = loss * loss;
	}
	free(l.sums);
	tb_job_step(p->job, 0, 1);
	return status;
}

static enum tb_status
pricing_open(struct pricing *p, size_t n, unsigned workers, struct tb_err *err)
{
	p->rows = tb_calloc(n, sizeof(*p->rows));
	p->before = tb_calloc(workers, sizeof(*p->before));
	if (!p->rows || !p->before)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++) {
		if (p->samples[i].row >= p->model->ntensors)
			return tb_fail(err, TB_EUSAGE, "no tensor %zu", p->samples[i].row);
		if (!i || p->samples[i].row != p->samples[i - 1].row)
			p->rows[p->nrows++].first = i;
		p->rows[p->nrows - 1].end = i + 1;
	}
	return TB_OK;
}

enum tb_status
convert_price(const struct model *m, enum flavour flavour, const struct plan_care *care,
	      struct plan_sample *samples, size_t n, struct tb_pool *pool, struct tb_job *job,
	      struct tb_err *err)
{
	struct pricing p = { .model = m, .flavour = flavour, .care = care, .samples = samples,
			     .nsamples = n, .job = job };
	unsigned workers = tb_pool_size(pool);
	enum tb_status status = pricing_open(&p, n, workers, err);

	if (!status)
		status = windows_new(&p.windows, workers, err);
	if (!status)
		status = values_files_open(&p.files, m, err);
	tb_job_total(job, 0, p.nrows);
	if (!status)
		status = tb_pool_try(pool, p.nrows, price_row, &p, job, err);
	windows_free(p.windows, workers);
	values_files_close(p.files);
	for (unsigned i = 0; p.before && i < workers; i++)
		free(p.before[i].p);
	free(p.before);
	free(p.rows);
	return status;
}
