/* shortconv.c - layers that look back a few tokens only, each element for itself: gated
 * before and behind a short convolution. */
#include "config.h"

#include "src/engine/run.h"

#include "src/engine/mixer.h"
#include "src/engine/team.h"

#define CONV_COLUMNS 256	/* of a chunk */

struct shortconv {
	struct run *run;
	const struct layer *l;
	size_t dim, m;
	float *bcx;		/* [m][3 dim]: what gates before, behind, and what is gated */
	float *y;		/* [m][dim] */
	uint32_t layer;
	size_t chunks;		/* of columns, of each session's rows */
};

size_t
shortconv_state(const struct hparams *hp, uint32_t layer)
{
	(void)layer;
	return (size_t)(hp->conv_kernel - 1) * hp->dim;
}

size_t
shortconv_scratch(const struct hparams *hp, uint32_t layer)
{
	(void)layer;
	return 4 * (size_t)hp->dim;
}

static void
before_row(void *arg, size_t row)
{
	const struct shortconv *c = arg;
	const float *b = c->bcx + row * 3 * c->dim;
	float *x = c->bcx + row * 3 * c->dim + 2 * c->dim;

	for (size_t i = 0; i < c->dim; i++)
		x[i] *= b[i];
}

static void
behind_row(void *arg, size_t row)
{
	const struct shortconv *c = arg;
	const float *gate = c->bcx + row * 3 * c->dim + c->dim, *x = gate + c->dim;
	float *y = c->y + row * c->dim;

	for (size_t i = 0; i < c->dim; i++)
		y[i] = x[i] * gate[i];
}

static void
conv_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct shortconv *c = arg;
	const struct run_seq q = run_seq_at(c->run, chunk / c->chunks, c->m);
	struct scan_conv conv = {
		.x = c->bcx + (3 * q.first + 2) * c->dim, .m = q.n, .stride = 3 * c->dim,
		.width = c->dim, .past = state_layer(&q.s->state, c->layer), .w = c->l->v[SLOT_CONV], .kernel = c->run->hp->conv_kernel,
	};
	size_t first = chunk % c->chunks * CONV_COLUMNS, end = first + CONV_COLUMNS;

	(void)thread;
	c->run->e->scan->conv(&conv, first, end < c->dim ? end : c->dim);
}

enum tb_status
run_shortconv(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	struct work *w = &run->e->work;
	size_t dim = run->hp->dim;
	struct shortconv c = {
		.run = run, .l = l, .dim = dim, .m = m, .bcx = w->scratch,
		.y = w->scratch + m * 3 * dim, .layer = layer,
		.chunks = (dim + CONV_COLUMNS - 1) / CONV_COLUMNS,
	};
	const struct matrix *in = &l->m[SLOT_CONV_IN], *out = &l->m[SLOT_CONV_OUT];
	enum tb_status status;

	if ((status = run_matmul(run, &in, 1, w->h, m, &c.bcx)))
		return status;
	run_rows(run, before_row, &c, m, dim);
	team_run(run->e->team, conv_chunk, &c, (unsigned)(run->nseq * c.chunks));
	if (!want)
		return TB_OK;
	c.bcx += (m - want) * 3 * dim;
	run_rows(run, behind_row, &c, want, dim);
	return run_matmul(run, &out, 1, c.y, want, &w->out);
}
