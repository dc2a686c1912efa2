/* view_blob.c - one content-addressed file, and whose it is. */
#include "config.h"

#include <stdlib.h>

#include "db/audit.h"
#include "db/blob.h"
#include "db/blob_keys.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/blob_cells.h"
#include "ui/heal.h"
#include "ui/view.h"

struct blob_view {
	int64_t id;
	struct db_blob_uses blob;	/* one row, or none when it is gone */
	struct db_models owners;
	struct db_places held;		/* the first tensor in it, as the first of them sees it */
	struct db_findings places;	/* where it is damaged, as far as that is known */
	struct tb_err err;
};

enum { COL_NAME, COL_ARCH, COL_PARAMS, COL_SCHEME, COL_SIZE };

static const struct column blob_cols[] = {
	[COL_NAME] = { "MODEL", 24, 72, false, SORTS_NOT, 0, .middle = true },
	[COL_ARCH] = { "ARCH", 10, 30, false, SORTS_NOT, 3 },
	[COL_PARAMS] = { "PARAMS", 7, 0, true, SORTS_NOT, 2 },
	[COL_SCHEME] = { "SCHEME", 9, 14, false, SORTS_NOT, 4 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_NOT, 1 },
};

static bool
blob_match(const struct view *v, const void *row)
{
	return tb_contains(((const struct db_model *)row)->name, v->list.filter);
}

static const struct rows_source blob_rows = {
	ROWS_IN(struct blob_view, owners.rows, owners.n), .id = rows_own_id,
	.match = blob_match,
};

static void
blob_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_model *m = row;
	char number[16], family[MODEL_FAMILY_MAX];

	(void)v;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, m->name); break;
	case COL_ARCH: tb_buf_str(&out->text, model_family(m->arch, family)); break;
	case COL_PARAMS: tb_buf_str(&out->text, tb_human_count(m->params, number)); break;
	case COL_SCHEME: tb_buf_str(&out->text, m->scheme); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(m->bytes, number)); break;
	}
}

static const struct table blob_table = {
	TABLE_COLS(blob_cols), .rows = &blob_rows, .cell = blob_cell,
	.empty = "No model uses it.", .no_match = "No model has that in its name; Esc shows all.",
};

static void
blob_forget(struct blob_view *s)
{
	tb_arena_free(&s->blob.mem);
	tb_arena_free(&s->owners.mem);
	tb_arena_free(&s->held.mem);
	tb_arena_free(&s->places.mem);
	s->held = (struct db_places){ 0 };
	s->places = (struct db_findings){ 0 };
	s->blob = (struct db_blob_uses){ 0 };
	s->owners = (struct db_models){ 0 };
}

static enum tb_status
blob_read_all(struct view *v, struct tb_err *err)
{
	struct blob_view *s = v->state;
	const struct db_blob_key key = { .id = s->id }, *only = &key;

	blob_forget(s);
	if (db_blob_window(view_db(v), &only, 1, &s->blob, err) ||
	    db_blob_owners(view_db(v), s->id, &s->owners, err))
		return err->code;
	if (s->blob.n && s->blob.rows->blob.state == DB_DAMAGED &&
	    db_damaged_places(view_db(v), s->blob.rows->blob.digest, s->blob.rows->blob.path,
			      &s->places, err))
		return err->code;
	return s->owners.n ? db_blob_tensors(view_db(v), s->id, s->owners.rows->id, 1, &s->held, err)
			   : TB_OK;
}

static void
blob_refresh(struct view *v)
{
	struct blob_view *s = v->state;

	s->err.code = TB_OK;
	(void)blob_read_all(v, &s->err);
}

static enum tb_status
blob_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct blob_view *s = v->state;

	s->id = arg->id;
	if (blob_read_all(v, err) == TB_OK && s->blob.n)
		return TB_OK;
	if (!err->code)
		(void)tb_fail(err, TB_ENOENT, "That file is not in the index any more.");
	blob_forget(s);
	return err->code;
}

static void
blob_close(struct view *v)
{
	blob_forget(v->state);
}

