#include "config.h"

#include "src/text/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/grammar_machine.h"

#define RULES_BYTES_MAX GRAMMAR_FILE_MAX

/* What any value is made of.  Not "\u0000", which many readers refuse, nor halves of pairs. */
static const char common[] =
	"value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"
	"object ::= \"{\" (string \": \" value (\", \" string \": \" value)*)? \"}\"\n"
	"array ::= \"[\" (value (\", \" value)*)? \"]\"\n"
	"string ::= \"\\\"\" char* \"\\\"\"\n"
	"plain ::= [^\"\\\\\\x00-\\x1f]\n"
	"char ::= plain | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" code | \"u\" [dD] [89abAB] hex hex \"\\\\u\" [dD] "
	"[c-fC-F] hex hex)\n"
	"hex ::= [0-9a-fA-F]\n"
	"code ::= [1-9a-cefA-CEF] hex hex hex | [dD] [0-7] hex hex | \"0\" ([1-9a-fA-F] hex hex | \"0\" "
	"([1-9a-fA-F] hex | \"0\" [1-9a-fA-F]))\n"
	"integer ::= \"0\" | \"-\"? [1-9] [0-9]{0,14}\n"
	"number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,14}) (\".\" [0-9]{1,15})? ([eE] [-+]? [1-9] [0-9]?)?\n";

/* As a model likes to write it: blanks and ends of lines, but not without end. */
static const char any_json[] =
	"root ::= object\n"
	"value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"
	"object ::= \"{\" gap (pair (\",\" gap pair)*)? \"}\"\n"
	"pair ::= string gap \":\" gap value gap\n"
	"array ::= \"[\" gap (value gap (\",\" gap value gap)*)? \"]\"\n"
	"gap ::= \" \"? | \"\\n\" [ \\t]{0,40}\n";

