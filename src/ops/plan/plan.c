#include "config.h"

#include "src/ops/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/plan/plan_parts.h"
#include "src/quant/repack.h"
#include "src/store/tensor_name.h"

struct plan_bytes
plan_bytes(const struct scheme *s, enum dtype source, uint64_t elems)
{
	uint64_t scales = scheme_scales(s, elems) * (dtype_bits(scheme_scale_dtype(s, source)) / 8);

	return (struct plan_bytes){ scheme_code_bytes(s, elems), scales,
				    scheme_has_bias(s) ? scales : 0 };
}

static bool
float_source(const struct tensor *t)
{
	enum dtype d = values_dtype(t);

	return t->origin != ORIGIN_UNKNOWN && (d == DT_BF16 || d == DT_F16 || d == DT_F32);
}

/* Blocks of ggml's are for GGUF files, and groups of MLX's for all others. */
static bool
dest_holds(enum plan_dest dest, const struct plan_target *target)
{
	struct scheme s = dest == PLAN_TO_GGUF ? scheme_in_gguf(&target->scheme) : target->scheme;
	enum scheme_form form = scheme_form(&s);

	return target->keep || form == FORM_PLAIN || (form == FORM_BLOCKS) == (dest == PLAN_TO_GGUF);
}

static enum tb_status
check_dest(const struct plan *p, const struct plan_target *target, struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];

	if (dest_holds(p->dest, target))
		return TB_OK;
	if (p->dest == PLAN_TO_GGUF)
		return tb_fail(err, TB_EUSAGE, "%s is a scheme of MLX, which GGUF files do not hold: "
			       "q8_0 or q4_k, for example", scheme_name(&target->scheme, name));
	return tb_fail(err, TB_EUSAGE, "%s is a type of GGUF files: name a destination that ends in"
		       " .gguf, or another scheme", scheme_name(&target->scheme, name));
}

/* What the destination cannot hold is decoded anyway: it may become something else. */
static bool
left_quantized(const struct plan *p, const struct tensor *t)
{
	bool blocks = scheme_form(&t->scheme) == FORM_BLOCKS;

	if (p->requantize)
		return false;
	return p->dest == PLAN_TO_GGUF ? blocks || plan_gguf_repacks(t) : t->has_scale;
}

/* Can this row be stored so?  Never true for quantized rows without requantize. */
bool
plan_fits(const struct plan *p, size_t row, const struct plan_target *target)
{
	const struct tensor *t = p->rows[row].src;

	if (target->keep || scheme_equal(&target->scheme, &t->scheme))
		return true;
	if (!dest_holds(p->dest, target))
		return false;
	if (!float_source(t) || left_quantized(p, t))
		return false;
	if (scheme_is_plain(&target->scheme))
		return true;
	if (p->dest == PLAN_TO_DIR && !tb_ends(t->name, ".weight"))
		return false;		/* MLX has no name for its scales */
	return t->ndim >= 2 && t->elems && scheme_fits(&target->scheme, t->dim[t->ndim - 1]);
}

bool
plan_beside(const struct plan *p, const struct tensor *t)
{
	const struct model *m = p->model;
	enum media media = t->weight.file < m->nfiles ? m->files[t->weight.file].media
						      : MEDIA_UNKNOWN;

	return media == MEDIA_ADAPTER || media == MEDIA_PROJECTOR || media == MEDIA_DRAFT;
}

/* Why plan_fits() says no. */
static enum tb_status
fail_unfit(const struct plan *p, size_t row, const struct plan_target *target,
	   struct tb_err *err)
{
	const struct tensor *t = p->rows[row].src;
	char name[SCHEME_NAME_MAX], why[80];

