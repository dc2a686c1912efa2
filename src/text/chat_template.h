/* chat_template.h - a conversation as the text that a model was trained on.
 *
 * Templates are hostile programs from model files: steps, output and depth are
 * bounded, and a construct that is not supported is an error that names it and
 * its line, never a guess. */
#ifndef TBTUI_TEXT_CHAT_TEMPLATE_H
#define TBTUI_TEXT_CHAT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/format/json.h"

struct chat_message {
	const char *role;	/* "system", "user", "assistant", "tool" */
	const char *content;
	/* NULL where there is none of it. */
	const char *thinking;	/* of an assistant: what it thought before its content */
	const char *tool_calls;	/* of an assistant: JSON, [{ "id", "type": "function",
				 * "function": { "name", "arguments": { … } } }, …] */
	const char *tool_name;	/* of a tool: what answers here, and which call of it */
	const char *tool_call_id;
};

/* What the person says about thinking; what a template makes of it is its own. */
enum chat_think { CHAT_THINK_UNSET, CHAT_THINK_OFF, CHAT_THINK_ON };

struct chat_template;

/* In which language one is written. */
enum chat_template_kind { CHAT_TEMPLATE_JINJA, CHAT_TEMPLATE_GO };

/* The Jinja text of tokenizer_config.json "chat_template". */
enum tb_status chat_template_new(struct chat_template **out, const char *source, size_t len,
				 struct tb_err *err) TB_MUST_USE;
/* The TEMPLATE of an Ollama model. */
enum tb_status chat_template_new_go(struct chat_template **out, const char *source, size_t len,
				    struct tb_err *err) TB_MUST_USE;
void chat_template_free(struct chat_template *t);
/* What it writes of a model's first token is its own affair in Jinja; in Go the tokenizer adds
 * it. */
enum chat_template_kind chat_template_kind(const struct chat_template *t);

/* What it was written for, as far as one sees it from outside. */
struct chat_template_can {
	bool tools;		/* lists them */
	bool results;		/* and writes calls and results back */
	bool thinking;		/* see chat_template_thinking() */
	bool plain;		/* nothing tells who speaks: text is passed on as it is */
};
struct chat_template_can chat_template_can(const struct chat_template *t);
/* What stands before and after that what is thought.  Lives as long as the template. */
struct chat_thinking { const char *open, *close; };	/* NULL: it knows of no thinking */
struct chat_thinking chat_template_thinking(const struct chat_template *t);

struct chat_vars {
	const struct chat_message *messages;
	size_t nmessages;
	/* Instead of `messages`: a list of objects with whatever keys the template reads
	 * (tool calls, parts of content).  All may be NULL. */
	const cJSON *conversation;
	const cJSON *tools;	/* a list; NULL: none */
	const cJSON *extra;	/* an object: further variables */
	const char *bos_token, *eos_token;	/* may be NULL: undefined */
	enum chat_think think;
	const char *think_level;	/* "low", "medium", "high", …; NULL: none is said */
	bool add_generation_prompt;
	/* Without tools, jinja2 fails where a template goes over them and does not ask whether
	 * there are any: rather render as with an empty list. */
	bool forgive_no_tools;
};

/* Appends the rendered text. raise_exception() of the template is TB_EFORMAT with
 * the template's own words.  Thread-safe: the template is not changed. */
enum tb_status chat_template_render(const struct chat_template *t, const struct chat_vars *vars,
				    struct tb_buf *out, struct tb_err *err) TB_MUST_USE;
#endif
