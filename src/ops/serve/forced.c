#include "config.h"

#include "src/ops/serve/forced.h"

#include <stdlib.h>
#include <string.h>

#include "src/text/tool_calls.h"

static cJSON *
only(const char *key, cJSON *value)
{
	cJSON *o = json_object();

	json_set(o, key, value);
	return o;
}

/* What a schema refers to stands at its root, and that is another one now. */
static enum tb_status
share_definitions(cJSON *all, const cJSON *parameters, const char *key, struct tb_err *err)
{
	cJSON *shared = (cJSON *)json_get(all, key);

	if (!json_first(json_get(parameters, key)))
		return TB_OK;
	if (!shared)
		json_set(all, key, shared = json_object());
	for (const cJSON *d = json_first(json_get(parameters, key)); d; d = json_next(d)) {
		const cJSON *there = json_get(shared, json_key(d));
		char *a = there ? json_print(there) : NULL, *b = there ? json_print(d) : NULL;
		bool other = there && (!a || !b || strcmp(a, b));

		free(a);
		free(b);
		if (other)
			return tb_fail(err, TB_EUSAGE, "two tools mean different things by %s/%.80s", key,
				       json_key(d));
		if (!there)
			json_set(shared, json_key(d), json_copy(d));
	}
	return TB_OK;
}

static cJSON *
call_schema(const char *name, const cJSON *parameters)
{
	cJSON *o = json_object(), *properties = json_object(), *required = json_array();

	json_set(properties, "name", only("const", json_string(name)));
	json_set(properties, "arguments", json_is_object(parameters) && json_first(parameters)
		 ? json_copy(parameters) : only("type", json_string("object")));
	json_push_str(required, "name");
	json_push_str(required, "arguments");
	json_set_str(o, "type", "object");
	json_set(o, "properties", properties);
	json_set(o, "required", required);
	json_set_bool(o, "additionalProperties", false);
	return o;
}

enum tb_status
forced_grammar(struct grammar **out, const cJSON *tools, const char *name, struct tb_err *err)
{
	cJSON *all = json_object(), *any = json_array();
	enum tb_status status = TB_OK;
	char *text = NULL;

	*out = NULL;
	json_set(all, "anyOf", any);
	for (const cJSON *t = json_first(tools); t && !status; t = json_next(t)) {
		const cJSON *function = json_get(t, "function");
		const cJSON *parameters = json_get(function, "parameters");
		const char *own = json_str(json_get(function, "name"));

		if (name && strcmp(own, name))
			continue;
		json_push(any, call_schema(own, parameters));
		if (!(status = share_definitions(all, parameters, "$defs", err)))
			status = share_definitions(all, parameters, "definitions", err);
	}
	if (!status && !(text = json_print(all)))
		status = tb_nomem(err);
	if (!status)
		status = grammar_schema(out, text, strlen(text), "the schema of a call", err);
	free(text);
	json_free(all);
	return status;
}

char *
forced_call(const char *text, const cJSON *tools)
{
	cJSON *calls = json_array(), *whole;
	char *list = NULL;

	/* all of it is one value, or it was cut off */
	if (!json_parse(&whole, text, strlen(text), "call", NULL)) {
		json_free(whole);
		if (tool_calls_read(text, strlen(text), tools, true, calls))
			list = json_print(calls);
	}
	json_free(calls);
	return list;
}
