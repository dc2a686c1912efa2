/* go_data.c - what a Go template is given: a conversation, tools, and what was said about
 * thinking, in the types that Ollama has for them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/text/chat_template.h"
#include "src/text/go.h"

#define FIELDS(a) .fields = (a), .n = sizeof(a) / sizeof(*(a))

enum { MESSAGE_ROLE, MESSAGE_CONTENT, MESSAGE_THINKING, MESSAGE_IMAGES, MESSAGE_CALLS,
       MESSAGE_TOOL_NAME, MESSAGE_CALL_ID };
static const struct go_field message_fields[] = {
	{ "Role", "Role", false }, { "Content", "Content", false },
	{ "Thinking", "Thinking", false }, { "Images", "Images", false },
	{ "ToolCalls", "ToolCalls", false }, { "ToolName", "ToolName", false },
	{ "ToolCallID", "ToolCallID", false },
};
static const struct go_struct message_type = {
	.name = "template.templateMessage", .pointer = true, FIELDS(message_fields),
};

enum { CALL_ID, CALL_FUNCTION };
static const struct go_field call_fields[] = {
	{ "ID", "ID", false }, { "Function", "Function", false },
};
static const struct go_struct call_type = {
	.name = "template.templateToolCall", FIELDS(call_fields),
};

enum { CALLED_INDEX, CALLED_NAME, CALLED_ARGUMENTS };
static const struct go_field called_fields[] = {
	{ "Index", "Index", false }, { "Name", "Name", false }, { "Arguments", "Arguments", false },
};
static const struct go_struct called_type = {
	.name = "template.templateToolCallFunction", FIELDS(called_fields),
};

enum { TOOL_TYPE, TOOL_ITEMS, TOOL_FUNCTION };
static const struct go_field tool_fields[] = {
	{ "Type", "type", false }, { "Items", "items", true }, { "Function", "function", false },
};
static const struct go_struct tool_type = {
	.name = "template.templateTool", .print = GO_AS_JSON, FIELDS(tool_fields),
};

/* Ollama prints this and the next in Go's own way, which no model has learnt: the JSON that
 * its templates are written for. */
enum { FUNCTION_NAME, FUNCTION_DESCRIPTION, FUNCTION_PARAMETERS };
static const struct go_field function_fields[] = {
	{ "Name", "name", false }, { "Description", "description", false },
	{ "Parameters", "parameters", false },
};
static const struct go_struct function_type = {
	.name = "template.templateToolFunction", .print = GO_AS_JSON, FIELDS(function_fields),
};

enum { PARAMETERS_TYPE, PARAMETERS_DEFS, PARAMETERS_ITEMS, PARAMETERS_REQUIRED,
       PARAMETERS_PROPERTIES };
static const struct go_field parameters_fields[] = {
	{ "Type", "type", false }, { "Defs", "$defs", true }, { "Items", "items", true },
	{ "Required", "required", true }, { "Properties", "properties", false },
};
static const struct go_struct parameters_type = {
	.name = "template.templateToolFunctionParameters", .print = GO_AS_JSON,
	FIELDS(parameters_fields),
};

enum { PROPERTY_ANY_OF, PROPERTY_TYPE, PROPERTY_ITEMS, PROPERTY_DESCRIPTION, PROPERTY_ENUM,
       PROPERTY_PROPERTIES, PROPERTY_REQUIRED };
static const struct go_field property_fields[] = {
	{ "AnyOf", "anyOf", true }, { "Type", "type", true }, { "Items", "items", true },
	{ "Description", "description", true }, { "Enum", "enum", true },
	{ "Properties", "properties", true }, { "Required", "required", true },
};
static const struct go_struct property_type = { .name = "api.ToolProperty", FIELDS(property_fields) };

