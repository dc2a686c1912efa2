/* remote_request.c - a conversation or a text as the request that servers understand. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"
#include "src/ops/remote/remote_parts.h"
#include "src/text/grammar.h"

/* Ours has arguments as an object, theirs as text. */
static cJSON *
one_call(const cJSON *call)
{
	const cJSON *function = json_get(call, "function"), *arguments;
	cJSON *o = json_object(), *f = json_object();
	const char *id = json_str(json_get(call, "id"));
	char *text;

	arguments = json_get(function, "arguments");
	text = json_str(arguments) ? NULL : json_print(arguments);
	json_set_str(o, "id", id ? id : "");
	json_set_str(o, "type", "function");
	json_set_str(f, "name", json_str(json_get(function, "name")));
	json_set_str(f, "arguments", json_str(arguments) ? json_str(arguments) : text ? text : "{}");
	json_set(o, "function", f);
	free(text);
	return o;
}

static void
set_calls(cJSON *o, const char *calls)
{
	cJSON *list, *out;

	if (json_parse(&list, calls, strlen(calls), "tool calls", NULL))
		return;
	out = json_array();
	for (const cJSON *v = json_first(list); v; v = json_next(v))
		json_push(out, one_call(v));
	json_set(o, "tool_calls", out);
	json_free(list);
}

static cJSON *
one_message(const struct chat_message *m)
{
	cJSON *o = json_object();

	json_set_str(o, "role", m->role);
	json_set_str(o, "content", m->content);
	if (m->tool_calls)
		set_calls(o, m->tool_calls);
	if (m->tool_call_id)
		json_set_str(o, "tool_call_id", m->tool_call_id);
	if (m->tool_name)
		json_set_str(o, "name", m->tool_name);
	return o;
}

static cJSON *
all_messages(const struct remote_ask *ask)
{
	const struct chat_message begin = { .role = "assistant", .content = ask->prefix };
	cJSON *list = json_array();

	for (size_t i = 0; i < ask->n; i++)
		json_push(list, one_message(&ask->messages[i]));
	if (ask->prefix)
		json_push(list, one_message(&begin));
	return list;
}

static void
set_real(cJSON *o, const char *key, float x)
{
	if (!isnan(x))
		json_set_f64(o, key, round((double)x * 1e6) / 1e6);	/* 0.7, not 0.699999988 */
}

/* Only what somebody chose is sent: a server refuses what it does not know. */
static void
set_sampling(const struct remote *r, cJSON *o, const struct sampler_opts *s)
{
	set_real(o, "temperature", s->temperature);
	set_real(o, "top_p", s->top_p);
	set_real(o, "min_p", s->min_p);
	set_real(o, r->kind == REMOTE_VLLM ? "repetition_penalty" : "repeat_penalty",
		 s->repeat_penalty);
	if (s->top_k != UINT32_MAX)
		json_set_i64(o, "top_k", s->top_k || r->kind != REMOTE_VLLM ? (int64_t)s->top_k : -1);
	if (s->repeat_last != UINT32_MAX && r->kind != REMOTE_VLLM)
		json_set_u64(o, "repeat_last_n", s->repeat_last);
	if (s->seed != UINT64_MAX)
		json_set_u64(o, "seed", s->seed & INT32_MAX);	/* as much as all of them take */
}

static void
set_limits(const struct remote *r, cJSON *o, const struct remote_ask *ask)
{
	bool chat = !ask->prompt;
	cJSON *stops;

	if (ask->max_tokens)
		json_set_u64(o, chat && r->kind == REMOTE_OPENAI ? "max_completion_tokens"
								 : "max_tokens", ask->max_tokens);
	if (ask->nstops) {
		stops = json_array();
		for (size_t i = 0; i < ask->nstops; i++)
			json_push_str(stops, ask->stops[i]);
		json_set(o, "stop", stops);
	}
	if (ask->top && chat) {
		json_set_bool(o, "logprobs", true);
		json_set_u64(o, "top_logprobs", ask->top);
	} else if (ask->top) {
		json_set_u64(o, "logprobs", ask->top);
	}
}

/* Those with templates hand words on to them; the others know how much effort is meant. */
static void
set_think(const struct remote *r, cJSON *o, const char *think)
{
	bool off = !strcmp(think, "off"), level = !off && strcmp(think, "on") != 0;
	cJSON *words;

	if (r->kind == REMOTE_LLAMACPP || r->kind == REMOTE_VLLM) {
		words = json_object();
		json_set_bool(words, "enable_thinking", !off);
		if (level)
			json_set_str(words, "reasoning_effort", think);
		json_set(o, "chat_template_kwargs", words);
	} else {
		json_set_str(o, "reasoning_effort", off ? "none" : !level ? "medium" :
			     !strcmp(think, "max") ? "high" : think);
	}
}

static void
set_schema(cJSON *o, const char *text)
{
	cJSON *format = json_object(), *about = json_object(), *schema;

	if (json_parse(&schema, text, strlen(text), "the schema", NULL))
		schema = NULL;		/* it was one: no memory */
	json_set_str(about, "name", "answer");
	json_set(about, "schema", schema);
	json_set_bool(about, "strict", true);
	json_set_str(format, "type", "json_schema");
	json_set(format, "json_schema", about);
	json_set(o, "response_format", format);
}

static void
set_grammar(const struct remote *r, cJSON *o, const struct grammar *g)
{
	enum grammar_form form;
	const char *text = grammar_source(g, &form);
	cJSON *format;

	switch (form) {
	case GRAMMAR_SCHEMA:
		set_schema(o, text);
		break;
	case GRAMMAR_JSON:
		if (r->kind == REMOTE_LLAMACPP) {	/* "json_object" alone holds it to nothing */
			set_schema(o, "{\"type\":\"object\"}");
			break;
		}
		format = json_object();
		json_set_str(format, "type", "json_object");
		json_set(o, "response_format", format);
		break;
	default:
		json_set_str(o, r->kind == REMOTE_VLLM ? "guided_grammar" : "grammar", text);
	}
}

bool
remote_knows(const struct remote *r, const struct grammar *g)
{
	enum grammar_form form;

	(void)grammar_source(g, &form);
	return form != GRAMMAR_GBNF || r->kind == REMOTE_LLAMACPP || r->kind == REMOTE_VLLM;
}

char *
remote_request(const struct remote *r, const struct remote_ask *ask)
{
	cJSON *o = json_object(), *stream = json_object();
	char *text;

	json_set_str(o, "model", r->model);
	if (ask->prompt)
		json_set_str(o, "prompt", ask->prompt);
	else
		json_set(o, "messages", all_messages(ask));
	if (ask->prefix && !ask->prompt && r->kind == REMOTE_VLLM) {
		json_set_bool(o, "add_generation_prompt", false);
		json_set_bool(o, "continue_final_message", true);
	}
	json_set_bool(o, "stream", true);
	json_set_bool(stream, "include_usage", true);
	json_set(o, "stream_options", stream);
	set_sampling(r, o, ask->sampler);
	set_limits(r, o, ask);
	if (ask->think && !ask->prompt)
		set_think(r, o, ask->think);
	if (ask->tools)
		json_set(o, "tools", json_copy(ask->tools));
	if (ask->grammar)
		set_grammar(r, o, ask->grammar);
	text = json_print(o);
	json_free(o);
	return text;
}
