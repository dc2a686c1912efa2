/* report_words.c - what all formats of a report say alike. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/verify/verify.h"

#define STRING_MAX (16u << 20)

void
report_put(struct tb_buf *out, const char *s, report_escape_fn *escape)
{
	struct tb_buf clean = TB_BUF(STRING_MAX);

	tb_text_clip(&clean, s, SIZE_MAX, false);
	escape(out, tb_buf_cstr(&clean));
	out->failed |= tb_buf_failed(&clean);
	tb_buf_free(&clean);
}

void
report_count(struct tb_buf *out, uint64_t n, const char *what, const char *then)
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

const char *
report_verdict(const struct report *r)
{
	static const char *const sentences[RUN_STATE_COUNT] = {
		[RUN_RUNNING] = "Still running, or its program died: this says nothing yet.",
		[RUN_CLEAN] = "Every byte that could be compared is what its digest says.",
		[RUN_DAMAGE] = "Something is wrong; each finding below says what and where.",
		[RUN_EMPTY] = "No bytes were checked. That is not the same as clean.",
		[RUN_CANCELLED] = "Cancelled: what follows is what was found until then.",
		[RUN_FAILED] = "The run could not be finished.",
		[RUN_RECORDED] = "Everything was read; what had no digest was recorded, and the "
				 "next verify compares with it.",
		[RUN_SKIPPED] = "All was found good before, so nothing was read this time.",
	};

	return sentences[r->runs.rows->state];
}

void
report_uncompared(const struct db_run *run, struct tb_buf *out)
{
	char time[32], bytes[16];

	if (run->recorded)
		report_count(out, run->recorded, "file",
			     " read and recorded; the next verify compares\n");
	else if (run->state == RUN_EMPTY && run->models)
		tb_buf_str(out, "none of their bytes was read: that says nothing about them\n");
	if (run->resumes) {
		tb_buf_printf(out, "goes on with run %jd: ", (intmax_t)run->resumes);
		report_count(out, run->resumed, "file", ", ");
		tb_buf_printf(out, "%s found good then; --all reads everything\n",
			      tb_human_bytes(run->resumed_bytes, bytes));
	}
	if (!run->skipped)
		return;
	tb_time_rfc3339(run->since_ns, time);
	if (run->state == RUN_SKIPPED) {
		report_count(out, run->models, "model", "");
		tb_buf_printf(out, ", all found good since %s; nothing read\n", time);
	} else {
		report_count(out, run->skipped, "file", "");
		tb_buf_printf(out, " found good since %s, not read again\n", time);
	}
}

void
report_scope(const struct db_run *run, struct tb_buf *out)
{
	if (*run->scope)
		tb_text_clip(out, run->scope, SIZE_MAX, false);
	else
		tb_buf_str(out, "all models");
	tb_buf_str(out, run->deep ? " (deep)" : "");
}

const char *
report_short(const char *digest, char out[16])
{
	const char *hex = strchr(digest, ':');

	snprintf(out, 16, "%.12s", hex ? hex + 1 : "-");
	return out;
}

const char *
report_message(const struct db_finding *f)
{
	size_t n = strlen(f->model);

	return n && !strncmp(f->message, f->model, n) && tb_starts(f->message + n, ": ")
	     ? f->message + n + 2 : f->message;
}

const char *
report_meaning(const char *code)
{
	for (enum finding_code c = 0; c < FINDING_COUNT; c++)
		if (!strcmp(code, finding_word(c)))
			return finding_meaning(c);
	return "";
}

static int
by_code(const void *a, const void *b)
{
	const struct db_finding *const *x = a, *const *y = b;
	int d = (int)(*y)->severity - (int)(*x)->severity;

	if (!d)
		d = strcmp((*x)->code, (*y)->code);
	return d ? d : (*x > *y) - (*x < *y);
}

bool
report_by_code(const struct db_findings *f, const struct db_finding ***out)
{
	const struct db_finding **v = tb_calloc(f->n + 1, sizeof(*v));

	*out = v;
	for (size_t i = 0; v && i < f->n; i++)
		v[i] = &f->rows[i];
	if (v && f->n)
		qsort(v, f->n, sizeof(*v), by_code);
	return v;
}

bool
report_files(struct report_out *o, const struct db_run_model *m, struct db_run_files *out)
{
	*out = (struct db_run_files){ 0 };
	if (!o->status && m->list)
		o->status = db_run_files(o->r->db, m->list, out, o->err);
	return !o->status;
}