	if (!float_source(t))
		snprintf(why, sizeof(why), "it holds no BF16, F16 or F32");
	else if (left_quantized(p, t))
		snprintf(why, sizeof(why), "it is quantized already (requantize is off)");
	else if (t->ndim < 2 || !t->elems)
		snprintf(why, sizeof(why), "it is no matrix");
	else if (!scheme_fits(&target->scheme, t->dim[t->ndim - 1]))
		snprintf(why, sizeof(why), "its rows of %" PRIu64 " do not divide into blocks",
			 t->dim[t->ndim - 1]);
	else
		snprintf(why, sizeof(why), "the destination has no place for it");
	return tb_fail(err, TB_EUSAGE, "%s cannot be stored as %s: %s", t->name,
		       scheme_name(&target->scheme, name), why);
}

/* What a row has to be for its blocks' codes to be taken as they are. */
static bool
repacks_as(const struct plan *p, const struct plan_row *r, struct scheme *out)
{
	const struct tensor *t = r->src;

	return p->view && repack_scheme(&t->scheme, out) && t->ndim >= 2 &&
	       (p->dest != PLAN_TO_STORE || scheme_ollama(out)) &&
	       (p->dest != PLAN_TO_DIR || tb_ends(t->name, ".weight"));
}

/* What becomes of a row that is to be kept: of a view what loses nothing elsewhere. */
static struct scheme
kept_scheme(const struct plan *p, const struct plan_row *r, enum plan_why *why)
{
	const struct tensor *t = r->src;
	struct scheme s;

	if (!p->view)
		return t->scheme;
	if (repacks_as(p, r, &s)) {
		*why = PLAN_REPACKED;
		return s;
	}
	if (scheme_form(&t->scheme) == FORM_BLOCKS)
		*why = PLAN_DECODED;
	else if (scheme_is_plain(&t->scheme) && t->home != t->scheme.dtype)
		*why = PLAN_HOME;
	else
		return t->scheme;
	return scheme_plain(t->home);
}

void
plan_set_row(const struct plan *p, struct plan_row *r, const struct plan_target *wanted,
	     enum plan_why why)
{
	struct plan_target target = *wanted;
	struct scheme same, s;
	struct plan_bytes b;

	if (plan_beside(p, r->src)) {
		target = (struct plan_target){ .keep = true };
		why = PLAN_BESIDE;
	} else if (p->dest == PLAN_TO_GGUF) {
		plan_gguf_target(p, r->src, &target, &why);
	}
	s = target.keep ? kept_scheme(p, r, &why) : target.scheme;
	if (!scheme_equal(&s, &r->target))
		r->error = r->loss = -1;
	r->target = s;
	r->why = why;
	r->repack = repacks_as(p, r, &same) && scheme_equal(&s, &same);
	r->dtype = r->repack ? DT_F16 : values_dtype(r->src);
	b = plan_bytes(&s, r->dtype, r->src->elems);
	r->after = b.codes + b.scales + b.biases;
	if (scheme_equal(&s, &r->src->scheme))
		r->after = plan_left_out(why) ? 0 : r->before;
	if (r->repack || why == PLAN_HOME || scheme_equal(&s, &r->src->scheme))
		r->error = r->loss = 0;
}

/* What a policy chooses for one row; not that of PLAN_LLAMA. */
static struct policy_choice
row_choice(const struct plan *p, const struct plan_request *req,
	   const struct policy_model *m, const struct tensor *t)
{
	const struct scheme *asked = &req->target.scheme;
	bool measures = plan_policy_measures(req->policy);

	if (req->target.keep && !measures)
		return policy_kept[PLAN_KEPT];
	if (!float_source(t))
		return policy_kept[PLAN_DTYPE];
	if (left_quantized(p, t) && (measures || !scheme_equal(&t->scheme, asked)))
		return policy_kept[PLAN_QUANTIZED];
	if (measures)
		return policy_kept[PLAN_CHOSEN];
	if (scheme_is_plain(asked))
		return policy_take(*asked, PLAN_ASKED);
	return req->policy == PLAN_UNIFORM || p->dest == PLAN_TO_GGUF ? policy_uniform(t, asked)
	     : req->policy == PLAN_MLX ? policy_mlx(m, t, asked, req->mix)
				       : policy_ollama(m, t, asked);
}

