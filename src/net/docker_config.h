/* docker_config.h - what docker, podman and skopeo keep of registries: config.json, auth.json,
 * and the programs that it names. */
#ifndef TBTUI_NET_DOCKER_CONFIG_H
#define TBTUI_NET_DOCKER_CONFIG_H

#include <stddef.h>

#include "src/net/credentials.h"

struct docker_entry {
	struct credentials cred;	/* owned; `from` stays NULL */
	char *helper;			/* owned; or the program to ask: docker-credential-HELPER */
	char *server;			/* what it is asked for */
};

/* What the text says of the server; nothing in *out: nothing.  `path` names it in errors. */
enum tb_status docker_config_find(const char *text, size_t len, const char *path,
				  const struct url *u, struct docker_entry *out, struct tb_err *err)
	TB_MUST_USE;
void docker_entry_free(struct docker_entry *e);		/* wiped; fine on zeros */

/* Asks the program; nothing in *out: it has nothing. */
enum tb_status docker_helper_ask(const char *helper, const char *server, struct tb_job *job,
				 struct credentials *out, struct tb_err *err) TB_MUST_USE;
/* What it answered, `len` bytes: {"Username", "Secret"}. */
enum tb_status docker_helper_read(const char *text, size_t len, const char *helper,
				  struct credentials *out, struct tb_err *err) TB_MUST_USE;
#endif
