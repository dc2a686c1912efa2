#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/text/jinja.h"

#define FILTER(name) static JINJA_FN(name)

/* The method of the same name, of whatever as a string. */
enum { TRIM, UPPER, LOWER, CAPITALIZE };
FILTER(f_method)
{
	static const char *const names[] = { "strip", "upper", "lower", "capitalize" };
	struct jinja_value s = jinja_to_str(c, self);

	return jinja_markup_like(&s, jinja_do(c, &s, names[how], args));
}

/* Words begin behind blanks, dashes and opening brackets, unlike str.title()'s. */
FILTER(f_title)
{
	struct jinja_value s = jinja_to_str(c, self);
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	for (size_t i = 0, k; i < s.str.len && jinja_step(c, 1); i = k) {
		bool apart = strchr("-({[< \t\n\v\f\r", s.str.s[i]) != NULL;
		struct jinja_value word;

		for (k = i + 1; k < s.str.len && !apart; k++)
			if (strchr("-({[< \t\n\v\f\r", s.str.s[k]))
				break;
		word = jinja_str(s.str.s + i, k - i);
		word = jinja_do(c, &word, "capitalize", args);
		tb_buf_add(&out, word.str.s, word.str.len);
	}
	return jinja_take(c, &out);
}

/* Of texts that are all plain, whatever they were. */
FILTER(f_replace)
{
	struct jinja_value s = jinja_plain(c, self), v[3];
	const char *names[3] = { NULL };
	struct jinja_args plain = { v, names, args->n < 3 ? args->n : 3 };

	if (plain.n == 3 && args->v[2].type == J_NONE)
		plain.n = 2;
	for (size_t i = 0; i < plain.n; i++) {
		v[i] = i < 2 ? jinja_plain(c, &args->v[i]) : args->v[i];
		names[i] = args->names[i];
	}
	return jinja_do(c, &s, "replace", &plain);
}

FILTER(f_string)
{
	return jinja_to_str(c, self);
}

FILTER(f_length)
{
	return jinja_int(jinja_len(c, self));
}

enum { FIRST, LAST };
FILTER(f_end)
{
	struct jinja_list *l = jinja_iterate(c, self);

	if (!l->n)
		return jinja_undefined(how == FIRST ? "the first of nothing" : "the last of nothing");
	return l->v[how == FIRST ? 0 : l->n - 1];
}

FILTER(f_default)
{
	const struct jinja_value *otherwise = jinja_arg(args, 0, "default_value");
	const struct jinja_value *falsy = jinja_arg(args, 1, "boolean");

	if (self->type != J_UNDEFINED && !(falsy && jinja_true(falsy) && !jinja_true(self)))
		return *self;
	return otherwise ? *otherwise : jinja_text("");
}

/* "a.b" of a value, as map(attribute=…) and its like take it. */
static struct jinja_value
dotted(struct jinja_ctx *c, struct jinja_value v, const struct jinja_value *path,
       const struct jinja_value *otherwise)
{
	struct jinja_value by = jinja_text("."), parts;
	struct jinja_args args = { .v = &by, .names = (const char *[]){ NULL }, .n = 1 };

	if (path->type == J_INT) {
		v = jinja_item(c, &v, path);
		return v.type == J_UNDEFINED && otherwise ? *otherwise : v;
	}
	if (path->type != J_STR) {
		jinja_fail(c, TB_EFORMAT, "an attribute is a %s", jinja_type_name(path));
		return v;
	}
	parts = jinja_do(c, path, "split", &args);
	for (size_t i = 0; i < parts.list->n && jinja_ok(c); i++) {
		struct jinja_value part = parts.list->v[i];
		uint64_t at;

		if (tb_parse_u64(part.str.s, &at))
			part = jinja_int((int64_t)at);
		v = jinja_item(c, &v, &part);
		if (v.type == J_UNDEFINED && otherwise)
			v = *otherwise;
	}
	return v;
}

FILTER(f_join)
{
	const struct jinja_value *by = jinja_arg(args, 0, "d");
	const struct jinja_value *attribute = jinja_arg(args, 1, "attribute");
	struct jinja_list *l = jinja_iterate(c, self);
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++) {
		struct jinja_value v = attribute ? dotted(c, l->v[i], attribute, NULL) : l->v[i];

		if (i && by)
			jinja_print(c, by, &out);
		jinja_print(c, &v, &out);
	}
	return jinja_take(c, &out);
}

