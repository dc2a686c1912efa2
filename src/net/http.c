#include "config.h"

#include "src/net/http_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define REDIRECTS_MAX 5

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void
start_curl(void)
{
	ready = !curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum tb_status
http_new(struct http **out, struct tb_err *err)
{
	struct http *h = tb_calloc(1, sizeof(*h));

	pthread_once(&once, start_curl);
	*out = h;
	if (h && ready)
		h->multi = curl_multi_init();
	if (h && h->multi)
		return TB_OK;
	free(h);
	*out = NULL;
	return tb_nomem(err);
}

void
http_free(struct http *h)
{
	if (!h)
		return;
	curl_multi_cleanup(h->multi);
	free(h);
}

/* Where the answer leads to, checked; *next NULL: nowhere. */
static enum tb_status
follow(const struct transfer *t, char **next)
{
	struct url to = { 0 };
	char *text = NULL;
	enum tb_status status;

	*next = NULL;
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &text);
	if (!text || t->ask->stay || t->out->status < 300 || t->out->status > 399)
		return TB_OK;
	if ((status = url_parse(&to, text, t->err)))
		return tb_wrap(t->err, status, "%s: it leads elsewhere", t->host);
	if (!strcmp(t->url.scheme, "https") && strcmp(to.scheme, "https"))
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads from https to http://%s, which is"
				 " refused", t->host, to.host);
	else if (http_sends(t->ask) && !t->ask->send_elsewhere && !url_same_origin(&t->url, &to))
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads to %s://%s:%u; nothing was sent there."
				 " If that is right, use its address", t->host, to.scheme, to.host,
				 to.port);
	else if (http_sends(t->ask) && t->out->status != 307 && t->out->status != 308)
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads to %.200s; use that address", t->host,
				 text);
	else if (!(*next = tb_strdup(text)))
		status = tb_nomem(t->err);
	url_free(&to);
	return status;
}

/* Asks there, with the key while it is the server that the key was given for. */
static enum tb_status
ask_there(struct http *h, struct transfer *t, const struct url *first, const char *url,
	  const struct tb_job *job, char **next)
{
	enum tb_status status = url_parse(&t->url, url, t->err);

	if (status)
		return status;
	free(t->out->url);
	t->out->url = tb_strdup(url);
	t->out->elsewhere |= !url_same_origin(&t->url, first);
	if (!(t->host = url_host(&t->url)) || !t->out->url)
		status = tb_nomem(t->err);
	if (!status)
		status = http_attempt(h, t, url, job);
	if (!status)
		status = follow(t, next);
	free(t->host);
	url_free(&t->url);
	return status;
}

static enum tb_status
ask_around(struct http *h, struct transfer *t, const struct url *first, const struct tb_job *job)
{
	char *url = tb_strdup(t->ask->url), *next = NULL;
	enum tb_status status = url ? TB_OK : tb_nomem(t->err);

	for (unsigned n = 0; !status && url; n++) {
		if (n > REDIRECTS_MAX)
			status = tb_fail(t->err, TB_EUNSUP, "%s: it leads elsewhere again and again",
					 first->host);
		else
			status = ask_there(h, t, first, url, job, &next);
		free(url);
		url = next;
		next = NULL;
	}
	free(url);
	return status;
}

static size_t
body_room(const struct http_ask *ask)
{
	if (ask->max <= HTTP_ERROR_MAX)
		return HTTP_ERROR_MAX;
	return ask->max < SIZE_MAX ? (size_t)ask->max : SIZE_MAX;
}

enum tb_status
http_do(struct http *h, const struct http_ask *ask, struct tb_job *job, struct http_answer *out,
	struct tb_err *err)
{
	struct tb_err none;
	struct transfer t = { .ask = ask, .out = out, .err = err ? err : &none };
	struct url first = { 0 };
	enum tb_status status;

	*out = (struct http_answer){ .body = TB_BUF(body_room(ask)),
				     .headers = TB_BUF(HTTP_HEADERS_MAX) };
	if ((status = url_parse(&first, ask->url, err)))
		return status;
	t.began = tb_monotonic();
	t.easy = curl_easy_init();
	status = t.easy ? ask_around(h, &t, &first, job) : tb_nomem(err);
	curl_easy_cleanup(t.easy);
	url_free(&first);
	if (status)
		http_answer_free(out);
	return status;
}
