/* gbnf.c - GBNF, the notation that llama.cpp has for grammars:
 *
 *	root ::= "Answer: " (word ", ")* word	# a comment
 *	word ::= [a-z]{2,8} | <[17]> | .
 *
 * A line ends a rule, but not within parentheses nor behind "|". */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/grammar_machine.h"

#define RANGES_MAX 4096		/* in one class */
#define REPEAT_MAX 65536
#define AGAIN_MAX 8		/* repetitions of repetitions */
#define PARTS_ROOM (256ul << 20)

struct reader {
	struct grammar *g;
	const char *p, *end, *begin;
	const char *what;
	struct tb_arena parts;		/* gone when the states are made */
	uint32_t *slots;		/* owned: rule + 1 by the hash of its name; 0: free */
	size_t nslots;
	unsigned nest;
	struct tb_err *err;
};

/* Parts and ranges while there are more to come. */
struct part_list { struct rule_part **v; size_t n, cap; };

static enum tb_status TB_PRINTF(3, 4)
wrong(const struct reader *r, const char *at, const char *fmt, ...)
{
	size_t line = 1;
	const char *begin = r->begin;
	char say[300];
	va_list ap;

	for (const char *p = r->begin; p < at; p++)
		if (*p == '\n') {
			line++;
			begin = p + 1;
		}
	va_start(ap, fmt);
	vsnprintf(say, sizeof(say), fmt, ap);
	va_end(ap);
	return tb_fail(r->err, TB_EFORMAT, "%s:%zu:%zu: %s", r->what, line, (size_t)(at - begin) + 1,
		       say);
}

static void
skip_blanks(struct reader *r, bool lines)
{
	while (r->p < r->end) {
		if (*r->p == '#')
			while (r->p < r->end && *r->p != '\n' && *r->p != '\r')
				r->p++;
		else if (*r->p == ' ' || *r->p == '\t' || (lines && (*r->p == '\n' || *r->p == '\r')))
			r->p++;
		else
			return;
	}
}

static bool
next_is(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static size_t
name_length(const struct reader *r)
{
	const char *p = r->p;

	while (p < r->end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			      (*p >= '0' && *p <= '9') || *p == '-' || *p == '_'))
		p++;
	return (size_t)(p - r->p);
}

static struct rule_part *
new_part(struct reader *r, enum part_kind kind)
{
	struct rule_part *p = tb_arena_get(&r->parts, sizeof(*p));

	if (p)
		p->kind = kind;
	else
		tb_fail(r->err, TB_ELIMIT, "%s: the grammar is too large", r->what);
	return p;
}

static bool
more_names(struct reader *r)
{
	size_t n = r->nslots ? 2 * r->nslots : 64;
	uint32_t *slots = tb_calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < r->g->nrules; i++) {
		size_t at = tb_hash(r->g->rules[i].name, strlen(r->g->rules[i].name)) % n;

		while (slots[at])
			at = (at + 1) % n;
		slots[at] = i + 1;
	}
	free(r->slots);
	r->slots = slots;
	r->nslots = n;
	return true;
}

/* The rule that is called so; one that is not known yet is added. */
static enum tb_status
find_rule(struct reader *r, const char *name, size_t len, uint32_t *rule)
{
	struct grammar *g = r->g;
	const char *copy;
	size_t at;

	if (2 * g->nrules >= r->nslots && !more_names(r))
		return tb_nomem(r->err);
	for (at = tb_hash(name, len) % r->nslots; r->slots[at]; at = (at + 1) % r->nslots) {
		copy = g->rules[r->slots[at] - 1].name;
		if (!strncmp(copy, name, len) && !copy[len]) {
			*rule = r->slots[at] - 1;
			return TB_OK;
		}
	}
	if (g->nrules >= GRAMMAR_RULES_MAX)
		return tb_fail(r->err, TB_ELIMIT, "%s: more than %u rules", r->what, GRAMMAR_RULES_MAX);
	copy = tb_arena_text(&g->arena, name, len);
	if (!copy || !tb_grow(&g->rules, &g->rules_cap, g->nrules + 1, sizeof(*g->rules)))
		return tb_nomem(r->err);
	g->rules[g->nrules] = (struct grammar_rule){ .name = copy };
	*rule = (uint32_t)g->nrules++;
	r->slots[at] = *rule + 1;
	return TB_OK;
}