static const struct go_kind messages_kind = { "[]*template.templateMessage", GO_AS_GO, NULL };
static const struct go_kind calls_kind = { "[]template.templateToolCall", GO_AS_GO, NULL };
static const struct go_kind tools_kind = { "template.templateTools", GO_AS_JSON, NULL };
static const struct go_kind texts_kind = { "[]string", GO_AS_GO, NULL };
static const struct go_kind images_kind = { "[]api.ImageData", GO_AS_GO, NULL };
static const struct go_kind types_kind = { "api.PropertyType", GO_AS_TYPES, NULL };
static const struct go_kind any_of_kind = { "[]api.ToolProperty", GO_AS_GO, NULL };
static const struct go_kind arguments_kind = { "template.templateArgs", GO_AS_JSON, NULL };
static const struct go_kind properties_kind = { "template.templateProperties", GO_AS_JSON,
						&property_type };

static struct go_value
go_text_of(struct jinja_ctx *c, const cJSON *v)
{
	const char *s = json_str(v);
	struct jinja_value copy = jinja_copy(c, s ? s : "", s ? strlen(s) : 0);

	return go_str(copy.str.s, copy.str.len);
}

/* Strings of a list, or one alone. */
static struct go_value
texts_of(struct jinja_ctx *c, const cJSON *v, const struct go_kind *kind)
{
	struct go_list *l = go_list_new(c, kind);

	if (json_str(v))
		go_push(c, l, go_text_of(c, v));
	for (const cJSON *i = json_is_array(v) ? json_first(v) : NULL; i && jinja_ok(c);
	     i = json_next(i))
		go_push(c, l, go_text_of(c, i));
	return go_list(l);
}

/* ---- tools ---- */

static struct go_value property_of(struct jinja_ctx *c, const cJSON *v);

/* Those of a function are by name, those within a property in the order of the source. */
static struct go_value
properties_of(struct jinja_ctx *c, const cJSON *v, bool ordered)
{
	struct go_map *m = go_map_new(c, &properties_kind);

	if (!m)
		return GO_NO_VALUE;
	m->ordered = ordered;
	m->nil = !json_is_object(v);
	for (const cJSON *i = m->nil ? NULL : json_first(v); i && jinja_ok(c); i = json_next(i))
		go_put(c, m, jinja_copy(c, json_key(i), strlen(json_key(i))).str.s,
		       property_of(c, i));
	if (!ordered)
		go_sort(m);
	return go_map(m);
}

static struct go_value
property_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_object *o = go_object_new(c, &property_type);
	const cJSON *any = json_get(v, "anyOf");
	struct go_list *list = go_list_new(c, &any_of_kind);

	if (!o || !list || !jinja_step(c, 1))
		return GO_NO_VALUE;
	for (const cJSON *i = json_is_array(any) ? json_first(any) : NULL; i && jinja_ok(c);
	     i = json_next(i))
		go_push(c, list, property_of(c, i));
	o->v[PROPERTY_ANY_OF] = go_list(list);
	o->v[PROPERTY_TYPE] = texts_of(c, json_get(v, "type"), &types_kind);
	o->v[PROPERTY_ITEMS] = go_from_json(c, json_get(v, "items"));
	o->v[PROPERTY_DESCRIPTION] = go_text_of(c, json_get(v, "description"));
	o->v[PROPERTY_ENUM] = json_is_array(json_get(v, "enum"))
		? go_from_json(c, json_get(v, "enum")) : go_list(go_list_new(c, &go_any_list));
	o->v[PROPERTY_PROPERTIES] = properties_of(c, json_get(v, "properties"), true);
	o->v[PROPERTY_REQUIRED] = texts_of(c, json_get(v, "required"), &texts_kind);
	return go_object(o);
}

static struct go_value
parameters_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_object *o = go_object_new(c, &parameters_type);

	if (!o)
		return GO_NO_VALUE;
	o->v[PARAMETERS_TYPE] = go_text_of(c, json_get(v, "type"));
	o->v[PARAMETERS_DEFS] = go_from_json(c, json_get(v, "$defs"));
	o->v[PARAMETERS_ITEMS] = go_from_json(c, json_get(v, "items"));
	o->v[PARAMETERS_REQUIRED] = texts_of(c, json_get(v, "required"), &texts_kind);
	o->v[PARAMETERS_PROPERTIES] = properties_of(c, json_get(v, "properties"), false);
	return go_object(o);
}

