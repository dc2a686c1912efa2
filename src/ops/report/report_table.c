/* report_table.c - a report as CSV, for spreadsheets, and as Markdown. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* ---- CSV ---- */

enum { COLUMNS = 12 };
static const char *const columns[COLUMNS] = { "severity", "code", "model", "blob", "tensor",
	"offset", "expected", "actual", "message", "model_path", "bytes", "digest" };

/* A quote before what a spreadsheet would take for a formula; it may skip blanks, and takes
 * the wide forms of East Asia for the same. */
static void
csv_cell(struct tb_buf *out, const char *s)
{
	static const char *const formula[] = { "=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b",
		"\xef\xbc\x8d", "\xef\xbc\xa0", "\t", "\r" };
	const char *first = s + strspn(s, " ");

	tb_buf_chr(out, '"');
	for (size_t i = 0; i < sizeof(formula) / sizeof(*formula); i++)
		if (tb_starts(first, formula[i]))
			tb_buf_chr(out, '\'');
	for (; *s; s++)
		tb_buf_str(out, *s == '"' ? "\"\"" : (const char[]){ *s, 0 });
	tb_buf_chr(out, '"');
}

static void
csv_row(struct tb_buf *out, const char *const cell[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		tb_buf_str(out, i ? "," : "");
		report_put(out, cell[i] ? cell[i] : "", csv_cell);
	}
	tb_buf_str(out, "\r\n");
}

static void
csv_finding(struct tb_buf *out, const struct db_finding *f)
{
	char offset[24] = "", bytes[24] = "";
	const char *const cell[COLUMNS] = { severity_word(f->severity), f->code, f->model, f->blob,
		f->tensor, offset, f->expected, f->actual, f->message, f->model_path, bytes };

	if (f->has_offset)
		snprintf(offset, sizeof(offset), "%ju", (uintmax_t)f->offset);
	if (f->has_bytes)
		snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)f->bytes);
	csv_row(out, cell);
}

static void
csv_run(struct tb_buf *out, const struct report *r)
{
	const struct db_run *run = r->runs.rows;
	char time[32], bytes[24];
	const char *const cell[COLUMNS] = { [0] = "run", [1] = run_state_word(run->state),
		[7] = tb_time_rfc3339(run->started_ns, time), [8] = report_verdict(r), [10] = bytes };

	snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)run->bytes);
	csv_row(out, cell);
}

static void
csv_root(struct tb_buf *out, const struct db_run_root *s)
{
	const struct { const char *what; uint64_t n, bytes; } parts[] = {
		{ "orphans", s->orphans, s->orphan_bytes }, { "rest", s->rest, s->rest_bytes },
		{ "quarantined", s->held, s->held_bytes },
	};

	for (size_t i = 0; i < 3; i++) {
		char n[24], bytes[24];
		const char *const cell[COLUMNS] = { [0] = "store", [1] = s->away ? "away" : parts[i].what,
			[3] = s->path, [7] = n, [10] = bytes };

		snprintf(n, sizeof(n), "%ju", (uintmax_t)parts[i].n);
		snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)parts[i].bytes);
		csv_row(out, cell);
		if (s->away)
			break;
	}
}

static void
csv_model(struct report_out *o, const struct db_run_model *m)
{
	char bytes[24];
	const char *const cell[COLUMNS] = { "state", db_state_word(m->state), m->name, "", "", "",
		"", "", db_state_meaning(m->state), m->path, bytes, m->digest };
	struct db_run_files files;

	snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)m->bytes);
	csv_row(&o->text, cell);
	if (report_files(o, m, &files))
		for (size_t i = 0; i < files.n && report_more(o); i++) {
			const struct db_run_file *f = &files.rows[i];
			const char *const of_file[COLUMNS] = { [0] = "file",
				[1] = run_file_word(f->state), [2] = m->name, [3] = f->path,
				[9] = m->path, [10] = bytes, [11] = f->digest };

			snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)f->bytes);
			csv_row(&o->text, of_file);
		}
	tb_arena_free(&files.mem);
}

void
report_csv(struct report_out *o)
{
	const struct report *r = o->r;

	csv_row(&o->text, columns);
	csv_run(&o->text, r);
	for (size_t i = 0; i < r->roots.n && report_more(o); i++)
		csv_root(&o->text, &r->roots.rows[i]);
	for (size_t i = 0; i < r->findings.n && report_more(o); i++)
		csv_finding(&o->text, &r->findings.rows[i]);
	for (size_t i = 0; i < r->models.n && report_more(o); i++)
		csv_model(o, &r->models.rows[i]);
}

/* ---- Markdown ---- */

static void
md_cell(struct tb_buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>()#+-.!|&~:@$", *s))
			tb_buf_chr(out, '\\');
		tb_buf_chr(out, *s);
	}
}

/* Code, in which nothing means anything but the end of it, and of a table's cell. */
static void
md_code(struct tb_buf *out, const char *s)
{
	size_t longest = 0;

	for (const char *p = s; *p;) {
		size_t n = strspn(p, "`");

		longest = n > longest ? n : longest;
		p += n ? n : 1;
	}
	if (!*s)
		return;
	for (size_t i = 0; i <= longest; i++)
		tb_buf_chr(out, '`');
	tb_buf_str(out, longest ? " " : "");
	for (; *s; s++)
		tb_buf_str(out, *s == '|' ? "\\|" : (const char[]){ *s, 0 });
	tb_buf_str(out, longest ? " " : "");
	for (size_t i = 0; i <= longest; i++)
		tb_buf_chr(out, '`');
}

