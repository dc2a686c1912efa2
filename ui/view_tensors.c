/* view_tensors.c - the tensors of a model, as a tree or as one table, from the
 * index.  A filter shows the matching ones as a table in either case. */
#include "config.h"

#include <string.h>

#include "db/tensors.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/stats.h"
#include "ui/tree.h"
#include "ui/view.h"

#define MARKS_MAX 100000
#define BRANCH_ID ((uint64_t)1 << 63)	/* rows that are no tensors */

struct tensors {
	int64_t id;
	uint64_t count, bytes, largest;	/* of the model, as the tree was read */
	bool flat;
	bool figures;		/* columns: statistics before shape and size */
	struct tree tree;
	struct rows natural;	/* all, in order of names: leaves of the tree */
	struct tensor_stats stats;
	struct tb_err err;
};

enum {
	COL_NAME, COL_SHAPE, COL_DTYPE, COL_SCHEME, COL_BYTES, COL_SHARE,
	COL_MIN, COL_MAX, COL_MEAN, COL_STD, COL_NAN, COL_COUNT
};

/* name: columns that the names need at least; up, down: the directions in which a
 * column sorts, or SORTS_NOT; which: the priorities. */
#define COLS(name, up, down, which) { \
	[COL_NAME] = { "NAME", name, 72, false, up, 0, .middle = true, .key = "name" }, \
	[COL_SHAPE] = { "SHAPE", 11, 18, true, down, which(3, 7), .key = "shape" }, \
	[COL_DTYPE] = { "DTYPE", 5, 7, false, up, which(7, 10), .key = "dtype" }, \
	[COL_SCHEME] = { "SCHEME", 8, 14, false, up, which(4, 8), .key = "scheme" }, \
	[COL_BYTES] = { "SIZE", 8, 0, true, down, which(1, 6), .key = "size" }, \
	[COL_SHARE] = { "SHARE", 15, 0, true, SORTS_NOT, which(6, 9) }, \
	[COL_MIN] = { "MIN", 9, 0, true, SORTS_NOT, 3 }, \
	[COL_MAX] = { "MAX", 9, 0, true, SORTS_NOT, 3 }, \
	[COL_MEAN] = { "MEAN", 9, 0, true, SORTS_NOT, 5 }, \
	[COL_STD] = { "STD", 9, 0, true, SORTS_NOT, 4 }, \
	[COL_NAN] = { "NAN", 6, 8, true, SORTS_NOT, 2 }, \
}
#define WITHOUT(without, with) without
#define WITH(without, with) with
static const struct column tensors_cols[2][2][COL_COUNT] = {	/* [flat][statistics] */
	{ COLS(28, SORTS_NOT, SORTS_NOT, WITHOUT), COLS(28, SORTS_NOT, SORTS_NOT, WITH) },
	{ COLS(40, SORTS_UP, SORTS_DOWN, WITHOUT), COLS(36, SORTS_UP, SORTS_DOWN, WITH) },
};
static bool
is_flat(const struct view *v)
{
	const struct tensors *s = v->state;

	return s->flat || *v->list.filter;
}

/* Tensors of the model in the index: the table, and the leaves of the tree. */

static enum tb_status
tensors_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct tensors *s = v->state;
	struct db_tensors list = { 0 };
	enum tb_status status = db_tensors(view_db(v), s->id, q, &list, &out->err);

	ROWS_TAKE(out, list);
	return status;
}

static enum tb_status
tensors_find(struct view *v, const struct db_query *q, uint64_t id, uint64_t *row, bool *found)
{
	const struct tensors *s = v->state;

	return db_tensors_find(view_db(v), s->id, q, id, row, found, NULL);
}

static uint64_t
tensors_id(struct view *v, size_t row)
{
	const struct db_tensor *t = rows_at(v, row);

	return t ? t->ord : UINT64_MAX;
}

static const struct rows_source tensors_rows = {
	.size = sizeof(struct db_tensor), .read = tensors_read, .find = tensors_find,
	.id = tensors_id,
};

static const struct db_tensor *
by_ord(struct view *v, uint64_t ord)
{
	struct tensors *s = v->state;

	return rows_get(&s->natural, v, ord);
}

/* Nodes of the tree. */

static uint64_t
tree_id(struct view *v, size_t row)
{
	struct node *const *n = rows_at(v, row);

	if (!n)
		return UINT64_MAX;
	return (*n)->b.leaf ? (*n)->b.first : BRANCH_ID | (*n)->b.first << 12 | ((*n)->depth & 0xfff);
}

