/* mv_avx512_ggml_k.c - ggml's blocks of 256: Q4_K, Q5_K, Q6_K.
 *
 * A vector is 64 codes of the block, and a lane of it, 4 of them, the sum of whose
 * products fits 16 bits: VPDPWSSD multiplies it with its small scale and adds. Only
 * the block's sum is converted. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512_ggml.h"

#define SUPER 256
#define VECTORS 4		/* of a block */

/* Vector v is groups v / 2 * 4 + v % 2 and that + 2, as they lie in the nibbles. */
INLINE void
deal_groups(const int8_t *q, int8_t *out)
{
	for (unsigned v = 0; v < VECTORS; v++)
		for (unsigned half = 0; half < 2; half++)
			memcpy(out + v * 64 + half * 32,
			       q + (v / 2 * 4 + v % 2 + half * 2) * 32, 32);
}

/* Sums of groups, as 8 words a block, stand where others have starts. */
INLINE int16_t *
group_sums(const struct mv_x *x, uint32_t col)
{
	return (int16_t *)(x->start + col / 64);
}

bool
mv_avx512_prepare_q45_k(struct mv_x *x)
{
	_Alignas(64) int8_t q[SUPER];
	struct round8 r;

	for (uint32_t c = 0; c < x->cols; c += SUPER) {
		if (!round_block(x->x + c, SUPER, q, &r))
			return false;
		deal_groups(q, x->digit + c);
		x->unit[c / SUPER] = r.unit;
		for (unsigned g = 0; g < 8; g++)
			group_sums(x, c)[g] = (int16_t)sum32(q + g * 32);
	}
	return true;
}

/* In order; starts of 64 codes are 16. */
bool
mv_avx512_prepare_q6_k(struct mv_x *x)
{
	struct round8 r;

	for (uint32_t c = 0; c < x->cols; c += SUPER) {
		if (!round_block(x->x + c, SUPER, x->digit + c, &r))
			return false;
		x->unit[c / SUPER] = r.unit;
		for (unsigned i = 0; i < SUPER; i += 64)
			_mm512_store_si512(x->start + (c + i) / 4,
					   less(_mm512_setzero_si512(), 32, x->digit + c + i));
	}
	return true;
}

/* Byte `first` in lanes 0 to 7 and `second` in the others; scales are the low words. */
INLINE __m512i
pick(unsigned first, unsigned second)
{
	return _mm512_inserti64x4(_mm512_set1_epi32((int)(0x80808000 | first)),
				  _mm256_set1_epi32((int)(0x80808000 | second)), 1);
}

INLINE void
prefetch_block(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		prefetch(p + AHEAD_BYTES + i);
}

struct sums { __m512 scaled[MV_TILE]; __m128 minima[MV_TILE]; };

/* 256 codes as bytes, with a scale for each lane. */
struct super_block { __m512i codes[VECTORS], scales[VECTORS]; };

INLINE void
load_block45(bool five, const uint8_t *p, __m128i scales, struct super_block *b)
{
	const uint8_t *codes = p + (five ? 48 : 16);
	const __m512i mask = _mm512_set1_epi8(15), all = _mm512_broadcast_i32x4(scales);

#pragma GCC unroll 2
	for (int k = 0; k < 2; k++) {
		__m512i v = _mm512_loadu_si512(codes + 64 * k);
		__m512i low = _mm512_and_si512(v, mask);
		__m512i high = _mm512_and_si512(_mm512_srli_epi32(v, 4), mask);

		if (five) {
			low = _mm512_or_si512(low, fifth(p + 16, 4 * k, 4 * k + 2));
			high = _mm512_or_si512(high, fifth(p + 16, 4 * k + 1, 4 * k + 3));
		}
		b->codes[2 * k] = low;
		b->codes[2 * k + 1] = high;
		b->scales[2 * k] = _mm512_shuffle_epi8(all, pick(4 * k, 4 * k + 2));
		b->scales[2 * k + 1] = _mm512_shuffle_epi8(all, pick(4 * k + 1, 4 * k + 3));
	}
}

