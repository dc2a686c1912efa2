/* jinja_parse.c - statements.
 *
 *	N_IF a, body: list, else: other   N_FOR a in b if c, body: list, else: other
 *	N_SET a = b   N_SET_BLOCK a, body: list, filters: b
 *	N_MACRO name, parameters: a (N_KEYWORD name, default: a), body: list
 *	N_CALL_BLOCK a: the call, parameters: b, body: list
 *	N_FILTER_BLOCK filters: b, body: list
 *	N_WITH N_KEYWORDs (a: target, b: value): a, body: list
 *
 * The filters of a block go over a variable without a name, its text. */
#include "config.h"

#include <string.h>

#include "src/text/jinja.h"

static struct jinja_node *parse_body(struct jinja_parser *p, const char *const *ends);

static bool
at_end(const struct jinja_parser *p, const char *const *ends)
{
	for (; *ends; ends++)
		if (!strcmp(p->t[1].s, *ends))
			return true;
	return false;
}

static void
end_tag(struct jinja_parser *p)
{
	if (p->t->type == T_BLOCK_END)
		p->t++;
	else
		jinja_unexpected(p, "\"%}\"");
}

/* The body and its {% NAME %}. */
static struct jinja_node *
body_to(struct jinja_parser *p, const char *name)
{
	const char *const ends[] = { name, NULL };
	struct jinja_node *body;

	end_tag(p);
	body = parse_body(p, ends);
	if (!jinja_ok(p->c))
		return NULL;
	p->t += 2;
	end_tag(p);
	return body;
}

/* Behind "if" or "elif". */
static struct jinja_node *
parse_if(struct jinja_parser *p)
{
	static const char *const ends[] = { "elif", "else", "endif", NULL };
	struct jinja_node *first = NULL, **tail = &first;
	const char *end = "elif";

	while (jinja_ok(p->c) && !strcmp(end, "elif")) {
		struct jinja_node *n = jinja_node(p, N_IF);

		if (!n)
			return NULL;
		n->a = jinja_parse_tuple(p, true);
		end_tag(p);
		n->list = parse_body(p, ends);
		*tail = n;
		tail = &n->other;
		if (!jinja_ok(p->c))
			return NULL;
		end = p->t[1].s;
		p->t += 2;
	}
	if (!strcmp(end, "else"))
		*tail = body_to(p, "endif");
	else
		end_tag(p);
	return first;
}

static struct jinja_node *
parse_for(struct jinja_parser *p)
{
	static const char *const ends[] = { "else", "endfor", NULL };
	struct jinja_node *n = jinja_node(p, N_FOR);

	if (!n)
		return NULL;
	n->a = jinja_parse_target(p);
	if (!jinja_skip_name(p, "in"))
		jinja_unexpected(p, "\"in\"");
	n->b = jinja_parse_tuple(p, false);
	if (jinja_ok(p->c) && jinja_skip_name(p, "if"))
		n->c = jinja_parse_expr(p);
	if (jinja_ok(p->c) && jinja_is_name(p, "recursive")) {
		p->c->line = p->t->line;
		jinja_fail(p->c, TB_EUNSUP, "a recursive for is not supported");
	}
	end_tag(p);
	p->loops++;
	n->list = parse_body(p, ends);
	p->loops--;
	if (!jinja_ok(p->c))
		return NULL;
	p->t += 2;
	if (!strcmp(p->t[-1].s, "else"))
		n->other = body_to(p, "endfor");
	else
		end_tag(p);
	return n;
}

static struct jinja_node *
block_text(struct jinja_parser *p)
{
	struct jinja_node *text = jinja_node(p, N_NAME);

	if (text)
		text->name = "";
	return text;
}

static struct jinja_node *
parse_set(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_SET);

	if (!n)
		return NULL;
	n->a = jinja_parse_target(p);
	if (!jinja_ok(p->c))
		return NULL;
	if (jinja_skip_op(p, "=")) {
		n->b = jinja_parse_tuple(p, true);
		end_tag(p);
		return n;
	}
	n->type = N_SET_BLOCK;
	n->b = jinja_parse_filters(p, block_text(p));
	n->list = body_to(p, "endset");
	return n;
}

/* "(a, b=1)" */
static struct jinja_node *
parse_params(struct jinja_parser *p)
{
	struct jinja_node *first = NULL, **tail = &first;

	jinja_want_op(p, "(");
	while (jinja_ok(p->c) && !jinja_is_op(p, ")")) {
		struct jinja_node *n = jinja_node(p, N_KEYWORD);

		if (!n)
			return NULL;
		n->name = jinja_want_name(p);
		if (jinja_skip_op(p, "="))
			n->a = jinja_parse_expr(p);
		*tail = n;
		tail = &n->next;
		if (!jinja_skip_op(p, ","))
			break;
	}
	jinja_want_op(p, ")");
	return first;
}

static struct jinja_node *
parse_macro(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_MACRO);
	unsigned loops = p->loops;

	if (!n)
		return NULL;
	n->name = jinja_want_name(p);
	n->a = parse_params(p);
	p->loops = 0;
	n->list = body_to(p, "endmacro");
	p->loops = loops;
	return n;
}

