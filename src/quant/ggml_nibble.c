/* ggml_nibble.c - a scale, maybe a minimum, and 32 codes: byte j of the nibbles has
 * element j in its low half and j + 16 in the high one. */
#include "config.h"

#include "src/quant/ggml_blocks.h"

void
ggml_q4_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int j = 0; j < 16; j++) {
		out[j] = (float)((p[2 + j] & 15) - 8) * d;
		out[j + 16] = (float)((p[2 + j] >> 4) - 8) * d;
	}
}

void
ggml_q4_1(const uint8_t *p, float *out)
{
	float d = ggml_half(p), m = ggml_half(p + 2);

	for (int j = 0; j < 16; j++) {
		out[j] = (float)(p[4 + j] & 15) * d + m;
		out[j + 16] = (float)(p[4 + j] >> 4) * d + m;
	}
}

/* The code of element i: its fifth bit is bit i of four bytes before the nibbles. */
static int
five(const uint8_t *p, int i)
{
	int low = i < 16 ? p[4 + i] & 15 : p[4 + i - 16] >> 4;

	return low | (p[i / 8] >> i % 8 & 1) << 4;
}

void
ggml_q5_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++)
		out[i] = (float)(five(p + 2, i) - 16) * d;
}

void
ggml_q5_1(const uint8_t *p, float *out)
{
	float d = ggml_half(p), m = ggml_half(p + 2);

	for (int i = 0; i < 32; i++)
		out[i] = (float)five(p + 4, i) * d + m;
}

void
ggml_q8_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 32; i++)
		out[i] = (float)(int8_t)p[2 + i] * d;
}
