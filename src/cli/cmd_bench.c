/* cmd_bench.c - "bench": our figures beside this machine's limits. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "src/cli/run_model.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/bench/bench.h"
#include "src/ops/home/home.h"

#define TOKENS_MAX 1000000u

struct running {
	struct op_ctx ctx;
	struct bench_request request;
	struct bench_result result;
};

static enum tb_status
bench_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct running *r = arg;

	return op_bench(&r->ctx, &r->request, job, &r->result, err);
}

static enum cli_exit
bench_json(const struct bench_result *r)
{
	cJSON *doc = json_object(), *rows = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct bench_row *row = &r->rows[i];
		cJSON *o = json_object();

		json_set_str(o, "what", row->what);
		json_set_f64(o, "value", row->value);
		json_set_str(o, "unit", row->unit);
		json_set_f64(o, "limit", row->limit > 0 ? row->limit : NAN);	/* null */
		json_set_f64(o, "ratio", row->limit > 0 ? row->value / row->limit : NAN);
		json_push(rows, o);
	}
	json_set(doc, "rows", rows);
	json_set_u64(doc, "threads", r->threads);
	json_set_str(doc, "blas_core", r->blas_core);
	json_set_str(doc, "kernels", r->kernels);
	json_set_str(doc, "encoder", r->encoder);
	json_set_str(doc, "warning", r->warning);
	return cli_print_json(doc);
}

static enum cli_exit
bench_table(const struct bench_result *r)
{
	struct cli_table t = { .align = "lrlrr" };

	printf("threads %u, kernels %s, encoder %s, OpenBLAS core %s\n", r->threads, r->kernels,
	       r->encoder, r->blas_core);
	if (r->warning)
		printf("warning: %s\n", r->warning);
	cli_cells(&t, "WHAT", "VALUE", "UNIT", "LIMIT", "RATIO", NULL);
	for (size_t i = 0; i < r->n; i++) {
		const struct bench_row *row = &r->rows[i];

		cli_cell(&t, row->what);
		cli_cellf(&t, "%.1f", row->value);
		cli_cell(&t, row->unit);
		if (row->limit > 0) {
			cli_cellf(&t, "%.1f", row->limit);
			cli_cellf(&t, "%.0f %%", 100 * row->value / row->limit);
		} else {
			cli_cells(&t, "", "", NULL);
		}
	}
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

COMMAND(cli_bench, "bench", "[REF]", "measure speed against this machine's limits")
{
	uint64_t pp = 512, tg = 64, depth = 0;
	const char *only = NULL;
	const struct tb_opt opts[] = {
		{ 0, "pp", TB_OPT_U64, &pp, "N", "tokens of the prompt (512)" },
		{ 0, "tg", TB_OPT_U64, &tg, "N", "tokens to generate (64)" },
		RUN_ENGINE_OPTIONS(cli),
		{ 0, "depth", TB_OPT_U64, &depth, "N", "tokens already in the "
		  "context (0)" },
		{ 0, "only", TB_OPT_STR, &only, "PARTS", "some of limits, matrices, "
		  "tokens, encode, hash, stats and model, separated by commas; "
		  "default: model with REF, else all others" },
		{ .name = NULL },
	};
	unsigned parts = 0;
	struct running r = { 0 };
	enum cli_exit exit_status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &exit_status))
		return exit_status;
	if (pp < 1 || tg < 1 || pp > TOKENS_MAX || tg > TOKENS_MAX || depth > TOKENS_MAX)
		return cli_usage("--pp, --tg and --depth take up to %u tokens", TOKENS_MAX);
	if (only && !bench_parts(only, &parts))
		return cli_usage("--only %.60s: limits, matrices, tokens, encode, hash, stats, model",
				 only);
	if (parts >> BENCH_MODEL & 1 && argc < 2)
		return cli_usage("--only model: of which? give its name");
	r.request = (struct bench_request){ argc > 1 ? argv[1] : NULL, (uint32_t)pp, (uint32_t)tg,
					    (uint32_t)depth, parts };
	if (cli_ctx(cli, &r.ctx, &err))
		return cli_fail(&err);
	if (cli_run(cli, "bench", bench_run, &r, &err))
		exit_status = cli_fail(&err);
	else
		exit_status = cli->json ? bench_json(&r.result) : bench_table(&r.result);
	bench_result_free(&r.result);
	op_ctx_free(&r.ctx);
	return exit_status;
}
