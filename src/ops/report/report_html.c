/* report_html.c - a report as one page that needs nothing else: no network, no script. */
#include "config.h"

#include "src/ops/report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

#define FILES_SHOWN 5000	/* in a page, those of the worst models first */
#define MODEL_FILES 200		/* of a model */
#define GROUP_OPEN 12		/* models of a state that need not be folded */

#define LINES "<path d=\"M0 0H8\" stroke=\"#fff\" stroke-opacity=\".38\" stroke-width=\"3\"/>"
#define DARK_LINES "<path d=\"M0 0H8\" stroke=\"#000\" stroke-opacity=\".16\" stroke-width=\"3\"/>"

const struct look_row looks[LOOK_COUNT] = {
	[LOOK_DAMAGED] = { "damaged", "&#10005;", "damaged", "wrong bytes, or something is missing",
		"more models, damaged", "l", "<path d=\"M0 0H8M0 0V8\" stroke=\"#fff\" "
		"stroke-opacity=\".4\" stroke-width=\"2\"/>", " patternTransform=\"rotate(45)\"" },
	[LOOK_INCOMPLETE] = { "incomplete", "&#9651;", "incomplete", "whole, but would not run",
		"more models, incomplete", "l", LINES, " patternTransform=\"rotate(45)\"" },
	[LOOK_STRUCTURE] = { "structure", "&#9675;", "structure", "looked at, but not all bytes could be "
		"compared", "more models, structure", "l", "<circle cx=\"4\" cy=\"4\" r=\"1.2\" "
		"fill=\"#fff\" fill-opacity=\".5\"/>", "" },
	[LOOK_NEVER] = { "never", "?", "never", "not verified as it is now", "more models, never verified",
		"l", "", "" },
	[LOOK_HASHED] = { "hashed", "&#10003;", "hashed", "every byte is what its digest says",
		"more models, hashed", "l", "", "" },
	[LOOK_ORPHAN] = { "orphan", "&#8709;", "orphans", "blobs that no model uses", "orphans", "d",
		DARK_LINES, "" },
	[LOOK_REST] = { "rest", "&#8230;", "young or left over", "new, partial, or left by a writer",
		"young or left over", "d", DARK_LINES, " patternTransform=\"rotate(90)\"" },
	[LOOK_HELD] = { "held", "&#8617;", "quarantine", "taken away, and can be brought back",
		"in quarantine", "l", LINES, " patternTransform=\"rotate(135)\"" },
};

enum look
look_of_state(enum db_state s)
{
	switch (s) {
	case DB_HASHED: return LOOK_HASHED;
	case DB_STRUCTURE: return LOOK_STRUCTURE;
	case DB_INCOMPLETE: return LOOK_INCOMPLETE;
	case DB_DAMAGED: case DB_MISSING: return LOOK_DAMAGED;
	default: return LOOK_NEVER;
	}
}

void
report_html_escape(struct tb_buf *out, const char *s)
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

static void
put(struct tb_buf *out, const char *s)
{
	report_put(out, s, report_html_escape);
}

/* A name of somebody else's in a tag of ours: it turns no letters around it. */
static void
put_in(struct tb_buf *out, const char *tag, const char *s)
{
	tb_buf_printf(out, "<%s><bdi>", tag);
	put(out, s);
	tb_buf_printf(out, "</bdi></%.*s>", (int)strcspn(tag, " "), tag);
}

/* ---- head ---- */

