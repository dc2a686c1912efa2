/* tok_translate.c - from Oniguruma's Ruby syntax to PCRE2's.
 *
 * The two agree on nearly all that tokenizers use.  What looks alike but means
 * something else is rewritten, or refused by name. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/text/tok_newer.h"
#include "src/text/tok_regex.h"

struct translation {
	const char *start, *p;		/* the pattern; what is left of it */
	struct tb_buf *out;
	struct tb_err *err;
	bool in_class, class_start;
};

static enum tb_status
refuse(struct translation *t, const char *what)
{
	return tb_fail(t->err, TB_EUNSUP, "regular expression: %s at \"%.40s\"", what, t->p);
}

/* A property, and what has it since a Unicode that PCRE2 does not know; where there is any,
 * a class.  In a class a negated one stays PCRE2's: nothing can be taken from it there. */
static void
put_named(struct translation *t, const char *name, size_t len, bool negated)
{
	struct tb_buf newer = TB_BUF(1u << 16);
	bool script = len > 2 && !memcmp(name, "sc:", 3);

	tok_newer_put(name + (script ? 3 : 0), len - (script ? 3 : 0), &newer);
	if (!newer.len || (t->in_class && negated))
		tb_buf_printf(t->out, "\\%c{%.*s}", negated ? 'P' : 'p', (int)len, name);
	else if (t->in_class)
		tb_buf_printf(t->out, "\\p{%.*s}%s", (int)len, name, tb_buf_cstr(&newer));
	else
		tb_buf_printf(t->out, "[%s\\p{%.*s}%s]", negated ? "^" : "", (int)len, name,
			      tb_buf_cstr(&newer));
	tb_buf_free(&newer);
}

/* Onig's \s is White_Space, PCRE2's has U+180E too; Onig's \w is Alphabetic, marks,
 * Nd and Pc, PCRE2's differs from release to release. */
static void
put_word(struct translation *t, bool negated)
{
	static const char *const parts[] = { "Alphabetic", "M", "Nd", "Pc" };
	bool bare = !t->in_class;

	if (bare)
		tb_buf_str(t->out, negated ? "[^" : "[");
	t->in_class = true;
	for (size_t i = 0; i < 4; i++)
		put_named(t, parts[i], strlen(parts[i]), false);
	t->in_class = !bare;
	if (bare)
		tb_buf_chr(t->out, ']');
}

static enum tb_status
put_escape(struct translation *t)
{
	char c = t->p[1];

	switch (c) {
	case 0:
		return refuse(t, "a lone backslash");
	case 's':
		tb_buf_str(t->out, "\\p{White_Space}");
		break;
	case 'S':
		tb_buf_str(t->out, "\\P{White_Space}");
		break;
	case 'w':
	case 'W':
		if (t->in_class && c == 'W')
			return refuse(t, "\\W in a class");
		put_word(t, c == 'W');
		break;
	case 'd':
	case 'D':
		put_named(t, "Nd", 2, c == 'D');
		break;
	case 'u':
		if (strspn(t->p + 2, "0123456789abcdefABCDEF") < 4)
			return refuse(t, "\\u without four digits");
		tb_buf_printf(t->out, "\\x{%.4s}", t->p + 2);
		t->p += 4;
		break;
	default:
		if (strchr("bBhHgkKCQEXRNyYOZ", c))
			return refuse(t, "an escape that is not supported");
		tb_buf_add(t->out, t->p, 2);
	}
	t->p += 2;
	return TB_OK;
}

static enum tb_status
put_class(struct translation *t)
{
	char c = *t->p;

	if (c == '[' && t->p[1] != ':')
		return refuse(t, "a class in a class");
	if (c == '[')
		return refuse(t, "a POSIX class");
	if (c == '&' && t->p[1] == '&')
		return refuse(t, "an intersection of classes");
	if (c == ']' && t->class_start)
		return refuse(t, "an empty class");
	t->in_class = c != ']';
	t->class_start = false;
	tb_buf_chr(t->out, c);
	t->p++;
	return TB_OK;
}

