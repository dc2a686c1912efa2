/* go_func.c - the functions of a Go template: text/template's own, and Ollama's. */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "src/base/text.h"
#include "src/text/go.h"

#define GO_FN(name) \
	static struct go_value \
	name(__attribute__((unused)) struct jinja_ctx *c, \
	     __attribute__((unused)) const struct go_value *args, \
	     __attribute__((unused)) size_t n, __attribute__((unused)) int how)

/* ---- comparison ---- */

enum go_basic { NO_BASIC, BASIC_BOOL, BASIC_INT, BASIC_FLOAT, BASIC_STR };

static enum go_basic
basic(struct go_value v)
{
	return v.type == GO_BOOL ? BASIC_BOOL : v.type == GO_INT || v.type == GO_BYTE ? BASIC_INT
	     : v.type == GO_FLOAT ? BASIC_FLOAT : v.type == GO_STR ? BASIC_STR : NO_BASIC;
}

static bool
is_nothing(struct go_value v)
{
	return v.type == GO_NOTHING || v.type == GO_NIL;
}

static int
order(struct go_value a, struct go_value b)
{
	size_t n;
	int o;

	switch (basic(a)) {
	case BASIC_INT:
		return (a.i > b.i) - (a.i < b.i);
	case BASIC_FLOAT:
		return (a.f > b.f) - (a.f < b.f);
	case BASIC_BOOL:
		return a.b - b.b;
	default:
		n = a.str.len < b.str.len ? a.str.len : b.str.len;
		o = n ? memcmp(a.str.s, b.str.s, n) : 0;
		return o ? o : (a.str.len > b.str.len) - (a.str.len < b.str.len);
	}
}

static bool
equal(struct jinja_ctx *c, struct go_value a, struct go_value b)
{
	if (basic(a) != basic(b)) {
		if (!is_nothing(a) && !is_nothing(b))
			jinja_fail(c, TB_EFORMAT, "a %s and a %s cannot be compared",
				   go_type_name(a), go_type_name(b));
		return false;
	}
	if (basic(a) != NO_BASIC)
		return !order(a, b);
	if (!is_nothing(a) && !is_nothing(b) && a.type != b.type)
		jinja_fail(c, TB_EFORMAT, "a %s and a %s cannot be compared", go_type_name(a),
			   go_type_name(b));
	else if (go_is_nil(a) || go_is_nil(b))
		return go_is_nil(a) && go_is_nil(b);
	else if (a.type == GO_STRUCT && a.object->is->pointer)
		return a.object == b.object;
	else
		jinja_fail(c, TB_EFORMAT, "a %s cannot be compared", go_type_name(a));
	return false;
}

/* Is the first one of the others? */
GO_FN(fn_eq)
{
	bool same = false;

	for (size_t i = 1; i < n && !same && jinja_ok(c); i++)
		same = equal(c, args[0], args[i]);
	return go_bool(same != how);
}

enum { LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL };

GO_FN(fn_order)
{
	int o;

	if (basic(args[0]) != basic(args[1]) || basic(args[0]) == NO_BASIC ||
	    basic(args[0]) == BASIC_BOOL) {
		jinja_fail(c, TB_EFORMAT, "a %s and a %s have no order", go_type_name(args[0]),
			   go_type_name(args[1]));
		return GO_NO_VALUE;
	}
	o = order(args[0], args[1]);
	return go_bool(how == LESS ? o < 0 : how == LESS_OR_EQUAL ? o <= 0
		     : how == GREATER ? o > 0 : o >= 0);
}

GO_FN(fn_not)
{
	return go_bool(!go_true(args[0]));
}

/* ---- parts ---- */

static bool
as_index(struct jinja_ctx *c, struct go_value v, size_t most, size_t *out)
{
	if (v.type != GO_INT && v.type != GO_BYTE)
		jinja_fail(c, TB_EFORMAT, "a %s is no index", go_type_name(v));
	else if (v.i < 0 || (uint64_t)v.i > most)
		jinja_fail(c, TB_EFORMAT, "the index %" PRId64 " is out of range", v.i);
	*out = jinja_ok(c) ? (size_t)v.i : 0;
	return jinja_ok(c);
}

