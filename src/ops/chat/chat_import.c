/* chat_import.c - a session from JSON: what chat_export() wrote, or a list of messages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/chat_parts.h"

static const char *
message_text(const cJSON *o, const char *key)
{
	return json_str(json_get(o, key));
}

/* A value as text: a string as it is, else its JSON.  Owned; NULL: there is none. */
static char *
value_of(const cJSON *o, const char *key)
{
	const cJSON *v = json_get(o, key);

	return json_str(v) ? tb_strdup(json_str(v)) : json_is_array(v) ? json_print(v) : NULL;
}

/* The text of content that is a list of parts. */
static char *
content_of(const cJSON *message)
{
	const cJSON *content = json_get(message, "content");
	struct tb_buf text = TB_BUF(64u << 20);

	if (!json_is_array(content))
		return tb_strdup(json_str(content) ? json_str(content) : "");
	for (const cJSON *part = json_first(content); part; part = json_next(part))
		if (message_text(part, "text"))
			tb_buf_str(&text, message_text(part, "text"));
	return text.len ? tb_buf_take(&text) : tb_strdup("");
}

static enum tb_status
put_message(struct db *db, int64_t chat, const cJSON *m, int64_t n, int64_t parent,
	    const char *model, struct tb_err *err)
{
	char *content = content_of(m), *calls = value_of(m, "tool_calls");
	const char *role = message_text(m, "role"), *own = message_text(m, "model");
	bool answer = role && !strcmp(role, "assistant");
	struct db_turn t = {
		.n = n, .parent = parent, .role = role ? turn_role(role) : "user",
		.content = content, .thinking = message_text(m, "reasoning_content"),
		.tool_calls = calls, .tool_name = message_text(m, "name"),
		.tool_call_id = message_text(m, "tool_call_id"), .model = answer ? own ? own : model : NULL,
		.stop = message_text(m, "stop") ? message_text(m, "stop") : answer ? "eos" : "",
		.figures = "{}", .finished = true, .created_ns = tb_now_ns(),
	};
	enum tb_status status = content ? db_chats_put_turn(db, chat, &t, err) : tb_nomem(err);

	free(content);
	free(calls);
	return status;
}

/* The tree as it was exported: numbers are 1, 2, 3 …, parents before their children. */
static enum tb_status
put_tree(struct db *db, struct db_chat *row, const cJSON *tree, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t n, parent;

	for (const cJSON *t = json_first(tree); t && !status; t = json_next(t)) {
		row->turns++;
		if (!json_u64(json_get(t, "n"), &n) || n != row->turns ||
		    !json_u64(json_get(t, "parent"), &parent) || parent >= n)
			return tb_fail(err, TB_EFORMAT, "turn %llu of the tree is not behind what it "
				       "follows", (unsigned long long)row->turns);
		status = put_message(db, row->id, t, (int64_t)n, (int64_t)parent, row->model, err);
	}
	if (row->leaf < 0 || (uint64_t)row->leaf > row->turns)
		row->leaf = (int64_t)row->turns;
	return status;
}

static enum tb_status
put_list(struct db *db, struct db_chat *row, const cJSON *messages, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (const cJSON *m = json_first(messages); m && !status; m = json_next(m)) {
		const char *role = message_text(m, "role");

		if (role && !strcmp(role, "system"))
			continue;
		row->turns++;
		status = put_message(db, row->id, m, (int64_t)row->turns, (int64_t)row->turns - 1,
				     row->model, err);
	}
	row->leaf = (int64_t)row->turns;
	return status;
}

static const cJSON *
first_of_role(const cJSON *messages, const char *want)
{
	for (const cJSON *m = json_first(messages); m; m = json_next(m))
		if (message_text(m, "role") && !strcmp(message_text(m, "role"), want))
			return m;
	return NULL;
}

static enum tb_status
put_all(struct db *db, const cJSON *o, int64_t *number, struct tb_err *err)
{
	const cJSON *messages = json_is_array(o) ? o : json_get(o, "messages");
	const cJSON *tree = json_get(o, "tree");
	const cJSON *system = first_of_role(messages, "system"), *said = first_of_role(messages, "user");
	const char *title = message_text(o, "title"), *model = message_text(o, "model");
	char *settings = json_get(o, "settings") ? json_print(json_get(o, "settings")) : tb_strdup("{}");
	char *head = said ? content_of(said) : tb_strdup(""), *first = head ? kept_title_of(head) : NULL;
	char *told = system ? content_of(system) : NULL;
	uint64_t leaf;
	struct db_chat row = {
		.title = title ? title : first, .named = title != NULL, .model = model ? model : "",
		.ref = model ? model : "", .weights = "", .settings = settings, .system = told,
	};
	enum tb_status status = settings && first ? db_chats_put(db, &row, err) : tb_nomem(err);

	row.leaf = json_u64(json_get(o, "leaf"), &leaf) && leaf <= INT64_MAX ? (int64_t)leaf : -1;
	if (!status)
		status = json_is_array(tree) ? put_tree(db, &row, tree, err)
					     : put_list(db, &row, messages, err);
	if (!status)
		status = db_chats_put(db, &row, err);
	*number = row.id;
	free(settings);
	free(head);
	free(first);
	free(told);
	return status;
}

enum tb_status
chat_import(const char *index_path, const char *json, size_t len, int64_t *number,
	    struct tb_err *err)
{
	struct db *db = NULL;
	cJSON *o;
	enum tb_status status = json_parse(&o, json, len, "the session", err);

	*number = 0;
	if (status)
		return status;
	if (!json_is_array(o) && !json_is_array(json_get(o, "messages")))
		status = tb_fail(err, TB_EFORMAT, "it has no \"messages\"; \"sessions export --as json\" "
				 "writes what can be read here");
	if (!status)
		status = db_chats_open(&db, index_path, true, err);
	if (!status && !(status = db_chats_begin(db, true, err)))
		status = db_chats_end(db, put_all(db, o, number, err), err);
	db_close(db);
	json_free(o);
	return status;
}
