/* schema_parts.c - objects and arrays of a schema. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/schema.h"

#define REPEAT_MOST 65536u	/* what GBNF takes */
#define NAMES_A_VALUE 64	/* so many are compared in the time of a value */

struct property {
	const char *name;
	const cJSON *is;	/* NULL: any value */
	bool required;
};

struct properties {
	struct property *v;	/* owned */
	size_t n, cap, required;
	const cJSON *more;	/* of any other; NULL: there are none */
	cJSON *any;		/* "true"; owned */
};

static enum tb_status
add_property(struct schema *s, struct properties *p, const char *name, const cJSON *is)
{
	if (!schema_spend(s, 1 + p->n / NAMES_A_VALUE))
		return schema_refuse_work(s, "properties");
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].name, name))
			return TB_OK;
	if (!tb_grow(&p->v, &p->cap, p->n + 1, sizeof(*p->v)))
		return tb_nomem(s->err);
	p->v[p->n++] = (struct property){ .name = name, .is = is };
	return TB_OK;
}

static enum tb_status
read_properties(struct schema *s, const cJSON *of, struct properties *p)
{
	const cJSON *named = json_get(of, "properties"), *required = json_get(of, "required");
	const cJSON *more = json_get(of, "additionalProperties");
	bool yes;
	enum tb_status status = TB_OK;

	if (named && !json_is_object(named))
		return schema_refuse(s, "properties", "this is no object");
	/* where nothing is named, an object may have anything */
	p->more = json_bool(more, &yes) && !yes ? NULL
		: more ? more : named || json_get(of, "patternProperties") ? NULL : p->any;
	for (const cJSON *c = json_first(named); c && !status; c = json_next(c))
		status = add_property(s, p, json_key(c), c);
	for (const cJSON *c = json_first(required); c && !status; c = json_next(c)) {
		size_t i = 0;

		if (!json_str(c))	/* what it was once: a flag of the property itself */
			return schema_refuse(s, "required", "this is no list of names");
		if (!(status = add_property(s, p, json_str(c), more ? more : p->any))) {
			while (strcmp(p->v[i].name, json_str(c)))
				i++;
			p->required += !p->v[i].required;
			p->v[i].required = true;
		}
	}
	return required && !json_is_array(required)
	       ? schema_refuse(s, "required", "this is no list of names") : status;
}

static void
put_name(struct tb_buf *x, const char *name)
{
	struct tb_buf text = TB_BUF(1 << 20);
	cJSON *list = json_array();

	json_push_str(list, name);
	schema_put_value(&text, json_first(list));
	tb_buf_str(&text, ": ");
	schema_put_text(x, tb_buf_cstr(&text), text.len);
	x->failed |= tb_buf_failed(&text);
	json_free(list);
	tb_buf_free(&text);
}

static bool
is_plain(const char *name)
{
	while ((unsigned char)*name >= 0x20 && *name != '"' && *name != '\\')
		name++;
	return !*name;
}

static int
by_bytes_of_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The rest of a name that is none of names[0..n), which are in order and begin alike up to
 * `at`. */
static void
put_other_name(struct schema *s, const char *const *names, size_t n, size_t at, unsigned rule)
{
	struct tb_buf x = TB_BUF(1 << 20), not = TB_BUF(1 << 20);
	bool is_one = n && !names[0][at];

	tb_buf_printf(&x, "r%u ::= %s", rule, is_one ? "" : "\"\" | ");
	for (size_t i = is_one, end; i < n; i = end) {
		uint32_t c;
		size_t len = tb_utf8_next(names[i] + at, strlen(names[i] + at), &c);
		unsigned below = schema_new_rule(s);

		for (end = i + 1; end < n && !strncmp(names[i] + at, names[end] + at, len); end++)
			;
		schema_put_text(&x, names[i] + at, len);
		tb_buf_printf(&x, " r%u | ", below);
		tb_buf_printf(&not, "\\U%08x", c);
		put_other_name(s, names + i, end - i, at + len, below);
	}
	tb_buf_printf(&x, "[^\"\\\\\\x00-\\x1f%s] plain*\n", tb_buf_cstr(&not));
	tb_buf_add(&s->rules, x.p, x.len);
	s->rules.failed |= tb_buf_failed(&x) || tb_buf_failed(&not);
	tb_buf_free(&x);
	tb_buf_free(&not);
}