static struct go_value
index_one(struct jinja_ctx *c, struct go_value of, struct go_value key)
{
	const struct go_entry *e;
	size_t n = of.type == GO_STR ? of.str.len : of.type == GO_LIST ? of.list->n : 0, i;

	if (of.type == GO_MAP) {
		if (key.type != GO_STR) {
			jinja_fail(c, TB_EFORMAT, "a %s is no key of a map", go_type_name(key));
			return GO_NO_VALUE;
		}
		e = go_find(c, of.map, key.str.s, key.str.len);
		return e ? e->value : go_missing(c, of.map);
	}
	if (of.type != GO_STR && of.type != GO_LIST) {
		jinja_fail(c, TB_EFORMAT, "a %s has no items", go_type_name(of));
		return GO_NO_VALUE;
	}
	if (!n)
		jinja_fail(c, TB_EFORMAT, "there are no items in an empty %s", go_type_name(of));
	if (!jinja_ok(c) || !as_index(c, key, n - 1, &i))
		return GO_NO_VALUE;
	return of.type == GO_LIST ? of.list->v[i]
				  : (struct go_value){ .type = GO_BYTE,
						       .i = (uint8_t)of.str.s[i] };
}

GO_FN(fn_index)
{
	struct go_value v = args[0];

	if (is_nothing(v))
		jinja_fail(c, TB_EFORMAT, "index of nothing");
	for (size_t i = 1; i < n && jinja_ok(c); i++)
		v = index_one(c, v, args[i]);
	return v;
}

GO_FN(fn_slice)
{
	struct go_value v = args[0];
	size_t len = v.type == GO_STR ? v.str.len : v.type == GO_LIST ? v.list->n : 0;
	size_t at[3] = { 0, len, len };
	struct go_list *part;

	if (v.type != GO_STR && v.type != GO_LIST)
		jinja_fail(c, TB_EFORMAT, "a %s cannot be sliced", go_type_name(v));
	if (v.type == GO_STR && n == 4)
		jinja_fail(c, TB_EFORMAT, "a string is sliced by two indexes at most");
	for (size_t i = 1; i < n && jinja_ok(c); i++)
		(void)as_index(c, args[i], len, &at[i - 1]);
	if (jinja_ok(c) && (at[0] > at[1] || at[1] > at[2]))
		jinja_fail(c, TB_EFORMAT, "a slice from %zu to %zu", at[0], at[1]);
	if (!jinja_ok(c))
		return GO_NO_VALUE;
	if (v.type == GO_STR)
		return go_str(v.str.s + at[0], at[1] - at[0]);
	part = jinja_get(c, sizeof(*part));
	if (part)
		*part = (struct go_list){ .kind = v.list->kind, .n = at[1] - at[0],
					  .v = v.list->v ? v.list->v + at[0] : NULL };
	return go_list(part);
}

GO_FN(fn_len)
{
	switch (args[0].type) {
	case GO_STR:
		return go_int((int64_t)args[0].str.len);
	case GO_LIST:
		return go_int((int64_t)args[0].list->n);
	case GO_MAP:
		return go_int((int64_t)args[0].map->n);
	default:
		jinja_fail(c, TB_EFORMAT, "a %s has no length", go_type_name(args[0]));
		return GO_NO_VALUE;
	}
}

GO_FN(fn_call)
{
	jinja_fail(c, TB_EFORMAT, "a %s cannot be called", go_type_name(args[0]));
	return GO_NO_VALUE;
}

/* ---- text ---- */

static bool
is_text(struct go_value v, bool actions)
{
	return v.type == GO_STR || (actions && is_nothing(v));
}

/* As fmt.Sprint does: a blank between two that are no strings.  Nothing is a text where it is
 * printed as actions print it. */
static void
print_all(struct jinja_ctx *c, const struct go_value *args, size_t n, bool actions,
	  struct tb_buf *out)
{
	for (size_t i = 0; i < n && jinja_ok(c); i++) {
		if (i && !is_text(args[i], actions) && !is_text(args[i - 1], actions))
			tb_buf_chr(out, ' ');
		if (actions)
			go_print(c, args[i], out);
		else
			go_print_any(c, args[i], out);
	}
}

GO_FN(fn_print)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	print_all(c, args, n, false, &out);
	return go_take(c, &out);
}

GO_FN(fn_println)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	for (size_t i = 0; i < n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(&out, ' ');
		go_print_any(c, args[i], &out);
	}
	tb_buf_chr(&out, '\n');
	return go_take(c, &out);
}

static void
html_char(const char *s, size_t len, uint32_t cp, struct tb_buf *out)
{
	switch (len == 1 ? cp : 'a') {
	case 0:
		tb_buf_str(out, "\xef\xbf\xbd");
		break;
	case '"':
		tb_buf_str(out, "&#34;");
		break;
	case '\'':
		tb_buf_str(out, "&#39;");
		break;
	case '&':
		tb_buf_str(out, "&amp;");
		break;
	case '<':
		tb_buf_str(out, "&lt;");
		break;
	case '>':
		tb_buf_str(out, "&gt;");
		break;
	default:
		tb_buf_add(out, s, len);
	}
}

