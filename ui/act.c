/* act.c - what a key does when the screen has nothing of its own for it. */
#include "config.h"

#include "ui/loop.h"

#include <stdio.h>

#include "src/face/editor.h"
#include "ui/away.h"
#include "ui/term.h"

#define MARK_ALL_MAX 100000	/* rows; more than anybody means */

static void
quit_anyway(struct view *v)
{
	v->ui->quit = true;
}

static void
quit(struct ui *ui)
{
	struct view *v = ui->top;
	const char *asks = NULL;
	const struct view *loses = ui_loses(ui, &asks);

	if (v->id != VIEW_MODELS)
		view_back(v);
	else if (jobs_busy(&ui->jobs, true))
		view_ask(v, quit_anyway, "A job is still running. Cancel it and quit?");
	else if (loses)
		view_ask(v, quit_anyway, "%s: %s Quit?", loses->loc.name, asks);
	else
		ui->quit = true;
}

void
ui_filter(struct ui *ui, const char *text)
{
	struct view *v = ui->top;
	struct pager *p = ui_pager(v);

	if (p)
		pager_find(p, text);
	else if (view_table(v) && list_set_filter(&v->list, text))
		view_refresh(v);
}

static const char *
filter_of(struct view *v)
{
	struct pager *p = ui_pager(v);

	return p ? p->find : view_table(v) ? v->list.filter : "";
}

static void
filter_changed(void *arg, const char *text)
{
	ui_filter(arg, text);
}

/* Esc: as it was before. */
static void
filter_done(void *arg, const char *text)
{
	struct ui *ui = arg;

	ui_filter(ui, text ? text : ui->filter_was);
}

static void
filter_prompt(struct ui *ui)
{
	struct prompt_spec spec = {
		.label = "/", .text = ui->filter_was, .selected = true, .history = "filter",
		.changed = filter_changed, .done = filter_done, .arg = ui,
	};

	if (!view_table(ui->top) && !ui_pager(ui->top)) {
		ui_say(ui, ROLE_TEXT, "There is nothing to filter here.");
		return;
	}
	snprintf(ui->filter_was, sizeof(ui->filter_was), "%s", filter_of(ui->top));
	prompt_open(&spec);
}

void
ui_sort(struct ui *ui, unsigned column, bool reverse)
{
	struct list *l = &ui->top->list;

	l->sort = column;
	l->reverse = reverse;
	view_refresh(ui->top);
}

char *
view_edit(struct view *v, const char *text)
{
	struct tb_err err;
	char *out;
	bool tidy;
	enum tb_status status;

	term_leave();
	status = edit_text(text, &out, &tidy, &err);
	term_back(tidy);
	if (status)
		view_complain(v, &err);
	return out;
}

static void
sort(struct ui *ui, const struct table *t, bool next)
{
	struct list *l = &ui->top->list;
	struct list order = *l;

	if (next && !table_sort_next(t, &order))
		ui_say(ui, ROLE_TEXT, "There is one order here.");
	else
		ui_sort(ui, order.sort, next ? false : !l->reverse);
}

static void
mark(struct ui *ui, enum action a)
{
	struct view *v = ui->top;
	struct list *l = &v->list;
	bool ok = true;

	if (a == ACT_UNMARK) {
		list_unmark_all(l);
		return;
	}
	if (a == ACT_MARK && l->n) {
		uint64_t id = rows_id(v, l->cur);

		ok = list_mark(l, id, !list_marked(l, id));
		list_move(l, 1);
	}
	for (size_t i = 0; a == ACT_MARK_ALL && i < l->n && i < MARK_ALL_MAX && ok; i++)
		ok = list_mark(l, rows_id(v, i), true);
	if (!ok)
		ui_say(ui, ROLE_ERROR, "out of memory");
}

long
view_rows_of(enum action a, size_t height)
{
	long page = height > 1 ? (long)height - 1 : 1, half = height > 1 ? (long)height / 2 : 1;

	switch (a) {
	case ACT_UP: return -1;
	case ACT_DOWN: return 1;
	case ACT_PAGE_UP: return -page;
	case ACT_PAGE_DOWN: return page;
	case ACT_HALF_UP: return -half;
	case ACT_HALF_DOWN: return half;
	default: return 0;
	}
}