static enum tb_status
read_hex(struct reader *r, unsigned digits, uint32_t *c)
{
	const char *begin = r->p - 2;

	*c = 0;
	for (unsigned i = 0; i < digits; i++, r->p++) {
		const char *hex = "0123456789abcdef0123456789ABCDEF", *at;

		at = r->p < r->end && *r->p ? strchr(hex, *r->p) : NULL;
		if (!at)
			return wrong(r, begin, "an escape wants %u hexadecimal digits", digits);
		*c = *c << 4 | (uint32_t)((at - hex) & 15);
	}
	if (*c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return wrong(r, begin, "no character has the number %x", *c);
	return TB_OK;
}

/* One character of a text or a class. */
static enum tb_status
read_char(struct reader *r, uint32_t *c)
{
	static const struct { char is; unsigned hex; uint32_t c; } escapes[] = {
		{ 'x', 2, 0 }, { 'u', 4, 0 }, { 'U', 8, 0 }, { 't', 0, '\t' }, { 'r', 0, '\r' },
		{ 'n', 0, '\n' }, { '\\', 0, '\\' }, { '"', 0, '"' }, { '[', 0, '[' }, { ']', 0, ']' },
	};
	const char *begin = r->p;
	size_t n;

	if (r->p == r->end)
		return wrong(r, begin, "the text ends here; a \" or a ] is missing");
	if (*r->p != '\\') {
		n = tb_utf8_next(r->p, (size_t)(r->end - r->p), c);
		if (!tb_utf8_valid(r->p, n))
			return wrong(r, begin, "this is not UTF-8");
		r->p += n;
		return TB_OK;
	}
	r->p++;
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		if (!next_is(r, escapes[i].is))
			continue;
		*c = escapes[i].c;
		return escapes[i].hex ? read_hex(r, escapes[i].hex, c) : TB_OK;
	}
	return wrong(r, begin, "no such escape; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH "
		     "\\UHHHHHHHH");
}

static enum tb_status
read_text(struct reader *r, struct rule_part **out)
{
	struct tb_buf text = TB_BUF(GRAMMAR_FILE_MAX * 2);
	struct rule_part *p = new_part(r, PART_TEXT);
	enum tb_status status = p ? TB_OK : TB_ELIMIT;
	uint32_t c;
	char utf8[4];

	while (!status && !next_is(r, '"'))
		if (!(status = read_char(r, &c)))
			tb_buf_few(&text, utf8, tb_utf8_put(c, utf8));
	if (!status) {
		p->len = text.len;
		p->text = tb_arena_text(&r->parts, tb_buf_cstr(&text), text.len);
		status = p->text && !tb_buf_failed(&text) ? TB_OK : tb_nomem(r->err);
	}
	tb_buf_free(&text);
	*out = p;
	return status;
}

static enum tb_status
read_class(struct reader *r, struct rule_part **out)
{
	struct part_range v[RANGES_MAX];
	struct rule_part *p = *out = new_part(r, PART_CLASS);
	enum tb_status status;

	if (!p)
		return TB_ELIMIT;
	p->not = next_is(r, '^');
	while (!next_is(r, ']')) {
		const char *begin = r->p;

		if (p->n == RANGES_MAX)
			return wrong(r, begin, "a class of more than %d characters or ranges", RANGES_MAX);
		if ((status = read_char(r, &v[p->n].lo)))
			return status;
		v[p->n].hi = v[p->n].lo;
		if (r->end - r->p > 1 && r->p[0] == '-' && r->p[1] != ']') {
			r->p++;
			if ((status = read_char(r, &v[p->n].hi)))
				return status;
		}
		if (v[p->n].hi < v[p->n].lo)
			return wrong(r, begin, "this range ends before it begins");
		p->n++;
	}
	p->ranges = tb_arena_get(&r->parts, (p->n + 1) * sizeof(*v));
	if (!p->ranges)
		return tb_nomem(r->err);
	memcpy(p->ranges, v, p->n * sizeof(*v));
	return TB_OK;
}

static enum tb_status
read_times(struct reader *r, uint32_t most, uint32_t *n)
{
	const char *begin = r->p;
	uint64_t x = 0;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && x <= most)
		x = x * 10 + (uint64_t)(*r->p++ - '0');
	if (r->p == begin)
		return wrong(r, begin, "a number is missing here");
	if (x > most)
		return wrong(r, begin, "a number over %u", most);
	*n = (uint32_t)x;
	return TB_OK;
}