/* "(?i:" and "(?i)" mean the same in both; m, s and x do not. */
static enum tb_status
put_group(struct translation *t)
{
	size_t n = strspn(t->p + 1, "?imsx-");

	if (t->p[1] == '*')
		return refuse(t, "a verb");
	if (t->p[1] != '?') {
		tb_buf_str(t->out, "(?:");	/* captures are not asked for */
		t->p++;
		return TB_OK;
	}
	for (size_t i = 2; i <= n; i++)
		if (strchr("msx", t->p[i]))
			return refuse(t, "an option other than i");
	if (t->p[n + 1] == ')' && t->p != t->start)
		return refuse(t, "an option in the middle");	/* its scope differs */
	if (!strchr(":=!>i-<", t->p[2]) || (t->p[2] == '<' && !strchr("=!", t->p[3])))
		return refuse(t, "a group that is not supported");
	tb_buf_add(t->out, t->p, 2);
	t->p += 2;
	return TB_OK;
}

/* In Ruby's syntax "{n,m}+" repeats, in PCRE2 it is possessive. */
static enum tb_status
put_interval(struct translation *t)
{
	size_t n = strspn(t->p + 1, "0123456789,");

	if (!n || t->p[n + 1] != '}')
		return refuse(t, "a brace that is no interval");
	if (t->p[1] == ',')
		return refuse(t, "an interval without a minimum");
	if (t->p[n + 2] == '+')
		return refuse(t, "a plus behind an interval");
	tb_buf_add(t->out, t->p, n + 2);
	t->p += n + 2;
	return TB_OK;
}

static enum tb_status
put_one(struct translation *t)
{
	if (*t->p == '\\') {
		t->class_start = false;
		return put_escape(t);
	}
	if (t->in_class)
		return put_class(t);
	if (*t->p == '(')
		return put_group(t);
	if (*t->p == '{')
		return put_interval(t);
	if (*t->p == '[') {
		t->in_class = t->class_start = true;
		tb_buf_chr(t->out, *t->p++);
		if (*t->p == '^')
			tb_buf_chr(t->out, *t->p++);
		return TB_OK;
	}
	tb_buf_chr(t->out, *t->p++);
	return TB_OK;
}

/* To PCRE2 the bare name of a script also means the characters that several share. */
static bool
is_script(const char *name, size_t len)
{
	static const char *const scripts[] = {
		"Arabic", "Armenian", "Bengali", "Bopomofo", "Cyrillic", "Devanagari", "Georgian",
		"Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hebrew", "Hiragana", "Kannada",
		"Katakana", "Khmer", "Lao", "Latin", "Malayalam", "Myanmar", "Sinhala", "Tamil",
		"Telugu", "Thai", "Tibetan",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		if (strlen(scripts[i]) == len && !memcmp(scripts[i], name, len))
			return true;
	return false;
}

/* "\p{L}", "\P{^N}", "\pL", and "\x{2028}", which is copied: whole, so that the brace is
 * not an interval. */
static bool
put_property(struct translation *t)
{
	const char *name = t->p + 3;
	bool negated = t->p[0] && t->p[1] == 'P', braced = t->p[0] && t->p[1] && t->p[2] == '{';
	size_t n = strcspn(t->p, "}"), len;
	char script[32];

	if (t->p[0] != '\\' || !t->p[1] || !strchr("pPx", t->p[1]))
		return false;
	if ((braced && t->p[n] != '}') || (!braced && (t->p[1] == 'x' || !strchr("LMNPSZC", t->p[2]) ||
						       !t->p[2])))
		return false;
	len = braced ? n - 3 : 1;
	if (!braced) {
		n = 2;
		name = t->p + 2;
	} else if (t->p[1] != 'x' && *name == '^') {
		negated = !negated;
		name++;
		len--;
	}
	if (t->p[1] == 'x') {
		tb_buf_add(t->out, t->p, n + 1);
	} else if (is_script(name, len)) {
		snprintf(script, sizeof(script), "sc:%.*s", (int)len, name);
		put_named(t, script, strlen(script), negated);
	} else {
		put_named(t, name, len, negated);
	}
	t->p += n + 1;
	t->class_start = false;
	return true;
}

enum tb_status
tok_regex_translate(const char *onig, struct tb_buf *out, struct tb_err *err)
{
	struct translation t = { .start = onig, .p = onig, .out = out, .err = err };

	while (*t.p) {
		enum tb_status status;

		if (put_property(&t))
			continue;
		status = put_one(&t);
		if (status)
			return status;
	}
	return tb_buf_failed(out) ? tb_nomem(err) : TB_OK;
}
