/* sha256_rounds.h - SHA-256 in the lanes of vectors, a stream a lane; included by a file a
 * kind of vector, which says what VECTOR, LANES and vec are and how they are loaded, added,
 * turned and chosen from. */

/* state[lane][word] to one vector a word, and back. */
VECTOR static inline void
state_load(vec h[8], uint32_t state[][8])
{
	uint32_t word[LANES] __attribute__((aligned(64)));

	for (unsigned i = 0; i < 8; i++) {
		for (unsigned lane = 0; lane < LANES; lane++)
			word[lane] = state[lane][i];
		h[i] = vec_load(word);
	}
}

VECTOR static inline void
state_store(uint32_t state[][8], const vec h[8])
{
	uint32_t word[LANES] __attribute__((aligned(64)));

	for (unsigned i = 0; i < 8; i++) {
		vec_store(word, h[i]);
		for (unsigned lane = 0; lane < LANES; lane++)
			state[lane][i] = word[lane];
	}
}

/* The word that takes the place of w[i % 16], sixteen rounds later. */
VECTOR static inline __attribute__((always_inline)) vec
next_word(const vec w[16], unsigned i)
{
	vec x = w[(i - 15) % 16], y = w[(i - 2) % 16];
	vec s0 = vec_xor3(vec_ror(x, 7), vec_ror(x, 18), vec_shr(x, 3));
	vec s1 = vec_xor3(vec_ror(y, 17), vec_ror(y, 19), vec_shr(y, 10));

	return vec_add(vec_add(w[i % 16], s0), vec_add(w[(i - 7) % 16], s1));
}

/* One block of each lane: words_load() puts word i of all of them into w[i]. */
VECTOR static inline __attribute__((always_inline)) void
block(vec h[8], vec w[16])
{
	vec a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];

#pragma GCC unroll 64
	for (unsigned i = 0; i < 64; i++) {
		vec t1, t2;

		if (i >= 16)
			w[i % 16] = next_word(w, i);
		t1 = vec_add(last, vec_xor3(vec_ror(e, 6), vec_ror(e, 11), vec_ror(e, 25)));
		t1 = vec_add(t1, vec_add(vec_choose(e, f, g),
					 vec_add(w[i % 16], vec_all(sha_round_constants[i]))));
		t2 = vec_add(vec_xor3(vec_ror(a, 2), vec_ror(a, 13), vec_ror(a, 22)),
			     vec_majority(a, b, c));
		last = g;
		g = f;
		f = e;
		e = vec_add(d, t1);
		d = c;
		c = b;
		b = a;
		a = vec_add(t1, t2);
	}
	h[0] = vec_add(h[0], a);
	h[1] = vec_add(h[1], b);
	h[2] = vec_add(h[2], c);
	h[3] = vec_add(h[3], d);
	h[4] = vec_add(h[4], e);
	h[5] = vec_add(h[5], f);
	h[6] = vec_add(h[6], g);
	h[7] = vec_add(h[7], last);
}

VECTOR static inline __attribute__((always_inline)) void
compress(uint32_t state[][8], const uint8_t *const data[], size_t blocks)
{
	vec h[8], w[16];

	state_load(h, state);
	for (size_t i = 0; i < blocks; i++) {
		words_load(w, data, i * SHA_BLOCK);
		block(h, w);
	}
	state_store(state, h);
}
