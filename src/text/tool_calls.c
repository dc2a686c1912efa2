/* tool_calls.c - calls of tools in an answer: JSON, tags around parameters, Python. */
#include "config.h"

#include "src/text/tool_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/text/bare_call.h"
#include "src/text/python_call.h"

#define CALLS_MAX 256

/* A part of the answer's text. */
struct part { const char *s; size_t len; };

struct call_reading {
	const cJSON *tools;
	bool known;
	cJSON *calls;			/* found so far */
	size_t n;
};

static struct part
trimmed_part(struct part p)
{
	while (p.len && strchr(" \t\r\n", *p.s) && *p.s) {
		p.s++;
		p.len--;
	}
	while (p.len && strchr(" \t\r\n", p.s[p.len - 1]) && p.s[p.len - 1])
		p.len--;
	return p;
}

static const char *
find_in(struct part p, const char *what)
{
	return p.len ? memmem(p.s, p.len, what, strlen(what)) : NULL;
}

/* What stands before `end`, and in *rest what is behind it; without `end` all of it, and
 * nothing. */
static struct part
up_to(struct part p, const char *end, struct part *rest)
{
	const char *hit = find_in(p, end);
	size_t len = hit ? (size_t)(hit - p.s) : p.len, skip = hit ? strlen(end) : 0;

	*rest = (struct part){ p.s + len + skip, p.len - len - skip };
	return (struct part){ p.s, len };
}

static bool
is_part(struct part p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

/* ---- what is called ---- */

static const cJSON *
tool_named(const cJSON *tools, struct part name)
{
	for (const cJSON *t = json_first(tools); t; t = json_next(t)) {
		const cJSON *function = json_get(t, "function");
		const char *s = json_str(json_get(function, "name"));

		if (s && is_part(name, s))
			return function;
	}
	return NULL;
}

/* Nine letters and digits, as the strictest of templates wants them. */
static void
make_id(const struct call_reading *r, struct part name, char out[10])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint64_t h = 14695981039346656037u + r->n;

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (uint8_t)name.s[i]) * 1099511628211u;
	for (size_t i = 0; i < 9; i++, h /= 36)
		out[i] = digits[h % 36];
	out[9] = 0;
}

/* Takes the arguments.  false: that is no call. */
static bool
add_call(struct call_reading *r, struct part name, cJSON *arguments)
{
	char id[10], *text = tb_strndup(name.s, name.len);
	cJSON *call, *function;

	if (!text || !name.len || name.len > 256 || r->n >= CALLS_MAX ||
	    (arguments && !json_is_object(arguments)) ||
	    (r->known && !tool_named(r->tools, name))) {
		json_free(arguments);
		free(text);
		return false;
	}
	make_id(r, name, id);
	call = json_object();
	function = json_object();
	json_set_str(call, "id", id);
	json_set_str(call, "type", "function");
	json_set_str(function, "name", text);
	json_set(function, "arguments", arguments ? arguments : json_object());
	json_set(call, "function", function);
	json_push(r->calls, call);
	r->n++;
	free(text);
	return true;
}

static cJSON *
json_of(struct part p)
{
	cJSON *v;

	return json_parse(&v, p.s, p.len, "call", NULL) ? NULL : v;
}

/* ---- JSON ---- */

/* The bytes of the value that begins here, by its brackets; 0: it has no end. */
static size_t
value_len(struct part p)
{
	size_t depth = 0;
	bool text = false;

	for (size_t i = 0; i < p.len; i++) {
		char ch = p.s[i];

		if (text) {
			i += ch == '\\';
			text = ch != '"';
		} else if (ch == '"') {
			text = true;
		} else if (ch == '{' || ch == '[') {
			depth++;
		} else if (ch == '}' || ch == ']') {
			if (!--depth)
				return i + 1;
		}
	}
	return 0;
}

