/* speaker_local.c - a model that is open here: template, session, guesser. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/chat/local_parts.h"
#include "src/ops/chat/reading.h"
#include "src/ops/chat/speaker.h"
#include "src/store/model.h"
#include "src/text/answer.h"
#include "src/text/constraint.h"

#define RENDER_MAX (64u << 20)
#define TAIL_MAX 256		/* longer than any tag */

struct local {
	struct speaker speaker;
	struct chat_model *m;		/* borrowed */
	struct session *session;
	struct guesser *guesser;
	struct constraint *constraint;	/* of the grammar, which is a reference; NULL: none yet */
	struct grammar *grammar;
	struct token_ids held;		/* what the KV cache holds … */
	struct reading read;		/* … and how it was read */
	struct reading then;		/* what was, when it was kept: held is a beginning of it */
	char tail[TAIL_MAX];		/* what it read last ends so, before the answer */
	char mark[TB_DIGEST_MAX];	/* of the model; "": not asked for yet */
};

static struct local *
local(struct speaker *s)
{
	return (struct local *)s;
}

/* ---- messages as tokens ---- */

/* Without a template: what was said so far, each message of the person on a line of its
 * own. */
static void
as_text(const struct chat_message *m, size_t n, struct tb_buf *text)
{
	for (size_t i = 0; i < n; i++) {
		if (i && text->len && text->p[text->len - 1] != '\n' &&
		    strcmp(m[i].role, "assistant"))
			tb_buf_chr(text, '\n');
		tb_buf_str(text, m[i].content);
	}
}

static void
set_think(const struct chat_opts *o, struct chat_vars *vars)
{
	if (!o->think)
		return;
	vars->think = strcmp(o->think, "off") != 0 ? CHAT_THINK_ON : CHAT_THINK_OFF;
	if (strcmp(o->think, "off") != 0 && strcmp(o->think, "on") != 0)
		vars->think_level = o->think;
}

/* Keeps the end of a text, whole characters or not. */
static void
keep_tail(struct local *l, const struct tb_buf *text)
{
	size_t n = text->len < TAIL_MAX - 1 ? text->len : TAIL_MAX - 1;

	memcpy(l->tail, tb_buf_cstr(text) + text->len - n, n);
	l->tail[n] = 0;
}

/* The text that the model reads: all of `ask`, without `skip` messages behind the system's. */
static enum tb_status
render(struct local *l, const struct speaker_ask *ask, size_t skip, struct tb_buf *text,
       struct tb_err *err)
{
	size_t n;
	struct chat_message *rest = speaker_messages_without(ask, skip, &n);
	struct chat_vars vars = {
		.messages = rest, .nmessages = n, .bos_token = l->m->bos,
		.eos_token = l->m->eos, .add_generation_prompt = true, .forgive_no_tools = true,
		.tools = ask->tools,
	};
	enum tb_status status = TB_OK;

	set_think(ask->opts, &vars);
	if (!rest)
		return tb_nomem(err);
	if (l->m->template)
		status = chat_template_render(l->m->template, &vars, text, err);
	else
		as_text(rest, n, text);
	keep_tail(l, text);
	if (ask->prefix)
		tb_buf_str(text, ask->prefix);
	free(rest);
	return status ? status : tb_buf_status(text, "the conversation", err);
}

static enum tb_status
tokens(struct local *l, const struct speaker_ask *ask, size_t skip, struct token_ids *ids,
       struct tb_err *err)
{
	struct tb_buf text = TB_BUF(RENDER_MAX);
	enum tb_status status = render(l, ask, skip, &text, err);

	ids->n = 0;
	if (!status)
		status = chat_model_encode(l->m, &text, ids, err);
	tb_buf_free(&text);
	if (status || !ask->begins)
		return status;
	if (!tb_grow(&ids->v, &ids->cap, ids->n + ask->begins->n + 1, sizeof(*ids->v)))
		return tb_nomem(err);
	for (size_t i = 0; i < ask->begins->n; i++)
		ids->v[ids->n++] = ask->begins->v[i];
	return TB_OK;
}

/* ---- what there is room for ---- */

size_t
speaker_messages_of(const struct speaker_ask *ask, size_t turns)
{
	size_t first = ask->n && !strcmp(ask->messages[0].role, "system"), begins = first;

	for (size_t i = first + 1; i < ask->n && turns; i++)
		if (!strcmp(ask->messages[i].role, "user")) {
			begins = i;
			turns--;
		}
	return begins - first;
}

