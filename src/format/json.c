#include "config.h"

#include "src/format/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json_scan.h"

/* State of the walk over a fresh tree. */
struct check {
	const char **keys;	/* of the object at hand; owned */
	size_t cap;
	const struct json_numbers *numbers;
	size_t count, odd;	/* numbers seen; index of the next odd one */
};

static int
key_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum tb_status
check_keys(struct check *c, const cJSON *object, const char *what, struct tb_err *err)
{
	size_t n = 0;

	for (const cJSON *v = object->child; v; v = v->next) {
		if (!tb_grow(&c->keys, &c->cap, n + 1, sizeof(*c->keys)))
			return tb_nomem(err);
		c->keys[n++] = v->string;
	}
	if (n > 1)
		qsort(c->keys, n, sizeof(*c->keys), key_cmp);
	for (size_t i = 1; i < n; i++)
		if (strcmp(c->keys[i - 1], c->keys[i]) == 0)
			return tb_fail(err, TB_EFORMAT, "%s: key \"%s\" is there twice", what,
				       c->keys[i]);
	return TB_OK;
}

/* cJSON's valueint is a clamped copy that nobody may use: here it remembers
 * whether the text of the number was an exact integer.  Recursion is bounded by
 * JSON_DEPTH_MAX. */
static enum tb_status
check_tree(struct check *c, cJSON *v, const char *what, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (cJSON_IsNumber(v)) {
		bool odd = c->odd < c->numbers->n && c->numbers->odd[c->odd] == c->count;

		v->valueint = !odd;
		c->odd += odd;
		c->count++;
	}
	if (cJSON_IsObject(v))
		status = check_keys(c, v, what, err);
	for (cJSON *child = v->child; child && !status; child = child->next)
		status = check_tree(c, child, what, err);
	return status;
}

enum tb_status
json_parse(cJSON **out, const char *text, size_t len, const char *what, struct tb_err *err)
{
	struct json_numbers numbers = { 0 };
	struct check c = { .numbers = &numbers };
	enum tb_status status = json_scan(text, len, what, &numbers, err);
	cJSON *v = NULL;

	*out = NULL;
	if (!status && !(v = cJSON_ParseWithLength(text, len)))
		status = tb_nomem(err);		/* the grammar was fine */
	if (!status)
		status = check_tree(&c, v, what, err);
	if (status)
		cJSON_Delete(v);
	else
		*out = v;
	free(c.keys);
	free(numbers.odd);
	return status;
}

enum tb_status
json_read(cJSON **out, const char *path, size_t max, struct tb_err *err)
{
	char *text = NULL;
	size_t len;
	enum tb_status status = tb_file_slurp(path, max, &text, &len, err);

	*out = NULL;
	if (!status)
		status = json_parse(out, text, len, path, err);
	free(text);
	return status;
}

/* A word that Python writes for a number that JSON has not; its length, or 0. */
static size_t
odd_number(const char *p, const char *end)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - p) >= n && !memcmp(p, words[i], n))
			return n;
	}
	return 0;
}

#define ODD_MARK '\x1a'	/* in front of such a word as a string; no JSON text has it bare */

/* Such words outside of strings become null, or strings with a mark.  false: there is none. */
static bool
replace_odd(const char *text, size_t len, bool marked, struct tb_buf *out)
{
	const char *end = text + len;
	bool in_string = false, any = false;

	for (const char *p = text; p < end; p++) {
		size_t n = in_string ? 0 : odd_number(p, end);

		if (n) {
			if (marked)
				tb_buf_printf(out, "\"\\u%04x%.*s\"", ODD_MARK, (int)n, p);
			else
				tb_buf_str(out, "null");
			p += n - 1;
			any = true;
			continue;
		}
		if (in_string && *p == '\\' && p + 1 < end)
			tb_buf_chr(out, *p++);
		else if (*p == '"')
			in_string = !in_string;
		tb_buf_chr(out, *p);
	}
	return any;
}

static enum tb_status
parse_odd(cJSON **out, const char *text, size_t len, const char *what, bool marked,
	  struct tb_err *err)
{
	struct tb_err why, again;
	enum tb_status status = json_parse(out, text, len, what, &why);
	struct tb_buf b = TB_BUF(3 * len + 16);

	if (status == TB_EFORMAT && replace_odd(text, len, marked, &b) && !tb_buf_failed(&b) &&
	    !json_parse(out, tb_buf_cstr(&b), b.len, what, &again))
		status = TB_OK;
	tb_buf_free(&b);
	if (status && err)
		*err = why;
	return status;
}

enum tb_status
json_parse_python(cJSON **out, const char *text, size_t len, const char *what, struct tb_err *err)
{
	return parse_odd(out, text, len, what, false, err);
}

/* Marked strings become what is printed as it stands. */
static void
unmark(cJSON *v)
{
	char *s = cJSON_IsString(v) ? v->valuestring : NULL;

	if (s && *s == ODD_MARK && odd_number(s + 1, s + strlen(s)) == strlen(s + 1)) {
		memmove(s, s + 1, strlen(s));
		v->type = cJSON_Raw;
	}
	for (cJSON *child = v->child; child; child = child->next)
		unmark(child);
}

enum tb_status
json_parse_again(cJSON **out, const char *text, size_t len, const char *what, struct tb_err *err)
{
	enum tb_status status = parse_odd(out, text, len, what, true, err);

	if (!status)
		unmark(*out);
	return status;
}

void
json_free(cJSON *v)
{
	cJSON_Delete(v);
}

const cJSON *
json_get(const cJSON *object, const char *key)
{
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const cJSON *
json_path(const cJSON *object, const char *dotted)
{
	const cJSON *v = object;

	while (v && *dotted) {
		size_t n = strcspn(dotted, ".");
		const cJSON *child = json_is_object(v) ? v->child : NULL;

		while (child && (strncmp(child->string, dotted, n) != 0 || child->string[n]))
			child = child->next;
		v = child;
		dotted += n + (dotted[n] == '.');
	}
	return v;
}

const cJSON *
json_first(const cJSON *container)
{
	return container ? container->child : NULL;
}

const cJSON *
json_next(const cJSON *v)
{
	return v ? v->next : NULL;
}

const char *
json_key(const cJSON *v)
{
	return v ? v->string : NULL;
}

size_t
json_count(const cJSON *container)
{
	size_t n = 0;

	for (const cJSON *v = json_first(container); v; v = v->next)
		n++;
	return n;
}

bool
json_is_object(const cJSON *v)
{
	return cJSON_IsObject(v);
}

bool
json_is_array(const cJSON *v)
{
	return cJSON_IsArray(v);
}

bool
json_is_null(const cJSON *v)
{
	return cJSON_IsNull(v);
}

bool
json_is_number(const cJSON *v)
{
	return cJSON_IsNumber(v);
}

const char *
json_str(const cJSON *v)
{
	return cJSON_IsString(v) ? v->valuestring : NULL;
}

bool
json_u64(const cJSON *v, uint64_t *out)
{
	if (!cJSON_IsNumber(v) || !v->valueint || !(v->valuedouble >= 0))
		return false;
	*out = (uint64_t)v->valuedouble;
	return true;
}

bool
json_f64(const cJSON *v, double *out)
{
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
		return false;	/* 1e999 is grammatical */
	*out = v->valuedouble;
	return true;
}

bool
json_bool(const cJSON *v, bool *out)
{
	if (!cJSON_IsBool(v))
		return false;
	*out = cJSON_IsTrue(v);
	return true;
}
