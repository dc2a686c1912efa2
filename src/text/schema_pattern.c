/* schema_pattern.c - regular expressions as JSON strings have them.
 *
 * Of ECMA's: alternatives, groups, classes, repetitions, anchors at both ends.  What looks
 * around, back, or at words' ends is refused.  Classes that programs read differently beyond
 * ASCII (\d and its kin, and what excludes them) are those of ASCII. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/schema.h"

#define RANGES 256
#define NEST_MAX 60
#define REPEAT_MOST 65536	/* what GBNF takes */

struct set {
	struct { uint32_t lo, hi; } v[RANGES];
	size_t n;
	bool ascii;		/* nothing beyond */
};

struct pattern {
	struct schema *s;
	const char *key, *p, *begin;
	unsigned nest;
	struct tb_buf *x;
};

static enum tb_status
refuse_pattern(const struct pattern *p, const char *what)
{
	return schema_refuse(p->s, p->key, "%s at place %zu is not supported", what,
			     (size_t)(p->p - p->begin) + 1);
}

static bool
add(struct set *s, uint32_t lo, uint32_t hi)
{
	if (s->n == RANGES)
		return false;
	s->v[s->n].lo = lo;
	s->v[s->n++].hi = hi;
	return true;
}

static bool
holds(const struct set *s, uint32_t c)
{
	for (size_t i = 0; i < s->n; i++)
		if (c >= s->v[i].lo && c <= s->v[i].hi)
			return true;
	return false;
}

/* The set, or all that is not in it, as characters of a JSON string. */
static void
put_set(struct tb_buf *x, const struct set *s, bool not)
{
	static const struct { uint32_t c; const char *json; } escapes[] = {
		{ '"', "\\x5c\\x22" }, { '\\', "\\x5c\\x5c" }, { '\n', "\\x5cn" }, { '\t', "\\x5ct" },
		{ '\r', "\\x5cr" }, { '\b', "\\x5cb" }, { '\f', "\\x5cf" },
	};
	struct tb_buf class = TB_BUF(65536);
	const char *or = "";

	/* runs of ASCII, then the ranges beyond it */
	for (uint32_t c = 0x20, end; c < 0x80; c = end + 1) {
		for (end = c; end < 0x7f && holds(s, c) != not && holds(s, end + 1) != not &&
			      end + 1 != '"' && end + 1 != '\\' && c != '"' && c != '\\'; end++)
			;
		if (holds(s, c) != not && c != '"' && c != '\\')
			tb_buf_printf(&class, "\\x%02x-\\x%02x", c, end);
	}
	if (!not && !s->ascii)
		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].hi >= 0x80)
				tb_buf_printf(&class, "\\U%08x-\\U%08x", s->v[i].lo < 0x80 ? 0x80
					      : s->v[i].lo >= 0xd800 && s->v[i].lo <= 0xdfff ? 0xe000
					      : s->v[i].lo, s->v[i].hi >= 0xd800 && s->v[i].hi <= 0xdfff
					      ? 0xd7ff : s->v[i].hi);
	tb_buf_chr(x, '(');
	if (not && !s->ascii) {		/* what is in ASCII was said above; here, what is beyond */
		tb_buf_str(x, "[^\\x00-\\x7f");
		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].hi >= 0x80 && !(s->v[i].lo >= 0xd800 && s->v[i].hi <= 0xdfff))
				tb_buf_printf(x, "\\U%08x-\\U%08x", s->v[i].lo < 0x80 ? 0x80 : s->v[i].lo,
					      s->v[i].hi);
		tb_buf_str(x, "]");
		or = " | ";
	}
	if (class.len) {
		tb_buf_printf(x, "%s[%s]", or, tb_buf_cstr(&class));
		or = " | ";
	}
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
		if (holds(s, escapes[i].c) != not) {
			tb_buf_printf(x, "%s\"%s\"", or, escapes[i].json);
			or = " | ";
		}
	tb_buf_str(x, *or ? ")" : "[])");
	x->failed |= tb_buf_failed(&class);
	tb_buf_free(&class);
}

