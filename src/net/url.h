/* url.h - where a server is: http(s)://host[:port]/path?query#fragment. */
#ifndef TBTUI_NET_URL_H
#define TBTUI_NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct url {			/* all owned; what is missing is "" */
	char *scheme;		/* "http" or "https" */
	char *host;		/* in small letters; IPv6 in brackets */
	unsigned port;
	char *path;		/* without a slash at its end */
	char *query;		/* without its "?" */
	char *fragment;		/* without its "#", as it was written */
};

/* Does it begin as one? */
bool url_is(const char *text);
/* Names and passwords in it are refused: they would end up in histories and messages.
 * *u is empty after a failure. */
enum tb_status url_parse(struct url *u, const char *text, struct tb_err *err) TB_MUST_USE;
void url_free(struct url *u);	/* also fine on zeros */

/* What asks for `more` ("/models") below its path; NULL: no memory. */
char *url_below(const struct url *u, const char *more);
/* Scheme, host and port: who is asked. */
bool url_same_origin(const struct url *a, const struct url *b);
/* Does it stay on this machine? */
bool url_is_loopback(const struct url *u);
/* "host", or "host:port" where that is not the usual one; in fresh memory. */
char *url_host(const struct url *u);
#endif
