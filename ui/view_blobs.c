/* view_blobs.c - every content-addressed file of all stores: which nobody uses, which
 * many use, which are missing or were left behind. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/home/ctx.h"
#include "ui/blob_cells.h"
#include "ui/blob_rows.h"
#include "ui/rows.h"
#include "ui/view.h"

struct blobs {
	struct blob_rows all;
	struct rows rows;		/* of struct db_blob_use: the texts of what shows */
	enum blob_set set;
	bool ready, loading, again;	/* again: the index changed while it was read */
	unsigned seen;			/* of the index */
	struct tb_err err;
};

/* The worker's part. */

struct load {
	struct op_ctx *ctx;		/* borrowed: lives as long as the program */
	struct db_blob_keys keys;
};

static enum tb_status
load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct load *l = arg;
	struct db *db;
	enum tb_status status = db_open_read(&db, l->ctx->db_path, err);

	(void)job;
	if (status)
		return status;
	status = db_blob_keys(db, &l->ctx->roots, &l->keys, err);
	db_close(db);
	return status;
}

static void
load_free(void *arg)
{
	struct load *l = arg;

	tb_arena_free(&l->keys.mem);
	free(l);
}

static void load(struct view *v);

static void
load_done(void *owner, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct view *v = owner;
	struct blobs *s = v->state;
	struct load *l = arg;

	s->loading = false;
	s->ready = true;
	s->err.code = TB_OK;
	if (status)
		s->err = *err;
	else if (!blob_rows_set(&s->all, &l->keys))
		(void)tb_nomem(&s->err);
	view_refresh(v);
	if (s->again)
		load(v);
}

static const struct job_ops load_job = { .run = load_run, .done = load_done, .free = load_free };

static void
load(struct view *v)
{
	struct blobs *s = v->state;
	struct load *l;

	s->seen = view_index(v);
	s->again = s->loading;
	if (s->loading)
		return;
	l = tb_calloc(1, sizeof(*l));
	if (!l) {
		view_say(v, "out of memory");
		return;
	}
	l->ctx = view_ctx(v);
	s->loading = view_job(v, &load_job, l, "read blobs") != NULL;
}

/* The list. */

enum {
	COL_DIGEST, COL_KIND, COL_SIZE, COL_OWNERS, COL_USER, COL_STATE, COL_MODIFIED,
	COL_STORE
};

static const struct column cols[] = {
	[COL_DIGEST] = { "DIGEST", 13, 24, false, SORTS_UP, 0, .head = true },
	[COL_KIND] = { "KIND", 9, 12, false, SORTS_UP, 3 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_DOWN, 0 },
	[COL_OWNERS] = { "OWNERS", 7, 0, true, SORTS_DOWN, 6 },
	[COL_USER] = { "USED BY", 15, 40, false, SORTS_NOT, 2, .middle = true },
	[COL_STATE] = { "STATE", 9, 11, false, SORTS_DOWN, 1 },
	[COL_MODIFIED] = { "MODIFIED", 10, 0, false, SORTS_DOWN, 7 },
	[COL_STORE] = { "STORE", 12, 40, false, SORTS_NOT, 8, .middle = true },
};
static const enum blob_order orders[] = {
	[COL_DIGEST] = ORDER_DIGEST, [COL_KIND] = ORDER_KIND, [COL_SIZE] = ORDER_SIZE,
	[COL_OWNERS] = ORDER_OWNERS, [COL_USER] = ORDER_OWNERS, [COL_STATE] = ORDER_STATE,
	[COL_MODIFIED] = ORDER_MODIFIED, [COL_STORE] = ORDER_DIGEST,
};

static const struct db_blob_key *
key_at(const struct view *v, size_t row)
{
	const struct blobs *s = v->state;

	return row < s->all.n ? &s->all.keys.rows[s->all.row[row]] : NULL;
}

