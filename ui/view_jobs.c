/* view_jobs.c - operations that run, wait or have ended in this session. */
#include "config.h"

#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/job_cells.h"
#include "ui/view.h"

#define ROWS_MAX 256

struct jobs_view {
	uint64_t id[ROWS_MAX];	/* newest first; ended jobs may be gone again */
	size_t n;
	struct pager log;
	bool log_shown;
};

enum { COL_TITLE, COL_STATE, COL_BAR, COL_DONE, COL_RATE, COL_TIME, COL_RESULT };

static const struct column jobs_cols[] = {
	[COL_TITLE] = { "JOB", 22, 40, false, SORTS_NOT, 0 },
	[COL_STATE] = { "STATE", 9, 0, false, SORTS_NOT, 1 },
	[COL_BAR] = { "PROGRESS", 15, 0, false, SORTS_NOT, 3 },
	[COL_DONE] = { "DONE", 8, 0, true, SORTS_NOT, 6 },
	[COL_RATE] = { "RATE", 9, 0, true, SORTS_NOT, 5 },
	[COL_TIME] = { "TIME", 8, 0, true, SORTS_NOT, 4 },
	[COL_RESULT] = { "RESULT", 12, 80, false, SORTS_NOT, 2 },
};

static enum tb_status
jobs_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct jobs_view *s = v->state;

	s->n = 0;
	for (const struct ui_job *j = view_jobs_list(v)->head; j && s->n < ROWS_MAX; j = j->next)
		if (j->ops->flags & JOB_LISTED && tb_contains(j->title, q->filter))
			s->id[s->n++] = j->id;
	ROWS_ALL(out, s->id, s->n);
	return TB_OK;
}

static const struct rows_source jobs_rows = {
	.size = sizeof(uint64_t), .read = jobs_read, .id = rows_own_id,
};

/* The one under the cursor; NULL: none, or it is gone. */
static struct ui_job *
job_current(const struct view *v)
{
	const struct jobs_view *s = v->state;

	return !s->log_shown && v->list.cur < s->n ? jobs_by_id(view_jobs_list(v), s->id[v->list.cur]) : NULL;
}

static void
jobs_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct ui_job *j = jobs_by_id(view_jobs_list(v), *(const uint64_t *)row);
	const struct tb_progress *p = j ? &j->progress : NULL;
	char text[16];

	if (!j)
		return;
	switch (col) {
	case COL_TITLE: tb_buf_str(&out->text, j->title); break;
	case COL_STATE:
		out->role = p->state == TB_JOB_FAILED ? ROLE_BAD
			  : p->state == TB_JOB_DONE ? ROLE_OK : ROLE_TEXT;
		tb_buf_str(&out->text, job_word(j));
		break;
	case COL_BAR: job_bar(p, out); break;
	case COL_DONE:
		if (p->done)
			tb_buf_str(&out->text, tb_human_bytes(p->done, text));
		else if (p->items)
			tb_buf_printf(&out->text, "%ju", (uintmax_t)p->items);
		break;
	case COL_RATE:
		if (view_steady(v))
			tb_buf_chr(&out->text, '-');
		else if (p->rate > 0)
			tb_buf_printf(&out->text, "%s/s", tb_human_bytes((uint64_t)p->rate, text));
		break;
	case COL_TIME:
		if (view_steady(v))
			tb_buf_chr(&out->text, '-');
		else if (p->state == TB_JOB_RUNNING && p->eta >= 0)
			tb_buf_printf(&out->text, "-%s", tb_human_time(p->eta, text));
		else if (p->state != TB_JOB_QUEUED)
			tb_buf_str(&out->text, tb_human_time(p->seconds, text));
		break;
	case COL_RESULT: tb_buf_str(&out->text, job_result(j, &out->role)); break;
	}
}

static const struct table jobs_table = {
	TABLE_COLS(jobs_cols), .rows = &jobs_rows, .cell = jobs_cell,
	.empty = "Nothing has been started yet.\n"
		 "On Models: R scans the stores, v verifies a model.",
	.no_match = "No job has that in its name; Esc shows all.",
};

static const struct table *
jobs_table_of(const struct view *v)
{
	const struct jobs_view *s = v->state;

	return s->log_shown ? NULL : &jobs_table;
}