void
plan_count(struct plan *p)
{
	struct plan_total t = { .worst = -1 };
	double loss = 0;
	uint64_t elems = 0;
	bool all = true;

	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];
		bool changed = !scheme_equal(&r->target, &r->src->scheme);

		t.before += r->before;
		t.after += r->after;
		t.tensors++;
		t.changed += changed;
		if (changed && r->error > t.worst)
			t.worst = r->error;
		all &= r->loss >= 0;
		if (plan_left_out(r->why))
			continue;
		loss += r->loss * (double)r->src->elems;
		elems += r->src->elems;
	}
	t.bits = elems ? (double)t.after * 8 / (double)elems : 0;
	t.error = !all ? -1 : elems ? sqrt(loss / (double)elems) : 0;
	p->total = t;
}

static enum plan_experts
layout_of(const struct hf_view *view, enum plan_dest dest, enum plan_experts experts)
{
	if (experts != PLAN_EXPERTS_DEFAULT)
		return experts;
	/* Hugging Face's files have each expert for itself, a GGUF never. */
	return dest == PLAN_TO_STORE ? PLAN_EXPERTS_STACKED
	     : view ? PLAN_EXPERTS_EACH : PLAN_EXPERTS_KEEP;
}

/* Has it experts that become codes; has it stacks by the name that only Ollama knows? */
static void
look_at_experts(const struct plan *p, bool *codes, bool *ollama)
{
	struct tname_expert e;

	*codes = plan_policy_measures(p->policy);	/* they will be */
	*ollama = false;
	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];

		if (!tname_expert(r->src->name, &e) || e.shared)
			continue;
		*codes |= !scheme_is_plain(&r->target);
		*ollama |= e.stacked && !strstr(r->src->name, ".switch_mlp.");
	}
}

/* Programs of MLX load experts that are codes as a stack by its own name alone, Hugging
 * Face's want each for itself. */
static enum tb_status
lay_out(struct plan *p, enum plan_experts asked, struct tb_err *err)
{
	bool codes, ollama;

	p->experts = layout_of(p->view, p->dest, asked);
	if (asked != PLAN_EXPERTS_DEFAULT || p->dest != PLAN_TO_DIR)
		return plan_layout(p, err);
	if (!strcmp(p->model->model_type, "gpt_oss")) {	/* a stack for everybody */
		p->experts = PLAN_EXPERTS_KEEP;
		return plan_layout(p, err);
	}
	look_at_experts(p, &codes, &ollama);
	if (codes) {
		p->experts = PLAN_EXPERTS_STACKED;
		if (!plan_layout(p, NULL))
			return TB_OK;
		p->experts = layout_of(p->view, p->dest, asked);	/* they are not alike */
	} else if (ollama) {
		p->experts = PLAN_EXPERTS_EACH;
	}
	return plan_layout(p, err);
}

/* Those of the policy alone, before anybody says otherwise. */
static enum tb_status
base_choices(struct plan *p, const struct plan_request *req, struct policy_choice *base,
	     struct tb_err *err)
{
	struct policy_model pm;
	enum tb_status status = policy_model(req->model, &pm, err);

	for (size_t i = 0; i < p->nrows && !status; i++)
		base[i] = row_choice(p, req, &pm, p->rows[i].src);
	if (status || req->policy != PLAN_LLAMA)
		return status;
	for (size_t i = 0; i < p->nrows; i++)
		plan_set_row(p, &p->rows[i], &policy_kept[PLAN_KEPT].target, PLAN_KEPT);
	status = plan_layout(p, err);		/* says what each will be called */
	if (!status)
		status = policy_llama(p, &pm, req, base, err);
	for (size_t i = 0; i < p->nrows && !status; i++)
		if (!float_source(p->rows[i].src))
			base[i] = policy_kept[PLAN_DTYPE];
		else if (left_quantized(p, p->rows[i].src) &&
			 !scheme_equal(&p->rows[i].src->scheme, &base[i].target.scheme))
			base[i] = policy_kept[PLAN_QUANTIZED];
	return status;
}

static int
fixed_cmp(const void *name, const void *fixed)
{
	return strcmp(name, ((const struct plan_fixed *)fixed)->name);
}

