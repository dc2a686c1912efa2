/* jinja_method.c - the methods of Python's str, dict and list that templates call.
 * Those that would change a value are refused, as the sandbox that templates are
 * written for refuses them. */
#include "config.h"

#include <string.h>
#include <utf8proc.h>

#include "src/base/text.h"
#include "src/text/jinja.h"
#include "src/text/tok_uni.h"

#define METHOD(name) static JINJA_FN(name)

static bool
in_set(const struct jinja_value *set, const char *s, size_t n, uint32_t cp)
{
	return set && set->type == J_STR ? memmem(set->str.s, set->str.len, s, n) != NULL
					 : tok_is_space(cp) || (cp >= 0x1c && cp <= 0x1f);
}

enum { LEFT = 1, RIGHT = 2 };	/* of what is stripped, searched from, or an end */

METHOD(str_strip)
{
	const struct jinja_value *set = jinja_arg(args, 0, "chars");
	const char *s = self->str.s, *end = s + self->str.len;
	uint32_t cp;
	size_t n;

	while (how & LEFT && s < end) {
		n = tb_utf8_next(s, (size_t)(end - s), &cp);
		if (!in_set(set, s, n, cp))
			break;
		s += n;
	}
	while (how & RIGHT && s < end) {
		n = tok_utf8_last(s, (size_t)(end - s), &cp);
		if (!in_set(set, end - n, n, cp))
			break;
		end -= n;
	}
	return jinja_copy(c, s, (size_t)(end - s));
}

enum letter_case { CASE_UPPER, CASE_LOWER, CASE_TITLE, CASE_CAPITAL };

METHOD(str_recased)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	bool start = true;
	uint32_t cp;
	char s[4];

	for (size_t i = 0; i < self->str.len && jinja_ok(c);) {
		bool upper;
		int32_t to;

		i += tb_utf8_next(self->str.s + i, self->str.len - i, &cp);
		upper = how == CASE_UPPER || (how >= CASE_TITLE && start);
		to = upper ? utf8proc_toupper((int32_t)cp) : utf8proc_tolower((int32_t)cp);
		if (cp == 0xdf && upper)
			tb_buf_str(&out, how == CASE_UPPER ? "SS" : "Ss");
		else
			tb_buf_add(&out, s, tb_utf8_put((uint32_t)to, s));
		start = how == CASE_TITLE && utf8proc_tolower(to) == utf8proc_toupper(to);
	}
	return jinja_take(c, &out);
}

static void
push_piece(struct jinja_ctx *c, struct jinja_list *out, const char *s, const char *end)
{
	jinja_step(c, 1);
	jinja_push(c, out, jinja_copy(c, s, (size_t)(end - s)));
}

static struct jinja_value
split_blanks(struct jinja_ctx *c, const char *s, const char *end, int64_t max)
{
	struct jinja_value out = jinja_list(c);
	uint32_t cp;
	size_t n;

	while (jinja_ok(c)) {
		const char *start;

		for (; s < end; s += n) {
			n = tb_utf8_next(s, (size_t)(end - s), &cp);
			if (!tok_is_space(cp))
				break;
		}
		if (s == end)
			break;
		for (start = s; s < end; s += n) {
			n = tb_utf8_next(s, (size_t)(end - s), &cp);
			if (tok_is_space(cp) && (max < 0 || (int64_t)out.list->n < max))
				break;
		}
		push_piece(c, out.list, start, s);
	}
	return out;
}

static int64_t
int_arg(struct jinja_ctx *c, const struct jinja_args *args, size_t i, const char *name,
	int64_t otherwise)
{
	const struct jinja_value *v = jinja_arg(args, i, name);

	if (v && v->type != J_INT)
		jinja_fail(c, TB_EFORMAT, "%s is a %s, not an int", name, jinja_type_name(v));
	return v && v->type == J_INT ? v->i : otherwise;
}

METHOD(str_split)
{
	const struct jinja_value *by = jinja_arg(args, 0, "sep");
	int64_t max = int_arg(c, args, 1, "maxsplit", -1);
	const char *s = self->str.s, *end = s + self->str.len, *hit;
	struct jinja_value out;

	if (!by || by->type == J_NONE)
		return split_blanks(c, s, end, max);
	out = jinja_list(c);
	if (by->type != J_STR || !by->str.len)
		jinja_fail(c, TB_EFORMAT, "split() by what is no text");
	while (jinja_ok(c) && max-- && (hit = memmem(s, (size_t)(end - s), by->str.s,
						     by->str.len))) {
		push_piece(c, out.list, s, hit);
		s = hit + by->str.len;
	}
	push_piece(c, out.list, s, end);
	return out;
}

