/* mv_avx512_digits.c - 4-bit codes times 16-bit integers, by VPDPBUSD.
 *
 * A group of x becomes unit * q, |q| <= 32512, and q two signed digits, 256 h + l.
 * Codes times digits are exact integers; 256 H + L stays below 2^24 and is converted
 * once.  The error is that of a 16-bit x: 2e-5 of the result's size.
 *
 * The E2M1 values of mxfp4 and nvfp4 become unsigned bytes, 2 v + 12, by a table;
 * the accumulator starts at -12 times the sum of its 8 integers. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include <string.h>

#include "src/engine/mv_avx512.h"
#include "src/engine/mv_digits.h"

/* The intrinsic makes gcc 12 copy the accumulator out and back at each step. */
#define DOT(acc, codes, digits) \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "m"(digits))

/* The digits of one block in the order of its elements. */
struct digits { _Alignas(64) int8_t high[MV_BLOCK], low[MV_BLOCK]; };

INLINE void
split(__m512i q, int8_t *high, int8_t *low)
{
	__m512i h = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
	__m512i l = _mm512_sub_epi32(q, _mm512_slli_epi32(h, 8));

	_mm_storeu_si128((void *)high, _mm512_cvtepi32_epi8(h));
	_mm_storeu_si128((void *)low, _mm512_cvtepi32_epi8(l));
}

/* One group of n elements; *sum is unit times the sum of its integers. */
INLINE bool
digitize(const float *x, uint32_t n, int8_t *high, int8_t *low, float *unit, float *sum)
{
	__m512i most = _mm512_setzero_si512(), total = most;
	__m512 steps;
	float max;
	uint32_t bits;

	for (uint32_t i = 0; i < n; i += 16)
		most = _mm512_max_epu32(most, magnitude(_mm512_loadu_ps(x + i)));
	bits = _mm512_reduce_max_epu32(most);
	memcpy(&max, &bits, sizeof(max));
	if (!mv_digits_fit(max))
		return false;
	steps = _mm512_set1_ps(max > 0 ? MV_DIGITS_MAX / max : 0);
	for (uint32_t i = 0; i < n; i += 16) {
		__m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), steps));

		split(q, high + i, low + i);
		total = _mm512_add_epi32(total, q);
	}
	*unit = max / MV_DIGITS_MAX;
	*sum = *unit * (float)_mm512_reduce_add_epi32(total);
	return true;
}

/* 128 bytes as the 64 of even places, then the 64 of odd ones. */
INLINE void
deal(const int8_t *from, int8_t *to)
{
	for (unsigned i = 0; i < 2; i++) {
		__m512i v = _mm512_load_si512(from + 64 * i);

		_mm256_store_si256((void *)(to + 32 * i), _mm512_cvtepi16_epi8(v));
		_mm256_store_si256((void *)(to + 64 + 32 * i),
				   _mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 8)));
	}
}

INLINE bool
prepare_block(struct mv_x *x, uint32_t first, uint32_t n)
{
	int8_t *out = x->digit + 2 * (size_t)first;
	struct digits d;

	if (n < MV_BLOCK)
		memset(&d, 0, sizeof(d));
	for (uint32_t i = 0, j = first / x->group; i < n; i += x->group, j++)
		if (!digitize(x->x + first + i, x->group, d.high + i, d.low + i, &x->unit[j],
			      &x->sum[j]))
			return false;
	deal(d.high, out);
	deal(d.low, out + MV_BLOCK);
	return true;
}

bool
mv_avx512_prepare_digits(struct mv_x *x)
{
	uint32_t groups = x->cols / x->group;

	for (uint32_t i = 0; i < x->cols; i += MV_BLOCK)
		if (!prepare_block(x, i, x->cols - i < MV_BLOCK ? x->cols - i : MV_BLOCK))
			return false;
	_mm512_storeu_ps(x->unit + groups, _mm512_setzero_ps());
	_mm512_storeu_ps(x->sum + groups, _mm512_setzero_ps());
	return true;
}

bool
mv_avx512_prepare_e2m1(struct mv_x *x)
{
	const __m512i offset = _mm512_set1_epi8(MV_E2M1_OFFSET);

	if (!mv_avx512_prepare_digits(x))
		return false;
	for (uint32_t i = 0; i < x->cols; i += MV_BLOCK) {
		const __m512i *q = (const __m512i *)(x->digit + 2 * (size_t)i);
		__m512i high = _mm512_setzero_si512(), low = high;

		DOT(high, offset, q[0]);
		DOT(high, offset, q[1]);
		DOT(low, offset, q[2]);
		DOT(low, offset, q[3]);
		low = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
		_mm512_store_si512(x->start + i / 8,
				   _mm512_sub_epi32(_mm512_setzero_si512(), low));
	}
	return true;
}

/* 64 bytes of codes as sums of 8 elements each. */
INLINE __m512
dot_affine(__m512i v, const __m512i *q)
{
	const __m512i nibble = _mm512_set1_epi8(15);
	__m512i even = _mm512_and_si512(v, nibble);
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(v, 4), nibble);
	__m512i high = _mm512_setzero_si512(), low = high;

	DOT(high, even, q[0]);
	DOT(low, even, q[2]);
	DOT(high, odd, q[1]);
	DOT(low, odd, q[3]);
	return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low));
}

