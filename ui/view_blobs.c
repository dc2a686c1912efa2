/* view_blobs.c - every content-addressed file of all stores: which nobody uses, which
 * many use, which are missing or were left behind. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "ui/blob_cells.h"
#include "ui/blob_rows.h"
#include "ui/tidy.h"
#include "ui/view.h"

struct blobs {
	struct blob_rows all;
	enum blob_set set;
	bool ready, loading, again;	/* again: the index changed while it was read */
	unsigned seen;			/* of the index */
	struct tb_err err;
};

/* The worker's part. */

struct blobs_load {
	struct op_ctx *ctx;		/* borrowed: lives as long as the program */
	struct db_blob_keys keys;
};

static enum tb_status
blobs_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct blobs_load *l = arg;
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
blobs_load_free(void *arg)
{
	struct blobs_load *l = arg;

	tb_arena_free(&l->keys.mem);
	free(l);
}

static void blobs_load(struct view *v);

static void
blobs_load_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct blobs *s = v->state;
	struct blobs_load *l = arg;

	s->loading = false;
	s->ready = true;
	s->err.code = TB_OK;
	if (status)
		s->err = *err;
	else if (!blob_rows_set(&s->all, &l->keys))
		(void)tb_nomem(&s->err);
	view_refresh(v);
	if (s->again)
		blobs_load(v);
}

static const struct job_ops blobs_load_job = {
	.run = blobs_load_run, .done = blobs_load_done, .free = blobs_load_free,
};

static void
blobs_load(struct view *v)
{
	struct blobs *s = v->state;
	struct blobs_load *l;

	s->seen = view_index(v);
	s->again = s->loading;
	if (s->loading)
		return;
	l = view_alloc(v, sizeof(*l));
	if (!l)
		return;
	l->ctx = view_ctx(v);
	s->loading = view_job(v, &blobs_load_job, l, "read blobs") != NULL;
}

/* The list. */

enum {
	COL_DIGEST, COL_KIND, COL_SIZE, COL_OWNERS, COL_USER, COL_STATE, COL_MODIFIED,
	COL_STORE
};

static const struct column blobs_cols[] = {
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

/* A row: what its columns say by themselves, and its texts, unless the index has lost the
 * file meanwhile. */
struct blobs_row { const struct db_blob_key *key; const struct db_blob_use *use; };

static enum tb_status
blobs_read(struct view *v, const struct db_query *q, struct rows *out)
{
	const struct blobs *s = v->state;
	uint64_t left = q->offset < s->all.n ? s->all.n - q->offset : 0;
	size_t n = q->limit < left ? (size_t)q->limit : (size_t)left, used = 0;
	const struct db_blob_key **keys = tb_calloc(n, sizeof(*keys));
	struct db_blob_uses list = { 0 };
	struct blobs_row *rows = NULL;
	enum tb_status status;

	for (size_t i = 0; keys && i < n; i++)
		keys[i] = key_at(v, (size_t)q->offset + i);
	status = keys ? db_blob_window(view_db(v), keys, n, &list, &out->err)
		      : tb_nomem(&out->err);
	if (!status && !(rows = tb_arena_get(&list.mem, (n + 1) * sizeof(*rows))))
		status = tb_nomem(&out->err);
	for (size_t i = 0; !status && i < n; i++) {
		bool here = used < list.n && list.rows[used].blob.id == keys[i]->id;

		rows[i] = (struct blobs_row){ keys[i], here ? &list.rows[used++] : NULL };
	}
	free(keys);
	ROWS_ALL(out, rows, n);
	out->total = s->all.n;
	out->mem = list.mem;
	return status;
}

static uint64_t
blobs_id(struct view *v, size_t row)
{
	const struct db_blob_key *k = key_at(v, row);

	return k ? (uint64_t)k->id : 0;
}

static enum tb_status
blobs_find(struct view *v, const struct db_query *q, uint64_t id, uint64_t *row, bool *found)
{
	const struct blobs *s = v->state;
	size_t at;

	(void)q;
	*found = blob_rows_find(&s->all, (int64_t)id, &at);
	*row = at;
	return TB_OK;
}

static const struct rows_source blobs_rows = {
	.size = sizeof(struct blobs_row), .read = blobs_read, .find = blobs_find, .id = blobs_id,
};

static void
blobs_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_blob_key *k = ((const struct blobs_row *)row)->key;
	const struct db_blob_use *u = ((const struct blobs_row *)row)->use;
	char text[WORD_MAX], number[16];

	(void)v;
	switch (col) {
	case COL_DIGEST:
		if (u && *u->blob.digest)
			tb_buf_str(&out->text, u->blob.digest + strlen("sha256:"));
		else if (u)
			tb_buf_str(&out->text, tb_path_name(u->blob.path));
		break;
	case COL_KIND: tb_buf_str(&out->text, blob_kind(k)); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(k->size, number)); break;
	case COL_OWNERS: tb_buf_printf(&out->text, "%u", k->owners); break;
	case COL_USER:
		tb_buf_str(&out->text, u ? u->owner : "");
		if (u && u->blob.owners > 1)
			tb_buf_printf(&out->text, " +%ju", (uintmax_t)u->blob.owners - 1);
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

#define TABLE(of, none) { TABLE_COLS(blobs_cols), .rows = &blobs_rows, .cell = blobs_cell, \
	.empty = none, .no_match = of }
