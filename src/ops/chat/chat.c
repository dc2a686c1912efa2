#include "config.h"

#include "src/ops/chat/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define RENDER_MAX (64u << 20)

struct chat {
	struct chat_model *m;		/* borrowed */
	struct session *session;
	struct guesser *guesser;
	struct chat_opts o;		/* system NULL: it is msg[0] */
	struct chat_message *msg;	/* owned, with their content; [0] is the system's when
					 * there is one; roles are static */
	size_t n, cap;
	struct token_ids held;		/* what the KV cache holds */
};

void
chat_opts_init(struct chat_opts *o, const struct chat_model *m)
{
	*o = (struct chat_opts){ .sampler = m->sampler, .system = m->system,
				 .context = m->context, .max_tokens = m->max_tokens };
}

static enum tb_status
chat_add(struct chat *c, const char *role, const char *content, struct tb_err *err)
{
	char *copy = tb_strdup(content);

	if (!copy || !tb_grow(&c->msg, &c->cap, c->n + 1, sizeof(*c->msg))) {
		free(copy);
		return tb_nomem(err);
	}
	c->msg[c->n++] = (struct chat_message){ .role = role, .content = copy };
	return TB_OK;
}

/* Takes n messages out from number i on. */
static void
drop(struct chat *c, size_t i, size_t n)
{
	for (size_t k = i; k < i + n; k++)
		free((char *)c->msg[k].content);
	if (n)		/* there may be no array yet */
		memmove(c->msg + i, c->msg + i + n, (c->n - i - n) * sizeof(*c->msg));
	c->n -= n;
}

static size_t
first_turn(const struct chat *c)
{
	return c->n && !strcmp(c->msg[0].role, "system");
}

/* Puts a system message in front, or takes the place of the one that is there. */
static enum tb_status
set_system(struct chat *c, const char *text, struct tb_err *err)
{
	struct chat_message m;
	enum tb_status status;

	if ((status = chat_add(c, "system", text, err)))
		return status;
	m = c->msg[--c->n];
	if (first_turn(c)) {
		free((char *)c->msg[0].content);
	} else {
		memmove(c->msg + 1, c->msg, c->n * sizeof(*c->msg));
		c->n++;
	}
	c->msg[0] = m;
	return TB_OK;
}

enum tb_status
chat_configure(struct chat *c, const struct chat_opts *o, struct tb_err *err)
{
	uint32_t context = c->o.context;
	enum tb_status status = session_keep_as(c->session, o->kv, err);

	if (status)
		return status;
	if (!session_pos(c->session))
		c->held.n = 0;		/* they are kept otherwise now: read again */
	if (o->system && *o->system) {
		if ((status = set_system(c, o->system, err)))
			return status;
	} else if (first_turn(c)) {
		drop(c, 0, 1);
	}
	c->o = *o;
	c->o.system = NULL;
	c->o.context = context;
	return TB_OK;
}

enum tb_status
chat_new(struct chat **out, struct chat_model *m, const struct chat_opts *opts, struct tb_err *err)
{
	struct chat *c;
	enum tb_status status;

	*out = NULL;
	if (!m->template && m->template_err.code != TB_ENOENT) {
		if (err)
			*err = m->template_err;
		return m->template_err.code;
	}
	c = tb_calloc(1, sizeof(*c));
	if (!c)
		return tb_nomem(err);
	c->m = m;
	if ((status = session_new(&c->session, m->engine, opts->context, err)) ||
	    (status = guesser_new(&c->guesser, m, opts->guess, opts->context, err)) ||
	    (status = chat_configure(c, opts, err)))
		chat_free(c);
	else
		*out = c;
	return status;
}

void
chat_free(struct chat *c)
{
	if (!c)
		return;
	drop(c, 0, c->n);
	guesser_free(c->guesser);
	session_free(c->session);
	free(c->msg);
	free(c->held.v);
	free(c);
}

void
chat_clear(struct chat *c)
{
	drop(c, first_turn(c), c->n - first_turn(c));
}

