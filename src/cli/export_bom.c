/* export_bom.c - "tbtui audit export": models of a run as a bill of materials. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/cli/verify.h"
#include "src/ops/bom/bom.h"

struct export_task {
	struct op_ctx *ctx;
	struct bom_request req;
	struct tb_out *out;		/* NULL: standard output */
};

static enum tb_status
put_piece(void *arg, const char *text, size_t len, struct tb_err *err)
{
	struct tb_out *out = arg;

	if (out)
		return tb_out_write(out, text, len, err);
	fwrite(text, 1, len, stdout);	/* cli_end() says whether that went well */
	return TB_OK;
}

static enum tb_status
run_export(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct export_task *t = arg;

	return op_bom(t->ctx, &t->req, put_piece, t->out, job, err);
}

static enum tb_status
ask_place(const struct cli *cli, const char *file, bool *replace, struct tb_err *err)
{
	char question[512], clean[400];
	enum tb_status status = report_place(file, true, err);

	*replace = false;
	if (status || !tb_exists(file))
		return status;
	snprintf(question, sizeof(question), "%s exists already. Replace it?",
		 tb_text_clean(file, clean, sizeof(clean)));
	status = cli_confirm(cli, question, replace, err);
	if (!status && !*replace)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", file);
	return status;
}

static enum tb_status
export_file(const struct cli *cli, struct export_task *t, const char *file, struct tb_err *err)
{
	struct tb_out out;
	bool replace;
	enum tb_status status = ask_place(cli, file, &replace, err);
	char *dir = status ? NULL : tb_path_parent(file);

	if (status)
		return status;
	status = dir ? tb_out_open(&out, dir, err) : tb_nomem(err);
	free(dir);
	if (status)
		return status;
	t->out = &out;
	status = cli_run(cli, "export", run_export, t, err);
	if (!status)
		return tb_out_commit(&out, file, replace, err);
	tb_out_abort(&out);
	return status;
}

enum cli_exit
cli_export_bom(const struct cli *cli, struct op_ctx *ctx, const char *file, int argc, char **argv)
{
	struct export_task t = { .ctx = ctx };
	uint64_t run;
	struct tb_err err;
	enum tb_status status;

	if (argc == 1 && tb_parse_u64(argv[0], &run) && run && run <= INT64_MAX) {
		t.req.run = (int64_t)run;
	} else {
		t.req.refs = (const char *const *)argv;
		t.req.nrefs = (size_t)argc;
	}
	status = file && strcmp(file, "-") ? export_file(cli, &t, file, &err)
					   : cli_run(cli, "export", run_export, &t, &err);
	return status ? cli_fail(&err) : CLI_OK;
}
