/* go_print.c - values as text: what Go's fmt prints with %v, and what encoding/json writes. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/go_value.h"

/* The fewest digits that read back, as "d.ddde-07"; returns how many. */
static int
shortest(double f, char s[40])
{
	int digits = 1;

	do
		snprintf(s, 40, "%.*e", digits - 1, f);
	while (strtod(s, NULL) != f && digits++ < 17);
	return digits;
}

/* With an exponent when that is not between the two; exponents of JSON are shorter. */
static void
print_shortest(double f, int least, int most, bool json, struct tb_buf *out)
{
	char s[40], *e;
	int digits = shortest(f, s), exponent;

	e = strchr(s, 'e');
	exponent = (int)strtol(e + 1, NULL, 10);
	if (f == 0 || (exponent >= least && exponent < most)) {
		digits -= 1 + (f == 0 ? 0 : exponent);
		tb_buf_printf(out, "%.*f", digits < 0 ? 0 : digits, f);
		return;
	}
	if (json && e[1] == '-' && e[2] == '0')
		memmove(e + 2, e + 3, strlen(e + 3) + 1);	/* e-09 is e-9 there */
	tb_buf_str(out, s);
}

void
go_print_float(double f, struct tb_buf *out)
{
	if (isnan(f) || isinf(f))
		tb_buf_str(out, isnan(f) ? "NaN" : f < 0 ? "-Inf" : "+Inf");
	else
		print_shortest(f, -4, 6, false, out);
}

static bool
too_deep(struct jinja_ctx *c)
{
	if (c->depth > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "values are nested too deeply");
	return !jinja_step(c, 1);
}

static void print_value(struct jinja_ctx *c, struct go_value v, struct tb_buf *out);

static void
print_list(struct jinja_ctx *c, const struct go_list *l, struct tb_buf *out)
{
	if (l->kind->print == GO_AS_TYPES && l->n < 2) {	/* "string", not ["string"] */
		if (l->n)
			print_value(c, l->v[0], out);
		return;
	}
	tb_buf_chr(out, '[');
	for (size_t i = 0; i < l->n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(out, ' ');
		print_value(c, l->v[i], out);
	}
	tb_buf_chr(out, ']');
}

static void
print_map(struct jinja_ctx *c, const struct go_map *m, struct tb_buf *out)
{
	tb_buf_str(out, "map[");
	for (size_t i = 0; i < m->n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(out, ' ');
		tb_buf_str(out, m->v[i].key);
		tb_buf_chr(out, ':');
		print_value(c, m->v[i].value, out);
	}
	tb_buf_chr(out, ']');
}

static void
print_object(struct jinja_ctx *c, const struct go_object *o, struct tb_buf *out)
{
	tb_buf_chr(out, '{');
	for (size_t i = 0; i < o->is->n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(out, ' ');
		print_value(c, o->v[i], out);
	}
	tb_buf_chr(out, '}');
}

static enum go_print
print_as(struct go_value v)
{
	return v.type == GO_LIST ? v.list->kind->print : v.type == GO_MAP ? v.map->kind->print
	     : v.type == GO_STRUCT ? v.object->is->print : GO_AS_GO;
}

static void
print_value(struct jinja_ctx *c, struct go_value v, struct tb_buf *out)
{
	c->depth++;
	if (too_deep(c))
		;
	else if (print_as(v) == GO_AS_JSON && v.type == GO_MAP && v.map->nil)
		tb_buf_str(out, "{}");
	else if (print_as(v) == GO_AS_JSON)
		go_json(c, v, out);
	else if (v.type == GO_NOTHING || v.type == GO_NIL)
		tb_buf_str(out, "<nil>");
	else if (v.type == GO_BOOL)
		tb_buf_str(out, v.b ? "true" : "false");
	else if (v.type == GO_INT || v.type == GO_BYTE)
		tb_buf_printf(out, "%" PRId64, v.i);
	else if (v.type == GO_FLOAT)
		go_print_float(v.f, out);
	else if (v.type == GO_STR)
		tb_buf_add(out, v.str.s, v.str.len);
	else if (v.type == GO_LIST)
		print_list(c, v.list, out);
	else if (v.type == GO_MAP)
		print_map(c, v.map, out);
	else
		print_object(c, v.object, out);
	c->depth--;
}