/* \d \w \s and what they are not. */
static bool
add_kind(struct set *s, char kind)
{
	struct set in = { .n = 0 };
	bool not = kind < 'a';

	switch (kind | 0x20) {
	case 'd':
		add(&in, '0', '9');
		break;
	case 'w':
		add(&in, '0', '9');
		add(&in, 'A', 'Z');
		add(&in, '_', '_');
		add(&in, 'a', 'z');
		break;
	case 's':
		add(&in, '\t', '\r');
		add(&in, ' ', ' ');
		break;
	default:
		return false;
	}
	s->ascii = true;
	for (uint32_t c = 0; c < 0x80; c++)
		if (holds(&in, c) != not && !add(s, c, c))
			return false;
	return true;
}

static enum tb_status
read_hex(struct pattern *p, unsigned digits, uint32_t *c)
{
	*c = 0;
	for (unsigned i = 0; i < digits; i++, p->p++) {
		static const char hex[] = "0123456789abcdef0123456789ABCDEF";
		const char *at = *p->p ? strchr(hex, *p->p) : NULL;

		if (!at)
			return refuse_pattern(p, "this escape");
		*c = *c << 4 | (uint32_t)((at - hex) & 15);
	}
	return *c >= 0xd800 && *c <= 0xdfff ? refuse_pattern(p, "half of a pair") : TB_OK;
}

