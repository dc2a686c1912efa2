#include "config.h"

#include "src/text/go_value.h"

#include <stdlib.h>
#include <string.h>

const struct go_kind go_any_list = { "[]interface {}", GO_AS_GO, NULL };
const struct go_kind go_any_map = { "map[string]interface {}", GO_AS_GO, NULL };

struct go_value
go_nil(void)
{
	return (struct go_value){ .type = GO_NIL };
}

struct go_value
go_bool(bool b)
{
	return (struct go_value){ .type = GO_BOOL, .b = b };
}

struct go_value
go_int(int64_t i)
{
	return (struct go_value){ .type = GO_INT, .i = i };
}

struct go_value
go_float(double f)
{
	return (struct go_value){ .type = GO_FLOAT, .f = f };
}

struct go_value
go_str(const char *s, size_t len)
{
	return (struct go_value){ .type = GO_STR, .str = { s, len } };
}

struct go_value
go_text(const char *s)
{
	return go_str(s, strlen(s));
}

struct go_value
go_take(struct jinja_ctx *c, struct tb_buf *b)
{
	struct jinja_value v = jinja_take(c, b);

	return go_str(v.str.s, v.str.len);
}

struct go_value
go_list(const struct go_list *l)
{
	return l ? (struct go_value){ .type = GO_LIST, .list = l } : GO_NO_VALUE;
}

struct go_value
go_map(const struct go_map *m)
{
	return m ? (struct go_value){ .type = GO_MAP, .map = m } : GO_NO_VALUE;
}

struct go_value
go_object(const struct go_object *o)
{
	return o ? (struct go_value){ .type = GO_STRUCT, .object = o } : GO_NO_VALUE;
}

struct go_list *
go_list_new(struct jinja_ctx *c, const struct go_kind *kind)
{
	struct go_list *l = jinja_get(c, sizeof(*l));

	if (l)
		l->kind = kind;
	return l;
}

struct go_map *
go_map_new(struct jinja_ctx *c, const struct go_kind *kind)
{
	struct go_map *m = jinja_get(c, sizeof(*m));

	if (m)
		m->kind = kind;
	return m;
}

struct go_object *
go_object_new(struct jinja_ctx *c, const struct go_struct *is)
{
	struct go_object *o = jinja_get(c, sizeof(*o));

	if (!o || !(o->v = jinja_get(c, is->n * sizeof(*o->v))))
		return NULL;
	o->is = is;
	for (size_t i = 0; i < is->n; i++)
		o->v[i] = go_nil();
	return o;
}

void
go_push(struct jinja_ctx *c, struct go_list *l, struct go_value v)
{
	if (l && jinja_room(c, &l->v, l->n, &l->cap, sizeof(*l->v)))
		l->v[l->n++] = v;
}

void
go_put(struct jinja_ctx *c, struct go_map *m, const char *key, struct go_value v)
{
	if (m && jinja_room(c, &m->v, m->n, &m->cap, sizeof(*m->v)))
		m->v[m->n++] = (struct go_entry){ key, strlen(key), v };
}

static int
entries_by_key(const void *a, const void *b)
{
	const struct go_entry *x = a, *y = b;

	return strcmp(x->key, y->key);
}

void
go_sort(struct go_map *m)
{
	if (m && m->n > 1)
		qsort(m->v, m->n, sizeof(*m->v), entries_by_key);
}

struct go_value
go_from_json(struct jinja_ctx *c, const cJSON *v)
{
	struct go_list *l;
	struct go_map *m;
	double f = 0;
	bool b;

	if (!jinja_step(c, 1) || !v || json_is_null(v))
		return go_nil();
	if (json_bool(v, &b))
		return go_bool(b);
	if (json_is_number(v)) {
		(void)json_f64(v, &f);
		return go_float(f);
	}
	if (json_str(v)) {
		struct jinja_value s = jinja_copy(c, json_str(v), strlen(json_str(v)));

		return go_str(s.str.s, s.str.len);
	}
	if (json_is_array(v)) {
		l = go_list_new(c, &go_any_list);
		for (const cJSON *i = json_first(v); i && jinja_ok(c); i = json_next(i))
			go_push(c, l, go_from_json(c, i));
		return go_list(l);
	}
	m = go_map_new(c, &go_any_map);
	for (const cJSON *i = json_first(v); i && jinja_ok(c); i = json_next(i))
		go_put(c, m, jinja_copy(c, json_key(i), strlen(json_key(i))).str.s,
		       go_from_json(c, i));
	go_sort(m);
	return go_map(m);
}

bool
go_is_nil(struct go_value v)
{
	return v.type == GO_NOTHING || v.type == GO_NIL || (v.type == GO_LIST && !v.list->v) ||
	       (v.type == GO_MAP && v.map->nil);
}

bool
go_true(struct go_value v)
{
	switch (v.type) {
	case GO_NOTHING:
	case GO_NIL:
		return false;
	case GO_BOOL:
		return v.b;
	case GO_INT:
	case GO_BYTE:
		return v.i != 0;
	case GO_FLOAT:
		return v.f != 0;
	case GO_STR:
		return v.str.len > 0;
	case GO_LIST:
		return v.list->n > 0;
	case GO_MAP:
		return v.map->n > 0;
	default:
		return true;
	}
}

const struct go_entry *
go_find(struct jinja_ctx *c, const struct go_map *m, const char *key, size_t len)
{
	if (!jinja_step(c, 1 + m->n / 8))
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].len == len && !memcmp(m->v[i].key, key, len))
			return &m->v[i];
	return NULL;
}

struct go_value
go_missing(struct jinja_ctx *c, const struct go_map *m)
{
	return m->kind->missing ? go_object(go_object_new(c, m->kind->missing)) : go_nil();
}

const char *
go_type_name(struct go_value v)
{
	static const char *const names[] = { "<nil>", "<nil>", "bool", "int", "uint8", "float64",
					     "string" };

	return v.type == GO_LIST ? v.list->kind->name : v.type == GO_MAP ? v.map->kind->name
	     : v.type == GO_STRUCT ? v.object->is->name : names[v.type];
}
