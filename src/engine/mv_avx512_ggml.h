/* mv_avx512_ggml.h - what the AVX-512 kernels on ggml's blocks share: x of 8 bits, how
 * scales and codes are read. */
#ifndef TBTUI_ENGINE_MV_AVX512_GGML_H
#define TBTUI_ENGINE_MV_AVX512_GGML_H

#include "src/engine/mv_avx512.h"
#include "src/engine/mv_ggml.h"
#include "src/format/ggml_type.h"

/* Bytes of a block. */
enum { Q2_BYTES = 84, Q3_BYTES = 110, Q4_BYTES = 144, Q5_BYTES = 176, Q6_BYTES = 210 };

/* One instruction with its operand in memory; the intrinsic makes gcc 12 copy the
 * accumulator out and back. */
#define DOT8(acc, codes, x) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "m"(x))
#define DOT8_REGISTER(acc, codes, x) \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "v"(x))
#define DOT16(acc, a, b) __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))

/* One block of n elements, 32 or 256. */
INLINE bool
round_block(const float *x, uint32_t n, int8_t *q, struct round8 *r)
{
	__m512i most = _mm512_setzero_si512();

	for (uint32_t i = 0; i < n; i += 16)
		most = _mm512_max_epu32(most, magnitude(_mm512_loadu_ps(x + i)));
	if (!round8_of(_mm512_reduce_max_epu32(most), n, r))
		return false;
	for (uint32_t i = 0; i < n; i += 16) {
		__m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(r->steps));

		_mm_storeu_si128((void *)(q + i), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
	}
	return true;
}

INLINE int
sum32(const int8_t *q)
{
	__m256i s = _mm256_setzero_si256(), v = _mm256_loadu_si256((const void *)q);
	__m128i t;

	v = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), v), _mm256_set1_epi16(1));
	s = _mm256_add_epi32(s, v);
	t = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
	t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
	t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1));
	return _mm_cvtsi128_si32(t);
}

/* Where accumulators start when codes are `off` too large. */
INLINE __m512i
less(__m512i start, int off, const int8_t *q)
{
	__m512i sum = _mm512_setzero_si512();

	DOT8(sum, _mm512_set1_epi8(1), *(const __m512i *)q);
	return _mm512_sub_epi32(start, _mm512_mullo_epi32(sum, _mm512_set1_epi32(off)));
}

/* Two numbers of half precision. */
INLINE __m128
halves(const uint8_t *p)
{
	return _mm_cvtph_ps(_mm_cvtsi32_si128((int)load32(p)));
}

/* The first four bytes of n <= 16 blocks. */
INLINE __m512i
load_heads(const uint8_t *p, size_t bytes, uint32_t n)
{
	uint32_t part[16] = { 0 };
	__m128i v[4];

	if (n < 16) {
		for (uint32_t i = 0; i < n; i++)
			part[i] = load32(p + i * bytes);
		return _mm512_loadu_si512(part);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++, p += 4 * bytes) {
		v[i] = _mm_cvtsi32_si128((int)load32(p));
		v[i] = _mm_insert_epi32(v[i], (int)load32(p + bytes), 1);
		v[i] = _mm_insert_epi32(v[i], (int)load32(p + 2 * bytes), 2);
		v[i] = _mm_insert_epi32(v[i], (int)load32(p + 3 * bytes), 3);
	}
	return _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1)),
		_mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1), 1);
}

/* 2^(e - 128): the table has doubles.  The two smallest are subnormal. */
INLINE __m512
half_e8m0(__m512i heads)
{
	__m512i e = _mm512_and_si512(heads, _mm512_set1_epi32(0xff));
	__m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x200000), e);
	__m512i v = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);

	return _mm512_castsi512_ps(_mm512_mask_mov_epi32(
		v, _mm512_cmplt_epu32_mask(e, _mm512_set1_epi32(2)), small));
}

INLINE __m512
low_halves(__m512i v)
{
	return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}

