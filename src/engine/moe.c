/* moe.c - a layer whose feed-forward part is a choice among experts.
 *
 * Only the bytes of chosen experts are touched.  One token runs all its experts in
 * one fork-join; a block of tokens is sorted by expert, so that each expert's
 * matrices are read once. */
#include "config.h"

#include "src/engine/run.h"

#include <string.h>

#define TOGETHER 8	/* experts in one fork-join */

/* The k largest of p[n], best first; ties go to the lower number. */
static void
choose_experts(const float *p, uint32_t n, uint32_t k, uint32_t *chosen, float *weight)
{
	for (uint32_t i = 0; i < k; i++) {
		uint32_t best = n;

		for (uint32_t e = 0; e < n; e++) {
			bool taken = false;

			for (uint32_t j = 0; j < i && !taken; j++)
				taken = chosen[j] == e;
			if (!taken && (best == n || p[e] > p[best]))
				best = e;
		}
		chosen[i] = best;
		weight[i] = p[best];
	}
}

static void
route_row(void *arg, size_t row)
{
	struct run *run = arg;
	const struct hparams *hp = run->hp;
	struct work *w = &run->s->work;
	float *p = w->router + row * hp->experts, *weight = w->weight + row * hp->experts_used;
	float sum = 0;

	run->e->vec->softmax(p, hp->experts, 1);
	choose_experts(p, hp->experts, hp->experts_used, w->chosen + row * hp->experts_used,
		       weight);
	for (uint32_t i = 0; i < hp->experts_used; i++)
		sum += weight[i];
	for (uint32_t i = 0; i < hp->experts_used && hp->norm_topk && sum > 0; i++)
		weight[i] /= sum;
}

static enum tb_status
one_token(struct run *run, const struct layer *l)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->s->work;
	const struct matrix *m[2 * TOGETHER];
	float *y[2 * TOGETHER];
	enum tb_status status;

	for (uint32_t at = 0; at < hp->experts_used; at += TOGETHER) {
		uint32_t n = hp->experts_used - at < TOGETHER ? hp->experts_used - at : TOGETHER;

		for (uint32_t i = 0; i < n; i++) {
			m[2 * i] = &l->x[SLOT_X_GATE][w->chosen[at + i]];
			m[2 * i + 1] = &l->x[SLOT_X_UP][w->chosen[at + i]];
			y[2 * i] = w->gate + (size_t)i * hp->ffn;
			y[2 * i + 1] = w->up + (size_t)i * hp->ffn;
		}
		if ((status = run_matmul(run, m, 2 * n, w->h, 1, y)))
			return status;
		run->e->vec->act_mul[hp->act](w->gate, w->up, (size_t)n * hp->ffn);
		for (uint32_t i = 0; i < n; i++) {
			m[0] = &l->x[SLOT_X_DOWN][w->chosen[at + i]];
			if ((status = run_matmul(run, m, 1, w->gate + (size_t)i * hp->ffn, 1,
						 &w->gather)))
				return status;
			run->e->vec->add_scaled(w->out, w->gather, w->weight[at + i], hp->dim);
		}
	}
	return TB_OK;
}

static enum tb_status
one_expert(struct run *run, const struct layer *l, uint32_t e, size_t m)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->s->work;
	size_t pairs = m * hp->experts_used, n = 0;
	enum tb_status status;

	for (size_t i = 0; i < pairs; i++)
		if (w->chosen[i] == e)
			memcpy(w->gather + n++ * hp->dim, w->h + i / hp->experts_used * hp->dim,
			       hp->dim * sizeof(float));
	if (!n)
		return TB_OK;
	if ((status = run_gated(run, &l->x[SLOT_X_GATE][e], &l->x[SLOT_X_UP][e],
				&l->x[SLOT_X_DOWN][e], w->gather, n, w->gather)))
		return status;
	n = 0;
	for (size_t i = 0; i < pairs; i++)
		if (w->chosen[i] == e)
			run->e->vec->add_scaled(w->out + i / hp->experts_used * hp->dim,
						w->gather + n++ * hp->dim, w->weight[i], hp->dim);
	return TB_OK;
}

enum tb_status
run_experts(struct run *run, const struct layer *l, size_t m)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->s->work;
	const struct matrix *router = &l->m[SLOT_ROUTER];
	enum tb_status status;

	if ((status = run_matmul(run, &router, 1, w->h, m, &w->router)))
		return status;
	run_rows(run, route_row, run, m, (size_t)hp->experts * hp->experts_used);
	memset(w->out, 0, m * hp->dim * sizeof(float));
	if (m == 1)
		return one_token(run, l);
	for (uint32_t e = 0; e < hp->experts && !status; e++)
		status = one_expert(run, l, e, m);
	return status;
}