static const struct table reading_table = TABLE(NULL, "Reading...");
static const struct table set_tables[] = {
#define X(id, title, none) \
	[id] = TABLE("No digest, kind or name has that in it; Esc shows all.", none),
	BLOB_SET_LIST(X)
#undef X
};
static const char *const set_titles[] = {
#define X(id, title, none) [id] = title,
	BLOB_SET_LIST(X)
#undef X
};

static const struct table *
blobs_table(const struct view *v)
{
	const struct blobs *s = v->state;

	return s->ready ? &set_tables[s->set] : &reading_table;
}

/* Drawing. */

static void
draw_sets(struct area a, const struct blobs *s)
{
	char text[SET_COUNT][64];
	const char *title[SET_COUNT];
	int end = a.x + 1;

	for (unsigned i = 0; i < SET_COUNT; i++) {
		snprintf(text[i], sizeof(text[i]), "%s %ju", set_titles[i],
			 (uintmax_t)s->all.set[i].n);
		title[i] = text[i];
		end += (int)strlen(text[i]) + 2;
	}
	draw_panes(a, title, SET_COUNT, s->set);
	if (end + 3 <= a.x + a.w)
		put_clip(a.y, end, 3, "Tab", ROLE_KEY);
}

static void
blobs_draw(struct view *v, struct area a)
{
	const struct blobs *s = v->state;

	if (a.h >= 4)
		draw_sets(area_top(&a, 1), s);
	table_draw(a, v);
}

/* Keys. */

static enum tb_status
blobs_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	(void)arg;
	(void)err;
	blobs_load(v);
	return TB_OK;
}

static void
blobs_close(struct view *v)
{
	struct blobs *s = v->state;

	blob_rows_free(&s->all);
}

/* Another filter or order, or another index: the latter asks for all anew. */
static void
blobs_refresh(struct view *v)
{
	struct blobs *s = v->state;

	blob_rows_show(&s->all, s->set, v->list.filter, orders[v->list.sort], v->list.reverse);
	if (s->seen != view_index(v))
		blobs_load(v);
}

static void
blobs_turn(struct view *v, int by)
{
	struct blobs *s = v->state;

	s->set = (enum blob_set)(((int)s->set + SET_COUNT + by) % SET_COUNT);
	v->list.cur = v->list.top = 0;
	view_refresh(v);
}

/* Those with a mark, else the one under the cursor, as far as no model uses them: what is
 * used goes with its models. */
static void
delete_chosen(struct view *v)
{
	const struct blobs *s = v->state;
	const struct db_blob_key **key = view_alloc(v, (s->all.keys.n + 1) * sizeof(*key));
	const char **path = view_alloc(v, (s->all.keys.n + 1) * sizeof(*path));
	struct db_blob_uses found = { 0 };
	struct tb_err err = { 0 };
	size_t n = 0, used = 0;

	for (size_t i = 0; key && path && i < s->all.keys.n; i++) {
		const struct db_blob_key *k = &s->all.keys.rows[i];

		if (v->list.nmarks ? !list_marked(&v->list, (uint64_t)k->id)
				   : k != key_at(v, v->list.cur))
			continue;
		if (k->owners || k->missing)
			used++;
		else
			key[n++] = k;
	}
	if (n && db_blob_window(view_db(v), key, n, &found, &err))
		view_complain(v, &err);
	for (size_t i = 0; i < found.n; i++)
		path[i] = found.rows[i].blob.path;
	if (found.n)
		task_prune(v, path, found.n);
	else if (used)
		view_say(v, "Models use %s: o says which, D on Models deletes those.",
			 used == 1 ? "it" : "them");
	tb_arena_free(&found.mem);
	free(key);
	free(path);
}

static bool
blobs_act(struct view *v, enum action a)
{
	const struct db_blob_key *k = v->list.n ? key_at(v, v->list.cur) : NULL;
	struct view_arg arg = { .id = k ? k->id : 0 };

	switch (a) {
	case ACT_OPEN:
	case ACT_OWNERS:
		if (k)
			view_open(v, VIEW_BLOB, &arg);
		return true;
	case ACT_DELETE:
		delete_chosen(v);
		return true;
	case ACT_PRUNE:
		task_prune(v, NULL, 0);
		return true;
	case ACT_NEXT_PANE:
	case ACT_RIGHT:
		blobs_turn(v, 1);
		return true;
	case ACT_PREV_PANE:
	case ACT_LEFT:
		blobs_turn(v, -1);
		return true;
	default:
		return false;
	}
}

