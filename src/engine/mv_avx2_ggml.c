/* mv_avx2_ggml.c - ggml's blocks times an x of 8 bits, 32 codes at a time.
 *
 * VPMADDUBSW takes a code without a sign: a code's sign is given to x instead.  Two
 * products are at most 128 * 127 each, which fits.  What a block of 32 adds up to is a
 * vector of 8 integers, and meets the block's scale there. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx2.h"
#include "src/engine/mv_ggml.h"
#include "src/format/ggml_type.h"

#define BLOCK 32
#define SUPER 256

/* x in order. */
INLINE bool
round_block(const float *x, uint32_t n, int8_t *q, struct round8 *r)
{
	if (!round8_of(largest_magnitude(x, n), n, r))
		return false;
	for (uint32_t i = 0; i < n; i += 8) {
		__m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(r->steps));
		__m256i w = _mm256_cvtps_epi32(v);
		__m128i s = _mm_packs_epi32(_mm256_castsi256_si128(w),
					    _mm256_extracti128_si256(w, 1));

		_mm_storel_epi64((void *)(q + i), _mm_packs_epi16(s, s));
	}
	return true;
}

/* The sums of a block's integers, which minima meet; rounded if `half`. */
INLINE void
set_sum(struct mv_x *x, uint32_t block, float unit, bool half)
{
	const int8_t *q = x->digit + (size_t)block * BLOCK;
	int sum = 0;
	float f;

	for (unsigned i = 0; i < BLOCK; i++)
		sum += q[i];
	f = unit * (float)sum;
	x->sum[block] = half ? tb_f16_f32(tb_f32_f16(f)) : f;
}

INLINE bool
prepare_blocks(struct mv_x *x, uint32_t size)
{
	struct round8 r;

	for (uint32_t c = 0; c < x->cols; c += size) {
		if (!round_block(x->x + c, size, x->digit + c, &r))
			return false;
		for (uint32_t b = c / BLOCK; b < (c + size) / BLOCK; b++) {
			x->unit[b] = r.unit;
			set_sum(x, b, size == BLOCK ? r.exact : r.unit, size == BLOCK);
		}
	}
	return true;
}

bool
mv_avx2_prepare_q32(struct mv_x *x)
{
	return prepare_blocks(x, BLOCK);
}

bool
mv_avx2_prepare_q256(struct mv_x *x)
{
	return prepare_blocks(x, SUPER);
}

INLINE float
half(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, sizeof(h));
	return _cvtsh_ss(h);
}

INLINE float
half_e8m0(uint8_t e)
{
	uint32_t bits = e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* 16 bytes of nibbles as 32 codes: the low ones, then the high ones. */
INLINE __m256i
nibbles(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const void *)p);
	__m256i w = _mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1);

	return _mm256_and_si256(w, _mm256_set1_epi8(15));
}

/* 32 bits as bytes of 0 or 16. */
INLINE __m256i
fifth(uint32_t bits)
{
	const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
						0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
	__m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), byte);

	v = _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
	return _mm256_and_si256(v, _mm256_set1_epi8(16));
}

INLINE __m256i
look_up(unsigned type, __m256i v)
{
	const __m256i nonlinear = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
	const __m256i e2m1 = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));

	return _mm256_shuffle_epi8(type == GGML_MXFP4 ? e2m1 : nonlinear, v);
}

/* The codes of a block of 32, with their signs. */
INLINE __m256i
codes(unsigned type, const uint8_t *p)
{
	switch (type) {
	case GGML_Q8_0:
		return _mm256_loadu_si256((const void *)(p + 2));
	case GGML_Q4_0:
		return _mm256_sub_epi8(nibbles(p + 2), _mm256_set1_epi8(8));
	case GGML_Q4_1:
		return nibbles(p + 4);
	case GGML_Q5_0:
		return _mm256_sub_epi8(_mm256_or_si256(nibbles(p + 6), fifth(load32(p + 2))),
				       _mm256_set1_epi8(16));
	case GGML_Q5_1:
		return _mm256_or_si256(nibbles(p + 8), fifth(load32(p + 4)));
	case GGML_MXFP4:
		return look_up(type, nibbles(p + 1));
	default:
		return look_up(type, nibbles(p + 2));
	}
}

