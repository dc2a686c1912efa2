#include "config.h"

#include "src/net/http_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define CONNECT_SECONDS 20

#define WAIT_MS 40			/* between two looks at the job */
#define PIECE_MAX (256L << 10)		/* that a callback gets at once */

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

/* The blank line: what follows is the body, or (1xx) the next answer. */
static enum tb_status
headers_end(struct transfer *t)
{
	struct http_answer *out = t->out;
	const char *type = http_header(out, "Content-Type");
	size_t n = type ? strlen(type) : 0;

	out->status = answer_status(t);
	if (out->status < 200)
		return TB_OK;
	t->body_next = true;
	if (n >= sizeof(out->type))
		n = sizeof(out->type) - 1;
	memcpy(out->type, type ? type : "", n);
	out->type[n] = 0;
	return t->ask->begin && went_well(out->status) ? t->ask->begin(t->ask->arg, out, t->err)
						       : TB_OK;
}

static enum tb_status
keep_header(struct transfer *t, const char *p, size_t n)
{
	if (n > 5 && !memcmp(p, "HTTP/", 5)) {
		tb_buf_clear(&t->out->headers);
		t->body_next = false;
		return TB_OK;
	}
	if (t->body_next)
		return TB_OK;
	while (n && strchr(" \t\r\n", p[n - 1]))
		n--;
	if (!n)
		return headers_end(t);
	tb_buf_add(&t->out->headers, p, strnlen(p, n));
	tb_buf_chr(&t->out->headers, 0);
	return tb_buf_status(&t->out->headers, "headers", t->err);
}

static size_t
take_header(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	n *= size;
	t->last = tb_monotonic();
	t->headers += n;
	if (t->headers > HTTP_HEADERS_MAX)
		t->status = tb_fail(t->err, TB_ELIMIT, "%s: headers of more than %u bytes", t->host,
				    HTTP_HEADERS_MAX);
	else
		t->status = keep_header(t, p, n);
	return t->status ? 0 : n;
}

static enum tb_status
take_piece(struct transfer *t, const char *p, size_t n)
{
	const char *coded = http_header(t->out, "Content-Encoding");
	bool well = went_well(answer_status(t));
	uint64_t max = well && t->ask->max ? t->ask->max : HTTP_ERROR_MAX;

	if (coded && *coded && strcasecmp(coded, "identity"))
		return tb_fail(t->err, TB_EUNSUP, "%s: it answers compressed (%.50s), which nobody asked"
			       " for", t->host, coded);
	t->got += n;
	if (well && t->got > max)
		return tb_fail(t->err, TB_ELIMIT, "%s: an answer of more than %llu bytes", t->host,
			       (unsigned long long)max);
	if (well && t->ask->fn)
		return t->ask->fn(t->ask->arg, p, n, &t->enough, t->err);
	if (t->out->body.len + n > max)		/* an error's beginning says enough */
		n = (size_t)(max - t->out->body.len);
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

/* What is to be sent next. */
static size_t
give_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	uint64_t left = t->ask->nsend - t->sent;
	size_t put = 0;

	n *= size;
	t->last = tb_monotonic();
	if (n > left)
		n = (size_t)left;
	if (!n)
		return 0;
	t->status = t->ask->send(t->ask->send_arg, t->sent, p, n, &put, t->err);
	if (!t->status && (!put || put > n))
		t->status = tb_fail(t->err, TB_EIO, "%s: what is sent there ended early", t->host);
	if (t->status)
		return CURL_READFUNC_ABORT;
	t->sent += put;
	return put;
}

/* A connection that was closed meanwhile: all of it goes into another one. */
static int
seek_body(void *arg, curl_off_t off, int origin)
{
	struct transfer *t = arg;

	if (origin != SEEK_SET || off < 0 || (uint64_t)off > t->ask->nsend)
		return CURL_SEEKFUNC_FAIL;
	t->sent = (uint64_t)off;
	return CURL_SEEKFUNC_OK;
}

/* Would the same work in a moment? */
static bool
is_passing(const struct transfer *t, CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	case CURLE_SSL_CONNECT_ERROR:	/* cut in the middle of it, or no TLS at all */
		return strstr(t->why, "SYSCALL") || strstr(t->why, "reset");
	default:
		return false;
	}
}

