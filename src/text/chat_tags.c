#include "config.h"

#include "src/text/chat_tags.h"

#include <string.h>

/* ---- Go: text around .Thinking ---- */

/* A text without the blanks around it; "" becomes NULL. */
static const char *
trimmed(struct jinja_ctx *c, const struct go_node *n)
{
	const char *s = n->s;
	size_t len = n->len;

	while (len && strchr(" \t\r\n\v\f", *s) && *s) {
		s++;
		len--;
	}
	while (len && strchr(" \t\r\n\v\f", s[len - 1]) && s[len - 1])
		len--;
	return len ? jinja_copy(c, s, len).str.s : NULL;
}

static bool
names_field(const struct go_node *n, const char *field)
{
	bool found = n->type == GN_FIELD && n->nnames && !strcmp(n->names[0], field);

	for (const struct go_node *i = n->first; i && !found; i = i->next)
		found = names_field(i, field);
	return found;
}

/* Only operands of its commands, as Ollama looks at them. */
static bool
names_calls(const struct go_node *pipe)
{
	for (const struct go_node *cmd = pipe->first; cmd; cmd = cmd->next)
		for (const struct go_node *n = cmd->first; n; n = n->next)
			for (size_t i = 0; n->type == GN_FIELD && i < n->nnames; i++)
				if (!strcmp(n->names[i], "ToolCalls"))
					return true;
	return false;
}

struct tag_search {
	struct jinja_ctx *c;
	struct chat_thinking found;
};

static void search_tags(struct tag_search *s, const struct go_node *n, const struct go_node *list,
			const struct go_node *range);

/* The first and the last text of the list in which .Thinking is printed, or asked for. */
static void
take_tags(struct tag_search *s, const struct go_node *pipe, const struct go_node *list,
	  const struct go_node *range)
{
	if (!list || !range || !names_field(range->pipe, "Messages") ||
	    !names_field(pipe, "Thinking"))
		return;
	if (list->first->type == GN_TEXT)
		s->found.open = trimmed(s->c, list->first);
	if (list->last->type == GN_TEXT)
		s->found.close = trimmed(s->c, list->last);
}

static void
search_list(struct tag_search *s, const struct go_node *list, const struct go_node *range)
{
	for (const struct go_node *n = list ? list->first : NULL; n; n = n->next)
		search_tags(s, n, list, range);
}

static void
search_tags(struct tag_search *s, const struct go_node *n, const struct go_node *list,
	    const struct go_node *range)
{
	if (n->type == GN_RANGE)
		range = n;
	if (n->pipe)
		take_tags(s, n->pipe, list, range);
	search_list(s, n->body, range);
	search_list(s, n->other, range);
}

struct chat_thinking
go_thinking(struct jinja_ctx *c, const struct go_template *t)
{
	struct tag_search s = { .c = c };

	search_list(&s, t->root, NULL);
	return s.found;
}

static const struct go_node *
first_text(const struct go_node *list)
{
	for (const struct go_node *n = list ? list->first : NULL; n; n = n->next) {
		const struct go_node *found;

		if (n->type == GN_TEXT && strspn(n->s, " \t\r\n") < n->len)
			return n;
		if (n->type == GN_TEXT)
			continue;
		if (n->type == GN_ACTION || n->type == GN_TEMPLATE)
			return NULL;
		if ((found = first_text(n->body)))
			return found;
		return first_text(n->other);
	}
	return NULL;
}

static const struct go_node *
calls_if(const struct go_node *list)
{
	const struct go_node *found = NULL;

	for (const struct go_node *n = list ? list->first : NULL; n && !found; n = n->next) {
		if (n->type == GN_IF && names_calls(n->pipe))
			return n;
		if (!(found = calls_if(n->body)))
			found = calls_if(n->other);
	}
	return found;
}

const char *
go_call_tag(struct jinja_ctx *c, const struct go_template *t)
{
	const struct go_node *n = calls_if(t->root);
	struct go_node text;
	const char *brace;

	n = n ? first_text(n->body) : NULL;
	if (!n)
		return NULL;
	text = *n;
	if ((brace = memchr(text.s, '{', text.len)))
		text.len = (size_t)(brace - text.s);
	return trimmed(c, &text);
}

/* Does anything in it say who speaks? */
static bool
has_text(const struct go_node *list)
{
	for (const struct go_node *n = list->first; n; n = n->next) {
		if (n->type == GN_TEXT && strspn(n->s, " \t\r\n") < n->len)
			return true;
		if ((n->body && has_text(n->body)) || (n->other && has_text(n->other)))
			return true;
	}
	return false;
}

