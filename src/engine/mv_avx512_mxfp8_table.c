/* mv_avx512_mxfp8_table.c - E4M3 codes times F32, where bytes can be looked up in a table
 * of 128.
 *
 * An E4M3 number is a BF16 one, whose two bytes are looked up apart.  Put together within
 * 16 bytes they are four vectors of 16 numbers, each with eight of both groups of 64
 * codes: one factor a lane, and x is dealt as they come. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512.h"

#define CHUNK 64
#define GROUP 32

/* Of 64 elements the even ones of each first half of 16, their odd ones, and both of the
 * second halves. */
bool
mv_avx512_prepare_quarters(struct mv_x *x)
{
	const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 16, 18, 20, 22, 1, 3, 5, 7, 17, 19, 21,
						23);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));

	for (uint32_t c = 0; c < x->cols; c += CHUNK)
		for (uint32_t half = 0; half < CHUNK; half += 32) {
			uint32_t left = x->cols - c > half ? x->cols - c - half : 0;
			float *out = x->perm + c + half / 4;
			__m512 a = load_x(x->x + c + half, left);
			__m512 b = load_x(x->x + c + half + 16, left > 16 ? left - 16 : 0);
			__m512 low = _mm512_permutex2var_ps(a, first, b);
			__m512 high = _mm512_permutex2var_ps(a, second, b);

			_mm256_store_ps(out, _mm512_castps512_ps256(low));
			_mm256_store_ps(out + 16, _mm512_extractf32x8_ps(low, 1));
			_mm256_store_ps(out + 32, _mm512_castps512_ps256(high));
			_mm256_store_ps(out + 48, _mm512_extractf32x8_ps(high, 1));
		}
	return true;
}

struct tables { __m512i low[2], high[2]; };

/* The bytes of BF16 of all codes without a sign.  Half precision with the same bits is the
 * number times 2^-8. */
INLINE struct tables
make_tables(void)
{
	_Alignas(64) uint8_t low[128], high[128];

	for (int i = 0; i < 128; i += 16) {
		__m512i half = _mm512_add_epi32(lane_numbers(), _mm512_set1_epi32(i));
		__m512 v = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_slli_epi32(half, 7)));
		__m512i bits = _mm512_castps_si512(_mm512_mul_ps(v, _mm512_set1_ps(256)));

		_mm_store_si128((void *)(low + i), _mm512_cvtepi32_epi8(_mm512_srli_epi32(bits, 16)));
		_mm_store_si128((void *)(high + i), _mm512_cvtepi32_epi8(_mm512_srli_epi32(bits, 24)));
	}
	return (struct tables){
		{ _mm512_load_si512(low), _mm512_load_si512(low + 64) },
		{ _mm512_load_si512(high), _mm512_load_si512(high + 64) },
	};
}

/* 64 codes, in the order of quarters. */
INLINE void
to_floats(const struct tables *t, __m512i codes, __m512 out[4])
{
	const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
	__m512i low = _mm512_permutex2var_epi8(t->low[0], codes, t->low[1]);
	__m512i high = _mm512_permutex2var_epi8(t->high[0], codes, t->high[1]), v[2];

	high = _mm512_ternarylogic_epi32(high, codes, _mm512_set1_epi8((char)0x80), 0xf8);
	v[0] = _mm512_unpacklo_epi8(low, high);
	v[1] = _mm512_unpackhi_epi8(low, high);
#pragma GCC unroll 2
	for (unsigned i = 0; i < 2; i++) {
		out[2 * i] = _mm512_castsi512_ps(_mm512_slli_epi32(v[i], 16));
		out[2 * i + 1] = _mm512_castsi512_ps(_mm512_and_si512(v[i], upper));
	}
}

INLINE __m512
dot_chunk(const __m512 v[4], const float *x)
{
	__m512 sum = _mm512_mul_ps(v[0], _mm512_load_ps(x));

#pragma GCC unroll 3
	for (unsigned i = 1; i < 4; i++)
		sum = _mm512_fmadd_ps(v[i], _mm512_load_ps(x + 16 * i), sum);
	return sum;
}

/* `n` <= 16 groups of a row from element `at` on, scales of which are factors. */
INLINE void
looked_up16(const struct tables *t, const uint8_t *p, const struct mv_x *x, size_t m, size_t at,
	 uint32_t n, __m512 factors, __m512 *acc)
{
	__m512i lane = _mm512_srli_epi32(lane_numbers(), 3);

	for (uint32_t g = 0; g < n; g += 2, p += CHUNK, at += CHUNK) {
		__m512 f = _mm512_permutexvar_ps(lane, factors), v[4];

		to_floats(t, load_codes(p, n - g > 1 ? CHUNK : GROUP), v);
		prefetch(p + AHEAD_BYTES);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			acc[k] = _mm512_fmadd_ps(dot_chunk(v, x[k].perm + at), f, acc[k]);
		lane = _mm512_add_epi32(lane, _mm512_set1_epi32(2));
	}
}

INLINE void
rows_mxfp8(uint32_t groups, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
	   uint32_t first, uint32_t end)
{
	const size_t ahead = (size_t)AHEAD_ROWS * groups;
	const struct tables t = make_tables();
	for (uint32_t r = first; r < end; r++) {
		const uint8_t *codes = w->codes + (size_t)w->cols * r;
		const uint8_t *scales = w->scales + (size_t)groups * r;
		__m512 acc[MV_TILE];

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			acc[k] = _mm512_setzero_ps();
		for (uint32_t g = 0; g < groups; g += 16) {
			uint32_t n = groups - g < 16 ? groups - g : 16;
			__m512 f = load_e8m0(scales + g, group_mask(n));

			prefetch(scales + g + ahead);
			looked_up16(&t, codes + (size_t)g * GROUP, x, m, (size_t)g * GROUP, n, f, acc);
		}
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(acc[k]);
	}
}

MV_SHARED(mv_avx512_mxfp8_table, rows_mxfp8, w->cols / GROUP)
