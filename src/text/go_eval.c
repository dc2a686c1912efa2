/* go_eval.c - pipelines of a Go template: commands, fields, variables, calls. */
#include "config.h"

#include <string.h>

#include "src/text/go.h"

#define ARGS_MAX 64

static struct go_value eval_operand(struct go_exec *x, struct go_value dot,
				    const struct go_node *n);

void
go_declare(struct go_exec *x, const char *name, struct go_value v)
{
	if (x->nvars - x->base > GO_VARS_MAX)
		jinja_fail(x->c, TB_ELIMIT, "more than %d variables", GO_VARS_MAX);
	else if (jinja_room(x->c, &x->vars, x->nvars, &x->cap, sizeof(*x->vars)))
		x->vars[x->nvars++] = (struct go_var){ name, v };
}

static struct go_var *
find_var(struct go_exec *x, const char *name)
{
	jinja_step(x->c, 1 + (x->nvars - x->base) / 8);
	for (size_t i = x->nvars; i > x->base; i--)
		if (!strcmp(x->vars[i - 1].name, name))
			return &x->vars[i - 1];
	jinja_fail(x->c, TB_EFORMAT, "the variable %.60s is not known", name);
	return NULL;
}

void
go_assign(struct go_exec *x, const char *name, struct go_value v)
{
	struct go_var *var = find_var(x, name);

	if (var)
		var->value = v;
}

static struct go_value
object_field(struct go_exec *x, const struct go_object *o, const char *name)
{
	for (size_t i = 0; i < o->is->n; i++)
		if (!strcmp(o->is->fields[i].name, name))
			return o->v[i];
	jinja_fail(x->c, TB_EFORMAT, "%s has no field .%.60s", o->is->name, name);
	return GO_NO_VALUE;
}

static struct go_value
eval_field(struct go_exec *x, struct go_value of, const char *name)
{
	const struct go_entry *e;

	switch (of.type) {
	case GO_NOTHING:
		return GO_NO_VALUE;
	case GO_STRUCT:
		return object_field(x, of.object, name);
	case GO_MAP:
		e = go_find(x->c, of.map, name, strlen(name));
		return e ? e->value : go_missing(x->c, of.map);
	case GO_NIL:
		jinja_fail(x->c, TB_EFORMAT, ".%.60s of nothing", name);
		return GO_NO_VALUE;
	default:
		jinja_fail(x->c, TB_EFORMAT, "a %s has no field .%.60s", go_type_name(of), name);
		return GO_NO_VALUE;
	}
}

static struct go_value
eval_fields(struct go_exec *x, struct go_value of, const struct go_node *n)
{
	for (size_t i = 0; i < n->nnames && jinja_ok(x->c); i++)
		of = eval_field(x, of, n->names[i]);
	return of;
}

/* and, or: the first argument that decides, else the last; those behind it are not looked
 * at. */
static struct go_value
eval_short(struct go_exec *x, struct go_value dot, const struct go_node *func,
	   const struct go_value *final)
{
	bool or = func->func->how;
	struct go_value v = GO_NO_VALUE;
	const struct go_node *n = func->next;

	if (!n && !final)
		jinja_fail(x->c, TB_EFORMAT, "%s of nothing", func->func->name);
	for (; n && jinja_ok(x->c); n = n->next) {
		if (x->last && n->dropped)
			continue;
		v = eval_operand(x, dot, n);
		if (go_true(v) == or)
			return v;
	}
	return final ? *final : v;
}

static void
check_text(struct go_exec *x, const struct go_builtin *f, const struct go_value *args, size_t n)
{
	for (size_t i = 0; f->texts && i < n && jinja_ok(x->c); i++)
		if (args[i].type != GO_STR && (*f->texts == '*' || !i))
			jinja_fail(x->c, TB_EFORMAT, "%s: a %s is no string", f->name,
				   go_type_name(args[i]));
}

