/* score.h - what a model thinks of a text: logits of the next token, perplexity. */
#ifndef TBTUI_OPS_SCORE_H
#define TBTUI_OPS_SCORE_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/text/tokenizer.h"

struct chat_model;
struct tb_job;

struct score_top {
	uint32_t id;
	double logit, logprob;
};

struct score_logits {
	struct token_ids prompt;	/* owned */
	struct score_top *top;		/* owned; best first */
	size_t n;
};
void score_logits_free(struct score_logits *l);
/* The k most likely tokens behind `text`. */
enum tb_status score_logits(struct chat_model *m, const char *text, size_t len, size_t k,
			    struct tb_job *job, struct score_logits *out, struct tb_err *err)
	TB_MUST_USE;

struct score_perplexity {
	uint64_t tokens;	/* that were scored */
	double nll;		/* mean, natural logarithm */
	double perplexity, seconds;
};
/* A text longer than the context is cut into windows that do not overlap, each with
 * the beginning-of-text token before it. */
enum tb_status score_perplexity(struct chat_model *m, const char *text, size_t len,
				struct tb_job *job, struct score_perplexity *out,
				struct tb_err *err) TB_MUST_USE;
#endif
