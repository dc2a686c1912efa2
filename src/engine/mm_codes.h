/* mm_codes.h - how rows of codes are read, 64 codes and 16 scales at a time, in the order
 * of a row's elements. */
#ifndef TBTUI_ENGINE_MM_CODES_H
#define TBTUI_ENGINE_MM_CODES_H

#include "src/engine/mm_avx512.h"
#include "src/engine/mv_avx512_ggml_iq.h"
#include "src/quant/scheme.h"

/* A constant where it is used.  ggml: MV_ANY when it is none of those; codes: from where on
 * in a block. */
struct mm_type { enum scheme_kind kind; unsigned bits, ggml, bytes, codes; };

#define MM_OWN(kind, bits) ((struct mm_type){ kind, bits, MV_ANY, 0, 0 })
#define MM_BLOCKS(id, bytes, codes) ((struct mm_type){ SCHEME_GGML, 0, id, bytes, codes })

enum { MM_XS_BYTES = 136 };

/* Name, type, whether it has minima, elements to a scale (0: the scheme says), by how much
 * codes are too large. */
#define MM_TYPE_LIST(X) \
	X(int2, MM_OWN(SCHEME_AFFINE, 2), true, 0, 0) \
	X(int3, MM_OWN(SCHEME_AFFINE, 3), true, 0, 0) \
	X(int4, MM_OWN(SCHEME_AFFINE, 4), true, 0, 0) \
	X(int5, MM_OWN(SCHEME_AFFINE, 5), true, 0, 0) \
	X(int6, MM_OWN(SCHEME_AFFINE, 6), true, 0, 0) \
	X(int8, MM_OWN(SCHEME_AFFINE, 8), true, 0, 0) \
	X(mxfp4, MM_OWN(SCHEME_MXFP4, 4), false, 32, 12) \
	X(nvfp4, MM_OWN(SCHEME_NVFP4, 4), false, 16, 12) \
	X(q8_0, MM_BLOCKS(GGML_Q8_0, 34, 2), false, 32, 128) \
	X(q4_0, MM_BLOCKS(GGML_Q4_0, 18, 2), false, 32, 8) \
	X(q4_1, MM_BLOCKS(GGML_Q4_1, 20, 4), true, 32, 0) \
	X(q5_0, MM_BLOCKS(GGML_Q5_0, 22, 6), false, 32, 16) \
	X(q5_1, MM_BLOCKS(GGML_Q5_1, 24, 8), true, 32, 0) \
	X(iq4_nl, MM_BLOCKS(GGML_IQ4_NL, 18, 2), false, 32, 127) \
	X(ggml_mxfp4, MM_BLOCKS(GGML_MXFP4, 17, 1), false, 32, 12) \
	X(iq4_xs, MM_BLOCKS(GGML_IQ4_XS, MM_XS_BYTES, 8), false, 32, 127) \
	X(iq2_xxs, MM_BLOCKS(GGML_IQ2_XXS, IQ2_XXS_BYTES, 0), false, 16, 43) \
	X(iq2_xs, MM_BLOCKS(GGML_IQ2_XS, IQ2_XS_BYTES, 0), false, 16, 43) \
	X(iq2_s, MM_BLOCKS(GGML_IQ2_S, IQ2_S_BYTES, 0), false, 16, 43) \
	X(iq3_xxs, MM_BLOCKS(GGML_IQ3_XXS, IQ3_XXS_BYTES, 0), false, 16, 62) \
	X(iq3_s, MM_BLOCKS(GGML_IQ3_S, IQ3_S_BYTES, 0), false, 16, 15) \
	X(iq1_s, MM_BLOCKS(GGML_IQ1_S, IQ1_S_BYTES, 0), false, 16, 9) \
	X(iq1_m, MM_BLOCKS(GGML_IQ1_M, IQ1_M_BYTES, 0), false, 16, 9) \
	X(q2_k, MM_BLOCKS(GGML_Q2_K, Q2_BYTES, 0), true, 16, 0) \
	X(q3_k, MM_BLOCKS(GGML_Q3_K, Q3_BYTES, 0), false, 16, 4) \
	X(q4_k, MM_BLOCKS(GGML_Q4_K, Q4_BYTES, 0), true, 32, 0) \
	X(q5_k, MM_BLOCKS(GGML_Q5_K, Q5_BYTES, 0), true, 32, 0) \
	X(q6_k, MM_BLOCKS(GGML_Q6_K, Q6_BYTES, 0), false, 16, 32)

