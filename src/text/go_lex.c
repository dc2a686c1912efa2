/* go_lex.c - a Go template's source as tokens: text, and what stands between {{ and }}. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/text.h"
#include "src/text/go.h"

struct go_lexer {
	struct jinja_ctx *c;
	const char *s, *end;		/* what is left of the source */
	struct go_tokens *out;
	bool apart;
};

static bool
is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

static struct go_token *
token(struct go_lexer *l, enum go_token_type type, const char *s, size_t len)
{
	struct go_tokens *out = l->out;
	struct go_token *t;

	if (!jinja_room(l->c, &out->v, out->n, &out->cap, sizeof(*out->v)))
		return NULL;
	t = &out->v[out->n++];
	*t = (struct go_token){ .type = type, .apart = l->apart, .line = l->c->line, .s = s,
				.len = len };
	l->apart = false;
	return t;
}

static void
count_lines(struct go_lexer *l, const char *from, const char *to)
{
	while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
		l->c->line++;
		from++;
	}
}

static void
skip_blanks(struct go_lexer *l)
{
	while (l->s < l->end && is_blank(*l->s))
		l->c->line += *l->s++ == '\n';
}

static bool
starts(const struct go_lexer *l, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(l->end - l->s) >= n && !memcmp(l->s, what, n);
}

/* "}}", or blanks and "-}}"; what is skipped of it is told. */
static size_t
right_delim(const struct go_lexer *l, bool *trim)
{
	*trim = l->end - l->s >= 4 && is_blank(*l->s) && !memcmp(l->s + 1, "-}}", 3);
	return *trim ? 4 : starts(l, "}}") ? 2 : 0;
}

/* Letters, digits and "_". */
static size_t
word_char(const char *s, const char *end)
{
	utf8proc_category_t category;
	uint32_t cp;
	size_t n;

	if (s >= end)
		return 0;
	if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
	    *s == '_')
		return 1;
	if (!(*s & 0x80))
		return 0;
	n = tb_utf8_next(s, (size_t)(end - s), &cp);
	category = utf8proc_category((utf8proc_int32_t)cp);
	return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
	       category == UTF8PROC_CATEGORY_ND ? n : 0;
}

static size_t
word_len(const char *s, const char *end)
{
	const char *from = s;
	size_t n;

	while ((n = word_char(s, end)))
		s += n;
	return (size_t)(s - from);
}

/* What may stand behind a name. */
static bool
at_end_of_word(const struct go_lexer *l)
{
	return l->s >= l->end || is_blank(*l->s) || strchr(".,|:)(", *l->s) || starts(l, "}}");
}

static void
end_word(struct go_lexer *l)
{
	if (!at_end_of_word(l))
		jinja_fail(l->c, TB_EFORMAT, "\"%.8s\" cannot stand behind a name", l->s);
}

static void
lex_word(struct go_lexer *l)
{
	static const char *const words[] = { "block", "break", "continue", "define", "else", "end",
		"if", "range", "template", "with" };
	const char *s = l->s;
	size_t len = word_len(s, l->end);
	enum go_token_type type = GT_NAME;
	struct go_token *t;

	l->s += len;
	end_word(l);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], s, len))
			type = GT_WORD;
	if (len == 3 && !memcmp(s, "nil", 3))
		type = GT_NIL;
	t = token(l, type, s, len);
	if (t && ((len == 4 && !memcmp(s, "true", 4)) || (len == 5 && !memcmp(s, "false", 5)))) {
		t->type = GT_CONST;
		t->value = go_bool(len == 4);
	}
}

/* .name, $name, and "." and "$" alone. */
static void
lex_name(struct go_lexer *l)
{
	const char *s = l->s++;
	bool field = *s == '.';
	size_t len = word_len(l->s, l->end);

	if (!len && at_end_of_word(l)) {
		token(l, field ? GT_DOT : GT_VARIABLE, s, 1);
		return;
	}
	l->s += len;
	end_word(l);
	token(l, field ? GT_FIELD : GT_VARIABLE, s + field, len + !field);
}

/* Between quotes of a kind; what is escaped does not end it. */
static void
lex_quoted(struct go_lexer *l)
{
	const char *s = l->s++, quote = *s;
	struct go_token *t;

	while (l->s < l->end && *l->s != quote && (quote == '`' || *l->s != '\n'))
		l->s += *l->s == '\\' && quote != '`' && l->end - l->s > 1 && l->s[1] != '\n' ? 2 : 1;
	if (l->s >= l->end || *l->s != quote) {
		jinja_fail(l->c, TB_EFORMAT, "a text has no end: %.20s", s);
		return;
	}
	l->s++;
	t = token(l, GT_CONST, s, (size_t)(l->s - s));
	if (!t)
		return;
	t->value = go_unquote(l->c, s, t->len);
	if (t->value.type == GO_NOTHING)
		jinja_fail(l->c, TB_EFORMAT, "%.*s is no text as Go writes it",
			   (int)(t->len < 40 ? t->len : 40), s);
	count_lines(l, s, l->s);
}

