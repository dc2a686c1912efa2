#include "config.h"

#include "ui/talk.h"

#include <stdlib.h>

#include "src/base/mem.h"

enum tb_status
talk_new(struct talk **out, const struct op_ctx *ctx, const char *path, struct tb_job *job,
	 struct tb_err *err)
{
	struct talk *t = tb_calloc(1, sizeof(*t));
	enum tb_status status;

	*out = NULL;
	if (!t)
		return tb_nomem(err);
	atomic_store(&t->refs, 1);
	status = chat_model_open(&t->model, ctx, path, job, err);
	if (!status) {
		chat_opts_init(&t->opts, t->model);
		status = chat_new(&t->chat, t->model, &t->opts, err);
	}
	if (status)
		talk_unref(t);
	else
		*out = t;
	return status;
}

struct talk *
talk_ref(struct talk *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void
talk_unref(struct talk *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	chat_free(t->chat);
	chat_model_free(t->model);
	free(t->system);
	free(t);
}
