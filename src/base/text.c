/* text.c - cleaning, clipping, padding, comparing strings. */
#include "config.h"

#include "src/base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"

#define MARKS_MAX 4		/* combining characters on top of one another */

/* What is shown for a character that must not reach a terminal: a blank for line
 * ends and tabs, U+FFFD for other controls, for marks that reorder or hide text, for
 * line and paragraph separators, and for what the terminal may not know. */
static uint32_t
shown(uint32_t cp)
{
	if (cp >= 0x20 && cp < 0x7f)
		return cp;
	if (cp == '\n' || cp == '\t' || cp == '\r')
		return ' ';
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || !tb_printable_cp(cp))
		return 0xfffd;
	if ((cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
	    (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff || cp == 0x061c ||
	    (cp >= 0xfff9 && cp <= 0xfffb) || (cp >= 0xe0000 && cp <= 0xe007f))
		return 0xfffd;
	return cp;
}

/* A string as it is shown, one character at a time. */
struct walk {
	const char *s;
	size_t left;
	unsigned marks;		/* combining characters since the last base */
	bool any;
	uint32_t cp;		/* of the current character */
	size_t cols;
};

/* A mark at the start has nothing to stand on but what the caller wrote before, and
 * a pile of them runs over the lines above: the one is replaced, the others end. */
static bool
walk_next(struct walk *w)
{
	while (w->left) {
		size_t len = tb_utf8_next(w->s, w->left, &w->cp);

		w->s += len;
		w->left -= len;
		w->cp = shown(w->cp);
		w->cols = (size_t)tb_width_cp(w->cp);
		if (!w->cols && !w->any) {
			w->cp = 0xfffd;
			w->cols = 1;
		}
		w->any = true;
		w->marks = w->cols ? 0 : w->marks + 1;
		if (w->marks <= MARKS_MAX)
			return true;
	}
	return false;
}

size_t
tb_width(const char *s)
{
	struct walk w = { .s = s, .left = strlen(s) };
	size_t cols = 0;

	while (walk_next(&w))
		cols += w.cols;
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
	struct walk w = { .s = s, .left = strlen(s) };
	bool cut = cols != SIZE_MAX && tb_width(s) > cols;
	size_t used = 0, limit = cut && cols ? cols - 1 : cols;

	while (walk_next(&w) && w.cols <= limit - used) {
		char utf8[4];

		tb_buf_add(out, utf8, tb_utf8_put(w.cp, utf8));
		used += w.cols;
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

	if (cols != SIZE_MAX && w < cols)
		pad_cols(out, cols - w);
	tb_text_clip(out, s, cols, w > cols);
}

void
tb_text_middle(struct tb_buf *out, const char *s, size_t cols, bool pad)
{
	size_t start = out->len, w = tb_width(s), half = cols - cols / 2;
	struct walk tail = { .s = s, .left = strlen(s) };

	if (cols < 8 || cols == SIZE_MAX || w <= cols) {
		tb_text_clip(out, s, cols, pad);
		return;
	}
	/* tb_text_clip() puts the mark where it cuts: after the head. */
	tb_text_clip(out, s, cols / 2, false);
	while (w > half && walk_next(&tail))
		w -= tail.cols;
	tb_text_clip(out, tail.s, half, false);
	if (pad && !tb_buf_failed(out))		/* wide characters may leave a column */
		pad_cols(out, cols - tb_width(out->p + start));
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

		/* U+200C and U+200D join letters and emoji in honest text. */
		if (cp != '\n' && cp != '\t' && cp != 0x200c && cp != 0x200d)
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

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t
digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

int
tb_natural_cmp(const char *a, const char *b)
{
	const char *all_a = a, *all_b = b;

	while (*a && *b) {
		if (is_digit(*a) && is_digit(*b)) {
			size_t la, lb;
			int d;

			a += zeros(a);
			b += zeros(b);
			la = digits(a);
			lb = digits(b);
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
	return *a ? 1 : *b ? -1 : strcmp(all_a, all_b);	/* "a1" and "a01" have an order too */
}

/* A number is a digit, so that it stands where digits do, how long it is, and itself. */
size_t
tb_natural_key(const char *s, char *out)
{
	char *p = out;

	while (*s) {
		size_t n;

		if (!is_digit(*s)) {
			*p++ = *s++;
			continue;
		}
		s += zeros(s);
		n = digits(s);
		*p++ = '0';
		*p++ = (char)(n < 200 ? n + 1 : 255);
		for (int shift = 63; n >= 200 && shift >= 0; shift -= 7)
			*p++ = (char)(0x80 | (n >> shift & 0x7f));
		memcpy(p, s, n);
		p += n;
		s += n;
	}
	*p = 0;
	return (size_t)(p - out);
}

static uint32_t
take_cp(const char **s)
{
	uint32_t cp;

	*s += tb_utf8_next(*s, strnlen(*s, 4), &cp);
	return cp;
}

/* The [set] that starts behind p, against c; *end is what follows it, NULL if it
 * never closes. */
static bool
set_has(const char *p, uint32_t c, const char **end)
{
	bool negate = *p == '!' || *p == '^', hit = false;
	const char *first = p + negate;

	for (p = first; *p && (*p != ']' || p == first); ) {
		uint32_t lo = take_cp(&p), hi = lo;

		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			hi = take_cp(&p);
		}
		hit |= c >= lo && c <= hi;
	}
	*end = *p ? p + 1 : NULL;
	return hit != negate;
}

/* Does the first element of the pattern (not a star) take the first character of
 * s?  Then both move on. */
static bool
take_one(const char **pattern, const char **s)
{
	const char *p = *pattern, *t = *s, *end;
	uint32_t want, c;

	if (!((*p | *t) & 0x80) && *p != '[') {		/* nearly always */
		++*pattern;
		++*s;
		return *p == '?' || *p == *t;
	}
	want = take_cp(&p);
	c = take_cp(&t);
	if (want == '[') {
		bool hit = set_has(p, c, &end);

		if (end ? !hit : c != '[')	/* one that never closes is a plain "[" */
			return false;
		p = end ? end : p;
	} else if (want != '?' && (p - *pattern != t - *s ||
				   memcmp(*pattern, *s, (size_t)(t - *s)))) {
		return false;
	}
	*pattern = p;
	*s = t;
	return true;
}

/* Remembers only the last "*": going back further never finds more. */
bool
tb_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern && take_one(&pattern, &s)) {
			continue;
		} else if (star) {
			pattern = star;
			(void)take_cp(&from);
			s = from;
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
	char low = (char)tolower((unsigned char)*needle), up = (char)toupper((unsigned char)low);

	if (!n)
		return true;
	for (; *haystack; haystack++)	/* comparing at each byte takes ten times as long */
		if ((*haystack == low || *haystack == up) && !strncasecmp(haystack, needle, n))
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
tb_parse_bytes(const char *s, uint64_t *out)
{
	static const char letters[] = "KMGTP";
	size_t digits = strspn(s, "0123456789.");
	const char *unit = s + digits + strspn(s + digits, " "), *letter;
	char number[40], *end;
	double x;

	if (tb_parse_u64(s, out))
		return *out > 0;
	if (!digits || digits >= sizeof(number))
		return false;
	memcpy(number, s, digits);
	number[digits] = 0;
	x = strtod(number, &end);
	letter = *unit ? strchr(letters, *unit & ~0x20) : NULL;
	if (letter) {
		bool binary = (unit[1] | 0x20) == 'i';

		x *= pow(binary ? 1024 : 1000, (double)(letter - letters + 1));
		unit += binary ? 2 : 1;
		if (binary && (*unit | 0x20) != 'b')
			return false;
	}
	unit += (*unit | 0x20) == 'b';
	if (*end || *unit || !(x >= 1 && x < 0x1p63))
		return false;
	*out = (uint64_t)x;
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