static const char style[] =
	":root{color-scheme:light dark;--bg:#f4f6f8;--card:#fff;--ink:#17202b;--dim:#566373;"
	"--line:#dde3ea;--good:#1d7256;--warn:#8d5a0b;--bad:#b3261e;--calm:#3c6ba8}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#0f141a;--card:#181f28;--ink:#e7ecf2;"
	"--dim:#9aa8b8;--line:#2b3542;--good:#5cc7a0;--warn:#e3ad5b;--bad:#ff8d83;--calm:#8ab4f0}}\n"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif}\n"
	"main{max-width:72rem;margin:0 auto;padding:1.5rem 1rem 3rem}\n"
	"h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.1rem;margin:0 0 .75rem}"
	"h3{font-size:1rem;margin:0}\n"
	"section,header{background:var(--card);border:1px solid var(--line);border-radius:12px;"
	"padding:1.1rem 1.25rem;margin:0 0 1rem}\n"
	".dim,small{color:var(--dim)}code,.mono{font:13px/1.45 ui-monospace,Menlo,Consolas,"
	"\"DejaVu Sans Mono\",monospace;overflow-wrap:anywhere}\n"
	".verdict{display:flex;gap:.9rem;align-items:center;border-left:6px solid var(--calm);"
	"padding:.4rem 0 .4rem 1rem;margin:1rem 0}.verdict b{display:block;font-size:1.25rem}"
	".verdict i{font:normal 2rem/1 sans-serif}\n"
	".good{border-color:var(--good)}.good i,.good b{color:var(--good)}"
	".bad{border-color:var(--bad)}.bad i,.bad b{color:var(--bad)}"
	".warn{border-color:var(--warn)}.warn i,.warn b{color:var(--warn)}\n"
	".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;"
	"margin:1rem 0 0;padding:0}.figures div{border:1px solid var(--line);border-radius:8px;"
	"padding:.5rem .75rem}.figures dt{color:var(--dim);font-size:.82rem}.figures dd{margin:0;"
	"font-size:1.15rem;font-weight:600;font-variant-numeric:tabular-nums}\n"
	".map{display:block;width:100%;height:26rem;border-radius:8px;background:var(--line)}"
	".t{stroke:var(--card);stroke-width:2}.map text{font:600 13px system-ui,sans-serif}"
	".map .s{font-weight:400;font-size:12px}.l{fill:#fff}.d{fill:#1b222b}.map text{"
	"paint-order:stroke;stroke-width:3px;stroke:rgb(0 0 0/.4)}.map .d{stroke:rgb(255 255 255/.6)}\n"
	".hashed{fill:#22725a}.structure{fill:#3c6ba8}.never{fill:#6b7683}.incomplete{fill:#8d5a0b}"
	".damaged{fill:#b3261e}.orphan{fill:#c9cfd6}.rest{fill:#dcd6c4}.held{fill:#6d4fa1}\n"
	".legend{list-style:none;margin:.9rem 0 .5rem;padding:0;display:grid;gap:.35rem 1.5rem;"
	"grid-template-columns:repeat(auto-fit,minmax(20rem,1fr))}.legend span{display:block;"
	"padding-left:2.1rem;font-size:.85rem}.swatch{width:1.5rem;height:1rem;border-radius:3px;"
	"vertical-align:-.15rem;margin-right:.6rem}\n"
	"table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:600;"
	"color:var(--dim);font-size:.82rem}td,th{padding:.4rem .6rem .4rem 0;vertical-align:top;"
	"border-bottom:1px solid var(--line);overflow-wrap:anywhere}.num{text-align:right;"
	"white-space:nowrap;font-variant-numeric:tabular-nums}td.state{white-space:nowrap}"
	".findings th:first-child{width:24%}\n"
	"details{border-top:1px solid var(--line);padding:.45rem 0}summary{cursor:pointer}"
	"summary:focus-visible{outline:2px solid var(--calm)}summary h3{display:inline}\n"
	".model>summary{display:flex;gap:.75rem;align-items:baseline}.model>summary b{flex:1;"
	"min-width:0;overflow-wrap:anywhere;font-weight:600}.model>summary code{color:var(--dim)}"
	".model>summary::before{content:\"\\25B8\";color:var(--dim)}"
	".model[open]>summary::before{content:\"\\25BE\"}.model{margin-left:1rem}\n"
	".facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}"
	".facts dt{color:var(--dim)}.facts dd{margin:0;min-width:0}\n"
	".tag{display:inline-block;font-size:.78rem;font-weight:600;border:1px solid currentColor;"
	"border-radius:5px;padding:0 .4rem;margin-right:.5rem}.e{color:var(--bad)}.w{color:var(--warn)}"
	".o{color:var(--calm)}\n"
	"@media(max-width:600px){main{padding:.5rem}section,header{padding:.9rem;border-radius:8px}"
	".map{height:24rem}.n{display:none}.legend{grid-template-columns:1fr}"
	".findings td:first-child{font-weight:600}.findings tr{display:block;border-bottom:1px solid var(--line);padding:.3rem 0}.findings td{"
	"display:block;border:0;padding:.1rem 0}.findings thead{display:none}"
	".stores thead{display:none}.stores tr,.stores td{display:block}.stores td{border:0;"
	"padding:.1rem 0;text-align:left}.stores td::before{content:attr(data-is);color:var(--dim)}"
	".model>summary code{display:none}.model{margin-left:0}.facts{grid-template-columns:1fr}"
	".facts dd{margin-bottom:.4rem}}\n"
	"@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--dim:#444;--line:#bbb}body{font-size:10pt}"
	"main{max-width:none;padding:0}section,header{border:0;padding:0 0 .5rem}"
	".map,.swatch{print-color-adjust:exact;-webkit-print-color-adjust:exact}.map{height:18rem}"
	"tr,li,.figures div{break-inside:avoid}h2,h3{break-after:avoid}}\n";

