/* mla_heads.h - products of a matrix that has rows for each head with vectors of that
 * head: what multi-head latent attention does behind and before its one key. */
#ifndef TBTUI_ENGINE_MLA_HEADS_H
#define TBTUI_ENGINE_MLA_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/matrix.h"

struct team;
struct vec_ops;

/* Head h has the rows [h * each + first, h * each + first + rows) of w. */
struct head_product {
	const struct matrix *w;
	uint32_t heads, each, first, rows;
	bool turned;		/* y = W^T x, not W x: x has `rows` elements, y has w->cols */
	const float *x;		/* of head 0 and row 0; x_step to the next head … */
	size_t x_step, x_row;	/* … and x_row to the next of m rows; y the same */
	float *y;
	size_t y_step, y_row;
	float *gather;		/* m * (w->cols + rows) floats of scratch */
};

/* For m rows.  x and y do not overlap.  Behind y's last element VEC_SLACK are readable. */
enum tb_status head_products(struct matmul *mm, struct team *team, const struct vec_ops *vec,
			     const struct head_product *p, size_t m, struct tb_err *err) TB_MUST_USE;
#endif