static struct jinja_node *
parse_call_block(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_CALL_BLOCK);
	unsigned loops = p->loops;

	if (!n)
		return NULL;
	if (jinja_is_op(p, "("))
		n->b = parse_params(p);
	n->a = jinja_parse_expr(p);
	if (jinja_ok(p->c) && n->a->type != N_CALL)
		jinja_unexpected(p, "a call");
	p->loops = 0;
	n->list = body_to(p, "endcall");
	p->loops = loops;
	return n;
}

static struct jinja_node *
parse_filter_block(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_FILTER_BLOCK);

	if (!n)
		return NULL;
	n->b = jinja_parse_filters(p, jinja_parse_filter(p, block_text(p)));
	n->list = body_to(p, "endfilter");
	return n;
}

static struct jinja_node *
parse_with(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_WITH), **tail;

	if (!n)
		return NULL;
	tail = &n->a;
	while (jinja_ok(p->c) && p->t->type != T_BLOCK_END) {
		struct jinja_node *part = jinja_node(p, N_KEYWORD);

		if (!part)
			return NULL;
		part->a = jinja_parse_target(p);
		jinja_want_op(p, "=");
		part->b = jinja_parse_expr(p);
		*tail = part;
		tail = &part->next;
		if (!jinja_skip_op(p, ","))
			break;
	}
	n->list = body_to(p, "endwith");
	return n;
}

static struct jinja_node *
parse_jump(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, !strcmp(p->t[-1].s, "break") ? N_BREAK : N_CONTINUE);

	if (!p->loops) {
		p->c->line = p->t->line;
		jinja_fail(p->c, TB_EFORMAT, "\"%s\" outside a loop", p->t[-1].s);
	}
	end_tag(p);
	return n;
}

/* Marks what a model is trained on; the text inside is as any other. */
static struct jinja_node *
parse_generation(struct jinja_parser *p)
{
	struct jinja_node *n = jinja_node(p, N_BLOCK);

	if (n)
		n->list = body_to(p, "endgeneration");
	return n;
}

static const struct statement {
	const char *name;
	struct jinja_node *(*parse)(struct jinja_parser *p);
} statements[] = {
	{ "if", parse_if }, { "for", parse_for }, { "set", parse_set }, { "macro", parse_macro },
	{ "call", parse_call_block }, { "filter", parse_filter_block }, { "with", parse_with },
	{ "break", parse_jump }, { "continue", parse_jump }, { "generation", parse_generation },
};

/* Behind "{%". */
static struct jinja_node *
parse_statement(struct jinja_parser *p)
{
	const char *name = jinja_want_name(p);

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && jinja_ok(p->c); i++)
		if (!strcmp(statements[i].name, name))
			return statements[i].parse(p);
	p->c->line = p->t->line;
	jinja_fail(p->c, TB_EUNSUP, "the statement \"%.60s\" is not supported here", name);
	return NULL;
}

static struct jinja_node *
parse_piece(struct jinja_parser *p)
{
	struct jinja_node *n = NULL;

	if (p->t->type == T_BLOCK_BEGIN) {
		p->t++;
		return parse_statement(p);
	}
	n = jinja_node(p, p->t->type == T_DATA ? N_DATA : N_OUTPUT);
	if (!n)
		return NULL;
	if (p->t->type == T_DATA) {
		n->value = jinja_str(p->t->s, p->t->len);
		p->t++;
		return n;
	}
	p->t++;
	n->a = jinja_parse_tuple(p, true);
	if (p->t->type == T_VAR_END)
		p->t++;
	else
		jinja_unexpected(p, "\"}}\"");
	return n;
}

/* Up to a "{%" with one of the names behind it, which is left; ends NULL: all. */
static struct jinja_node *
parse_body(struct jinja_parser *p, const char *const *ends)
{
	struct jinja_node *body = jinja_node(p, N_BLOCK), **tail = body ? &body->list : NULL;

	if (p->c->depth++ >= JINJA_DEPTH_MAX)
		jinja_fail(p->c, TB_ELIMIT, "statements are nested too deeply");
	while (jinja_ok(p->c) && p->t->type != T_END) {
		if (ends && p->t->type == T_BLOCK_BEGIN && p->t[1].type == T_NAME &&
		    at_end(p, ends))
			break;
		*tail = parse_piece(p);
		if (*tail)
			tail = &(*tail)->next;
	}
	if (jinja_ok(p->c) && ends && p->t->type == T_END) {
		while (ends[1])		/* the last one is what cannot be left out */
			ends++;
		jinja_unexpected(p, *ends);
	}
	p->c->depth--;
	return body;
}

struct jinja_node *
jinja_parse(struct jinja_ctx *c, const char *source, size_t len)
{
	struct jinja_parser p = { .c = c };
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);
	struct jinja_tokens tokens;
	struct jinja_value v;

	for (size_t i = 0; i < len; i++) {	/* Jinja knows one kind of newline */
		if (source[i] == '\r') {
			tb_buf_chr(&text, '\n');
			i += i + 1 < len && source[i + 1] == '\n';
		} else {
			tb_buf_chr(&text, source[i]);
		}
	}
	v = jinja_take(c, &text);
	if (jinja_ok(c))
		jinja_lex(c, v.str.s, v.str.len, &tokens);
	if (!jinja_ok(c))
		return NULL;
	p.t = tokens.v;
	return parse_body(&p, NULL);
}
