#include "config.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/format/json.h"

/* cJSON looks at the low byte of a type (and two flags above it) only. */
#define BROKEN (1 << 16)	/* a child of this container could not be made */

cJSON *
json_object(void)
{
	return cJSON_CreateObject();
}

cJSON *
json_array(void)
{
	return cJSON_CreateArray();
}

static void
json_add(cJSON *container, const char *key, cJSON *child)
{
	bool ok = container && child &&
		  (key ? cJSON_AddItemToObject(container, key, child)
		       : cJSON_AddItemToArray(container, child));

	if (ok)
		return;
	cJSON_Delete(child);
	if (container)
		container->type |= BROKEN;
}

/* A string whose bytes are UTF-8 whatever came in; NULL when out of memory. */
static char *
clean(const char *s)
{
	struct tb_buf b = TB_BUF(SIZE_MAX / 2);
	size_t left = strlen(s), n;
	uint32_t cp;
	char utf8[4];

	for (; left; s += n, left -= n) {
		n = tb_utf8_next(s, left, &cp);
		tb_buf_add(&b, utf8, tb_utf8_put(cp, utf8));
	}
	return tb_buf_take(&b);
}

static cJSON *
string(const char *s)
{
	char *safe;
	cJSON *v;

	if (!s)
		return cJSON_CreateNull();
	if (tb_utf8_valid(s, strlen(s)))
		return cJSON_CreateString(s);
	safe = clean(s);
	v = safe ? cJSON_CreateString(safe) : NULL;
	free(safe);
	return v;
}

/* Numbers are made as text: a cJSON number is a double and would round them. */
static cJSON *
raw_u64(uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	return cJSON_CreateRaw(text);
}

/* The fewest digits that read back as x.  The decimal separator of the locale,
 * whatever its bytes, becomes a point. */
static void
format_f64(double x, char out[40])
{
	char text[40];
	char *to = out;
	bool point = false;

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	for (const char *s = text; *s; s++) {
		if (strchr("0123456789+-e", *s))
			*to++ = *s;
		else if (!point)
			point = true, *to++ = '.';
	}
	if (x == 0 && signbit(x)) {	/* "-0" is an integer to many readers, and just 0 */
		*to++ = '.';
		*to++ = '0';
	}
	*to = 0;
}

static cJSON *
raw_f64(double x)
{
	char text[40];

	if (!isfinite(x))
		return cJSON_CreateNull();
	format_f64(x, text);
	return cJSON_CreateRaw(text);
}

cJSON *
json_copy(const cJSON *v)
{
	return cJSON_Duplicate(v, true);
}

void
json_set(cJSON *object, const char *key, cJSON *child)
{
	char *safe = NULL;

	if (key && !tb_utf8_valid(key, strlen(key))) {
		key = safe = clean(key);
		if (!safe) {
			cJSON_Delete(child);
			child = NULL;
			key = "";
		}
	}
	json_add(object, key, child);
	free(safe);
}

cJSON *
json_string(const char *s)
{
	return string(s);
}

void
json_set_str(cJSON *object, const char *key, const char *s)
{
	json_set(object, key, string(s));
}

void
json_set_buf(cJSON *object, const char *key, const struct tb_buf *b)
{
	json_set(object, key, tb_buf_failed(b) ? NULL : string(tb_buf_cstr(b)));
}

void
json_set_u64(cJSON *object, const char *key, uint64_t n)
{
	json_set(object, key, raw_u64(n));
}

void
json_set_i64(cJSON *object, const char *key, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	json_set(object, key, cJSON_CreateRaw(text));
}

void
json_set_f64(cJSON *object, const char *key, double x)
{
	json_set(object, key, raw_f64(x));
}

void
json_set_bool(cJSON *object, const char *key, bool b)
{
	json_set(object, key, cJSON_CreateBool(b));
}

void
json_push(cJSON *array, cJSON *child)
{
	json_add(array, NULL, child);
}

void
json_push_str(cJSON *array, const char *s)
{
	json_add(array, NULL, string(s));
}

void
json_push_u64(cJSON *array, uint64_t n)
{
	json_add(array, NULL, raw_u64(n));
}

void
json_push_f64(cJSON *array, double x)
{
	json_add(array, NULL, raw_f64(x));
}

struct printer {
	struct tb_buf out;
	bool pretty, go;
	unsigned depth;
};

/* What JSON allows as it is and a terminal obeys: DEL, C1 (U+009B begins an escape
 * sequence), and marks that reorder or end lines. */
