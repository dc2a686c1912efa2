/* feedback.h - a row is encoded column after column, and what each lost is made up for in
 * those behind it, as far as what they meet goes together (GPTQ).  The format stays
 * what it is; scales are searched for as in search.h. */
#ifndef TBTUI_QUANT_FEEDBACK_H
#define TBTUI_QUANT_FEEDBACK_H

#include "src/quant/codec.h"

/* What an error in a column means for the others, of one matrix.  Columns of different
 * blocks do not know of each other. */
struct quant_feedback {
	size_t cols, block;
	float *share;		/* [blocks][block][block]: of the error of j, what k > j takes; owned */
	float *cost;		/* [cols] of an error that the others made up for; owned */
};

enum tb_status quant_feedback_new(struct quant_feedback **out, size_t cols, size_t block,
				  struct tb_err *err) TB_MUST_USE;
void quant_feedback_free(struct quant_feedback *f);
/* gram [block][block]: mean products of the columns from b * block on. */
enum tb_status quant_feedback_set(struct quant_feedback *f, size_t b, const float *gram,
				  struct tb_err *err) TB_MUST_USE;

/* As quant_search(), of whole rows of f->cols. */
enum tb_status quant_encode_fed(const struct scheme *s, enum flavour fl, enum dtype src_dtype,
				const void *src, size_t rows, const struct quant_feedback *f,
				const struct quant_parts *out, struct tb_err *err) TB_MUST_USE;
#endif
