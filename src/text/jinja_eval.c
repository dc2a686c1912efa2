#include "config.h"

#include <math.h>
#include <string.h>

#include "src/text/jinja.h"

static const struct jinja_value *
lookup(const struct jinja_scope *s, const char *name)
{
	for (; s; s = s->up)
		for (size_t i = 0; i < s->vars.n; i++)
			if (!strcmp(s->vars.v[i].key.str.s, name))
				return &s->vars.v[i].value;
	return NULL;
}

void
jinja_set(struct jinja_ctx *c, struct jinja_scope *s, const char *name, struct jinja_value v)
{
	jinja_put(c, &s->vars, jinja_text(name), v);
}

static void
undefined_error(struct jinja_ctx *c, const struct jinja_value *v)
{
	jinja_fail(c, TB_EFORMAT, "'%.80s' is undefined", v->str.s);
}

static struct jinja_value
attr(struct jinja_ctx *c, const struct jinja_value *of, const char *name)
{
	struct jinja_value key = jinja_text(name);
	const struct jinja_value *hit;
	const struct jinja_builtin *method;

	if (of->type == J_UNDEFINED) {
		undefined_error(c, of);
		return *of;
	}
	method = jinja_method(of, name);
	if (method) {
		struct jinja_func *f = jinja_get(c, sizeof(*f));

		if (!f)
			return jinja_none();
		*f = (struct jinja_func){ method, *of };
		return (struct jinja_value){ .type = J_FUNC, .func = f };
	}
	if (of->type == J_DICT || of->type == J_NAMESPACE) {
		hit = jinja_find(c, of->dict, &key);
		if (hit)
			return *hit;
	}
	return jinja_undefined(name);
}

/* Python's slice.indices(): where to start and how many there are. */
static int64_t
slice_range(struct jinja_ctx *c, const struct jinja_value part[3], int64_t n, int64_t *start,
	    int64_t *step)
{
	int64_t at[2], low, high;

	*step = part[2].type == J_INT ? part[2].i : 1;
	if (!*step || *step < -n - 1)
		*step = *step ? -n - 1 : 0;
	if (!*step)
		jinja_fail(c, TB_EFORMAT, "the step of a slice is 0");
	low = *step < 0 ? -1 : 0;
	high = *step < 0 ? n - 1 : n;
	for (unsigned i = 0; i < 2; i++) {
		if (part[i].type == J_INT) {
			at[i] = part[i].i < 0 ? part[i].i + n : part[i].i;
			at[i] = at[i] < low ? low : at[i] > high ? high : at[i];
		} else {
			at[i] = (i == 0) == (*step > 0) ? low : high;
		}
	}
	*start = at[0];
	if (!jinja_ok(c))
		return 0;
	if (*step > 0)
		return at[1] > at[0] ? (at[1] - at[0] - 1) / *step + 1 : 0;
	return at[0] > at[1] ? (at[0] - at[1] - 1) / -*step + 1 : 0;
}

static size_t
char_offset(const struct jinja_value *str, int64_t chars)
{
	size_t i = 0;

	for (; i < str->str.len; i++)
		if (((uint8_t)str->str.s[i] & 0xc0) != 0x80 && chars-- == 0)
			break;
	return i;
}

static struct jinja_value
slice_str(struct jinja_ctx *c, const struct jinja_value *str, int64_t start, int64_t count,
	  int64_t step)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	struct jinja_list *chars;

	if (step == 1) {
		size_t from = char_offset(str, start), to = char_offset(str, start + count);

		return jinja_copy(c, str->str.s + from, to - from);
	}
	chars = jinja_iterate(c, str);
	for (int64_t i = 0; i < count && jinja_step(c, 1); i++) {
		const struct jinja_value *ch = &chars->v[start + i * step];

		tb_buf_add(&out, ch->str.s, ch->str.len);
	}
	return jinja_take(c, &out);
}

static struct jinja_value
slice(struct jinja_ctx *c, const struct jinja_value *of, const struct jinja_value part[3])
{
	struct jinja_value out;
	int64_t start, step, count;

	if (of->type == J_UNDEFINED) {
		undefined_error(c, of);
		return *of;
	}
	if ((of->type != J_LIST || of->list->lazy) && of->type != J_STR)
		return jinja_undefined("slice");
	count = slice_range(c, part, jinja_len(c, of), &start, &step);
	if (of->type == J_STR)
		return jinja_markup_like(of, slice_str(c, of, start, count, step));
	out = jinja_list(c);
	out.list->tuple = of->list->tuple;
	for (int64_t i = 0; i < count && jinja_step(c, 1); i++)
		jinja_push(c, out.list, of->list->v[start + i * step]);
	return out;
}

