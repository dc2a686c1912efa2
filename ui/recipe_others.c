/* recipe_others.c - other recipes for the same model and destination: the usual ones, and
 * those that somebody has named or saved.  Each is planned and priced on a worker. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "ui/recipe_plan.h"

/* What people take for each kind of destination. */
static const char *const usual_store[] = { "int4", "int8", "nvfp4", "mxfp8", NULL };
static const char *const usual_dir[] = { "mlx", "mlx:mixed_3_6", "mlx:mixed_4_6", "int8", NULL };
static const char *const usual_gguf[] = { "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", NULL };

static const char *const *
usual(enum plan_dest d)
{
	return d == PLAN_TO_STORE ? usual_store : d == PLAN_TO_GGUF ? usual_gguf : usual_dir;
}

static void
other_free(struct recipe_other *r)
{
	free(r->text);
	plan_free(r->plan);
	*r = (struct recipe_other){ 0 };
}

/* It was a mistake. */
static void
forget_other(struct recipe *s, struct recipe_other *r)
{
	size_t i = (size_t)(r - s->others) + 1;

	other_free(r);
	memmove(r, r + 1, (--s->nothers - (i - 1)) * sizeof(*r));
	if (s->compared == i)
		s->compared = s->differing = 0;
	else if (s->compared > i)
		s->compared--;
}

void
recipe_others_free(struct recipe *s)
{
	for (size_t i = 0; i < s->nothers; i++)
		other_free(&s->others[i]);
	s->nothers = 0;
}

const struct recipe_other *
recipe_compared(const struct recipe *s)
{
	return s->compared && s->compared <= s->nothers ? &s->others[s->compared - 1] : NULL;
}

bool
recipe_row_differs(const struct recipe *s, size_t row)
{
	const struct recipe_other *r = recipe_compared(s);

	return r && r->plan && r->plan->model == s->plan->model &&
	       !scheme_equal(&r->plan->rows[row].target, &s->plan->rows[row].target);
}

/* ---- planning one ---- */

struct planning {
	struct opened *o;		/* a reference */
	struct op_ctx *ctx;		/* borrowed */
	char *text;			/* owned */
	struct recipe_words words;	/* destination, flavour */
	struct plan *plan;		/* owned */
	bool file;
};

static bool
is_file(const char *text)
{
	return strchr(text, '/') || tb_ends(text, ".json");
}

/* "~/x.json" as the file system knows it; NULL: no memory. */
static char *
path_of(const char *text)
{
	const char *home = getenv("HOME");

	return tb_starts(text, "~/") && home ? tb_path_join(home, text + 2) : tb_strdup(text);
}

/* A file, a scheme, a mix or a policy. */
static enum tb_status
planning_ask(const struct planning *w, struct plan_request *req, struct plan_recipe **file,
	     struct tb_err *err)
{
	enum tb_status status;
	char *path;

	if (!w->file && (!plan_ask(req, w->text, NULL, err) || !plan_ask(req, NULL, w->text, err)))
		return TB_OK;
	if (!w->file)
		return err->code;
	path = path_of(w->text);
	status = path ? plan_recipe_load(file, path, err) : tb_nomem(err);
	free(path);
	return status ? status : plan_recipe_ask(*file, req, err);
}

static enum tb_status
planning_measure(const struct planning *w, struct tb_job *job, struct tb_err *err)
{
	struct plan *p = w->plan;
	bool measures = plan_policy_measures(p->policy);
	struct plan_sample *samples;
	size_t n;
	enum tb_status status = measures ? plan_candidates(p, &samples, &n, err)
					 : plan_unpriced(p, &samples, &n, err);

	if (!status)
		status = convert_price(p->model, p->flavour, &p->care, samples, n, w->ctx->pool, job,
				       err);
	if (!status && measures)
		status = plan_choose(p, samples, n, &p->limit, err);
	else if (!status)
		plan_priced(p, samples, n);
	free(samples);
	return status;
}

static enum tb_status
planning_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct planning *w = arg;
	bool gguf = w->words.dest == PLAN_TO_GGUF;
	struct plan_request req = {
		.model = gguf ? w->o->m : opened_model(w->o), .view = gguf ? NULL : w->o->hf,
		.dest = w->words.dest, .flavour = w->words.flavour,
		.requantize = w->words.requantize,
	};
	struct plan_recipe *file = NULL;
	enum tb_status status = planning_ask(w, &req, &file, err);

	if (!status)
		status = plan_new(&w->plan, &req, err);
	plan_recipe_free(file);
	return status ? status : planning_measure(w, job, err);
}

