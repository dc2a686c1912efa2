/* view_chat.c - a conversation with a model: the transcript, and a line to type in.
 *
 * While one types, every key is readline's: Enter sends, Esc stops the answer or
 * ends typing.  Then the keys are those of a text, and Enter types again.  What is sent
 * before the model is there, or while it speaks, waits above the line until it can be said.
 *
 * Left, the screen waits (view.h, keeps): what was said, an answer that is coming and
 * what was typed but not sent are there when the chat with this model is opened again. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/history.h"
#include "src/face/talk.h"
#include "src/ops/home/home.h"
#include "ui/chat_view.h"
#include "ui/clip.h"

#define BLOCK "\"\"\""	/* begins and ends a message of several lines */

/* The conversation as it stands. */
static void
show_path(struct view *v)
{
	struct chat_view *s = v->state;
	struct chat_path path;
	struct tb_err err;

	if (chat_path(s->talk->chat, &path, &err)) {
		view_complain(v, &err);
		return;
	}
	if (path.n)
		transcript_set(&s->text, &path);
	else
		transcript_clear(&s->text);
	chat_path_free(&path);
}

static void
note(struct chat_view *s, const char *text)
{
	transcript_note(&s->text, text);
}

/* What was sent, at work: most of it is answered. */

static enum tb_status
call_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	return talk_work(arg, NULL, NULL, job, err);
}

static void
call_message(struct view *v, void *arg, const struct tb_msg *msg)
{
	struct chat_view *s = v ? v->state : NULL;
	struct talk_call *c = arg;

	if (!s)
		return;
	if (msg->kind == GEN_MSG_FIGURES && msg->len == sizeof(s->figures)) {
		memcpy(&s->figures, msg->data, sizeof(s->figures));
	} else if (msg->kind == GEN_MSG_NOTE) {
		note(s, msg->data);
	} else if (msg->kind == GEN_MSG_TEXT || msg->kind == GEN_MSG_THINKING) {
		/* what it answers may stand further up */
		if (s->fresh && c->asks != TALK_SAY)
			show_path(v);
		s->fresh = false;
		transcript_piece(&s->text, msg->kind, msg->data, msg->len);
	}
}

static void say_next(struct view *v);
static void type(struct view *v);

/* A text to go on with, in the line that is typed; of a file, in what waits to be said. */
static void
put_into_line(struct view *v, const struct talk_call *c)
{
	struct chat_view *s = v->state;
	char *first = c->put_long && s->waiting.n ? s->waiting.v[0] : NULL;
	char *both = first ? tb_asprintf("%s\n%s", c->put, first) : NULL;

	if (both) {
		free(first);
		s->waiting.v[0] = both;
		return;
	}
	if (s->draft && !c->put_long) {
		view_say(v, "You are typing something else: send it, or ^U takes it away.");
		return;
	}
	if (prompt_owner() != v && view_on_top(v) && !prompt_is_open())
		type(v);
	if (prompt_owner() == v)
		prompt_insert(c->put, c->put_long);
	else if (!s->draft)
		s->draft = tb_strdup(c->put);
}

/* What came of a call. */
static void
show_result(struct view *v, struct talk_call *c)
{
	struct chat_view *s = v->state;
	const char *text = tb_buf_cstr(&c->say);

	if (c->other)
		transcript_clear(&s->text);
	if (c->moved || c->asks)
		show_path(v);
	if (c->did == TALK_COPY)
		clip_copy(v, "the answer", text, c->say.len);
	else if (c->did == TALK_TEXT)
		transcript_help(&s->text, text);
	else if (c->moved && *text)
		view_say(v, "%s", text);
	else if (*text)
		note(s, text);
	if (c->put)
		put_into_line(v, c);
}

/* What waits behind an answer that broke off may not be meant any more: its person says. */
static void
call_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct chat_view *s = v->state;
	struct talk_call *c = arg;
	enum gen_stop stop = c->answer.gen.stop;
	bool answered = c->asks && !status;

	s->working = NULL;
	talk_end(c);
	transcript_end(&s->text);
	if (status)
		note(s, err->msg);
	else
		show_result(v, c);
	if (answered)
		s->figures = c->answer.gen.figures;
	if (answered && talk_broke_off(stop))
		note(s, talk_broke_off(stop));
	if (answered && c->answer.tool_calls) {
		struct tb_buf calls = TB_BUF(1u << 20);

		talk_calls_say(c->answer.tool_calls, &calls);
		note(s, tb_buf_cstr(&calls));
		note(s, TALK_CALLS_HINT);
		tb_buf_free(&calls);
	}
	if (answered && *c->answer.note)
		note(s, c->answer.note);
	s->waiting.held = s->waiting.n && (status || (answered && stop == GEN_CANCELLED));
	if (s->waiting.held)
		view_say(v, "Enter says what waits, Up takes it back.");
	else
		say_next(v);
}

