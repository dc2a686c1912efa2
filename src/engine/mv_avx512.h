/* mv_avx512.h - what the AVX-512 kernels share: loads that stop at the end of a row,
 * scales of any dtype, prefetch. */
#ifndef TBTUI_ENGINE_MV_AVX512_H
#define TBTUI_ENGINE_MV_AVX512_H

#include <immintrin.h>

#include "src/engine/mv.h"

#define INLINE static inline __attribute__((always_inline))

/* Without, a half to two thirds of what these kernels reach.  Into the first level alone:
 * a line of weights that the others kept for nobody would cost a write to the third when
 * it goes.  Rows are gone through in the order of memory, so what is fetched too much at a
 * row's or a chunk's end is what comes next.  Scales are far from the codes and few: so many
 * rows ahead. */
#define AHEAD_BYTES 8192
#define AHEAD_ROWS 16

/* Never faults, so it may point behind the end. */
INLINE void
prefetch(const uint8_t *p)
{
	_mm_prefetch((const char *)p, _MM_HINT_NTA);
}

/* The next 64 bytes of codes, `left` of which belong to the row; the rest is 0.
 * Kept in a register: gcc would fold the load into each of its uses. */
INLINE __m512i
load_codes(const uint8_t *p, size_t left)
{
	__m512i v = left >= 64 ? _mm512_loadu_si512(p)
			       : _mm512_maskz_loadu_epi8((UINT64_C(1) << left) - 1, p);

	__asm__("" : "+v"(v));
	return v;
}

/* The lanes that hold groups when n groups are left. */
INLINE __mmask16
group_mask(uint32_t n)
{
	return n >= 16 ? 0xffff : (__mmask16)((1u << n) - 1);
}

INLINE __m512
bf16_f32(__m256i v)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

/* 16 scales or biases of an affine matrix. */
INLINE __m512
load_scales(enum dtype d, const uint8_t *p, __mmask16 mask)
{
	if (d == DT_F32)
		return _mm512_maskz_loadu_ps(mask, p);
	if (d == DT_F16)
		return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p));
	return bf16_f32(_mm256_maskz_loadu_epi16(mask, p));
}

/* 16 powers of two; byte 0 is 2^-127.  Lanes without a group are 0, which multiplies
 * faster than a subnormal. */
INLINE __m512
load_e8m0(const uint8_t *p, __mmask16 mask)
{
	__m512i v = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, p));
	__m512i e = _mm512_slli_epi32(v, 23);

	e = _mm512_mask_mov_epi32(e, _mm512_mask_testn_epi32_mask(mask, v, v),
				  _mm512_set1_epi32(0x400000));
	return _mm512_castsi512_ps(e);
}

/* 16 E4M3 values through half precision, whose conversion knows subnormals: scales
 * of small weights are nearly all subnormal, and arithmetic on such is slow. */
INLINE __m512
load_e4m3(const uint8_t *p, __mmask16 mask)
{
	__m256i v = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(mask, p)), 8);
	__m256i half = _mm256_and_si256(_mm256_srai_epi16(v, 1), _mm256_set1_epi16((short)0xbf80));

	return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256));
}

INLINE __m512i
lane_numbers(void)
{
	return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* n <= 16 floats, 0 behind them. */
INLINE __m512
load_x(const float *x, uint32_t n)
{
	return _mm512_maskz_loadu_ps(group_mask(n), x);
}

/* The largest magnitude as bits: infinities and NaN are above all finite ones. */
INLINE __m512i
magnitude(__m512 v)
{
	return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}
#endif
