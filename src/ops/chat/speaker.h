/* speaker.h - somebody who answers: a model here, or one behind a URL.
 *
 * A speaker knows no conversation: it gets all messages each time, and what it still has
 * of the last time is its own affair.  A kind is a row of functions. */
#ifndef TBTUI_OPS_CHAT_SPEAKER_H
#define TBTUI_OPS_CHAT_SPEAKER_H

#include "src/ops/chat/chat.h"

/* What is to be answered. Borrowed for the call. */
struct speaker_ask {
	const struct chat_message *messages;	/* the system's first, if there is one */
	size_t n;
	const cJSON *tools;		/* that it may call; NULL: none */
	const struct chat_opts *opts;	/* system: not looked at, it is messages[0] */
	size_t left_out;		/* turns at the beginning that had no room the last time;
					 * a turn is what lies between two messages of the user */
	struct grammar *grammar;	/* what the answer has to be; NULL: anything */
	/* The answer begins so, and it is part of what comes out; NULL: with nothing. */
	const struct token_ids *begins;	/* with these tokens: of a local model */
	const char *prefix;		/* with this text */
	chat_piece_fn *piece;	/* never NULL; figures and notes go to the job */
	void *arg;
};

/* All turns; and the number of messages behind the system's that the first `turns` of them are: the
 * last one is never left out. */
size_t speaker_turns(const struct speaker_ask *ask);
size_t speaker_messages_of(const struct speaker_ask *ask, size_t turns);
/* Its messages, *n of them, without the first `skip` behind the system's: an array to free, what
 * it says is borrowed.  NULL: no memory. */
struct chat_message *speaker_messages_without(const struct speaker_ask *ask, size_t skip, size_t *n);

struct speaker;
struct speaker_ops {
	const char *kind;		/* "local", "remote" */
	/* *out is zeroed.  Fills gen (gen.text without what was thought), thinking, tool_calls,
	 * left_out.  Cancelled: TB_OK and GEN_CANCELLED with what came until then.  After a
	 * failure *out is empty; pieces that were handed on are kept by the chat. */
	enum tb_status (*answer)(struct speaker *s, const struct speaker_ask *ask,
				 struct tb_job *job, struct chat_answer *out, struct tb_err *err);
	void (*free)(struct speaker *s);
	/* Those below may be NULL: it cannot, or need not. */
	enum tb_status (*configure)(struct speaker *s, const struct chat_opts *o,
				    struct tb_err *err);
	/* What the messages are as text, with all that is around them; appended. */
	enum tb_status (*rendered)(struct speaker *s, const struct speaker_ask *ask,
				   struct tb_buf *out, struct tb_err *err);
	/* Another room for the conversation, which is read again: o->context. */
	enum tb_status (*resize)(struct speaker *s, const struct chat_opts *o, struct tb_err *err);
	/* Tokens that the messages are for it. */
	enum tb_status (*count)(struct speaker *s, const struct speaker_ask *ask, uint64_t *tokens,
				struct tb_err *err);
	/* What a token of its answers is as text, as it lies within one; false: it is none of them.
	 * Any thread. */
	bool (*token)(struct speaker *s, uint32_t id, struct tb_buf *out);
	/* What it still has of what it read, to a file and back: kv_file_save(). */
	enum tb_status (*keep)(struct speaker *s, const char *path, struct tb_job *job,
			       struct tb_err *err);
	enum tb_status (*take_up)(struct speaker *s, const char *path, struct tb_job *job,
				  struct tb_err *err);
	uint64_t (*keep_bytes)(struct speaker *s);	/* about how large that file is */
	/* In which portions it read what it has, as bytes; and from the next answer on it goes on as
	 * if it had read them so.  What is of another model is not taken. */
	void (*reading)(struct speaker *s, struct tb_buf *out);
	void (*take_reading)(struct speaker *s, const void *data, size_t len);
	/* A digest of what answers; "": nobody knows. */
	const char *(*mark)(struct speaker *s);
};

/* The first member of each kind's own structure. */
struct speaker {
	const struct speaker_ops *ops;
	char *name;		/* of the model, as people know it; owned */
	char *ref;		/* what opens it again; owned, freed by speaker_free() as is name */
	const struct chat_message *said;	/* borrowed: what each conversation with it begins with */
	size_t nsaid;
};
#endif