static bool
others_are_for(const struct recipe *s, const struct recipe_words *w)
{
	return s->others_dest == w->dest && s->others_flavour == w->flavour &&
	       s->others_requantize == w->requantize;
}

static void
planning_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct recipe *s = v->state;
	struct planning *w = arg;
	struct recipe_other *r = NULL;

	s->planning = NULL;
	for (size_t i = 0; i < s->nothers; i++)
		if (!strcmp(s->others[i].text, w->text))
			r = &s->others[i];
	if (r && status && r->fresh) {
		view_complain(v, err);
		forget_other(s, r);
	} else if (r && others_are_for(s, &w->words)) {
		r->failed = status != TB_OK;
		r->plan = status ? NULL : w->plan;
		if (!status)
			w->plan = NULL;
		if (!status && r->take)
			recipe_take(v, r);
		r->take = r->fresh = false;
	}
	recipe_others_make(v);
	view_refresh(v);
}

static void
planning_free(void *arg)
{
	struct planning *w = arg;

	opened_unref(w->o);
	plan_free(w->plan);
	free(w->text);
	free(w);
}

static const struct job_ops planning_job = {
	.run = planning_run, .done = planning_done, .free = planning_free
};

static void
plan_other(struct view *v, const struct recipe_other *r)
{
	struct recipe *s = v->state;
	struct planning *w = view_alloc(v, sizeof(*w));

	if (!w)
		return;
	w->o = opened_ref(s->o);
	w->ctx = view_ctx(v);
	w->words = s->words;
	w->file = is_file(r->text);
	w->text = tb_strdup(r->text);
	if (w->text)
		s->planning = view_job(v, &planning_job, w, "recipe %s", r->text);
	else
		planning_free(w);
}

/* ---- the list ---- */

static struct recipe_other *
add_other(struct recipe *s, const char *text, bool asked)
{
	struct recipe_other *r;

	for (size_t i = 0; i < s->nothers; i++)
		if (!strcmp(s->others[i].text, text))
			return &s->others[i];
	if (s->nothers == RECIPE_OTHERS_MAX)
		return NULL;
	r = &s->others[s->nothers];
	*r = (struct recipe_other){ .text = tb_strdup(text), .asked = asked };
	if (!r->text)
		return NULL;
	s->nothers++;
	return r;
}

/* The usual ones of a destination, and behind them those that were asked for before. */
static void
list_others(struct recipe *s)
{
	struct recipe_other old[RECIPE_OTHERS_MAX];
	size_t n = s->nothers;

	memcpy(old, s->others, n * sizeof(*old));
	s->nothers = s->compared = 0;
	for (const char *const *u = usual(s->words.dest); *u; u++)
		(void)add_other(s, *u, false);
	for (size_t i = 0; i < n; i++) {
		if (old[i].asked)
			(void)add_other(s, old[i].text, true);
		other_free(&old[i]);
	}
	s->others_dest = s->words.dest;
	s->others_flavour = s->words.flavour;
	s->others_requantize = s->words.requantize;
	s->others_listed = true;
}

void
recipe_others_make(struct view *v)
{
	struct recipe *s = v->state;

	if (!s->plan || s->planning || s->pricing || s->choosing)
		return;
	if (!s->others_listed || !others_are_for(s, &s->words))
		list_others(s);
	for (size_t i = 0; i < s->nothers; i++) {
		const struct recipe_other *r = &s->others[i];

		if (r->plan || r->failed || (!s->pane && s->compared != i + 1 && !r->take))
			continue;
		plan_other(v, r);
		return;
	}
}

/* ---- what keys do ---- */

static void
compare_with(struct view *v, size_t which)
{
	struct recipe *s = v->state;

	s->compared = which;
	s->differing = s->differing && which;
	recipe_others_make(v);
	view_refresh(v);
}

void
recipe_compare_next(struct view *v, int by)
{
	struct recipe *s = v->state;
	size_t n = s->nothers + 1;

	recipe_others_make(v);
	compare_with(v, (s->compared + n + (size_t)by) % (s->nothers + 1));
}

static struct recipe_other *
named_other(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct recipe_other *r;

	recipe_others_make(v);
	if (tb_starts(text, "./") && is_file(text + 2))
		text += 2;
	r = add_other(s, text, true);
	if (!r) {
		view_say(v, "No more than %u recipes at a time.", RECIPE_OTHERS_MAX);
		return NULL;
	}
	r->failed = false;
	r->asked = true;
	r->fresh = !r->plan;
	return r;
}

