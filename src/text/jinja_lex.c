#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/jinja.h"

struct lexer {
	struct jinja_ctx *c;
	const char *p, *end;
	struct jinja_tokens *out;
	bool line_start;		/* the data that follows begins a line */
};

static struct jinja_token *
lex_add(struct lexer *l, enum jinja_token_type type, const char *s, size_t len)
{
	struct jinja_tokens *t = l->out;

	if (!jinja_room(l->c, &t->v, t->n, &t->cap, sizeof(*t->v)))
		return NULL;
	t->v[t->n] = (struct jinja_token){ .type = type, .line = l->c->line, .s = s, .len = len };
	return &t->v[t->n++];
}

static void
advance(struct lexer *l, size_t n)
{
	for (; n && l->p < l->end; n--)
		if (*l->p++ == '\n')
			l->c->line++;
}

static bool
lex_at(const struct lexer *l, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(l->end - l->p) >= n && !memcmp(l->p, s, n);
}

static bool
blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static const char *
find_tag(const char *p, const char *end)
{
	for (; p + 1 < end; p++)
		if (*p == '{' && (p[1] == '{' || p[1] == '%' || p[1] == '#'))
			return p;
	return end;
}

/* Text up to the next tag, without the blanks that the tag's sign, or its being
 * the first thing on its line, takes away. */
static void
lex_data(struct lexer *l)
{
	const char *tag = find_tag(l->p, l->end), *stop = tag, *line = tag;
	char kind = tag < l->end ? tag[1] : 0, sign = tag + 2 < l->end ? tag[2] : 0;

	if (kind && sign == '-') {
		while (stop > l->p && blank(stop[-1]))
			stop--;
	} else if (kind && kind != '{' && sign != '+') {
		while (line > l->p && line[-1] != '\n' && blank(line[-1]))
			line--;
		if (line > l->p ? line[-1] == '\n' : l->line_start)
			stop = line;
	}
	if (stop > l->p)
		lex_add(l, T_DATA, l->p, (size_t)(stop - l->p));
	advance(l, (size_t)(tag - l->p));
}

/* Behind a tag: "-" takes all blanks, a block tag takes one newline. */
static void
close_tag(struct lexer *l, const char *close, bool trim)
{
	bool strip = *l->p == '-', keep = *l->p == '+';

	advance(l, (strip || keep) + strlen(close));
	l->line_start = false;
	if (strip) {
		while (l->p < l->end && blank(*l->p)) {
			l->line_start = *l->p == '\n';
			advance(l, 1);
		}
	} else if (trim && !keep && lex_at(l, "\n")) {
		advance(l, 1);
		l->line_start = true;
	}
}

static void
lex_comment(struct lexer *l)
{
	while (l->p < l->end && !lex_at(l, "#}") && !lex_at(l, "-#}") && !lex_at(l, "+#}"))
		advance(l, 1);
	if (l->p == l->end)
		jinja_fail(l->c, TB_EFORMAT, "a comment without an end");
	else
		close_tag(l, "#}", true);
}

/* "\xE9", "\u00e9", "\U0001F999"; returns the bytes taken, 0 if it is none. */
static size_t
lex_hex(struct lexer *l, struct tb_buf *out)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	size_t n = l->p[1] == 'x' ? 2 : l->p[1] == 'u' ? 4 : l->p[1] == 'U' ? 8 : 0;
	char utf8[4];
	uint32_t v = 0;

	for (size_t i = 0; i < n; i++) {
		const char *ch = l->p + 2 + i, *hit = ch < l->end && *ch ? strchr(hex, *ch) : NULL;

		if (!hit)
			return 0;
		v = v << 4 | (uint32_t)(hit - hex - (hit - hex > 15 ? 6 : 0));
	}
	if (!n)
		return 0;
	tb_buf_add(out, utf8, tb_utf8_put(v, utf8));
	return n + 2;
}

static void
lex_escape(struct lexer *l, struct tb_buf *out)
{
	static const char from[] = "ntr\\'\"abfv0", to[] = "\n\t\r\\'\"\a\b\f\v";
	const char *hit = l->p[1] ? strchr(from, l->p[1]) : NULL;
	size_t n = lex_hex(l, out);

	if (n) {
		advance(l, n);
		return;
	}
	if (hit)
		tb_buf_chr(out, *hit == '0' ? 0 : to[hit - from]);
	else if (l->p[1] != '\n')	/* others stand for themselves, backslash and all */
		tb_buf_add(out, l->p, 2);
	advance(l, 2);
}

static void
lex_string(struct lexer *l)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);
	char quote = *l->p;
	struct jinja_value v;

	advance(l, 1);
	while (l->p < l->end && *l->p != quote) {
		if (*l->p == '\\' && l->p + 1 < l->end) {
			lex_escape(l, &text);
		} else {
			tb_buf_chr(&text, *l->p);
			advance(l, 1);
		}
	}
	if (l->p == l->end)
		jinja_fail(l->c, TB_EFORMAT, "a string without an end");
	advance(l, 1);
	v = jinja_take(l->c, &text);
	lex_add(l, T_STR, v.str.s, v.str.len);
}

static bool
name_char(char ch, bool first)
{
	return ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	       (unsigned char)ch >= 0x80 || (!first && ch >= '0' && ch <= '9');
}

static void
lex_name(struct lexer *l)
{
	const char *start = l->p;
	struct jinja_value v;

	while (l->p < l->end && name_char(*l->p, false))
		l->p++;
	v = jinja_copy(l->c, start, (size_t)(l->p - start));
	if (jinja_ok(l->c))
		lex_add(l, T_NAME, v.str.s, v.str.len);
}