FILTER(f_list)
{
	struct jinja_list *l = jinja_iterate(c, self);
	struct jinja_value out = jinja_list(c);

	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++)
		jinja_push(c, out.list, l->v[i]);
	return out;
}

FILTER(f_reverse)
{
	struct jinja_list *l = jinja_iterate(c, self);
	struct jinja_value out = jinja_list(c), empty = jinja_text("");
	struct jinja_args joined = { .v = &out, .names = (const char *[]){ NULL }, .n = 1 };

	out.list->lazy = true;
	for (size_t i = l->n; i && jinja_step(c, 1); i--)
		jinja_push(c, out.list, l->v[i - 1]);
	return self->type == J_STR
		? jinja_markup_like(self, jinja_do(c, &empty, "join", &joined)) : out;
}

FILTER(f_items)
{
	if (self->type == J_UNDEFINED)
		return jinja_list(c);
	if (self->type != J_DICT) {
		jinja_fail(c, TB_EFORMAT, "items of a %s", jinja_type_name(self));
		return jinja_none();
	}
	return jinja_do(c, self, "items", args);
}

enum { ESCAPE_ONCE, ESCAPE_AGAIN };
FILTER(f_escape)
{
	struct jinja_value plain = how == ESCAPE_AGAIN ? jinja_plain(c, self) : *self;

	return jinja_escape(c, &plain);
}

FILTER(f_safe)
{
	return jinja_markup(c, self);
}

FILTER(f_tojson)
{
	struct jinja_json as = { .indent = -1, .comma = ", ", .colon = ": " };
	const struct jinja_value *indent = jinja_arg(args, SIZE_MAX, "indent");
	const struct jinja_value *ascii = jinja_arg(args, SIZE_MAX, "ensure_ascii");
	const struct jinja_value *sort = jinja_arg(args, SIZE_MAX, "sort_keys");
	const struct jinja_value *marks = jinja_arg(args, SIZE_MAX, "separators");
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	if (!indent && args->n && !args->names[0])
		indent = &args->v[0];
	if (indent && indent->type == J_INT && indent->i >= 0 && indent->i <= 16) {
		as.indent = (int)indent->i;
		as.comma = ",";
	}
	as.ascii = ascii && jinja_true(ascii);
	as.sort_keys = sort && jinja_true(sort);
	if (marks && marks->type == J_LIST && marks->list->n == 2 &&
	    marks->list->v[0].type == J_STR && marks->list->v[1].type == J_STR) {
		as.comma = marks->list->v[0].str.s;
		as.colon = marks->list->v[1].str.s;
	} else if (marks && marks->type != J_NONE) {
		jinja_fail(c, TB_EFORMAT, "tojson: separators are not two texts");
	}
	jinja_to_json(c, self, &as, &out);
	return jinja_take(c, &out);
}

FILTER(f_indent)
{
	const struct jinja_value *width = jinja_arg(args, 0, "width");
	const struct jinja_value *first = jinja_arg(args, 1, "first");
	const struct jinja_value *blank = jinja_arg(args, 2, "blank");
	struct jinja_value s = jinja_to_str(c, self);
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX), pad = TB_BUF(4096);
	int64_t n = width && width->type == J_INT ? width->i : 4;

	if (width && width->type == J_STR)
		tb_buf_add(&pad, width->str.s, width->str.len);
	else
		for (int64_t i = 0; i < n && i < 1024; i++)
			tb_buf_chr(&pad, ' ');
	for (size_t i = 0; i < s.str.len && jinja_step(c, 1); i++) {
		bool start = i ? s.str.s[i - 1] == '\n' : first && jinja_true(first);

		if (start && (s.str.s[i] != '\n' || (blank && jinja_true(blank))))
			tb_buf_add(&out, tb_buf_cstr(&pad), pad.len);
		tb_buf_chr(&out, s.str.s[i]);
	}
	out.failed |= tb_buf_failed(&pad);
	tb_buf_free(&pad);
	return jinja_markup_like(&s, jinja_take(c, &out));
}

/* What decides: a test on the item, or on an attribute of it; else its truth. */
static bool
holds(struct jinja_ctx *c, struct jinja_value item, const struct jinja_args *args, bool attribute)
{
	struct jinja_args rest = { 0 };
	size_t at = attribute;

	if (attribute && !args->n) {
		jinja_fail(c, TB_EFORMAT, "selectattr without an attribute");
		return false;
	}
	if (attribute)
		item = dotted(c, item, &args->v[0], NULL);
	if (args->n <= at || !jinja_ok(c))
		return jinja_true(&item);
	if (args->v[at].type != J_STR) {
		jinja_fail(c, TB_EFORMAT, "the name of a test is a %s",
			   jinja_type_name(&args->v[at]));
		return false;
	}
	rest = (struct jinja_args){ args->v + at + 1, args->names + at + 1, args->n - at - 1 };
	return jinja_test(c, args->v[at].str.s, &item, &rest);
}

