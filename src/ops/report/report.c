#include "config.h"

#include "src/ops/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"

#define REPORT_MAX (512u << 20)		/* bytes of a rendered report */

static const char *const formats[] = {
#define X(id, name) [id] = name,
	REPORT_LIST(X)
#undef X
};

enum tb_status
report_format_parse(const char *name, enum report_format *out, struct tb_err *err)
{
	for (int i = 0; i < REPORT_COUNT; i++)
		if (!strcmp(formats[i], name)) {
			*out = (enum report_format)i;
			return TB_OK;
		}
	return tb_fail(err, TB_EUSAGE, "no report format \"%s\": text, json, csv, md or html",
		       name);
}

enum tb_status
report_format_of(const char *path, enum report_format *out, struct tb_err *err)
{
	static const struct { const char *ending; enum report_format format; } endings[] = {
		{ ".txt", REPORT_TEXT }, { ".text", REPORT_TEXT }, { ".json", REPORT_JSON },
		{ ".csv", REPORT_CSV }, { ".md", REPORT_MD }, { ".markdown", REPORT_MD },
		{ ".html", REPORT_HTML }, { ".htm", REPORT_HTML },
	};
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	*out = REPORT_TEXT;
	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcasecmp(dot, endings[i].ending)) {
			*out = endings[i].format;
			return TB_OK;
		}
	return !dot ? TB_OK : tb_fail(err, TB_EUSAGE, "%.300s: no report is written as %.20s; end"
				      " it with .txt, .json, .csv, .md or .html", path, dot);
}

enum tb_status
report_place(const char *path, bool replace, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	enum tb_status status = TB_OK;

	if (!dir)
		return tb_nomem(err);
	if (!tb_is_dir(dir))
		status = tb_fail(err, TB_ENOENT, "%.400s: there is no folder %s", path, dir);
	else if (tb_is_dir(path))
		status = tb_fail(err, TB_EEXIST, "%.400s is a folder; name a file in it", path);
	else if (!replace && tb_exists(path))
		status = tb_fail(err, TB_EEXIST, "%.400s exists already; give another name", path);
	free(dir);
	return status;
}

enum tb_status
report_load(struct report *r, struct db *db, int64_t run, struct tb_err *err)
{
	struct db_query last = { .limit = 1 };
	enum tb_status status;

	*r = (struct report){ 0 };
	status = run ? db_run_by_id(db, run, &r->runs, err) : db_runs(db, &last, &r->runs, err);
	if (!status && !r->runs.n)
		status = run ? tb_fail(err, TB_ENOENT, "no verify run %jd", (intmax_t)run)
			     : tb_fail(err, TB_ENOENT, "nothing was verified yet");
	if (!status)
		status = db_findings(db, r->runs.rows->id, NULL, &r->findings, err);
	if (!status)
		status = db_run_models(db, r->runs.rows->id, &r->models, err);
	if (status)
		report_free(r);
	return status;
}

void
report_free(struct report *r)
{
	tb_arena_free(&r->runs.mem);
	tb_arena_free(&r->findings.mem);
	tb_arena_free(&r->models.mem);
	*r = (struct report){ 0 };
}

/* ---- JSON ---- */

static void
set_some(cJSON *o, const char *key, const char *s)
{
	json_set_str(o, key, s && *s ? s : NULL);
}

enum { COLUMNS = 10 };
static const char *const columns[COLUMNS] = { "severity", "code", "model", "blob", "tensor",
	"offset", "expected", "actual", "message", "model_path" };

static void
cells(const struct db_finding *f, char offset[24], const char *out[COLUMNS])
{
	const char *const all[COLUMNS] = { severity_word(f->severity), f->code, f->model, f->blob,
		f->tensor, offset, f->expected, f->actual, f->message, f->model_path };

	*offset = 0;
	if (f->has_offset)
		snprintf(offset, 24, "%ju", (uintmax_t)f->offset);
	memcpy(out, all, sizeof(all));
}