INLINE __m512i
two(__m256i low, __m256i high)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Each shifted right on its own; what comes in from a neighbour is masked. */
INLINE __m512i
shifted(__m256i v, unsigned low, unsigned high)
{
	const __m512i by = two(_mm256_set1_epi16((short)low), _mm256_set1_epi16((short)high));

	return _mm512_srlv_epi16(_mm512_broadcast_i64x4(v), by);
}

/* 64 codes of `bits` each, one behind the other; n of them are the row's. */
INLINE __m512i
bits64(unsigned bits, const uint8_t *p, uint32_t n)
{
	__m512i at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), lane, v;
	uint64_t bytes = n >= 64 ? 8 * bits : n * bits / 8;

	v = _mm512_maskz_loadu_epi8(bytes >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bytes) - 1, p);
	if (bits == 8)
		return v;
	/* 8 codes' bytes go to a lane of 8, where they are shifted apart. */
	lane = _mm512_set1_epi64(0x0706050403020100);
	at = _mm512_mullo_epi64(at, _mm512_set1_epi64((int64_t)(bits * UINT64_C(0x0101010101010101))));
	v = _mm512_permutexvar_epi8(_mm512_add_epi8(at, lane), v);
	lane = _mm512_set1_epi64((int64_t)(bits * UINT64_C(0x0706050403020100)));
	v = _mm512_multishift_epi64_epi8(lane, v);
	return _mm512_and_si512(v, _mm512_set1_epi8((char)((1 << bits) - 1)));
}

/* 64 nibbles, the low one of a byte first. */
INLINE __m512i
nibbles64(const uint8_t *p, uint32_t n)
{
	__mmask32 mask = n >= 64 ? 0xffffffff : (__mmask32)((UINT64_C(1) << n / 2) - 1);
	__m512i v = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, p));

	v = _mm512_or_si512(v, _mm512_slli_epi16(v, 4));
	return _mm512_and_si512(v, _mm512_set1_epi8(15));
}

/* Of one or two blocks of 32 whose first 16 codes are low nibbles, whose last are high. */
INLINE __m512i
halves64(struct mm_type t, const uint8_t *p, uint32_t n)
{
	const __m512i by = _mm512_setr_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0,
					     0x0004000400040004, 0x0004000400040004);
	__m128i a = _mm_loadu_si128((const void *)(p + t.codes)), b = _mm_setzero_si128();
	__m512i v;

	if (n > 32)
		b = _mm_loadu_si128((const void *)(p + t.bytes + t.codes));
	v = two(_mm256_broadcastsi128_si256(a), _mm256_broadcastsi128_si256(b));
	v = to_bytes(t.ggml, _mm512_srlv_epi16(v, by));
	if (t.ggml == GGML_Q5_0 || t.ggml == GGML_Q5_1) {
		uint64_t five = load32(p + t.codes - 4);

		if (n > 32)
			five |= (uint64_t)load32(p + t.bytes + t.codes - 4) << 32;
		v = _mm512_mask_add_epi8(v, five, v, _mm512_set1_epi8(16));
	}
	return v;
}

INLINE __m512i
q8_64(const uint8_t *p, uint32_t n)
{
	__m256i a = _mm256_loadu_si256((const void *)(p + 2)), b = _mm256_setzero_si256();

	if (n > 32)
		b = _mm256_loadu_si256((const void *)(p + 36));
	return _mm512_xor_si512(two(a, b), _mm512_set1_epi8((char)0x80));
}

