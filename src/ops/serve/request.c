#include "config.h"

#include "src/ops/serve/request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define TEXTS_MAX (64u << 20)
#define MESSAGES_MAX 100000u

/* What a number is called by either, at the top or among Ollama's options, and what it can be. */
static const struct {
	const char *openai, *ollama;
	double least, most;
	bool whole;
} numbers[NUMBERS] = {
	[NUMBER_TEMPERATURE] = { "temperature", "temperature", 0, 100, false },
	[NUMBER_TOP_P] = { "top_p", "top_p", 0, 1, false },
	[NUMBER_TOP_K] = { "top_k", "top_k", 0, INT32_MAX, true },
	[NUMBER_MIN_P] = { "min_p", "min_p", 0, 1, false },
	[NUMBER_REPEAT] = { "repeat_penalty", "repeat_penalty", 0.01, 100, false },
	[NUMBER_REPEAT_LAST] = { NULL, "repeat_last_n", 0, INT32_MAX, true },
	[NUMBER_FREQUENCY] = { "frequency_penalty", "frequency_penalty", -2, 2, false },
	[NUMBER_PRESENCE] = { "presence_penalty", "presence_penalty", -2, 2, false },
	[NUMBER_SEED] = { "seed", "seed", -9e15, 9e15, true },
	[NUMBER_TOKENS] = { "max_tokens", "num_predict", -2, INT32_MAX, true },
};

static enum tb_status
refuse_request(struct serve_request *r, const char *param, const char *what, struct tb_err *err)
{
	r->param = param;
	return tb_fail(err, TB_EUSAGE, "%s: %s", param, what);
}

static const cJSON *
said(const cJSON *o, const char *key)
{
	const cJSON *v = key ? json_get(o, key) : NULL;

	return json_is_null(v) ? NULL : v;
}

static enum tb_status
take_bool(struct serve_request *r, const cJSON *o, const char *key, bool *out, struct tb_err *err)
{
	const cJSON *v = said(o, key);

	return v && !json_bool(v, out) ? refuse_request(r, key, "true or false", err) : TB_OK;
}

/* ---- numbers ---- */

static enum tb_status
take_number(struct serve_request *r, const cJSON *o, const char *key, enum request_number i,
	    struct tb_err *err)
{
	const cJSON *v = said(o, key);
	char range[80];
	double x;

	if (!v)
		return TB_OK;
	if (!json_f64(v, &x) || !(x >= numbers[i].least && x <= numbers[i].most) ||
	    (numbers[i].whole && x != floor(x))) {
		snprintf(range, sizeof(range), "a %snumber from %g to %g",
			 numbers[i].whole ? "whole " : "", numbers[i].least, numbers[i].most);
		return refuse_request(r, key, range, err);
	}
	r->said[i] = true;
	r->number[i] = x;
	return TB_OK;
}

static enum tb_status
take_numbers(struct serve_request *r, struct tb_err *err)
{
	const cJSON *o = api_ollama(r->api) ? said(r->doc, "options") : r->doc;
	enum tb_status status = TB_OK;

	for (unsigned i = 0; i < NUMBERS && !status; i++)
		status = take_number(r, o, api_ollama(r->api) ? numbers[i].ollama : numbers[i].openai,
				     i, err);
	if (!status && !api_ollama(r->api))
		status = take_number(r, o, "max_completion_tokens", NUMBER_TOKENS, err);
	return status;
}