/* Codes of 4 bits as bytes, those of IQ4 by 127 too large, of E2M1 twice as large and 12. */
INLINE __m512i
to_bytes(unsigned ggml, __m512i nibbles)
{
	const __m512i nonlinear = _mm512_broadcast_i32x4(_mm_setr_epi8(
		0, 23, 44, 62, 78, 92, 105, 117, (char)128, (char)140, (char)152, (char)165,
		(char)180, (char)196, (char)216, (char)240));
	const __m512i e2m1 = _mm512_broadcast_i32x4(
		_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
	__m512i v = _mm512_and_si512(nibbles, _mm512_set1_epi8(15));

	if (ggml == GGML_IQ4_NL || ggml == GGML_IQ4_XS)
		return _mm512_shuffle_epi8(nonlinear, v);
	return ggml == GGML_MXFP4 ? _mm512_shuffle_epi8(e2m1, v) : v;
}

/* Eight scales of 6 bits, 32 too large, from the two high bits of all and the low four. */
INLINE __m512
scales_xs(const uint8_t *p)
{
	const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)load32(p + 4)),
					_mm256_slli_epi32(places, 2));
	__m256i high = _mm256_srlv_epi32(_mm256_set1_epi32((int)(load32(p) >> 16)),
					 _mm256_slli_epi32(places, 1));

	low = _mm256_and_si256(low, _mm256_set1_epi32(15));
	high = _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4);
	low = _mm256_sub_epi32(_mm256_or_si256(low, high), _mm256_set1_epi32(32));
	return _mm512_cvtepi32_ps(_mm512_castsi256_si512(low));
}

/* Eight scales and eight minima of 6 bits, from 12 bytes of a block to 16. */
INLINE __m128i
scales_minima(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const void *)p);
	__m128i low = _mm_srlv_epi32(_mm_shuffle_epi32(v, 0xa5), _mm_setr_epi32(0, 2, 0, 2));
	__m128i high = _mm_srlv_epi32(_mm_shuffle_epi32(v, 0xff), _mm_setr_epi32(32, 0, 32, 4));

	low = _mm_and_si128(low, _mm_setr_epi32(0x3f3f3f3f, 0x30303030, 0x3f3f3f3f, 0x30303030));
	return _mm_or_si128(low, _mm_and_si128(high, _mm_set1_epi32(0x0f0f0f0f)));
}

/* 16 scales of 6 bits: the low four, and two above them of four scales a byte. */
INLINE __m128i
scales_q3(const uint8_t *p)
{
	uint32_t a = load32(p), b = load32(p + 4), c = load32(p + 8);
	const uint32_t low = 0x0f0f0f0f, two_bits = 0x03030303;
	__m128i v = _mm_setr_epi32((int)((a & low) | (c & two_bits) << 4),
				   (int)((b & low) | (c >> 2 & two_bits) << 4),
				   (int)((a >> 4 & low) | (c >> 4 & two_bits) << 4),
				   (int)((b >> 4 & low) | (c >> 6 & two_bits) << 4));

	return _mm_sub_epi8(v, _mm_set1_epi8(32));
}

/* 64 of the fifth bits: the `first` one of bytes on the left, `second` on the right. */
INLINE __m512i
fifth(const uint8_t *high, int first, int second)
{
	const __m512i turn = _mm512_inserti64x4(_mm512_set1_epi32((4 - first) & 31),
						_mm256_set1_epi32((4 - second) & 31), 1);
	__m512i v = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)high));

	return _mm512_and_si512(_mm512_rolv_epi32(v, turn), _mm512_set1_epi8(16));
}

/* 64 codes of low nibbles and the pairs of bits above them. */
INLINE __m512i
six(__m512i nibbles, __m512i pairs, int first, int second)
{
	const __m512i turn = _mm512_inserti64x4(_mm512_set1_epi32((4 - first) & 31),
						_mm256_set1_epi32((4 - second) & 31), 1);
	__m512i high = _mm512_rolv_epi32(pairs, turn);

	high = _mm512_ternarylogic_epi32(_mm512_set1_epi8(15), nibbles, high, 0xca);
	return _mm512_and_si512(high, _mm512_set1_epi8(63));
}

#endif
