/* view_audit.c - earlier verify runs, newest first; a run opens to its findings. */
#include "config.h"

#include <string.h>

#include "db/audit.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/tasks.h"
#include "ui/view.h"

enum { COL_STARTED, COL_RESULT, COL_SCOPE, COL_CHECKED, COL_BYTES, COL_TIME };

static const struct column audit_cols[] = {
	[COL_STARTED] = { "STARTED", 16, 0, false, SORTS_DOWN, 0, .key = "started" },
	[COL_RESULT] = { "RESULT", 13, 20, false, SORTS_DOWN, 1, .key = "errors" },
	[COL_SCOPE] = { "OF", 12, 60, false, SORTS_NOT, 3, .middle = true },
	[COL_CHECKED] = { "FILES", 7, 0, true, SORTS_NOT, 4 },
	[COL_BYTES] = { "BYTES", 8, 0, true, SORTS_DOWN, 2, .key = "bytes" },
	[COL_TIME] = { "TOOK", 7, 0, true, SORTS_DOWN, 5, .key = "seconds" },
};

/* All of them: a run is a line a day, not a million. */
static enum tb_status
audit_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct db_query all = *q;
	struct db_runs list = { 0 };
	enum tb_status status;

	all.limit = 0;
	status = db_runs(view_db(v), &all, &list, &out->err);
	ROWS_TAKE(out, list);
	return status;
}

static const struct rows_source audit_rows = {
	.size = sizeof(struct db_run), .read = audit_read, .id = rows_own_id,
};

static void
audit_result(const struct db_run *r, struct cell *out)
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
audit_scope(const struct db_run *r, struct cell *out)
{
	const char *end = strchr(r->scope, '\n');

	if (!*r->scope)
		tb_buf_str(&out->text, "all models");
	else if (end && end[1])
		tb_buf_printf(&out->text, "%.*s, …", (int)(end - r->scope), r->scope);
	else
		tb_buf_str(&out->text, r->scope);
	if (r->deep)
		tb_buf_str(&out->text, ", deep");
}

static void
audit_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_run *r = row;
	char text[WORD_MAX];

	switch (col) {
	case COL_STARTED: tb_buf_str(&out->text, word_time(r->started_ns, text)); break;
	case COL_RESULT: audit_result(r, out); break;
	case COL_SCOPE: audit_scope(r, out); break;
	case COL_CHECKED: tb_buf_printf(&out->text, "%ju", (uintmax_t)r->blobs); break;
	case COL_BYTES: tb_buf_str(&out->text, tb_human_bytes(r->bytes, text)); break;
	case COL_TIME:
		tb_buf_str(&out->text, view_steady(v) ? "-" : tb_human_time(r->seconds, text));
		break;
	}
}

static const struct table audit_table = {
	TABLE_COLS(audit_cols), .rows = &audit_rows, .cell = audit_cell,
	.empty = "Nothing was verified yet: press v to check the digests\nof everything in the stores.",
	.no_match = "No run has that in it; Esc shows all.",
};

static bool
audit_act(struct view *v, enum action a)
{
	const struct db_run *r = rows_current(v);

	switch (a) {
	case ACT_OPEN:
		if (r)
			view_open(v, VIEW_RUN, &(struct view_arg){ .id = r->id });
		return true;
	case ACT_VERIFY:
	case ACT_DEEP:
		task_verify(v, NULL, 0, a == ACT_DEEP, "all models");
		return true;
	default:
		return false;
	}
}

static bool
audit_can(const struct view *v, enum action a)
{
	return a == ACT_VERIFY || a == ACT_DEEP || v->list.n;
}

static void
audit_summary(struct view *v, struct tb_buf *out)
{
	char text[WORD_MAX];

	tb_buf_str(out, word_count(v->list.n, "run", text));
}

const struct view_ops view_audit = {
	.columns = &audit_table, .act = audit_act, .can = audit_can, .summary = audit_summary,
};
