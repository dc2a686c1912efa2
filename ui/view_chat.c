/* view_chat.c - a conversation with a model: the transcript, and a line to type in.
 *
 * While one types, every key is readline's: Enter sends, Esc stops the answer or
 * ends typing.  Then the keys are those of a text, and Enter types again.
 *
 * Left, the screen waits (view.h, keeps): what was said, an answer that is coming and
 * what was typed but not sent are there when the chat with this model is opened again. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk.h"
#include "ui/view.h"

struct chat_view {
	struct talk *talk;		/* NULL until the model is loaded */
	struct pager text;		/* the transcript */
	char *draft;			/* typed and not sent; owned; NULL = nothing */
	size_t start;			/* bytes of the transcript that were there at first */
	bool said;			/* is there a conversation? */
	bool fresh;			/* nothing of the answer has come yet */
	struct ui_job *answering;	/* NULL = nobody speaks */
	struct gen_figures figures;	/* of the last answer */
	char error[512];
};

/* The transcript. */

static void
say(struct chat_view *s, const char *text)
{
	pager_append(&s->text, text);
}

/* An empty line before whatever comes next, but not at the top. */
static void
gap(struct chat_view *s)
{
	size_t n = s->text.len;

	if (n)
		say(s, s->text.text[n - 1] == '\n' ? "\n" : "\n\n");
}

static void
note(struct chat_view *s, const char *text)
{
	gap(s);
	say(s, "[");
	say(s, text);
	say(s, "]\n");
}

/* The answer, on a worker. */

struct answer {
	struct talk *talk;	/* a reference */
	char *text;		/* what was said; owned */
	struct chat_answer out;
};

static enum tb_status
answer_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct answer *a = arg;

	return chat_say(a->talk->chat, a->text, NULL, NULL, job, &a->out, err);
}

static void
answer_message(struct view *v, void *arg, const struct tb_msg *msg)
{
	struct chat_view *s = v ? v->state : NULL;
	struct tb_buf clean = TB_BUF(1u << 20);

	(void)arg;
	if (!s)
		return;
	if (msg->kind == GEN_MSG_FIGURES && msg->len == sizeof(s->figures)) {
		memcpy(&s->figures, msg->data, sizeof(s->figures));
	} else if (msg->kind == GEN_MSG_NOTE) {
		note(s, msg->data);
	} else if (msg->kind == GEN_MSG_TEXT) {
		if (s->fresh)
			gap(s);
		s->fresh = false;
		tb_text_clean_lines(&clean, msg->data, msg->len);
		say(s, tb_buf_cstr(&clean));
	}
	tb_buf_free(&clean);
}

static void
answer_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct chat_view *s = v->state;
	const struct answer *a = arg;

	s->answering = NULL;
	if (status) {
		note(s, err->msg);
		return;
	}
	s->figures = a->out.gen.figures;
	if (talk_broke_off(a->out.gen.stop))
		note(s, talk_broke_off(a->out.gen.stop));
}

static void
answer_free(void *arg)
{
	struct answer *a = arg;

	chat_answer_free(&a->out);
	talk_unref(a->talk);
	free(a->text);
	free(a);
}

static const struct job_ops answer_job = {
	.run = answer_run, .message = answer_message, .done = answer_done, .free = answer_free
};

static void
chat_ask(struct view *v, const char *text)
{
	struct chat_view *s = v->state;
	struct answer *a = tb_calloc(1, sizeof(*a));
	struct tb_buf clean = TB_BUF(1u << 20);

	if (!a || !(a->text = tb_strdup(text))) {
		free(a);
		return;
	}
	a->talk = talk_ref(s->talk);
	s->text.follow = s->fresh = s->said = true;
	gap(s);
	tb_buf_printf(&clean, "%s ", theme_sign(SIGN_CURSOR));
	tb_text_clean_lines(&clean, text, strlen(text));
	say(s, tb_buf_cstr(&clean));
	say(s, "\n");
	tb_buf_free(&clean);
	s->answering = view_job(v, &answer_job, a, "answer of %s", v->loc.name);
}

