#include "config.h"

#include "src/face/talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/face/history.h"
#include "src/face/talk_rows.h"
#include "src/ops/home/home.h"

#define SAY_MAX (64u << 20)

static enum tb_status
talk_make(struct talk **out, const struct op_ctx *ctx, struct tb_err *err)
{
	struct talk *t = tb_calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return tb_nomem(err);
	atomic_store(&t->refs, 1);
	t->ctx = ctx;
	t->unwritten = TB_BUF(SAY_MAX);
	if (!ctx || (t->history = history_beside(ctx->db_path)))
		return TB_OK;
	talk_unref(t);
	*out = NULL;
	return tb_nomem(err);
}

enum tb_status
talk_new(struct talk **out, struct chat_model *model, const struct op_ctx *ctx, struct tb_err *err)
{
	enum tb_status status = talk_make(out, ctx, err);

	if (status) {
		chat_model_free(model);
		return status;
	}
	(*out)->model = model;
	chat_opts_init(&(*out)->opts, model);
	return TB_OK;
}

enum tb_status
talk_new_remote(struct talk **out, struct speaker *speaker, const struct chat_opts *opts,
		const struct op_ctx *ctx, struct tb_err *err)
{
	enum tb_status status = talk_make(out, ctx, err);

	if (status) {
		speaker_free(speaker);
		return status;
	}
	(*out)->opts = *opts;
	if ((status = chat_begin(&(*out)->chat, speaker, opts, err))) {
		talk_unref(*out);
		*out = NULL;
	}
	return status;
}

enum tb_status
talk_begin(struct talk *t, struct tb_err *err)
{
	struct chat_opts usual = { .system = NULL };

	if (t->model)
		chat_opts_init(&usual, t->model);
	if (t->model)
		talk_note_sets(t, &usual);
	t->context = t->opts.context;
	return t->model ? chat_new(&t->chat, t->model, &t->opts, err)
			: chat_configure(t->chat, &t->opts, err);
}

struct talk *
talk_ref(struct talk *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void
talk_unref(struct talk *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	chat_free(t->chat);
	chat_model_free(t->model);
	free(t->system);
	while (t->nsets)
		free(t->sets[--t->nsets].value);
	tb_names_free(&t->found);
	(void)!history_add(t->history, &t->unwritten, NULL);
	tb_buf_free(&t->unwritten);
	free(t->history);
	free(t);
}

const char *
talk_speaker(const struct talk *t)
{
	return t->chat ? speaker_name(chat_speaker(t->chat)) : "";
}

void
talk_remember(struct talk *t, const char *line)
{
	if (!t->forgets)
		history_line(line, &t->unwritten);
}

/* ---- lines ---- */

char *
talk_word(char **rest)
{
	char *w = *rest + strspn(*rest, " \n"), *end = w + strcspn(w, " \n");

	*rest = end + strspn(end, " \n");
	*end = 0;
	return w;
}

enum tb_status
talk_refuse(struct talk_call *c, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->did = TALK_REFUSED;
	tb_buf_str(&c->say, line);
	return TB_OK;
}

static const struct talk_row *
talk_row_named(const char *name)
{
	for (size_t i = 0; i < talk_nrows; i++)
		if (!strcmp(talk_rows[i].name, name))
			return &talk_rows[i];
	return NULL;
}

/* A path is none, and of several lines only what takes a text: they may be a paste. */
bool
talk_is_command(const char *line)
{
	const struct talk_row *row;
	size_t len = strcspn(line, " \n");
	char name[32];

	if (*line != '/' || memchr(line + 1, '/', len - 1))
		return false;
	if (!strchr(line, '\n'))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)len, line);
	row = talk_row_named(name);
	return row && row->args && strstr(row->args, "TEXT");
}

static void
talk_no_command(struct talk_call *c, const char *name)
{
	struct tb_near near = { .word = name };
	char hint[128];

	for (size_t i = 0; i < talk_nrows; i++)
		tb_near_try(&near, talk_rows[i].name);
	tb_near_text(&near, hint, sizeof(hint));
	(void)talk_refuse(c, "No command %.40s%s", name, *hint ? hint : "; /help lists them.");
}

static struct talk_call *
call_new(struct talk *t, const char *line)
{
	struct talk_call *c = tb_calloc(1, sizeof(*c));

	if (!c || !(c->line = tb_strdup(line))) {
		free(c);
		return NULL;
	}
	c->talk = talk_ref(t);
	c->say = TB_BUF(SAY_MAX);
	c->rest = c->line;
	return c;
}

struct talk_call *
talk_call_say(struct talk *t, const char *text)
{
	struct talk_call *c = call_new(t, text);

	if (!c)
		return NULL;
	c->asks = TALK_SAY;
	if ((c->text = tb_strdup(text)))
		return c;
	talk_call_free(c);
	return NULL;
}