/* The policy's choice, or what rules of the recipe, its list of tensors and rules of now
 * say instead; a rule that does not fit a tensor does not count. */
static enum tb_status
choose_row(struct plan *p, const struct plan_request *req, size_t i, struct policy_choice c,
	   struct tb_err *err)
{
	const struct tensor *t = p->rows[i].src;
	const struct plan_recipe *recipe = req->recipe;
	size_t first = recipe ? recipe->nrules : 0;
	const struct plan_fixed *fixed = recipe && recipe->ntensors
		? bsearch(t->name, recipe->tensors, recipe->ntensors, sizeof(*fixed), fixed_cmp)
		: NULL;

	for (size_t k = 0; k <= p->nrules; k++) {
		if (k == first && fixed) {
			if (!plan_fits(p, i, &fixed->target))
				return fail_unfit(p, i, &fixed->target, err);
			c = (struct policy_choice){ fixed->target, PLAN_RECIPE };
		}
		if (k < p->nrules && tb_glob(p->rules[k].pattern, t->name) &&
		    plan_fits(p, i, &p->rules[k].target))
			c = (struct policy_choice){ p->rules[k].target, PLAN_RULE };
	}
	if (!plan_fits(p, i, &c.target))
		c = policy_kept[PLAN_NAME];
	plan_set_row(p, &p->rows[i], &c.target, c.why);
	return TB_OK;
}

/* A recipe for another model is a mistake. */
static enum tb_status
check_recipe(const struct plan_request *req, struct tb_err *err)
{
	for (size_t i = 0; req->recipe && i < req->recipe->ntensors; i++)
		if (!model_tensor(req->model, req->recipe->tensors[i].name))
			return tb_fail(err, TB_EUSAGE, "recipe, tensors.%s: %s has no such tensor (the"
				       " recipe was made for %s)", req->recipe->tensors[i].name,
				       req->model->loc.path, *req->recipe->source
				       ? req->recipe->source : "another model");
	return TB_OK;
}

static enum tb_status
fill_rows(struct plan *p, const struct plan_request *req, struct tb_err *err)
{
	struct policy_choice *base = tb_calloc(req->model->ntensors, sizeof(*base));
	enum tb_status status = check_recipe(req, err);

	if (!status && p->dest == PLAN_TO_GGUF)
		status = plan_gguf_open(p, err);
	p->rows = tb_calloc(req->model->ntensors, sizeof(*p->rows));
	if (!p->rows || !base)
		status = tb_nomem(err);
	for (; !status && p->nrows < req->model->ntensors; p->nrows++) {
		const struct tensor *t = &req->model->tensors[p->nrows];

		p->rows[p->nrows] = (struct plan_row){ .src = t, .target = t->scheme,
						       .before = t->bytes };
	}
	if (!status)
		status = base_choices(p, req, base, err);
	for (size_t i = 0; i < p->nrows && !status; i++)
		status = choose_row(p, req, i, base[i], err);
	free(base);
	if (status)
		return status;
	plan_count(p);
	status = lay_out(p, req->experts, err);
	return !status && plan_policy_measures(p->policy) ? plan_estimate(p, err) : status;
}

static enum tb_status
check_source(const struct plan_request *req, struct tb_err *err)
{
	const struct model *m = req->model;
	const struct format *format = kind_format(m->loc.kind);
	const struct tensor *foreign = model_foreign(m);
	char name[SCHEME_NAME_MAX];

	if (format && !format->converted && !req->view && req->dest != PLAN_TO_GGUF)
		return tb_fail(err, TB_EUNSUP, "%s: %s models are read, but not converted here yet",
			       m->loc.path, format->title);
	if (foreign)
		return tb_fail(err, TB_EUNSUP, "%s: %.200s is %s, which is read, but not converted",
			       m->loc.path, foreign->name, scheme_name(&foreign->scheme, name));
	if (!m->ntensors)
		return tb_fail(err, TB_EFORMAT, "%s: no tensors to convert", m->loc.path);
	return TB_OK;
}

