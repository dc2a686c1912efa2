/* registry_parts.h - what the files of registry.h share; private to them. */
#ifndef TBTUI_NET_REGISTRY_PARTS_H
#define TBTUI_NET_REGISTRY_PARTS_H

#include <stdatomic.h>

#include "src/net/auth.h"
#include "src/net/registry.h"
#include "src/net/url.h"

/* A server that has the repository. */
struct registry_at {
	struct url url;			/* owned, as are the others */
	char *base;			/* what stands in front of "/v2/" */
	char *host;			/* for sentences */
	struct auth *auth;
	atomic_bool down;		/* a mirror that cannot be reached: it is not asked again */
};

struct registry {
	struct registry_at *places;		/* mirrors, then the registry itself */
	size_t nplaces;
	char *repo, *ca_file;
	bool https;			/* as the name says itself */
	struct http_trust trust;	/* of the registry itself */
	struct http_trust mirrors;	/* of the others: what the user allowed was not for them */
};

/* registry_ask() of one of them. */
enum tb_status place_ask(struct registry *r, struct registry_at *p, struct http *h, const char *where,
			 const char *actions, const struct http_ask *ask, struct tb_job *job,
			 struct http_answer *out, struct tb_err *err) TB_MUST_USE;
/* The same, again where that may help. */
enum tb_status place_ask_patiently(struct registry *r, struct registry_at *p, struct http *h,
				   const char *where, const char *actions, const struct http_ask *ask,
				   struct tb_job *job, struct http_answer *out, struct tb_err *err)
	TB_MUST_USE;
/* registry_error() of one of them. */
enum tb_status place_error(const struct registry_at *p, const struct http_answer *a, const char *what,
			   struct tb_err *err);
#endif
