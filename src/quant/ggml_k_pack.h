/* ggml_k_pack.h - private to src/quant: one super-block's bytes. */

SIMD float k_half(float f, uint8_t *out)
{
	uint16_t h = tb_f32_f16(f);

	out[0] = (uint8_t)h;
	out[1] = (uint8_t)(h >> 8);
	return tb_f16_f32(h);
}

/* The codes of group j with the scale that was stored; with none, those of the search. */
struct k_group { unsigned first, n; int low, high; };

SIMD void k_codes(const struct k_batch *b, unsigned s, struct k_group g, float d, float m,
		  uint8_t *code)
{
	struct k_range range = k_range(g.low, g.high);
	const vi low = i_set((uint32_t)g.low);

	if (d == 0) {
		for (unsigned i = g.first; i < g.first + g.n; i++)
			code[i] = b->code[i][s];
		return;
	}
	for (unsigned i = g.first; i < g.first + g.n; i += LANES) {
		vf q = v_div(v_add(v_load_f32(b->src[s] + i), v_set(m)), v_set(d));

		i_store_u8(code + i, k_byte(i_sub(k_near(q, range), low)));
	}
}

/* Bit `bit` of codes that lie 32 apart, in a byte. */
SIMD void k_pack_bit(const uint8_t *code, unsigned bit, uint8_t out[32])
{
	memset(out, 0, 32);
	for (unsigned j = 0; j < 8; j++)
		_Pragma("omp simd")
		for (unsigned l = 0; l < 32; l++)
			out[l] |= (uint8_t)((code[32 * j + l] >> bit & 1) << j);
}

/* 128 codes of two bits in 32 bytes, those 32 apart in one. */
SIMD void k_pack_two(const uint8_t *code, uint8_t *out)
{
	for (unsigned i = 0; i < 256; i += 128)
		_Pragma("omp simd")
		for (unsigned l = 0; l < 32; l++) {
			const uint8_t *c = code + i + l;

			out[i / 4 + l] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 |
						   (c[64] & 3) << 4 | c[96] << 6);
		}
}

SIMD void k_pack_four(const uint8_t *code, uint8_t *out)
{
	for (unsigned i = 0; i < 256; i += 64)
		_Pragma("omp simd")
		for (unsigned l = 0; l < 32; l++) {
			const uint8_t *c = code + i + l;

			out[i / 2 + l] = (uint8_t)((c[0] & 15) | c[32] << 4);
		}
}

static void
k_pack_q2(const struct k_batch *b, unsigned s, uint8_t *out)
{
	uint8_t code[K_BLOCK];
	float d = k_half(b->d[s], out + 80), dmin = k_half(b->dmin[s], out + 82);

	for (unsigned j = 0; j < 16; j++) {
		out[j] = (uint8_t)(b->ls[j][s] | b->lm[j][s] << 4);
		k_codes(b, s, (struct k_group){ 16 * j, 16, 0, 3 },
			d * (float)(out[j] & 15), dmin * (float)(out[j] >> 4), code);
	}
	k_pack_two(code, out + 16);
}

static void
k_pack_q3(const struct k_batch *b, unsigned s, uint8_t *out)
{
	uint8_t code[K_BLOCK], *scales = out + 96;
	float d = k_half(b->d[s], out + 108);

	memset(scales, 0, 12);
	for (unsigned j = 0; j < 16; j++) {
		unsigned l = b->ls[j][s];

		scales[j % 8] |= (uint8_t)((l & 15) << j / 8 * 4);
		scales[8 + j % 4] |= (uint8_t)(l >> 4 << j / 4 * 2);
		k_codes(b, s, (struct k_group){ 16 * j, 16, -4, 3 },
			d * (float)((int)(l & 63) - 32), 0, code);
	}
	k_pack_bit(code, 2, out);
	k_pack_two(code, out + 32);
}

/* Scales and minima as ggml_scale_min() takes them apart. */
SIMD void k_pack_scales(const struct k_batch *b, unsigned s, uint8_t *out)
{
	for (unsigned j = 0; j < 8; j++) {
		uint32_t ls = b->ls[j][s], lm = b->lm[j][s];

		if (j < 4) {
			out[j] = (uint8_t)ls;
			out[j + 4] = (uint8_t)lm;
		} else {
			out[j + 4] = (uint8_t)((ls & 15) | (lm & 15) << 4);
			out[j - 4] |= (uint8_t)(ls >> 4 << 6);
			out[j] |= (uint8_t)(lm >> 4 << 6);
		}
	}
}

/* Q4_K's and Q5_K's first 16 bytes, and the codes. */
SIMD void k_codes_min(const struct k_batch *b, unsigned s, int most, uint8_t *out,
		      uint8_t *code)
{
	float d = k_half(b->d[s], out), dmin = k_half(b->dmin[s], out + 2);

	k_pack_scales(b, s, out + 4);
	for (int j = 0; j < 8; j++) {
		int scale, min;

		ggml_scale_min(out + 4, j, &scale, &min);
		k_codes(b, s, (struct k_group){ 32 * (unsigned)j, 32, 0, most },
			d * (float)scale, dmin * (float)min, code);
	}
}

static void
k_pack_q4(const struct k_batch *b, unsigned s, uint8_t *out)
{
	uint8_t code[K_BLOCK];

	k_codes_min(b, s, 15, out, code);
	k_pack_four(code, out + 16);
}

static void
k_pack_q5(const struct k_batch *b, unsigned s, uint8_t *out)
{
	uint8_t code[K_BLOCK];

	k_codes_min(b, s, 31, out, code);
	k_pack_bit(code, 4, out + 16);
	k_pack_four(code, out + 48);
}

static void
k_pack_q6(const struct k_batch *b, unsigned s, uint8_t *out)
{
	uint8_t code[K_BLOCK];
	float d;

	if (b->d[s] == 0) {
		memset(out, 0, 210);
		return;
	}
	d = k_half(b->d[s], out + 208);
	for (unsigned j = 0; j < 16; j++) {
		out[192 + j] = (uint8_t)b->ls[j][s];
		k_codes(b, s, (struct k_group){ 16 * j, 16, -32, 31 },
			d * (float)(int8_t)out[192 + j], 0, code);
	}
	for (unsigned i = 0; i < 256; i += 128)
		_Pragma("omp simd")
		for (unsigned l = 0; l < 32; l++) {
			const uint8_t *c = code + i + l;

			out[i / 2 + l] = (uint8_t)((c[0] & 15) | c[64] << 4);
			out[i / 2 + l + 32] = (uint8_t)((c[32] & 15) | c[96] << 4);
			out[128 + i / 4 + l] = (uint8_t)(c[0] >> 4 | (c[32] & 48) >> 2 |
							(c[64] & 48) | (c[96] & 48) << 2);
		}
}
