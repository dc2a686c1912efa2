/* view_blob.c - one content-addressed file, and whose it is. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/blob.h"
#include "db/blob_keys.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/blob_cells.h"
#include "ui/view.h"

struct blob_view {
	int64_t id;
	struct db_blob_uses blob;	/* one row, or none when it is gone */
	struct db_models owners;
	struct db_places held;		/* the first tensor in it, as the first of them sees it */
	size_t *row;			/* in owners.mem: those that the filter lets through */
	struct model_loc loc;		/* of subject(); borrows from owners */
	struct tb_err err;
};

enum { COL_NAME, COL_ARCH, COL_PARAMS, COL_SCHEME, COL_SIZE };

static const struct column cols[] = {
	[COL_NAME] = { "MODEL", 24, 72, false, SORTS_NOT, 0, .middle = true },
	[COL_ARCH] = { "ARCH", 10, 30, false, SORTS_NOT, 3 },
	[COL_PARAMS] = { "PARAMS", 7, 0, true, SORTS_NOT, 2 },
	[COL_SCHEME] = { "SCHEME", 9, 14, false, SORTS_NOT, 4 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_NOT, 1 },
};

static const struct db_model *
owner_at(const struct view *v, size_t row)
{
	const struct blob_view *s = v->state;

	return row < v->list.n && s->row ? &s->owners.rows[s->row[row]] : NULL;
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct blob_view *s = v->state;
	size_t n = 0;

	for (size_t i = 0; s->row && i < s->owners.n; i++)
		if (tb_contains(s->owners.rows[i].name, v->list.filter))
			s->row[n++] = i;
	return n;
}

static uint64_t
id_of(void *arg, size_t row)
{
	const struct db_model *m = owner_at(arg, row);

	return m ? (uint64_t)m->id : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	const struct view *v = arg;

	for (*row = 0; *row < v->list.n; (*row)++)
		if ((uint64_t)owner_at(v, *row)->id == id)
			return true;
	return false;
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	const struct db_model *m = owner_at(arg, row);
	char number[16], family[MODEL_FAMILY_MAX];

	if (!m)
		return;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, m->name); break;
	case COL_ARCH: tb_buf_str(&out->text, model_family(m->arch, family)); break;
	case COL_PARAMS: tb_buf_str(&out->text, tb_human_count(m->params, number)); break;
	case COL_SCHEME: tb_buf_str(&out->text, m->scheme); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(m->bytes, number)); break;
	}
}

static const struct list_rows rows = { count, id_of, find };
#define TABLE(none) { cols, sizeof(cols) / sizeof(*cols), &rows, NULL, cell, NULL, none }
static const struct table owners_table = TABLE("No model uses it.");
static const struct table no_match_table = TABLE("No model has that in its name; Esc shows all.");

static const struct table *
table(const struct view *v)
{
	return *v->list.filter ? &no_match_table : &owners_table;
}

static void
forget(struct blob_view *s)
{
	tb_arena_free(&s->blob.mem);
	tb_arena_free(&s->owners.mem);
	tb_arena_free(&s->held.mem);
	s->held = (struct db_places){ 0 };
	s->blob = (struct db_blob_uses){ 0 };
	s->owners = (struct db_models){ 0 };
	s->row = NULL;
}

static enum tb_status
read_all(struct view *v, struct tb_err *err)
{
	struct blob_view *s = v->state;
	const struct db_blob_key key = { .id = s->id }, *only = &key;

	forget(s);
	if (db_blob_window(view_db(v), &only, 1, &s->blob, err) ||
	    db_blob_owners(view_db(v), s->id, &s->owners, err))
		return err->code;
	if (s->owners.n && db_blob_tensors(view_db(v), s->id, s->owners.rows->id, 1, &s->held, err))
		return err->code;
	s->row = tb_arena_get(&s->owners.mem, (s->owners.n + 1) * sizeof(*s->row));
	return s->row ? TB_OK : tb_nomem(err);
}

static void
refresh(struct view *v)
{
	struct blob_view *s = v->state;

	s->err.code = TB_OK;
	(void)read_all(v, &s->err);
}

static enum tb_status
blob_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct blob_view *s = v->state;

	s->id = arg->id;
	if (read_all(v, err) == TB_OK && s->blob.n)
		return TB_OK;
	if (!err->code)
		(void)tb_fail(err, TB_ENOENT, "That file is not in the index any more.");
	forget(s);
	return err->code;
}

