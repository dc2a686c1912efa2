/* mv_avx512_mxfp8.c - E4M3 codes times F32.
 *
 * The bits of E4M3, moved into half precision, are the number times 2^-8; converting
 * that to F32 knows subnormals, which arithmetic on shifted F32 bits would pay for
 * with a hundred cycles each.  The 2^8 is in the scale.  Words of even and odd bytes
 * are apart, so x is prepared as for BF16. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512.h"

#define CHUNK 64
#define GROUP 32

/* E4M3 in the upper byte of each word -> half precision: s 0 eeee mmm 0000000. */
INLINE __m512i
to_half(__m512i v)
{
	return _mm512_and_si512(_mm512_srai_epi16(v, 1), _mm512_set1_epi16((short)0xbf80));
}

/* Words of even and of odd bytes, 64 of each.  Converted from memory: the conversion
 * from a register costs a second operation on the port that shuffles. */
struct halves { _Alignas(64) uint16_t even[32], odd[32]; };

/* 32 elements, one group. */
INLINE __m512
dot_group(const uint16_t *even, const uint16_t *odd, const float *x)
{
	__m512 a = _mm512_cvtph_ps(_mm256_load_si256((const void *)even));
	__m512 b = _mm512_cvtph_ps(_mm256_load_si256((const void *)odd));

	return _mm512_fmadd_ps(b, _mm512_load_ps(x + 16), _mm512_mul_ps(a, _mm512_load_ps(x)));
}

/* `n` <= 16 groups of a row from element `at` on, scales of which are factors. */
INLINE void
groups16(const uint8_t *p, const struct mv_x *x, size_t m, size_t at, uint32_t n, __m512 factors,
	 __m512 acc[][2])
{
	const __m512i two = _mm512_set1_epi32(2);
	__m512i first = _mm512_setzero_si512(), second = _mm512_set1_epi32(1);

	for (uint32_t g = 0; g < n; g += 2, p += CHUNK, at += CHUNK) {
		__m512i v = load_codes(p, n - g > 1 ? CHUNK : GROUP);
		struct halves h;

		_mm512_store_si512(h.even, to_half(_mm512_slli_epi16(v, 8)));
		_mm512_store_si512(h.odd, to_half(v));
		__asm__("" : "+m"(h));	/* or gcc takes them out of the registers */
		prefetch(p + AHEAD_BYTES);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++) {
			const float *from = x[k].perm + at;

			acc[k][0] = _mm512_fmadd_ps(dot_group(h.even, h.odd, from),
						    _mm512_permutexvar_ps(first, factors),
						    acc[k][0]);
			acc[k][1] = _mm512_fmadd_ps(dot_group(h.even + 16, h.odd + 16, from + GROUP),
						    _mm512_permutexvar_ps(second, factors),
						    acc[k][1]);
		}
		first = _mm512_add_epi32(first, two);
		second = _mm512_add_epi32(second, two);
	}
}

INLINE void
rows_mxfp8(uint32_t groups, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
	   uint32_t first, uint32_t end)
{
	const size_t ahead = (size_t)AHEAD_ROWS * groups;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)w->cols * r;
		const uint8_t *scales = w->scales + (size_t)groups * r;
		__m512 acc[MV_TILE][2];

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			acc[k][0] = acc[k][1] = _mm512_setzero_ps();
		for (uint32_t g = 0; g < groups; g += 16) {
			uint32_t n = groups - g < 16 ? groups - g : 16;
			__m512 f = _mm512_mul_ps(load_e8m0(scales + g, group_mask(n)),
						 _mm512_set1_ps(256));

			prefetch(scales + g + ahead);
			groups16(codes + (size_t)g * GROUP, x, m, (size_t)g * GROUP, n, f, acc);
		}
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(_mm512_add_ps(acc[k][0], acc[k][1]));
	}
}

MV_SHARED(mv_avx512_mxfp8, rows_mxfp8, w->cols / GROUP)
