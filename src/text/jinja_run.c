#include "config.h"

#include <string.h>

#include "src/text/jinja.h"

static void
assign(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *target,
       struct jinja_value v)
{
	struct jinja_list *l;
	size_t i = 0;

	if (target->type == N_NAME) {
		jinja_set(c, s, target->name, v);
	} else if (target->type == N_ATTR) {
		struct jinja_value of = jinja_eval(c, s, target->a);

		if (of.type == J_NAMESPACE)
			jinja_put(c, of.dict, jinja_text(target->name), v);
		else
			jinja_fail(c, TB_EFORMAT, "cannot set an attribute of a %s",
				   jinja_type_name(&of));
	} else {
		l = jinja_iterate(c, &v);
		for (target = target->list; target && i < l->n; target = target->next)
			assign(c, s, target, l->v[i++]);
		if (target || i < l->n)
			jinja_fail(c, TB_EFORMAT, "%zu values do not fit the names", l->n);
	}
}

static struct jinja_scope *
inner_scope(struct jinja_ctx *c, struct jinja_scope *up)
{
	struct jinja_scope *s = jinja_get(c, sizeof(*s));

	if (s)
		s->up = up;
	return s;
}

static JINJA_FN(loop_cycle)
{
	if (!args->n) {
		jinja_fail(c, TB_EFORMAT, "cycle() of nothing");
		return jinja_none();
	}
	return args->v[(size_t)self->dict->v[0].value.i % args->n];	/* index0 comes first */
}

enum { LOOP_INDEX0, LOOP_INDEX, LOOP_FIRST, LOOP_LAST, LOOP_REVINDEX, LOOP_REVINDEX0,
       LOOP_LENGTH, LOOP_PREV, LOOP_NEXT, LOOP_DEPTH, LOOP_DEPTH0, LOOP_FIELDS };

/* The variable "loop": its fields in the order of the enum, then cycle(). */
static struct jinja_value
make_loop(struct jinja_ctx *c, const struct jinja_list *l)
{
	static const char *const names[LOOP_FIELDS] = { "index0", "index", "first", "last",
		"revindex", "revindex0", "length", "previtem", "nextitem", "depth", "depth0" };
	static const struct jinja_builtin is = { "cycle", loop_cycle, 0 };
	struct jinja_value loop = jinja_dict(c);
	struct jinja_func *cycle = jinja_get(c, sizeof(*cycle));

	for (unsigned i = 0; i < LOOP_FIELDS; i++)
		jinja_put(c, loop.dict, jinja_text(names[i]), jinja_int(0));
	if (!cycle || !jinja_ok(c))
		return loop;
	loop.dict->v[LOOP_LENGTH].value = jinja_int((int64_t)l->n);
	loop.dict->v[LOOP_DEPTH].value = jinja_int(1);
	*cycle = (struct jinja_func){ &is, loop };
	jinja_put(c, loop.dict, jinja_text("cycle"),
		  (struct jinja_value){ .type = J_FUNC, .func = cycle });
	return loop;
}

static void
set_loop(struct jinja_dict *loop, const struct jinja_list *l, size_t i)
{
	struct jinja_pair *v = loop->v;
	int64_t at = (int64_t)i, n = (int64_t)l->n;

	v[LOOP_INDEX0].value = jinja_int(at);
	v[LOOP_INDEX].value = jinja_int(at + 1);
	v[LOOP_FIRST].value = jinja_bool(i == 0);
	v[LOOP_LAST].value = jinja_bool(at + 1 == n);
	v[LOOP_REVINDEX].value = jinja_int(n - at);
	v[LOOP_REVINDEX0].value = jinja_int(n - at - 1);
	v[LOOP_PREV].value = i ? l->v[i - 1] : jinja_undefined("previtem");
	v[LOOP_NEXT].value = at + 1 < n ? l->v[i + 1] : jinja_undefined("nextitem");
}

