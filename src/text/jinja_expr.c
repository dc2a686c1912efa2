/* jinja_expr.c - expressions, as Jinja 3 ranks its operators.
 *
 *	N_ATTR a.name  N_ITEM a[b]  N_SLICE a[b:c:other]  N_CALL a(list)
 *	N_FILTER a|name(list)  N_TEST a is name(list)  N_COND a if b else c
 *	N_OP a name b  N_COMPARE a, then N_KEYWORD (name: the operator, a) in list
 *	N_DICT: N_KEYWORD (a: key, b: value) in list; N_KEYWORD name=a in arguments */
#include "config.h"

#include <string.h>

#include "src/text/jinja.h"

struct jinja_node *
jinja_node(struct jinja_parser *p, enum jinja_node_type type)
{
	struct jinja_node *n = jinja_get(p->c, sizeof(*n));

	if (n) {
		n->type = type;
		n->line = p->t->line;
	}
	return n;
}

bool
jinja_is_op(const struct jinja_parser *p, const char *op)
{
	return p->t->type == T_OP && !strcmp(p->t->s, op);
}

bool
jinja_is_name(const struct jinja_parser *p, const char *name)
{
	return p->t->type == T_NAME && !strcmp(p->t->s, name);
}

bool
jinja_skip_op(struct jinja_parser *p, const char *op)
{
	bool is = jinja_is_op(p, op);

	p->t += is;
	return is;
}

bool
jinja_skip_name(struct jinja_parser *p, const char *name)
{
	bool is = jinja_is_name(p, name);

	p->t += is;
	return is;
}

void
jinja_unexpected(struct jinja_parser *p, const char *wanted)
{
	static const char *const kinds[] = { "the end of the template", "text", "\"{{\"", "\"}}\"",
		"\"{%\"", "\"%}\"", "name", "string", "integer", "number", "operator" };
	const struct jinja_token *t = p->t;

	p->c->line = t->line;
	if (t->s && t->type != T_DATA)
		jinja_fail(p->c, TB_EFORMAT, "%s \"%.40s\", but %s is expected", kinds[t->type],
			   t->s, wanted);
	else
		jinja_fail(p->c, TB_EFORMAT, "%s, but %s is expected", kinds[t->type], wanted);
}

void
jinja_want_op(struct jinja_parser *p, const char *op)
{
	char wanted[16] = "\"";

	if (jinja_skip_op(p, op))
		return;
	strncat(wanted, op, 8);
	strncat(wanted, "\"", 2);
	jinja_unexpected(p, wanted);
}

const char *
jinja_want_name(struct jinja_parser *p)
{
	if (p->t->type == T_NAME)
		return (p->t++)->s;
	jinja_unexpected(p, "a name");
	return "";
}

static struct jinja_node *
constant(struct jinja_parser *p, struct jinja_value v)
{
	struct jinja_node *n = jinja_node(p, N_CONST);

	if (n)
		n->value = v;
	return n;
}

static struct jinja_node *
unary(struct jinja_parser *p, enum jinja_node_type type, struct jinja_node *a)
{
	struct jinja_node *n = jinja_node(p, type);

	if (n)
		n->a = a;
	return n;
}

static struct jinja_node *
binary(struct jinja_parser *p, enum jinja_node_type type, const char *name, struct jinja_node *a,
       struct jinja_node *b)
{
	struct jinja_node *n = unary(p, type, a);

	if (n) {
		n->name = name;
		n->b = b;
	}
	return n;
}

static struct jinja_node *
parse_string(struct jinja_parser *p)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	for (; p->t->type == T_STR; p->t++)
		tb_buf_add(&text, p->t->s, p->t->len);
	return constant(p, jinja_take(p->c, &text));
}

static struct jinja_node *
parse_name(struct jinja_parser *p)
{
	static const struct { const char *name; enum jinja_type type; bool b; } words[] = {
		{ "true", J_BOOL, true }, { "True", J_BOOL, true }, { "false", J_BOOL, false },
		{ "False", J_BOOL, false }, { "none", J_NONE, false }, { "None", J_NONE, false },
	};
	struct jinja_node *n;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (jinja_skip_name(p, words[i].name))
			return constant(p, words[i].type == J_NONE ? jinja_none()
								   : jinja_bool(words[i].b));
	n = jinja_node(p, N_NAME);
	if (n)
		n->name = (p->t++)->s;
	return n;
}

