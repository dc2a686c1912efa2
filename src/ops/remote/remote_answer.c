/* remote_answer.c - an answer as it comes: events, what was said, thought and called, figures. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/sse.h"
#include "src/ops/remote/remote_parts.h"

#define EVENT_MAX (8u << 20)
#define TEXT_MAX (64u << 20)
#define STREAM_MAX ((size_t)1 << 30)
#define CALLS_MAX 128
#define FIGURES_SECONDS 0.25

struct call {
	struct tb_buf id, name, arguments;
};

/* One answer on its way. */
struct arriving {
	struct remote *r;
	const struct remote_ask *ask;
	struct tb_job *job;
	struct tb_err *err;
	struct remote_answer *out;
	struct sse sse;
	struct tb_buf plain;		/* all of it, where it is one document and no events */
	bool begun, document;
	struct tb_buf text, thinking;
	bool spoke;			/* its given beginning was handed on */
	size_t echoed;			/* bytes of the beginning that were said again */
	bool echo;			/* may more of it come? */
	struct call *calls;
	size_t ncalls, calls_cap;
	size_t ntokens, tokens_cap;
	uint64_t pieces;
	size_t lines;			/* seen, and when the last of them was */
	double asked, first, line_came, told;
	bool ended, done;		/* it said why it ended; nothing more comes */
	const char *bytes;		/* all of it, where it is here already */
	size_t nbytes, step;
};

void
remote_answer_free(struct remote_answer *a)
{
	gen_result_free(&a->gen);
	free(a->thinking);
	free(a->tool_calls);
	*a = (struct remote_answer){ 0 };
}

/* ---- text ---- */

static void
hand_on(struct arriving *k, enum gen_msg kind, const char *text, size_t n)
{
	if (!n)
		return;
	if (!k->first)
		k->first = tb_monotonic();
	tb_buf_add(kind == GEN_MSG_TEXT ? &k->text : &k->thinking, text, n);
	k->ask->piece(k->ask->arg, kind, text, n);
}

/* The beginning that the answer was given, once the server has taken the question. */
static void
say_prefix(struct arriving *k)
{
	const char *prefix = k->ask->prefix;

	if (k->spoke)
		return;
	k->spoke = true;
	if (!prefix || !*prefix)
		return;
	hand_on(k, GEN_MSG_TEXT, prefix, strlen(prefix));
	k->first = 0;
	k->echo = k->r->kind == REMOTE_LLAMACPP && !k->ask->prompt;
}

/* Some servers say that beginning once more. */
static void
say_text(struct arriving *k, const char *text)
{
	const char *prefix = k->ask->prefix;

	if (!k->echo) {
		hand_on(k, GEN_MSG_TEXT, text, strlen(text));
		return;
	}
	while (*text && *text == prefix[k->echoed]) {
		text++;
		k->echoed++;
	}
	if (!*text && prefix[k->echoed])
		return;
	k->echo = false;
	if (prefix[k->echoed])		/* it was something else */
		hand_on(k, GEN_MSG_TEXT, prefix, k->echoed);
	hand_on(k, GEN_MSG_TEXT, text, strlen(text));
}

/* ---- tokens ---- */

static bool
fill_top(struct arriving *k, struct gen_token *t, const cJSON *list)
{
	const char *text;
	double x;

	for (const cJSON *v = json_first(list); v && t->ntop < GEN_TOP; v = json_next(v)) {
		text = json_str(json_get(v, "token"));
		if (!text || !json_f64(json_get(v, "logprob"), &x))
			continue;
		t->top[t->ntop].logprob = (float)x;
		t->top[t->ntop].id = remote_token_id(k->r, text);
		if (t->top[t->ntop++].id == UINT32_MAX)
			return false;
	}
	return true;
}

/* Tokens of a piece of text that begins at byte `from`. */
static void
take_tokens(struct arriving *k, const cJSON *list, size_t from)
{
	struct gen_result *gen = &k->out->gen;

	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		const char *text = json_str(json_get(v, "token"));
		struct gen_token t = { .begin = from };
		double x;

		if (!text || !json_f64(json_get(v, "logprob"), &x) ||
		    (t.id = remote_token_id(k->r, text)) == UINT32_MAX ||
		    !fill_top(k, &t, json_get(v, "top_logprobs")) ||
		    !tb_grow(&gen->tokens, &k->tokens_cap, k->ntokens + 1, sizeof(t)) ||
		    !tb_grow(&gen->ids.v, &gen->ids.cap, k->ntokens + 1, sizeof(*gen->ids.v)))
			continue;
		t.logprob = (float)x;
		from += strlen(text);
		t.end = from = from < k->text.len && json_next(v) ? from : k->text.len;
		gen->tokens[k->ntokens++] = t;
		gen->ids.v[gen->ids.n++] = t.id;
		tb_job_post(k->job, GEN_MSG_TOKEN, &t, sizeof(t));
	}
}