static bool
table_act(struct ui *ui, const struct table *t, enum action a)
{
	struct list *l = &ui->top->list;
	long by = view_rows_of(a, l->height);

	if (by)
		list_move(l, by);
	else if (a == ACT_FIRST || a == ACT_LAST)
		list_goto(l, a == ACT_FIRST || !l->n ? 0 : l->n - 1);
	else if (a == ACT_NEXT_MATCH && l->n)	/* all rows match: round the end */
		list_goto(l, (l->cur + 1) % l->n);
	else if (a == ACT_PREV_MATCH && l->n)
		list_goto(l, (l->cur ? l->cur : l->n) - 1);
	else if (a == ACT_MARK || a == ACT_MARK_ALL || a == ACT_UNMARK)
		mark(ui, a);
	else if (a == ACT_SORT || a == ACT_SORT_REVERSE)
		sort(ui, t, a == ACT_SORT);
	else
		return false;
	return true;
}

static bool
pager_act(struct pager *p, enum action a)
{
	long by = view_rows_of(a, p->height);

	if (by)
		pager_scroll(p, by);
	else if (a == ACT_LEFT || a == ACT_RIGHT)
		pager_shift(p, a == ACT_LEFT ? -8 : 8);
	else if (a == ACT_FIRST || a == ACT_LAST)
		pager_goto(p, a == ACT_FIRST ? 0 : p->nlines);
	else if (a == ACT_NEXT_MATCH || a == ACT_PREV_MATCH)
		(void)pager_next(p, a == ACT_NEXT_MATCH ? 1 : -1);
	else
		return false;
	return true;
}

static void
common_act(struct ui *ui, enum action a)
{
	switch (a) {
	case ACT_QUIT: quit(ui); break;
	case ACT_BACK:
		if (*filter_of(ui->top))
			ui_filter(ui, "");
		else if (ui->top->id == VIEW_MODELS)
			ui_say(ui, ROLE_TEXT, "q quits.");
		else
			view_back(ui->top);
		break;
	case ACT_FILTER: filter_prompt(ui); break;
	case ACT_COMMAND: command_prompt(ui); break;
	case ACT_PULL: ui_open(ui, VIEW_PULL, NULL); break;
	case ACT_REDRAW: term_redraw(); break;
	case ACT_SUSPEND: term_suspend(); break;
	case ACT_RESCAN:	/* the stores belong to Models, which is always there */
		for (struct view *v = ui->top; v; v = v->below)
			if (v->id == VIEW_MODELS)
				(void)v->ops->act(v, ACT_RESCAN);
		break;
	default: break;
	}
}

void
ui_act(struct ui *ui, enum action a)
{
	struct view *v = ui->top;
	const struct table *t = view_table(v);
	struct pager *p = ui_pager(v);

	if (v->away && !away_can(a)) {
		ui_say(ui, ROLE_TEXT, AWAY_REFUSED);
		return;
	}
	if (!keys_applies(a, v->id) || (v->ops->act && v->ops->act(v, a)))
		return;
	if (a >= ACT_VIEW_FIRST)
		ui_open(ui, (enum view_id)(a - ACT_VIEW_FIRST), NULL);
	else if (!(t && table_act(ui, t, a)) && !(p && pager_act(p, a)))
		common_act(ui, a);
}

static bool
can_sort(const struct view *v)
{
	const struct table *t = view_table(v);
	struct list l = v->list;

	return t && l.n > 1 && table_sort_next(t, &l);
}

bool
ui_can(const struct ui *ui, enum action a)
{
	struct view *v = ui->top;
	bool own = !v->ops->can || v->ops->can(v, a);
	struct view_arg subject;

	if (!action_info[a].rank || !keys_applies(a, v->id) || (v->away && !away_can(a)))
		return false;
	if (a >= ACT_VIEW_FIRST) {
		enum view_id id = (enum view_id)(a - ACT_VIEW_FIRST);

		return id != v->id && (!view_rows[id].ops->needs_model ||
				       (ui_subject_of(v, &subject) &&
					(!v->away || away_can_open(id))));
	}
	switch (a) {
	case ACT_OPEN: return v->ops->can ? own : view_table(v) && v->list.n;
	case ACT_FILTER: return ui_pager(v) || (view_table(v) && (v->list.n || *v->list.filter));
	case ACT_SORT: return can_sort(v);
	case ACT_COMMAND: return true;
	default: return own;
	}
}
