/* ggml_k.c - blocks of 256: a scale (and one for minima) in F16 for the small integers
 * that scale 16 or 32 elements each. */
#include "config.h"

#include <stddef.h>

#include "src/quant/ggml_blocks.h"

/* 16 bytes (scale low, minimum high), 64 of codes, d, dmin.  128 elements are four runs
 * of 32 bytes' two bits each. */
void
ggml_q2_k(const uint8_t *p, float *out)
{
	const uint8_t *sc = p, *q = p + 16;
	float d = ggml_half(p + 80), dmin = ggml_half(p + 82);

	for (int g = 0; g < 16; g++) {
		float dl = d * (float)(sc[g] & 15), ml = dmin * (float)(sc[g] >> 4);
		const uint8_t *c = q + g / 8 * 32 + g % 2 * 16;
		int shift = g % 8 / 2 * 2;

		for (int l = 0; l < 16; l++)
			*out++ = dl * (float)(c[l] >> shift & 3) - ml;
	}
}

/* 32 bytes of third bits (one not set takes 4 off), 64 of codes, 12 of scales, d. */
void
ggml_q3_k(const uint8_t *p, float *out)
{
	const uint8_t *high = p, *q = p + 32, *sc = p + 96;
	float d = ggml_half(p + 108);

	for (int g = 0; g < 16; g++) {
		int scale = (g < 8 ? sc[g] & 15 : sc[g - 8] >> 4) |
			    (sc[8 + g % 4] >> g / 4 * 2 & 3) << 4;
		const uint8_t *c = q + g / 8 * 32 + g % 2 * 16, *h = high + g % 2 * 16;
		float dl = d * (float)(scale - 32);

		for (int l = 0; l < 16; l++) {
			int v = (c[l] >> g % 8 / 2 * 2 & 3) - (h[l] >> g / 2 & 1 ? 0 : 4);

			*out++ = dl * (float)v;
		}
	}
}

/* Eight scales and minima of 6 bits in 12 bytes. */
void
ggml_scale_min(const uint8_t *s, int j, int *scale, int *min)
{
	if (j < 4) {
		*scale = s[j] & 63;
		*min = s[j + 4] & 63;
	} else {
		*scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
		*min = s[j + 4] >> 4 | s[j] >> 6 << 4;
	}
}

/* d, dmin, scales, 128 bytes of nibbles: 32 bytes are 64 elements, low halves first.
 * high: 32 bytes of fifth bits, or NULL. */
static void
four_or_five(const uint8_t *p, const uint8_t *high, const uint8_t *q, float *out)
{
	float d = ggml_half(p), dmin = ggml_half(p + 2);

	for (int j = 0; j < 8; j++) {
		const uint8_t *c = q + j / 2 * 32;
		int scale, min;
		float dl, ml;

		ggml_scale_min(p + 4, j, &scale, &min);
		dl = d * (float)scale;
		ml = dmin * (float)min;
		for (int l = 0; l < 32; l++) {
			int v = c[l] >> j % 2 * 4 & 15;

			if (high)
				v |= (high[l] >> j & 1) << 4;
			*out++ = dl * (float)v - ml;
		}
	}
}

void
ggml_q4_k(const uint8_t *p, float *out)
{
	four_or_five(p, NULL, p + 16, out);
}

void
ggml_q5_k(const uint8_t *p, float *out)
{
	four_or_five(p, p + 16, p + 48, out);
}

/* 128 bytes of low nibbles, 64 of high pairs, 16 signed scales, d.  128 elements are
 * four runs of 32: low halves of 64 bytes, then their high halves. */
void
ggml_q6_k(const uint8_t *p, float *out)
{
	const uint8_t *low = p, *high = p + 128, *sc = p + 192;
	float d = ggml_half(p + 208);

	for (int run = 0; run < 8; run++) {
		const uint8_t *c = low + run / 4 * 64 + run % 2 * 32, *h = high + run / 4 * 32;

		for (int l = 0; l < 32; l++) {
			int v = (c[l] >> run % 4 / 2 * 4 & 15) | (h[l] >> run % 4 * 2 & 3) << 4;
			float dl = d * (float)(int8_t)sc[run * 2 + l / 16];

			*out++ = dl * (float)(v - 32);
		}
	}
}
