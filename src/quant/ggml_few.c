/* ggml_few.c - a scale and codes of two bits or fewer. */
#include "config.h"

#include "src/quant/ggml_blocks.h"

/* 128 signs: a bit that is set is +. */
void
ggml_q1_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 128; i++)
		out[i] = p[2 + i / 8] >> i % 8 & 1 ? d : -d;
}

/* 64 codes, -1 to 2. */
void
ggml_q2_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p);

	for (int i = 0; i < 64; i++)
		out[i] = (float)((p[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
}

/* Five digits of base 3 a byte, as a fraction of 256: times 3^n, what leaves the byte
 * when it is multiplied by 3 once more is digit n. */
static float
digit(uint8_t byte, int n, float d)
{
	static const uint8_t pow3[] = { 1, 3, 9, 27, 81 };
	uint8_t q = (uint8_t)(byte * pow3[n]);

	return (float)((q * 3 >> 8) - 1) * d;
}

/* 48 bytes of five digits, 4 of four; digit n of a run of bytes before digit n + 1. */
void
ggml_tq1_0(const uint8_t *p, float *out)
{
	static const struct { int at, bytes, digits; } runs[] = {
		{ 0, 32, 5 }, { 32, 16, 5 }, { 48, 4, 4 }
	};
	float d = ggml_half(p + 52);

	for (int r = 0; r < 3; r++)
		for (int n = 0; n < runs[r].digits; n++)
			for (int m = 0; m < runs[r].bytes; m++)
				*out++ = digit(p[runs[r].at + m], n, d);
}

void
ggml_tq2_0(const uint8_t *p, float *out)
{
	float d = ggml_half(p + 64);

	for (int half = 0; half < 64; half += 32)
		for (int l = 0; l < 8; l += 2)
			for (int m = 0; m < 32; m++)
				*out++ = (float)((p[half + m] >> l & 3) - 1) * d;
}
