/* talk.h - a conversation as a person holds it: who answers, how it is asked, and the lines
 * that begin with "/".
 *
 * What a person sends becomes a struct talk_call.  Some commands are done at once, whoever
 * speaks; all else, a message as well, is work for a worker, one call at a time.  The talk
 * itself belongs to the face's thread, but for what talk_work() uses. */
#ifndef TBTUI_FACE_TALK_H
#define TBTUI_FACE_TALK_H

#include <stdatomic.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/ops/chat/chat.h"

struct op_ctx;
struct talk_row;

#define TALK_SETS 16

struct talk {
	atomic_uint refs;
	const struct op_ctx *ctx;	/* borrowed; NULL: nothing else can be opened */
	struct chat_model *model;	/* owned, as is chat; NULL: who answers is elsewhere */
	struct chat *chat;		/* NULL until talk_begin(); one job at a time */
	uint32_t context;		/* that who answers was made with */
	struct chat_opts opts;		/* as wished; system: of `system`, or the model's */
	char *system;			/* what was set; owned; NULL = nothing */
	bool changed;			/* opts are others than the chat's: it gets them before
					 * its next work */
	bool working;			/* between talk_start() and talk_end() */
	uint64_t kv_bytes;		/* of what models have read is kept in all */
	bool lines;			/* line by line on a terminal, no screen */
	bool figures;			/* after each answer; lines only */
	bool unwrapped;			/* lines are not broken between words; lines only */
	bool forgets;			/* what is typed from now on is not remembered */
	struct talk_set { const char *name; char *value; } sets[TALK_SETS];
	size_t nsets;			/* what its person has set, for another model as well */
	char *history;			/* the file of what was typed; owned; NULL: none */
	struct tb_buf unwritten;	/* lines for it */
	struct tb_names found;		/* what talk_complete() goes through */
};

/* Takes the model, also when it fails.  *out has one reference, and the model's wishes. */
enum tb_status talk_new(struct talk **out, struct chat_model *model, const struct op_ctx *ctx,
			struct tb_err *err) TB_MUST_USE;
/* The same of somebody who is elsewhere: model is NULL then, opts are as they were wished. */
enum tb_status talk_new_remote(struct talk **out, struct speaker *speaker,
			       const struct chat_opts *opts, const struct op_ctx *ctx,
			       struct tb_err *err) TB_MUST_USE;
/* What who answers is told first, in the place of the model's own. */
void talk_tell(struct talk *t, const char *system);
/* The model that REF names, wherever it is. */
enum tb_status talk_open(struct talk **out, const struct op_ctx *ctx, const char *ref,
			 struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* What a person should know of it; "": nothing. */
const char *talk_note(const struct talk *t);
/* With t->opts as they are now. */
enum tb_status talk_begin(struct talk *t, struct tb_err *err) TB_MUST_USE;
/* Behind talk_begin(): what is said is kept beside the index, unless the configuration says no and
 * no session is named.  session: "last" or a number goes on with that one, whose options become
 * t->opts; NULL, "" or "new": another. */
struct op_ctx;
enum tb_status talk_keep(struct talk *t, const struct op_ctx *ctx, const char *session,
			 struct tb_err *err) TB_MUST_USE;
/* Nobody says anything any more: what the model has read is kept, so that going on begins at
 * once. */
enum tb_status talk_leave(struct talk *t, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* The number that it means: 0 for "last", < 0 for none.  TB_EUSAGE: it is no number. */
enum tb_status talk_session(const char *session, int64_t *number, struct tb_err *err) TB_MUST_USE;
struct talk *talk_ref(struct talk *t);
void talk_unref(struct talk *t);	/* NULL is fine; any thread */
/* A line that was sent is there the next time: see history_read() of t->history. */
void talk_remember(struct talk *t, const char *line);
/* Of who answers; "" before talk_begin(). */
const char *talk_speaker(const struct talk *t);

/* What came of it, and what its text is then. */
enum talk_did {
	TALK_SAID,	/* a sentence about the conversation */
	TALK_TEXT,	/* something to read, of several lines */
	TALK_COPY,	/* for the clipboard */
	TALK_REFUSED,	/* why */
	TALK_LEAVE
};
enum talk_asks { TALK_NOTHING, TALK_SAY, TALK_AGAIN, TALK_EDIT, TALK_RESULT, TALK_CONTINUE };

struct talk_call {
	struct talk *talk;		/* a reference */
	const struct talk_row *row;	/* NULL: a message, or no such command */
	char *line, *rest;		/* owned; what stands behind the command's name */
	struct chat_opts opts;		/* the talk's, when work began */
	char *system;			/* of opts; owned */
	bool configure;
	struct talk_set sets[TALK_SETS];	/* copies of the talk's, which may change meanwhile … */
	size_t nsets;
	bool told;			/* … as may its system: is there one? */
	struct tb_buf unwritten;	/* the talk's */
	struct chat_model *was;		/* that another one has taken the place of; owned */

	enum talk_did did;
	struct tb_buf say;
	char copied[64];		/* what that is, of TALK_COPY: "the answer" */
	bool moved;			/* the path is another one */
	bool other;			/* of another conversation, where ids mean other turns */
	bool switched;			/* so is who answers */
	bool resumed;			/* opts and system are those of a kept session */
	char *put;			/* a text to go on with in the input; owned; NULL: none */
	bool put_long;			/* it is a file's: one thing in the line */
	enum talk_asks asks;		/* something is to be answered */
	char *text;			/* what is said; owned */
	char *tool_name, *tool_call_id;	/* whose result it is; owned */
	uint64_t turn;
	struct token_ids begins;	/* of another answer beside that one; owned */
	struct chat_answer answer;	/* of that */
};

/* Of a line that was sent, and of what is a message whatever it looks like; NULL: out of
 * memory. */
struct talk_call *talk_call_new(struct talk *t, const char *line);
struct talk_call *talk_call_say(struct talk *t, const char *text);
/* Another answer beside that turn, which begins with these tokens (malloc()ed, taken). */
struct talk_call *talk_call_continue(struct talk *t, uint64_t turn, uint32_t *ids, size_t n);
void talk_call_free(struct talk_call *c);	/* NULL is fine */
/* Can it be done whatever else goes on?  Then talk_at_once() does it. */
bool talk_is_quick(const struct talk_call *c);
void talk_at_once(struct talk_call *c);
/* On the face's thread before and behind talk_work(), which blocks.  Pieces of an answer go
 * to fn, or, NULL, to the job. */
void talk_start(struct talk_call *c);
enum tb_status talk_work(struct talk_call *c, chat_piece_fn *fn, void *arg, struct tb_job *job,
			 struct tb_err *err) TB_MUST_USE;
void talk_end(struct talk_call *c);

/* Tools that it may call, of a file; and calls of an answer as lines to read, appended. */
enum tb_status talk_tools_read(struct talk *t, const char *path, struct tb_err *err) TB_MUST_USE;
void talk_calls_say(const char *calls, struct tb_buf *out);
#define TALK_CALLS_HINT "/result TEXT tells it what the tool said; nothing is run here"

/* Is it a command that leaves? */
bool talk_leaves(const char *line);
/* Would it be one, and not a message? */
bool talk_is_command(const char *line);
/* Lines that this one can become; i counts from 0 to the NULL behind the last.  Borrowed until
 * the next call with 0. */
const char *talk_complete(struct talk *t, const char *line, size_t i);

/* Why an answer ended before its end; NULL: it did not. */
const char *talk_broke_off(enum gen_stop stop);
#endif