static void
put_figure(struct tb_buf *out, const char *what, uint64_t n)
{
	tb_buf_printf(out, "<div><dt>%s</dt><dd>%ju</dd></div>\n", what, (uintmax_t)n);
}

static void
put_bytes(struct tb_buf *out, const char *what, uint64_t n)
{
	char bytes[16];

	tb_buf_printf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", what, tb_human_bytes(n, bytes));
}

static void
put_verdict(const struct report *r, struct tb_buf *out)
{
	static const struct { const char *css, *sign; } how[RUN_STATE_COUNT] = {
		[RUN_CLEAN] = { "good", "&#10003;" }, [RUN_RECORDED] = { "calm", "&#9675;" },
		[RUN_DAMAGE] = { "bad", "&#10005;" }, [RUN_SKIPPED] = { "calm", "&#9675;" },
	};
	enum run_state s = r->runs.rows->state;

	tb_buf_printf(out, "<div class=\"verdict %s\"><i aria-hidden=\"true\">%s</i><div><b>%s</b>%s", how[s].css ? how[s].css : "warn", how[s].sign ? how[s].sign : "&#9651;",
		      run_state_word(s), report_verdict(r));
	tb_buf_str(out, r->models.n ? " Models: " : "");
	report_states(&r->models, out);
	tb_buf_str(out, r->models.n ? ".</div></div>\n" : "</div></div>\n");
}

static void
put_head(const struct report *r, struct tb_buf *out)
{
	const struct db_run *run = r->runs.rows;
	struct tb_buf text = TB_BUF(1u << 20);
	uint64_t orphans = 0;
	char time[32];

	for (size_t i = 0; i < r->roots.n; i++)
		orphans += r->roots.rows[i].orphan_bytes;
	tb_time_rfc3339(run->started_ns, time);
	tb_buf_printf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"referrer\" content=\"no-referrer\">\n"
		      "<title>Verify report: %s, %s</title>\n<style>\n%s</style></head>\n<body><main>\n"
		      "<header><h1>Verify report</h1>\n<div class=dim>run %jd of %s, ",
		      run_state_word(run->state), time, style, (intmax_t)run->id, time);
	report_scope(run, &text);
	put(out, tb_buf_cstr(&text));
	tb_buf_str(out, *run->program ? ", by " : "");
	put(out, run->program);
	tb_buf_str(out, "</div>\n");
	put_verdict(r, out);
	if (*run->message)
		put_in(out, "p class=mono", run->message);
	tb_buf_clear(&text);
	report_uncompared(run, &text);
	put_in(out, "p class=dim", tb_buf_cstr(&text));
	tb_buf_str(out, "<dl class=figures>\n");
	put_figure(out, "models", run->models);
	put_figure(out, "files read", run->blobs);
	put_bytes(out, "bytes read", run->bytes);
	put_figure(out, "files compared", run->compared);
	put_figure(out, "files recorded", run->recorded);
	put_figure(out, "files skipped", run->skipped);
	put_figure(out, "errors", run->errors);
	put_figure(out, "warnings", run->warnings);
	put_figure(out, "notes", run->notes);
	if (r->roots.n)
		put_bytes(out, "orphans", orphans);
	tb_buf_str(out, "</dl></header>\n");
	out->failed |= tb_buf_failed(&text);
	tb_buf_free(&text);
}

/* ---- findings ---- */

static void
put_fact(struct tb_buf *out, const char *what, const char *s)
{
	if (!*s)
		return;
	tb_buf_printf(out, "<dt>%s</dt>", what);
	put_in(out, "dd class=mono", s);
	tb_buf_chr(out, '\n');
}