/* A rule for a property that has none of the names: `"name": value`. */
static enum tb_status
other_property(struct schema *s, const cJSON *of, const struct properties *p, unsigned *rule)
{
	const char **names = tb_calloc(p->n + 1, sizeof(*names));
	const cJSON *keys = json_get(of, "propertyNames");
	size_t before = schema_enter(s, "additionalProperties", NULL), n = 0;
	unsigned name = 0, value;
	enum tb_status status = names ? schema_rule(s, p->more, &value) : tb_nomem(s->err);

	schema_leave(s, before);
	if (!status && keys && p->n)
		status = schema_refuse(s, "propertyNames", "beside properties this is not supported");
	for (size_t i = 0; i < p->n && !status; i++) {
		if (!is_plain(p->v[i].name))
			continue;	/* other names are written without escapes */
		names[n++] = p->v[i].name;
		if (strlen(p->v[i].name) > 512)
			status = schema_refuse(s, "properties", "a name of more than 512 bytes");
	}
	if (!status && keys) {
		before = schema_enter(s, "propertyNames", NULL);
		status = schema_rule(s, keys, &name);
		schema_leave(s, before);
	} else if (!status) {
		if (n)
			qsort(names, n, sizeof(*names), by_bytes_of_name);
		put_other_name(s, names, n, 0, name = schema_new_rule(s));
	}
	if (!status) {
		*rule = schema_new_rule(s);
		tb_buf_printf(&s->rules, keys ? "r%u ::= r%u \": \" r%u\n"
					      : "r%u ::= \"\\\"\" r%u \"\\\": \" r%u\n", *rule, name, value);
	}
	free(names);
	return status;
}

/* Names that a pattern fits, and nothing else. */
static enum tb_status
put_patterns(struct schema *s, const cJSON *of, const struct properties *p, unsigned *rule)
{
	const cJSON *list = json_get(of, "patternProperties"), *one = json_first(list);
	struct tb_buf x = TB_BUF(1 << 20);
	size_t before;
	unsigned value;
	enum tb_status status;

	if (!one || json_next(one) || p->n || p->more)
		return schema_refuse(s, "patternProperties", "this is supported for one pattern, without "
				     "properties and additionalProperties");
	before = schema_enter(s, "patternProperties", json_key(one));
	if (!(status = schema_rule(s, one, &value)))
		status = schema_put_pattern(s, NULL, json_key(one), &x);
	schema_leave(s, before);
	if (!status) {
		*rule = schema_new_rule(s);
		tb_buf_printf(&s->rules, "r%u ::= \"\\\"\" (%s) \"\\\": \" r%u\n", *rule, tb_buf_cstr(&x),
			      value);
		s->rules.failed |= tb_buf_failed(&x);
	}
	tb_buf_free(&x);
	return status;
}

/* "{a,b}" for what comes behind the first; b UINT64_MAX: no end. */
static void
put_times(struct tb_buf *x, uint64_t a, uint64_t b)
{
	if (b == UINT64_MAX)
		tb_buf_printf(x, "{%u,}", (unsigned)a);
	else
		tb_buf_printf(x, "{%u,%u}", (unsigned)a, b < REPEAT_MOST ? (unsigned)b : REPEAT_MOST);
}

