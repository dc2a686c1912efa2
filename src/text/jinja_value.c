#include "config.h"

#include "src/text/jinja_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/jinja_ops.h"

void
jinja_fail(struct jinja_ctx *c, enum tb_status code, const char *fmt, ...)
{
	char msg[384];
	va_list ap;

	if (c->status)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	c->status = tb_fail(c->err, code, "chat template, line %u: %s", c->line, msg);
}

void *
jinja_get(struct jinja_ctx *c, size_t n)
{
	void *p = c->status ? NULL : tb_arena_get(c->arena, n);

	if (!p)
		jinja_fail(c, TB_ELIMIT, "the template takes too much memory");
	return p;
}

bool
jinja_step(struct jinja_ctx *c, uint64_t n)
{
	c->steps += n;
	if (c->steps > JINJA_STEPS_MAX)
		jinja_fail(c, TB_ELIMIT, "the template takes too long");
	return jinja_ok(c);
}

struct jinja_value
jinja_undefined(const char *name)
{
	return (struct jinja_value){ .type = J_UNDEFINED, .str = { name, strlen(name) } };
}

struct jinja_value
jinja_none(void)
{
	return (struct jinja_value){ .type = J_NONE };
}

struct jinja_value
jinja_no_list(void)
{
	return (struct jinja_value){ .type = J_NONE, .b = true };
}

struct jinja_value
jinja_bool(bool b)
{
	return (struct jinja_value){ .type = J_BOOL, .b = b };
}

struct jinja_value
jinja_int(int64_t i)
{
	return (struct jinja_value){ .type = J_INT, .i = i };
}

struct jinja_value
jinja_float(double f)
{
	return (struct jinja_value){ .type = J_FLOAT, .f = f };
}

struct jinja_value
jinja_str(const char *s, size_t len)
{
	return (struct jinja_value){ .type = J_STR, .str = { s, len } };
}

struct jinja_value
jinja_text(const char *s)
{
	return jinja_str(s, strlen(s));
}

struct jinja_value
jinja_copy(struct jinja_ctx *c, const char *s, size_t len)
{
	char *p = jinja_get(c, len + 1);

	if (!p)
		return jinja_text("");
	if (len)
		memcpy(p, s, len);
	return jinja_str(p, len);
}

struct jinja_value
jinja_take(struct jinja_ctx *c, struct tb_buf *b)
{
	struct jinja_value v;

	if (tb_buf_failed(b))
		jinja_fail(c, b->over ? TB_ELIMIT : TB_ENOMEM, b->over ? "a text is too long"
								       : "out of memory");
	v = jinja_copy(c, tb_buf_cstr(b), b->len);
	tb_buf_free(b);
	return v;
}

struct jinja_value
jinja_list(struct jinja_ctx *c)
{
	struct jinja_list *l = jinja_get(c, sizeof(*l));

	return (struct jinja_value){ .type = J_LIST, .list = l ? l : &c->no_list };
}

struct jinja_value
jinja_dict(struct jinja_ctx *c)
{
	struct jinja_dict *d = jinja_get(c, sizeof(*d));

	return (struct jinja_value){ .type = J_DICT, .dict = d ? d : &c->no_dict };
}

bool
jinja_room(struct jinja_ctx *c, void *pp, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? 2 * *cap : 8;
	void *old, *p;

	if (!jinja_ok(c))
		return false;
	if (n < *cap)
		return true;
	p = jinja_get(c, want * size);
	if (!p)
		return false;
	memcpy(&old, pp, sizeof(old));
	if (n)
		memcpy(p, old, n * size);
	memcpy(pp, &p, sizeof(p));
	*cap = want;
	return true;
}

void
jinja_push(struct jinja_ctx *c, struct jinja_list *l, struct jinja_value v)
{
	if (jinja_room(c, &l->v, l->n, &l->cap, sizeof(*l->v)))
		l->v[l->n++] = v;
}

const struct jinja_value *
jinja_find(struct jinja_ctx *c, const struct jinja_dict *d, const struct jinja_value *key)
{
	jinja_step(c, 1 + d->n / 8);
	for (size_t i = 0; i < d->n; i++)
		if (jinja_equal(c, &d->v[i].key, key))
			return &d->v[i].value;
	return NULL;
}