INLINE void
block45(bool five, const uint8_t *p, const struct mv_x *x, size_t m, size_t col, struct sums *s)
{
	__m128i sm = scales_minima(p);
	__m128i minima = _mm_cvtepu8_epi16(_mm_unpackhi_epi64(sm, sm));
	__m128 head = halves(p);
	struct super_block b;

	prefetch_block(p, five ? Q5_BYTES : Q4_BYTES);
	load_block45(five, p, sm, &b);
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		const __m512i *digit = (const __m512i *)(x[k].digit + col);
		__m128 d = _mm_mul_ps(head, _mm_set1_ps(x[k].unit[col / SUPER]));
		__m512i sum = _mm512_setzero_si512();
		__m128i products = _mm_madd_epi16(
			minima, _mm_loadu_si128((const void *)group_sums(&x[k], col)));

#pragma GCC unroll 4
		for (unsigned i = 0; i < VECTORS; i++) {
			__m512i t = _mm512_setzero_si512();

			DOT8(t, b.codes[i], digit[i]);
			DOT16(sum, t, b.scales[i]);
		}
		s->scaled[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_broadcastss_ps(d),
					       s->scaled[k]);
		s->minima[k] = _mm_fmadd_ps(_mm_cvtepi32_ps(products), _mm_shuffle_ps(d, d, 0x55),
					    s->minima[k]);
	}
}

/* A scale has a sign: it stands in the upper byte of a word, 256 times too large. */
INLINE void
load_block6(const uint8_t *p, struct super_block *b)
{
	const __m512i which = _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_setr_epi32(
			(int)0x80800080, (int)0x80800080, (int)0x80800080, (int)0x80800080,
			(int)0x80800180, (int)0x80800180, (int)0x80800180, (int)0x80800180)),
		_mm256_setr_epi32(
			(int)0x80800280, (int)0x80800280, (int)0x80800280, (int)0x80800280,
			(int)0x80800380, (int)0x80800380, (int)0x80800380, (int)0x80800380), 1);
	const __m512i all = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(p + 192)));

#pragma GCC unroll 4
	for (int i = 0; i < VECTORS; i++) {
		__m512i v = _mm512_loadu_si512(p + 64 * (i / 2));
		__m512i pairs = _mm512_broadcast_i64x4(
			_mm256_loadu_si256((const void *)(p + 128 + 32 * (i / 2))));
		__m512i at = _mm512_add_epi8(which, _mm512_set1_epi32(0x400 * i));

		b->codes[i] = i % 2 ? six(_mm512_srli_epi32(v, 4), pairs, 4, 6)
				    : six(v, pairs, 0, 2);
		b->scales[i] = _mm512_shuffle_epi8(all, at);
	}
}

INLINE void
block6(const uint8_t *p, const struct mv_x *x, size_t m, size_t col, struct sums *s)
{
	float d = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((int)(load32(p + 206) >> 16))));
	struct super_block b;

	prefetch_block(p, Q6_BYTES);
	load_block6(p, &b);
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		const __m512i *digit = (const __m512i *)(x[k].digit + col);
		__m512 unit = _mm512_set1_ps(d * (x[k].unit[col / SUPER] / 256));
		__m512i sum = _mm512_setzero_si512();

#pragma GCC unroll 4
		for (size_t i = 0; i < VECTORS; i++) {
			__m512i t = _mm512_load_si512(x[k].start + (col + 64 * i) / 4);

			DOT8(t, b.codes[i], digit[i]);
			DOT16(sum, t, b.scales[i]);
		}
		s->scaled[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), unit, s->scaled[k]);
	}
}

INLINE void
rows256(unsigned bits, size_t bytes, const struct matrix *w, const struct mv_x *x, size_t m,
	float *y, uint32_t first, uint32_t end)
{
	const size_t row = w->cols / SUPER * bytes;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + row * r;
		struct sums s;

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++) {
			s.scaled[k] = _mm512_setzero_ps();
			s.minima[k] = _mm_setzero_ps();
		}
		for (size_t c = 0; c < w->cols; c += SUPER, p += bytes) {
			if (bits == 6)
				block6(p, x, m, c, &s);
			else
				block45(bits == 5, p, x, m, c, &s);
		}
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(_mm512_sub_ps(
				s.scaled[k], _mm512_zextps128_ps512(s.minima[k])));
	}
}

MV_SHARED(mv_avx512_q4_k, rows256, 4, Q4_BYTES)
MV_SHARED(mv_avx512_q5_k, rows256, 5, Q5_BYTES)
MV_SHARED(mv_avx512_q6_k, rows256, 6, Q6_BYTES)
