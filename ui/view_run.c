/* view_run.c - the findings of one verify run, worst first, and all about the one
 * under the cursor below them. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "db/blob.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "src/ops/report/report.h"
#include "src/ops/verify/verify.h"
#include "ui/heal.h"
#include "ui/view.h"

struct run {
	int64_t id;
	struct db_runs head;		/* the run itself: one row, or none */
	struct db_run_models models;	/* how they stood after it */
	struct db_models found;		/* the finding's, for subject() */
};

enum { COL_SEVERITY, COL_CODE, COL_MODEL, COL_WHERE, COL_MESSAGE };

static const struct column run_cols[] = {
	[COL_SEVERITY] = { "SEVERITY", 10, 0, false, SORTS_DOWN, 1, .key = "severity" },
	[COL_CODE] = { "WHAT", 15, 18, false, SORTS_UP, 2, .key = "code" },
	[COL_MODEL] = { "MODEL", 16, 30, false, SORTS_UP, 3, .middle = true, .key = "model" },
	[COL_WHERE] = { "WHERE", 20, 72, false, SORTS_UP, 2, .middle = true, .key = "blob" },
	[COL_MESSAGE] = { "MESSAGE", 40, 200, false, SORTS_NOT, 5 },
};

static enum tb_status
run_read(struct view *v, const struct db_query *q, struct rows *out)
{
	const struct run *s = v->state;
	struct db_findings list = { 0 };
	enum tb_status status = db_findings(view_db(v), s->id, q, &list, &out->err);

	ROWS_TAKE(out, list);
	return status;
}

/* Found within what is held: a finding never moves but by filter or order. */
static const struct rows_source run_rows = {
	.size = sizeof(struct db_finding), .read = run_read, .id = rows_own_id,
};

static void
severity_cell(enum severity sev, struct cell *out)
{
	static const struct { enum role role; enum sign sign; } looks[] = {
		[SEV_NOTE] = { ROLE_DIM, SIGN_NONE }, [SEV_WARNING] = { ROLE_WARN, SIGN_WARN },
		[SEV_ERROR] = { ROLE_BAD, SIGN_BAD },
	};

	out->role = looks[sev].role;
	tb_buf_printf(&out->text, "%s %s", theme_sign(looks[sev].sign), severity_word(sev));
}

/* Without the model's name in front, which has a column. */
static const char *
message_of(const struct db_finding *f)
{
	size_t n = strlen(f->model);

	return n && !strncmp(f->message, f->model, n) && !strncmp(f->message + n, ": ", 2)
	     ? f->message + n + 2 : f->message;
}

static void
run_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_finding *f = row;

	(void)v;
	switch (col) {
	case COL_SEVERITY: severity_cell(f->severity, out); break;
	case COL_CODE: tb_buf_str(&out->text, f->code); break;
	case COL_MODEL: tb_buf_str(&out->text, *f->model ? f->model : "-"); break;
	case COL_WHERE: tb_buf_str(&out->text, *f->tensor ? f->tensor : *f->blob ? f->blob : "-"); break;
	case COL_MESSAGE: tb_buf_str(&out->text, message_of(f)); break;
	}
}

static const struct table run_table = {
	TABLE_COLS(run_cols), .rows = &run_rows, .cell = run_cell,
	.empty = "Nothing was found.", .no_match = "No finding has that in it; Esc shows all.",
};

/* Below the table: what does not fit into a row. */

#define DETAILS 6
#define LABEL_COLS 10

struct detail {
	const char *label, *text;
};

/* What there is to say of f; place: scratch. */
static void
details_of(const struct db_finding *f, struct tb_buf *place, struct detail out[DETAILS])
{
	word_place(f, place);
	out[0] = (struct detail){ "means", "" };
	for (enum finding_code c = 0; c < FINDING_COUNT; c++)
		if (!strcmp(f->code, finding_word(c)))
			out[0].text = finding_meaning(c);
	out[1] = (struct detail){ "finding", f->message };
	out[2] = (struct detail){ "blob", f->blob };
	out[3] = (struct detail){ *f->tensor ? "tensor" : "offset", tb_buf_cstr(place) };
	out[4] = (struct detail){ "expected", f->expected };
	out[5] = (struct detail){ "actual", f->actual };
}

/* Rows that the details take below the list, which has all it needs or half of the screen. */
static int
detail_rows(struct view *v, struct area a)
{
	const struct db_finding *f = rows_current(v);
	struct tb_buf place = TB_BUF(1u << 16);
	struct detail details[DETAILS];
	int lines = 1, most = a.h / 2;

	if (!f || a.h < 2 * DETAILS)
		return 0;
	details_of(f, &place, details);
	for (size_t i = 0; i < DETAILS; i++)
		lines += wrap_rows(details[i].text, a.w - LABEL_COLS - 1);
	tb_buf_free(&place);
	if (v->list.n + 1 < (size_t)(a.h - most))
		most = a.h - (int)v->list.n - 1;	/* titles */
	return lines < most ? lines : most;
}