void
jinja_put(struct jinja_ctx *c, struct jinja_dict *d, struct jinja_value key,
	  struct jinja_value value)
{
	struct jinja_value *old = (struct jinja_value *)jinja_find(c, d, &key);

	if ((key.type == J_LIST && !key.list->tuple) || key.type == J_DICT)
		jinja_fail(c, TB_EFORMAT, "a %s cannot be a key", jinja_type_name(&key));
	if (old)
		*old = value;
	else if (jinja_room(c, &d->v, d->n, &d->cap, sizeof(*d->v)))
		d->v[d->n++] = (struct jinja_pair){ key, value };
}

struct jinja_value
jinja_from_json(struct jinja_ctx *c, const cJSON *v)
{
	struct jinja_value out;
	double f = 0;
	bool b;

	if (!jinja_step(c, 1) || !v || json_is_null(v))
		return jinja_none();
	if (json_bool(v, &b))
		return jinja_bool(b);
	if (json_is_number(v)) {
		(void)json_f64(v, &f);
		return f >= -0x1p53 && f <= 0x1p53 && f == (double)(int64_t)f
			? jinja_int((int64_t)f) : jinja_float(f);
	}
	if (json_str(v))
		return jinja_copy(c, json_str(v), strlen(json_str(v)));
	if (json_is_array(v)) {
		out = jinja_list(c);
		for (const cJSON *i = json_first(v); i && jinja_ok(c); i = json_next(i))
			jinja_push(c, out.list, jinja_from_json(c, i));
		return out;
	}
	out = jinja_dict(c);
	for (const cJSON *i = json_first(v); i && jinja_ok(c); i = json_next(i))
		jinja_put(c, out.dict, jinja_copy(c, json_key(i), strlen(json_key(i))),
			  jinja_from_json(c, i));
	return out;
}

bool
jinja_is_num(const struct jinja_value *v)
{
	return v->type == J_BOOL || v->type == J_INT || v->type == J_FLOAT;
}

double
jinja_num(const struct jinja_value *v)
{
	return v->type == J_FLOAT ? v->f : v->type == J_INT ? (double)v->i : v->b;
}

bool
jinja_true(const struct jinja_value *v)
{
	switch (v->type) {
	case J_UNDEFINED:
	case J_NONE:
		return false;
	case J_BOOL:
		return v->b;
	case J_INT:
		return v->i != 0;
	case J_FLOAT:
		return v->f != 0;
	case J_STR:
		return v->str.len > 0;
	case J_LIST:
		return v->list->lazy || v->list->n > 0;
	case J_DICT:
		return v->dict->n > 0;
	default:
		return true;
	}
}

static bool
lists_equal(struct jinja_ctx *c, const struct jinja_list *a, const struct jinja_list *b)
{
	bool same = a->n == b->n && a->tuple == b->tuple;

	for (size_t i = 0; same && i < a->n && jinja_step(c, 1); i++)
		same = jinja_equal(c, &a->v[i], &b->v[i]);
	return same;
}

static bool
dicts_equal(struct jinja_ctx *c, const struct jinja_dict *a, const struct jinja_dict *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n && jinja_ok(c); i++) {
		const struct jinja_value *other = jinja_find(c, b, &a->v[i].key);

		same = other && jinja_equal(c, &a->v[i].value, other);
	}
	return same;
}

bool
jinja_equal(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b)
{
	bool same = false;

	if (jinja_is_num(a) && jinja_is_num(b))
		return a->type == J_INT && b->type == J_INT ? a->i == b->i
							    : jinja_num(a) == jinja_num(b);
	if (a->type != b->type)
		return false;
	if (c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "values are nested too deeply");
	else if (a->type == J_STR)
		same = a->str.len == b->str.len && !memcmp(a->str.s, b->str.s, a->str.len);
	else if (a->type == J_LIST)
		same = a->list == b->list || lists_equal(c, a->list, b->list);
	else if (a->type == J_DICT)
		same = a->dict == b->dict || dicts_equal(c, a->dict, b->dict);
	else if (a->type == J_NONE || a->type == J_UNDEFINED)
		same = true;
	else
		same = a->dict == b->dict;	/* functions and macros: the same one */
	c->depth--;
	return same;
}

