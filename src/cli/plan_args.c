#include "config.h"

#include "src/cli/plan_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/ops/calibrate/calibrate.h"
#include "src/ops/slice/slice.h"

void
plan_args_free(struct plan_args *a)
{
	tb_strs_free(&a->rules);
	tb_strs_free(&a->recipes);
}

/* What was said beside a recipe counts more than what it says. */
static enum tb_status
read_words(const struct plan_args *a, struct plan_request *req, struct tb_err *err)
{
	if (a->flavour && !flavour_parse(a->flavour, &req->flavour))
		return tb_fail(err, TB_EUSAGE, "--flavour: metal or mlx-cpu");
	if (a->experts && !plan_experts_parse(a->experts, &req->experts))
		return tb_fail(err, TB_EUSAGE, "--experts: stacked, per-projection, switch-mlp, "
			       "per-expert or keep");
	if (a->shared && !plan_shared_parse(a->shared, &req->shared))
		return tb_fail(err, TB_EUSAGE, "--shared: packed or apart");
	return TB_OK;
}

enum tb_status
plan_args_read(const struct plan_args *a, struct plan_request *req, struct tb_err *err)
{
	enum tb_status status = plan_ask(req, a->quant, a->policy, err);

	if (!status && (a->recipes.n || plan_policy_measures(req->policy)))
		return tb_fail(err, TB_EUSAGE, "%s is for quantize: make that model first, then this one"
			       " of it", a->recipes.n ? "--recipe" : a->policy);
	return status ? status : read_words(a, req, err);
}

bool
plan_args_words(const struct plan_args *a)
{
	char word[PLAN_POLICY_MAX];
	const char *s;

	if (!a->policy || strcmp(a->policy, "help"))
		return false;
	for (size_t i = 0; (s = plan_policy_word(i, word)); i++)
		cli_line("%s", s);
	return true;
}

static enum tb_status
read_decode(const char *word, enum dtype *out, struct tb_err *err)
{
	static const struct { const char *word; enum dtype dtype; } words[] = {
		{ "bf16", DT_BF16 }, { "f16", DT_F16 }, { "f32", DT_F32 } };

	*out = DT_COUNT;
	for (size_t i = 0; word && i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(word, words[i].word))
			*out = words[i].dtype;
	return !word || *out != DT_COUNT ? TB_OK
		: tb_fail(err, TB_EUSAGE, "--decode: bf16, f16 or f32");
}

/* A file, or the words of one: a scheme or a policy. */
static enum tb_status
read_recipe(struct recipe_plan *r, const char *text, struct plan_request *req, struct tb_err *err)
{
	struct tb_err ignored;
	enum tb_status status;

	if (!strchr(text, '/') && !tb_ends(text, ".json") && !tb_exists(text) &&
	    (!plan_ask(req, NULL, text, &ignored) || !plan_ask(req, text, NULL, &ignored)))
		return TB_OK;
	status = plan_recipe_load(&r->recipe, text, err);
	return status ? status : plan_recipe_ask(r->recipe, req, err);
}

static enum tb_status
open_model(struct planned *p, const struct cli *cli, const char *src, bool keep, struct tb_err *err)
{
	enum tb_status status = cli_far_model(cli, &p->far, src, &p->model, err);

	if (!status)
		status = model_loc_copy(&p->loc, &p->model->loc, err);
	if (status)
		return status;
	for (size_t i = 0; i < p->model->nproblems; i++)
		if (!keep || !p->model->problems[i].opaque)	/* bytes alone can be moved */
			return tb_fail(err, TB_EFORMAT, "%s is damaged: %s", src,
				       p->model->problems[i].message);
	return TB_OK;
}

struct measuring {
	struct planned *p;
	struct plan *plan;
};

/* Errors of all that tensors could become, and the choice. */
static enum tb_status
measure(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct measuring *m = arg;
	struct plan_sample *samples;
	size_t n;
	enum tb_status status = plan_candidates(m->plan, &samples, &n, err);

	if (!status)
		status = convert_price(m->plan->model, m->plan->flavour, &m->plan->care, samples, n,
				       m->p->ctx.pool, job, err);
	if (!status)
		status = plan_choose(m->plan, samples, n, &m->plan->limit, err);
	free(samples);
	return status;
}

/* Types of GGUF files want one; so does a GGUF that is to be as small as possible. */
static enum plan_dest
usual_dest(const struct planned *p, const struct plan_request *req)
{
	bool blocks = !req->target.keep && scheme_form(&req->target.scheme) == FORM_BLOCKS;

	if (req->policy == PLAN_LLAMA || blocks ||
	    (plan_policy_measures(req->policy) && model_has_keys(p->model)))
		return PLAN_TO_GGUF;
	return req->policy == PLAN_MLX ? PLAN_TO_DIR : PLAN_TO_STORE;
}

