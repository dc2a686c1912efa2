/* key.h - what a server wants to see before it answers: its API key.
 *
 * A key belongs to one server (scheme, host, port) and is shown to no other:
 *	$TBTUI_API_KEY		"HOST[:PORT] KEY"; or a key alone: of the server that asks
 *				first in this run, and of no other
 *	$OPENAI_API_KEY		of https://api.openai.com alone
 *	~/.config/tbtui/keys	lines "HOST[:PORT] KEY", or "HOST[:PORT] USER PASSWORD" of a
 *				registry; the file must be its user's alone
 * A key goes through TLS or stays on this machine; a line of the file that begins with
 * "http://HOST" lets it go otherwise. */
#ifndef TBTUI_NET_KEY_H
#define TBTUI_NET_KEY_H

#include <stdbool.h>

#include "src/base/err.h"

struct tb_buf;
struct url;

/* *out NULL: there is none.  No message has any part of a key.  Thread-safe. */
enum tb_status api_key_find(const struct url *u, char **out, struct tb_err *err) TB_MUST_USE;

struct api_login {		/* owned */
	char *user;		/* NULL: the secret stands alone */
	char *secret;		/* NULL: there is none */
	bool plain;		/* its line says that it may go where others can read it */
};
/* The file's line for the server, with or without a user. */
enum tb_status api_login_find(const struct url *u, struct api_login *out, struct tb_err *err)
	TB_MUST_USE;
void api_login_free(struct api_login *l);	/* wiped; fine on zeros */

/* TB_EUSAGE: others may read the file, or it is not its user's. */
enum tb_status api_key_private(const char *path, struct tb_err *err) TB_MUST_USE;
void api_key_free(char *key);		/* wiped; NULL is fine */
/* "$TBTUI_API_KEY, or a line \"HOST KEY\" in FILE": where one is looked for. */
void api_key_places(const struct url *u, struct tb_buf *out);
#endif