/* The same of a text that is continued: lists side by side, of which the last has objects. */
static cJSON *
as_content(const cJSON *lists)
{
	const cJSON *logprob = json_first(json_get(lists, "token_logprobs"));
	const cJSON *top = json_first(json_get(lists, "top_logprobs"));
	cJSON *out = json_array(), *row, *others, *other;

	for (const cJSON *v = json_first(json_get(lists, "tokens")); v; v = json_next(v)) {
		row = json_object();
		json_set(row, "token", json_copy(v));
		json_set(row, "logprob", logprob ? json_copy(logprob) : NULL);
		others = json_array();
		for (const cJSON *t = json_first(top); t; t = json_next(t)) {
			other = json_object();
			json_set_str(other, "token", json_key(t));
			json_set(other, "logprob", json_copy(t));
			json_push(others, other);
		}
		json_set(row, "top_logprobs", others);
		json_push(out, row);
		logprob = json_next(logprob);
		top = json_next(top);
	}
	return out;
}

static void
take_logprobs(struct arriving *k, const cJSON *logprobs, size_t from)
{
	cJSON *list;

	if (json_is_array(json_get(logprobs, "content"))) {
		take_tokens(k, json_get(logprobs, "content"), from);
	} else if (json_is_array(json_get(logprobs, "tokens"))) {
		list = as_content(logprobs);
		take_tokens(k, list, from);
		json_free(list);
	}
}

/* ---- calls of tools ---- */

/* The call that a piece belongs to. */
static struct call *
call_at(struct arriving *k, size_t at, const char *id)
{
	struct call *c;

	/* Servers that count wrong give another call the same place. */
	if (at < k->ncalls && *id && k->calls[at].id.len &&
	    strcmp(tb_buf_cstr(&k->calls[at].id), id))
		at = k->ncalls;
	if (at < k->ncalls)
		return &k->calls[at];
	if (k->ncalls >= CALLS_MAX ||
	    !tb_grow(&k->calls, &k->calls_cap, k->ncalls + 1, sizeof(*k->calls)))
		return NULL;
	c = &k->calls[k->ncalls++];
	*c = (struct call){ TB_BUF(1024), TB_BUF(1024), TB_BUF(TEXT_MAX) };
	return c;
}

static void
take_calls(struct arriving *k, const cJSON *list)
{
	size_t place = 0;

	for (const cJSON *v = json_first(list); v; v = json_next(v), place++) {
		const char *id = json_str(json_get(v, "id"));
		const char *name = json_str(json_path(v, "function.name"));
		const char *more = json_str(json_path(v, "function.arguments"));
		uint64_t at;
		struct call *c = call_at(k, json_u64(json_get(v, "index"), &at) ? at : place,
					 id ? id : "");

		if (!c)
			return;
		if (id && !c->id.len)
			tb_buf_str(&c->id, id);
		if (name && !c->name.len)
			tb_buf_str(&c->name, name);
		if (more)
			tb_buf_str(&c->arguments, more);
	}
}

/* As messages have them: arguments as an object, or as text where they are none. */
static enum tb_status
finish_calls(struct arriving *k)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < k->ncalls; i++) {
		const struct call *c = &k->calls[i];
		cJSON *o = json_object(), *f = json_object(), *arguments = NULL;

		if (json_parse(&arguments, tb_buf_cstr(&c->arguments), c->arguments.len, "", NULL) ||
		    !json_is_object(arguments)) {
			json_free(arguments);
			arguments = NULL;
		}
		json_set_str(o, "id", tb_buf_cstr(&c->id));
		json_set_str(o, "type", "function");
		json_set_str(f, "name", tb_buf_cstr(&c->name));
		if (arguments)
			json_set(f, "arguments", arguments);
		else
			json_set_str(f, "arguments", tb_buf_cstr(&c->arguments));
		json_set(o, "function", f);
		json_push(list, o);
	}
	if (k->ncalls && !(k->out->tool_calls = json_print(list))) {
		json_free(list);
		return tb_nomem(k->err);
	}
	json_free(list);
	return TB_OK;
}

/* ---- figures ---- */

static void
take_usage(struct arriving *k, const cJSON *usage)
{
	struct gen_figures *f = &k->out->gen.figures;
	uint64_t prompt, reused = 0, tokens;

	if (!json_u64(json_get(usage, "prompt_tokens"), &prompt) ||
	    !json_u64(json_get(usage, "completion_tokens"), &tokens) ||
	    prompt > INT32_MAX || tokens > INT32_MAX)
		return;
	json_u64(json_path(usage, "prompt_tokens_details.cached_tokens"), &reused);
	f->reused_tokens = (uint32_t)(reused < prompt ? reused : prompt);
	f->prompt_tokens = (uint32_t)prompt - f->reused_tokens;
	f->tokens = (uint32_t)tokens;
	f->context_used = (uint32_t)(prompt + tokens);
	k->pieces = 0;
}