int
jinja_str_order(const struct jinja_value *a, const struct jinja_value *b)
{
	size_t n = a->str.len < b->str.len ? a->str.len : b->str.len;
	int order = n ? memcmp(a->str.s, b->str.s, n) : 0;

	return order ? order : (a->str.len > b->str.len) - (a->str.len < b->str.len);
}

int
jinja_compare(struct jinja_ctx *c, const struct jinja_value *a, const struct jinja_value *b)
{
	if (jinja_is_num(a) && jinja_is_num(b))
		return (jinja_num(a) > jinja_num(b)) - (jinja_num(a) < jinja_num(b));
	if (a->type == J_STR && b->type == J_STR)
		return jinja_str_order(a, b);
	if (a->type == J_LIST && b->type == J_LIST) {
		for (size_t i = 0; i < a->list->n && i < b->list->n && jinja_step(c, 1); i++)
			if (!jinja_equal(c, &a->list->v[i], &b->list->v[i]))
				return jinja_compare(c, &a->list->v[i], &b->list->v[i]);
		return (a->list->n > b->list->n) - (a->list->n < b->list->n);
	}
	jinja_fail(c, TB_EFORMAT, "%s and %s have no order", jinja_type_name(a),
		   jinja_type_name(b));
	return 0;
}

const char *
jinja_type_name(const struct jinja_value *v)
{
	static const char *const names[] = { "undefined value", "None", "bool", "int", "float",
		"str", "list", "dict", "namespace", "function", "macro" };

	if (v->type == J_LIST && v->list->tuple)
		return "tuple";
	return names[v->type];
}

struct jinja_list *
jinja_iterate(struct jinja_ctx *c, const struct jinja_value *v)
{
	struct jinja_value out;
	uint32_t cp;

	if (v->type == J_LIST)
		return v->list;
	out = jinja_list(c);
	if (v->type == J_STR) {
		for (size_t i = 0, n; i < v->str.len && jinja_step(c, 1); i += n) {
			n = tb_utf8_next(v->str.s + i, v->str.len - i, &cp);
			jinja_push(c, out.list, jinja_str(v->str.s + i, n));
		}
	} else if (v->type == J_DICT) {
		for (size_t i = 0; i < v->dict->n; i++)
			jinja_push(c, out.list, v->dict->v[i].key);
	} else if (v->type != J_UNDEFINED) {
		c->took_none |= jinja_ok(c) && v->type == J_NONE && v->b;
		jinja_fail(c, TB_EFORMAT, "a %s cannot be iterated", jinja_type_name(v));
	}
	return out.list;
}

bool
jinja_contains(struct jinja_ctx *c, const struct jinja_value *all, const struct jinja_value *one)
{
	const struct jinja_list *l;

	if (all->type == J_STR) {
		if (one->type != J_STR)
			jinja_fail(c, TB_EFORMAT, "a %s cannot be in a str", jinja_type_name(one));
		else
			return !one->str.len ||
			       memmem(all->str.s, all->str.len, one->str.s, one->str.len);
		return false;
	}
	if (all->type == J_DICT)
		return jinja_find(c, all->dict, one) != NULL;
	l = jinja_iterate(c, all);
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++)
		if (jinja_equal(c, &l->v[i], one))
			return true;
	return false;
}

size_t
jinja_chars(const struct jinja_value *str)
{
	size_t n = 0;

	for (size_t i = 0; i < str->str.len; i++)
		n += ((uint8_t)str->str.s[i] & 0xc0) != 0x80;
	return n;
}

int64_t
jinja_len(struct jinja_ctx *c, const struct jinja_value *v)
{
	switch (v->type) {
	case J_STR:
		return (int64_t)jinja_chars(v);
	case J_LIST:
		if (!v->list->lazy)
			return (int64_t)v->list->n;
		jinja_fail(c, TB_EFORMAT, "a generator has no length");
		return 0;
	case J_DICT:
		return (int64_t)v->dict->n;
	case J_UNDEFINED:
		return 0;
	default:
		c->took_none |= jinja_ok(c) && v->type == J_NONE && v->b;
		jinja_fail(c, TB_EFORMAT, "a %s has no length", jinja_type_name(v));
		return 0;
	}
}
