/* jinja_number.c - filters that make numbers: texts as Python's int() and float() read
 * them, rounding as round() does it. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/text/jinja.h"

enum number { NUMBER_NONE, NUMBER_OK, NUMBER_LARGE };

/* Without blanks around it, as both int() and float() take a text. */
static struct jinja_value
bare(struct jinja_ctx *c, const struct jinja_value *v)
{
	const struct jinja_args none = { 0 };

	return v->type == J_STR ? jinja_do(c, v, "strip", &none) : *v;
}

/* "0x" and its like belong to their base, and decide where it is 0. */
static bool
skip_base(const char **s, const char *end, int64_t *base)
{
	static const struct { char letter; int64_t base; } marks[] = {
		{ 'x', 16 }, { 'o', 8 }, { 'b', 2 } };

	for (size_t i = 0; i < 3 && end - *s > 2 && **s == '0'; i++) {
		if (((*s)[1] | 0x20) != marks[i].letter || (*base && *base != marks[i].base))
			continue;
		*base = marks[i].base;
		*s += 2;
		return true;
	}
	*base = *base ? *base : 10;
	return false;
}

static int64_t
digit_of(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch |= 0x20;
	return ch >= 'a' && ch <= 'z' ? ch - 'a' + 10 : 36;
}

/* Digits may have single underscores between them. */
static enum number
read_int(const struct jinja_value *v, int64_t base, int64_t *out)
{
	const char *s = v->str.s, *end = s + v->str.len;
	bool minus = s < end && *s == '-', gap = false, over = false;

	*out = 0;
	s += s < end && (*s == '-' || *s == '+');
	gap = !skip_base(&s, end, &base);
	for (; s < end; s++) {
		if (*s == '_' && !gap) {
			gap = true;
			continue;
		}
		if (digit_of(*s) >= base)
			return NUMBER_NONE;
		gap = false;
		over |= __builtin_mul_overflow(*out, base, out) ||
			__builtin_sub_overflow(*out, digit_of(*s), out);
	}
	if (gap || !v->str.len)
		return NUMBER_NONE;
	over |= !minus && __builtin_sub_overflow(0, *out, out);
	return over ? NUMBER_LARGE : NUMBER_OK;
}

static bool
read_float(const struct jinja_value *v, double *out)
{
	size_t len = v->str.len, n = 0;
	const char *s = v->str.s, *word;
	char text[512], *end;

	if (!len || len >= sizeof(text))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool between = i && i + 1 < len && digit_of(s[i - 1]) < 10 && digit_of(s[i + 1]) < 10;

		if (s[i] == '_' && !between)
			return false;
		if (s[i] != '_')
			text[n++] = s[i];
	}
	text[n] = 0;
	word = text + (*text == '-' || *text == '+');
	if (strcasecmp(word, "inf") && strcasecmp(word, "infinity") && strcasecmp(word, "nan") &&
	    strspn(text, "0123456789.eE+-") != n)
		return false;
	*out = strtod(text, &end);
	return end == text + n;
}

/* Towards 0. */
static struct jinja_value
whole(struct jinja_ctx *c, double f)
{
	if (f >= 0x1p63 || f < -0x1p63)
		jinja_fail(c, TB_ELIMIT, "a number is too large");
	return jinja_int(jinja_ok(c) ? (int64_t)f : 0);
}

JINJA_FN(jinja_f_int)
{
	const struct jinja_value *otherwise = jinja_arg(args, 0, "default");
	const struct jinja_value *base = jinja_arg(args, 1, "base");
	const struct jinja_value v = bare(c, self);
	enum number known = NUMBER_NONE;
	int64_t i;
	double f;

	if (self->type == J_UNDEFINED)
		jinja_fail(c, TB_EFORMAT, "'%.80s' is undefined", self->str.s);
	if (self->type == J_STR)
		known = read_int(&v, base && base->type == J_INT ? base->i : 10, &i);
	if (known == NUMBER_LARGE)
		jinja_fail(c, TB_ELIMIT, "a number is too large");
	if (known == NUMBER_OK)
		return jinja_int(i);
	if (self->type == J_INT || self->type == J_BOOL)
		return self->type == J_INT ? *self : jinja_int(self->b);
	if (self->type == J_FLOAT && !isnan(self->f))
		return whole(c, self->f);
	if (self->type == J_STR && read_float(&v, &f) && isfinite(f))
		return whole(c, f);
	return otherwise ? *otherwise : jinja_int(0);
}