/* Each change of what is typed: whatever closes the line, nothing of it is lost. */
static void
keep_draft(void *arg, const char *text)
{
	struct chat_view *s = ((struct view *)arg)->state;

	free(s->draft);
	s->draft = *text ? tb_strdup(text) : NULL;
}

/* What is said about the conversation stands in it, but for its end. */
static void
command(struct view *v, char *line)
{
	struct chat_view *s = v->state;
	struct tb_buf answer = TB_BUF(65536);

	switch (talk_command(s->talk, line, &answer)) {
	case TALK_LEAVE:
		keep_draft(v, "");
		prompt_close();
		view_back(v);
		break;
	case TALK_CLEARED:
		pager_set(&s->text, NULL, true);
		s->text.follow = true;
		s->start = 0;
		s->said = false;
		view_say(v, "%s", tb_buf_cstr(&answer));
		break;
	case TALK_HELP:
		gap(s);
		say(s, tb_buf_cstr(&answer));
		say(s, "\n");
		break;
	default:
		note(s, tb_buf_cstr(&answer));
	}
	tb_buf_free(&answer);
}

/* Nothing is sent while it loads or speaks: lines that come meanwhile wait in the input. */
static bool
holds(void *arg, const char *text)
{
	struct view *v = arg;
	const struct chat_view *s = v->state;

	if (talk_leaves(text) || (s->talk && !s->answering))
		return false;
	view_say(v, s->talk ? "Still speaking: your text stays. Esc stops it, then Enter sends."
			    : "Still loading: your text stays. Enter sends it afterwards.");
	return true;
}

static void
chat_typed(void *arg, const char *text)
{
	struct view *v = arg;
	struct chat_view *s = v->state;
	size_t len;
	char *line;

	if (!text) {		/* Esc stops the answer, a second one ends typing */
		if (s->answering)
			jobs_cancel(s->answering);
		else
			prompt_close();
		return;
	}
	len = strlen(text);
	while (len && strchr(" \t\n", text[len - 1]))
		len--;
	line = len ? tb_strndup(text, len) : NULL;
	if (line && *line == '/')
		command(v, line);
	else if (line)
		chat_ask(v, line);
	free(line);
}

static void
type(struct view *v)
{
	const struct chat_view *s = v->state;
	struct prompt_spec spec = {
		.label = "> ", .text = s->draft, .history = "chat", .multiline = true,
		.stays = true, .changed = keep_draft, .holds = holds, .done = chat_typed, .arg = v,
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

	return s->text.len > s->start || s->draft;
}

static bool
chat_loses(const struct view *v)
{
	const struct chat_view *s = v->state;

	return s->said || s->draft;
}

/* Loading, on a worker. */

struct chat_load {
	struct op_ctx *ctx;	/* borrowed from the frame, which waits for jobs */
	char *path;		/* owned */
	struct talk *talk;
};

static enum tb_status
chat_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chat_load *l = arg;
	struct chat_model *model;
	enum tb_status status = chat_model_open(&model, l->ctx, l->path, job, err);

	if (!status)
		status = talk_new(&l->talk, model, err);
	return status ? status : talk_begin(l->talk, err);
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
	if (*chat_model_note(s->talk->model))
		note(s, chat_model_note(s->talk->model));
	if (*s->talk->model->draft_note)
		note(s, s->talk->model->draft_note);
	s->start = s->text.len;
}

static void
chat_load_free(void *arg)
{
	struct chat_load *l = arg;

	talk_unref(l->talk);
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
	pager_set(&s->text, NULL, true);
	s->text.follow = true;
	(void)view_job(v, &chat_load_job, l, "load %s", v->loc.name);
	return TB_OK;
}

static void
chat_close(struct view *v)
{
	struct chat_view *s = v->state;

	if (s->answering)
		jobs_cancel(s->answering);
	pager_free(&s->text);
	free(s->draft);
	talk_unref(s->talk);
}

static struct pager *
chat_pager(struct view *v)
{
	struct chat_view *s = v->state;

	return s->talk ? &s->text : NULL;
}

