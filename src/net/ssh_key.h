/* ssh_key.h - the key that Ollama shows to registries: an ed25519 key as ssh-keygen writes it. */
#ifndef TBTUI_NET_SSH_KEY_H
#define TBTUI_NET_SSH_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/ed25519.h"
#include "src/base/err.h"

struct ssh_key {
	uint8_t secret[TB_ED25519_KEY], open[TB_ED25519_KEY];
};

/* `what` names the text in errors.  TB_EUNSUP: one with a passphrase, or of another kind. */
enum tb_status ssh_key_parse(struct ssh_key *k, const char *text, size_t len, const char *what,
			     struct tb_err *err) TB_MUST_USE;
/* The file must be its user's alone. */
enum tb_status ssh_key_read(struct ssh_key *k, const char *path, struct tb_err *err) TB_MUST_USE;
/* "PUBLIC:SIGNATURE", both in base64: the second word of the .pub file, and of `data`.  In fresh
 * memory. */
enum tb_status ssh_key_sign(const struct ssh_key *k, const char *data, char **out,
			    struct tb_err *err) TB_MUST_USE;
/* Ollama's own, ~/.ollama/id_ed25519, in fresh memory; "": HOME is not set. */
char *ssh_key_ollama(void);
void ssh_key_wipe(struct ssh_key *k);
#endif