static enum tb_status
read_rows(struct view *v, uint64_t first, uint64_t n, struct rows *out)
{
	const struct blobs *s = v->state;
	struct db_blob_uses list = { 0 };
	const struct db_blob_key **keys;
	enum tb_status status;

	out->total = s->all.n;
	if (first >= s->all.n)
		return TB_OK;
	if (n > s->all.n - first)
		n = s->all.n - first;
	keys = tb_calloc(n + 1, sizeof(*keys));
	if (!keys)
		return tb_nomem(&out->err);
	for (uint64_t i = 0; i < n; i++)
		keys[i] = key_at(v, first + i);
	status = db_blob_window(view_db(v), keys, n, &list, &out->err);
	free(keys);
	out->v = list.rows;
	out->n = list.n;
	out->mem = list.mem;
	return status;
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct blobs *s = v->state;

	blob_rows_show(&s->all, s->set, v->list.filter, orders[v->list.sort], v->list.reverse);
	rows_forget(&s->rows);
	return s->all.n;
}

static uint64_t
id_of(void *arg, size_t row)
{
	const struct db_blob_key *k = key_at(arg, row);

	return k ? (uint64_t)k->id : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct view *v = arg;
	struct blobs *s = v->state;

	return blob_rows_find(&s->all, (int64_t)id, row);
}

static void
window(void *arg, size_t first, size_t n)
{
	struct view *v = arg;
	struct blobs *s = v->state;

	rows_show(&s->rows, v, first, n);
}

/* Its texts, unless the index has lost the file meanwhile. */
static const struct db_blob_use *
use_at(struct view *v, size_t row)
{
	struct blobs *s = v->state;
	const struct db_blob_use *u = rows_at(&s->rows, v, row);
	const struct db_blob_key *k = key_at(v, row);

	return u && k && u->blob.id == k->id ? u : NULL;
}

static void
user_cell(const struct db_blob_use *u, struct cell *out)
{
	tb_buf_str(&out->text, u->owner);
	if (u->blob.owners > 1)
		tb_buf_printf(&out->text, " +%ju", (uintmax_t)u->blob.owners - 1);
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	struct view *v = arg;
	const struct db_blob_key *k = key_at(v, row);
	const struct db_blob_use *u = use_at(v, row);
	char text[WORD_MAX], number[16];

	if (!k)
		return;
	switch (col) {
	case COL_DIGEST:
		if (u && *u->blob.digest)
			tb_buf_str(&out->text, u->blob.digest + strlen("sha256:"));
		else if (u)
			tb_buf_str(&out->text, blob_file(u->blob.path));
		break;
	case COL_KIND: tb_buf_str(&out->text, blob_kind(k)); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(k->size, number)); break;
	case COL_OWNERS: tb_buf_printf(&out->text, "%u", k->owners); break;
	case COL_USER:
		if (u)
			user_cell(u, out);
		break;
	case COL_STATE:
		blob_state_cell((struct blob_state){ (enum db_state)k->state, k->kind,
						     k->owners > 0, k->young, k->unclear },
				out);
		break;
	case COL_MODIFIED:
		if (!k->missing)
			tb_buf_str(&out->text, word_date(k->mtime_ns, text));
		break;
	case COL_STORE:
		if (u)
			word_path(u->blob.root, &out->text);
		break;
	}
}

static const struct list_rows rows = { count, id_of, find };

#define TABLE(none) { cols, sizeof(cols) / sizeof(*cols), &rows, window, cell, NULL, none }
static const struct table reading_table = TABLE("Reading...");
static const struct table no_match_table =
	TABLE("No digest, kind or name has that in it; Esc shows all.");
static const struct table set_tables[] = {
#define X(id, title, none) [id] = TABLE(none),
	BLOB_SET_LIST(X)
#undef X
};
static const char *const set_titles[] = {
#define X(id, title, none) [id] = title,
	BLOB_SET_LIST(X)
#undef X
};

