/* mv_avx512_nibbles.c - 4-bit codes: int4, mxfp4, nvfp4.
 *
 * 256 codes at a time, two loads.  Their 32 lanes of 8 codes are dealt to two
 * vectors so that a lane of both belongs to the same group: the integers of 16 codes
 * are added up before the sum is converted and meets its scale, 11 vector operations
 * for 64 bytes where one load at a time takes 13.  x is dealt in the same way, once.
 *
 * E2M1 values become unsigned bytes, 2 v + 12, by a table; the accumulator starts at
 * -12 times the sum of its integers. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512_digits.h"

#define DIGIT_VECTORS 8		/* a block: two deals of high even, odd, low even, odd */

/* What does not change from row to row. */
struct shape {
	uint32_t cols, group, groups;
	size_t ahead;			/* bytes of scales, to be prefetched */
	__m512i first, second;		/* the lanes of a block that make the two vectors */
	__m512i group_of_lane;
};

/* A group is `lanes` lanes of each vector. */
INLINE struct shape
shape_of(uint32_t cols, uint32_t group, enum dtype scale_dtype)
{
	int lanes = (int)group / 16;
	__m512i g = _mm512_srl_epi32(lane_numbers(), _mm_cvtsi32_si128(__builtin_ctz(group / 16)));
	__m512i first = _mm512_add_epi32(lane_numbers(),
					 _mm512_mullo_epi32(g, _mm512_set1_epi32(lanes)));

	return (struct shape){
		.cols = cols, .group = group, .groups = cols / group,
		.ahead = AHEAD_ROWS * mv_scale_size(scale_dtype) * (cols / group),
		.group_of_lane = g, .first = first,
		.second = _mm512_add_epi32(first, _mm512_set1_epi32(lanes)),
	};
}

/* Digits of 256 elements: even and odd ones apart, then dealt as the codes will be. */
INLINE void
deal_digits(const struct shape *s, const int8_t *from, __m512i *to)
{
	__m512i even[2], odd[2];

	for (unsigned i = 0; i < 2; i++) {
		__m512i a = _mm512_load_si512(from + 128 * i);
		__m512i b = _mm512_load_si512(from + 128 * i + 64);

		even[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)),
					     _mm512_cvtepi16_epi8(b), 1);
		a = _mm512_srli_epi16(a, 8);
		b = _mm512_srli_epi16(b, 8);
		odd[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)),
					    _mm512_cvtepi16_epi8(b), 1);
	}
	to[0] = _mm512_permutex2var_epi32(even[0], s->first, even[1]);
	to[1] = _mm512_permutex2var_epi32(odd[0], s->first, odd[1]);
	to[4] = _mm512_permutex2var_epi32(even[0], s->second, even[1]);
	to[5] = _mm512_permutex2var_epi32(odd[0], s->second, odd[1]);
}

bool
mv_avx512_prepare_nibbles(struct mv_x *x)
{
	const struct shape s = shape_of(x->cols, x->group, DT_U8);
	_Alignas(64) int8_t high[MV_BLOCK], low[MV_BLOCK];

	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		uint32_t n = x->cols - c < MV_BLOCK ? x->cols - c : MV_BLOCK;
		__m512i *out = (__m512i *)(x->digit + 2 * (size_t)c);

		if (!digitize_block(x, c, n, high, low))
			return false;
		deal_digits(&s, high, out);
		deal_digits(&s, low, out + 2);
	}
	end_groups(x);
	return true;
}

INLINE __m512i
dot_block(__m512i even1, __m512i odd1, __m512i even2, __m512i odd2, const __m512i *q,
	  __m512i start)
{
	__m512i high = _mm512_setzero_si512(), low = start;

	DOT(high, even1, q[0]);
	DOT(low, even1, q[2]);
	DOT(high, odd1, q[1]);
	DOT(low, odd1, q[3]);
	DOT(high, even2, q[4]);
	DOT(low, even2, q[6]);
	DOT(high, odd2, q[5]);
	DOT(low, odd2, q[7]);
	return joined(high, low);
}

bool
mv_avx512_prepare_e2m1(struct mv_x *x)
{
	const __m512i off = _mm512_set1_epi8(MV_E2M1_OFFSET), zero = _mm512_setzero_si512();

	if (!mv_avx512_prepare_nibbles(x))
		return false;
	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		const __m512i *q = (const __m512i *)(x->digit + 2 * (size_t)c);
		__m512i sum = dot_block(off, off, off, off, q, zero);

		_mm512_store_si512(x->start + c / 16, _mm512_sub_epi32(zero, sum));
	}
	return true;
}

/* The low nibbles of codes, as bytes.  The table is there four times: what stands above a
 * nibble does not matter. */
INLINE __m512i
to_bytes(enum scheme_kind kind, __m512i codes)
{
	const __m512i e2m1 = _mm512_broadcast_i32x4(
		_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));

	return kind == SCHEME_AFFINE ? _mm512_and_si512(codes, _mm512_set1_epi8(15))
				     : _mm512_permutexvar_epi8(codes, e2m1);
}

/* A block's codes as they meet digits. */
struct codes { __m512i even1, odd1, even2, odd2; };