static const struct rows_source tree_rows = {
	ROWS_IN(struct tensors, tree.row, tree.nrows), .id = tree_id,
};

/* One row, whichever way it is shown. */
struct tensors_row {
	const struct node *node;	/* NULL in the table */
	const struct db_tensor *tensor;	/* NULL for a branch */
};

static struct tensors_row
tensors_row(struct view *v, const void *row)
{
	struct tensors_row r = { NULL, NULL };

	if (is_flat(v)) {
		r.tensor = row;
	} else if (row) {
		r.node = *(struct node *const *)row;
		r.tensor = r.node->b.leaf ? by_ord(v, r.node->b.first) : NULL;
	}
	return r;
}

/* Cells. */

static void
tensors_name(const struct tensors_row *r, struct cell *out)
{
	const char *above = r->node && r->node->parent ? r->node->parent->b.path : "";

	if (!r->node) {
		tb_buf_str(&out->text, r->tensor->name);
		return;
	}
	for (unsigned i = 0; i < r->node->depth && i < 32; i++)
		tb_buf_str(&out->text, "  ");
	if (r->node->b.leaf) {
		tb_buf_printf(&out->text, "  %s", r->tensor->name +
			      (*above && tb_starts(r->tensor->name, above) ? strlen(above) + 1 : 0));
		return;
	}
	tb_buf_printf(&out->text, "%s %s", theme_sign(r->node->open ? SIGN_OPENED : SIGN_CLOSED),
		      r->node->b.label);
	out->role = ROLE_TITLE;
}

/* Percent of the model; the bar compares with the largest beside it. */
static void
tensors_share(const struct tensors *s, const struct tensors_row *r, uint64_t bytes, struct cell *out)
{
	uint64_t largest = !r->node ? s->largest
			 : r->node->parent ? r->node->parent->largest : s->tree.top.largest;
	char text[WORD_MAX];

	tb_buf_printf(&out->text, "%6s ", word_percent(bytes, s->bytes, text));
	draw_bar(&out->text, bytes, largest, 8);
	out->role = ROLE_BAR;
}

static void
tensors_stat(const struct value_stats *st, size_t col, struct cell *out)
{
	char text[WORD_MAX];

	if (!st)
		return;
	if (col == COL_NAN) {
		out->role = st->nans || st->infs ? ROLE_BAD : ROLE_DIM;
		tb_buf_printf(&out->text, "%ju", (uintmax_t)(st->nans + st->infs));
		return;
	}
	tb_buf_str(&out->text, word_number(col == COL_MIN ? st->min : col == COL_MAX ? st->max
					   : col == COL_MEAN ? st->mean : st->std, text));
}

static void
tensors_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	struct tensors *s = v->state;
	struct tensors_row r = tensors_row(v, row);
	const struct db_tensor *t = r.tensor;
	uint64_t bytes = t ? t->bytes : r.node ? r.node->b.bytes : 0;
	char text[WORD_MAX], number[16];

	if (!t && (!r.node || r.node->b.leaf))
		return;
	switch (col) {
	case COL_NAME: tensors_name(&r, out); break;
	case COL_SHAPE:
		tb_buf_str(&out->text, t ? word_shape(t->dim, t->ndim, theme_sign(SIGN_TIMES), text)
					 : word_count(r.node->b.count, "tensor", text));
		break;
	case COL_DTYPE: tb_buf_str(&out->text, t ? t->dtype : ""); break;
	case COL_SCHEME:
		tb_buf_str(&out->text, t ? t->scheme
					: *r.node->b.scheme ? r.node->b.scheme : "mixed");
		break;
	case COL_BYTES: tb_buf_str(&out->text, tb_human_bytes(bytes, number)); break;
	case COL_SHARE: tensors_share(s, &r, bytes, out); break;
	default:
		tensors_stat(t ? stats_get(&s->stats, view_db(v), s->id, t->ord) : NULL, col, out);
		break;
	}
}

#define TABLE(flat, n, source, none) { tensors_cols[flat][n > COL_MIN], n, .rows = source, \
	.cell = tensors_cell, .empty = none }
#define NO_MATCH "No tensor has that in its name; Esc shows all."
#define NO_TENSOR "Nothing of this model could be read: 1, Enter and Problems say why."
static const struct table tables[2][2] = {	/* [flat][statistics] */
	{ TABLE(0, COL_MIN, &tree_rows, NO_TENSOR), TABLE(0, COL_COUNT, &tree_rows, NO_TENSOR) },
	{ TABLE(1, COL_MIN, &tensors_rows, NO_MATCH), TABLE(1, COL_COUNT, &tensors_rows, NO_MATCH) },
};