static void
draw_details(struct view *v, struct area a)
{
	const struct db_finding *f = rows_current(v);
	struct tb_buf place = TB_BUF(1u << 16);
	struct detail details[DETAILS];

	if (f)
		details_of(f, &place, details);
	put_blank(a);
	(void)area_top(&a, 1);
	for (size_t i = 0; f && i < DETAILS; i++) {
		const char *text = details[i].text;
		struct area lines = area_top(&a, wrap_rows(text, a.w - LABEL_COLS - 1));

		if (!lines.h)
			continue;
		put_clip(lines.y, lines.x + 1, LABEL_COLS - 1, details[i].label, ROLE_HEAD);
		lines.x += LABEL_COLS;
		lines.w -= LABEL_COLS + 1;
		(void)put_wrap(lines, text, ROLE_TEXT);
	}
	tb_buf_free(&place);
}

/* The list reads rows as it is drawn: the finding is looked up behind it again. */
static void
run_draw(struct view *v, struct area a)
{
	int lines = detail_rows(v, a);

	table_draw(area_top(&a, a.h - lines), v);
	if (lines)
		draw_details(v, a);
}

static void
run_refresh(struct view *v)
{
	struct run *s = v->state;

	tb_arena_free(&s->head.mem);
	tb_arena_free(&s->models.mem);
	s->head = (struct db_runs){ 0 };
	if (db_run_by_id(view_db(v), s->id, &s->head, NULL))
		s->head.n = 0;
	if (db_run_models(view_db(v), s->id, &s->models, NULL))
		s->models.n = 0;
}

static enum tb_status
run_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct run *s = v->state;

	if (!arg->id)
		return tb_fail(err, TB_EUSAGE, "Open a run from Audit.");
	s->id = arg->id;
	return TB_OK;
}

static void
run_close(struct view *v)
{
	struct run *s = v->state;

	tb_arena_free(&s->head.mem);
	tb_arena_free(&s->models.mem);
	tb_arena_free(&s->found.mem);
}

static bool
run_same(const struct view *v, const struct view_arg *arg)
{
	const struct run *s = v->state;

	return arg->id == s->id;
}

/* The model that the finding is about, while the index has it. */
static bool
run_subject(struct view *v, struct view_arg *out)
{
	struct run *s = v->state;
	const struct db_finding *f = rows_current(v);

	tb_arena_free(&s->found.mem);
	if (!f || !*f->model_path ||
	    db_model_by_path(view_db(v), f->model_path, &s->found, NULL) || !s->found.n)
		return false;
	(void)view_about(v, s->found.rows, out);
	out->tensor = *f->tensor ? f->tensor : NULL;
	return true;
}

/* Writing a report, on a worker: it may be long, and disks are slow. */

struct writing {
	char *db_path, *path;	/* owned */
	int64_t run;
	enum report_format format;
};

static enum tb_status
report_job_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct writing *w = arg;
	struct report r;
	enum tb_status status = report_open(&r, w->db_path, w->run, err);

	(void)job;
	if (status)
		return status;
	status = report_write(&r, w->format, w->path, false, NULL, err);
	report_free(&r);
	return status;
}

static void
report_job_say(void *arg, struct tb_buf *out)
{
	const struct writing *w = arg;

	tb_buf_printf(out, "written to %s", w->path);
}

static void
report_job_free(void *arg)
{
	struct writing *w = arg;

	free(w->db_path);
	free(w->path);
	free(w);
}

static const struct job_ops report_job_ops = {
	.flags = JOB_LISTED, .run = report_job_run, .result = report_job_say, .free = report_job_free,
};

static bool
path_typed(struct view *v, const char *text)
{
	const struct run *s = v->state;
	enum report_format format;
	struct writing *w;
	struct tb_err err;

	if (!*text)
		return true;
	if (report_format_of(text, &format, &err)) {
		view_complain(v, &err);
		return false;
	}
	w = view_alloc(v, sizeof(*w));
	if (!w)
		return true;
	w->format = format;
	w->db_path = tb_strdup(view_ctx(v)->db_path);
	w->path = tb_strdup(text);
	w->run = s->id;
	if (w->db_path && w->path)
		(void)view_job(v, &report_job_ops, w, "report of run %jd", (intmax_t)s->id);
	else
		report_job_free(w);
	return true;
}