static void
md_text(struct tb_buf *out, const char *s)
{
	report_put(out, s, md_cell);
}

static void
md_head(const struct report *r, struct tb_buf *out)
{
	const struct db_run *run = r->runs.rows;
	char time[32], bytes[16];
	struct tb_buf text = TB_BUF(1u << 20);

	tb_buf_printf(out, "# Verify report\n\n**%s**: %s\n\n| | |\n|---|---|\n", run_state_word(run->state),
		      report_verdict(r));
	if (*run->message) {
		tb_buf_str(out, "| message | ");
		md_text(out, run->message);
		tb_buf_str(out, " |\n");
	}
	report_scope(run, &text);
	tb_buf_printf(out, "| run | %jd of %s, ", (intmax_t)run->id,
		      tb_time_rfc3339(run->started_ns, time));
	md_text(out, tb_buf_cstr(&text));
	tb_buf_str(out, " |\n| program | ");
	md_text(out, *run->program ? run->program : "not known");
	tb_buf_str(out, " |\n| checked | ");
	report_count(out, run->models, "model", ", ");
	report_count(out, run->manifests, "manifest", ", ");
	report_count(out, run->blobs, "blob", ", ");
	tb_buf_printf(out, "%s in %.1f s |\n", tb_human_bytes(run->bytes, bytes), run->seconds);
	tb_buf_printf(out, "| files | %ju compared, %ju recorded, %ju skipped |\n| found | ",
		      (uintmax_t)run->compared, (uintmax_t)run->recorded, (uintmax_t)run->skipped);
	report_count(out, run->errors, "error", ", ");
	report_count(out, run->warnings, "warning", ", ");
	report_count(out, run->notes, "note", " |\n| models | ");
	report_states(&r->models, out);
	tb_buf_str(out, " |\n");
	out->failed |= tb_buf_failed(&text);
	tb_buf_free(&text);
}

static void
md_root(struct tb_buf *out, const struct db_run_root *s)
{
	char bytes[3][16];

	tb_buf_str(out, "| ");
	report_put(out, s->path, md_code);
	tb_buf_printf(out, "%s | %ju, %s | %ju, %s | %ju, %s |\n", s->away ? " (not there)" : "",
		      (uintmax_t)s->orphans, tb_human_bytes(s->orphan_bytes, bytes[0]),
		      (uintmax_t)s->rest, tb_human_bytes(s->rest_bytes, bytes[1]),
		      (uintmax_t)s->held, tb_human_bytes(s->held_bytes, bytes[2]));
}

static void
md_finding(struct tb_buf *out, const struct db_finding *f)
{
	const struct { const char *s; report_escape_fn *as; } cells[] = {
		{ f->model, md_code }, { report_message(f), md_cell }, { f->expected, md_code },
		{ f->actual, md_code },
	};

	tb_buf_chr(out, '|');
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		tb_buf_chr(out, ' ');
		report_put(out, cells[i].s, cells[i].as);
		tb_buf_str(out, " |");
	}
	tb_buf_chr(out, '\n');
}

static void
md_findings(struct report_out *o)
{
	const struct db_finding **f;
	size_t n = o->r->findings.n, end;

	o->text.failed |= !report_by_code(&o->r->findings, &f);
	for (size_t i = 0; f && i < n && report_more(o); i = end) {
		for (end = i; end < n && !strcmp(f[end]->code, f[i]->code); end++)
			;
		tb_buf_printf(&o->text, "\n### %s: ", severity_word(f[i]->severity));
		report_put(&o->text, f[i]->code, md_cell);
		tb_buf_str(&o->text, "\n\n");
		md_text(&o->text, report_meaning(f[i]->code));
		tb_buf_str(&o->text, "\n\n| model | finding | expected | actual |\n|---|---|---|---|\n");
		for (size_t k = i; k < end && k < i + REPORT_SHOWN && report_more(o); k++)
			md_finding(&o->text, f[k]);
		if (end - i > REPORT_SHOWN)
			tb_buf_printf(&o->text, "\n%zu more are in the report as JSON, CSV or text.\n",
				      end - i - REPORT_SHOWN);
	}
	free(f);
}

static void
md_model(struct tb_buf *out, const struct db_run_model *m)
{
	char bytes[16];

	tb_buf_str(out, "| ");
	report_put(out, m->name, md_code);
	tb_buf_printf(out, " | %s | %s | %ju | ", db_state_word(m->state),
		      tb_human_bytes(m->bytes, bytes), (uintmax_t)m->files);
	report_put(out, m->digest, md_code);
	tb_buf_str(out, " |\n");
}

void
report_md(struct report_out *o)
{
	const struct report *r = o->r;

	md_head(r, &o->text);
	if (r->roots.n)
		tb_buf_str(&o->text, "\n## Stores\n\n| store | orphans | young, partial, left over | "
			   "quarantine |\n|---|---|---|---|\n");
	for (size_t i = 0; i < r->roots.n && report_more(o); i++)
		md_root(&o->text, &r->roots.rows[i]);
	tb_buf_str(&o->text, r->findings.n ? "\n## Findings\n" : "\n## Findings\n\nNone.\n");
	md_findings(o);
	tb_buf_str(&o->text, "\n## Models\n\n<details><summary>");
	report_count(&o->text, r->models.n, "model", "</summary>\n\n| model | state | bytes | files | "
		     "digest |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < r->models.n && report_more(o); i++)
		md_model(&o->text, &r->models.rows[i]);
	tb_buf_str(&o->text, "\n</details>\n\n");
}
