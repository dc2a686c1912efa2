/* recipe.c - making, changing and undoing the plan of the Convert screen. */
#include "config.h"

#include "ui/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/store/store.h"
#include "ui/recipe_plan.h"

#define UNDO_MAX 1000
#define UNDO_PLANS_MAX 24	/* whole ones */

/* ---- what was before ---- */

static void
rules_free(char **rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(rules[i]);
	free(rules);
}

static void
undo_free(struct recipe_undo *u)
{
	plan_free(u->plan);
	if (u->rules)
		rules_free(u->rules, u->nrules);
	free(u->rows);
}

static void
forget_oldest(struct recipe *s, size_t n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		undo_free(&s->undo[i]);
	s->nundo -= n;
	memmove(s->undo, s->undo + n, s->nundo * sizeof(*s->undo));
}

/* Room for one more; what is oldest goes. */
static bool
undo_room(struct recipe *s)
{
	size_t plans = 0, oldest = 0;

	for (size_t i = s->nundo; i-- > 0; )
		if (s->undo[i].plan && ++plans == UNDO_PLANS_MAX)
			oldest = i + 1;
	if (s->nundo - oldest >= UNDO_MAX)
		oldest++;
	forget_oldest(s, oldest);
	return tb_grow(&s->undo, &s->undo_cap, s->nundo + 1, sizeof(*s->undo));
}

bool
recipe_keep(struct recipe *s, size_t nrules)
{
	struct recipe_undo was = { .plan = s->plan, .words = s->words,
				   .rules = tb_calloc(nrules + 1, sizeof(*was.rules)) };
	bool ok = was.rules && undo_room(s);

	for (; ok && was.nrules < nrules; was.nrules++) {
		was.rules[was.nrules] = tb_strdup(s->rules[was.nrules]);
		ok = was.rules[was.nrules] != NULL;
	}
	if (ok)
		s->undo[s->nundo++] = was;
	else
		rules_free(was.rules, was.nrules);
	return ok;
}

