/* A key of OpenSSH: as a file, or (the first byte is no dash) what its base64 holds; one that is
 * taken signs. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/base64.h"
#include "src/base/buf.h"
#include "src/net/ssh_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
parse(const char *text, size_t size)
{
	struct ssh_key k;
	char *both;

	if (!ssh_key_parse(&k, text, size, "a key", NULL)) {
		if (ssh_key_sign(&k, "x", &both, NULL) || strncmp(both, "AAAAC3NzaC1lZDI1NTE5", 20))
			abort();
		free(both);
	}
	ssh_key_wipe(&k);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tb_buf text = TB_BUF(1 << 20);

	if (size && *data == '-') {
		parse((const char *)data, size);
		return 0;
	}
	tb_buf_str(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
	tb_base64(&text, data, size);
	tb_buf_str(&text, "\n-----END OPENSSH PRIVATE KEY-----\n");
	if (!tb_buf_failed(&text))
		parse(text.p, text.len);
	tb_buf_free(&text);
	return 0;
}
