/* http_parts.h - what http.c (who is asked) and http_wire.c (one request) share. */
#ifndef TBTUI_NET_HTTP_PARTS_H
#define TBTUI_NET_HTTP_PARTS_H

#include <curl/curl.h>

#include "src/net/http.h"
#include "src/net/url.h"

#define HTTP_HEADERS_MAX (256u << 10)	/* of one answer, all of its attempts */

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
	size_t headers;			/* bytes, of all attempts */
	uint64_t got, sent;		/* bytes of this attempt */
	bool body_next;			/* the headers are all there: lines that come are a trailer's */
	double began, last;		/* the last byte that moved */
	bool enough;
	enum tb_status status;		/* what a callback found wrong, with its sentence in *err */
	struct tb_err *err;
};

/* Does it send what another server should not get? */
bool http_sends(const struct http_ask *ask);
/* One request to t->url and its answer, whatever that is; `url` is the same as text. */
enum tb_status http_attempt(struct http *h, struct transfer *t, const char *url,
			    const struct tb_job *job) TB_MUST_USE;
#endif
