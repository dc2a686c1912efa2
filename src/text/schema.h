/* schema.h - private to src/text: a JSON schema becomes rules in GBNF, one a schema in it.
 *
 * What may be said is a part of what the schema allows, never more: no property that is not
 * named unless additionalProperties asks for it, no number longer than a double holds.  A
 * keyword that is not understood is refused by its JSON pointer. */
#ifndef TBTUI_TEXT_SCHEMA_H
#define TBTUI_TEXT_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/format/json.h"
#include "src/text/grammar.h"

#define SCHEMA_RULES_MAX 20000
#define SCHEMA_DEEP_MAX 64	/* references and allOf in one another */
#define SCHEMA_NEST_MAX 1000	/* schemas in one another; each takes of the stack */
#define SCHEMA_WORK_MAX (4u << 20)	/* values that are copied, or compared with others */

struct schema_rule {
	const cJSON *of;
	unsigned number;
};

struct schema {
	const cJSON *doc;
	const char *what;
	struct tb_buf rules;		/* GBNF */
	struct tb_buf path;		/* JSON pointer of what is looked at */
	struct schema_rule *known;	/* owned */
	size_t nknown, known_cap;
	unsigned next;			/* number of the next rule */
	cJSON **made;			/* merged schemas; owned */
	size_t nmade, made_cap;
	size_t work;			/* see SCHEMA_WORK_MAX */
	unsigned nest;
	struct tb_err *err;
};

enum schema_type {
	TYPE_NULL = 1, TYPE_BOOLEAN = 2, TYPE_INTEGER = 4, TYPE_NUMBER = 8, TYPE_STRING = 16,
	TYPE_ARRAY = 32, TYPE_OBJECT = 64, TYPE_ANY = 127,
};

/* "…/KEY: " and what is wrong; key NULL: the schema itself. */
enum tb_status schema_refuse(struct schema *s, const char *key, const char *fmt, ...)
	TB_PRINTF(3, 4);
/* Counts work; false: it is too much by now, which schema_refuse_work() says. */
bool schema_spend(struct schema *s, size_t n) TB_MUST_USE;
enum tb_status schema_refuse_work(struct schema *s, const char *key);
/* Adds to the path what keys (up to a NULL) lead to; the length before, to cut it again. */
size_t schema_enter(struct schema *s, const char *key, const char *name);
void schema_leave(struct schema *s, size_t before);

/* The number of the rule that a schema is; rules are called rN. */
enum tb_status schema_rule(struct schema *s, const cJSON *of, unsigned *number) TB_MUST_USE;
unsigned schema_new_rule(struct schema *s);
/* Types that are asked for, or that other keywords speak of. */
enum tb_status schema_types(struct schema *s, const cJSON *of, unsigned *types) TB_MUST_USE;
/* A text as GBNF has it, and a value as JSON. */
void schema_put_text(struct tb_buf *out, const char *text, size_t len);
void schema_put_value(struct tb_buf *out, const cJSON *v);
bool schema_is_note(const char *key);		/* says nothing of values */
bool schema_count(struct schema *s, const cJSON *of, const char *key, uint64_t *n,
		  enum tb_status *status);

/* schema_merge.c: without $ref and allOf, whose schemas are merged into it. */
enum tb_status schema_flatten(struct schema *s, const cJSON *of, unsigned deep, const cJSON **out)
	TB_MUST_USE;
enum tb_status schema_merge(struct schema *s, const cJSON *a, const cJSON *b, unsigned deep,
			    const cJSON **out) TB_MUST_USE;
/* schema_apart.c: nothing that is said of a is a value that b takes. */
bool schema_apart(struct schema *s, const cJSON *a, const cJSON *b, unsigned deep);

/* Each appends what may stand on the right of a rule. */
enum tb_status schema_put_object(struct schema *s, const cJSON *of, struct tb_buf *x) TB_MUST_USE;
enum tb_status schema_put_array(struct schema *s, const cJSON *of, struct tb_buf *x) TB_MUST_USE;
enum tb_status schema_put_string(struct schema *s, const cJSON *of, struct tb_buf *x) TB_MUST_USE;
enum tb_status schema_put_number(struct schema *s, const cJSON *of, bool whole, struct tb_buf *x)
	TB_MUST_USE;
/* A regular expression of ECMA's, as the inside of a JSON string. */
enum tb_status schema_put_pattern(struct schema *s, const char *key, const char *pattern,
				  struct tb_buf *x) TB_MUST_USE;
#endif
