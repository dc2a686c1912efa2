#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/key.h"
#include "src/ops/remote/remote_parts.h"

#define LIST_MAX (8u << 20)
#define LIST_SECONDS 20
#define NAMES_TOLD 12
#define TOKENS_MAX 50000u

bool
remote_is(const char *ref)
{
	return url_is(ref);
}

void
remote_free(struct remote *r)
{
	if (!r)
		return;
	while (r->ntokens)
		free(r->tokens[--r->ntokens]);
	free(r->tokens);
	http_free(r->http);
	url_free(&r->url);
	api_key_free(r->key);
	pthread_mutex_destroy(&r->lock);
	free(r->host);
	free(r->model);
	free(r->name);
	free(r->ref);
	free(r);
}

const char *
remote_name(const struct remote *r)
{
	return r->name;
}

const char *
remote_ref(const struct remote *r)
{
	return r->ref;
}

const char *
remote_note(const struct remote *r)
{
	return r->note;
}

void
remote_sampler_init(struct sampler_opts *o)
{
	*o = (struct sampler_opts){ .temperature = NAN, .top_k = UINT32_MAX, .top_p = NAN,
				    .min_p = NAN, .repeat_penalty = NAN, .repeat_last = UINT32_MAX,
				    .seed = UINT64_MAX };
}

/* ---- what servers say when they do not want to ---- */

/* What is known of an error. */
struct refusal {
	struct tb_buf words;
	bool too_long;		/* the conversation, for the model's context */
};

static bool
says_too_long(const cJSON *doc, const char *words)
{
	const char *type = json_str(json_path(doc, "error.type"));
	const char *code = json_str(json_path(doc, "error.code"));

	return (type && !strcmp(type, "exceed_context_size_error")) ||
	       (code && !strcmp(code, "context_length_exceeded")) ||
	       (words && tb_contains(words, "maximum context length"));
}

/* The words of a server: {"error": {"message": …}}, {"error": …}, {"detail": …}, {"message": …},
 * else the beginning of what it is. */
static void
read_refusal(const char *body, size_t len, struct refusal *out)
{
	static const char *const places[] = { "error.message", "error", "message", "detail" };
	struct tb_buf mended = TB_BUF(len * 3 + 16);
	const char *words = NULL;
	cJSON *doc = NULL;

	remote_mend(&mended, body, len);
	if (!json_parse(&doc, tb_buf_cstr(&mended), mended.len, "an error", NULL))
		for (size_t i = 0; !words && i < sizeof(places) / sizeof(*places); i++)
			words = json_str(json_path(doc, places[i]));
	tb_text_clip(&out->words, words ? words : tb_buf_cstr(&mended), 300, false);
	out->too_long = says_too_long(doc, words);
	json_free(doc);
	tb_buf_free(&mended);
}

/* Some servers say a key again that they do not like. */
static void
hide_key(char *text, const char *key)
{
	size_t n = key ? strlen(key) : 0;

	if (n < 4)
		return;
	for (char *at = text; (at = strstr(at, key)); at += n)
		memset(at, '*', n);
}

/* What there is to do about it; the kind of error. */
static enum tb_status
advise(const struct remote *r, int status, bool too_long, struct tb_buf *out)
{
	if (too_long) {
		tb_buf_str(out, "; all that was said is longer than its context: /clear, or say less");
		return TB_ELIMIT;
	}
	switch (status) {
	case 401:
	case 403:
		tb_buf_str(out, r->key ? "; it does not like the key, which came from "
				       : "; it wants a key: ");
		api_key_places(&r->url, out);
		return TB_EUSAGE;
	case 404:
		tb_buf_str(out, "; no such model, or the address is another (it mostly ends in /v1)");
		return TB_ENOENT;
	case 429:
		tb_buf_str(out, "; too many requests, or nothing left to spend: try later");
		return TB_EIO;
	default:
		if (status >= 500)
			tb_buf_str(out, "; the server failed, not the question");
		return TB_EIO;
	}
}

enum tb_status
remote_refused(const struct remote *r, int status, const char *body, size_t len,
	       struct tb_err *err)
{
	struct refusal f = { .words = TB_BUF(8192) };
	struct tb_buf todo = TB_BUF(8192);
	enum tb_status code;
	char said[400];

