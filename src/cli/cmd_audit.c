/* cmd_audit.c - "tbtui audit": earlier verify runs, and reports that were kept. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/cli/verify.h"
#include "src/ops/home/home.h"

/* ---- list ---- */

static cJSON *
run_json(const struct db_run *r)
{
	cJSON *o = json_object();
	char time[32];

	json_set_i64(o, "run", r->id);
	json_set_str(o, "started", tb_time_rfc3339(r->started_ns, time));
	json_set_str(o, "state", run_state_word(r->state));
	json_set_str(o, "scope", *r->scope ? r->scope : "all models");
	json_set_bool(o, "deep", r->deep);
	json_set_u64(o, "models", r->models);
	json_set_u64(o, "manifests", r->manifests);
	json_set_u64(o, "blobs", r->blobs);
	json_set_u64(o, "bytes", r->bytes);
	json_set_u64(o, "errors", r->errors);
	json_set_u64(o, "warnings", r->warnings);
	json_set_u64(o, "notes", r->notes);
	json_set_f64(o, "seconds", r->seconds);
	return o;
}

static enum cli_exit
audit_list(const struct cli *cli, struct db *db, int argc, char **argv)
{
	struct cli_table t = { .align = "rllrrrrrm", .drop = "013675284", .wide = cli->wide };
	cJSON *o, *list;
	struct db_runs runs;
	struct tb_err err;
	bool ok;

	(void)argc;
	(void)argv;
	if (db_runs(db, NULL, &runs, &err))
		return cli_fail(&err);
	if (cli->json) {
		o = json_object();
		list = json_array();
		for (size_t i = 0; i < runs.n; i++)
			json_push(list, run_json(&runs.rows[i]));
		json_set(o, "runs", list);
		tb_arena_free(&runs.mem);
		return cli_print_json(o);
	}
	cli_cells(&t, "RUN", "STARTED", "STATE", "MODELS", "BLOBS", "BYTES", "ERRORS", "NOTES",
		  "SCOPE", NULL);
	for (size_t i = 0; i < runs.n; i++) {
		const struct db_run *r = &runs.rows[i];
		char time[32], bytes[16];

		cli_cell_u64(&t, (uint64_t)r->id);
		cli_cells(&t, tb_time_rfc3339(r->started_ns, time), run_state_word(r->state), NULL);
		cli_cell_u64(&t, r->models);
		cli_cell_u64(&t, r->blobs);
		cli_cell(&t, tb_human_bytes(r->bytes, bytes));
		cli_cell_u64(&t, r->errors);
		cli_cell_u64(&t, r->notes);
		cli_cell(&t, *r->scope ? r->scope : "all models");
	}
	ok = cli_table_end(&t);
	tb_arena_free(&runs.mem);
	return ok ? CLI_OK : CLI_FAILED;
}

/* ---- show ---- */

static enum tb_status
audit_load(struct report *r, struct db *db, const char *number, struct tb_err *err)
{
	uint64_t n = 0;

	if (number && (!tb_parse_u64(number, &n) || n == 0 || n > INT64_MAX))
		return tb_fail(err, TB_EUSAGE, "audit: \"%s\" is no number of a run", number);
	return report_load(r, db, (int64_t)n, err);
}

static enum cli_exit
audit_show(const struct cli *cli, struct db *db, int argc, char **argv)
{
	struct report r;
	struct tb_err err;
	enum cli_exit status;

	if (audit_load(&r, db, argc > 0 ? argv[0] : NULL, &err))
		return cli_fail(&err);
	status = cli_print_report(cli, &r, REPORT_TEXT);
	if (status == CLI_OK)
		status = cli_run_exit(r.runs.rows->state);
	report_free(&r);
	return status;
}

/* ---- diff ---- */

static void
put_findings(const char *word, const struct db_finding *const *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cli_line("%-6s  %-7s  %-15s  %s", word, severity_word(f[i]->severity), f[i]->code,
			 f[i]->message);
}

static void
set_findings(cJSON *o, const char *key, const struct db_finding *const *f, size_t n)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < n; i++) {
		cJSON *x = json_object();

		json_set_str(x, "severity", severity_word(f[i]->severity));
		json_set_str(x, "code", f[i]->code);
		json_set_str(x, "model", f[i]->model);
		json_set_str(x, "blob", f[i]->blob);
		json_set_str(x, "message", f[i]->message);
		json_push(list, x);
	}
	json_set(o, key, list);
}

