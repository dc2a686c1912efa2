/* go_parse.c - a Go template's tokens as trees: one for the whole, one for each define and
 * block in it. */
#include "config.h"

#include <string.h>

#include "src/text/go.h"

struct go_parser {
	struct jinja_ctx *c;
	const struct go_token *t;	/* the current one */
	struct go_template *out;
	const char **vars;		/* that are known here */
	size_t nvars, cap, base;	/* base: of this tree */
	unsigned ranges;		/* that {{break}} may leave */
};

static struct go_node *go_parse_list(struct go_parser *p, struct go_node **end);
static struct go_node *go_parse_pipe(struct go_parser *p, const char *of, enum go_token_type end);

static struct go_node *
node(struct go_parser *p, enum go_node_type type)
{
	struct go_node *n = jinja_get(p->c, sizeof(*n));

	if (n) {
		n->type = type;
		n->line = p->t->line;
	}
	return n;
}

static void
append(struct go_node *to, struct go_node *n)
{
	if (!to || !n)
		return;
	if (to->last)
		to->last->next = n;
	else
		to->first = n;
	to->last = n;
}

static void
next(struct go_parser *p)
{
	if (p->t->type != GT_END)
		p->t++;
	p->c->line = p->t->line;
}

static void
unexpected(struct go_parser *p, const char *where)
{
	const struct go_token *t = p->t;

	if (t->type == GT_END)
		jinja_fail(p->c, TB_EFORMAT, "the template ends within %s", where);
	else
		jinja_fail(p->c, TB_EFORMAT, "\"%.*s\" does not belong into %s",
			   (int)(t->len < 40 ? t->len : 40), t->s, where);
}

static void
want(struct go_parser *p, enum go_token_type type, const char *where)
{
	if (p->t->type == type)
		next(p);
	else
		unexpected(p, where);
}

static bool
is_word(const struct go_parser *p, const char *word)
{
	return p->t->type == GT_WORD && strlen(word) == p->t->len &&
	       !memcmp(p->t->s, word, p->t->len);
}

static const char *
name_of(struct go_parser *p, const struct go_token *t)
{
	return jinja_copy(p->c, t->s, t->len).str.s;
}

static void
know_var(struct go_parser *p, const char *name)
{
	if (jinja_room(p->c, &p->vars, p->nvars, &p->cap, sizeof(*p->vars)))
		p->vars[p->nvars++] = name;
}

static void
check_var(struct go_parser *p, const char *name)
{
	jinja_step(p->c, 1 + (p->nvars - p->base) / 8);
	for (size_t i = p->nvars; i > p->base; i--)
		if (!strcmp(p->vars[i - 1], name))
			return;
	jinja_fail(p->c, TB_EFORMAT, "the variable %.60s is not known", name);
}

static void
add_name(struct go_parser *p, struct go_node *n)
{
	if (n && jinja_room(p->c, &n->names, n->nnames, &n->names_cap, sizeof(*n->names)))
		n->names[n->nnames++] = name_of(p, p->t);
	next(p);
}

/* ---- expressions ---- */

static struct go_node *
parse_func(struct go_parser *p)
{
	struct go_node *n = node(p, GN_FUNC);

	if (n) {
		n->s = p->t->s;
		n->len = p->t->len;
		n->func = go_builtin(n->s, n->len);
		if (!n->func)
			jinja_fail(p->c, TB_EUNSUP, "the function \"%.*s\" is not known",
				   (int)(n->len < 60 ? n->len : 60), n->s);
	}
	next(p);
	return n;
}

/* NULL: there is none, or something failed. */
static struct go_node *
parse_term(struct go_parser *p)
{
	struct go_node *n;

	switch (p->t->type) {
	case GT_NAME:
		return parse_func(p);
	case GT_DOT:
	case GT_NIL:
		n = node(p, p->t->type == GT_DOT ? GN_DOT : GN_NIL);
		next(p);
		return n;
	case GT_VARIABLE:
		if ((n = node(p, GN_VARIABLE)))
			check_var(p, n->s = name_of(p, p->t));
		next(p);
		return n;
	case GT_FIELD:
		n = node(p, GN_FIELD);
		add_name(p, n);
		return n;
	case GT_CONST:
		if ((n = node(p, GN_CONST)))
			n->value = p->t->value;
		next(p);
		return n;
	case GT_OPEN:
		next(p);
		return go_parse_pipe(p, "parentheses", GT_CLOSE);
	default:
		return NULL;
	}
}

