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
	} else if (msg->kind == GEN_MSG_TOKEN && msg->len == sizeof(struct gen_token)) {
		struct gen_token token;

		memcpy(&token, msg->data, sizeof(token));
		strip_token(&s->strip, &token);
	} else if (msg->kind == GEN_MSG_TEXT || msg->kind == GEN_MSG_THINKING) {
		/* what it answers may stand further up */
		if (s->fresh && c->asks != TALK_SAY)
			show_path(v);
		s->fresh = false;
		transcript_piece(&s->text, msg->kind, msg->data, msg->len);
	}
}

static void say_next(struct view *v);

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
		chat_type(v);
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
		clip_copy(v, c->copied, text, c->say.len);
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
	snprintf(s->speaker, sizeof(s->speaker), "%s", talk_speaker(s->talk));
	transcript_end(&s->text);
	if (c->asks)
		strip_end(&s->strip, status ? 0 : c->answer.turn);
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
		view_say(v, s->draft ? "Enter says what waits, then this; Up in an empty line "
			 "takes it back." : "Enter says what waits, Up takes it back.");
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

/* What else was likely costs little here; elsewhere it is asked for when somebody looks. */
static void
want_tokens(struct chat_view *s)
{
	unsigned top = s->talk->model || s->strip.on ? GEN_TOP : 0;

	s->talk->changed |= s->talk->opts.top != top;
	s->talk->opts.top = top;
}

void
chat_begin_call(struct view *v, struct talk_call *c)
{
	struct chat_view *s = v->state;

	if (talk_is_quick(c)) {
		talk_at_once(c);
		show_result(v, c);
		talk_call_free(c);
		return;
	}
	if (c->asks == TALK_SAY)
		beside_ask(v, &s->beside, c->text);
	if (c->asks == TALK_SAY)
		transcript_ask(&s->text, c->text);
	s->fresh = true;
	if (c->asks == TALK_CONTINUE)
		strip_begin(&s->strip, c->turn, c->begins.n - 1, c->begins.v[c->begins.n - 1]);
	else
		strip_begin(&s->strip, 0, 0, 0);
	want_tokens(s);
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

bool
chat_may_speak(const struct chat_view *s)
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
		chat_begin_call(v, c);
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

	while (chat_may_speak(s) && !s->waiting.held && (line = waiting_first(&s->waiting))) {
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
		if (!chat_stop(s))
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

void
chat_type(struct view *v)
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
		chat_type(v);
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
	snprintf(s->speaker, sizeof(s->speaker), "%s", talk_speaker(s->talk));
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
	beside_init(&s->beside, view_steady(v));
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
	beside_close(&s->beside);
	transcript_free(&s->beside.text);
	strip_free(&s->strip);
	free(s->draft);
	waiting_clear(&s->waiting);
	chips_clear(&s->chips);
	talk_unref(s->talk);
}

void
chat_worked(struct view *v)
{
	struct chat_view *s = v->state;

	s->working = NULL;
	say_next(v);
}

struct beside *
chat_beside_of(struct view *v)
{
	struct chat_view *s = v->state;

	return &s->beside;
}

static struct pager *
chat_pager(struct view *v)
{
	struct chat_view *s = v->state;

	return !s->talk ? NULL : s->beside.focus ? &s->beside.text.pager : &s->text.pager;
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
	.can = chat_can, .summary = chat_summary, .where = chat_where, .typing = chat_typing,
	.keeps = chat_keeps, .word = chat_word, .loses = chat_loses, .entered = chat_entered,
	.same = chat_same,
};
