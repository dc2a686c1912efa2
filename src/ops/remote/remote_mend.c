/* remote_mend.c - JSON of servers that do not look at what their models say. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/ops/remote/remote_parts.h"

/* The number of \uXXXX at s; -1: there is none. */
static int
escape(const char *s, size_t n)
{
	int x = 0;

	if (n < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char c = s[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return -1;
		x = x * 16 + digit;
	}
	return x;
}

/* Bytes of what begins with a backslash; *bad: it says no character. */
static size_t
escaped(const char *s, size_t n, bool *bad)
{
	int x = escape(s, n), y = x < 0 ? -1 : escape(s + 6, n - 6);
	bool first = x >= 0xd800 && x < 0xdc00, second = y >= 0xdc00 && y < 0xe000;

	*bad = !x || (x >= 0xd800 && x < 0xe000 && !(first && second));
	return x < 0 ? n > 1 ? 2 : 1 : first && second ? 12 : 6;
}

void
remote_mend(struct tb_buf *out, const char *text, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		uint32_t cp;
		bool bad;

		if (text[at] == '\\') {
			n = escaped(text + at, len - at, &bad);
			if (n == 2 && (text[at + 1] & 0x80))
				n = 1;		/* no escape: what follows is looked at by itself */
		} else {
			n = tb_utf8_next(text + at, len - at, &cp);
			bad = cp == 0xfffd || !cp;
		}
		if (bad)
			tb_buf_str(out, "\xef\xbf\xbd");
		else
			tb_buf_few(out, text + at, n);
	}
}
