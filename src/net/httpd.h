/* httpd.h - an HTTP server: requests come whole, answers go at once or piece by piece.
 *
 * What HTTP is, is libmicrohttpd's affair.  A thread of the server calls one function for each
 * request, which must not wait; the answer may come later and from any thread. */
#ifndef TBTUI_NET_HTTPD_H
#define TBTUI_NET_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct httpd;
struct httpd_request;
struct tb_buf;

typedef void httpd_fn(void *arg, struct httpd_request *r);
struct httpd_opts {
	const char *address;	/* in numbers; NULL: this machine alone, 127.0.0.1 */
	uint16_t port;		/* 0: one that is free */
	size_t body_max;	/* bytes; a longer one is refused */
	unsigned connections;	/* at a time; others wait */
	unsigned idle;		/* seconds until one that neither sends nor takes is closed */
	httpd_fn *fn;
	void *arg;
};
enum tb_status httpd_start(struct httpd **out, const struct httpd_opts *opts, struct tb_err *err)
	TB_MUST_USE;
uint16_t httpd_port(const struct httpd *h);
/* No new connections; those that are there are served. */
void httpd_close_door(struct httpd *h);
/* Every request that fn was called for must be answered by then; answers that are still on their
 * way have a moment to arrive. */
void httpd_stop(struct httpd *h);

/* In httpd_fn alone.  NULL: no such header. */
const char *httpd_header(struct httpd_request *r, const char *name);
/* As long as the request is. */
const char *httpd_method(const struct httpd_request *r);
const char *httpd_path(const struct httpd_request *r);	/* without what follows a '?' */
const struct tb_buf *httpd_body(const struct httpd_request *r);

/* A request lives until it was answered and every httpd_hold() has its httpd_drop(). */
void httpd_hold(struct httpd_request *r);
void httpd_drop(struct httpd_request *r);
/* fn(arg) as soon as the client has gone away before all of the answer was there, once, on some
 * thread; it may not call the server.  fn NULL: not any more; when this returns fn does not run. */
typedef void httpd_gone_fn(void *arg);
void httpd_when_gone(struct httpd_request *r, httpd_gone_fn *fn, void *arg);

/* The whole answer, which empties `body`.  more: "Name: value" of a further header, or NULL. */
void httpd_answer(struct httpd_request *r, unsigned status, const char *type, struct tb_buf *body,
		  const char *more);
/* Or, with status 200, its beginning; pieces; and its end.  false: nobody takes them, or not
 * fast enough (HTTPD_WAITING_MAX bytes wait). */
#define HTTPD_WAITING_MAX (4u << 20)
void httpd_begin(struct httpd_request *r, const char *type);
bool httpd_write(struct httpd_request *r, const char *p, size_t n);
void httpd_end(struct httpd_request *r);
#endif