INLINE __m512
dot_e2m1(__m512i v, const __m512i *q, const int32_t *start)
{
	const __m512i nibble = _mm512_set1_epi8(15);
	const __m512i table = _mm512_broadcast_i32x4(
		_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
	__m512i even = _mm512_shuffle_epi8(table, _mm512_and_si512(v, nibble));
	__m512i odd = _mm512_shuffle_epi8(
		table, _mm512_and_si512(_mm512_srli_epi32(v, 4), nibble));
	__m512i high = _mm512_setzero_si512(), low = _mm512_load_si512(start);

	DOT(high, even, q[0]);
	DOT(low, even, q[2]);
	DOT(high, odd, q[1]);
	DOT(low, odd, q[3]);
	return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low));
}

/* Scales of 16 groups times what their digits are worth. */
INLINE __m512
load_factors(enum scheme_kind kind, enum dtype d, const uint8_t *scales, const float *unit,
	     __mmask16 mask)
{
	__m512 u = _mm512_loadu_ps(unit);

	if (kind == SCHEME_AFFINE)
		return _mm512_mul_ps(load_scales(d, scales, mask), u);
	u = _mm512_mul_ps(u, _mm512_set1_ps(0.5f));	/* codes are doubled */
	return _mm512_mul_ps(kind == SCHEME_NVFP4 ? load_e4m3(scales, mask)
						  : load_e8m0(scales, mask), u);
}

/* What does not change from row to row. */
struct shape {
	uint32_t cols, group, groups, groups_a_chunk;
	size_t row, scale;		/* bytes of a row of codes, of one scale */
	__m512i group_of_lane;
};

INLINE struct shape
shape_of(const struct matrix *w)
{
	uint32_t lanes = w->scheme.group / 8;

	return (struct shape){
		.cols = w->cols,
		.group = w->scheme.group,
		.groups = w->cols / w->scheme.group,
		.groups_a_chunk = MV_BLOCK / w->scheme.group,
		.row = w->cols / 2,
		.scale = scale_size(w->scale_dtype),
		.group_of_lane = _mm512_srlv_epi32(lane_numbers(),
						   _mm512_set1_epi32(__builtin_ctz(lanes))),
	};
}

/* The codes of up to 16 groups from group `first` on; p: the row's codes of them. */
INLINE __m512
row_piece(enum scheme_kind kind, const struct shape *s, const struct mv_x *x, const uint8_t *p,
	  uint32_t first, __m512 factors, __m512 acc)
{
	uint32_t col = first * s->group;
	uint32_t end = s->cols - col < 16 * s->group ? s->cols : col + 16 * s->group;
	__m512i group = s->group_of_lane;

	for (; col < end; col += MV_BLOCK, p += 64) {
		const __m512i *q = (const __m512i *)(x->digit + 2 * (size_t)col);
		__m512i v = load_codes(p, (s->cols - col) / 2);
		__m512 t = kind == SCHEME_AFFINE ? dot_affine(v, q)
						 : dot_e2m1(v, q, x->start + col / 8);

		prefetch(p + AHEAD_BYTES);
		acc = _mm512_fmadd_ps(t, _mm512_permutexvar_ps(group, factors), acc);
		group = _mm512_add_epi32(group, _mm512_set1_epi32((int)s->groups_a_chunk));
	}
	return acc;
}

INLINE float
row(enum scheme_kind kind, const struct shape *s, const struct matrix *w, const struct mv_x *x,
    uint32_t r)
{
	const uint8_t *codes = w->codes + s->row * r;
	const size_t skip = (size_t)s->groups * s->scale * r;
	const size_t ahead = AHEAD_ROWS * s->groups * s->scale;
	__m512 acc = _mm512_setzero_ps(), biases = acc;

	for (uint32_t g = 0; g < s->groups; g += 16) {
		const size_t at = skip + g * s->scale;
		__mmask16 mask = group_mask(s->groups - g);
		__m512 f = load_factors(kind, w->scale_dtype, w->scales + at, x->unit + g, mask);

		prefetch(w->scales + at + ahead);
		if (kind == SCHEME_AFFINE) {
			__m512 b = load_scales(w->scale_dtype, w->biases + at, mask);

			prefetch(w->biases + at + ahead);
			biases = _mm512_fmadd_ps(b, _mm512_loadu_ps(x->sum + g), biases);
		}
		acc = row_piece(kind, s, x, codes + (size_t)g * s->group / 2, g, f, acc);
	}
	return _mm512_reduce_add_ps(_mm512_add_ps(acc, biases));
}

#define ROWS(name, kind) \
	void name(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first, \
		  uint32_t end) \
	{ \
		const struct shape s = shape_of(w); \
		for (uint32_t r = first; r < end; r++) \
			y[r] = row(kind, &s, w, x, r); \
	}
ROWS(mv_avx512_int4, SCHEME_AFFINE)
ROWS(mv_avx512_mxfp4, SCHEME_MXFP4)
ROWS(mv_avx512_nvfp4, SCHEME_NVFP4)
