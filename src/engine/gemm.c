#include "config.h"

#include "src/engine/gemm.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/mv.h"
#include "src/engine/mv_ggml.h"
#include "src/engine/team.h"
#include "src/engine/vec.h"

#define TILE_BYTES ((size_t)64 << 20)
#define DECODE_ROWS 16			/* a chunk of the team's */
/* Below so many multiplications, a tenth of a millisecond, waking OpenMP's threads
 * costs more than they bring; on a loaded machine, a hundred times more. */
#define PARALLEL_PRODUCT ((uint64_t)16 << 20)

struct decode_job {
	const struct matrix *w;
	float *tile;
	size_t width;			/* of a row of it */
	uint32_t first, end;
};

void
gemm_init(struct gemm *g, struct team *team)
{
	*g = (struct gemm){ .team = team };
}

void
gemm_free(struct gemm *g)
{
	free(g->tile);
	free(g->rounded);
}

static void
decode_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct decode_job *j = arg;
	uint32_t r = j->first + chunk * DECODE_ROWS;
	uint32_t end = j->end - r < DECODE_ROWS ? j->end : r + DECODE_ROWS;

	(void)thread;
	for (; r < end; r++) {
		float *row = j->tile + (r - j->first) * j->width;

		matrix_decode(j->w, r, 0, j->w->cols, 1, row);
		if (j->width > j->w->cols)
			ggml_row_minima(j->w, r, row + j->w->cols);
	}
}

struct round_job { const float *x; float *out; size_t cols, width, block; };

static void
round_row(void *arg, unsigned row, unsigned thread)
{
	const struct round_job *j = arg;
	const float *x = j->x + row * j->cols;
	float *out = j->out + row * j->width;
	bool rounded = vec_ops()->round8(out, x, j->cols, j->block);

	(void)thread;
	if (!rounded)
		memcpy(out, x, j->cols * sizeof(*x));
	if (rounded && j->width > j->cols)
		round8_apart(x, j->cols, out + j->cols);
	else
		memset(out + j->cols, 0, (j->width - j->cols) * sizeof(*out));
}

/* Rows [first, first + rows) of W are at `tile`; y is its column `first`. */
static void
multiply(const struct gemm *g, const struct matrix *w, const float *tile, uint32_t rows,
	 size_t width, const float *x, size_t m, float *y)
{
	bool small = (uint64_t)rows * w->cols * m < PARALLEL_PRODUCT;

	openblas_set_num_threads(small ? 1 : (int)team_size(g->team));
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)rows,
		    (blasint)width, w->global, x, (blasint)width, tile, (blasint)width, 0, y,
		    (blasint)w->rows);
}

enum tb_status
gemm_run(struct gemm *g, const struct matrix *w, const float *x, size_t m, float *y,
	 struct tb_err *err)
{
	/* Minima, and what they meet, stand behind the others: one product does it all. */
	bool round = scheme_form(&w->scheme) == FORM_BLOCKS && !g->exact;
	size_t width = w->cols + (round && ggml_minima(w) ? w->cols / ROUND8_BLOCK : 0);
	size_t row = width * sizeof(float);
	enum tb_status status;
	uint32_t rows = (uint32_t)(row < TILE_BYTES ? TILE_BYTES / row : 1);

	if (scheme_is_plain(&w->scheme) && w->scheme.dtype == DT_F32 &&
	    (uintptr_t)w->codes % sizeof(float) == 0) {
		multiply(g, w, (const float *)w->codes, w->rows, width, x, m, y);
		return TB_OK;
	}
	rows = rows < w->rows ? rows : w->rows;
	status = matrix_room(&g->tile, &g->tile_cap, width * rows, err);
	if (!status && round &&
	    !(status = matrix_room(&g->rounded, &g->rounded_cap, m * width, err))) {
		struct round_job job = { x, g->rounded, w->cols, width,
					 round8_block(w->scheme.group) };

		team_run(g->team, round_row, &job, (unsigned)m);
		x = g->rounded;
	}
	for (uint32_t r = 0; !status && r < w->rows; r += rows) {
		struct decode_job job = { w, g->tile, width, r,
					  w->rows - r < rows ? w->rows : r + rows };

		team_run(g->team, decode_chunk, &job,
			 (job.end - r + DECODE_ROWS - 1) / DECODE_ROWS);
		multiply(g, w, g->tile, job.end - r, width, x, m, y + r);
	}
	return status;
}
