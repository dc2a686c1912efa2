/* go_format.c - printf of a Go template: verbs, flags, widths and complaints of Go's fmt. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/go.h"

#define WIDTH_MAX 1000000		/* as fmt takes it */

struct go_printf {
	struct jinja_ctx *c;
	struct tb_buf *out;
	const char *s, *end;		/* what is left of the format */
	const struct go_value *args;
	size_t n, at;			/* arguments, and the next one */
	bool plus, minus, sharp, space, zero;
	bool names, source;		/* %+v, %#v */
	unsigned depth;			/* within lists and such */
	bool has_width, has_prec, reordered, bad_index;
	int width, prec;
};

static void put_value(struct go_printf *p, struct go_value v, char verb);

static size_t
runes(const char *s, size_t len)
{
	size_t n = 0;
	uint32_t cp;

	for (size_t i = 0; i < len; n++)
		i += tb_utf8_next(s + i, len - i, &cp);
	return n;
}

static void
fill(struct go_printf *p, size_t n, char ch)
{
	if (!jinja_step(p->c, n / 64))
		return;
	while (n--)
		tb_buf_chr(p->out, ch);
}

static void
pad(struct go_printf *p, const char *s, size_t len)
{
	size_t n = p->has_width ? runes(s, len) : 0, width = (size_t)p->width;

	if (!p->has_width || n >= width) {
		tb_buf_add(p->out, s, len);
	} else if (p->minus) {
		tb_buf_add(p->out, s, len);
		fill(p, width - n, ' ');
	} else {
		fill(p, width - n, p->zero ? '0' : ' ');
		tb_buf_add(p->out, s, len);
	}
}

/* %!d(string=hi) */
static void
bad_verb(struct go_printf *p, struct go_value v, char verb)
{
	tb_buf_printf(p->out, "%%!%c(", verb);
	if (v.type != GO_NOTHING && v.type != GO_NIL)
		tb_buf_printf(p->out, "%s=", go_type_name(v));
	put_value(p, v, 'v');
	tb_buf_chr(p->out, ')');
}

static void
quote_rune(const char *s, size_t len, uint32_t cp, char quote, bool ascii, struct tb_buf *out)
{
	static const char special[] = "\a\b\f\n\r\t\v\\", letter[] = "abfnrtv\\";
	const char *hit = cp && cp < 0x80 ? strchr(special, (int)cp) : NULL;

	if (hit || cp == (uint32_t)quote)
		tb_buf_printf(out, "\\%c", hit ? letter[hit - special] : quote);
	else if (cp == 0xfffd && len == 1)
		tb_buf_printf(out, "\\x%02x", (unsigned)(uint8_t)*s);
	else if (cp < ' ' || cp == 0x7f)
		tb_buf_printf(out, "\\x%02x", (unsigned)cp);
	else if (cp < 0x80 || (!ascii && tb_graphic_cp(cp) && cp != 0xa0 && cp != 0x3000))
		tb_buf_add(out, s, len);
	else
		tb_buf_printf(out, cp < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)cp);
}

static void
put_quoted(struct go_printf *p, const char *s, size_t len)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);
	uint32_t cp;

	if (p->sharp && tb_utf8_valid(s, len) && !memchr(s, '`', len) && !memchr(s, '\n', len)) {
		tb_buf_printf(&text, "`%.*s`", (int)len, s);
	} else {
		tb_buf_chr(&text, '"');
		for (size_t i = 0, n; i < len; i += n) {
			n = tb_utf8_next(s + i, len - i, &cp);
			quote_rune(s + i, n, cp, '"', p->plus, &text);
		}
		tb_buf_chr(&text, '"');
	}
	pad(p, tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
}

