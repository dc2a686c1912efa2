/* view_model.c - one model: its files, keys, texts, sizes and vocabulary as panes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/db.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/blob_cells.h"
#include "ui/heal.h"
#include "ui/model_view.h"
#include "ui/push.h"
#include "ui/tasks.h"
#include "ui/tidy.h"

static void
model_panes(const struct model_view *s, const char *title[PANE_COUNT])
{
#define X(id, name, none) title[id] = name;
	PANE_LIST(X)
#undef X
	if (!s->m || !s->m->nproblems)
		title[PANE_PROBLEMS] = NULL;
}

/* What the keys work on. */

static const struct table *
model_view_table(const struct view *v)
{
	const struct model_view *s = v->state;

	if (!s->m || s->value_key)
		return NULL;
	switch (s->pane) {
	case PANE_FILES: return &model_files_table;
	case PANE_METADATA: return &model_keys_table;
	case PANE_TOKENIZER:
		return !s->tok.vocab ? NULL : s->tok.text ? &model_spans_table
		     : &model_tokens_table;
	default: return NULL;
	}
}

static struct pager *
model_view_pager(struct view *v)
{
	struct model_view *s = v->state;

	if (!s->m || view_table(v))
		return NULL;
	return s->value_key ? &s->value : s->pane == PANE_TOKENIZER ? NULL : &s->text[s->pane];
}

/* Drawing. */

static void
model_draw_facts(struct area a, const struct model *m)
{
	const char *dot = theme_sign(SIGN_DOT);
	struct tb_buf b = TB_BUF(4096);
	char text[WORD_MAX], number[16], family[MODEL_FAMILY_MAX];

	if (*m->arch)
		tb_buf_str(&b, model_family(m->arch, family));
	else
		tb_buf_str(&b, "no architecture");
	if (m->params)
		tb_buf_printf(&b, " %s %s parameters", dot, tb_human_count(m->params, number));
	if (*m->scheme)
		tb_buf_printf(&b, " %s %s", dot, m->scheme);
	tb_buf_printf(&b, " %s %s", dot, tb_human_bytes(m->bytes, number));
	tb_buf_printf(&b, " %s %s", dot, word_count(m->ntensors, "tensor", text));
	tb_buf_printf(&b, " %s %s", dot, kind_name(m->loc.kind));
	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	put_clip(a.y, a.x + 1, a.w - 1, tb_buf_cstr(&b), ROLE_TEXT);
	tb_buf_free(&b);
}

static void
model_view_draw(struct view *v, struct area a)
{
	struct model_view *s = v->state;
	const char *title[PANE_COUNT];

	if (!s->m) {
		draw_waiting(a, s->error, "Opening...");
		return;
	}
	if (a.h >= 8)
		model_draw_facts(area_top(&a, 1), s->m);
	model_panes(s, title);
	if (a.h >= 4)
		draw_panes(area_top(&a, 1), title, PANE_COUNT, s->pane);
	if (a.h >= 12)
		put_blank(area_top(&a, 1));
	if (s->value_key) {
		put_middle(a.y, a.x + 1, a.w - 1, s->value_key, ROLE_HEAD);
		(void)area_top(&a, 1);
		pager_draw(a, &s->value);
		return;
	}
	if (s->pane == PANE_TOKENIZER)
		model_tokens_draw(&a, s);
	if (view_table(v))
		table_draw(a, v);
	else if (model_view_pager(v))
		pager_draw(a, model_view_pager(v));
	else if (*s->tok.error)
		(void)put_wrap((struct area){ a.y, a.x + 1, a.h, a.w - 2 }, s->tok.error,
			       ROLE_TEXT);
	else
		draw_waiting(a, "", "Reading...");
}

/* Keys. */

static void
close_value(struct model_view *s)
{
	free(s->value_key);
	s->value_key = NULL;
}

/* Each table keeps its own cursor and filter. */
static void
model_view_turn(struct view *v, int by)
{
	struct model_view *s = v->state;
	const char *title[PANE_COUNT];

	close_value(s);
	s->kept[s->pane] = v->list;
	model_panes(s, title);
	s->pane = draw_next_pane(title, PANE_COUNT, s->pane, by);
	v->list = s->kept[s->pane];
	list_init(&s->kept[s->pane]);
	if (s->pane == PANE_TOKENIZER)
		model_tokens_need(v);
	view_refresh(v);
}

/* Esc leaves the value or the tried text first; false: nothing was open. */
static bool
step_back(struct view *v)
{
	struct model_view *s = v->state;

	if (s->value_key && !*s->value.find) {
		close_value(s);
		return true;
	}
	if (s->pane == PANE_TOKENIZER && s->tok.text) {
		model_tokens_try(v, "");
		return true;
	}
	return false;
}