static cJSON *
finding_json(const struct db_finding *f)
{
	cJSON *o = json_object();
	const char *cell[COLUMNS];
	char offset[24];

	cells(f, offset, cell);
	for (int i = 0; i < COLUMNS; i++)
		if (cell[i] == offset && f->has_offset)
			json_set_u64(o, columns[i], f->offset);
		else
			set_some(o, columns[i], cell[i]);
	return o;
}

static cJSON *
models_json(const struct db_run_models *models)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < models->n; i++) {
		cJSON *o = json_object();

		json_set_str(o, "name", models->rows[i].name);
		json_set_str(o, "path", models->rows[i].path);
		json_set_str(o, "state", db_state_word(models->rows[i].state));
		json_push(list, o);
	}
	return list;
}

static cJSON *
scope_json(const char *scope)
{
	cJSON *a = json_array();
	struct tb_buf ref = TB_BUF(1u << 20);

	for (; *scope; scope += *scope == '\n') {
		size_t n = strcspn(scope, "\n");

		tb_buf_clear(&ref);
		tb_buf_add(&ref, scope, n);
		if (tb_buf_failed(&ref))
			json_push(a, NULL);	/* notes that it is not whole */
		else
			json_push_str(a, tb_buf_cstr(&ref));
		scope += n;
	}
	tb_buf_free(&ref);
	return a;
}

cJSON *
report_json(const struct report *r)
{
	const struct db_run *run = r->runs.rows;
	cJSON *o = json_object(), *checked = json_object(), *list = json_array();
	char time[32];

	json_set_u64(checked, "models", run->models);
	json_set_u64(checked, "manifests", run->manifests);
	json_set_u64(checked, "blobs", run->blobs);
	json_set_u64(checked, "bytes", run->bytes);
	json_set(o, "checked", checked);
	for (size_t i = 0; i < r->findings.n; i++)
		json_push(list, finding_json(&r->findings.rows[i]));
	json_set(o, "findings", list);
	json_set_bool(o, "clean", run_state_good(run->state));
	json_set_f64(o, "seconds", run->seconds);
	json_set_i64(o, "run", run->id);
	json_set_str(o, "state", run_state_word(run->state));
	json_set_str(o, "started", tb_time_rfc3339(run->started_ns, time));
	json_set_bool(o, "deep", run->deep);
	json_set(o, "scope", scope_json(run->scope));
	set_some(o, "message", run->message);
	json_set_u64(o, "recorded", run->recorded);
	json_set_u64(o, "skipped", run->skipped);
	json_set(o, "models", models_json(&r->models));
	return o;
}

/* ---- the others ---- */

static void
put_count(struct tb_buf *out, uint64_t n, const char *what, const char *then)
{
	tb_buf_printf(out, "%ju %s%s%s", (uintmax_t)n, what, tb_plural(n), then);
}

void
report_states(const struct db_run_models *models, struct tb_buf *out)
{
	size_t n[DB_STATE_COUNT] = { 0 };
	const char *before = "";

	for (size_t i = 0; i < models->n; i++)
		n[models->rows[i].state]++;
	for (int s = 0; s < DB_STATE_COUNT; s++)
		if (n[s]) {
			tb_buf_printf(out, "%s%zu %s", before, n[s],
				      db_state_word((enum db_state)s));
			before = ", ";
		}
}

/* What was not compared with anything, and why. */
static void
text_uncompared(const struct db_run *run, struct tb_buf *out)
{
	char time[32];

	if (run->recorded) {
		put_count(out, run->recorded, "file", " read and recorded; the next verify compares\n");
	} else if (run->state == RUN_EMPTY && run->models) {
		tb_buf_str(out, "none of their bytes was read: that says nothing about them\n");
	}
	if (!run->skipped)
		return;
	tb_time_rfc3339(run->since_ns, time);
	if (run->state == RUN_SKIPPED) {
		put_count(out, run->models, "model", "");
		tb_buf_printf(out, ", all found good since %s; nothing read\n", time);
	} else {
		put_count(out, run->skipped, "file", "");
		tb_buf_printf(out, " found good since %s, not read again\n", time);
	}
}

