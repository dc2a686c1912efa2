/* batch.h - several texts of one model, generated together.
 *
 * A thread of its own takes what is asked of it in order.  Up to `slots` texts are under way at a
 * time, a slot each: a session that keeps what it has read, so that what begins alike need not
 * be read again.  Those that speak do so in one pass; between two passes a piece of one
 * prompt is read, so that nobody waits long for somebody else's. */
#ifndef TBTUI_OPS_SERVE_BATCH_H
#define TBTUI_OPS_SERVE_BATCH_H

#include "src/ops/run/run.h"

#define BATCH_SLOTS SESSION_ROWS

struct batch;
struct batch_opts {
	uint32_t context;	/* of a slot; 0: the model's */
	unsigned slots;		/* 1 … BATCH_SLOTS */
	unsigned queue;		/* texts that may wait */
	enum guess_how guess;
};

/* A text to be generated.  It is the caller's, and lives until done() was called. */
struct batch_task {
	struct token_ids prompt;
	struct gen_opts gen;	/* guesser: the slot's; text: on the batch's thread */
	struct tb_job *job;	/* cancelled: it ends at the next token */
	double deadline;	/* tb_monotonic() at which it ends as if cancelled; 0: none */
	struct gen_result result;
	/* The last that is heard of it, on the batch's thread or batch_free()'s: `result` is the
	 * callee's. TB_ECANCEL: it ended before its turn came. */
	void (*done)(void *arg, enum tb_status status, const struct tb_err *err);
	void *arg;
	struct batch_task *next;
};

/* The model is borrowed. */
enum tb_status batch_new(struct batch **out, struct chat_model *m, const struct batch_opts *opts,
			 struct tb_err *err) TB_MUST_USE;
/* Ends what is under way as if it were cancelled. */
void batch_free(struct batch *b);
uint32_t batch_context(const struct batch *b);
/* A place for a task, in the queue or under way; false: there is none.  It is batch_add()'s
 * then, which always takes the task.  All below is thread-safe. */
bool batch_reserve(struct batch *b);
void batch_add(struct batch *b, struct batch_task *t);
/* How many are under way, and how many wait. */
void batch_load(struct batch *b, unsigned *speaking, unsigned *waiting);
/* Seconds after which there may be room again, 1 or more. */
unsigned batch_patience(struct batch *b);
#endif
