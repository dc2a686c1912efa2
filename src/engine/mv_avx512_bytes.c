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

struct cursor {
	const uint8_t *codes, *scales, *biases;
	const __m512i *digit;
	const float *unit, *sum;
	__m512 acc, acc_bias;
};

/* `n` <= 16 groups.  Inlined with n a constant for all but the last ones of a row. */
INLINE void
groups16(unsigned bits, enum dtype d, const struct shape *s, struct cursor *c, uint32_t n)
{
	const __mmask16 mask = group_mask(n);
	__m512 factors = _mm512_mul_ps(load_scales(d, c->scales, mask), _mm512_loadu_ps(c->unit));
	__m512i element = _mm512_slli_epi32(lane_numbers(), 2);
	uint32_t elements = n * s->group;

	prefetch(c->scales + s->ahead);
	prefetch(c->biases + s->ahead);
	c->acc_bias = _mm512_fmadd_ps(load_scales(d, c->biases, mask), _mm512_loadu_ps(c->sum),
				      c->acc_bias);
	for (uint32_t i = 0; i < elements; i += CHUNK) {
		__m512i high = _mm512_setzero_si512(), low = high;
		__m512i lane = _mm512_srlv_epi32(element, s->group_shift);
		__m512i v = load_bytes(bits, s, c->codes,
				       n == 16 ? 64 : (size_t)(elements - i) * bits / 8);

		prefetch(c->codes + AHEAD_BYTES);
		DOT(high, v, c->digit[0]);
		DOT(low, v, c->digit[1]);
		c->acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(joined(high, low)),
					 _mm512_permutexvar_ps(lane, factors), c->acc);
		element = _mm512_add_epi32(element, _mm512_set1_epi32(CHUNK));
		c->codes += CHUNK / 8 * bits;
		c->digit += 2;
	}
	c->scales += 16 * mv_scale_size(d);
	c->biases += 16 * mv_scale_size(d);
	c->unit += 16;
	c->sum += 16;
}

INLINE void
rows_bytes(unsigned bits, enum dtype d, const struct matrix *w, const struct mv_x *x, float *y,
	   uint32_t first, uint32_t end)
{
	const struct shape s = shape_of(w->cols, w->scheme.group, d, bits);

	for (uint32_t i = 0; i < end - first; i++) {
		const uint32_t r = row_in_turn(first, end, i);
		const size_t skip = (size_t)s.groups * mv_scale_size(d) * r;
		struct cursor c = {
			.codes = w->codes + (size_t)w->cols * bits / 8 * r,
			.scales = w->scales + skip, .biases = w->biases + skip,
			.digit = (const __m512i *)x->digit, .unit = x->unit, .sum = x->sum,
			.acc = _mm512_setzero_ps(), .acc_bias = _mm512_setzero_ps(),
		};
		uint32_t g = s.groups;

		for (; g >= 16; g -= 16)
			groups16(bits, d, &s, &c, 16);
		if (g)
			groups16(bits, d, &s, &c, g);
		y[r] = _mm512_reduce_add_ps(_mm512_add_ps(c.acc, c.acc_bias));
	}
}

MV_ROWS_SCALED(mv_avx512_int2, rows_bytes, 2)
MV_ROWS_SCALED(mv_avx512_int3, rows_bytes, 3)
MV_ROWS_SCALED(mv_avx512_int5, rows_bytes, 5)
MV_ROWS_SCALED(mv_avx512_int6, rows_bytes, 6)
MV_ROWS_SCALED(mv_avx512_int8, rows_bytes, 8)
