/* ggml_iq.c - blocks of 256 whose groups of eight or four elements are points of a code
 * book, with scales for 8 to 32 elements and signs or offsets apart. */
#include "config.h"

#include "src/quant/ggml_blocks.h"
#include "src/quant/ggml_books.h"

static const float iq2_level[] = { 8, 25, 43, 0 };	/* no point has code 3 */
static const float iq3_xxs_level[] = { 4, 12, 20, 28, 36, 44, 52, 62 };
static const float iq3_s_level[] = { 1, 3, 5, 7, 9, 11, 13, 15 };

static unsigned
u16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static uint32_t
u32(const uint8_t *p)
{
	return u16(p) | (uint32_t)u16(p + 2) << 16;
}

/* Seven signs are stored; the eighth makes their number even. */
static unsigned
even_signs(unsigned seven)
{
	return seven | (unsigned)__builtin_parity(seven) << 7;
}

/* n coordinates of so many bits each. */
static void
point(unsigned entry, unsigned bits, int n, const float *level, unsigned signs, float d,
      float *out)
{
	for (int j = 0; j < n; j++) {
		float v = d * level[entry >> bits * (unsigned)j & ((1u << bits) - 1)];

		out[j] = v * (signs >> j & 1 ? -1.0f : 1.0f);
	}
}

/* Two scales of four bits a byte. */
static float
half_scale(float d, const uint8_t *scales, int i)
{
	return d * (0.5f + (float)(scales[i / 2] >> i % 2 * 4 & 15)) * 0.25f;
}

/* d; eight times four bytes of indices and 4 x 7 signs under a scale. */
void
ggml_iq2_xxs(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++) {
		const uint8_t *q = p + 2 + i / 4 * 8;
		uint32_t signs = u32(q + 4);
		float db = d * (0.5f + (float)(signs >> 28)) * 0.25f;

		point(ggml_iq2_xxs_book[q[i % 4]], 2, 8, iq2_level,
		      even_signs(signs >> i % 4 * 7 & 127), db, out + i * 8);
	}
}

/* d; 32 times 9 bits of index and 7 signs; scales. */
void
ggml_iq2_xs(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++) {
		unsigned q = u16(p + 2 + i * 2);

		point(ggml_iq2_xs_book[q & 511], 2, 8, iq2_level, even_signs(q >> 9),
		      half_scale(d, p + 66, i / 2), out + i * 8);
	}
}

/* d; 32 low bytes of indices; 32 bytes of signs; 8 of two high bits each; scales. */
void
ggml_iq2_s(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++) {
		unsigned q = p[2 + i] | (unsigned)(p[66 + i / 4] >> i % 4 * 2 & 3) << 8;

		point(ggml_iq2_s_book[q], 2, 8, iq2_level, p[34 + i],
		      half_scale(d, p + 74, i / 2), out + i * 8);
	}
}

/* d; 64 indices; eight times 4 x 7 signs under a scale. */
void
ggml_iq3_xxs(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 64; i++) {
		uint32_t signs = u32(p + 66 + i / 8 * 4);
		float db = d * (0.5f + (float)(signs >> 28)) * 0.5f;
		unsigned s = even_signs(signs >> i % 8 / 2 * 7 & 127);

		point(ggml_iq3_xxs_book[p[2 + i]], 3, 4, iq3_xxs_level, s >> i % 2 * 4, db,
		      out + i * 4);
	}
}

/* d; 64 low bytes of indices; 8 bytes of their ninth bits; 32 of signs; scales. */
void
ggml_iq3_s(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 64; i++) {
		unsigned q = p[2 + i] | (unsigned)(p[66 + i / 8] >> i % 8 & 1) << 8;
		float db = d * (float)(1 + 2 * (p[106 + i / 16] >> i / 8 % 2 * 4 & 15));

		point(ggml_iq3_s_book[q], 3, 4, iq3_s_level, p[74 + i / 2] >> i % 2 * 4, db,
		      out + i * 4);
	}
}

/* Coordinates -1, 0, 1, moved by an eighth. */
static void
ternary(unsigned entry, float delta, float d, float *out)
{
	for (int j = 0; j < 8; j++)
		out[j] = d * ((float)((int)(entry >> 2 * j & 3) - 1) + delta);
}

/* d; 32 low bytes of indices; eight times 4 x 3 high bits, a scale, the offset's sign. */
void
ggml_iq1_s(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++) {
		unsigned high = u16(p + 34 + i / 4 * 2);
		unsigned q = p[2 + i] | (high >> i % 4 * 3 & 7) << 8;
		float dl = d * (float)(2 * (high >> 12 & 7) + 1);

		ternary(ggml_iq1_book[q], high & 0x8000 ? -0.125f : 0.125f, dl, out + i * 8);
	}
}

/* 32 low bytes; 32 nibbles of three high bits and an offset's sign; sixteen scales of
 * three bits, four in a word, whose high nibbles together are d. */
void
ggml_iq1_m(const uint8_t *p, float *out)
{
	const uint8_t *sc = p + 48;
	uint8_t half[2] = { (uint8_t)(sc[1] >> 4 | (sc[3] & 0xf0)),
			    (uint8_t)(sc[5] >> 4 | (sc[7] & 0xf0)) };
	float d = ggml_half(half);

	for (int i = 0; i < 32; i++) {
		unsigned high = p[32 + i / 2] >> i % 2 * 4, q = p[i] | (high & 7) << 8;
		unsigned scale = u16(sc + i / 8 * 2) >> i / 2 % 4 * 3 & 7;
		float dl = d * (float)(2 * scale + 1);

		ternary(ggml_iq1_book[q], high & 8 ? -0.125f : 0.125f, dl, out + i * 8);
	}
}