/* The plan's rows; false: no memory. */
static bool
remember(struct recipe *s)
{
	struct recipe_undo u = { .rows = tb_calloc(s->plan->nrows, sizeof(*u.rows)),
				 .n = s->plan->nrows, .words = s->words };

	if (!u.rows || !undo_room(s)) {
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
		if (!scheme_equal(&u->rows[i].target, &p->rows[u->rows[i].row].target) ||
		    u->rows[i].why != p->rows[u->rows[i].row].why)
			u->rows[n++] = u->rows[i];
	u->n = n;
	less = realloc(u->rows, (n ? n : 1) * sizeof(*less));
	if (less)
		u->rows = less;
}

/* ---- making ---- */

bool
recipe_asks_scheme(const char *policy)
{
	return !strcmp(policy, plan_policy_name(PLAN_OLLAMA)) ||
	       !strcmp(policy, plan_policy_name(PLAN_UNIFORM)) ||
	       !strcmp(policy, plan_policy_name(PLAN_MLX));
}

/* What plan_new() is asked for with those words; strings are borrowed from s. */
static enum tb_status
request(const struct recipe *s, const struct recipe_words *w, struct plan_request *req,
	struct tb_err *err)
{
	bool gguf = w->dest == PLAN_TO_GGUF;

	*req = (struct plan_request){
		.model = gguf ? s->o->m : opened_model(s->o), .view = gguf ? NULL : s->o->hf,
		.flavour = w->flavour, .dest = w->dest, .experts = w->experts,
		.rules = (const char *const *)s->rules, .nrules = s->nrules,
		.requantize = w->requantize,
	};
	return plan_ask(req, recipe_asks_scheme(w->policy) ? w->quant[gguf] : NULL, w->policy, err);
}

void
recipe_changed(struct view *v)
{
	struct recipe *s = v->state;

	s->version++;
	s->saved = false;
	free(s->written);
	s->written = NULL;
	recipe_price(v);
}

void
recipe_swap(struct view *v, struct plan *fresh)
{
	struct recipe *s = v->state;

	if (s->plan && s->plan->model != fresh->model)
		list_unmark_all(&v->list);	/* its rows are others */
	s->plan = fresh;
	view_refresh(v);
}

/* Is one of the rules behind the first `n` about it? */
static bool
ruled_anew(const struct plan *fresh, const char *name, size_t n)
{
	for (size_t k = n; k < fresh->nrules; k++)
		if (tb_glob(fresh->rules[k].pattern, name))
			return true;
	return false;
}

/* As somebody who wants it would ask for it. */
static struct plan_target
asked_as(const struct plan_row *r)
{
	bool keep = r->why == PLAN_REPACKED || r->why == PLAN_DECODED || r->why == PLAN_HOME ||
		    scheme_equal(&r->target, &r->src->scheme);

	return (struct plan_target){ keep, r->target };
}

/* What new rules are not about stays what it was, by hand or by a recipe, in a plan of the
 * same words.  Rows that become the same are set at once: each setting lays out all. */
static enum tb_status
carry_over(const struct recipe *s, struct plan *fresh, size_t nrules, struct tb_err *err)
{
	const struct plan_row *was = s->plan->rows;
	size_t n = fresh->nrows, *rows = tb_calloc(n, sizeof(*rows));
	bool *seen = tb_calloc(n, sizeof(*seen));
	enum tb_status status = rows && seen ? TB_OK : tb_nomem(err);

	for (size_t i = 0; i < n && !status; i++)
		seen[i] = ruled_anew(fresh, was[i].src->name, nrules) ||
			  scheme_equal(&was[i].target, &fresh->rows[i].target);
	for (size_t i = 0; i < n && !status; i++) {
		struct plan_target t = asked_as(&was[i]);
		size_t k = 0;

		for (size_t j = i; j < n && !seen[i]; j++)
			if (!seen[j] && scheme_equal(&was[j].target, &t.scheme) &&
			    asked_as(&was[j]).keep == t.keep)
				rows[k++] = j;
		for (size_t j = 0; j < k; j++)
			seen[rows[j]] = true;
		if (k)
			status = plan_set(fresh, rows, k, &t, err);
	}
	for (size_t i = 0; i < n && !status; i++)
		if (!ruled_anew(fresh, was[i].src->name, nrules))
			fresh->rows[i].why = was[i].why;
	free(rows);
	free(seen);
	return status;
}

static bool
same_choice(const struct recipe_words *a, const struct recipe_words *b)
{
	return !strcmp(a->policy, b->policy) && a->dest == b->dest &&
	       a->requantize == b->requantize &&
	       !strcmp(a->quant[a->dest == PLAN_TO_GGUF], b->quant[a->dest == PLAN_TO_GGUF]);
}

bool
recipe_remake(struct view *v, const struct recipe_words *words, size_t nrules)
{
	struct recipe *s = v->state;
	const struct plan *was = s->plan;
	struct tb_err err = { 0 };
	struct plan_request req;
	struct plan *fresh = NULL;
	enum tb_status status = request(s, words, &req, &err);

	if (!status)
		status = plan_new(&fresh, &req, &err);
	if (!status && was && same_choice(words, &s->words))
		status = carry_over(s, fresh, nrules, &err);
	if (!status && s->plan && !recipe_keep(s, nrules))
		status = tb_nomem(&err);
	if (status) {
		plan_free(fresh);
		view_complain(v, &err);
		return false;
	}
	if (words->dest != s->words.dest) {	/* it was typed for that */
		free(s->wanted);
		s->wanted = NULL;
	}
	s->words = *words;
	recipe_swap(v, fresh);
	recipe_changed(v);
	recipe_choose(v);
	return true;
}

/* "PATTERN=SCHEME" of each; NULL: no memory. */
static char **
rules_of(const struct plan *p)
{
	char **rules = tb_calloc(p->nrules + 1, sizeof(*rules));

	for (size_t i = 0; rules && i < p->nrules; i++) {
		const struct plan_rule *r = &p->rules[i];
		char name[SCHEME_NAME_MAX];

		rules[i] = tb_asprintf("%s=%s", r->pattern, r->target.keep ? "keep"
				       : scheme_name(&r->target.scheme, name));
		if (!rules[i]) {
			rules_free(rules, i);
			return NULL;
		}
	}
	return rules;
}

bool
recipe_replace(struct view *v, const struct recipe_words *words, struct plan *fresh)
{
	struct recipe *s = v->state;
	char **rules = rules_of(fresh);

	if (!rules || !recipe_keep(s, s->nrules)) {
		if (rules)
			rules_free(rules, fresh->nrules);
		plan_free(fresh);
		view_say(v, "out of memory");
		return false;
	}
	rules_free(s->rules, s->nrules);
	s->rules = rules;
	s->nrules = s->rules_cap = fresh->nrules;
	s->words = *words;
	recipe_swap(v, fresh);
	recipe_changed(v);
	return true;
}

struct plan *
recipe_copy(const struct recipe *s, struct tb_err *err)
{
	struct plan *copy;

	return plan_copy(&copy, s->plan, err) ? NULL : copy;
}

uint64_t
recipe_budget(const struct recipe *s)
{
	const struct plan_limit *b = &s->words.budget;
	double elems = 0;

	if (b->bytes || !(b->bits > 0))
		return b->bytes;
	for (size_t i = 0; i < s->plan->nrows; i++)
		elems += (double)s->plan->rows[i].src->elems;
	return (uint64_t)(b->bits * elems / 8);
}

const char *
recipe_dest_name(enum plan_dest d)
{
	return d == PLAN_TO_STORE ? "store" : d == PLAN_TO_GGUF ? "GGUF" : "folder";
}

/* ---- opening ---- */

static void
recipe_opened(struct view *v, struct opened *o, const struct tb_err *err)
{
	struct recipe *s = v->state;
	struct recipe_words words = s->words;
	char *root = NULL;

	if (!o) {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		return;
	}
	s->o = o;
	if (store_destination(&view_ctx(v)->roots, &root, NULL))
		words.dest = PLAN_TO_DIR;
	free(root);
	if (!recipe_remake(v, &words, 0))
		snprintf(s->error, sizeof(s->error), "There is no plan for %s.", v->loc.name);
}

enum tb_status
recipe_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct recipe *s = v->state;

	(void)arg;
	s->words = (struct recipe_words){ { "int4", "q4_0" }, "ollama", .dest = PLAN_TO_STORE };
	return opened_load_hf(v, recipe_opened, err);
}

