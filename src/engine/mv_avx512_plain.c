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
	/* Kernels read 64 at once: nothing times what was left here may be NaN. */
	if ((x->cols + 31) / 32 % 2)
		memset(x->perm + (x->cols + 31) / 32 * 32, 0, 32 * sizeof(*x->perm));
	return true;
}

#define STEP 64			/* elements, four sums */

/* What 64 elements of a row are, in the order in which x is prepared; `left` of them are
 * in the row. */
INLINE void
load_step(enum dtype d, const uint8_t *p, uint32_t left, __m512 v[4])
{
	const __m512i upper = _mm512_set1_epi32((int)0xffff0000);

#pragma GCC unroll 4
	for (uint32_t i = 0; i < 4; i++) {
		__mmask16 mask = group_mask(left > 16 * i ? left - 16 * i : 0);

		if (d == DT_F32)
			v[i] = _mm512_maskz_loadu_ps(mask, p + 64 * i);
		else if (d == DT_F16)
			v[i] = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p + 32 * i));
	}
#pragma GCC unroll 2
	for (uint32_t i = 0; d == DT_BF16 && i < 2; i++) {
		size_t bytes = left > 32 * i ? 2 * (size_t)(left - 32 * i) : 0;
		__m512i t = load_codes(p + 64 * i, bytes);

		v[2 * i] = _mm512_castsi512_ps(_mm512_slli_epi32(t, 16));
		v[2 * i + 1] = _mm512_castsi512_ps(_mm512_and_si512(t, upper));
	}
}

INLINE const float *
prepared(enum dtype d, const struct mv_x *x)
{
	return d == DT_BF16 ? x->perm : x->x;
}

/* One row. */
INLINE void
row_plain(enum dtype d, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
	  uint32_t r)
{
	const size_t size = d == DT_F32 ? 4 : 2;
	const uint8_t *p = w->codes + (size_t)w->cols * size * r;
	__m512 sum[MV_TILE][4], v[4];
	uint32_t c = 0;

#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++)
#pragma GCC unroll 4
		for (unsigned i = 0; i < 4; i++)
			sum[k][i] = _mm512_setzero_ps();
	for (; w->cols - c >= STEP; c += STEP, p += STEP * size) {
		for (size_t i = 0; i < STEP * size; i += 64)
			prefetch(p + i + AHEAD_BYTES);
		load_step(d, p, STEP, v);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
#pragma GCC unroll 4
			for (unsigned i = 0; i < 4; i++)
				sum[k][i] = _mm512_fmadd_ps(
					v[i], _mm512_loadu_ps(prepared(d, &x[k]) + c + 16 * i),
					sum[k][i]);
	}
	if (c < w->cols) {
		load_step(d, p, w->cols - c, v);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
#pragma GCC unroll 4
			for (unsigned i = 0; i < 4; i++) {
				const float *from = prepared(d, &x[k]) + c;
				uint32_t left = w->cols - c > 16 * i ? w->cols - c - 16 * i : 0;
				__m512 t = d == DT_BF16 ? _mm512_loadu_ps(from + 16 * i)
							: load_x(from + 16 * i, left);

				sum[k][i] = _mm512_fmadd_ps(v[i], t, sum[k][i]);
			}
	}
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++)
		y[k * w->rows + r] = _mm512_reduce_add_ps(
			_mm512_add_ps(_mm512_add_ps(sum[k][0], sum[k][1]),
				      _mm512_add_ps(sum[k][2], sum[k][3])));
}

INLINE void
rows_plain(enum dtype d, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
	   uint32_t first, uint32_t end)
{
	for (uint32_t r = first; r < end; r++)
		row_plain(d, w, x, m, y, r);
}

MV_SHARED(mv_avx512_bf16, rows_plain, DT_BF16)
MV_SHARED(mv_avx512_f16, rows_plain, DT_F16)
MV_SHARED(mv_avx512_f32, rows_plain, DT_F32)