/* What select, map and their like go over: nothing, where what they got is false. */
static struct jinja_list *
iterate_true(struct jinja_ctx *c, const struct jinja_value *self)
{
	return jinja_true(self) ? jinja_iterate(c, self) : jinja_list(c).list;
}

enum { WANT = 1, ATTRIBUTE = 2 };	/* of what is selected: else what does not hold, the item */
FILTER(f_select)
{
	struct jinja_list *l = iterate_true(c, self);
	struct jinja_value out = jinja_list(c);

	out.list->lazy = true;
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++)
		if (holds(c, l->v[i], args, how & ATTRIBUTE) == (how & WANT))
			jinja_push(c, out.list, l->v[i]);
	return out;
}

FILTER(f_map)
{
	const struct jinja_value *attribute = jinja_arg(args, SIZE_MAX, "attribute");
	const struct jinja_value *otherwise = jinja_arg(args, SIZE_MAX, "default");
	struct jinja_list *l = iterate_true(c, self);
	struct jinja_value out = jinja_list(c), v;
	struct jinja_args rest = { 0 };

	if (l->n && !attribute && (!args->n || args->v[0].type != J_STR))
		jinja_fail(c, TB_EFORMAT, "map without the name of a filter");
	if (otherwise && otherwise->type == J_NONE)
		otherwise = NULL;
	if (!attribute && args->n)
		rest = (struct jinja_args){ args->v + 1, args->names + 1, args->n - 1 };
	out.list->lazy = true;
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++) {
		v = attribute ? dotted(c, l->v[i], attribute, otherwise)
			      : jinja_filter(c, args->v[0].str.s, &l->v[i], &rest);
		jinja_push(c, out.list, v);
	}
	return out;
}

struct sort_key {
	const struct jinja_value *attribute;
	bool by_pair, with_case;
	unsigned part;			/* of a pair */
};

static struct jinja_value
key_of(struct jinja_ctx *c, const struct jinja_value *v, const struct sort_key *key)
{
	const struct jinja_args none = { 0 };
	struct jinja_value k = *v;

	if (key->attribute)
		k = dotted(c, k, key->attribute, NULL);
	else if (key->by_pair && v->type == J_LIST && v->list->n > key->part)
		k = v->list->v[key->part];
	return k.type == J_STR && !key->with_case ? jinja_do(c, &k, "lower", &none) : k;
}

/* Stable and without a global for the comparison, hence merging by hand. */
static void
merge_sort(struct jinja_ctx *c, struct jinja_value *v, struct jinja_value *room, size_t n,
	   const struct sort_key *key, int sign)
{
	size_t half = n / 2, i = 0, k = half, to = 0;

	if (n < 2 || !jinja_step(c, n))
		return;
	merge_sort(c, v, room, half, key, sign);
	merge_sort(c, v + half, room, n - half, key, sign);
	while (i < half && k < n) {
		struct jinja_value a = key_of(c, &v[i], key), b = key_of(c, &v[k], key);

		/* what is equal needs no order */
		room[to++] = jinja_equal(c, &a, &b) || jinja_compare(c, &a, &b) * sign <= 0
			? v[i++] : v[k++];
	}
	while (i < half)
		room[to++] = v[i++];
	memcpy(v, room, to * sizeof(*v));
}

static struct jinja_value
sorted(struct jinja_ctx *c, const struct jinja_value *self, const struct sort_key *key,
       const struct jinja_value *reverse)
{
	const struct jinja_args none = { 0 };
	struct jinja_value out = f_list(c, self, &none, 0);
	struct jinja_value *room = jinja_get(c, (out.list->n + 1) * sizeof(*room));

	if (room)
		merge_sort(c, out.list->v, room, out.list->n, key,
			   reverse && jinja_true(reverse) ? -1 : 1);
	return out;
}

FILTER(f_sort)
{
	const struct jinja_value *with_case = jinja_arg(args, 1, "case_sensitive");
	struct sort_key key = { .attribute = jinja_arg(args, 2, "attribute"),
				.with_case = with_case && jinja_true(with_case) };

	if (key.attribute && key.attribute->type == J_STR && strchr(key.attribute->str.s, ','))
		jinja_fail(c, TB_EUNSUP, "sort by several attributes is not supported");
	return sorted(c, self, &key, jinja_arg(args, 0, "reverse"));
}