/* A term and the fields that follow it without a blank. */
static struct go_node *
parse_operand(struct go_parser *p)
{
	struct go_node *n = parse_term(p), *chain;

	if (!n || p->t->type != GT_FIELD || p->t->apart)
		return n;
	if (n->type == GN_CONST || n->type == GN_NIL || n->type == GN_DOT) {
		jinja_fail(p->c, TB_EFORMAT, "\".%.*s\" stands behind something that has no fields",
			   (int)(p->t->len < 40 ? p->t->len : 40), p->t->s);
		return NULL;
	}
	if (n->type != GN_FIELD && n->type != GN_VARIABLE) {
		chain = node(p, GN_CHAIN);
		if (!chain)
			return NULL;
		chain->pipe = n;
		n = chain;
	}
	while (jinja_ok(p->c) && p->t->type == GT_FIELD && !p->t->apart)
		add_name(p, n);
	return n;
}

static struct go_node *
parse_command(struct go_parser *p)
{
	struct go_node *cmd = node(p, GN_COMMAND), *operand;

	while (jinja_ok(p->c)) {
		operand = parse_operand(p);
		append(cmd, operand);
		if (p->t->type == GT_RIGHT || p->t->type == GT_CLOSE)
			break;
		if (p->t->type == GT_PIPE) {
			next(p);
			break;
		}
		if (!operand || !p->t->apart)
			unexpected(p, "an action");
	}
	if (jinja_ok(p->c) && !cmd->first)
		jinja_fail(p->c, TB_EFORMAT, "an empty command");
	return cmd;
}

/* "$x :=", "$x =", of a range also "$i, $x :=". */
static void
parse_decl(struct go_parser *p, struct go_node *pipe, bool range)
{
	const struct go_token *t = p->t;

	while (jinja_ok(p->c) && t->type == GT_VARIABLE) {
		if (t[1].type != GT_ASSIGN && t[1].type != GT_DECLARE && t[1].type != GT_COMMA)
			return;
		know_var(p, pipe->decl[pipe->ndecl++] = name_of(p, t));
		next(p);
		pipe->assigns = p->t->type == GT_ASSIGN;
		if (p->t->type != GT_COMMA) {
			next(p);
			return;
		}
		next(p);
		t = p->t;
		if (!range || pipe->ndecl == 2 || (t->type != GT_VARIABLE && t->type != GT_RIGHT))
			jinja_fail(p->c, TB_EFORMAT, "only range takes two variables");
	}
}