enum tb_status
schema_refuse(struct schema *s, const char *key, const char *fmt, ...)
{
	char say[300], where[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(say, sizeof(say), fmt, ap);
	va_end(ap);
	tb_text_clean(tb_buf_cstr(&s->path), where, sizeof(where));
	return tb_fail(s->err, TB_EUNSUP, "%s: #%s%s%s: %s", s->what, where, key ? "/" : "",
		       key ? key : "", say);
}

bool
schema_spend(struct schema *s, size_t n)
{
	s->work = n > SCHEMA_WORK_MAX - s->work ? SCHEMA_WORK_MAX : s->work + n;
	return s->work < SCHEMA_WORK_MAX;
}

enum tb_status
schema_refuse_work(struct schema *s, const char *key)
{
	return schema_refuse(s, key, "too many values to compare or to merge; make the schema smaller");
}

static void
put_step(struct tb_buf *out, const char *step)
{
	tb_buf_chr(out, '/');
	for (; *step; step++)
		if (*step == '~' || *step == '/')
			tb_buf_str(out, *step == '~' ? "~0" : "~1");
		else
			tb_buf_chr(out, *step);
}

size_t
schema_enter(struct schema *s, const char *key, const char *name)
{
	size_t before = s->path.len;

	put_step(&s->path, key);
	if (name)
		put_step(&s->path, name);
	return before;
}

void
schema_leave(struct schema *s, size_t before)
{
	s->path.len = before;
	if (s->path.p)
		s->path.p[before] = 0;
}

void
schema_put_text(struct tb_buf *out, const char *text, size_t len)
{
	tb_buf_chr(out, '"');
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\' || text[i] == 0x7f)
			tb_buf_printf(out, "\\x%02x", (unsigned char)text[i]);
		else
			tb_buf_chr(out, text[i]);
	tb_buf_chr(out, '"');
}

void
schema_put_value(struct tb_buf *out, const cJSON *v)
{
	bool object = json_is_object(v);
	char *print;

	if (!object && !json_is_array(v)) {
		print = json_print(v);
		if (print)
			tb_buf_str(out, print);
		out->failed |= !print;
		free(print);
		return;
	}
	tb_buf_chr(out, object ? '{' : '[');
	for (const cJSON *c = json_first(v); c; c = json_next(c)) {
		if (c != json_first(v))
			tb_buf_str(out, ", ");
		if (object) {
			cJSON *list = json_array();

			json_push_str(list, json_key(c));
			schema_put_value(out, json_first(list));
			tb_buf_str(out, ": ");
			json_free(list);
		}
		schema_put_value(out, c);
	}
	tb_buf_chr(out, object ? '}' : ']');
}

/* ---- what a schema speaks of ---- */

static const struct { const char *name; unsigned type; } type_names[] = {
	{ "null", TYPE_NULL }, { "boolean", TYPE_BOOLEAN }, { "integer", TYPE_INTEGER },
	{ "number", TYPE_NUMBER | TYPE_INTEGER }, { "string", TYPE_STRING }, { "array", TYPE_ARRAY },
	{ "object", TYPE_OBJECT },
};

/* Keywords that are looked at, and the types they speak of; 0: of none, or of all. */
static const struct { const char *key; unsigned type; } keys[] = {
	{ "type", 0 }, { "enum", 0 }, { "const", 0 }, { "anyOf", 0 }, { "oneOf", 0 }, { "allOf", 0 },
	{ "$ref", 0 }, { "nullable", 0 }, { "minimum", TYPE_NUMBER | TYPE_INTEGER },
	{ "maximum", TYPE_NUMBER | TYPE_INTEGER }, { "exclusiveMinimum", TYPE_NUMBER | TYPE_INTEGER },
	{ "exclusiveMaximum", TYPE_NUMBER | TYPE_INTEGER }, { "multipleOf", TYPE_NUMBER | TYPE_INTEGER },
	{ "minLength", TYPE_STRING }, { "maxLength", TYPE_STRING }, { "pattern", TYPE_STRING },
	{ "format", TYPE_STRING }, { "items", TYPE_ARRAY }, { "prefixItems", TYPE_ARRAY },
	{ "additionalItems", TYPE_ARRAY }, { "minItems", TYPE_ARRAY }, { "maxItems", TYPE_ARRAY },
	{ "uniqueItems", TYPE_ARRAY }, { "properties", TYPE_OBJECT }, { "required", TYPE_OBJECT },
	{ "additionalProperties", TYPE_OBJECT }, { "minProperties", TYPE_OBJECT },
	{ "maxProperties", TYPE_OBJECT }, { "patternProperties", TYPE_OBJECT },
	{ "propertyNames", TYPE_OBJECT }, { "unevaluatedProperties", 0 },
};

bool
schema_is_note(const char *key)
{
	static const char *const notes[] = {
		"title", "description", "default", "examples", "example", "$schema", "$id", "$comment",
		"$defs", "definitions", "deprecated", "readOnly", "writeOnly", "$anchor", "discriminator",
		"contentEncoding", "contentMediaType", "externalDocs", "xml", "$vocabulary", "id",
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (!strcmp(key, notes[i]))
			return true;
	return !strncmp(key, "x-", 2);
}

static enum tb_status
check_keys(struct schema *s, const cJSON *of, unsigned *spoken)
{
	*spoken = 0;
	for (const cJSON *c = json_first(of); c; c = json_next(c)) {
		const char *key = json_key(c);
		char clean[60];
		size_t i = 0;

		while (i < sizeof(keys) / sizeof(*keys) && strcmp(keys[i].key, key))
			i++;
		if (i < sizeof(keys) / sizeof(*keys))
			*spoken |= keys[i].type;
		else if (!schema_is_note(key))
			return schema_refuse(s, tb_text_clean(key, clean, sizeof(clean)), "this keyword is "
					     "not supported; leave it out, and check what comes");
	}
	return TB_OK;
}

static enum tb_status
add_type(struct schema *s, const cJSON *name, unsigned *types)
{
	const char *is = json_str(name);

	for (size_t i = 0; is && i < sizeof(type_names) / sizeof(*type_names); i++)
		if (!strcmp(type_names[i].name, is)) {
			*types |= type_names[i].type;
			return TB_OK;
		}
	return schema_refuse(s, "type", "there is no such type");
}

static unsigned
type_of(const cJSON *v)
{
	double x;
	bool b;

	return json_is_null(v) ? TYPE_NULL : json_bool(v, &b) ? TYPE_BOOLEAN
	     : json_str(v) ? TYPE_STRING : json_is_array(v) ? TYPE_ARRAY
	     : json_is_object(v) ? TYPE_OBJECT
	     : json_f64(v, &x) && x == floor(x) ? TYPE_INTEGER : TYPE_NUMBER;
}

/* Those of the values that are listed; 0: none is. */
static unsigned
types_of_values(const cJSON *of)
{
	const cJSON *only = json_get(of, "const");
	unsigned types = only ? type_of(only) : 0;

	for (const cJSON *c = only ? NULL : json_first(json_get(of, "enum")); c; c = json_next(c))
		types |= type_of(c);
	return types;
}

enum tb_status
schema_types(struct schema *s, const cJSON *of, unsigned *types)
{
	const cJSON *type = json_get(of, "type");
	unsigned spoken;
	bool nullable = false;
	enum tb_status status = check_keys(s, of, &spoken);

	*types = 0;
	if (!status && json_is_array(type))
		for (const cJSON *c = json_first(type); c && !status; c = json_next(c))
			status = add_type(s, c, types);
	else if (!status && type)
		status = add_type(s, type, types);
	else
		*types = types_of_values(of) ? types_of_values(of) : spoken ? spoken : TYPE_ANY;
	if (!status && json_bool(json_get(of, "nullable"), &nullable) && nullable)
		*types |= TYPE_NULL;
	return status;
}

bool
schema_count(struct schema *s, const cJSON *of, const char *key, uint64_t *n, enum tb_status *status)
{
	const cJSON *v = json_get(of, key);
	double x;

	if (*status || !v)
		return false;
	if (json_u64(v, n))
		return true;
	if (json_f64(v, &x) && x >= 0 && x < 9e15 && x == (double)(uint64_t)x) {
		*n = (uint64_t)x;
		return true;
	}
	*status = schema_refuse(s, key, "this is no number of things");
	return false;
}

/* ---- rules ---- */

unsigned
schema_new_rule(struct schema *s)
{
	return s->next++;
}

/* Values themselves, those of the types that are asked for; what else is said of them would
 * have to be checked. */
static enum tb_status
put_values(struct schema *s, const cJSON *of, unsigned types, struct tb_buf *x)
{
	static const char *const beside[] = { "type", "enum", "const", "nullable", "format" };
	const cJSON *list = json_get(of, "enum"), *only = json_get(of, "const");
	struct tb_buf text = TB_BUF(RULES_BYTES_MAX);
	const char *or = "";

	for (const cJSON *c = json_first(of); c; c = json_next(c)) {
		bool fine = schema_is_note(json_key(c));

		for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++)
			fine |= !strcmp(json_key(c), beside[i]);
		if (!fine)
			return schema_refuse(s, json_key(c), "beside enum or const this is not supported");
	}
	if (list && (only || !json_is_array(list)))
		return schema_refuse(s, "enum", "a list alone is supported, without const");
	for (const cJSON *c = only ? only : json_first(list); c; c = only ? NULL : json_next(c)) {
		if (!(type_of(c) & types))
			continue;
		tb_buf_clear(&text);
		schema_put_value(&text, c);
		tb_buf_str(x, or);
		schema_put_text(x, tb_buf_cstr(&text), text.len);
		or = " | ";
		x->failed |= tb_buf_failed(&text);
	}
	if (!*or)
		tb_buf_str(x, "[]");
	tb_buf_free(&text);
	return TB_OK;
}

static enum tb_status
put_type(struct schema *s, const cJSON *of, unsigned type, struct tb_buf *x)
{
	switch (type) {
	case TYPE_NULL:
		tb_buf_str(x, "\"null\"");
		return TB_OK;
	case TYPE_BOOLEAN:
		tb_buf_str(x, "\"true\" | \"false\"");
		return TB_OK;
	case TYPE_INTEGER:
	case TYPE_NUMBER:
		return schema_put_number(s, of, type == TYPE_INTEGER, x);
	case TYPE_STRING:
		return schema_put_string(s, of, x);
	case TYPE_ARRAY:
		return schema_put_array(s, of, x);
	default:
		return schema_put_object(s, of, x);
	}
}

static enum tb_status
put_types(struct schema *s, const cJSON *of, unsigned types, struct tb_buf *x)
{
	const char *or = "";
	enum tb_status status = TB_OK;

	if (types & TYPE_NUMBER)
		types &= ~(unsigned)TYPE_INTEGER;
	for (unsigned type = 1; type <= TYPE_OBJECT && !status; type <<= 1) {
		if (!(types & type))
			continue;
		tb_buf_str(x, or);
		status = put_type(s, of, type, x);
		or = " | ";
	}
	if (!*or)
		tb_buf_str(x, "[]");
	return status;
}

/* What is said beside anyOf is said of each. */
static enum tb_status
put_choice(struct schema *s, const cJSON *of, const char *key, struct tb_buf *x)
{
	const cJSON *list = json_get(of, key), *one;
	cJSON *rest = json_object();
	bool notes = true, apart = !strcmp(key, "oneOf");
	const char *or = "";
	enum tb_status status = TB_OK;

	for (const cJSON *c = json_first(of); c; c = json_next(c))
		if (strcmp(json_key(c), key) && !schema_is_note(json_key(c))) {
			json_set(rest, json_key(c), json_copy(c));
			notes = false;
		}
	if (!json_is_array(list) || !json_first(list))
		status = schema_refuse(s, key, "this is no list of schemas");
	for (const cJSON *a = json_first(list); a && apart && !status; a = json_next(a))
		for (const cJSON *b = json_first(list); b && !status; b = json_next(b))
			if (a != b && !schema_apart(s, a, b, 0))
				status = !schema_spend(s, 0) ? schema_refuse_work(s, key) : schema_refuse(s, key, "a value might match two of these; say "
						       "anyOf, or give them a property with a const each");
	for (const cJSON *c = json_first(list); c && !status; c = json_next(c)) {
		size_t before = schema_enter(s, key, NULL);
		unsigned rule;

		one = c;
		if (!notes)
			status = schema_merge(s, rest, c, 0, &one);
		if (!status && !(status = schema_rule(s, one, &rule)))
			tb_buf_printf(x, "%sr%u", or, rule);
		or = " | ";
		schema_leave(s, before);
	}
	json_free(rest);
	return status;
}

static enum tb_status
put_schema(struct schema *s, const cJSON *of, struct tb_buf *x)
{
	const cJSON *flat;
	unsigned types;
	bool yes;
	enum tb_status status;

	if (json_bool(of, &yes)) {
		tb_buf_str(x, yes ? "value" : "[]");
		return TB_OK;
	}
	if (!json_is_object(of))
		return schema_refuse(s, NULL, "a schema is an object, true or false");
	if ((status = schema_flatten(s, of, 0, &flat)) || (status = schema_types(s, flat, &types)))
		return status;
	if (json_get(flat, "anyOf") || json_get(flat, "oneOf"))
		return put_choice(s, flat, json_get(flat, "anyOf") ? "anyOf" : "oneOf", x);
	if (json_get(flat, "enum") || json_get(flat, "const"))
		return put_values(s, flat, types, x);
	if (types == TYPE_ANY) {
		tb_buf_str(x, "value");
		return TB_OK;
	}
	return put_types(s, flat, types, x);
}

enum tb_status
schema_rule(struct schema *s, const cJSON *of, unsigned *number)
{
	struct tb_buf x = TB_BUF(RULES_BYTES_MAX);
	enum tb_status status;

	for (size_t i = 0; i < s->nknown; i++)
		if (s->known[i].of == of) {
			*number = s->known[i].number;
			return TB_OK;
		}
	if (s->nknown >= SCHEMA_RULES_MAX)
		return schema_refuse(s, NULL, "more than %d schemas", SCHEMA_RULES_MAX);
	if (s->nest >= SCHEMA_NEST_MAX)
		return schema_refuse(s, NULL, "more than %d schemas in one another", SCHEMA_NEST_MAX);
	if (!tb_grow(&s->known, &s->known_cap, s->nknown + 1, sizeof(*s->known)))
		return tb_nomem(s->err);
	*number = schema_new_rule(s);
	s->known[s->nknown++] = (struct schema_rule){ of, *number };
	s->nest++;
	status = put_schema(s, of, &x);
	s->nest--;
	if (!status && !(status = tb_buf_status(&x, s->what, s->err))) {
		tb_buf_printf(&s->rules, "r%u ::= ", *number);
		tb_buf_add(&s->rules, x.p, x.len);
		tb_buf_chr(&s->rules, '\n');
	}
	tb_buf_free(&x);
	return status;
}

enum tb_status
grammar_schema(struct grammar **out, const char *json, size_t len, const char *what,
	       struct tb_err *err)
{
	struct schema s = { .what = what, .rules = TB_BUF(RULES_BYTES_MAX), .path = TB_BUF(65536),
			    .err = err };
	cJSON *doc;
	unsigned root;
	enum tb_status status;

	*out = NULL;
	if ((status = json_parse(&doc, json, len, what, err)))
		return status;
	s.doc = doc;
	if (!(status = schema_rule(&s, doc, &root))) {
		tb_buf_printf(&s.rules, "root ::= r%u\n%s", root, common);
		status = tb_buf_status(&s.rules, what, err);
	}
	if (!status)
		status = grammar_gbnf(out, s.rules.p, s.rules.len, what, err);
	if (!status && (status = grammar_say(*out, GRAMMAR_SCHEMA, json, len, err))) {
		grammar_free(*out);
		*out = NULL;
	}
	for (size_t i = 0; i < s.nmade; i++)
		json_free(s.made[i]);
	free(s.made);
	free(s.known);
	tb_buf_free(&s.rules);
	tb_buf_free(&s.path);
	json_free(doc);
	return status;
}

enum tb_status
grammar_json(struct grammar **out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(65536);
	enum tb_status status;

	tb_buf_str(&text, any_json);
	tb_buf_str(&text, strstr(common, "string ::="));
	status = tb_buf_status(&text, "json", err);
	if (!status)
		status = grammar_gbnf(out, text.p, text.len, "json", err);
	if (!status && (status = grammar_say(*out, GRAMMAR_JSON, "", 0, err))) {
		grammar_free(*out);
		*out = NULL;
	}
	tb_buf_free(&text);
	return status;
}

enum tb_status
grammar_read(struct grammar **out, const char *what, struct tb_err *err)
{
	char *text;
	size_t len, at;
	enum tb_status status;

	*out = NULL;
	if (!strcmp(what, "json"))
		return grammar_json(out, err);
	if ((status = tb_file_slurp(what, GRAMMAR_FILE_MAX, &text, &len, err)))
		return status;
	at = strspn(text, " \t\r\n");
	status = text[at] == '{' ? grammar_schema(out, text, len, what, err)
				 : grammar_gbnf(out, text, len, what, err);
	free(text);
	return status;
}