/* Behind a backslash: a character into *c, or a kind into the set (*c = UINT32_MAX). */
static enum tb_status
read_escape(struct pattern *p, struct set *s, uint32_t *c)
{
	static const char names[] = "tnrfv0", chars[] = "\t\n\r\f\v";
	char e = *p->p;
	const char *at = e ? strchr(names, e) : NULL;

	*c = UINT32_MAX;
	if (e && strchr("dDwWsS", e)) {
		p->p++;
		return add_kind(s, e) ? TB_OK : refuse_pattern(p, "so large a class");
	}
	if (at && !(e == '0' && p->p[1] >= '0' && p->p[1] <= '9')) {
		p->p++;
		*c = (uint8_t)chars[at - names];
		return TB_OK;
	}
	if (e == 'x' || e == 'u') {
		p->p++;
		return read_hex(p, e == 'x' ? 2 : 4, c);
	}
	if (!e || (e >= '0' && e <= '9') || (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z'))
		return refuse_pattern(p, "this escape");
	p->p += tb_utf8_next(p->p, strlen(p->p), c);
	return TB_OK;
}

static enum tb_status
read_class(struct pattern *p)
{
	struct set s = { .n = 0 };
	bool not = *p->p == '^';
	enum tb_status status = TB_OK;

	p->p += not;
	while (*p->p != ']' && !status) {
		uint32_t lo, hi;

		if (!*p->p)
			return refuse_pattern(p, "a class without its ]");
		if (*p->p == '\\') {
			p->p++;
			if ((status = read_escape(p, &s, &lo)) || lo == UINT32_MAX)
				continue;
		} else {
			p->p += tb_utf8_next(p->p, strlen(p->p), &lo);
		}
		hi = lo;
		if (p->p[0] == '-' && p->p[1] && p->p[1] != ']') {
			p->p++;
			if (*p->p == '\\') {
				p->p++;
				if ((status = read_escape(p, &s, &hi)))
					continue;
			} else {
				p->p += tb_utf8_next(p->p, strlen(p->p), &hi);
			}
		}
		if (hi == UINT32_MAX || hi < lo || !add(&s, lo, hi))
			return refuse_pattern(p, "this class");
	}
	p->p++;
	if (!status)
		put_set(p->x, &s, not);
	return status;
}

static enum tb_status read_choices(struct pattern *p);

static enum tb_status
read_group(struct pattern *p)
{
	enum tb_status status;

	if (p->p[0] == '?' && p->p[1] == ':') {
		p->p += 2;
	} else if (p->p[0] == '?' && (p->p[1] == '<' || p->p[1] == 'P') && p->p[2] != '=' &&
		   p->p[2] != '!' && strchr(p->p, '>')) {
		p->p = strchr(p->p, '>') + 1;
	} else if (*p->p == '?') {
		return refuse_pattern(p, "looking around");
	}
	if (++p->nest > NEST_MAX)
		return refuse_pattern(p, "so deep a group");
	tb_buf_chr(p->x, '(');
	if ((status = read_choices(p)))
		return status;
	p->nest--;
	tb_buf_chr(p->x, ')');
	return *p->p++ == ')' ? TB_OK : refuse_pattern(p, "a group without its )");
}

/* One thing, without what says how often. */
static enum tb_status
read_one(struct pattern *p)
{
	struct set s = { .n = 0 };
	uint32_t c;
	enum tb_status status;

	switch (*p->p) {
	case '(':
		p->p++;
		return read_group(p);
	case '[':
		p->p++;
		return read_class(p);
	case '.':
		p->p++;
		add(&s, '\n', '\n');
		add(&s, '\r', '\r');
		add(&s, 0x2028, 0x2029);
		put_set(p->x, &s, true);
		return TB_OK;
	case '^':
	case '$':
		return refuse_pattern(p, "an anchor within the pattern");
	case '*':
	case '+':
	case '?':
	case '{':
		return refuse_pattern(p, "a repetition of nothing");
	case '\\':
		p->p++;
		if ((status = read_escape(p, &s, &c)))
			return status;
		break;
	default:
		p->p += tb_utf8_next(p->p, strlen(p->p), &c);
	}
	if (c != UINT32_MAX)
		add(&s, c, c);
	put_set(p->x, &s, false);
	return TB_OK;
}

/* Digits; false: none, or too many. */
static bool
pattern_number(struct pattern *p, unsigned long *n)
{
	char *end;

	if (*p->p < '0' || *p->p > '9')
		return false;
	*n = strtoul(p->p, &end, 10);
	p->p = end;
	return *n <= REPEAT_MOST;
}

static enum tb_status
read_often(struct pattern *p)
{
	unsigned long min, max;

	if (*p->p == '*' || *p->p == '+' || *p->p == '?') {
		tb_buf_chr(p->x, *p->p++);
	} else if (*p->p == '{') {
		p->p++;
		if (!pattern_number(p, &min))
			return refuse_pattern(p, "this repetition");
		max = *p->p == ',' ? ULONG_MAX : min;
		p->p += *p->p == ',';
		if ((*p->p != '}' && !pattern_number(p, &max)) || *p->p != '}' || max < min)
			return refuse_pattern(p, "this repetition");
		p->p++;
		if (max == ULONG_MAX)
			tb_buf_printf(p->x, "{%lu,}", min);
		else
			tb_buf_printf(p->x, "{%lu,%lu}", min, max);
	} else {
		return TB_OK;
	}
	if (*p->p == '?')	/* fewer first: the same texts */
		p->p++;
	if (*p->p == '+' || *p->p == '*' || *p->p == '{')
		return refuse_pattern(p, "a repetition of a repetition");
	return TB_OK;
}

/* Alternatives, up to a ) or the end.  Those of the whole pattern may be open at both ends. */
static enum tb_status
read_choices(struct pattern *p)
{
	bool whole = !p->nest, begins, ends = false;
	enum tb_status status = TB_OK;

	for (;;) {
		begins = whole && *p->p == '^';
		p->p += begins;
		if (whole && !begins)
			tb_buf_str(p->x, "char* ");
		tb_buf_str(p->x, "\"\" ");
		while (!status && *p->p && *p->p != '|' && *p->p != ')') {
			ends = whole && *p->p == '$' && (!p->p[1] || p->p[1] == '|');
			if (ends) {
				p->p++;
				break;
			}
			if (!(status = read_one(p)))
				status = read_often(p);
			tb_buf_chr(p->x, ' ');
		}
		if (status)
			return status;
		if (whole && !ends)
			tb_buf_str(p->x, "char* ");
		ends = false;
		if (*p->p != '|')
			break;
		p->p++;
		tb_buf_str(p->x, "| ");
	}
	return whole && *p->p ? refuse_pattern(p, "a ) without its (") : TB_OK;
}

enum tb_status
schema_put_pattern(struct schema *s, const char *key, const char *pattern, struct tb_buf *x)
{
	struct pattern p = { .s = s, .key = key, .p = pattern, .begin = pattern, .x = x };

	return read_choices(&p);
}
