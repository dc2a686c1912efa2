/* ggml_encode_few.c - types of one or two bits: no scale is tried, nothing weighs, one
 * element at a time. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "src/base/half.h"
#include "src/quant/ggml_encoders.h"

static void
put_half(float d, uint8_t *out)
{
	uint16_t h = tb_f32_f16(d);

	memcpy(out, &h, 2);
}

static float
largest(const float *x, unsigned n)
{
	float most = 0;

	for (unsigned j = 0; j < n; j++)
		most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
	return most;
}

/* Signs, and the mean magnitude. */
void
ggml_encode_q1_0(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	uint8_t *p = out;

	(void)weights;
	for (size_t i = 0; i < rows * cols; i += 128, p += 18) {
		float sum = 0;

		memset(p + 2, 0, 16);
		for (unsigned j = 0; j < 128; j++) {
			sum += fabsf(src[i + j]);
			p[2 + j / 8] |= (uint8_t)((src[i + j] >= 0) << j % 8);
		}
		put_half(sum / 128, p);
	}
}

/* One more than the nearest whole number, halves away from zero: adding the number before
 * one half never carries too far.  Very small numbers give a scale without an inverse: what
 * is no number then becomes `odd`. */
static unsigned
rounded(float v, unsigned odd)
{
	return fabsf(v) < 2 ? (unsigned)((int)(v + copysignf(0x1.fffffep-2f, v)) + 1) : odd;
}

/* -1 0 1, and 2 for which there is no use. */
void
ggml_encode_q2_0(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	uint8_t *p = out;

	(void)weights;
	for (size_t i = 0; i < rows * cols; i += 64, p += 18) {
		float d = largest(src + i, 64), inverse = d > 0 ? 1 / d : 0;

		put_half(d, p);
		memset(p + 2, 0, 16);
		for (unsigned j = 0; j < 64; j++)
			p[2 + j / 4] |= (uint8_t)(rounded(src[i + j] * inverse, 0) << j % 4 * 2);
	}
}

/* Trits of n elements, the first the highest, as a fraction of 256 rounded up. */
static uint8_t
trits(const float *x, unsigned n, unsigned stride, float inverse)
{
	unsigned q = 0;

	for (unsigned k = 0; k < 5; k++)
		q = q * 3 + (k < n ? rounded(x[k * stride] * inverse, 1) : 0);
	return (uint8_t)((q * 256 + 242) / 243);
}

/* Fives of 32 columns, fives of 16, fours of 4. */
void
ggml_encode_tq1_0(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	uint8_t *p = out;

	(void)weights;
	for (size_t i = 0; i < rows * cols; i += 256, p += 54) {
		const float *x = src + i;
		float d = largest(x, 256), inverse = d != 0 ? 1 / d : 0;

		for (unsigned j = 0; j < 32; j++)
			p[j] = trits(x + j, 5, 32, inverse);
		for (unsigned j = 0; j < 16; j++)
			p[32 + j] = trits(x + 160 + j, 5, 16, inverse);
		for (unsigned j = 0; j < 4; j++)
			p[48 + j] = trits(x + 240 + j, 4, 4, inverse);
		put_half(d, p + 52);
	}
}

void
ggml_encode_tq2_0(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	uint8_t *p = out;

	(void)weights;
	for (size_t i = 0; i < rows * cols; i += 256, p += 66) {
		float d = largest(src + i, 256), inverse = d != 0 ? 1 / d : 0;

		memset(p, 0, 64);
		for (unsigned j = 0; j < 256; j++)
			p[j / 128 * 32 + j % 32] |= (uint8_t)(rounded(src[i + j] * inverse, 1)
							      << j % 128 / 32 * 2);
		put_half(d, p + 64);
	}
}

/* ---- NVFP4, the part that has no lanes ---- */

/* Halves go up; what would be 256 or more is the largest. */
uint8_t
ggml_e4m3(float f)
{
	uint32_t bits;
	int small;

	memcpy(&bits, &f, 4);
	if (f >= 0x1p-6f) {
		uint32_t c = ((bits + 0x80000) >> 20) - (120 << 3);

		return f >= 256 || c >= 0x78 ? GGML_E4M3_MOST : (uint8_t)c;
	}
	small = (int)(f * 512 + .5f);
	return (uint8_t)(small > 7 ? 7 : small);
}

float
ggml_e4m3_half(uint8_t c)
{
	uint32_t bits = ((uint32_t)c << 20) + (119u << 23);
	float f;

	if (c < 8)
		return (float)c * 0x1p-10f;
	memcpy(&f, &bits, 4);
	return f;
}

/* The nearest of 0 1 2 3 4 6 8 12 times d, the first of those whose distance is the same
 * in single precision: far above the largest that is 0. */
static uint8_t
e2m1(float x, float d)
{
	static const float values[] = { 0, 1, 2, 3, 4, 6, 8, 12 };
	float size = fabsf(x), least = size;
	unsigned code = 0;

	for (unsigned i = 1; i < 8; i++) {
		float distance = fabsf(values[i] * d - size);

		if (distance < least) {
			least = distance;
			code = i;
		}
	}
	return (uint8_t)(code ? code | (x < 0 ? 8u : 0u) : 0);
}

void
ggml_nvfp4_codes(const float x[16], uint8_t scale, uint8_t out[8])
{
	const float d = ggml_e4m3_half(scale);

	for (unsigned j = 0; j < 8; j++)
		out[j] = (uint8_t)(e2m1(x[j], d) | e2m1(x[j + 8], d) << 4);
}