static void
put_hex(struct go_printf *p, const char *s, size_t len, char verb)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	for (size_t i = 0; i < len && !(p->has_prec && i >= (size_t)p->prec); i++) {
		if (i && p->space)
			tb_buf_chr(&text, ' ');
		if (p->sharp && (!i || p->space))
			tb_buf_printf(&text, "0%c", verb);
		tb_buf_printf(&text, verb == 'x' ? "%02x" : "%02X", (unsigned)(uint8_t)s[i]);
	}
	pad(p, tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
}

static void
put_string(struct go_printf *p, struct go_value v, char verb)
{
	size_t len = v.str.len, n = 0;
	uint32_t cp;

	if (p->has_prec && verb != 'x' && verb != 'X') {
		for (int i = 0; n < len && i < p->prec; i++)
			n += tb_utf8_next(v.str.s + n, len - n, &cp);
		len = n;
	}
	if (verb == 'q' || (verb == 'v' && p->source)) {
		put_quoted(p, v.str.s, len);
	} else if (verb == 's' || verb == 'v') {
		pad(p, v.str.s, len);
	} else if (verb == 'x' || verb == 'X') {
		put_hex(p, v.str.s, len, verb);
	} else {
		bad_verb(p, v, verb);
	}
}

/* A code point: %c, %q, %U. */
static void
put_rune(struct go_printf *p, int64_t i, char verb)
{
	struct tb_buf text = TB_BUF(256);
	uint32_t cp = i < 0 || i > 0x10ffff || (i >= 0xd800 && i < 0xe000) ? 0xfffd : (uint32_t)i;
	char s[4];
	size_t len = tb_utf8_put(cp, s);

	if (verb == 'c') {
		tb_buf_add(&text, s, len);
	} else if (verb == 'q') {
		tb_buf_chr(&text, '\'');
		quote_rune(s, len == 1 ? 1 : len, cp, '\'', p->plus, &text);
		tb_buf_chr(&text, '\'');
	} else {
		tb_buf_printf(&text, "U+%04" PRIX64, (uint64_t)i);
		if (p->sharp && tb_graphic_cp(cp))
			tb_buf_printf(&text, " '%.*s'", (int)len, s);
	}
	if (verb == 'U')
		p->zero = false;
	pad(p, tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
}

static char *
digits_of(uint64_t u, unsigned base, bool upper, char buf[72])
{
	static const char lower_digits[] = "0123456789abcdef", upper_digits[] = "0123456789ABCDEF";
	char *s = buf + 71;

	*s = 0;
	do
		*--s = (upper ? upper_digits : lower_digits)[u % base];
	while (u /= base);
	return s;
}

static void
put_int(struct go_printf *p, int64_t i, unsigned base, char verb)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);
	char buf[72], *s = digits_of(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, base, verb == 'X', buf);
	int prec = p->has_prec ? p->prec : 1, len = (int)strlen(s);

	if (p->has_prec && !p->prec && !i) {
		p->zero = false;
		fill(p, p->has_width ? (size_t)p->width : 0, ' ');
		return;
	}
	if (!p->has_prec && p->zero && p->has_width && !p->minus)
		prec = p->width - (i < 0 || p->plus || p->space);
	if (i < 0 || p->plus || p->space)
		tb_buf_chr(&text, i < 0 ? '-' : p->plus ? '+' : ' ');
	if (verb == 'O')
		tb_buf_str(&text, "0o");
	if (p->sharp && base != 10 && !(base == 8 && (*s == '0' || prec > len)))
		tb_buf_str(&text, base == 2 ? "0b" : base == 8 ? "0" : verb == 'X' ? "0X" : "0x");
	for (int n = len; n < prec && jinja_step(p->c, 1); n++)
		tb_buf_chr(&text, '0');
	tb_buf_str(&text, s);
	p->zero = false;
	pad(p, tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
}

