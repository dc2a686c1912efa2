/* mv_avx512_ggml.h - what the AVX-512 kernels on ggml's blocks share: x of 8 bits. */
#ifndef TBTUI_ENGINE_MV_AVX512_GGML_H
#define TBTUI_ENGINE_MV_AVX512_GGML_H

#include "src/engine/mv_avx512.h"
#include "src/engine/mv_ggml.h"

/* One instruction with its operand in memory; the intrinsic makes gcc 12 copy the
 * accumulator out and back. */
#define DOT8(acc, codes, x) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "m"(x))
#define DOT16(acc, a, b) __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))

/* One block of n elements, 32 or 256. */
INLINE bool
round_block(const float *x, uint32_t n, int8_t *q, struct round8 *r)
{
	__m512i most = _mm512_setzero_si512();

	for (uint32_t i = 0; i < n; i += 16)
		most = _mm512_max_epu32(most, magnitude(_mm512_loadu_ps(x + i)));
	if (!round8_of(_mm512_reduce_max_epu32(most), n, r))
		return false;
	for (uint32_t i = 0; i < n; i += 16) {
		__m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(r->steps));

		_mm_storeu_si128((void *)(q + i), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
	}
	return true;
}

INLINE int
sum32(const int8_t *q)
{
	__m256i s = _mm256_setzero_si256(), v = _mm256_loadu_si256((const void *)q);
	__m128i t;

	v = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), v), _mm256_set1_epi16(1));
	s = _mm256_add_epi32(s, v);
	t = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
	t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
	t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1));
	return _mm_cvtsi128_si32(t);
}

/* Where accumulators start when codes are `off` too large. */
INLINE __m512i
less(__m512i start, int off, const int8_t *q)
{
	__m512i sum = _mm512_setzero_si512();

	DOT8(sum, _mm512_set1_epi8(1), *(const __m512i *)q);
	return _mm512_sub_epi32(start, _mm512_mullo_epi32(sum, _mm512_set1_epi32(off)));
}

/* Two numbers of half precision. */
INLINE __m128
halves(const uint8_t *p)
{
	return _mm_cvtph_ps(_mm_cvtsi32_si128((int)load32(p)));
}
#endif
