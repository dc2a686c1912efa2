/* auth_parts.h - what auth.c (what is shown when) and auth_token.c (asking for one) share. */
#ifndef TBTUI_NET_AUTH_PARTS_H
#define TBTUI_NET_AUTH_PARTS_H

#include <pthread.h>

#include "src/net/auth.h"
#include "src/net/challenge.h"
#include "src/net/credentials.h"
#include "src/net/http.h"
#include "src/net/ssh_key.h"
#include "src/net/url.h"

/* How one comes to a token. */
enum auth_way {
	AUTH_GIVEN,		/* the user has it */
	AUTH_REFRESH,		/* the realm gives it for an identity token, */
	AUTH_PASSWORD,		/* a name and a password, */
	AUTH_SIGNED,		/* a signature of Ollama's key, */
	AUTH_NOBODY,		/* nothing */
};

/* Who gives tokens, as a challenge says, and what for. */
struct realm {
	struct url url;
	char *text, *service;	/* owned; the address as it was sent, which is what is signed */
	char *scope;		/* words, those that were wanted first */
};

struct token {
	char *text;		/* owned; letters that can stand in a header */
	double ends;		/* on tb_monotonic()'s clock */
};

struct auth {
	struct url url;
	char *host, *token_host;	/* for sentences; NULL: no other one */
	const struct http_trust *trust;
	pthread_mutex_t lock;		/* of all below */
	struct auth_grant *grants;	/* owned */
	size_t ngrants, cap;
	bool looked;			/* for these: */
	struct credentials cred;
	bool basic;			/* the registry wants a name itself */
	bool signs;			/* there is a key: */
	struct ssh_key key;
	char *key_path;
	struct http_fate fate;		/* of the realm that was asked last */
};

/* One token from the realm.  TB_EUSAGE: it gives none to who is shown that way. */
enum tb_status auth_buy(struct auth *a, struct http *h, const struct realm *r, enum auth_way way,
			struct tb_job *job, struct token *out, struct tb_err *err) TB_MUST_USE;
/* "Basic …" of the name and password, in fresh memory. */
enum tb_status auth_basic(const struct auth *a, char **out, struct tb_err *err) TB_MUST_USE;
#endif
