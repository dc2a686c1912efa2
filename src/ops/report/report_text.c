/* report_text.c - a report as plain text: a page to keep, and what a terminal shows. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <string.h>

#include "src/base/text.h"

#define CODE_COLS 15

static void
put_finding(struct tb_buf *out, const struct db_finding *f)
{
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

static void
put_checked(const struct db_run *run, struct tb_buf *out)
{
	char bytes[16];

	report_count(out, run->models, "model", ", ");
	report_count(out, run->manifests, "manifest", ", ");
	report_count(out, run->blobs, "blob", ", ");
	tb_buf_printf(out, "%s in %.1f s", tb_human_bytes(run->bytes, bytes), run->seconds);
}

static void
put_found(const struct db_run *run, struct tb_buf *out)
{
	report_count(out, run->errors, "error", ", ");
	report_count(out, run->warnings, "warning", ", ");
	report_count(out, run->notes, "note", "\n");
}

void
report_brief(const struct report *r, struct tb_buf *out)
{
	const struct db_run *run = r->runs.rows;
	char time[32];

	for (size_t i = 0; i < r->findings.n; i++)
		put_finding(out, &r->findings.rows[i]);
	tb_buf_printf(out, "run %jd of %s, ", (intmax_t)run->id,
		      tb_time_rfc3339(run->started_ns, time));
	report_scope(run, out);
	tb_buf_printf(out, "\n%s: ", run_state_word(run->state));
	put_checked(run, out);
	tb_buf_str(out, "; ");
	put_found(run, out);
	tb_buf_str(out, r->models.n ? "models: " : "");
	report_states(&r->models, out);
	tb_buf_str(out, r->models.n ? "\n" : "");
	report_uncompared(run, out);
	if (*run->message && strcmp(run->message, run_state_word(run->state)) != 0) {
		tb_text_clip(out, run->message, SIZE_MAX, false);
		tb_buf_chr(out, '\n');
	}
}

static void
text_head(const struct report *r, struct tb_buf *out)
{
	const struct db_run *run = r->runs.rows;
	char time[32];

	tb_buf_printf(out, "Verify report\n\n%s: %s\n", run_state_word(run->state),
		      report_verdict(r));
	if (*run->message) {
		tb_text_clip(out, run->message, SIZE_MAX, false);
		tb_buf_chr(out, '\n');
	}
	tb_buf_printf(out, "\nrun      %jd of %s, ", (intmax_t)run->id,
		      tb_time_rfc3339(run->started_ns, time));
	report_scope(run, out);
	tb_buf_str(out, "\nprogram  ");
	tb_text_clip(out, *run->program ? run->program : "not known", SIZE_MAX, false);
	tb_buf_str(out, "\nchecked  ");
	put_checked(run, out);
	tb_buf_printf(out, "\nfiles    %ju compared, %ju recorded, %ju skipped\n",
		      (uintmax_t)run->compared, (uintmax_t)run->recorded, (uintmax_t)run->skipped);
	report_uncompared(run, out);
	tb_buf_str(out, "found    ");
	put_found(run, out);
	tb_buf_str(out, "models   ");
	report_states(&r->models, out);
	tb_buf_str(out, r->models.n ? "\n" : "none was looked at to the end\n");
}

static void
text_root(const struct db_run_root *s, struct tb_buf *out)
{
	char bytes[16];

	tb_text_clip(out, s->path, SIZE_MAX, false);
	tb_buf_str(out, s->away ? ": not there\n" : ": ");
	if (s->away)
		return;
	report_count(out, s->orphans, "orphan", ", ");
	tb_buf_printf(out, "%s", tb_human_bytes(s->orphan_bytes, bytes));
	if (s->rest)
		tb_buf_printf(out, "; %ju young, partial or left over, %s", (uintmax_t)s->rest,
			      tb_human_bytes(s->rest_bytes, bytes));
	if (s->held)
		tb_buf_printf(out, "; %ju in quarantine, %s", (uintmax_t)s->held,
			      tb_human_bytes(s->held_bytes, bytes));
	tb_buf_chr(out, '\n');
}

static void
text_model(const struct db_run_model *m, struct tb_buf *out)
{
	char bytes[16];

	tb_buf_printf(out, "%-10s  %8s  ", db_state_word(m->state), tb_human_bytes(m->bytes, bytes));
	tb_text_clip(out, m->name, SIZE_MAX, false);
	tb_buf_str(out, "\n            ");
	tb_buf_str(out, *m->digest ? m->digest : "no digest: not all of it was read");
	tb_buf_str(out, ", ");
	report_count(out, m->files, "file", "\n");
}

void
report_text(struct report_out *o)
{
	const struct report *r = o->r;

	text_head(r, &o->text);
	tb_buf_str(&o->text, r->roots.n ? "\nStores\n\n" : "");
	for (size_t i = 0; i < r->roots.n && report_more(o); i++)
		text_root(&r->roots.rows[i], &o->text);
	tb_buf_str(&o->text, r->findings.n ? "\nFindings\n\n" : "");
	for (size_t i = 0; i < r->findings.n && report_more(o); i++)
		put_finding(&o->text, &r->findings.rows[i]);
	tb_buf_str(&o->text, r->models.n ? "\nModels\n\n" : "");
	for (size_t i = 0; i < r->models.n && report_more(o); i++)
		text_model(&r->models.rows[i], &o->text);
	tb_buf_chr(&o->text, '\n');
}
