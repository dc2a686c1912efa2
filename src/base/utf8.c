/* utf8.c - UTF-8 and the width of characters on a terminal, through utf8proc. */
#include "config.h"

#include <string.h>
#include <utf8proc.h>

#include "src/base/text.h"

size_t
tb_utf8_next(const char *s, size_t n, uint32_t *cp)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)s,
						n > 4 ? 4 : (utf8proc_ssize_t)n, &c);

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
	utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)cp, (utf8proc_uint8_t *)out);

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

int
tb_width_cp(uint32_t cp)
{
	if (cp >= 0x20 && cp < 0x7f)
		return 1;
	return utf8proc_charwidth((utf8proc_int32_t)cp);
}
