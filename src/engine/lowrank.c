#include "config.h"

#include "src/engine/lowrank.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/run.h"

#define TOKENS 64			/* a step: what is added waits in little memory */

enum tb_status
lowrank_add(struct lowrank **at, const struct matrix *of, const float *a, const float *b,
	    uint32_t rank, float scale, struct tb_err *err)
{
	size_t rows = of->rows, cols = of->cols, had = *at ? (*at)->a.rows : 0, all = had + rank;
	struct lowrank *l = tb_calloc(1, sizeof(*l));

	if (!l)
		return tb_nomem(err);
	l->a_mem = tb_aligned(all * cols * sizeof(float));
	l->b_mem = tb_aligned(rows * all * sizeof(float));
	if (!l->a_mem || !l->b_mem) {
		lowrank_free(l);
		return tb_nomem(err);
	}
	if (had)
		memcpy(l->a_mem, (*at)->a_mem, had * cols * sizeof(float));
	memcpy(l->a_mem + had * cols, a, rank * cols * sizeof(float));
	for (size_t r = 0; r < rows; r++) {
		float *row = l->b_mem + r * all;

		if (had)
			memcpy(row, (*at)->b_mem + r * had, had * sizeof(float));
		for (size_t i = 0; i < rank; i++)
			row[had + i] = b[r * rank + i] * scale;
	}
	l->a = (struct matrix){ .scheme = scheme_plain(DT_F32), .rows = (uint32_t)all,
				.cols = of->cols, .codes = (const uint8_t *)l->a_mem, .global = 1 };
	l->b = (struct matrix){ .scheme = scheme_plain(DT_F32), .rows = of->rows,
				.cols = (uint32_t)all, .codes = (const uint8_t *)l->b_mem, .global = 1 };
	lowrank_free(*at);
	*at = l;
	return TB_OK;
}

void
lowrank_free(struct lowrank *l)
{
	if (!l)
		return;
	free(l->a_mem);
	free(l->b_mem);
	free(l);
}

struct adding { const struct vec_ops *vec; const float *more; float *y; size_t rows; };

static void
add_row(void *arg, size_t row)
{
	const struct adding *a = arg;

	a->vec->add(a->y + row * a->rows, a->more + row * a->rows, a->rows);
}

enum tb_status
run_lowrank(struct run *run, const struct matrix *w, const float *x, size_t m, float *y)
{
	const struct matrix *a = &w->low->a, *b = &w->low->b;
	struct engine *e = run->e;
	size_t step = m < TOKENS ? m : TOKENS, between = (step * a->rows + 15) / 16 * 16;
	enum tb_status status = matrix_room(&e->low, &e->low_cap, between + step * b->rows, run->err);

	for (size_t at = 0, n; at < m && !status; at += n) {
		float *more = e->low + between;
		struct adding add = { e->vec, more, y + at * b->rows, b->rows };

		n = m - at < step ? m - at : step;
		if (!(status = matmul_run(e->mm, &a, 1, x + at * a->cols, n, &e->low, run->err)) &&
		    !(status = matmul_run(e->mm, &b, 1, e->low, n, &more, run->err)))
			run_rows(run, add_row, &add, n, b->rows);
	}
	return status;
}
