/* go_number.c - constants of a Go template: numbers, characters and strings as Go writes
 * them. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/go.h"

#define NUMBER_MAX 100

/* Without "_", which may only stand between digits, or behind a prefix. */
static bool
without_underscores(const char *s, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] != '_') {
			out[n++] = s[i];
			continue;
		}
		if (!i || i + 1 == len || s[i + 1] == '_' || s[i - 1] == '.' || s[i + 1] == '.')
			return false;
	}
	out[n] = 0;
	return true;
}

static int
number_base(const char *digits)
{
	if (digits[0] != '0' || !digits[1])
		return 10;
	switch (digits[1] | 0x20) {
	case 'x':
		return 16;
	case 'b':
		return 2;
	default:			/* 0o17 and 017 */
		return 8;
	}
}

static bool
read_int(const char *s, int64_t *out)
{
	const char *digits = s + (*s == '-' || *s == '+');
	int base = number_base(digits);
	uint64_t n, most = (uint64_t)INT64_MAX + (*s == '-');
	char *end;

	if (base == 16 || base == 2 || (base == 8 && (digits[1] | 0x20) == 'o'))
		digits += 2;
	if (!((*digits >= '0' && *digits <= '9') || (base == 16 && strchr("abcdefABCDEF", *digits))))
		return false;
	if (!*digits)
		return false;
	errno = 0;
	n = strtoull(digits, &end, base);
	if (*end || errno || n > most)
		return false;
	*out = *s == '-' ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

struct go_value
go_number(struct jinja_ctx *c, const char *s, size_t len)
{
	char text[NUMBER_MAX + 1], *end;
	double f;
	int64_t i;

	if (!len || len > NUMBER_MAX || !without_underscores(s, len, text))
		return GO_NO_VALUE;
	if (text[strlen(text) - 1] == 'i') {
		jinja_fail(c, TB_EUNSUP, "imaginary numbers (%s) are not known", text);
		return GO_NO_VALUE;
	}
	if (read_int(text, &i))
		return go_int(i);
	if (!strpbrk(text, ".eEpP") || strpbrk(text, "nN") ||
	    (strpbrk(text, "xX") && !strpbrk(text, "pP")))
		return GO_NO_VALUE;
	f = strtod(text, &end);
	return *end || end == text || isinf(f) ? GO_NO_VALUE : go_float(f);
}

static bool
read_digits(const char *s, const char *end, size_t n, unsigned base, uint32_t *out)
{
	*out = 0;
	if ((size_t)(end - s) < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char ch = (char)(s[i] | (s[i] > '9' ? 0x20 : 0));
		unsigned digit = ch >= '0' && ch <= '9' ? (unsigned)(ch - '0')
			       : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a' + 10) : 99;

		if (digit >= base)
			return false;
		*out = *out * base + digit;
	}
	return true;
}

/* One escape behind its backslash: a character, or with *byte a byte; NULL: it is none. */
static const char *
read_escape(const char *s, const char *end, char quote, uint32_t *cp, bool *byte)
{
	static const char letters[] = "abfnrtv\\", means[] = "\a\b\f\n\r\t\v\\";
	const char *hit;

	*byte = false;
	if (s >= end || !*s)
		return NULL;
	if (*s == 'x' || (*s >= '0' && *s <= '7')) {
		*byte = true;
		if (*s == 'x')
			return read_digits(s + 1, end, 2, 16, cp) ? s + 3 : NULL;
		return read_digits(s, end, 3, 8, cp) && *cp < 256 ? s + 3 : NULL;
	}
	if (*s == 'u' || *s == 'U') {
		size_t n = *s == 'u' ? 4 : 8;

		return read_digits(s + 1, end, n, 16, cp) && *cp <= 0x10ffff &&
		       (*cp < 0xd800 || *cp > 0xdfff) ? s + 1 + n : NULL;
	}
	hit = strchr(letters, *s);
	if (!hit && *s != quote)
		return NULL;
	*cp = hit ? (uint32_t)means[hit - letters] : (uint32_t)*s;
	return s + 1;
}

/* 'x': its number. */
static struct go_value
unquote_char(const char *s, const char *end)
{
	uint32_t cp = 0;
	bool byte;

	if (s < end && *s == '\\')
		s = read_escape(s + 1, end, '\'', &cp, &byte);
	else if (s < end)
		s += tb_utf8_next(s, (size_t)(end - s), &cp);
	else
		return GO_NO_VALUE;
	return s == end ? go_int((int64_t)cp) : GO_NO_VALUE;
}

struct go_value
go_unquote(struct jinja_ctx *c, const char *s, size_t len)
{
	const char *end = s + len - 1;
	struct go_value v = GO_NO_VALUE;
	char quote = *s++, *p, put[4];
	size_t n = 0;
	uint32_t cp;
	bool byte;

	if (len < 2)
		return v;
	if (quote == '\'')
		return unquote_char(s, end);
	p = jinja_get(c, len);
	if (!p)
		return v;
	while (s < end) {
		if (quote == '`') {
			if (*s != '\r')
				p[n++] = *s;
			s++;
		} else if (*s != '\\') {
			p[n++] = *s++;
		} else if (!(s = read_escape(s + 1, end, quote, &cp, &byte))) {
			return v;
		} else if (byte) {
			p[n++] = (char)cp;
		} else {
			size_t k = tb_utf8_put(cp, put);

			memcpy(p + n, put, k);
			n += k;
		}
	}
	return go_str(p, n);
}