static bool
try_compare(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct plan_request req = { 0 };
	struct recipe_other *r;
	struct tb_err err;

	if (!*text)
		return true;
	if (!is_file(text) && plan_ask(&req, NULL, text, &err) &&
	    plan_ask(&req, text, NULL, &err)) {
		view_complain(v, &err);
		return false;
	}
	r = named_other(v, text);
	if (r)
		compare_with(v, (size_t)(r - s->others) + 1);
	return true;
}

void
recipe_ask_compare(struct view *v)
{
	view_type(v, "compare with (scheme, mix, policy or recipe.json): ", "", try_compare);
}

/* It becomes the one that is shown and written. */
void
recipe_take(struct view *v, const struct recipe_other *r)
{
	struct recipe *s = v->state;
	struct recipe_words w = s->words;
	struct tb_err err;
	struct plan *copy;

	if (!r || !r->plan) {
		view_say(v, "Which one? Tab goes through the recipes, = names one.");
		return;
	}
	if (plan_copy(&copy, r->plan, &err)) {
		view_complain(v, &err);
		return;
	}
	(void)plan_policy_text(copy->policy, copy->mix, &copy->limit, w.policy);
	if (recipe_asks_scheme(w.policy))
		snprintf(w.quant[w.dest == PLAN_TO_GGUF], sizeof(*w.quant), "%s", copy->quant);
	if (plan_policy_measures(copy->policy))
		w.budget = copy->limit;
	w.flavour = copy->flavour;
	w.experts = copy->experts;
	w.requantize = copy->requantize;
	if (recipe_replace(v, &w, copy))
		view_say(v, "%s is what is shown now; u goes back.", r->text);
}

static bool
try_load(struct view *v, const char *text)
{
	char path[4096];
	struct recipe_other *r;

	if (!*text)
		return true;
	snprintf(path, sizeof(path), "%s%s", is_file(text) ? "" : "./", text);
	r = named_other(v, path);
	if (r) {		/* the file may be another one by now */
		plan_free(r->plan);
		r->plan = NULL;
		r->take = r->fresh = true;
	}
	recipe_others_make(v);
	return true;
}

void
recipe_ask_load(struct view *v)
{
	view_type(v, "recipe to load: ", "", try_load);
}

/* ---- saving ---- */

struct saving {
	struct opened *o;	/* a reference: the plan borrows its model */
	struct plan *plan;	/* owned */
	char *path;		/* owned */
	unsigned version;	/* of the recipe that is saved */
};

static enum tb_status
save_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	const struct saving *w = arg;
	char *path = path_of(w->path);
	enum tb_status status = path ? plan_recipe_save(w->plan, path, err) : tb_nomem(err);

	(void)job;
	free(path);
	return status;
}

static void
save_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	const struct saving *w = arg;
	struct recipe *s = v->state;
	struct recipe_other *r;

	if (status) {
		view_complain(v, err);
		return;
	}
	r = named_other(v, w->path);
	if (r)
		r->fresh = false;
	recipe_others_make(v);
	s->saved = w->version == s->version;
	view_say(v, "The recipe is saved: %s", w->path);
}

static void
save_free(void *arg)
{
	struct saving *w = arg;

	plan_free(w->plan);
	opened_unref(w->o);
	free(w->path);
	free(w);
}

static const struct job_ops save_job = { .run = save_run, .done = save_done, .free = save_free };

static bool
try_save(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct saving *w = *text ? view_alloc(v, sizeof(*w)) : NULL;
	struct tb_err err = { 0 };

	if (!w)
		return true;
	w->o = opened_ref(s->o);
	w->version = s->version;
	w->plan = recipe_copy(s, &err);
	w->path = tb_asprintf("%s%s", is_file(text) ? "" : "./", text);
	if (w->plan && w->path) {
		(void)view_job(v, &save_job, w, "save %s", text);
	} else {
		if (!w->plan)
			view_complain(v, &err);
		save_free(w);
	}
	return true;
}

void
recipe_ask_save(struct view *v)
{
	const struct recipe *s = v->state;
	const char *slash = strrchr(v->loc.name, '/');
	char name[256];

	snprintf(name, sizeof(name), "%.200s-%s.json", slash ? slash + 1 : v->loc.name,
		 s->plan->quant);
	for (char *p = name; *p; p++)
		if (*p == ':')
			*p = '-';
	view_type(v, "save the recipe as: ", name, try_save);
}
