#include "config.h"

#include "src/net/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/url.h"

#define CONNECT_SECONDS 20
#define HEADERS_MAX (256u << 10)	/* of one answer, all of its attempts */
#define REDIRECTS_MAX 5
#define WAIT_MS 40			/* between two looks at the job */

struct http {
	CURLM *multi;
};

/* A request on its way. */
struct transfer {
	const struct http_ask *ask;
	struct http_answer *out;
	CURL *easy;
	struct url url;			/* who is asked now */
	char *host;			/* the same for sentences */
	char why[CURL_ERROR_SIZE];
	size_t headers, got;		/* bytes */
	char coded[64];			/* Content-Encoding */
	double began, last;		/* the last byte that came */
	bool enough;
	enum tb_status status;		/* what a callback found wrong, with its sentence in *err */
	struct tb_err *err;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void
http_begin(void)
{
	ready = !curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum tb_status
http_new(struct http **out, struct tb_err *err)
{
	struct http *h = tb_calloc(1, sizeof(*h));

	pthread_once(&once, http_begin);
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

void
http_answer_free(struct http_answer *a)
{
	tb_buf_free(&a->body);
}

static int
answer_status(const struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static bool
went_well(int status)
{
	return status >= 200 && status < 300;
}

/* The value of a header line of that name, its ends cut off. */
static bool
header_value(const char *line, size_t n, const char *name, char *out, size_t outlen)
{
	size_t len = strlen(name);

	if (n <= len || line[len] != ':' || strncasecmp(line, name, len))
		return false;
	for (len++; len < n && strchr(" \t", line[len]); len++)
		;
	while (n > len && strchr(" \t\r\n", line[n - 1]))
		n--;
	n -= len;
	if (n >= outlen)
		n = outlen - 1;
	memcpy(out, line + len, n);
	out[n] = 0;
	return true;
}

static size_t
take_header(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	n *= size;
	t->last = tb_monotonic();
	t->headers += n;
	if (t->headers > HEADERS_MAX) {
		t->status = tb_fail(t->err, TB_ELIMIT, "%s: headers of more than %u bytes", t->host,
				    HEADERS_MAX);
		return 0;
	}
	if (n > 5 && !memcmp(p, "HTTP/", 5))
		*t->coded = *t->out->type = 0;
	if (!header_value(p, n, "Content-Type", t->out->type, sizeof(t->out->type)))
		header_value(p, n, "Content-Encoding", t->coded, sizeof(t->coded));
	return n;
}

static enum tb_status
take_piece(struct transfer *t, const char *p, size_t n)
{
	bool well = went_well(answer_status(t));
	size_t max = well ? t->ask->max : HTTP_ERROR_MAX;

	if (*t->coded && strcasecmp(t->coded, "identity"))
		return tb_fail(t->err, TB_EUNSUP, "%s: it answers compressed (%s), which nobody asked"
			       " for", t->host, t->coded);
	t->got += n;
	if (well && t->got > max)
		return tb_fail(t->err, TB_ELIMIT, "%s: an answer of more than %zu bytes", t->host, max);
	if (well && t->ask->fn)
		return t->ask->fn(t->ask->arg, p, n, &t->enough, t->err);
	if (t->out->body.len + n > max)		/* an error's beginning says enough */
		n = max - t->out->body.len;
	tb_buf_add(&t->out->body, p, n);
	t->enough |= !well && t->out->body.len == max;
	return tb_buf_status(&t->out->body, "an answer", t->err);
}

static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	n *= size;
	t->last = tb_monotonic();
	t->status = take_piece(t, p, n);
	return t->status || t->enough ? 0 : n;
}

/* What went wrong below HTTP, as a person should hear it. */
static enum tb_status
say_failure(const struct transfer *t, CURLcode code)
{
	const char *why = *t->why ? t->why : curl_easy_strerror(code), *what;

	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return tb_nomem(t->err);
	case CURLE_COULDNT_RESOLVE_HOST:
		what = "no such host; is the name right?";
		break;
	case CURLE_COULDNT_RESOLVE_PROXY:
		what = "the proxy of the environment is not known";
		break;
	case CURLE_COULDNT_CONNECT:
		what = "nobody answers there; does the server run?";
		break;
	case CURLE_OPERATION_TIMEDOUT:
		what = "no connection in time; does the server run?";
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		what = "its certificate is not to be trusted, nothing was sent";
		break;
	case CURLE_SSL_CONNECT_ERROR:
		what = "no TLS there; is it http:// instead?";
		break;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		what = "the connection broke off";
		break;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
		what = "that is no HTTP server";
		break;
	default:
		what = "the request failed";
	}
	return tb_fail(t->err, TB_EIO, "%s: %s (%s)", t->host, what, why);
}

/* Has it taken too long, or is it not wanted any more? */
static enum tb_status
watch(const struct transfer *t, const struct tb_job *job)
{
	double now = tb_monotonic();
	unsigned idle = t->ask->idle ? t->ask->idle : HTTP_IDLE;

	if (tb_job_cancelled(job))
		return tb_job_check(job, t->err);
	if (t->ask->seconds && now - t->began > t->ask->seconds)
		return tb_fail(t->err, TB_EIO, "%s: its answer was not complete after %u seconds",
			       t->host, t->ask->seconds);
	if (now - t->last > idle)
		return tb_fail(t->err, TB_EIO, "%s: nothing came for %u seconds", t->host, idle);
	return TB_OK;
}

static CURLcode
transfer_result(struct http *h)
{
	const CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(h->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			return msg->data.result;
	return CURLE_RECV_ERROR;
}

static enum tb_status
drive(struct http *h, struct transfer *t, const struct tb_job *job)
{
	enum tb_status status = TB_OK;
	int running = 1;
	CURLcode code;

	if (curl_multi_add_handle(h->multi, t->easy))
		return tb_nomem(t->err);
	while (!status && !curl_multi_perform(h->multi, &running) && running) {
		status = watch(t, job);
		if (!status && curl_multi_poll(h->multi, NULL, 0, WAIT_MS, NULL))
			break;
	}
	code = status ? CURLE_OK : transfer_result(h);
	curl_multi_remove_handle(h->multi, t->easy);
	if (status || t->status)
		return status ? status : t->status;
	return !code || t->enough ? TB_OK : say_failure(t, code);
}

/* Where certificates are looked for that this machine does not know by itself. */
static void
set_trust(CURL *easy)
{
	const char *file = getenv("CURL_CA_BUNDLE");

	if (!file || !*file)
		file = getenv("SSL_CERT_FILE");
	if (file && *file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

static void
set_manners(struct transfer *t)
{
	CURL *easy = t->easy;

#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);	/* waits for no slow name server */
#endif
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	if (url_is_loopback(&t->url))
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	set_trust(easy);
}

static bool
add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = line ? curl_slist_append(*list, line) : NULL;

	if (more)
		*list = more;
	return more != NULL;
}

/* The lines of the request; with the key where the server is the one it was given for. */
static enum tb_status
set_headers(struct transfer *t, bool with_key, struct curl_slist **list)
{
	const struct http_ask *ask = t->ask;
	bool ok = add_line(list, "Expect:");	/* a body waits for no "100 Continue" */

	for (size_t i = 0; ok && ask->headers && ask->headers[i]; i++)
		ok = add_line(list, ask->headers[i]);
	if (ok && ask->key && with_key) {
		char *line = tb_asprintf("Authorization: Bearer %s", ask->key);

		ok = add_line(list, line);
		if (line)
			explicit_bzero(line, strlen(line));
		free(line);
	}
	if (!ok)
		return tb_nomem(t->err);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, *list);
	return TB_OK;
}

/* One request and its answer, whatever that is. */
static enum tb_status
attempt(struct http *h, struct transfer *t, const char *url, bool with_key,
	const struct tb_job *job)
{
	struct curl_slist *list = NULL;
	enum tb_status status;

	curl_easy_reset(t->easy);
	set_manners(t);
	if (curl_easy_setopt(t->easy, CURLOPT_URL, url))
		return tb_nomem(t->err);
	if (t->ask->body) {
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->ask->nbody);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->ask->body);
	}
	t->last = tb_monotonic();
	t->got = 0;
	t->enough = false;
	tb_buf_clear(&t->out->body);
	status = set_headers(t, with_key, &list);
	if (!status)
		status = drive(h, t, job);
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
	if (!status)
		t->out->status = answer_status(t);
	return status;
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
	if (!text || t->out->status < 300 || t->out->status > 399)
		return TB_OK;
	if ((status = url_parse(&to, text, t->err)))
		return tb_wrap(t->err, status, "%s: it leads elsewhere", t->host);
	if (!strcmp(t->url.scheme, "https") && strcmp(to.scheme, "https"))
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads from https to http://%s, which is"
				 " refused", t->host, to.host);
	else if (t->ask->body && !url_same_origin(&t->url, &to))
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads to %s://%s:%u; nothing was sent there."
				 " If that is right, use its address", t->host, to.scheme, to.host,
				 to.port);
	else if (t->ask->body && t->out->status != 307 && t->out->status != 308)
		status = tb_fail(t->err, TB_EUNSUP, "%s: it leads to %.200s; use that address", t->host,
				 text);
	else if (!(*next = tb_strdup(text)))
		status = tb_nomem(t->err);
	url_free(&to);
	return status;
}

/* Asks there, with the key if it is the server that the key was given for. */
static enum tb_status
ask_there(struct http *h, struct transfer *t, const struct url *first, const char *url,
	  const struct tb_job *job, char **next)
{
	enum tb_status status = url_parse(&t->url, url, t->err);

	if (status)
		return status;
	if (!(t->host = url_host(&t->url)))
		status = tb_nomem(t->err);
	if (!status)
		status = attempt(h, t, url, url_same_origin(&t->url, first), job);
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

enum tb_status
http_do(struct http *h, const struct http_ask *ask, struct tb_job *job, struct http_answer *out,
	struct tb_err *err)
{
	struct tb_err none;
	struct transfer t = { .ask = ask, .out = out, .err = err ? err : &none };
	struct url first = { 0 };
	enum tb_status status;

	*out = (struct http_answer){ .body = TB_BUF(ask->max > HTTP_ERROR_MAX ? ask->max
									   : HTTP_ERROR_MAX) };
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
