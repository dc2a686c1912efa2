/* lowrank.h - what adapters add to a matrix: W x + B A x, where A has few rows. */
#ifndef TBTUI_ENGINE_LOWRANK_H
#define TBTUI_ENGINE_LOWRANK_H

#include "src/engine/matrix.h"

struct run;

/* Of several adapters one: their A stand below one another, their B side by side. */
struct lowrank {
	struct matrix a, b;		/* [rank][cols], [rows][rank]; F32 */
	float *a_mem, *b_mem;		/* owned */
};

/* *at NULL: `of` had none.  a: [rank][cols], b: [rows][rank], which is multiplied by scale. */
enum tb_status lowrank_add(struct lowrank **at, const struct matrix *of, const float *a,
			   const float *b, uint32_t rank, float scale, struct tb_err *err) TB_MUST_USE;
void lowrank_free(struct lowrank *l);	/* NULL is fine */

/* y[m][rows] += what adapters add to w x. */
enum tb_status run_lowrank(struct run *run, const struct matrix *w, const float *x, size_t m,
			   float *y) TB_MUST_USE;
#endif
