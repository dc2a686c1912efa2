/* jinja_value.h - private to src/text: values of a template, as Python has them.
 *
 * Everything a rendering makes lives in one arena with a ceiling and goes with it.
 * A failure is remembered in the context; whoever loops asks jinja_ok(). */
#ifndef TBTUI_TEXT_JINJA_VALUE_H
#define TBTUI_TEXT_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/buf.h"
#include "src/base/err.h"

enum jinja_type {
	J_UNDEFINED, J_NONE, J_BOOL, J_INT, J_FLOAT, J_STR, J_LIST, J_DICT,
	J_NAMESPACE,			/* a dict whose entries {% set %} may change */
	J_FUNC,				/* a built-in function, or a bound method */
	J_MACRO,
};

struct jinja_args;
struct jinja_ctx;
struct jinja_value;

/* A method, a filter (self is what stands in front of the bar) or a function.  One may
 * have several names: `how` is that of the row that names it. */
typedef struct jinja_value jinja_fn(struct jinja_ctx *c, const struct jinja_value *self,
				    const struct jinja_args *args, int how);
#define JINJA_FN(name) \
	struct jinja_value \
	name(__attribute__((unused)) struct jinja_ctx *c, \
	     __attribute__((unused)) const struct jinja_value *self, \
	     __attribute__((unused)) const struct jinja_args *args, \
	     __attribute__((unused)) int how)
struct jinja_builtin { const char *name; jinja_fn *fn; int how; };

struct jinja_value {
	enum jinja_type type;
	bool markup;			/* J_STR: what "|safe" gives: text added to it is escaped */
	union {
		bool b;
		int64_t i;
		double f;
		struct { const char *s; size_t len; } str;	/* UTF-8; for J_UNDEFINED
								 * the name that is missing */
		struct jinja_list *list;
		struct jinja_dict *dict;
		struct jinja_func *func;
		struct jinja_macro *macro;
	};
};

struct jinja_list {
	struct jinja_value *v;
	size_t n, cap;
	bool tuple;
	bool lazy;			/* a generator in Python: true even if empty, no length */
};
struct jinja_pair { struct jinja_value key, value; };
struct jinja_dict {
	struct jinja_pair *v;		/* in the order of insertion */
	size_t n, cap;
};
/* One parsing or rendering. */
struct jinja_ctx {
	struct tb_arena *arena;
	struct tb_err *err;
	enum tb_status status;		/* the first failure */
	unsigned line;			/* of the template, being worked on */
	unsigned depth;			/* of nested calls and expressions */
	uint64_t steps;			/* so far */
	enum { JUMP_NONE, JUMP_BREAK, JUMP_CONTINUE } jump;	/* out of a loop's body */
	bool took_none;			/* failed for jinja_no_list() was taken for a list */
	/* What is handed out when no memory is left, so that callers need no check. */
	struct jinja_list no_list;
	struct jinja_dict no_dict;
};

#define JINJA_DEPTH_MAX 400
#define JINJA_STEPS_MAX 5000000u
#define JINJA_TEXT_MAX (64u << 20)	/* bytes of one string and of the output */

static inline bool
jinja_ok(const struct jinja_ctx *c)
{
	return c->status == TB_OK;
}

/* Remembers the first failure, "line N: message". */
void jinja_fail(struct jinja_ctx *c, enum tb_status code, const char *fmt, ...) TB_PRINTF(3, 4);
void *jinja_get(struct jinja_ctx *c, size_t n);		/* zeroed; NULL: has failed */
/* Counts work; false: the limit is reached, or something failed before. */
bool jinja_step(struct jinja_ctx *c, uint64_t n);

struct jinja_func {
	const struct jinja_builtin *is;
	struct jinja_value self;
};

/* Keyword arguments stand behind the positional ones; names[i] NULL: positional. */
struct jinja_args {
	struct jinja_value *v;
	const char **names;
	size_t n;
};

struct jinja_value jinja_undefined(const char *name);	/* name: borrowed, lives long enough */
struct jinja_value jinja_none(void);
/* None where a list might be: who iterates it is remembered. */
struct jinja_value jinja_no_list(void);
struct jinja_value jinja_bool(bool b);
struct jinja_value jinja_int(int64_t i);
struct jinja_value jinja_float(double f);
struct jinja_value jinja_str(const char *s, size_t len);	/* borrowed */
struct jinja_value jinja_text(const char *s);			/* borrowed */
struct jinja_value jinja_copy(struct jinja_ctx *c, const char *s, size_t len);
/* The buffer's text; empties the buffer. */
struct jinja_value jinja_take(struct jinja_ctx *c, struct tb_buf *b);
struct jinja_value jinja_list(struct jinja_ctx *c);
struct jinja_value jinja_dict(struct jinja_ctx *c);
/* Room for one more of `size` bytes behind the n of *pp, a pointer to what lies in the arena. */
bool jinja_room(struct jinja_ctx *c, void *pp, size_t n, size_t *cap, size_t size);
void jinja_push(struct jinja_ctx *c, struct jinja_list *l, struct jinja_value v);
void jinja_put(struct jinja_ctx *c, struct jinja_dict *d, struct jinja_value key,
	       struct jinja_value value);
#endif
