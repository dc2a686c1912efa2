/* go_value.h - private to src/text: values of a Go template, as far as conversations have
 * them, with what Go's types say of how they are printed and compared. */
#ifndef TBTUI_TEXT_GO_VALUE_H
#define TBTUI_TEXT_GO_VALUE_H

#include "src/format/json.h"
#include "src/text/jinja_value.h"

enum go_type {
	GO_NOTHING,		/* no value: what a pipeline makes of nil */
	GO_NIL,			/* nil in an interface: what a map does not have */
	GO_BOOL, GO_INT,
	GO_BYTE,		/* of a string */
	GO_FLOAT, GO_STR, GO_LIST, GO_MAP, GO_STRUCT,
};

struct go_value {
	enum go_type type;
	union {
		bool b;
		int64_t i;			/* GO_INT, GO_BYTE */
		double f;
		struct { const char *s; size_t len; } str;
		const struct go_list *list;
		const struct go_map *map;
		const struct go_object *object;
	};
};

/* How something with a name of its own is printed. */
enum go_print { GO_AS_GO, GO_AS_JSON, GO_AS_TYPES };
struct go_kind {
	const char *name;			/* of the type, for errors and %T */
	enum go_print print;
	const struct go_struct *missing;	/* what a map gives for a key that it has not;
						 * NULL: nil */
};
extern const struct go_kind go_any_list, go_any_map;

struct go_list {
	const struct go_kind *kind;
	struct go_value *v;			/* NULL: nil */
	size_t n, cap;
};
struct go_entry { const char *key; size_t len; struct go_value value; };
struct go_map {
	const struct go_kind *kind;
	struct go_entry *v;			/* by key, unless `ordered` */
	size_t n, cap;
	bool ordered, nil;
};
struct go_field { const char *name, *json; bool omit; };	/* omit: from JSON when empty */
struct go_struct {
	const char *name;
	enum go_print print;
	bool pointer;				/* equal is what is the same one */
	const struct go_field *fields;
	size_t n;
};
struct go_object { const struct go_struct *is; struct go_value *v; };	/* v: a value a field */

/* Values are small and copied; what they point to lies in the arena of c, and ends with it.
 * go_nil(): an untyped nil; GO_NO_VALUE: a field that is not there ("<no value>"). */
#define GO_NO_VALUE ((struct go_value){ .type = GO_NOTHING })
struct go_value go_nil(void);
struct go_value go_bool(bool b);
struct go_value go_int(int64_t i);
struct go_value go_float(double f);
struct go_value go_str(const char *s, size_t len);	/* borrowed */
struct go_value go_text(const char *s);			/* the same, up to its NUL */
struct go_value go_take(struct jinja_ctx *c, struct tb_buf *b);	/* its bytes; empties it */
/* To be filled; NULL: memory ran out, which is remembered. */
struct go_list *go_list_new(struct jinja_ctx *c, const struct go_kind *kind);
struct go_map *go_map_new(struct jinja_ctx *c, const struct go_kind *kind);
struct go_object *go_object_new(struct jinja_ctx *c, const struct go_struct *is);
/* One more, behind the others; `key` is borrowed, and not looked for. */
void go_push(struct jinja_ctx *c, struct go_list *l, struct go_value v);
void go_put(struct jinja_ctx *c, struct go_map *m, const char *key, struct go_value v);
struct go_value go_list(const struct go_list *l);
struct go_value go_map(const struct go_map *m);
struct go_value go_object(const struct go_object *o);
/* Any JSON: numbers are float64, maps are by key. */
struct go_value go_from_json(struct jinja_ctx *c, const cJSON *v);
void go_sort(struct go_map *m);			/* by key */

bool go_is_nil(struct go_value v);		/* or nothing */
bool go_true(struct go_value v);		/* as "if" has it: not nil, 0, false or empty */
/* NULL: the map has no such key. */
const struct go_entry *go_find(struct jinja_ctx *c, const struct go_map *m, const char *key,
			       size_t len);
/* What a map gives for a key that it has not. */
struct go_value go_missing(struct jinja_ctx *c, const struct go_map *m);
const char *go_type_name(struct go_value v);

/* Appended: as an action prints it; as print() does (nil: <nil>, a pointer: &); as
 * encoding/json writes it; as Go prints a float64. */
void go_print(struct jinja_ctx *c, struct go_value v, struct tb_buf *out);
void go_print_any(struct jinja_ctx *c, struct go_value v, struct tb_buf *out);
void go_json(struct jinja_ctx *c, struct go_value v, struct tb_buf *out);
void go_print_float(double f, struct tb_buf *out);
#endif
