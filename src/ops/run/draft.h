/* draft.h - a smaller model of the same vocabulary that guesses ahead of a larger one. */
#ifndef TBTUI_OPS_DRAFT_H
#define TBTUI_OPS_DRAFT_H

#include "src/ops/run/run.h"

struct draft;
struct sampler;

/* Do both call the same tokens by the same ids?  TB_EUSAGE with the first that differs. */
enum tb_status draft_same_vocabulary(const struct chat_model *m, const struct chat_model *other,
				     struct tb_err *err) TB_MUST_USE;

/* A session of m->draft; context as the larger model's session has it, 0 = its own. */
enum tb_status draft_new(struct draft **out, struct chat_model *m, uint32_t context,
			 struct tb_err *err) TB_MUST_USE;
void draft_free(struct draft *d);
/* Before a text. */
enum tb_status draft_begin(struct draft *d, const struct sampler_opts *opts, struct tb_err *err)
	TB_MUST_USE;

/* Up to `most` tokens behind ids[0..n), chosen with the numbers that `like` will draw.
 * *seconds: what they took, without what had to be read first.  None where its context
 * is full or it does not know an id. */
enum tb_status draft_guess(struct draft *d, const struct sampler *like, const uint32_t *ids,
			   size_t n, size_t most, uint32_t *out, size_t *made, double *seconds,
			   struct tb_job *job, struct tb_err *err) TB_MUST_USE;
#endif
