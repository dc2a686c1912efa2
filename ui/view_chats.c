/* view_chats.c - the conversations that are kept: go on with one, find words in them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/chat/chat.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

#define EXPORT_MAX (1u << 30)

struct chats_view {
	bool trash;		/* what was removed is shown */
	int64_t removed;	/* the last one, for u; 0: none */
};

/* ---- the list ---- */

/* All of them, with the words of the filter: a line a conversation, not a million. */
static enum tb_status
chats_read(struct view *v, const struct db_query *q, struct rows *out)
{
	struct chats_view *s = v->state;
	const struct db_chats_query all = { .words = q->filter, .trash = s->trash };
	struct db_chats list = { 0 };
	struct db *db;
	enum tb_status status = db_chats_open(&db, view_ctx(v)->db_path, false, &out->err);

	if (!status)
		status = db_chats_list(db, &all, &list, &out->err);
	db_close(db);
	ROWS_TAKE(out, list);
	return status;
}

static const struct rows_source chats_rows = {
	.size = sizeof(struct db_chat), .read = chats_read, .id = rows_own_id,
};

enum { COL_NUMBER, COL_WHEN, COL_TITLE, COL_MODEL, COL_TURNS };

static const struct column chats_cols[] = {
	[COL_NUMBER] = { "NO", 3, 6, true, SORTS_NOT, 3 },
	[COL_WHEN] = { "WHEN", 12, 0, false, SORTS_NOT, 1 },
	[COL_TITLE] = { "TITLE", 20, 100, false, SORTS_NOT, 0 },
	[COL_MODEL] = { "MODEL", 12, 30, false, SORTS_NOT, 0, .middle = true },
	[COL_TURNS] = { "TURNS", 5, 0, true, SORTS_NOT, 2 },
};

/* Under a filter what stands around the words, without the marks that a search puts there. */
static void
title_cell(const struct db_chat *c, struct tb_buf *out)
{
	tb_buf_str(out, c->title);
	if (!c->hit)
		return;
	tb_buf_str(out, ": ");
	for (const char *p = c->snippet; *p; p++)
		if (*p != 1 && *p != 2)
			tb_buf_chr(out, *p);
}

static void
chats_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct db_chat *c = row;
	char text[WORD_MAX];

	(void)v;
	switch (col) {
	case COL_NUMBER: tb_buf_printf(&out->text, "%jd", (intmax_t)c->id); break;
	case COL_WHEN: tb_buf_str(&out->text, word_time(c->updated_ns, text)); break;
	case COL_TITLE: title_cell(c, &out->text); break;
	case COL_MODEL: tb_buf_str(&out->text, c->model); break;
	case COL_TURNS: tb_buf_printf(&out->text, "%ju", (uintmax_t)c->turns); break;
	}
}

static const struct table chats_table = {
	TABLE_COLS(chats_cols), .rows = &chats_rows, .cell = chats_cell,
	.empty = "No conversation is kept yet.\n"
		 "Talk with a model: c on Models. What is said there comes here.",
	.no_match = "Nobody said that; Esc shows all.",
};
static const struct table trash_table = {
	TABLE_COLS(chats_cols), .rows = &chats_rows, .cell = chats_cell,
	.empty = "Nothing was removed. t shows what is kept.",
	.no_match = "Nobody said that in what was removed; Esc shows all.",
};

static const struct table *
chats_table_of(const struct view *v)
{
	const struct chats_view *s = v->state;

	return s->trash ? &trash_table : &chats_table;
}

/* ---- what is done to one, on a worker ---- */

struct chat_change {
	char *index, *text;		/* owned; text: a title, a path */
	int64_t id;
	enum { CHANGE_TITLE, CHANGE_REMOVE, CHANGE_RESTORE, CHANGE_EMPTY, CHANGE_EXPORT } what;
	size_t n;			/* that were deleted */
};

static enum tb_status
export_chat(struct db *db, const struct chat_change *c, struct tb_err *err)
{
	enum chat_format as = tb_ends(c->text, ".json") ? CHAT_JSON : CHAT_MARKDOWN;
	struct db_chats chat = { 0 };
	struct db_turns turns = { 0 };
	struct tb_buf text = TB_BUF(EXPORT_MAX);
	enum tb_status status = db_chats_get(db, c->id, &chat, err);

	if (!status && !chat.n)
		status = tb_fail(err, TB_ENOENT, "it is not there any more");
	if (!status)
		status = db_chats_turns(db, c->id, &turns, err);
	if (!status) {
		chat_export(&chat.rows[0], &turns, as, &text);
		status = tb_buf_status(&text, "the session", err);
	}
	if (!status)
		status = tb_out_file(c->text, text.p, text.len, false, err);
	tb_buf_free(&text);
	tb_arena_free(&chat.mem);
	tb_arena_free(&turns.mem);
	return status;
}

static enum tb_status
change_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chat_change *c = arg;
	struct db *db;
	enum tb_status status;

	(void)job;
	if (c->what == CHANGE_EMPTY)
		return chat_empty_trash(c->index, &c->n, err);
	if ((status = db_chats_open(&db, c->index, c->what != CHANGE_EXPORT, err)))
		return status;
	switch (c->what) {
	case CHANGE_TITLE: status = db_chats_rename(db, c->id, c->text, err); break;
	case CHANGE_EXPORT: status = export_chat(db, c, err); break;
	default:
		status = db_chats_remove(db, c->id, c->what == CHANGE_REMOVE ? tb_now_ns() : 0, err);
	}
	db_close(db);
	return status;
}