struct chat_template_can
go_can(const struct go_template *t, const char *source)
{
	struct chat_template_can can = { .tools = t->tools };

	can.results = t->tools && t->calls &&
		      (strstr(source, "eq .Role \"tool\"") || strstr(source, "tool_response") ||
		       strstr(source, "TOOL_RESULTS"));
	can.plain = !t->messages && !has_text(t->root);
	return can;
}

/* ---- words in its source ---- */

/* U+FF5C and U+2581, of which some tags are made. */
#define BAR "\xef\xbd\x9c"
#define LOW "\xe2\x96\x81"

const struct chat_call_mark *
call_mark_in(const char *source, size_t i)
{
	/* sign: what the source has of it where that is put together; NULL: the beginning */
	static const struct { struct chat_call_mark mark; const char *sign; } rows[] = {
		{ { "<tool_call>", "</tool_call>" }, NULL },
		{ { "<tool_calls>", "</tool_calls>" }, NULL },
		{ { "<minimax:tool_call>", "</minimax:tool_call>" }, NULL },
		{ { "<seed:tool_call>", "</seed:tool_call>" }, NULL },
		{ { "<|tool_call_start|>", "<|tool_call_end|>" }, NULL },
		{ { "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>" }, NULL },
		{ { "<|tool_call|>", NULL }, NULL },
		{ { "<|tool_call>", "<tool_call|>" }, NULL },
		{ { "<" BAR "tool" LOW "calls" LOW "begin" BAR ">",
		    "<" BAR "tool" LOW "calls" LOW "end" BAR ">" }, NULL },
		{ { "<" BAR "DSML" BAR "tool_calls>", "</" BAR "DSML" BAR "tool_calls>" },
		  BAR "DSML" BAR },
		{ { "<tool_calls:opensource>", "</tool_calls:opensource>" }, ":opensource" },
		{ { "<|open|>tools<|sep|>", "<|close|>tools<|sep|>" }, "open_tag('tools')" },
		{ { "<atem:function_calls>", "</atem:function_calls>" }, NULL },
		{ { "<|tools_prefix|>", "<|tools_suffix|>" }, NULL },
		{ { "<|START_ACTION|>", "<|END_ACTION|>" }, NULL },
		{ { "[TOOL_CALLS]", NULL }, NULL },
		{ { "<|python_tag|>", NULL }, NULL },
		{ { "<toolcall>", "</toolcall>" }, NULL },
		{ { "<TOOLCALL>", "</TOOLCALL>" }, NULL },
		{ { "<function_call>", "</function_call>" }, NULL },
		{ { "<|function_call|>", NULL }, NULL },
		{ { "<function=", NULL }, NULL },
		{ { "<function name=", NULL }, NULL },
		{ { "<functioncall>", NULL }, NULL },
		{ { "functools[", NULL }, NULL },
	};

	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
		if (strstr(source, rows[k].sign ? rows[k].sign : rows[k].mark.begin) && !i--)
			return &rows[k].mark;
	return NULL;
}

bool
is_harmony(const char *source)
{
	return strstr(source, "<|start|>") && strstr(source, "<|message|>") &&
	       strstr(source, "<|channel|>");
}

struct chat_thinking
jinja_thinking(const char *source)
{
	/* What a template has to hold, and what it stands for. */
	static const struct { const char *mark; struct chat_thinking tags; } rows[] = {
		{ "<|channel|>analysis", { "<|channel|>analysis<|message|>", "<|end|>" } },
		{ "<|channel>thought", { "<|channel>thought", "<channel|>" } },
		{ "<|START_THINKING|>", { "<|START_THINKING|>", "<|END_THINKING|>" } },
		{ "<|inner_prefix|>", { "<|inner_prefix|>", "<|inner_suffix|>" } },
		{ "<seed:think>", { "<seed:think>", "</seed:think>" } },
		{ "[THINK]", { "[THINK]", "[/THINK]" } },
		{ "</think>", { "<think>", "</think>" } },
		{ "</thought>", { "<thought>", "</thought>" } },
		{ "</reasoning>", { "<reasoning>", "</reasoning>" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strstr(source, rows[i].mark))
			return rows[i].tags;
	return (struct chat_thinking){ NULL, NULL };
}

struct chat_template_can
jinja_can(const char *source)
{
	static const char *const results[] = {
		"tool_response", "tool_results", "role'] == 'tool'", "role'] == \"tool\"",
		"role\"] == 'tool'", "role\"] == \"tool\"", "message.role == 'tool'",
		"message.role == \"tool\"", "ipython",
	};
	struct chat_template_can can = { .tools = strstr(source, "tools") ||
						  strstr(source, "tool_call") };

	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		can.results |= can.tools && strstr(source, "tool_call") &&
			       strstr(source, results[i]);
	return can;
}