static void
call_free(void *arg)
{
	talk_call_free(arg);
}

static const struct job_ops call_job = {
	.run = call_run, .message = call_message, .done = call_done, .free = call_free
};

/* The call is taken. */
static void
call_begin(struct view *v, struct talk_call *c)
{
	struct chat_view *s = v->state;

	if (talk_is_quick(c)) {
		talk_at_once(c);
		show_result(v, c);
		talk_call_free(c);
		return;
	}
	if (c->asks == TALK_SAY)
		transcript_ask(&s->text, c->text);
	s->fresh = true;
	talk_start(c);
	s->working = view_job(v, &call_job, c, "answer of %s", v->loc.name);
	if (!s->working)
		s->talk->working = false;
}

/* Each change of what is typed: whatever closes the line, nothing of it is lost. */
static void
keep_draft(void *arg, const char *text)
{
	struct chat_view *s = ((struct view *)arg)->state;

	free(s->draft);
	s->draft = *text ? tb_strdup(text) : NULL;
}

/* What a line says: with its long texts, without the blanks around it and the """ of a block. */
static char *
whole(const struct chat_view *s, const char *line)
{
	struct tb_buf text = TB_BUF(SIZE_MAX);
	size_t from = 0, len;
	char *out;

	chips_unfold(&s->chips, line, &text);
	len = text.len;
	if (len >= 6 && tb_starts(text.p, BLOCK) && !strcmp(text.p + len - 3, BLOCK))
		from = text.p[3] == '\n' ? 4 : 3, len -= 3;
	while (len > from && strchr(" \t\n", text.p[len - 1]))
		len--;
	out = len > from ? tb_strndup(text.p + from, len - from) : NULL;
	tb_buf_free(&text);
	return out;
}

static bool
may_speak(const struct chat_view *s)
{
	return s->talk && !s->working;
}

static void
say_line(struct view *v, const char *line)
{
	struct chat_view *s = v->state;
	char *text = whole(s, line);
	struct talk_call *c = text ? talk_call_new(s->talk, text) : NULL;

	if (c) {
		c->turn = tb_starts(text, "/edit ") ? s->editing : 0;
		s->editing = 0;
		talk_remember(s->talk, text);
		call_begin(v, c);
	}
	free(text);
}

/* Is it something that may be said while others speak? */
static bool
cuts_in(const struct chat_view *s, const char *line)
{
	struct talk_call *c = s->talk ? talk_call_new(s->talk, line) : NULL;
	bool quick = c && talk_is_quick(c);

	talk_call_free(c);
	return quick;
}

/* Commands do their work at once: then it is the next one's turn. */
static void
say_next(struct view *v)
{
	struct chat_view *s = v->state;
	char *line;

	while (may_speak(s) && !s->waiting.held && (line = waiting_first(&s->waiting))) {
		say_line(v, line);
		free(line);
	}
	if (!s->waiting.n && !s->draft)
		chips_clear(&s->chips);
}

/* Lines of a block belong together, until its end. */
static bool
goes_on(void *arg, const char *text)
{
	size_t len = strlen(text);

	(void)arg;
	while (len && text[len - 1] == ' ')
		len--;
	return tb_starts(text, BLOCK) && !(len >= 6 && !strncmp(text + len - 3, BLOCK, 3));
}

static char *
take_back(void *arg)
{
	struct view *v = arg;
	struct chat_view *s = v->state;

	return waiting_last(&s->waiting);
}

static char *
edit(void *arg, const char *text)
{
	return view_edit(arg, text);
}

static const char *
complete(void *arg, const char *line, size_t i)
{
	const struct chat_view *s = ((struct view *)arg)->state;

	return s->talk ? talk_complete(s->talk, line, i) : NULL;
}

static void
chat_typed(void *arg, const char *text)
{
	struct view *v = arg;
	struct chat_view *s = v->state;

	if (!text) {		/* Esc stops the answer, a second one ends typing */
		if (s->working)
			jobs_cancel(s->working);
		else
			prompt_close();
		return;
	}
	free(s->draft);
	s->draft = NULL;
	if (talk_leaves(text)) {
		prompt_close();
		view_back(v);
	} else if (cuts_in(s, text)) {
		say_line(v, text);
	} else if (text[strspn(text, " \t\n")] && !waiting_add(&s->waiting, text)) {
		view_say(v, "out of memory");
	} else {	/* in its turn: what was held goes before it */
		s->waiting.held = false;
		say_next(v);
	}
}