void
serve_request_sampling(const struct serve_request *r, struct sampler_opts *o, uint32_t *max_tokens)
{
	const struct { enum request_number i; float *to; } floats[] = {
		{ NUMBER_TEMPERATURE, &o->temperature }, { NUMBER_TOP_P, &o->top_p },
		{ NUMBER_MIN_P, &o->min_p }, { NUMBER_REPEAT, &o->repeat_penalty },
		{ NUMBER_FREQUENCY, &o->frequency }, { NUMBER_PRESENCE, &o->presence },
	};

	for (size_t i = 0; i < sizeof(floats) / sizeof(*floats); i++)
		if (r->said[floats[i].i])
			*floats[i].to = (float)r->number[floats[i].i];
	if (r->said[NUMBER_TOP_K])
		o->top_k = (uint32_t)r->number[NUMBER_TOP_K];
	if (r->said[NUMBER_REPEAT_LAST])
		o->repeat_last = (uint32_t)r->number[NUMBER_REPEAT_LAST];
	if (r->said[NUMBER_SEED])
		o->seed = (uint64_t)(int64_t)r->number[NUMBER_SEED];
	if (r->said[NUMBER_TOKENS])	/* -1, -2: as many as fit */
		*max_tokens = r->number[NUMBER_TOKENS] < 0 ? 0 : (uint32_t)r->number[NUMBER_TOKENS];
}

/* ---- messages ---- */

/* Text, or a list of parts of which all must be text. */
static enum tb_status
take_content(struct serve_request *r, const cJSON *v, const char **out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(TEXTS_MAX);
	enum tb_status status = TB_OK;

	*out = "";
	if (!v || json_is_null(v))
		return TB_OK;
	if (json_str(v)) {
		*out = json_str(v);
		return TB_OK;
	}
	if (!json_is_array(v))
		return refuse_request(r, "messages", "content is a text or a list of parts", err);
	for (const cJSON *p = json_first(v); p && !status; p = json_next(p)) {
		const char *type = json_str(json_get(p, "type")), *s = json_str(json_get(p, "text"));

		if (!type || strcmp(type, "text") || !s)
			status = refuse_request(r, "messages", "of parts of content only text is understood, no "
					"images, sounds or files", err);
		else
			tb_buf_str(&text, s);
	}
	if (!status)
		*out = tb_arena_text(&r->texts, tb_buf_cstr(&text), text.len);
	if (!status && (tb_buf_failed(&text) || !*out))
		status = tb_nomem(err);
	tb_buf_free(&text);
	return status;
}