/* "one, one, one", as many as there may be. */
static void
put_list(struct tb_buf *x, unsigned one, uint64_t min, uint64_t max)
{
	if (!max)
		return;
	tb_buf_printf(x, " (r%u (\", \" r%u)", one, one);
	put_times(x, min ? min - 1 : 0, max == UINT64_MAX ? max : max - 1);
	tb_buf_str(x, min ? ")" : ")?");
}

/* Properties in their order: for each a rule for what may come from there on, where none came
 * before and where some did. */
static enum tb_status
put_named(struct schema *s, const struct properties *p, unsigned more, struct tb_buf *x)
{
	unsigned first = s->next, value;
	enum tb_status status = TB_OK;

	s->next += 2 * (unsigned)p->n + 2;
	for (size_t i = 0; i < p->n && !status; i++) {
		const struct property *k = &p->v[i];
		unsigned none = first + 2 * (unsigned)i, some = none + 1;
		struct tb_buf name = TB_BUF(1 << 20);
		size_t before = schema_enter(s, "properties", k->name);

		status = schema_rule(s, k->is, &value);
		schema_leave(s, before);
		put_name(&name, k->name);
		tb_buf_printf(&s->rules, "r%u ::= %s r%u r%u", none, tb_buf_cstr(&name), value, some + 2);
		if (!k->required)
			tb_buf_printf(&s->rules, " | r%u", none + 2);
		tb_buf_printf(&s->rules, "\nr%u ::= \", \" %s r%u r%u", some, tb_buf_cstr(&name), value,
			      some + 2);
		if (!k->required)
			tb_buf_printf(&s->rules, " | r%u", some + 2);
		tb_buf_chr(&s->rules, '\n');
		s->rules.failed |= tb_buf_failed(&name);
		tb_buf_free(&name);
	}
	first += 2 * (unsigned)p->n;
	if (more)
		tb_buf_printf(&s->rules, "r%u ::= (r%u r%u)?\nr%u ::= (\", \" r%u)*\n", first, more,
			      first + 1, first + 1, more);
	else
		tb_buf_printf(&s->rules, "r%u ::= \"\"\nr%u ::= \"\"\n", first, first + 1);
	tb_buf_printf(x, "\"{\" r%u \"}\"", first - 2 * (unsigned)p->n);
	return status;
}

static enum tb_status
put_object(struct schema *s, const cJSON *of, struct properties *p, struct tb_buf *x)
{
	uint64_t min = 0, max = UINT64_MAX;
	unsigned more = 0;
	bool any;
	enum tb_status status = read_properties(s, of, p);

	if (schema_count(s, of, "minProperties", &min, &status) && min > REPEAT_MOST)
		return schema_refuse(s, "minProperties", "over %u", REPEAT_MOST);
	schema_count(s, of, "maxProperties", &max, &status);
	if (!status && json_get(of, "patternProperties"))
		status = put_patterns(s, of, p, &more);
	else if (!status && p->more)
		status = other_property(s, of, p, &more);
	else if (!status && json_get(of, "propertyNames"))
		status = schema_refuse(s, "propertyNames", "beside properties this is not supported");
	if (status)
		return status;
	any = !p->n && more;
	if (any && min <= max) {
		tb_buf_str(x, "\"{\"");
		put_list(x, more, min, max);
		tb_buf_str(x, " \"}\"");
		return TB_OK;
	}
	if (any || max < p->required || (!more && min > p->n)) {
		tb_buf_str(x, "[]");
		return TB_OK;
	}
	if (min > p->required)
		return schema_refuse(s, "minProperties", "beside properties that may be missing this is "
				     "not supported");
	if (max < p->n || (more && max != UINT64_MAX))
		return schema_refuse(s, "maxProperties", "beside properties that may be missing this is "
				     "not supported");
	return put_named(s, p, more, x);
}

