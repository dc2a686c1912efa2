/* view.c - the stack of screens, and what the frame does with a key. */
#include "config.h"

#include "ui/loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/store/model.h"
#include "ui/away.h"
#include "ui/setup.h"

#define V(id, tab, keys, rank, ops, title, help) extern const struct view_ops ops;
#include "ui/views.def"
#undef V

const struct view_row view_rows[VIEW_COUNT] = {
#define V(id, tab, keys, rank, ops, title, help) [VIEW_##id] = { &ops, title, tab },
#include "ui/views.def"
#undef V
};

struct op_ctx *
view_ctx(const struct view *v)
{
	return v->away ? &v->away->ctx : v->ui->ctx;
}

struct db *
view_db(const struct view *v)
{
	return v->away ? v->away->db : v->ui->db;
}

struct view *
view_home(const struct view *v)
{
	struct view *home = v->ui->top;

	while (home && home->id != VIEW_MODELS)
		home = home->below;
	return home;
}

struct jobs *
view_jobs_list(const struct view *v)
{
	return &v->ui->jobs;
}

bool
view_steady(const struct view *v)
{
	return v->ui->test;
}

const struct table *
view_table(const struct view *v)
{
	return v->ops->table ? v->ops->table(v) : v->ops->columns;
}

struct pager *
ui_pager(struct view *v)
{
	return v->ops->pager ? v->ops->pager(v) : NULL;
}

/* Messages. */

void
ui_say(struct ui *ui, enum role role, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ui->message, sizeof(ui->message), fmt, ap);
	va_end(ap);
	ui->message_role = role;
}

