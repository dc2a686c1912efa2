/* text.c - cleaning, clipping, padding, comparing strings. */
#include "config.h"

#include "src/base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"

/* What is shown for a character that must not reach a terminal: a blank for line
 * ends and tabs, U+FFFD for other controls, for marks that reorder text, and for
 * line and paragraph separators. */
static uint32_t
shown(uint32_t cp)
{
	if (cp == '\n' || cp == '\t' || cp == '\r')
		return ' ';
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return 0xfffd;
	if ((cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
	    (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff || cp == 0x061c ||
	    (cp >= 0xfff9 && cp <= 0xfffb) || (cp >= 0xe0000 && cp <= 0xe007f))
		return 0xfffd;
	return cp;
}

size_t
tb_width(const char *s)
{
	size_t n = strlen(s), cols = 0;
	uint32_t cp;

	while (n) {
		size_t len = tb_utf8_next(s, n, &cp);

		cols += (size_t)tb_width_cp(shown(cp));
		s += len;
		n -= len;
	}
	return cols;
}

static void
pad_cols(struct tb_buf *out, size_t n)
{
	while (n--)
		tb_buf_chr(out, ' ');
}

void
tb_text_clip(struct tb_buf *out, const char *s, size_t cols, bool pad)
{
	size_t left = strlen(s), used = 0;
	size_t limit = cols == SIZE_MAX || tb_width(s) <= cols ? cols : cols ? cols - 1 : 0;
	bool cut = limit != cols;

	while (left) {
		char utf8[4];
		uint32_t cp;
		size_t len = tb_utf8_next(s, left, &cp), w;

		cp = shown(cp);
		w = (size_t)tb_width_cp(cp);
		if (limit != SIZE_MAX && w > limit - used)
			break;
		tb_buf_add(out, utf8, tb_utf8_put(cp, utf8));
		used += w;
		s += len;
		left -= len;
	}
	if (cut && cols) {
		tb_buf_str(out, "…");
		used++;
	}
	if (pad && cols != SIZE_MAX)
		pad_cols(out, cols - used);
}

void
tb_text_right(struct tb_buf *out, const char *s, size_t cols)
{
	size_t w = tb_width(s);

	if (w < cols)
		pad_cols(out, cols - w);
	tb_text_clip(out, s, cols, false);
}

const char *
tb_text_clean(const char *s, char *out, size_t outlen)
{
	size_t left = strlen(s), used = 0;

	while (left) {
		char utf8[4];
		uint32_t cp;
		size_t len = tb_utf8_next(s, left, &cp), n = tb_utf8_put(shown(cp), utf8);

		if (used + n >= outlen)
			break;
		memcpy(out + used, utf8, n);
		used += n;
		s += len;
		left -= len;
	}
	if (outlen)
		out[used] = 0;
	return out;
}

void
tb_text_clean_lines(struct tb_buf *out, const char *s, size_t len)
{
	while (len) {
		char utf8[4];
		uint32_t cp;
		size_t n = tb_utf8_next(s, len, &cp);

		if (cp != '\n' && cp != '\t')
			cp = shown(cp);
		tb_buf_add(out, utf8, tb_utf8_put(cp, utf8));
		s += n;
		len -= n;
	}
}

static size_t
zeros(const char *s)
{
	size_t n = 0;

	while (s[n] == '0')
		n++;
	return n;
}

int
tb_natural_cmp(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			size_t la, lb;
			int d;

			a += zeros(a);
			b += zeros(b);
			la = strspn(a, "0123456789");
			lb = strspn(b, "0123456789");
			if (la != lb)
				return la < lb ? -1 : 1;
			d = strncmp(a, b, la);
			if (d)
				return d;
			a += la;
			b += lb;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return *a ? 1 : *b ? -1 : 0;
}

/* One [set] at p against c; *end is what follows it, NULL if it never closes. */
static bool
set_has(const char *p, unsigned char c, const char **end)
{
	bool negate = p[1] == '!' || p[1] == '^', hit = false;

	p += 1 + negate;
	for (const char *first = p; *p && (*p != ']' || p == first); p++) {
		unsigned char lo = (unsigned char)*p, hi = lo;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			hi = (unsigned char)p[2];
			p += 2;
		}
		hit |= c >= lo && c <= hi;
	}
	*end = *p ? p + 1 : NULL;
	return hit != negate;
}

/* Remembers only the last "*": going back further never finds more. */
bool
tb_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL, *end;

	while (*s) {
		uint32_t cp;

		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == '[' && set_has(pattern, (unsigned char)*s, &end) && end) {
			pattern = end;
			s++;
		} else if (*pattern == '?') {
			pattern++;
			s += tb_utf8_next(s, strlen(s), &cp);
		} else if (*pattern == *s && *pattern != '[') {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool
tb_contains(const char *haystack, const char *needle)
{
	size_t n = strlen(needle);

	if (!n)
		return true;
	for (; *haystack; haystack++)
		if (!strncasecmp(haystack, needle, n))
			return true;
	return false;
}

bool
tb_parse_u64(const char *s, uint64_t *out)
{
	uint64_t n = 0;

	if (!*s)
		return false;
	for (; *s; s++)
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return false;
	*out = n;
	return true;
}

bool
tb_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool
tb_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}