static void
type(struct view *v)
{
	struct chat_view *s = v->state;
	struct prompt_spec spec = {
		.label = "> ", .text = s->draft, .history = "chat", .multiline = true,
		.stays = true, .words = true, .chips = &s->chips, .changed = keep_draft,
		.goes_on = goes_on, .before = take_back, .edit = edit, .done = chat_typed,
		.complete = complete, .arg = v,
	};

	prompt_open(&spec);
}

static void
chat_entered(struct view *v)
{
	const struct chat_view *s = v->state;

	if (!*s->error && !prompt_is_open())
		type(v);
}

static bool
chat_keeps(const struct view *v)
{
	const struct chat_view *s = v->state;

	return s->text.n > s->start || s->draft || s->waiting.n;
}

/* What was said is kept, with what there is of an answer; what was not sent is not. */
static const char *
chat_loses(const struct view *v)
{
	const struct chat_view *s = v->state;

	if (s->draft || s->waiting.n)
		return "what you typed was not sent.";
	return transcript_said(&s->text) && s->talk && !chat_number(s->talk->chat) ?
	       "the conversation is not kept." : NULL;
}

/* Loading, on a worker. */

struct chat_load {
	struct op_ctx *ctx;	/* borrowed from the frame, which waits for jobs */
	char *path;		/* owned */
	char session[24];	/* that is gone on with; "": a new one */
	struct talk *talk;
	struct tb_names past;	/* what was typed before */
};

static enum tb_status
chat_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chat_load *l = arg;
	enum tb_status status = talk_open(&l->talk, l->ctx, l->path, job, err);

	if (!status)	/* without it a conversation is fine, too */
		(void)!history_read(l->talk->history, &l->past, NULL);
	if (!status)
		status = talk_begin(l->talk, err);
	return status ? status : talk_keep(l->talk, l->ctx, l->session, err);
}

/* What was said is there again, and what there is to know about it. */
static void
chat_resumed(struct view *v)
{
	struct chat_view *s = v->state;
	const char *notice = chat_notice(s->talk->chat);

	show_path(v);
	if (*notice)
		note(s, notice);
}

static void
chat_load_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct chat_view *s = v->state;
	struct chat_load *l = arg;

	if (status) {
		snprintf(s->error, sizeof(s->error), "%s", err->msg);
		if (prompt_owner() == v)
			prompt_close();
		return;
	}
	s->talk = l->talk;
	l->talk = NULL;
	prompt_remember("chat", l->past.v, l->past.n);
	if (*talk_note(s->talk))
		note(s, talk_note(s->talk));
	if (s->talk->model && *s->talk->model->draft_note)
		note(s, s->talk->model->draft_note);
	if (*l->session)
		chat_resumed(v);
	s->start = s->text.n;
	say_next(v);
}

static void
chat_load_free(void *arg)
{
	struct chat_load *l = arg;

	talk_unref(l->talk);
	tb_names_free(&l->past);
	free(l->path);
	free(l);
}

static const struct job_ops chat_load_job = {
	.run = chat_load_run, .done = chat_load_done, .free = chat_load_free,
};

static enum tb_status
chat_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct chat_view *s = v->state;
	struct chat_load *l = tb_calloc(1, sizeof(*l));

	if (!l || !(l->path = tb_strdup(arg->model->path))) {
		free(l);
		return tb_nomem(err);
	}
	l->ctx = view_ctx(v);
	s->session = arg->id;
	if (arg->id)
		snprintf(l->session, sizeof(l->session), "%jd", (intmax_t)arg->id);
	transcript_init(&s->text, view_steady(v));
	(void)view_job(v, &chat_load_job, l, "load %s", v->loc.name);
	return TB_OK;
}

/* Of a model the chat that there is, or the session that is asked for. */
static bool
chat_same(const struct view *v, const struct view_arg *arg)
{
	const struct chat_view *s = v->state;
	int64_t is = s->talk && chat_number(s->talk->chat) ? chat_number(s->talk->chat) : s->session;

	return loc_same(&v->loc, arg->model) && (!arg->id || arg->id == is);
}

static void
chat_close(struct view *v)
{
	struct chat_view *s = v->state;

	if (s->working)
		jobs_cancel(s->working);
	else if (s->talk && s->talk->chat)	/* without it all is read again, no more */
		(void)!talk_leave(s->talk, NULL, NULL);
	transcript_free(&s->text);
	free(s->draft);
	waiting_clear(&s->waiting);
	chips_clear(&s->chips);
	talk_unref(s->talk);
}

static struct pager *
chat_pager(struct view *v)
{
	struct chat_view *s = v->state;

	return s->talk ? &s->text.pager : NULL;
}

/* Keys, while nobody types. */

