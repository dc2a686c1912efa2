/* mm_bf16.h - what the tiles on BF16 share: rows of any kind as panels of it. */
#ifndef TBTUI_ENGINE_MM_BF16_H
#define TBTUI_ENGINE_MM_BF16_H

#include <string.h>

#include "src/engine/mm_avx512.h"
#include "src/engine/mv_ggml.h"
#include "src/engine/vec.h"

#define MM_PAIRS 32		/* columns of a tile: 16 pairs, 64 bytes a row */

/* 32 floats, those behind n as 0, rounded to nearest even.  NaN stays, tiny ones go. */
INLINE __m512i
bf16_of(const float *x, uint32_t n)
{
	__m512 low = load_x(x, n), high = n > 16 ? load_x(x + 16, n - 16) : _mm512_setzero_ps();

	return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

#define MM_ROUNDED 256		/* columns that are rounded to 8 bits at once */

/* Columns [col, col + n) of up to 16 tokens; those for ggml's types are rounded to 8 bits. */
INLINE bool
round_tokens(const struct mm_x *x, size_t first, size_t tokens, uint32_t col, uint32_t n,
	     float out[][MM_ROUNDED])
{
	const float *from = x->x + first * x->cols + col;

	for (size_t i = 0; i < tokens; i++, from += x->cols) {
		if (!x->kernel->block)
			memcpy(out[i], from, n * sizeof(*from));
		else if (!vec_ops()->round8(out[i], from, n, round8_block(x->group)))
			return false;
	}
	return true;
}

/* Pairs of up to 16 tokens side by side, `lanes` wide; tile: from 32 columns to the next
 * ones. */
INLINE bool
pack_tokens(const struct mm_x *x, size_t first, size_t tokens, unsigned lanes, uint32_t *to,
	    size_t tile)
{
	float part[16][MM_ROUNDED];

	for (uint32_t c = 0; c < x->cols; c += MM_ROUNDED) {
		uint32_t n = x->cols - c < MM_ROUNDED ? x->cols - c : MM_ROUNDED;

		if (!round_tokens(x, first, tokens, c, n, part))
			return false;
		for (uint32_t k = 0; k < n; k += MM_PAIRS, to += tile) {
			__m512i r[16];

			for (unsigned i = 0; i < 16; i++)
				r[i] = i < tokens ? bf16_of(part[i] + k, n - k)
						  : _mm512_setzero_si512();
			transpose_avx512(r);
#pragma GCC unroll 16
			for (unsigned i = 0; i < 16; i++)
				_mm512_mask_storeu_epi32(to + i * lanes,
							 (__mmask16)((1u << lanes) - 1), r[i]);
		}
	}
	return true;
}

/* Tiles of rows as they lie: [32 columns][2 halves][16 rows]. */
INLINE void
unpack_rows(const struct mm_part *part, const struct mm_panel *to)
{
	const bool bf16 = part->w->scheme.kind == SCHEME_PLAIN && part->w->scheme.dtype == DT_BF16;
	const uint64_t bytes = matrix_row_bytes(part->w);

	for (unsigned i = 0; i < MM_ROWS; i++) {
		uint32_t r = part->first + (i < part->rows ? i : part->rows - 1);
		const uint8_t *row = part->w->codes + bytes * r + (size_t)part->col * 2;
		char *out = to->tiles + i / 16 * MM_TILE + i % 16 * 64;

		if (!bf16)
			matrix_decode(part->w, r, part->col, part->n, 1, to->row);
		for (uint32_t c = 0; c < part->n; c += MM_PAIRS, out += 2 * MM_TILE) {
			uint32_t n = part->n - c < MM_PAIRS ? part->n - c : MM_PAIRS;

			_mm512_store_si512(out, bf16 ? load_codes(row + c * 2, n * 2)
						     : bf16_of(to->row + c, n));
		}
	}
}
#endif
