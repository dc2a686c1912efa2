/* diff_run.h - private to src/ops: what op_diff() is made of. */
#ifndef TBTUI_OPS_DIFF_RUN_H
#define TBTUI_OPS_DIFF_RUN_H

#include "src/model/values.h"
#include "src/ops/diff/diff.h"

/* diff_match.c: the rows, with DIFF_VALUES for those that have to be compared. */
enum tb_status diff_match(const struct diff_request *req, struct diff_result *out,
			  struct tb_err *err) TB_MUST_USE;

/* diff_known.c: what is the same without reading it. */
enum tb_status diff_known(struct op_ctx *ctx, const struct diff_request *req,
			  struct diff_result *out, struct tb_err *err) TB_MUST_USE;

/* diff_pair.c: two sides opened, which are checked and closed each.  May be read by many
 * threads at once. */
/* Is everything stored in the same way, so that equal bytes are equal values? */
bool diff_same_coding(const struct diff_row *row);
struct diff_pair {
	const struct diff_row *row;
	struct values a, b;
	bool opaque;			/* bytes only */
	bool coding;			/* diff_same_coding() */
	bool a_pairs, b_pairs;		/* rows of this side go by pairs, those of the other
					 * do not */
	uint32_t head_dim;
	uint64_t cols;			/* of a row */
	float a_add, b_add;		/* to the values of this side, as they lack it */
};
bool diff_row_opaque(const struct diff_row *row);
/* What is compared of it: elements, or bytes of what nobody decodes. */
uint64_t diff_row_length(const struct diff_row *row);
enum tb_status diff_pair_open(struct diff_pair *p, const struct diff_request *req,
			      const struct diff_row *row, struct tb_err *err) TB_MUST_USE;
/* [first, first + n) of diff_row_length(); first is a multiple of VALUES_STEP.  Bytes:
 * only where diff_same_coding(); values: not of what is opaque. */
bool diff_pair_equal(const struct diff_pair *p, uint64_t first, size_t n);
void diff_pair_add(const struct diff_pair *p, uint64_t first, size_t n, struct compare *c);
/* They are not needed any more: their pages go. */
void diff_pair_forget(const struct diff_pair *p, uint64_t first, size_t n);
/* Bytes of a side that n of its elements are. */
uint64_t diff_side_bytes(const struct diff_side *s, uint64_t n);

/* diff_tasks.c: reads what has to be read, on the pool. */
enum tb_status diff_compare(struct op_ctx *ctx, const struct diff_request *req,
			    struct tb_job *job, struct diff_result *out, struct tb_err *err)
	TB_MUST_USE;
#endif