	read_refusal(body, len, &f);
	snprintf(said, sizeof(said), "%s%s", f.words.len ? ": " : "", tb_buf_cstr(&f.words));
	hide_key(said, r->key);
	code = advise(r, status, f.too_long, &todo);
	if (status)
		tb_fail(err, code, "%s answers %d%s%s", r->host, status, said, tb_buf_cstr(&todo));
	else
		tb_fail(err, code, "%s%s%s", r->host, *said ? said : ": it failed and does not say why",
			tb_buf_cstr(&todo));
	tb_buf_free(&f.words);
	tb_buf_free(&todo);
	return code;
}

enum tb_status
remote_call(struct remote *r, const char *more, struct http_ask *ask, struct tb_job *job,
	    struct http_answer *out, struct tb_err *err)
{
	static const char *const json[] = { "Content-Type: application/json", NULL };
	char *url = url_below(&r->url, more);
	enum tb_status status;

	*out = (struct http_answer){ 0 };
	if (!url)
		return tb_nomem(err);
	ask->url = url;
	ask->key = r->key;
	ask->headers = ask->body ? json : NULL;
	status = http_do(r->http, ask, job, out, err);
	if (status == TB_ELIMIT) {	/* of what came: no matter of how much was said */
		status = TB_EIO;
		if (err)
			err->code = status;
	}
	if (!status && !http_well(out)) {
		status = remote_refused(r, out->status, tb_buf_cstr(&out->body), out->body.len, err);
		http_answer_free(out);
	}
	free(url);
	return status;
}

/* ---- which models there are ---- */

static const char *
model_id(const cJSON *v)
{
	const char *id = json_str(json_get(v, "id"));

	return id ? id : "";
}

/* "models there: a, b"; no more than a line of them. */
static void
put_names(const cJSON *list, struct tb_buf *out)
{
	size_t n = 0;

	tb_buf_str(out, "models there: ");
	for (const cJSON *v = json_first(list); v && n < NAMES_TOLD; v = json_next(v))
		tb_buf_printf(out, "%s%.100s", n++ ? ", " : "", model_id(v));
	if (json_count(list) > NAMES_TOLD)
		tb_buf_printf(out, ", and %zu more", json_count(list) - NAMES_TOLD);
}

/* Ollama's "qwen3" is "qwen3:latest". */
static bool
is_model(const char *id, const char *name)
{
	size_t n = strlen(name);

	return !strcmp(id, name) || (!strncmp(id, name, n) && !strcmp(id + n, ":latest"));
}

static void
learn_server(struct remote *r, const cJSON *model)
{
	const char *owner = json_str(json_get(model, "owned_by"));
	uint64_t n;

	if (owner && !strcmp(owner, "llamacpp"))
		r->kind = REMOTE_LLAMACPP;
	else if (owner && !strcmp(owner, "vllm"))
		r->kind = REMOTE_VLLM;
	if ((json_u64(json_path(model, "meta.n_ctx"), &n) ||
	     json_u64(json_get(model, "max_model_len"), &n) ||
	     json_u64(json_get(model, "context_length"), &n)) && n <= UINT32_MAX)
		r->context = (uint32_t)n;
}

static void
note_unknown(struct remote *r, const cJSON *list)
{
	struct tb_near near = { .word = r->model };
	char hint[160];

	for (const cJSON *v = json_first(list); v; v = json_next(v))
		tb_near_try(&near, model_id(v));
	tb_near_text(&near, hint, sizeof(hint));
	snprintf(r->note, sizeof(r->note), "%.60s does not list a model \"%.60s\"%s", r->host,
		 r->model, hint);
}

/* The one that is meant, among those that the server has: that of the name, or the only one. */
static const cJSON *
meant(const struct remote *r, const cJSON *list)
{
	const cJSON *v = json_first(list);

	if (!*r->model)
		return json_count(list) == 1 && *model_id(v) ? v : NULL;
	while (v && !is_model(model_id(v), r->model))
		v = json_next(v);
	return v;
}

static enum tb_status
choose_model(struct remote *r, const cJSON *list, struct tb_err *err)
{
	const cJSON *model = meant(r, list);
	struct tb_buf names = TB_BUF(8192);

	if (model) {
		learn_server(r, model);
		if (*r->model)
			return TB_OK;
		free(r->model);
		return (r->model = tb_strdup(model_id(model))) ? TB_OK : tb_nomem(err);
	}
	if (*r->model) {
		note_unknown(r, list);
		return TB_OK;
	}
	if (json_first(list))
		put_names(list, &names);
	else
		tb_buf_str(&names, "it lists none");
	tb_fail(err, TB_EUSAGE, "%s: say which model, with #MODEL behind the address; %s", r->host,
		tb_buf_cstr(&names));
	tb_buf_free(&names);
	return TB_EUSAGE;
}

