#include "config.h"

#include "src/text/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/chat_tags.h"
#include "src/text/go.h"
#include "src/text/jinja.h"

#define TREE_MAX (64u << 20)		/* bytes of memory: a template's tree */
#define VALUES_MAX (256u << 20)		/* and what one rendering makes */
#define SOURCE_MAX (1u << 20)

struct chat_template {
	struct tb_arena arena;
	enum chat_template_kind kind;
	/* One of them, in the arena; not changed by rendering. */
	const struct jinja_node *body;
	const struct go_template *go;
	const char *source;		/* in the arena */
	struct chat_thinking thinking;
	struct chat_template_can can;
	struct chat_call_mark go_call;	/* begin NULL: the table knows better */
};

/* What it can is seen once. */
static void
look_once(struct jinja_ctx *c, struct chat_template *t)
{
	t->thinking = t->go ? go_thinking(c, t->go) : jinja_thinking(t->source);
	t->can = t->go ? go_can(t->go, t->source) : jinja_can(t->source);
	if (t->go && t->go->calls && !call_mark_in(t->source, 0))
		t->go_call.begin = go_call_tag(c, t->go);
	t->can.thinking = t->thinking.open && t->thinking.close;
}

static enum tb_status
new_template(struct chat_template **out, enum chat_template_kind kind, const char *source,
	     size_t len, struct tb_err *err)
{
	struct chat_template *t = tb_calloc(1, sizeof(*t));
	struct jinja_ctx c = { .err = err };

	*out = NULL;
	if (!t)
		return tb_nomem(err);
	t->kind = kind;
	t->arena.max = TREE_MAX;
	c.arena = &t->arena;
	c.line = 1;
	if (len > SOURCE_MAX)
		jinja_fail(&c, TB_ELIMIT, "%zu bytes are too many", len);
	else if (!tb_utf8_valid(source, len))
		jinja_fail(&c, TB_EFORMAT, "it is not UTF-8");
	else if (kind == CHAT_TEMPLATE_GO)
		t->go = go_parse(&c, source, len);
	else
		t->body = jinja_parse(&c, source, len);
	t->source = jinja_copy(&c, source, len).str.s;
	if (jinja_ok(&c))
		look_once(&c, t);
	if (c.status)
		chat_template_free(t);
	else
		*out = t;
	return c.status;
}

enum tb_status
chat_template_new(struct chat_template **out, const char *source, size_t len, struct tb_err *err)
{
	return new_template(out, CHAT_TEMPLATE_JINJA, source, len, err);
}

enum tb_status
chat_template_new_go(struct chat_template **out, const char *source, size_t len,
		     struct tb_err *err)
{
	return new_template(out, CHAT_TEMPLATE_GO, source, len, err);
}

enum chat_template_kind
chat_template_kind(const struct chat_template *t)
{
	return t->kind;
}

struct chat_template_can
chat_template_can(const struct chat_template *t)
{
	return t->can;
}

struct chat_thinking
chat_template_thinking(const struct chat_template *t)
{
	return t->thinking;
}

const struct chat_call_mark *
chat_template_call_mark(const struct chat_template *t, size_t i)
{
	if (t->go_call.begin)
		return i ? NULL : &t->go_call;
	return call_mark_in(t->source, i);
}

bool
chat_template_harmony(const struct chat_template *t)
{
	return is_harmony(t->source);
}

void
chat_template_free(struct chat_template *t)
{
	if (t)
		tb_arena_free(&t->arena);
	free(t);
}

static void
put_str(struct jinja_ctx *c, struct jinja_value to, const char *name, const char *text)
{
	if (text)
		jinja_put(c, to.dict, jinja_text(name), jinja_text(text));
}