/* A GGUF that does not stay one is seen as Hugging Face has it. */
static enum tb_status
as_needed(struct planned *p, const struct cli *cli, const struct plan_args *a,
	  struct plan_request *req, struct tb_err *err)
{
	enum dtype decode;
	enum tb_status status = read_decode(a->decode, &decode, err);

	if (status || !model_has_keys(p->model) || req->dest == PLAN_TO_GGUF)
		return status;
	if (!p->view) {
		status = hf_view_open(&p->view, p->model, decode, err);
		if (!status && p->view->note)
			cli_note(cli, p->view->note);
	}
	if (!status) {
		req->model = p->view->model;
		req->view = p->view;
	}
	return status;
}

static enum tb_status
take_care(struct recipe_plan *r, const struct plan_args *a, const struct model *m,
	  struct plan_care *out, struct tb_err *err)
{
	enum tb_status status;

	out->search = a->search;
	if (!a->imatrix)
		return a->feedback ? tb_fail(err, TB_EUSAGE, "--feedback needs --imatrix FILE, of "
					     "tbtui calibrate --gram") : TB_OK;
	status = importance_open(&r->importance, a->imatrix, m, err);
	return status ? status : importance_care(r->importance, a->feedback, out, err);
}

/* A pattern that is written wrong would go unseen. */
static void
note_idle_rules(const struct cli *cli, const struct plan *p)
{
	const struct plan_rule *r;
	size_t next = 0, named;

	while ((r = plan_idle_rule(p, &next, &named)) != NULL) {
		char scheme[SCHEME_NAME_MAX] = "keep", pattern[200], note[400];

		if (!r->target.keep)
			scheme_name(&r->target.scheme, scheme);
		tb_text_clean(r->pattern, pattern, sizeof(pattern));
		if (named)
			snprintf(note, sizeof(note), "rule %s=%s changes nothing: of the %zu tensor%s "
				 "of such a name none can be stored so", pattern, scheme, named,
				 tb_plural(named));
		else
			snprintf(note, sizeof(note), "rule %s=%s changes nothing: no tensor has such a "
				 "name; \"tbtui plan\" lists them", pattern, scheme);
		cli_note(cli, note);
	}
}

/* Nobody else reads codes and scales. */
static enum tb_status
unpack_rows(struct plan *p, const char *dtype, struct tb_err *err)
{
	size_t *rows = tb_calloc(p->nrows ? p->nrows : 1, sizeof(*rows)), n = 0;
	struct plan_target target;
	enum tb_status status = rows ? plan_target_parse(dtype, &target, err) : tb_nomem(err);

	for (size_t i = 0; i < p->nrows && !status; i++)
		if (!scheme_is_plain(&p->rows[i].target))
			rows[n++] = i;
	if (!status && n)
		status = plan_set(p, rows, n, &target, err);
	free(rows);
	return status;
}

static void
note_beside(const struct cli *cli, const struct plan *p)
{
	char note[160];
	size_t n = 0;

	for (size_t i = 0; i < p->nrows; i++)
		n += p->rows[i].why == PLAN_BESIDE;
	snprintf(note, sizeof(note), "%zu tensor%s of an adapter, a projector or a draft model stay%s "
		 "behind", n, tb_plural(n), n == 1 ? "s" : "");
	if (n)
		cli_note(cli, note);
}

/* recipe NULL: what -q and --policy say. */
static enum tb_status
add_plan(struct planned *p, const struct cli *cli, const struct plan_args *a, const char *recipe,
	 struct tb_err *err)
{
	struct plan_request req = { .model = p->model, .requantize = a->requantize,
				    .rules = a->rules.v, .nrules = a->rules.n,
				    .shard_max = p->shard_max };
	struct recipe_plan *r = &p->list[p->n++];
	struct measuring m = { p, NULL };
	char name[PLAN_POLICY_MAX];
	enum tb_status status = recipe ? read_recipe(r, recipe, &req, err)
				       : plan_ask(&req, a->quant, a->policy, err);

	if (!status)
		status = read_words(a, &req, err);
	if (status)
		return status;
	r->name = tb_strdup(recipe ? recipe : a->quant && a->policy
			    ? plan_policy_text(req.policy, req.mix, &req.limit, name)
			    : a->policy ? a->policy : a->quant);
	req.dest = p->target.path || p->target.name ? p->target.dest : usual_dest(p, &req);
	if (a->split_max && req.dest != PLAN_TO_GGUF)
		return tb_fail(err, TB_EUSAGE, "--split-max is for GGUF files: name a destination that "
			       "ends in .gguf (slice --shard-max is for folders)");
	if (req.dest == PLAN_TO_GGUF && (a->feedback || (a->search && !a->imatrix)))
		return tb_fail(err, TB_EUSAGE, "%s is for the schemes of MLX: GGUF's types lose less with "
			       "--imatrix FILE alone", a->feedback ? "--feedback" : "--search");
	status = r->name ? as_needed(p, cli, a, &req, err) : tb_nomem(err);
	if (!status)
		status = take_care(r, a, req.model, &req.care, err);
	if (!status)
		status = plan_new(&r->plan, &req, err);
	if (!status && a->plain)
		status = unpack_rows(r->plan, a->plain, err);
	if (!status)
		note_beside(cli, r->plan);
	if (!status)
		note_idle_rules(cli, r->plan);
	m.plan = r->plan;
	if (!status && plan_policy_measures(req.policy))
		status = cli_run(cli, "measuring errors", measure, &m, err);
	return status;
}

