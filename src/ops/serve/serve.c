#include "config.h"

#include "src/ops/serve/serve.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/httpd.h"
#include "src/net/key.h"
#include "src/ops/home/home.h"
#include "src/ops/serve/hosts.h"
#include "src/ops/serve/reply.h"
#include "src/store/model.h"

#define BODY_MAX (32u << 20)
#define CONNECTIONS 256
#define IDLE_SECONDS 60
#define GRACE_SECONDS 5.0	/* that answers under way have to end */
#define LOOK_MS 500		/* a signal ends it sooner */
#define END_MS 20

struct serve {
	struct serve_opts o;
	char *key;			/* owned; NULL: none is asked for */
	struct hosts *hosts;		/* owned */
	struct httpd *httpd;
	int64_t began;			/* seconds since 1970 */
	pthread_mutex_t lock;		/* of the log, and of … */
	unsigned open;			/* exchanges that are under way */
	bool ending;
};

/* ---- the log ---- */

static void
say_line(struct serve *s, const struct serve_line *line)
{
	pthread_mutex_lock(&s->lock);
	if (s->o.log)
		s->o.log(s->o.log_arg, line);
	pthread_mutex_unlock(&s->lock);
}

static void
exchange_over(void *arg, struct httpd_request *http, const struct exchange_end *end, double began)
{
	struct serve *s = arg;
	const struct gen_figures *f = end->figures;
	struct serve_line line = {
		.method = httpd_method(http), .path = httpd_path(http), .model = end->model,
		.status = end->status, .end = end->how, .seconds = tb_monotonic() - began,
	};

	if (f) {
		line.prompt_tokens = f->prompt_tokens;
		line.reused_tokens = f->reused_tokens;
		line.tokens = f->tokens;
		line.first_token_seconds = f->first_token_seconds;
	}
	say_line(s, &line);
	pthread_mutex_lock(&s->lock);
	s->open--;
	pthread_mutex_unlock(&s->lock);
}

/* An answer that needs no model. */
static void
answer(struct serve *s, struct httpd_request *r, unsigned status, struct tb_buf *body,
       const char *header)
{
	const struct serve_line line = { .method = httpd_method(r), .path = httpd_path(r),
					 .status = status };

	httpd_answer(r, status, "application/json", body, header);
	say_line(s, &line);
}

static bool
of_ollama(struct httpd_request *r)
{
	return tb_starts(httpd_path(r), "/api/");
}

static void
answer_error(struct serve *s, struct httpd_request *r, unsigned status, const char *message,
	     const char *param, const char *code, const char *header)
{
	struct tb_buf out = TB_BUF(65536);
	const char *type = status == 401 ? "authentication_error"
			 : status >= 500 ? "server_error" : "invalid_request_error";

	reply_add_error(of_ollama(r), message, type, param, code, &out);
	answer(s, r, status, &out, header);
}

/* Frees o. */
static void
answer_json(struct serve *s, struct httpd_request *r, cJSON *o)
{
	struct tb_buf out = TB_BUF(16u << 20);
	char *text = json_print(o);

	json_free(o);
	tb_buf_str(&out, text ? text : "{}");
	tb_buf_chr(&out, '\n');
	free(text);
	answer(s, r, 200, &out, NULL);
}

/* ---- who may ask ---- */

/* In a time that does not tell where they differ. */
static bool
same_key(const char *key, const char *shown)
{
	size_t n = strlen(key), m = strlen(shown);
	volatile unsigned char other = n != m;

	for (size_t i = 0; i < m; i++)
		other |= (unsigned char)(key[i % (n ? n : 1)] ^ shown[i]);
	return !other;
}

static bool
shows_key(const struct serve *s, struct httpd_request *r)
{
	const char *shown = httpd_header(r, "Authorization");

	if (!shown || strncasecmp(shown, "Bearer ", 7))
		return false;
	shown += 7;
	return same_key(s->key, shown + strspn(shown, " "));
}