/* The operands behind the function's name, and what comes through the pipe. */
static struct go_value
eval_call(struct go_exec *x, struct go_value dot, const struct go_node *func,
	  const struct go_value *final)
{
	const struct go_builtin *f = func->func;
	struct go_value args[ARGS_MAX];
	size_t n = 0;

	if (!f->fn)
		return eval_short(x, dot, func, final);
	for (const struct go_node *a = func->next; a && jinja_ok(x->c); a = a->next) {
		if (x->last && a->dropped)
			continue;
		if (n == ARGS_MAX - 1) {
			jinja_fail(x->c, TB_ELIMIT, "%s: too many arguments", f->name);
			return GO_NO_VALUE;
		}
		args[n++] = eval_operand(x, dot, a);
	}
	if (final)
		args[n++] = *final;
	x->c->line = func->line;
	if (jinja_ok(x->c) && (n < f->min || n > f->max))
		jinja_fail(x->c, TB_EFORMAT, "%s does not take %zu argument%s", f->name, n,
			   n == 1 ? "" : "s");
	check_text(x, f, args, n);
	return jinja_ok(x->c) ? f->fn(x->c, args, n, f->how) : GO_NO_VALUE;
}

static struct go_value
eval_func_alone(struct go_exec *x, struct go_value dot, const struct go_node *func)
{
	struct go_node alone = *func;

	alone.next = NULL;	/* what stands behind it is the other function's */
	return eval_call(x, dot, &alone, NULL);
}

/* A term with its fields. */
static struct go_value
eval_operand(struct go_exec *x, struct go_value dot, const struct go_node *n)
{
	const struct go_var *var;
	struct go_value v = GO_NO_VALUE;

	if (!jinja_step(x->c, 1))
		return v;
	x->c->line = n->line;
	switch (n->type) {
	case GN_DOT:
		return dot;
	case GN_NIL:
		return go_nil();
	case GN_CONST:
		return n->value;
	case GN_FIELD:
		return eval_fields(x, dot, n);
	case GN_VARIABLE:
		var = find_var(x, n->s);
		return var ? eval_fields(x, var->value, n) : v;
	case GN_CHAIN:
		if (n->pipe->type == GN_FUNC)
			v = eval_func_alone(x, dot, n->pipe);
		else
			v = eval_operand(x, dot, n->pipe);
		return eval_fields(x, v, n);
	case GN_FUNC:
		return eval_func_alone(x, dot, n);
	default:
		if (x->c->depth++ > JINJA_DEPTH_MAX)
			jinja_fail(x->c, TB_ELIMIT, "the template calls itself too deeply");
		else
			v = go_eval_pipe(x, dot, n);
		x->c->depth--;
		return v;
	}
}

static struct go_value
eval_command(struct go_exec *x, struct go_value dot, const struct go_node *cmd,
	     const struct go_value *final)
{
	const struct go_node *first = cmd->first, *second = first->next;

	while (second && x->last && second->dropped)
		second = second->next;
	if (first->type == GN_FUNC)
		return eval_call(x, dot, first, final);
	x->c->line = first->line;
	if (first->type == GN_NIL)
		jinja_fail(x->c, TB_EFORMAT, "nil is no command");
	else if (second || final)
		jinja_fail(x->c, TB_EFORMAT, "arguments for what is no function");
	return jinja_ok(x->c) ? eval_operand(x, dot, first) : GO_NO_VALUE;
}

struct go_value
go_eval_pipe(struct go_exec *x, struct go_value dot, const struct go_node *pipe)
{
	struct go_value v = GO_NO_VALUE, before;
	bool some = false;

	for (const struct go_node *cmd = pipe->first; cmd && jinja_ok(x->c); cmd = cmd->next) {
		if (x->last && cmd->dropped)
			continue;
		before = v;
		v = eval_command(x, dot, cmd, some ? &before : NULL);
		if (v.type == GO_NIL)
			v = GO_NO_VALUE;
		some = true;
	}
	for (unsigned i = 0; i < pipe->ndecl && jinja_ok(x->c); i++) {
		if (pipe->assigns)
			go_assign(x, pipe->decl[i], v);
		else
			go_declare(x, pipe->decl[i], v);
	}
	return v;
}