static void
text_head(const struct report *r, struct tb_buf *out)
{
	const struct db_run *run = r->runs.rows;
	char time[32], bytes[16];

	tb_buf_printf(out, "run %jd of %s, ", (intmax_t)run->id,
		      tb_time_rfc3339(run->started_ns, time));
	if (*run->scope)
		tb_text_clip(out, run->scope, SIZE_MAX, false);
	else
		tb_buf_str(out, "all models");
	tb_buf_printf(out, "%s\n%s: ", run->deep ? " (deep)" : "", run_state_word(run->state));
	put_count(out, run->models, "model", ", ");
	put_count(out, run->manifests, "manifest", ", ");
	put_count(out, run->blobs, "blob", ", ");
	tb_buf_printf(out, "%s in %.1f s; ", tb_human_bytes(run->bytes, bytes), run->seconds);
	put_count(out, run->errors, "error", ", ");
	put_count(out, run->warnings, "warning", ", ");
	put_count(out, run->notes, "note", "\n");
	tb_buf_str(out, r->models.n ? "models: " : "");
	report_states(&r->models, out);
	tb_buf_str(out, r->models.n ? "\n" : "");
	text_uncompared(run, out);
	if (*run->message) {
		tb_text_clip(out, run->message, SIZE_MAX, false);
		tb_buf_chr(out, '\n');
	}
}

#define CODE_COLS 15

static void
render_text(const struct report *r, struct tb_buf *out)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct db_finding *f = &r->findings.rows[i];

		tb_buf_printf(out, "%-7s  ", severity_word(f->severity));
		tb_text_clip(out, f->code, CODE_COLS, true);
		tb_buf_str(out, "  ");
		tb_text_clip(out, f->message, SIZE_MAX, false);
		tb_buf_chr(out, '\n');
		if (*f->expected || *f->actual) {
			tb_buf_str(out, "         expected ");
			tb_text_clip(out, f->expected, SIZE_MAX, false);
			tb_buf_str(out, "\n         actual   ");
			tb_text_clip(out, f->actual, SIZE_MAX, false);
			tb_buf_chr(out, '\n');
		}
	}
	text_head(r, out);
}

/* One character of a cell: what the format itself means something by is escaped. */
typedef void escape_fn(struct tb_buf *out, const char *clean);

/* A quote before what a spreadsheet would take for a formula. */
static void
csv_cell(struct tb_buf *out, const char *s)
{
	tb_buf_chr(out, '"');
	if (*s && strchr("=+-@", *s))
		tb_buf_chr(out, '\'');
	for (; *s; s++) {
		if (*s == '"')
			tb_buf_chr(out, '"');
		tb_buf_chr(out, *s);
	}
	tb_buf_chr(out, '"');
}

static void
md_cell(struct tb_buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>()#+-.!|&~", *s))
			tb_buf_chr(out, '\\');
		tb_buf_chr(out, *s);
	}
}

static void
html_cell(struct tb_buf *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<': tb_buf_str(out, "&lt;"); break;
		case '>': tb_buf_str(out, "&gt;"); break;
		case '&': tb_buf_str(out, "&amp;"); break;
		case '"': tb_buf_str(out, "&quot;"); break;
		case '\'': tb_buf_str(out, "&#39;"); break;
		default: tb_buf_chr(out, *s);
		}
}

/* What a table looks like in a format. */
struct shape { const char *before, *between, *after; escape_fn *cell; };

static void
report_row(struct tb_buf *out, const struct shape *s, const char *const cell[COLUMNS])
{
	struct tb_buf clean = TB_BUF(1u << 20);

	tb_buf_str(out, s->before);
	for (int i = 0; i < COLUMNS; i++) {
		tb_buf_clear(&clean);
		tb_text_clip(&clean, cell[i], SIZE_MAX, false);
		tb_buf_str(out, i ? s->between : "");
		s->cell(out, tb_buf_cstr(&clean));
		out->failed |= tb_buf_failed(&clean);
	}
	tb_buf_str(out, s->after);
	tb_buf_free(&clean);
}