enum tb_status
schema_put_object(struct schema *s, const cJSON *of, struct tb_buf *x)
{
	struct properties p = { .any = json_object() };
	enum tb_status status = TB_OK;

	/* rules are found again by where their schemas lie */
	if (!p.any || !tb_grow(&s->made, &s->made_cap, s->nmade + 1, sizeof(*s->made))) {
		json_free(p.any);
		return tb_nomem(s->err);
	}
	s->made[s->nmade++] = p.any;
	status = put_object(s, of, &p, x);
	free(p.v);
	return status;
}

/* ---- arrays ---- */

struct items {
	const cJSON *first;	/* those with a place of their own, as a list; or NULL */
	const cJSON *rest;	/* of the others; NULL: any value */
	bool none;		/* there are no others */
	uint64_t min, max;
};

static enum tb_status
read_items(struct schema *s, const cJSON *of, struct items *it)
{
	const char *rest = "items";
	bool unique = false, yes;
	enum tb_status status = TB_OK;

	it->first = json_get(of, "prefixItems");
	if (!it->first && json_is_array(json_get(of, "items"))) {
		it->first = json_get(of, "items");
		rest = "additionalItems";
	}
	if (it->first && !json_is_array(it->first))
		return schema_refuse(s, "prefixItems", "this is no list of schemas");
	it->rest = json_get(of, rest);
	it->none = json_bool(it->rest, &yes) && !yes;
	it->max = UINT64_MAX;
	if (schema_count(s, of, "minItems", &it->min, &status) && it->min > REPEAT_MOST)
		return schema_refuse(s, "minItems", "over %u", REPEAT_MOST);
	schema_count(s, of, "maxItems", &it->max, &status);
	if (!status && json_bool(json_get(of, "uniqueItems"), &unique) && unique && it->max > 1)
		return schema_refuse(s, "uniqueItems", "whether items differ is not looked at; leave it "
				     "out, and check what comes");
	return status;
}

enum tb_status
schema_put_array(struct schema *s, const cJSON *of, struct tb_buf *x)
{
	struct items it = { .min = 0 };
	size_t n, i = 0, before;
	unsigned rule, tail, one = 0;
	enum tb_status status = read_items(s, of, &it);

	if (status)
		return status;
	n = json_count(it.first);
	if (it.none || (it.first && !it.rest && it.min <= n))
		it.max = it.max < n ? it.max : n;	/* nobody asks for more */
	if (it.min > it.max) {
		tb_buf_str(x, "[]");
		return TB_OK;
	}
	if (it.max > n && it.rest) {
		before = schema_enter(s, "items", NULL);
		status = schema_rule(s, it.rest, &one);
		schema_leave(s, before);
	} else if (it.max > n) {
		one = schema_new_rule(s);
		tb_buf_printf(&s->rules, "r%u ::= value\n", one);
	}
	if (!n) {
		tb_buf_str(x, "\"[\"");
		put_list(x, one, it.min, it.max);
		tb_buf_str(x, " \"]\"");
		return status;
	}
	tail = s->next;
	s->next += (unsigned)n + 1;
	tb_buf_printf(x, "\"[\" r%u \"]\"", tail);
	for (const cJSON *c = json_first(it.first); c && i < it.max && !status; c = json_next(c), i++) {
		before = schema_enter(s, "prefixItems", NULL);
		status = schema_rule(s, c, &rule);
		schema_leave(s, before);
		tb_buf_printf(&s->rules, "r%u ::= %sr%u r%u%s\n", tail + (unsigned)i, i ? "\", \" " : "",
			      rule, tail + (unsigned)i + 1, i >= it.min ? " | \"\"" : "");
	}
	tb_buf_printf(&s->rules, "r%u ::= ", tail + (unsigned)i);
	if (one) {
		tb_buf_printf(&s->rules, "(\", \" r%u)", one);
		put_times(&s->rules, it.min > n ? it.min - n : 0,
			  it.max == UINT64_MAX ? it.max : it.max - n);
	} else {
		tb_buf_str(&s->rules, "\"\"");
	}
	tb_buf_chr(&s->rules, '\n');
	return status;
}
