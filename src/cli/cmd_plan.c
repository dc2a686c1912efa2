/* cmd_plan.c - tbtui plan: what a conversion would write. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/cli/table.h"

#define RECIPES_MAX 26		/* each has a letter */

/* Of rows that have none yet. */
static enum tb_status
plan_errors(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct planned *p = arg;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < p->n && !status; i++) {
		struct plan *plan = p->list[i].plan;
		struct plan_sample *samples;
		size_t n;

		status = plan_unpriced(plan, &samples, &n, err);
		if (!status)
			status = convert_price(plan->model, plan->flavour, &plan->care, samples, n,
					       p->ctx.pool, job, err);
		if (!status)
			plan_priced(plan, samples, n);
		free(samples);
	}
	return status;
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
		printf(", error %.2f%%", p->total.error * 100);
	if (p->total.worst >= 0)
		printf(", worst error %.2f%%", p->total.worst * 100);
	putchar('\n');
	return CLI_OK;
}

/* The file that quantize --recipe would do the same with. */
static enum tb_status
save(const struct cli *cli, const struct planned *p, const char *path, struct tb_err *err)
{
	struct tb_buf note = TB_BUF(8192);
	enum tb_status status;

	if (p->n > 1)
		return tb_fail(err, TB_EUSAGE, "--save: these are several recipes; which one?");
	status = plan_recipe_save(p->plan, path, err);
	tb_buf_printf(&note, "saved: %s", path);
	if (!status)
		cli_note(cli, tb_buf_cstr(&note));
	tb_buf_free(&note);
	return status;
}

static enum cli_exit
show(const struct cli *cli, const struct planned *p)
{
	return cli->json ? planned_json(p) : p->n > 1 ? planned_compare(cli, p)
						      : plan_text(cli, p->plan);
}

COMMAND(cli_plan, "plan", "SRC [DST]",
	"preview a conversion: size and error of every tensor")
{
	struct plan_args a = { 0 };
	bool no_errors = false, errors = false;
	const char *save_as = NULL;
	const struct tb_opt opts[] = {
		PLAN_OPTS(a),
		SPLIT_OPT(a),
		{ 0, "save", TB_OPT_STR, &save_as, "FILE", "save the recipe, for "
		  "--recipe" },
		{ 0, "no-errors", TB_OPT_FLAG, &no_errors, NULL, "do not measure errors on samples" },
		{ 0, "errors", TB_OPT_FLAG, &errors, NULL,
		  "also measure errors of a remote model: samples of it are downloaded" },
		FAR_OPTS(a.far),
		{ .name = NULL }
	};
	enum cli_exit status;
	struct planned p;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status)) {
		plan_args_free(&a);
		return status;
	}
	if (plan_args_words(&a)) {
		plan_args_free(&a);
		return CLI_OK;
	}
	if (planned_open(&p, cli, &a, argv[1], argc > 2 ? argv[2] : NULL, RECIPES_MAX, &err) ||
	    (save_as && save(cli, &p, save_as, &err)) ||
	    (!no_errors && (!a.far.on || errors) && cli_run(cli, "measuring errors", plan_errors, &p, &err)))
		status = cli_fail(&err);
	else
		status = show(cli, &p);
	cli_far_note(cli, &p.far);
	planned_free(&p);
	plan_args_free(&a);
	return status;
}
