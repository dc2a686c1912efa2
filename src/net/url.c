#include "config.h"

#include "src/net/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define URL_MAX 8192u

bool
url_is(const char *text)
{
	return !strncasecmp(text, "http://", 7) || !strncasecmp(text, "https://", 8);
}

void
url_free(struct url *u)
{
	free(u->scheme);
	free(u->host);
	free(u->path);
	free(u->query);
	free(u->fragment);
	*u = (struct url){ 0 };
}

/* One part in memory of our own; "" where it has none. */
static char *
url_part(CURLU *h, CURLUPart part, unsigned flags)
{
	char *text = NULL, *copy;

	copy = tb_strdup(curl_url_get(h, part, &text, flags) ? "" : text);
	curl_free(text);
	return copy;
}

static unsigned
usual_port(const struct url *u)
{
	return strcmp(u->scheme, "https") ? 80 : 443;
}

static enum tb_status
take_parts(struct url *u, CURLU *h, struct tb_err *err)
{
	char *port = url_part(h, CURLUPART_PORT, 0);
	uint64_t n;
	size_t len;

	u->scheme = url_part(h, CURLUPART_SCHEME, 0);
	u->host = url_part(h, CURLUPART_HOST, 0);
	u->path = url_part(h, CURLUPART_PATH, 0);
	u->query = url_part(h, CURLUPART_QUERY, 0);
	if (!port || !u->scheme || !u->host || !u->path || !u->query) {
		free(port);
		return tb_nomem(err);
	}
	for (char *c = u->host; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	u->port = tb_parse_u64(port, &n) && n < 65536 ? (unsigned)n : usual_port(u);
	free(port);
	for (len = strlen(u->path); len && u->path[len - 1] == '/'; len--)
		u->path[len - 1] = 0;
	return TB_OK;
}

static enum tb_status
parse(struct url *u, CURLU *h, const char *text, size_t len, struct tb_err *err)
{
	char *front = tb_strndup(text, len);
	CURLUcode code;

	if (!front || !h) {
		free(front);
		return tb_nomem(err);
	}
	code = curl_url_set(h, CURLUPART_URL, front, CURLU_DISALLOW_USER);
	free(front);
	if (code == CURLUE_OUT_OF_MEMORY)
		return tb_nomem(err);
	if (code == CURLUE_USER_NOT_ALLOWED)
		return tb_fail(err, TB_EUSAGE, "an address with a name or a password before its \"@\":"
			       " keys come from the environment or a file");
	if (code)
		return tb_fail(err, TB_EUSAGE, "%.200s: no address of a server (%s); like"
			       " https://HOST/v1#MODEL", text, curl_url_strerror(code));
	return take_parts(u, h, err);
}

enum tb_status
url_parse(struct url *u, const char *text, struct tb_err *err)
{
	size_t len = strcspn(text, "#");
	enum tb_status status;
	CURLU *h;

	*u = (struct url){ 0 };
	if (!url_is(text))
		return tb_fail(err, TB_EUSAGE, "%.200s: not http:// and not https://", text);
	if (strlen(text) > URL_MAX)
		return tb_fail(err, TB_EUSAGE, "an address of more than %u bytes", URL_MAX);
	h = curl_url();
	status = parse(u, h, text, len, err);
	curl_url_cleanup(h);
	if (!status && !(u->fragment = tb_strdup(text[len] ? text + len + 1 : "")))
		status = tb_nomem(err);
	if (status)
		url_free(u);
	return status;
}

char *
url_below(const struct url *u, const char *more)
{
	return tb_asprintf("%s://%s:%u%s%s%s%s", u->scheme, u->host, u->port, u->path, more,
			   *u->query ? "?" : "", u->query);
}

bool
url_same_origin(const struct url *a, const struct url *b)
{
	return !strcmp(a->scheme, b->scheme) && !strcmp(a->host, b->host) && a->port == b->port;
}

bool
url_is_loopback(const struct url *u)
{
	struct in_addr v4;

	return !strcmp(u->host, "localhost") || !strcmp(u->host, "[::1]") ||
	       (inet_pton(AF_INET, u->host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

char *
url_host(const struct url *u)
{
	return u->port == usual_port(u) ? tb_strdup(u->host)
					: tb_asprintf("%s:%u", u->host, u->port);
}