static bool
model_view_act(struct view *v, enum action a)
{
	struct model_view *s = v->state;
	const char *path = v->loc.path;

	switch (a) {
	case ACT_NEXT_PANE:
	case ACT_PREV_PANE:
		model_view_turn(v, a == ACT_NEXT_PANE ? 1 : -1);
		return true;
	case ACT_LEFT:
	case ACT_RIGHT:
		if (model_view_pager(v) && !model_view_pager(v)->wrap)
			return false;
		model_view_turn(v, a == ACT_RIGHT ? 1 : -1);
		return true;
	case ACT_OPEN:
		if (s->m && s->pane == PANE_METADATA && !s->value_key)
			model_open_value(v);
		else if (s->m && s->pane == PANE_TOKENIZER)
			model_tokens_ask(v);
		else if (s->m && s->pane == PANE_FILES)
			view_open(v, VIEW_TENSORS, &(struct view_arg){ .model = &v->loc });
		return true;
	case ACT_BACK:
	case ACT_QUIT:
		return step_back(v);
	case ACT_TRY:
		if (s->pane == PANE_TOKENIZER)
			model_tokens_ask(v);
		return true;
	case ACT_VERIFY:
	case ACT_DEEP:
		task_verify(v, &path, 1, a == ACT_DEEP, v->loc.name);
		return true;
	case ACT_DELETE:
		task_remove(v, &path, 1, v->loc.name);
		return true;
	case ACT_RENAME:
	case ACT_COPY:
		task_name(v, path, v->loc.name, a == ACT_COPY);
		return true;
	case ACT_PUSH:
		task_push(v, path, v->loc.name);
		return true;
	case ACT_HEAL:
		task_heal(v, &path, 1, v->loc.name);
		return true;
	default:
		return false;
	}
}

static bool
model_view_can(const struct view *v, enum action a)
{
	const struct model_view *s = v->state;

	if (a == ACT_TRY)
		return s->pane == PANE_TOKENIZER && s->tok.vocab;
	if (a == ACT_OPEN)
		return s->m && s->pane == PANE_METADATA && !s->value_key && v->list.n;
	if (a == ACT_HEAL)
		return s->damaged;
	return s->m != NULL;
}

static void
model_view_summary(struct view *v, struct tb_buf *out)
{
	const struct model_view *s = v->state;
	const char *dot = theme_sign(SIGN_DOT);
	char text[WORD_MAX];

	if (!s->m)
		return;
	if (s->pane == PANE_TOKENIZER && !s->value_key) {
		model_tokens_summary(s, out);
		return;
	}
	if (s->pane == PANE_METADATA) {
		tb_buf_str(out, word_count(s->meta.n, "key", text));
		if (s->meta.version)
			tb_buf_printf(out, " %s GGUF version %u %s alignment %ju", dot,
				      s->meta.version, dot, (uintmax_t)s->meta.alignment);
		return;
	}
	if (*v->list.filter)
		tb_buf_printf(out, "%zu of ", v->list.n);
	tb_buf_str(out, word_count(s->m->nfiles, "file", text));
	if (*v->list.filter)
		tb_buf_printf(out, " %s with \"%s\"", dot, v->list.filter);
	if (s->m->nproblems)
		tb_buf_printf(out, " %s %s %s", dot, theme_sign(SIGN_BAD),
			      word_count(s->m->nproblems, "problem", text));
	else if (*s->state)
		tb_buf_printf(out, " %s %s", dot, s->state);
}

static void
model_view_refresh(struct view *v)
{
	struct model_view *s = v->state;
	struct db_models found = { 0 };
	struct cell cell = { .text = TB_BUF(256) };

	s->damaged = false;
	if (!view_db(v) || db_model_by_path(view_db(v), v->loc.path, &found, NULL) || !found.n)
		;
	else if (found.rows[0].state == DB_NEVER && !found.rows[0].changed)
		tb_buf_str(&cell.text, "never verified");
	else
		model_state_cell(&found.rows[0], &cell);
	s->damaged = found.n && found.rows[0].state == DB_DAMAGED;
	snprintf(s->state, sizeof(s->state), "%s", tb_buf_cstr(&cell.text));
	tb_buf_free(&cell.text);
	tb_arena_free(&found.mem);
}

static enum tb_status
model_view_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct model_view *s = v->state;

	(void)arg;
	(void)err;
	for (int i = 0; i < PANE_COUNT; i++)
		list_init(&s->kept[i]);
	model_load(v);
	return TB_OK;
}

static void
model_view_close(struct view *v)
{
	struct model_view *s = v->state;

	for (int i = 0; i < PANE_COUNT; i++) {
		pager_free(&s->text[i]);
		list_free(&s->kept[i]);
	}
	pager_free(&s->value);
	close_value(s);
	model_tokens_free(&s->tok);
	metadata_free(&s->meta);
	opened_unref(s->o);
}

const struct view_ops view_model = {
	.size = sizeof(struct model_view), .needs_model = true, .table = model_view_table,
	.pager = model_view_pager, .open = model_view_open, .close = model_view_close,
	.draw = model_view_draw, .act = model_view_act, .can = model_view_can,
	.refresh = model_view_refresh, .summary = model_view_summary,
};