void
go_print_any(struct jinja_ctx *c, struct go_value v, struct tb_buf *out)
{
	if (v.type == GO_STRUCT && v.object->is->pointer)
		tb_buf_chr(out, '&');
	print_value(c, v, out);
}

void
go_print(struct jinja_ctx *c, struct go_value v, struct tb_buf *out)
{
	if (v.type == GO_NOTHING || v.type == GO_NIL)
		tb_buf_str(out, "<no value>");
	else
		print_value(c, v, out);
}

/* ---- JSON ---- */

static void
json_text(const char *s, size_t len, struct tb_buf *out)
{
	static const char special[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
	uint32_t cp;

	tb_buf_chr(out, '"');
	for (size_t i = 0, n; i < len; i += n) {
		const char *hit;

		n = tb_utf8_next(s + i, len - i, &cp);
		hit = cp && cp < 0x80 ? strchr(special, (int)cp) : NULL;
		if (hit)
			tb_buf_printf(out, "\\%c", letter[hit - special]);
		else if (cp < 0x20 || cp == '<' || cp == '>' || cp == '&' || cp == 0x2028 ||
			 cp == 0x2029 || (cp == 0xfffd && n == 1))
			tb_buf_printf(out, "\\u%04x", (unsigned)cp);
		else
			tb_buf_add(out, s + i, n);
	}
	tb_buf_chr(out, '"');
}

static void
json_list(struct jinja_ctx *c, const struct go_list *l, struct tb_buf *out)
{
	if (!l->v && l->kind->print != GO_AS_TYPES) {
		tb_buf_str(out, "null");
		return;
	}
	if (l->kind->print == GO_AS_TYPES && l->n == 1) {
		go_json(c, l->v[0], out);
		return;
	}
	tb_buf_chr(out, '[');
	for (size_t i = 0; i < l->n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(out, ',');
		go_json(c, l->v[i], out);
	}
	tb_buf_chr(out, ']');
}

static void
json_map(struct jinja_ctx *c, const struct go_map *m, struct tb_buf *out)
{
	if (m->nil) {
		tb_buf_str(out, "null");
		return;
	}
	tb_buf_chr(out, '{');
	for (size_t i = 0; i < m->n && jinja_ok(c); i++) {
		if (i)
			tb_buf_chr(out, ',');
		json_text(m->v[i].key, m->v[i].len, out);
		tb_buf_chr(out, ':');
		go_json(c, m->v[i].value, out);
	}
	tb_buf_chr(out, '}');
}

/* What "omitempty" leaves out: a pointer to an empty map is none. */
static bool
is_empty_value(struct go_value v)
{
	return v.type == GO_MAP ? v.map->nil || (!v.map->n && !v.map->ordered)
				: v.type != GO_STRUCT && !go_true(v);
}

static void
json_object_out(struct jinja_ctx *c, const struct go_object *o, struct tb_buf *out)
{
	bool some = false;

	tb_buf_chr(out, '{');
	for (size_t i = 0; i < o->is->n && jinja_ok(c); i++) {
		const struct go_field *f = &o->is->fields[i];

		if (f->omit && is_empty_value(o->v[i]))
			continue;
		if (some)
			tb_buf_chr(out, ',');
		some = true;
		tb_buf_printf(out, "\"%s\":", f->json);
		go_json(c, o->v[i], out);
	}
	tb_buf_chr(out, '}');
}

void
go_json(struct jinja_ctx *c, struct go_value v, struct tb_buf *out)
{
	c->depth++;
	if (too_deep(c))
		;
	else if (v.type == GO_NOTHING || v.type == GO_NIL)
		tb_buf_str(out, "null");
	else if (v.type == GO_STR)
		json_text(v.str.s, v.str.len, out);
	else if (v.type == GO_FLOAT)
		print_shortest(v.f, -6, 21, true, out);
	else if (v.type == GO_LIST)
		json_list(c, v.list, out);
	else if (v.type == GO_MAP)
		json_map(c, v.map, out);
	else if (v.type == GO_STRUCT)
		json_object_out(c, v.object, out);
	else
		go_print_any(c, v, out);
	c->depth--;
}