static const struct table *
table(const struct view *v)
{
	const struct blobs *s = v->state;

	return !s->ready ? &reading_table : *v->list.filter ? &no_match_table
	     : &set_tables[s->set];
}

/* Drawing. */

static void
draw_sets(struct area a, const struct blobs *s)
{
	int x = a.x + 1;

	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	for (int i = 0; i < SET_COUNT; i++) {
		char text[64];
		int w;

		snprintf(text, sizeof(text), "%s %ju", set_titles[i], (uintmax_t)s->all.set[i].n);
		w = (int)strlen(text);
		put_clip(a.y, x, w, text, i == (int)s->set ? ROLE_CURSOR : ROLE_DIM);
		x += w + 2;
	}
	put_clip(a.y, x, 3, "Tab", ROLE_KEY);
}

static void
draw(struct view *v, struct area a)
{
	const struct blobs *s = v->state;

	if (a.h >= 4)
		draw_sets(area_top(&a, 1), s);
	table_draw(a, table(v), &v->list, v);
}

/* Keys. */

static enum tb_status
blobs_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct blobs *s = v->state;

	(void)arg;
	(void)err;
	s->rows = (struct rows){ .read = read_rows, .size = sizeof(struct db_blob_use) };
	load(v);
	return TB_OK;
}

static void
blobs_close(struct view *v)
{
	struct blobs *s = v->state;

	blob_rows_free(&s->all);
	rows_free(&s->rows);
}

/* Another filter or order, or another index: the latter asks for all anew. */
static void
refresh(struct view *v)
{
	struct blobs *s = v->state;

	rows_forget(&s->rows);
	if (s->seen != view_index(v))
		load(v);
}

static void
turn(struct view *v, int by)
{
	struct blobs *s = v->state;

	s->set = (enum blob_set)(((int)s->set + SET_COUNT + by) % SET_COUNT);
	v->list.cur = v->list.top = 0;
	view_refresh(v);
}

static bool
act(struct view *v, enum action a)
{
	const struct db_blob_key *k = v->list.n ? key_at(v, v->list.cur) : NULL;
	struct view_arg arg = { .id = k ? k->id : 0 };

	switch (a) {
	case ACT_OPEN:
	case ACT_OWNERS:
		if (k)
			view_open(v, VIEW_BLOB, &arg);
		return true;
	case ACT_NEXT_PANE:
	case ACT_RIGHT:
		turn(v, 1);
		return true;
	case ACT_PREV_PANE:
	case ACT_LEFT:
		turn(v, -1);
		return true;
	default:
		return false;
	}
}

static bool
can(const struct view *v, enum action a)
{
	return a == ACT_NEXT_PANE || (v->list.n && a == ACT_OPEN);
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct blobs *s = v->state;
	const char *dot = theme_sign(SIGN_DOT);
	char text[WORD_MAX], bytes[16];
	uint64_t sum = 0;

	if (s->err.code || s->rows.err.code) {
		tb_buf_str(out, s->err.code ? s->err.msg : s->rows.err.msg);
		return;
	}
	for (size_t i = 0; i < s->all.n; i++) {
		const struct db_blob_key *k = key_at(v, i);

		sum += k->missing && s->set != SET_MISSING ? 0 : k->size;
	}
	tb_buf_printf(out, "%s %s %s", word_count(v->list.n, "file", text), dot,
		      tb_human_bytes(sum, bytes));
	if (*v->list.filter)
		tb_buf_printf(out, " %s with \"%s\"", dot, v->list.filter);
	else if (s->set == SET_ALL && s->all.set[SET_ORPHANS].n)
		tb_buf_printf(out, " %s orphans %s", dot,
			      tb_human_bytes(s->all.set[SET_ORPHANS].bytes, bytes));
}

const struct view_ops view_blobs = {
	.columns = &reading_table,
	.size = sizeof(struct blobs), .open = blobs_open, .close = blobs_close, .table = table,
	.draw = draw, .act = act, .can = can, .refresh = refresh, .summary = summary,
};
