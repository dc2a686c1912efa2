/* go_run.c - a Go template's actions: text, if, with, range, template. */
#include "config.h"

#include <string.h>

#include "src/text/go.h"

static void run_list(struct go_exec *x, struct go_value dot, const struct go_node *list);

static void
run_branch(struct go_exec *x, struct go_value dot, const struct go_node *n)
{
	size_t mark = x->nvars;
	struct go_value v = go_eval_pipe(x, dot, n->pipe);

	if (jinja_ok(x->c) && go_true(v))
		run_list(x, n->type == GN_WITH ? v : dot, n->body);
	else if (n->other)
		run_list(x, dot, n->other);
	x->nvars = mark;
}

/* One round of a range; false: it was the last. */
static bool
run_round(struct go_exec *x, const struct go_node *n, struct go_value index, struct go_value item)
{
	const struct go_node *pipe = n->pipe;
	size_t mark = x->nvars;

	if (!jinja_step(x->c, 1))
		return false;
	if (pipe->assigns) {
		go_assign(x, pipe->decl[0], pipe->ndecl > 1 ? index : item);
		if (pipe->ndecl > 1)
			go_assign(x, pipe->decl[1], item);
	} else {
		if (pipe->ndecl)
			x->vars[mark - 1].value = item;
		if (pipe->ndecl > 1)
			x->vars[mark - 2].value = index;
	}
	run_list(x, item, n->body);
	x->nvars = mark;
	if (x->c->jump == JUMP_BREAK)
		return false;
	x->c->jump = JUMP_NONE;
	return true;
}

static void
run_rounds(struct go_exec *x, const struct go_node *n, struct go_value over)
{
	switch (over.type) {
	case GO_LIST:
		for (size_t i = 0; i < over.list->n; i++)
			if (!run_round(x, n, go_int((int64_t)i), over.list->v[i]))
				break;
		break;
	case GO_MAP:
		for (size_t i = 0; i < over.map->n; i++)
			if (!run_round(x, n, go_str(over.map->v[i].key, over.map->v[i].len),
				       over.map->v[i].value))
				break;
		break;
	default:
		for (int64_t i = 0; i < over.i; i++)
			if (!run_round(x, n, GO_NO_VALUE, go_int(i)))
				break;
	}
	x->c->jump = JUMP_NONE;
}

static void
run_range(struct go_exec *x, struct go_value dot, const struct go_node *n)
{
	size_t mark = x->nvars;
	struct go_value over = go_eval_pipe(x, dot, n->pipe);
	bool some = false;

	if (!jinja_ok(x->c))
		return;
	if (over.type == GO_LIST || over.type == GO_MAP)
		some = go_true(over);
	else if (over.type == GO_INT && n->pipe->ndecl < 2)
		some = over.i > 0;
	else if (over.type != GO_NOTHING)
		jinja_fail(x->c, TB_EFORMAT, "range cannot go over a %s%s", go_type_name(over),
			   over.type == GO_INT ? " with two variables" : "");
	if (some)
		run_rounds(x, n, over);
	else if (n->other)
		run_list(x, dot, n->other);
	x->nvars = mark;
}

static void
run_template(struct go_exec *x, struct go_value dot, const struct go_node *n)
{
	const struct go_tree *t = x->t->trees;
	size_t base = x->base, nvars;

	for (; t; t = t->next)
		if (!jinja_step(x->c, 1) || (t->len == n->len && !memcmp(t->name, n->s, n->len)))
			break;
	if (!t) {
		jinja_fail(x->c, TB_EFORMAT, "the template \"%.60s\" is not defined", n->s);
		return;
	}
	dot = n->pipe ? go_eval_pipe(x, dot, n->pipe) : GO_NO_VALUE;
	nvars = x->nvars;
	x->base = nvars;
	go_declare(x, "$", dot);
	run_list(x, dot, t->root);
	x->base = base;
	x->nvars = nvars;
}

static void
run_node(struct go_exec *x, struct go_value dot, const struct go_node *n)
{
	struct go_value v;

	x->c->line = n->line;
	switch (n->type) {
	case GN_TEXT:
		tb_buf_add(x->out, n->s, n->len);
		break;
	case GN_ACTION:
		v = go_eval_pipe(x, dot, n->pipe);
		if (jinja_ok(x->c) && !n->pipe->ndecl)
			go_print(x->c, v, x->out);
		break;
	case GN_IF:
	case GN_WITH:
		run_branch(x, dot, n);
		break;
	case GN_RANGE:
		run_range(x, dot, n);
		break;
	case GN_TEMPLATE:
		run_template(x, dot, n);
		break;
	default:
		x->c->jump = n->type == GN_BREAK ? JUMP_BREAK : JUMP_CONTINUE;
	}
}

static void
run_list(struct go_exec *x, struct go_value dot, const struct go_node *list)
{
	if (x->last && list->dropped)
		return;
	if (x->c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(x->c, TB_ELIMIT, "the template calls itself too deeply");
	for (const struct go_node *n = list->first; n && !x->c->jump && jinja_step(x->c, 1);
	     n = n->next)
		if (!x->last || !n->dropped)
			run_node(x, dot, n);
	if (tb_buf_failed(x->out))
		jinja_fail(x->c, x->out->over ? TB_ELIMIT : TB_ENOMEM,
			   x->out->over ? "the text is too long" : "out of memory");
	x->c->depth--;
}

void
go_execute(struct jinja_ctx *c, const struct go_template *t, struct go_value data, bool last,
	   struct tb_buf *out)
{
	struct go_exec x = { .c = c, .t = t, .out = out, .last = last };

	go_declare(&x, "$", data);
	run_list(&x, data, t->root);
}