static void
lex_number(struct lexer *l)
{
	char text[64];
	size_t n = 0;
	bool real = false;
	struct jinja_token *t;

	for (; l->p < l->end && n + 1 < sizeof(text); l->p++) {
		char ch = *l->p, after = l->p + 1 < l->end ? l->p[1] : 0;
		bool point = ch == '.' && !real && after >= '0' && after <= '9';
		bool power = (ch == 'e' || ch == 'E') && n && (after == '-' || after == '+' ||
							       (after >= '0' && after <= '9'));
		bool sign = (ch == '-' || ch == '+') && n && (text[n - 1] | 32) == 'e';

		if (ch == '_')
			continue;
		if (!(ch >= '0' && ch <= '9') && !point && !power && !sign)
			break;
		real |= point || power;
		text[n++] = ch;
	}
	text[n] = 0;
	if (n + 1 == sizeof(text) || (!real && n > 18))
		jinja_fail(l->c, TB_EUNSUP, "the number %s is too long", text);
	t = lex_add(l, real ? T_FLOAT : T_INT, NULL, 0);
	if (t && real)
		t->f = strtod(text, NULL);
	else if (t)
		t->i = strtoll(text, NULL, 10);
}

static void
lex_op(struct lexer *l)
{
	static const char *const ops[] = { "==", "!=", ">=", "<=", "//", "**", "+", "-", "*", "/",
		"%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";" };

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (lex_at(l, ops[i])) {
			lex_add(l, T_OP, ops[i], strlen(ops[i]));
			l->p += strlen(ops[i]);
			return;
		}
	jinja_fail(l->c, TB_EFORMAT, "character '%c' is not expected", *l->p);
}

static void
lex_one(struct lexer *l, size_t *open)
{
	if (blank(*l->p))
		advance(l, 1);
	else if (*l->p == '\'' || *l->p == '"')
		lex_string(l);
	else if (*l->p >= '0' && *l->p <= '9')
		lex_number(l);
	else if (name_char(*l->p, true))
		lex_name(l);
	else {
		if (strchr("([{", *l->p))
			++*open;
		else if (strchr(")]}", *l->p) && *open)
			--*open;
		lex_op(l);
	}
}

static bool
at_close(const struct lexer *l, const char *close)
{
	if (lex_at(l, close))
		return true;
	return (lex_at(l, "-") || lex_at(l, "+")) && (size_t)(l->end - l->p) > 2 &&
	       !memcmp(l->p + 1, close, 2);
}

/* What is between {{ }} or {% %}. */
static void
lex_tag(struct lexer *l, bool block)
{
	const char *close = block ? "%}" : "}}";
	size_t open = 0;

	lex_add(l, block ? T_BLOCK_BEGIN : T_VAR_BEGIN, NULL, 0);
	while (l->p < l->end && jinja_ok(l->c) && (open || !at_close(l, close)))
		lex_one(l, &open);
	if (!jinja_ok(l->c))
		return;
	if (l->p == l->end) {
		jinja_fail(l->c, TB_EFORMAT, "a tag without \"%s\"", close);
		return;
	}
	lex_add(l, block ? T_BLOCK_END : T_VAR_END, NULL, 0);
	close_tag(l, close, block);
}

/* {% NAME %}, any signs and blanks: its length, 0 if it is another tag. */
static size_t
bare_tag(const char *p, const char *end, const char *name)
{
	const char *start = p;
	size_t n = strlen(name);

	if (end - p < 2 || memcmp(p, "{%", 2))
		return 0;
	p += 2;
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	while (p < end && blank(*p))
		p++;
	if ((size_t)(end - p) < n || memcmp(p, name, n))
		return 0;
	p += n;
	while (p < end && blank(*p))
		p++;
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	return end - p >= 2 && !memcmp(p, "%}", 2) ? (size_t)(p + 2 - start) : 0;
}

/* {% raw %} … {% endraw %}: the text between as it is.  true: there was one. */
static bool
lex_raw(struct lexer *l)
{
	size_t n = bare_tag(l->p, l->end, "raw"), m = 0;
	const char *stop, *start;

	if (!n)
		return false;
	advance(l, n - (l->p[n - 3] == '-' || l->p[n - 3] == '+' ? 3 : 2));
	close_tag(l, "%}", false);
	for (start = stop = l->p; stop < l->end && !m; stop += !m)
		m = bare_tag(stop, l->end, "endraw");
	if (!m) {
		jinja_fail(l->c, TB_EFORMAT, "raw without endraw");
		return true;
	}
	n = (size_t)(stop - start);
	if (stop[2] == '-')
		while (n && blank(start[n - 1]))
			n--;
	if (n)
		lex_add(l, T_DATA, start, n);
	advance(l, (size_t)(stop - l->p) + m - (stop[m - 3] == '-' || stop[m - 3] == '+' ? 3 : 2));
	close_tag(l, "%}", true);
	return true;
}

void
jinja_lex(struct jinja_ctx *c, const char *source, size_t len, struct jinja_tokens *out)
{
	struct lexer l = { .c = c, .p = source, .end = source + len, .out = out,
			   .line_start = true };

	*out = (struct jinja_tokens){ 0 };
	c->line = 1;
	if (len && source[len - 1] == '\n')
		l.end--;		/* Jinja drops one at the end */
	while (l.p < l.end && jinja_ok(c)) {
		char kind;

		lex_data(&l);
		if (l.p == l.end || !jinja_ok(c))
			break;
		kind = l.p[1];
		if (kind == '%' && lex_raw(&l))
			continue;
		advance(&l, l.p + 2 < l.end && (l.p[2] == '-' || (l.p[2] == '+' && kind != '{'))
				    ? 3 : 2);
		if (kind == '#')
			lex_comment(&l);
		else
			lex_tag(&l, kind == '%');
	}
	lex_add(&l, T_END, NULL, 0);
}
