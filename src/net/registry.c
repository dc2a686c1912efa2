#include "config.h"

#include "src/net/registry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/patience.h"
#include "src/net/registry_parts.h"
#include "src/net/url.h"

#define DOCKER_HOST "docker.io"
#define DOCKER_SERVER "registry-1.docker.io"
#define SHOWN_MAX 6u		/* times that one request is made with something else */

static void
place_free(struct registry_at *p)
{
	auth_free(p->auth);
	url_free(&p->url);
	free(p->base);
	free(p->host);
}

void
registry_free(struct registry *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nplaces; i++)
		place_free(&r->places[i]);
	free(r->places);
	free(r->repo);
	free(r->ca_file);
	free(r);
}

const char *
registry_host(const struct registry *r)
{
	return r->places[r->nplaces - 1].host;
}

const char *
registry_repo(const struct registry *r)
{
	return r->repo;
}

/* A server by its address, whose path stays in front of "/v2/". */
static enum tb_status
place_init(struct registry_at *p, const char *address, const struct auth_opts *who,
	   struct tb_err *err)
{
	enum tb_status status = url_parse(&p->url, address, err);

	if (status)
		return status;
	if (*p->url.query || *p->url.fragment)
		return tb_fail(err, TB_EUSAGE, "%.200s: no address of a registry; like https://HOST",
			       address);
	p->host = url_host(&p->url);
	p->base = tb_asprintf("%s://%s:%u%s", p->url.scheme, p->url.host, p->url.port, p->url.path);
	return p->host && p->base ? auth_new(&p->auth, address, who, err) : tb_nomem(err);
}

/* Where a name's host is asked. */
static char *
name_address(const struct image_name *n, const struct registry_opts *o)
{
	if (o->base)
		return tb_strdup(o->base);
	if (!strcmp(n->host, DOCKER_HOST) && !o->plain)
		return tb_strdup("https://" DOCKER_SERVER);
	return tb_asprintf("%s://%s", o->plain ? "http" : *n->scheme ? n->scheme : "https",
			   n->host);
}

/* What goes without TLS can be read and changed by all in between: only where that was said, or
 * where nobody is. */
static enum tb_status
check_plain(const struct registry_at *p, const struct image_name *n,
	    const struct registry_opts *o, struct tb_err *err)
{
	if (o->plain && !strcmp(n->scheme, "https"))
		return tb_fail(err, TB_EUSAGE, "https://%s: plain HTTP (--insecure) and https:// are"
			       " not one thing; leave one out", n->host);
	if (strcmp(p->url.scheme, "http") || o->plain || o->base || url_is_loopback(&p->url))
		return TB_OK;
	return tb_fail(err, TB_EUSAGE, "http://%s: without TLS all in between can read and change"
		       " what is sent; use https://, or allow it with --insecure, or for good with"
		       " \"registry %s plain\" in the configuration", p->host, p->host);
}

static enum tb_status
fill_places(struct registry *r, const struct image_name *n, const struct registry_opts *o,
	    struct tb_err *err)
{
	const struct auth_opts who = { .token_host = o->auth_host, .trust = &r->trust };
	const struct auth_opts other = { .trust = &r->mirrors };
	char *address = name_address(n, o);
	enum tb_status status = address ? TB_OK : tb_nomem(err);

	for (size_t i = 0; !status && i + 1 < r->nplaces; i++)
		status = place_init(&r->places[i], o->mirrors[i], &other, err);
	if (!status)
		status = place_init(&r->places[r->nplaces - 1], address, &who, err);
	if (!status)
		status = check_plain(&r->places[r->nplaces - 1], n, o, err);
	free(address);
	return status;
}

enum tb_status
registry_new(struct registry **out, const struct image_name *n, const struct registry_opts *o,
	     struct tb_err *err)
{
	static const struct registry_opts none;
	struct registry *r = tb_calloc(1, sizeof(*r));
	enum tb_status status;

	*out = NULL;
	o = o ? o : &none;
	if (!r)
		return tb_nomem(err);
	r->nplaces = 1;
	while (o->mirrors && o->mirrors[r->nplaces - 1])
		r->nplaces++;
	r->places = tb_calloc(r->nplaces, sizeof(*r->places));
	if (!r->places)
		r->nplaces = 0;
	r->repo = tb_strdup(n->repo);
	r->https = !strcmp(n->scheme, "https");
	r->ca_file = o->ca_file ? tb_strdup(o->ca_file) : NULL;
	r->trust = (struct http_trust){ .ca_file = r->ca_file, .skip = o->skip_verify };
	r->mirrors = (struct http_trust){ .ca_file = r->ca_file };
	status = r->places && r->repo && !r->ca_file == !o->ca_file ? fill_places(r, n, o, err)
								      : tb_nomem(err);
	if (status)
		registry_free(r);
	else
		*out = r;
	return status;
}

