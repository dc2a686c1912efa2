/* jinja.h - private to src/text: a template as a tree, and how it is walked. */
#ifndef TBTUI_TEXT_JINJA_H
#define TBTUI_TEXT_JINJA_H

#include "src/text/jinja_ops.h"

enum jinja_token_type {
	T_END, T_DATA, T_VAR_BEGIN, T_VAR_END, T_BLOCK_BEGIN, T_BLOCK_END,
	T_NAME, T_STR, T_INT, T_FLOAT, T_OP,
};

struct jinja_token {
	enum jinja_token_type type;
	unsigned line;
	const char *s;			/* data, name, decoded string, operator; in the arena */
	size_t len;
	int64_t i;
	double f;
};

struct jinja_tokens {
	struct jinja_token *v;		/* in the arena; ended by T_END */
	size_t n, cap;
};
/* trim_blocks and lstrip_blocks, as chat templates are written for. */
void jinja_lex(struct jinja_ctx *c, const char *source, size_t len, struct jinja_tokens *out);

enum jinja_node_type {
	N_CONST, N_NAME, N_LIST, N_TUPLE, N_DICT, N_ATTR, N_ITEM, N_SLICE, N_CALL, N_FILTER,
	N_TEST, N_NOT, N_NEG, N_POS, N_AND, N_OR, N_COND, N_COMPARE, N_OP, N_KEYWORD,
	N_DATA, N_OUTPUT, N_IF, N_FOR, N_SET, N_SET_BLOCK, N_MACRO, N_CALL_BLOCK,
	N_FILTER_BLOCK, N_WITH, N_BREAK, N_CONTINUE, N_BLOCK,
};

struct jinja_node {
	enum jinja_node_type type;
	unsigned line;
	const char *name;		/* name, attribute, filter, operator, data; NUL-ended */
	struct jinja_value value;	/* N_CONST; N_DATA: the text */
	struct jinja_node *a, *b, *c;	/* operands: see jinja_expr.c and jinja_parse.c */
	struct jinja_node *other;	/* N_FOR, N_IF: the else body; N_SLICE: the step */
	struct jinja_node *list;	/* arguments, items, body: linked by `next` */
	struct jinja_node *next;
	bool flag;			/* N_TEST: negated */
};

struct jinja_parser {
	struct jinja_ctx *c;
	const struct jinja_token *t;	/* the current one */
	unsigned loops;			/* that {% break %} may leave */
};

struct jinja_node *jinja_parse(struct jinja_ctx *c, const char *source, size_t len);

/* Expressions; for the parser of statements. NULL after a failure. */
struct jinja_node *jinja_node(struct jinja_parser *p, enum jinja_node_type type);
struct jinja_node *jinja_parse_expr(struct jinja_parser *p);
/* One or more, a tuple when there is a comma. */
struct jinja_node *jinja_parse_tuple(struct jinja_parser *p, bool cond);
struct jinja_node *jinja_parse_target(struct jinja_parser *p);	/* of set and for */
/* Behind a bar; any number of them, and tests. */
struct jinja_node *jinja_parse_filter(struct jinja_parser *p, struct jinja_node *of);
struct jinja_node *jinja_parse_filters(struct jinja_parser *p, struct jinja_node *of);
bool jinja_is_op(const struct jinja_parser *p, const char *op);
bool jinja_is_name(const struct jinja_parser *p, const char *name);
bool jinja_skip_op(struct jinja_parser *p, const char *op);
bool jinja_skip_name(struct jinja_parser *p, const char *name);
void jinja_want_op(struct jinja_parser *p, const char *op);
const char *jinja_want_name(struct jinja_parser *p);
void jinja_unexpected(struct jinja_parser *p, const char *wanted);

struct jinja_scope {
	struct jinja_scope *up;
	struct jinja_dict vars;
};
struct jinja_macro {
	const struct jinja_node *def;
	struct jinja_scope *scope;	/* where it was defined */
	const struct jinja_node *caller;	/* the block that caller() renders, with its scope */
	struct jinja_scope *caller_scope;
};

/* jinja_set(): a name of
 * this scope, not of those above.  jinja_eval(): an expression.  jinja_run(): what statements
 * print, appended to out. */
void jinja_set(struct jinja_ctx *c, struct jinja_scope *s, const char *name,
	       struct jinja_value v);
struct jinja_value jinja_eval(struct jinja_ctx *c, struct jinja_scope *s,
			      const struct jinja_node *n);
void jinja_run(struct jinja_ctx *c, struct jinja_scope *s, const struct jinja_node *body,
	       struct tb_buf *out);
struct jinja_value jinja_call_macro(struct jinja_ctx *c, const struct jinja_macro *m,
				    const struct jinja_args *args);
/* of[key]; undefined where there is none; fails where `of` itself is undefined. */
struct jinja_value jinja_item(struct jinja_ctx *c, const struct jinja_value *of,
			      const struct jinja_value *key);

/* The tables; a name that is in none fails, for methods NULL. */
struct jinja_value jinja_filter(struct jinja_ctx *c, const char *name,
				const struct jinja_value *of, const struct jinja_args *args);
bool jinja_test(struct jinja_ctx *c, const char *name, const struct jinja_value *of,
		const struct jinja_args *args);
const struct jinja_builtin *jinja_method(const struct jinja_value *of, const char *name);
/* Calls one that self is known to have. */
struct jinja_value jinja_do(struct jinja_ctx *c, const struct jinja_value *self, const char *method,
			    const struct jinja_args *args);
void jinja_add_globals(struct jinja_ctx *c, struct jinja_scope *s);

/* Filters of jinja_number.c. */
jinja_fn jinja_f_int, jinja_f_float, jinja_f_abs, jinja_f_round;

/* As text that is marked as HTML; with what HTML gives a meaning replaced; as text again. */
struct jinja_value jinja_markup(struct jinja_ctx *c, const struct jinja_value *v);
struct jinja_value jinja_escape(struct jinja_ctx *c, const struct jinja_value *v);
struct jinja_value jinja_plain(struct jinja_ctx *c, const struct jinja_value *v);
/* Appends v as it becomes part of `all`: escaped where that is marked. */
void jinja_print_in(struct jinja_ctx *c, const struct jinja_value *all,
		    const struct jinja_value *v, struct tb_buf *out);
/* What a method of self gave, marked as self is: text, or the texts of a list. */
struct jinja_value jinja_markup_like(const struct jinja_value *self, struct jinja_value v);

/* The i-th positional argument or the one called `name`; NULL: not given. */
const struct jinja_value *jinja_arg(const struct jinja_args *args, size_t i, const char *name);
/* A string argument; NULL (and failed) if it is something else, NULL if not given. */
const struct jinja_value *jinja_arg_str(struct jinja_ctx *c, const struct jinja_args *args,
					size_t i, const char *name);
#endif