struct jinja_value
jinja_item(struct jinja_ctx *c, const struct jinja_value *of, const struct jinja_value *key)
{
	const struct jinja_value *hit;

	if (of->type == J_UNDEFINED) {
		undefined_error(c, of);
		return *of;
	}
	if (of->type == J_DICT) {
		hit = jinja_find(c, of->dict, key);
		if (hit)
			return *hit;
	}
	if (of->type == J_LIST && of->list->lazy)
		return jinja_undefined("item");
	if (key->type == J_INT && (of->type == J_LIST || of->type == J_STR)) {
		int64_t n = jinja_len(c, of), i = key->i < 0 ? key->i + n : key->i;

		if (i < 0 || i >= n)
			return jinja_undefined("list item");
		if (of->type == J_LIST)
			return of->list->v[i];
		return slice(c, of, (const struct jinja_value[]){ jinja_int(i),
						jinja_int(i + 1), jinja_none() });
	}
	return key->type == J_STR ? attr(c, of, key->str.s) : jinja_undefined("item");
}

static struct jinja_value
join_text(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	jinja_print(c, a, &out);
	jinja_print(c, b, &out);
	jinja_step(c, out.len / 256);
	return jinja_take(c, &out);
}

/* If one is marked, the sum is, and the other one is escaped. */
static struct jinja_value
add_texts(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b)
{
	struct jinja_value x, y;

	if (!a->markup && !b->markup)
		return join_text(c, a, b);
	x = jinja_escape(c, a);
	y = jinja_escape(c, b);
	return jinja_markup_like(&x, join_text(c, &x, &y));
}

static struct jinja_value
repeated(struct jinja_ctx *c, const struct jinja_value *of, int64_t times)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	struct jinja_value list;

	if (of->type == J_STR) {
		for (int64_t i = 0; i < times && of->str.len && jinja_step(c, 1) &&
		     !tb_buf_failed(&out); i++)
			tb_buf_add(&out, of->str.s, of->str.len);
		return jinja_markup_like(of, jinja_take(c, &out));
	}
	list = jinja_list(c);
	list.list->tuple = of->list->tuple;
	for (int64_t i = 0; i < times && of->list->n && jinja_ok(c); i++)
		for (size_t k = 0; k < of->list->n && jinja_step(c, 1); k++)
			jinja_push(c, list.list, of->list->v[k]);
	return list;
}

static struct jinja_value
joined_lists(struct jinja_ctx *c, const struct jinja_list *a, const struct jinja_list *b)
{
	struct jinja_value out = jinja_list(c);

	out.list->tuple = a->tuple;
	for (size_t i = 0; i < a->n && jinja_step(c, 1); i++)
		jinja_push(c, out.list, a->v[i]);
	for (size_t i = 0; i < b->n && jinja_step(c, 1); i++)
		jinja_push(c, out.list, b->v[i]);
	return out;
}

static struct jinja_value
float_op(struct jinja_ctx *c, const char *op, double a, double b)
{
	if ((*op == '/' || *op == '%') && b == 0)
		jinja_fail(c, TB_EFORMAT, "division by zero");
	switch (*op) {
	case '+':
		return jinja_float(a + b);
	case '-':
		return jinja_float(a - b);
	case '/':
		return jinja_float(op[1] ? floor(a / b) : a / b);
	case '%':
		return jinja_float(a - b * floor(a / b));
	default:
		return jinja_float(op[1] ? pow(a, b) : a * b);
	}
}

/* Python's // and % round towards minus infinity. */
static struct jinja_value
int_op(struct jinja_ctx *c, const char *op, int64_t a, int64_t b)
{
	int64_t out = 0;
	bool over = false;

	if (!strcmp(op, "+")) {
		over = __builtin_add_overflow(a, b, &out);
	} else if (!strcmp(op, "-")) {
		over = __builtin_sub_overflow(a, b, &out);
	} else if (!strcmp(op, "*")) {
		over = __builtin_mul_overflow(a, b, &out);
	} else if (!strcmp(op, "**") && b >= 0) {
		out = 1;
		for (int64_t i = 0; i < b && i < 64; i++)
			over |= __builtin_mul_overflow(out, a, &out);
		over |= b > 64 && (a < -1 || a > 1);
	} else if ((!strcmp(op, "//") || !strcmp(op, "%")) && b && b != -1) {
		bool down = a % b && (a < 0) != (b < 0);

		out = op[0] == '/' ? a / b - down : a % b + (down ? b : 0);
	} else if ((!strcmp(op, "//") || !strcmp(op, "%")) && b) {
		over = op[0] == '/' && __builtin_sub_overflow(0, a, &out);
	} else {
		return float_op(c, op, (double)a, (double)b);
	}
	if (over)
		jinja_fail(c, TB_ELIMIT, "a number is too large");
	return jinja_int(out);
}

