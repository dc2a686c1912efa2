/* cmd_audit.c - "tbtui audit": earlier verify runs, and reports that were kept. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/cli/verify.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

/* What the subcommands are called with. */
struct audit {
	const struct cli *cli;
	struct op_ctx *ctx;
	struct report_dest to;
	bool unsealed, cyclonedx;
};

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
audit_list(const struct audit *a, struct db *db, int argc, char **argv)
{
	const struct cli *cli = a->cli;
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
audit_show(const struct audit *a, struct db *db, int argc, char **argv)
{
	struct report_dest to = a->to;
	struct report r;
	struct tb_err err;
	enum cli_exit status;

	if (audit_load(&r, db, argc > 0 ? argv[0] : NULL, &err))
		return cli_fail(&err);
	status = cli_report_dest(a->cli, &to, &err) ? cli_fail(&err)
						     : cli_put_report(a->cli, &r, &to);
	if (status == CLI_OK)
		status = cli_run_exit(r.runs.rows->state);
	report_free(&r);
	return status;
}

/* ---- diff ---- */

/* Two runs, or a report and a run. */
struct audit_pair {
	struct report_diff findings;
	struct report_changes models;
};

static enum tb_status
compare(const struct db_findings *findings[2], const struct db_run_models *models[2],
	struct audit_pair *out, struct tb_err *err)
{
	enum tb_status status = report_compare(findings[0], findings[1], &out->findings, err);

	return status ? status : report_changed(models[0], models[1], &out->models, err);
}

static void
free_pair(struct audit_pair *p)
{
	report_diff_free(&p->findings);
	report_changes_free(&p->models);
}

static void
put_findings(const char *word, const struct db_finding *const *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cli_line("%-7s  %-7s  %-15s  %s", word, severity_word(f[i]->severity), f[i]->code,
			 f[i]->message);
}

static void
put_change(const struct report_change *c)
{
	const struct db_run_model *m = c->now ? c->now : c->was;
	const char *word = !c->now ? "gone" : !c->was ? "new" : "changed";
	char states[64] = "", digests[64] = "";

	if (!c->was || !c->now) {
		cli_line("%-7s  model    %-15s  %s", word, db_state_word(m->state), m->name);
		return;
	}
	if (c->was->state != c->now->state)
		snprintf(states, sizeof(states), ": %s before", db_state_word(c->was->state));
	if (report_other_digest(c))
		snprintf(digests, sizeof(digests), "%s digest %.12s, was %.12s", *states ? ";" : ":",
			 c->now->digest + 7, c->was->digest + 7);
	cli_line("%-7s  model    %-15s  %s%s%s", word, db_state_word(m->state), m->name, states,
		 digests);
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

static cJSON *
side_json(const struct db_run_model *m)
{
	cJSON *o = m ? json_object() : NULL;

	if (!m)
		return NULL;
	json_set_str(o, "state", db_state_word(m->state));
	json_set_str(o, "digest", *m->digest ? m->digest : NULL);
	json_set_u64(o, "bytes", m->bytes);
	return o;
}

static cJSON *
changes_json(const struct report_changes *c)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < c->n; i++) {
		const struct db_run_model *was = c->rows[i].was, *now = c->rows[i].now;
		cJSON *o = json_object();

		json_set_str(o, "name", now ? now->name : was->name);
		json_set_str(o, "path", now ? now->path : was->path);
		json_set_str(o, "change", !now ? "gone" : !was ? "new" : "changed");
		if (was)
			json_set(o, "before", side_json(was));
		if (now)
			json_set(o, "after", side_json(now));
		json_push(list, o);
	}
	return list;
}

static enum cli_exit
print_pair(const struct cli *cli, const struct audit_pair *p)
{
	const struct report_diff *d = &p->findings;

	if (cli->json) {
		cJSON *o = json_object();

		json_set(o, "models", changes_json(&p->models));
		json_set_u64(o, "models_same", p->models.same);
		set_findings(o, "gone", d->gone, d->ngone);
		set_findings(o, "new", d->fresh, d->nfresh);
		set_findings(o, "same", d->same, d->nsame);
		return cli_print_json(o);
	}
	for (size_t i = 0; i < p->models.n; i++)
		put_change(&p->models.rows[i]);
	put_findings("gone", d->gone, d->ngone);
	put_findings("new", d->fresh, d->nfresh);
	put_findings("same", d->same, d->nsame);
	printf("models: %zu changed, gone or new, %zu the same\n", p->models.n, p->models.same);
	if (p->models.unknown)
		printf("%zu of those have no digest on one side, so that their bytes are not compared\n",
		       p->models.unknown);
	printf("%zu gone, %zu new, %zu the same\n", d->ngone, d->nfresh, d->nsame);
	return CLI_OK;
}

static enum cli_exit
audit_diff(const struct audit *a, struct db *db, int argc, char **argv)
{
	struct report r[2] = { 0 };
	struct audit_pair p = { 0 };
	enum cli_exit status;
	struct tb_err err;

	(void)argc;
	if (audit_load(&r[0], db, argv[0], &err) || audit_load(&r[1], db, argv[1], &err) ||
	    compare((const struct db_findings *[]){ &r[0].findings, &r[1].findings },
		    (const struct db_run_models *[]){ &r[0].models, &r[1].models }, &p, &err)) {
		status = cli_fail(&err);
	} else {
		if (strcmp(r[0].runs.rows->scope, r[1].runs.rows->scope))
			cli_note(a->cli, "these runs looked at different things: what only one of them "
				 "looked at is gone or new");
		status = print_pair(a->cli, &p);
		if (status == CLI_OK && (p.findings.ngone || p.findings.nfresh || p.models.n))
			status = CLI_WRONG;
	}
	free_pair(&p);
	report_free(&r[0]);
	report_free(&r[1]);
	return status;
}

