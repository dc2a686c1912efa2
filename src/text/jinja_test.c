/* jinja_test.c - "is …", and the functions that every template can call. */
#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "src/base/text.h"
#include "src/text/jinja.h"

enum test_op {
	OP_TYPE, OP_TRUE, OP_FALSE, OP_ODD, OP_EVEN, OP_ESCAPED, OP_NOT_LAZY,
	/* with an operand */
	OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_IN, OP_DIVISIBLE, OP_SAME
};

/* types: a bit for each that it may hold of. */
#define IS(type) (1u << (type))
#define ANY (~0u)
#define NUMBER (IS(J_BOOL) | IS(J_INT) | IS(J_FLOAT))
#define SEQUENCE (IS(J_STR) | IS(J_DICT) | IS(J_UNDEFINED) | IS(J_LIST))

static const struct test { const char *name; unsigned types; enum test_op op; } tests[] = {
	{ "defined", ~IS(J_UNDEFINED), OP_TYPE }, { "undefined", IS(J_UNDEFINED), OP_TYPE },
	{ "none", IS(J_NONE), OP_TYPE }, { "string", IS(J_STR), OP_TYPE },
	{ "mapping", IS(J_DICT), OP_TYPE }, { "boolean", IS(J_BOOL), OP_TYPE },
	{ "number", NUMBER, OP_TYPE }, { "integer", IS(J_INT), OP_TYPE },
	{ "float", IS(J_FLOAT), OP_TYPE }, { "iterable", SEQUENCE, OP_TYPE },
	{ "callable", IS(J_FUNC) | IS(J_MACRO) | IS(J_UNDEFINED), OP_TYPE },
	{ "sequence", SEQUENCE, OP_NOT_LAZY }, { "escaped", IS(J_STR), OP_ESCAPED },
	{ "true", IS(J_BOOL), OP_TRUE }, { "false", IS(J_BOOL), OP_FALSE },
	{ "odd", NUMBER, OP_ODD }, { "even", NUMBER, OP_EVEN },
	{ "eq", ANY, OP_EQ }, { "equalto", ANY, OP_EQ }, { "==", ANY, OP_EQ },
	{ "ne", ANY, OP_NE }, { "!=", ANY, OP_NE },
	{ "lt", ANY, OP_LT }, { "lessthan", ANY, OP_LT }, { "<", ANY, OP_LT },
	{ "le", ANY, OP_LE }, { "<=", ANY, OP_LE },
	{ "gt", ANY, OP_GT }, { "greaterthan", ANY, OP_GT }, { ">", ANY, OP_GT },
	{ "ge", ANY, OP_GE }, { ">=", ANY, OP_GE },
	{ "in", ANY, OP_IN }, { "divisibleby", ANY, OP_DIVISIBLE }, { "sameas", ANY, OP_SAME },
};

static bool
unary_test(const struct test *t, const struct jinja_value *v)
{
	if (!(t->types & IS(v->type)))
		return false;
	switch (t->op) {
	case OP_TRUE:
	case OP_FALSE:
		return v->b == (t->op == OP_TRUE);
	case OP_ODD:
	case OP_EVEN:
		return fabs(fmod(jinja_num(v), 2)) == (t->op == OP_ODD);
	case OP_ESCAPED:
		return v->markup;
	case OP_NOT_LAZY:
		return v->type != J_LIST || !v->list->lazy;
	default:
		return true;
	}
}

static bool
binary_test(struct jinja_ctx *c, enum test_op op, const struct jinja_value *a,
	    const struct jinja_value *b)
{
	int order;

	if (op == OP_EQ || op == OP_NE)
		return jinja_equal(c, a, b) == (op == OP_EQ);
	if (op == OP_SAME)
		return a->type == b->type && jinja_equal(c, a, b);
	if (op == OP_IN)
		return jinja_contains(c, b, a);
	if (op == OP_DIVISIBLE) {
		if (a->type != J_INT || b->type != J_INT || b->i == 0)
			jinja_fail(c, TB_EFORMAT, "divisibleby of what are no numbers");
		return jinja_ok(c) && (b->i == -1 || a->i % b->i == 0);
	}
	order = jinja_compare(c, a, b);
	return op == OP_LT ? order < 0 : op == OP_LE ? order <= 0 : op == OP_GT ? order > 0
								 : order >= 0;
}

