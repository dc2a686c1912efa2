/* cmd_demo.c - tbtui demo: a small store to look around in. */
#include "config.h"

#include <stdio.h>

#include "src/cli/cli.h"
#include "src/format/json.h"
#include "src/ops/demo/demo.h"

struct task {
	struct op_ctx ctx;
	const char *dir;
	bool random;
	struct demo_result res;
};

static enum tb_status
demo_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;

	return op_demo(&t->ctx, t->dir, t->random, job, &t->res, err);
}

static enum cli_exit
demo_print(const struct cli *cli, const struct task *t)
{
	cJSON *doc;

	if (cli->json) {
		doc = json_object();
		json_set_str(doc, "store", t->dir);
		json_set_u64(doc, "models", t->res.models);
		json_set_str(doc, "damaged", t->res.damaged);
		json_set_str(doc, "orphan", t->res.orphan);
		return cli_print_json(doc);
	}
	if (cli->quiet)
		return CLI_OK;
	cli_line("%s: %zu models; a blob of %s is damaged, %.19s… belongs to none", t->dir,
		 t->res.models, t->res.damaged, t->res.orphan);
	cli_line("look at it with: tbtui %s", t->dir);
	if (!t->random)
		cli_line("ask it how something is done: tbtui --store %s chat demo:bf16", t->dir);
	return CLI_OK;
}

COMMAND(cli_demo, "demo", "[DIR]",
	"write a small store to explore, with models that can talk")
{
	struct task t = { 0 };
	const struct tb_opt opts[] = {
		{ 0, "random", TB_OPT_FLAG, &t.random, NULL,
		  "smaller models with random weights, which talk nonsense: for tests" },
		{ .name = NULL },
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 1, &status))
		return status;
	t.dir = argc > 1 ? argv[1] : "tbtui-demo";
	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	if (cli_run(cli, "demo", demo_run, &t, &err))
		status = cli_fail(&err);
	else
		status = demo_print(cli, &t);
	demo_result_free(&t.res);
	op_ctx_free(&t.ctx);
	return status;
}
