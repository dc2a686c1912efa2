/* recipe.c - making, changing, undoing and pricing the plan of the Convert screen. */
#include "config.h"

#include "ui/recipe.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/ops/home/home.h"
#include "ui/recipe_plan.h"

#define UNDO_MAX 1000

/* Errors on samples, on a worker. */

struct pricing {
	struct opened *o;		/* a reference */
	struct op_ctx *ctx;		/* borrowed */
	enum flavour flavour;
	struct plan_care care;
	struct plan_sample *samples;	/* owned */
	size_t n;
};

static void recipe_price(struct view *v);

static enum tb_status
price_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct pricing *p = arg;

	return convert_price(opened_model(p->o), p->flavour, &p->care, p->samples, p->n,
			     p->ctx->pool, job, err);
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
	if (p->flavour == s->plan->flavour)
		plan_priced(s->plan, p->samples, p->n);
	if (s->price_again)
		recipe_price(v);
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

/* Samples the errors of rows that have none, in the background. */
static void
recipe_price(struct view *v)
{
	struct recipe *s = v->state;
	struct pricing *p;

	s->price_again = s->pricing != NULL;
	if (s->pricing)
		return;
	p = tb_calloc(1, sizeof(*p));
	if (!p || plan_unpriced(s->plan, &p->samples, &p->n, NULL) || !p->n) {
		if (p)
			price_free(p);
		return;
	}
	p->o = opened_ref(s->o);
	p->ctx = view_ctx(v);
	p->flavour = s->plan->flavour;
	p->care = s->plan->care;
	s->pricing = view_job(v, &price_job, p, "errors of %s", v->loc.name);
}

/* The plan anew, for another recipe; changes by hand are gone. */

static void
forget_undo(struct recipe *s)
{
	while (s->nundo)
		free(s->undo[--s->nundo].rows);
}

static struct plan *
recipe_make(const struct recipe *s, struct tb_err *err)
{
	struct plan_request req = {
		.model = opened_model(s->o), .view = s->o->hf, .policy = s->policy,
		.flavour = s->flavour, .dest = s->dest,
		.experts = s->experts, .rules = (const char *const *)s->rules, .nrules = s->nrules,
	};
	struct plan *plan = NULL;

	if (!plan_target_parse(s->quant, &req.target, err))
		(void)!plan_new(&plan, &req, err);
	return plan;
}

/* What was written was another plan. */
static void
recipe_changed(struct view *v)
{
	struct recipe *s = v->state;

	free(s->written);
	s->written = NULL;
	recipe_price(v);
}

bool
recipe_remake(struct view *v)
{
	struct recipe *s = v->state;
	struct tb_err err = { 0 };
	struct plan *fresh = recipe_make(s, &err);

	if (!fresh) {
		view_complain(v, &err);
		return false;
	}
	plan_free(s->plan);
	s->plan = fresh;
	forget_undo(s);
	view_refresh(v);
	recipe_changed(v);
	return true;
}

struct plan *
recipe_copy(const struct recipe *s, struct tb_err *err)
{
	struct plan *copy;

	return plan_copy(&copy, s->plan, err) ? NULL : copy;
}

/* Opening. */

static void
recipe_opened(struct view *v, struct opened *o, const struct tb_err *err)
{
	struct recipe *s = v->state;

	if (!o) {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		return;
	}
	s->o = o;
	if (!recipe_remake(v))
		snprintf(s->error, sizeof(s->error), "There is no plan for %s.", v->loc.name);
}

enum tb_status
recipe_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct recipe *s = v->state;

	(void)arg;
	snprintf(s->quant, sizeof(s->quant), "int4");
	return opened_load_hf(v, recipe_opened, err);
}

void
recipe_close(struct view *v)
{
	struct recipe *s = v->state;

	forget_undo(s);
	free(s->undo);
	for (size_t i = 0; i < s->nrules; i++)
		free(s->rules[i]);
	free(s->rules);
	if (s->target)
		convert_target_free(s->target);
	free(s->target);
	free(s->wanted);
	free(s->written);
	plan_free(s->plan);
	opened_unref(s->o);
}

/* Changes of rows, and back. */

/* A row may take its siblings along (stacked experts): all schemes are kept. */
static bool
remember(struct recipe *s)
{
	struct recipe_undo u = { tb_calloc(s->plan->nrows, sizeof(*u.rows)), s->plan->nrows };

	if (!u.rows || s->nundo == UNDO_MAX ||
	    !tb_grow(&s->undo, &s->undo_cap, s->nundo + 1, sizeof(*s->undo))) {
		free(u.rows);
		return false;
	}
	for (size_t i = 0; i < u.n; i++)
		u.rows[i] = (struct recipe_was){ i, s->plan->rows[i].target, s->plan->rows[i].why };
	s->undo[s->nundo++] = u;
	return true;
}

/* Of what was remembered, only the rows that have changed since: a plan may have
 * tens of thousands, a change is mostly one. */
static void
keep_changed(const struct plan *p, struct recipe_undo *u)
{
	struct recipe_was *less;
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		if (!scheme_equal(&u->rows[i].target, &p->rows[u->rows[i].row].target))
			u->rows[n++] = u->rows[i];
	u->n = n;
	less = realloc(u->rows, (n ? n : 1) * sizeof(*less));
	if (less)
		u->rows = less;
}

void
recipe_set(struct view *v, const size_t *row, size_t n, const char *target)
{
	struct recipe *s = v->state;
	struct plan_target t;
	struct tb_err err;

	if (!remember(s)) {
		view_say(v, "This cannot be undone any more: write, or undo first.");
		return;
	}
	if (plan_target_parse(target, &t, &err) || plan_set(s->plan, row, n, &t, &err)) {
		free(s->undo[--s->nundo].rows);
		view_complain(v, &err);
		return;
	}
	keep_changed(s->plan, &s->undo[s->nundo - 1]);
	recipe_changed(v);
}

void
recipe_undo(struct view *v)
{
	struct recipe *s = v->state;
	struct recipe_undo u;

	if (!s->nundo) {
		view_say(v, "There is nothing to undo.");
		return;
	}
	u = s->undo[--s->nundo];
	for (size_t i = 0; i < u.n; i++) {
		const struct recipe_was *was = &u.rows[i];
		struct plan_row *r = &s->plan->rows[was->row];
		struct plan_target t = { scheme_equal(&was->target, &r->src->scheme), was->target };

		if (!scheme_equal(&r->target, &t.scheme))
			(void)!plan_set(s->plan, &was->row, 1, &t, NULL);
		r->why = was->why;
	}
	free(u.rows);
	recipe_changed(v);
}
