/* talk.h - a conversation as a person holds it: a model that is ready, how it is asked,
 * and the lines that begin with "/".  Shared by a face and the job that is answering: the
 * job may still run when the screen has gone. */
#ifndef TBTUI_FACE_TALK_H
#define TBTUI_FACE_TALK_H

#include <stdatomic.h>

#include "src/ops/chat/chat.h"

struct tb_buf;

struct talk {
	atomic_uint refs;
	struct chat_model *model;	/* owned, as is chat; NULL: who answers is elsewhere */
	struct chat *chat;		/* NULL until talk_begin(); one job at a time */
	struct chat_opts opts;		/* system: borrowed from `system`, or from the caller */
	char *system;			/* what /set system gave; owned; NULL = nothing */
	bool lines;			/* line by line on a terminal, no screen */
	bool figures;			/* after each answer; lines only */
};

/* Takes the model, also when it fails.  *out has one reference, and the model's wishes. */
enum tb_status talk_new(struct talk **out, struct chat_model *model, struct tb_err *err)
	TB_MUST_USE;
/* The same of somebody who is elsewhere: model is NULL then, opts are as they were wished. */
enum tb_status talk_new_remote(struct talk **out, struct speaker *speaker,
			       const struct chat_opts *opts, struct tb_err *err) TB_MUST_USE;
/* With t->opts as they are now. */
enum tb_status talk_begin(struct talk *t, struct tb_err *err) TB_MUST_USE;
/* Behind talk_begin(): what is said is kept beside the index at that path.  session: "last" or a
 * number goes on with that one, whose options become t->opts; NULL, "" or "new": another. */
enum tb_status talk_keep(struct talk *t, const char *index_path, const char *session,
			 struct tb_err *err) TB_MUST_USE;
/* The number that it means: 0 for "last", < 0 for none.  TB_EUSAGE: it is no number. */
enum tb_status talk_session(const char *session, int64_t *number, struct tb_err *err) TB_MUST_USE;
struct talk *talk_ref(struct talk *t);
void talk_unref(struct talk *t);	/* NULL is fine; any thread */

/* What came of a line that begins with "/"; all but TALK_LEAVE have said something. */
enum talk_did { TALK_LEAVE, TALK_CLEARED, TALK_SET, TALK_HELP, TALK_REFUSED };
/* line is cut up; what there is to say is appended, without a newline at its end. */
enum talk_did talk_command(struct talk *t, char *line, struct tb_buf *say);
/* Would it? */
bool talk_leaves(const char *line);

/* Why an answer ended before its end; NULL: it did not. */
const char *talk_broke_off(enum gen_stop stop);
#endif
