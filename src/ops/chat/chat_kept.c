/* chat_kept.c - what is said, written to chats.db as it is said. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/chat_parts.h"

#define TITLE_MAX 60		/* characters */
#define COMING_SECONDS 1.0

/* ---- as rows ---- */

/* The first words of the first message: its first line that is not empty. */
char *
kept_title_of(const char *text)
{
	struct tb_buf title = TB_BUF(4 * TITLE_MAX + 64);
	const char *p = text + strspn(text, " \t\r\n");
	size_t len = strcspn(p, "\r\n"), n = 0;
	uint32_t cp;
	char utf8[4];

	for (size_t at = 0; at < len && n < TITLE_MAX; n++) {
		at += tb_utf8_next(p + at, len - at, &cp);
		if (cp == '\t' || cp == ' ') {
			at += strspn(p + at, " \t");
			cp = ' ';
		}
		tb_buf_add(&title, utf8, tb_utf8_put(cp, utf8));
		if (n + 1 == TITLE_MAX && at < len)
			tb_buf_str(&title, "…");
	}
	return tb_buf_take(&title);
}

static char *
figures_json(const struct gen_figures *f)
{
	cJSON *o = json_object();
	char *text;

	json_set_u64(o, "prompt_tokens", f->prompt_tokens);
	json_set_u64(o, "reused_tokens", f->reused_tokens);
	json_set_u64(o, "tokens", f->tokens);
	json_set_f64(o, "prefill_seconds", f->prefill_seconds);
	json_set_f64(o, "decode_seconds", f->decode_seconds);
	json_set_f64(o, "first_token_seconds", f->first_token_seconds);
	json_set_u64(o, "context_used", f->context_used);
	json_set_u64(o, "context", f->context);
	text = json_print(o);
	json_free(o);
	return text;
}

static enum tb_status
put_turn(struct chat *c, size_t id, struct tb_err *err)
{
	const struct turn *t = turns_at(&c->turns, id);
	char *figures = t->model ? figures_json(&t->figures) : tb_strdup("{}");
	struct db_turn row = {
		.n = (int64_t)id, .parent = (int64_t)t->parent, .role = t->said.role,
		.content = t->said.content, .thinking = t->said.thinking,
		.tool_calls = t->said.tool_calls, .tool_name = t->said.tool_name,
		.tool_call_id = t->said.tool_call_id, .model = t->model,
		.stop = t->model ? gen_stop_name(t->stop) : "", .figures = figures,
		.finished = t->finished, .created_ns = t->created_ns,
	};
	enum tb_status status = figures ? db_chats_put_turn(c->keep.db, c->keep.id, &row, err)
					: tb_nomem(err);

	free(figures);
	return status;
}

const char *
chat_mark(struct chat *c)
{
	return c->speaker->ops->mark ? c->speaker->ops->mark(c->speaker) : "";
}

static enum tb_status
put_reading(struct chat *c, struct tb_err *err)
{
	struct tb_buf reading = TB_BUF(1u << 30);
	enum tb_status status;

	if (c->speaker->ops->reading)
		c->speaker->ops->reading(c->speaker, &reading);
	status = db_chats_put_reading(c->keep.db, c->keep.id, tb_buf_cstr(&reading),
				      tb_buf_failed(&reading) ? 0 : reading.len, err);
	tb_buf_free(&reading);
	return status;
}

/* leaf: what the path ends with; turns: how many there are. */
static enum tb_status
put_chat(struct chat *c, size_t leaf, size_t turns, struct tb_err *err)
{
	struct keeping *k = &c->keep;
	char *settings = kept_settings(c);
	struct db_chat row = {
		.id = k->id, .title = k->title ? k->title : "", .model = c->speaker->name,
		.ref = c->speaker->ref, .weights = chat_mark(c), .system = c->system, .settings = settings,
		.named = k->named, .leaf = (int64_t)leaf, .turns = turns,
		.from_chat = k->from_chat, .from_turn = k->from_turn,
	};
	enum tb_status status = settings ? db_chats_put(k->db, &row, err) : tb_nomem(err);

	free(settings);
	if (!status && !k->id) {
		k->id = row.id;
		/* nobody else knows this number yet */
		status = db_chats_claim(k->index, k->id, &k->claim, err);
	}
	return status;
}

/* ---- when ---- */

static void
kept_notice(struct chat *c, const struct tb_err *err)
{
	char why[sizeof(c->keep.notice)];

	snprintf(why, sizeof(why), "this session is not kept: %.400s", err->msg);
	if (strcmp(why, c->keep.told))
		memcpy(c->keep.notice, why, sizeof(why));
}

