/* utf8.c - UTF-8 and the width of characters on a terminal, through utf8proc. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include <wchar.h>

#include "src/base/text.h"

size_t
tb_utf8_next(const char *s, size_t n, uint32_t *cp)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t len;

	if (n && !(*s & 0x80)) {
		*cp = (uint32_t)*s;
		return 1;
	}
	len = utf8proc_iterate((const utf8proc_uint8_t *)s, n > 4 ? 4 : (utf8proc_ssize_t)n, &c);

	if (len <= 0) {
		*cp = 0xfffd;
		return 1;
	}
	*cp = (uint32_t)c;
	return (size_t)len;
}

size_t
tb_utf8_put(uint32_t cp, char out[4])
{
	bool surrogate = cp >= 0xd800 && cp < 0xe000;	/* utf8proc would write them */
	utf8proc_ssize_t n = surrogate ? 0 : utf8proc_encode_char((utf8proc_int32_t)cp,
								  (utf8proc_uint8_t *)out);

	if (n > 0)
		return (size_t)n;
	memcpy(out, "\xef\xbf\xbd", 3);
	return 3;
}

bool
tb_utf8_valid(const char *s, size_t n)
{
	while (n) {
		utf8proc_int32_t c;
		utf8proc_ssize_t len;

		if (*(const unsigned char *)s < 0x80) {
			s++;
			n--;
			continue;
		}
		len = utf8proc_iterate((const utf8proc_uint8_t *)s,
				       n > 4 ? 4 : (utf8proc_ssize_t)n, &c);
		if (len <= 0)
			return false;
		s += len;
		n -= (size_t)len;
	}
	return true;
}

/* What the C library says in a UTF-8 locale, as curses asks it too; -1 elsewhere. */
static int
locale_width(uint32_t cp)
{
	return MB_CUR_MAX > 1 ? wcwidth((wchar_t)cp) : -1;
}

bool
tb_printable_cp(uint32_t cp)
{
	return utf8proc_category((utf8proc_int32_t)cp) != UTF8PROC_CATEGORY_CN &&
	       (MB_CUR_MAX == 1 || locale_width(cp) >= 0);
}

bool
tb_graphic_cp(uint32_t cp)
{
	switch (utf8proc_category((utf8proc_int32_t)cp)) {
	case UTF8PROC_CATEGORY_CN:
	case UTF8PROC_CATEGORY_CC:
	case UTF8PROC_CATEGORY_CF:
	case UTF8PROC_CATEGORY_CS:
	case UTF8PROC_CATEGORY_CO:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return false;
	case UTF8PROC_CATEGORY_ZS:
		return cp == ' ';
	default:
		return true;
	}
}

int
tb_width_cp(uint32_t cp)
{
	int width;

	if (cp >= 0x20 && cp < 0x7f)
		return 1;
	width = locale_width(cp);
	if (width >= 0)
		return width;
	width = utf8proc_charwidth((utf8proc_int32_t)cp);
	/* Vowel signs that stand beside their letter take a column. */
	if (!width && utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_MC)
		return 1;
	return width;
}
