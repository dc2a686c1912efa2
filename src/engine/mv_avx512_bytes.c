/* mv_avx512_bytes.c - codes of 2, 3, 5, 6 and 8 bits, a byte each, times digits.
 *
 * 64 codes of a row make a vector; narrower ones are spread to bytes first: 8 codes
 * fill whole bytes, which are copied to a lane of 8 and shifted apart there. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512_digits.h"

#define CHUNK 64

/* Of every 64 elements the high digits, then the low ones. */
bool
mv_avx512_prepare_bytes(struct mv_x *x)
{
	_Alignas(64) int8_t high[MV_BLOCK], low[MV_BLOCK];

	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		uint32_t n = x->cols - c < MV_BLOCK ? x->cols - c : MV_BLOCK;

		if (!digitize_block(x, c, n, high, low))
			return false;
		for (uint32_t i = 0; i < MV_BLOCK; i += CHUNK) {
			memcpy(x->digit + 2 * ((size_t)c + i), high + i, CHUNK);
			memcpy(x->digit + 2 * ((size_t)c + i) + CHUNK, low + i, CHUNK);
		}
	}
	end_groups(x);
	return true;
}

struct shape {
	uint32_t cols, group, groups;
	size_t ahead;			/* bytes of scales, to be prefetched */
	__m512i to_lane, shifts;	/* of codes that are spread */
	__m512i group_shift;
};

INLINE struct shape
shape_of(uint32_t cols, uint32_t group, enum dtype scale_dtype, unsigned bits)
{
	_Alignas(64) uint8_t from[64], shift[64];

	for (unsigned i = 0; i < 64; i++) {
		from[i] = (uint8_t)((i / 8 * bits + i % 8) & 63);
		shift[i] = (uint8_t)(i % 8 * bits);
	}
	return (struct shape){
		.cols = cols, .group = group, .groups = cols / group,
		.ahead = AHEAD_ROWS * mv_scale_size(scale_dtype) * (cols / group),
		.to_lane = _mm512_load_si512(from), .shifts = _mm512_load_si512(shift),
		.group_shift = _mm512_set1_epi32(__builtin_ctz(group)),
	};
}

/* 64 codes as bytes; `left` bytes from p on are in the row. */
INLINE __m512i
load_bytes(unsigned bits, const struct shape *s, const uint8_t *p, size_t left)
{
	__m512i v;

	if (bits == 8)
		return load_codes(p, left);
	left = left < 8 * bits ? left : 8 * bits;
	v = _mm512_maskz_loadu_epi8((UINT64_C(1) << left) - 1, p);
	v = _mm512_multishift_epi64_epi8(s->shifts, _mm512_permutexvar_epi8(s->to_lane, v));
	return _mm512_and_si512(v, _mm512_set1_epi8((char)((1 << bits) - 1)));
}

/* A row from a group on. */
struct cursor {
	const uint8_t *codes, *scales, *biases;
	uint32_t group;
};

struct sums { __m512 scaled[MV_TILE], biased[MV_TILE]; };

/* Factors of 16 groups for each x; their biases are done. */
INLINE void
load_factors(enum dtype d, const struct shape *s, const struct cursor *c, __mmask16 mask,
	     const struct mv_x *x, size_t m, struct sums *sums, __m512 *factors)
{
	__m512 scales = load_scales(d, c->scales, mask), biases = load_scales(d, c->biases, mask);

	prefetch(c->scales + s->ahead);
	prefetch(c->biases + s->ahead);
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		factors[k] = _mm512_mul_ps(scales, _mm512_loadu_ps(x[k].unit + c->group));
		sums->biased[k] = _mm512_fmadd_ps(biases, _mm512_loadu_ps(x[k].sum + c->group),
						  sums->biased[k]);
	}
}

/* `n` <= 16 groups.  Inlined with n a constant for all but the last ones of a row. */
INLINE void
groups16(unsigned bits, enum dtype d, const struct shape *s, struct cursor *c, uint32_t n,
	 const struct mv_x *x, size_t m, struct sums *sums)
{
	const uint32_t elements = n * s->group;
	size_t at = (size_t)c->group * s->group;
	__m512i element = _mm512_slli_epi32(lane_numbers(), 2);
	__m512 factors[MV_TILE];

	load_factors(d, s, c, group_mask(n), x, m, sums, factors);
	for (uint32_t i = 0; i < elements; i += CHUNK, at += CHUNK) {
		__m512i lane = _mm512_srlv_epi32(element, s->group_shift);
		__m512i v = load_bytes(bits, s, c->codes,
				       n == 16 ? 64 : (size_t)(elements - i) * bits / 8);

		prefetch(c->codes + AHEAD_BYTES);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++) {
			const __m512i *digit = (const __m512i *)(x[k].digit + 2 * at);
			__m512i high = _mm512_setzero_si512(), low = high;

			DOT(high, v, digit[0]);
			DOT(low, v, digit[1]);
			sums->scaled[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(joined(high, low)),
							  _mm512_permutexvar_ps(lane, factors[k]),
							  sums->scaled[k]);
		}
		element = _mm512_add_epi32(element, _mm512_set1_epi32(CHUNK));
		c->codes += CHUNK / 8 * bits;
	}
	c->scales += 16 * mv_scale_size(d);
	c->biases += 16 * mv_scale_size(d);
	c->group += 16;
}

INLINE void
rows_bytes(unsigned bits, enum dtype d, const struct matrix *w, const struct mv_x *x, size_t m,
	   float *y, uint32_t first, uint32_t end)
{
	const struct shape s = shape_of(w->cols, w->scheme.group, d, bits);

	for (uint32_t r = first; r < end; r++) {
		const size_t skip = (size_t)s.groups * mv_scale_size(d) * r;
		struct cursor c = {
			.codes = w->codes + (size_t)w->cols * bits / 8 * r,
			.scales = w->scales + skip, .biases = w->biases + skip,
		};
		struct sums sums;

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			sums.scaled[k] = sums.biased[k] = _mm512_setzero_ps();
		while (s.groups - c.group >= 16)
			groups16(bits, d, &s, &c, 16, x, m, &sums);
		if (c.group < s.groups)
			groups16(bits, d, &s, &c, s.groups - c.group, x, m, &sums);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(
				_mm512_add_ps(sums.scaled[k], sums.biased[k]));
	}
}

MV_SHARED_SCALED(mv_avx512_int2, rows_bytes, 2)
MV_SHARED_SCALED(mv_avx512_int3, rows_bytes, 3)
MV_SHARED_SCALED(mv_avx512_int5, rows_bytes, 5)
MV_SHARED_SCALED(mv_avx512_int6, rows_bytes, 6)
MV_SHARED_SCALED(mv_avx512_int8, rows_bytes, 8)
