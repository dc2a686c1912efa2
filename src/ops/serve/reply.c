#include "config.h"

#include "src/ops/serve/reply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define NEVER (-9999.0)		/* a logarithm that JSON has no number for */

const char *
reply_type(enum serve_api api, bool stream)
{
	return !stream ? "application/json" : api_ollama(api) ? "application/x-ndjson"
							      : "text/event-stream";
}

const char *
reply_finish(const struct gen_result *end, bool calls)
{
	switch (end->stop) {
	case GEN_EOS: return calls ? "tool_calls" : "stop";
	case GEN_STRING: return "stop";
	default: return "length";
	}
}

/* ---- logarithms of tokens ---- */

static void
set_token(const struct reply *r, cJSON *o, uint32_t id, double logprob)
{
	struct tb_buf text = TB_BUF(1 << 20);
	cJSON *bytes = json_array();

	tokenizer_decode(r->tokenizer, id, false, &text);
	json_set_str(o, "token", tb_buf_cstr(&text));
	json_set_f64(o, "logprob", isfinite(logprob) ? logprob : NEVER);
	for (size_t i = 0; i < text.len; i++)
		json_push_u64(bytes, (unsigned char)text.p[i]);
	json_set(o, "bytes", bytes);
	tb_buf_free(&text);
}

static cJSON *
chat_logprobs(const struct reply *r, const struct reply_piece *p)
{
	cJSON *o = json_object(), *content = json_array();

	for (size_t i = 0; i < p->ntokens; i++) {
		const struct gen_token *t = &p->tokens[i];
		cJSON *one = json_object(), *top = json_array();

		set_token(r, one, t->id, t->logprob);
		for (unsigned k = 0; k < t->ntop && k < r->top; k++) {
			cJSON *other = json_object();

			set_token(r, other, t->top[k].id, t->top[k].logprob);
			json_push(top, other);
		}
		json_set(one, "top_logprobs", top);
		json_push(content, one);
	}
	json_set(o, "content", content);
	return o;
}

static void
token_text(const struct reply *r, uint32_t id, struct tb_buf *text)
{
	tb_buf_clear(text);
	tokenizer_decode(r->tokenizer, id, false, text);
}

static cJSON *
text_logprobs(const struct reply *r, const struct reply_piece *p)
{
	cJSON *o = json_object(), *tokens = json_array(), *logprobs = json_array();
	cJSON *tops = json_array(), *offsets = json_array();
	struct tb_buf text = TB_BUF(1 << 20);

	for (size_t i = 0; i < p->ntokens; i++) {
		const struct gen_token *t = &p->tokens[i];
		cJSON *top = json_object();

		token_text(r, t->id, &text);
		json_push_str(tokens, tb_buf_cstr(&text));
		json_push_f64(logprobs, isfinite(t->logprob) ? t->logprob : NEVER);
		json_push_u64(offsets, t->begin);
		for (unsigned k = 0; k < t->ntop && k < r->top; k++) {
			double x = t->top[k].logprob;

			token_text(r, t->top[k].id, &text);
			if (!json_get(top, tb_buf_cstr(&text)))
				json_set_f64(top, tb_buf_cstr(&text), isfinite(x) ? x : NEVER);
		}
		json_push(tops, top);
	}
	json_set(o, "tokens", tokens);
	json_set(o, "token_logprobs", logprobs);
	json_set(o, "top_logprobs", tops);
	json_set(o, "text_offset", offsets);
	tb_buf_free(&text);
	return o;
}

/* ---- OpenAI's ---- */

static void
set_text(cJSON *o, const char *key, const char *text, size_t len)
{
	struct tb_buf copy = TB_BUF(len + 16);

	tb_buf_add(&copy, text, len);
	json_set_str(o, key, tb_buf_cstr(&copy));
	tb_buf_free(&copy);
}

