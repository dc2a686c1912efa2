/* convert_price.c - what a scheme costs a tensor, measured on stretches spread over it. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/base/half.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/ops/convert/convert.h"
#include "src/ops/convert/window.h"

#define STRETCH 8192u		/* elements; a multiple of every group */
#define STRETCHES 16u

struct pricing {
	const struct model *model;
	enum flavour flavour;
	struct plan_sample *samples;
	struct values_files *files;
	struct window *windows;		/* one a worker */
	struct tb_job *job;
	pthread_mutex_t mu;
	struct tb_err err;		/* the first failure */
};

static enum tb_status
price_stretch(struct pricing *p, struct window *w, const struct values *v,
	      const struct plan_sample *s, uint64_t first, size_t n, struct quant_error *e,
	      struct tb_err *err)
{
	const struct tensor *t = v->t;
	float *before = (float *)w->in.codes;	/* free again once the source is read */
	enum tb_status status = window_read(w, v, first, n, err);

	if (!status)
		status = window_encode(w, t, &s->target, p->flavour, first, n, err);
	if (status)
		return status;
	if (t->has_scale && scheme_is_plain(&s->target))
		memcpy(before, w->f32, n * sizeof(*before));
	else
		dtype_to_f32(values_dtype(t), w->src, n, before);
	window_decode(w, t, &s->target, n);
	quant_error_add(e, before, w->f32, n);
	return TB_OK;
}

static enum tb_status
price(struct pricing *p, struct window *w, struct plan_sample *s, struct tb_err *err)
{
	const struct tensor *t = &p->model->tensors[s->row];
	uint64_t blocks = (t->elems + STRETCH - 1) / STRETCH;
	uint64_t step = blocks > STRETCHES ? blocks / STRETCHES : 1;
	struct quant_error e = { 0 };
	struct values v;
	enum tb_status status = values_open(&v, p->model, t, p->files, err);

	for (uint64_t b = 0; b < blocks && !status; b += step) {
		uint64_t first = b * STRETCH, left = t->elems - first;

		status = price_stretch(p, w, &v, s, first, left < STRETCH ? left : STRETCH, &e,
				       err);
	}
	if (!status)
		s->error = quant_error_rms(&e);
	return status;
}

static bool
stopped(struct pricing *p)
{
	bool failed;

	pthread_mutex_lock(&p->mu);
	failed = p->err.code != TB_OK;
	pthread_mutex_unlock(&p->mu);
	return failed || tb_job_cancelled(p->job);
}

static void
price_part(void *arg, size_t i, unsigned worker)
{
	struct pricing *p = arg;
	struct tb_err err = { 0 };

	if (stopped(p))
		return;
	if (price(p, &p->windows[worker], &p->samples[i], &err)) {
		pthread_mutex_lock(&p->mu);
		if (!p->err.code)
			p->err = err;
		pthread_mutex_unlock(&p->mu);
	}
	tb_job_step(p->job, 0, 1);
}

enum tb_status
convert_price(const struct model *m, enum flavour flavour, struct plan_sample *samples, size_t n,
	      struct tb_pool *pool, struct tb_job *job, struct tb_err *err)
{
	struct pricing p = { m, flavour, samples, NULL, NULL, job, PTHREAD_MUTEX_INITIALIZER, { 0 } };
	unsigned workers = tb_pool_size(pool);
	enum tb_status status;

	for (size_t i = 0; i < n; i++)
		if (samples[i].row >= m->ntensors)
			return tb_fail(err, TB_EUSAGE, "no tensor %zu", samples[i].row);
	p.windows = tb_calloc(workers, sizeof(*p.windows));
	if (!p.windows)
		return tb_nomem(err);
	status = values_files_open(&p.files, m, err);
	for (unsigned i = 0; i < workers && !status; i++)
		status = window_init(&p.windows[i], err);
	tb_job_total(job, 0, n);
	if (!status)
		tb_pool_each(pool, n, price_part, &p);
	for (unsigned i = 0; i < workers; i++)
		window_free(&p.windows[i]);
	free(p.windows);
	values_files_close(p.files);
	if (!status && p.err.code)
		status = tb_fail(err, p.err.code, "%s", p.err.msg);
	return status ? status : tb_job_check(job, err);
}
