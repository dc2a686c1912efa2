/* cmd_plan.c - tbtui plan: what a conversion would write. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/cli/table.h"
#include "src/cli/tensors.h"
#include "src/format/json.h"

static enum tb_status
plan_errors(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct planned *p = arg;
	struct plan_sample *samples;
	size_t n;
	enum tb_status status = plan_unpriced(p->plan, &samples, &n, err);

	if (status)
		return status;
	status = convert_price(p->plan->model, p->plan->flavour, samples, n, p->ctx.pool, job, err);
	if (!status)
		plan_priced(p->plan, samples, n);
	free(samples);
	return status;
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
	json_set_f64(o, "error", r->error < 0 ? __builtin_nan("") : r->error);
	json_set_str(o, "blob", p->blobs[r->blob].name);
	return o;
}

static enum cli_exit
plan_json(const struct planned *pl, const struct plan_args *a)
{
	const struct plan *p = pl->plan;
	cJSON *doc = json_object(), *rows = json_array(), *blobs = json_array(), *t = json_object();

	json_set_str(doc, "model", pl->loc.name);
	json_set_str(doc, "scheme", p->quant);
	json_set_str(doc, "policy", a->policy ? a->policy : plan_policy_name(PLAN_OLLAMA));
	json_set_str(doc, "flavour", flavour_name(p->flavour));
	json_set_str(doc, "experts", plan_experts_name(p->experts));
	for (size_t i = 0; i < p->nrows; i++)
		json_push(rows, row_json(p, &p->rows[i]));
	json_set(doc, "tensors", rows);
	for (size_t i = 0; i < p->nblobs; i++) {
		cJSON *b = json_object();

		json_set_str(b, "name", p->blobs[i].name);
		json_set_u64(b, "tensors", p->blobs[i].tensors);
		json_set_u64(b, "bytes", p->blobs[i].bytes);
		json_push(blobs, b);
	}
	json_set(doc, "blobs", blobs);
	json_set_u64(t, "bytes_before", p->total.before);
	json_set_u64(t, "bytes_after", p->total.after);
	json_set_u64(t, "tensors", p->total.tensors);
	json_set_u64(t, "changed", p->total.changed);
	json_set_f64(t, "bits_per_weight", p->total.bits);
	json_set(doc, "total", t);
	return cli_print_json(doc);
}

static enum cli_exit
plan_text(const struct cli *cli, const struct plan *p)
{
	struct cli_table t = { .align = "mllrrrl", .drop = "0504123", .wide = cli->wide };
	char from[SCHEME_NAME_MAX], to[SCHEME_NAME_MAX], a[16], b[16];

	for (size_t i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->rows[i];

		cli_cells(&t, r->src->name, scheme_name(&r->src->scheme, from),
			  scheme_name(&r->target, to), tb_human_bytes(r->before, a),
			  tb_human_bytes(r->after, b), NULL);
		if (r->error > 0)
			cli_cellf(&t, "%.2f%%", r->error * 100);
		else
			cli_cell(&t, r->error < 0 ? "?" : "-");
		cli_cell(&t, plan_why_text(r->why));
	}
	if (!cli_table_end(&t))
		return CLI_FAILED;
	printf("%zu tensor%s, %zu changed, %s -> %s (%.2f bits a weight) in %zu %s%s",
	       p->total.tensors, tb_plural(p->total.tensors), p->total.changed,
	       tb_human_bytes(p->total.before, a), tb_human_bytes(p->total.after, b),
	       p->total.bits, p->nblobs, p->dest == PLAN_TO_STORE ? "blob" : "file",
	       tb_plural(p->nblobs));
	if (p->total.error >= 0)
		printf(", worst error %.2f%%", p->total.error * 100);
	putchar('\n');
	return CLI_OK;
}

COMMAND(cli_plan, "plan", "SRC [DST]", "what a conversion would write, and its errors")
{
	struct plan_args a = { 0 };
	bool no_errors = false;
	const struct tb_opt opts[] = {
		PLAN_OPTS(a),
		{ 0, "no-errors", TB_OPT_FLAG, &no_errors, NULL, "do not measure errors on samples" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct planned p;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status)) {
		tb_strs_free(&a.rules);
		return status;
	}
	if (planned_open(&p, cli, &a, argv[1], argc > 2 ? argv[2] : NULL, &err) ||
	    (!no_errors && cli_run(cli, "measuring errors", plan_errors, &p, &err)))
		status = cli_fail(&err);
	else
		status = cli->json ? plan_json(&p, &a) : plan_text(cli, p.plan);
	planned_free(&p);
	tb_strs_free(&a.rules);
	return status;
}
