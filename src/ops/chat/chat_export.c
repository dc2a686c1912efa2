/* chat_export.c - a kept session as Markdown, or as JSON. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/turns.h"

/* Rows from the beginning to the leaf: indexes into turns->rows; NULL: no memory. */
static size_t *
export_path(const struct db_chat *chat, const struct db_turns *turns, size_t *n)
{
	size_t *path = tb_calloc(turns->n + 1, sizeof(*path));
	int64_t want = chat->leaf;

	*n = 0;
	for (size_t i = turns->n; path && want > 0 && i > 0; i--)
		if (turns->rows[i - 1].n == want) {
			path[(*n)++] = i - 1;
			want = turns->rows[i - 1].parent < want ? turns->rows[i - 1].parent : 0;
		}
	for (size_t i = 0; path && i < *n / 2; i++) {
		size_t swap = path[i];

		path[i] = path[*n - 1 - i];
		path[*n - 1 - i] = swap;
	}
	return path;
}

/* ---- Markdown ---- */

/* In a fence that is longer than any in it. */
static void
fenced(struct tb_buf *out, const char *label, const char *text)
{
	size_t longest = 2, run = 0;

	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i <= longest; i++)
			tb_buf_chr(out, '`');
		tb_buf_printf(out, "%s\n", side ? "" : label);
		if (!side)
			tb_buf_printf(out, "%s%s", text, tb_ends(text, "\n") ? "" : "\n");
	}
	tb_buf_chr(out, '\n');
}

static void
heading(struct tb_buf *out, const char *text)
{
	size_t len = strcspn(text, "\r\n");

	tb_buf_str(out, "## ");
	tb_buf_add(out, text, len);
	tb_buf_str(out, "\n\n");
}

static void
turn_markdown(struct tb_buf *out, const struct db_turn *t)
{
	const char *role = turn_role(t->role);

	heading(out, !strcmp(role, "user") ? "You" : !strcmp(role, "tool") ? "Result of a tool"
		: t->model && *t->model ? t->model : "Answer");
	if (t->thinking && *t->thinking)
		tb_buf_printf(out, "<details><summary>Thinking</summary>\n\n%s\n\n</details>\n\n",
			      t->thinking);
	if (!strcmp(role, "tool"))
		fenced(out, "", t->content);
	else if (*t->content)
		tb_buf_printf(out, "%s\n\n", t->content);
	if (t->tool_calls && *t->tool_calls)
		fenced(out, "json", t->tool_calls);
	if (!t->finished)
		tb_buf_str(out, "*(broken off)*\n\n");
}

static void
export_markdown(const struct db_chat *chat, const struct db_turns *turns, const size_t *path,
		size_t n, struct tb_buf *out)
{
	char when[32];

	tb_buf_str(out, "# ");
	tb_buf_add(out, chat->title, strcspn(chat->title, "\r\n"));
	tb_buf_printf(out, "\n\n%s, %s\n\n", chat->model, tb_time_rfc3339(chat->created_ns, when));
	if (*chat->system) {
		heading(out, "System");
		tb_buf_printf(out, "%s\n\n", chat->system);
	}
	for (size_t i = 0; i < n; i++)
		turn_markdown(out, &turns->rows[path[i]]);
}

/* ---- JSON ---- */

/* What is there of a text; as JSON where it is some. */
static void
set_if(cJSON *o, const char *key, const char *text)
{
	if (text)
		json_set_str(o, key, text);
}

static void
set_json(cJSON *o, const char *key, const char *text, bool bare)
{
	cJSON *value;

	if (!text || !*text)
		return;
	if (!json_parse(&value, text, strlen(text), key, NULL))
		json_set(o, key, value);
	else if (!bare)
		json_set_str(o, key, text);
}

static cJSON *
message_json(const struct db_turn *t)
{
	cJSON *o = json_object();

	json_set_str(o, "role", turn_role(t->role));
	json_set_str(o, "content", t->content);
	set_if(o, "reasoning_content", t->thinking);
	set_json(o, "tool_calls", t->tool_calls, false);
	set_if(o, "name", t->tool_name);
	set_if(o, "tool_call_id", t->tool_call_id);
	return o;
}

static cJSON *
turn_json(const struct db_turn *t)
{
	cJSON *o = message_json(t);
	char when[32];

	json_set_i64(o, "n", t->n);
	json_set_i64(o, "parent", t->parent);
	set_if(o, "model", t->model);
	set_if(o, "stop", t->stop && *t->stop ? t->stop : NULL);
	set_json(o, "figures", t->figures, true);
	json_set_bool(o, "finished", t->finished);
	json_set_str(o, "created", tb_time_rfc3339(t->created_ns, when));
	return o;
}

static void
export_json(const struct db_chat *chat, const struct db_turns *turns, const size_t *path, size_t n,
	    struct tb_buf *out)
{
	cJSON *o = json_object(), *messages = json_array(), *tree = json_array();
	char when[32], *text;

	json_set_str(o, "title", chat->title);
	json_set_str(o, "model", chat->model);
	json_set_str(o, "created", tb_time_rfc3339(chat->created_ns, when));
	set_json(o, "settings", chat->settings, true);
	if (*chat->system) {
		cJSON *system = json_object();

		json_set_str(system, "role", "system");
		json_set_str(system, "content", chat->system);
		json_push(messages, system);
	}
	for (size_t i = 0; i < n; i++)
		json_push(messages, message_json(&turns->rows[path[i]]));
	for (size_t i = 0; i < turns->n; i++)
		json_push(tree, turn_json(&turns->rows[i]));
	json_set(o, "messages", messages);
	json_set_i64(o, "leaf", chat->leaf);
	json_set(o, "tree", tree);
	text = json_print_pretty(o);
	json_free(o);
	if (text)
		tb_buf_printf(out, "%s\n", text);
	else
		out->failed = true;
	free(text);
}

void
chat_export(const struct db_chat *chat, const struct db_turns *turns, enum chat_format as,
	    struct tb_buf *out)
{
	size_t n, *path = export_path(chat, turns, &n);

	if (!path)
		out->failed = true;
	else if (as == CHAT_JSON)
		export_json(chat, turns, path, n, out);
	else
		export_markdown(chat, turns, path, n, out);
	free(path);
}
