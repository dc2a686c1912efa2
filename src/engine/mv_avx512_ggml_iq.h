/* mv_avx512_ggml_iq.h - blocks of 256 whose codes are points of code books, 64 codes a
 * vector, in the order of elements.
 *
 * A book's entry is a word, and VPERMI2W finds 32 of 64 entries at once: with as many
 * steps as a book has parts, all points of a block are read without a load each. */
#ifndef TBTUI_ENGINE_MV_AVX512_GGML_IQ_H
#define TBTUI_ENGINE_MV_AVX512_GGML_IQ_H

#include "src/engine/mv_avx512_ggml.h"
#include "src/quant/ggml_books.h"

enum { IQ2_XXS_BYTES = 66, IQ2_XS_BYTES = 74, IQ2_S_BYTES = 82, IQ3_XXS_BYTES = 98,
       IQ3_S_BYTES = 110, IQ1_S_BYTES = 50, IQ1_M_BYTES = 56 };

#define VECTORS 4		/* of a block */

/* 256 codes as bytes, and which meet -x; scales of groups of 16 as words; minima likewise,
 * or what codes are too large by times the scale; what both are multiplied by. */
struct points {
	__m512i codes[VECTORS];
	uint64_t signs[VECTORS];
	__m256i scales, minima;
	float d, dmin;
};

INLINE float
half_bits(unsigned h)
{
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((int)h)));
}

INLINE float
half(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, sizeof(h));
	return half_bits(h);
}

/* 32 entries of a book of 64, of 128 and so on. */
INLINE __m512i
find64(const uint16_t *book, __m512i at)
{
	return _mm512_permutex2var_epi16(_mm512_loadu_si512(book), at,
					 _mm512_loadu_si512(book + 32));
}

#define FIND(entries, part) \
	INLINE __m512i \
	find##entries(const uint16_t *book, __m512i at) \
	{ \
		__mmask32 upper = _mm512_test_epi16_mask(at, _mm512_set1_epi16(part)); \
\
		return _mm512_mask_blend_epi16(upper, find##part(book, at), \
					       find##part(book + part, at)); \
	}
FIND(128, 64)
FIND(256, 128)
FIND(512, 256)
FIND(1024, 512)
FIND(2048, 1024)
#undef FIND

/* Words to eight codes of two bits each; quarter i of 32 words. */
INLINE __m512i
eight_codes(__m512i words, unsigned i)
{
	const __m512i bits = _mm512_set1_epi64(0x0e0c0a0806040200);
	__m128i part = i == 0 ? _mm512_castsi512_si128(words)
		     : i == 1 ? _mm512_extracti32x4_epi32(words, 1)
		     : i == 2 ? _mm512_extracti32x4_epi32(words, 2)
			      : _mm512_extracti32x4_epi32(words, 3);

	return _mm512_and_si512(_mm512_multishift_epi64_epi8(bits, _mm512_cvtepu16_epi64(part)),
				_mm512_set1_epi8(3));
}

/* To four of three bits each. */
INLINE __m512i
four_codes(__m256i words)
{
	const __m512i bits = _mm512_set1_epi64(0x2926232009060300);

	return _mm512_and_si512(_mm512_multishift_epi64_epi8(bits, _mm512_cvtepu16_epi32(words)),
				_mm512_set1_epi8(7));
}

/* Seven signs are stored; the eighth makes their number even. */
INLINE void
set_signs(__m256i seven, uint64_t out[VECTORS])
{
	const __m256i odd = _mm256_broadcastsi128_si256(_mm_setr_epi8(
		0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
	__m256i v = _mm256_and_si256(seven, _mm256_set1_epi8(127)), half_of;

	half_of = _mm256_xor_si256(v, _mm256_srli_epi16(v, 4));
	half_of = _mm256_and_si256(half_of, _mm256_set1_epi8(15));
	v = _mm256_or_si256(v, _mm256_shuffle_epi8(odd, half_of));
	_mm256_storeu_si256((void *)out, v);
}

/* Of eight times 28 bits. */
INLINE void
set_signs_of(__m512i v, uint64_t out[VECTORS])
{
	v = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x150e0700), v);
	set_signs(_mm512_cvtepi64_epi32(v), out);
}

/* 2 s + 1 of bytes. */
INLINE __m256i
odd_scales(__m128i s)
{
	return _mm256_cvtepu8_epi16(_mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1)));
}

