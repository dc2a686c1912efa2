/* chat.h - a conversation with a model: messages, template, KV cache.
 *
 * Every answer renders the whole conversation again and evaluates only what the
 * cache does not hold yet.  When the context is full, the oldest turns go, and the
 * person is told. */
#ifndef TBTUI_OPS_CHAT_H
#define TBTUI_OPS_CHAT_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/run/run.h"
#include "src/text/chat_template.h"

struct tb_job;
struct chat;

struct chat_opts {
	struct sampler_opts sampler;
	const char *system;	/* borrowed for the call; NULL or "" = none */
	uint32_t context;	/* positions; 0 = the model's own; fixed by chat_new() */
	uint32_t max_tokens;	/* an answer; 0 = until the context is full */
	unsigned top;		/* alternatives of each token: GEN_MSG_TOKEN, gen_result.tokens */
	enum guess_how guess;	/* fixed by chat_new() */
	enum kv_type kv;	/* KV_USUAL: as the model was opened */
};
/* The model's own wishes over our defaults, and a fresh seed. */
void chat_opts_init(struct chat_opts *o, const struct chat_model *m);

/* One of them by the name people know it by ("temperature", "top_p", "min_p", "top_k",
 * "repeat_penalty", "repeat_last_n", "num_predict", "seed", "kv"); false: no such name or
 * value. */
bool chat_opts_set(struct chat_opts *o, const char *name, const char *value);

/* The model is borrowed and must outlive the chat.  Fails when its chat template cannot
 * be used, with the reason.  Without any, messages are text that is continued: the model
 * has a note about it. */
enum tb_status chat_new(struct chat **out, struct chat_model *m, const struct chat_opts *opts,
			struct tb_err *err) TB_MUST_USE;
void chat_free(struct chat *c);
/* From the next answer on; o->context is not looked at. */
enum tb_status chat_configure(struct chat *c, const struct chat_opts *o, struct tb_err *err)
	TB_MUST_USE;
void chat_clear(struct chat *c);	/* forgets all turns, keeps the options */

/* Keeps what was evaluated so far in a file; and takes it up before the first answer, so that
 * what begins with the same text need not be evaluated again (kv_file_load()). */
enum tb_status chat_keep(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;
enum tb_status chat_take_up(struct chat *c, const char *path, struct tb_job *job,
			    struct tb_err *err) TB_MUST_USE;

/* All messages, the system's first. Valid until the next call. */
const struct chat_message *chat_messages(const struct chat *c, size_t *n);

struct chat_answer {
	struct gen_result gen;		/* gen.text is the answer; owned */
	uint32_t dropped;		/* turns that were forgotten to make room */
};
void chat_answer_free(struct chat_answer *a);

/* Says `text` and streams the answer: pieces go to `fn`, or with fn == NULL are
 * posted to `job` (see enum gen_msg).  Blocks: the UI runs it on a worker.  After
 * tb_job_cancel() the partial answer is kept and this is TB_OK; if there is none
 * yet, what was said is forgotten as well. */
enum tb_status chat_say(struct chat *c, const char *text, gen_text_fn *fn, void *arg,
			struct tb_job *job, struct chat_answer *out, struct tb_err *err) TB_MUST_USE;
#endif
