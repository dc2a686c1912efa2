/* moe.c - a layer whose feed-forward part is a choice among experts.
 *
 * Only the bytes of chosen experts are touched.  One token runs all its experts in
 * two fork-joins; a block of tokens is sorted by expert, so that each expert's
 * matrices are read once. */
#include "config.h"

#include "src/engine/run.h"

#include <math.h>
#include <string.h>

#include "src/base/job.h"
#include "src/engine/lowrank.h"

#define TOGETHER 8	/* experts in one fork-join */

/* What a token's experts are chosen by. */
struct choice {
	const float *p;		/* [n] scores */
	const float *bias;	/* [n]; added for the choice alone; NULL: none */
	uint32_t n, per_group;	/* experts; of a group */
	uint64_t closed;	/* bits of groups that do not count */
	bool best_alone;	/* a group is as good as its best, not as its two best */
};

static float
choice_key(const struct choice *c, uint32_t e)
{
	return c->p[e] + (c->bias ? c->bias[e] : 0);
}

/* The k largest, best first; ties go to the lower number. */
static void
choose_experts(const struct choice *c, uint32_t k, uint32_t *chosen)
{
	bool taken[HP_MAX_EXPERTS];

	for (uint32_t e = 0; e < c->n; e++)
		taken[e] = c->closed >> e / c->per_group & 1;
	for (uint32_t i = 0; i < k; i++) {
		uint32_t best = c->n;

		for (uint32_t e = 0; e < c->n; e++)
			if (!taken[e] && (best == c->n || choice_key(c, e) > choice_key(c, best)))
				best = e;
		taken[best] = true;
		chosen[i] = best;
	}
}

/* The sum of its two best, or its best. */
static float
group_key(const struct choice *c, uint32_t group)
{
	float best = -INFINITY, second = -INFINITY;

	for (uint32_t e = group * c->per_group; e < (group + 1) * c->per_group; e++) {
		float key = choice_key(c, e);

		second = key > best ? best : key > second ? key : second;
		best = key > best ? key : best;
	}
	return c->per_group > 1 && !c->best_alone ? best + second : best;
}

/* Leaves the `used` best groups open. */
static void
choose_groups(struct choice *c, uint32_t groups, uint32_t used)
{
	uint64_t open = 0;

	for (uint32_t i = 0; i < used; i++) {
		uint32_t best = groups;

		for (uint32_t g = 0; g < groups; g++)
			if (!(open >> g & 1) &&
			    (best == groups || group_key(c, g) > group_key(c, best)))
				best = g;
		open |= (uint64_t)1 << best;
	}
	c->closed = ~open;
}

struct route { struct run *run; const struct layer *l; };

static void
route_row(void *arg, size_t row)
{
	const struct route *r = arg;
	const struct hparams *hp = r->run->hp;
	const struct vec_ops *vec = r->run->e->vec;
	const struct routing *how = &hp->routing;
	struct work *w = &r->run->e->work;
	float *p = w->router + row * hp->experts, *weight = w->weight + row * hp->experts_used;
	uint32_t *chosen = w->chosen + row * hp->experts_used, k = hp->experts_used;
	struct choice c = { .p = p, .bias = r->l->v[SLOT_CHOICE_BIAS], .n = hp->experts,
			    .per_group = hp->experts,
			    .best_alone = how->score == SCORE_SOFTMAX };
	const float *each = r->l->v[SLOT_EXPERT_SCALE];
	float sum = 0, scale;

	if (r->l->v[SLOT_ROUTER_BIAS])
		vec->add(p, r->l->v[SLOT_ROUTER_BIAS], hp->experts);
	if (how->score == SCORE_SOFTMAX)
		vec->softmax(p, hp->experts, 1);
	for (uint32_t e = 0; how->score == SCORE_SIGMOID && e < hp->experts; e++)
		p[e] = 1 / (1 + expf(-p[e]));
	if (how->groups > 1) {
		c.per_group = hp->experts / how->groups;
		choose_groups(&c, how->groups, how->groups_used);
	}
	choose_experts(&c, k, chosen);
	for (uint32_t i = 0; i < k; i++)
		weight[i] = p[chosen[i]];
	if (how->score == SCORE_CHOSEN)
		vec->softmax(weight, k, 1);
	for (uint32_t i = 0; i < k; i++)
		sum += weight[i];
	scale = how->scale / (how->renormalize && sum > 0 ? sum : 1);
	for (uint32_t i = 0; i < k; i++)
		weight[i] *= scale * (each ? each[chosen[i]] : 1);
}

static enum tb_status
one_token_biased(struct run *run, const struct layer *l)
{
	struct work *w = &run->e->work;
	enum tb_status status = TB_OK;

	for (uint32_t i = 0; i < run->hp->experts_used && !status; i++) {
		status = run_expert_biased(run, l, w->chosen[i], w->h, 1, w->gather);
		run->e->vec->add_scaled(w->out, w->gather, w->weight[i], run->hp->dim);
	}
	return status;
}

/* n of the chosen experts from the one at `at` on, whose inner parts are in work.gate. */
static enum tb_status
down_together(struct run *run, const struct layer *l, uint32_t at, uint32_t n)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->e->work;
	const struct matrix *m[TOGETHER];
	const float *x[TOGETHER];
	float *y[TOGETHER];
	enum tb_status status = tb_job_check(run->job, run->err);

	for (uint32_t i = 0; i < n; i++) {
		m[i] = &l->x[SLOT_X_DOWN][w->chosen[at + i]];
		x[i] = w->gate + (size_t)i * hp->expert_ffn;
		y[i] = w->gather + (size_t)i * hp->dim;
		if (run->watch && !status)
			run_watch(run, &m[i], 1, x[i], 1);
	}
	if (!status)
		status = matmul_each(run->e->mm, m, n, x, 1, y, run->err);
	for (uint32_t i = 0; i < n && !status; i++) {
		if (m[i]->low)
			status = run_lowrank(run, m[i], x[i], 1, y[i]);
		run->e->vec->add_scaled(w->out, y[i], w->weight[at + i], hp->dim);
	}
	return status;
}