/* 16 nibbles of 8 bytes. */
INLINE __m128i
nibbles16(__m128i bytes)
{
	__m128i v = _mm_cvtepu8_epi16(bytes);

	return _mm_and_si128(_mm_or_si128(v, _mm_slli_epi16(v, 4)), _mm_set1_epi8(15));
}

INLINE __m128i
doubled(__m128i v)
{
	return _mm_unpacklo_epi8(v, v);
}

INLINE __m512i
words32(const uint8_t *p)
{
	return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)p));
}

INLINE void
load_iq2(unsigned type, const uint8_t *p, struct points *b)
{
	const __m512i level = _mm512_broadcast_i32x4(
		_mm_setr_epi8(8, 25, 43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	__m512i v = _mm512_loadu_si512(p + 2), high;
	__m128i scales;

	if (type == GGML_IQ2_XXS) {
		scales = doubled(_mm512_cvtepi64_epi8(_mm512_srli_epi64(v, 60)));
		set_signs_of(_mm512_srli_epi64(v, 32), b->signs);
		v = find256(ggml_iq2_xxs_book, _mm512_cvtepu8_epi16(_mm512_cvtepi64_epi32(v)));
	} else if (type == GGML_IQ2_XS) {
		scales = nibbles16(_mm_loadl_epi64((const void *)(p + 66)));
		set_signs(_mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 9)), b->signs);
		v = find512(ggml_iq2_xs_book, v);
	} else {
		scales = nibbles16(_mm_loadl_epi64((const void *)(p + 74)));
		memcpy(b->signs, p + 34, sizeof(b->signs));
		high = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(p + 66)));
		high = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0600040002000000), high);
		high = _mm512_and_si512(high, _mm512_set1_epi16(0x300));
		v = find1024(ggml_iq2_s_book, _mm512_or_si512(words32(p + 2), high));
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < VECTORS; i++)
		b->codes[i] = _mm512_shuffle_epi8(level, eight_codes(v, i));
	b->scales = odd_scales(scales);
	b->d = half(p) / 8;
}

INLINE void
load_iq3(unsigned type, const uint8_t *p, struct points *b)
{
	const __m512i level = _mm512_broadcast_i32x4(
		type == GGML_IQ3_S ? _mm_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 0, 0, 0, 0, 0, 0, 0, 0)
		: _mm_setr_epi8(4, 12, 20, 28, 36, 44, 52, 62, 0, 0, 0, 0, 0, 0, 0, 0));
	__m128i scales;

	if (type == GGML_IQ3_S) {
		scales = nibbles16(_mm_cvtsi32_si128((int)load32(p + 106)));
		memcpy(b->signs, p + 74, sizeof(b->signs));
		b->d = half(p);
	} else {
		__m256i v = _mm256_loadu_si256((const void *)(p + 66));

		scales = _mm256_cvtepi32_epi8(_mm256_srli_epi32(v, 28));
		set_signs_of(_mm512_cvtepu32_epi64(v), b->signs);
		b->d = half(p) / 4;
	}
#pragma GCC unroll 2
	for (unsigned i = 0; i < 2; i++) {
		__m512i v = words32(p + 2 + 32 * i);

		if (type == GGML_IQ3_S) {
			v = _mm512_mask_add_epi16(v, load32(p + 66 + 4 * i), v,
						  _mm512_set1_epi16(256));
			v = find512(ggml_iq3_s_book, v);
		} else {
			v = find256(ggml_iq3_xxs_book, v);
		}
		b->codes[2 * i] = _mm512_shuffle_epi8(level,
						      four_codes(_mm512_castsi512_si256(v)));
		b->codes[2 * i + 1] = _mm512_shuffle_epi8(
			level, four_codes(_mm512_extracti64x4_epi64(v, 1)));
	}
	b->scales = odd_scales(doubled(scales));
}

