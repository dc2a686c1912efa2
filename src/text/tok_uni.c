#include "config.h"

#include "src/text/tok_uni.h"

#include <string.h>
#include <utf8proc.h>

#include "src/base/buf.h"
#include "src/base/text.h"

bool
tok_is_space(uint32_t cp)
{
	return (cp >= 9 && cp <= 13) || cp == ' ' || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
	       (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
	       cp == 0x205f || cp == 0x3000;
}

static unsigned
category(uint32_t cp)
{
	return (unsigned)utf8proc_category((utf8proc_int32_t)cp);
}

#define IN(cat, mask) (((mask) >> (cat) & 1) != 0)
#define BIT(name) (1u << UTF8PROC_CATEGORY_##name)

bool
tok_is_word(uint32_t cp)
{
	const unsigned word = BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO) | BIT(MN) | BIT(MC) |
			      BIT(ME) | BIT(ND) | BIT(NL) | BIT(PC);

	return IN(category(cp), word) || cp == 0x200c || cp == 0x200d;
}

bool
tok_is_numeric(uint32_t cp)
{
	return IN(category(cp), BIT(ND) | BIT(NL) | BIT(NO));
}

bool
tok_is_punct(uint32_t cp)
{
	const unsigned punct = BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO);

	return (cp < 128 && cp && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", (int)cp)) ||
	       IN(category(cp), punct);
}

size_t
tok_utf8_last(const char *s, size_t n, uint32_t *cp)
{
	size_t back = 1;

	while (back < 4 && back < n && ((uint8_t)s[n - back] & 0xc0) == 0x80)
		back++;
	if (tb_utf8_next(s + n - back, back, cp) == back)
		return back;
	*cp = 0xfffd;
	return 1;
}

size_t
tok_utf8_run(const char *s, size_t n)
{
	size_t i = 0;
	uint32_t cp;

	while (i < n) {
		size_t len;

		if ((uint8_t)s[i] < 0x80) {
			i++;
			continue;
		}
		len = tb_utf8_next(s + i, n - i, &cp);
		if (cp == 0xfffd && len == 1)
			break;
		i += len;
	}
	return i;
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool
tok_byte_piece(const char *s, size_t len, uint8_t *byte)
{
	if (len != 6 || memcmp(s, "<0x", 3) || s[5] != '>' || hex(s[3]) < 0 || hex(s[4]) < 0)
		return false;
	*byte = (uint8_t)(hex(s[3]) << 4 | hex(s[4]));
	return true;
}

/* Bytes that are printable in Latin-1 stand for themselves; the other 68, in
 * order, are U+0100 and up: 33 controls and blank, DEL to U+00A0, soft hyphen. */
uint32_t
tok_byte_cp(uint8_t byte)
{
	if (byte <= 0x20)
		return 0x100u + byte;
	if (byte >= 0x7f && byte <= 0xa0)
		return 0x121u + byte - 0x7f;
	return byte == 0xad ? 0x143 : byte;
}

void
tok_bytes_put(struct tb_buf *out, const char *s, size_t len)
{
	char utf8[4];

	for (size_t i = 0; i < len; i++)
		tb_buf_add(out, utf8, tb_utf8_put(tok_byte_cp((uint8_t)s[i]), utf8));
}

bool
tok_cp_byte(uint32_t cp, uint8_t *byte)
{
	if (cp >= 0x100 && cp <= 0x120)
		*byte = (uint8_t)(cp - 0x100);
	else if (cp >= 0x121 && cp <= 0x142)
		*byte = (uint8_t)(cp - 0x121 + 0x7f);
	else if (cp == 0x143)
		*byte = 0xad;
	else if (cp < 0x100 && tok_byte_cp((uint8_t)cp) == cp)
		*byte = (uint8_t)cp;
	else
		return false;
	return true;
}