struct chat_message *
speaker_messages_without(const struct speaker_ask *ask, size_t skip, size_t *n)
{
	size_t system = ask->n && !strcmp(ask->messages[0].role, "system");
	struct chat_message *rest = tb_calloc(ask->n - skip + 1, sizeof(*rest));

	*n = ask->n - skip;
	if (rest && system)
		rest[0] = ask->messages[0];
	for (size_t i = system; rest && i < *n; i++)
		rest[i] = ask->messages[skip + i];
	return rest;
}

size_t
speaker_turns(const struct speaker_ask *ask)
{
	size_t n = 0;

	for (size_t i = 0; i < ask->n; i++)
		n += !strcmp(ask->messages[i].role, "user");
	return n;
}

/* The conversation as tokens, without the oldest turns when it is too long: as few of them as
 * are enough, found by halves, and not fewer than the last time. */
static enum tb_status
fit(struct local *l, const struct speaker_ask *ask, struct token_ids *ids, size_t *left_out,
    struct tb_err *err)
{
	/* Room that an answer should find: what it may take, but no more than a quarter. */
	uint32_t context = session_context(l->session), want = ask->opts->max_tokens;
	size_t room = want && want < context / 4 ? want : context / 4;
	size_t most = speaker_turns(ask), low, high;
	enum tb_status status;

	most = most ? most - 1 : 0;
	low = ask->left_out < most ? ask->left_out : most;
	if ((status = tokens(l, ask, speaker_messages_of(ask, low), ids, err)))
		return status;
	high = low;
	if (ids->n + room > context) {
		for (high = most; low + 1 < high;) {
			size_t middle = low + (high - low) / 2;

			if ((status = tokens(l, ask, speaker_messages_of(ask, middle), ids, err)))
				return status;
			if (ids->n + room > context)
				low = middle;
			else
				high = middle;
		}
		status = tokens(l, ask, speaker_messages_of(ask, high), ids, err);
	}
	*left_out = high;
	return status;
}

/* ---- answering ---- */

/* The answer begins with what it was told to begin with. */
static enum tb_status
begin_with(const struct local *l, const struct speaker_ask *ask, struct parts *parts,
	   struct tb_buf *text)
{
	if (ask->prefix)
		tb_buf_str(text, ask->prefix);
	for (size_t i = 0; ask->begins && i < ask->begins->n; i++)
		tokenizer_decode(l->m->tokenizer, ask->begins->v[i], !i && l->m->template, text);
	if (text->len)
		parts_add(parts, text->p, text->len);
	return tb_buf_status(text, "the beginning of the answer", NULL);
}

/* ---- in which portions ---- */

/* Who knows nothing better takes what is held for read by few. */
static void
know_reading(struct local *l)
{
	if (l->read.held == l->held.n)
		return;
	reading_cut(&l->read, 0);
	if (!reading_add(&l->read, l->held.v, l->held.n, 0))
		l->held.n = session_rewind(l->session, 0);
}

/* What the prompt begins with and was read when the chat was kept is read again as it was. */
static enum tb_status
read_then(struct local *l, const struct token_ids *prompt, struct tb_job *job, struct tb_err *err)
{
	size_t want = prompt->n ? reading_same(&l->then, prompt->v, prompt->n - 1) : 0;
	enum tb_status status = TB_OK;

	if (l->then.n)
		status = reading_again(&l->then, want, l->session, &l->held, &l->read, job, err);
	if (!status)
		reading_free(&l->then);
	know_reading(l);
	return status;
}

/* Up to there few at a time. */
static void
note_few(struct local *l, size_t to)
{
	size_t held = l->read.held;

	if (held < to && !reading_add(&l->read, l->held.v + held, to - held, 0))
		know_reading(l);
}

/* Together; what of it went again, and came otherwise, was read together with what is there
 * now, for all that is known. */
static void
note_portion(struct local *l, const struct gen_portion *p)
{
	size_t end = p->at + p->n;

	reading_cut(&l->read, p->at);
	end = end < l->held.n ? end : l->held.n;
	note_few(l, p->at < l->held.n ? p->at : l->held.n);
	if (p->at < end && !reading_add(&l->read, l->held.v + p->at, end - p->at, p->n))
		know_reading(l);
}

static enum tb_status
generate_noting(struct local *l, const struct token_ids *prompt, const struct gen_opts *opts,
		struct tb_job *job, struct chat_answer *out, struct tb_err *err)
{
	size_t same = reading_same(&l->read, prompt->v, prompt->n ? prompt->n - 1 : 0);
	enum tb_status status;

	status = generate(l->m, l->session, &l->held, prompt, opts, job, &out->gen, err);
	if (status) {	/* nobody knows how far it came */
		l->held.n = session_rewind(l->session, (uint32_t)same);
		reading_cut(&l->read, l->held.n);
		return status;
	}
	reading_cut(&l->read, out->gen.figures.reused_tokens);
	for (size_t i = 0; i < out->gen.nportions; i++)
		note_portion(l, &out->gen.portions[i]);
	note_few(l, l->held.n);
	return TB_OK;
}