/* Thinking has as many names as families have templates; none of them means anything else. */
static struct jinja_value
message_value(struct jinja_ctx *c, const struct chat_message *m)
{
	struct jinja_value v = jinja_dict(c);
	cJSON *calls = NULL;
	enum tb_status status;

	put_str(c, v, "role", m->role);
	put_str(c, v, "content", m->content);
	put_str(c, v, "reasoning_content", m->thinking);
	put_str(c, v, "thinking", m->thinking);
	put_str(c, v, "name", m->tool_name);
	put_str(c, v, "tool_call_id", m->tool_call_id);
	if (m->tool_calls) {
		status = json_parse(&calls, m->tool_calls, strlen(m->tool_calls), "tool_calls",
				    c->err);
		if (status)
			c->status = status;
		else
			jinja_put(c, v.dict, jinja_text("tool_calls"), jinja_from_json(c, calls));
		json_free(calls);
	}
	return v;
}

/* Only what was said: templates ask whether these are defined. */
static void
set_think(struct jinja_ctx *c, struct jinja_scope *s, const struct chat_vars *vars)
{
	bool on = vars->think == CHAT_THINK_ON;

	if (vars->think) {
		jinja_set(c, s, "enable_thinking", jinja_bool(on));
		jinja_set(c, s, "thinking", jinja_bool(on));
	}
	if (vars->think_level)
		jinja_set(c, s, "reasoning_effort", jinja_text(vars->think_level));
}

static struct jinja_value
list_messages(struct jinja_ctx *c, const struct chat_vars *vars)
{
	struct jinja_value out;

	if (vars->conversation)
		return jinja_from_json(c, vars->conversation);
	out = jinja_list(c);
	for (size_t i = 0; i < vars->nmessages && jinja_ok(c); i++) {
		jinja_push(c, out.list, message_value(c, &vars->messages[i]));
	}
	return out;
}

/* tools: where the template takes None for a list, an empty one. */
static void
set_vars(struct jinja_ctx *c, struct jinja_scope *s, const struct chat_vars *vars, bool empty)
{
	jinja_add_globals(c, s);
	jinja_set(c, s, "documents", jinja_none());	/* unless the caller has some */
	for (const cJSON *v = json_first(vars->extra); v && jinja_ok(c); v = json_next(v)) {
		struct jinja_value name = jinja_copy(c, json_key(v), strlen(json_key(v)));

		jinja_set(c, s, name.str.s, jinja_from_json(c, v));
	}
	jinja_set(c, s, "messages", list_messages(c, vars));
	if (vars->tools)
		jinja_set(c, s, "tools", jinja_from_json(c, vars->tools));
	else
		jinja_set(c, s, "tools", empty ? jinja_list(c) : jinja_no_list());
	set_think(c, s, vars);
	jinja_set(c, s, "add_generation_prompt", jinja_bool(vars->add_generation_prompt));
	if (vars->bos_token)
		jinja_set(c, s, "bos_token", jinja_text(vars->bos_token));
	if (vars->eos_token)
		jinja_set(c, s, "eos_token", jinja_text(vars->eos_token));
}

static enum tb_status
render_once(const struct chat_template *t, const struct chat_vars *vars, struct tb_buf *out,
       struct jinja_ctx *c, bool empty)
{
	struct tb_arena arena = { .max = VALUES_MAX };
	struct jinja_scope globals = { 0 }, top = { .up = &globals };
	struct tb_buf text = TB_BUF(JINJA_TEXT_MAX);

	c->arena = &arena;
	if (t->kind == CHAT_TEMPLATE_GO) {
		go_render(c, t->go, vars, &text);
	} else {
		set_vars(c, &globals, vars, empty);
		jinja_run(c, &top, t->body, &text);
	}
	if (!c->status)
		tb_buf_add(out, tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
	tb_arena_free(&arena);
	return c->status;
}

enum tb_status
chat_template_render(const struct chat_template *t, const struct chat_vars *vars,
		     struct tb_buf *out, struct tb_err *err)
{
	struct jinja_ctx c = { .err = err }, again = { .err = err };

	if (!render_once(t, vars, out, &c, false) || !c.took_none || !vars->forgive_no_tools)
		return c.status;
	return render_once(t, vars, out, &again, true);
}