static enum cli_exit
print_diff(const struct cli *cli, const struct report_diff *d)
{
	if (cli->json) {
		cJSON *o = json_object();

		set_findings(o, "gone", d->gone, d->ngone);
		set_findings(o, "new", d->fresh, d->nfresh);
		set_findings(o, "same", d->same, d->nsame);
		return cli_print_json(o);
	}
	put_findings("gone", d->gone, d->ngone);
	put_findings("new", d->fresh, d->nfresh);
	put_findings("same", d->same, d->nsame);
	printf("%zu gone, %zu new, %zu the same\n", d->ngone, d->nfresh, d->nsame);
	return CLI_OK;
}

static enum cli_exit
audit_diff(const struct cli *cli, struct db *db, int argc, char **argv)
{
	struct report a = { 0 }, b = { 0 };
	struct report_diff d = { 0 };
	enum cli_exit status;
	struct tb_err err;

	(void)argc;
	if (audit_load(&a, db, argv[0], &err) || audit_load(&b, db, argv[1], &err) ||
	    report_compare(&a.findings, &b.findings, &d, &err)) {
		status = cli_fail(&err);
	} else {
		status = print_diff(cli, &d);
		if (status == CLI_OK && (d.ngone || d.nfresh))
			status = CLI_WRONG;
	}
	report_diff_free(&d);
	report_free(&a);
	report_free(&b);
	return status;
}

/* ---- check ---- */

/* Verifies again what a kept report was about, and says what became of its findings. */
static enum cli_exit
audit_check(const struct cli *cli, struct op_ctx *ctx, const char *path)
{
	struct report_file was = { 0 };
	struct report now = { 0 };
	struct report_diff d = { 0 };
	struct verify_result out = { 0 };
	struct verify_request req;
	enum cli_exit status = CLI_OK;
	struct tb_err err;
	enum tb_status failed = report_read(&was, path, &err);

	req = (struct verify_request){ .refs = (const char *const *)was.refs, .nrefs = was.nrefs,
				   .deep = was.deep };
	if (!failed)
		failed = cli_verify_run(cli, ctx, &req, &out, &err);
	if (!failed)
		failed = cli_load_run(ctx, &out, &now, &err);
	if (!failed)
		failed = report_compare(&was.findings, &now.findings, &d, &err);
	if (failed)
		status = cli_fail(&err);
	else
		status = print_diff(cli, &d);
	if (status == CLI_OK)
		status = cli_run_exit(out.state);
	report_diff_free(&d);
	report_free(&now);
	report_file_free(&was);
	db_close(out.unkept);
	return status;
}

static const struct {
	const char *name;
	int min, max;
	enum cli_exit (*run)(const struct cli *cli, struct db *db, int argc, char **argv);
} audit_verbs[] = {
	{ "list", 0, 0, audit_list },
	{ "show", 0, 1, audit_show },
	{ "diff", 2, 2, audit_diff },
};
#define AUDIT_VERBS (sizeof(audit_verbs) / sizeof(*audit_verbs))

static enum cli_exit
audit(const struct cli *cli, struct op_ctx *ctx, int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "list";
	enum cli_exit status;
	struct tb_err err;
	struct db *db;
	size_t i = 0;

	if (!strcmp(verb, "check") && argc == 2)
		return audit_check(cli, ctx, argv[1]);
	argc = argc ? argc - 1 : 0;
	while (i < AUDIT_VERBS && (strcmp(audit_verbs[i].name, verb) ||
				   argc > audit_verbs[i].max || argc < audit_verbs[i].min))
		i++;
	if (i == AUDIT_VERBS)
		return cli_usage("audit: list, show [N], diff N M, or check FILE");
	if (db_open_read(&db, ctx->db_path, &err))
		return cli_fail(&err);
	cli_note(cli, db_notice(db));
	status = audit_verbs[i].run(cli, db, argc, argv + 1);
	db_close(db);
	return status;
}

COMMAND(cli_audit, "audit", "[list|show N|diff N M|check FILE]", "earlier verify runs")
{
	enum cli_exit status;
	struct op_ctx ctx;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 0, 3, &status))
		return status;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = audit(cli, &ctx, argc - 1, argv + 1);
	op_ctx_free(&ctx);
	return status;
}
