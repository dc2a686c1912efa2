/* plan_json.c - plans as JSON. */
#include "config.h"

#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/cli/tensors.h"
#include "src/format/json.h"

static double
known(double x)
{
	return x < 0 ? __builtin_nan("") : x;
}

static cJSON *
row_json(const struct plan *p, const struct plan_row *r)
{
	char name[SCHEME_NAME_MAX];
	cJSON *o = json_object();

	json_set_str(o, "name", r->src->name);
	cli_set_shape(o, "shape", r->src->dim, r->src->ndim);
	json_set_str(o, "from", scheme_name(&r->src->scheme, name));
	json_set_str(o, "to", scheme_name(&r->target, name));
	json_set_str(o, "why", plan_why_text(r->why));
	json_set_u64(o, "bytes_before", r->before);
	json_set_u64(o, "bytes_after", r->after);
	json_set_f64(o, "error", known(r->error));
	json_set_f64(o, "nmse", r->error < 0 ? known(-1) : r->error * r->error);
	json_set_str(o, "blob", p->blobs[r->blob].name);
	return o;
}

static cJSON *
rows_json(const struct plan *p)
{
	cJSON *rows = json_array();

	for (size_t i = 0; i < p->nrows; i++)
		json_push(rows, row_json(p, &p->rows[i]));
	return rows;
}

static cJSON *
blobs_json(const struct plan *p)
{
	cJSON *blobs = json_array();

	for (size_t i = 0; i < p->nblobs; i++) {
		cJSON *b = json_object();

		json_set_str(b, "name", p->blobs[i].name);
		json_set_u64(b, "tensors", p->blobs[i].tensors);
		json_set_u64(b, "bytes", p->blobs[i].bytes);
		json_push(blobs, b);
	}
	return blobs;
}

static void
words_json(cJSON *o, const struct plan *p)
{
	char policy[PLAN_POLICY_MAX];

	json_set_str(o, "scheme", p->quant);
	json_set_str(o, "policy", plan_policy_text(p->policy, p->mix, &p->limit, policy));
	json_set_str(o, "flavour", flavour_name(p->flavour));
	json_set_str(o, "experts", plan_experts_name(p->experts));
}

static cJSON *
recipe_json(const struct recipe_plan *r)
{
	const struct plan *p = r->plan;
	cJSON *o = json_object();

	json_set_str(o, "name", r->name);
	words_json(o, p);
	json_set_u64(o, "bytes_before", p->total.before);
	json_set_u64(o, "bytes_after", p->total.after);
	json_set_f64(o, "bits_per_weight", p->total.bits);
	json_set_f64(o, "error", known(p->total.error));
	json_set_f64(o, "worst_error", known(p->total.worst));
	json_set(o, "tensors", rows_json(p));
	return o;
}

/* One plan is said at the top as well: that is where it was before there were several. */
static void
single_json(cJSON *doc, const struct plan *p)
{
	cJSON *t = json_object();

	words_json(doc, p);
	json_set(doc, "tensors", rows_json(p));
	json_set(doc, "blobs", blobs_json(p));
	json_set_u64(t, "bytes_before", p->total.before);
	json_set_u64(t, "bytes_after", p->total.after);
	json_set_u64(t, "tensors", p->total.tensors);
	json_set_u64(t, "changed", p->total.changed);
	json_set_f64(t, "bits_per_weight", p->total.bits);
	json_set_f64(t, "error", known(p->total.error));
	json_set(doc, "total", t);
}

enum cli_exit
planned_json(const struct planned *p)
{
	cJSON *doc = json_object(), *list = json_array();

	json_set_str(doc, "model", p->loc.name);
	if (p->n == 1)
		single_json(doc, p->plan);
	for (size_t i = 0; i < p->n; i++)
		json_push(list, recipe_json(&p->list[i]));
	json_set(doc, "recipes", list);
	cli_far_json(&p->far, doc);
	return cli_print_json(doc);
}
