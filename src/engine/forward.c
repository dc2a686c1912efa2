/* forward.c - one block of tokens through all layers. */
#include "config.h"

#include "src/engine/run.h"

#include <string.h>

#include "src/base/job.h"
#include "src/engine/lowrank.h"
#include "src/engine/mixer.h"
#include "src/engine/team.h"

enum tb_status
run_matmul(struct run *run, const struct matrix *const *w, size_t n, const float *x, size_t m,
	   float *const *y)
{
	enum tb_status status = tb_job_check(run->job, run->err);

	if (run->watch && !status)
		run_watch(run, w, n, x, m);
	if (!status)
		status = matmul_run(run->e->mm, w, n, x, m, y, run->err);
	for (size_t i = 0; i < n && !status; i++)
		if (w[i]->low)
			status = run_lowrank(run, w[i], x, m, y[i]);
	return status;
}

struct rows {
	row_fn *fn;
	void *arg;
	size_t m, chunks;
};

static void
rows_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct rows *r = arg;

	(void)thread;
	for (size_t i = r->m * chunk / r->chunks; i < r->m * (chunk + 1) / r->chunks; i++)
		r->fn(r->arg, i);
}

void
run_rows(struct run *run, row_fn *fn, void *arg, size_t m, size_t work)
{
	struct rows r = { fn, arg, m, 4 * (size_t)team_size(run->e->team) };

	if (m * work < 1 << 15) {	/* some microseconds: a fork-join costs as much */
		for (size_t i = 0; i < m; i++)
			fn(arg, i);
		return;
	}
	r.chunks = r.chunks < m ? r.chunks : m;
	team_run(run->e->team, rows_chunk, &r, (unsigned)r.chunks);
}

/* What a row function needs. */
struct step {
	struct run *run;
	const struct layer *l;
	uint32_t layer;
	const float *norm, *bias;	/* weights; NULL: none */
	float *x;		/* rows of the residual stream */
	const uint32_t *ids;
};

static void
norm_row(void *arg, size_t row)
{
	const struct step *s = arg;
	size_t dim = s->run->hp->dim;
	float *h = s->run->e->work.h + row * dim;

	if (s->norm)
		s->run->norm(h, s->x + row * dim, s->norm, dim, s->run->hp->rms_eps);
	else
		memcpy(h, s->x + row * dim, dim * sizeof(*h));
}

/* What a part of a layer has computed joins the stream. */
static void
join_row(void *arg, size_t row)
{
	const struct step *s = arg;
	const struct vec_ops *vec = s->run->e->vec;
	size_t dim = s->run->hp->dim;
	float *out = s->run->e->work.out + row * dim;

	if (s->bias)
		vec->add(out, s->bias, dim);
	if (s->norm)
		s->run->norm(out, out, s->norm, dim, s->run->hp->rms_eps);
	vec->add_scaled(s->x + row * dim, out, s->run->hp->residual_scale, dim);
}

struct gated { struct run *run; size_t width; bool two; };

static void
act_row(void *arg, size_t row)
{
	const struct gated *g = arg;
	struct work *w = &g->run->e->work;

	g->run->e->vec->act_mul[g->run->hp->act](w->gate + row * g->width,
						 g->two ? w->up + row * g->width : NULL, g->width);
}

/* Without a gate (NULL, or one without codes) it is down act(up x). */
enum tb_status
run_gated(struct run *run, const struct matrix *gate, const struct matrix *up,
	  const struct matrix *down, const float *x, size_t m, float *out)
{
	struct work *w = &run->e->work;
	bool two = gate && gate->codes;
	const struct matrix *in[] = { two ? gate : up, up };
	float *y[] = { w->gate, w->up };
	struct gated g = { run, up->rows, two };
	enum tb_status status;

	if ((status = run_matmul(run, in, two ? 2 : 1, x, m, y)))
		return status;
	run_rows(run, act_row, &g, m, g.width);
	return run_matmul(run, &down, 1, w->gate, m, &out);
}

enum tb_status
run_ffn(struct run *run, const struct layer *l, size_t m)
{
	return run_gated(run, &l->m[SLOT_GATE], &l->m[SLOT_UP], &l->m[SLOT_DOWN], run->e->work.h, m,
			 run->e->work.out);
}

/* What the layer is made of, unless the architecture has its own. */
static enum tb_status
feed_forward(const struct step *s, size_t m)
{
	struct run *run = s->run;

	if (run->hp->arch->ffn)
		return run->hp->arch->ffn(run, s->l, m);
	switch (run->hp->layer[s->layer].ffn_kind) {
	case FFN_EXPERTS: return run_experts(run, s->l, m);
	case FFN_BOTH: return run_beside(run, s->l, s->x, m);
	default: return run_ffn(run, s->l, m);
	}
}