/* Sums of four products each; codes may have signs. */
INLINE __m256i
dot(__m256i c, const int8_t *x)
{
	__m256i v = _mm256_sign_epi8(_mm256_loadu_si256((const void *)x), c);

	return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(c), v), _mm256_set1_epi16(1));
}

INLINE void
rows32(unsigned type, size_t bytes, const struct matrix *w, const struct mv_x *x, float *y,
       uint32_t first, uint32_t end)
{
	const uint32_t blocks = w->cols / BLOCK;
	const bool minimum = type == GGML_Q4_1 || type == GGML_Q5_1;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + blocks * bytes * r;
		__m256 acc = _mm256_setzero_ps();
		float bias = 0;

		for (uint32_t b = 0; b < blocks; b++, p += bytes) {
			float d = type == GGML_MXFP4 ? half_e8m0(*p) : half(p);
			__m256i t = dot(codes(type, p), x->digit + (size_t)b * BLOCK);

			prefetch(p + AHEAD_BYTES);
			acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(t),
					      _mm256_set1_ps(d * x->unit[b]), acc);
			if (minimum)
				bias += half(p + 2) * x->sum[b];
		}
		y[r] = sum_of(acc) + bias;
	}
}

/* Eight scales and eight minima of 6 bits. */
INLINE void
scales_minima(const uint8_t *p, uint8_t out[16])
{
	uint32_t a = load32(p), b = load32(p + 4), c = load32(p + 8), v[4];

	v[0] = a & 0x3f3f3f3f;
	v[1] = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
	v[2] = b & 0x3f3f3f3f;
	v[3] = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
	memcpy(out, v, sizeof(v));
}

/* Q4_K, Q5_K.  Sums of two products fit 16 bits and meet the scale there. */
INLINE __m256
block45(bool five, const uint8_t *p, const struct mv_x *x, uint32_t col, __m256 acc)
{
	const uint8_t *q = p + (five ? 48 : 16);
	const int8_t *digit = x->digit + col;
	uint8_t sm[16];
	__m256i high = _mm256_setzero_si256(), sum = high;
	float unit = x->unit[col / BLOCK];
	__m256 minima;

	scales_minima(p + 4, sm);
	if (five)
		high = _mm256_loadu_si256((const void *)(p + 16));
#pragma GCC unroll 8
	for (unsigned g = 0; g < 8; g++) {
		__m256i v = _mm256_loadu_si256((const void *)(q + g / 2 * 32));
		__m256i f = _mm256_and_si256(_mm256_srli_epi16(high, (int)g), _mm256_set1_epi8(1));

		v = _mm256_and_si256(_mm256_srli_epi16(v, g % 2 * 4), _mm256_set1_epi8(15));
		v = _mm256_or_si256(v, _mm256_slli_epi16(f, 4));
		v = _mm256_maddubs_epi16(v, _mm256_loadu_si256((const void *)(digit + g * BLOCK)));
		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(v, _mm256_set1_epi16(sm[g])));
	}
	minima = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(sm + 8))));
	minima = _mm256_mul_ps(minima, _mm256_set1_ps(half(p + 2)));
	acc = _mm256_fnmadd_ps(minima, _mm256_loadu_ps(x->sum + col / BLOCK), acc);
	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(half(p) * unit), acc);
}

