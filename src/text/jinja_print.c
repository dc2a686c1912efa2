/* jinja_print.c - values as text: str(), repr() and json.dumps() of Python. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/jinja_ops.h"

/* The shortest digits that read back, in Python's layout: "1.0", "1e+16", "inf". */
static void
print_float(double f, struct tb_buf *out)
{
	char s[40];
	int digits = 1;

	if (isnan(f) || isinf(f)) {
		tb_buf_str(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
		return;
	}
	do
		snprintf(s, sizeof(s), "%.*e", digits - 1, f);
	while (strtod(s, NULL) != f && digits++ < 17);
	if (fabs(f) < 1e16 && (fabs(f) >= 1e-4 || f == 0)) {
		int exponent = f == 0 ? 0 : (int)strtol(strchr(s, 'e') + 1, NULL, 10);
		int after = digits - 1 - exponent;

		tb_buf_printf(out, "%.*f", after < 1 ? 1 : after, f);
	} else {
		tb_buf_str(out, s);
	}
}

static void
print_scalar(const struct jinja_value *v, struct tb_buf *out)
{
	switch (v->type) {
	case J_NONE:
		tb_buf_str(out, "None");
		break;
	case J_BOOL:
		tb_buf_str(out, v->b ? "True" : "False");
		break;
	case J_INT:
		tb_buf_printf(out, "%" PRId64, v->i);
		break;
	case J_FLOAT:
		print_float(v->f, out);
		break;
	default:
		break;
	}
}

static void
repr_str(const struct jinja_value *v, struct tb_buf *out)
{
	bool single = memchr(v->str.s, '\'', v->str.len), twice = memchr(v->str.s, '"', v->str.len);
	char quote = single && !twice ? '"' : '\'';

	if (v->markup)
		tb_buf_str(out, "Markup(");
	tb_buf_chr(out, quote);
	for (size_t i = 0; i < v->str.len; i++) {
		char ch = v->str.s[i];

		if (ch == quote || ch == '\\')
			tb_buf_printf(out, "\\%c", ch);
		else if (ch == '\n' || ch == '\r' || ch == '\t')
			tb_buf_str(out, ch == '\n' ? "\\n" : ch == '\r' ? "\\r" : "\\t");
		else if ((uint8_t)ch < 0x20 || ch == 0x7f)
			tb_buf_printf(out, "\\x%02x", (unsigned)(uint8_t)ch);
		else
			tb_buf_chr(out, ch);
	}
	tb_buf_chr(out, quote);
	if (v->markup)
		tb_buf_chr(out, ')');
}

static void repr(struct jinja_ctx *c, const struct jinja_value *v, struct tb_buf *out);

static void
repr_list(struct jinja_ctx *c, const struct jinja_list *l, struct tb_buf *out)
{
	tb_buf_chr(out, l->tuple ? '(' : '[');
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++) {
		if (i)
			tb_buf_str(out, ", ");
		repr(c, &l->v[i], out);
	}
	tb_buf_str(out, l->tuple ? l->n == 1 ? ",)" : ")" : "]");
}

static void
repr_dict(struct jinja_ctx *c, const struct jinja_dict *d, struct tb_buf *out)
{
	tb_buf_chr(out, '{');
	for (size_t i = 0; i < d->n && jinja_step(c, 1); i++) {
		if (i)
			tb_buf_str(out, ", ");
		repr(c, &d->v[i].key, out);
		tb_buf_str(out, ": ");
		repr(c, &d->v[i].value, out);
	}
	tb_buf_chr(out, '}');
}

static void
repr(struct jinja_ctx *c, const struct jinja_value *v, struct tb_buf *out)
{
	if (c->depth++ > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "values are nested too deeply");
	else if (v->type == J_STR)
		repr_str(v, out);
	else if (v->type == J_LIST && v->list->lazy)
		jinja_fail(c, TB_EUNSUP, "a generator is not text; \"list\" makes it a list");
	else if (v->type == J_LIST)
		repr_list(c, v->list, out);
	else if (v->type == J_DICT)
		repr_dict(c, v->dict, out);
	else if (v->type >= J_NAMESPACE)
		jinja_fail(c, TB_EUNSUP, "a %s is not text", jinja_type_name(v));
	else if (v->type == J_UNDEFINED)
		tb_buf_str(out, "Undefined");
	else
		print_scalar(v, out);
	c->depth--;
}

void
jinja_print(struct jinja_ctx *c, const struct jinja_value *v, struct tb_buf *out)
{
	if (v->type == J_STR)
		tb_buf_add(out, v->str.s, v->str.len);
	else if (v->type != J_UNDEFINED)
		repr(c, v, out);
}