static cJSON *
arguments_in(const cJSON *v)
{
	static const char *const keys[] = { "arguments", "parameters", "args" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const cJSON *a = json_get(v, keys[i]);

		if (a && json_str(a))	/* written as a string */
			return json_of((struct part){ json_str(a), strlen(json_str(a)) });
		if (a && !json_is_null(a))
			return json_copy(a);
	}
	return json_object();
}

/* One call, or a list of them. */
static bool
add_json(struct call_reading *r, const cJSON *v, bool nested)
{
	const cJSON *function = json_get(v, "function");
	const char *name;
	bool all = json_first(v) != NULL;

	if (json_is_array(v)) {
		for (const cJSON *i = json_first(v); i && all; i = json_next(i))
			all = !nested && add_json(r, i, true);
		return all;
	}
	v = json_is_object(function) ? function : v;
	name = json_str(json_get(v, "name"));
	if (!name && json_count(v) == 1 && json_is_object(json_first(v)) &&
	    tool_named(r->tools, (struct part){ json_key(json_first(v)), strlen(json_key(json_first(v))) }))
		return add_call(r, (struct part){ json_key(json_first(v)),
						  strlen(json_key(json_first(v))) },
				json_copy(json_first(v)));
	if (!name)
		name = json_str(json_get(v, "tool_name"));
	if (!name)
		name = json_str(function);
	return name && add_call(r, (struct part){ name, strlen(name) }, arguments_in(v));
}

static bool
is_tag_char(char ch)
{
	return ch != '{' && ch != '[';
}

/* Values one after the other; between them stand tags, words of the form, and blanks. */
static bool
read_json(struct call_reading *r, struct part p)
{
	bool some = false;

	while (p.len) {
		struct part value;
		cJSON *v;

		while (p.len && is_tag_char(*p.s)) {
			p.s++;
			p.len--;
		}
		if (!p.len)
			break;
		value = (struct part){ p.s, value_len(p) };
		v = value.len ? json_of(value) : NULL;
		if (!v || !add_json(r, v, false)) {
			json_free(v);
			return false;
		}
		json_free(v);
		some = true;
		p = (struct part){ p.s + value.len, p.len - value.len };
	}
	return some;
}

/* ---- tags around names and values ---- */

/* As what its schema says: text stays text, else it is JSON if it can be. */
static void
set_value(struct call_reading *r, struct part function, cJSON *arguments, struct part key,
	  struct part value, bool is_text)
{
	const cJSON *schema = json_get(json_get(tool_named(r->tools, function), "parameters"),
				       "properties");
	char *name = tb_strndup(key.s, key.len), *text = tb_strndup(value.s, value.len);
	const char *type = name ? json_str(json_get(json_get(schema, name), "type")) : NULL;
	cJSON *v = is_text || (type && !strcmp(type, "string")) ? NULL : json_of(trimmed_part(value));

	if (!name || json_get(arguments, name))
		json_free(v);		/* the first one counts */
	else if (v)
		json_set(arguments, name, v);
	else if (text)
		json_set_str(arguments, name, text);
	free(name);
	free(text);
}

/* How a form writes: <function=NAME><parameter=KEY>VALUE</parameter></function>.  What stands
 * between key_end and `value` may say that the value is a text. */
struct tag_form {
	const char *call, *call_name_end, *call_end;
	const char *key, *key_end, *value, *value_end, *text;
};

static struct part
without_newlines(struct part p)
{
	if (p.len && *p.s == '\n') {
		p.s++;
		p.len--;
	}
	if (p.len && p.s[p.len - 1] == '\n')
		p.len--;
	return p;
}

/* <![CDATA[ … ]]> */
static struct part
without_cdata(struct part p)
{
	static const char begin[] = "<![CDATA[", end[] = "]]>";
	size_t more = sizeof(begin) - 1, less = sizeof(end) - 1;

	if (p.len < more + less || memcmp(p.s, begin, more) || memcmp(p.s + p.len - less, end, less))
		return p;
	return (struct part){ p.s + more, p.len - more - less };
}

