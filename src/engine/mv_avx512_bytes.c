/* mv_avx512_bytes.c - 8-bit codes times F32: int8 and mxfp8.
 *
 * x is dealt once so that lane i of a chunk's step k meets element 4 i + k, which is
 * byte k of the lane.  Bytes become floats without a conversion:
 *   int8   a shift and one ternary operation give 1 + code/256, exactly; then
 *          sum (s q + b) x = 256 s sum (1 + q/256) x + (b - 256 s) sum x
 *   mxfp8  the E4M3 bits fall into place with an exponent that is 120 too small:
 *          2^100 of it is in the dealt x, 2^20 in the scale. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512.h"

#define CHUNK 64
#define SCALE_UP 0x1p100f
#define REST_UP 0x1p20f
#define LARGEST 0x1p27f		/* times SCALE_UP still finite */

/* Elements 4 i + k of v[0..63], i = 0..15. */
INLINE __m512
every_fourth(const __m512 v[4], int k)
{
	__m512i at = _mm512_add_epi32(_mm512_slli_epi32(lane_numbers(), 2), _mm512_set1_epi32(k));
	__m512 a = _mm512_permutex2var_ps(v[0], at, v[1]);
	__m512 b = _mm512_permutex2var_ps(v[2], at, v[3]);

	return _mm512_insertf32x8(a, _mm512_castps512_ps256(b), 1);
}

/* perm is x dealt and times `factor`; false when an element is not below `limit`. */
INLINE bool
deal(struct mv_x *x, float factor, float limit)
{
	__m512i most = _mm512_setzero_si512();

	for (uint32_t c = 0; c < x->cols; c += CHUNK) {
		__m512 v[4];

		for (uint32_t i = 0; i < 4; i++) {
			uint32_t at = c + 16 * i;

			v[i] = load_x(x->x + at, at < x->cols ? x->cols - at : 0);
			most = _mm512_max_epu32(most, magnitude(v[i]));
			v[i] = _mm512_mul_ps(v[i], _mm512_set1_ps(factor));
		}
#pragma GCC unroll 4
		for (int k = 0; k < 4; k++)
			_mm512_store_ps(x->perm + c + 16 * k, every_fourth(v, k));
	}
	return _mm512_cmpge_epu32_mask(most, _mm512_castps_si512(_mm512_set1_ps(limit))) == 0;
}

bool
mv_avx512_prepare_int8(struct mv_x *x)
{
	uint32_t groups = x->cols / x->group;

	for (uint32_t g = 0; g < groups; g++) {
		const float *from = x->x + (size_t)g * x->group;
		__m512 sum = _mm512_setzero_ps();

		for (uint32_t i = 0; i < x->group; i += 16)
			sum = _mm512_add_ps(sum, _mm512_loadu_ps(from + i));
		x->sum[g] = _mm512_reduce_add_ps(sum);
	}
	_mm512_storeu_ps(x->sum + groups, _mm512_setzero_ps());
	return deal(x, 1, 0x1p100f);
}

bool
mv_avx512_prepare_mxfp8(struct mv_x *x)
{
	return deal(x, SCALE_UP, LARGEST);
}

/* Byte k of each lane as 1 + q/256: shifted to the top of the mantissa of 1.0. */
INLINE __m512
one_plus(__m512i v, int k)
{
	__m512i t = k == 0 ? _mm512_slli_epi32(v, 15) : k == 1 ? _mm512_slli_epi32(v, 7)
		  : k == 2 ? _mm512_srli_epi32(v, 1) : _mm512_srli_epi32(v, 9);

	return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
		t, _mm512_set1_epi32(0x7f8000), _mm512_set1_epi32(0x3f800000), 0xea));
}

INLINE __m512
dot_int8(__m512i v, const float *x)
{
	__m512 a = _mm512_mul_ps(one_plus(v, 0), _mm512_load_ps(x));
	__m512 b = _mm512_mul_ps(one_plus(v, 1), _mm512_load_ps(x + 16));

	a = _mm512_fmadd_ps(one_plus(v, 2), _mm512_load_ps(x + 32), a);
	b = _mm512_fmadd_ps(one_plus(v, 3), _mm512_load_ps(x + 48), b);
	return _mm512_add_ps(a, b);
}