static struct go_node *
go_parse_pipe(struct go_parser *p, const char *of, enum go_token_type end)
{
	struct go_node *pipe = node(p, GN_PIPE);

	if (p->c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(p->c, TB_ELIMIT, "expressions are nested too deeply");
	if (jinja_ok(p->c))
		parse_decl(p, pipe, !strcmp(of, "range"));
	while (jinja_ok(p->c) && p->t->type != end) {
		if (p->t->type == GT_RIGHT || p->t->type == GT_CLOSE || p->t->type == GT_END ||
		    p->t->type == GT_TEXT)
			unexpected(p, of);
		else
			append(pipe, parse_command(p));
	}
	if (jinja_ok(p->c) && !pipe->first)
		jinja_fail(p->c, TB_EFORMAT, "%s of nothing", of);
	for (const struct go_node *cmd = jinja_ok(p->c) ? pipe->first->next : NULL; cmd;
	     cmd = cmd->next)
		if (cmd->first->type == GN_CONST || cmd->first->type == GN_DOT ||
		    cmd->first->type == GN_NIL)
			jinja_fail(p->c, TB_EFORMAT, "what stands behind \"|\" cannot be called");
	next(p);
	p->c->depth--;
	return pipe;
}

/* ---- actions ---- */

static const struct go_token *
parse_name(struct go_parser *p, const char *where)
{
	const struct go_token *t = p->t;

	if (t->type != GT_CONST || t->value.type != GO_STR)
		unexpected(p, where);
	else
		next(p);
	return t;
}

static bool
is_empty(const struct go_node *list)
{
	for (const struct go_node *n = list->first; n; n = n->next) {
		if (n->type != GN_TEXT)
			return false;
		for (size_t i = 0; i < n->len; i++)
			if (!strchr(" \t\r\n\v\f", n->s[i]) || !n->s[i])
				return false;
	}
	return true;
}

static void
add_tree(struct go_parser *p, const struct go_token *name, struct go_node *root)
{
	struct go_tree *t = p->out->trees;

	if (!jinja_ok(p->c))
		return;
	for (; t; t = t->next)
		if (jinja_step(p->c, 1) && t->len == name->value.str.len &&
		    !memcmp(t->name, name->value.str.s, t->len))
			break;
	if (t && !is_empty(t->root)) {
		if (!is_empty(root))
			jinja_fail(p->c, TB_EFORMAT, "\"%.60s\" is defined twice", t->name);
		return;
	}
	if (!t && (t = jinja_get(p->c, sizeof(*t)))) {
		*t = (struct go_tree){ p->out->trees, name->value.str.s, name->value.str.len, NULL };
		p->out->trees = t;
	}
	if (t)
		t->root = root;
}

/* The body of a define or block: it knows no variables but its own "$". */
static void
parse_tree(struct go_parser *p, const struct go_token *name)
{
	size_t base = p->base, nvars = p->nvars;
	unsigned ranges = p->ranges;
	struct go_node *end, *root;

	p->base = p->nvars;
	p->ranges = 0;
	know_var(p, "$");
	root = go_parse_list(p, &end);
	if (jinja_ok(p->c) && end->type != GN_END)
		jinja_fail(p->c, TB_EFORMAT, "{{else}} without an if");
	add_tree(p, name, root);
	p->base = base;
	p->nvars = nvars;
	p->ranges = ranges;
}

static void
parse_define(struct go_parser *p)
{
	const struct go_token *name;

	next(p);
	name = parse_name(p, "a define");
	want(p, GT_RIGHT, "a define");
	if (jinja_ok(p->c))
		parse_tree(p, name);
}

static struct go_node *
parse_template(struct go_parser *p, bool block)
{
	struct go_node *n = node(p, GN_TEMPLATE);
	const struct go_token *name;

	next(p);
	name = parse_name(p, block ? "a block" : "a template");
	if (!jinja_ok(p->c))
		return NULL;
	n->s = name->value.str.s;
	n->len = name->value.str.len;
	if (!block && p->t->type == GT_RIGHT)
		next(p);
	else
		n->pipe = go_parse_pipe(p, block ? "block" : "template", GT_RIGHT);
	if (block && jinja_ok(p->c))
		parse_tree(p, name);
	return n;
}

/* The part behind {{else}}: a list, or of "else if" and "else with" one node in a list. */
static struct go_node *parse_branch(struct go_parser *p, enum go_node_type type, const char *word);

static struct go_node *
parse_else(struct go_parser *p, enum go_node_type type, const char *word)
{
	struct go_node *list, *end = NULL;

	if (type != GN_RANGE && is_word(p, word)) {
		list = node(p, GN_LIST);
		append(list, parse_branch(p, type, word));
		return list;
	}
	if (p->t->type == GT_WORD) {
		unexpected(p, "an else");
		return NULL;
	}
	want(p, GT_RIGHT, "an else");
	list = go_parse_list(p, &end);
	if (jinja_ok(p->c) && end->type != GN_END)
		jinja_fail(p->c, TB_EFORMAT, "a second {{else}}");
	return list;
}

static struct go_node *
parse_branch(struct go_parser *p, enum go_node_type type, const char *word)
{
	struct go_node *n = node(p, type), *end = NULL;
	size_t nvars = p->nvars;

	if (p->c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(p->c, TB_ELIMIT, "actions are nested too deeply");
	next(p);
	if (!jinja_ok(p->c))
		return NULL;
	n->pipe = go_parse_pipe(p, word, GT_RIGHT);
	p->ranges += type == GN_RANGE;
	n->body = go_parse_list(p, &end);
	p->ranges -= type == GN_RANGE;
	if (jinja_ok(p->c) && end->type == GN_ELSE)
		n->other = parse_else(p, type, word);
	p->nvars = nvars;
	p->c->depth--;
	return n;
}

static struct go_node *
parse_jump(struct go_parser *p, enum go_node_type type)
{
	struct go_node *n = node(p, type);

	next(p);
	want(p, GT_RIGHT, type == GN_BREAK ? "a break" : "a continue");
	if (!p->ranges)
		jinja_fail(p->c, TB_EFORMAT, "%s outside of a range",
			   type == GN_BREAK ? "{{break}}" : "{{continue}}");
	return n;
}

/* What ends a list, without its "}}" if it is an else. */
static struct go_node *
parse_end(struct go_parser *p)
{
	struct go_node *n = node(p, is_word(p, "end") ? GN_END : GN_ELSE);

	next(p);
	if (n && n->type == GN_END)
		want(p, GT_RIGHT, "an end");
	return n;
}

static struct go_node *
parse_action(struct go_parser *p)
{
	struct go_node *n;

	if (is_word(p, "if"))
		return parse_branch(p, GN_IF, "if");
	if (is_word(p, "range"))
		return parse_branch(p, GN_RANGE, "range");
	if (is_word(p, "with"))
		return parse_branch(p, GN_WITH, "with");
	if (is_word(p, "end") || is_word(p, "else"))
		return parse_end(p);
	if (is_word(p, "template") || is_word(p, "block"))
		return parse_template(p, is_word(p, "block"));
	if (is_word(p, "break") || is_word(p, "continue"))
		return parse_jump(p, is_word(p, "break") ? GN_BREAK : GN_CONTINUE);
	if (p->t->type == GT_WORD) {
		jinja_fail(p->c, TB_EFORMAT, "{{define}} within something else");
		return NULL;
	}
	if ((n = node(p, GN_ACTION)))
		n->pipe = go_parse_pipe(p, "an action", GT_RIGHT);
	return n;
}

static struct go_node *
parse_text(struct go_parser *p)
{
	struct go_node *n = node(p, GN_TEXT);

	if (n) {
		n->s = p->t->s;
		n->len = p->t->len;
	}
	next(p);
	return n;
}

/* Up to {{end}} or {{else}}, which is *end; or with end == NULL to the end of the source. */
static struct go_node *
go_parse_list(struct go_parser *p, struct go_node **end)
{
	struct go_node *list = node(p, GN_LIST), *n;

	while (jinja_ok(p->c) && p->t->type != GT_END) {
		if (p->t->type == GT_TEXT) {
			append(list, parse_text(p));
			continue;
		}
		next(p);	/* {{ */
		if (!end && is_word(p, "define")) {
			parse_define(p);
			continue;
		}
		n = parse_action(p);
		if (!n || !jinja_ok(p->c))
			break;
		if (n->type != GN_END && n->type != GN_ELSE) {
			append(list, n);
			continue;
		}
		if (end)
			*end = n;
		else
			jinja_fail(p->c, TB_EFORMAT, "%s without an action that it ends",
				   n->type == GN_END ? "{{end}}" : "{{else}}");
		return list;
	}
	if (end)
		jinja_fail(p->c, TB_EFORMAT, "the template ends before {{end}}");
	return list;
}

static void
add_response(struct go_parser *p)
{
	static const char *name[] = { "Response" };
	struct go_node *action = node(p, GN_ACTION), *pipe = node(p, GN_PIPE);
	struct go_node *cmd = node(p, GN_COMMAND), *field = node(p, GN_FIELD);

	if (!jinja_ok(p->c))
		return;
	field->names = name;
	field->nnames = 1;
	append(cmd, field);
	append(pipe, cmd);
	action->pipe = pipe;
	append(p->out->root, action);
}

struct go_template *
go_parse(struct jinja_ctx *c, const char *source, size_t len)
{
	struct go_template *out = jinja_get(c, sizeof(*out));
	struct go_tokens tokens = { 0 };
	struct go_parser p = { .c = c, .out = out };
	const struct go_token whole = { .value = go_str("", 0) };

	go_lex(c, jinja_copy(c, source, len).str.s, len, &tokens);
	if (!jinja_ok(c))
		return NULL;
	p.t = tokens.v;
	c->line = p.t->line;
	know_var(&p, "$");
	out->root = go_parse_list(&p, NULL);
	add_tree(&p, &whole, out->root);
	if (!jinja_ok(c))
		return NULL;
	for (const struct go_tree *t = out->trees; t; t = t->next)
		go_uses(t->root, out);
	if (!out->messages && !out->response)
		add_response(&p);
	go_mark_response(out->root);
	return jinja_ok(c) ? out : NULL;
}