static enum tb_status
one_token(struct run *run, const struct layer *l)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->e->work;
	const struct matrix *m[2 * TOGETHER], *gate = l->x[SLOT_X_GATE];
	float *y[2 * TOGETHER];
	enum tb_status status;

	for (uint32_t at = 0; at < hp->experts_used; at += TOGETHER) {
		uint32_t n = hp->experts_used - at < TOGETHER ? hp->experts_used - at : TOGETHER;
		size_t k = 0;

		for (uint32_t i = 0; i < n; i++) {
			if (gate) {
				m[k] = &gate[w->chosen[at + i]];
				y[k++] = w->gate + (size_t)i * hp->expert_ffn;
			}
			m[k] = &l->x[SLOT_X_UP][w->chosen[at + i]];
			y[k++] = (gate ? w->up : w->gate) + (size_t)i * hp->expert_ffn;
		}
		if ((status = run_matmul(run, m, k, w->h, 1, y)))
			return status;
		run->e->vec->act_mul[hp->act](w->gate, gate ? w->up : NULL,
					      (size_t)n * hp->expert_ffn);
		if ((status = down_together(run, l, at, n)))
			return status;
	}
	return TB_OK;
}

static enum tb_status
one_expert(struct run *run, const struct layer *l, uint32_t e, size_t m)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->e->work;
	const struct matrix *gate = l->x[SLOT_X_GATE] ? &l->x[SLOT_X_GATE][e] : NULL;
	size_t pairs = m * hp->experts_used, n = 0;
	enum tb_status status;

	for (size_t i = 0; i < pairs; i++)
		if (w->chosen[i] == e)
			memcpy(w->gather + n++ * hp->dim, w->h + i / hp->experts_used * hp->dim,
			       hp->dim * sizeof(float));
	if (!n)
		return TB_OK;
	status = expert_biased(l) ? run_expert_biased(run, l, e, w->gather, n, w->gather)
				  : run_gated(run, gate, &l->x[SLOT_X_UP][e],
					      &l->x[SLOT_X_DOWN][e], w->gather, n, w->gather);
	if (status)
		return status;
	n = 0;
	for (size_t i = 0; i < pairs; i++)
		if (w->chosen[i] == e)
			run->e->vec->add_scaled(w->out + i / hp->experts_used * hp->dim,
						w->gather + n++ * hp->dim, w->weight[i], hp->dim);
	return TB_OK;
}

struct shared { struct run *run; const float *gate; };

static void
share_row(void *arg, size_t row)
{
	const struct shared *s = arg;
	struct work *w = &s->run->e->work;
	size_t dim = s->run->hp->dim;
	float both = s->run->hp->routing.both, *out = w->out + row * dim;

	s->run->e->vec->add_scaled(out, w->gather + row * dim,
				   s->gate ? 1 / (1 + expf(-s->gate[row])) : 1, dim);
	for (size_t i = 0; both != 1 && i < dim; i++)
		out[i] *= both;
}

/* What the expert of all tokens says is added, all of it or by a number a token. */
static enum tb_status
share(struct run *run, const struct layer *l, size_t m)
{
	struct work *w = &run->e->work;
	const struct matrix *router = &l->m[SLOT_S_ROUTER];
	struct shared s = { run, router->codes ? w->router : NULL };
	enum tb_status status = run_gated(run, &l->m[SLOT_S_GATE], &l->m[SLOT_S_UP],
					  &l->m[SLOT_S_DOWN], w->h, m, w->gather);

	if (!status && s.gate)
		status = run_matmul(run, &router, 1, w->h, m, &w->router);
	if (!status)
		run_rows(run, share_row, &s, m, run->hp->dim);
	return status;
}

/* Sums in the order of a block's, so that one token gives what it gives among others. */
static void
order_chosen(uint32_t *chosen, float *weight, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t e = chosen[i], j = i;
		float x = weight[i];

		for (; j && chosen[j - 1] > e; j--) {
			chosen[j] = chosen[j - 1];
			weight[j] = weight[j - 1];
		}
		chosen[j] = e;
		weight[j] = x;
	}
}

enum tb_status
run_router(struct run *run, const struct layer *l, const float *x, size_t m)
{
	const struct hparams *hp = run->hp;
	const struct matrix *router = &l->m[SLOT_ROUTER];
	struct route route = { run, l };
	enum tb_status status = run_matmul(run, &router, 1, x, m, &run->e->work.router);

	if (!status)
		run_rows(run, route_row, &route, m, (size_t)hp->experts * hp->experts_used);
	return status;
}

enum tb_status
run_chosen(struct run *run, const struct layer *l, size_t m)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->e->work;
	enum tb_status status = TB_OK;

	memset(w->out, 0, m * hp->dim * sizeof(float));
	if (m == 1) {
		order_chosen(w->chosen, w->weight, hp->experts_used);
		return expert_biased(l) ? one_token_biased(run, l) : one_token(run, l);
	}
	for (uint32_t e = 0; e < hp->experts && !status; e++)
		status = one_expert(run, l, e, m);
	return status;
}

enum tb_status
run_experts(struct run *run, const struct layer *l, size_t m)
{
	enum tb_status status;

	if ((status = run_router(run, l, run->e->work.h, m)) || (status = run_chosen(run, l, m)))
		return status;
	return l->m[SLOT_S_UP].codes ? share(run, l, m) : TB_OK;
}