static int64_t
as_int(const struct jinja_value *v)
{
	return v->type == J_BOOL ? v->b : v->i;
}

static bool
is_int(const struct jinja_value *v)
{
	return v->type == J_INT || v->type == J_BOOL;
}

static struct jinja_value
operate(struct jinja_ctx *c, const char *op, const struct jinja_value *a,
	const struct jinja_value *b)
{
	if (*op == '~')
		return join_text(c, a, b);
	if (jinja_is_num(a) && jinja_is_num(b))
		return a->type == J_FLOAT || b->type == J_FLOAT
			       ? float_op(c, op, jinja_num(a), jinja_num(b))
			       : int_op(c, op, as_int(a), as_int(b));
	if (!strcmp(op, "+") && a->type == J_STR && b->type == J_STR)
		return add_texts(c, a, b);
	if (!strcmp(op, "+") && a->type == J_LIST && b->type == J_LIST)
		return joined_lists(c, a->list, b->list);
	if (!strcmp(op, "*") && (a->type == J_STR || a->type == J_LIST) && is_int(b))
		return repeated(c, a, as_int(b));
	if (!strcmp(op, "*") && (b->type == J_STR || b->type == J_LIST) && is_int(a))
		return repeated(c, b, as_int(a));
	if (a->type == J_UNDEFINED || b->type == J_UNDEFINED)
		undefined_error(c, a->type == J_UNDEFINED ? a : b);
	if (!strcmp(op, "%") && a->type == J_STR)
		jinja_fail(c, TB_EUNSUP, "formatting with %% is not supported");
	jinja_fail(c, TB_EFORMAT, "%s %s %s has no meaning", jinja_type_name(a), op,
		   jinja_type_name(b));
	return jinja_none();
}

static bool
compare_one(struct jinja_ctx *c, const char *op, const struct jinja_value *a,
	    const struct jinja_value *b)
{
	int order;

	if (!strcmp(op, "=="))
		return jinja_equal(c, a, b);
	if (!strcmp(op, "!="))
		return !jinja_equal(c, a, b);
	if (!strcmp(op, "in"))
		return jinja_contains(c, b, a);
	if (!strcmp(op, "not in"))
		return !jinja_contains(c, b, a);
	order = jinja_compare(c, a, b);
	if (*op == '<')
		return op[1] ? order <= 0 : order < 0;
	return op[1] ? order >= 0 : order > 0;
}

static bool
eval_compare(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value a = jinja_eval(c, s, n->a), b;

	for (const struct jinja_node *part = n->list; part && jinja_ok(c); part = part->next) {
		b = jinja_eval(c, s, part->a);
		if (!jinja_ok(c) || !compare_one(c, part->name, &a, &b))
			return false;
		a = b;
	}
	return jinja_ok(c);
}

static struct jinja_value
make_list(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value out = jinja_list(c);

	out.list->tuple = n->type == N_TUPLE;
	for (const struct jinja_node *i = n->list; i && jinja_ok(c); i = i->next)
		jinja_push(c, out.list, jinja_eval(c, s, i));
	return out;
}

static struct jinja_value
make_dict(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value out = jinja_dict(c);

	for (const struct jinja_node *i = n->list; i && jinja_ok(c); i = i->next) {
		struct jinja_value key = jinja_eval(c, s, i->a);

		jinja_put(c, out.dict, key, jinja_eval(c, s, i->b));
	}
	return out;
}

static struct jinja_args
make_args(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *list)
{
	struct jinja_args args = { 0 };
	size_t n = 0;

	for (const struct jinja_node *i = list; i; i = i->next)
		n++;
	args.v = jinja_get(c, (n + 1) * sizeof(*args.v));
	args.names = jinja_get(c, (n + 1) * sizeof(*args.names));
	for (; list && jinja_ok(c); list = list->next, args.n++) {
		args.names[args.n] = list->type == N_KEYWORD ? list->name : NULL;
		args.v[args.n] = jinja_eval(c, s, list->type == N_KEYWORD ? list->a : list);
	}
	return args;
}

const struct jinja_value *
jinja_arg(const struct jinja_args *args, size_t i, const char *name)
{
	for (size_t k = 0; k < args->n; k++)
		if (args->names[k] ? !strcmp(args->names[k], name) : k == i)
			return &args->v[k];
	return NULL;
}

const struct jinja_value *
jinja_arg_str(struct jinja_ctx *c, const struct jinja_args *args, size_t i, const char *name)
{
	const struct jinja_value *v = jinja_arg(args, i, name);

	if (v && v->type != J_STR) {
		jinja_fail(c, TB_EFORMAT, "%s is a %s, not a str", name, jinja_type_name(v));
		return NULL;
	}
	return v;
}