static void
copy(struct view *v, bool code)
{
	struct chat_view *s = v->state;
	char what[64];
	size_t len;
	const char *text = code ? transcript_copy_code(&s->text, &len, what)
				: transcript_copy(&s->text, &len, what);

	if (text)
		clip_copy(v, what, text, len);
	else
		view_say(v, code ? "There is no block of code there." : "Nothing was answered yet.");
}

/* A command about the turn under the cursor, where there is one of theirs. */
static void
command_about(struct view *v, const char *line, enum said_by by)
{
	struct chat_view *s = v->state;
	const struct said *turn = s->text.cur < s->text.n ? transcript_turn(&s->text, by) : NULL;
	struct talk_call *c;

	if (!may_speak(s)) {
		view_say(v, s->talk ? "It still speaks: x stops it." : "Still loading.");
		return;
	}
	if (!(c = talk_call_new(s->talk, line)))
		return;
	c->turn = turn ? turn->id : 0;
	s->editing = by == SAID_PERSON ? c->turn : 0;
	call_begin(v, c);
}

static bool
act_on_turn(struct view *v, enum action a)
{
	switch (a) {
	case ACT_REGEN: command_about(v, "/regen", SAID_NOTE); return true;
	case ACT_EDIT_TURN: command_about(v, "/edit", SAID_PERSON); return true;
	case ACT_SIBLING_BEFORE: command_about(v, "/other back", SAID_NOTE); return true;
	case ACT_SIBLING_AFTER: command_about(v, "/other", SAID_NOTE); return true;
	case ACT_FORK: command_about(v, "/fork", SAID_NOTE); return true;
	case ACT_TAKE_BACK: command_about(v, "/undo", SAID_NOTE); return true;
	case ACT_TEMPLATE: command_about(v, "/template", SAID_NOTE); return true;
	default: return false;
	}
}

static bool
chat_act(struct view *v, enum action a)
{
	struct chat_view *s = v->state;
	struct pager *p = &s->text.pager;

	if (*s->error)
		return false;
	if (act_on_turn(v, a))
		return true;
	switch (a) {
	case ACT_OPEN:
	case ACT_TYPE:
		type(v);
		return true;
	case ACT_STOP:
		if (s->working)
			jobs_cancel(s->working);
		return true;
	case ACT_BACK:
		if (!s->working)
			return false;
		jobs_cancel(s->working);
		return true;
	case ACT_TURN_BEFORE:
	case ACT_TURN_AFTER:
		transcript_step(&s->text, a == ACT_TURN_BEFORE ? -1 : 1);
		return true;
	case ACT_MARK:	/* Space, which marks nothing here */
		if (!transcript_fold(&s->text))
			view_say(v, "Nothing was thought there.");
		return true;
	case ACT_COPY_ANSWER:
	case ACT_COPY_CODE:
		copy(v, a == ACT_COPY_CODE);
		return true;
	case ACT_LAST:
		p->follow = true;
		return false;
	case ACT_DOWN:
	case ACT_PAGE_DOWN:
	case ACT_HALF_DOWN:
		p->follow = p->top + p->height + (a == ACT_DOWN ? 1 : p->height) > p->nlines;
		return false;
	case ACT_UP:
	case ACT_PAGE_UP:
	case ACT_HALF_UP:
	case ACT_FIRST:
		p->follow = false;
		return false;
	default:
		return false;
	}
}

static bool
chat_can(const struct view *v, enum action a)
{
	const struct chat_view *s = v->state;

	switch (a) {
	case ACT_STOP: return s->working;
	case ACT_TURN_BEFORE:
	case ACT_COPY_ANSWER: return transcript_said(&s->text);
	case ACT_COPY_CODE: return transcript_has_code(&s->text);
	case ACT_REGEN:
	case ACT_EDIT_TURN:
	case ACT_FORK:
	case ACT_TAKE_BACK: return transcript_said(&s->text) && !s->working;
	case ACT_SIBLING_BEFORE:
	case ACT_SIBLING_AFTER: return transcript_versions(&s->text);
	default: return !*s->error;
	}
}

static const char *
chat_typing(const struct view *v)
{
	const struct chat_view *s = v->state;

	return s->working ? "Enter send after it  Esc stop the answer  PgUp PgDn scroll"
	     : "Enter send  ^J new line  ^G editor  PgUp scroll  Esc read  /help";
}

const struct view_ops view_chat = {
	.size = sizeof(struct chat_view), .needs_model = true, .open = chat_open,
	.close = chat_close, .pager = chat_pager, .draw = chat_draw, .act = chat_act,
	.can = chat_can, .summary = chat_summary, .typing = chat_typing, .keeps = chat_keeps,
	.loses = chat_loses, .entered = chat_entered, .same = chat_same,
};