/* Items up to `close`, the opening bracket is behind us. */
static struct jinja_node *
parse_items(struct jinja_parser *p, enum jinja_node_type type, const char *close)
{
	struct jinja_node *n = jinja_node(p, type), **tail = n ? &n->list : NULL;

	while (jinja_ok(p->c) && !jinja_is_op(p, close)) {
		struct jinja_node *item = type == N_DICT ? jinja_node(p, N_KEYWORD) : NULL;

		if (type != N_DICT) {
			item = jinja_parse_expr(p);
		} else if (item) {
			item->a = jinja_parse_expr(p);
			jinja_want_op(p, ":");
			item->b = jinja_parse_expr(p);
		}
		if (!item)
			return NULL;
		*tail = item;
		tail = &item->next;
		if (!jinja_skip_op(p, ","))
			break;
	}
	jinja_want_op(p, close);
	return n;
}

static struct jinja_node *
parse_parens(struct jinja_parser *p)
{
	struct jinja_node *n;

	if (jinja_is_op(p, ")"))
		return parse_items(p, N_TUPLE, ")");
	n = jinja_parse_tuple(p, true);
	jinja_want_op(p, ")");
	return n;
}

static struct jinja_node *
parse_primary(struct jinja_parser *p)
{
	if (p->t->type == T_NAME)
		return parse_name(p);
	if (p->t->type == T_STR)
		return parse_string(p);
	if (p->t->type == T_INT)
		return constant(p, jinja_int((p->t++)->i));
	if (p->t->type == T_FLOAT)
		return constant(p, jinja_float((p->t++)->f));
	if (jinja_skip_op(p, "("))
		return parse_parens(p);
	if (jinja_skip_op(p, "["))
		return parse_items(p, N_LIST, "]");
	if (jinja_skip_op(p, "{"))
		return parse_items(p, N_DICT, "}");
	jinja_unexpected(p, "an expression");
	return NULL;
}

/* Behind "(": arguments and the ")". */
static struct jinja_node *
parse_args(struct jinja_parser *p)
{
	struct jinja_node *first = NULL, **tail = &first;
	bool named = false;

	while (jinja_ok(p->c) && !jinja_is_op(p, ")")) {
		struct jinja_node *arg;

		if (jinja_is_op(p, "*") || jinja_is_op(p, "**")) {
			jinja_fail(p->c, TB_EUNSUP, "*args and **kwargs are not supported");
			return NULL;
		}
		if (p->t->type == T_NAME && p->t[1].type == T_OP && !strcmp(p->t[1].s, "=")) {
			arg = jinja_node(p, N_KEYWORD);
			if (!arg)
				return NULL;
			arg->name = p->t->s;
			p->t += 2;
			arg->a = jinja_parse_expr(p);
			named = true;
		} else {
			if (named)
				jinja_unexpected(p, "a keyword argument");
			arg = jinja_parse_expr(p);
		}
		if (!arg)
			return NULL;
		*tail = arg;
		tail = &arg->next;
		if (!jinja_skip_op(p, ","))
			break;
	}
	jinja_want_op(p, ")");
	return first;
}

/* Behind "[". */
static struct jinja_node *
parse_subscript(struct jinja_parser *p, struct jinja_node *of)
{
	struct jinja_node *n, *part[3] = { NULL, NULL, NULL };
	unsigned i = 0;

	for (;;) {
		if (!jinja_is_op(p, ":") && !jinja_is_op(p, "]"))
			part[i] = jinja_parse_expr(p);
		if (i == 2 || !jinja_ok(p->c) || !jinja_skip_op(p, ":"))
			break;
		i++;
	}
	if (!i && !part[0])
		jinja_unexpected(p, "a subscript");
	n = binary(p, i ? N_SLICE : N_ITEM, NULL, of, part[0]);
	if (n && i) {
		n->c = part[1];
		n->other = part[2];
	}
	jinja_want_op(p, "]");
	return n;
}

static struct jinja_node *
parse_call(struct jinja_parser *p, struct jinja_node *of)
{
	struct jinja_node *n = unary(p, N_CALL, of);

	if (n)
		n->list = parse_args(p);
	return n;
}

