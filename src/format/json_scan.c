#include "config.h"

#include "src/format/json_scan.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define NUMBER_MAX 63u		/* cJSON copies a number into 64 bytes and cuts longer ones */
#define EXACT_MAX 9007199254740992u	/* 2^53 */

enum state { VALUE, VALUE_OR_CLOSE, KEY, KEY_OR_CLOSE, AFTER };

struct scan {
	const char *p, *end;
	char open[JSON_DEPTH_MAX];	/* '{' or '[' */
	unsigned depth;
	size_t count;			/* numbers so far */
	struct json_numbers *numbers;
	const char *why;		/* what is wrong, NULL so far */
	bool nomem;			/* that, and not the text */
};

static bool
scan_wrong(struct scan *s, const char *why)
{
	s->why = why;
	return false;
}

static bool
scan_is_digit(const struct scan *s)
{
	return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

static bool
hex4(struct scan *s, unsigned *out)
{
	static const char digits[] = "0123456789abcdef";

	*out = 0;
	if (s->end - s->p < 4)
		return scan_wrong(s, "cut in an escape");
	for (int i = 0; i < 4; i++) {
		char c = s->p[i] >= 'A' && s->p[i] <= 'F' ? (char)(s->p[i] + 32) : s->p[i];
		const char *d = c ? strchr(digits, c) : NULL;

		if (!d)
			return scan_wrong(s, "bad \\u escape");
		*out = *out << 4 | (unsigned)(d - digits);
	}
	s->p += 4;
	return true;
}

static bool
scan_unicode(struct scan *s)
{
	unsigned hi, lo;

	if (!hex4(s, &hi))
		return false;
	if (hi == 0)
		return scan_wrong(s, "NUL character in a string");
	if (hi < 0xd800 || hi > 0xdfff)
		return true;
	if (hi > 0xdbff || s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
		return scan_wrong(s, "half a surrogate pair");
	s->p += 2;
	if (!hex4(s, &lo))
		return false;
	return (lo >= 0xdc00 && lo <= 0xdfff) || scan_wrong(s, "half a surrogate pair");
}

static bool
scan_string(struct scan *s)
{
	for (s->p++; s->p < s->end; ) {
		unsigned char c = (unsigned char)*s->p++;

		if (c == '"')
			return true;
		if (c < 0x20)
			return scan_wrong(s, "control character in a string");
		if (c != '\\')
			continue;
		if (s->p == s->end)
			break;
		c = (unsigned char)*s->p++;
		if (c == 'u' ? !scan_unicode(s) : !c || !strchr("\"\\/bfnrt", c))
			return s->why ? false : scan_wrong(s, "unknown escape");
	}
	return scan_wrong(s, "string without an end");
}

/* An integer that a double can hold may yet be the rounding of another one, so
 * exactness is decided on the digits. */
static bool
exact(const char *p, size_t n)
{
	uint64_t v = 0;

	if (*p == '-')
		p++, n--;
	if (n > 16)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	return v <= EXACT_MAX;
}

static bool
scan_digits(struct scan *s)
{
	if (!scan_is_digit(s))
		return scan_wrong(s, "bad number");
	while (scan_is_digit(s))
		s->p++;
	return true;
}

static bool
scan_number(struct scan *s)
{
	const char *start = s->p;
	struct json_numbers *l = s->numbers;

	if (*s->p == '-')
		s->p++;
	if (s->p < s->end && *s->p == '0')
		s->p++;
	else if (!scan_digits(s))
		return false;
	if (s->p < s->end && *s->p == '.' && (s->p++, !scan_digits(s)))
		return false;
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (!scan_digits(s))
			return false;
	}
	if ((size_t)(s->p - start) > NUMBER_MAX)
		return scan_wrong(s, "number of too many digits");
	if (!exact(start, (size_t)(s->p - start))) {
		s->nomem = !tb_grow(&l->odd, &l->cap, l->n + 1, sizeof(*l->odd));
		if (s->nomem)
			return scan_wrong(s, "out of memory");
		l->odd[l->n++] = s->count;
	}
	s->count++;
	return true;
}

static bool
scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return scan_wrong(s, "not a value");
	s->p += n;
	return true;
}

static bool
scan_value(struct scan *s, enum state *state)
{
	*state = AFTER;
	switch (*s->p) {
	case '{':
	case '[':
		if (s->depth == JSON_DEPTH_MAX)
			return scan_wrong(s, "nested too deeply");
		s->open[s->depth++] = *s->p;
		*state = *s->p++ == '{' ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
		return true;
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return *s->p == '-' || scan_is_digit(s) ? scan_number(s) : scan_wrong(s, "not a value");
	}
}

static void
skip_blanks(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
		s->p++;
}

static bool
scan_key(struct scan *s, enum state *state)
{
	if (*s->p != '"')
		return scan_wrong(s, "a key was expected");
	if (!scan_string(s))
		return false;
	skip_blanks(s);
	if (s->p == s->end || *s->p != ':')
		return scan_wrong(s, "':' was expected");
	s->p++;
	*state = VALUE;
	return true;
}

/* One token, s->p at its first byte. */
static bool
scan_token(struct scan *s, enum state *state)
{
	bool object = s->depth && s->open[s->depth - 1] == '{';
	bool closes = s->depth && *s->p == (object ? '}' : ']');

	if (closes && (*state == AFTER || *state == VALUE_OR_CLOSE || *state == KEY_OR_CLOSE)) {
		s->p++;
		s->depth--;
		*state = AFTER;
		return true;
	}
	if (*state == KEY || *state == KEY_OR_CLOSE)
		return scan_key(s, state);
	if (*state != AFTER)
		return scan_value(s, state);
	if (!s->depth)
		return scan_wrong(s, "text after the end");
	if (*s->p != ',')
		return scan_wrong(s, object ? "',' or '}' was expected" : "',' or ']' was expected");
	s->p++;
	*state = object ? KEY : VALUE;
	return true;
}

enum tb_status
json_scan(const char *text, size_t len, const char *what, struct json_numbers *numbers,
	  struct tb_err *err)
{
	struct scan s = { .p = text, .end = text + len, .numbers = numbers };
	enum state state = VALUE;

	if (!tb_utf8_valid(text, len))
		return tb_fail(err, TB_EFORMAT, "%s: not UTF-8", what);
	for (skip_blanks(&s); s.p < s.end; skip_blanks(&s))
		if (!scan_token(&s, &state))
			break;
	if (!s.why && (state != AFTER || s.depth))
		s.why = "the text ends too early";
	if (s.nomem)
		return tb_nomem(err);
	if (s.why)
		return tb_fail(err, TB_EFORMAT, "%s: not JSON at byte %zu: %s", what,
			       (size_t)(s.p - text), s.why);
	return TB_OK;
}
