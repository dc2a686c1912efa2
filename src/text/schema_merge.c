/* schema_merge.c - references and allOf: several schemas that a value has to match as one. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/schema.h"

#define PAIRS_MAX 256		/* of alternatives that are merged */

static size_t
count_values(const cJSON *v)
{
	size_t n = 1;

	for (const cJSON *c = json_first(v); c; c = json_next(c))
		n += count_values(c);
	return n;
}

/* Kept until the grammar is made: rules are found again by where their schemas lie. */
static enum tb_status
keep(struct schema *s, cJSON *made)
{
	if (!schema_spend(s, count_values(made)) || s->nmade >= 4 * SCHEMA_RULES_MAX) {
		json_free(made);
		return schema_refuse_work(s, NULL);
	}
	if (tb_grow(&s->made, &s->made_cap, s->nmade + 1, sizeof(*s->made))) {
		s->made[s->nmade++] = made;
		return TB_OK;
	}
	json_free(made);
	return tb_nomem(s->err);
}

/* One step of a JSON pointer, undone in place. */
static void
unescape(char *step)
{
	static const char hex[] = "0123456789abcdef0123456789ABCDEF";
	char *to = step;

	for (char *p = step; *p; p++) {
		const char *a = *p == '%' && p[1] ? strchr(hex, p[1]) : NULL;
		const char *b = a && p[2] ? strchr(hex, p[2]) : NULL;

		if (b) {
			*to++ = (char)((a - hex) % 16 << 4 | (b - hex) % 16);
			p += 2;
		} else if (*p == '~' && (p[1] == '0' || p[1] == '1')) {
			*to++ = *++p == '0' ? '~' : '/';
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
}

/* Where a reference leads; the path becomes it. */
static enum tb_status
follow_ref(struct schema *s, const char *ref, const cJSON **out)
{
	const cJSON *at = s->doc;
	char *copy, *rest, *step;

	if (*ref != '#' || (ref[1] && ref[1] != '/'))
		return schema_refuse(s, "$ref", "only places in this schema (#/$defs/…) are supported");
	copy = tb_strdup(ref + 1);
	if (!copy)
		return tb_nomem(s->err);
	rest = copy;
	strsep(&rest, "/");
	while (at && (step = strsep(&rest, "/"))) {
		unescape(step);
		if (json_is_array(at)) {
			char *end;
			unsigned long i = strtoul(step, &end, 10);

			for (at = *step && !*end ? json_first(at) : NULL; at && i; i--)
				at = json_next(at);
		} else {
			at = json_get(at, step);
		}
	}
	free(copy);
	if (!at)
		return schema_refuse(s, "$ref", "nothing is at \"%.120s\"", ref);
	*out = at;
	return TB_OK;
}

static bool
same(const cJSON *a, const cJSON *b)
{
	char *x = json_print(a), *y = json_print(b);
	bool yes = x && y && !strcmp(x, y);

	free(x);
	free(y);
	return yes;
}

static bool
is_list_with(const cJSON *list, const cJSON *v)
{
	for (const cJSON *c = json_first(list); c; c = json_next(c))
		if (same(c, v))
			return true;
	return false;
}

/* { "allOf": [a, b] } */
static cJSON *
both(const cJSON *a, const cJSON *b)
{
	cJSON *o = json_object(), *list = json_array();

	json_push(list, json_copy(a));
	json_push(list, json_copy(b));
	json_set(o, "allOf", list);
	return o;
}

/* What a says of a property that it does not name. */
static cJSON *
with_more(const cJSON *of, const cJSON *property)
{
	const cJSON *more = json_get(of, "additionalProperties");

	return more ? both(more, property) : json_copy(property);
}

static cJSON *
merge_properties(const cJSON *a, const cJSON *b)
{
	const cJSON *x = json_get(a, "properties"), *y = json_get(b, "properties");
	cJSON *o = json_object();

	for (const cJSON *c = json_first(x); c; c = json_next(c))
		json_set(o, json_key(c), json_get(y, json_key(c)) ? both(c, json_get(y, json_key(c)))
								  : with_more(b, c));
	for (const cJSON *c = json_first(y); c; c = json_next(c))
		if (!json_get(x, json_key(c)))
			json_set(o, json_key(c), with_more(a, c));
	return o;
}

static cJSON *
merge_types(struct schema *s, const cJSON *a, const cJSON *b, enum tb_status *status)
{
	static const struct { const char *name; unsigned type; } names[] = {
		{ "null", TYPE_NULL }, { "boolean", TYPE_BOOLEAN }, { "string", TYPE_STRING },
		{ "array", TYPE_ARRAY }, { "object", TYPE_OBJECT }, { "number", TYPE_NUMBER },
	};
	unsigned x = 0, y = 0;
	cJSON *list = json_array(), *one = json_object();

	json_set(one, "type", json_copy(a));
	*status = schema_types(s, one, &x);
	json_free(one);
	one = json_object();
	json_set(one, "type", json_copy(b));
	if (!*status)
		*status = schema_types(s, one, &y);
	json_free(one);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (x & y & names[i].type)
			json_push_str(list, names[i].name);
	if ((x & y & TYPE_INTEGER) && !(x & y & TYPE_NUMBER))
		json_push_str(list, "integer");
	return list;
}

static cJSON *
merge_lists(const cJSON *a, const cJSON *b, bool common)
{
	cJSON *list = json_array();

	for (const cJSON *c = json_first(a); c; c = json_next(c))
		if (!common || is_list_with(b, c))
			json_push(list, json_copy(c));
	for (const cJSON *c = json_first(b); c && !common; c = json_next(c))
		if (!is_list_with(a, c))
			json_push(list, json_copy(c));
	return list;
}

static cJSON *
merge_pairs(const cJSON *a, const cJSON *b)
{
	cJSON *list = json_array();

	for (const cJSON *x = json_first(a); x; x = json_next(x))
		for (const cJSON *y = json_first(b); y; y = json_next(y))
			json_push(list, both(x, y));
	return list;
}

/* What two schemas say with one keyword as one; NULL: *status, or they cannot be told. */
static cJSON *
merge_key(struct schema *s, const char *key, const cJSON *a, const cJSON *b, enum tb_status *status)
{
	static const char *const least[] = { "maximum", "exclusiveMaximum", "maxLength", "maxItems",
					     "maxProperties" };
	static const char *const most[] = { "minimum", "exclusiveMinimum", "minLength", "minItems",
					    "minProperties" };
	double x, y;

	if (same(a, b) || schema_is_note(key))
		return json_copy(a);
	if (!schema_spend(s, json_count(a) * json_count(b))) {
		*status = schema_refuse_work(s, key);
		return NULL;
	}
	for (size_t i = 0; i < 5 && json_f64(a, &x) && json_f64(b, &y); i++) {
		if (!strcmp(key, least[i]))
			return json_copy(x < y ? a : b);
		if (!strcmp(key, most[i]))
			return json_copy(x > y ? a : b);
	}
	if (!strcmp(key, "type"))
		return merge_types(s, a, b, status);
	if (!strcmp(key, "enum"))
		return merge_lists(a, b, true);
	if (!strcmp(key, "required"))
		return merge_lists(a, b, false);
	if (!strcmp(key, "allOf"))
		return merge_lists(a, b, false);
	if (!strcmp(key, "anyOf") && json_count(a) * json_count(b) <= PAIRS_MAX)
		return merge_pairs(a, b);
	if (!strcmp(key, "items") || !strcmp(key, "additionalProperties"))
		return both(a, b);
	return NULL;
}

/* const as a list of one: there are fewer cases then. */
static cJSON *
with_enum(const cJSON *of)
{
	cJSON *o = json_object();

	for (const cJSON *c = json_first(of); c; c = json_next(c))
		if (!strcmp(json_key(c), "const") && !json_get(of, "enum")) {
			cJSON *list = json_array();

			json_push(list, json_copy(c));
			json_set(o, "enum", list);
		} else {
			json_set(o, json_key(c), json_copy(c));
		}
	return o;
}

static enum tb_status
merge_into(struct schema *s, cJSON *o, const cJSON *a, const cJSON *b)
{
	enum tb_status status = TB_OK;

	for (const cJSON *c = json_first(a); c && !status; c = json_next(c)) {
		const char *key = json_key(c);
		const cJSON *other = json_get(b, key);
		cJSON *v;

		if (!strcmp(key, "properties"))
			continue;
		v = other ? merge_key(s, key, c, other, &status) : json_copy(c);
		if (!v && !status)
			status = schema_refuse(s, key, "two that hold at once are not supported");
		json_set(o, key, v);
	}
	for (const cJSON *c = json_first(b); c && !status; c = json_next(c))
		if (strcmp(json_key(c), "properties") && !json_get(a, json_key(c)))
			json_set(o, json_key(c), json_copy(c));
	if (json_get(a, "properties") || json_get(b, "properties"))
		json_set(o, "properties", merge_properties(a, b));
	return status;
}

enum tb_status
schema_merge(struct schema *s, const cJSON *a, const cJSON *b, unsigned deep, const cJSON **out)
{
	const cJSON *x, *y;
	cJSON *o, *p, *q;
	bool yes;
	enum tb_status status;

	if ((status = schema_flatten(s, a, deep + 1, &x)) ||
	    (status = schema_flatten(s, b, deep + 1, &y)))
		return status;
	if (json_bool(x, &yes) || json_bool(y, &yes)) {	/* false is false, true says nothing */
		*out = json_bool(x, &yes) && !yes ? x : json_bool(y, &yes) && !yes ? y
		     : json_bool(x, &yes) ? y : x;
		return TB_OK;
	}
	o = json_object();
	p = with_enum(x);
	q = with_enum(y);
	status = merge_into(s, o, p, q);
	json_free(p);
	json_free(q);
	*out = o;
	return status ? (json_free(o), status) : keep(s, o);
}

/* The schema without $ref and allOf, and those. */
static enum tb_status
take_apart(struct schema *s, const cJSON *of, cJSON **rest)
{
	*rest = json_object();
	for (const cJSON *c = json_first(of); c; c = json_next(c))
		if (strcmp(json_key(c), "$ref") && strcmp(json_key(c), "allOf"))
			json_set(*rest, json_key(c), json_copy(c));
	return keep(s, *rest);
}

enum tb_status
schema_flatten(struct schema *s, const cJSON *of, unsigned deep, const cJSON **out)
{
	const cJSON *ref = json_get(of, "$ref"), *all = json_get(of, "allOf"), *to = NULL;
	cJSON *rest;
	enum tb_status status;

	*out = of;
	if (!ref && !all)
		return TB_OK;
	if (deep > SCHEMA_DEEP_MAX)
		return schema_refuse(s, ref ? "$ref" : "allOf", "it leads to itself, or through more than "
				     "%d others", SCHEMA_DEEP_MAX);
	if ((ref && !json_str(ref)) || (all && (!json_is_array(all) || !json_first(all))))
		return schema_refuse(s, ref ? "$ref" : "allOf", "this is no %s", ref ? "string" : "list of "
				     "schemas");
	if ((status = take_apart(s, of, &rest)))
		return status;
	*out = rest;
	if (ref) {
		if ((status = follow_ref(s, json_str(ref), &to)))
			return status;
		status = json_first(rest) ? schema_merge(s, rest, to, deep, out)
					  : schema_flatten(s, to, deep + 1, out);
	}
	for (const cJSON *c = json_first(all); c && !status; c = json_next(c))
		status = schema_merge(s, *out, c, deep, out);
	return status;
}