/* Times are those that a person sees here, with the way there and back in them. */
static void
tell_figures(struct arriving *k, double now)
{
	struct gen_figures *f = &k->out->gen.figures;
	struct rusage usage;

	if (k->pieces)		/* the server has not counted yet: mostly a token a piece */
		f->tokens = (uint32_t)k->pieces;
	f->context = k->r->context;
	f->first_token_seconds = f->prefill_seconds = k->first ? k->first - k->asked : 0;
	f->decode_seconds = k->first ? now - k->first : 0;
	if (!getrusage(RUSAGE_SELF, &usage))
		f->peak_rss = (uint64_t)usage.ru_maxrss * 1024;
	k->told = now;
	tb_job_post(k->job, GEN_MSG_FIGURES, f, sizeof(*f));
}

/* ---- events ---- */

static void
take_end(struct arriving *k, const char *why)
{
	static const char note[] = "the server's filter ended the answer";
	struct gen_result *gen = &k->out->gen;

	k->ended = true;
	if (!strcmp(why, "length"))
		gen->stop = k->ask->max_tokens ? GEN_LENGTH : GEN_CONTEXT;
	else
		gen->stop = GEN_EOS;
	if (!strcmp(why, "content_filter"))
		tb_job_post(k->job, GEN_MSG_NOTE, note, sizeof(note) - 1);
}

/* What was said: a delta, a whole message, or text that was continued. */
static void
take_said(struct arriving *k, const cJSON *choice)
{
	const cJSON *said = json_get(choice, "delta");
	const char *text, *thought;
	size_t from = k->text.len;

	said = said ? said : json_get(choice, "message");
	text = json_str(json_get(said ? said : choice, said ? "content" : "text"));
	thought = json_str(json_get(said, "reasoning_content"));
	thought = thought ? thought : json_str(json_get(said, "reasoning"));
	if (thought)
		hand_on(k, GEN_MSG_THINKING, thought, strlen(thought));
	if (text)
		say_text(k, text);
	if (text && *text && k->ask->top)
		take_logprobs(k, json_get(choice, "logprobs"), from);
	take_calls(k, json_get(said, "tool_calls"));
	k->pieces += (text && *text) || (thought && *thought);
}

static enum tb_status
take_document(struct arriving *k, const char *text, size_t len)
{
	struct tb_buf mended = TB_BUF(len * 3 + 16);
	const cJSON *choice, *error;
	const char *why;
	uint64_t code = 0;
	cJSON *doc;
	enum tb_status status;

	remote_mend(&mended, text, len);
	status = json_parse(&doc, tb_buf_cstr(&mended), mended.len, k->r->host, k->err);
	tb_buf_free(&mended);
	if (status)
		return status;
	error = json_get(doc, "error");
	choice = json_first(json_get(doc, "choices"));
	why = json_str(json_get(choice, "finish_reason"));
	if (error && !json_is_null(error)) {
		json_u64(json_get(error, "code"), &code);
		status = remote_refused(k->r, code >= 400 && code < 600 ? (int)code : 0, text, len,
					k->err);
	} else if (choice) {
		say_prefix(k);
		take_said(k, choice);
	}
	if (!status && why)
		take_end(k, why);
	if (!status)
		take_usage(k, json_get(doc, "usage"));
	json_free(doc);
	if (!status)
		status = tb_buf_status(&k->text, "the answer", k->err);
	return status ? status : tb_buf_status(&k->thinking, "what was thought", k->err);
}

static enum tb_status
take_event(void *arg, const char *event, const char *data, size_t len, struct tb_err *err)
{
	struct arriving *k = arg;
	double now = tb_monotonic();
	enum tb_status status;

	(void)event;
	(void)err;		/* it is k->err */
	if (!strcmp(data, "[DONE]")) {
		k->done = true;
		return TB_OK;
	}
	if (!len || k->done)
		return TB_OK;
	status = take_document(k, data, len);
	if (!status && now - k->told > FIGURES_SECONDS)
		tell_figures(k, now);
	return status;
}

static enum tb_status
take_bytes(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct arriving *k = arg;
	double now = tb_monotonic();
	enum tb_status status;

	for (size_t i = 0; i < n && !k->begun; i++)
		if (!p[i] || !strchr(" \t\r\n", p[i])) {
			k->begun = true;
			k->document = p[i] == '{';
		}
	if (k->document) {
		tb_buf_add(&k->plain, p, n);
		return tb_buf_status(&k->plain, "the answer", err);
	}
	status = sse_feed(&k->sse, p, n, err);
	*enough = k->done;
	if (k->sse.lines != k->lines)
		k->line_came = now;
	k->lines = k->sse.lines;
	if (!status && now - k->line_came > HTTP_IDLE)
		status = tb_fail(err, TB_EIO, "%s: it drips: no whole line for %u seconds", k->r->host,
				 HTTP_IDLE);
	return status;
}

