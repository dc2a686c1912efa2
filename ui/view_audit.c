/* view_audit.c - earlier verify runs, newest first; a run opens to its findings. */
#include "config.h"

#include <string.h>

#include "db/audit.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/tasks.h"
#include "ui/view.h"

struct audit {
	struct db_runs runs;	/* all that match: a run is a line a day, not a million */
	struct tb_err err;	/* why there are none; code TB_OK = no error */
};

enum { COL_STARTED, COL_RESULT, COL_SCOPE, COL_CHECKED, COL_BYTES, COL_TIME };

static const struct column cols[] = {
	[COL_STARTED] = { "STARTED", 16, 0, false, SORTS_DOWN, 0 },
	[COL_RESULT] = { "RESULT", 13, 20, false, SORTS_DOWN, 1 },
	[COL_SCOPE] = { "OF", 12, 60, false, SORTS_NOT, 3, .middle = true },
	[COL_CHECKED] = { "FILES", 7, 0, true, SORTS_NOT, 4 },
	[COL_BYTES] = { "BYTES", 8, 0, true, SORTS_DOWN, 2 },
	[COL_TIME] = { "TOOK", 7, 0, true, SORTS_DOWN, 5 },
};
static const char *const sort_keys[] = {
	[COL_STARTED] = "started", [COL_RESULT] = "errors", [COL_BYTES] = "bytes",
	[COL_TIME] = "seconds",
};

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct audit *s = v->state;
	struct db_query q = {
		.filter = v->list.filter, .sort = sort_keys[v->list.sort],
		.reverse = v->list.reverse,
	};

	tb_arena_free(&s->runs.mem);
	s->runs = (struct db_runs){ 0 };
	s->err.code = TB_OK;
	if (db_runs(view_db(v), &q, &s->runs, &s->err))
		s->runs.n = 0;
	return s->runs.n;
}

static const struct db_run *
run_at(const struct view *v, size_t row)
{
	const struct audit *s = v->state;

	return row < s->runs.n ? &s->runs.rows[row] : NULL;
}

static uint64_t
id_of(void *arg, size_t row)
{
	const struct db_run *r = run_at(arg, row);

	return r ? (uint64_t)r->id : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct view *v = arg;
	const struct audit *s = v->state;

	for (*row = 0; *row < s->runs.n; ++*row)
		if ((uint64_t)s->runs.rows[*row].id == id)
			return true;
	return false;
}

static void
result_cell(const struct db_run *r, struct cell *out)
{
	char text[WORD_MAX];

	switch (r->state) {
	case RUN_CLEAN:
		out->role = ROLE_OK;
		tb_buf_printf(&out->text, "%s clean", theme_sign(SIGN_OK));
		break;
	case RUN_DAMAGE:
		out->role = ROLE_BAD;
		tb_buf_printf(&out->text, "%s %s", theme_sign(SIGN_BAD),
			      word_count(r->errors, "error", text));
		break;
	case RUN_RECORDED:
		tb_buf_printf(&out->text, "%s recorded", theme_sign(SIGN_PART));
		break;
	default:
		out->role = ROLE_DIM;
		tb_buf_printf(&out->text, "%s %s", theme_sign(SIGN_NONE), run_state_word(r->state));
	}
}

static void
scope_cell(const struct db_run *r, struct cell *out)
{
	const char *end = strchr(r->scope, '\n');

	if (!*r->scope)
		tb_buf_str(&out->text, "all models");
	else if (end && end[1])
		tb_buf_printf(&out->text, "%.*s, …", (int)(end - r->scope), r->scope);
	else
		tb_buf_str(&out->text, r->scope);
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	struct view *v = arg;
	const struct db_run *r = run_at(v, row);
	char text[WORD_MAX];

	if (!r)
		return;
	switch (col) {
	case COL_STARTED: tb_buf_str(&out->text, word_time(r->started_ns, text)); break;
	case COL_RESULT: result_cell(r, out); break;
	case COL_SCOPE: scope_cell(r, out); break;
	case COL_CHECKED: tb_buf_printf(&out->text, "%ju", (uintmax_t)r->blobs); break;
	case COL_BYTES: tb_buf_str(&out->text, tb_human_bytes(r->bytes, text)); break;
	case COL_TIME:
		tb_buf_str(&out->text, view_steady(v) ? "-" : tb_human_time(r->seconds, text));
		break;
	}
}

static const struct list_rows rows = { count, id_of, find };
static const struct table runs_table = {
	.cols = cols, .ncols = sizeof(cols) / sizeof(*cols), .rows = &rows, .cell = cell,
	.empty = "Nothing was verified yet: press v to check the digests\nof everything in the stores.",
};
static const struct table no_match_table = {
	.cols = cols, .ncols = sizeof(cols) / sizeof(*cols), .rows = &rows, .cell = cell,
	.empty = "No run has that in it; Esc shows all.",
};

static const struct table *
table(const struct view *v)
{
	return *v->list.filter ? &no_match_table : &runs_table;
}

static void
audit_close(struct view *v)
{
	struct audit *s = v->state;

	tb_arena_free(&s->runs.mem);
}

static bool
act(struct view *v, enum action a)
{
	const struct db_run *r = v->list.n ? run_at(v, v->list.cur) : NULL;

	switch (a) {
	case ACT_OPEN:
		if (r)
			view_open(v, VIEW_RUN, &(struct view_arg){ .id = r->id });
		return true;
	case ACT_VERIFY:
		task_verify(v, NULL, 0, "all models");
		return true;
	default:
		return false;
	}
}

static bool
can(const struct view *v, enum action a)
{
	return a == ACT_VERIFY || v->list.n;
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct audit *s = v->state;
	char text[WORD_MAX];

	if (s->err.code)
		tb_buf_str(out, s->err.msg);
	else
		tb_buf_str(out, word_count(v->list.n, "run", text));
}

const struct view_ops view_audit = {
	.columns = &runs_table,
	.size = sizeof(struct audit), .close = audit_close, .table = table, .act = act, .can = can,
	.summary = summary,
};