/* What went wrong below HTTP, as a person should hear it. */
static enum tb_status
say_failure(struct transfer *t, CURLcode code)
{
	const char *why = *t->why ? t->why : curl_easy_strerror(code), *what;

	t->out->broken = is_passing(t, code);
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return tb_nomem(t->err);
	case CURLE_COULDNT_RESOLVE_HOST:
		what = "no such host; is the name right, and is there a network?";
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
		t->out->untrusted = true;
		what = "its certificate is not to be trusted, nothing was sent";
		break;
	case CURLE_SSL_CONNECT_ERROR:
		t->out->no_tls = true;
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
watch(struct transfer *t, const struct tb_job *job)
{
	double now = tb_monotonic();
	unsigned idle = t->ask->idle ? t->ask->idle : HTTP_IDLE;

	if (tb_job_cancelled(job))
		return tb_job_check(job, t->err);
	t->out->broken = true;
	if (t->ask->seconds && now - t->began > t->ask->seconds)
		return tb_fail(t->err, TB_EIO, "%s: its answer was not complete after %u seconds",
			       t->host, t->ask->seconds);
	if (now - t->last > idle)
		return tb_fail(t->err, TB_EIO, "%s: nothing moved for %u seconds", t->host, idle);
	t->out->broken = false;
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
	if (!code && !t->body_next)	/* its headers have no end: half of them say nothing */
		code = CURLE_GOT_NOTHING;
	curl_multi_remove_handle(h->multi, t->easy);
	if (status || t->status)
		return status ? status : t->status;
	return !code || t->enough ? TB_OK : say_failure(t, code);
}

/* Where certificates are looked for that this machine does not know by itself. */
static void
set_trust(CURL *easy, const struct http_trust *trust)
{
	const char *file = getenv("CURL_CA_BUNDLE");

	if (!file || !*file)
		file = getenv("SSL_CERT_FILE");
	if (trust && trust->ca_file)
		file = trust->ca_file;
	if (file && *file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, trust && trust->skip ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, trust && trust->skip ? 0L : 2L);
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
	/* one answer a connection: of HTTP/2 only the price would be left, a tenth of the speed */
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, PIECE_MAX);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, PIECE_MAX);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	if (url_is_loopback(&t->url))
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	set_trust(easy, t->ask->trust);
}

bool
http_sends(const struct http_ask *ask)
{
	return ask->body || ask->send ||
	       (ask->method && strcmp(ask->method, "GET") && strcmp(ask->method, "HEAD"));
}

/* What is done, and what is sent with it. */
static void
set_method(struct transfer *t)
{
	const struct http_ask *ask = t->ask;
	CURL *easy = t->easy;

	if (ask->send) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)ask->nsend);
		curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
		curl_easy_setopt(easy, CURLOPT_READDATA, t);
		curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
		curl_easy_setopt(easy, CURLOPT_SEEKDATA, t);
	} else if (http_sends(ask)) {	/* nothing is sent as a body of 0 bytes */
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->nbody);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body ? ask->body : "");
	} else if (ask->method && !strcmp(ask->method, "HEAD")) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
		return;
	}
	if (ask->method || ask->send)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, ask->method ? ask->method : "POST");
}

static bool
is_header(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncasecmp(line, name, n) && line[n] == ':';
}

static enum tb_status
add_line(struct curl_slist **list, const char *line, struct tb_err *err)
{
	struct curl_slist *more;

	if (line && strpbrk(line, "\r\n"))	/* it would be two */
		return tb_fail(err, TB_EUSAGE, "a header with an end of line in it");
	if (!line || !(more = curl_slist_append(*list, line)))
		return tb_nomem(err);
	*list = more;
	return TB_OK;
}

static enum tb_status
add_secret(struct transfer *t, const char *scheme, const char *value, struct curl_slist **list)
{
	char *line = tb_asprintf("Authorization: %s%s", scheme, value);
	enum tb_status status = add_line(list, line, t->err);

	if (line)
		explicit_bzero(line, strlen(line));
	free(line);
	return status;
}

/* The lines of the request; what is secret where the server is the one that was asked. */
static enum tb_status
set_headers(struct transfer *t, struct curl_slist **list)
{
	const struct http_ask *ask = t->ask;
	enum tb_status status = TB_OK;
	bool typed = false, elsewhere = t->out->elsewhere;

	if (!ask->send)		/* what is short waits for no "100 Continue" */
		status = add_line(list, "Expect:", t->err);
	for (const char *const *h = ask->headers; !status && h && *h; h++) {
		typed |= is_header(*h, "Content-Type");
		if (!elsewhere || (!is_header(*h, "Authorization") && !is_header(*h, "Cookie")))
			status = add_line(list, *h, t->err);
	}
	if (!status && !typed)
		status = add_line(list, "Content-Type:", t->err);	/* it is no form */
	if (!status && ask->auth && !elsewhere)
		status = add_secret(t, "", ask->auth, list);
	else if (!status && ask->key && !elsewhere)
		status = add_secret(t, "Bearer ", ask->key, list);
	if (!status)
		curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, *list);
	return status;
}

/* Nothing of an answer before. */
static void
start_again(struct transfer *t)
{
	t->last = tb_monotonic();
	t->got = t->sent = 0;
	t->enough = t->body_next = false;
	t->out->status = 0;
	*t->out->type = *t->why = 0;
	tb_buf_clear(&t->out->body);
	tb_buf_clear(&t->out->headers);
}

enum tb_status
http_attempt(struct http *h, struct transfer *t, const char *url, const struct tb_job *job)
{
	struct curl_slist *list = NULL;
	curl_off_t wait = 0;
	enum tb_status status;

	curl_easy_reset(t->easy);
	set_manners(t);
	set_method(t);
	if (curl_easy_setopt(t->easy, CURLOPT_URL, url))
		return tb_nomem(t->err);
	start_again(t);
	status = set_headers(t, &list);
	if (!status)
		status = drive(h, t, job);
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
	if (!status)
		t->out->status = answer_status(t);
	if (!curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &wait) && wait > 0)
		t->out->retry_after = wait < 86400 ? (unsigned)wait : 86400;
	else
		t->out->retry_after = 0;
	return status;
}