/* ---- the whole ---- */

/* What came is the answer. */
static enum tb_status
keep_arrived(struct arriving *k)
{
	struct remote_answer *out = k->out;
	enum tb_status status = finish_calls(k);

	if (!status && k->echo && k->echoed)		/* it ended within the beginning */
		hand_on(k, GEN_MSG_TEXT, k->ask->prefix, k->echoed);
	out->gen.text = tb_buf_failed(&k->text) ? NULL :
			k->text.len ? tb_buf_take(&k->text) : tb_strdup("");
	if (k->thinking.len && !(out->thinking = tb_buf_take(&k->thinking)))
		return tb_nomem(k->err);
	tell_figures(k, tb_monotonic());
	return status ? status : out->gen.text ? TB_OK : tb_nomem(k->err);
}

static enum tb_status
end_answer(struct arriving *k, enum tb_status status)
{
	if (status == TB_ECANCEL) {
		k->out->gen.stop = GEN_CANCELLED;
		return keep_arrived(k);
	}
	if (!status && k->document)
		status = take_document(k, tb_buf_cstr(&k->plain), k->plain.len);
	else if (!status)
		status = sse_end(&k->sse, k->err);
	if (!status && !k->ended && !k->done)
		status = k->text.len || k->thinking.len || k->ncalls
			? tb_fail(k->err, TB_EIO, "%s: the connection broke off before the answer's"
				  " end", k->r->host)
			: tb_fail(k->err, TB_EFORMAT, "%s: that is no answer of a model; is the address"
				  " right? It mostly ends in /v1", k->r->host);
	return status ? status : keep_arrived(k);
}

static enum tb_status
from_server(struct arriving *k)
{
	char *body = remote_request(k->r, k->ask);
	struct http_ask ask = { .body = body, .nbody = body ? strlen(body) : 0, .max = STREAM_MAX,
				.fn = take_bytes, .arg = k };
	struct http_answer a;
	enum tb_status status;

	if (!body)
		return tb_nomem(k->err);
	status = remote_call(k->r, k->ask->prompt ? "/completions" : "/chat/completions", &ask,
			     k->job, &a, k->err);
	if (!status)
		http_answer_free(&a);
	free(body);
	return status;
}

static enum tb_status
from_memory(struct arriving *k)
{
	enum tb_status status = TB_OK;
	bool enough = false;

	for (size_t at = 0; at < k->nbytes && !status && !enough; at += k->step)
		status = take_bytes(k, k->bytes + at, k->nbytes - at < k->step ? k->nbytes - at
									      : k->step,
				    &enough, k->err);
	return status;
}

/* Whatever gives the bytes. */
static enum tb_status
arrive(struct arriving *k, enum tb_status (*from)(struct arriving *k))
{
	enum tb_status status;

	*k->out = (struct remote_answer){ 0 };
	k->plain = k->text = k->thinking = TB_BUF(TEXT_MAX);
	k->asked = k->line_came = tb_monotonic();
	sse_init(&k->sse, EVENT_MAX, take_event, k);
	status = end_answer(k, from(k));
	for (size_t i = 0; i < k->ncalls; i++) {
		tb_buf_free(&k->calls[i].id);
		tb_buf_free(&k->calls[i].name);
		tb_buf_free(&k->calls[i].arguments);
	}
	free(k->calls);
	tb_buf_free(&k->text);
	tb_buf_free(&k->thinking);
	tb_buf_free(&k->plain);
	sse_free(&k->sse);
	if (status)
		remote_answer_free(k->out);
	return status;
}

enum tb_status
remote_answer(struct remote *r, const struct remote_ask *ask, struct tb_job *job,
	      struct remote_answer *out, struct tb_err *err)
{
	struct tb_err none;
	struct arriving k = { .r = r, .ask = ask, .job = job, .err = err ? err : &none, .out = out };

	*out = (struct remote_answer){ 0 };
	if (ask->grammar && !remote_knows(r, ask->grammar))
		return tb_fail(err, TB_EUNSUP, "%s: a grammar of GBNF is for models here, llama-server"
			       " and vLLM; a JSON schema would do (/format off: neither)", r->host);
	return arrive(&k, from_server);
}

enum tb_status
remote_answer_read(struct remote *r, const struct remote_ask *ask, const char *bytes, size_t n,
		   size_t step, struct remote_answer *out, struct tb_err *err)
{
	struct tb_err none;
	struct arriving k = { .r = r, .ask = ask, .err = err ? err : &none, .out = out,
			      .bytes = bytes, .nbytes = n, .step = step };

	return arrive(&k, from_memory);
}