/* Is it this machine that "HOST[:PORT]" names, without a look at any directory of names? */
static bool
names_us(const struct serve *s, const char *host)
{
	static const char *const ours[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	const char *own = s->o.listen;

	if (n > strlen(host) || (host[n] && host[n] != ':'))
		return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (n == strlen(ours[i]) && !strncasecmp(host, ours[i], n))
			return true;
	if (!own)
		return false;
	return (n == strlen(own) && !strncasecmp(host, own, n)) ||
	       (*host == '[' && n == strlen(own) + 2 && !strncasecmp(host + 1, own, n - 2));
}

/* A page of some other site must not speak to us through a browser here: neither under a name
 * of its own that leads to this machine, nor with a request that says where it is from. */
static bool
from_elsewhere(const struct serve *s, struct httpd_request *r)
{
	const char *host = httpd_header(r, "Host"), *origin = httpd_header(r, "Origin");
	const char *at = origin ? strstr(origin, "://") : NULL;

	if (origin && !(at && names_us(s, at + 3)))
		return true;
	return !s->key && host && !names_us(s, host);
}

/* ---- what can be asked ---- */

static void
no_model(struct serve *s, struct httpd_request *r, const char *name)
{
	struct tb_buf text = TB_BUF(4096);

	tb_buf_printf(&text, "the model %.200s is not served; GET %s lists those that are", name,
		      of_ollama(r) ? "/api/tags" : "/v1/models");
	answer_error(s, r, 404, tb_buf_cstr(&text), "model", "model_not_found", NULL);
	tb_buf_free(&text);
}

static void
ask_model(struct serve *s, struct httpd_request *r, enum serve_api api)
{
	const struct tb_buf *body = httpd_body(r);
	struct serve_request ask;
	struct tb_err err = { 0 };
	bool found = false, ending;
	size_t i;

	if (serve_request_parse(&ask, api, tb_buf_cstr(body), body->len, &err))
		answer_error(s, r, err.code == TB_ENOMEM ? 503 : 400, err.msg, ask.param, NULL, NULL);
	else if (!(found = hosts_find(s->hosts, ask.model, &i)))
		no_model(s, r, ask.model);
	if (!found) {
		serve_request_free(&ask);
		return;
	}
	pthread_mutex_lock(&s->lock);
	ending = s->ending;
	s->open += !ending;
	pthread_mutex_unlock(&s->lock);
	if (ending) {
		answer_error(s, r, 503, "the server is ending", NULL, NULL, "Connection: close");
		serve_request_free(&ask);
		return;
	}
	hosts_ask(s->hosts, i, r, &ask);
}

static void
ask_chat(struct serve *s, struct httpd_request *r)
{
	ask_model(s, r, API_CHAT);
}

static void
ask_completion(struct serve *s, struct httpd_request *r)
{
	ask_model(s, r, API_COMPLETION);
}

static void
ask_ollama_chat(struct serve *s, struct httpd_request *r)
{
	ask_model(s, r, API_OLLAMA_CHAT);
}

static void
ask_ollama_generate(struct serve *s, struct httpd_request *r)
{
	ask_model(s, r, API_OLLAMA_GENERATE);
}

static cJSON *
describe_model(const struct serve *s, const struct serve_model *m)
{
	cJSON *o = json_object(), *meta;

	json_set_str(o, "id", m->name);
	json_set_str(o, "object", "model");
	json_set_i64(o, "created", s->began);
	json_set_str(o, "owned_by", "tbtui");
	if (!m->context)	/* it was not loaded yet */
		return o;
	meta = json_object();
	json_set_u64(meta, "n_ctx", m->context);
	json_set(o, "meta", meta);
	json_set_u64(o, "max_model_len", m->context);
	return o;
}

static void
say_models(struct serve *s, struct httpd_request *r)
{
	cJSON *o = json_object(), *data = json_array();
	struct serve_model m;

	json_set_str(o, "object", "list");
	for (size_t i = 0; hosts_model(s->hosts, i, &m); i++)
		json_push(data, describe_model(s, &m));
	json_set(o, "data", data);
	answer_json(s, r, o);
}

static void
list_of_ollama(struct serve *s, struct httpd_request *r, bool loaded)
{
	cJSON *o = json_object(), *list = json_array();
	struct serve_model m;
	char time[32];

	tb_time_rfc3339(s->began * 1000000000, time);
	for (size_t i = 0; hosts_model(s->hosts, i, &m); i++) {
		cJSON *one;

		if (loaded && !m.loaded)
			continue;
		json_push(list, one = json_object());
		json_set_str(one, "name", m.name);
		json_set_str(one, "model", m.name);
		if (!loaded)
			json_set_str(one, "modified_at", time);
		json_set_u64(one, "size", m.bytes);
		if (loaded) {
			json_set_u64(one, "size_vram", 0);
			json_set_u64(one, "context_length", m.context);
		}
	}
	json_set(o, "models", list);
	answer_json(s, r, o);
}

static void
list_tags(struct serve *s, struct httpd_request *r)
{
	list_of_ollama(s, r, false);
}

static void
list_loaded(struct serve *s, struct httpd_request *r)
{
	list_of_ollama(s, r, true);
}

static void
say_version(struct serve *s, struct httpd_request *r)
{
	cJSON *o = json_object();

	json_set_str(o, "version", PACKAGE_VERSION);
	answer_json(s, r, o);
}

static void
say_health(struct serve *s, struct httpd_request *r)
{
	cJSON *o = json_object();
	unsigned speaking, waiting;

	hosts_load(s->hosts, &speaking, &waiting);
	json_set_str(o, "status", "ok");
	json_set_u64(o, "speaking", speaking);
	json_set_u64(o, "waiting", waiting);
	answer_json(s, r, o);
}

static const struct route {
	const char *path;
	bool post, open;		/* open: also without the key */
	void (*fn)(struct serve *s, struct httpd_request *r);
} routes[] = {
	{ "/v1/chat/completions", true, false, ask_chat },
	{ "/v1/completions", true, false, ask_completion },
	{ "/v1/models", false, false, say_models },
	{ "/api/chat", true, false, ask_ollama_chat },
	{ "/api/generate", true, false, ask_ollama_generate },
	{ "/api/tags", false, false, list_tags },
	{ "/api/ps", false, false, list_loaded },
	{ "/api/version", false, true, say_version },
	{ "/health", false, true, say_health },
	{ "/", false, true, say_version },
};

/* "/v1/models/NAME" */
static bool
show_model(struct serve *s, struct httpd_request *r)
{
	static const char path[] = "/v1/models/";
	const char *name = httpd_path(r) + sizeof(path) - 1;
	struct serve_model m;
	size_t i;

	if (!tb_starts(httpd_path(r), path))
		return false;
	if (!hosts_find(s->hosts, name, &i) || !hosts_model(s->hosts, i, &m))
		no_model(s, r, name);
	else
		answer_json(s, r, describe_model(s, &m));
	return true;
}

static void
on_request(void *arg, struct httpd_request *r)
{
	struct serve *s = arg;
	const struct route *route = NULL;
	const char *method = httpd_method(r);
	bool get = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(httpd_path(r), routes[i].path))
			route = &routes[i];
	if (from_elsewhere(s, r))
		answer_error(s, r, 403, "pages of other sites may not ask here", NULL, NULL, NULL);
	else if (s->key && !(route && route->open) && !shows_key(s, r))
		answer_error(s, r, 401, "no key or a wrong one: send \"Authorization: Bearer KEY\"", NULL,
			     "invalid_api_key", "WWW-Authenticate: Bearer");
	else if (route && route->post != !strcmp(method, "POST"))
		answer_error(s, r, 405, route->post ? "this is asked with POST" : "this is asked with GET",
			     NULL, NULL, route->post ? "Allow: POST" : "Allow: GET, HEAD");
	else if (route)
		route->fn(s, r);
	else if (!get || !show_model(s, r))
		answer_error(s, r, 404, "there is nothing at this path; see /v1/models", NULL, NULL, NULL);
}