static const char *
str_find_last(const char *s, const char *end, const struct jinja_value *what)
{
	for (const char *p = end - what->str.len; p >= s; p--)
		if (!memcmp(p, what->str.s, what->str.len))
			return p;
	return NULL;
}

METHOD(str_rsplit)
{
	const struct jinja_value *by = jinja_arg_str(c, args, 0, "sep");
	int64_t max = int_arg(c, args, 1, "maxsplit", -1);
	const char *s = self->str.s, *end = s + self->str.len, *hit;
	struct jinja_value back = jinja_list(c), out = jinja_list(c);

	if (!by || !by->str.len || by->str.len > self->str.len + 1)
		jinja_fail(c, TB_EUNSUP, "rsplit() is supported with a separator only");
	while (jinja_ok(c) && max-- && (size_t)(end - s) >= by->str.len &&
	       (hit = str_find_last(s, end, by))) {
		push_piece(c, back.list, hit + by->str.len, end);
		end = hit;
	}
	push_piece(c, back.list, s, end);
	for (size_t i = back.list->n; i && jinja_ok(c); i--)
		jinja_push(c, out.list, back.list->v[i - 1]);
	return out;
}

METHOD(str_splitlines)
{
	const char *s = self->str.s, *end = s + self->str.len;
	struct jinja_value out = jinja_list(c);

	while (s < end && jinja_ok(c)) {
		const char *nl = s;

		while (nl < end && *nl != '\n' && *nl != '\r')
			nl++;
		push_piece(c, out.list, s, nl);
		s = nl + (nl + 1 < end && *nl == '\r' && nl[1] == '\n' ? 2 : 1);
	}
	return out;
}

static bool
has_end(const struct jinja_value *s, const struct jinja_value *part, int which)
{
	return part->type == J_STR && part->str.len <= s->str.len &&
	       !memcmp(s->str.s + (which == LEFT ? 0 : s->str.len - part->str.len), part->str.s,
		       part->str.len);
}

/* startswith() and endswith() take a string or a tuple of them. */
METHOD(str_has_end)
{
	const struct jinja_value *part = jinja_arg(args, 0, "prefix");

	if (!part || (part->type != J_STR && part->type != J_LIST)) {
		jinja_fail(c, TB_EFORMAT, "startswith() or endswith() of what is no text");
		return jinja_none();
	}
	if (part->type == J_STR)
		return jinja_bool(has_end(self, part, how));
	for (size_t i = 0; i < part->list->n; i++)
		if (has_end(self, &part->list->v[i], how))
			return jinja_bool(true);
	return jinja_bool(false);
}

METHOD(str_without_end)
{
	const struct jinja_value *part = jinja_arg_str(c, args, 0, how == LEFT ? "prefix" : "suffix");
	size_t n = part && has_end(self, part, how) ? part->str.len : 0;

	return jinja_copy(c, self->str.s + (how == LEFT ? n : 0), self->str.len - n);
}

METHOD(str_replace)
{
	const struct jinja_value *from = jinja_arg_str(c, args, 0, "old");
	const struct jinja_value *to = jinja_arg_str(c, args, 1, "new");
	int64_t max = int_arg(c, args, 2, "count", -1);
	const char *s = self->str.s, *end = s + self->str.len, *hit;
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	if (!from || !to || !from->str.len) {
		jinja_fail(c, TB_EUNSUP, "replace() needs what to replace, and by what");
		return jinja_none();
	}
	while (max-- && (hit = memmem(s, (size_t)(end - s), from->str.s, from->str.len)) &&
	       jinja_step(c, 1) && !tb_buf_failed(&out)) {
		tb_buf_add(&out, s, (size_t)(hit - s));
		jinja_print_in(c, self, to, &out);
		s = hit + from->str.len;
	}
	tb_buf_add(&out, s, (size_t)(end - s));
	return jinja_take(c, &out);
}

METHOD(str_find)
{
	const struct jinja_value *what = jinja_arg_str(c, args, 0, "sub");
	const char *s = self->str.s, *hit;
	struct jinja_value before;

	if (!what || args->n > 1) {
		jinja_fail(c, TB_EUNSUP, "find() is supported with one argument");
		return jinja_none();
	}
	if (what->str.len > self->str.len)
		return jinja_int(-1);
	hit = how == RIGHT ? str_find_last(s, s + self->str.len, what)
		   : memmem(s, self->str.len, what->str.s, what->str.len);
	before = jinja_str(s, hit ? (size_t)(hit - s) : 0);
	return jinja_int(hit ? (int64_t)jinja_chars(&before) : -1);
}