static const struct table *
tensors_table(const struct view *v)
{
	const struct tensors *s = v->state;

	return &tables[is_flat(v) && s->count][s->figures];
}

/* Reading. */

static enum tb_status
read_tree(struct view *v, struct tb_err *err)
{
	struct tensors *s = v->state;
	const struct db_query largest = { .sort = "size", .limit = 1 };
	struct db_tensors one = { 0 };

	tree_free(&s->tree);
	stats_free(&s->stats);
	list_unmark_all(&v->list);
	rows_start(&s->natural, v, &tensors_rows, &(struct db_query){ 0 });
	if (tree_init(&s->tree, view_db(v), s->id, err))
		return err->code;
	s->count = s->bytes = s->largest = 0;
	for (size_t i = 0; i < s->tree.top.children.n; i++) {
		s->bytes += s->tree.top.child[i].b.bytes;
		s->count += s->tree.top.child[i].b.count;
	}
	if (db_tensors(view_db(v), s->id, &largest, &one, NULL) == TB_OK && one.n)
		s->largest = one.rows[0].bytes;
	tb_arena_free(&one.mem);
	stats_start(&s->stats, view_db(v), s->id);
	return TB_OK;
}

/* The tree stays open as it is unless the model is another one now. */
static void
tensors_refresh(struct view *v)
{
	struct tensors *s = v->state;
	struct db_models now = { 0 };

	s->err.code = TB_OK;
	if (db_model_by_id(view_db(v), s->id, &now, &s->err) == TB_OK &&
	    (!now.n || now.rows[0].tensors != s->count || now.rows[0].mtime_ns != v->loc.mtime_ns)) {
		v->loc.mtime_ns = now.n ? now.rows[0].mtime_ns : 0;
		(void)read_tree(v, &s->err);
	}
	tb_arena_free(&now.mem);
}

static enum tb_status
tensors_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct tensors *s = v->state;
	struct db_models found = { 0 };

	if (db_model_by_path(view_db(v), arg->model->path, &found, err))
		return err->code;
	if (found.n)
		s->id = found.rows[0].id;
	tb_arena_free(&found.mem);
	if (!found.n)
		return tb_fail(err, TB_ENOENT, "%s is not in the index yet: R reads the stores.",
			       arg->model->name);
	if (read_tree(v, err) == TB_OK)
		return TB_OK;
	rows_free(&s->natural);
	return err->code;
}

static void
tensors_close(struct view *v)
{
	struct tensors *s = v->state;

	tree_free(&s->tree);
	stats_free(&s->stats);
	rows_free(&s->natural);
}

/* Keys. */

static void
set_open(struct view *v, struct node *n, bool open)
{
	struct tensors *s = v->state;
	struct tb_err err;

	if (tree_toggle(&s->tree, n, open, &err))
		view_complain(v, &err);
	v->list.n = (size_t)rows_count(v);
	list_goto(&v->list, tree_row(&s->tree, n));
}

static void
tensors_open_row(struct view *v)
{
	struct tensors *s = v->state;
	struct tensors_row r = tensors_row(v, rows_current(v));
	struct view_arg arg = { .model = &v->loc };

	if (r.tensor) {
		arg.tensor = r.tensor->name;
		view_open(v, VIEW_TENSOR, &arg);
	} else if (r.node) {
		set_open(v, s->tree.row[v->list.cur], !r.node->open);
	}
}

/* Left closes a branch, or goes to the one it hangs on; Right opens. */
static void
sideways(struct view *v, bool right)
{
	struct tensors *s = v->state;
	struct node *n = v->list.cur < s->tree.nrows ? s->tree.row[v->list.cur] : NULL;

	if (is_flat(v) || !n)
		return;
	if (right && !n->b.leaf && !n->open)
		set_open(v, n, true);
	else if (right && !n->b.leaf)
		list_move(&v->list, 1);
	else if (!right && n->open)
		set_open(v, n, false);
	else if (!right && n->parent)
		list_goto(&v->list, tree_row(&s->tree, n->parent));
}