/* Drawing. */

static void
chat_draw(struct view *v, struct area a)
{
	struct chat_view *s = v->state;
	bool typing = prompt_owner() == v;
	int rows = typing ? prompt_rows(a.w - 2) : s->draft != NULL, most = a.h / 2 > 1 ? a.h / 2 : 1;
	struct area transcript, input;

	if (rows > most)
		rows = most;
	transcript = area_top(&a, a.h - rows);
	if (s->text.text && s->talk) {
		transcript.x++;
		transcript.w -= 2;
		pager_draw(transcript, &s->text);
	} else {
		draw_waiting(transcript, s->error,
			     s->talk ? "Say something to it." : "Loading…");
	}
	input = (struct area){ a.y, a.x + 1, rows, a.w - 2 };
	if (typing)
		prompt_draw(input, prompt_hint());
	else if (s->draft)	/* waits to be sent while the keys are those of the text */
		put_fmt(a.y, input.x, input.w, ROLE_DIM, "> %.*s", input.w * 4, s->draft);
}

static void
chat_summary(struct view *v, struct tb_buf *out)
{
	const struct chat_view *s = v->state;
	const struct gen_figures *f = &s->figures;
	const char *dot = theme_sign(SIGN_DOT);

	if (!s->talk)
		return;
	tb_buf_printf(out, "%s", s->answering ? "speaking" : "ready");
	if (!f->context)
		return;
	if (view_steady(v))
		tb_buf_printf(out, " %s prefill - %s decode - tok/s %s first -", dot, dot, dot);
	else
		tb_buf_printf(out, " %s prefill %.0f %s decode %.1f tok/s %s first %.0f ms", dot,
			      gen_prefill_rate(f), dot, gen_decode_rate(f), dot,
			      1000 * f->first_token_seconds);
	tb_buf_printf(out, " %s context %u/%u", dot, f->context_used, f->context);
	/* Last: 80 columns hardly have room for it. */
	if (f->guessed && !view_steady(v))
		tb_buf_printf(out, " %s %u/%u guessed", dot, f->right, f->guessed);
}

/* Keys, while nobody types. */

static bool
chat_act(struct view *v, enum action a)
{
	struct chat_view *s = v->state;

	if (*s->error)
		return false;
	switch (a) {
	case ACT_OPEN:
	case ACT_TYPE:
		type(v);
		return true;
	case ACT_STOP:
		if (s->answering)
			jobs_cancel(s->answering);
		return true;
	case ACT_BACK:
		if (!s->answering)
			return false;
		jobs_cancel(s->answering);
		return true;
	case ACT_LAST:
		s->text.follow = true;
		return false;
	case ACT_DOWN:
	case ACT_PAGE_DOWN:
	case ACT_HALF_DOWN:
		s->text.follow = s->text.top + s->text.height +
				 (a == ACT_DOWN ? 1 : s->text.height) > s->text.nlines;
		return false;
	case ACT_UP:
	case ACT_PAGE_UP:
	case ACT_HALF_UP:
	case ACT_FIRST:
		s->text.follow = false;
		return false;
	default:
		return false;
	}
}

static bool
chat_can(const struct view *v, enum action a)
{
	const struct chat_view *s = v->state;

	return !*s->error && (a != ACT_STOP || s->answering);
}

static const char *
chat_typing(const struct view *v)
{
	const struct chat_view *s = v->state;

	return s->answering ? "Esc stop the answer  Alt-Enter new line  PgUp PgDn scroll"
	     : "Enter send  Alt-Enter new line  PgUp PgDn scroll  Esc read  /help";
}

const struct view_ops view_chat = {
	.size = sizeof(struct chat_view), .needs_model = true, .open = chat_open,
	.close = chat_close, .pager = chat_pager, .draw = chat_draw, .act = chat_act,
	.can = chat_can, .summary = chat_summary, .typing = chat_typing, .keeps = chat_keeps,
	.loses = chat_loses, .entered = chat_entered,
};