/* <[17]>, <think>, and with a ! in front whatever is not that. */
static enum tb_status
read_token(struct reader *r, struct rule_part **out)
{
	struct grammar *g = r->g;
	struct rule_part *p = *out = new_part(r, PART_TOKEN);
	struct grammar_token t = { .name = NULL };
	const char *begin = r->p, *end;
	enum tb_status status;

	if (!p)
		return TB_ELIMIT;
	p->not = next_is(r, '!');
	if (!next_is(r, '<'))
		return wrong(r, begin, "a token in < > belongs behind the !");
	if (next_is(r, '[')) {
		if ((status = read_times(r, INT32_MAX, &t.id)))
			return status;
		if (!next_is(r, ']') || !next_is(r, '>'))
			return wrong(r, begin, "a token's number is written <[17]>");
	} else {
		end = memchr(r->p, '>', (size_t)(r->end - r->p));
		if (!end || end - r->p > 256)
			return wrong(r, begin, "the > of this token is missing");
		t.name = tb_arena_text(&g->arena, r->p - 1, (size_t)(end + 1 - r->p) + 1);
		r->p = end + 1;
		if (!t.name)
			return tb_nomem(r->err);
	}
	if (!tb_grow(&g->tokens, &g->tokens_cap, g->ntokens + 1, sizeof(t)))
		return tb_nomem(r->err);
	p->rule = (uint32_t)g->ntokens;
	g->tokens[g->ntokens++] = t;
	return TB_OK;
}

static enum tb_status read_alternatives(struct reader *r, struct rule_part **out);

static enum tb_status
read_group(struct reader *r, struct rule_part **out)
{
	const char *begin = r->p - 1;
	enum tb_status status;

	if (r->nest == GRAMMAR_NEST_MAX)
		return wrong(r, begin, "more than %d parentheses in one another", GRAMMAR_NEST_MAX);
	r->nest++;
	skip_blanks(r, true);
	status = read_alternatives(r, out);
	r->nest--;
	if (!status && !next_is(r, ')'))
		status = wrong(r, r->p, "a ) is missing here");
	return status;
}

/* What can stand between blanks; *out NULL: nothing of that kind is here. */
static enum tb_status
read_item(struct reader *r, struct rule_part **out)
{
	size_t len = name_length(r);
	enum tb_status status;
	uint32_t rule;

	*out = NULL;
	if (len) {
		if ((status = find_rule(r, r->p, len, &rule)))
			return status;
		if (!(*out = new_part(r, PART_RULE)))
			return TB_ELIMIT;
		(*out)->rule = rule;
		r->p += len;
		return TB_OK;
	}
	if (next_is(r, '"'))
		return read_text(r, out);
	if (next_is(r, '['))
		return read_class(r, out);
	if (next_is(r, '('))
		return read_group(r, out);
	if (next_is(r, '.')) {
		if (!(*out = new_part(r, PART_CLASS)))
			return TB_ELIMIT;
		(*out)->not = true;
		return TB_OK;
	}
	return r->p < r->end && (*r->p == '<' || *r->p == '!') ? read_token(r, out) : TB_OK;
}

/* How often; *max 0 and *min 1: nothing is said of it. */
static enum tb_status
read_repeat(struct reader *r, uint32_t *min, uint32_t *max)
{
	const char *begin = r->p;
	enum tb_status status;

	*min = next_is(r, '+');
	*max = UINT32_MAX;
	if (*min || next_is(r, '*'))
		return TB_OK;
	*max = 1;
	if (next_is(r, '?'))
		return TB_OK;
	*min = 1;
	*max = 0;
	if (!next_is(r, '{'))
		return TB_OK;
	skip_blanks(r, r->nest);
	if ((status = read_times(r, REPEAT_MAX, min)))
		return status;
	skip_blanks(r, r->nest);
	*max = *min;
	if (next_is(r, ',')) {
		skip_blanks(r, r->nest);
		*max = UINT32_MAX;
		if (r->p < r->end && *r->p != '}' && (status = read_times(r, REPEAT_MAX, max)))
			return status;
		skip_blanks(r, r->nest);
	}
	if (!next_is(r, '}'))
		return wrong(r, begin, "repetitions are written {m}, {m,} or {m,n}");
	if (*max < *min)
		return wrong(r, begin, "fewer at most than at least");
	if (!*max)
		*min = 0;
	return TB_OK;
}

static enum tb_status
list_part(struct reader *r, struct part_list *list, struct rule_part *p)
{
	if (!tb_grow(&list->v, &list->cap, list->n + 1, sizeof(*list->v)))
		return tb_nomem(r->err);
	list->v[list->n++] = p;
	return TB_OK;
}

/* The parts of the list as one; the list is empty then. */
static enum tb_status
join_parts(struct reader *r, struct part_list *list, enum part_kind kind, struct rule_part **out)
{
	struct rule_part *p = list->n == 1 ? list->v[0] : new_part(r, kind);

	if (p && list->n != 1) {
		p->n = list->n;
		p->parts = tb_arena_get(&r->parts, (p->n + 1) * sizeof(*p->parts));
		if (p->parts && p->n)
			memcpy(p->parts, list->v, p->n * sizeof(*p->parts));
	}
	free(list->v);
	*list = (struct part_list){ 0 };
	*out = p;
	return p && (p->parts || p->kind != kind) ? TB_OK : tb_nomem(r->err);
}

