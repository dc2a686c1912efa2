/* go.h - private to src/text: templates in the language of Go's text/template, as Ollama's
 * models bring them.
 *
 * Memory, steps and the first failure are those of struct jinja_ctx, which knows nothing of
 * the language.  What Go prints, compares and refuses is done alike; text of errors is ours. */
#ifndef TBTUI_TEXT_GO_H
#define TBTUI_TEXT_GO_H

#include "src/text/go_value.h"

struct chat_vars;

enum go_token_type {
	GT_END, GT_TEXT, GT_LEFT, GT_RIGHT,		/* LEFT and RIGHT: {{ and }} */
	GT_NAME, GT_WORD,				/* of a function; of the language */
	GT_FIELD, GT_VARIABLE, GT_DOT, GT_NIL, GT_CONST,
	GT_OPEN, GT_CLOSE, GT_PIPE, GT_COMMA, GT_ASSIGN, GT_DECLARE,
};

struct go_token {
	enum go_token_type type;
	bool apart;			/* blanks stand before it */
	unsigned line;
	const char *s;			/* as it is written; GT_FIELD: without the dot */
	size_t len;
	struct go_value value;		/* GT_CONST */
};
struct go_tokens {
	struct go_token *v;		/* in the arena; ended by GT_END */
	size_t n, cap;
};
void go_lex(struct jinja_ctx *c, const char *source, size_t len, struct go_tokens *out);
/* Numbers, characters and strings as they are written: GO_NOTHING if it is none. */
struct go_value go_number(struct jinja_ctx *c, const char *s, size_t len);
struct go_value go_unquote(struct jinja_ctx *c, const char *s, size_t len);

enum go_node_type {
	GN_LIST, GN_TEXT, GN_ACTION, GN_IF, GN_RANGE, GN_WITH, GN_TEMPLATE, GN_BREAK, GN_CONTINUE,
	GN_PIPE, GN_COMMAND,
	GN_FIELD, GN_VARIABLE, GN_CHAIN, GN_FUNC, GN_DOT, GN_NIL, GN_CONST,
	GN_END, GN_ELSE,		/* while parsing only */
};

struct go_node {
	enum go_node_type type;
	bool assigns;			/* GN_PIPE: "=", not ":=" */
	bool dropped;			/* behind .Response: see go_mark_response() */
	unsigned line;
	struct go_node *next;
	struct go_node *first, *last;	/* of a list, the commands of a pipe, a command's operands */
	struct go_node *pipe;		/* what an action, if, range, with, template works on; of a
					 * chain what stands before the first dot */
	struct go_node *body, *other;
	const char *s;			/* text; name of a variable, function, template */
	size_t len;
	const char **names;		/* of a field, chain, variable: each NUL-ended */
	size_t nnames, names_cap;
	const char *decl[2];		/* GN_PIPE: variables */
	unsigned ndecl;
	struct go_value value;		/* GN_CONST */
	const struct go_builtin *func;	/* GN_FUNC */
};

struct go_tree {
	struct go_tree *next;
	const char *name;		/* "": the template as a whole */
	size_t len;
	struct go_node *root;
};
struct go_template {
	struct go_tree *trees;		/* in the arena of whoever parsed */
	struct go_node *root;
	bool messages, response, tools, calls;	/* it names these fields */
};

struct go_template *go_parse(struct jinja_ctx *c, const char *source, size_t len);
/* Which of the fields that decide how it is run are named there. */
void go_uses(const struct go_node *n, struct go_template *out);
/* Walks a tree as Ollama does to drop what stands behind the first .Response. */
void go_mark_response(struct go_node *n);

#define GO_VARS_MAX 10000
struct go_var { const char *name; struct go_value value; };

/* One execution. */
struct go_exec {
	struct jinja_ctx *c;
	const struct go_template *t;
	struct tb_buf *out;
	struct go_var *vars;		/* in the arena */
	size_t nvars, cap;
	size_t base;			/* where those of the template that runs begin */
	bool last;			/* what is dropped is not run */
};
void go_execute(struct jinja_ctx *c, const struct go_template *t, struct go_value data, bool last,
		struct tb_buf *out);
/* Variables that it declares stay until go_leave(). */
struct go_value go_eval_pipe(struct go_exec *x, struct go_value dot, const struct go_node *pipe);
void go_declare(struct go_exec *x, const char *name, struct go_value v);
void go_assign(struct go_exec *x, const char *name, struct go_value v);

typedef struct go_value go_fn(struct jinja_ctx *c, const struct go_value *args, size_t n, int how);
struct go_builtin {
	const char *name;
	go_fn *fn;			/* NULL: and, or: they do not look at all of their arguments */
	int how;
	unsigned min, max;		/* arguments */
	const char *texts;		/* which have to be strings: "0": the first, "*": all */
};
const struct go_builtin *go_builtin(const char *name, size_t len);
go_fn go_fn_printf;
struct go_value go_typescript(struct jinja_ctx *c, struct go_value v);	/* of a tool's property */

/* The conversation's text, appended: go_data.c. */
void go_render(struct jinja_ctx *c, const struct go_template *t, const struct chat_vars *vars,
	       struct tb_buf *out);
#endif