/* A call's arguments are a string of JSON here. */
static cJSON *
openai_calls(const char *text, bool stream)
{
	cJSON *calls, *out = json_array();
	struct tb_err err;
	uint64_t n = 0;

	if (json_parse(&calls, text, strlen(text), "tool calls", &err))
		return out;
	for (const cJSON *c = json_first(calls); c; c = json_next(c)) {
		cJSON *call = json_object(), *fn = json_object();
		char *arguments = json_print(json_path(c, "function.arguments"));

		if (stream)
			json_set_u64(call, "index", n++);
		json_set_str(call, "id", json_str(json_get(c, "id")));
		json_set_str(call, "type", "function");
		json_set_str(fn, "name", json_str(json_path(c, "function.name")));
		json_set_str(fn, "arguments", arguments ? arguments : "{}");
		json_set(call, "function", fn);
		json_push(out, call);
		free(arguments);
	}
	json_free(calls);
	return out;
}

static cJSON *
openai_usage(const struct gen_result *end)
{
	const struct gen_figures *f = &end->figures;
	uint64_t prompt = (uint64_t)f->prompt_tokens + f->reused_tokens;
	cJSON *o = json_object(), *details = json_object();

	json_set_u64(o, "prompt_tokens", prompt);
	json_set_u64(o, "completion_tokens", end->ids.n);
	json_set_u64(o, "total_tokens", prompt + end->ids.n);
	json_set_u64(details, "cached_tokens", f->reused_tokens);
	json_set(o, "prompt_tokens_details", details);
	return o;
}

static cJSON *
openai_head(const struct reply *r, bool stream)
{
	cJSON *o = json_object();

	json_set_str(o, "id", r->id);
	json_set_str(o, "object", r->api == API_COMPLETION ? "text_completion"
				  : stream ? "chat.completion.chunk" : "chat.completion");
	json_set_i64(o, "created", r->created);
	json_set_str(o, "model", r->model);
	return o;
}

static void
set_message(const struct reply_piece *p, cJSON *o, bool stream)
{
	if (p->first || !stream)
		json_set_str(o, "role", "assistant");
	if (p->thinking)
		set_text(o, "reasoning_content", p->thinking, p->thinking_len);
	if (p->text)
		set_text(o, "content", p->text, p->len);
	else if (!stream)
		json_set_str(o, "content", NULL);
	if (p->calls)
		json_set(o, "tool_calls", openai_calls(p->calls, stream));
}

static cJSON *
openai_choices(const struct reply *r, const struct reply_piece *p, bool stream)
{
	cJSON *list = json_array(), *choice = json_object(), *message = json_object();

	json_set_u64(choice, "index", 0);
	if (r->api == API_COMPLETION) {
		set_text(choice, "text", p->text ? p->text : "", p->text ? p->len : 0);
		json_free(message);
	} else {
		set_message(p, message, stream);
		json_set(choice, stream ? "delta" : "message", message);
	}
	if (!p->tokens)
		json_set_str(choice, "logprobs", NULL);
	else
		json_set(choice, "logprobs", r->api == API_COMPLETION ? text_logprobs(r, p)
								      : chat_logprobs(r, p));
	json_set_str(choice, "finish_reason", p->end ? reply_finish(p->end, p->called) : NULL);
	json_push(list, choice);
	return list;
}

/* ---- Ollama's ---- */

