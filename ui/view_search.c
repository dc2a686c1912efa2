/* view_search.c - the tensors of all models whose names have what is typed in them. */
#include "config.h"

#include <stdlib.h>

#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/home/ctx.h"
#include "src/store/model.h"
#include "ui/rows.h"
#include "ui/view.h"

struct search {
	struct rows rows;		/* of struct db_tensor */
	struct db_models model;		/* that of subject() */
	struct model_loc loc;		/* borrows from it */
};

enum { COL_NAME, COL_MODEL, COL_SHAPE, COL_SCHEME, COL_SIZE };

static const struct column cols[] = {
	[COL_NAME] = { "TENSOR", 40, 72, false, SORTS_UP, 0, .middle = true },
	[COL_MODEL] = { "MODEL", 14, 48, false, SORTS_UP, 0, .middle = true },
	[COL_SHAPE] = { "SHAPE", 11, 18, true, SORTS_NOT, 3 },
	[COL_SCHEME] = { "SCHEME", 8, 14, false, SORTS_NOT, 2 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_DOWN, 1 },
};
static const char *const sort_keys[] = {
	[COL_NAME] = "name", [COL_MODEL] = "model", [COL_SIZE] = "size",
};

static struct db_query
query_of(const struct view *v, uint64_t first, uint64_t n)
{
	return (struct db_query){
		.filter = v->list.filter, .sort = sort_keys[v->list.sort],
		.reverse = v->list.reverse, .offset = first, .limit = n,
		.roots = &view_ctx(v)->roots,
	};
}

static enum tb_status
read_rows(struct view *v, uint64_t first, uint64_t n, struct rows *out)
{
	struct db_query q = query_of(v, first, n);
	struct db_tensors list;
	enum tb_status status = db_search(view_db(v), &q, &list, &out->err);

	if (!status)
		ROWS_TAKE(out, list);
	return status;
}

static const struct db_tensor *
row_at(struct view *v, size_t row)
{
	struct search *s = v->state;

	return rows_at(&s->rows, v, row);
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct search *s = v->state;

	return rows_count(&s->rows, v);
}

static uint64_t
id_of(void *arg, size_t row)
{
	const struct db_tensor *t = row_at(arg, row);

	return t ? (uint64_t)t->model << 32 | (t->ord & UINT32_MAX) : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct view *v = arg;
	struct db_query q = query_of(v, 0, 0);
	uint64_t at;
	bool found;

	if (db_search_find(view_db(v), &q, (int64_t)(id >> 32), id & UINT32_MAX, &at, &found, NULL))
		return false;
	*row = (size_t)at;
	return found;
}

static void
window(void *arg, size_t first, size_t n)
{
	struct view *v = arg;
	struct search *s = v->state;

	rows_show(&s->rows, v, first, n);
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	const struct db_tensor *t = row_at(arg, row);
	char text[WORD_MAX], bytes[16];

	if (!t)
		return;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, t->name); break;
	case COL_MODEL: tb_buf_str(&out->text, t->model_name); break;
	case COL_SHAPE:
		tb_buf_str(&out->text, word_shape(t->dim, t->ndim, theme_sign(SIGN_TIMES), text));
		break;
	case COL_SCHEME: tb_buf_str(&out->text, t->scheme); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(t->bytes, bytes)); break;
	}
}

static const struct list_rows list_rows = { count, id_of, find };
static const struct table no_match_table = {
	cols, sizeof(cols) / sizeof(*cols), &list_rows, window, cell, NULL,
	"No tensor of any model has that in its name; Esc clears the words.",
};
static const struct table all_table = {
	cols, sizeof(cols) / sizeof(*cols), &list_rows, window, cell, NULL,
	"Nothing is indexed yet: 1 and R scan the stores.",
};

static const struct table *
table(const struct view *v)
{
	return *v->list.filter ? &no_match_table : &all_table;
}

static enum tb_status
search_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct search *s = v->state;

	(void)arg;
	(void)err;
	s->rows = (struct rows){ .read = read_rows, .size = sizeof(struct db_tensor), .stale = true };
	v->list.sort = COL_MODEL;
	return TB_OK;
}

static void
search_close(struct view *v)
{
	struct search *s = v->state;

	rows_free(&s->rows);
	tb_arena_free(&s->model.mem);
}

static void
refresh(struct view *v)
{
	struct search *s = v->state;

	rows_forget(&s->rows);
}

static bool
subject(const struct view *v, struct view_arg *out)
{
	struct search *s = v->state;
	const struct db_tensor *t = v->list.n ? row_at((struct view *)v, v->list.cur) : NULL;
	const struct db_model *m;

	if (!t)
		return false;
	tb_arena_free(&s->model.mem);
	s->model = (struct db_models){ 0 };
	if (db_model_by_id(view_db(v), t->model, &s->model, NULL) || !s->model.n)
		return false;
	m = &s->model.rows[0];
	s->loc = db_model_loc(m);
	*out = (struct view_arg){ .model = &s->loc, .id = m->id };
	return true;
}

static bool
act(struct view *v, enum action a)
{
	const struct db_tensor *t;
	struct view_arg arg;

	if (a != ACT_OPEN)
		return false;
	t = v->list.n ? row_at(v, v->list.cur) : NULL;
	if (!t)
		return true;
	if (!subject(v, &arg)) {
		view_say(v, "%s is not in the index any more.", t->model_name);
		return true;
	}
	arg.tensor = t->name;
	view_open(v, VIEW_TENSOR, &arg);
	return true;
}

static bool
can(const struct view *v, enum action a)
{
	(void)a;
	return v->list.n > 0;
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct search *s = v->state;
	char text[WORD_MAX];

	if (s->rows.err.code) {
		tb_buf_str(out, s->rows.err.msg);
		return;
	}
	tb_buf_str(out, word_count(v->list.n, "tensor", text));
	if (*v->list.filter)
		tb_buf_printf(out, " with \"%s\"", v->list.filter);
}

static void
where(struct view *v, struct tb_buf *out)
{
	(void)v;
	tb_buf_str(out, "all models");
}

const struct view_ops view_search = {
	.columns = &all_table,
	.size = sizeof(struct search), .opens_typing = true, .open = search_open,
	.close = search_close, .table = table, .act = act, .can = can, .refresh = refresh,
	.summary = summary, .where = where, .subject = subject,
};
