/* view_parts.c - what one job works on side by side: how far each of them is, what failed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/job_cells.h"
#include "ui/view.h"

#define PARTS_MAX 100000	/* rows; more than anybody looks at */

/* no: from 1, which stays while the order changes. */
struct part_row { uint64_t no; struct job_part part; };

struct parts_view {
	uint64_t id;
	struct part_row *rows;	/* owned */
	struct job_part *parts;	/* owned */
	size_t n, cap;
	size_t count[PART_DONE + 1];
};

enum { COL_NAME, COL_STATE, COL_BAR, COL_DONE, COL_SIZE, COL_RATE, COL_WHY };

static const struct column parts_cols[] = {
	[COL_NAME] = { "FILE", 22, 60, false, SORTS_NOT, 0, .middle = true },
	[COL_STATE] = { "STATE", 10, 0, false, SORTS_NOT, 1 },
	[COL_BAR] = { "PROGRESS", 15, 0, false, SORTS_NOT, 2 },
	[COL_DONE] = { "DONE", 8, 0, true, SORTS_NOT, 5 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_NOT, 4 },
	[COL_RATE] = { "RATE", 9, 0, true, SORTS_NOT, 3 },
	[COL_WHY] = { "WHY", 12, 80, false, SORTS_NOT, 6 },
};

static const struct ui_job *
job_shown(const struct view *v)
{
	const struct parts_view *s = v->state;

	return jobs_by_id(view_jobs_list(v), s->id);
}

/* What wants to be looked at is above, what is done below. */
static int
by_state(const void *a, const void *b)
{
	const struct part_row *x = a, *y = b;

	if (x->part.state != y->part.state)
		return x->part.state < y->part.state ? -1 : 1;
	return x->no < y->no ? -1 : x->no > y->no;
}

static bool
parts_room(struct parts_view *s, size_t n)
{
	free(s->parts);
	free(s->rows);
	s->parts = tb_calloc(n, sizeof(*s->parts));
	s->rows = tb_calloc(n, sizeof(*s->rows));
	s->cap = s->parts && s->rows ? n : 0;
	return s->cap;
}

static enum tb_status
parts_read(struct view *v, const struct db_query *q, struct rows *out)
{
	const struct ui_job *j = job_shown(v);
	struct parts_view *s = v->state;
	size_t n = j && j->ops->parts ? j->ops->parts(j->arg, s->parts, s->cap) : 0;

	if (n > PARTS_MAX)
		n = PARTS_MAX;
	if (n > s->cap) {
		if (!parts_room(s, n))
			return tb_nomem(&out->err);
		n = j->ops->parts(j->arg, s->parts, s->cap);
		n = n < s->cap ? n : s->cap;
	}
	s->n = 0;
	memset(s->count, 0, sizeof(s->count));
	for (size_t i = 0; i < n; i++) {
		s->count[s->parts[i].state]++;
		if (tb_contains(s->parts[i].name, q->filter))
			s->rows[s->n++] = (struct part_row){ i + 1, s->parts[i] };
	}
	if (s->n)
		qsort(s->rows, s->n, sizeof(*s->rows), by_state);
	ROWS_ALL(out, s->rows, s->n);
	return TB_OK;
}

static const struct rows_source parts_rows = {
	.size = sizeof(struct part_row), .read = parts_read, .id = rows_own_id,
};

static void
parts_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct job_part *p = &((const struct part_row *)row)->part;
	char text[16];

	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, p->name); break;
	case COL_STATE: job_part_state(p, out); break;
	case COL_BAR: job_part_bar(p, out); break;
	case COL_DONE: tb_buf_str(&out->text, tb_human_bytes(p->done, text)); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(p->total, text)); break;
	case COL_RATE:
		if (!view_steady(v) && p->rate > 0 && p->state == PART_RUNS)
			tb_buf_printf(&out->text, "%s/s", tb_human_bytes((uint64_t)p->rate, text));
		break;
	case COL_WHY:
		out->role = p->state == PART_FAILED ? ROLE_BAD : ROLE_TEXT;
		tb_buf_str(&out->text, p->why);
		break;
	}
}

