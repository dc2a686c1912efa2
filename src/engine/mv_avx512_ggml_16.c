/* mv_avx512_ggml_16.c - ggml's blocks of 256 in groups of 16: Q2_K, Q3_K, and those of
 * points of code books.
 *
 * As in mv_avx512_ggml_k.c, but codes stand in the order of elements: a group is 4 lanes
 * of a vector of 64.  What codes are too large by, and minima, meet the groups' sums of x:
 * one instruction a block. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512_ggml_iq.h"

#define SUPER 256

/* Sums of groups, as 16 words a block, stand where others have starts. */
INLINE int16_t *
group_sums(const struct mv_x *x, uint32_t col)
{
	return (int16_t *)(x->start + col / 32);
}

bool
mv_avx512_prepare_sixteens(struct mv_x *x)
{
	struct round8 r;

	for (uint32_t c = 0; c < x->cols; c += SUPER) {
		int16_t *sums = group_sums(x, c);

		if (!round_block(x->x + c, SUPER, x->digit + c, &r))
			return false;
		x->unit[c / SUPER] = r.unit;
		for (unsigned g = 0; g < 16; g++) {
			const int8_t *q = x->digit + c + g * 16;

			sums[g] = 0;
			for (unsigned i = 0; i < 16; i++)
				sums[g] = (int16_t)(sums[g] + q[i]);
		}
	}
	return true;
}

/* Pairs of bits of 32 bytes: 2 quarters of a block, of which `k` is one. */
INLINE __m512i
pairs64(__m512i v, unsigned k)
{
	const __m512i by = _mm512_inserti64x4(_mm512_set1_epi32(4 * (int)k),
					      _mm256_set1_epi32(4 * (int)k + 2), 1);

	return _mm512_srlv_epi32(v, by);
}

INLINE __m512i
twice(const uint8_t *p)
{
	return _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)p));
}

INLINE void
load_q2(const uint8_t *p, struct points *b)
{
	const __m128i scales = _mm_loadu_si128((const void *)p), low = _mm_set1_epi8(15);

#pragma GCC unroll 4
	for (unsigned i = 0; i < VECTORS; i++)
		b->codes[i] = _mm512_and_si512(pairs64(twice(p + 16 + i / 2 * 32), i % 2),
					       _mm512_set1_epi8(3));
	b->scales = _mm256_cvtepu8_epi16(_mm_and_si128(scales, low));
	b->minima = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(scales, 4), low));
	b->d = half(p + 80);
	b->dmin = half(p + 82);
}

INLINE void
load_q3(const uint8_t *p, struct points *b)
{
	const __m512i high = twice(p);

#pragma GCC unroll 4
	for (unsigned i = 0; i < VECTORS; i++) {
		const __m512i by = _mm512_inserti64x4(_mm512_set1_epi32((2 - 2 * (int)i) & 31),
						      _mm256_set1_epi32((1 - 2 * (int)i) & 31), 1);
		__m512i v = pairs64(twice(p + 32 + i / 2 * 32), i % 2);

		v = _mm512_ternarylogic_epi32(_mm512_set1_epi8(3), v, _mm512_rolv_epi32(high, by),
					      0xca);
		b->codes[i] = _mm512_and_si512(v, _mm512_set1_epi8(7));
	}
	b->scales = _mm256_cvtepi8_epi16(scales_q3(p + 96));
	b->minima = _mm256_slli_epi16(b->scales, 2);
	b->d = b->dmin = half(p + 108);
}

INLINE void
load_block(unsigned type, const uint8_t *p, struct points *b)
{
	switch (type) {
	case GGML_Q2_K:
		load_q2(p, b);
		return;
	case GGML_Q3_K:
		load_q3(p, b);
		return;
	default:
		load_points(type, p, b);
	}
}

/* A lane's sum of products fits 16 bits; its scale has zeros above it. */
INLINE void
set_scales(__m256i scales, __m512i out[VECTORS])
{
	const __m512i all = _mm512_cvtepu16_epi32(scales);
	const __m512i groups = _mm512_srli_epi32(lane_numbers(), 2);

#pragma GCC unroll 4
	for (int i = 0; i < VECTORS; i++)
		out[i] = _mm512_permutexvar_epi32(
			_mm512_add_epi32(groups, _mm512_set1_epi32(4 * i)), all);
}

