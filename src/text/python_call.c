#include "config.h"

#include "src/text/python_call.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"

#define PYTHON_DEPTH_MAX 64
#define PYTHON_TEXT_MAX (16u << 20)

struct python {
	const char *s, *end;
	unsigned depth;
	bool bad;
};

static cJSON *python_value(struct python *p);

static char
peek_char(struct python *p)
{
	while (p->s < p->end && strchr(" \t\r\n", *p->s) && *p->s)
		p->s++;
	return p->s < p->end ? *p->s : 0;
}

static bool
skip_char(struct python *p, char ch)
{
	if (peek_char(p) != ch)
		return false;
	p->s++;
	return true;
}

static bool
is_name_char(char ch, bool first)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' ||
	       (!first && ((ch >= '0' && ch <= '9') || ch == '.' || ch == '-'));
}

static size_t
name_len(struct python *p)
{
	size_t n = 0;

	(void)peek_char(p);
	while (p->s + n < p->end && is_name_char(p->s[n], !n))
		n++;
	return n;
}

static cJSON *
python_text(struct python *p)
{
	struct tb_buf text = TB_BUF(PYTHON_TEXT_MAX);
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char quote = *p->s++;
	const char *hit;
	cJSON *v = NULL;

	while (p->s < p->end && *p->s != quote) {
		if (*p->s != '\\' || p->s + 1 >= p->end) {
			tb_buf_chr(&text, *p->s++);
			continue;
		}
		hit = p->s[1] ? strchr(from, p->s[1]) : NULL;
		tb_buf_chr(&text, hit ? to[hit - from] : p->s[1]);
		p->s += 2;
	}
	p->bad |= p->s >= p->end || tb_buf_failed(&text);
	if (!p->bad) {
		p->s++;
		v = json_string(tb_buf_cstr(&text));
	}
	tb_buf_free(&text);
	return v;
}

/* [a, b] or {k: v} */
static cJSON *
python_many(struct python *p, bool dict)
{
	char close = dict ? '}' : ']';
	cJSON *all = dict ? json_object() : json_array();

	p->s++;
	while (!p->bad && !skip_char(p, close)) {
		cJSON *key = dict ? python_value(p) : NULL, *v;

		if (dict && (!json_str(key) || !skip_char(p, ':') || json_get(all, json_str(key))))
			p->bad = true;
		v = p->bad ? NULL : python_value(p);
		if (v)
			json_set(all, dict ? json_str(key) : NULL, v);
		json_free(key);
		if (peek_char(p) != close && !skip_char(p, ','))
			p->bad = true;
	}
	return all;
}

/* True, None, 1.5: what JSON writes otherwise, and numbers. */
static cJSON *
python_word(struct python *p)
{
	static const char *const words[][2] = { { "True", "true" }, { "False", "false" },
		{ "None", "null" }, { "true", "true" }, { "false", "false" }, { "null", "null" } };
	size_t n = 0;
	cJSON *v = NULL;

	while (p->s + n < p->end && !strchr(" \t\r\n,)]}:", p->s[n]))
		n++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i][0]) == n && !memcmp(words[i][0], p->s, n) &&
		    json_parse(&v, words[i][1], strlen(words[i][1]), "call", NULL))
			v = NULL;
	if (!v && n && ((*p->s >= '0' && *p->s <= '9') || *p->s == '-') &&
	    json_parse(&v, p->s, n, "call", NULL))
		v = NULL;
	p->bad |= !v;
	p->s += n;
	return v;
}

static cJSON *
python_value(struct python *p)
{
	char ch = peek_char(p);
	cJSON *v = NULL;

	if (p->depth++ > PYTHON_DEPTH_MAX)
		p->bad = true;
	else if (ch == '"' || ch == '\'')
		v = python_text(p);
	else if (ch == '[' || ch == '{')
		v = python_many(p, ch == '{');
	else
		v = python_word(p);
	p->depth--;
	return v;
}

/* name(key=value, …) */
static bool
python_call(struct python *p, python_call_fn *fn, void *arg)
{
	const char *name;
	size_t len = name_len(p);
	cJSON *arguments;

	name = p->s;
	p->s += len;
	if (!len || !skip_char(p, '('))
		return false;
	arguments = json_object();
	while (!p->bad && !skip_char(p, ')')) {
		size_t n = name_len(p);
		char *key = tb_strndup(p->s, n);
		cJSON *v;

		p->s += n;
		p->bad |= !n || !key || !skip_char(p, '=') || json_get(arguments, key);
		v = p->bad ? NULL : python_value(p);
		if (v && key)
			json_set(arguments, key, v);
		free(key);
		if (peek_char(p) != ')' && !skip_char(p, ','))
			p->bad = true;
	}
	if (p->bad || !fn) {
		json_free(arguments);
		return !p->bad;
	}
	return fn(arg, name, len, arguments);
}

static bool
read_calls(const char *s, size_t len, python_call_fn *fn, void *arg)
{
	struct python p = { .s = s, .end = s + len };
	bool list = skip_char(&p, '[');

	do
		if (!python_call(&p, fn, arg))
			return false;
	while (skip_char(&p, ','));
	if (list && !skip_char(&p, ']'))
		return false;
	return !peek_char(&p);
}

bool
python_calls(const char *s, size_t len, python_call_fn *fn, void *arg)
{
	return read_calls(s, len, NULL, NULL) && read_calls(s, len, fn, arg);
}
