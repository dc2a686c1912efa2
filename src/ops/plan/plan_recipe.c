/* plan_recipe.c - recipes as files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/out.h"
#include "src/format/json.h"
#include "src/ops/plan/plan_parts.h"

#define RECIPE_VERSION 1
#define RECIPE_MAX (256u << 20)		/* bytes: a name may be long, and there may be many */

/* id, key */
#define KEY_LIST(X) \
	X(RECIPE, "recipe") X(SOURCE, "source") X(SCHEME, "scheme") X(POLICY, "policy") \
	X(FLAVOUR, "flavour") X(EXPERTS, "experts") X(SHARED, "shared") \
	X(REQUANTIZE, "requantize") X(RULES, "rules") X(TENSORS, "tensors")
#define X(id, key) KEY_##id,
enum { KEY_LIST(X) KEY_COUNT };
#undef X
static const char *const keys[] = {
#define X(id, key) key,
	KEY_LIST(X)
#undef X
};

static enum tb_status
no_key(const char *path, const char *key, struct tb_err *err)
{
	struct tb_near near = { .word = key };
	char text[256];

	for (unsigned i = 0; i < KEY_COUNT; i++)
		tb_near_try(&near, keys[i]);
	return tb_fail(err, TB_EUSAGE, "%s: a recipe has no key \"%.60s\"%s", path, key,
		       tb_near_text(&near, text, sizeof(text)));
}

static enum tb_status
read_word(const char *path, const cJSON *v, char **out, struct tb_err *err)
{
	const char *s = json_str(v);

	if (!s)
		return tb_fail(err, TB_EUSAGE, "%s: %s is no text", path, json_key(v));
	*out = tb_strdup(s);
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_rules(struct plan_recipe *r, const char *path, const cJSON *list, struct tb_err *err)
{
	if (!json_is_array(list))
		return tb_fail(err, TB_EUSAGE, "%s: rules is no list of \"PATTERN=SCHEME\"", path);
	r->rules = tb_calloc(json_count(list), sizeof(*r->rules));
	if (!r->rules)
		return tb_nomem(err);
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		struct plan_rule rule;
		char where[32];

		snprintf(where, sizeof(where), "rules[%zu]", r->nrules);
		if (!json_str(v))
			return tb_fail(err, TB_EUSAGE, "%s: %s is no text", path, where);
		if (plan_rule_parse(json_str(v), &rule, err))
			return tb_wrap(err, TB_EUSAGE, "%s: %s", path, where);
		free(rule.pattern);
		r->rules[r->nrules] = tb_strdup(json_str(v));
		if (!r->rules[r->nrules++])
			return tb_nomem(err);
	}
	return TB_OK;
}

static int
fixed_cmp(const void *a, const void *b)
{
	return strcmp(((const struct plan_fixed *)a)->name, ((const struct plan_fixed *)b)->name);
}

static enum tb_status
read_tensors(struct plan_recipe *r, const char *path, const cJSON *map, struct tb_err *err)
{
	if (!json_is_object(map))
		return tb_fail(err, TB_EUSAGE, "%s: tensors is no object of names and schemes", path);
	r->tensors = tb_calloc(json_count(map), sizeof(*r->tensors));
	if (!r->tensors)
		return tb_nomem(err);
	for (const cJSON *v = json_first(map); v; v = json_next(v)) {
		struct plan_fixed *f = &r->tensors[r->ntensors];

		if (!json_str(v))
			return tb_fail(err, TB_EUSAGE, "%s: tensors.%.200s is no text", path,
				       json_key(v));
		if (plan_target_parse(json_str(v), &f->target, err))
			return tb_wrap(err, TB_EUSAGE, "%s: tensors.%.200s", path, json_key(v));
		f->name = tb_strdup(json_key(v));
		r->ntensors++;
		if (!f->name)
			return tb_nomem(err);
	}
	if (r->ntensors)
		qsort(r->tensors, r->ntensors, sizeof(*r->tensors), fixed_cmp);
	return TB_OK;
}

static enum tb_status
read_key(struct plan_recipe *r, const char *path, const cJSON *v, struct tb_err *err)
{
	unsigned i = 0;
	uint64_t version;

	while (i < KEY_COUNT && strcmp(json_key(v), keys[i]) != 0)
		i++;
	switch (i) {
	case KEY_RECIPE:
		if (!json_u64(v, &version) || version != RECIPE_VERSION)
			return tb_fail(err, TB_EUSAGE, "%s: recipe is not %d: a newer program may know"
				       " it", path, RECIPE_VERSION);
		return TB_OK;
	case KEY_SOURCE:
		return read_word(path, v, &r->source, err);
	case KEY_SCHEME:
		return read_word(path, v, &r->scheme, err);
	case KEY_POLICY:
		return read_word(path, v, &r->policy, err);
	case KEY_FLAVOUR:
		return read_word(path, v, &r->flavour, err);
	case KEY_EXPERTS:
		return read_word(path, v, &r->experts, err);
	case KEY_SHARED:
		return read_word(path, v, &r->shared, err);
	case KEY_REQUANTIZE:
		return json_bool(v, &r->requantize) ? TB_OK
			: tb_fail(err, TB_EUSAGE, "%s: requantize is neither true nor false", path);
	case KEY_RULES:
		return read_rules(r, path, v, err);
	case KEY_TENSORS:
		return read_tensors(r, path, v, err);
	default:
		return no_key(path, json_key(v), err);
	}
}

