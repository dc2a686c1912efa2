/* key.h - what a server wants to see before it answers: its API key.
 *
 * A key belongs to one server (scheme, host, port) and is shown to no other:
 *	$TBTUI_API_KEY		"HOST[:PORT] KEY"; or a key alone: of the server that asks
 *				first in this run, and of no other
 *	$OPENAI_API_KEY		of https://api.openai.com alone
 *	~/.config/tbtui/keys	lines "HOST[:PORT] KEY"; the file must be its user's alone
 * A key goes through TLS or stays on this machine; a line of the file that begins with
 * "http://HOST" lets it go otherwise. */
#ifndef TBTUI_NET_KEY_H
#define TBTUI_NET_KEY_H

#include "src/base/err.h"

struct tb_buf;
struct url;

/* *out NULL: there is none.  No message has any part of a key.  Thread-safe. */
enum tb_status api_key_find(const struct url *u, char **out, struct tb_err *err) TB_MUST_USE;
/* TB_EUSAGE: others may read the file, or it is not its user's. */
enum tb_status api_key_private(const char *path, struct tb_err *err) TB_MUST_USE;
void api_key_free(char *key);		/* wiped; NULL is fine */
/* "$TBTUI_API_KEY, or a line \"HOST KEY\" in FILE": where one is looked for. */
void api_key_places(const struct url *u, struct tb_buf *out);
#endif
