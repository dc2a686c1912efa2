/* view_pull.c - a model from elsewhere: named, looked at before anything is loaded, loaded. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/away.h"
#include "ui/hints.h"
#include "ui/lefts.h"
#include "ui/offer.h"
#include "ui/pull.h"
#include "ui/view.h"

struct pull_view {
	char *line;			/* what is looked at, as it was typed; owned; NULL: nothing */
	char *typed;			/* what stands in the prompt; owned */
	struct offer offer;		/* its away is in the screens' list */
	bool known, looking;		/* there is a text; and more may come */
	unsigned no;			/* of the look whose answer counts */
	uint64_t job;
	struct pager text;
	char error[1024];
	struct hints hints;
	struct lefts lefts;
	unsigned seen;			/* view_index() when they were looked for */
};

static const char how_to[] =
	"Which model?  Its name, or where it lies:\n\n"
	"  llama3:8b                     as Ollama calls it\n"
	"  host:5000/ns/model:tag        in another registry\n"
	"  docker://host/repo:tag        in any repository of a registry\n"
	"  hf:org/name                   at Hugging Face; hf:org/name@revision\n\n"
	"Enter looks at it first: nothing is downloaded before you say so. Tab completes names, tags"
	" behind a colon, and revisions behind hf:org/name@.\n\n"
	"A second word is the name it gets here. --replace, --store DIR and --streams N may follow;"
	" --insecure is plain HTTP, --tls-skip-verify accepts any certificate.";

/* ---- looking ---- */

static void
show_text(struct view *v, char *text)
{
	struct pull_view *s = v->state;
	size_t top = s->text.top;

	pager_set(&s->text, text, true);
	s->text.top = top;
}

static void
pull_heard(struct view *v, unsigned no, struct offer *o, bool end, const struct tb_err *err)
{
	struct pull_view *s = v->state;

	if (no != s->no)		/* something else is looked at by now */
		return;
	s->looking = !end;
	if (!o) {
		s->known = false;
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		return;
	}
	s->known = true;
	s->offer.taken = o->taken;
	s->offer.fits = o->fits;
	show_text(v, o->text);
	o->text = NULL;
	if (o->away) {
		away_keep(v, o->away);
		o->away = NULL;
	}
}

static void
stop_looking(struct view *v)
{
	struct pull_view *s = v->state;
	struct ui_job *j = s->looking ? jobs_by_id(view_jobs_list(v), s->job) : NULL;

	s->no++;
	s->known = s->looking = false;
	*s->error = 0;
	if (j)
		jobs_cancel(j);
}

static void
pull_look_at(struct view *v, const char *line)
{
	struct pull_view *s = v->state;
	uint64_t job;

	stop_looking(v);
	free(s->line);
	s->line = tb_strdup(line);
	pager_set(&s->text, NULL, true);
	v->holds = NULL;
	s->looking = true;
	job = offer_ask(v, line, s->no, pull_heard);
	if (job)
		s->job = job;
	else
		s->looking = false;
}

/* ---- what did not end ---- */

static const struct rows_source lefts_rows = { ROWS_IN(struct pull_view, lefts.v, lefts.n) };

static const struct table lefts_table = {
	.cols = lefts_cols, .ncols = LEFTS_COLS, .rows = &lefts_rows, .cell = lefts_cell,
};

static const struct table *
pull_table(const struct view *v)
{
	const struct pull_view *s = v->state;

	return s->known || s->looking || *s->error || !s->lefts.n ? NULL : &lefts_table;
}

static void
lefts_came(struct view *v, struct lefts *l)
{
	struct pull_view *s = v->state;

	lefts_free(&s->lefts);
	s->lefts = *l;
	*l = (struct lefts){ 0 };
	view_refresh(v);
}

static void
find_lefts(struct view *v)
{
	((struct pull_view *)v->state)->seen = view_index(v);
	lefts_ask(v, lefts_came);
}

/* A pull has ended, of this program or another. */
static void
pull_refresh(struct view *v)
{
	if (((struct pull_view *)v->state)->seen != view_index(v))
		find_lefts(v);
}

/* Nobody wants to type: there is something to choose from, or nothing to be done. */
static void
leave_if_empty(struct view *v)
{
	if (!pull_table(v))
		view_back(v);
}

/* ---- typing ---- */

static void
pull_typed(void *arg, const char *text)
{
	struct view *v = arg;
	struct pull_view *s = v->state;

	if (text)
		text += strspn(text, " ");
	if (text && *text) {
		hints_seen(&s->hints, text);
		pull_look_at(v, text);
	} else if (!s->line) {
		leave_if_empty(v);
	}
}

static void
typing_changed(void *arg, const char *text)
{
	struct pull_view *s = ((struct view *)arg)->state;

	free(s->typed);
	s->typed = tb_strdup(text);
}

/* Tab was pressed when nobody knew them: it is pressed once more. */
static void
names_came(struct view *v, const char *front, struct tb_names *names, const struct tb_err *err)
{
	struct pull_view *s = v->state;
	bool waits = prompt_owner() == v && s->typed && tb_starts(s->typed, front);
	char text[WORD_MAX];

	if (waits && names)
		view_say(v, "%.*s has %s.", (int)strlen(front) - 1, front,
			 word_count(names->n, hints_kind(front), text));
	else if (waits)
		view_say(v, "%s", err->msg);
	hints_take(&s->hints, front, names);
	if (waits && names)
		prompt_byte('\t');
}