/* The items for which the loop's "if" holds. */
static struct jinja_list *
filtered(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n,
	 struct jinja_list *all)
{
	struct jinja_value out = jinja_list(c);

	for (size_t i = 0; i < all->n && jinja_ok(c); i++) {
		struct jinja_scope inner = { .up = s };
		struct jinja_value keep;

		assign(c, &inner, n->a, all->v[i]);
		keep = jinja_eval(c, &inner, n->c);
		if (jinja_true(&keep))
			jinja_push(c, out.list, all->v[i]);
	}
	return out.list;
}

static void
run_for(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n, struct tb_buf *out)
{
	struct jinja_value over = jinja_eval(c, s, n->b), loop;
	struct jinja_list *l = jinja_ok(c) ? jinja_iterate(c, &over) : NULL;

	if (l && n->c)
		l = filtered(c, s, n, l);
	if (!l || !jinja_ok(c))
		return;
	if (!l->n) {
		if (n->other)
			jinja_run(c, s, n->other, out);
		return;
	}
	loop = make_loop(c, l);
	for (size_t i = 0; i < l->n && jinja_step(c, 1) && c->jump != JUMP_BREAK; i++) {
		struct jinja_scope *inner = inner_scope(c, s);

		if (!inner)
			return;
		set_loop(loop.dict, l, i);
		jinja_set(c, inner, "loop", loop);
		assign(c, inner, n->a, l->v[i]);
		c->jump = JUMP_NONE;
		jinja_run(c, inner, n->list, out);
	}
	c->jump = JUMP_NONE;
}

/* A body's text. */
static struct jinja_value
captured(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *body)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	jinja_run(c, s, body, &text);
	return jinja_take(c, &text);
}

static struct jinja_value
block_value(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n)
{
	struct jinja_scope inner = { .up = s };
	struct jinja_scope *body = inner_scope(c, s);

	if (!body)
		return jinja_none();
	jinja_set(c, &inner, "", captured(c, body, n->list));
	return jinja_ok(c) ? jinja_eval(c, &inner, n->b) : jinja_none();
}

static void
bind_params(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *param,
	    const struct jinja_args *args, const char *name)
{
	size_t i = 0, known = 0;

	for (const struct jinja_node *p = param; p && jinja_ok(c); p = p->next, i++) {
		const struct jinja_value *v = jinja_arg(args, i, p->name);

		known += v != NULL;
		jinja_set(c, s, p->name, v ? *v : p->a ? jinja_eval(c, s, p->a)
						       : jinja_undefined(p->name));
	}
	if (jinja_ok(c) && known < args->n)
		jinja_fail(c, TB_EFORMAT, "macro \"%.60s\" is called with arguments that it does "
			   "not take", name);
}

static JINJA_FN(macro_caller)
{
	const struct jinja_macro *m = self->macro;
	struct jinja_scope *inner = inner_scope(c, m->caller_scope);

	if (!inner)
		return jinja_none();
	bind_params(c, inner, m->caller->b, args, "caller");
	return captured(c, inner, m->caller->list);
}

struct jinja_value
jinja_call_macro(struct jinja_ctx *c, const struct jinja_macro *m, const struct jinja_args *args)
{
	static const struct jinja_builtin is = { "caller", macro_caller, 0 };
	struct jinja_scope *inner = inner_scope(c, m->scope);
	struct jinja_func *caller;

	if (!inner)
		return jinja_none();
	bind_params(c, inner, m->def->a, args, m->def->name);
	caller = m->caller ? jinja_get(c, sizeof(*caller)) : NULL;
	if (caller) {
		*caller = (struct jinja_func){ &is, { .type = J_MACRO,
						      .macro = (struct jinja_macro *)m } };
		jinja_set(c, inner, "caller", (struct jinja_value){ .type = J_FUNC,
								    .func = caller });
	}
	return captured(c, inner, m->def->list);
}

