#include "config.h"

#include "src/cli/chat_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/face/talk.h"

enum tb_status
chat_session_ref(const struct chat_session *s, const struct cli *cli, char **ref,
		 struct tb_err *err)
{
	struct db_chats rows = { 0 };
	struct op_ctx ctx;
	struct db *db = NULL;
	int64_t number;
	enum tb_status status = talk_session(s->which, &number, err);

	if (!status && number < 0)
		status = tb_fail(err, TB_EUSAGE, "a new session needs a model: chat REF");
	if (status || (status = cli_ctx(cli, &ctx, err)))
		return status;
	status = db_chats_open(&db, ctx.db_path, false, err);
	if (!status && !number)
		status = db_chats_last(db, &number, err);
	if (!status)
		status = db_chats_get(db, number, &rows, err);
	if (!status && !rows.n)
		status = tb_fail(err, TB_ENOENT, "there is no session %lld; \"tbtui sessions\" lists "
				 "them", (long long)number);
	if (!status && !(*ref = tb_strdup(rows.rows[0].ref)))
		status = tb_nomem(err);
	tb_arena_free(&rows.mem);
	db_close(db);
	op_ctx_free(&ctx);
	return status;
}

/* What was said last, for whoever goes on with it. */
static enum tb_status
show_end(struct talk *t, struct tb_err *err)
{
	struct chat_path path;
	enum tb_status status = chat_path(t->chat, &path, err);
	size_t at = status ? 0 : path.n;

	if (status)
		return status;
	cli_line("Session %lld: %s", (long long)chat_number(t->chat), chat_title(t->chat));
	while (at && strcmp(path.turns[at - 1].said.role, "user"))
		at--;
	for (at -= at > 0; at < path.n; at++) {
		cli_put(strcmp(path.turns[at].said.role, "user") ? "" : "> ");
		cli_put_lines(path.turns[at].said.content, strlen(path.turns[at].said.content));
		putchar('\n');
	}
	chat_path_free(&path);
	return TB_OK;
}

/* Texts that end an answer: those given now instead of those kept. */
enum tb_status
chat_sampling_apply(const struct run_sampling *s, struct chat_opts *o, uint32_t *context,
		    struct tb_err *err)
{
	enum tb_status status = run_sampling_apply(s, &o->sampler, &o->max_tokens, context, err);

	if (s->stops.n)
		*o->stops = 0;
	for (size_t i = 0; i < s->stops.n && !status; i++)
		if ((status = chat_opts_add_stop(o, s->stops.v[i], err)))
			status = tb_wrap(err, status, "--stop");
	return status;
}

enum tb_status
chat_session_begin(const struct chat_session *s, const struct cli *cli, struct talk *t,
		   const struct run_sampling *sampling, const char *system, const char *prompt,
		   struct tb_err *err)
{
	uint32_t context = 0;
	struct op_ctx ctx;
	enum tb_status status;

	if (s->none && s->which)
		return tb_fail(err, TB_EUSAGE, "--no-keep and --session: take one of them");
	if (s->none || (prompt && !s->which))
		return TB_OK;
	if ((status = cli_ctx(cli, &ctx, err)))
		return status;
	status = talk_keep(t, &ctx, s->which, err);
	op_ctx_free(&ctx);
	if (status)
		return status;
	if (system)
		talk_tell(t, system);
	if ((status = chat_sampling_apply(sampling, &t->opts, &context, err)))
		return status;
	t->context = t->opts.context = context ? context : t->opts.context;
	if ((status = chat_configure(t->chat, &t->opts, err)))
		return status;
	cli_note(cli, chat_notice(t->chat));
	return !prompt && !cli->json && s->which && strcmp(s->which, "new") ? show_end(t, err) : TB_OK;
}

static enum tb_status
leave(void *arg, struct tb_job *job, struct tb_err *err)
{
	return talk_leave(arg, job, err);
}

enum tb_status
chat_session_end(const struct cli *cli, struct talk *t, struct tb_err *err)
{
	return chat_number(t->chat) ? cli_run(cli, "Keeping", leave, t, err) : TB_OK;
}