static bool
read_tags(struct call_reading *r, struct part p, const struct tag_form *f)
{
	struct part rest, body, name, key, value, about;
	bool some = false;

	for (up_to(p, f->call, &p); p.len; up_to(p, f->call, &p)) {
		cJSON *arguments = json_object();

		body = up_to(p, f->call_end, &p);
		name = trimmed_part(up_to(body, f->call_name_end, &body));
		for (up_to(body, f->key, &rest); rest.len; up_to(rest, f->key, &rest)) {
			key = trimmed_part(up_to(rest, f->key_end, &rest));
			about = f->value ? up_to(rest, f->value, &rest) : (struct part){ "", 0 };
			value = without_newlines(up_to(rest, f->value_end, &rest));
			set_value(r, name, arguments, key, without_cdata(value),
				  f->text && find_in(about, f->text));
		}
		if (!add_call(r, name, arguments))
			return false;
		some = true;
	}
	return some;
}

/* NAME <arg_key>K</arg_key><arg_value>V</arg_value> */
struct arg_form {
	const char *call, *call_end, *name_end;
	const char *key, *key_end, *value, *value_end;
};

static bool
read_arg_keys(struct call_reading *r, struct part p, const struct arg_form *f)
{
	struct part rest, name, key, value, one;
	bool some = false;

	while (p.len) {
		cJSON *arguments = json_object();

		one = up_to(p, f->call_end, &p);
		if (find_in(one, f->call))
			up_to(one, f->call, &one);
		name = trimmed_part(up_to(one, f->name_end, &rest));
		if (strcmp(f->name_end, f->key))
			up_to(rest, f->key, &rest);
		while (rest.len) {
			key = trimmed_part(up_to(rest, f->key_end, &rest));
			up_to(rest, f->value, &rest);
			value = up_to(rest, f->value_end, &rest);
			set_value(r, name, arguments, key, value, false);
			up_to(rest, f->key, &rest);
		}
		if (!add_call(r, name, arguments))
			return false;
		some = true;
		p = trimmed_part(p);
	}
	return some;
}

/* call:NAME{key:value,…} */
static bool
read_bare(struct call_reading *r, struct part p)
{
	struct tb_buf json = TB_BUF(16u << 20);
	bool some = false;

	for (up_to(p, "call:", &p); p.len; up_to(p, "call:", &p)) {
		const char *brace = memchr(p.s, '{', p.len);
		struct part name = { p.s, brace ? (size_t)(brace - p.s) : 0 };
		cJSON *arguments;
		size_t len;

		tb_buf_clear(&json);
		p = (struct part){ p.s + name.len, p.len - name.len };
		len = bare_object(p.s, p.len, &json);
		arguments = len && !tb_buf_failed(&json) ? json_of((struct part){ json.p, json.len })
							 : NULL;
		if (!arguments || !add_call(r, trimmed_part(name), arguments))
			break;
		p = (struct part){ p.s + len, p.len - len };
		some = !find_in(p, "call:");
	}
	tb_buf_free(&json);
	return some;
}

/* NAME, a sign, and JSON behind it: [TOOL_CALLS]NAME[ARGS]{…}, functions.NAME:0<sign>{…}.  Where a
 * word stands in the name's place the name is the first line behind the sign. */
static bool
read_named(struct call_reading *r, struct part p, const char *begin, const char *sign)
{
	struct part name, value, rest;
	cJSON *arguments;
	bool some = false;

	while (find_in(p, sign)) {
		name = up_to(p, sign, &p);
		while (find_in(name, begin))
			up_to(name, begin, &name);
		name = trimmed_part(up_to(name, "[CALL_ID]", &rest));
		if (name.len > 10 && !memcmp(name.s, "functions.", 10))
			name = up_to((struct part){ name.s + 10, name.len - 10 }, ":", &rest);
		if (is_part(name, "function")) {
			name = up_to(p, "\n", &rest);
			p = rest;
		}
		while (p.len && *p.s != '{') {
			p.s++;
			p.len--;
		}
		value = (struct part){ p.s, value_len(p) };
		arguments = value.len ? json_of(value) : NULL;
		if (!arguments || !add_call(r, name, arguments))
			return false;
		p = (struct part){ p.s + value.len, p.len - value.len };
		some = true;
	}
	return some;
}

