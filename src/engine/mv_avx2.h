/* mv_avx2.h - what the AVX2 kernels share. */
#ifndef TBTUI_ENGINE_MV_AVX2_H
#define TBTUI_ENGINE_MV_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "src/engine/mv.h"

#define INLINE static inline __attribute__((always_inline))

#define AHEAD_BYTES 4096	/* prefetched in the order of memory; may be behind its end */

INLINE void
prefetch(const uint8_t *p)
{
	_mm_prefetch((const char *)p, _MM_HINT_T0);
}

INLINE float
sum_of(__m256 v)
{
	__m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

INLINE __m256
bf16_f32(__m128i v)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* Its bits: infinities and NaN are above all finite ones. */
INLINE uint32_t
largest_magnitude(const float *x, uint32_t n)
{
	__m256i most = _mm256_setzero_si256();
	uint32_t bits[8], high = 0;

	for (uint32_t i = 0; i < n; i += 8) {
		__m256i v = _mm256_castps_si256(_mm256_loadu_ps(x + i));

		most = _mm256_max_epu32(most, _mm256_and_si256(v, _mm256_set1_epi32(0x7fffffff)));
	}
	_mm256_storeu_si256((void *)bits, most);
	for (unsigned i = 0; i < 8; i++)
		high = bits[i] > high ? bits[i] : high;
	return high;
}

/* E4M3 in the upper byte of each word -> half precision of the number times 2^-8. */
INLINE __m256i
e4m3_half(__m256i v)
{
	return _mm256_and_si256(_mm256_srai_epi16(v, 1), _mm256_set1_epi16((short)0xbf80));
}

/* 8 elements of a plain dtype. */
INLINE __m256
load_plain(enum dtype d, const uint8_t *p)
{
	if (d == DT_F32)
		return _mm256_loadu_ps((const float *)p);
	if (d == DT_F16)
		return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
	return bf16_f32(_mm_loadu_si128((const void *)p));
}

INLINE __m256
load_e8m0(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
	__m256i zero = _mm256_cmpeq_epi32(v, _mm256_setzero_si256());

	return _mm256_castsi256_ps(_mm256_blendv_epi8(_mm256_slli_epi32(v, 23),
						      _mm256_set1_epi32(0x400000), zero));
}

INLINE __m256
load_e4m3(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu8_epi16(_mm_loadl_epi64((const void *)p));
	__m256 f = _mm256_cvtph_ps(_mm256_castsi256_si128(e4m3_half(_mm256_slli_epi16(v, 8))));

	return _mm256_mul_ps(f, _mm256_set1_ps(256));
}

/* Scales of n <= 8 groups; what is behind them is not read. */
INLINE __m256
load_scales(enum scheme_kind kind, enum dtype d, const uint8_t *p, uint32_t n)
{
	uint8_t part[32] = { 0 };

	if (n < 8) {
		memcpy(part, p, n * mv_scale_size(d));
		p = part;
	}
	return kind == SCHEME_AFFINE ? load_plain(d, p)
	     : kind == SCHEME_NVFP4 ? load_e4m3(p) : load_e8m0(p);
}
#endif
