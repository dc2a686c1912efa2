/* schema_number.c - ranges of numbers as digits. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/text/schema.h"

#define MOST 999999999999999.0		/* 15 digits: a double has them all */
#define VALUES_MAX 1000			/* multiples that are written out */
#define REST_MAX 100			/* else: remainders */

struct range {
	double lo, hi;		/* -INFINITY, INFINITY: no end */
	bool lo_open, hi_open;
};

/* The digits behind place i are those of d or more (up) or less. */
static void
put_beyond(struct tb_buf *x, const char *d, size_t i, bool up)
{
	size_t rest = strlen(d) - i;
	char far = up ? '9' : '0';

	if (!rest)
		return;
	if (strspn(d + i, up ? "0" : "9") == rest) {
		tb_buf_printf(x, " [0-9]{%zu}", rest);
		return;
	}
	tb_buf_printf(x, " (\"%c\"", d[i]);
	put_beyond(x, d, i + 1, up);
	if (d[i] != far) {
		tb_buf_printf(x, " | [%c-%c]", up ? d[i] + 1 : '0', up ? '9' : d[i] - 1);
		if (rest > 1)
			tb_buf_printf(x, " [0-9]{%zu}", rest - 1);
	}
	tb_buf_chr(x, ')');
}

/* All digits from a to b, which have the same length. */
static void
put_between(struct tb_buf *x, const char *a, const char *b)
{
	size_t i = 0, n = strlen(a);

	while (i < n && a[i] == b[i])
		i++;
	if (i)
		tb_buf_printf(x, " \"%.*s\"", (int)i, a);
	if (i == n)
		return;
	tb_buf_printf(x, " (\"%c\"", a[i]);
	put_beyond(x, a, i + 1, true);
	if (a[i] + 1 < b[i]) {
		tb_buf_printf(x, " | [%c-%c]", a[i] + 1, b[i] - 1);
		if (n - i > 1)
			tb_buf_printf(x, " [0-9]{%zu}", n - i - 1);
	}
	tb_buf_printf(x, " | \"%c\"", b[i]);
	put_beyond(x, b, i + 1, false);
	tb_buf_chr(x, ')');
}

/* Whole numbers from a >= 0 to b. */
static void
put_natural(struct tb_buf *x, double a, double b)
{
	const char *or = "(";
	char from[32], to[32];

	b = b < MOST ? b : MOST;
	for (double low = 0, high = 9; a <= b && low <= b; low = high + 1, high = high * 10 + 9) {
		double begin = a > low ? a : low, end = b < high ? b : high;

		if (begin > end)
			continue;
		snprintf(from, sizeof(from), "%.0f", begin);
		snprintf(to, sizeof(to), "%.0f", end);
		tb_buf_str(x, or);
		put_between(x, from, to);
		or = " | ";
	}
	tb_buf_str(x, *or == '(' ? "[]" : ")");
}

/* Adds an alternative; *or: what stands before it. */
static void
put_or(struct tb_buf *x, const char **or)
{
	tb_buf_str(x, *or);
	*or = " | ";
}

static void
put_whole(struct tb_buf *x, double lo, double hi, const char **or)
{
	if (hi >= 0 && lo <= hi) {
		put_or(x, or);
		put_natural(x, lo > 0 ? lo : 0, hi);
	}
	if (lo <= -1 && lo <= hi) {
		put_or(x, or);
		tb_buf_str(x, "\"-\" ");
		put_natural(x, hi < -1 ? -hi : 1, -lo);
	}
}

#define FRACTION " \".\" [0-9]{0,5} [1-9]"	/* never 0, so that it is inside what is open */

/* Numbers between two whole ones that are both in the range. */
static void
put_fractions(struct tb_buf *x, double lo, double hi, const char **or)
{
	double from = ceil(lo > 0 ? lo : 0), to = floor(hi) - 1;

	if (from <= to) {
		put_or(x, or);
		put_natural(x, from, to);
		tb_buf_str(x, FRACTION);
	}
	from = ceil(hi < 0 ? -hi : 0);
	to = floor(-lo) - 1;
	if (from <= to) {
		put_or(x, or);
		tb_buf_str(x, "\"-\" ");
		put_natural(x, from, to);
		tb_buf_str(x, FRACTION);
	}
}

/* A range within two whole numbers: six digits behind the point. */
static bool
put_narrow(struct tb_buf *x, double lo, double hi, const char **or)
{
	bool minus = hi <= 0;
	double a = minus ? -hi : lo, b = minus ? -lo : hi, whole = floor(a);
	double from = ceil((a - whole) * 1e6) + 1, to = floor((b - whole) * 1e6) - 1;
	char x1[32], x2[32];

	if (a < 0 || b > whole + 1 || from > to || to > 999999 || whole > MOST)
		return false;
	snprintf(x1, sizeof(x1), "%06.0f", from);
	snprintf(x2, sizeof(x2), "%06.0f", to);
	put_or(x, or);
	tb_buf_printf(x, "\"%s%.0f.\"", minus ? "-" : "", whole);
	put_between(x, x1, x2);
	return true;
}

