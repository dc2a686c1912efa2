/* mm_avx512.h - what the AVX-512 tiles for many tokens share. */
#ifndef TBTUI_ENGINE_MM_AVX512_H
#define TBTUI_ENGINE_MM_AVX512_H

#include "src/base/transpose_avx512.h"
#include "src/engine/mm.h"
#include "src/engine/mv_avx512.h"

/* Calls tile(n, …) with n a constant: so many of at most 12 tokens are left. */
#define MM_TILE_OF(left, tile, ...) \
	switch (left) { \
	case 1: tile(1, __VA_ARGS__); break; \
	case 2: tile(2, __VA_ARGS__); break; \
	case 3: tile(3, __VA_ARGS__); break; \
	case 4: tile(4, __VA_ARGS__); break; \
	case 5: tile(5, __VA_ARGS__); break; \
	case 6: tile(6, __VA_ARGS__); break; \
	case 7: tile(7, __VA_ARGS__); break; \
	case 8: tile(8, __VA_ARGS__); break; \
	case 9: tile(9, __VA_ARGS__); break; \
	case 10: tile(10, __VA_ARGS__); break; \
	case 11: tile(11, __VA_ARGS__); break; \
	default: tile(12, __VA_ARGS__); break; \
	}

/* A tile of rows becomes one of columns, 4 bytes wide, in place. */
INLINE void
transpose_tile(char *tile)
{
	__m512i r[16];

#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		r[i] = _mm512_load_si512(tile + 64 * i);
	transpose_avx512(r);
#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		_mm512_store_si512(tile + 64 * i, r[i]);
}

/* Which of 16 rows are the matrix's. */
INLINE __mmask16
half_mask(uint32_t rows, unsigned half)
{
	return rows >= 16 * half + 16 ? 0xffff
		: rows <= 16 * half ? 0 : (__mmask16)((1u << (rows - 16 * half)) - 1);
}

/* Products of one token with half of a panel's rows leave the registers; y is of its first
 * row. */
INLINE void
put_half(const struct mm_job *j, unsigned half, float *y, __m512 v)
{
	__mmask16 mask = half_mask(j->part.rows, half);
	__m512 was = _mm512_setzero_ps();

	if (j->part.col)
		was = _mm512_maskz_loadu_ps(mask, y + 16 * half);
	v = _mm512_fmadd_ps(v, _mm512_set1_ps(j->part.w->global), was);
	_mm512_mask_storeu_ps(y + 16 * half, mask, v);
}
#endif
