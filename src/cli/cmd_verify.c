/* cmd_verify.c - "tbtui verify". */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/cli/verify.h"
#include "src/ops/home/home.h"

struct verify_task {
	struct op_ctx *ctx;
	struct verify_request req;
	struct verify_result out;
};

static enum tb_status
run_verify(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct verify_task *a = arg;

	return op_verify(a->ctx, &a->req, job, &a->out, err);
}

enum tb_status
cli_verify_run(const struct cli *cli, struct op_ctx *ctx, const struct verify_request *req,
	       struct verify_result *out, struct tb_err *err)
{
	struct verify_task a = { .ctx = ctx, .req = *req };
	enum tb_status status = cli_run(cli, "verify", run_verify, &a, err);

	*out = a.out;
	cli_note(cli, a.out.notice);
	return status;
}

/* "7d", "12h", "30m", "90s", "2w"; or a day or time, UTC. */
static enum tb_status
parse_since(const char *text, int64_t *ns, struct tb_err *err)
{
	static const struct { char unit; int64_t seconds; } units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 },
	};
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d" };
	char *end;
	long long n = strtoll(text, &end, 10);

	for (size_t i = 0; end > text && n >= 0 && n < 1000000 && i < 5; i++)
		if (*end == units[i].unit && !end[1]) {
			*ns = tb_now_ns() - n * units[i].seconds * INT64_C(1000000000);
			return TB_OK;
		}
	for (size_t i = 0; i < 2; i++) {
		struct tm tm = { 0 };
		const char *rest = strptime(text, forms[i], &tm);

		if (rest && !*rest) {
			*ns = (int64_t)timegm(&tm) * INT64_C(1000000000);
			return TB_OK;
		}
	}
	return tb_fail(err, TB_EUSAGE, "--since: \"%s\" is neither an age (7d, 12h) nor a day "
		       "(2026-01-31) nor a time (2026-01-31T12:00:00Z)", text);
}

enum cli_exit
cli_print_report(const struct cli *cli, const struct report *r, enum report_format format)
{
	struct tb_buf text = TB_BUF(512u << 20);
	enum tb_status status;
	struct tb_err err;

	if (cli->json)
		return cli_print_json(report_json(r));
	status = report_render(r, format, &text, &err);
	if (!status)
		cli_put_buf(&text);
	tb_buf_free(&text);
	return status ? cli_fail(&err) : CLI_OK;
}

enum cli_exit
cli_run_exit(enum run_state state)
{
	if (run_state_good(state))
		return CLI_OK;
	return state == RUN_DAMAGE ? CLI_WRONG : CLI_FAILED;
}

enum tb_status
cli_load_run(const struct op_ctx *ctx, const struct verify_result *out, struct report *r,
	     struct tb_err *err)
{
	struct db *db = NULL;
	enum tb_status status;

	if (out->unkept)
		return report_load(r, out->unkept, out->run, err);
	status = db_open_read(&db, ctx->db_path, err);
	if (!status)
		status = report_load(r, db, out->run, err);
	db_close(db);
	return status;
}

static enum cli_exit
put_report(const struct cli *cli, struct op_ctx *ctx, const struct verify_result *out,
	   const char *file, enum report_format format)
{
	struct report r;
	struct tb_err err;
	enum cli_exit status;

	if (cli_load_run(ctx, out, &r, &err))
		return cli_fail(&err);
	if (file && report_write(&r, format, file, true, &err))
		status = cli_fail(&err);
	else
		status = cli_print_report(cli, &r, file ? REPORT_TEXT : format);
	report_free(&r);
	return status;
}

static enum cli_exit
verify(const struct cli *cli, struct op_ctx *ctx, const struct verify_request *req, const char *file,
       enum report_format format)
{
	struct verify_result out;
	struct tb_err err = { 0 };
	enum tb_status status = cli_verify_run(cli, ctx, req, &out, &err);
	enum cli_exit done = CLI_OK;

	if (out.run && (!status || status == TB_ECANCEL))
		done = put_report(cli, ctx, &out, file, format);
	db_close(out.unkept);
	if (status)
		return cli_fail(&err);
	if (out.state == RUN_EMPTY && !out.models)
		cli_explain(cli, ctx, "there was nothing to verify");
	return done == CLI_OK ? cli_run_exit(out.state) : done;
}

/* Before hours of reading: can the report be put there, and as what? */
static enum tb_status
check_report(const struct cli *cli, const char *file, const char *format, enum report_format *f,
	     struct tb_err *err)
{
	char question[512], clean[400];
	enum tb_status status = TB_OK;
	bool yes = false;

	if (format)
		status = report_format_parse(format, f, err);
	else if (file)
		status = report_format_of(file, f, err);
	if (status || !file)
		return status;
	status = report_place(file, true, err);
	if (status || !tb_exists(file))
		return status;
	snprintf(question, sizeof(question), "%s exists already. Replace it?",
		 tb_text_clean(file, clean, sizeof(clean)));
	status = cli_confirm(cli, question, &yes, err);
	if (!status && !yes)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", file);
	return status;
}

COMMAND(cli_verify, "verify", "[REF...]", "check digests, sizes and structure")
{
	struct verify_request req = { 0 };
	const char *since = NULL, *file = NULL, *format = NULL;
	const struct tb_opt opts[] = {
		{ 'D', "deep", TB_OPT_FLAG, &req.deep, NULL,
		  "also look for NaN and infinities, and hash what no model uses" },
		{ 0, "since", TB_OPT_STR, &since, "T",
		  "skip files found good since then (7d, 2026-01-31) and not touched" },
		{ 'o', "report", TB_OPT_STR, &file, "FILE",
		  "write a report: .txt, .json, .csv, .md or .html" },
		{ 'F', "format", TB_OPT_STR, &format, "FORMAT",
		  "text, json, csv, md or html, whatever FILE is called" },
		{ .name = NULL }
	};
	enum report_format f = REPORT_TEXT;
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	if ((since && parse_since(since, &req.since_ns, &err)) ||
	    check_report(cli, file, format, &f, &err) || cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	req.refs = (const char *const *)argv + 1;
	req.nrefs = (size_t)argc - 1;
	status = verify(cli, &ctx, &req, file, f);
	op_ctx_free(&ctx);
	return status;
}