static bool
blob_same(const struct view *v, const struct view_arg *arg)
{
	const struct blob_view *s = v->state;

	return arg->id == s->id;
}

/* Drawing. */

static void
blob_draw_held(struct area *a, const struct db_places *held)
{
	struct tb_buf line = TB_BUF(1u << 16);

	tb_buf_printf(&line, "tensor %s", held->rows->tensor);
	if (held->total > 1)
		tb_buf_printf(&line, " and %ju more", (uintmax_t)(held->total - 1));
	put_middle(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&line), ROLE_TEXT);
	(void)area_top(a, 1);
	tb_buf_free(&line);
}

/* They leave half of the screen to the models. */
static void
blob_draw_places(struct area *a, const struct db_findings *places)
{
	size_t most = (size_t)a->h / 2, n = places->n <= most ? places->n : most - 1;
	char text[WORD_MAX];

	for (size_t i = 0; i < n; i++) {
		struct tb_buf line = TB_BUF(1u << 16);

		tb_buf_str(&line, "damaged in ");
		word_place(&places->rows[i], &line);
		put_middle(a->y, a->x + 1, a->w - 1, tb_buf_cstr(&line), ROLE_BAD);
		(void)area_top(a, 1);
		tb_buf_free(&line);
	}
	if (n < places->n) {
		put_fmt(a->y, a->x + 1, a->w - 1, ROLE_BAD, "and in %s more",
			word_count(places->n - n, "place", text));
		(void)area_top(a, 1);
	}
}

static void
blob_draw_facts(struct area *a, const struct db_blob *b, const struct blob_view *s)
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
	if (s->held.n)
		blob_draw_held(a, &s->held);
	blob_draw_places(a, &s->places);
	put_blank(area_top(a, 1));
	tb_buf_free(&line);
	tb_buf_free(&path);
	tb_buf_free(&state.text);
}

static void
blob_draw(struct view *v, struct area a)
{
	const struct blob_view *s = v->state;

	if (s->blob.n && a.h >= 8)
		blob_draw_facts(&a, &s->blob.rows[0].blob, s);
	table_draw(a, v);
}

/* Keys. */

static bool
blob_subject(struct view *v, struct view_arg *out)
{
	return view_about(v, rows_current(v), out);
}

/* A file is healed for those who use it. */
static void
heal_blob(struct view *v)
{
	const struct blob_view *s = v->state;
	const char **path = view_alloc(v, (s->owners.n + 1) * sizeof(*path));

	for (size_t i = 0; path && i < s->owners.n; i++)
		path[i] = s->owners.rows[i].path;
	if (path && s->owners.n)
		task_heal(v, path, s->owners.n, s->owners.rows[0].name);
	else if (path)
		view_say(v, "No model uses it: nobody needs it healed.");
	free(path);
}

static bool
blob_act(struct view *v, enum action a)
{
	struct view_arg arg;

	if (a == ACT_HEAL)
		heal_blob(v);
	else if (a != ACT_OPEN)
		return false;
	else if (blob_subject(v, &arg))
		view_open(v, VIEW_MODEL, &arg);
	return true;
}

static bool
blob_can(const struct view *v, enum action a)
{
	const struct blob_view *s = v->state;

	if (a == ACT_HEAL)
		return s->blob.n && s->blob.rows[0].blob.owners &&
		       (s->blob.rows[0].blob.state == DB_DAMAGED || s->blob.rows[0].blob.missing);
	return a == ACT_OPEN && v->list.n;
}

static void
blob_summary(struct view *v, struct tb_buf *out)
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
blob_where(struct view *v, struct tb_buf *out)
{
	const struct blob_view *s = v->state;

	if (s->blob.n)
		word_path(s->blob.rows[0].blob.root, out);
}

const struct view_ops view_blob = {
	.size = sizeof(struct blob_view), .columns = &blob_table, .open = blob_open,
	.close = blob_close, .same = blob_same, .draw = blob_draw, .act = blob_act, .can = blob_can,
	.refresh = blob_refresh, .summary = blob_summary, .where = blob_where,
	.subject = blob_subject,
};
