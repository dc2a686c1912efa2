/* jinja_test.c - "is …", and the functions that every template can call. */
#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "src/base/text.h"
#include "src/text/jinja.h"

static bool
is_defined(const struct jinja_value *v)
{
	return v->type != J_UNDEFINED;
}

static bool
is_undefined(const struct jinja_value *v)
{
	return v->type == J_UNDEFINED;
}

static bool
is_none(const struct jinja_value *v)
{
	return v->type == J_NONE;
}

static bool
is_string(const struct jinja_value *v)
{
	return v->type == J_STR;
}

static bool
is_mapping(const struct jinja_value *v)
{
	return v->type == J_DICT;
}

static bool
is_sequence(const struct jinja_value *v)
{
	return v->type == J_STR || v->type == J_DICT || v->type == J_UNDEFINED ||
	       (v->type == J_LIST && !v->list->lazy);
}

static bool
is_iterable(const struct jinja_value *v)
{
	return v->type == J_LIST || is_sequence(v);
}

static bool
is_boolean(const struct jinja_value *v)
{
	return v->type == J_BOOL;
}

static bool
is_true(const struct jinja_value *v)
{
	return v->type == J_BOOL && v->b;
}

static bool
is_false(const struct jinja_value *v)
{
	return v->type == J_BOOL && !v->b;
}

static bool
is_integer(const struct jinja_value *v)
{
	return v->type == J_INT;
}

static bool
is_float(const struct jinja_value *v)
{
	return v->type == J_FLOAT;
}

static bool
is_odd(const struct jinja_value *v)
{
	return jinja_is_num(v) && fabs(fmod(jinja_num(v), 2)) == 1;
}

static bool
is_even(const struct jinja_value *v)
{
	return jinja_is_num(v) && fmod(jinja_num(v), 2) == 0;
}

static bool
is_callable(const struct jinja_value *v)
{
	return v->type == J_FUNC || v->type == J_MACRO || v->type == J_UNDEFINED;
}

static bool
is_escaped(const struct jinja_value *v)
{
	return v->type == J_STR && v->markup;
}

enum binary { B_NONE, B_EQ, B_NE, B_LT, B_LE, B_GT, B_GE, B_IN, B_DIVISIBLE, B_SAME };

static const struct test {
	const char *name;
	bool (*fn)(const struct jinja_value *v);
	enum binary op;			/* those with an operand */
} tests[] = {
	{ "defined", is_defined, 0 }, { "undefined", is_undefined, 0 }, { "none", is_none, 0 },
	{ "string", is_string, 0 }, { "mapping", is_mapping, 0 },
	{ "sequence", is_sequence, 0 }, { "iterable", is_iterable, 0 },
	{ "boolean", is_boolean, 0 }, { "true", is_true, 0 }, { "false", is_false, 0 },
	{ "number", jinja_is_num, 0 }, { "integer", is_integer, 0 }, { "float", is_float, 0 },
	{ "odd", is_odd, 0 }, { "even", is_even, 0 }, { "callable", is_callable, 0 },
	{ "escaped", is_escaped, 0 },
	{ "eq", NULL, B_EQ }, { "equalto", NULL, B_EQ }, { "==", NULL, B_EQ },
	{ "ne", NULL, B_NE }, { "!=", NULL, B_NE },
	{ "lt", NULL, B_LT }, { "lessthan", NULL, B_LT }, { "<", NULL, B_LT },
	{ "le", NULL, B_LE }, { "<=", NULL, B_LE },
	{ "gt", NULL, B_GT }, { "greaterthan", NULL, B_GT }, { ">", NULL, B_GT },
	{ "ge", NULL, B_GE }, { ">=", NULL, B_GE },
	{ "in", NULL, B_IN }, { "divisibleby", NULL, B_DIVISIBLE }, { "sameas", NULL, B_SAME },
};

static const struct test *
find(const char *name)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return NULL;
}

static bool
binary_test(struct jinja_ctx *c, enum binary op, const struct jinja_value *a,
	    const struct jinja_value *b)
{
	int order;

	if (op == B_EQ || op == B_NE)
		return jinja_equal(c, a, b) == (op == B_EQ);
	if (op == B_SAME)
		return a->type == b->type && jinja_equal(c, a, b);
	if (op == B_IN)
		return jinja_contains(c, b, a);
	if (op == B_DIVISIBLE) {
		if (a->type != J_INT || b->type != J_INT || b->i == 0)
			jinja_fail(c, TB_EFORMAT, "divisibleby of what are no numbers");
		return jinja_ok(c) && (b->i == -1 || a->i % b->i == 0);
	}
	order = jinja_compare(c, a, b);
	return op == B_LT ? order < 0 : op == B_LE ? order <= 0 : op == B_GT ? order > 0
								 : order >= 0;
}

bool
jinja_test(struct jinja_ctx *c, const char *name, const struct jinja_value *of,
	   const struct jinja_args *args)
{
	const struct test *t = find(name);

	if (!t)
		jinja_fail(c, TB_EUNSUP, "test \"%.60s\" is not supported", name);
	if (!jinja_ok(c))
		return false;
	if (t->fn)
		return t->fn(of);
	if (!args->n) {
		jinja_fail(c, TB_EFORMAT, "test \"%s\" lacks what to compare with", name);
		return false;
	}
	return binary_test(c, t->op, of, &args->v[0]);
}

static struct jinja_value
g_raise(struct jinja_ctx *c, const struct jinja_value *self, const struct jinja_args *args)
{
	struct jinja_value what = jinja_text("");

	(void)self;
	if (args->n)
		what = jinja_to_str(c, &args->v[0]);
	jinja_fail(c, TB_EFORMAT, "%.300s", what.str.s);
	return jinja_none();
}

static struct jinja_value
g_namespace(struct jinja_ctx *c, const struct jinja_value *self, const struct jinja_args *args)
{
	struct jinja_value out = jinja_dict(c);

	(void)self;
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
	return out;
}

static struct jinja_value
g_new_namespace(struct jinja_ctx *c, const struct jinja_value *self,
		const struct jinja_args *args)
{
	struct jinja_value out = g_namespace(c, self, args);

	out.type = J_NAMESPACE;
	return out;
}

static struct jinja_value
g_range(struct jinja_ctx *c, const struct jinja_value *self, const struct jinja_args *args)
{
	int64_t at[3] = { 0, 0, 1 };
	struct jinja_value out = jinja_list(c);

	(void)self;
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
static struct jinja_value
g_strftime_now(struct jinja_ctx *c, const struct jinja_value *self, const struct jinja_args *args)
{
	const struct jinja_value *format = jinja_arg_str(c, args, 0, "format");
	time_t now = (time_t)(tb_now_ns() / 1000000000);
	char text[256];
	struct tm tm;

	(void)self;
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
	static const struct { const char *name; jinja_fn *fn; } functions[] = {
		{ "raise_exception", g_raise }, { "namespace", g_new_namespace },
		{ "dict", g_namespace }, { "range", g_range },
		{ "strftime_now", g_strftime_now },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		struct jinja_func *f = jinja_get(c, sizeof(*f));

		if (!f)
			return;
		*f = (struct jinja_func){ functions[i].name, functions[i].fn, jinja_none() };
		jinja_set(c, s, f->name, (struct jinja_value){ .type = J_FUNC, .func = f });
	}
}
