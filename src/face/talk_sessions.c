/* talk_sessions.c - conversations that are kept: what they are called, going on with one,
 * branching off, and taking one along. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "db/chats.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "src/store/model.h"

#define SESSIONS_SHOWN 20
#define EXPORT_MAX (256u << 20)

static enum tb_status
sessions_open(const struct talk_call *c, struct db **db, struct tb_err *err)
{
	*db = NULL;
	if (!c->talk->ctx || !chat_is_kept(c->talk->chat))
		return tb_fail(err, TB_EUNSUP, "nothing of this conversation is kept");
	return db_chats_open(db, c->talk->ctx->db_path, false, err);
}

enum tb_status
talk_run_sessions(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct db_chats_query q = { .words = c->rest };
	struct db_chats chats = { 0 };
	char age[WORD_MAX];
	struct db *db;
	enum tb_status status = sessions_open(c, &db, err);

	(void)job;
	if (status)
		return status;
	status = db_chats_list(db, &q, &chats, err);
	for (size_t i = 0; !status && i < chats.n && i < SESSIONS_SHOWN; i++)
		tb_buf_printf(&c->say, "%s%6" PRId64 "  %-14s %s", i ? "\n" : "", chats.rows[i].id,
			      word_age(chats.rows[i].updated_ns, age), chats.rows[i].title);
	if (!status && chats.n > SESSIONS_SHOWN)
		tb_buf_printf(&c->say, "\n%zu more: /sessions WORDS searches", chats.n - SESSIONS_SHOWN);
	c->did = TALK_TEXT;
	if (!status && !chats.n)
		status = talk_refuse(c, *c->rest ? "No session has that." : "No session was kept yet.");
	tb_arena_free(&chats.mem);
	db_close(db);
	return status;
}

enum tb_status
talk_run_save(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct chat *chat = c->talk->chat;
	enum tb_status status = TB_OK;

	(void)job;
	if (*c->rest)
		status = chat_rename(chat, c->rest, err);
	if (status)
		return status;
	if (!chat_number(chat))
		return talk_refuse(c, chat_is_kept(chat) ? "It is kept from the first message on; "
				   "/save TITLE says what it is called." :
				   "Nothing of this conversation is kept.");
	tb_buf_printf(&c->say, "Session %" PRId64 ": %s", chat_number(chat), chat_title(chat));
	return TB_OK;
}

enum tb_status
talk_run_fork(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct chat *chat = c->talk->chat;
	int64_t was = chat_number(chat);
	enum tb_status status = chat_fork(chat, c->turn, err);

	(void)job;
	if (status)
		return status;
	c->moved = c->other = true;
	tb_buf_printf(&c->say, "Session %" PRId64 " begins here; %" PRId64 " stays as it is.",
		      chat_number(chat), was);
	return TB_OK;
}

static enum tb_status
session_of(const struct talk_call *c, int64_t *number, struct db_chats *out, struct tb_err *err)
{
	struct db *db;
	enum tb_status status = sessions_open(c, &db, err);

	if (!status && !*number)
		status = db_chats_last(db, number, err);
	if (!status)
		status = db_chats_get(db, *number, out, err);
	if (!status && !out->n)
		status = tb_fail(err, TB_ENOENT, "there is no session %" PRId64 "; /sessions lists "
				 "them", *number);
	db_close(db);
	return status;
}

/* With the model that spoke there, unless it is the one that speaks. */
static enum tb_status
go_on_with(struct talk_call *c, int64_t number, const char *ref, struct tb_job *job,
	   struct tb_err *err)
{
	struct talk *t = c->talk;
	bool same = t->model && !strcmp(t->model->model->loc.path, ref);
	enum tb_status status = TB_OK;

	(void)!talk_leave(t, job, NULL);	/* without it that one is read again, no more */
	if (!same && *ref)
		status = talk_change_model(c, ref, job, err);
	if (status)
		return status;
	chat_clear(t->chat);
	c->moved = c->other = true;
	if ((status = chat_resume(t->chat, number, &c->opts, err)))
		return status;
	free(c->system);
	c->system = c->opts.system ? tb_strdup(c->opts.system) : NULL;
	c->opts.system = NULL;
	c->resumed = true;
	tb_buf_printf(&c->say, "%sSession %" PRId64 ": %s", c->say.len ? " " : "", number,
		      chat_title(t->chat));
	return TB_OK;
}

enum tb_status
talk_load_session(struct talk_call *c, const char *name, struct tb_job *job, struct tb_err *err)
{
	struct db_chats chats = { 0 };
	int64_t number;
	enum tb_status status = talk_session(name, &number, err);

	if (!status)
		status = session_of(c, &number, &chats, err);
	if (!status)
		status = go_on_with(c, number, chats.rows[0].ref, job, err);
	tb_arena_free(&chats.mem);
	return status;
}

static enum tb_status
session_text(const struct talk_call *c, enum chat_format as, struct tb_buf *out, struct tb_err *err)
{
	int64_t number = chat_number(c->talk->chat);
	struct db_chats chat = { 0 };
	struct db_turns turns = { 0 };
	struct db *db;
	enum tb_status status = sessions_open(c, &db, err);

	if (!status && !number)
		status = tb_fail(err, TB_ENOENT, "nothing was said yet");
	if (!status)
		status = db_chats_get(db, number, &chat, err);
	if (!status)
		status = db_chats_turns(db, number, &turns, err);
	if (!status && chat.n)
		chat_export(&chat.rows[0], &turns, as, out);
	tb_arena_free(&chat.mem);
	tb_arena_free(&turns.mem);
	db_close(db);
	return status ? status : tb_buf_status(out, "the session", err);
}

enum tb_status
talk_run_export(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(EXPORT_MAX);
	bool json = tb_ends(c->rest, ".json");
	char *path, bytes[16];
	enum tb_status status;

	(void)job;
	if (!*c->rest)
		return talk_refuse(c, "/export needs a file: .json for JSON, any other for Markdown.");
	if (!(path = talk_path(c->rest)))
		return tb_nomem(err);
	status = session_text(c, json ? CHAT_JSON : CHAT_MARKDOWN, &text, err);
	if (!status)
		status = tb_out_file(path, tb_buf_cstr(&text), text.len, false, err);
	if (!status)
		tb_buf_printf(&c->say, "%s: %s as %s", c->rest, tb_human_bytes(text.len, bytes),
			      json ? "JSON" : "Markdown");
	tb_buf_free(&text);
	free(path);
	return status;
}