/* What was found out about a grammar stays, as long as it is that one. */
static enum tb_status
constrain(struct local *l, const struct speaker_ask *ask, struct tb_err *err)
{
	if (!ask->grammar || (l->constraint && ask->grammar == l->grammar))
		return TB_OK;
	constraint_free(l->constraint);
	l->constraint = NULL;
	grammar_free(l->grammar);
	l->grammar = grammar_ref(ask->grammar);
	return chat_model_constrain(l->m, l->grammar, &l->constraint, err);
}

static enum tb_status
local_answer(struct speaker *s, const struct speaker_ask *ask, struct tb_job *job,
	     struct chat_answer *out, struct tb_err *err)
{
	struct local *l = local(s);
	const struct chat_model *m = l->m;
	struct tb_buf before = TB_BUF(RENDER_MAX);
	struct parts parts = { .ask = ask };
	const char *stops[CHAT_STOPS + CHAT_MAX_STOPS];
	struct gen_opts opts = {
		.sampler = ask->opts->sampler, .max_tokens = ask->opts->max_tokens,
		.stops = stops, .nstops = chat_opts_stops(ask->opts, stops),
		.guesser = l->guesser, .top = ask->opts->top, .text = parts_add,
		.text_arg = &parts, .specials = chat_model_hides_tags(m, ask->tools != NULL),
	};
	struct token_ids prompt = { 0 };
	enum tb_status status = fit(l, ask, &prompt, &out->left_out, err);

	for (size_t i = 0; i < m->nstops; i++)
		stops[opts.nstops++] = m->stops[i];
	if (!status)
		status = read_then(l, &prompt, job, err);
	if (!status)
		status = parts_begin(&parts, m, ask, l->tail, err);
	if (!status && begin_with(l, ask, &parts, &before))
		status = tb_nomem(err);
	opts.begins = m->template && !before.len;
	if (!status)
		status = constrain(l, ask, err);
	opts.constraint = ask->grammar ? l->constraint : NULL;
	opts.said = before.len ? tb_buf_cstr(&before) : NULL;
	opts.behind = answer_thinks(m->template, l->tail);
	if (!status)
		status = generate_noting(l, &prompt, &opts, job, out, err);
	if (!status)
		status = parts_end(&parts, before.len, out, err);
	parts_free(&parts);
	tb_buf_free(&before);
	free(prompt.v);
	if (status == TB_ECANCEL && !out->gen.text) {
		out->gen.stop = GEN_CANCELLED;
		out->gen.text = tb_strdup("");
		status = out->gen.text ? TB_OK : tb_nomem(err);
	}
	return status;
}

static enum tb_status
local_configure(struct speaker *s, const struct chat_opts *o, struct tb_err *err)
{
	struct local *l = local(s);
	struct tb_buf was = TB_BUF(1u << 20), is = TB_BUF(1u << 20);
	enum tb_status status;

	session_layout(l->session, &was);
	status = session_keep_as(l->session, o->kv, err);
	session_layout(l->session, &is);
	if (!status && strcmp(tb_buf_cstr(&was), tb_buf_cstr(&is))) {
		l->held.n = 0;		/* they are kept otherwise now: read again */
		reading_cut(&l->read, 0);
		reading_free(&l->then);
	}
	tb_buf_free(&was);
	tb_buf_free(&is);
	return status;
}

static enum tb_status
local_rendered(struct speaker *s, const struct speaker_ask *ask, struct tb_buf *out,
	       struct tb_err *err)
{
	return render(local(s), ask, 0, out, err);
}

static enum tb_status
local_resize(struct speaker *s, const struct chat_opts *o, struct tb_err *err)
{
	struct local *l = local(s);
	struct session *session;
	struct guesser *guesser = NULL;
	enum tb_status status = session_new(&session, l->m->engine, o->context, err);

	if (!status)
		status = guesser_new(&guesser, l->m, o->guess, o->context, err);
	if (status) {
		session_free(session);
		return status;
	}
	guesser_free(l->guesser);
	session_free(l->session);
	l->guesser = guesser;
	l->session = session;
	l->held.n = 0;
	reading_cut(&l->read, 0);
	reading_free(&l->then);
	return TB_OK;
}

static enum tb_status
local_count(struct speaker *s, const struct speaker_ask *ask, uint64_t *n, struct tb_err *err)
{
	struct token_ids ids = { 0 };
	enum tb_status status = tokens(local(s), ask, 0, &ids, err);

	*n = ids.n;
	free(ids.v);
	return status;
}