/* Is there anything that a prune might take? */
static bool
can_prune(const struct blob_rows *b)
{
	bool any = b->set[SET_ORPHANS].n > 0;

	for (size_t i = 0; i < b->keys.n && !any && b->set[SET_LEFT].n; i++)
		any = b->keys.rows[i].kind == DB_FILE_PARTIAL || b->keys.rows[i].kind == DB_FILE_TEMP;
	return any;
}

static bool
blobs_can(const struct view *v, enum action a)
{
	const struct blobs *s = v->state;
	const struct db_blob_key *k = key_at(v, v->list.cur);

	if (a == ACT_PRUNE)
		return can_prune(&s->all);
	if (a == ACT_DELETE)
		return v->list.n && k && !k->owners && !k->missing;
	return a == ACT_NEXT_PANE || (v->list.n && a == ACT_OPEN);
}

/* What lies there for nobody, or may: a word each. */
enum { FATE_ORPHAN, FATE_YOUNG, FATE_UNCLEAR, FATE_LEFT, FATE_COUNT = FATE_LEFT + DB_FILE_COUNT };

static unsigned
fate_of(const struct db_blob_key *k)
{
	if (k->kind > DB_FILE_BLOB)
		return FATE_LEFT + k->kind;
	if (k->kind != DB_FILE_BLOB || k->owners || k->missing)
		return FATE_COUNT;
	return k->young ? FATE_YOUNG : k->unclear ? FATE_UNCLEAR : FATE_ORPHAN;
}

static const char *
fate_word(unsigned fate)
{
	static const char *const words[] = { "orphans", "young", "unclear" };

	return fate < FATE_LEFT ? words[fate] : db_file_word((enum db_file_kind)(fate - FATE_LEFT));
}

struct sums { uint64_t n, bytes; };

static void
add_size(struct sums *s, const struct db_blob_key *k, bool missing)
{
	s->n++;
	s->bytes += k->missing && !missing ? 0 : k->size;
}

/* Of those marked, whether they show or not. */
static void
summary_marked(struct view *v, struct tb_buf *out)
{
	const struct blobs *s = v->state;
	struct sums marked = { 0 };
	char bytes[16];

	for (size_t i = 0; i < s->all.keys.n; i++)
		if (list_marked(&v->list, (uint64_t)s->all.keys.rows[i].id))
			add_size(&marked, &s->all.keys.rows[i], false);
	tb_buf_printf(out, "%ju marked, %s %s ", (uintmax_t)marked.n,
		      tb_human_bytes(marked.bytes, bytes), theme_sign(SIGN_DOT));
}

/* What nobody needs, in words of the panes. */
static void
summary_sets(const struct blobs *s, struct tb_buf *out)
{
	static const struct { enum blob_set set; const char *word; } told[] = {
		{ SET_ORPHANS, "orphans" }, { SET_UNDECIDED, "undecided" }, { SET_LEFT, "left over" },
	};
	char bytes[16];

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (s->all.set[told[i].set].n)
			tb_buf_printf(out, " %s %s %s", theme_sign(SIGN_DOT), told[i].word,
				      tb_human_bytes(s->all.set[told[i].set].bytes, bytes));
}

static void
blobs_summary(struct view *v, struct tb_buf *out)
{
	const struct blobs *s = v->state;
	const char *dot = theme_sign(SIGN_DOT);
	struct sums all = { 0 }, of[FATE_COUNT + 1] = { 0 };
	char text[WORD_MAX], bytes[16];

	if (s->err.code) {
		tb_buf_str(out, s->err.msg);
		return;
	}
	if (v->list.nmarks)
		summary_marked(v, out);
	for (size_t i = 0; i < s->all.n; i++) {
		const struct db_blob_key *k = key_at(v, i);

		add_size(&all, k, s->set == SET_MISSING);
		add_size(&of[fate_of(k)], k, false);
	}
	tb_buf_printf(out, "%s %s %s", word_count(v->list.n, "file", text), dot,
		      tb_human_bytes(all.bytes, bytes));
	if (*v->list.filter)
		tb_buf_printf(out, " with \"%s\"", v->list.filter);
	if (s->set == SET_ALL && !*v->list.filter) {
		summary_sets(s, out);
		return;
	}
	for (unsigned i = 0; i < FATE_COUNT; i++)
		if (of[i].n && s->set != SET_ORPHANS)
			tb_buf_printf(out, " %s %s %s (%ju)", dot, fate_word(i),
				      tb_human_bytes(of[i].bytes, bytes), (uintmax_t)of[i].n);
}

const struct view_ops view_blobs = {
	.size = sizeof(struct blobs), .columns = &reading_table, .table = blobs_table,
	.open = blobs_open, .close = blobs_close, .draw = blobs_draw, .act = blobs_act,
	.can = blobs_can, .refresh = blobs_refresh, .summary = blobs_summary,
};