static bool
add_python(void *arg, const char *name, size_t len, cJSON *arguments)
{
	return add_call(arg, (struct part){ name, len }, arguments);
}

/* "<" and the sign that some tags are made with: U+FF5C. */
#define BAR "\xef\xbd\x9c"
#define LOW "\xe2\x96\x81"

static bool
is_json(struct part p)
{
	cJSON *doc = p.len && strchr("{[", *p.s) ? json_of(p) : NULL;
	bool is = doc != NULL;

	json_free(doc);
	return is;
}

static bool
read_any(struct call_reading *r, struct part p)
{
	static const struct tag_form tags[] = {
		{ "<function=", ">", "</function>", "<parameter=", ">", NULL, "</parameter>", NULL },
		{ "<function name=\"", "\"", "</function>", "<param name=\"", "\"", ">", "</param>", NULL },
		{ "<invoke name=\"", "\"", "</invoke>", "<parameter name=\"", "\"", ">", "</parameter>",
		  NULL },
		{ "<atem:invoke name=\"", "\"", "</atem:invoke>", "<atem:parameter name=\"", "\"", ">",
		  "</atem:parameter>", NULL },
		{ "<" BAR "DSML" BAR "invoke name=\"", "\"", "</" BAR "DSML" BAR "invoke>",
		  "<" BAR "DSML" BAR "parameter name=\"", "\"", ">", "</" BAR "DSML" BAR "parameter>",
		  "string=\"true\"" },
		{ "<|open|>call tool=\"", "\"", "<|close|>call<|sep|>", "<|open|>argument key=\"", "\"",
		  "<|sep|>", "<|close|>argument<|sep|>", "type=\"string\"" },
	};
	static const struct arg_form args[] = {
		{ "<tool_call>", "</tool_call>", "<arg_key>", "<arg_key>", "</arg_key>", "<arg_value>",
		  "</arg_value>" },
		{ "<tool_call:opensource>", "</tool_call:opensource>", "<tool_sep:opensource>",
		  "<arg_key:opensource>", "</arg_key:opensource>", "<arg_value:opensource>",
		  "</arg_value:opensource>" },
	};

	if (is_json(trimmed_part(p)))	/* signs in its texts are texts */
		return read_json(r, p);
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (find_in(p, tags[i].call))
			return read_tags(r, p, &tags[i]);
	for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++)
		if (find_in(p, args[i].key) || (i && find_in(p, args[i].call)))
			return read_arg_keys(r, trimmed_part(p), &args[i]);
	if (trimmed_part(p).len > 5 && !memcmp(trimmed_part(p).s, "call:", 5))
		return read_bare(r, p);
	if (find_in(p, "<" BAR "tool" LOW "sep" BAR ">"))
		return read_named(r, p, "<" BAR "tool" LOW "call" LOW "begin" BAR ">",
				  "<" BAR "tool" LOW "sep" BAR ">");
	if (find_in(p, "<|tool_call_argument_begin|>"))
		return read_named(r, p, "<|tool_call_begin|>", "<|tool_call_argument_begin|>");
	if (find_in(p, "[ARGS]"))
		return read_named(r, p, "[TOOL_CALLS]", "[ARGS]");
	if (python_calls(p.s, p.len, add_python, r))
		return true;
	return read_json(r, p);
}

bool
tool_calls_read(const char *s, size_t len, const cJSON *tools, bool known, cJSON *calls)
{
	struct call_reading r = { .tools = tools, .known = known, .calls = json_array() };
	bool found = read_any(&r, (struct part){ s, len });

	for (const cJSON *v = found ? json_first(r.calls) : NULL; v; v = json_next(v))
		json_push(calls, json_copy(v));
	json_free(r.calls);
	return found;
}
