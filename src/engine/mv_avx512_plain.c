/* mv_avx512_plain.c - BF16, F16 and F32 rows times F32. */
#include "config.h"

#include <string.h>

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512.h"

/* Of every 32 elements first the even ones, then the odd ones: a lane of BF16 holds
 * one of each. */
bool
mv_avx512_prepare_pairs(struct mv_x *x)
{
	const __m512i even = _mm512_slli_epi32(lane_numbers(), 1);
	const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));

	for (uint32_t c = 0; c < x->cols; c += 32) {
		__m512 a = load_x(x->x + c, x->cols - c);
		__m512 b = load_x(x->x + c + 16, x->cols - c > 16 ? x->cols - c - 16 : 0);

		_mm512_store_ps(x->perm + c, _mm512_permutex2var_ps(a, even, b));
		_mm512_store_ps(x->perm + c + 16, _mm512_permutex2var_ps(a, odd, b));
	}
	/* MXFP8 reads 64 at once: nothing times what was left here may be NaN. */
	if ((x->cols + 31) / 32 % 2)
		memset(x->perm + (x->cols + 31) / 32 * 32, 0, 32 * sizeof(*x->perm));
	return true;
}

/* 32 elements in two sums. */
INLINE void
add_bf16(__m512i v, const float *x, __m512 *even, __m512 *odd)
{
	__m512i high = _mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000));

	*even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(v, 16)), _mm512_load_ps(x),
				*even);
	*odd = _mm512_fmadd_ps(_mm512_castsi512_ps(high), _mm512_load_ps(x + 16), *odd);
}

/* Two rows side by side: a core reads faster along two stretches of memory than along
 * one.  p == q: only the one. */
INLINE void
rows_bf16(const uint8_t *p, const uint8_t *q, const float *x, uint32_t cols, float *y, float *z)
{
	__m512 s[4] = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
			_mm512_setzero_ps() };

	for (uint32_t c = 0; c < cols; c += 32, p += 64, q += 64) {
		size_t left = 2 * (size_t)(cols - c);

		prefetch(p + AHEAD_BYTES);
		prefetch(q + AHEAD_BYTES);
		add_bf16(load_codes(p, left), x + c, &s[0], &s[1]);
		add_bf16(load_codes(q, left), x + c, &s[2], &s[3]);
	}
	*y = _mm512_reduce_add_ps(_mm512_add_ps(s[0], s[1]));
	*z = _mm512_reduce_add_ps(_mm512_add_ps(s[2], s[3]));
}

void
mv_avx512_bf16(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first, uint32_t end)
{
	const uint32_t half = (end - first + 1) / 2;
	const size_t row = (size_t)w->cols * 2;

	for (uint32_t r = first; r < first + half; r++) {
		uint32_t other = r + half < end ? r + half : r;

		rows_bf16(w->codes + row * r, w->codes + row * other, x->perm, w->cols, y + r,
			  y + other);
	}
}

/* 16 elements of F16 or F32 from element c on, `left` > 0 of them in the row. */
INLINE __m512
load_plain(enum dtype d, const uint8_t *p, uint32_t c, uint32_t left)
{
	if (d == DT_F32)
		return _mm512_maskz_loadu_ps(group_mask(left), p + (size_t)c * 4);
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(group_mask(left), p + (size_t)c * 2));
}

INLINE float
row_natural(enum dtype d, const uint8_t *p, const float *x, uint32_t cols)
{
	const size_t step = d == DT_F32 ? 256 : 128;
	__m512 s[4] = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
			_mm512_setzero_ps() };
	uint32_t c = 0;

	for (; cols - c >= 64; c += 64) {
		for (size_t i = 0; i < step; i += 64)
			prefetch(p + step / 64 * c + i + AHEAD_BYTES);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < 4; i++)
			s[i] = _mm512_fmadd_ps(load_plain(d, p, c + 16 * i, 16),
					       _mm512_loadu_ps(x + c + 16 * i), s[i]);
	}
	for (; c < cols; c += 16)
		s[0] = _mm512_fmadd_ps(load_plain(d, p, c, cols - c), load_x(x + c, cols - c),
				       s[0]);
	s[0] = _mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3]));
	return _mm512_reduce_add_ps(s[0]);
}

INLINE void
rows_natural(enum dtype d, size_t size, const struct matrix *w, const struct mv_x *x, float *y,
	     uint32_t first, uint32_t end)
{
	for (uint32_t i = 0; i < end - first; i++) {
		uint32_t r = row_in_turn(first, end, i);

		y[r] = row_natural(d, w->codes + (size_t)w->cols * size * r, x->x, w->cols);
	}
}

MV_ROWS(mv_avx512_f16, rows_natural(DT_F16, 2, w, x, y, first, end))
MV_ROWS(mv_avx512_f32, rows_natural(DT_F32, 4, w, x, y, first, end))
