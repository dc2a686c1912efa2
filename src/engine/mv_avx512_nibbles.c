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

INLINE __m512i
to_bytes(enum scheme_kind kind, __m512i codes)
{
	const __m512i e2m1 = _mm512_broadcast_i32x4(
		_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));

	return kind == SCHEME_AFFINE ? codes : _mm512_shuffle_epi8(e2m1, codes);
}

INLINE __m512i
even_codes(enum scheme_kind kind, __m512i v)
{
	return to_bytes(kind, _mm512_and_si512(v, _mm512_set1_epi8(15)));
}

INLINE __m512i
odd_codes(enum scheme_kind kind, __m512i v)
{
	return even_codes(kind, _mm512_srli_epi32(v, 4));
}

/* A row, cut into pieces of 16 groups: where its next one is. */
struct cursor {
	const uint8_t *codes, *scales, *biases;
	const __m512i *digit;
	const int32_t *start;
	const float *unit, *sum;
	__m512 acc, acc_bias;
};

/* 256 codes, `left` bytes of which are in the row.  One sum a lane. */
INLINE __m512
block(enum scheme_kind kind, const struct shape *s, const struct cursor *c, size_t left)
{
	__m512i a = load_codes(c->codes, left);
	__m512i b = load_codes(c->codes + 64, left > 64 ? left - 64 : 0);
	__m512i first = _mm512_permutex2var_epi32(a, s->first, b);
	__m512i second = _mm512_permutex2var_epi32(a, s->second, b);
	__m512i start = kind == SCHEME_AFFINE ? _mm512_setzero_si512()
					      : _mm512_load_si512(c->start);

	prefetch(c->codes + AHEAD_BYTES);
	prefetch(c->codes + AHEAD_BYTES + 64);
	return _mm512_cvtepi32_ps(dot_block(even_codes(kind, first), odd_codes(kind, first),
					    even_codes(kind, second), odd_codes(kind, second),
					    c->digit, start));
}

/* Scales of 16 groups times what their digits are worth; their biases are done. */
INLINE __m512
load_factors(enum scheme_kind kind, enum dtype d, const struct shape *s, struct cursor *c,
	     __mmask16 mask)
{
	__m512 unit = _mm512_loadu_ps(c->unit);

	prefetch(c->scales + s->ahead);
	if (kind == SCHEME_AFFINE) {
		prefetch(c->biases + s->ahead);
		c->acc_bias = _mm512_fmadd_ps(load_scales(d, c->biases, mask),
					      _mm512_loadu_ps(c->sum), c->acc_bias);
		return _mm512_mul_ps(load_scales(d, c->scales, mask), unit);
	}
	unit = _mm512_mul_ps(unit, _mm512_set1_ps(0.5f));	/* codes are doubled */
	return _mm512_mul_ps(kind == SCHEME_NVFP4 ? load_e4m3(c->scales, mask)
						  : load_e8m0(c->scales, mask), unit);
}

INLINE void
advance_block(struct cursor *c)
{
	c->codes += MV_BLOCK / 2;
	c->digit += DIGIT_VECTORS;
	c->start += MV_BLOCK / 16;
}

INLINE void
advance_piece(struct cursor *c, enum dtype d)
{
	c->scales += 16 * mv_scale_size(d);
	c->biases += 16 * mv_scale_size(d);
	c->unit += 16;
	c->sum += 16;
}

/* `n` <= 16 groups of `rows` rows, 1 or 2.  Inlined with n a constant for all but the
 * last ones of a row. */
INLINE void
groups16(enum scheme_kind kind, enum dtype d, const struct shape *s, struct cursor c[2],
	 unsigned rows, uint32_t n)
{
	const __m512i step = _mm512_set1_epi32((int)(MV_BLOCK / s->group));
	__m512 factors[2];
	__m512i lane = s->group_of_lane;
	size_t bytes = (size_t)n * s->group / 2;

#pragma GCC unroll 2
	for (unsigned k = 0; k < rows; k++)
		factors[k] = load_factors(kind, d, s, &c[k], group_mask(n));
	for (uint32_t i = 0; i < n * s->group; i += MV_BLOCK) {
#pragma GCC unroll 2
		for (unsigned k = 0; k < rows; k++) {
			__m512 t = block(kind, s, &c[k], n == 16 ? MV_BLOCK / 2 : bytes - i / 2);

			c[k].acc = _mm512_fmadd_ps(t, _mm512_permutexvar_ps(lane, factors[k]),
						   c[k].acc);
			advance_block(&c[k]);
		}
		lane = _mm512_add_epi32(lane, step);
	}
#pragma GCC unroll 2
	for (unsigned k = 0; k < rows; k++)
		advance_piece(&c[k], d);
}

INLINE struct cursor
row_begin(enum scheme_kind kind, enum dtype d, const struct shape *s, const struct matrix *w,
	  const struct mv_x *x, uint32_t r)
{
	const size_t skip = (size_t)s->groups * mv_scale_size(d) * r;

	return (struct cursor){
		.codes = w->codes + (size_t)(s->cols / 2) * r, .scales = w->scales + skip,
		.biases = kind == SCHEME_AFFINE ? w->biases + skip : w->scales,
		.digit = (const __m512i *)x->digit, .start = x->start,
		.unit = x->unit, .sum = x->sum,
		.acc = _mm512_setzero_ps(), .acc_bias = _mm512_setzero_ps(),
	};
}

INLINE float
row_end(const struct cursor *c)
{
	return _mm512_reduce_add_ps(_mm512_add_ps(c->acc, c->acc_bias));
}

/* Row r, and when there are two row r + apart side by side with it. */
INLINE void
row_pair(enum scheme_kind kind, enum dtype d, const struct shape *s, const struct matrix *w,
	 const struct mv_x *x, float *y, uint32_t r, uint32_t apart, unsigned rows)
{
	struct cursor c[2] = { row_begin(kind, d, s, w, x, r),
			       row_begin(kind, d, s, w, x, r + apart) };
	uint32_t g = s->groups;

	for (; g >= 16; g -= 16)
		groups16(kind, d, s, c, rows, 16);
	if (g)
		groups16(kind, d, s, c, rows, g);
#pragma GCC unroll 2
	for (unsigned k = 0; k < rows; k++)
		y[r + k * apart] = row_end(&c[k]);
}

/* Two stretches of memory at a time: a core reads faster than along one. */
INLINE void
rows_nibbles(enum scheme_kind kind, enum dtype d, const struct matrix *w, const struct mv_x *x,
	     float *y, uint32_t first, uint32_t end)
{
	const struct shape s = shape_of(w->cols, w->scheme.group, d);
	const uint32_t half = (end - first) / 2;

	for (uint32_t r = first; r < first + half; r++)
		row_pair(kind, d, &s, w, x, y, r, half, 2);
	if ((end - first) % 2)
		row_pair(kind, d, &s, w, x, y, end - 1, 0, 1);
}

MV_ROWS_SCALED(mv_avx512_int4, rows_nibbles, SCHEME_AFFINE)
MV_ROWS(mv_avx512_mxfp4, rows_nibbles(SCHEME_MXFP4, DT_U8, w, x, y, first, end))
MV_ROWS(mv_avx512_nvfp4, rows_nibbles(SCHEME_NVFP4, DT_U8, w, x, y, first, end))