static void
report_rows(const struct report *r, const struct shape *s, struct tb_buf *out)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		const char *cell[COLUMNS];
		char offset[24];

		cells(&r->findings.rows[i], offset, cell);
		report_row(out, s, cell);
	}
	for (size_t i = 0; i < r->models.n; i++) {
		const struct db_run_model *m = &r->models.rows[i];
		const char *cell[COLUMNS] = { "state", db_state_word(m->state), m->name, "", "", "",
			"", "", db_state_meaning(m->state), m->path };

		report_row(out, s, cell);
	}
}

static void
render_csv(const struct report *r, struct tb_buf *out)
{
	static const struct shape s = { "", ",", "\r\n", csv_cell };

	report_row(out, &s, columns);
	report_rows(r, &s, out);
}

static void
head(const struct report *r, escape_fn *escape, struct tb_buf *out)
{
	struct tb_buf text = TB_BUF(1u << 20);

	text_head(r, &text);
	escape(out, tb_buf_cstr(&text));
	out->failed |= tb_buf_failed(&text);
	tb_buf_free(&text);
}

static void
render_md(const struct report *r, struct tb_buf *out)
{
	static const struct shape s = { "| ", " | ", " |\n", md_cell };

	tb_buf_str(out, "# Verify report\n\n");
	head(r, md_cell, out);
	tb_buf_chr(out, '\n');
	report_row(out, &s, columns);
	for (int i = 0; i < COLUMNS; i++)
		tb_buf_str(out, "|---");
	tb_buf_str(out, "|\n");
	report_rows(r, &s, out);
}

static void
render_html(const struct report *r, struct tb_buf *out)
{
	static const struct shape title = { "<tr><th>", "</th><th>", "</th></tr>\n", html_cell };
	static const struct shape s = { "<tr><td>", "</td><td>", "</td></tr>\n", html_cell };

	tb_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		   "<title>Verify report</title>\n<style>body{font-family:sans-serif}"
		   "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;"
		   "text-align:left;overflow-wrap:anywhere}</style></head><body>\n"
		   "<h1>Verify report</h1>\n<pre>");
	head(r, html_cell, out);
	tb_buf_str(out, "</pre>\n<table>\n");
	report_row(out, &title, columns);
	report_rows(r, &s, out);
	tb_buf_str(out, "</table>\n</body></html>\n");
}

static void
render_json(const struct report *r, struct tb_buf *out)
{
	cJSON *doc = report_json(r);
	char *text = json_print_pretty(doc);

	json_free(doc);
	if (text) {
		tb_buf_str(out, text);
		tb_buf_chr(out, '\n');
	} else {
		out->failed = true;
	}
	free(text);
}

enum tb_status
report_render(const struct report *r, enum report_format f, struct tb_buf *out,
	      struct tb_err *err)
{
	static void (*const render[])(const struct report *, struct tb_buf *) = {
		[REPORT_TEXT] = render_text, [REPORT_JSON] = render_json,
		[REPORT_CSV] = render_csv, [REPORT_MD] = render_md, [REPORT_HTML] = render_html,
	};

	render[f](r, out);
	return tb_buf_failed(out) ? tb_nomem(err) : TB_OK;
}

enum tb_status
report_write(const struct report *r, enum report_format f, const char *path, bool replace,
	     struct tb_err *err)
{
	struct tb_buf text = TB_BUF(REPORT_MAX);
	enum tb_status status = report_place(path, replace, err);

	if (!status)
		status = report_render(r, f, &text, err);
	if (!status)
		status = tb_out_file(path, tb_buf_cstr(&text), text.len, replace, err);
	tb_buf_free(&text);
	return status;
}
