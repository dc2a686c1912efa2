/* credentials.h - what a registry wants to see, from where people keep it.
 *
 *	~/.config/tbtui/keys	lines "HOST USER PASSWORD" or "HOST TOKEN"
 *	$DOCKER_CONFIG/config.json or ~/.docker/config.json, then $REGISTRY_AUTH_FILE,
 *	$XDG_RUNTIME_DIR/containers/auth.json, ~/.config/containers/auth.json:
 *				what docker, podman and skopeo login wrote: auths, credHelpers,
 *				credsStore; docker-credential-NAME is run without a shell, has 10
 *				seconds and 64 kB
 *
 * They belong to one server (scheme, host, port).  A file with secrets must be its user's alone, one
 * that says which program is run must be nobody else's to write.  Through TLS, or on this
 * machine; a line or an entry that begins with "http://HOST" lets it go otherwise. */
#ifndef TBTUI_NET_CREDENTIALS_H
#define TBTUI_NET_CREDENTIALS_H

#include <stdbool.h>

#include "src/base/err.h"

struct tb_buf;
struct tb_job;
struct url;

struct credentials {		/* all owned, NULL where there is none of it */
	char *user, *password;	/* both or none */
	char *token;		/* "Bearer TOKEN" as it is */
	char *refresh;		/* an identity token: buys tokens of who gives them */
	char *from;		/* where it was found, for sentences */
	bool plain;		/* may cross the network for all to read */
};

/* TB_OK with nothing in *out: there is none.  No message has any part of a secret.
 * Thread-safe. */
enum tb_status credentials_find(const struct url *u, struct tb_job *job, struct credentials *out,
				struct tb_err *err) TB_MUST_USE;
/* Where they would be found, in fresh memory; NULL: nowhere.  No program is asked. */
enum tb_status credentials_where(const struct url *u, char **from, struct tb_err *err) TB_MUST_USE;
bool credentials_some(const struct credentials *c);
void credentials_free(struct credentials *c);	/* wiped; fine on zeros */
/* Where they are looked for, as part of a sentence. */
void credentials_places(const struct url *u, struct tb_buf *out);
#endif
