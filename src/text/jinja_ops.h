/* jinja_ops.h - private to src/text: what Python does with values. */
#ifndef TBTUI_TEXT_JINJA_OPS_H
#define TBTUI_TEXT_JINJA_OPS_H

#include "src/format/json.h"
#include "src/text/jinja_value.h"

/* In the arena of c; keys and strings are copied. */
struct jinja_value jinja_from_json(struct jinja_ctx *c, const cJSON *v);
/* NULL: the dict has no such key.  1, 1.0 and true are one key, as in Python. */
const struct jinja_value *jinja_find(struct jinja_ctx *c, const struct jinja_dict *d,
				     const struct jinja_value *key);

bool jinja_is_num(const struct jinja_value *v);		/* bool counts, as in Python */
double jinja_num(const struct jinja_value *v);		/* of what jinja_is_num() */
bool jinja_true(const struct jinja_value *v);		/* not none, undefined, 0, false or empty */
bool jinja_equal(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b);
/* < 0, 0, > 0, of two strings; of any values: fails when they have no order. */
int jinja_str_order(const struct jinja_value *a, const struct jinja_value *b);
int jinja_compare(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b);
const char *jinja_type_name(const struct jinja_value *v);	/* as Python calls it */
/* What a for loop goes over: a list as it is, a string's characters, a dict's keys. */
struct jinja_list *jinja_iterate(struct jinja_ctx *c, const struct jinja_value *v);
bool jinja_contains(struct jinja_ctx *c, const struct jinja_value *all,
		    const struct jinja_value *one);
int64_t jinja_len(struct jinja_ctx *c, const struct jinja_value *v);	/* fails if it has none */
size_t jinja_chars(const struct jinja_value *str);		/* code points */

/* str() of Python, appended; repr() of what lies in a list. */
void jinja_print(struct jinja_ctx *c, const struct jinja_value *v, struct tb_buf *out);
struct jinja_value jinja_to_str(struct jinja_ctx *c, const struct jinja_value *v);

/* json.dumps(ensure_ascii=False, …) */
struct jinja_json { int indent; const char *comma, *colon; bool sort_keys, ascii; };
void jinja_to_json(struct jinja_ctx *c, const struct jinja_value *v, const struct jinja_json *how,
		   struct tb_buf *out);
#endif
