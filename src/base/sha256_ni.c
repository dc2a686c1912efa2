/* sha256_ni.c - streams side by side with the instructions that x86 has for SHA-256: one
 * has to wait for the last, so that two to eight streams take turns. */
#include "config.h"

#include "src/base/sha256_lanes.h"

#ifdef HAVE_X86
#include <immintrin.h>

#define VECTOR __attribute__((target("sha,sse4.1")))

/* The registers hold the state as A B E F and C D G H, from high to low. */
struct halves { __m128i abef, cdgh; };

VECTOR static inline __attribute__((always_inline)) struct halves
halves_load(const uint32_t state[8])
{
	__m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i_u *)state), 0xb1);
	__m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i_u *)(state + 4)), 0x1b);

	return (struct halves){ _mm_alignr_epi8(badc, efgh, 8), _mm_blend_epi16(efgh, badc, 0xf0) };
}

VECTOR static inline __attribute__((always_inline)) void
halves_store(uint32_t state[8], struct halves h)
{
	__m128i feba = _mm_shuffle_epi32(h.abef, 0x1b), dchg = _mm_shuffle_epi32(h.cdgh, 0xb1);

	_mm_storeu_si128((__m128i_u *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i_u *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Four rounds, and the four words that are needed twelve rounds later. */
VECTOR static inline __attribute__((always_inline)) void
four_rounds(struct halves *h, __m128i w[4], unsigned r)
{
	const __m128i_u *k = (const __m128i_u *)(sha_round_constants + 4 * r);
	__m128i x = _mm_add_epi32(w[r % 4], _mm_loadu_si128(k)), next;

	h->cdgh = _mm_sha256rnds2_epu32(h->cdgh, h->abef, x);
	x = _mm_shuffle_epi32(x, 0x0e);
	h->abef = _mm_sha256rnds2_epu32(h->abef, h->cdgh, x);
	if (r >= 12)
		return;
	next = _mm_sha256msg1_epu32(w[r % 4], w[(r + 1) % 4]);
	next = _mm_add_epi32(next, _mm_alignr_epi8(w[(r + 3) % 4], w[(r + 2) % 4], 4));
	w[r % 4] = _mm_sha256msg2_epu32(next, w[(r + 3) % 4]);
}

VECTOR static inline __attribute__((always_inline)) void
compress(uint32_t state[][8], const uint8_t *const data[], size_t blocks, const unsigned streams)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	struct halves h[8];

	for (unsigned s = 0; s < streams; s++)
		h[s] = halves_load(state[s]);
	for (size_t b = 0; b < blocks; b++) {
		struct halves was[8];
		__m128i w[8][4];

#pragma GCC unroll 8
		for (unsigned s = 0; s < streams; s++) {
			const __m128i_u *p = (const __m128i_u *)(data[s] + b * SHA_BLOCK);

			was[s] = h[s];
			_mm_prefetch(data[s] + b * SHA_BLOCK + SHA_AHEAD, _MM_HINT_T0);
#pragma GCC unroll 4
			for (unsigned i = 0; i < 4; i++)
				w[s][i] = _mm_shuffle_epi8(_mm_loadu_si128(p + i), big_endian);
		}
#pragma GCC unroll 16
		for (unsigned r = 0; r < 16; r++)
#pragma GCC unroll 8
			for (unsigned s = 0; s < streams; s++)
				four_rounds(&h[s], w[s], r);
#pragma GCC unroll 8
		for (unsigned s = 0; s < streams; s++) {
			h[s].abef = _mm_add_epi32(h[s].abef, was[s].abef);
			h[s].cdgh = _mm_add_epi32(h[s].cdgh, was[s].cdgh);
		}
	}
	for (unsigned s = 0; s < streams; s++)
		halves_store(state[s], h[s]);
}

#define KERNEL(n) \
	VECTOR void \
	sha_ni_##n(uint32_t state[][8], const uint8_t *const data[], size_t blocks) \
	{ \
		compress(state, data, blocks, n); \
	}
KERNEL(2)
KERNEL(3)
KERNEL(4)
KERNEL(8)
#endif
