/* chat_model.h - a model made ready to run: weights, tokenizer, template, and what
 * the files say about how it wants to be used.  Shared by chat, generate, logits
 * and perplexity; one of them at a time. */
#ifndef TBTUI_OPS_CHAT_MODEL_H
#define TBTUI_OPS_CHAT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/engine.h"
#include "src/engine/sampler.h"

struct chat_template;
struct model;
struct op_ctx;
struct tb_job;
struct tokenizer;

#define CHAT_MAX_STOPS 16

struct chat_model {
	struct model *model;		/* all owned */
	struct engine *engine;
	struct tokenizer *tokenizer;
	struct chat_template *template;	/* NULL: there is none, or template_err says why it
					 * cannot be used */
	struct tb_err template_err;
	char note[256];			/* see chat_model_note() */
	char *system;			/* the model's own system prompt, or NULL */
	char *bos, *eos;		/* pieces that templates use; NULL: none */
	uint32_t *eos_ids;		/* ids that end an answer */
	size_t neos;
	char *stops[CHAT_MAX_STOPS];	/* strings that end an answer */
	size_t nstops;
	struct sampler_opts sampler;	/* the model's wishes over the defaults; seed is fresh */
};

/* ref as on the command line.  Shows what it does through `job` (may be NULL). */
enum tb_status chat_model_open(struct chat_model **out, const struct op_ctx *ctx, const char *ref,
			       struct tb_job *job, struct tb_err *err) TB_MUST_USE;
void chat_model_free(struct chat_model *m);	/* sessions and chats on it first */
const char *chat_model_name(const struct chat_model *m);	/* "llama3:8b"; borrowed */
/* What a person should read before a conversation: that another template than the model's
 * own is used, or that it has none, and text is continued instead; "": nothing. */
const char *chat_model_note(const struct chat_model *m);
bool chat_model_is_eos(const struct chat_model *m, uint32_t id);
#endif