static void
put_finding(struct tb_buf *out, const struct db_finding *f)
{
	char offset[24] = "", bytes[24] = "";

	if (f->has_offset)
		snprintf(offset, sizeof(offset), "%ju", (uintmax_t)f->offset);
	if (f->has_bytes)
		snprintf(bytes, sizeof(bytes), "%ju", (uintmax_t)f->bytes);
	tb_buf_str(out, "<tr>");
	put_in(out, "td", *f->model ? f->model : "no model");
	tb_buf_str(out, "<td><bdi>");
	put(out, report_message(f));
	tb_buf_str(out, "</bdi><dl class=facts>\n");
	put_fact(out, "tensor", f->tensor);
	put_fact(out, "rows", f->rows);
	put_fact(out, "offset", offset);
	put_fact(out, "bytes", bytes);
	put_fact(out, "expected", f->expected);
	put_fact(out, "actual", f->actual);
	tb_buf_str(out, "</dl></td></tr>\n");
}

static void
put_findings(struct report_out *o)
{
	static const char *const tags[] = { [SEV_NOTE] = "o", [SEV_WARNING] = "w", [SEV_ERROR] = "e" };
	const struct db_finding **f;
	size_t n = o->r->findings.n, end;

	tb_buf_str(&o->text, "<section class=findings><h2>Findings</h2>\n");
	if (!n)
		tb_buf_str(&o->text, "<p>Nothing was found.</p>\n");
	o->text.failed |= !report_by_code(&o->r->findings, &f);
	for (size_t i = 0; f && i < n && report_more(o); i = end) {
		for (end = i; end < n && !strcmp(f[end]->code, f[i]->code); end++)
			;
		tb_buf_printf(&o->text, "<details%s><summary><span class=\"tag %s\">%s</span><h3><code>",
			      f[i]->severity > SEV_NOTE ? " open" : "", tags[f[i]->severity],
			      severity_word(f[i]->severity));
		put(&o->text, f[i]->code);
		tb_buf_printf(&o->text, "</code> &times; %zu</h3> <span class=dim>%s</span></summary>\n"
			      "<table><thead><tr><th>model</th><th>finding</th></tr></thead>\n", end - i,
			      report_meaning(f[i]->code));
		for (size_t k = i; k < end && k < i + REPORT_SHOWN && report_more(o); k++)
			put_finding(&o->text, f[k]);
		tb_buf_str(&o->text, "</table>\n");
		if (end - i > REPORT_SHOWN)
			tb_buf_printf(&o->text, "<p class=dim>%zu more are in the report as JSON, CSV or "
				      "text.</p>\n", end - i - REPORT_SHOWN);
		tb_buf_str(&o->text, "</details>\n");
	}
	free(f);
	tb_buf_str(&o->text, "</section>\n");
}

/* ---- models ---- */

static void
put_file(struct tb_buf *out, const struct db_run_file *f)
{
	char bytes[16];

	tb_buf_printf(out, "<tr><td class=state>%s</td>", run_file_word(f->state));
	put_in(out, "td class=mono", f->path);
	tb_buf_printf(out, "<td class=num>%s</td>", tb_human_bytes(f->bytes, bytes));
	put_in(out, "td class=mono", f->digest);
	tb_buf_str(out, "</tr>\n");
}

static void
put_model_files(struct report_out *o, const struct db_run_model *m)
{
	struct db_run_files files;

	if (report_files(o, m, &files) && files.n)
		tb_buf_str(&o->text, "<table><thead><tr><th>state</th><th>file</th><th class=num>bytes</th>"
			   "<th>SHA-256</th></tr></thead>\n");
	for (size_t i = 0; i < files.n && i < MODEL_FILES && report_more(o); i++)
		put_file(&o->text, &files.rows[i]);
	if (files.n)
		tb_buf_str(&o->text, "</table>\n");
	if (files.n > MODEL_FILES)
		tb_buf_printf(&o->text, "<p class=dim>%zu more are in the report as JSON or CSV.</p>\n",
			      files.n - MODEL_FILES);
	tb_arena_free(&files.mem);
}