bool
jinja_test(struct jinja_ctx *c, const char *name, const struct jinja_value *of,
	   const struct jinja_args *args)
{
	const struct test *t = tests, *end = tests + sizeof(tests) / sizeof(*tests);

	while (t < end && strcmp(t->name, name))
		t++;
	if (t == end)
		jinja_fail(c, TB_EUNSUP, "test \"%.60s\" is not supported", name);
	if (!jinja_ok(c))
		return false;
	if (t->op < OP_EQ)
		return unary_test(t, of);
	if (!args->n) {
		jinja_fail(c, TB_EFORMAT, "test \"%s\" lacks what to compare with", name);
		return false;
	}
	return binary_test(c, t->op, of, &args->v[0]);
}

static JINJA_FN(g_raise)
{
	struct jinja_value what = jinja_text("");

	if (args->n)
		what = jinja_to_str(c, &args->v[0]);
	jinja_fail(c, TB_EFORMAT, "%.300s", what.str.s);
	return jinja_none();
}

/* how: the type of what it makes. */
static JINJA_FN(g_namespace)
{
	struct jinja_value out = jinja_dict(c);

	for (size_t i = 0; i < args->n && jinja_ok(c); i++) {
		const struct jinja_value *v = &args->v[i];

		if (args->names[i])
			jinja_put(c, out.dict, jinja_text(args->names[i]), *v);
		else if (v->type == J_DICT || v->type == J_NAMESPACE)
			for (size_t k = 0; k < v->dict->n; k++)
				jinja_put(c, out.dict, v->dict->v[k].key, v->dict->v[k].value);
		else
			jinja_fail(c, TB_EFORMAT, "a namespace from a %s", jinja_type_name(v));
	}
	out.type = (enum jinja_type)how;
	return out;
}

static JINJA_FN(g_range)
{
	int64_t at[3] = { 0, 0, 1 };
	struct jinja_value out = jinja_list(c);

	for (size_t i = 0; i < args->n && i < 3; i++) {
		if (args->v[i].type != J_INT)
			jinja_fail(c, TB_EFORMAT, "range() of a %s", jinja_type_name(&args->v[i]));
		at[i] = args->v[i].i;
	}
	if (!args->n || args->n > 3 || !at[2])
		jinja_fail(c, TB_EFORMAT, "range() with arguments that it does not take");
	if (args->n == 1) {
		at[1] = at[0];
		at[0] = 0;
	}
	while (jinja_step(c, 1) && (at[2] > 0 ? at[0] < at[1] : at[0] > at[1])) {
		jinja_push(c, out.list, jinja_int(at[0]));
		if (__builtin_add_overflow(at[0], at[2], &at[0]))
			break;
	}
	return out;
}

/* The format is the template's: strftime() writes within its bounds whatever it says. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static JINJA_FN(g_strftime_now)
{
	const struct jinja_value *format = jinja_arg_str(c, args, 0, "format");
	time_t now = (time_t)(tb_now_ns() / 1000000000);
	char text[256];
	struct tm tm;

	if (!format || !localtime_r(&now, &tm)) {
		jinja_fail(c, TB_EFORMAT, "strftime_now() without a format");
		return jinja_none();
	}
	return jinja_copy(c, text, strftime(text, sizeof(text), format->str.s, &tm));
}
#pragma GCC diagnostic pop

void
jinja_add_globals(struct jinja_ctx *c, struct jinja_scope *s)
{
	static const struct jinja_builtin functions[] = {
		{ "raise_exception", g_raise, 0 }, { "namespace", g_namespace, J_NAMESPACE },
		{ "dict", g_namespace, J_DICT }, { "range", g_range, 0 },
		{ "strftime_now", g_strftime_now, 0 },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		struct jinja_func *f = jinja_get(c, sizeof(*f));

		if (!f)
			return;
		*f = (struct jinja_func){ &functions[i], jinja_none() };
		jinja_set(c, s, functions[i].name, (struct jinja_value){ .type = J_FUNC, .func = f });
	}
}