static enum tb_status
kept_open(struct chat *c, struct tb_err *err)
{
	struct keeping *k = &c->keep;
	enum tb_status status;

	if (k->db)
		return TB_OK;
	if ((status = db_chats_open(&k->db, k->index, true, err)))
		return status;
	snprintf(k->notice, sizeof(k->notice), "%s", db_notice(k->db));
	return TB_OK;
}

static enum tb_status
kept_title(struct chat *c, struct tb_err *err)
{
	for (size_t id = 1; !c->keep.title && id <= c->turns.n; id++)
		if (turn_is(turns_at(&c->turns, id), "user") &&
		    !(c->keep.title = kept_title_of(turns_at(&c->turns, id)->said.content)))
			return tb_nomem(err);
	return TB_OK;
}

/* One transaction: after a failure nothing of it is there, nor remembered as if it were. */
static enum tb_status
write_all(struct chat *c, bool synced, struct tb_err *err)
{
	struct keeping *k = &c->keep;
	int64_t was = k->id;
	enum tb_status status = db_chats_begin(k->db, synced, err);

	if (status)
		return status;
	if (!(status = kept_title(c, err)))
		status = put_chat(c, c->turns.leaf, c->turns.n, err);
	for (size_t id = k->written + 1; id <= c->turns.n && !status; id++)
		status = put_turn(c, id, err);
	if (!status && synced)
		status = put_reading(c, err);
	status = db_chats_end(k->db, status, err);
	if (!status) {
		k->grown |= k->written < c->turns.n;
		k->written = c->turns.n;
	} else if (!was) {
		k->id = 0;
		db_chats_unclaim(&k->claim);
	}
	return status;
}

void
kept_write(struct chat *c, bool synced)
{
	struct tb_err err;
	enum tb_status status;

	if (!c->keep.index || (!c->turns.n && !c->keep.id))
		return;
	if (!(status = kept_open(c, &err)))
		status = write_all(c, synced, &err);
	c->keep.at = tb_monotonic();
	if (status && synced)
		kept_notice(c, &err);
}

void
kept_write_coming(struct chat *c, size_t question, const char *text, const char *thinking)
{
	struct keeping *k = &c->keep;
	double now = tb_monotonic();
	struct db_turn row = {
		.n = (int64_t)c->turns.n + 1, .parent = (int64_t)question, .role = "assistant",
		.content = text, .thinking = *thinking ? thinking : NULL, .model = c->speaker->name,
		.stop = "", .figures = "{}", .created_ns = tb_now_ns(),
	};
	struct tb_err err;
	enum tb_status status;

	if (!k->id || k->written < c->turns.n || now - k->at < COMING_SECONDS)
		return;
	k->at = now;
	if (db_chats_begin(k->db, false, &err))
		return;
	if (!(status = db_chats_put_turn(k->db, k->id, &row, &err)))
		status = put_chat(c, c->turns.n + 1, c->turns.n + 1, &err);
	(void)!db_chats_end(k->db, status, &err);
}

enum tb_status
chat_keep_in(struct chat *c, const char *index_path, struct tb_err *err)
{
	char *copy = tb_strdup(index_path);

	if (!copy)
		return tb_nomem(err);
	kept_close(c);
	c->keep.index = copy;
	return TB_OK;
}

void
kept_leave(struct chat *c)
{
	struct keeping *k = &c->keep;

	db_chats_unclaim(&k->claim);
	free(k->title);
	k->title = NULL;
	k->id = 0;
	k->written = 0;
	k->named = k->grown = false;
	k->from_chat = k->from_turn = 0;
	k->at = 0;
	*k->notice = *k->told = 0;
}

void
kept_close(struct chat *c)
{
	struct keeping *k = &c->keep;

	kept_leave(c);
	db_close(k->db);
	free(k->index);
	k->db = NULL;
	k->index = NULL;
}

bool
chat_is_kept(const struct chat *c)
{
	return c->keep.index != NULL;
}

int64_t
chat_number(const struct chat *c)
{
	return c->keep.id;
}

const char *
chat_title(const struct chat *c)
{
	return c->keep.title ? c->keep.title : "";
}

const char *
chat_notice(struct chat *c)
{
	struct keeping *k = &c->keep;

	if (!*k->notice)
		return "";
	memcpy(k->told, k->notice, sizeof(k->told));
	*k->notice = 0;
	return k->told;
}

enum tb_status
chat_empty_trash(const char *index_path, size_t *n, struct tb_err *err)
{
	struct db_chats gone = { 0 };
	struct db *db;
	enum tb_status status = db_chats_open(&db, index_path, true, err);

	*n = 0;
	if (status)
		return status;
	if (!(status = db_chats_empty(db, &gone, err)))
		*n = gone.n;
	for (size_t i = 0; i < *n; i++)
		park_forget(index_path, gone.rows[i].id);
	tb_arena_free(&gone.mem);
	db_close(db);
	return status;
}