/* Quarter k of a block of 256. */
INLINE __m512i
k64(unsigned ggml, const uint8_t *p, unsigned k)
{
	const __m512i fifteen = _mm512_set1_epi8(15), three = _mm512_set1_epi8(3);
	const uint8_t *q = p + (ggml == GGML_Q2_K ? 16 + k / 2 * 32 : ggml == GGML_Q3_K
				? 32 + k / 2 * 32 : ggml == GGML_Q6_K ? k / 2 * 64
				: (ggml == GGML_Q5_K ? 48 : 16) + k * 32);
	__m256i v = _mm256_loadu_si256((const void *)q), high;
	__m512i all, pairs;

	switch (ggml) {
	case GGML_Q4_K:
		return _mm512_and_si512(shifted(v, 0, 4), fifteen);
	case GGML_Q5_K:
		all = _mm512_and_si512(shifted(v, 0, 4), fifteen);
		high = _mm256_loadu_si256((const void *)(p + 16));
		pairs = _mm512_and_si512(shifted(high, 2 * k, 2 * k + 1), _mm512_set1_epi8(1));
		return _mm512_or_si512(all, _mm512_slli_epi16(pairs, 4));
	case GGML_Q6_K:
		all = _mm512_loadu_si512(q);
		all = _mm512_and_si512(k % 2 ? _mm512_srli_epi16(all, 4) : all, fifteen);
		high = _mm256_loadu_si256((const void *)(p + 128 + k / 2 * 32));
		pairs = _mm512_and_si512(shifted(high, k % 2 * 4, k % 2 * 4 + 2), three);
		return _mm512_or_si512(all, _mm512_slli_epi16(pairs, 4));
	case GGML_Q3_K:
		all = _mm512_and_si512(shifted(v, k % 2 * 4, k % 2 * 4 + 2), three);
		high = _mm256_loadu_si256((const void *)p);
		pairs = _mm512_and_si512(shifted(high, 2 * k, 2 * k + 1), _mm512_set1_epi8(1));
		return _mm512_or_si512(all, _mm512_slli_epi16(pairs, 2));
	default:
		return _mm512_and_si512(shifted(v, k % 2 * 4, k % 2 * 4 + 2), three);
	}
}

INLINE bool
of_book(unsigned ggml)
{
	return has_signs(ggml) || ggml == GGML_IQ1_S || ggml == GGML_IQ1_M;
}

/* Quarter k of a block of points; all of it is read. */
INLINE __m512i
points64(unsigned ggml, const uint8_t *p, unsigned k)
{
	const char most = ggml == GGML_IQ3_XXS ? 62 : ggml == GGML_IQ3_S ? 15 : 43;
	const __m512i off = _mm512_set1_epi8(most);
	struct points b;

	load_points(ggml, p, &b);
	if (!has_signs(ggml))
		return b.codes[k];
	return _mm512_mask_sub_epi8(_mm512_add_epi8(off, b.codes[k]), b.signs[k], off, b.codes[k]);
}

/* Codes from column col on, a multiple of 64; those behind the row's n are anything. */
INLINE __m512i
codes64(struct mm_type t, const uint8_t *row, uint32_t col, uint32_t n)
{
	switch (t.kind) {
	case SCHEME_AFFINE:
		return t.bits == 4 ? nibbles64(row + col / 2, n)
				   : bits64(t.bits, row + (size_t)col / 8 * t.bits, n);
	case SCHEME_MXFP4:
	case SCHEME_NVFP4:
		return to_bytes(GGML_MXFP4, nibbles64(row + col / 2, n));
	default:
		if (t.ggml == GGML_IQ4_XS)
			return halves64((struct mm_type){ SCHEME_GGML, 0, t.ggml, 16, 8 },
					row + col / 256 * MM_XS_BYTES + col % 256 / 2, n);
		if (of_book(t.ggml))
			return points64(t.ggml, row + (size_t)col / 256 * t.bytes, col % 256 / 64);
		if (t.bytes > 34)
			return k64(t.ggml, row + (size_t)col / 256 * t.bytes, col % 256 / 64);
		row += (size_t)col / 32 * t.bytes;
		return t.ggml == GGML_Q8_0 ? q8_64(row, n) : halves64(t, row, n);
	}
}

struct mm_factors { __m512 scale, bias; };

