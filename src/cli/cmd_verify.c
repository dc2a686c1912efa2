/* cmd_verify.c - "tbtui verify". */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/cli/tidy.h"
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
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d" };
	char *end;
	long long n = strtoll(text, &end, 10);

	if (end > text && n >= 0 && n < 1000000 && tb_age_unit(*end) && !end[1]) {
		*ns = tb_now_ns() - n * tb_age_unit(*end) * INT64_C(1000000000);
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

enum tb_status
cli_report_dest(const struct cli *cli, struct report_dest *to, struct tb_err *err)
{
	char question[512], clean[400];
	enum tb_status status = TB_OK;

	if (to->file && !strcmp(to->file, "-"))
		to->file = NULL;
	else if (!to->file && !to->named)
		return TB_OK;
	to->whole = !to->file;
	if (to->named)
		status = report_format_parse(to->named, &to->format, err);
	else if (to->file)
		status = report_format_of(to->file, &to->format, err);
	if (status || !to->file)
		return status;
	status = report_place(to->file, true, err);
	if (status || !tb_exists(to->file))
		return status;
	snprintf(question, sizeof(question), "%s exists already. Replace it?",
		 tb_text_clean(to->file, clean, sizeof(clean)));
	status = cli_confirm(cli, question, &to->replace, err);
	if (!status && !to->replace)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", to->file);
	return status;
}

static enum tb_status
put_stdout(void *arg, const char *text, size_t len, struct tb_err *err)
{
	(void)arg;
	(void)err;
	fwrite(text, 1, len, stdout);	/* cli_end() says whether that went well */
	return TB_OK;
}

enum cli_exit
cli_put_report(const struct cli *cli, const struct report *r, const struct report_dest *to)
{
	struct tb_buf text = TB_BUF(512u << 20);
	enum report_format format = cli->json ? REPORT_JSON : to->format;
	char seal[TB_DIGEST_MAX];
	struct tb_err err;

	if (to->file && report_write(r, to->format, to->file, to->replace, seal, &err)) {
		if (r->opened)
			cli_line("the run is kept: \"tbtui audit show %jd --report FILE\" writes its "
				 "report", (intmax_t)r->runs.rows->id);
		return cli_fail(&err);
	}
	if (cli->json || to->whole)
		return report_print(r, format, put_stdout, NULL, NULL, &err) ? cli_fail(&err) : CLI_OK;
	report_brief(r, &text);
	cli_put_buf(&text);
	tb_buf_free(&text);
	if (to->file && !cli->quiet)
		cli_line("report: %s, seal %s", to->file, seal);
	return CLI_OK;
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
	return out->unkept ? report_load(r, out->unkept, out->run, err)
			   : report_open(r, ctx->db_path, out->run, err);
}

static enum cli_exit
put_run(const struct cli *cli, struct op_ctx *ctx, const struct verify_result *out,
	const struct report_dest *to)
{
	struct report r;
	struct tb_err err;
	enum cli_exit status;

	if (cli_load_run(ctx, out, &r, &err))
		return cli_fail(&err);
	status = cli_put_report(cli, &r, to);
	report_free(&r);
	return status;
}

static enum cli_exit
verify(const struct cli *cli, struct op_ctx *ctx, const struct verify_request *req,
       const struct report_dest *to)
{
	struct verify_result out;
	struct tb_err err = { 0 };
	enum tb_status status = cli_verify_run(cli, ctx, req, &out, &err);
	enum cli_exit done = CLI_OK;

	if (out.run && (!status || status == TB_ECANCEL))
		done = put_run(cli, ctx, &out, to);
	if (status == TB_ECANCEL && out.run && !out.unkept && !req->all && req->since_ns <= 0)
		cli_note(cli, "the same verify again goes on from here");
	db_close(out.unkept);
	if (status)
		return cli_fail(&err);
	if (out.state == RUN_DAMAGE && !cli->json && !to->whole && !cli->quiet)
		cli_line("\"tbtui heal --dry-run\" says what can be mended from copies of it");
	cli_tidy_note(cli, ctx);
	if (out.state == RUN_EMPTY && !out.models)
		cli_explain(cli, ctx, "there was nothing to verify");
	return done == CLI_OK ? cli_run_exit(out.state) : done;
}

COMMAND(cli_verify, "verify", "[REF...]",
	"check digests, sizes and structure, and write reports")
{
	struct verify_request req = { 0 };
	struct report_dest to = { .format = REPORT_TEXT };
	const char *since = NULL;
	const struct tb_opt opts[] = {
		{ 'D', "deep", TB_OPT_FLAG, &req.deep, NULL,
		  "also look at values (NaN, outliers, zeros, scales), and hash what no model uses" },
		{ 0, "since", TB_OPT_STR, &since, "T",
		  "skip files found good since then (7d, 2026-01-31) and unchanged" },
		{ 'a', "all", TB_OPT_FLAG, &req.all, NULL,
		  "also read what an interrupted run had found good" },
		{ 'o', "report", TB_OPT_STR, &to.file, "FILE",
		  "write a report: .txt, .json, .csv, .md or .html; - for standard output" },
		{ 'F', "format", TB_OPT_STR, &to.named, "FORMAT",
		  "text, json, csv, md or html, whatever FILE is called" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	if (since && req.all)
		return cli_usage("--all reads everything, --since does not: give one of them");
	if ((since && parse_since(since, &req.since_ns, &err)) ||
	    cli_report_dest(cli, &to, &err) || cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	req.refs = (const char *const *)argv + 1;
	req.nrefs = (size_t)argc - 1;
	status = verify(cli, &ctx, &req, &to);
	op_ctx_free(&ctx);
	return status;
}
