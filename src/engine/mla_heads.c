#include "config.h"

#include "src/engine/mla_heads.h"

#include <string.h>

#include "src/engine/mv.h"
#include "src/engine/team.h"
#include "src/engine/vec.h"
#include "src/quant/codec.h"

#define PANEL_ROWS 16	/* rows unpacked at a time, and … */
#define PANEL_COLS 512	/* … columns: 32 KB, which stay in the nearest cache; whole groups */
#define TOKENS 64	/* rows of x that a chunk takes: a panel is unpacked once for them */
#define TOGETHER 8	/* heads whose products share a fork-join */

/* Turned products: one chunk is one head and up to TOKENS rows of x. */
struct turned {
	const struct head_product *p;
	const struct vec_ops *vec;
	size_t m, blocks;
};

/* y[first … end) of columns [col, col + n) (+)= x of rows [row, row + k) times the panel. */
static void
turned_panel(const struct turned *t, const float *panel, uint32_t head, size_t first, size_t end,
	     uint32_t row, uint32_t k, uint32_t col, uint32_t n)
{
	const struct head_product *p = t->p;
	const float *x = p->x + head * p->x_step + row;
	float *y = p->y + head * p->y_step + col;

	for (size_t at = first; at < end; at += VEC_TILE) {
		const float *a[VEC_TILE];
		float *c[VEC_TILE];

		for (size_t r = 0; r < VEC_TILE; r++) {
			size_t i = at + r < end ? at + r : end - 1;

			a[r] = x + i * p->x_row;
			c[r] = y + i * p->y_row;
		}
		(end - at == 1 ? t->vec->tile_one : t->vec->tile)(a, panel, n, k, n, c, row > 0);
	}
}

static void
turned_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct turned *t = arg;
	const struct head_product *p = t->p;
	const struct matrix *w = p->w;
	uint32_t head = (uint32_t)(chunk / t->blocks), first = head * p->each + p->first;
	size_t begin = chunk % t->blocks * TOKENS;
	size_t end = begin + TOKENS < t->m ? begin + TOKENS : t->m;
	float panel[PANEL_ROWS * PANEL_COLS + VEC_SLACK];

	(void)thread;
	for (uint32_t col = 0; col < w->cols; col += PANEL_COLS) {
		uint32_t n = w->cols - col < PANEL_COLS ? w->cols - col : PANEL_COLS;

		for (uint32_t row = 0; row < p->rows; row += PANEL_ROWS) {
			uint32_t k = p->rows - row < PANEL_ROWS ? p->rows - row : PANEL_ROWS;

			for (uint32_t i = 0; i < k; i++)
				matrix_decode(w, first + row + i, col, n, w->global, panel + i * n);
			memset(panel + k * n, 0, VEC_SLACK * sizeof(*panel));
			turned_panel(t, panel, head, begin, end, row, k, col, n);
		}
	}
}

/* The rows of one head as a matrix of their own. */
static struct matrix
head_matrix(const struct head_product *p, uint32_t head)
{
	const struct matrix *w = p->w;
	const struct quant_src all = { w->codes, w->scales, w->biases, w->scale_dtype, w->global };
	uint64_t first = (uint64_t)w->cols * (head * p->each + p->first);
	struct quant_src at = quant_src_at(&w->scheme, &all, first);
	struct matrix m = *w;

	m.rows = p->rows;
	m.codes = at.codes;
	m.scales = at.scales;
	m.biases = at.biases;
	return m;
}

/* One row of x: that of each head lies in one piece, and so does its y. */
static enum tb_status
one_row(struct matmul *mm, const struct head_product *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (uint32_t at = 0; at < p->heads && !status; at += TOGETHER) {
		uint32_t n = p->heads - at < TOGETHER ? p->heads - at : TOGETHER;
		struct matrix mine[TOGETHER];
		const struct matrix *w[TOGETHER];
		const float *x[TOGETHER];
		float *y[TOGETHER];

		for (uint32_t i = 0; i < n; i++) {
			mine[i] = head_matrix(p, at + i);
			w[i] = &mine[i];
			x[i] = p->x + (at + i) * p->x_step;
			y[i] = p->y + (at + i) * p->y_step;
		}
		status = matmul_each(mm, w, n, x, 1, y, err);
	}
	return status;
}

/* Rows that do not follow each other go through a copy. */
static enum tb_status
one_head(struct matmul *mm, const struct head_product *p, uint32_t head, size_t m,
	 struct tb_err *err)
{
	struct matrix mine = head_matrix(p, head);
	const struct matrix *w = &mine;
	const float *x = p->x + head * p->x_step;
	float *y = p->y + head * p->y_step, *in = p->gather, *out = in + m * w->cols;
	enum tb_status status;

	for (size_t i = 0; i < m; i++)
		memcpy(in + i * w->cols, x + i * p->x_row, w->cols * sizeof(*in));
	if ((status = matmul_run(mm, &w, 1, in, m, &out, err)))
		return status;
	for (size_t i = 0; i < m; i++)
		memcpy(y + i * p->y_row, out + i * w->rows, w->rows * sizeof(*out));
	return TB_OK;
}

enum tb_status
head_products(struct matmul *mm, struct team *team, const struct vec_ops *vec,
	      const struct head_product *p, size_t m, struct tb_err *err)
{
	struct turned t = { p, vec, m, (m + TOKENS - 1) / TOKENS };
	enum tb_status status = TB_OK;

	if (!m)
		return TB_OK;
	if (p->turned)
		team_run(team, turned_chunk, &t, (unsigned)(p->heads * t.blocks));
	if (!p->turned && m == 1)
		return one_row(mm, p, err);
	for (uint32_t h = 0; !p->turned && h < p->heads && !status; h++)
		status = one_head(mm, p, h, m, err);
	return status;
}