FILTER(f_dictsort)
{
	const struct jinja_value *with_case = jinja_arg(args, 0, "case_sensitive");
	const struct jinja_value *by = jinja_arg(args, 1, "by");
	struct sort_key key = { .by_pair = true, .with_case = with_case && jinja_true(with_case) };
	struct jinja_value items = f_items(c, self, &(struct jinja_args){ 0 }, 0);

	key.part = by && by->type == J_STR && !strcmp(by->str.s, "value");
	return jinja_ok(c) ? sorted(c, &items, &key, jinja_arg(args, 2, "reverse")) : items;
}

/* unique, min and max: by the item or an attribute of it, with case or without. */
static struct sort_key
item_key(const struct jinja_args *args)
{
	const struct jinja_value *with_case = jinja_arg(args, 0, "case_sensitive");
	const struct jinja_value *attribute = jinja_arg(args, 1, "attribute");

	return (struct sort_key){
		.attribute = attribute && attribute->type != J_NONE ? attribute : NULL,
		.with_case = with_case && jinja_true(with_case) };
}

FILTER(f_unique)
{
	struct jinja_list *l = jinja_iterate(c, self);
	struct jinja_value out = jinja_list(c), seen = jinja_dict(c);
	const struct sort_key key = item_key(args);

	out.list->lazy = true;
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++) {
		struct jinja_value k = key_of(c, &l->v[i], &key);

		if (jinja_find(c, seen.dict, &k))
			continue;
		jinja_put(c, seen.dict, k, jinja_none());
		jinja_push(c, out.list, l->v[i]);
	}
	return out;
}

enum { LEAST = -1, GREATEST = 1 };
FILTER(f_extreme)
{
	struct jinja_list *l = jinja_iterate(c, self);
	const struct sort_key key = item_key(args);
	size_t best = 0;

	for (size_t i = 1; i < l->n && jinja_step(c, 1); i++) {
		struct jinja_value a = key_of(c, &l->v[i], &key), b = key_of(c, &l->v[best], &key);

		if (jinja_compare(c, &a, &b) * how > 0)
			best = i;
	}
	return l->n ? l->v[best] : jinja_undefined("the extreme of nothing");
}

static const struct jinja_builtin filters[] = {
	{ "trim", f_method, TRIM }, { "upper", f_method, UPPER }, { "lower", f_method, LOWER },
	{ "capitalize", f_method, CAPITALIZE }, { "title", f_title, 0 },
	{ "replace", f_replace, 0 }, { "string", f_string, 0 }, { "length", f_length, 0 },
	{ "count", f_length, 0 }, { "first", f_end, FIRST }, { "last", f_end, LAST },
	{ "default", f_default, 0 }, { "d", f_default, 0 }, { "join", f_join, 0 },
	{ "list", f_list, 0 }, { "reverse", f_reverse, 0 }, { "items", f_items, 0 },
	{ "int", jinja_f_int, 0 }, { "float", jinja_f_float, 0 }, { "abs", jinja_f_abs, 0 },
	{ "round", jinja_f_round, 0 }, { "escape", f_escape, ESCAPE_ONCE },
	{ "e", f_escape, ESCAPE_ONCE }, { "forceescape", f_escape, ESCAPE_AGAIN },
	{ "safe", f_safe, 0 }, { "tojson", f_tojson, 0 }, { "indent", f_indent, 0 },
	{ "select", f_select, WANT }, { "reject", f_select, 0 },
	{ "selectattr", f_select, ATTRIBUTE | WANT }, { "rejectattr", f_select, ATTRIBUTE },
	{ "map", f_map, 0 }, { "sort", f_sort, 0 }, { "dictsort", f_dictsort, 0 },
	{ "unique", f_unique, 0 }, { "max", f_extreme, GREATEST }, { "min", f_extreme, LEAST },
};

struct jinja_value
jinja_filter(struct jinja_ctx *c, const char *name, const struct jinja_value *of,
	     const struct jinja_args *args)
{
	size_t i = 0, n = sizeof(filters) / sizeof(*filters);

	while (i < n && strcmp(filters[i].name, name))
		i++;
	if (i == n)	/* as in Jinja only where it is reached */
		jinja_fail(c, TB_EUNSUP, "filter \"%.60s\" is not supported", name);
	return jinja_ok(c) ? filters[i].fn(c, of, args, filters[i].how) : jinja_none();
}