/* OpenAI has what a call is given as JSON in a string; templates want the value. */
static enum tb_status
take_arguments(const cJSON *v, cJSON **out, struct tb_err *err)
{
	const char *text = json_str(v);

	if (text && *text)
		return json_parse(out, text, strlen(text), "arguments of a tool call", err);
	*out = v && !text ? json_copy(v) : json_object();
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
take_call(struct serve_request *r, const cJSON *v, cJSON *calls, struct tb_err *err)
{
	const char *name = json_str(json_path(v, "function.name"));
	const char *id = json_str(json_get(v, "id"));
	cJSON *arguments, *call, *fn;
	struct tb_err why;

	if (!name)
		return refuse_request(r, "messages", "a tool call has a function with a name", err);
	if (take_arguments(json_path(v, "function.arguments"), &arguments, &why))
		return refuse_request(r, "messages", why.msg, err);
	json_push(calls, call = json_object());
	if (id)
		json_set_str(call, "id", id);
	json_set_str(call, "type", "function");
	json_set(call, "function", fn = json_object());
	json_set_str(fn, "name", name);
	json_set(fn, "arguments", arguments);
	return TB_OK;
}

static enum tb_status
take_calls(struct serve_request *r, const cJSON *v, const char **out, struct tb_err *err)
{
	cJSON *calls;
	char *text;
	enum tb_status status = TB_OK;

	if (!json_is_array(v))
		return refuse_request(r, "messages", "tool_calls is a list", err);
	if (!json_first(v))
		return TB_OK;
	calls = json_array();
	for (const cJSON *c = json_first(v); c && !status; c = json_next(c))
		status = take_call(r, c, calls, err);
	text = status ? NULL : json_print(calls);
	*out = text ? tb_arena_str(&r->texts, text) : NULL;
	if (!status && !*out)
		status = tb_nomem(err);
	free(text);
	json_free(calls);
	return status;
}

static enum tb_status
take_message(struct serve_request *r, const cJSON *v, struct chat_message *m, struct tb_err *err)
{
	const cJSON *calls = said(v, "tool_calls");
	enum tb_status status;

	m->role = json_str(json_get(v, "role"));
	if (!m->role)
		return refuse_request(r, "messages", "each message is an object with a role", err);
	if (!strcmp(m->role, "developer"))
		m->role = "system";
	if (strcmp(m->role, "system") && strcmp(m->role, "user") && strcmp(m->role, "assistant") &&
	    strcmp(m->role, "tool"))
		return refuse_request(r, "messages", "a role is system, user, assistant or tool", err);
	if (json_first(json_get(v, "images")))
		return refuse_request(r, "messages", "images are not understood", err);
	if ((status = take_content(r, json_get(v, "content"), &m->content, err)) ||
	    (calls && (status = take_calls(r, calls, &m->tool_calls, err))))
		return status;
	m->thinking = json_str(json_get(v, api_ollama(r->api) ? "thinking" : "reasoning_content"));
	m->tool_call_id = json_str(json_get(v, "tool_call_id"));
	m->tool_name = json_str(json_get(v, api_ollama(r->api) ? "tool_name" : "name"));
	return TB_OK;
}

static enum tb_status
take_messages(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = json_get(r->doc, "messages");
	size_t n = json_count(v);
	enum tb_status status = TB_OK;

	if (!json_is_array(v) || !n || n > MESSAGES_MAX)
		return refuse_request(r, "messages", "a list of at least one message", err);
	r->messages = tb_arena_get(&r->texts, n * sizeof(*r->messages));
	if (!r->messages)
		return tb_nomem(err);
	for (const cJSON *m = json_first(v); m && !status; m = json_next(m))
		status = take_message(r, m, &r->messages[r->nmessages++], err);
	return status;
}

/* A text that is continued; Ollama's goes through the template unless it is raw. */
static enum tb_status
take_prompt(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = json_get(r->doc, "prompt");
	const char *system = json_str(json_get(r->doc, "system"));
	enum tb_status status;

	if (json_is_array(v) && json_count(v) == 1)
		v = json_first(v);
	r->prompt = v ? json_str(v) : "";
	if (!r->prompt)
		return refuse_request(r, "prompt", "one text", err);
	if (r->api == API_COMPLETION) {
		r->raw = true;
		return TB_OK;
	}
	if ((status = take_bool(r, r->doc, "raw", &r->raw, err)) || r->raw)
		return status;
	if (json_first(json_get(r->doc, "images")))
		return refuse_request(r, "images", "are not understood", err);
	r->messages = tb_arena_get(&r->texts, 2 * sizeof(*r->messages));
	if (!r->messages)
		return tb_nomem(err);
	if (system && *system)
		r->messages[r->nmessages++] = (struct chat_message){ .role = "system", .content = system };
	r->messages[r->nmessages++] = (struct chat_message){ .role = "user", .content = r->prompt };
	r->prompt = NULL;
	return TB_OK;
}

/* ---- the rest ---- */

static enum tb_status
take_stops(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = api_ollama(r->api) ? said(said(r->doc, "options"), "stop")
					    : said(r->doc, "stop");
	bool one = v && !json_is_array(v);

	for (v = one ? v : json_first(v); v; v = one ? NULL : json_next(v)) {
		const char *s = json_str(v);

		if (!s || r->nstops == REQUEST_STOPS)
			return refuse_request(r, "stop", "a text, or a list of at most 16", err);
		if (*s)
			r->stops[r->nstops++] = s;
	}
	return TB_OK;
}

static enum tb_status
take_format(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = said(r->doc, api_ollama(r->api) ? "format" : "response_format");
	const char *type = api_ollama(r->api) ? json_str(v) : json_str(json_get(v, "type"));

	if (!v || (type && (!strcmp(type, "text") || !*type)))
		return TB_OK;
	if (type && (!strcmp(type, "json_object") || !strcmp(type, "json"))) {
		r->format = FORMAT_JSON;
		return TB_OK;
	}
	if (api_ollama(r->api))
		r->schema = json_is_object(v) ? v : NULL;
	else if (type && !strcmp(type, "json_schema"))
		r->schema = json_path(v, "json_schema.schema");
	if (!r->schema)
		return refuse_request(r, api_ollama(r->api) ? "format" : "response_format", "text, json or a JSON "
			      "schema", err);
	r->format = FORMAT_SCHEMA;
	return TB_OK;
}

static enum tb_status
take_logprobs(struct serve_request *r, struct tb_err *err)
{
	static const char range[] = "a whole number from 0 to 10";
	const char *key = r->api == API_COMPLETION ? "logprobs" : "top_logprobs";
	const cJSON *v = said(r->doc, key);
	uint64_t n = 0;
	enum tb_status status;

	if (r->api == API_CHAT && (status = take_bool(r, r->doc, "logprobs", &r->logprobs, err)))
		return status;
	if (v && (!json_u64(v, &n) || n > GEN_TOP))
		return refuse_request(r, key, range, err);
	r->logprobs |= r->api == API_COMPLETION && v;
	if (n && !r->logprobs)
		return refuse_request(r, key, "only with logprobs: true", err);
	r->top = (unsigned)n;
	return TB_OK;
}

static bool
has_tool(const cJSON *tools, const char *name)
{
	for (const cJSON *t = json_first(tools); t; t = json_next(t))
		if (!strcmp(json_str(json_path(t, "function.name")), name))
			return true;
	return false;
}

/* "auto", "none", "required", or one of them: { "function": { "name": … } }. */
static enum tb_status
take_choice(struct serve_request *r, struct tb_err *err)
{
	const cJSON *choice = said(r->doc, "tool_choice");
	const char *word = json_str(choice);

	if (!choice || api_ollama(r->api) || (word && !strcmp(word, "auto")))
		return TB_OK;
	if (word && !strcmp(word, "none")) {
		r->tools = NULL;
		return TB_OK;
	}
	r->must_call = true;
	r->must_name = json_str(json_path(choice, "function.name"));
	if (!r->must_name && !(word && !strcmp(word, "required")))
		return refuse_request(r, "tool_choice", "auto, none, required or a function", err);
	if (!r->tools || (r->must_name && !has_tool(r->tools, r->must_name)))
		return refuse_request(r, "tool_choice", r->tools ? "no tool is called so"
								 : "there are no tools", err);
	return r->format == FORMAT_TEXT ? TB_OK
	     : refuse_request(r, "tool_choice", "a call and a response_format exclude each other", err);
}

static enum tb_status
take_tools(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = said(r->doc, "tools");

	if (v && !json_is_array(v))
		return refuse_request(r, "tools", "a list", err);
	r->tools = json_first(v) ? v : NULL;
	for (const cJSON *t = json_first(r->tools); t; t = json_next(t))
		if (!json_str(json_path(t, "function.name")))
			return refuse_request(r, "tools", "each has a function with a name", err);
	return take_choice(r, err);
}

/* true, false or a level. */
static enum tb_status
take_think(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = said(r->doc, api_ollama(r->api) ? "think" : "reasoning_effort");
	bool on;

	if (!v)
		return TB_OK;
	if (json_bool(v, &on)) {
		r->think = on ? CHAT_THINK_ON : CHAT_THINK_OFF;
	} else if (!json_str(v)) {
		return refuse_request(r, api_ollama(r->api) ? "think" : "reasoning_effort",
			      "true, false or a level", err);
	} else if (!strcmp(json_str(v), "none")) {
		r->think = CHAT_THINK_OFF;
	} else {
		r->think = CHAT_THINK_ON;
		r->think_level = json_str(v);
	}
	return TB_OK;
}

/* "5m", "1h30m", "-1s" as Go writes them. */
static bool
read_duration(const char *s, double *seconds)
{
	static const struct { const char *unit; double seconds; } units[] = {
		{ "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { "s", 1 }, { "m", 60 }, { "h", 3600 },
	};
	double sign = *s == '-' ? -1 : 1, n;

	s += *s == '-' || *s == '+';
	*seconds = 0;
	if (!*s)
		return false;
	while (*s) {
		size_t i = 0;
		char *end;

		n = *s >= '0' && *s <= '9' ? strtod(s, &end) : NAN;
		if (!isfinite(n))
			return false;
		for (s = end; i < sizeof(units) / sizeof(*units) && !tb_starts(s, units[i].unit); i++)
			;
		if (i == sizeof(units) / sizeof(*units))
			return false;
		s += strlen(units[i].unit);
		*seconds += sign * n * units[i].seconds;
	}
	return true;
}

static enum tb_status
take_keep(struct serve_request *r, struct tb_err *err)
{
	const cJSON *v = said(r->doc, "keep_alive");

	r->keeps = v && api_ollama(r->api);
	if (r->keeps && !json_f64(v, &r->keep) && !(json_str(v) && read_duration(json_str(v), &r->keep)))
		return refuse_request(r, "keep_alive", "seconds, or a time like \"5m\"", err);
	return TB_OK;
}

/* What would make another answer and is not done. */
static enum tb_status
refuse_others(struct serve_request *r, struct tb_err *err)
{
	static const char *const ones[] = { "n", "best_of" };
	static const char *const nones[] = { "logit_bias", "functions", "audio", "suffix" };
	double x;

	for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++)
		if (said(r->doc, ones[i]) && (!json_f64(json_get(r->doc, ones[i]), &x) || x != 1))
			return refuse_request(r, ones[i], "only 1", err);
	for (size_t i = 0; i < sizeof(nones) / sizeof(*nones); i++) {
		const cJSON *v = said(r->doc, nones[i]);

		if (v && (json_first(v) || (json_str(v) && *json_str(v))))
			return refuse_request(r, nones[i], "is not done here", err);
	}
	return TB_OK;
}

static enum tb_status
take_all(struct serve_request *r, struct tb_err *err)
{
	bool chat = r->api == API_CHAT || r->api == API_OLLAMA_CHAT;
	const cJSON *model = said(r->doc, "model");
	enum tb_status status;

	if (!json_is_object(r->doc))
		return tb_fail(err, TB_EUSAGE, "the request is no JSON object");
	r->model = json_str(model);
	if (model && !r->model)
		return refuse_request(r, "model", "a text", err);
	r->stream = api_ollama(r->api);
	if ((status = take_bool(r, r->doc, "stream", &r->stream, err)) ||
	    (status = take_bool(r, r->doc, "ignore_eos", &r->ignore_eos, err)) ||
	    (status = take_bool(r, said(r->doc, "stream_options"), "include_usage", &r->usage, err)) ||
	    (status = refuse_others(r, err)) || (status = take_numbers(r, err)) ||
	    (status = take_stops(r, err)) || (status = take_format(r, err)) ||
	    (status = take_think(r, err)) || (status = take_keep(r, err)))
		return status;
	if (!api_ollama(r->api) && (status = take_logprobs(r, err)))
		return status;
	if (chat)
		return (status = take_tools(r, err)) ? status : take_messages(r, err);
	return take_prompt(r, err);
}

enum tb_status
serve_request_parse(struct serve_request *r, enum serve_api api, const char *text, size_t len,
		    struct tb_err *err)
{
	enum tb_status status;

	*r = (struct serve_request){ .api = api, .texts = { .max = TEXTS_MAX } };
	status = json_parse(&r->doc, text, len, "the request", err);
	return status ? status : take_all(r, err);
}

void
serve_request_free(struct serve_request *r)
{
	json_free(r->doc);
	tb_arena_free(&r->texts);
	*r = (struct serve_request){ 0 };
}