static bool
acts(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x61c || cp == 0x200e ||
	       cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

/* go: as Go's encoder writes it, which is safe inside HTML, too, and has bytes that are no
 * UTF-8 as \ufffd. */
static void
json_quote(struct tb_buf *out, const char *s, bool go)
{
	static const char escape[] = "\b\t\n\f\r\"\\", letter[] = "btnfr\"\\";
	size_t left = strlen(s), n;
	uint32_t cp;

	tb_buf_chr(out, '"');
	for (; left; s += n, left -= n) {
		const char *e = strchr(escape, *s);

		n = tb_utf8_next(s, left, &cp);
		if (e) {
			tb_buf_chr(out, '\\');
			tb_buf_chr(out, letter[e - escape]);
		} else if (!go ? acts(cp) : cp < 0x20 || cp == '<' || cp == '>' || cp == '&' ||
			   cp == 0x2028 || cp == 0x2029) {
			tb_buf_printf(out, "\\u%04" PRIx32, cp);
		} else if (go && cp == 0xfffd && n == 1) {
			tb_buf_str(out, "\\ufffd");
		} else {
			tb_buf_add(out, s, n);
		}
	}
	tb_buf_chr(out, '"');
}

void
json_quote_go(struct tb_buf *out, const char *s)
{
	json_quote(out, s, true);
}

/* The fewest digits that read back as x, with an exponent only where it is far from 1. */
void
json_number_go(struct tb_buf *out, double x)
{
	char text[40], digits[24];
	int n = 0, point;

	if (!isfinite(x)) {
		tb_buf_str(out, "null");
		return;
	}
	for (int more = 0; more < 17; more++) {
		snprintf(text, sizeof(text), "%.*e", more, x);
		if (strtod(text, NULL) == x)
			break;
	}
	for (const char *s = text; *s != 'e'; s++)
		if (*s >= '0' && *s <= '9')
			digits[n++] = *s;
	point = x == 0 ? 1 : (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
	tb_buf_str(out, signbit(x) ? "-" : "");
	if (x != 0 && (fabs(x) < 1e-6 || fabs(x) >= 1e21)) {
		tb_buf_printf(out, "%c%s%.*se%+d", *digits, n > 1 ? "." : "", n - 1, digits + 1,
			      point - 1);
		return;
	}
	tb_buf_str(out, point > 0 ? "" : "0");
	for (int i = point < 0 ? point : 0; i < n || i < point; i++) {
		tb_buf_str(out, i == point ? "." : "");
		tb_buf_chr(out, i >= 0 && i < n ? digits[i] : '0');
	}
}

static void
print_number(struct tb_buf *out, double x)
{
	char text[40];

	if (!isfinite(x)) {
		tb_buf_str(out, "null");
	} else if (x == floor(x) && fabs(x) <= 0x1p53) {
		tb_buf_printf(out, "%" PRId64, (int64_t)x);
	} else {
		format_f64(x, text);
		tb_buf_str(out, text);
	}
}

static void
break_line(struct printer *p)
{
	if (!p->pretty)
		return;
	tb_buf_chr(&p->out, '\n');
	for (unsigned i = 0; i < p->depth; i++)
		tb_buf_str(&p->out, "  ");
}

static void print_value(struct printer *p, const cJSON *v);

static void
print_container(struct printer *p, const cJSON *v)
{
	bool object = cJSON_IsObject(v);

	if (v->type & BROKEN)
		p->out.failed = true;
	tb_buf_chr(&p->out, object ? '{' : '[');
	p->depth++;
	for (const cJSON *child = v->child; child; child = child->next) {
		if (child != v->child)
			tb_buf_chr(&p->out, ',');
		break_line(p);
		if (object) {
			json_quote(&p->out, child->string, p->go);
			tb_buf_str(&p->out, p->pretty ? ": " : ":");
		}
		print_value(p, child);
	}
	p->depth--;
	if (v->child)
		break_line(p);
	tb_buf_chr(&p->out, object ? '}' : ']');
}

static void
print_value(struct printer *p, const cJSON *v)
{
	if (cJSON_IsObject(v) || cJSON_IsArray(v))
		print_container(p, v);
	else if (cJSON_IsString(v))
		json_quote(&p->out, v->valuestring, p->go);
	else if (cJSON_IsRaw(v))
		tb_buf_str(&p->out, v->valuestring);
	else if (cJSON_IsNumber(v) && p->go)
		json_number_go(&p->out, v->valuedouble);
	else if (cJSON_IsNumber(v))
		print_number(&p->out, v->valuedouble);
	else if (cJSON_IsBool(v))
		tb_buf_str(&p->out, cJSON_IsTrue(v) ? "true" : "false");
	else
		tb_buf_str(&p->out, "null");
}

void
json_put_go(struct tb_buf *out, const cJSON *v)
{
	struct printer p = { .out = *out, .go = true };

	print_value(&p, v);
	*out = p.out;
}

static char *
print(const cJSON *v, bool pretty)
{
	struct printer p = { .out = TB_BUF(SIZE_MAX / 2), .pretty = pretty };

	if (!v)
		return NULL;
	print_value(&p, v);
	return tb_buf_take(&p.out);
}

char *
json_print(const cJSON *v)
{
	return print(v, false);
}

char *
json_print_pretty(const cJSON *v)
{
	return print(v, true);
}
