#include "config.h"

#include "src/net/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"

/* The lines are kept without their ends, each with a NUL behind it. */
const char *
http_header_nth(const struct http_answer *a, const char *name, unsigned nth)
{
	const char *line = tb_buf_cstr(&a->headers), *end = line + a->headers.len;
	size_t len = strlen(name);

	for (; line < end; line += strlen(line) + 1)
		if (!strncasecmp(line, name, len) && line[len] == ':' && !nth--)
			return line + len + 1 + strspn(line + len + 1, " \t");
	return NULL;
}

const char *
http_header(const struct http_answer *a, const char *name)
{
	return http_header_nth(a, name, 0);
}

static enum tb_status
join(CURLU *h, const char *base, const char *more, char **out, struct tb_err *err)
{
	char *text = NULL;
	CURLUcode code = curl_url_set(h, CURLUPART_URL, base, 0);

	if (!code)
		code = curl_url_set(h, CURLUPART_URL, more, CURLU_DISALLOW_USER);
	if (!code)
		code = curl_url_get(h, CURLUPART_URL, &text, 0);
	if (code == CURLUE_OUT_OF_MEMORY)
		return tb_nomem(err);
	if (code)
		return tb_fail(err, TB_EFORMAT, "%.200s: its answer leads to %.100s, which is no"
			       " address (%s)", base, more, curl_url_strerror(code));
	if (!strncasecmp(base, "https:", 6) && strncasecmp(text, "https:", 6)) {
		curl_free(text);
		return tb_fail(err, TB_EUNSUP, "%.200s: its answer leads away from https, which is"
			       " refused", base);
	}
	*out = tb_strdup(text);
	curl_free(text);
	return *out ? TB_OK : tb_nomem(err);
}

enum tb_status
http_header_url(const struct http_answer *a, const char *name, char **out, struct tb_err *err)
{
	const char *where = http_header(a, name);
	enum tb_status status;
	CURLU *h;

	*out = NULL;
	if (!where || !*where)
		return tb_fail(err, TB_EFORMAT, "%.200s: it answers %d and not where to go on"
			       " (%s)", a->url ? a->url : "the server", a->status, name);
	h = curl_url();
	status = h ? join(h, a->url, where, out, err) : tb_nomem(err);
	curl_url_cleanup(h);
	return status;
}

enum tb_status
http_location(const struct http_answer *a, char **out, struct tb_err *err)
{
	return http_header_url(a, "Location", out, err);
}

bool
http_well(const struct http_answer *a)
{
	return a->status >= 200 && a->status < 300;
}

struct http_fate
http_fate(const struct http_answer *a, enum tb_status status)
{
	return (struct http_fate){ .again = http_again(a, status), .retry_after = a->retry_after };
}

bool
http_again(const struct http_answer *a, enum tb_status status)
{
	if (status)
		return a->broken;
	switch (a->status) {
	case 408:
	case 425:
	case 429:
		return true;
	case 501:		/* what it cannot, it cannot in a moment either */
	case 505:
		return false;
	default:
		return a->status >= 500 && a->status < 600;
	}
}

void
http_answer_free(struct http_answer *a)
{
	tb_buf_free(&a->body);
	tb_buf_free(&a->headers);
	free(a->url);
	a->url = NULL;
}
