/* beside.c - a feed-forward part of two: a dense one, and experts beside it.  Each has norms
 * of its own; the router looks at the stream itself. */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>
#include <string.h>

struct beside { struct run *run; const struct layer *l; const float *x; };

size_t
beside_scratch(const struct hparams *hp)
{
	return hp->dim;
}

/* What the dense part says waits; the router's x, and that of experts. */
static void
between_row(void *arg, size_t row)
{
	const struct beside *b = arg;
	const struct hparams *hp = b->run->hp;
	const struct work *w = &b->run->e->work;
	const float *x = b->x + row * hp->dim;
	float *router = w->gather + row * hp->dim, shrink = 1 / sqrtf((float)hp->dim);

	b->run->norm(w->scratch + row * hp->dim, w->out + row * hp->dim,
		     b->l->v[SLOT_DENSE_POST_NORM], hp->dim, hp->rms_eps);
	b->run->norm(router, x, b->l->v[SLOT_ROUTER_SCALE], hp->dim, hp->rms_eps);
	for (size_t i = 0; i < hp->dim; i++)
		router[i] *= shrink;
	b->run->norm(w->h + row * hp->dim, x, b->l->v[SLOT_EXPERTS_NORM], hp->dim, hp->rms_eps);
}

static void
sum_row(void *arg, size_t row)
{
	const struct beside *b = arg;
	size_t dim = b->run->hp->dim;
	float *out = b->run->e->work.out + row * dim;

	b->run->norm(out, out, b->l->v[SLOT_EXPERTS_POST_NORM], dim, b->run->hp->rms_eps);
	b->run->e->vec->add(out, b->run->e->work.scratch + row * dim, dim);
}

enum tb_status
run_beside(struct run *run, const struct layer *l, const float *x, size_t m)
{
	struct beside b = { run, l, x };
	enum tb_status status = run_ffn(run, l, m);

	if (status)
		return status;
	run_rows(run, between_row, &b, m, 3 * (size_t)run->hp->dim);
	if ((status = run_router(run, l, run->e->work.gather, m)) ||
	    (status = run_chosen(run, l, m)))
		return status;
	run_rows(run, sum_row, &b, m, run->hp->dim);
	return TB_OK;
}