static void
js_char(const char *s, size_t len, uint32_t cp, struct tb_buf *out)
{
	if (cp == '\\' || cp == '\'' || cp == '"')
		tb_buf_printf(out, "\\%c", (int)cp);
	else if (cp < ' ' || cp == '<' || cp == '>' || cp == '&' || cp == '=' ||
		 (cp >= 0x80 && (!tb_graphic_cp(cp) || cp == 0xa0 || cp == 0x3000)))
		tb_buf_printf(out, "\\u%04X", (unsigned)cp);
	else
		tb_buf_add(out, s, len);
}

static void
url_char(const char *s, size_t len, uint32_t cp, struct tb_buf *out)
{
	if (cp == ' ')
		tb_buf_chr(out, '+');
	else if (len == 1 && cp < 0x80 && cp && strchr("-_.~0123456789abcdefghijklmnopqrstuvwxyz"
							"ABCDEFGHIJKLMNOPQRSTUVWXYZ", (int)cp))
		tb_buf_chr(out, (char)cp);
	else
		for (size_t i = 0; i < len; i++)
			tb_buf_printf(out, "%%%02X", (unsigned)(uint8_t)s[i]);
}

/* html, js, urlquery: what print gives, character by character. */
GO_FN(fn_escape)
{
	static void (*const chars[])(const char *, size_t, uint32_t, struct tb_buf *) = {
		html_char, js_char, url_char,
	};
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX), plain = TB_BUF(JINJA_TEXT_MAX);
	struct go_value v;
	uint32_t cp;

	print_all(c, args, n, true, &plain);
	v = go_take(c, &plain);
	for (size_t i = 0, len; i < v.str.len && jinja_ok(c); i += len) {
		len = tb_utf8_next(v.str.s + i, v.str.len - i, &cp);
		chars[how](v.str.s + i, len, cp, &out);
	}
	return go_take(c, &out);
}

/* ---- Ollama's ---- */

GO_FN(fn_json)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	go_json(c, args[0], &out);
	return go_take(c, &out);
}

/* The day, `how` days ago; what formats are asked for is not looked at there either. */
GO_FN(fn_date)
{
	time_t now = (time_t)(tb_now_ns() / 1000000000);
	char text[32];
	struct tm tm;
	struct jinja_value v;

	if (!localtime_r(&now, &tm))
		return go_text("");
	tm.tm_mday -= how;
	tm.tm_hour = 12;		/* whatever summer time does that day */
	tm.tm_isdst = -1;
	(void)mktime(&tm);
	strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	v = jinja_copy(c, text, strlen(text));
	return go_str(v.str.s, v.str.len);
}

GO_FN(fn_typescript)
{
	return go_typescript(c, args[0]);
}

const struct go_builtin *
go_builtin(const char *name, size_t len)
{
	static const struct go_builtin rows[] = {
		{ "and", NULL, false, 1, UINT_MAX, NULL },
		{ "call", fn_call, 0, 1, UINT_MAX, NULL },
		{ "html", fn_escape, 0, 0, UINT_MAX, NULL },
		{ "index", fn_index, 0, 1, UINT_MAX, NULL },
		{ "slice", fn_slice, 0, 1, 4, NULL },
		{ "js", fn_escape, 1, 0, UINT_MAX, NULL },
		{ "len", fn_len, 0, 1, 1, NULL },
		{ "not", fn_not, 0, 1, 1, NULL },
		{ "or", NULL, true, 1, UINT_MAX, NULL },
		{ "print", fn_print, 0, 0, UINT_MAX, NULL },
		{ "printf", go_fn_printf, 0, 1, UINT_MAX, "0" },
		{ "println", fn_println, 0, 0, UINT_MAX, NULL },
		{ "urlquery", fn_escape, 2, 0, UINT_MAX, NULL },
		{ "eq", fn_eq, false, 2, UINT_MAX, NULL },
		{ "ne", fn_eq, true, 2, 2, NULL },
		{ "lt", fn_order, LESS, 2, 2, NULL },
		{ "le", fn_order, LESS_OR_EQUAL, 2, 2, NULL },
		{ "gt", fn_order, GREATER, 2, 2, NULL },
		{ "ge", fn_order, GREATER_OR_EQUAL, 2, 2, NULL },
		{ "json", fn_json, 0, 1, 1, NULL },
		{ "currentDate", fn_date, 0, 0, UINT_MAX, "*" },
		{ "yesterdayDate", fn_date, 1, 0, UINT_MAX, "*" },
		{ "toTypeScriptType", fn_typescript, 0, 1, 1, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].name) == len && !memcmp(rows[i].name, name, len))
			return &rows[i];
	return NULL;
}