static const struct table parts_table = {
	TABLE_COLS(parts_cols), .rows = &parts_rows, .cell = parts_cell,
	.empty = "Which files there are is being asked.",
	.no_match = "No file has that in its name; Esc shows all.",
};

/* In full what is the matter with the row under the cursor, else with the job.  Who has not
 * gone to a row looks at the first ones, whichever they are. */
static void
parts_draw(struct view *v, struct area a)
{
	const struct ui_job *j = job_shown(v);
	const struct part_row *r;
	enum role role = ROLE_WARN;
	bool first = !v->list.cur;

	view_refresh(v);
	if (first)
		list_goto(&v->list, 0);
	r = rows_seen(v);
	if (r && *r->part.why)
		draw_note(&a, r->part.why, role);
	else if (j && j->ended) {
		const char *text = job_result(j, &role);

		draw_note(&a, text, role);
	}
	table_draw(a, v);
}

static bool
parts_act(struct view *v, enum action a)
{
	struct ui_job *j = jobs_by_id(view_jobs_list(v), ((struct parts_view *)v->state)->id);

	if (a == ACT_CANCEL && j)
		jobs_cancel(j);
	else if (a == ACT_PAUSE && j)
		jobs_pause(view_jobs_list(v), j);
	return a == ACT_CANCEL || a == ACT_PAUSE || a == ACT_OPEN;
}

static bool
parts_can(const struct view *v, enum action a)
{
	const struct ui_job *j = job_shown(v);

	return j && (a == ACT_PAUSE ? jobs_can_pause(j) : a == ACT_CANCEL && !j->ended);
}

static const char *
parts_word(const struct view *v, enum action a)
{
	const struct ui_job *j = job_shown(v);

	return a == ACT_PAUSE && j && jobs_waits(j) ? "go on" : NULL;
}

/* "runs · 3 of 12 files · 1.2 GB of 4.7 GB" */
static void
parts_summary(struct view *v, struct tb_buf *out)
{
	const struct parts_view *s = v->state;
	const struct ui_job *j = job_shown(v);
	const char *dot = theme_sign(SIGN_DOT);
	char text[WORD_MAX], bytes[16];
	size_t n = 0;

	if (!j)
		return;
	for (size_t i = 0; i < sizeof(s->count) / sizeof(*s->count); i++)
		n += s->count[i];
	tb_buf_printf(out, "%s %s %zu of %s", job_word(j), dot, s->count[PART_DONE],
		      word_count(n, "file", text));
	if (j->progress.total)
		tb_buf_printf(out, " %s %s", dot, tb_human_bytes(j->progress.done, bytes));
	if (j->progress.total)
		tb_buf_printf(out, " of %s", tb_human_bytes(j->progress.total, bytes));
	if (s->count[PART_AGAIN])
		tb_buf_printf(out, " %s %zu tried again", dot, s->count[PART_AGAIN]);
	if (s->count[PART_FAILED])
		tb_buf_printf(out, " %s %zu failed", dot, s->count[PART_FAILED]);
}

static void
parts_where(struct view *v, struct tb_buf *out)
{
	const struct ui_job *j = job_shown(v);

	tb_buf_str(out, j ? j->title : "");
}

static enum tb_status
parts_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct parts_view *s = v->state;

	s->id = (uint64_t)arg->id;
	return job_shown(v) ? TB_OK : tb_fail(err, TB_EUSAGE, "Go to a job on Jobs first.");
}

static bool
parts_same(const struct view *v, const struct view_arg *arg)
{
	const struct parts_view *s = v->state;

	return !arg->id || s->id == (uint64_t)arg->id;
}

static void
parts_close(struct view *v)
{
	struct parts_view *s = v->state;

	free(s->rows);
	free(s->parts);
}

const struct view_ops view_parts = {
	.size = sizeof(struct parts_view), .columns = &parts_table, .open = parts_open,
	.close = parts_close, .same = parts_same, .draw = parts_draw, .act = parts_act, .can = parts_can,
	.word = parts_word, .summary = parts_summary, .where = parts_where,
};