static void
mark_range(struct view *v, uint64_t first, uint64_t n)
{
	bool all = true, ok = true;

	if (n > MARKS_MAX) {
		view_say(v, "That is more than %d tensors: filter first.", MARKS_MAX);
		return;
	}
	for (uint64_t i = 0; i < n && all; i++)
		all = list_marked(&v->list, first + i);
	for (uint64_t i = 0; i < n && ok; i++)
		ok = list_mark(&v->list, first + i, !all);
	if (!ok)
		view_say(v, "out of memory");
}

/* A mark on a branch is one on each tensor below it. */
static bool
tensors_mark(struct view *v, enum action a)
{
	struct tensors *s = v->state;
	struct tensors_row r;

	if (is_flat(v))
		return false;
	if (a == ACT_MARK_ALL) {
		mark_range(v, 0, s->count);
		return true;
	}
	r = tensors_row(v, rows_current(v));
	if (!r.node || r.node->b.leaf)
		return false;
	mark_range(v, r.node->b.first, r.node->b.count);
	list_move(&v->list, 1);
	return true;
}

static void
found_stats(struct view *v, uint64_t ord, const struct value_stats *st)
{
	struct tensors *s = v->state;

	stats_put(&s->stats, ord, st);
}

static void
statistics(struct view *v)
{
	struct tensors *s = v->state;
	struct tensors_row r = tensors_row(v, rows_current(v));
	const struct list *l = &v->list;
	struct stats_job *j = stats_job_new(v);
	bool ok = j != NULL;

	if (ok)
		j->found = found_stats;
	for (size_t i = 0; ok && i < l->nmarks; i++) {
		const struct db_tensor *t = by_ord(v, l->marks[i]);

		ok = !t || stats_job_add(j, t->ord, t->name);
	}
	if (ok && !l->nmarks && r.tensor)
		ok = stats_job_add(j, r.tensor->ord, r.tensor->name);
	for (uint64_t i = 0; ok && !l->nmarks && r.node && !r.tensor && i < r.node->b.count; i++) {
		const struct db_tensor *t = by_ord(v, r.node->b.first + i);

		ok = !t || stats_job_add(j, t->ord, t->name);
	}
	if (!ok) {
		view_say(v, "out of memory");
		stats_job_free(j);
		return;
	}
	s->figures = true;
	stats_job_start(v, j);
}

static bool
tensors_act(struct view *v, enum action a)
{
	struct tensors *s = v->state;

	switch (a) {
	case ACT_OPEN:
		tensors_open_row(v);
		return true;
	case ACT_LEFT:
	case ACT_RIGHT:
		sideways(v, a == ACT_RIGHT);
		return true;
	case ACT_TREE:
		s->flat = !s->flat;
		view_refresh(v);
		return true;
	case ACT_SORT:		/* an order of all is no tree */
		if (!s->flat) {
			s->flat = true;
			view_refresh(v);
		}
		return false;
	case ACT_MARK:
	case ACT_MARK_ALL:
		return tensors_mark(v, a);
	case ACT_STATS:
		statistics(v);
		return true;
	case ACT_COLUMNS:
		s->figures = !s->figures;
		if (s->figures && !s->stats.any)
			view_say(v, "No statistics yet: x computes those of a tensor, or of all"
				 " marked.");
		return true;
	default:
		return false;
	}
}

static bool
tensors_can(const struct view *v, enum action a)
{
	const struct tensors *s = v->state;

	if (a == ACT_COLUMNS)
		return s->figures || s->stats.any;
	return v->list.n > 0 || a == ACT_TREE;
}

static void
tensors_summary(struct view *v, struct tb_buf *out)
{
	const struct tensors *s = v->state;
	const char *dot = theme_sign(SIGN_DOT);
	char text[WORD_MAX], bytes[16];

	if (s->err.code) {
		tb_buf_str(out, s->err.msg);
		return;
	}
	if (v->list.nmarks)
		tb_buf_printf(out, "%zu marked %s ", v->list.nmarks, dot);
	if (*v->list.filter)
		tb_buf_printf(out, "%zu of ", v->list.n);
	tb_buf_str(out, word_count(s->count, "tensor", text));
	/* The bytes are those of all. */
	if (*v->list.filter)
		tb_buf_printf(out, " %s with \"%s\"", dot, v->list.filter);
	else
		tb_buf_printf(out, " %s %s", dot, tb_human_bytes(s->bytes, bytes));
}

const struct view_ops view_tensors = {
	.size = sizeof(struct tensors), .needs_model = true, .columns = &tables[1][0],
	.table = tensors_table, .open = tensors_open, .close = tensors_close, .act = tensors_act,
	.can = tensors_can, .refresh = tensors_refresh, .summary = tensors_summary,
};