/* Products of a block with 256 digits, scaled, a group of 16 in four lanes. */
INLINE __m512i
products(unsigned type, const struct points *b, const __m512i scales[VECTORS],
	 const __m512i *digit)
{
	const __m512i zero = _mm512_setzero_si512();
	__m512i sum = zero;

#pragma GCC unroll 4
	for (unsigned i = 0; i < VECTORS; i++) {
		__m512i t = zero, x;

		if (has_signs(type)) {
			x = _mm512_load_si512(&digit[i]);
			x = _mm512_mask_sub_epi8(x, b->signs[i], zero, x);
			DOT8_REGISTER(t, b->codes[i], x);
		} else {
			DOT8(t, b->codes[i], digit[i]);
		}
		DOT16(sum, t, scales[i]);
	}
	return sum;
}

struct sums { __m512 scaled[MV_TILE]; __m256 minima[MV_TILE]; };

INLINE void
add_block(unsigned type, const uint8_t *p, const struct mv_x *x, size_t m, size_t col,
	  struct sums *s)
{
	struct points b;
	__m512i scales[VECTORS];

	load_block(type, p, &b);
	set_scales(b.scales, scales);
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		const __m512i *digit = (const __m512i *)(x[k].digit + col);
		const float unit = x[k].unit[col / SUPER];
		__m512i sum = products(type, &b, scales, digit);

		if (!has_signs(type)) {
			__m256i sums = _mm256_loadu_si256((const void *)group_sums(&x[k], col));
			__m256i less = _mm256_madd_epi16(b.minima, sums);

			if (type == GGML_Q2_K)
				s->minima[k] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(less),
							       _mm256_set1_ps(b.dmin * unit),
							       s->minima[k]);
			else
				sum = _mm512_sub_epi32(sum, _mm512_zextsi256_si512(less));
		}
		s->scaled[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
					       _mm512_set1_ps(b.d * unit), s->scaled[k]);
	}
}

INLINE void
rows(unsigned type, size_t bytes, const struct matrix *w, const struct mv_x *x, size_t m,
     float *y, uint32_t first, uint32_t end)
{
	const size_t row = w->cols / SUPER * bytes;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + row * r;
		struct sums s;

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++) {
			s.scaled[k] = _mm512_setzero_ps();
			s.minima[k] = _mm256_setzero_ps();
		}
		for (size_t c = 0; c < w->cols; c += SUPER, p += bytes) {
			for (size_t i = 0; i < bytes; i += 64)
				prefetch(p + AHEAD_BYTES + i);
			add_block(type, p, x, m, c, &s);
		}
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(_mm512_sub_ps(
				s.scaled[k], _mm512_zextps256_ps512(s.minima[k])));
	}
}

MV_SHARED(mv_avx512_q2_k, rows, GGML_Q2_K, Q2_BYTES)
MV_SHARED(mv_avx512_q3_k, rows, GGML_Q3_K, Q3_BYTES)
MV_SHARED(mv_avx512_iq2_xxs, rows, GGML_IQ2_XXS, IQ2_XXS_BYTES)
MV_SHARED(mv_avx512_iq2_xs, rows, GGML_IQ2_XS, IQ2_XS_BYTES)
MV_SHARED(mv_avx512_iq2_s, rows, GGML_IQ2_S, IQ2_S_BYTES)
MV_SHARED(mv_avx512_iq3_xxs, rows, GGML_IQ3_XXS, IQ3_XXS_BYTES)
MV_SHARED(mv_avx512_iq3_s, rows, GGML_IQ3_S, IQ3_S_BYTES)
MV_SHARED(mv_avx512_iq1_s, rows, GGML_IQ1_S, IQ1_S_BYTES)
MV_SHARED(mv_avx512_iq1_m, rows, GGML_IQ1_M, IQ1_M_BYTES)
