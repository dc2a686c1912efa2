/* http.h - one request and its answer, as it comes.
 *
 * Whoever is asked may lie: headers and bodies have ceilings, times have ends, certificates are
 * looked at unless the user said otherwise, a compressed answer that nobody asked for is refused.
 * A key is shown to the server that was asked and to nobody else: a redirect to another one goes
 * without it, also when it comes back, and what is sent is not sent elsewhere at all unless the
 * ask allows it; https never becomes http.  Proxies are those of the environment, as for curl,
 * but never for this machine itself. */
#ifndef TBTUI_NET_HTTP_H
#define TBTUI_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

struct tb_job;
struct url;

/* Keeps connections for the next request; one request at a time. */
struct http;
enum tb_status http_new(struct http **out, struct tb_err *err) TB_MUST_USE;
void http_free(struct http *h);

struct http_answer {
	int status;			/* 200, 404, ... */
	char type[128];			/* Content-Type, as it was sent */
	struct tb_buf body;		/* what fn did not get: of an error at most HTTP_ERROR_MAX */
	struct tb_buf headers;		/* of the last answer, its lines: for http_header() */
	char *url;			/* where it came from in the end; owned */
	unsigned retry_after;		/* seconds that it wants to be left alone; 0: it says nothing */
	bool elsewhere;			/* a redirect led to another server */
	bool broken;			/* stays after a failure: of the way there, not of what was asked */
	bool untrusted;			/* stays, too: its certificate is of nobody who is trusted here */
	bool no_tls;			/* stays, too: it does not speak TLS, or another kind of it */
};
#define HTTP_ERROR_MAX 65536u
void http_answer_free(struct http_answer *a);	/* also twice, also of zeros */
/* The value of the last answer's header of that name, in any case; NULL: it has none.  Several
 * of one name: the first; `nth` counts on from 0. */
const char *http_header(const struct http_answer *a, const char *name);
const char *http_header_nth(const struct http_answer *a, const char *name, unsigned nth);
/* Where its Location leads to, as a whole address in fresh memory.  TB_EFORMAT: it has none;
 * TB_EUNSUP: from https to http. */
enum tb_status http_location(const struct http_answer *a, char **out, struct tb_err *err)
	TB_MUST_USE;
/* The same of another header. */
enum tb_status http_header_url(const struct http_answer *a, const char *name, char **out,
			       struct tb_err *err) TB_MUST_USE;
bool http_well(const struct http_answer *a);	/* 2xx */
/* May the same work in a moment?  Broken off, stalled, nobody there, and 408, 425, 429, 5xx;
 * `status` is what http_do() gave, whose *out is as it left it. */
bool http_again(const struct http_answer *a, enum tb_status status);
/* How something failed that took requests. */
struct http_fate {
	bool again;			/* it may work in a moment */
	unsigned retry_after;		/* seconds that the server wants; 0: it says nothing */
	bool whole;			/* of a stretch: the server knows no ranges, so only all of it, from 0
					 * on, can be had */
};
struct http_fate http_fate(const struct http_answer *a, enum tb_status status);

/* Status and headers of a 2xx are there and nothing of its body; what fails ends it. */
typedef enum tb_status http_begin_fn(void *arg, const struct http_answer *a, struct tb_err *err);
/* A piece of the body of an answer that went well (2xx).  *enough: no more is wanted, which
 * is no error; what fails ends it, too. */
typedef enum tb_status http_body_fn(void *arg, const char *p, size_t n, bool *enough,
				    struct tb_err *err);
/* Fills p with 1 to n bytes of what is sent, from offset `off` on; asked again from 0 on when
 * it has to be sent again. */
typedef enum tb_status http_send_fn(void *arg, uint64_t off, char *p, size_t n, size_t *put,
				    struct tb_err *err);

/* Whose certificates are right; holds for a redirect's servers, too. */
struct http_trust {
	const char *ca_file;		/* these as well; NULL: those of this machine alone */
	bool skip;			/* anybody's: whoever is in between can read and change it all */
};

struct http_ask {			/* all borrowed */
	const char *url;
	const char *method;		/* "HEAD", "PUT", ...; NULL: GET, or POST with something to send */
	const char *const *headers;	/* "Name: value", NULL behind the last; NULL: none */
	const char *key;		/* "Authorization: Bearer KEY"; NULL: none */
	const char *auth;		/* or all of it: "Authorization: AUTH" */
	const void *body;		/* to send; NULL: nothing, or: */
	size_t nbody;
	http_send_fn *send;		/* nsend bytes as they are asked for */
	void *send_arg;
	uint64_t nsend;
	bool send_elsewhere;		/* also to another server, if a 307 or 308 leads there */
	bool stay;			/* a redirect is the answer, followed to nowhere */
	unsigned seconds;		/* that it may take; 0: no limit */
	unsigned idle;			/* that nothing may move for; 0: HTTP_IDLE */
	uint64_t max;			/* bytes of a 2xx's body, what is longer is TB_ELIMIT; 0: HTTP_ERROR_MAX */
	http_begin_fn *begin;		/* NULL: any 2xx is fine */
	http_body_fn *fn;		/* NULL: all of it is kept */
	void *arg;			/* of both */
	const struct http_trust *trust;	/* NULL: the certificates of this machine */
};
#define HTTP_IDLE 300u

/* TB_OK also for 404 and the like.  TB_ECANCEL within 50 ms once the job is cancelled; the
 * server sees the connection closed then.  After a failure *out is empty but for what
 * http_again() reads. */
enum tb_status http_do(struct http *h, const struct http_ask *ask, struct tb_job *job,
		       struct http_answer *out, struct tb_err *err) TB_MUST_USE;
#endif