static struct go_value
tool_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_object *o = go_object_new(c, &tool_type);
	struct go_object *f = go_object_new(c, &function_type);
	const cJSON *function = json_get(v, "function");

	if (!o || !f)
		return GO_NO_VALUE;
	f->v[FUNCTION_NAME] = go_text_of(c, json_get(function, "name"));
	f->v[FUNCTION_DESCRIPTION] = go_text_of(c, json_get(function, "description"));
	f->v[FUNCTION_PARAMETERS] = parameters_of(c, json_get(function, "parameters"));
	o->v[TOOL_TYPE] = go_text_of(c, json_get(v, "type"));
	o->v[TOOL_ITEMS] = go_from_json(c, json_get(v, "items"));
	o->v[TOOL_FUNCTION] = go_object(f);
	return go_object(o);
}

static struct go_value
tools_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_list *l = go_list_new(c, &tools_kind);

	for (const cJSON *i = json_is_array(v) ? json_first(v) : NULL; i && jinja_ok(c);
	     i = json_next(i))
		go_push(c, l, tool_of(c, i));
	return go_list(l);
}

static const char *
typescript_name(struct go_value type)
{
	static const char *const names[][2] = {
		{ "string", "string" }, { "number", "number" }, { "integer", "number" },
		{ "boolean", "boolean" }, { "array", "any[]" },
		{ "object", "Record<string, any>" }, { "null", "null" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i][0]) == type.str.len &&
		    !memcmp(names[i][0], type.str.s, type.str.len))
			return names[i][1];
	return "any";
}

static void
typescript(struct jinja_ctx *c, struct go_value v, struct tb_buf *out)
{
	const struct go_object *o = v.type == GO_STRUCT ? v.object : NULL;
	const struct go_list *any, *types;
	bool first = true;

	if (!o || o->is != &property_type || o->v[PROPERTY_TYPE].type != GO_LIST) {
		tb_buf_str(out, "any");
		return;
	}
	any = o->v[PROPERTY_ANY_OF].list;
	types = o->v[PROPERTY_TYPE].list;
	for (size_t i = 0; i < any->n && jinja_step(c, 1); i++, first = false) {
		tb_buf_str(out, first ? "" : " | ");
		typescript(c, any->v[i], out);
	}
	for (size_t i = 0; !any->n && i < types->n; i++, first = false) {
		tb_buf_str(out, first ? "" : " | ");
		tb_buf_str(out, typescript_name(types->v[i]));
	}
	if (first)
		tb_buf_str(out, "any");
}

struct go_value
go_typescript(struct jinja_ctx *c, struct go_value v)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);

	typescript(c, v, &out);
	return go_take(c, &out);
}

/* ---- messages ---- */

/* An object; also one that is written as a string, as other programs do. */
static struct go_value
arguments_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_map *m = go_map_new(c, &arguments_kind);
	const char *s = json_str(v);
	cJSON *parsed = NULL;

	if (s && !json_parse(&parsed, s, strlen(s), "arguments", NULL))
		v = parsed;
	for (const cJSON *i = json_is_object(v) ? json_first(v) : NULL; i && jinja_ok(c);
	     i = json_next(i))
		go_put(c, m, jinja_copy(c, json_key(i), strlen(json_key(i))).str.s,
		       go_from_json(c, i));
	json_free(parsed);
	go_sort(m);
	return go_map(m);
}

static struct go_value
calls_of(struct jinja_ctx *c, const cJSON *v)
{
	struct go_list *l = go_list_new(c, &calls_kind);

	for (const cJSON *i = json_is_array(v) ? json_first(v) : NULL; i && jinja_ok(c);
	     i = json_next(i)) {
		struct go_object *o = go_object_new(c, &call_type);
		struct go_object *f = go_object_new(c, &called_type);
		const cJSON *function = json_get(i, "function");
		uint64_t index = 0;

		if (!o || !f)
			break;
		(void)json_u64(json_get(function, "index"), &index);
		f->v[CALLED_INDEX] = go_int((int64_t)index);
		f->v[CALLED_NAME] = go_text_of(c, json_get(function, "name"));
		f->v[CALLED_ARGUMENTS] = arguments_of(c, json_get(function, "arguments"));
		o->v[CALL_ID] = go_text_of(c, json_get(i, "id"));
		o->v[CALL_FUNCTION] = go_object(f);
		go_push(c, l, go_object(o));
	}
	return go_list(l);
}