/* Of one or two blocks of 256 in groups of 32. */
INLINE struct mm_factors
eights(struct mm_type t, const uint8_t *p, uint32_t n)
{
	__m256 scale[2] = { _mm256_setzero_ps(), _mm256_setzero_ps() }, bias[2] = { scale[0], scale[0] };

	for (unsigned k = 0; k < n / 8; k++, p += t.bytes) {
		__m128 d = halves(p);
		__m128i sm;

		if (t.ggml == GGML_IQ4_XS) {
			scale[k] = _mm256_mul_ps(_mm512_castps512_ps256(scales_xs(p)),
						 _mm256_broadcastss_ps(d));
			continue;
		}
		sm = scales_minima(p);
		scale[k] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(sm)),
					 _mm256_broadcastss_ps(d));
		sm = _mm_unpackhi_epi64(sm, sm);
		d = _mm_sub_ps(_mm_setzero_ps(), _mm_shuffle_ps(d, d, 0x55));
		bias[k] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(sm)),
					_mm256_broadcastss_ps(d));
	}
	return (struct mm_factors){ _mm512_insertf32x8(_mm512_castps256_ps512(scale[0]), scale[1], 1),
				 _mm512_insertf32x8(_mm512_castps256_ps512(bias[0]), bias[1], 1) };
}

/* Of a block of 256 in groups of 16. */
INLINE struct mm_factors
sixteens(unsigned ggml, const uint8_t *p)
{
	const uint8_t *at = p + (ggml == GGML_Q2_K ? 80 : ggml == GGML_Q3_K ? 106 : 206);
	__m128 d = _mm_cvtph_ps(_mm_srli_epi64(_mm_cvtsi32_si128((int)load32(at)), ggml == GGML_Q2_K
					       ? 0 : 16));
	__m128i v = _mm_loadu_si128((const void *)(p + (ggml == GGML_Q6_K ? 192 : 0)));
	__m512 scale, bias = _mm512_setzero_ps();
	struct points b;

	if (of_book(ggml)) {
		load_points(ggml, p, &b);
		scale = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(b.scales));
		return (struct mm_factors){ _mm512_mul_ps(scale, _mm512_set1_ps(b.d)), bias };
	}
	if (ggml == GGML_Q2_K) {
		__m512i m = _mm512_cvtepu8_epi32(_mm_and_si128(_mm_srli_epi16(v, 4),
							       _mm_set1_epi8(15)));

		v = _mm_and_si128(v, _mm_set1_epi8(15));
		bias = _mm512_mul_ps(_mm512_cvtepi32_ps(m),
				     _mm512_broadcastss_ps(_mm_shuffle_ps(d, d, 0x55)));
		bias = _mm512_sub_ps(_mm512_setzero_ps(), bias);
	}
	if (ggml == GGML_Q3_K)
		v = scales_q3(p + 96);
	scale = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(v));
	return (struct mm_factors){ _mm512_mul_ps(scale, _mm512_broadcastss_ps(d)), bias };
}

/* Of groups [group, group + n), n <= 16, of row r. */
INLINE struct mm_factors
factors16(struct mm_type t, const struct matrix *w, uint32_t r, uint32_t group, uint32_t n)
{
	const __mmask16 mask = group_mask(n);
	const size_t at = (size_t)w->cols / w->scheme.group * r + group;
	const uint8_t *p = w->codes;
	__m512i heads;

	switch (t.kind) {
	case SCHEME_AFFINE:
		return (struct mm_factors){
			load_scales(w->scale_dtype, w->scales + at * mv_scale_size(w->scale_dtype), mask),
			load_scales(w->scale_dtype, w->biases + at * mv_scale_size(w->scale_dtype), mask),
		};
	case SCHEME_MXFP4:	/* codes stand for twice the value */
		return (struct mm_factors){ _mm512_mul_ps(load_e8m0(w->scales + at, mask),
						       _mm512_set1_ps(0.5f)), _mm512_setzero_ps() };
	case SCHEME_NVFP4:
		return (struct mm_factors){ _mm512_mul_ps(load_e4m3(w->scales + at, mask),
						       _mm512_set1_ps(0.5f)), _mm512_setzero_ps() };
	default:
		break;
	}
	if (t.bytes > 34) {
		bool wide = t.ggml == GGML_Q4_K || t.ggml == GGML_Q5_K || t.ggml == GGML_IQ4_XS;

		p += ((size_t)w->cols / 256 * r + group / (wide ? 8 : 16)) * t.bytes;
		return wide ? eights(t, p, n) : sixteens(t.ggml, p);
	}
	heads = load_heads(p + at * t.bytes, t.bytes, n);
	return (struct mm_factors){ t.ggml == GGML_MXFP4 ? half_e8m0(heads) : low_halves(heads),
				 low_halves(_mm512_srli_epi32(heads, 16)) };
}
#endif