JINJA_FN(jinja_f_float)
{
	const struct jinja_value *otherwise = jinja_arg(args, 0, "default");
	const struct jinja_value v = bare(c, self);
	double f;

	if (self->type == J_UNDEFINED)
		jinja_fail(c, TB_EFORMAT, "'%.80s' is undefined", self->str.s);
	if (jinja_is_num(self))
		return jinja_float(jinja_num(self));
	if (self->type == J_STR && read_float(&v, &f))
		return jinja_float(f);
	return otherwise ? *otherwise : jinja_float(0);
}

JINJA_FN(jinja_f_abs)
{
	if (self->type == J_FLOAT)
		return jinja_float(fabs(self->f));
	if (self->type == J_BOOL)
		return jinja_int(self->b);
	if (self->type == J_INT && self->i != INT64_MIN)
		return jinja_int(self->i < 0 ? -self->i : self->i);
	jinja_fail(c, TB_EFORMAT, "abs of a %s", jinja_type_name(self));
	return jinja_none();
}

/* To the even neighbour of the decimal that is nearest to what the bits say: 2.675 is
 * less than that, so it becomes 2.67. */
static double
round_half_even(double f, int64_t places)
{
	char text[400];

	if (!isfinite(f) || places > 323)
		return f;
	if (places < -308)
		return copysign(0, f);
	if (places < 0)
		return rint(f / pow(10, (double)-places)) * pow(10, (double)-places);
	if (snprintf(text, sizeof(text), "%.*f", (int)places, f) >= (int)sizeof(text))
		return f;
	return strtod(text, NULL);
}

static struct jinja_value
round_int(struct jinja_ctx *c, int64_t i, int64_t places)
{
	int64_t unit = 1, rest, half;

	if (places >= 0)
		return jinja_int(i);
	for (int64_t p = places; p < 0; p++)
		if (__builtin_mul_overflow(unit, 10, &unit))
			return jinja_int(0);
	rest = i % unit;
	half = (rest < 0 ? -rest : rest) - unit / 2;
	i -= rest;
	if ((half > 0 || (half == 0 && i / unit % 2)) &&
	    __builtin_add_overflow(i, rest < 0 ? -unit : unit, &i))
		jinja_fail(c, TB_ELIMIT, "a number is too large");
	return jinja_int(i);
}

JINJA_FN(jinja_f_round)
{
	const struct jinja_value *places = jinja_arg(args, 0, "precision");
	const struct jinja_value *method = jinja_arg(args, 1, "method");
	const char *way = method && method->type == J_STR ? method->str.s : method ? "" : "common";
	int64_t n = places && places->type == J_INT ? places->i : 0;
	double scale = pow(10, (double)n);

	if (!jinja_is_num(self) || (places && places->type != J_INT)) {
		jinja_fail(c, TB_EFORMAT, "round of a %s", jinja_type_name(self));
		return jinja_none();
	}
	if (!strcmp(way, "ceil") || !strcmp(way, "floor"))	/* + 0: integers have no -0 */
		return jinja_float(((*way == 'c' ? ceil(jinja_num(self) * scale)
						 : floor(jinja_num(self) * scale)) + 0) / scale);
	if (strcmp(way, "common"))
		jinja_fail(c, TB_EFORMAT, "round: the method is common, ceil or floor");
	if (self->type == J_FLOAT)
		return jinja_float(round_half_even(self->f, n));
	return round_int(c, self->type == J_BOOL ? self->b : self->i, n);
}