static struct go_object *
new_message(struct jinja_ctx *c)
{
	struct go_object *o = go_object_new(c, &message_type);

	for (size_t i = 0; o && i < message_type.n; i++)
		o->v[i] = go_text("");
	if (o) {
		o->v[MESSAGE_IMAGES] = go_list(go_list_new(c, &images_kind));
		o->v[MESSAGE_CALLS] = go_list(go_list_new(c, &calls_kind));
	}
	return o;
}

static void
set_text(struct go_object *o, size_t field, const char *s)
{
	if (s)
		o->v[field] = go_text(s);
}

static struct go_object *
message_of(struct jinja_ctx *c, const struct chat_message *m)
{
	struct go_object *o = new_message(c);
	cJSON *calls = NULL;

	if (!o)
		return NULL;
	set_text(o, MESSAGE_ROLE, m->role);
	set_text(o, MESSAGE_CONTENT, m->content);
	set_text(o, MESSAGE_THINKING, m->thinking);
	set_text(o, MESSAGE_TOOL_NAME, m->tool_name);
	set_text(o, MESSAGE_CALL_ID, m->tool_call_id);
	if (m->tool_calls) {
		c->status = json_parse(&calls, m->tool_calls, strlen(m->tool_calls), "tool_calls",
				       c->err);
		if (jinja_ok(c))
			o->v[MESSAGE_CALLS] = calls_of(c, calls);
		json_free(calls);
	}
	return o;
}

/* A text, or the texts of a list of parts. */
static struct go_value
content_of(struct jinja_ctx *c, const cJSON *v)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	if (!json_is_array(v))
		return go_text_of(c, v);
	for (const cJSON *i = json_first(v); i; i = json_next(i)) {
		const char *s = json_str(json_get(i, "text"));

		if (s && text.len)
			tb_buf_str(&text, "\n\n");
		tb_buf_str(&text, s ? s : "");
	}
	return go_take(c, &text);
}

static struct go_object *
message_of_json(struct jinja_ctx *c, const cJSON *v)
{
	struct go_object *o = new_message(c);
	const cJSON *thinking = json_get(v, "thinking");
	const cJSON *name = json_get(v, "tool_name");
	char *role;

	if (!o)
		return NULL;
	o->v[MESSAGE_ROLE] = go_text_of(c, json_get(v, "role"));
	role = (char *)o->v[MESSAGE_ROLE].str.s;
	for (; *role; role++)
		*role |= *role >= 'A' && *role <= 'Z' ? 0x20 : 0;
	o->v[MESSAGE_CONTENT] = content_of(c, json_get(v, "content"));
	o->v[MESSAGE_THINKING] = go_text_of(c, thinking ? thinking : json_get(v, "reasoning_content"));
	o->v[MESSAGE_TOOL_NAME] = go_text_of(c, name ? name : json_get(v, "name"));
	o->v[MESSAGE_CALL_ID] = go_text_of(c, json_get(v, "tool_call_id"));
	o->v[MESSAGE_CALLS] = calls_of(c, json_get(v, "tool_calls"));
	return o;
}

static bool
has_role(const struct go_object *o, const char *role)
{
	const struct go_value *v = &o->v[MESSAGE_ROLE];

	return v->str.len == strlen(role) && !memcmp(v->str.s, role, v->str.len);
}

static struct go_value
joined(struct jinja_ctx *c, struct go_value a, struct go_value b)
{
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	tb_buf_add(&text, a.str.s, a.str.len);
	tb_buf_str(&text, "\n\n");
	tb_buf_add(&text, b.str.s, b.str.len);
	return go_take(c, &text);
}

/* What a conversation comes to: messages of one role that follow each other are one, unless
 * they are results of tools; and all that is said as the system. */
struct go_talk { struct go_list *messages; struct go_value system; };