static void
set_seconds(cJSON *o, const char *key, double seconds)
{
	json_set_u64(o, key, seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
}

static void
set_ollama_end(const struct reply *r, cJSON *o, const struct gen_result *end)
{
	const struct gen_figures *f = &end->figures;

	json_set_str(o, "done_reason", reply_finish(end, false));
	set_seconds(o, "total_duration", tb_monotonic() - r->began);
	set_seconds(o, "load_duration", 0);
	json_set_u64(o, "prompt_eval_count", (uint64_t)f->prompt_tokens + f->reused_tokens);
	set_seconds(o, "prompt_eval_duration", f->prefill_seconds);
	json_set_u64(o, "eval_count", end->ids.n);
	set_seconds(o, "eval_duration", f->decode_seconds);
}

static cJSON *
ollama_object(const struct reply *r, const struct reply_piece *p)
{
	cJSON *o = json_object(), *to = o, *calls;
	char now[32];
	struct tb_err err;

	json_set_str(o, "model", r->model);
	json_set_str(o, "created_at", tb_time_rfc3339(tb_now_ns(), now));
	if (r->api == API_OLLAMA_CHAT) {
		to = json_object();
		json_set_str(to, "role", "assistant");
		json_set(o, "message", to);
	}
	set_text(to, r->api == API_OLLAMA_CHAT ? "content" : "response", p->text ? p->text : "",
		 p->text ? p->len : 0);
	if (p->thinking)
		set_text(to, "thinking", p->thinking, p->thinking_len);
	if (p->calls && !json_parse(&calls, p->calls, strlen(p->calls), "tool calls", &err))
		json_set(to, "tool_calls", calls);
	json_set_bool(o, "done", p->end != NULL);
	if (p->end)
		set_ollama_end(r, o, p->end);
	return o;
}

/* ---- over the line ---- */

/* Frees o. */
static void
add_object(const struct reply *r, bool event, cJSON *o, struct tb_buf *out)
{
	char *text = json_print(o);

	json_free(o);
	if (!text) {
		out->failed = true;
		return;
	}
	if (event && !api_ollama(r->api))
		tb_buf_str(out, "data: ");
	tb_buf_str(out, text);
	tb_buf_str(out, event && !api_ollama(r->api) ? "\n\n" : "\n");
	free(text);
}

void
reply_add_piece(const struct reply *r, const struct reply_piece *p, struct tb_buf *out)
{
	cJSON *o;

	if (api_ollama(r->api)) {
		o = ollama_object(r, p);
	} else {
		o = openai_head(r, true);
		json_set(o, "choices", openai_choices(r, p, true));
		if (r->usage)
			json_set_str(o, "usage", NULL);
	}
	add_object(r, true, o, out);
}

void
reply_add_end(const struct reply *r, const struct gen_result *end, struct tb_buf *out)
{
	cJSON *o;

	if (api_ollama(r->api))
		return;
	if (r->usage) {
		o = openai_head(r, true);
		json_set(o, "choices", json_array());
		json_set(o, "usage", openai_usage(end));
		add_object(r, true, o, out);
	}
	tb_buf_str(out, "data: [DONE]\n\n");
}

void
reply_add_whole(const struct reply *r, const struct reply_piece *p, struct tb_buf *out)
{
	cJSON *o;

	if (api_ollama(r->api)) {
		o = ollama_object(r, p);
	} else {
		o = openai_head(r, false);
		json_set(o, "choices", openai_choices(r, p, false));
		json_set(o, "usage", openai_usage(p->end));
	}
	add_object(r, false, o, out);
}

static cJSON *
error_object(bool ollama, const char *message, const char *type, const char *param,
	     const char *code)
{
	cJSON *o = json_object(), *e;

	if (ollama) {
		json_set_str(o, "error", message);
		return o;
	}
	json_set(o, "error", e = json_object());
	json_set_str(e, "message", message);
	json_set_str(e, "type", type);
	json_set_str(e, "param", param);
	json_set_str(e, "code", code);
	return o;
}

void
reply_add_error(bool ollama, const char *message, const char *type, const char *param,
		const char *code, struct tb_buf *out)
{
	const struct reply plain = { .api = API_CHAT };

	add_object(&plain, false, error_object(ollama, message, type, param, code), out);
}

void
reply_add_broken(const struct reply *r, const char *message, struct tb_buf *out)
{
	add_object(r, true, error_object(api_ollama(r->api), message, "server_error", NULL, NULL),
		   out);
}
