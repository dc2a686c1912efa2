/* talk_tools.c - what a model may call, what came of it, and how it is written to. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"

#define TOOLS_MAX (4u << 20)
#define RENDERED_MAX (64u << 20)

enum tb_status
talk_tools_read(struct talk *t, const char *path, struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = tb_file_slurp(path, TOOLS_MAX, &text, &len, err);

	if (status)
		return status;
	status = chat_set_tools(t->chat, text, err);
	free(text);
	return status ? tb_wrap(err, status, "%s", path) : TB_OK;
}

void
talk_calls_say(const char *calls, struct tb_buf *out)
{
	cJSON *list = NULL;

	if (!calls || json_parse(&list, calls, strlen(calls), "calls", NULL))
		return;
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		const cJSON *function = json_get(v, "function");
		const char *name = json_str(json_get(function, "name"));
		char *arguments = json_print(json_get(function, "arguments"));

		tb_buf_printf(out, "%scalls %s %s", out->len ? "\n" : "", name ? name : "?",
			      arguments ? arguments : "");
		free(arguments);
	}
	json_free(list);
}

/* ---- /tools ---- */

static void
list_tools(const cJSON *tools, struct tb_buf *out)
{
	for (const cJSON *t = json_first(tools); t; t = json_next(t)) {
		const cJSON *function = json_get(t, "function");
		const char *about = json_str(json_get(function, "description"));

		tb_buf_printf(out, "%s%s%s%s", out->len ? "\n" : "",
			      json_str(json_get(function, "name")), about ? "  " : "",
			      about ? about : "");
	}
}

enum tb_status
talk_run_tools(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct chat *chat = c->talk->chat;
	enum tb_status status = TB_OK;

	(void)job;
	if (!strcmp(c->rest, "none"))
		status = chat_set_tools(chat, NULL, err);
	else if (*c->rest)
		status = talk_tools_read(c->talk, c->rest, err);
	if (status)
		return status;
	list_tools(chat_tools(chat), &c->say);
	c->did = c->say.len ? TALK_TEXT : TALK_SAID;
	if (!c->say.len)
		tb_buf_str(&c->say, "It knows no tools; /tools FILE tells it of some (JSON).");
	return TB_OK;
}

/* ---- /result ---- */

/* A call that nothing came of yet. */
struct open_call { char *name, *id; size_t left; };	/* left: such calls behind it */

static enum tb_status
find_open(struct chat *chat, struct open_call *out, struct tb_err *err)
{
	struct chat_path path;
	cJSON *list = NULL;
	const cJSON *v;
	size_t at, results;
	enum tb_status status = chat_path(chat, &path, err);

	*out = (struct open_call){ NULL, NULL, 0 };
	if (status)
		return status;
	for (at = path.n; at && !strcmp(path.turns[at - 1].said.role, "tool"); at--)
		;
	results = path.n - at;
	if (at && path.turns[at - 1].said.tool_calls)
		status = json_parse(&list, path.turns[at - 1].said.tool_calls,
				    strlen(path.turns[at - 1].said.tool_calls), "calls", err);
	for (v = status ? NULL : json_first(list); v && results; v = json_next(v))
		results--;
	if (v) {
		const char *name = json_str(json_get(json_get(v, "function"), "name"));
		const char *id = json_str(json_get(v, "id"));

		out->name = tb_strdup(name ? name : "");
		out->id = tb_strdup(id ? id : "");
		for (v = json_next(v); v; v = json_next(v))
			out->left++;
		if (!out->name || !out->id)
			status = tb_nomem(err);
	}
	json_free(list);
	chat_path_free(&path);
	return status;
}

/* The last one makes it go on. */
enum tb_status
talk_run_result(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct open_call call;
	struct chat_message m = { .role = "tool", .content = c->rest };
	enum tb_status status = find_open(c->talk->chat, &call, err);

	(void)job;
	if (!status && !call.name)
		status = talk_refuse(c, "It has called nothing.");
	else if (!status && !*c->rest)
		status = talk_refuse(c, "/result TEXT: what %.60s said.", call.name);
	else if (!status && call.left) {
		m.tool_name = call.name;
		m.tool_call_id = call.id;
		c->moved = true;
		if (!(status = chat_tell(c->talk->chat, &m, err)))
			tb_buf_printf(&c->say, "%zu more to go.", call.left);
	} else if (!status) {
		c->moved = true;
		c->asks = TALK_RESULT;
		c->text = tb_strdup(c->rest);
		c->tool_name = call.name;
		c->tool_call_id = call.id;
		return c->text ? TB_OK : tb_nomem(err);
	}
	free(call.name);
	free(call.id);
	return status;
}

/* ---- /think, /template ---- */

enum tb_status
talk_run_template(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	const struct chat_model *m = c->talk->model;
	struct tb_buf text = TB_BUF(RENDERED_MAX);
	enum tb_status status = chat_rendered(c->talk->chat, &text, err);

	(void)job;
	if (!status) {
		c->did = TALK_TEXT;
		tb_buf_printf(&c->say, "%s\n\n", m ? m->template_said : "");
		tb_buf_add(&c->say, tb_buf_cstr(&text), text.len);
	}
	tb_buf_free(&text);
	return status;
}