static void
add_message(struct jinja_ctx *c, struct go_talk *t, const struct go_object *o)
{
	const struct go_value *content = &o->v[MESSAGE_CONTENT];
	struct go_value *before = t->messages->n ? &t->messages->v[t->messages->n - 1] : NULL;

	if (has_role(o, "system"))
		t->system = t->system.type == GO_STR ? joined(c, t->system, *content) : *content;
	if (before && !has_role(o, "tool") && o->v[MESSAGE_ROLE].str.len &&
	    has_role(before->object, o->v[MESSAGE_ROLE].str.s))
		before->object->v[MESSAGE_CONTENT] =
			joined(c, before->object->v[MESSAGE_CONTENT], *content);
	else
		go_push(c, t->messages, go_object(o));
}

static struct go_talk
read_talk(struct jinja_ctx *c, const struct chat_vars *vars)
{
	struct go_talk t = { go_list_new(c, &messages_kind), GO_NO_VALUE };
	const cJSON *v = vars->conversation ? json_first(vars->conversation) : NULL;
	struct go_object *o;

	for (size_t i = 0; jinja_ok(c) && (vars->conversation ? v != NULL : i < vars->nmessages);
	     i++) {
		o = vars->conversation ? message_of_json(c, v) : message_of(c, &vars->messages[i]);
		if (o && jinja_step(c, 1))
			add_message(c, &t, o);
		v = json_next(v);
	}
	if (t.system.type == GO_NOTHING)
		t.system = go_text("");
	return t;
}

/* ---- execution ---- */

static struct go_map *
new_root(struct jinja_ctx *c, const struct chat_vars *vars)
{
	struct go_map *m = go_map_new(c, &go_any_map);
	bool think = vars->think == CHAT_THINK_ON || (!vars->think && vars->think_level);

	go_put(c, m, "Think", go_bool(think));
	go_put(c, m, "ThinkLevel", go_text(!think ? "" : vars->think_level ? vars->think_level
									   : "medium"));
	go_put(c, m, "IsThinkSet", go_bool(vars->think || vars->think_level));
	return m;
}

/* What one run of a template without .Messages is given. */
struct go_turn { struct go_value system, prompt, response; };

static void
run_turn(struct jinja_ctx *c, const struct go_template *t, const struct chat_vars *vars,
	 struct go_turn *turn, bool last, struct tb_buf *out)
{
	struct go_map *m = new_root(c, vars);

	go_put(c, m, "System", turn->system);
	go_put(c, m, "Prompt", turn->prompt);
	go_put(c, m, "Response", turn->response);
	go_sort(m);
	go_execute(c, t, go_map(m), last, out);
	*turn = (struct go_turn){ go_text(""), go_text(""), go_text("") };
}

static void
render_turns(struct jinja_ctx *c, const struct go_template *t, const struct chat_vars *vars,
	     const struct go_list *messages, struct tb_buf *out)
{
	struct go_turn turn = { go_text(""), go_text(""), go_text("") };

	for (size_t i = 0; i < messages->n && jinja_ok(c); i++) {
		const struct go_object *o = messages->v[i].object;
		struct go_value content = o->v[MESSAGE_CONTENT];

		if (has_role(o, "system")) {
			if (turn.prompt.str.len || turn.response.str.len)
				run_turn(c, t, vars, &turn, false, out);
			turn.system = content;
		} else if (has_role(o, "user")) {
			if (turn.response.str.len)
				run_turn(c, t, vars, &turn, false, out);
			turn.prompt = content;
		} else if (has_role(o, "assistant")) {
			turn.response = content;
		}
	}
	run_turn(c, t, vars, &turn, true, out);
}

void
go_render(struct jinja_ctx *c, const struct go_template *t, const struct chat_vars *vars,
	  struct tb_buf *out)
{
	struct go_talk talk = read_talk(c, vars);
	struct go_map *m;

	if (!jinja_ok(c))
		return;
	if (!t->messages) {
		render_turns(c, t, vars, talk.messages, out);
		return;
	}
	m = new_root(c, vars);
	go_put(c, m, "System", talk.system);
	go_put(c, m, "Messages", go_list(talk.messages));
	go_put(c, m, "Tools", tools_of(c, vars->tools));
	go_put(c, m, "Response", go_text(""));
	go_sort(m);
	go_execute(c, t, go_map(m), false, out);
}
