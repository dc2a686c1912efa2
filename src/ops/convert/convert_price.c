/* convert_price.c - what a scheme costs a tensor, measured on stretches spread over it. */
#include "config.h"

#include <string.h>

#include "src/base/job.h"
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
};

static enum tb_status
price_stretch(struct pricing *p, struct window *w, const struct values *v,
	      const struct plan_sample *s, uint64_t first, size_t n, struct quant_error *e,
	      struct tb_err *err)
{
	const struct tensor *t = v->t;
	float *before = (float *)w->in.codes;	/* free again once the source is read */
	const struct encode_how how = { .flavour = p->flavour };
	enum tb_status status = window_read(w, v, NULL, first, n, err);

	if (!status)
		status = window_encode(w, t, &s->target, &how, first, n, err);
	if (status)
		return status;
	if (w->decoded && scheme_is_plain(&s->target))
		memcpy(before, w->f32, n * sizeof(*before));
	else
		dtype_to_f32(values_dtype(t), w->src, n, before);
	window_decode(w, t, &s->target, n);
	quant_error_add(e, before, w->f32, n);
	return TB_OK;
}

static enum tb_status
price_sample(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct pricing *p = arg;
	struct plan_sample *s = &p->samples[i];
	const struct tensor *t = &p->model->tensors[s->row];
	uint64_t blocks = (t->elems + STRETCH - 1) / STRETCH;
	uint64_t step = blocks > STRETCHES ? blocks / STRETCHES : 1;
	struct quant_error e = { 0 };
	struct values v;
	enum tb_status status = values_open(&v, p->model, t, p->files, err);

	for (uint64_t b = 0; b < blocks && !status; b += step) {
		uint64_t first = b * STRETCH, left = t->elems - first;

		status = price_stretch(p, &p->windows[worker], &v, s, first,
				       left < STRETCH ? left : STRETCH, &e, err);
	}
	if (!status)
		s->error = quant_error_rms(&e);
	tb_job_step(p->job, 0, 1);
	return status;
}

enum tb_status
convert_price(const struct model *m, enum flavour flavour, struct plan_sample *samples, size_t n,
	      struct tb_pool *pool, struct tb_job *job, struct tb_err *err)
{
	struct pricing p = { m, flavour, samples, NULL, NULL, job };
	enum tb_status status;

	for (size_t i = 0; i < n; i++)
		if (samples[i].row >= m->ntensors)
			return tb_fail(err, TB_EUSAGE, "no tensor %zu", samples[i].row);
	status = windows_new(&p.windows, tb_pool_size(pool), err);
	if (!status)
		status = values_files_open(&p.files, m, err);
	tb_job_total(job, 0, n);
	if (!status)
		status = tb_pool_try(pool, n, price_sample, &p, job, err);
	windows_free(p.windows, tb_pool_size(pool));
	values_files_close(p.files);
	return status;
}
