/* cmd_create.c - tbtui create: a model of a store from a Modelfile. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/face/after.h"
#include "src/format/modelfile.h"
#include "src/ops/create/create.h"
#include "src/ops/home/home.h"

struct task {
	struct op_ctx *ctx;
	struct create_request req;
	struct create_result res;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
create_task(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	enum tb_status status = op_create(t->ctx, &t->req, job, &t->res, err);

	after_writing(t->ctx, status, &t->late);
	return status;
}

static void
print_notes(const struct cli *cli, char *notes)
{
	char *rest = NULL;

	for (char *line = notes ? strtok_r(notes, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		cli_note(cli, line);
}

/* file NULL: "Modelfile" here, else the folder itself, as Ollama does.  *dir is the
 * caller's to free. */
static enum tb_status
read_modelfile(const char *file, struct tb_buf *text, char **dir, const char **what,
	       struct tb_err *err)
{
	char *bytes = NULL;
	size_t len = 0;
	enum tb_status status = TB_OK;

	*what = file ? file : "Modelfile";
	if (file && !strcmp(file, "-")) {
		*what = "standard input";
		status = cli_read_text(file, text, err);
	} else if (!file && tb_absent(*what)) {
		*what = "no Modelfile is here: FROM .";
		tb_buf_str(text, "FROM .\n");
	} else {
		status = tb_file_slurp(*what, MODELFILE_MAX, &bytes, &len, err);
		tb_buf_add(text, bytes ? bytes : "", len);
		free(bytes);
	}
	*dir = file && strcmp(file, "-") ? tb_path_parent(file) : strdup(".");
	return status ? status : *dir ? tb_buf_status(text, *what, err) : tb_nomem(err);
}

static enum cli_exit
create(struct cli *cli, struct task *t, const struct plan_args *a, const char *file)
{
	struct tb_buf text = TB_BUF(MODELFILE_MAX);
	struct plan_request how = { .requantize = a->requantize, .rules = a->rules.v,
				    .nrules = a->rules.n };
	const struct create_result *r = &t->res;
	enum cli_exit shown = CLI_OK;
	struct op_ctx ctx = { 0 };
	struct tb_err err;
	char *dir = NULL;
	bool converts = a->quant || a->policy || a->recipes.n;
	enum tb_status status = converts ? plan_args_read(a, &how, &err) : TB_OK;

	if (!status)
		status = read_modelfile(file, &text, &dir, &t->req.what, &err);
	if (!status)
		status = cli_ctx(cli, &ctx, &err);
	if (!status) {
		t->ctx = &ctx;
		t->req.text = tb_buf_cstr(&text);
		t->req.len = text.len;
		t->req.dir = dir;
		t->req.how = converts ? &how : NULL;
		status = cli_run(cli, "create", create_task, t, &err);
	}
	print_notes(cli, t->res.notes);
	if (tb_written(status))
		shown = cli_made(cli, &(struct cli_made){ r->name, r->root, { { "layer", r->layers } },
							  r->bytes, r->seconds, &r->kept });
	shown = cli_made_end(status, &err, &t->late, shown);
	create_result_free(&t->res);
	op_ctx_free(&ctx);
	tb_buf_free(&text);
	free(dir);
	return shown;
}

COMMAND(cli_create, "create", "NAME", "make a model from a Modelfile")
{
	const char *file = NULL;
	struct plan_args a = { 0 };
	struct task t = { 0 };
	const struct tb_opt opts[] = {
		{ 'f', "file", TB_OPT_STR, &file, "FILE", "the Modelfile (default: "
		  "./Modelfile); - for standard input" },
		{ 0, "replace", TB_OPT_FLAG, &t.req.replace, NULL,
		  "replace a model of that name; the old one is kept" },
		{ 'q', "quantize", TB_OPT_STR, &a.quant, "SCHEME", "what tensors become on the way: "
		  SCHEME_WORDS SCHEME_DTYPES "keep" },
		{ 0, "policy", TB_OPT_STR, &a.policy, "NAME", "which tensors, as for "
		  "quantize" },
		{ 'r', "rule", TB_OPT_LIST, &a.rules, "PATTERN=SCHEME", "for tensors "
		  "whose names match a glob; repeatable, the last match wins" },
		PLAN_EXPERT_OPTS(a),
		{ 0, "requantize", TB_OPT_FLAG, &a.requantize, NULL,
		  "also convert tensors that are already quantized" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (cli_parse(cli, opts, &argc, argv, 1, 1, &status)) {
		t.req.name = argv[1];
		status = create(cli, &t, &a, file);
	}
	plan_args_free(&a);
	return status;
}