static enum tb_status
repeat(struct reader *r, struct rule_part **item, bool *again)
{
	struct rule_part *many;
	uint32_t min, max;
	enum tb_status status = read_repeat(r, &min, &max);

	*again = !status && !(min == 1 && !max);
	if (!*again)
		return status;
	if (!(many = new_part(r, PART_MANY)) ||
	    !(many->parts = tb_arena_get(&r->parts, sizeof(*many->parts))))
		return tb_nomem(r->err);
	many->min = min;
	many->max = max;
	many->n = 1;
	many->parts[0] = *item;
	*item = many;
	return TB_OK;
}

static enum tb_status
read_sequence(struct reader *r, struct rule_part **out)
{
	struct part_list list = { 0 };
	struct rule_part *item;
	enum tb_status status;
	bool again;

	while (!(status = read_item(r, &item)) && item) {
		unsigned depth = 0;

		do {
			skip_blanks(r, r->nest);
			if (++depth > AGAIN_MAX)
				status = wrong(r, r->p, "too many repetitions of repetitions");
			else
				status = repeat(r, &item, &again);
		} while (!status && again);
		if (status || (status = list_part(r, &list, item)))
			break;
	}
	if (!status)
		return join_parts(r, &list, PART_SEQ, out);
	free(list.v);
	return status;
}

static enum tb_status
read_alternatives(struct reader *r, struct rule_part **out)
{
	struct part_list list = { 0 };
	struct rule_part *one;
	enum tb_status status;

	do {
		skip_blanks(r, list.n || r->nest);
		if ((status = read_sequence(r, &one)) || (status = list_part(r, &list, one)))
			break;
	} while (next_is(r, '|'));
	if (!status)
		return join_parts(r, &list, PART_ALT, out);
	free(list.v);
	return status;
}

static enum tb_status
read_rule(struct reader *r)
{
	const char *begin = r->p;
	size_t len = name_length(r);
	struct rule_part *is;
	uint32_t rule;
	enum tb_status status;

	if (!len)
		return wrong(r, begin, "a rule begins with its name: name ::= …");
	if ((status = find_rule(r, begin, len, &rule)))
		return status;
	if (r->g->rules[rule].is)
		return wrong(r, begin, "the rule \"%.80s\" is here for the second time",
			     r->g->rules[rule].name);
	r->p += len;
	skip_blanks(r, false);
	if (r->end - r->p < 3 || memcmp(r->p, "::=", 3))
		return wrong(r, r->p, "::= is missing behind the rule's name");
	r->p += 3;
	skip_blanks(r, true);
	if ((status = read_alternatives(r, &is)))
		return status;
	r->g->rules[rule].is = is;
	if (r->p < r->end && *r->p != '\n' && *r->p != '\r')
		return wrong(r, r->p, "nothing that belongs into a rule begins so");
	skip_blanks(r, true);
	return TB_OK;
}

static enum tb_status
read_rules(struct reader *r)
{
	uint32_t root;
	enum tb_status status = find_rule(r, "root", 4, &root);

	skip_blanks(r, true);
	while (!status && r->p < r->end)
		status = read_rule(r);
	for (size_t i = 0; i < r->g->nrules && !status; i++)
		if (!r->g->rules[i].is)
			status = tb_fail(r->err, TB_EFORMAT, "%s: there is no rule \"%.80s\"%s", r->what,
					 r->g->rules[i].name, i ? "" : "; it is where a text begins");
	return status;
}

enum tb_status
grammar_gbnf(struct grammar **out, const char *text, size_t len, const char *what,
	     struct tb_err *err)
{
	struct reader r = { .g = tb_calloc(1, sizeof(struct grammar)), .p = text, .begin = text,
			    .end = text + len, .what = what, .parts = { .max = PARTS_ROOM },
			    .err = err };
	enum tb_status status = r.g ? TB_OK : tb_nomem(err);

	*out = NULL;
	if (!status && len > GRAMMAR_FILE_MAX)
		status = tb_fail(err, TB_ELIMIT, "%s: over %u MiB", what, GRAMMAR_FILE_MAX >> 20);
	if (!status)
		status = read_rules(&r);
	if (!status)
		status = grammar_make(r.g, what, err);
	if (!status)
		status = grammar_say(r.g, GRAMMAR_GBNF, text, len, err);
	free(r.slots);
	tb_arena_free(&r.parts);
	if (status)
		grammar_free(r.g);
	else
		*out = r.g;
	return status;
}