static void
put_whole(struct go_printf *p, struct go_value v, char verb)
{
	switch (verb) {
	case 'v':
		if (p->source && v.type == GO_BYTE) {
			p->sharp = true;
			put_int(p, v.i, 16, 'x');
			return;
		}
		put_int(p, v.i, 10, 'd');
		return;
	case 'd':
		put_int(p, v.i, 10, verb);
		return;
	case 'b':
		put_int(p, v.i, 2, verb);
		return;
	case 'o':
	case 'O':
		put_int(p, v.i, 8, verb);
		return;
	case 'x':
	case 'X':
		put_int(p, v.i, 16, verb);
		return;
	case 'c':
	case 'q':
	case 'U':
		put_rune(p, v.i, verb);
		return;
	default:
		bad_verb(p, v, verb);
	}
}

static void
put_float(struct go_printf *p, struct go_value v, char verb)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);
	char format[] = "%#.*e";
	const char *s;

	if (!strchr("veEfFgG", verb)) {
		bad_verb(p, v, verb);
		return;
	}
	if (p->plus)
		tb_buf_chr(&text, v.f < 0 ? '-' : '+');
	else if (v.f < 0 || p->space)
		tb_buf_chr(&text, v.f < 0 ? '-' : ' ');
	if ((verb == 'v' || verb == 'g') && !p->has_prec && !p->sharp) {
		go_print_float(fabs(v.f), &text);
	} else {
		format[4] = verb == 'v' ? 'g' : verb == 'F' ? 'f' : verb;
		if (!p->sharp)
			memmove(format + 1, format + 2, 4);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		tb_buf_printf(&text, format, p->has_prec ? p->prec : 6, fabs(v.f));
#pragma GCC diagnostic pop
	}
	s = tb_buf_cstr(&text);
	if (p->zero && p->has_width && text.len && strchr("+- ", *s)) {
		tb_buf_chr(p->out, *s);	/* before the zeros */
		p->width--;
		pad(p, s + 1, text.len - 1);
	} else {
		pad(p, s, text.len);
	}
	tb_buf_free(&text);
}

/* ---- lists, maps and structs: the verb is for what is in them ---- */

static void
put_items(struct go_printf *p, const struct go_list *l, char verb)
{
	bool sharp = verb == 'v' && p->source;

	tb_buf_str(p->out, sharp ? l->kind->name : "");
	tb_buf_str(p->out, sharp ? l->v ? "{" : "(nil)" : "[");
	for (size_t i = 0; i < l->n && jinja_ok(p->c); i++) {
		if (i)
			tb_buf_str(p->out, sharp ? ", " : " ");
		put_value(p, l->v[i], verb);
	}
	tb_buf_str(p->out, sharp ? l->v ? "}" : "" : "]");
}

static void
put_map(struct go_printf *p, const struct go_map *m, char verb)
{
	bool sharp = verb == 'v' && p->source;

	tb_buf_str(p->out, sharp ? m->kind->name : "map");
	tb_buf_chr(p->out, sharp ? '{' : '[');
	for (size_t i = 0; i < m->n && jinja_ok(p->c); i++) {
		if (i)
			tb_buf_str(p->out, sharp ? ", " : " ");
		put_value(p, go_str(m->v[i].key, m->v[i].len), verb);
		tb_buf_chr(p->out, ':');
		put_value(p, m->v[i].value, verb);
	}
	tb_buf_chr(p->out, sharp ? '}' : ']');
}

static void
put_object(struct go_printf *p, const struct go_object *o, char verb)
{
	bool sharp = verb == 'v' && p->source;

	tb_buf_printf(p->out, "%s{", sharp ? o->is->name : "");
	for (size_t i = 0; i < o->is->n && jinja_ok(p->c); i++) {
		if (i)
			tb_buf_str(p->out, sharp ? ", " : " ");
		if (verb == 'v' && (sharp || p->names))
			tb_buf_printf(p->out, "%s:", o->is->fields[i].name);
		put_value(p, o->v[i], verb);
	}
	tb_buf_chr(p->out, '}');
}

