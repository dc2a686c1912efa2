#include "config.h"

#include "src/net/challenge.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VALUE_MAX 8192u
#define SPACES " \t\r\n"

void
challenge_init(struct challenge *c)
{
	*c = (struct challenge){ .realm = TB_BUF(VALUE_MAX), .service = TB_BUF(VALUE_MAX),
				 .scope = TB_BUF(VALUE_MAX) };
}

void
challenge_free(struct challenge *c)
{
	tb_buf_free(&c->realm);
	tb_buf_free(&c->service);
	tb_buf_free(&c->scope);
	c->kind = CHALLENGE_NONE;
}

/* Letters of a name (RFC 9110). */
static size_t
token_length(const char *p)
{
	size_t n = 0;

	while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') ||
	       (p[n] >= '0' && p[n] <= '9') || (p[n] && strchr("!#$%&'*+-.^_`|~", p[n])))
		n++;
	return n;
}

/* A quoted text or a word from *p on; what is longer than any good one is cut, which makes it
 * no address. */
static void
take_value(const char **p, struct tb_buf *out)
{
	if (**p != '"') {
		size_t n = strcspn(*p, SPACES ",\"");

		tb_buf_add(out, *p, n < VALUE_MAX ? n : 0);
		*p += n;
		return;
	}
	for (++*p; **p && **p != '"'; ++*p) {
		if (**p == '\\' && (*p)[1])
			++*p;
		if (out->len < VALUE_MAX)
			tb_buf_chr(out, **p);
	}
	*p += **p == '"';
}

/* Begins another one, which is kept if it is better than what is there. */
static bool
begin_scheme(struct challenge *c, const char *name, size_t n)
{
	enum challenge_kind kind = n == 6 && !strncasecmp(name, "Bearer", 6) ? CHALLENGE_BEARER
		: n == 5 && !strncasecmp(name, "Basic", 5) ? CHALLENGE_BASIC : CHALLENGE_NONE;
	size_t have = strlen(c->others);

	if (kind == CHALLENGE_NONE)
		snprintf(c->others + have, sizeof(c->others) - have, "%s%.*s", have ? ", " : "",
			 n < 40 ? (int)n : 40, name);
	if (kind <= c->kind)
		return false;
	c->kind = kind;
	tb_buf_clear(&c->realm);
	tb_buf_clear(&c->service);
	tb_buf_clear(&c->scope);
	return true;
}

/* NAME = VALUE of the challenge that `mine` says is kept; the first of a name counts. */
static void
take_parameter(struct challenge *c, bool mine, const char *name, size_t n, const char **p)
{
	struct tb_buf value = TB_BUF(VALUE_MAX);
	struct tb_buf *to = !mine ? NULL
		: n == 5 && !strncasecmp(name, "realm", 5) ? &c->realm
		: n == 7 && !strncasecmp(name, "service", 7) ? &c->service
		: n == 5 && !strncasecmp(name, "scope", 5) ? &c->scope : NULL;

	take_value(p, &value);
	if (to && !to->len)
		tb_buf_add(to, tb_buf_cstr(&value), value.len);
	tb_buf_free(&value);
}

bool
challenge_add(struct challenge *c, const char *text)
{
	const char *p = text;
	bool mine = false;

	while (*(p += strspn(p, SPACES ","))) {
		const char *name = p, *after;
		size_t n = token_length(p);

		if (!n) {		/* nothing of this grammar: on to the next part */
			p += strcspn(p, ",");
			continue;
		}
		after = p + n + strspn(p + n, SPACES);
		if (*after == '=' && after[1] != '=' && after[1] != ',') {
			p = after + 1 + strspn(after + 1, SPACES);
			take_parameter(c, mine, name, n, &p);
		} else {
			mine = begin_scheme(c, name, n);
			p += n;
			p += strspn(p, SPACES);
			n = token_length(p);	/* some have a lone word behind ("Negotiate abc==") */
			after = p + n + strspn(p + n, SPACES);
			if (n && *after != '=' && *after != ' ')
				p += strcspn(p, ",");
		}
	}
	return !tb_buf_failed(&c->realm) && !tb_buf_failed(&c->service) &&
	       !tb_buf_failed(&c->scope);
}