/* The E4M3 number in the top byte of each lane, times 2^-120. */
INLINE __m512
e4m3(__m512i v)
{
	return _mm512_castsi512_ps(_mm512_and_si512(_mm512_srai_epi32(v, 4),
						    _mm512_set1_epi32((int)0x87f00000)));
}

INLINE __m512
dot_mxfp8(__m512i v, const float *x)
{
	__m512 a = _mm512_mul_ps(e4m3(_mm512_slli_epi32(v, 24)), _mm512_load_ps(x));
	__m512 b = _mm512_mul_ps(e4m3(_mm512_slli_epi32(v, 16)), _mm512_load_ps(x + 16));

	a = _mm512_fmadd_ps(e4m3(_mm512_slli_epi32(v, 8)), _mm512_load_ps(x + 32), a);
	b = _mm512_fmadd_ps(e4m3(v), _mm512_load_ps(x + 48), b);
	return _mm512_add_ps(a, b);
}

/* The codes of up to 16 groups from element `col` on; p: the row's first of them. */
INLINE __m512
row_piece(enum scheme_kind kind, const struct matrix *w, const struct mv_x *x, const uint8_t *p,
	  uint32_t col, __m512 factors, __m512 acc)
{
	const __m128i shift = _mm_cvtsi32_si128(__builtin_ctz(w->scheme.group));
	uint32_t end = w->cols - col < 16 * w->scheme.group ? w->cols : col + 16 * w->scheme.group;
	__m512i at = _mm512_slli_epi32(lane_numbers(), 2);

	for (; col < end; col += CHUNK, p += CHUNK) {
		__m512i v = load_codes(p, w->cols - col);
		__m512 t = kind == SCHEME_AFFINE ? dot_int8(v, x->perm + col)
						 : dot_mxfp8(v, x->perm + col);

		prefetch(p + AHEAD_BYTES);
		acc = _mm512_fmadd_ps(
			t, _mm512_permutexvar_ps(_mm512_srl_epi32(at, shift), factors), acc);
		at = _mm512_add_epi32(at, _mm512_set1_epi32(CHUNK));
	}
	return acc;
}

void
mv_avx512_int8(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first, uint32_t end)
{
	const uint32_t groups = w->cols / w->scheme.group;
	const size_t size = scale_size(w->scale_dtype), ahead = AHEAD_ROWS * groups * size;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)w->cols * r;
		__m512 acc = _mm512_setzero_ps();

		for (uint32_t g = 0; g < groups; g += 16) {
			const size_t at = ((size_t)groups * r + g) * size;
			__mmask16 mask = group_mask(groups - g);
			__m512 s = load_scales(w->scale_dtype, w->scales + at, mask);
			__m512 b = load_scales(w->scale_dtype, w->biases + at, mask);

			prefetch(w->scales + at + ahead);
			prefetch(w->biases + at + ahead);
			s = _mm512_mul_ps(s, _mm512_set1_ps(256));
			acc = _mm512_fmadd_ps(_mm512_sub_ps(b, s), _mm512_loadu_ps(x->sum + g), acc);
			acc = row_piece(SCHEME_AFFINE, w, x, codes + (size_t)g * w->scheme.group,
					g * w->scheme.group, s, acc);
		}
		y[r] = _mm512_reduce_add_ps(acc);
	}
}

void
mv_avx512_mxfp8(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first,
		uint32_t end)
{
	const uint32_t groups = w->cols / w->scheme.group;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)w->cols * r;
		const uint8_t *scales = w->scales + (size_t)groups * r;
		__m512 acc = _mm512_setzero_ps();

		for (uint32_t g = 0; g < groups; g += 16) {
			__m512 s = load_e8m0(scales + g, group_mask(groups - g));

			prefetch(scales + g + (size_t)AHEAD_ROWS * groups);
			s = _mm512_mul_ps(s, _mm512_set1_ps(REST_UP));
			acc = row_piece(SCHEME_MXFP8, w, x, codes + (size_t)g * w->scheme.group,
					g * w->scheme.group, s, acc);
		}
		y[r] = _mm512_reduce_add_ps(acc);
	}
}