#define DIGITS_MAX 15

/* All multiples of m, by what is left over of the digits so far: a rule for each, and for how
 * many digits may follow. */
static void
put_multiples(struct schema *s, unsigned m, bool minus, struct tb_buf *x)
{
	unsigned first = s->next;

	s->next += m * DIGITS_MAX;
	for (unsigned k = 0; k < DIGITS_MAX; k++)
		for (unsigned rest = 0; rest < m; rest++) {
			tb_buf_printf(&s->rules, "r%u ::= %s", first + k * m + rest, rest ? "[]" : "\"\"");
			for (unsigned d = 0; d < 10 && k; d++)
				tb_buf_printf(&s->rules, " | \"%u\" r%u", d,
					      first + (k - 1) * m + (rest * 10 + d) % m);
			tb_buf_chr(&s->rules, '\n');
		}
	tb_buf_printf(x, "\"0\" | %s(", minus ? "\"-\"? " : "");
	for (unsigned d = 1; d < 10; d++)
		tb_buf_printf(x, "%s\"%u\" r%u", d > 1 ? " | " : "", d,
			      first + (DIGITS_MAX - 1) * m + d % m);
	tb_buf_chr(x, ')');
}

static enum tb_status
multiples(struct schema *s, double m, double lo, double hi, struct tb_buf *x)
{
	const char *or = "";

	if (!(m >= 1) || m != floor(m) || m > MOST)
		return schema_refuse(s, "multipleOf", "whole numbers are supported alone");
	if (isfinite(lo) && isfinite(hi) && floor(hi / m) - ceil(lo / m) < VALUES_MAX) {
		for (double k = ceil(lo / m); k <= floor(hi / m); k++) {
			put_or(x, &or);
			tb_buf_printf(x, "\"%.0f\"", k * m + 0.0);
		}
		if (!*or)
			tb_buf_str(x, "[]");
		return TB_OK;
	}
	if (m > REST_MAX || isfinite(hi) || (isfinite(lo) && lo > 0))
		return schema_refuse(s, "multipleOf", "this is supported up to %d without another limit "
				     "than minimum 0, or where a range has at most %d such numbers",
				     REST_MAX, VALUES_MAX);
	put_multiples(s, (unsigned)m, !isfinite(lo), x);
	return TB_OK;
}

/* minimum and exclusiveMinimum, or those of the other end; also where the second says of the
 * first that it is open, as it was once. */
static enum tb_status
read_end(struct schema *s, const cJSON *of, const char *key, const char *open_key, int sign,
	 double *end, bool *open)
{
	const cJSON *closed = json_get(of, key), *opened = json_get(of, open_key);
	double x;

	*end = sign * INFINITY;
	*open = false;
	if (closed && !json_f64(closed, end))
		return schema_refuse(s, key, "this is no number");
	if (!opened || json_bool(opened, open))
		return TB_OK;
	if (!json_f64(opened, &x))
		return schema_refuse(s, open_key, "this is no number");
	if (!closed || sign * x <= sign * *end) {
		*end = x;
		*open = true;
	}
	return TB_OK;
}

enum tb_status
schema_put_number(struct schema *s, const cJSON *of, bool whole, struct tb_buf *x)
{
	struct range r;
	double multiple = 1, lo, hi;
	const char *or = "";
	enum tb_status status;

	if ((status = read_end(s, of, "minimum", "exclusiveMinimum", -1, &r.lo, &r.lo_open)) ||
	    (status = read_end(s, of, "maximum", "exclusiveMaximum", 1, &r.hi, &r.hi_open)))
		return status;
	if (json_get(of, "multipleOf") && !json_f64(json_get(of, "multipleOf"), &multiple))
		return schema_refuse(s, "multipleOf", "this is no number");
	lo = r.lo_open ? floor(r.lo) + 1 : ceil(r.lo);
	hi = r.hi_open ? ceil(r.hi) - 1 : floor(r.hi);
	if (multiple != 1)
		return multiples(s, multiple, lo, hi, x);
	if (isinf(r.lo) && isinf(r.hi)) {
		tb_buf_str(x, whole || json_get(of, "multipleOf") ? "integer" : "number");
		return TB_OK;
	}
	lo = lo < -MOST ? -MOST : lo;
	hi = hi > MOST ? MOST : hi;
	put_whole(x, lo, hi, &or);
	if (!whole && !json_get(of, "multipleOf")) {
		put_fractions(x, r.lo < -MOST ? -MOST : r.lo, r.hi > MOST ? MOST : r.hi, &or);
		if (!*or)
			put_narrow(x, r.lo, r.hi, &or);
	}
	return *or ? TB_OK : schema_refuse(s, isinf(r.lo) ? "maximum" : "minimum", "no number of at "
					   "most 15 digits is in this range");
}