void
view_say(struct view *v, const char *fmt, ...)
{
	char line[sizeof(v->ui->message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ui_say(v->ui, ROLE_TEXT, "%s", line);
}

void
view_complain(struct view *v, const struct tb_err *err)
{
	ui_say(v->ui, ROLE_ERROR, "%s", err->msg);
}

void
view_ask(struct view *v, void (*yes)(struct view *v), const char *question, ...)
{
	char text[sizeof(v->ui->question) - sizeof(" [y/N]")];
	va_list ap;

	va_start(ap, question);
	vsnprintf(text, sizeof(text), question, ap);
	va_end(ap);
	if (*v->ui->question)
		ui_answer(v->ui, false);
	snprintf(v->ui->question, sizeof(v->ui->question), "%s [y/N]", text);
	v->ui->asker = v;
	v->ui->yes = yes;
}

void
view_ask_about(struct view *v, void (*yes)(struct view *v, void *arg), void *arg,
	       void (*forget)(void *arg), const char *question)
{
	struct ui *ui = v->ui;

	view_ask(v, NULL, "%s", question);
	ui->about.yes = yes;
	ui->about.forget = forget;
	ui->about.arg = arg;
}

void
ui_answer(struct ui *ui, bool yes)
{
	struct view *v = ui->asker;
	void *arg = ui->about.arg;

	*ui->question = 0;
	ui->asker = NULL;
	ui->about.arg = NULL;
	if (yes && arg)
		ui->about.yes(v, arg);
	else if (yes)
		ui->yes(v);
	else if (arg)
		ui->about.forget(arg);
}

bool
view_may_ask(const struct view *v)
{
	return view_on_top(v) && !prompt_is_open() && !*v->ui->question;
}

struct ui_job *
view_job(struct view *v, const struct job_ops *ops, void *arg, const char *title, ...)
{
	char line[256];
	struct tb_err err;
	struct ui_job *j;
	va_list ap;

	va_start(ap, title);
	vsnprintf(line, sizeof(line), title, ap);
	va_end(ap);
	j = jobs_start(&v->ui->jobs, ops, v, arg, line, &err);
	if (!j)
		view_complain(v, &err);
	return j;
}

/* The stack. */

static struct view **
place_in_stack(struct ui *ui, const struct view *v)
{
	struct view **p = &ui->top;

	while (*p && *p != v)
		p = &(*p)->below;
	return p;
}

/* Takes it out of the list that p is in; nothing is asked or typed there any more. */
static struct view *
take_out(struct ui *ui, struct view **p)
{
	struct view *v = *p;

	if (v == ui->asker)
		ui_answer(ui, false);
	if (prompt_owner() == v || (v == ui->top && prompt_owner() == ui))
		prompt_close();
	*p = v->below;
	return v;
}

static void
close_at(struct ui *ui, struct view **p)
{
	struct view *v = take_out(ui, p);

	jobs_disown(&ui->jobs, v);
	v->below = ui->dead;
	ui->dead = v;
}

/* As its person leaves it: some wait to be opened again. */
static void
leave_at(struct ui *ui, struct view **p)
{
	struct view *v = *p;

	if (!v->ops->keeps || !v->ops->keeps(v)) {
		close_at(ui, p);
		return;
	}
	(void)take_out(ui, p);
	v->below = ui->kept;
	ui->kept = v;
}

bool
loc_same(const struct model_loc *a, const struct model_loc *b)
{
	return a->path && b->path && !strcmp(a->path, b->path);
}

/* Does it show arg as it is? */
static bool
shows(const struct view *v, const struct view_arg *arg)
{
	if (v->ops->needs_model && !arg->model)
		return true;
	if (v->ops->same)
		return v->ops->same(v, arg);
	return !v->ops->needs_model || loc_same(&v->loc, arg->model);
}

static void
raise_at(struct ui *ui, struct view **p)
{
	struct view *v = *p;

	*p = v->below;
	v->below = ui->top;
	ui->top = v;
}

const struct view *
ui_loses(const struct ui *ui, const char **question)
{
	const struct view *lists[] = { ui->top, ui->kept };

	for (size_t i = 0; i < 2; i++)
		for (const struct view *v = lists[i]; v; v = v->below)
			if (v->ops->loses && (*question = v->ops->loses(v)))
				return v;
	return NULL;
}

static void
view_free(struct view *v)
{
	list_free(&v->list);
	rows_free(&v->rows);
	if (v->ops->needs_model)
		model_loc_free(&v->loc);
	if (v->about)
		v->forget(v->about);
	free(v->state);
	free(v);
}

void
ui_bury(struct ui *ui)
{
	while (ui->dead) {
		struct view *v = ui->dead;

		ui->dead = v->below;
		if (v->ops->close)
			v->ops->close(v);
		view_free(v);
		if (!ui->dead)
			away_sweep(ui);
	}
}

void
ui_close_all(struct ui *ui)
{
	while (ui->top)
		close_at(ui, &ui->top);
	while (ui->kept)
		close_at(ui, &ui->kept);
	ui_bury(ui);
}

bool
ui_subject_of(struct view *v, struct view_arg *out)
{
	*out = (struct view_arg){ 0 };
	if (v->ops->subject)
		return v->ops->subject(v, out) && out->model;
	out->model = v->ops->needs_model ? &v->loc : NULL;
	return out->model != NULL;
}

static struct view *
view_push(struct ui *ui, enum view_id id, const struct view_arg *arg, struct tb_err *err)
{
	const struct view_ops *ops = view_rows[id].ops;
	struct view *v = tb_calloc(1, sizeof(*v));

	if (!v) {
		(void)tb_nomem(err);
		return NULL;
	}
	*v = (struct view){ .ops = ops, .id = id, .ui = ui, .below = ui->top,
			    .opened = tb_monotonic() };
	v->away = ops->needs_model ? away_of(ui, arg->model) : NULL;
	list_init(&v->list);
	v->list.columns = setup_columns(id);
	v->state = tb_calloc(1, ops->size);
	if (!v->state || (ops->needs_model && model_loc_copy(&v->loc, arg->model, NULL))) {
		(void)tb_nomem(err);
	} else if (!ops->open || ops->open(v, arg, err) == TB_OK) {
		ui->top = v;
		view_refresh(v);
		return v;
	}
	jobs_disown(&ui->jobs, v);
	view_free(v);
	return NULL;
}

/* There is at most one screen of a kind, but for the moment in which another one
 * takes its place: the upper one is the new one. */
static void
raise_or_push(struct ui *ui, enum view_id id, const struct view_arg *arg)
{
	const struct view_ops *ops = view_rows[id].ops;
	struct view *v = ui->top, **kept = &ui->kept;
	struct view_arg subject = { 0 };
	struct tb_err err = { 0 };

	while (v && v->id != id)
		v = v->below;
	if (!arg && ops->needs_model)
		for (struct view *of = ui->top; of && !ui_subject_of(of, &subject); )
			of = of->below;
	if (!arg)
		arg = &subject;
	if (v && shows(v, arg)) {
		raise_at(ui, place_in_stack(ui, v));
		return;
	}
	while (*kept && ((*kept)->id != id || !shows(*kept, arg)))
		kept = &(*kept)->below;
	if (*kept) {		/* it has waited */
		raise_at(ui, kept);
		view_refresh(ui->top);
	} else if (id == VIEW_CHAT && !arg->model) {	/* then one that was begun */
		raise_or_push(ui, VIEW_CHATS, arg);
		return;
	} else if (ops->needs_model && !arg->model) {
		ui_say(ui, ROLE_TEXT, "%s needs a model: go to one on Models first.",
		       view_rows[id].title);
		return;
	} else if (ops->needs_model && !away_can_open(id) && away_of(ui, arg->model)) {
		ui_say(ui, ROLE_TEXT, AWAY_REFUSED);
		return;
	} else if (!view_push(ui, id, arg, &err)) {
		ui_say(ui, ROLE_ERROR, "%s", err.msg);
		return;
	}
	if (v)
		leave_at(ui, place_in_stack(ui, v));
}

void
ui_open(struct ui *ui, enum view_id id, const struct view_arg *arg)
{
	raise_or_push(ui, id, arg);
	if (!ui->top || (ui->top->id != id && ui->top->id != VIEW_CHATS))
		return;
	if (ui->top->ops->opens_typing)
		ui_act(ui, ACT_FILTER);
	if (ui->top->ops->entered)
		ui->top->ops->entered(ui->top);
}

void
view_open(struct view *v, enum view_id id, const struct view_arg *arg)
{
	ui_open(v->ui, id, arg);
}

/* Models stays: it goes with the program. */
void
view_back(struct view *v)
{
	struct view **p = place_in_stack(v->ui, v);

	if (*p && v->id != VIEW_MODELS)
		leave_at(v->ui, p);
}

static void
view_typed(void *arg, const char *text)
{
	struct view *v = arg;

	if (text && !v->typed(v, text))
		view_type(v, v->asks, text, v->typed);
}

static const char *
view_complete(void *arg, const char *word, size_t i)
{
	struct view *v = arg;

	return v->offers ? v->offers(v, word, i) : NULL;
}

void
view_type(struct view *v, const char *label, const char *text, typed_fn *done)
{
	if (v->typed != done)
		v->offers = NULL;
	v->asks = label;
	v->typed = done;
	prompt_open(&(struct prompt_spec){
		.label = label, .text = text, .history = label, .done = view_typed,
		.complete = view_complete, .words = true, .arg = v,
	});
}

void
view_type_offers(struct view *v, const char *(*offers)(struct view *, const char *, size_t))
{
	v->offers = offers;
}

void
view_type_about(struct view *v, const char *label, const char *text, typed_fn *done, void *about,
		void (*forget)(void *about))
{
	if (v->about)
		v->forget(v->about);
	v->about = about;
	v->forget = forget;
	view_type(v, label, text, done);
}

bool
view_on_top(const struct view *v)
{
	return v->ui->top == v;
}

void
view_refresh(struct view *v)
{
	const struct table *t = view_table(v);
	bool had = t && t->rows == v->rows.of && v->list.cur < v->list.n;
	uint64_t id = had ? rows_id(v, v->list.cur) : 0;
	size_t n, row;

	if (v->ops->refresh)
		v->ops->refresh(v);
	if (!view_table(v))
		return;
	n = (size_t)rows_count(v);
	list_requery(&v->list, n, had && rows_find(v, id, &row) ? &row : NULL);
}

bool
view_about(struct view *v, const struct db_model *m, struct view_arg *out)
{
	if (!m)
		return false;
	v->loc = db_model_loc(m);
	*out = (struct view_arg){ .model = &v->loc };
	return true;
}

bool
view_count(const struct view *v, const char *what, struct tb_buf *out)
{
	char text[WORD_MAX];

	tb_buf_str(out, word_count(v->list.n, what, text));
	if (*v->list.filter)
		tb_buf_printf(out, " with \"%s\"", v->list.filter);
	return *v->list.filter;
}

void *
view_alloc(struct view *v, size_t size)
{
	void *p = tb_calloc(1, size);

	if (!p)
		view_say(v, "out of memory");
	return p;
}

unsigned
view_index(const struct view *v)
{
	return v->ui->index;
}

void
ui_refresh(struct ui *ui)
{
	ui->index++;
	(void)db_changed(ui->db);	/* follows an index that was not there before */
	for (struct view *v = ui->top; v; v = v->below)
		view_refresh(v);
}
