/* mv_avx512_digits.h - cutting x into digits, and their dot products with codes. */
#ifndef TBTUI_ENGINE_MV_AVX512_DIGITS_H
#define TBTUI_ENGINE_MV_AVX512_DIGITS_H

#include <string.h>

#include "src/engine/mv_avx512.h"
#include "src/engine/mv_digits.h"

/* The intrinsic makes gcc 12 copy the accumulator out and back at each step. */
#define DOT(acc, codes, digits) \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "m"(digits))

/* 16 integers as digits, in the order of the elements. */
INLINE void
split(__m512i q, int8_t *high, int8_t *low)
{
	__m512i h = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
	__m512i l = _mm512_sub_epi32(q, _mm512_slli_epi32(h, 8));

	_mm_storeu_si128((void *)high, _mm512_cvtepi32_epi8(h));
	_mm_storeu_si128((void *)low, _mm512_cvtepi32_epi8(l));
}

/* One group of n elements; *sum is unit times the sum of its integers. */
INLINE bool
digitize(const float *x, uint32_t n, int8_t *high, int8_t *low, float *unit, float *sum)
{
	__m512i most = _mm512_setzero_si512(), total = most;
	__m512 steps;
	float max;
	uint32_t bits;

	for (uint32_t i = 0; i < n; i += 16)
		most = _mm512_max_epu32(most, magnitude(_mm512_loadu_ps(x + i)));
	bits = _mm512_reduce_max_epu32(most);
	memcpy(&max, &bits, sizeof(max));
	if (!mv_digits_fit(max))
		return false;
	steps = _mm512_set1_ps(max > 0 ? MV_DIGITS_MAX / max : 0);
	for (uint32_t i = 0; i < n; i += 16) {
		__m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), steps));

		split(q, high + i, low + i);
		total = _mm512_add_epi32(total, q);
	}
	*unit = max / MV_DIGITS_MAX;
	*sum = *unit * (float)_mm512_reduce_add_epi32(total);
	return true;
}

/* Elements [first, first + n) of x; digits behind n up to a block are 0. */
INLINE bool
digitize_block(struct mv_x *x, uint32_t first, uint32_t n, int8_t *high, int8_t *low)
{
	memset(high + n, 0, MV_BLOCK - n);
	memset(low + n, 0, MV_BLOCK - n);
	for (uint32_t i = 0, j = first / x->group; i < n; i += x->group, j++)
		if (!digitize(x->x + first + i, x->group, high + i, low + i, &x->unit[j],
			      &x->sum[j]))
			return false;
	return true;
}

INLINE void
end_groups(struct mv_x *x)
{
	uint32_t groups = x->cols / x->group;

	_mm512_storeu_ps(x->unit + groups, _mm512_setzero_ps());
	_mm512_storeu_ps(x->sum + groups, _mm512_setzero_ps());
}

/* 256 H + L */
INLINE __m512i
joined(__m512i high, __m512i low)
{
	return _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
}
#endif
