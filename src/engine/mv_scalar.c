/* mv_scalar.c - the kernel for everything: rows are decoded a block at a time into
 * the first-level cache and multiplied there. */
#include "config.h"

#include "src/engine/mv.h"

#include "src/engine/mv_ggml.h"
#include "src/engine/vec.h"

#define BLOCK 1024		/* a multiple of every group */
#define LANES 8			/* sums side by side: the compiler makes vectors of them */

static void
rows_decoded(const struct matrix *w, const float *x, float *y, uint32_t first, uint32_t end)
{
	float block[BLOCK];

	for (uint32_t r = first; r < end; r++) {
		float sum[LANES] = { 0 };

		for (uint32_t col = 0; col < w->cols; col += BLOCK) {
			uint32_t n = w->cols - col < BLOCK ? w->cols - col : BLOCK, i = 0;

			matrix_decode(w, r, col, n, 1, block);
			for (; i + LANES <= n; i += LANES)
				for (unsigned l = 0; l < LANES; l++)
					sum[l] += block[i + l] * x[col + i + l];
			for (; i < n; i++)
				sum[0] += block[i] * x[col + i];
		}
		for (unsigned l = 1; l < LANES; l++)
			sum[0] += sum[l];
		y[r] = sum[0];
	}
}

MV_ROWS(mv_rows_any, rows_decoded(w, x->x, y, first, end))

bool
mv_prepare_ggml(struct mv_x *x)
{
	if (!vec_ops()->round8(x->perm, x->x, x->cols, round8_block(x->group)))
		return false;
	if (x->group == ROUND8_BLOCK)
		round8_apart(x->x, x->cols, x->sum);
	return true;
}

static void
rows_rounded(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first, uint32_t end)
{
	rows_decoded(w, x->perm, y, first, end);
	for (uint32_t r = first; ggml_minima(w) && r < end; r++)
		y[r] += ggml_minima_dot(w, r, x->sum);
}

MV_ROWS(mv_rows_ggml, rows_rounded(w, x, y, first, end))
