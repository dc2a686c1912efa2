#include "config.h"

#include "src/ops/plan/plan.h"

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
	enum scheme_form form = scheme_form(&target->scheme);

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

/* A GGUF cannot leave it so: it is decoded anyway. */
static bool
left_quantized(const struct plan *p, const struct tensor *t)
{
	return t->has_scale && !p->requantize && p->dest != PLAN_TO_GGUF;
}

/* Can this row be stored so?  Never true for quantized rows without requantize. */
static bool
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

static void
set_row(const struct plan *p, struct plan_row *r, struct plan_target target, enum plan_why why)
{
	struct scheme same, s;
	struct plan_bytes b;

	if (p->dest == PLAN_TO_GGUF)
		plan_gguf_target(p, r->src, &target, &why);
	s = target.keep ? kept_scheme(p, r, &why) : target.scheme;
	if (!scheme_equal(&s, &r->target))
		r->error = -1;
	r->target = s;
	r->why = why;
	r->repack = repacks_as(p, r, &same) && scheme_equal(&s, &same);
	r->dtype = r->repack ? DT_F16 : values_dtype(r->src);
	b = plan_bytes(&s, r->dtype, r->src->elems);
	r->after = b.codes + b.scales + b.biases;
	if (scheme_equal(&s, &r->src->scheme))
		r->after = why == PLAN_LEFT_OUT ? 0 : r->before;
	if (r->repack || why == PLAN_HOME || scheme_equal(&s, &r->src->scheme))
		r->error = 0;
}

static struct policy_choice
policy(const struct plan *p, const struct plan_request *req, const struct policy_model *m,
       const struct tensor *t)
{
	const struct plan_target keep = { .keep = true };
	struct policy_choice c = { keep, PLAN_KEPT };

	if (req->target.keep)
		return c;
	if (!float_source(t))
		return (struct policy_choice){ keep, PLAN_DTYPE };
	if (left_quantized(p, t) && !scheme_equal(&t->scheme, &req->target.scheme))
		return (struct policy_choice){ keep, PLAN_QUANTIZED };
	if (scheme_is_plain(&req->target.scheme))
		return (struct policy_choice){ req->target, PLAN_ASKED };
	return req->policy == PLAN_UNIFORM || p->dest == PLAN_TO_GGUF ? policy_uniform(t, &req->target.scheme)
					   : policy_ollama(m, t, &req->target.scheme);
}

static unsigned
count_layers(const struct model *m)
{
	struct tname_layer l;
	uint64_t n = 0;

	for (size_t i = 0; i < m->ntensors; i++)
		if (tname_layer(m->tensors[i].name, &l) && l.number >= n && l.number < 100000)
			n = l.number + 1;
	return (unsigned)n;
}

static void
count_totals(struct plan *p)
{
	struct plan_total t = { .error = -1 };
	uint64_t elems = 0;

	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];
		bool changed = !scheme_equal(&r->target, &r->src->scheme);

		t.before += r->before;
		t.after += r->after;
		t.tensors++;
		t.changed += changed;
		t.sampled += changed && r->error >= 0;
		if (changed && r->error > t.error)
			t.error = r->error;
		elems += r->src->elems;
	}
	t.bits = elems ? (double)t.after * 8 / (double)elems : 0;
	p->total = t;
}

#define SHARD_MAX 5000000000u	/* what a file system and a download can bear */

static enum plan_experts
layout_of(const struct hf_view *view, enum plan_dest dest, enum plan_experts experts)
{
	if (experts != PLAN_EXPERTS_DEFAULT)
		return experts;
	/* Hugging Face's files have each expert for itself, a GGUF never. */
	return dest == PLAN_TO_STORE ? PLAN_EXPERTS_STACKED
	     : view ? PLAN_EXPERTS_EACH : PLAN_EXPERTS_KEEP;
}

static enum tb_status
fill_rows(struct plan *p, const struct plan_request *req, struct tb_err *err)
{
	struct policy_model pm = { req->model->arch, count_layers(req->model) };

	enum tb_status status = p->dest == PLAN_TO_GGUF ? plan_gguf_open(p, err) : TB_OK;

	if (status)
		return status;
	p->rows = tb_calloc(req->model->ntensors, sizeof(*p->rows));
	if (!p->rows)
		return tb_nomem(err);
	p->nrows = req->model->ntensors;
	for (size_t i = 0; i < p->nrows; i++) {
		const struct tensor *t = &req->model->tensors[i];
		struct policy_choice c = policy(p, req, &pm, t);

		p->rows[i] = (struct plan_row){ .src = t, .target = t->scheme, .before = t->bytes };
		for (size_t k = 0; k < p->nrules; k++)
			if (tb_glob(p->rules[k].pattern, t->name) &&
			    plan_fits(p, i, &p->rules[k].target))
				c = (struct policy_choice){ p->rules[k].target, PLAN_RULE };
		if (!plan_fits(p, i, &c.target))
			c = (struct policy_choice){ { .keep = true }, PLAN_NAME };
		set_row(p, &p->rows[i], c.target, c.why);
	}
	count_totals(p);
	return plan_layout(p, err);
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
	p->shard_max = req->shard_max ? req->shard_max : SHARD_MAX;
	p->requantize = req->requantize;
	p->care = req->care;
	snprintf(p->quant, sizeof(p->quant), "keep");
	if (!req->target.keep)
		scheme_name(&req->target.scheme, p->quant);
	p->rules = tb_calloc(req->nrules, sizeof(*p->rules));
	status = p->rules ? check_source(req, err) : tb_nomem(err);
	if (!status)
		status = check_dest(p, &req->target, err);
	for (; !status && p->nrules < req->nrules; p->nrules++) {
		struct plan_rule *r = &p->rules[p->nrules];

		status = plan_rule_parse(req->rules[p->nrules], r, err);
		if (!status)
			status = check_dest(p, &r->target, err);
	}
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
		return tb_fail(err, TB_EUSAGE, "%s cannot be stored so: %s", p->rows[i].src->name,
			       p->rows[i].src->has_scale && !p->requantize
			       ? "it is quantized already (requantize is off)"
			       : "its rows or its type do not fit");
	}
	for (size_t i = 0; i < p->nrows; i++)
		if (set[p->rows[i].stack])
			set_row(p, &p->rows[i], *target, target->keep ? PLAN_KEPT : PLAN_EDITED);
	free(set);
	count_totals(p);
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
	p->experts = layout_of(p->view, dest, experts);
	status = dest == PLAN_TO_GGUF ? plan_gguf_open(p, err) : TB_OK;
	for (size_t i = 0; i < p->nrows && !status && dest == PLAN_TO_GGUF; i++)
		set_row(p, &p->rows[i], (struct plan_target){ .scheme = p->rows[i].target },
			p->rows[i].why);
	if (!status)
		status = plan_layout(p, err);
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
			(*out)[(*n)++] = (struct plan_sample){ i, p->rows[i].target, -1 };
	return TB_OK;
}

void
plan_priced(struct plan *p, const struct plan_sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct plan_row *r = samples[i].row < p->nrows ? &p->rows[samples[i].row] : NULL;

		if (r && samples[i].error >= 0 && scheme_equal(&r->target, &samples[i].target))
			r->error = samples[i].error;
	}
	count_totals(p);
}