/* ---- beginning and end ---- */

static bool
is_here_alone(const char *address)
{
	return !address || tb_starts(address, "127.") || !strcmp(address, "::1");
}

static enum tb_status
read_key_file(struct serve *s, struct tb_err *err)
{
	enum tb_status status;
	size_t n;

	if (!s->o.key_file)
		return is_here_alone(s->o.listen) ? TB_OK
		     : tb_fail(err, TB_EUSAGE, "others can reach %s: a key is needed; put one into a file "
			       "that is yours alone and name it with --key-file", s->o.listen);
	if ((status = api_key_private(s->o.key_file, err)) ||
	    (status = tb_file_slurp(s->o.key_file, SERVE_KEY_MAX, &s->key, NULL, err)))
		return status;
	n = strcspn(s->key, "\r\n");
	if (s->key[n + strspn(s->key + n, "\r\n")])
		return tb_fail(err, TB_EUSAGE, "%s: one line with one key is wanted", s->o.key_file);
	explicit_bzero(s->key + n, strlen(s->key + n));
	for (size_t i = 0; i < n; i++)
		if (s->key[i] <= ' ' || s->key[i] > '~')
			n = 0;
	return n ? TB_OK : tb_fail(err, TB_EUSAGE, "%s: a key is letters, digits and signs, without "
				   "blanks", s->o.key_file);
}