/* The file that the finding is about, as a row of the index; 0: it has none. */
static int64_t
blob_of(struct view *v, const struct db_finding *f)
{
	bool digest = tb_starts(f->blob, "sha256:");
	struct db_blobs found = { 0 };
	int64_t id = 0;

	if (*f->blob && !db_blob_find(view_db(v), digest ? f->blob + 7 : NULL,
				      digest ? NULL : f->blob, &found, NULL) && found.n)
		id = found.rows->id;
	tb_arena_free(&found.mem);
	return id;
}

/* To the tensor while the model has it, else to the file, else to the model. */
static void
open_finding(struct view *v)
{
	const struct run *s = v->state;
	const struct db_finding *f = rows_current(v);
	struct view_arg arg = { 0 };
	bool model = run_subject(v, &arg), tensor = false;
	int64_t blob = f ? blob_of(v, f) : 0;

	if (model && arg.tensor &&
	    db_has_tensor(view_db(v), s->found.rows->id, arg.tensor, &tensor, NULL))
		tensor = false;
	/* Without a number of bytes it is where the tensor begins, or NaN are. */
	if (tensor && (f->has_bytes || !strcmp(f->code, finding_word(F_NONFINITE)))) {
		arg.blob = f->blob;
		arg.byte = f->offset;
	}
	if (tensor)
		view_open(v, VIEW_TENSOR, &arg);
	else if (blob)
		view_open(v, VIEW_BLOB, &(struct view_arg){ .id = blob });
	else if (model)
		view_open(v, VIEW_MODEL, &arg);
	else
		view_say(v, "The index knows neither the file nor the model: R on Models reads them.");
}

/* The models that were damaged in it. */
static void
heal_found(struct view *v)
{
	const struct run *s = v->state;
	const char **path = view_alloc(v, (s->models.n + 1) * sizeof(*path));
	size_t n = 0, one = 0;
	char title[WORD_MAX];

	for (size_t i = 0; path && i < s->models.n; i++)
		if (s->models.rows[i].state == DB_DAMAGED) {
			path[n++] = s->models.rows[i].path;
			one = i;
		}
	if (n)
		task_heal(v, path, n, n == 1 ? s->models.rows[one].name
					     : word_count(n, "model", title));
	else if (path)
		view_say(v, "No model was damaged in this run.");
	free(path);
}

static bool
run_act(struct view *v, enum action a)
{
	const struct run *s = v->state;
	char name[64];

	switch (a) {
	case ACT_OPEN:
		open_finding(v);
		return true;
	case ACT_HEAL:
		heal_found(v);
		return true;
	case ACT_REPORT:
		snprintf(name, sizeof(name), "tbtui-audit-%jd.md", (intmax_t)s->id);
		view_type(v, "report to (.md .txt .json .csv .html): ", name, path_typed);
		return true;
	default:
		return false;
	}
}

static bool
run_can(const struct view *v, enum action a)
{
	const struct run *s = v->state;

	if (a == ACT_HEAL)
		return s->head.n && s->head.rows->errors;
	return a == ACT_REPORT || v->list.n;
}

static void
run_summary(struct view *v, struct tb_buf *out)
{
	const struct run *s = v->state;
	const struct db_run *r = s->head.rows;
	const char *dot = theme_sign(SIGN_DOT);
	char text[WORD_MAX];

	if (!s->head.n)
		return;
	tb_buf_printf(out, "%s", run_state_word(r->state));
	if (s->models.n) {
		tb_buf_printf(out, " %s ", dot);
		report_states(&s->models, out);
	}
	tb_buf_printf(out, " %s %s", dot, word_count(r->blobs, "file", text));
	tb_buf_printf(out, " %s %s", dot, tb_human_bytes(r->bytes, text));
	tb_buf_printf(out, " %s %s", dot, word_count(r->errors, "error", text));
	if (r->warnings)
		tb_buf_printf(out, " %s %s", dot, word_count(r->warnings, "warning", text));
	if (r->notes)
		tb_buf_printf(out, " %s %s", dot, word_count(r->notes, "note", text));
	if (*r->message)
		tb_buf_printf(out, " %s %s", dot, r->message);
}

static void
run_where(struct view *v, struct tb_buf *out)
{
	const struct run *s = v->state;
	char text[WORD_MAX];

	if (s->head.n)
		tb_buf_str(out, word_time(s->head.rows->started_ns, text));
}

const struct view_ops view_run = {
	.size = sizeof(struct run), .columns = &run_table, .open = run_open, .close = run_close,
	.same = run_same, .draw = run_draw, .act = run_act, .can = run_can,
	.refresh = run_refresh, .summary = run_summary, .where = run_where,
	.subject = run_subject,
};