/* {% call macro(…) %}: the macro once more, knowing its caller. */
static void
run_call(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n, struct tb_buf *out)
{
	struct jinja_value fn = jinja_eval(c, s, n->a->a), v;
	struct jinja_macro *m = jinja_get(c, sizeof(*m));
	struct jinja_scope *inner = inner_scope(c, s);
	struct jinja_node *call = jinja_get(c, sizeof(*call)), *name = jinja_get(c, sizeof(*name));

	if (!jinja_ok(c))
		return;
	if (fn.type != J_MACRO) {
		jinja_fail(c, TB_EUNSUP, "call of a %s", jinja_type_name(&fn));
		return;
	}
	*m = *fn.macro;
	m->caller = n;
	m->caller_scope = s;
	jinja_set(c, inner, "", (struct jinja_value){ .type = J_MACRO, .macro = m });
	*name = (struct jinja_node){ .type = N_NAME, .line = n->line, .name = "" };
	*call = *n->a;
	call->a = name;
	v = jinja_eval(c, inner, call);
	jinja_print(c, &v, out);
}

static void
run_with(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n, struct tb_buf *out)
{
	struct jinja_scope *inner = inner_scope(c, s);

	if (!inner)
		return;
	for (const struct jinja_node *part = n->a; part && jinja_ok(c); part = part->next)
		assign(c, inner, part->a, jinja_eval(c, s, part->b));
	jinja_run(c, inner, n->list, out);
}

static void
run_if(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n, struct tb_buf *out)
{
	while (n && n->type == N_IF) {
		struct jinja_value v = jinja_eval(c, s, n->a);

		if (!jinja_ok(c))
			return;
		if (jinja_true(&v)) {
			jinja_run(c, s, n->list, out);
			return;
		}
		n = n->other;
	}
	if (n)
		jinja_run(c, s, n, out);
}

static void
run_one(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *n, struct tb_buf *out)
{
	struct jinja_macro *m;
	struct jinja_value v;

	c->line = n->line;
	switch (n->type) {
	case N_DATA:
		tb_buf_add(out, n->value.str.s, n->value.str.len);
		break;
	case N_OUTPUT:
		v = jinja_eval(c, s, n->a);
		if (jinja_ok(c))
			jinja_print(c, &v, out);
		break;
	case N_IF:
		run_if(c, s, n, out);
		break;
	case N_FOR:
		run_for(c, s, n, out);
		break;
	case N_SET:
	case N_SET_BLOCK:
		v = n->type == N_SET ? jinja_eval(c, s, n->b) : block_value(c, s, n);
		if (jinja_ok(c))
			assign(c, s, n->a, v);
		break;
	case N_FILTER_BLOCK:
		v = block_value(c, s, n);
		if (jinja_ok(c))
			jinja_print(c, &v, out);
		break;
	case N_MACRO:
		m = jinja_get(c, sizeof(*m));
		if (!m)
			break;
		*m = (struct jinja_macro){ .def = n, .scope = s };
		jinja_set(c, s, n->name, (struct jinja_value){ .type = J_MACRO, .macro = m });
		break;
	case N_CALL_BLOCK:
		run_call(c, s, n, out);
		break;
	case N_WITH:
		run_with(c, s, n, out);
		break;
	case N_BREAK:
	case N_CONTINUE:
		c->jump = n->type == N_BREAK ? JUMP_BREAK : JUMP_CONTINUE;
		break;
	default:
		jinja_run(c, s, n, out);
	}
}

void
jinja_run(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *body,
	  struct tb_buf *out)
{
	if (c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "the template calls itself too deeply");
	for (const struct jinja_node *n = body->list; n && !c->jump && jinja_step(c, 1);
	     n = n->next)
		run_one(c, s, n, out);
	if (tb_buf_failed(out))
		jinja_fail(c, out->over ? TB_ELIMIT : TB_ENOMEM,
			   out->over ? "the text is too long" : "out of memory");
	c->depth--;
}
