/* sha256_avx512.c - sixteen streams in the lanes of AVX-512, which turns words and combines
 * three in one instruction each. */
#include "config.h"

#include "src/base/sha256_lanes.h"

#ifdef HAVE_X86
#include <immintrin.h>

#define VECTOR __attribute__((target("avx512f,avx512bw")))
#define LANES 16
typedef __m512i vec;

#define vec_load(p) _mm512_load_si512(p)
#define vec_store(p, v) _mm512_store_si512(p, v)
#define vec_all(word) _mm512_set1_epi32((int)(word))
#define vec_add(a, b) _mm512_add_epi32(a, b)
#define vec_ror(a, n) _mm512_ror_epi32(a, n)
#define vec_shr(a, n) _mm512_srli_epi32(a, n)
#define vec_xor3(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0x96)
#define vec_choose(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0xca)	/* a ? b : c */
#define vec_majority(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0xe8)

/* Rows become columns: words, pairs, quarters, halves. */
VECTOR static inline __attribute__((always_inline)) void
transpose(vec r[16])
{
	vec t[16];

#pragma GCC unroll 8
	for (unsigned i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 16; i += 4) {
		r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

VECTOR static inline __attribute__((always_inline)) void
words_load(vec w[16], const uint8_t *const data[], size_t at)
{
	const vec big_endian = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b,
								     0x0405060700010203));

#pragma GCC unroll 16
	for (unsigned lane = 0; lane < LANES; lane++) {
		w[lane] = _mm512_shuffle_epi8(_mm512_loadu_si512(data[lane] + at), big_endian);
		_mm_prefetch(data[lane] + at + SHA_AHEAD, _MM_HINT_T0);
	}
	transpose(w);
}

#include "src/base/sha256_rounds.h"

VECTOR void
sha_avx512_16(uint32_t state[][8], const uint8_t *const data[], size_t blocks)
{
	compress(state, data, blocks);
}
#endif