static struct jinja_node *
parse_postfix(struct jinja_parser *p, struct jinja_node *n)
{
	while (jinja_ok(p->c)) {
		if (jinja_skip_op(p, ".")) {
			if (p->t->type == T_INT)
				n = binary(p, N_ITEM, NULL, n, parse_primary(p));
			else
				n = binary(p, N_ATTR, jinja_want_name(p), n, NULL);
		} else if (jinja_skip_op(p, "[")) {
			n = parse_subscript(p, n);
		} else if (jinja_skip_op(p, "(")) {
			n = parse_call(p, n);
		} else {
			return n;
		}
	}
	return NULL;
}

/* Behind "|". */
struct jinja_node *
jinja_parse_filter(struct jinja_parser *p, struct jinja_node *of)
{
	const char *name = jinja_want_name(p);
	struct jinja_node *n = binary(p, N_FILTER, name, of, NULL);

	if (n && jinja_skip_op(p, "("))
		n->list = parse_args(p);
	return n;
}

static bool
starts_operand(const struct jinja_parser *p)
{
	if (p->t->type == T_NAME)
		return !jinja_is_name(p, "else") && !jinja_is_name(p, "or") &&
		       !jinja_is_name(p, "and") && !jinja_is_name(p, "if");
	return p->t->type == T_STR || p->t->type == T_INT || p->t->type == T_FLOAT ||
	       jinja_is_op(p, "[") || jinja_is_op(p, "{");
}

/* Behind "is". */
static struct jinja_node *
parse_test(struct jinja_parser *p, struct jinja_node *of)
{
	bool negated = jinja_skip_name(p, "not");
	const char *name = jinja_want_name(p);
	struct jinja_node *n = binary(p, N_TEST, name, of, NULL);

	if (!n)
		return NULL;
	n->flag = negated;
	if (jinja_skip_op(p, "("))
		n->list = parse_args(p);
	else if (starts_operand(p))
		n->list = parse_postfix(p, parse_primary(p));
	return n;
}

struct jinja_node *
jinja_parse_filters(struct jinja_parser *p, struct jinja_node *n)
{
	while (jinja_ok(p->c)) {
		if (jinja_skip_op(p, "|"))
			n = jinja_parse_filter(p, n);
		else if (jinja_skip_name(p, "is"))
			n = parse_test(p, n);
		else if (jinja_skip_op(p, "("))
			n = parse_call(p, n);
		else
			return n;
	}
	return NULL;
}

static bool
enter(struct jinja_parser *p)
{
	if (p->c->depth++ < JINJA_DEPTH_MAX && jinja_ok(p->c))
		return true;
	p->c->line = p->t->line;
	jinja_fail(p->c, TB_ELIMIT, "expressions are nested too deeply");
	return false;
}

static struct jinja_node *
parse_unary(struct jinja_parser *p, bool filters)
{
	struct jinja_node *n = NULL;

	if (enter(p)) {
		if (jinja_skip_op(p, "-"))
			n = unary(p, N_NEG, parse_unary(p, false));
		else if (jinja_skip_op(p, "+"))
			n = unary(p, N_POS, parse_unary(p, false));
		else
			n = parse_primary(p);
		n = parse_postfix(p, n);
		if (filters)
			n = jinja_parse_filters(p, n);
	}
	p->c->depth--;
	return n;
}

/* Operators that associate to the left, loosest row first. */
static const char *const levels[][5] = {
	{ "+", "-" }, { "~" }, { "*", "/", "//", "%" }, { "**" },
};

static struct jinja_node *
parse_level(struct jinja_parser *p, unsigned level)
{
	struct jinja_node *n;

	if (level == sizeof(levels) / sizeof(*levels))
		return parse_unary(p, true);
	n = parse_level(p, level + 1);
	for (unsigned i = 0; jinja_ok(p->c) && levels[level][i]; i++)
		if (jinja_skip_op(p, levels[level][i])) {
			n = binary(p, N_OP, levels[level][i], n, parse_level(p, level + 1));
			i = (unsigned)-1;
		}
	return n;
}