/* ---- check ---- */

/* A report of other stores would look as if all models were gone. */
static void
compare_roots(const struct cli *cli, const struct report_file *was, const struct op_ctx *ctx)
{
	for (size_t i = 0; i < was->nroots; i++) {
		char *note = NULL;

		if (store_roots_find(&ctx->roots, was->roots[i]) != ctx->roots.n)
			continue;
		note = tb_asprintf("the report is also about %s: give it with -s to look there",
				   was->roots[i]);
		cli_note(cli, note ? note : "the report is about other stores");
		free(note);
	}
}

/* Verifies again what a kept report was about, and says what became of its findings and
 * models. */
static enum cli_exit
replay(const struct audit *a, const char *path)
{
	struct report_file was = { 0 };
	struct report now = { 0 };
	struct audit_pair p = { 0 };
	struct verify_result out = { 0 };
	struct verify_request req;
	enum cli_exit status = CLI_OK;
	struct tb_err err;
	enum tb_status failed = report_read(&was, path, &err);

	req = (struct verify_request){ .refs = (const char *const *)was.refs, .nrefs = was.nrefs,
				   .deep = was.deep, .all = true };
	if (!failed) {
		compare_roots(a->cli, &was, a->ctx);
		failed = cli_verify_run(a->cli, a->ctx, &req, &out, &err);
	}
	if (!failed)
		failed = cli_load_run(a->ctx, &out, &now, &err);
	if (!failed)
		failed = compare((const struct db_findings *[]){ &was.findings, &now.findings },
				 (const struct db_run_models *[]){ &was.models, &now.models }, &p, &err);
	status = failed ? cli_fail(&err) : print_pair(a->cli, &p);
	if (status == CLI_OK)
		status = cli_run_exit(out.state);
	for (size_t i = 0; i < p.models.n && status == CLI_OK; i++)
		if (!p.models.rows[i].now || report_other_digest(&p.models.rows[i]))
			status = CLI_WRONG;
	free_pair(&p);
	report_free(&now);
	report_file_free(&was);
	db_close(out.unkept);
	return status;
}

static enum cli_exit
audit_check(const struct audit *a, const char *path)
{
	char seal[TB_DIGEST_MAX], clean[400];
	enum report_format f;
	struct tb_err err;
	enum tb_status status = report_seal_check(path, &f, seal, &err);

	if (status && !(a->unsealed && status == TB_ENOENT && tb_exists(path)))
		return cli_fail(&err);
	if (f == REPORT_JSON || f == REPORT_COUNT)
		return replay(a, path);
	if (a->cli->json) {
		cJSON *o = json_object();

		json_set_str(o, "format", report_format_name(f));
		json_set_str(o, "seal", seal);
		return cli_print_json(o);
	}
	cli_line("%s: as it was written, seal %s", tb_text_clean(path, clean, sizeof(clean)), seal);
	cli_note(a->cli, "only a report as JSON can be verified again");
	return CLI_OK;
}

static const struct {
	const char *name;
	int min, max;
	enum cli_exit (*run)(const struct audit *a, struct db *db, int argc, char **argv);
} audit_verbs[] = {
	{ "list", 0, 0, audit_list },
	{ "show", 0, 1, audit_show },
	{ "diff", 2, 2, audit_diff },
};
#define AUDIT_VERBS (sizeof(audit_verbs) / sizeof(*audit_verbs))

static enum cli_exit
audit(const struct audit *a, int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "list";
	enum cli_exit status;
	struct tb_err err;
	struct db *db;
	size_t i = 0;

	if (!strcmp(verb, "check") && argc == 2)
		return audit_check(a, argv[1]);
	if (!strcmp(verb, "export") && a->cyclonedx)
		return cli_export_bom(a->cli, a->ctx, a->to.file, argc - 1, argv + 1);
	argc = argc ? argc - 1 : 0;
	while (i < AUDIT_VERBS && (strcmp(audit_verbs[i].name, verb) ||
				   argc > audit_verbs[i].max || argc < audit_verbs[i].min))
		i++;
	if (i == AUDIT_VERBS)
		return cli_usage("audit: list, show [N], diff N M, check FILE, or export --cyclonedx "
				 "[N|REF...]");
	if (db_open_read(&db, a->ctx->db_path, &err))
		return cli_fail(&err);
	cli_note(a->cli, db_notice(db));
	status = audit_verbs[i].run(a, db, argc, argv + 1);
	db_close(db);
	return status;
}

COMMAND(cli_audit, "audit", "[list|show N|diff N M|check FILE|export [N|REF...]]",
	"list, show, compare and export earlier verify runs")
{
	struct op_ctx ctx;
	struct audit a = { .cli = cli, .ctx = &ctx, .to.format = REPORT_TEXT };
	const struct tb_opt opts[] = {
		{ 'o', "report", TB_OPT_STR, &a.to.file, "FILE",
		  "show, export: write to a file: .txt, .json, .csv, .md or .html; - for "
		  "standard output" },
		{ 'F', "format", TB_OPT_STR, &a.to.named, "FORMAT",
		  "text, json, csv, md or html, whatever FILE is called" },
		{ 0, "cyclonedx", TB_OPT_FLAG, &a.cyclonedx, NULL,
		  "export: a bill of materials as CycloneDX 1.6 in JSON, of a run or of models" },
		{ 0, "unsealed", TB_OPT_FLAG, &a.unsealed, NULL,
		  "check: accept reports without a seal, as older versions wrote them" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = audit(&a, argc - 1, argv + 1);
	op_ctx_free(&ctx);
	return status;
}
