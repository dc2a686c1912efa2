/* talk_turns.c - moving in what was said: nothing of it is ever taken away. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/markdown.h"
#include "src/face/talk_rows.h"

#define CODE_COLUMNS 80		/* lines of code are as long as they are, however wide it is laid out */

enum tb_status
talk_run_clear(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	int64_t kept = chat_number(c->talk->chat);

	(void)job;
	(void)err;
	chat_clear(c->talk->chat);
	c->moved = c->other = true;
	tb_buf_str(&c->say, "The conversation begins anew");
	if (kept)
		tb_buf_printf(&c->say, "; session %" PRId64 " is kept", kept);
	tb_buf_chr(&c->say, '.');
	return TB_OK;
}

enum tb_status
talk_run_regen(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	(void)job;
	(void)err;
	c->moved = true;
	c->asks = TALK_AGAIN;
	return TB_OK;
}

/* What the person said in this turn, or (0) last, to be freed. */
static enum tb_status
what_was_said(struct talk *t, uint64_t turn, char **out, struct tb_err *err)
{
	struct chat_path path;
	enum tb_status status = chat_path(t->chat, &path, err);

	*out = NULL;
	if (status)
		return status;
	for (size_t i = path.n; i-- && !*out; )
		if (turn ? path.turns[i].id == turn : !strcmp(path.turns[i].said.role, "user"))
			*out = tb_strdup(path.turns[i].said.content);
	chat_path_free(&path);
	return *out ? TB_OK : tb_fail(err, TB_ENOENT, "nothing was said yet");
}

enum tb_status
talk_run_edit(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;
	char *said;

	(void)job;
	if (*c->rest) {
		c->moved = true;
		c->asks = TALK_EDIT;
		c->text = tb_strdup(c->rest);
		return c->text ? TB_OK : tb_nomem(err);
	}
	if ((status = what_was_said(c->talk, c->turn, &said, err)))
		return status;
	c->put = tb_asprintf("/edit %s", said);
	free(said);
	return c->put ? TB_OK : tb_nomem(err);
}

enum tb_status
talk_run_undo(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = chat_undo(c->talk->chat, &c->put, err);

	(void)job;
	if (status)
		return status;
	c->moved = true;
	tb_buf_str(&c->say, "Taken back; /redo brings it back.");
	return TB_OK;
}

enum tb_status
talk_run_redo(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	(void)job;
	c->moved = true;
	return chat_redo(c->talk->chat, err);
}

/* Of this turn, or the last one that has another version. */
enum tb_status
talk_run_other(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	int by = !strcmp(talk_word(&c->rest), "back") ? -1 : 1;
	struct chat_path path;
	uint64_t turn = c->turn;
	enum tb_status status = chat_path(c->talk->chat, &path, err);

	(void)job;
	if (status)
		return status;
	for (size_t i = path.n; i-- && !turn; )
		if (path.turns[i].of > 1)
			turn = path.turns[i].id;
	chat_path_free(&path);
	if (!turn)
		return talk_refuse(c, "There is one version of each; /regen or /edit makes another.");
	c->moved = true;
	return chat_choose(c->talk->chat, turn, by, err);
}

/* A block of code of the text: the one with this number, or the first. */
static enum tb_status
copy_code(struct talk_call *c, const char *text, struct tb_err *err)
{
	const char *which = talk_word(&c->rest), *code;
	struct mdown *m = mdown_new(0);
	uint64_t i = 1;
	size_t n, len;

	if (!m)
		return tb_nomem(err);
	mdown_add(m, text, strlen(text));
	mdown_end(m);
	mdown_lay(m, CODE_COLUMNS);
	n = mdown_codes(m);
	if (!n) {
		(void)talk_refuse(c, "There is no block of code in the last answer.");
	} else if (*which && (!tb_parse_u64(which, &i) || i - 1 >= n)) {
		(void)talk_refuse(c, "Blocks of code are numbered 1 to %zu there.", n);
	} else {
		code = mdown_code(m, (size_t)i - 1, &len);
		tb_buf_add(&c->say, code, len);
		if (n > 1)
			snprintf(c->copied, sizeof(c->copied), "block %" PRIu64 " of %zu", i, n);
		else
			snprintf(c->copied, sizeof(c->copied), "the block of code");
	}
	mdown_free(m);
	return TB_OK;
}

enum tb_status
talk_run_copy(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	const char *what = talk_word(&c->rest), *text = NULL;
	struct chat_path path;
	enum tb_status status = chat_path(c->talk->chat, &path, err);

	(void)job;
	if (status)
		return status;
	for (size_t i = path.n; i-- && !text; )
		if (!strcmp(path.turns[i].said.role, "assistant"))
			text = path.turns[i].said.content;
	c->did = TALK_COPY;
	snprintf(c->copied, sizeof(c->copied), "the answer");
	if (*what && strcmp(what, "code"))
		status = talk_refuse(c, "/copy takes nothing, or \"code\" and a number.");
	else if (!text)
		status = talk_refuse(c, "Nothing was answered yet.");
	else if (*what)
		status = copy_code(c, text, err);
	else
		tb_buf_str(&c->say, text);
	chat_path_free(&path);
	return status;
}

enum tb_status
talk_run_tokens(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	uint64_t now, then;
	enum tb_status status = chat_count(c->talk->chat, NULL, &now, err);

	(void)job;
	if (!status && *c->rest)
		status = chat_count(c->talk->chat, c->rest, &then, err);
	if (status)
		return status;
	tb_buf_printf(&c->say, "%" PRIu64 " tokens so far", now);
	if (*c->rest)
		tb_buf_printf(&c->say, ", %" PRIu64 " with this said next", then);
	return TB_OK;
}
