/* ggml_simd.h - the decoders of ggml's types that people use, the same operations in
 * the same order as in ggml_nibble.c, ggml_k.c and ggml_table.c, LANES at a time. */

SIMD float g_half(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, 2);
	return _cvtsh_ss(h);
}

/* Bytes with a sign. */
SIMD vi g_load_i8(const uint8_t *p)
{
	vi v = i_and(i_add(i_load_u8(p), i_set(128)), i_set(255));

	return i_sub(v, i_set(128));
}

/* 16 where a bit is set, from bit 0 on. */
SIMD vi g_fifth(uint32_t bits)
{
	static const uint32_t places[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768
	};
	vi set = i_and(i_set(bits), i_load(places));

	return i_pick(i_gt(set, i_set(0)), i_set(16), i_set(0));
}

/* (code - off) * d + m */
SIMD void g_put(vi code, int off, vf d, const vf *m, float *out)
{
	vf v = v_mul(v_from_i(i_sub(code, i_set((uint32_t)off))), d);

	v_store_f32(out, m ? v_add(v, *m) : v);
}

/* A scale, a minimum if there is one, fifth bits if there are. */
SIMD void g_nibbles(const uint8_t *p, int off, int minimum, int five, float *out)
{
	const vf d = v_set(g_half(p)), m = v_set(minimum ? g_half(p + 2) : 0);
	const uint8_t *q = p + 2 + 2 * minimum + 4 * five;
	uint32_t bits = 0;

	if (five)
		memcpy(&bits, q - 4, 4);
	UNROLL for (unsigned j = 0; j < 16; j += LANES) {
		vi c = i_load_u8(q + j), low = i_and(c, i_set(15)), high = i_right(c, 4);

		if (five) {
			low = i_or(low, g_fifth(bits >> j));
			high = i_or(high, g_fifth(bits >> (16 + j)));
		}
		g_put(low, off, d, minimum ? &m : 0, out + j);
		g_put(high, off, d, minimum ? &m : 0, out + 16 + j);
	}
}

SIMD void g_q8_0(const uint8_t *p, float *out)
{
	const vf d = v_set(g_half(p));

	UNROLL for (unsigned j = 0; j < 32; j += LANES)
		v_store_f32(out + j, v_mul(v_from_i(g_load_i8(p + 2 + j)), d));
}

SIMD void g_scale_min(const uint8_t *s, unsigned j, int *scale, int *min)
{
	*scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
	*min = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
}

SIMD void g_q45_k(const uint8_t *p, int five, float *out)
{
	const uint8_t *q = p + (five ? 48 : 16), *high = p + 16;
	float d = g_half(p), dmin = g_half(p + 2);

	for (unsigned j = 0; j < 8; j++, out += 32) {
		int scale, min;
		vf dl, ml;

		g_scale_min(p + 4, j, &scale, &min);
		dl = v_set(d * (float)scale);
		ml = v_set(dmin * (float)min);
		UNROLL for (unsigned l = 0; l < 32; l += LANES) {
			vi c = i_load_u8(q + j / 2 * 32 + l), f;

			c = i_and(j % 2 ? i_right(c, 4) : c, i_set(15));
			if (five) {
				f = i_and(i_right(i_load_u8(high + l), (int)j), i_set(1));
				c = i_or(c, i_left(f, 4));
			}
			v_store_f32(out + l, v_sub(v_mul(dl, v_from_i(c)), ml));
		}
	}
}

SIMD void g_q6_k(const uint8_t *p, float *out)
{
	float d = g_half(p + 208);

	for (unsigned run = 0; run < 8; run++) {
		const uint8_t *c = p + run / 4 * 64 + run % 2 * 32, *h = p + 128 + run / 4 * 32;

		UNROLL for (unsigned l = 0; l < 32; l += LANES, out += LANES) {
			float scale = (float)(int8_t)p[192 + run * 2 + l / 16];
			vi v = i_and(i_right(i_load_u8(c + l), run % 4 / 2 * 4), i_set(15));
			vi f = i_and(i_right(i_load_u8(h + l), run % 4 * 2), i_set(3));

			v = i_sub(i_or(v, i_left(f, 4)), i_set(32));
			v_store_f32(out, v_mul(v_set(d * scale), v_from_i(v)));
		}
	}
}

/* 16 bytes of nibbles: element j is low in byte j, j + 16 high. */
SIMD void g_look_up(const float table[16], const uint8_t *q, float scale, float *out)
{
	const vf d = v_set(scale);

	UNROLL for (unsigned j = 0; j < 16; j += LANES) {
		vi c = i_load_u8(q + j);

		v_store_f32(out + j, v_mul(d, v_look_up16(table, i_and(c, i_set(15)))));
		v_store_f32(out + 16 + j, v_mul(d, v_look_up16(table, i_right(c, 4))));
	}
}

static const float g_nonlinear[16] = {
	-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
};
static const float g_e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

SIMD void g_iq4_xs(const uint8_t *p, float *out)
{
	float d = g_half(p);
	unsigned high = p[2] | (unsigned)p[3] << 8;

	for (unsigned g = 0; g < 8; g++) {
		int scale = (p[4 + g / 2] >> g % 2 * 4 & 15) | (int)(high >> 2 * g & 3) << 4;

		g_look_up(g_nonlinear, p + 8 + g * 16, d * (float)(scale - 32), out + g * 32);
	}
}

SIMD void g_mxfp4(const uint8_t *p, float *out)
{
	uint32_t bits = *p < 2 ? 0x00200000u << *p : (uint32_t)(*p - 1) << 23;
	float d;

	memcpy(&d, &bits, 4);
	g_look_up(g_e2m1, p + 1, d, out);
}

#define BLOCKS(type, block, bytes, call) \
	case type: \
		for (; done + block <= n; done += block, p += bytes, out += block) \
			call; \
		break
/* How many elements were done: 0 for other types. */
static size_t
ggml_simd(unsigned type, const void *src, size_t n, float *out)
{
	const uint8_t *p = src;
	size_t done = 0;

	switch (type) {
	BLOCKS(GGML_Q8_0, 32, 34, g_q8_0(p, out));
	BLOCKS(GGML_Q4_0, 32, 18, g_nibbles(p, 8, 0, 0, out));
	BLOCKS(GGML_Q4_1, 32, 20, g_nibbles(p, 0, 1, 0, out));
	BLOCKS(GGML_Q5_0, 32, 22, g_nibbles(p, 16, 0, 1, out));
	BLOCKS(GGML_Q5_1, 32, 24, g_nibbles(p, 0, 1, 1, out));
	BLOCKS(GGML_Q4_K, 256, 144, g_q45_k(p, 0, out));
	BLOCKS(GGML_Q5_K, 256, 176, g_q45_k(p, 1, out));
	BLOCKS(GGML_Q6_K, 256, 210, g_q6_k(p, out));
	BLOCKS(GGML_IQ4_NL, 32, 18, g_look_up(g_nonlinear, p + 2, g_half(p), out));
	BLOCKS(GGML_IQ4_XS, 256, 136, g_iq4_xs(p, out));
	BLOCKS(GGML_MXFP4, 32, 17, g_mxfp4(p, out));
	default:
		break;
	}
	return done;
}
#undef BLOCKS