static struct pager *
jobs_view_pager(struct view *v)
{
	struct jobs_view *s = v->state;

	return s->log_shown ? &s->log : NULL;
}

static void
jobs_view_draw(struct view *v, struct area a)
{
	struct jobs_view *s = v->state;
	const struct ui_job *j;
	enum role role;
	const char *text;

	if (s->log_shown) {
		pager_draw(a, &s->log);
		return;
	}
	view_refresh(v);
	if ((j = job_current(v))) {	/* in full what came of it: its column is short */
		text = job_result(j, &role);
		draw_note(&a, text, role);
	}
	table_draw(a, v);
}

/* Everything that is known of one job. */
static void
show_log(struct view *v, const struct ui_job *j)
{
	struct jobs_view *s = v->state;
	const struct tb_progress *p = &j->progress;
	struct tb_buf b = TB_BUF(1u << 16);
	char text[16];

	tb_buf_printf(&b, "%s\n\n%-10s%s\n", j->title, "state", job_word(j));
	if (p->done)
		tb_buf_printf(&b, "%-10s%s\n", "read", tb_human_bytes(p->done, text));
	if (p->items)
		tb_buf_printf(&b, "%-10s%ju\n", "items", (uintmax_t)p->items);
	if (!view_steady(v) && p->state != TB_JOB_QUEUED)
		tb_buf_printf(&b, "%-10s%s\n", "time", tb_human_time(p->seconds, text));
	if (*p->what)
		tb_buf_printf(&b, "%-10s%s\n", "last", p->what);
	if (j->result)
		tb_buf_printf(&b, "\n%s\n", j->result);
	if (p->err.code)
		tb_buf_printf(&b, "\n%s\n", p->err.msg);
	pager_set(&s->log, tb_buf_take(&b), true);
	s->log_shown = true;
	tb_buf_free(&b);
}

static bool
jobs_view_act(struct view *v, enum action a)
{
	struct jobs_view *s = v->state;
	struct ui_job *j = job_current(v);

	if (a == ACT_BACK && s->log_shown && !*s->log.find)
		s->log_shown = false;
	else if (a == ACT_QUIT && s->log_shown)
		s->log_shown = false;
	else if (a == ACT_OPEN && j && j->ops->parts)
		view_open(v, VIEW_PARTS, &(struct view_arg){ .id = (int64_t)j->id });
	else if (a == ACT_OPEN && j)
		show_log(v, j);
	else if (a == ACT_CANCEL && j && !j->ended)
		jobs_cancel(j);
	else if (a == ACT_PAUSE && j)
		jobs_pause(view_jobs_list(v), j);
	else
		return a == ACT_OPEN || a == ACT_CANCEL || a == ACT_PAUSE;
	return true;
}

static bool
jobs_view_can(const struct view *v, enum action a)
{
	const struct ui_job *j = job_current(v);

	return j && (a == ACT_PAUSE ? jobs_can_pause(j) : a == ACT_OPEN || !j->ended);
}

static const char *
jobs_view_word(const struct view *v, enum action a)
{
	const struct ui_job *j = job_current(v);

	return a == ACT_PAUSE && j && jobs_waits(j) ? "go on" : NULL;
}

static void
jobs_view_summary(struct view *v, struct tb_buf *out)
{
	const struct jobs_view *s = v->state;
	size_t running = 0;
	char text[WORD_MAX];

	for (size_t i = 0; i < s->n; i++) {
		const struct ui_job *j = jobs_by_id(view_jobs_list(v), s->id[i]);

		running += j && !j->ended;
	}
	tb_buf_printf(out, "%s, %zu running or waiting", word_count(s->n, "job", text), running);
}

static void
jobs_view_close(struct view *v)
{
	struct jobs_view *s = v->state;

	pager_free(&s->log);
}

const struct view_ops view_jobs = {
	.size = sizeof(struct jobs_view), .columns = &jobs_table, .table = jobs_table_of,
	.close = jobs_view_close, .pager = jobs_view_pager, .draw = jobs_view_draw,
	.act = jobs_view_act, .can = jobs_view_can, .word = jobs_view_word,
	.summary = jobs_view_summary,
};