static struct jinja_value
call(struct jinja_ctx *c, const struct jinja_value *fn, const struct jinja_args *args)
{
	if (!jinja_ok(c))
		return jinja_none();
	if (fn->type == J_FUNC)
		return jinja_markup_like(&fn->func->self,
					 fn->func->is->fn(c, &fn->func->self, args, fn->func->is->how));
	if (fn->type == J_MACRO)
		return jinja_call_macro(c, fn->macro, args);
	if (fn->type == J_UNDEFINED)
		undefined_error(c, fn);
	jinja_fail(c, TB_EFORMAT, "a %s cannot be called", jinja_type_name(fn));
	return jinja_none();
}

static struct jinja_value
eval_call(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value fn = jinja_eval(c, s, n->a);
	struct jinja_args args;

	if (!jinja_ok(c))
		return jinja_none();
	args = make_args(c, s, n->list);
	c->line = n->line;
	return call(c, &fn, &args);
}

static struct jinja_value
eval_slice(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value of = jinja_eval(c, s, n->a);
	const struct jinja_node *const from[3] = { n->b, n->c, n->other };
	struct jinja_value part[3];

	for (unsigned i = 0; i < 3; i++) {
		part[i] = from[i] ? jinja_eval(c, s, from[i]) : jinja_none();
		if (part[i].type != J_NONE && part[i].type != J_INT)
			jinja_fail(c, TB_EFORMAT, "a slice from %s", jinja_type_name(&part[i]));
	}
	return jinja_ok(c) ? slice(c, &of, part) : jinja_none();
}

static struct jinja_value
eval_sign(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value v = jinja_eval(c, s, n->a), zero = jinja_int(0);

	if (jinja_ok(c) && !jinja_is_num(&v))
		jinja_fail(c, TB_EFORMAT, "a sign before a %s", jinja_type_name(&v));
	if (!jinja_ok(c) || n->type == N_POS)
		return v;
	return v.type == J_FLOAT ? jinja_float(-v.f) : operate(c, "-", &zero, &v);
}

/* Filters and tests: the operand, then the arguments. */
static struct jinja_value
eval_named(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value of = jinja_eval(c, s, n->a);
	struct jinja_args args = make_args(c, s, n->list);

	c->line = n->line;
	if (!jinja_ok(c))
		return jinja_none();
	if (n->type == N_FILTER)
		return jinja_filter(c, n->name, &of, &args);
	return jinja_bool(jinja_test(c, n->name, &of, &args) != n->flag);
}

static struct jinja_value
eval_logic(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value a;

	if (n->type == N_COND) {
		a = jinja_eval(c, s, n->b);
		if (jinja_true(&a))
			return jinja_eval(c, s, n->a);
		return n->c ? jinja_eval(c, s, n->c) : jinja_undefined("inline if without else");
	}
	a = jinja_eval(c, s, n->a);
	if (n->type == N_NOT)
		return jinja_bool(!jinja_true(&a));
	return jinja_true(&a) == (n->type == N_AND) ? jinja_eval(c, s, n->b) : a;
}

static struct jinja_value
eval_two(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value a = jinja_eval(c, s, n->a), b = jinja_eval(c, s, n->b);

	c->line = n->line;
	if (!jinja_ok(c))
		return jinja_none();
	return n->type == N_ITEM ? jinja_item(c, &a, &b) : operate(c, n->name, &a, &b);
}

static struct jinja_value
eval_any(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	const struct jinja_value *hit;
	struct jinja_value v;

	switch (n->type) {
	case N_CONST:
		return n->value;
	case N_NAME:
		hit = lookup(s, n->name);
		return hit ? *hit : jinja_undefined(n->name);
	case N_LIST:
	case N_TUPLE:
		return make_list(c, s, n);
	case N_DICT:
		return make_dict(c, s, n);
	case N_ATTR:
		v = jinja_eval(c, s, n->a);
		return jinja_ok(c) ? attr(c, &v, n->name) : v;
	case N_ITEM:
	case N_OP:
		return eval_two(c, s, n);
	case N_SLICE:
		return eval_slice(c, s, n);
	case N_CALL:
		return eval_call(c, s, n);
	case N_FILTER:
	case N_TEST:
		return eval_named(c, s, n);
	case N_NEG:
	case N_POS:
		return eval_sign(c, s, n);
	case N_NOT:
	case N_AND:
	case N_OR:
	case N_COND:
		return eval_logic(c, s, n);
	case N_COMPARE:
		return jinja_bool(eval_compare(c, s, n));
	default:
		jinja_fail(c, TB_EUNSUP, "no expression");
		return jinja_none();
	}
}

struct jinja_value
jinja_eval(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_value v = jinja_none();

	if (!jinja_step(c, 1))
		return v;
	c->line = n->line;
	if (c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "the template calls itself too deeply");
	else
		v = eval_any(c, s, n);
	c->depth--;
	return v;
}