static void
put_model(struct report_out *o, const struct db_run_model *m, bool with_files)
{
	struct tb_buf *out = &o->text;
	char bytes[16], digits[16];

	tb_buf_printf(out, "<details class=model><summary><b><bdi>");
	put(out, m->name);
	tb_buf_printf(out, "</bdi></b> <span class=num>%s</span> <code>%s</code></summary>\n"
		      "<dl class=facts>\n", tb_human_bytes(m->bytes, bytes),
		      report_short(m->digest, digits));
	put_fact(out, "place", m->path);
	put_fact(out, "kind", m->kind);
	put_fact(out, "digest", *m->digest ? m->digest : "none: not all of it was read");
	tb_buf_str(out, "<dt>files</dt><dd>");
	report_count(out, m->files, "file", with_files ? "" : ", in the report as JSON or CSV");
	tb_buf_str(out, "</dd></dl>\n");
	if (with_files)
		put_model_files(o, m);
	tb_buf_str(&o->text, "</details>\n");
}

static void
put_models(struct report_out *o)
{
	const struct db_run_models *models = &o->r->models;
	size_t n[LOOK_COUNT] = { 0 };
	uint64_t bytes[LOOK_COUNT] = { 0 }, shown = 0;
	char text[16];

	for (size_t i = 0; i < models->n; i++) {
		enum look l = look_of_state(models->rows[i].state);

		n[l]++;
		bytes[l] += models->rows[i].bytes;
	}
	tb_buf_str(&o->text, "<section><h2>Models</h2>\n");
	if (!models->n)
		tb_buf_str(&o->text, "<p>None was looked at to the end.</p>\n");
	for (int l = 0; l < LOOK_COUNT; l++) {
		if (!n[l])
			continue;
		tb_buf_printf(&o->text, "<details%s><summary><h3>%s %s &times; %zu</h3> <span class=dim>"
			      "%s; %s</span></summary>\n", n[l] <= GROUP_OPEN ? " open" : "",
			      looks[l].sign, looks[l].word, n[l], tb_human_bytes(bytes[l], text),
			      looks[l].meaning);
		for (size_t i = 0; i < models->n && report_more(o); i++)
			if ((int)look_of_state(models->rows[i].state) == l) {
				put_model(o, &models->rows[i], shown < FILES_SHOWN);
				shown += models->rows[i].files;
			}
		tb_buf_str(&o->text, "</details>\n");
	}
	tb_buf_str(&o->text, "</section>\n");
}

static void
put_roots(struct report_out *o)
{
	const struct db_run_roots *roots = &o->r->roots;
	char bytes[3][16];

	if (!roots->n)
		return;
	tb_buf_str(&o->text, "<section><h2>Stores</h2>\n<table class=stores><thead><tr><th>store</th><th class=num>"
		   "orphans</th><th class=num>young, left over</th><th class=num>quarantine</th></tr>"
		   "</thead>\n");
	for (size_t i = 0; i < roots->n && report_more(o); i++) {
		const struct db_run_root *s = &roots->rows[i];

		tb_buf_str(&o->text, "<tr>");
		put_in(&o->text, "td class=mono", s->path);
		if (s->away)
			tb_buf_str(&o->text, "<td colspan=3>not there: nothing of it was checked</td></tr>\n");
		else
			tb_buf_printf(&o->text, "<td class=num data-is=\"orphans: \">%ju, %s</td><td class=num "
				      "data-is=\"young, left over: \">%ju, %s</td><td class=num "
				      "data-is=\"quarantine: \">%ju, %s</td></tr>\n", (uintmax_t)s->orphans,
				      tb_human_bytes(s->orphan_bytes, bytes[0]), (uintmax_t)s->rest,
				      tb_human_bytes(s->rest_bytes, bytes[1]), (uintmax_t)s->held,
				      tb_human_bytes(s->held_bytes, bytes[2]));
	}
	tb_buf_str(&o->text, "</table></section>\n");
}

void
report_html(struct report_out *o)
{
	put_head(o->r, &o->text);
	report_map(o);
	put_findings(o);
	put_models(o);
	put_roots(o);
	tb_buf_str(&o->text, "<section class=dim>This page is sealed: its last line has the SHA-256 of all "
		   "bytes before it. <code>tbtui audit check FILE</code> compares them, and so does "
		   "<code>head -n -1 FILE | sha256sum</code>. A seal shows that the page was not changed, "
		   "not who wrote it.</section>\n</main></body></html>\n");
}
