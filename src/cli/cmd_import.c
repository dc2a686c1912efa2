/* cmd_import.c - tbtui import: safetensors or a GGUF file into a store. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/bundle_file.h"
#include "src/cli/plan_args.h"
#include "src/face/after.h"
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

/* ---- a GGUF as tensor layers: a conversion that keeps what it can ---- */

struct as_tensors {
	struct planned p;
	struct convert_result res;
	bool replace;
	struct tb_err late;
};

static enum tb_status
tensors_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct as_tensors *t = arg;
	struct convert_request req = { .plan = t->p.plan, .target = &t->p.target,
				       .replace = t->replace };
	enum tb_status status = op_convert(&t->p.ctx, &req, job, &t->res, err);

	after_writing(&t->p.ctx, status, &t->late);
	return status;
}

static enum cli_exit
tensors_print(const struct cli *cli, const struct as_tensors *t)
{
	return cli_made(cli, &(struct cli_made){ t->res.where, t->p.target.root,
		{ { "tensor", t->res.tensors }, { "blob", t->p.plan->nblobs } },
		t->p.plan->total.after, t->res.seconds, &t->res.kept });
}

static enum cli_exit
import_tensors(struct cli *cli, const struct plan_args *a, bool replace, char **argv)
{
	struct as_tensors t = { .replace = replace };
	enum cli_exit shown = CLI_OK;
	struct tb_err err;
	enum tb_status status = planned_open(&t.p, cli, a, argv[1], argv[2], 1, &err);

	if (!status && t.p.target.dest != PLAN_TO_STORE)
		status = tb_fail(&err, TB_EUSAGE, "%s: is no name in a store; quantize -q keep writes "
				 "directories and files", argv[2]);
	if (!status)
		status = cli_run(cli, "import", tensors_run, &t, &err);
	if (tb_written(status))
		shown = tensors_print(cli, &t);
	shown = cli_made_end(status, &err, &t.late, shown);
	convert_result_free(&t.res);
	planned_free(&t.p);
	return shown;
}

/* *tensors: the layers that are wanted.  A folder's are tensors anyway. */
static enum tb_status
read_as(const char *as, const char *path, bool *tensors, struct tb_err *err)
{
	const struct format *format = NULL;
	enum tb_status status = TB_OK;

	*tensors = false;
	if (!as || !strcmp(as, "file"))
		return TB_OK;
	if (strcmp(as, "tensors"))
		return tb_fail(err, TB_EUSAGE, "--as: file or tensors");
	if (!tb_is_dir(path))
		status = format_of_file(path, &format, err);
	*tensors = format && format->keys;
	return status;
}

static enum cli_exit
import_path(struct cli *cli, struct task *t)
{
	const struct import_result *r = &t->res;
	enum cli_exit shown = CLI_OK;
	enum tb_status status;
	struct op_ctx ctx;
	struct tb_err err;

	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	t->ctx = &ctx;
	status = cli_run(cli, "import", import_run, t, &err);
	if (tb_written(status))
		shown = cli_made(cli, &(struct cli_made){ r->name, r->root,
			{ { "tensor", r->tensors }, { "blob", r->blobs } }, r->bytes, r->seconds,
			&r->kept });
	shown = cli_made_end(status, &err, &t->late, shown);
	import_result_free(&t->res);
	op_ctx_free(&ctx);
	return shown;
}

COMMAND(cli_import, "import", "PATH [NAME]",
	"bring safetensors, a GGUF file or a bundle into a store")
{
	struct task t = { 0 };
	struct plan_args a = { .quant = "keep" };
	const char *as = NULL;
	bool tensors;
	const struct tb_opt opts[] = {
		{ 0, "as", TB_OPT_STR, &as, "WHAT",
		  "a GGUF file: file (default) or tensors, layers by Hugging Face's names" },
		{ 0, "decode", TB_OPT_STR, &a.decode, "DTYPE",
		  "with --as tensors: what blocks are decoded to that no scheme can "
		  "keep: bf16, f16 or f32" },
		{ 'f', "replace", TB_OPT_FLAG, &t.req.replace, NULL,
		  "replace a model of that name; the old one is kept" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status))
		return status;
	if (!strcmp(argv[1], "-") || bundle_is(argv[1]))
		return bundle_file_import(cli, argv[1], argc > 2 ? argv[2] : NULL, t.req.replace);
	if (argc < 3)
		return cli_usage("import: what shall it be called? (models of a bundle alone have "
				 "names)");
	if (read_as(as, argv[1], &tensors, &err))
		return cli_fail(&err);
	if (tensors)
		return import_tensors(cli, &a, t.req.replace, argv);
	t.req.path = argv[1];
	t.req.name = argv[2];
	return import_path(cli, &t);
}