enum tb_status
plan_recipe_load(struct plan_recipe **out, const char *path, struct tb_err *err)
{
	struct plan_recipe *r = tb_calloc(1, sizeof(*r));
	cJSON *doc = NULL;
	enum tb_status status = r ? json_read(&doc, path, RECIPE_MAX, err) : tb_nomem(err);

	*out = NULL;
	if (!status && (!json_is_object(doc) || !json_get(doc, "recipe")))
		status = tb_fail(err, TB_EUSAGE, "%s is no recipe: {\"recipe\":1,…}, as plan --save "
				 "writes it", path);
	for (const cJSON *v = json_first(doc); v && !status; v = json_next(v))
		status = read_key(r, path, v, err);
	if (!status && !r->source && !(r->source = tb_strdup("")))
		status = tb_nomem(err);
	json_free(doc);
	if (status)
		plan_recipe_free(r);
	else
		*out = r;
	return status;
}

void
plan_recipe_free(struct plan_recipe *r)
{
	if (!r)
		return;
	free(r->source);
	free(r->scheme);
	free(r->policy);
	free(r->flavour);
	free(r->experts);
	free(r->shared);
	for (size_t i = 0; i < r->nrules; i++)
		free(r->rules[i]);
	free(r->rules);
	for (size_t i = 0; i < r->ntensors; i++)
		free(r->tensors[i].name);
	free(r->tensors);
	free(r);
}

enum tb_status
plan_recipe_ask(const struct plan_recipe *r, struct plan_request *req, struct tb_err *err)
{
	req->recipe = r;
	if (r->flavour && !flavour_parse(r->flavour, &req->flavour))
		return tb_fail(err, TB_EUSAGE, "recipe, flavour: metal or mlx-cpu");
	if (r->experts && !plan_experts_parse(r->experts, &req->experts))
		return tb_fail(err, TB_EUSAGE, "recipe, experts: stacked, per-expert or keep");
	if (r->shared && !plan_shared_parse(r->shared, &req->shared))
		return tb_fail(err, TB_EUSAGE, "recipe, shared: packed or apart");
	req->requantize |= r->requantize;
	if (!r->scheme && !r->policy)		/* what is not listed stays as it is */
		return plan_ask(req, NULL, "keep", err);
	return plan_ask(req, r->scheme, r->policy, err);
}

static cJSON *
tensors_json(const struct plan *p)
{
	cJSON *map = json_object();

	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];
		char name[SCHEME_NAME_MAX];

		json_set_str(map, r->src->name, scheme_equal(&r->target, &r->src->scheme)
			     ? "keep" : scheme_name(&r->target, name));
	}
	return map;
}

static cJSON *
rules_json(const struct plan *p)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < p->nrules; i++) {
		const struct plan_target *t = &p->rules[i].target;
		char name[SCHEME_NAME_MAX];
		char *text = tb_asprintf("%s=%s", p->rules[i].pattern,
					 t->keep ? "keep" : scheme_name(&t->scheme, name));

		if (text)
			json_push_str(list, text);
		else
			json_push(list, NULL);	/* notes that it is not whole */
		free(text);
	}
	return list;
}

enum tb_status
plan_recipe_save(const struct plan *p, const char *path, struct tb_err *err)
{
	cJSON *doc = json_object();
	char policy[PLAN_POLICY_MAX], *text;
	enum tb_status status;

	json_set_u64(doc, "recipe", RECIPE_VERSION);
	json_set_str(doc, "source", p->model->loc.name);
	if (p->policy == PLAN_OLLAMA || p->policy == PLAN_UNIFORM ||
	    (p->policy == PLAN_MLX && !p->mix))
		json_set_str(doc, "scheme", p->quant);
	json_set_str(doc, "policy", plan_policy_text(p->policy, p->mix, &p->limit, policy));
	json_set_str(doc, "flavour", flavour_name(p->flavour));
	json_set_str(doc, "experts", plan_experts_name(p->experts));
	if (p->shared != PLAN_SHARED_DEFAULT)
		json_set_str(doc, "shared", plan_shared_name(p->shared));
	if (p->requantize)
		json_set_bool(doc, "requantize", true);
	json_set(doc, "rules", rules_json(p));
	json_set(doc, "tensors", tensors_json(p));
	text = json_print_pretty(doc);
	json_free(doc);
	status = text ? tb_out_file(path, text, strlen(text), false, err) : tb_nomem(err);
	free(text);
	return status;
}