/* What prints itself as text is that text. */
static bool
prints_itself(struct go_value v)
{
	return (v.type == GO_LIST && v.list->kind->print) ||
	       (v.type == GO_MAP && v.map->kind->print) ||
	       (v.type == GO_STRUCT && v.object->is->print);
}

static void
put_itself(struct go_printf *p, struct go_value v, char verb)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	go_print_any(p->c, v, &text);
	put_string(p, go_take(p->c, &text), verb);
}

static void
put_nested(struct go_printf *p, struct go_value v, char verb)
{
	if (p->c->depth > JINJA_DEPTH_MAX)
		jinja_fail(p->c, TB_ELIMIT, "values are nested too deeply");
	if (v.type == GO_STRUCT && v.object->is->pointer && verb == 'v' && !p->depth)
		tb_buf_chr(p->out, '&');
	p->depth++;
	if (prints_itself(v) && strchr("vsxXq", verb) && !(verb == 'v' && p->source))
		put_itself(p, v, verb);
	else if (v.type == GO_LIST)
		put_items(p, v.list, verb);
	else if (v.type == GO_MAP)
		put_map(p, v.map, verb);
	else
		put_object(p, v.object, verb);
}

static void
put_value(struct go_printf *p, struct go_value v, char verb)
{
	struct go_printf flags = *p;	/* what a value does to them is its own */

	if (!jinja_step(p->c, 1))
		return;
	p->c->depth++;
	if (v.type == GO_NOTHING || v.type == GO_NIL) {
		if (p->depth)
			tb_buf_str(p->out, "<nil>");
		else if (verb == 'v')
			pad(p, "<nil>", 5);
		else
			tb_buf_printf(p->out, "%%!%c(<nil>)", verb);
	} else if (v.type == GO_BOOL) {
		if (verb == 'v' || verb == 't')
			pad(p, v.b ? "true" : "false", v.b ? 4 : 5);
		else
			bad_verb(p, v, verb);
	} else if (v.type == GO_INT || v.type == GO_BYTE) {
		put_whole(p, v, verb);
	} else if (v.type == GO_FLOAT) {
		put_float(p, v, verb);
	} else if (v.type == GO_STR) {
		put_string(p, v, verb);
	} else {
		put_nested(p, v, verb);
	}
	p->c->depth--;
	flags.s = p->s;
	*p = flags;
}

/* ---- the format ---- */

static bool
read_int_arg(struct go_printf *p, int *out)
{
	const struct go_value *v = p->at < p->n ? &p->args[p->at++] : NULL;

	if (!v || (v->type != GO_INT && v->type != GO_BYTE) || v->i > WIDTH_MAX ||
	    v->i < -WIDTH_MAX)
		return false;
	*out = (int)v->i;
	return true;
}

static bool
read_digits(struct go_printf *p, int *out)
{
	const char *s = p->s;

	for (*out = 0; p->s < p->end && *p->s >= '0' && *p->s <= '9' && *out <= WIDTH_MAX; p->s++)
		*out = *out * 10 + (*p->s - '0');
	return p->s > s && *out <= WIDTH_MAX;
}

/* [3]: the argument that is next. */
static void
read_index(struct go_printf *p)
{
	const char *close;
	int i = 0;

	if (p->s >= p->end || *p->s != '[')
		return;
	p->reordered = true;
	close = memchr(p->s, ']', (size_t)(p->end - p->s));
	p->s++;
	if (!close || !read_digits(p, &i) || p->s != close || i < 1 || (size_t)i > p->n)
		p->bad_index = true;
	else
		p->at = (size_t)i - 1;
	if (close)
		p->s = close + 1;
}

static void
read_flags(struct go_printf *p)
{
	for (; p->s < p->end; p->s++) {
		switch (*p->s) {
		case '+':
			p->plus = true;
			break;
		case '-':
			p->minus = true;
			p->zero = false;
			break;
		case '#':
			p->sharp = true;
			break;
		case ' ':
			p->space = true;
			break;
		case '0':
			p->zero = !p->minus;
			break;
		default:
			return;
		}
	}
}