/* In the last layer only the wanted rows go on behind the mixer. */
static enum tb_status
mixer_part(struct step *s, size_t m, size_t want)
{
	struct run *run = s->run;
	size_t dim = run->hp->dim;
	enum tb_status status;

	s->norm = s->l->v[SLOT_ATTN_NORM];
	run_rows(run, norm_row, s, m, dim);
	status = mixers[run->hp->layer[s->layer].mixer].run(run, s->l, s->layer, m, want);
	if (status || !want)
		return status;
	s->x += (m - want) * dim;
	s->bias = s->l->v[SLOT_O_BIAS];
	s->norm = s->l->v[SLOT_POST_ATTN_NORM];
	run_rows(run, join_row, s, want, dim);
	s->bias = NULL;
	return TB_OK;
}

/* Of all rows of a layer's stream. */
static void
scale_row(void *arg, size_t row)
{
	const struct step *s = arg;
	size_t dim = s->run->hp->dim;
	float scale = s->l->v[SLOT_LAYER_SCALE][0], *x = s->x + row * dim;

	for (size_t i = 0; i < dim; i++)
		x[i] *= scale;
}

/* What few architectures have behind everything else. */
static enum tb_status
end_of_layer(struct step *s, size_t first, size_t m)
{
	struct run *run = s->run;
	enum tb_status status = TB_OK;

	if (run->hp->per_layer)
		status = per_layer_add(run, s->l, s->layer, first, m);
	if (s->l->v[SLOT_LAYER_SCALE] && !status)
		run_rows(run, scale_row, s, m, run->hp->dim);
	return status;
}

static enum tb_status
layer_forward(struct step *s, size_t m, size_t want)
{
	struct run *run = s->run;
	const struct layer_shape *shape = &run->hp->layer[s->layer];
	size_t dim = run->hp->dim;
	enum tb_status status;

	s->x = run->e->work.x;
	if (shape->mixer == MIX_NONE)
		s->x += (m - want) * dim;
	else if ((status = mixer_part(s, m, want)))
		return status;
	if (shape->ffn_kind == FFN_NONE || !want)
		return TB_OK;
	s->norm = s->l->v[shape->mixer == MIX_NONE && !s->l->v[SLOT_FFN_NORM] ? SLOT_ATTN_NORM
									       : SLOT_FFN_NORM];
	if (run->hp->arch->parallel)
		memmove(run->e->work.h, run->e->work.h + (m - want) * dim, want * dim * sizeof(float));
	else
		run_rows(run, norm_row, s, want, dim);
	if ((status = feed_forward(s, want)))
		return status;
	s->norm = s->l->v[SLOT_POST_FFN_NORM];
	run_rows(run, join_row, s, want, dim);
	return end_of_layer(s, m - want, want);
}

static void
embed_row(void *arg, size_t row)
{
	const struct step *s = arg;
	const struct hparams *hp = s->run->hp;
	float *x = s->x + row * hp->dim;

	matrix_row(&s->run->e->weights.rest->m[SLOT_EMBED], s->ids[row], x);
	for (size_t i = 0; hp->embed_scale != 1 && i < hp->dim; i++)
		x[i] *= hp->embed_scale;
}

enum tb_status
forward(struct run *run, const uint32_t *ids, size_t m, size_t want)
{
	const struct weights *w = &run->e->weights;
	struct step s = { .run = run, .ids = ids, .x = run->e->work.x };
	enum tb_status status = TB_OK;

	run_rows(run, embed_row, &s, m, run->hp->dim);
	if (run->hp->per_layer)
		status = per_layer_begin(run, ids, m);
	for (uint32_t i = 0; i < run->hp->layers && !status; i++) {
		s.layer = i;
		s.l = &w->layers[i];
		status = layer_forward(&s, m, i + 1 < run->hp->layers ? m : want);
	}
	if (status || !want)
		return status;
	s.norm = w->rest->v[SLOT_OUTPUT_NORM];
	run_rows(run, norm_row, &s, want, run->hp->dim);
	return TB_OK;
}

static void
logits_row(void *arg, size_t row)
{
	const struct step *s = arg;
	const struct hparams *hp = s->run->hp;
	float *x = s->x + row * hp->vocab;

	for (size_t i = 0; hp->logit_scale != 1 && i < hp->vocab; i++)
		x[i] *= hp->logit_scale;
	if (hp->final_softcap > 0)
		s->run->e->vec->softcap(x, hp->vocab, 1, hp->final_softcap);
}

enum tb_status
run_logits(struct run *run, size_t m, float *logits)
{
	const struct matrix *head = &run->e->weights.rest->m[SLOT_OUTPUT];
	struct step s = { .run = run, .x = logits };
	enum tb_status status;

	if (!(status = run_matmul(run, &head, 1, run->e->work.h, m, &logits)) &&
	    (run->hp->final_softcap > 0 || run->hp->logit_scale != 1))
		run_rows(run, logits_row, &s, m, run->hp->vocab);
	return status;
}