/* What was asked for in a word, which names of models may end in. */
static void
name_quant(struct plan *p, const struct plan_request *req)
{
	char *q = p->quant;

	snprintf(q, sizeof(p->quant), "keep");
	if (req->policy == PLAN_LLAMA)
		snprintf(q, sizeof(p->quant), "%s", llama_mix_name(req->mix));
	else if (req->policy == PLAN_MLX && req->mix)
		snprintf(q, sizeof(p->quant), "%s", mlx_mix_name(req->mix));
	else if (plan_policy_measures(req->policy))
		snprintf(q, sizeof(p->quant), "%s", plan_policy_name(req->policy));
	else if (!req->target.keep)
		scheme_name(&req->target.scheme, q);
}

static enum tb_status
add_rule(struct plan *p, const char *text, struct tb_err *err)
{
	struct plan_rule *r = &p->rules[p->nrules];
	enum tb_status status = plan_rule_parse(text, r, err);

	if (status)
		return status;
	p->nrules++;
	return check_dest(p, &r->target, err);
}

/* Those of a recipe come first. */
static enum tb_status
read_rules(struct plan *p, const struct plan_request *req, struct tb_err *err)
{
	size_t n = req->recipe ? req->recipe->nrules : 0;
	enum tb_status status = TB_OK;

	p->rules = tb_calloc(n + req->nrules, sizeof(*p->rules));
	if (!p->rules)
		return tb_nomem(err);
	for (size_t i = 0; i < n && !status; i++)
		status = add_rule(p, req->recipe->rules[i], err);
	for (size_t i = 0; i < req->nrules && !status; i++)
		status = add_rule(p, req->rules[i], err);
	return status;
}

const struct plan_rule *
plan_idle_rule(const struct plan *p, size_t *next, size_t *named)
{
	while (*next < p->nrules) {
		const struct plan_rule *r = &p->rules[(*next)++];
		bool used = false;

		*named = 0;
		for (size_t i = 0; i < p->nrows && !used; i++)
			if (tb_glob(r->pattern, p->rows[i].src->name)) {
				used = plan_fits(p, i, &r->target);
				++*named;
			}
		if (!used)
			return r;
	}
	return NULL;
}

enum tb_status
plan_new(struct plan **out, const struct plan_request *req, struct tb_err *err)
{
	struct plan *p = tb_calloc(1, sizeof(*p));
	enum tb_status status;

	*out = NULL;
	if (!p)
		return tb_nomem(err);
	p->model = req->model;
	p->flavour = req->flavour;
	p->dest = req->dest;
	p->view = req->view;
	p->experts = layout_of(req->view, req->dest, req->experts);
	p->shared = req->shared;
	p->shard_max = req->shard_max;
	p->requantize = req->requantize;
	p->care = req->care;
	p->policy = req->policy;
	p->mix = req->mix;
	p->limit = req->limit;
	name_quant(p, req);
	status = check_source(req, err);
	if (!status)
		status = check_dest(p, &req->target, err);
	if (!status)
		status = read_rules(p, req, err);
	if (!status)
		status = fill_rows(p, req, err);
	if (status) {
		plan_free(p);
		return status;
	}
	*out = p;
	return TB_OK;
}

void
plan_free(struct plan *p)
{
	if (!p)
		return;
	plan_parts_free(p->parts);
	for (size_t i = 0; i < p->nrules; i++)
		free(p->rules[i].pattern);
	free(p->rules);
	free(p->translate);
	plan_blobs_free(p->blobs, p->nblobs);
	free(p->rows);
	free(p);
}