static enum tb_status
look_around(struct remote *r, struct tb_job *job, struct tb_err *err)
{
	struct http_ask ask = { .max = LIST_MAX, .seconds = LIST_SECONDS };
	struct tb_buf mended = TB_BUF(LIST_MAX * 3ul);
	struct http_answer a;
	cJSON *doc = NULL;
	enum tb_status status = remote_call(r, "/models", &ask, job, &a, err);

	if (status == TB_ENOENT && *r->model)
		return TB_OK;		/* it has no list: it may still have the model */
	if (status)
		return status;
	remote_mend(&mended, tb_buf_cstr(&a.body), a.body.len);
	if (!json_parse(&doc, tb_buf_cstr(&mended), mended.len, r->host, NULL) &&
	    json_is_array(json_get(doc, "data")))
		status = choose_model(r, json_get(doc, "data"), err);
	else if (!*r->model)
		status = tb_fail(err, TB_EFORMAT, "%s: it lists no models; is the address right? It"
				 " mostly ends in /v1", r->host);
	json_free(doc);
	tb_buf_free(&mended);
	http_answer_free(&a);
	return status;
}

/* ---- a server ---- */

static enum tb_status
name_it(struct remote *r, struct tb_err *err)
{
	char *below = url_below(&r->url, "");

	/* llama-server calls a model by the path of its file. */
	r->name = tb_asprintf("%s at %s", tb_path_name(r->model), r->host);
	r->ref = below ? tb_asprintf("%s#%s", below, r->model) : NULL;
	free(below);
	return r->name && r->ref ? TB_OK : tb_nomem(err);
}

static enum tb_status
find_server(struct remote *r, const char *ref, struct tb_err *err)
{
	enum tb_status status = url_parse(&r->url, ref, err);

	if (status)
		return status;
	if (!*r->url.path) {
		free(r->url.path);
		r->url.path = tb_strdup("/v1");
	}
	r->host = url_host(&r->url);
	r->model = tb_strdup(r->url.fragment);
	if (!r->url.path || !r->host || !r->model)
		return tb_nomem(err);
	if (!strcmp(r->host, "api.openai.com"))
		r->kind = REMOTE_OPENAI;
	if ((status = api_key_find(&r->url, &r->key, err)))
		return status;
	return http_new(&r->http, err);
}

enum tb_status
remote_open(struct remote **out, const char *ref, struct tb_job *job, struct tb_err *err)
{
	struct remote *r = tb_calloc(1, sizeof(*r));
	enum tb_status status;

	*out = NULL;
	if (!r)
		return tb_nomem(err);
	pthread_mutex_init(&r->lock, NULL);
	status = find_server(r, ref, err);
	if (!status) {
		tb_job_what(job, "%s", r->host);
		status = look_around(r, job, err);
	}
	if (!status)
		status = name_it(r, err);
	if (status)
		remote_free(r);
	else
		*out = r;
	return status;
}

/* ---- tokens have texts, and no ids that we could know ---- */

uint32_t
remote_token_id(struct remote *r, const char *text)
{
	uint32_t id = UINT32_MAX;
	char *copy;

	pthread_mutex_lock(&r->lock);
	for (size_t i = r->ntokens; i-- > 0 && id == UINT32_MAX;)
		if (!strcmp(r->tokens[i], text))
			id = (uint32_t)i;
	if (id == UINT32_MAX && r->ntokens < TOKENS_MAX && (copy = tb_strdup(text))) {
		if (tb_grow(&r->tokens, &r->cap, r->ntokens + 1, sizeof(*r->tokens))) {
			id = (uint32_t)r->ntokens;
			r->tokens[r->ntokens++] = copy;
		} else {
			free(copy);
		}
	}
	pthread_mutex_unlock(&r->lock);
	return id;
}

bool
remote_token(struct remote *r, uint32_t id, struct tb_buf *out)
{
	bool there;

	pthread_mutex_lock(&r->lock);
	there = id < r->ntokens;
	if (there)
		tb_buf_str(out, r->tokens[id]);
	pthread_mutex_unlock(&r->lock);
	return there;
}
