/* talk_kept.c - which session a conversation is. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk.h"
#include "src/ops/home/home.h"

enum tb_status
talk_session(const char *session, int64_t *number, struct tb_err *err)
{
	uint64_t n;

	*number = -1;
	if (!session || !*session || !strcmp(session, "new"))
		return TB_OK;
	*number = 0;
	if (!strcmp(session, "last"))
		return TB_OK;
	if (!tb_parse_u64(session, &n) || !n || n > INT64_MAX)
		return tb_fail(err, TB_EUSAGE, "\"%s\": is no session; say its number, last or new",
			       session);
	*number = (int64_t)n;
	return TB_OK;
}

enum tb_status
talk_keep(struct talk *t, const struct op_ctx *ctx, const char *session, struct tb_err *err)
{
	int64_t number;
	enum tb_status status = talk_session(session, &number, err);
	bool keeps = config_keeps_sessions(&ctx->config, &t->kv_bytes);

	if (!status && !keeps && !(session && *session))
		return TB_OK;
	if (!status)
		status = chat_keep_in(t->chat, ctx->db_path, err);
	if (status || number < 0 || (status = chat_resume(t->chat, number, &t->opts, err)))
		return status;
	t->context = t->opts.context;
	free(t->system);
	t->system = t->opts.system ? tb_strdup(t->opts.system) : NULL;
	if (t->opts.system && !t->system)
		return tb_nomem(err);
	t->opts.system = t->system;
	return TB_OK;
}

enum tb_status
talk_leave(struct talk *t, struct tb_job *job, struct tb_err *err)
{
	return chat_park(t->chat, t->kv_bytes, job, err);
}