static const char *
comparison(struct jinja_parser *p)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (jinja_skip_op(p, ops[i]))
			return ops[i];
	if (jinja_skip_name(p, "in"))
		return "in";
	if (jinja_is_name(p, "not") && p->t[1].type == T_NAME && !strcmp(p->t[1].s, "in")) {
		p->t += 2;
		return "not in";
	}
	return NULL;
}

static struct jinja_node *
parse_compare(struct jinja_parser *p)
{
	struct jinja_node *first = parse_level(p, 0), *n = NULL, **tail = NULL;
	const char *op;

	while (jinja_ok(p->c) && (op = comparison(p))) {
		struct jinja_node *part = jinja_node(p, N_KEYWORD);

		if (!n)
			n = unary(p, N_COMPARE, first);
		if (!n || !part)
			return NULL;
		part->name = op;
		part->a = parse_level(p, 0);
		if (!tail)
			tail = &n->list;
		*tail = part;
		tail = &part->next;
	}
	return n ? n : first;
}

static struct jinja_node *
parse_not(struct jinja_parser *p)
{
	struct jinja_node *n = NULL;

	if (!jinja_is_name(p, "not"))
		return parse_compare(p);
	if (enter(p)) {
		p->t++;
		n = unary(p, N_NOT, parse_not(p));
	}
	p->c->depth--;
	return n;
}

static struct jinja_node *
parse_and(struct jinja_parser *p)
{
	struct jinja_node *n = parse_not(p);

	while (jinja_ok(p->c) && jinja_skip_name(p, "and"))
		n = binary(p, N_AND, NULL, n, parse_not(p));
	return n;
}

/* Leaves "if" alone. */
static struct jinja_node *
parse_no_cond(struct jinja_parser *p)
{
	struct jinja_node *n = parse_and(p);

	while (jinja_ok(p->c) && jinja_skip_name(p, "or"))
		n = binary(p, N_OR, NULL, n, parse_and(p));
	return n;
}

struct jinja_node *
jinja_parse_expr(struct jinja_parser *p)
{
	struct jinja_node *n = NULL;

	if (enter(p)) {
		n = parse_no_cond(p);
		while (jinja_ok(p->c) && jinja_skip_name(p, "if")) {
			n = binary(p, N_COND, NULL, n, parse_no_cond(p));
			if (n && jinja_skip_name(p, "else"))
				n->c = jinja_parse_expr(p);
		}
	}
	p->c->depth--;
	return jinja_ok(p->c) ? n : NULL;
}

static bool
ends_tuple(const struct jinja_parser *p)
{
	return p->t->type == T_VAR_END || p->t->type == T_BLOCK_END || jinja_is_op(p, ")") ||
	       jinja_is_op(p, "=") || jinja_is_name(p, "in");
}

struct jinja_node *
jinja_parse_tuple(struct jinja_parser *p, bool cond)
{
	struct jinja_node *n = cond ? jinja_parse_expr(p) : parse_no_cond(p), *tuple, *last;

	if (!jinja_ok(p->c) || !jinja_is_op(p, ","))
		return n;
	tuple = jinja_node(p, N_TUPLE);
	if (!tuple)
		return NULL;
	tuple->list = last = n;
	while (jinja_ok(p->c) && jinja_skip_op(p, ",") && !ends_tuple(p)) {
		last->next = cond ? jinja_parse_expr(p) : parse_no_cond(p);
		if (last->next)
			last = last->next;
	}
	return tuple;
}

/* name, name.name (a namespace's), or names with commas between, maybe in "()". */
struct jinja_node *
jinja_parse_target(struct jinja_parser *p)
{
	bool parens = jinja_skip_op(p, "(");
	struct jinja_node *first = NULL, **tail = &first, *n, *tuple;

	do {
		n = jinja_node(p, N_NAME);
		if (!n)
			return NULL;
		n->name = jinja_want_name(p);
		if (jinja_skip_op(p, "."))
			n = binary(p, N_ATTR, jinja_want_name(p), n, NULL);
		if (!n)
			return NULL;
		*tail = n;
		tail = &n->next;
	} while (jinja_ok(p->c) && jinja_skip_op(p, ",") && !ends_tuple(p));
	if (parens)
		jinja_want_op(p, ")");
	if (!first->next)
		return first;
	tuple = jinja_node(p, N_TUPLE);
	if (tuple)
		tuple->list = first;
	return tuple;
}