METHOD(str_count)
{
	const struct jinja_value *what = jinja_arg_str(c, args, 0, "sub");
	const char *s = self->str.s, *end = s + self->str.len;
	int64_t n = 0;

	if (!what || !what->str.len)
		jinja_fail(c, TB_EUNSUP, "count() of an empty text");
	while (jinja_ok(c) && (s = memmem(s, (size_t)(end - s), what->str.s, what->str.len))) {
		s += what->str.len;
		n++;
	}
	return jinja_int(n);
}

METHOD(str_join)
{
	const struct jinja_value *of = jinja_arg(args, 0, "iterable");
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	struct jinja_list *l = of ? jinja_iterate(c, of) : NULL;

	for (size_t i = 0; l && i < l->n && jinja_step(c, 1); i++) {
		if (i)
			tb_buf_add(&out, self->str.s, self->str.len);
		if (l->v[i].type != J_STR)
			jinja_fail(c, TB_EFORMAT, "join() of a %s", jinja_type_name(&l->v[i]));
		jinja_print_in(c, self, &l->v[i], &out);
	}
	return jinja_take(c, &out);
}

enum { ARE_ALPHA, ARE_ALNUM, ARE_DIGITS, ARE_SPACE };

static bool
is_alpha(uint32_t cp)
{
	utf8proc_category_t k = utf8proc_category((int32_t)cp);

	return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

static bool
is_alnum(uint32_t cp)
{
	return is_alpha(cp) || tok_is_numeric(cp);
}

static bool
is_digit(uint32_t cp)
{
	return utf8proc_category((int32_t)cp) == UTF8PROC_CATEGORY_ND;
}

METHOD(str_all_are)
{
	static tok_class *const classes[] = { is_alpha, is_alnum, is_digit, tok_is_space };
	bool all = self->str.len > 0;
	uint32_t cp;

	for (size_t i = 0; i < self->str.len && all;) {
		i += tb_utf8_next(self->str.s + i, self->str.len - i, &cp);
		all = classes[how](cp);
	}
	return jinja_bool(all);
}

/* "{} {0} {name}", "{{" and "}}"; fields with conversions or formats are refused. */
static const struct jinja_value *
format_field(struct jinja_ctx *c, const char *name, size_t len, const struct jinja_args *args,
	     size_t *next)
{
	char field[64];
	uint64_t at;

	if (len >= sizeof(field) || memchr(name, ':', len) || memchr(name, '!', len) ||
	    memchr(name, '.', len) || memchr(name, '[', len)) {
		jinja_fail(c, TB_EUNSUP, "format() with \"{%.*s}\"", len > 60 ? 60 : (int)len, name);
		return NULL;
	}
	memcpy(field, name, len);
	field[len] = 0;
	if (!len)
		return jinja_arg(args, (*next)++, "");
	if (tb_parse_u64(field, &at))
		return jinja_arg(args, at, "");
	return jinja_arg(args, SIZE_MAX, field);
}

METHOD(str_format)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	const char *s = self->str.s, *end = s + self->str.len, *close;
	size_t next = 0;

	for (; s < end && jinja_ok(c); s++) {
		const struct jinja_value *v;

		if ((*s == '{' || *s == '}') && s + 1 < end && s[1] == *s) {
			tb_buf_chr(&out, *s++);
			continue;
		}
		if (*s != '{') {
			tb_buf_chr(&out, *s);
			continue;
		}
		close = memchr(s, '}', (size_t)(end - s));
		v = close ? format_field(c, s + 1, (size_t)(close - s - 1), args, &next) : NULL;
		if (!v) {
			jinja_fail(c, TB_EFORMAT, "format() lacks an argument");
			break;
		}
		jinja_print_in(c, self, v, &out);
		s = close;
	}
	return jinja_take(c, &out);
}

enum { KEYS, VALUES };

METHOD(dict_half)
{
	struct jinja_value out = jinja_list(c);

	for (size_t i = 0; i < self->dict->n; i++)
		jinja_push(c, out.list, how == KEYS ? self->dict->v[i].key : self->dict->v[i].value);
	return out;
}

METHOD(dict_items)
{
	struct jinja_value out = jinja_list(c);

	for (size_t i = 0; i < self->dict->n && jinja_step(c, 1); i++) {
		struct jinja_value pair = jinja_list(c);

		pair.list->tuple = true;
		jinja_push(c, pair.list, self->dict->v[i].key);
		jinja_push(c, pair.list, self->dict->v[i].value);
		jinja_push(c, out.list, pair);
	}
	return out;
}

METHOD(dict_get)
{
	const struct jinja_value *key = jinja_arg(args, 0, "key");
	const struct jinja_value *otherwise = jinja_arg(args, 1, "default");
	const struct jinja_value *hit = key ? jinja_find(c, self->dict, key) : NULL;

	if (!key)
		jinja_fail(c, TB_EFORMAT, "get() without a key");
	return hit ? *hit : otherwise ? *otherwise : jinja_none();
}

