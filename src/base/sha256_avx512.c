/* sha256_avx512.c - sixteen streams in the lanes of AVX-512, which turns words and combines
 * three in one instruction each. */
#include "config.h"

#include "src/base/sha256_lanes.h"

#ifdef HAVE_X86
#include <immintrin.h>

#include "src/base/transpose_avx512.h"

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
	transpose_avx512(w);
}

#include "src/base/sha256_rounds.h"

VECTOR void
sha_avx512_16(uint32_t state[][8], const uint8_t *const data[], size_t blocks)
{
	compress(state, data, blocks);
}
#endif
