/* schema_apart.c - can a value that is said of one schema match another, too? */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/text/schema.h"

#define DEEP 8

static bool
is_value_of(const cJSON *list, const cJSON *v)
{
	char *x = json_print(v);
	bool found = !x;	/* not known: as if it were */

	for (const cJSON *c = json_first(list); c && !found; c = json_next(c)) {
		char *y = json_print(c);

		found = !y || !strcmp(x, y);
		free(y);
	}
	free(x);
	return found;
}

/* The values that it lists, as a list; NULL: it lists none. */
static const cJSON *
values(const cJSON *of, cJSON **made)
{
	const cJSON *only = json_get(of, "const");

	*made = NULL;
	if (!only)
		return json_get(of, "enum");
	*made = json_array();
	json_push(*made, json_copy(only));
	return *made;
}

static bool
apart_values(const cJSON *a, const cJSON *b)
{
	cJSON *x, *y;
	const cJSON *of_a = values(a, &x), *of_b = values(b, &y);
	bool apart = of_a && of_b;

	for (const cJSON *c = json_first(of_a); c && apart; c = json_next(c))
		apart = !is_value_of(of_b, c);
	json_free(x);
	json_free(y);
	return apart;
}

static bool
needs(const cJSON *of, const char *name)
{
	for (const cJSON *c = json_first(json_get(of, "required")); c; c = json_next(c))
		if (json_str(c) && !strcmp(json_str(c), name))
			return true;
	return false;
}

/* Are there no other properties than those that are named? */
static bool
is_closed(const cJSON *of, bool said)
{
	const cJSON *more = json_get(of, "additionalProperties");
	bool yes = true;

	/* what is not asked for is not said, but it is taken */
	return json_get(of, "patternProperties") == NULL &&
	       (more ? json_bool(more, &yes) && !yes : said && json_get(of, "properties"));
}

static bool
apart_objects(struct schema *s, const cJSON *a, const cJSON *b, unsigned deep)
{
	const cJSON *of_a = json_get(a, "properties"), *of_b = json_get(b, "properties");

	for (const cJSON *c = json_first(json_get(b, "required")); c; c = json_next(c)) {
		const char *name = json_str(c) ? json_str(c) : "";
		const cJSON *x = json_get(of_a, name), *y = json_get(of_b, name);

		if (x ? y && schema_apart(s, x, y, deep + 1) : is_closed(a, true) && !needs(a, name))
			return true;
	}
	for (const cJSON *c = json_first(json_get(a, "required")); c; c = json_next(c)) {
		const char *name = json_str(c) ? json_str(c) : "";
		const cJSON *x = json_get(of_a, name), *y = json_get(of_b, name);

		if (y ? x && schema_apart(s, x, y, deep + 1) : is_closed(b, false))
			return true;
	}
	return false;
}

static bool
is_below(const cJSON *a, const char *most, const cJSON *b, const char *least)
{
	double x, y;

	return json_f64(json_get(a, most), &x) && json_f64(json_get(b, least), &y) && x < y;
}

static bool
apart_by_size(const cJSON *a, const cJSON *b, const char *most, const char *least)
{
	return is_below(a, most, b, least) || is_below(b, most, a, least);
}

/* All that one of its alternatives says has to be apart from the other. */
static bool
apart_choice(struct schema *s, const cJSON *list, const cJSON *other, bool first, unsigned deep)
{
	bool apart = json_first(list) != NULL;

	for (const cJSON *c = json_first(list); c && apart; c = json_next(c))
		apart = first ? schema_apart(s, c, other, deep + 1) : schema_apart(s, other, c, deep + 1);
	return apart;
}

bool
schema_apart(struct schema *s, const cJSON *a, const cJSON *b, unsigned deep)
{
	const cJSON *x, *y;
	unsigned of_a, of_b, types;
	struct tb_err *err = s->err, ignored;
	bool ok, yes;

	if (deep > DEEP || !schema_spend(s, 1 + json_count(json_get(a, "enum")) *
						json_count(json_get(b, "enum"))))
		return false;
	s->err = &ignored;
	ok = !schema_flatten(s, a, 0, &x) && !schema_flatten(s, b, 0, &y) && !json_bool(x, &yes) &&
	     !json_bool(y, &yes) && !schema_types(s, x, &of_a) && !schema_types(s, y, &of_b);
	s->err = err;
	if (!ok)
		return false;
	if (json_get(x, "anyOf") || json_get(x, "oneOf"))
		if (apart_choice(s, json_get(x, json_get(x, "anyOf") ? "anyOf" : "oneOf"), y, true, deep))
			return true;
	if (json_get(y, "anyOf") || json_get(y, "oneOf"))
		if (apart_choice(s, json_get(y, json_get(y, "anyOf") ? "anyOf" : "oneOf"), x, false, deep))
			return true;
	/* a schema that names no type takes all, whatever is said of it */
	types = of_a & (json_get(y, "type") || json_get(y, "enum") || json_get(y, "const") ? of_b : TYPE_ANY);
	return !types || apart_values(x, y) ||
	       (types == TYPE_OBJECT && apart_objects(s, x, y, deep)) ||
	       (!(types & ~(unsigned)(TYPE_INTEGER | TYPE_NUMBER)) &&
		apart_by_size(x, y, "maximum", "minimum")) ||
	       (types == TYPE_STRING && apart_by_size(x, y, "maxLength", "minLength")) ||
	       (types == TYPE_ARRAY && apart_by_size(x, y, "maxItems", "minItems"));
}
