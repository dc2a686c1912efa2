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

/* The six bits of a letter; -1: it is none. */
static int
letter_bits(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool
tb_base64_read(struct tb_buf *out, const char *text, size_t len)
{
	unsigned bits = 0, have = 0, ends = 0;
	size_t letters = 0;

	for (size_t i = 0; i < len; i++) {
		int six = letter_bits(text[i]);

		if (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t')
			continue;
		if (text[i] == '=' && ++ends <= 2)
			continue;
		if (six < 0 || ends)
			return false;
		bits = (bits << 6 | (unsigned)six) & 0xffff;
		have += 6;
		letters++;
		if (have >= 8) {
			have -= 8;
			tb_buf_chr(out, (char)(bits >> have));
		}
	}
	return letters % 4 != 1 && !(bits & ((1u << have) - 1)) && !tb_buf_failed(out);
}