enum tb_status
plan_copy(struct plan **out, const struct plan *p, struct tb_err *err)
{
	struct plan *c = tb_calloc(1, sizeof(*c));
	enum tb_status status = TB_OK;

	*out = NULL;
	if (!c)
		return tb_nomem(err);
	*c = *p;
	c->parts = NULL;
	c->blobs = NULL;
	c->translate = NULL;
	c->nblobs = c->nrules = 0;
	c->rows = tb_calloc(p->nrows, sizeof(*c->rows));
	c->rules = tb_calloc(p->nrules, sizeof(*c->rules));
	if (!c->rows || !c->rules)
		status = tb_nomem(err);
	else
		memcpy(c->rows, p->rows, p->nrows * sizeof(*c->rows));
	for (; !status && c->nrules < p->nrules; c->nrules++) {
		c->rules[c->nrules] = p->rules[c->nrules];
		c->rules[c->nrules].pattern = tb_strdup(p->rules[c->nrules].pattern);
		if (!c->rules[c->nrules].pattern)
			status = tb_nomem(err);
	}
	if (!status && p->translate) {
		c->translate = tb_calloc(1, sizeof(*c->translate));
		if (c->translate)
			*c->translate = *p->translate;
		else
			status = tb_nomem(err);
	}
	if (!status)
		status = plan_layout(c, err);
	if (status)
		plan_free(c);
	else
		*out = c;
	return status;
}

enum tb_status
plan_set(struct plan *p, const size_t *rows, size_t n, const struct plan_target *target,
	 struct tb_err *err)
{
	bool *set;		/* by stack: siblings share a scheme */
	enum tb_status status = check_dest(p, target, err);

	if (status)
		return status;
	for (size_t i = 0; i < n; i++)
		if (rows[i] >= p->nrows)
			return tb_fail(err, TB_EUSAGE, "no tensor %zu", rows[i]);
	set = tb_calloc(p->nrows, sizeof(*set));
	if (!set)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		set[p->rows[rows[i]].stack] = true;
	for (size_t i = 0; i < p->nrows; i++) {
		if (!set[p->rows[i].stack] || plan_fits(p, i, target))
			continue;
		free(set);
		return fail_unfit(p, i, target, err);
	}
	for (size_t i = 0; i < p->nrows; i++)
		if (set[p->rows[i].stack])
			plan_set_row(p, &p->rows[i], target, target->keep ? PLAN_KEPT : PLAN_EDITED);
	free(set);
	plan_count(p);
	return plan_layout(p, err);
}

enum tb_status
plan_set_layout(struct plan *p, enum plan_dest dest, enum plan_experts experts,
		struct tb_err *err)
{
	enum plan_dest old_dest = p->dest;
	enum plan_experts old = p->experts;
	enum tb_status status;

	if (p->view && dest == PLAN_TO_GGUF)
		return tb_fail(err, TB_EUNSUP, "%s: is a GGUF, shown by other names; tbtui quantize "
			       "writes it as another", p->model->loc.path);
	p->dest = dest;
	status = dest == PLAN_TO_GGUF ? plan_gguf_open(p, err) : TB_OK;
	for (size_t i = 0; i < p->nrows && !status && dest == PLAN_TO_GGUF; i++)
		plan_set_row(p, &p->rows[i],
			     &(struct plan_target){ .scheme = p->rows[i].target }, p->rows[i].why);
	if (!status)
		status = lay_out(p, experts, err);
	if (status) {
		p->dest = old_dest;
		p->experts = old;
		(void)!plan_layout(p, NULL);	/* puts the rows' blobs back, too */
	}
	return status;
}

enum tb_status
plan_unpriced(const struct plan *p, struct plan_sample **out, size_t *n, struct tb_err *err)
{
	*n = 0;
	*out = tb_calloc(p->nrows, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	for (size_t i = 0; i < p->nrows; i++)
		if (p->rows[i].error < 0)
			(*out)[(*n)++] = (struct plan_sample){ i, p->rows[i].target, 1, -1, -1 };
	return TB_OK;
}

void
plan_priced(struct plan *p, const struct plan_sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct plan_row *r = samples[i].row < p->nrows ? &p->rows[samples[i].row] : NULL;

		if (!r || samples[i].error < 0 || !scheme_equal(&r->target, &samples[i].target))
			continue;
		if (r->repack || scheme_equal(&r->target, &r->src->scheme))
			continue;	/* it is copied, not encoded again */
		r->error = samples[i].error;
		r->loss = samples[i].loss;
	}
	plan_count(p);
}