/* 256 codes, `left` bytes of which are in the row. */
INLINE struct codes
load_block(enum scheme_kind kind, const struct shape *s, const uint8_t *p, size_t left)
{
	__m512i a = load_codes(p, left), b = load_codes(p + 64, left > 64 ? left - 64 : 0);
	__m512i first = _mm512_permutex2var_epi32(a, s->first, b);
	__m512i second = _mm512_permutex2var_epi32(a, s->second, b);

	prefetch(p + AHEAD_BYTES);
	prefetch(p + AHEAD_BYTES + 64);
	return (struct codes){
		.even1 = to_bytes(kind, first), .odd1 = to_bytes(kind, _mm512_srli_epi32(first, 4)),
		.even2 = to_bytes(kind, second), .odd2 = to_bytes(kind, _mm512_srli_epi32(second, 4)),
	};
}

/* A row from a group on. */
struct cursor {
	const uint8_t *codes, *scales, *biases;
	uint32_t group;
};

struct sums { __m512 scaled[MV_TILE], biased[MV_TILE]; };

/* Scales of 16 groups times what digits of each x are worth; their biases are done. */
INLINE void
load_factors(enum scheme_kind kind, enum dtype d, const struct shape *s, const struct cursor *c,
	     __mmask16 mask, const struct mv_x *x, size_t m, struct sums *sums, __m512 *factors)
{
	__m512 scales, biases;

	prefetch(c->scales + s->ahead);
	if (kind == SCHEME_AFFINE) {
		prefetch(c->biases + s->ahead);
		scales = load_scales(d, c->scales, mask);
		biases = load_scales(d, c->biases, mask);
	} else {	/* codes are doubled */
		scales = kind == SCHEME_NVFP4 ? load_e4m3(c->scales, mask)
					      : load_e8m0(c->scales, mask);
		scales = _mm512_mul_ps(scales, _mm512_set1_ps(0.5f));
	}
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		factors[k] = _mm512_mul_ps(scales, _mm512_loadu_ps(x[k].unit + c->group));
		if (kind == SCHEME_AFFINE)
			sums->biased[k] = _mm512_fmadd_ps(
				biases, _mm512_loadu_ps(x[k].sum + c->group), sums->biased[k]);
	}
}

/* `n` <= 16 groups.  Inlined with n a constant for all but the last ones of a row. */
INLINE void
groups16(enum scheme_kind kind, enum dtype d, const struct shape *s, struct cursor *c, uint32_t n,
	 const struct mv_x *x, size_t m, struct sums *sums)
{
	const __m512i step = _mm512_set1_epi32((int)(MV_BLOCK / s->group));
	const size_t bytes = (size_t)n * s->group / 2;
	size_t at = (size_t)c->group * s->group;
	__m512 factors[MV_TILE];
	__m512i lane = s->group_of_lane;

	load_factors(kind, d, s, c, group_mask(n), x, m, sums, factors);
	for (uint32_t i = 0; i < n * s->group; i += MV_BLOCK, at += MV_BLOCK) {
		struct codes v = load_block(kind, s, c->codes,
					    n == 16 ? MV_BLOCK / 2 : bytes - i / 2);

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++) {
			__m512i start = kind == SCHEME_AFFINE ? _mm512_setzero_si512()
				: _mm512_load_si512(x[k].start + at / 16);
			__m512i t = dot_block(v.even1, v.odd1, v.even2, v.odd2,
					      (const __m512i *)(x[k].digit + 2 * at), start);

			sums->scaled[k] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(t),
							  _mm512_permutexvar_ps(lane, factors[k]),
							  sums->scaled[k]);
		}
		lane = _mm512_add_epi32(lane, step);
		c->codes += MV_BLOCK / 2;
	}
	c->scales += 16 * mv_scale_size(d);
	c->biases += 16 * mv_scale_size(d);
	c->group += 16;
}

INLINE void
rows_nibbles(enum scheme_kind kind, enum dtype d, const struct matrix *w, const struct mv_x *x,
	     size_t m, float *y, uint32_t first, uint32_t end)
{
	const struct shape s = shape_of(w->cols, w->scheme.group, d);

	for (uint32_t r = first; r < end; r++) {
		const size_t skip = (size_t)s.groups * mv_scale_size(d) * r;
		struct cursor c = {
			.codes = w->codes + (size_t)(s.cols / 2) * r, .scales = w->scales + skip,
			.biases = kind == SCHEME_AFFINE ? w->biases + skip : w->scales,
		};
		struct sums sums;

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			sums.scaled[k] = sums.biased[k] = _mm512_setzero_ps();
		while (s.groups - c.group >= 16)
			groups16(kind, d, &s, &c, 16, x, m, &sums);
		if (c.group < s.groups)
			groups16(kind, d, &s, &c, s.groups - c.group, x, m, &sums);
#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			y[k * w->rows + r] = _mm512_reduce_add_ps(
				_mm512_add_ps(sums.scaled[k], sums.biased[k]));
	}
}

MV_SHARED_SCALED(mv_avx512_int4, rows_nibbles, SCHEME_AFFINE)
MV_SHARED(mv_avx512_mxfp4, rows_nibbles, SCHEME_MXFP4, DT_U8)
MV_SHARED(mv_avx512_nvfp4, rows_nibbles, SCHEME_NVFP4, DT_U8)