static bool
local_token(struct speaker *s, uint32_t id, struct tb_buf *out)
{
	const struct tokenizer *t = local(s)->m->tokenizer;

	if (id >= tokenizer_size(t))
		return false;
	tokenizer_decode(t, id, false, out);
	return true;
}

static enum tb_status
local_keep(struct speaker *s, const char *path, struct tb_job *job, struct tb_err *err)
{
	struct local *l = local(s);
	enum tb_status status = kv_file_save(l->m, l->session, &l->held, path, job, err);

	if (!status)
		l->read.low = l->read.held;
	return status;
}

static uint64_t
local_keep_bytes(struct speaker *s)
{
	struct local *l = local(s);

	return l->held.n * sizeof(*l->held.v) + session_bytes(l->session, (uint32_t)l->held.n);
}

/* Of what is in the file that counts which is as it was when the chat was kept. */
static enum tb_status
local_take_up(struct speaker *s, const char *path, struct tb_job *job, struct tb_err *err)
{
	struct local *l = local(s);
	enum tb_status status = kv_file_load(l->m, l->session, &l->held, path, job, err);
	size_t same;

	reading_cut(&l->read, 0);
	if (!status && l->then.n) {
		same = reading_same(&l->then, l->held.v, l->held.n);
		same = same < l->then.low ? same : l->then.low;
		l->held.n = session_rewind(l->session, (uint32_t)same);
	}
	return status;
}

static const char *
local_mark(struct speaker *s)
{
	struct local *l = local(s);

	if (!*l->mark && chat_model_mark(l->m, l->mark, NULL))
		*l->mark = 0;
	return l->mark;
}

/* What must be the same, so that reading in the same portions gives the same bits. */
static char *
reading_of(struct local *l)
{
	struct tb_buf of = TB_BUF(1u << 20);
	struct engine_info info;

	engine_info(l->m->engine, &info);
	tb_buf_printf(&of, "%s\n%s %s\n", local_mark(&l->speaker), info.kernels, info.prefill);
	session_layout(l->session, &of);
	return tb_buf_take(&of);
}

static void
local_reading(struct speaker *s, struct tb_buf *out)
{
	struct local *l = local(s);
	const struct reading *r = l->then.n ? &l->then : &l->read;
	char *of = reading_of(l);

	if (of && r->n && *l->mark)
		reading_pack(r, of, out);
	free(of);
}

static void
local_take_reading(struct speaker *s, const void *data, size_t len)
{
	struct local *l = local(s);
	char *of = reading_of(l);

	l->held.n = session_rewind(l->session, 0);
	reading_cut(&l->read, 0);
	reading_free(&l->then);
	if (of && *l->mark)
		(void)reading_unpack(&l->then, of, data, len);
	free(of);
}

static void
local_free(struct speaker *s)
{
	struct local *l = local(s);

	guesser_free(l->guesser);
	constraint_free(l->constraint);
	grammar_free(l->grammar);
	session_free(l->session);
	reading_free(&l->read);
	reading_free(&l->then);
	free(l->held.v);
	free(l);
}

static const struct speaker_ops local_ops = {
	.kind = "local", .answer = local_answer, .free = local_free,
	.configure = local_configure, .resize = local_resize, .rendered = local_rendered,
	.count = local_count, .token = local_token, .keep = local_keep,
	.take_up = local_take_up, .reading = local_reading, .take_reading = local_take_reading,
	.mark = local_mark, .keep_bytes = local_keep_bytes,
};

enum tb_status
speaker_local_new(struct speaker **out, struct chat_model *m, const struct chat_opts *opts,
		  struct tb_err *err)
{
	const struct model_loc *loc = &m->model->loc;
	struct local *l;
	enum tb_status status;

	*out = NULL;
	if (!m->template && m->template_err.code != TB_ENOENT) {
		if (err)
			*err = m->template_err;
		return m->template_err.code;
	}
	l = tb_calloc(1, sizeof(*l));
	if (!l)
		return tb_nomem(err);
	l->m = m;
	l->speaker.ops = &local_ops;
	l->speaker.said = m->said;
	l->speaker.nsaid = m->nsaid;
	l->speaker.name = tb_strdup(loc->name);
	l->speaker.ref = tb_strdup(loc->path);
	status = l->speaker.name && l->speaker.ref ? TB_OK : tb_nomem(err);
	if (!status)
		status = session_new(&l->session, m->engine, opts->context, err);
	if (!status)
		status = guesser_new(&l->guesser, m, opts->guess, opts->context, err);
	if (status)
		speaker_free(&l->speaker);
	else
		*out = &l->speaker;
	return status;
}