struct jinja_value
jinja_to_str(struct jinja_ctx *c, const struct jinja_value *v)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	if (v->type == J_STR)
		return *v;
	jinja_print(c, v, &text);
	return jinja_take(c, &text);
}

static void
json_escape(uint32_t cp, struct tb_buf *out)
{
	if (cp >= 0x10000) {
		tb_buf_printf(out, "\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)));
		cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
	}
	tb_buf_printf(out, "\\u%04x", (unsigned)cp);
}

static void
json_str_out(const struct jinja_value *v, bool ascii, struct tb_buf *out)
{
	static const char special[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
	uint32_t cp;

	tb_buf_chr(out, '"');
	for (size_t i = 0, n; i < v->str.len; i += n) {
		const char *hit;

		n = tb_utf8_next(v->str.s + i, v->str.len - i, &cp);
		hit = cp && cp < 0x80 ? strchr(special, (int)cp) : NULL;
		if (hit)
			tb_buf_printf(out, "\\%c", letter[hit - special]);
		else if (cp < 0x20 || (ascii && cp >= 0x7f))
			json_escape(cp, out);
		else
			tb_buf_add(out, v->str.s + i, n);
	}
	tb_buf_chr(out, '"');
}

static void
json_line(const struct jinja_json *how, unsigned level, struct tb_buf *out)
{
	if (how->indent < 0)
		return;
	tb_buf_chr(out, '\n');
	for (unsigned i = 0; i < level * (unsigned)how->indent; i++)
		tb_buf_chr(out, ' ');
}

static int
by_key(const void *a, const void *b)
{
	const struct jinja_pair *x = a, *y = b;

	return jinja_str_order(&x->key, &y->key);
}

static const struct jinja_dict *
sorted_dict(struct jinja_ctx *c, const struct jinja_dict *d)
{
	struct jinja_value copy = jinja_dict(c);

	for (size_t i = 0; i < d->n; i++)
		jinja_put(c, copy.dict, d->v[i].key, d->v[i].value);
	if (copy.dict->n)
		qsort(copy.dict->v, copy.dict->n, sizeof(*copy.dict->v), by_key);
	return copy.dict;
}

static void json_any(struct jinja_ctx *c, const struct jinja_value *v,
		     const struct jinja_json *how, unsigned level, struct tb_buf *out);

static void
json_list(struct jinja_ctx *c, const struct jinja_list *l, const struct jinja_json *how,
	  unsigned level, struct tb_buf *out)
{
	tb_buf_chr(out, '[');
	for (size_t i = 0; i < l->n && jinja_step(c, 1); i++) {
		if (i)
			tb_buf_str(out, how->comma);
		json_line(how, level + 1, out);
		json_any(c, &l->v[i], how, level + 1, out);
	}
	if (l->n)
		json_line(how, level, out);
	tb_buf_chr(out, ']');
}

static void
json_dict(struct jinja_ctx *c, const struct jinja_dict *d, const struct jinja_json *how,
	  unsigned level, struct tb_buf *out)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].key.type != J_STR)
			jinja_fail(c, TB_EUNSUP, "tojson of a dict with keys that are no strings");
	if (!jinja_ok(c))
		return;
	if (how->sort_keys)
		d = sorted_dict(c, d);
	tb_buf_chr(out, '{');
	for (size_t i = 0; i < d->n && jinja_step(c, 1); i++) {
		if (i)
			tb_buf_str(out, how->comma);
		json_line(how, level + 1, out);
		json_str_out(&d->v[i].key, how->ascii, out);
		tb_buf_str(out, how->colon);
		json_any(c, &d->v[i].value, how, level + 1, out);
	}
	if (d->n)
		json_line(how, level, out);
	tb_buf_chr(out, '}');
}

static void
json_any(struct jinja_ctx *c, const struct jinja_value *v, const struct jinja_json *how,
	 unsigned level, struct tb_buf *out)
{
	if (level > JINJA_DEPTH_MAX)
		jinja_fail(c, TB_ELIMIT, "values are nested too deeply");
	else if (v->type == J_LIST)
		json_list(c, v->list, how, level, out);
	else if (v->type == J_DICT)
		json_dict(c, v->dict, how, level, out);
	else if (v->type == J_STR)
		json_str_out(v, how->ascii, out);
	else if (v->type == J_NONE)
		tb_buf_str(out, "null");
	else if (v->type == J_BOOL)
		tb_buf_str(out, v->b ? "true" : "false");
	else if (v->type == J_INT || v->type == J_FLOAT)
		print_scalar(v, out);
	else
		jinja_fail(c, TB_EFORMAT, "a %s cannot be written as JSON", jinja_type_name(v));
}

void
jinja_to_json(struct jinja_ctx *c, const struct jinja_value *v, const struct jinja_json *how,
	      struct tb_buf *out)
{
	json_any(c, v, how, 0, out);
}
