/* ggml_table.c - nibbles that look up one of 16 values. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "src/quant/ggml_blocks.h"

static const int8_t nonlinear[16] = {
	-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
};
/* E2M1 times two; code 8 is +0 here. */
static const int8_t e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* n bytes: element j is low in byte j, j + n high. */
static void
look_up(const int8_t table[16], const uint8_t *q, int n, float d, float *out)
{
	for (int j = 0; j < n; j++) {
		out[j] = d * (float)table[q[j] & 15];
		out[j + n] = d * (float)table[q[j] >> 4];
	}
}

void
ggml_iq4_nl(const uint8_t *p, float *out)
{
	look_up(nonlinear, p + 2, 16, ggml_half(p), out);
}

/* d, the high two bits of eight scales, the low four, nibbles. */
void
ggml_iq4_xs(const uint8_t *p, float *out)
{
	float d = ggml_half(p);
	unsigned high = p[2] | (unsigned)p[3] << 8;

	for (int g = 0; g < 8; g++) {
		int scale = (p[4 + g / 2] >> g % 2 * 4 & 15) | (int)(high >> 2 * g & 3) << 4;

		look_up(nonlinear, p + 8 + g * 16, 16, d * (float)(scale - 32), out + g * 32);
	}
}

/* Half of 2^(e - 127), since the table has doubles; the two smallest are subnormal. */
static float
half_e8m0(uint8_t e)
{
	uint32_t bits = e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

void
ggml_mxfp4(const uint8_t *p, float *out)
{
	look_up(e2m1, p + 1, 16, half_e8m0(p[0]), out);
}

/* Half of an E4M3 without a sign; the code that would be NaN is 0. */
static float
half_e4m3(uint8_t c)
{
	int e = c >> 3 & 15, m = c & 7;

	if (c == 0x7f)
		return 0;
	return e ? ldexpf((float)(8 + m), e - 11) : ldexpf((float)m, -10);
}

void
ggml_nvfp4(const uint8_t *p, float *out)
{
	for (int g = 0; g < 4; g++)
		look_up(e2m1, p + 4 + g * 8, 8, half_e4m3(p[g]), out + g * 16);
}