void
recipe_close(struct view *v)
{
	struct recipe *s = v->state;

	forget_oldest(s, s->nundo);
	free(s->undo);
	free(s->choices.samples);
	recipe_others_free(s);
	rules_free(s->rules, s->nrules);
	if (s->target)
		convert_target_free(s->target);
	free(s->target);
	free(s->wanted);
	free(s->written);
	plan_free(s->plan);
	opened_unref(s->o);
}

/* ---- changes of rows, and back ---- */

/* Is what is quantized already all that stands in the way? */
static bool
say_quantized(struct view *v, const size_t *row, size_t n)
{
	const struct recipe *s = v->state;

	for (size_t i = 0; i < n && !s->words.requantize; i++)
		if (!scheme_is_plain(&s->plan->rows[row[i]].src->scheme)) {
			view_say(v, "%s is quantized already; Q lets such tensors be changed, too.",
				 s->plan->rows[row[i]].src->name);
			return true;
		}
	return false;
}

/* A row may take its siblings along (stacked experts): all schemes are kept. */
void
recipe_set(struct view *v, const size_t *row, size_t n, const char *target)
{
	struct recipe *s = v->state;
	struct plan_target t;
	struct tb_err err;

	if (!remember(s)) {
		view_say(v, "out of memory");
		return;
	}
	if (plan_target_parse(target, &t, &err) || plan_set(s->plan, row, n, &t, &err)) {
		undo_free(&s->undo[--s->nundo]);
		if (!say_quantized(v, row, n))
			view_complain(v, &err);
		return;
	}
	keep_changed(s->plan, &s->undo[s->nundo - 1]);
	recipe_changed(v);
}

static void
undo_rows(struct plan *p, const struct recipe_undo *u)
{
	for (size_t i = 0; i < u->n; i++) {
		const struct recipe_was *was = &u->rows[i];
		struct plan_row *r = &p->rows[was->row];
		struct plan_target t = { scheme_equal(&was->target, &r->src->scheme), was->target };

		if (!scheme_equal(&r->target, &t.scheme))
			(void)!plan_set(p, &was->row, 1, &t, NULL);
		r->why = was->why;
	}
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
	s->words = u.words;
	if (u.plan) {
		struct plan *last = s->plan;

		rules_free(s->rules, s->nrules);
		s->rules = u.rules;
		s->nrules = s->rules_cap = u.nrules;
		u.rules = NULL;
		recipe_swap(v, u.plan);
		u.plan = last;
	} else
		undo_rows(s->plan, &u);
	undo_free(&u);
	recipe_changed(v);
}
