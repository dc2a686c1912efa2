/* http.h - one request and its answer, as it comes.
 *
 * Whoever is asked may lie: headers and bodies have ceilings, times have ends, certificates are
 * looked at always, a compressed answer that nobody asked for is refused.  A key is shown to
 * the server that it was given for and to nobody else: a redirect to another one goes without
 * it, and what is sent (POST) is not sent elsewhere at all.  Proxies are those of the environment, as
 * for curl, but never for this machine itself. */
#ifndef TBTUI_NET_HTTP_H
#define TBTUI_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"
#include "src/base/err.h"

struct tb_job;
struct url;

/* Keeps connections for the next request; one request at a time. */
struct http;
enum tb_status http_new(struct http **out, struct tb_err *err) TB_MUST_USE;
void http_free(struct http *h);

/* A piece of the body of an answer that went well (2xx).  *enough: no more is wanted, which
 * is no error; what fails ends it, too. */
typedef enum tb_status http_body_fn(void *arg, const char *p, size_t n, bool *enough,
				    struct tb_err *err);

struct http_ask {			/* all borrowed */
	const char *url;
	const char *const *headers;	/* "Name: value", NULL behind the last; NULL: none */
	const char *key;		/* "Authorization: Bearer KEY"; NULL: none */
	const void *body;		/* POST; NULL: GET */
	size_t nbody;
	unsigned seconds;		/* that it may take; 0: no limit */
	unsigned idle;			/* that nothing may come for; 0: HTTP_IDLE */
	size_t max;			/* bytes of the body; what is longer is TB_ELIMIT */
	http_body_fn *fn;		/* NULL: all of it is kept */
	void *arg;
};
#define HTTP_IDLE 300u

struct http_answer {
	int status;			/* 200, 404, ... */
	char type[128];			/* Content-Type, as it was sent */
	struct tb_buf body;		/* what fn did not get: of an error at most HTTP_ERROR_MAX */
};
#define HTTP_ERROR_MAX 65536u
void http_answer_free(struct http_answer *a);

/* TB_OK also for 404 and the like.  TB_ECANCEL within 50 ms once the job is cancelled; the
 * server sees the connection closed then. */
enum tb_status http_do(struct http *h, const struct http_ask *ask, struct tb_job *job,
		       struct http_answer *out, struct tb_err *err) TB_MUST_USE;
#endif
