/* mm_f32.c - floats times floats for many tokens: whatever has no other tile, and what must
 * not be rounded.  32 rows meet 12 tokens, as in mm_bf16.c; faster than decoding and sgemm,
 * by far where tokens are few. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include "src/engine/mm_avx512.h"

#define TOKENS 12
#define COLS 16			/* of a tile */

/* Columns in turn, of all tokens side by side. */
static size_t
f32_x_size(const struct mm_x *x)
{
	return ((size_t)x->cols + COLS - 1) / COLS * COLS * TOKENS * sizeof(float);
}

/* Up to 16 columns of all tokens. */
INLINE void
put_columns(const float *from, size_t stride, size_t tokens, uint32_t n, float *to)
{
	__m512i r[16];

#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		r[i] = i < tokens ? _mm512_castps_si512(load_x(from + i * stride, n))
				  : _mm512_setzero_si512();
	transpose_avx512(r);
#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		_mm512_mask_storeu_epi32(to + i * TOKENS, (1 << TOKENS) - 1, r[i]);
}

static bool
f32_pack(const struct mm_x *x, size_t block)
{
	float *to = (float *)(x->data + f32_x_size(x) * block);
	size_t first = block * TOKENS, left = x->m - first;
	const float *from = x->x + first * x->cols;

	left = left < TOKENS ? left : TOKENS;
	for (uint32_t c = 0; c < x->cols; c += COLS, to += COLS * TOKENS)
		put_columns(from + c, x->cols, left, x->cols - c < COLS ? x->cols - c : COLS, to);
	return true;
}

INLINE void
tile(unsigned n, const struct mm_job *j, const float *x, float *y)
{
	const uint32_t tiles = (j->part.n + COLS - 1) / COLS;
	const char *w = j->panel->tiles;
	__m512 sum[TOKENS][2];

#pragma GCC unroll 12
	for (unsigned i = 0; i < n; i++)
		sum[i][0] = sum[i][1] = _mm512_setzero_ps();
	for (uint32_t t = 0; t < tiles; t++, w += MM_TILE) {
		for (unsigned u = 0; u < COLS; u++, w += 64, x += TOKENS) {
			__m512 w0 = _mm512_load_ps(w), w1 = _mm512_load_ps(w + MM_TILE);

#pragma GCC unroll 12
			for (unsigned i = 0; i < n; i++) {
				__m512 one = _mm512_set1_ps(x[i]);

				sum[i][0] = _mm512_fmadd_ps(w0, one, sum[i][0]);
				sum[i][1] = _mm512_fmadd_ps(w1, one, sum[i][1]);
			}
		}
	}
#pragma GCC unroll 12
	for (unsigned i = 0; i < n; i++) {
#pragma GCC unroll 2
		for (unsigned h = 0; h < 2; h++)
			put_half(j, h, y + (size_t)i * j->part.w->rows, sum[i][h]);
	}
}

static void
f32_multiply(const struct mm_job *j)
{
	for (size_t b = j->block; b < j->end; b++) {
		const float *x = (const float *)(j->x->data + f32_x_size(j->x) * b) +
				 (size_t)j->part.col * TOKENS;
		float *y = j->y + b * TOKENS * j->part.w->rows + j->part.first;

		MM_TILE_OF(j->x->m - b * TOKENS, tile, j, x, y)
	}
}

void
mm_unpack_f32(const struct mm_x *x, const struct mm_part *part, const struct mm_panel *to)
{
	(void)x;
	for (unsigned i = 0; i < MM_ROWS; i++) {
		uint32_t r = part->first + (i < part->rows ? i : part->rows - 1);
		char *out = to->tiles + i / 16 * MM_TILE + i % 16 * 64;

		matrix_decode(part->w, r, part->col, part->n, 1, to->row);
		for (uint32_t c = 0; c < part->n; c += COLS, out += 2 * MM_TILE)
			_mm512_store_ps(out, load_x(to->row + c, part->n - c));
	}
	for (uint32_t k = 0; k < (part->n + COLS - 1) / COLS * 2; k++)
		transpose_tile(to->tiles + (size_t)k * MM_TILE);
}

const struct mm_tile mm_f32 = { .tokens = TOKENS, .x_size = f32_x_size, .pack = f32_pack,
				.multiply = f32_multiply,
				.instruction = "vfmadd231ps zmm" };