INLINE __m256
block6(const uint8_t *p, const struct mv_x *x, uint32_t col, __m256 acc)
{
	__m256i sum = _mm256_setzero_si256();
	const uint8_t *scales = p + 192;

#pragma GCC unroll 8
	for (unsigned g = 0; g < 8; g++) {
		__m256i low = _mm256_loadu_si256((const void *)(p + g / 4 * 64 + g % 2 * 32));
		__m256i pairs = _mm256_loadu_si256((const void *)(p + 128 + g / 4 * 32)), c;
		__m256i s = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_set1_epi16((int8_t)scales[2 * g])),
			_mm_set1_epi16((int8_t)scales[2 * g + 1]), 1);

		low = _mm256_and_si256(_mm256_srli_epi16(low, g % 4 / 2 * 4), _mm256_set1_epi8(15));
		pairs = _mm256_and_si256(_mm256_srli_epi16(pairs, g % 4 * 2), _mm256_set1_epi8(3));
		c = _mm256_sub_epi8(_mm256_or_si256(low, _mm256_slli_epi16(pairs, 4)),
				    _mm256_set1_epi8(32));
		c = _mm256_maddubs_epi16(
			_mm256_abs_epi8(c),
			_mm256_sign_epi8(_mm256_loadu_si256((const void *)(x->digit + col +
									   g * BLOCK)), c));
		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(c, s));
	}
	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum),
			       _mm256_set1_ps(half(p + 208) * x->unit[col / BLOCK]), acc);
}

INLINE __m256
block_xs(const uint8_t *p, const struct mv_x *x, uint32_t col, __m256 acc)
{
	unsigned high = load32(p) >> 16;
	uint32_t low = load32(p + 4);
	__m256i sum = _mm256_setzero_si256();

#pragma GCC unroll 8
	for (unsigned g = 0; g < 8; g++) {
		int scale = (int)((low >> 4 * g & 15) | (high >> 2 * g & 3) << 4) - 32;
		__m256i c = look_up(GGML_IQ4_XS, nibbles(p + 8 + 16 * g));
		__m256i v = _mm256_sign_epi8(
			_mm256_loadu_si256((const void *)(x->digit + col + g * BLOCK)), c);

		v = _mm256_maddubs_epi16(_mm256_abs_epi8(c), v);
		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(v, _mm256_set1_epi16((short)scale)));
	}
	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum),
			       _mm256_set1_ps(half(p) * x->unit[col / BLOCK]), acc);
}

INLINE void
rows256(unsigned type, size_t bytes, const struct matrix *w, const struct mv_x *x, float *y,
	uint32_t first, uint32_t end)
{
	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + w->cols / SUPER * bytes * r;
		__m256 acc = _mm256_setzero_ps();

		for (uint32_t c = 0; c < w->cols; c += SUPER, p += bytes) {
			for (size_t i = 0; i < bytes; i += 64)
				prefetch(p + AHEAD_BYTES + i);
			acc = type == GGML_Q6_K ? block6(p, x, c, acc)
			    : type == GGML_IQ4_XS ? block_xs(p, x, c, acc)
						  : block45(type == GGML_Q5_K, p, x, c, acc);
		}
		y[r] = sum_of(acc);
	}
}

MV_ROWS(mv_avx2_q8_0, rows32(GGML_Q8_0, 34, w, x, y, first, end))
MV_ROWS(mv_avx2_q4_0, rows32(GGML_Q4_0, 18, w, x, y, first, end))
MV_ROWS(mv_avx2_q4_1, rows32(GGML_Q4_1, 20, w, x, y, first, end))
MV_ROWS(mv_avx2_q5_0, rows32(GGML_Q5_0, 22, w, x, y, first, end))
MV_ROWS(mv_avx2_q5_1, rows32(GGML_Q5_1, 24, w, x, y, first, end))
MV_ROWS(mv_avx2_iq4_nl, rows32(GGML_IQ4_NL, 18, w, x, y, first, end))
MV_ROWS(mv_avx2_ggml_mxfp4, rows32(GGML_MXFP4, 17, w, x, y, first, end))
MV_ROWS(mv_avx2_iq4_xs, rows256(GGML_IQ4_XS, 136, w, x, y, first, end))
MV_ROWS(mv_avx2_q4_k, rows256(GGML_Q4_K, 144, w, x, y, first, end))
MV_ROWS(mv_avx2_q5_k, rows256(GGML_Q5_K, 176, w, x, y, first, end))
MV_ROWS(mv_avx2_q6_k, rows256(GGML_Q6_K, 210, w, x, y, first, end))