/* The address of `where`; *ours: it is the server that the credentials are for. */
static char *
whole_address(const struct registry *r, const struct registry_at *p, const char *where, bool *ours)
{
	struct url u;

	*ours = true;
	if (*where == '/')
		return tb_asprintf("%s%s", p->base, where);
	if (!url_is(where))
		return tb_asprintf("%s/v2/%s/%s", p->base, r->repo, where);
	*ours = !url_parse(&u, where, NULL);
	if (*ours) {
		*ours = url_same_origin(&u, &p->url);
		url_free(&u);
	}
	return tb_strdup(where);
}

/* Asks, and shows who asks as often as it wants to see more and there is more to show. */
static enum tb_status
ask_as_known(struct registry_at *p, struct http *h, const char *scope, struct http_ask *ask,
	     struct tb_job *job, struct http_answer *out, struct tb_err *err)
{
	char *value, *next;
	struct http_fate fate;
	enum tb_status status = auth_value(p->auth, h, scope, job, &value, &fate, err);
	bool unknown = status != TB_OK;	/* who asks: the realm gave no token */

	for (unsigned n = 0; !status && n < SHOWN_MAX; n++) {
		ask->auth = value;
		status = http_do(h, ask, job, out, err);
		if (status || out->status != 401 || out->elsewhere || n + 1 == SHOWN_MAX)
			break;
		status = auth_answer(p->auth, h, out, scope, value, job, &next, &fate, err);
		unknown = status != TB_OK;
		if (unknown)
			break;
		http_answer_free(out);
		auth_value_free(value);
		value = next;
	}
	if (status)
		http_answer_free(out);
	if (unknown) {			/* for http_again() */
		out->broken = fate.again;
		out->retry_after = fate.retry_after;
	}
	auth_value_free(value);
	return status;
}

/* Behind what is wrong, what to do about it. */
static void
say_whom_to_trust(const struct registry *r, struct tb_err *err)
{
	struct tb_err what = *err;

	(void)tb_fail(err, what.code, "%.380s; if it has an authority of its own, write \"registry %s ca"
		      " /FILE\" into the configuration", what.msg, r->places[r->nplaces - 1].host);
}

/* Names of models say no scheme: who has pulled one by http:// asks by https behind that. */
static void
say_how_without_tls(const struct registry_at *p, struct tb_err *err)
{
	(void)tb_fail(err, err->code, "%s: no TLS there; if it is to be asked by plain HTTP, say --insecure,"
		      " or write \"registry %s plain\" into the configuration", p->host, p->host);
}

enum tb_status
place_ask(struct registry *r, struct registry_at *p, struct http *h, const char *where,
	  const char *actions, const struct http_ask *ask, struct tb_job *job,
	  struct http_answer *out, struct tb_err *err)
{
	struct http_ask whole = *ask;
	enum tb_status status;
	bool ours;
	char *url = whole_address(r, p, where, &ours);
	char *scope = tb_asprintf("repository:%s:%s", r->repo, actions);

	*out = (struct http_answer){ 0 };
	whole.url = url;
	whole.key = whole.auth = NULL;
	whole.trust = p == &r->places[r->nplaces - 1] ? &r->trust : &r->mirrors;
	if (!url || !scope)
		status = tb_nomem(err);
	else if (!strcmp(p->url.scheme, "https") && strncasecmp(url, "https:", 6))
		/* a Link of its, or an upload's place that was kept: as redirects are */
		status = tb_fail(err, TB_EUNSUP, "%s: it leads from https to http, which is refused",
				 p->host);
	else if (ours)
		status = ask_as_known(p, h, scope, &whole, job, out, err);
	else
		status = http_do(h, &whole, job, out, err);
	if (status && err && out->untrusted && !out->elsewhere && !r->ca_file)
		say_whom_to_trust(r, err);
	if (status && err && out->no_tls && !out->elsewhere && ours && !r->https)
		say_how_without_tls(p, err);
	free(scope);
	free(url);
	return status;
}

enum tb_status
registry_ask(struct registry *r, struct http *h, const char *where, const char *actions,
	     const struct http_ask *ask, struct tb_job *job, struct http_answer *out,
	     struct tb_err *err)
{
	return place_ask(r, &r->places[r->nplaces - 1], h, where, actions, ask, job, out, err);
}

enum tb_status
place_ask_patiently(struct registry *r, struct registry_at *p, struct http *h, const char *where,
		    const char *actions, const struct http_ask *ask, struct tb_job *job,
		    struct http_answer *out, struct tb_err *err)
{
	bool last = p == &r->places[r->nplaces - 1];	/* behind a mirror there is another to ask */
	struct patience patience = { .kind = PATIENCE_SMALL };

	for (;;) {
		enum tb_status status = place_ask(r, p, h, where, actions, ask, job, out, err), late;
		const struct http_fate fate = http_fate(out, status);
		double seconds;

		if (!last || !patience_left(&patience, &fate, &seconds))
			return status;
		http_answer_free(out);
		if ((late = patience_wait(seconds, job, err)))
			return late;
	}
}

enum tb_status
registry_ask_patiently(struct registry *r, struct http *h, const char *where, const char *actions,
		       const struct http_ask *ask, struct tb_job *job, struct http_answer *out,
		       struct tb_err *err)
{
	return place_ask_patiently(r, &r->places[r->nplaces - 1], h, where, actions, ask, job, out,
				   err);
}