static const char *
candidate(void *arg, const char *word, size_t i)
{
	struct view *v = arg;
	struct pull_view *s = v->state;

	return hints_at(v, &s->hints, word, i, names_came);
}

static void
ask_name(struct view *v)
{
	struct pull_view *s = v->state;

	typing_changed(v, s->line ? s->line : "");
	prompt_open(&(struct prompt_spec){
		.label = "pull ", .text = s->line, .selected = true, .history = "pull",
		.changed = typing_changed, .done = pull_typed, .complete = candidate, .words = true,
		.arg = v,
	});
}

/* ---- keys ---- */

static void
begin(struct view *v)
{
	struct pull_view *s = v->state;
	struct pull_words w;
	struct tb_err err;

	if (pull_words_read(&w, s->line, &err)) {
		view_complain(v, &err);
		return;
	}
	w.req.replace |= s->offer.taken == PULL_OTHER;	/* which has been agreed to */
	if (task_pull(v, &w))
		view_back(v);
}

static void
pull_load(struct view *v)
{
	struct pull_view *s = v->state;

	if (s->offer.taken == PULL_OTHER)
		view_ask(v, begin, "Another model has that name here. REPLACE it by %s? The one that is"
			 " there is kept.", s->line);
	else if (!s->offer.fits)
		view_ask(v, begin, "There is too little room for all of %s. Begin all the same? What"
			 " comes is kept.", s->line);
	else
		begin(v);
}

static bool
pull_act(struct view *v, enum action a)
{
	struct pull_view *s = v->state;
	const struct left_row *left;

	switch (a) {
	case ACT_PULL:
		ask_name(v);
		return true;
	case ACT_RESCAN:
		find_lefts(v);
		return false;		/* the stores are read again, too */
	case ACT_OPEN:
		if (s->known)
			pull_load(v);
		else if (pull_table(v) && (left = rows_current(v)))
			pull_look_at(v, left->line);
		else if (!s->looking)
			ask_name(v);
		return true;
	case ACT_INSPECT:
		if (v->holds)
			away_open(v, v->holds);
		else
			view_say(v, s->looking ? "It is still being looked at."
				 : "What is in it could not be seen.");
		return true;
	default:
		return false;
	}
}

static bool
pull_can(const struct view *v, enum action a)
{
	const struct pull_view *s = v->state;

	return a == ACT_OPEN ? s->known || pull_table(v) : a == ACT_INSPECT ? v->holds != NULL : true;
}

static const char *
pull_word(const struct view *v, enum action a)
{
	const struct pull_view *s = v->state;

	return a == ACT_OPEN ? pull_table(v) ? "go on" : "pull"
	     : a == ACT_PULL ? s->line ? "another name" : "type a name" : NULL;
}

/* ---- drawing ---- */

static struct pager *
pull_pager(struct view *v)
{
	struct pull_view *s = v->state;

	return s->known ? &s->text : NULL;
}

static void
pull_draw(struct view *v, struct area a)
{
	struct pull_view *s = v->state;
	struct area inner = { a.y, a.x + 1, a.h, a.w - 2 };

	put_blank(a);
	if (s->known)
		pager_draw(inner, &s->text);
	else if (*s->error)
		(void)put_wrap(inner, s->error, ROLE_ERROR);
	else if (s->looking)
		draw_waiting(a, "", "Asking...");
	else
		(void)put_wrap(area_top(&inner, wrap_rows(how_to, inner.w)), how_to, ROLE_TEXT);
	if (pull_table(v)) {
		a.y = inner.y + 1;
		a.h = inner.h - 1;
		if (a.h > 1)
			table_draw(a, v);
	}
}

static void
pull_summary(struct view *v, struct tb_buf *out)
{
	const struct pull_view *s = v->state;
	char text[WORD_MAX];

	if (s->looking)
		tb_buf_str(out, "looking");
	else if (s->known)
		tb_buf_str(out, "nothing has been loaded yet");
	else if (pull_table(v))
		tb_buf_printf(out, "%s to go on with; prune on Blobs frees what is older than a day",
			      word_count(s->lefts.n, "download", text));
}

static void
pull_where(struct view *v, struct tb_buf *out)
{
	const struct pull_view *s = v->state;

	tb_buf_str(out, s->line ? s->line : "");
}

/* ---- its life ---- */

/* Who comes from a look into it means that one, others mean another. */
static void
pull_entered(struct view *v)
{
	find_lefts(v);
	if (!v->below || !v->below->away || v->below->away != v->holds)
		ask_name(v);
}

static void
pull_close(struct view *v)
{
	struct pull_view *s = v->state;

	free(s->line);
	free(s->typed);
	offer_free(&s->offer);
	pager_free(&s->text);
	hints_free(&s->hints);
	lefts_free(&s->lefts);
}

const struct view_ops view_pull = {
	.size = sizeof(struct pull_view), .close = pull_close, .entered = pull_entered,
	.table = pull_table, .pager = pull_pager, .draw = pull_draw, .act = pull_act, .can = pull_can,
	.word = pull_word, .refresh = pull_refresh, .summary = pull_summary, .where = pull_where,
};