static void
blob_close(struct view *v)
{
	forget(v->state);
}

static bool
same(const struct view *v, const struct view_arg *arg)
{
	const struct blob_view *s = v->state;

	return arg->id == s->id;
}

/* Drawing. */

static void
draw_held(struct area *a, const struct db_places *held)
{
	struct tb_buf line = TB_BUF(1u << 16);

	tb_buf_printf(&line, "tensor %s", held->rows->tensor);
	if (held->total > 1)
		tb_buf_printf(&line, " and %ju more", (uintmax_t)(held->total - 1));
	put_middle(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&line), ROLE_TEXT);
	(void)area_top(a, 1);
	tb_buf_free(&line);
}

static void
draw_facts(struct area *a, const struct db_blob *b, const struct db_places *held)
{
	const char *dot = theme_sign(SIGN_DOT);
	struct cell state = { .text = TB_BUF(256) };
	struct tb_buf line = TB_BUF(1024), path = TB_BUF(1u << 16);
	char text[WORD_MAX], number[16];

	blob_state_cell((struct blob_state){ b->state, b->kind, b->owners > 0, b->young,
			b->unclear }, &state);
	tb_buf_printf(&line, "%s %s %s", b->kind == DB_FILE_BLOB && *b->media ? b->media
		      : db_file_word(b->kind), dot, tb_human_bytes(b->size, number));
	if (b->state != DB_NEVER || !b->owners)
		tb_buf_printf(&line, " %s %s", dot, tb_buf_cstr(&state.text));
	if (b->verified_ns)
		tb_buf_printf(&line, " %s hashed %s", dot, word_age(b->verified_ns, text));
	if (!b->missing)
		tb_buf_printf(&line, " %s modified %s", dot, word_date(b->mtime_ns, text));
	if (*b->digest) {
		put_clip(a->y, a->x + 1, a->w - 1, b->digest, ROLE_TITLE);
		(void)area_top(a, 1);
	}
	word_path(b->path, &path);
	put_middle(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&path),
		   *b->digest ? ROLE_DIM : ROLE_TITLE);
	(void)area_top(a, 1);
	put_clip(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&line), state.role);
	(void)area_top(a, 1);
	if (held->n)
		draw_held(a, held);
	put_blank(area_top(a, 1));
	tb_buf_free(&line);
	tb_buf_free(&path);
	tb_buf_free(&state.text);
}

static void
draw(struct view *v, struct area a)
{
	const struct blob_view *s = v->state;

	if (s->blob.n && a.h >= 8)
		draw_facts(&a, &s->blob.rows[0].blob, &s->held);
	table_draw(a, table(v), &v->list, v);
}

/* Keys. */

static bool
subject(const struct view *v, struct view_arg *out)
{
	struct blob_view *s = v->state;
	const struct db_model *m = owner_at(v, v->list.cur);

	if (!m)
		return false;
	s->loc = db_model_loc(m);
	*out = (struct view_arg){ .model = &s->loc, .id = m->id };
	return true;
}

static bool
act(struct view *v, enum action a)
{
	struct view_arg arg;

	if (a != ACT_OPEN)
		return false;
	if (subject(v, &arg))
		view_open(v, VIEW_MODEL, &arg);
	return true;
}

static bool
can(const struct view *v, enum action a)
{
	return a == ACT_OPEN && v->list.n;
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct blob_view *s = v->state;
	char text[WORD_MAX];

	if (s->err.code)
		tb_buf_str(out, s->err.msg);
	else if (!s->blob.n)
		tb_buf_str(out, "This file is not in the index any more.");
	else
		tb_buf_printf(out, "used by %s", word_count(s->owners.n, "model", text));
}

static void
where(struct view *v, struct tb_buf *out)
{
	const struct blob_view *s = v->state;

	if (s->blob.n)
		word_path(s->blob.rows[0].blob.root, out);
}

const struct view_ops view_blob = {
	.columns = &owners_table,
	.size = sizeof(struct blob_view), .open = blob_open, .close = blob_close, .same = same,
	.table = table, .draw = draw, .act = act, .can = can, .refresh = refresh,
	.summary = summary, .where = where, .subject = subject,
};