struct talk_call *
talk_call_new(struct talk *t, const char *line)
{
	struct talk_call *c;
	const char *name;

	if (!talk_is_command(line))
		return talk_call_say(t, line);
	if (!(c = call_new(t, line)))
		return NULL;
	name = talk_word(&c->rest);
	c->row = talk_row_named(name);
	if (c->row && c->row->run == talk_run_set)
		talk_set_format(c);
	if (!c->row)
		talk_no_command(c, name);
	else if (!c->row->run)
		c->did = TALK_LEAVE;
	return c;
}

struct talk_call *
talk_call_continue(struct talk *t, uint64_t turn, uint32_t *ids, size_t n)
{
	struct talk_call *c = call_new(t, "");

	if (!c) {
		free(ids);
		return NULL;
	}
	c->asks = TALK_CONTINUE;
	c->turn = turn;
	c->begins = (struct token_ids){ .v = ids, .n = n, .cap = n };
	return c;
}

void
talk_call_free(struct talk_call *c)
{
	if (!c)
		return;
	chat_answer_free(&c->answer);
	chat_model_free(c->was);
	tb_buf_free(&c->say);
	tb_buf_free(&c->unwritten);
	while (c->nsets)
		free(c->sets[--c->nsets].value);
	free(c->tool_name);
	free(c->tool_call_id);
	free(c->line);
	free(c->system);
	free(c->put);
	free(c->text);
	free(c->begins.v);
	talk_unref(c->talk);
	free(c);
}

bool
talk_is_quick(const struct talk_call *c)
{
	return !c->asks && (!c->row || !c->row->run || c->row->quick);
}

void
talk_at_once(struct talk_call *c)
{
	struct tb_err err;

	if (c->row && c->row->run && c->row->run(c, NULL, &err))
		(void)talk_refuse(c, "%s", err.msg);
}

bool
talk_leaves(const char *line)
{
	const struct talk_row *row = talk_row_named(line);

	return row && !row->run;
}

/* ---- work ---- */

void
talk_start(struct talk_call *c)
{
	struct talk *t = c->talk;

	c->opts = t->opts;
	c->system = t->opts.system ? tb_strdup(t->opts.system) : NULL;
	c->opts.system = c->system;
	c->configure = t->changed;
	for (size_t i = 0; i < t->nsets; i++) {
		c->sets[c->nsets] = (struct talk_set){ t->sets[i].name, tb_strdup(t->sets[i].value) };
		c->nsets += c->sets[c->nsets].value != NULL;
	}
	c->told = t->system != NULL;
	c->unwritten = t->unwritten;
	t->unwritten = TB_BUF(SAY_MAX);
	t->changed = false;
	t->working = true;
}

static enum tb_status
talk_answer(struct talk_call *c, chat_piece_fn *fn, void *arg, struct tb_job *job, struct tb_err *err)
{
	struct chat *chat = c->talk->chat;
	const struct chat_message result = { .role = "tool", .content = c->text,
					     .tool_name = c->tool_name,
					     .tool_call_id = c->tool_call_id };

	switch (c->asks) {
	case TALK_RESULT: return chat_say_message(chat, &result, fn, arg, job, &c->answer, err);
	case TALK_AGAIN: return chat_again(chat, c->turn, fn, arg, job, &c->answer, err);
	case TALK_CONTINUE:
		return chat_continue(chat, c->turn, &c->begins, NULL, fn, arg, job, &c->answer, err);
	case TALK_EDIT: return chat_edit(chat, c->turn, c->text, fn, arg, job, &c->answer, err);
	default: return chat_say(chat, c->text, fn, arg, job, &c->answer, err);
	}
}

/* Another room for the conversation needs another session. */
static enum tb_status
configure(struct talk_call *c, struct tb_err *err)
{
	struct talk *t = c->talk;
	struct speaker *s;
	enum tb_status status;

	if (!t->model || t->context == c->opts.context)
		return chat_configure(t->chat, &c->opts, err);
	if ((status = speaker_local_new(&s, t->model, &c->opts, err)) ||
	    (status = chat_change_speaker(t->chat, s, &c->opts, err)))
		return status;
	t->context = c->opts.context;
	return TB_OK;
}

enum tb_status
talk_work(struct talk_call *c, chat_piece_fn *fn, void *arg, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	/* a conversation goes on where nothing can be remembered */
	(void)!history_add(c->talk->history, &c->unwritten, NULL);
	if (c->configure)
		status = configure(c, err);
	if (!status && c->row && c->row->run)
		status = c->row->run(c, job, err);
	if (!status && c->asks)
		status = talk_answer(c, fn, arg, job, err);
	return status;
}

void
talk_end(struct talk_call *c)
{
	struct talk *t = c->talk;

	t->working = false;
	if (c->switched || c->resumed) {
		c->opts.system = c->resumed || !t->model ? NULL : t->model->system;
		t->opts = c->opts;
	}
	if (c->resumed)
		talk_tell(t, c->system ? c->system : "");
	else if (c->switched)
		talk_set_again(t);
}

const char *
talk_broke_off(enum gen_stop stop)
{
	return stop == GEN_CANCELLED ? "stopped" : stop == GEN_CONTEXT ? "the context is full" : NULL;
}
