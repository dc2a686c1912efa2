/* mm_avx512.h - what the AVX-512 tiles for many tokens share. */
#ifndef TBTUI_ENGINE_MM_AVX512_H
#define TBTUI_ENGINE_MM_AVX512_H

#include "src/engine/mm.h"
#include "src/engine/mv_avx512.h"

/* 16 vectors of 16 dwords: rows become columns. */
INLINE void
transpose(__m512i r[16])
{
	__m512i t[16];

#pragma GCC unroll 8
	for (unsigned i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 16; i += 4) {
		r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* A tile of rows becomes one of columns, 4 bytes wide, in place. */
INLINE void
transpose_tile(char *tile)
{
	__m512i r[16];

#pragma GCC unroll 16
	for (unsigned i = 0; i < 16; i++)
		r[i] = _mm512_load_si512(tile + 64 * i);
	transpose(r);
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