static void
change_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct chats_view *s = v->state;
	const struct chat_change *c = arg;

	if (status) {
		view_complain(v, err);
		return;
	}
	if (c->what == CHANGE_REMOVE) {
		s->removed = c->id;
		view_say(v, "Session %jd is in the trash: u takes it back, t shows what is there.",
			 (intmax_t)c->id);
	} else if (c->what == CHANGE_RESTORE) {
		s->removed = 0;
		view_say(v, "Session %jd is back.", (intmax_t)c->id);
	} else if (c->what == CHANGE_EMPTY) {
		view_say(v, "%zu session%s deleted.", c->n, tb_plural(c->n));
	} else if (c->what == CHANGE_EXPORT) {
		view_say(v, "Written: %s", c->text);
	}
	view_refresh(v);
}

static void
change_free(void *arg)
{
	struct chat_change *c = arg;

	free(c->index);
	free(c->text);
	free(c);
}

static const struct job_ops change_job = {
	.run = change_run, .done = change_done, .free = change_free,
};

/* text may be NULL. */
static void
change(struct view *v, int what, int64_t id, const char *text)
{
	struct chat_change *c = view_alloc(v, sizeof(*c));

	if (!c)
		return;
	c->what = what;
	c->id = id;
	c->index = tb_strdup(view_ctx(v)->db_path);
	c->text = text ? tb_strdup(text) : NULL;
	if (c->index && (c->text || !text))
		(void)view_job(v, &change_job, c, "session %jd", (intmax_t)id);
	else
		change_free(c);
}

/* ---- keys ---- */

/* It was typed for the session of this number. */
static bool
title_typed(struct view *v, const char *text)
{
	if (*text)
		change(v, CHANGE_TITLE, *(const int64_t *)v->about, text);
	return true;
}

static bool
path_typed(struct view *v, const char *text)
{
	if (*text)
		change(v, CHANGE_EXPORT, *(const int64_t *)v->about, text);
	return true;
}

static void
type_for(struct view *v, const struct db_chat *c, const char *label, const char *text,
	 typed_fn *typed)
{
	int64_t *about = view_alloc(v, sizeof(*about));

	if (!about)
		return;
	*about = c->id;
	view_type_about(v, label, text, typed, about, free);
}

static void
empty_trash(struct view *v)
{
	change(v, CHANGE_EMPTY, 0, NULL);
}

static void
go_on(struct view *v, const struct db_chat *c)
{
	const struct model_loc model = { .name = (char *)c->model, .path = (char *)c->ref,
					 .root = (char *)"" };
	const struct view_arg arg = { .model = &model, .id = c->id };

	if (*c->ref)
		view_open(v, VIEW_CHAT, &arg);
	else
		view_say(v, "It does not say which model answered; tbtui chat REF --session %jd",
			 (intmax_t)c->id);
}

static bool
chats_act(struct view *v, enum action a)
{
	struct chats_view *s = v->state;
	const struct db_chat *c = rows_current(v);
	char text[64];

	switch (a) {
	case ACT_OPEN:
		if (c)
			go_on(v, c);
		return true;
	case ACT_RENAME:
		if (c)
			type_for(v, c, "title: ", c->title, title_typed);
		return true;
	case ACT_EXPORT:
		snprintf(text, sizeof(text), "session-%jd.md", c ? (intmax_t)c->id : 0);
		if (c)
			type_for(v, c, "write to (.md .json): ", text, path_typed);
		return true;
	case ACT_DELETE:
		if (c && s->trash)
			view_ask(v, empty_trash, "Delete the %zu session%s in the trash FOR GOOD?",
				 v->list.n, tb_plural(v->list.n));
		else if (c)
			change(v, CHANGE_REMOVE, c->id, NULL);
		return true;
	case ACT_BRING_BACK:
		if (s->trash ? c != NULL : s->removed != 0)
			change(v, CHANGE_RESTORE, s->trash ? c->id : s->removed, NULL);
		return true;
	case ACT_TRASH:
		s->trash = !s->trash;
		view_refresh(v);
		return true;
	default:
		return false;
	}
}

static bool
chats_can(const struct view *v, enum action a)
{
	const struct chats_view *s = v->state;

	switch (a) {
	case ACT_TRASH: return true;
	case ACT_BRING_BACK: return s->trash ? v->list.n > 0 : s->removed != 0;
	default: return v->list.n > 0;
	}
}

static void
chats_entered(struct view *v)
{
	view_refresh(v);
}

static void
chats_summary(struct view *v, struct tb_buf *out)
{
	const struct chats_view *s = v->state;

	(void)view_count(v, s->trash ? "removed session" : "session", out);
}

const struct view_ops view_chats = {
	.size = sizeof(struct chats_view), .columns = &chats_table, .table = chats_table_of,
	.entered = chats_entered, .act = chats_act, .can = chats_can, .summary = chats_summary,
};