/* Coordinates c - 1 and an eighth more or less (`down`), eight times; 9 too large. */
INLINE void
set_ternary(__m512i at, uint32_t down, struct points *b)
{
	const __m512i v = find2048(ggml_iq1_book, at);

#pragma GCC unroll 4
	for (unsigned i = 0; i < VECTORS; i++) {
		__m512i c = _mm512_slli_epi16(eight_codes(v, i), 3);

		b->codes[i] = _mm512_mask_or_epi64(c, (__mmask8)(~down >> 8 * i), c,
						   _mm512_set1_epi8(2));
	}
	b->minima = _mm256_mullo_epi16(b->scales, _mm256_set1_epi16(9));
}

INLINE void
load_iq1_s(const uint8_t *p, struct points *b)
{
	const __m512i same = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9));
	const __m128i h = _mm_loadu_si128((const void *)(p + 34));
	const __m128i three = _mm_and_si128(_mm_srli_epi16(h, 12), _mm_set1_epi16(7));
	__m512i v = _mm512_shuffle_epi8(_mm512_cvtepu16_epi64(h), same), high;

	high = _mm512_srlv_epi16(v, _mm512_set1_epi64(0x0009000600030000));
	high = _mm512_slli_epi16(_mm512_and_si512(high, _mm512_set1_epi16(7)), 8);
	b->scales = odd_scales(doubled(_mm_packus_epi16(three, three)));
	b->d = half(p) / 8;
	set_ternary(_mm512_or_si512(words32(p + 2), high), _mm512_movepi16_mask(v), b);
}

INLINE void
load_iq1_m(const uint8_t *p, struct points *b)
{
	const __m256i same = _mm256_setr_epi64x(0x0100010001000100, 0x0302030203020302,
						0x0504050405040504, 0x0706070607060706);
	const __m128i q = _mm_loadl_epi64((const void *)(p + 48));
	const uint64_t s = (uint64_t)_mm_cvtsi128_si64(q);
	__m256i scales = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(q), same);
	__m512i high = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p + 32)));

	scales = _mm256_srlv_epi16(scales, _mm256_set1_epi64x(0x0009000600030000));
	scales = _mm256_and_si256(scales, _mm256_set1_epi16(7));
	scales = _mm256_add_epi16(scales, scales);
	b->scales = _mm256_add_epi16(scales, _mm256_set1_epi16(1));
	b->d = half_bits((s >> 12 & 15) | (s >> 24 & 0xf0) | (s >> 36 & 0xf00) |
			 (s >> 48 & 0xf000)) / 8;
	high = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x2400200004000000), high);
	set_ternary(_mm512_or_si512(words32(p), _mm512_and_si512(high, _mm512_set1_epi16(0x700))),
		    _mm512_test_epi16_mask(high, _mm512_set1_epi16(0x800)), b);
}

/* Those that have signs have neither minima nor codes too large. */
INLINE bool
has_signs(unsigned type)
{
	return type == GGML_IQ2_XXS || type == GGML_IQ2_XS || type == GGML_IQ2_S ||
	       type == GGML_IQ3_XXS || type == GGML_IQ3_S;
}

INLINE void
load_points(unsigned type, const uint8_t *p, struct points *b)
{
	switch (type) {
	case GGML_IQ3_XXS:
	case GGML_IQ3_S:
		load_iq3(type, p, b);
		return;
	case GGML_IQ1_S:
		load_iq1_s(p, b);
		return;
	case GGML_IQ1_M:
		load_iq1_m(p, b);
		return;
	default:
		load_iq2(type, p, b);
	}
}
#endif
