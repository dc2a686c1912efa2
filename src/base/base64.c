#include "config.h"

#include "src/base/base64.h"

#include <openssl/evp.h>

#include "src/base/buf.h"

#define PIECE 48	/* bytes at once, a multiple of three */

void
tb_base64(struct tb_buf *out, const void *data, size_t len)
{
	const unsigned char *from = data;
	unsigned char letters[PIECE / 3 * 4 + 1];

	for (size_t n; len; from += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		tb_buf_add(out, letters, (size_t)EVP_EncodeBlock(letters, from, (int)n));
	}
}
