#include "config.h"

#include "src/text/bare_call.h"

#include <ctype.h>
#include <string.h>

#define QUOTE "<|\"|>"
#define DEPTH_MAX 64

struct bare { const char *p, *end; struct tb_buf *out; unsigned depth; };

static bool value(struct bare *b);

static void
skip_bare_blanks(struct bare *b)
{
	while (b->p < b->end && strchr(" \t\r\n", *b->p) && *b->p)
		b->p++;
}

static bool
skip(struct bare *b, const char *what)
{
	size_t n = strlen(what);

	if ((size_t)(b->end - b->p) < n || memcmp(b->p, what, n))
		return false;
	b->p += n;
	return true;
}

static void
put_bare_text(struct bare *b, const char *s, const char *end)
{
	tb_buf_chr(b->out, '"');
	for (; s < end; s++)
		if ((unsigned char)*s < ' ')
			tb_buf_printf(b->out, "\\u%04x", *s);
		else
			tb_buf_printf(b->out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	tb_buf_chr(b->out, '"');
}

/* Behind its first quote. */
static bool
quoted(struct bare *b)
{
	const char *close = memmem(b->p, (size_t)(b->end - b->p), QUOTE, strlen(QUOTE));

	if (!close)
		return false;
	put_bare_text(b, b->p, close);
	b->p = close + strlen(QUOTE);
	return true;
}

static bool
key(struct bare *b)
{
	const char *begin = b->p, *end;

	if (skip(b, QUOTE))
		return quoted(b);
	while (b->p < b->end && !strchr(":,{}[]", *b->p))
		b->p++;
	for (end = b->p; end > begin && strchr(" \t\r\n", end[-1]); end--)
		;
	if (end == begin)
		return false;
	put_bare_text(b, begin, end);
	return true;
}

/* All up to `close`, with commas between; members have keys. */
static bool
several(struct bare *b, char close, bool members)
{
	const char ends[] = { close, 0 };

	skip_bare_blanks(b);
	for (bool first = true; !skip(b, ends); first = false) {
		if (!first && !skip(b, ","))
			return false;
		if (!first)
			tb_buf_chr(b->out, ',');
		skip_bare_blanks(b);
		if (members && (!key(b) || !skip(b, ":")))
			return false;
		if (members)
			tb_buf_chr(b->out, ':');
		if (!value(b))
			return false;
		skip_bare_blanks(b);
	}
	tb_buf_chr(b->out, close);
	return true;
}

/* As JSON writes one: 007, 1.2.3 and 2024-05-01 are texts. */
static bool
is_json_number(const char *p, const char *end)
{
	bool digits;

	p += p < end && *p == '-';
	if (p < end && *p == '0' && p + 1 < end && isdigit((unsigned char)p[1]))
		return false;
	for (digits = false; p < end && isdigit((unsigned char)*p); p++)
		digits = true;
	if (digits && p < end && *p == '.')
		for (p++, digits = false; p < end && isdigit((unsigned char)*p); p++)
			digits = true;
	if (digits && p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		for (digits = false; p < end && isdigit((unsigned char)*p); p++)
			digits = true;
	}
	return digits && p == end;
}

/* A number, true, false, null; a word that is none of them is a text without quotes. */
static void
word(struct bare *b)
{
	static const char *const words[] = { "true", "false", "null" };
	const char *begin = b->p, *end;
	bool known;

	while (b->p < b->end && !strchr(",{}[]", *b->p))
		b->p++;
	for (end = b->p; end > begin && strchr(" \t\r\n", end[-1]); end--)
		;
	known = is_json_number(begin, end);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		known |= strlen(words[i]) == (size_t)(end - begin) &&
			 !memcmp(begin, words[i], strlen(words[i]));
	if (known)
		tb_buf_add(b->out, begin, (size_t)(end - begin));
	else
		put_bare_text(b, begin, end);
}

static bool
value(struct bare *b)
{
	bool object, whole;

	skip_bare_blanks(b);
	if (skip(b, QUOTE))
		return quoted(b);
	object = skip(b, "{");
	if (!object && !skip(b, "[")) {
		word(b);
		return true;
	}
	if (b->depth++ == DEPTH_MAX)
		return false;
	tb_buf_chr(b->out, object ? '{' : '[');
	whole = several(b, object ? '}' : ']', object);
	b->depth--;
	return whole;
}

size_t
bare_object(const char *s, size_t len, struct tb_buf *json)
{
	struct bare b = { .p = s, .end = s + len, .out = json };

	return len && *s == '{' && value(&b) ? (size_t)(b.p - s) : 0;
}