static void
read_width(struct go_printf *p)
{
	read_index(p);
	if (p->s < p->end && *p->s == '*') {
		p->s++;
		p->has_width = read_int_arg(p, &p->width);
		if (!p->has_width)
			tb_buf_str(p->out, "%!(BADWIDTH)");
		if (p->has_width && p->width < 0) {
			p->width = -p->width;
			p->minus = true;
			p->zero = false;
		}
	} else {
		p->has_width = read_digits(p, &p->width);
	}
	if (p->s >= p->end || *p->s != '.')
		return;
	p->s++;
	read_index(p);
	if (p->s < p->end && *p->s == '*') {
		p->s++;
		p->has_prec = read_int_arg(p, &p->prec) && p->prec >= 0;
		if (!p->has_prec)
			tb_buf_str(p->out, "%!(BADPREC)");
	} else {
		p->has_prec = true;
		(void)read_digits(p, &p->prec);
	}
}

/* One verb with all that stands before it; p->s stands behind the "%". */
static void
put_verb(struct go_printf *p)
{
	uint32_t cp;
	size_t len;

	p->plus = p->minus = p->sharp = p->space = p->zero = false;
	p->has_width = p->has_prec = p->bad_index = p->names = p->source = false;
	read_flags(p);
	read_width(p);
	read_index(p);
	if (p->s >= p->end) {
		tb_buf_str(p->out, "%!(NOVERB)");
		return;
	}
	len = tb_utf8_next(p->s, (size_t)(p->end - p->s), &cp);
	p->s += len;
	if (cp == '%') {
		tb_buf_chr(p->out, '%');
	} else if (p->bad_index || p->at >= p->n) {
		tb_buf_str(p->out, "%!");
		tb_buf_add(p->out, p->s - len, len);
		tb_buf_str(p->out, p->bad_index ? "(BADINDEX)" : "(MISSING)");
	} else if (cp == 'T') {
		struct go_value v = go_text(go_type_name(p->args[p->at++]));

		put_value(p, v, 's');
	} else {
		if (cp == 'v') {
			p->names = p->plus;
			p->source = p->sharp;
			p->plus = p->sharp = false;
		}
		put_value(p, p->args[p->at++], len == 1 ? (char)cp : '?');
	}
}

struct go_value
go_fn_printf(struct jinja_ctx *c, const struct go_value *args, size_t n,
	     __attribute__((unused)) int how)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	struct go_printf p = { .c = c, .out = &out, .s = args[0].str.s,
			       .end = args[0].str.s + args[0].str.len, .args = args + 1, .n = n - 1 };

	while (p.s < p.end && jinja_step(c, 1)) {
		const char *next = memchr(p.s, '%', (size_t)(p.end - p.s));

		tb_buf_add(&out, p.s, (size_t)((next ? next : p.end) - p.s));
		p.s = next ? next + 1 : p.end;
		if (next)
			put_verb(&p);
	}
	if (!p.reordered && p.at < p.n && jinja_ok(c)) {
		tb_buf_str(&out, "%!(EXTRA ");
		p.has_width = p.has_prec = p.plus = p.sharp = p.zero = p.names = p.source = false;
		for (size_t i = p.at; i < p.n && jinja_ok(c); i++) {
			tb_buf_str(&out, i > p.at ? ", " : "");
			if (args[i + 1].type == GO_NOTHING || args[i + 1].type == GO_NIL)
				tb_buf_str(&out, "<nil>");
			else
				tb_buf_printf(&out, "%s=", go_type_name(args[i + 1]));
			if (args[i + 1].type > GO_NIL)
				put_value(&p, args[i + 1], 'v');
		}
		tb_buf_chr(&out, ')');
	}
	return go_take(c, &out);
}
