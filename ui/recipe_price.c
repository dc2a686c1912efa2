/* recipe_price.c - errors of the Convert screen's plan, sampled in the background, and
 * what is chosen by them. */
#include "config.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/ops/home/home.h"
#include "ui/recipe_plan.h"

struct pricing {
	struct opened *o;		/* a reference */
	struct op_ctx *ctx;		/* borrowed */
	const struct model *model;	/* of o */
	enum flavour flavour;
	struct plan_care care;
	struct plan_sample *samples;	/* owned */
	size_t n;
};

static enum tb_status
price_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct pricing *p = arg;

	return convert_price(p->model, p->flavour, &p->care, p->samples, p->n, p->ctx->pool, job,
			     err);
}

static void
price_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct recipe *s = v->state;
	const struct pricing *p = arg;

	s->pricing = NULL;
	if (status) {
		view_complain(v, err);
		return;
	}
	if (p->flavour == s->plan->flavour && p->model == s->plan->model)
		plan_priced(s->plan, p->samples, p->n);
	if (s->price_again)
		recipe_price(v);
	recipe_others_make(v);
}

static void
price_free(void *arg)
{
	struct pricing *p = arg;

	opened_unref(p->o);
	free(p->samples);
	free(p);
}

static const struct job_ops price_job = {
	.run = price_run, .done = price_done, .free = price_free
};

void
recipe_price(struct view *v)
{
	struct recipe *s = v->state;
	struct pricing *p;

	s->price_again = s->pricing != NULL;
	if (s->pricing || s->choosing)
		return;
	p = tb_calloc(1, sizeof(*p));
	if (!p || plan_unpriced(s->plan, &p->samples, &p->n, NULL) || !p->n) {
		if (p)
			price_free(p);
		return;
	}
	p->o = opened_ref(s->o);
	p->ctx = view_ctx(v);
	p->model = s->plan->model;
	p->flavour = s->plan->flavour;
	p->care = s->plan->care;
	s->pricing = view_job(v, &price_job, p, "errors of %s", v->loc.name);
}

/* A choice by errors is made of a copy: rows that are set meanwhile ask for another. */

struct choosing {
	struct opened *o;		/* a reference: the plan borrows its model */
	struct op_ctx *ctx;		/* borrowed */
	struct plan *plan;		/* owned */
	unsigned version;		/* of which it is a copy */
	struct recipe_choices choices;	/* owned */
};

static enum tb_status
choose_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct choosing *c = arg;
	struct plan *p = c->plan;
	enum tb_status status = TB_OK;

	if (!c->choices.samples)
		status = plan_candidates(p, &c->choices.samples, &c->choices.n, err);
	if (!status && !c->choices.model)
		status = convert_price(p->model, p->flavour, &p->care, c->choices.samples,
				       c->choices.n, c->ctx->pool, job, err);
	if (!status) {
		c->choices.model = p->model;
		status = plan_choose(p, c->choices.samples, c->choices.n, &p->limit, err);
	}
	return status;
}

static void
choose_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct recipe *s = v->state;
	struct choosing *c = arg;
	bool again = s->choose_again || c->version != s->version;

	s->choosing = NULL;
	if (c->choices.model) {
		s->choices = c->choices;
		c->choices = (struct recipe_choices){ 0 };
	}
	if (again) {
		recipe_choose(v);
		return;
	}
	if (status) {			/* nothing has changed since it was asked for */
		recipe_undo(v);
		view_complain(v, err);
	} else {
		struct plan *estimate = s->plan;

		recipe_swap(v, c->plan);
		c->plan = estimate;
	}
	recipe_price(v);
	recipe_others_make(v);
}

static void
choose_free(void *arg)
{
	struct choosing *c = arg;

	plan_free(c->plan);
	free(c->choices.samples);
	opened_unref(c->o);
	free(c);
}

static const struct job_ops choose_job = {
	.run = choose_run, .done = choose_done, .free = choose_free
};

/* Were all of them measured that rows could become now? */
static bool
choices_hold(const struct recipe *s)
{
	const struct recipe_choices *c = &s->choices;

	return c->model == s->plan->model && c->dest == s->plan->dest &&
	       c->flavour == s->plan->flavour && c->requantize == s->plan->requantize &&
	       c->nrules <= s->nrules;
}

void
recipe_choose(struct view *v)
{
	struct recipe *s = v->state;
	struct tb_err err = { 0 };
	struct choosing *c;

	s->choose_again = s->choosing != NULL;
	if (s->choosing)
		return;
	if (!plan_policy_measures(s->plan->policy)) {
		recipe_price(v);
		return;
	}
	c = view_alloc(v, sizeof(*c));
	if (!c)
		return;
	c->o = opened_ref(s->o);
	c->ctx = view_ctx(v);
	c->version = s->version;
	c->plan = recipe_copy(s, &err);
	if (!c->plan) {
		choose_free(c);
		view_complain(v, &err);
		return;
	}
	if (choices_hold(s))
		c->choices = s->choices;
	else {
		free(s->choices.samples);
		c->choices = (struct recipe_choices){ .nrules = s->nrules, .dest = c->plan->dest,
						      .flavour = c->plan->flavour,
						      .requantize = c->plan->requantize };
	}
	s->choices = (struct recipe_choices){ 0 };
	s->choosing = view_job(v, &choose_job, c, "choices for %s", v->loc.name);
}
