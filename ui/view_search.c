/* view_search.c - the tensors of all models whose names have what is typed in them. */
#include "config.h"

#include "db/tensors.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/view.h"

struct search {
	struct db_models model;		/* that of the row, for subject() */
};

enum { COL_NAME, COL_MODEL, COL_SHAPE, COL_SCHEME, COL_SIZE };

static const struct column search_cols[] = {
	[COL_NAME] = { "TENSOR", 40, 72, false, SORTS_UP, 0, .middle = true, .key = "name" },
	[COL_MODEL] = { "MODEL", 14, 48, false, SORTS_UP, 0, .middle = true, .key = "model" },
	[COL_SHAPE] = { "SHAPE", 11, 18, true, SORTS_NOT, 3 },
	[COL_SCHEME] = { "SCHEME", 8, 14, false, SORTS_NOT, 2 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_DOWN, 1, .key = "size" },
};

static enum tb_status
search_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct db_tensors list = { 0 };
	enum tb_status status = db_search(view_db(v), q, &list, &out->err);

	ROWS_TAKE(out, list);
	return status;
}

static uint64_t
search_id(struct view *v, size_t row)
{
	const struct db_tensor *t = rows_at(v, row);

	return t ? (uint64_t)t->model << 32 | (t->ord & UINT32_MAX) : 0;
}

static enum tb_status
search_find(struct view *v, const struct db_query *q, uint64_t id, uint64_t *row, bool *found)
{
	return db_search_find(view_db(v), q, (int64_t)(id >> 32), id & UINT32_MAX, row, found,
			      NULL);
}

static const struct rows_source search_rows = {
	.size = sizeof(struct db_tensor), .read = search_read, .find = search_find,
	.id = search_id,
};

static void
search_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_tensor *t = row;
	char text[WORD_MAX], bytes[16];

	(void)v;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, t->name); break;
	case COL_MODEL: tb_buf_str(&out->text, t->model_name); break;
	case COL_SHAPE: tb_buf_str(&out->text, word_shape(t->dim, t->ndim, theme_sign(SIGN_TIMES), text)); break;
	case COL_SCHEME: tb_buf_str(&out->text, t->scheme); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(t->bytes, bytes)); break;
	}
}

static const struct table search_table = {
	TABLE_COLS(search_cols), .rows = &search_rows, .cell = search_cell,
	.empty = "Nothing is indexed yet: 1 and R scan the stores.",
	.no_match = "No tensor of any model has that in its name; Esc clears the words.",
};

static enum tb_status
search_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	(void)arg;
	(void)err;
	v->list.sort = COL_MODEL;
	return TB_OK;
}

static void
search_close(struct view *v)
{
	struct search *s = v->state;

	tb_arena_free(&s->model.mem);
}

static bool
search_subject(struct view *v, struct view_arg *out)
{
	struct search *s = v->state;
	const struct db_tensor *t = rows_current(v);

	tb_arena_free(&s->model.mem);
	if (!t || db_model_by_id(view_db(v), t->model, &s->model, NULL) || !s->model.n)
		return false;
	return view_about(v, s->model.rows, out);
}

static bool
search_act(struct view *v, enum action a)
{
	const struct db_tensor *t = rows_current(v);
	struct view_arg arg;

	if (a != ACT_OPEN)
		return false;
	if (t && !search_subject(v, &arg)) {
		view_say(v, "%s is not in the index any more.", t->model_name);
	} else if (t) {
		arg.tensor = t->name;
		view_open(v, VIEW_TENSOR, &arg);
	}
	return true;
}

static bool
search_can(const struct view *v, enum action a)
{
	(void)a;
	return v->list.n > 0;
}

static void
search_summary(struct view *v, struct tb_buf *out)
{
	(void)view_count(v, "tensor", out);
}

static void
search_where(struct view *v, struct tb_buf *out)
{
	(void)v;
	tb_buf_str(out, "all models");
}

const struct view_ops view_search = {
	.size = sizeof(struct search), .opens_typing = true, .columns = &search_table,
	.open = search_open, .close = search_close, .act = search_act, .can = search_can,
	.summary = search_summary, .where = search_where, .subject = search_subject,
};
