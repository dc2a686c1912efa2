/* talk.h - a model made ready to chat with, shared by the Chat screen and the job
 * that is answering: the job may still run when the screen has gone. */
#ifndef TBTUI_UI_TALK_H
#define TBTUI_UI_TALK_H

#include <stdatomic.h>

#include "src/ops/chat/chat.h"

struct op_ctx;

struct talk {
	atomic_uint refs;
	struct chat_model *model;	/* owned, as is chat */
	struct chat *chat;		/* one job at a time */
	struct chat_opts opts;		/* system: borrowed from `system` */
	char *system;			/* owned; NULL = none */
};

/* Blocks (for a worker).  path: manifest, folder or file.  *out has one reference. */
enum tb_status talk_new(struct talk **out, const struct op_ctx *ctx, const char *path,
			struct tb_job *job, struct tb_err *err) TB_MUST_USE;
struct talk *talk_ref(struct talk *t);
void talk_unref(struct talk *t);	/* NULL is fine; any thread */
#endif