static void
lex_number(struct go_lexer *l)
{
	const char *s = l->s;
	bool hex = false;
	struct go_token *t;

	l->s += *s == '+' || *s == '-';
	hex = l->end - l->s > 1 && *l->s == '0' && (l->s[1] == 'x' || l->s[1] == 'X');
	while (l->s < l->end) {
		bool power = !hex ? *l->s == 'e' || *l->s == 'E' : *l->s == 'p' || *l->s == 'P';

		if (!word_char(l->s, l->end) && *l->s != '.')
			break;
		l->s++;
		if (power && l->s < l->end && (*l->s == '+' || *l->s == '-'))
			l->s++;
	}
	t = token(l, GT_CONST, s, (size_t)(l->s - s));
	if (t)
		t->value = go_number(l->c, s, t->len);
	if (t && t->value.type == GO_NOTHING)
		jinja_fail(l->c, TB_EFORMAT, "\"%.*s\" is no number",
			   (int)(t->len < 40 ? t->len : 40), s);
}

static void
lex_sign(struct go_lexer *l)
{
	static const struct { const char *s; enum go_token_type type; } signs[] = {
		{ ":=", GT_DECLARE }, { "=", GT_ASSIGN }, { "|", GT_PIPE }, { ",", GT_COMMA },
		{ "(", GT_OPEN }, { ")", GT_CLOSE },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].s);

		if (starts(l, signs[i].s)) {
			token(l, signs[i].type, l->s, n);
			l->s += n;
			return;
		}
	}
	jinja_fail(l->c, TB_EFORMAT, "\"%.8s\" means nothing here", l->s);
}

/* Up to and with the end of an action. */
static void
lex_action(struct go_lexer *l)
{
	bool trim = false;
	size_t n;

	while (jinja_ok(l->c) && l->s < l->end) {
		if ((n = right_delim(l, &trim))) {
			token(l, GT_RIGHT, l->s, n);
			count_lines(l, l->s, l->s + n);
			l->s += n;
			if (trim)
				skip_blanks(l);
			return;
		}
		if (is_blank(*l->s)) {
			l->c->line += *l->s++ == '\n';
			l->apart = true;
		} else if (*l->s == '"' || *l->s == '`' || *l->s == '\'') {
			lex_quoted(l);
		} else if (*l->s == '$' || (*l->s == '.' && (l->end - l->s < 2 || l->s[1] < '0' ||
							     l->s[1] > '9'))) {
			lex_name(l);
		} else if (*l->s == '.' || *l->s == '+' || *l->s == '-' ||
			   (*l->s >= '0' && *l->s <= '9')) {
			lex_number(l);
		} else if (word_char(l->s, l->end)) {
			lex_word(l);
		} else {
			lex_sign(l);
		}
	}
	jinja_fail(l->c, TB_EFORMAT, "\"{{\" without its \"}}\"");
}

static void
lex_comment(struct go_lexer *l)
{
	const char *end = memmem(l->s + 2, (size_t)(l->end - l->s) - 2, "*/", 2);
	bool trim;
	size_t n;

	if (!end) {
		jinja_fail(l->c, TB_EFORMAT, "a comment has no end");
		return;
	}
	count_lines(l, l->s, end);
	l->s = end + 2;
	n = right_delim(l, &trim);
	if (!n)
		jinja_fail(l->c, TB_EFORMAT, "\"}}\" has to follow the end of a comment");
	count_lines(l, l->s, l->s + n);
	l->s += n;
	if (trim)
		skip_blanks(l);
}

/* The text before the next action, without blanks that the action takes. */
static void
lex_text(struct go_lexer *l, const char *next, bool trim)
{
	const char *end = next;

	while (trim && end > l->s && is_blank(end[-1]))
		end--;
	if (end > l->s)
		token(l, GT_TEXT, l->s, (size_t)(end - l->s));
	count_lines(l, l->s, next);
	l->s = next;
}

void
go_lex(struct jinja_ctx *c, const char *source, size_t len, struct go_tokens *out)
{
	struct go_lexer l = { .c = c, .s = source, .end = source + len, .out = out };

	while (jinja_ok(c) && l.s < l.end) {
		const char *next = memmem(l.s, (size_t)(l.end - l.s), "{{", 2);
		bool trim = next && l.end - next >= 4 && next[2] == '-' && is_blank(next[3]);

		lex_text(&l, next ? next : l.end, trim);
		if (!next)
			break;
		l.s += 2;
		if (trim)
			l.s += 2;
		l.apart = false;
		if (starts(&l, "/*")) {
			lex_comment(&l);
			continue;
		}
		token(&l, GT_LEFT, next, 2);
		if (trim)
			c->line += next[3] == '\n';
		lex_action(&l);
	}
	token(&l, GT_END, l.end, 0);
}
