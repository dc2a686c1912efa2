/* auth.h - who asks a registry, shown as it wants to see it.
 *
 * A registry answers 401 and says what it wants (WWW-Authenticate): a name and a password
 * (Basic), or a token (Bearer) that another address, the realm, gives for one scope
 * ("repository:NAME:pull") to who shows a name and a password, an identity token, a signature
 * of Ollama's key, or nothing.
 *
 * The realm is chosen by the registry, so it is believed little: from https it is never http;
 * names, passwords and identity tokens go to a realm on another host only where that is
 * known to belong together (Docker's and GitLab's own) or the user said so
 * ("registry HOST auth OTHER"); the signature, which names the address it is for, to none.
 * Otherwise a realm elsewhere is asked as nobody.
 *
 * With a key ~/.ollama/id_ed25519, Ollama's registry is shown the signature at once, others
 * when they give nothing to nobody. */
#ifndef TBTUI_NET_AUTH_H
#define TBTUI_NET_AUTH_H

#include <stdbool.h>

#include "src/base/err.h"

struct http;
struct http_answer;
struct http_fate;
struct http_trust;
struct tb_job;

struct auth_opts {			/* all borrowed, as long as the auth is */
	const char *token_host;		/* "HOST[:PORT]" that may have the password, too; or NULL */
	const struct http_trust *trust;	/* of both; NULL: this machine's */
};

/* Of one registry.  Thread-safe; each thread brings its struct http.  opts NULL: none. */
struct auth;
enum tb_status auth_new(struct auth **out, const char *registry_url, const struct auth_opts *opts,
			struct tb_err *err) TB_MUST_USE;
void auth_free(struct auth *a);		/* wiped; NULL is fine */

/* What is known to be right for the scope (words, a blank between them), for http_ask's auth;
 * what is about to end is renewed.  *value NULL: nothing is known yet, ask without.  The
 * caller frees it with auth_value_free().  fate: of what failed,
 * whether the realm was busy or broke off; it may be NULL. */
enum tb_status auth_value(struct auth *a, struct http *h, const char *scope, struct tb_job *job,
			  char **value, struct http_fate *fate, struct tb_err *err) TB_MUST_USE;
/* The registry answered 401 to `used` (NULL: nothing was shown): what to show next.  Call it
 * until the answer is another one or it fails: each call brings something else, or says
 * what is missing (TB_EUSAGE).  While one thread asks, others wait and share what it got. */
enum tb_status auth_answer(struct auth *a, struct http *h, const struct http_answer *refused,
			   const char *scope, const char *used, struct tb_job *job, char **value,
			   struct http_fate *fate, struct tb_err *err) TB_MUST_USE;
void auth_value_free(char *value);	/* wiped; NULL is fine */
#endif