static enum tb_status
begin(struct serve *s, const struct op_ctx *ctx, struct tb_job *job, struct tb_err *err)
{
	const struct httpd_opts opts = {
		.address = s->o.listen, .port = s->o.port, .body_max = BODY_MAX,
		.connections = CONNECTIONS, .idle = IDLE_SECONDS, .fn = on_request, .arg = s,
	};
	enum tb_status status = read_key_file(s, err);

	if (!status)
		status = hosts_new(&s->hosts, ctx, &s->o, exchange_over, s, job, err);
	return status ? status : httpd_start(&s->httpd, &opts, err);
}

enum tb_status
serve_begin(struct serve **out, const struct op_ctx *ctx, const struct serve_opts *opts,
	    struct tb_job *job, struct tb_err *err)
{
	struct serve *s = tb_calloc(1, sizeof(*s));
	enum tb_status status;

	*out = NULL;
	if (!s)
		return tb_nomem(err);
	s->o = *opts;
	s->began = tb_now_ns() / 1000000000;
	pthread_mutex_init(&s->lock, NULL);
	if ((status = begin(s, ctx, job, err)))
		serve_end(s);
	else
		*out = s;
	return status;
}

bool
serve_model(const struct serve *s, size_t i, struct serve_model *out)
{
	return hosts_model(s->hosts, i, out);
}

uint16_t
serve_port(const struct serve *s)
{
	return httpd_port(s->httpd);
}

static unsigned
under_way(struct serve *s)
{
	unsigned n;

	pthread_mutex_lock(&s->lock);
	n = s->open;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void
serve_until(struct serve *s, struct tb_job *job)
{
	double until;

	while (!tb_job_cancelled(job))
		(void)poll(NULL, 0, LOOK_MS);
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_mutex_unlock(&s->lock);
	httpd_close_door(s->httpd);
	for (until = tb_monotonic() + GRACE_SECONDS; under_way(s) && tb_monotonic() < until;)
		(void)poll(NULL, 0, END_MS);
}

void
serve_end(struct serve *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_mutex_unlock(&s->lock);
	if (s->httpd)
		httpd_close_door(s->httpd);
	hosts_stop(s->hosts);
	httpd_stop(s->httpd);
	hosts_free(s->hosts);
	api_key_free(s->key);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