enum tb_status
chat_keep(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
{
	return kv_file_save(c->m, c->session, &c->held, path, job, err);
}

enum tb_status
chat_take_up(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
{
	return kv_file_load(c->m, c->session, &c->held, path, job, err);
}

const struct chat_message *
chat_messages(const struct chat *c, size_t *n)
{
	*n = c->n;
	return c->msg;
}

void
chat_answer_free(struct chat_answer *a)
{
	gen_result_free(&a->gen);
	a->dropped = 0;
}

/* Without a template: what was said so far, each message of the person on a line of its
 * own. */
static enum tb_status
as_text(const struct chat *c, struct token_ids *ids, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(RENDER_MAX);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < c->n; i++) {
		if (i && text.len && text.p[text.len - 1] != '\n' && strcmp(c->msg[i].role, "assistant"))
			tb_buf_chr(&text, '\n');
		tb_buf_str(&text, c->msg[i].content);
	}
	status = tb_buf_status(&text, "the conversation", err);
	if (!status)
		status = tokenizer_encode(c->m->tokenizer, tb_buf_cstr(&text), text.len, true,
					  false, ids, err);
	tb_buf_free(&text);
	return status;
}

static enum tb_status
render(const struct chat *c, struct token_ids *ids, struct tb_err *err)
{
	struct chat_vars vars = {
		.messages = c->msg, .nmessages = c->n, .bos_token = c->m->bos,
		.eos_token = c->m->eos, .add_generation_prompt = true, .forgive_no_tools = true,
	};
	struct tb_buf text = TB_BUF(RENDER_MAX);
	enum tb_status status;

	ids->n = 0;
	if (!c->m->template)
		return as_text(c, ids, err);
	status = chat_template_render(c->m->template, &vars, &text, err);
	if (!status)
		status = tb_buf_status(&text, "the conversation", err);
	if (!status)
		status = tokenizer_encode(c->m->tokenizer, tb_buf_cstr(&text), text.len, false,
					  true, ids, err);
	tb_buf_free(&text);
	return status;
}

/* The conversation as tokens, without the oldest turns when it is too long.  A turn
 * is what lies between two messages of the user. */
static enum tb_status
fit(struct chat *c, struct token_ids *ids, uint32_t *dropped, struct tb_err *err)
{
	/* Room that an answer should find: what it may take, but no more than a quarter. */
	uint32_t context = session_context(c->session), want = c->o.max_tokens;
	size_t room = want && want < context / 4 ? want : context / 4;
	enum tb_status status;

	while (!(status = render(c, ids, err)) && ids->n + room > context) {
		size_t first = first_turn(c), n = 1;

		while (first + n < c->n && strcmp(c->msg[first + n].role, "user"))
			n++;
		if (first + n >= c->n)
			break;		/* the last message stays, whatever it takes */
		drop(c, first, n);
		++*dropped;
	}
	return status;
}

static enum tb_status
answer(struct chat *c, gen_text_fn *fn, void *arg, struct tb_job *job, struct chat_answer *out,
       struct tb_err *err)
{
	struct gen_opts opts = {
		.sampler = c->o.sampler, .max_tokens = c->o.max_tokens, .begins = c->m->template != NULL,
		.stops = (const char *const *)c->m->stops, .nstops = c->m->nstops,
		.guesser = c->guesser, .top = c->o.top, .text = fn, .text_arg = arg,
	};
	struct token_ids prompt = { 0 };
	char note[80];
	enum tb_status status;

	if (!(status = fit(c, &prompt, &out->dropped, err))) {
		if (out->dropped) {
			snprintf(note, sizeof(note), "dropped %u turn%s from the beginning: the context"
				 " is full", out->dropped, tb_plural(out->dropped));
			tb_job_post(job, GEN_MSG_NOTE, note, strlen(note));
		}
		status = generate(c->m, c->session, &c->held, &prompt, &opts, job, &out->gen, err);
	}
	free(prompt.v);
	c->o.sampler.seed++;	/* the same question again may be answered otherwise */
	return status;
}

enum tb_status
chat_say(struct chat *c, const char *text, gen_text_fn *fn, void *arg, struct tb_job *job,
	 struct chat_answer *out, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct chat_answer){ 0 };
	if ((status = chat_add(c, "user", text, err)))
		return status;
	status = answer(c, fn, arg, job, out, err);
	if (!status && (out->gen.ids.n || out->gen.stop != GEN_CANCELLED))
		status = chat_add(c, "assistant", out->gen.text, err);
	else
		drop(c, c->n - 1, 1);
	if (status)
		chat_answer_free(out);
	return status;
}
