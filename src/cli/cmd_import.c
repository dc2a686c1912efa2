/* cmd_import.c - tbtui import: safetensors or a GGUF file into a store. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/face/after.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/import/import.h"

struct task {
	struct op_ctx *ctx;
	struct import_request req;
	struct import_result res;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
import_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_import(t->ctx, &t->req, job, &t->res, err);

	after_writing(t->ctx, status, &t->late);
	return status;
}

static enum cli_exit
import_print(const struct cli *cli, const struct import_result *r)
{
	char bytes[16];
	cJSON *doc;

	if (cli->json) {
		doc = json_object();
		json_set_str(doc, "name", r->name);
		json_set_str(doc, "store", r->root);
		json_set_u64(doc, "tensors", r->tensors);
		json_set_u64(doc, "blobs", r->blobs);
		json_set_u64(doc, "bytes", r->bytes);
		json_set_f64(doc, "seconds", r->seconds);
		kept_json(doc, &r->kept);
		return cli_print_json(doc);
	}
	if (cli->quiet)
		return CLI_OK;
	cli_line("%s: %zu tensor%s in %zu blob%s, %s, in %s", r->name, r->tensors,
		 tb_plural(r->tensors), r->blobs, tb_plural(r->blobs),
		 tb_human_bytes(r->bytes, bytes), r->root);
	kept_print(&r->kept);
	return CLI_OK;
}

COMMAND(cli_import, "import", "PATH NAME",
	"a safetensors directory or file, or a GGUF file, into a store")
{
	struct task t = { 0 };
	const struct tb_opt opts[] = {
		{ 'f', "replace", TB_OPT_FLAG, &t.req.replace, NULL,
		  "the name may be taken; the old one is kept" },
		{ .name = NULL }
	};
	enum tb_status failed;
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	t.req.path = argv[1];
	t.req.name = argv[2];
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	t.ctx = &ctx;
	failed = cli_run(cli, "import", import_run, &t, &err);
	status = failed && failed != TB_ESYNC ? CLI_FAILED : import_print(cli, &t.res);
	if (failed)
		status = cli_fail(&err);
	else if (t.late.code && status == CLI_OK)
		status = cli_complain(&t.late);
	import_result_free(&t.res);
	op_ctx_free(&ctx);
	return status;
}