METHOD(dict_copy)
{
	struct jinja_value out = jinja_dict(c);

	for (size_t i = 0; i < self->dict->n; i++)
		jinja_put(c, out.dict, self->dict->v[i].key, self->dict->v[i].value);
	return out;
}

METHOD(list_index)
{
	const struct jinja_value *what = jinja_arg(args, 0, "value");

	for (size_t i = 0; what && i < self->list->n && jinja_step(c, 1); i++)
		if (jinja_equal(c, &self->list->v[i], what))
			return jinja_int((int64_t)i);
	jinja_fail(c, TB_EFORMAT, "index() of what is not in the list");
	return jinja_none();
}

METHOD(list_count)
{
	const struct jinja_value *what = jinja_arg(args, 0, "value");
	int64_t n = 0;

	for (size_t i = 0; what && i < self->list->n && jinja_step(c, 1); i++)
		n += jinja_equal(c, &self->list->v[i], what);
	return jinja_int(n);
}

METHOD(unsafe)
{
	jinja_fail(c, TB_EFORMAT, "a method that changes a %s is not safe", jinja_type_name(self));
	return jinja_none();
}

static const struct { enum jinja_type type; struct jinja_builtin is; } methods[] = {
	{ J_STR, { "strip", str_strip, LEFT | RIGHT } }, { J_STR, { "lstrip", str_strip, LEFT } },
	{ J_STR, { "rstrip", str_strip, RIGHT } },
	{ J_STR, { "upper", str_recased, CASE_UPPER } }, { J_STR, { "lower", str_recased, CASE_LOWER } },
	{ J_STR, { "title", str_recased, CASE_TITLE } },
	{ J_STR, { "capitalize", str_recased, CASE_CAPITAL } },
	{ J_STR, { "split", str_split, 0 } }, { J_STR, { "rsplit", str_rsplit, 0 } },
	{ J_STR, { "splitlines", str_splitlines, 0 } },
	{ J_STR, { "startswith", str_has_end, LEFT } }, { J_STR, { "endswith", str_has_end, RIGHT } },
	{ J_STR, { "removeprefix", str_without_end, LEFT } },
	{ J_STR, { "removesuffix", str_without_end, RIGHT } },
	{ J_STR, { "replace", str_replace, 0 } }, { J_STR, { "find", str_find, LEFT } },
	{ J_STR, { "rfind", str_find, RIGHT } }, { J_STR, { "count", str_count, 0 } },
	{ J_STR, { "join", str_join, 0 } }, { J_STR, { "format", str_format, 0 } },
	{ J_STR, { "isalpha", str_all_are, ARE_ALPHA } },
	{ J_STR, { "isalnum", str_all_are, ARE_ALNUM } },
	{ J_STR, { "isdigit", str_all_are, ARE_DIGITS } },
	{ J_STR, { "isspace", str_all_are, ARE_SPACE } },
	{ J_DICT, { "keys", dict_half, KEYS } }, { J_DICT, { "values", dict_half, VALUES } },
	{ J_DICT, { "items", dict_items, 0 } }, { J_DICT, { "get", dict_get, 0 } },
	{ J_DICT, { "copy", dict_copy, 0 } }, { J_DICT, { "update", unsafe, 0 } },
	{ J_DICT, { "pop", unsafe, 0 } }, { J_DICT, { "popitem", unsafe, 0 } },
	{ J_DICT, { "clear", unsafe, 0 } }, { J_DICT, { "setdefault", unsafe, 0 } },
	{ J_LIST, { "index", list_index, 0 } }, { J_LIST, { "count", list_count, 0 } },
	{ J_LIST, { "append", unsafe, 0 } }, { J_LIST, { "extend", unsafe, 0 } },
	{ J_LIST, { "insert", unsafe, 0 } }, { J_LIST, { "pop", unsafe, 0 } },
	{ J_LIST, { "remove", unsafe, 0 } }, { J_LIST, { "sort", unsafe, 0 } },
	{ J_LIST, { "reverse", unsafe, 0 } }, { J_LIST, { "clear", unsafe, 0 } },
};

const struct jinja_builtin *
jinja_method(const struct jinja_value *of, const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (methods[i].type == of->type && !strcmp(methods[i].is.name, name))
			return &methods[i].is;
	return NULL;
}

struct jinja_value
jinja_do(struct jinja_ctx *c, const struct jinja_value *self, const char *method,
	 const struct jinja_args *args)
{
	const struct jinja_builtin *m = jinja_method(self, method);

	return m->fn(c, self, args, m->how);
}