static enum tb_status
add_plans(struct planned *p, const struct cli *cli, const struct plan_args *a, size_t max,
	  struct tb_err *err)
{
	size_t n = a->recipes.n;
	enum tb_status status = TB_OK;
	struct tb_err why;

	if (n > max)
		return tb_fail(err, TB_EUSAGE, "one --recipe, please: plan compares several");
	if (n && max == 1 && (a->quant || a->policy))
		return tb_fail(err, TB_EUSAGE, "--recipe says what tensors become: leave out %s",
			       a->quant ? "-q" : "--policy");
	p->list = tb_calloc(n + 1, sizeof(*p->list));
	if (!p->list)
		return tb_nomem(err);
	if (!n || a->quant || a->policy)
		status = add_plan(p, cli, a, NULL, err);
	for (size_t i = 0; i < n && !status; i++) {
		status = add_plan(p, cli, a, a->recipes.v[i], &why);
		if (status)	/* which of them */
			tb_fail(err, status, tb_starts(why.msg, a->recipes.v[i]) ? "%.0s%s"
				: "%.100s: %s", a->recipes.v[i], why.msg);
	}
	p->plan = p->list[0].plan;
	return status;
}

static enum tb_status
take_slice(const struct cli *cli, const struct slice_args *a, struct planned *p,
	   struct tb_err *err)
{
	struct model *m = p->model;
	const struct slice s = {
		.keep = a->keep.v, .nkeep = a->keep.n, .drop = a->drop.v, .ndrop = a->drop.n,
		.rename = a->rename.v, .nrename = a->rename.n,
	};
	char first[200], note[400];
	enum tb_status status;
	size_t lacks;

	if (model_has_keys(m))
		return tb_fail(err, TB_EUNSUP, "%s: slice takes safetensors; quantize -q keep makes some "
			       "of a GGUF", m->loc.path);
	if (a->shard_max && !slice_size(a->shard_max, &p->shard_max))
		return tb_fail(err, TB_EUSAGE, "--shard-max: a size, as 500MB or 4GiB, or none");
	lacks = slice_lacks(m, first, sizeof(first));
	status = slice_model(m, &s, err);
	if (status || lacks == slice_lacks(m, first, sizeof(first)))
		return status;
	snprintf(note, sizeof(note), "what is made will not run by itself: %zu tensors that it needs "
		 "are not in it, %s first", slice_lacks(m, first, sizeof(first)), first);
	cli_note(cli, note);
	return TB_OK;
}

/* A plan alone needs no store to be there yet. */
static enum tb_status
find_target(struct planned *p, const struct cli *cli, const char *dst, bool plan_only,
	    struct tb_err *err)
{
	enum tb_status status = convert_target(&p->ctx, dst, &p->target, err);

	if (status != TB_ENOENT || !plan_only)
		return status;
	cli_note(cli, err->msg);
	return TB_OK;
}

enum tb_status
planned_open(struct planned *p, const struct cli *cli, const struct plan_args *a, const char *src,
	     const char *dst, size_t max, struct tb_err *err)
{
	struct plan_request words = { .model = NULL };
	enum tb_status status = TB_OK;

	*p = (struct planned){ .far = a->far };
	if (!a->recipes.n || a->quant || a->policy)	/* before anything is opened */
		status = plan_ask(&words, a->quant, a->policy, err);
	if (!status)
		status = read_words(a, &words, err);
	if (!status)
		status = cli_ctx(cli, &p->ctx, err);
	if (!status)
		status = open_model(p, cli, src, !a->recipes.n && words.target.keep, err);
	if (!status && dst)
		status = find_target(p, cli, dst, max > 1, err);
	if (!status && a->split_max && !slice_size(a->split_max, &p->shard_max))
		status = tb_fail(err, TB_EUSAGE, "--split-max: a size, as 500MB or 4GiB");
	if (!status && a->slice)
		status = take_slice(cli, a->slice, p, err);
	return status ? status : add_plans(p, cli, a, max, err);
}

void
planned_free(struct planned *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->list[i].name);
		plan_free(p->list[i].plan);
		plan_recipe_free(p->list[i].recipe);
		importance_free(p->list[i].importance);
	}
	free(p->list);
	hf_view_free(p->view);
	convert_target_free(&p->target);
	model_free(p->model);
	cli_far_end(&p->far);
	model_loc_free(&p->loc);
	op_ctx_free(&p->ctx);
	*p = (struct planned){ 0 };
}
