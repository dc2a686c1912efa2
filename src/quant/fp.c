#include "config.h"

#include "src/quant/fp.h"

#include <math.h>
#include <string.h>

#include "src/base/half.h"

static uint32_t
bits_of(float x)
{
	uint32_t u;

	memcpy(&u, &x, 4);
	return u;
}

uint8_t
fp_e4m3_encode(float x)
{
	uint32_t u = bits_of(x), a = u & 0x7fffffff;
	uint8_t sign = (uint8_t)(u >> 24 & 0x80);

	if (a >= 0x43e00000)		/* 448 and above, infinities, NaN */
		return sign | 0x7e;
	/* Below 2^-6 the steps are 2^-9: let the addition round to them. */
	if (a < 0x3c800000)
		return (uint8_t)(sign | (bits_of(fabsf(x) + 0x1p14f) - bits_of(0x1p14f)));
	return (uint8_t)(sign | (((a + 0x7ffff + (a >> 20 & 1)) >> 20) - (120u << 3)));
}

float
fp_e4m3_decode(uint8_t b)
{
	uint16_t h = (uint16_t)((b & 0x80) << 8 | (b & 0x7f) << 7);

	return tb_f16_f32(h) * 256;
}

uint8_t
fp_e2m1_encode(float x)
{
	static const float above[] = { .25f, 0, 1.25f, 0, 2.5f, 0, 5 };		/* > */
	static const float from[] = { 0, .75f, 0, 1.75f, 0, 3.5f };		/* >= */
	float a = fabsf(x);
	uint8_t code = 0;

	if (isnan(x))
		return 7;
	for (unsigned i = 0; i < 7; i++)
		code += i % 2 ? a >= from[i] : a > above[i];
	return (uint8_t)(code | (signbit(x) ? 8 : 0));
}

uint8_t
fp_e2m1_nearest(float x)
{
	uint8_t best = 0;
	float least = fabsf(x);

	for (uint8_t i = 1; i < 16; i++) {
		float d = fabsf(x - fp_e2m1_decode(i));

		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

float
fp_e2m1_decode(uint8_t code)
{
	static const float value[16] = { 0, .5f, 1, 1.5f, 2, 3, 4, 6,
					 -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6 };

	return value[code];
}

float
fp_e8m0_decode(uint8_t b)
{
	uint32_t u = b ? (uint32_t)b << 23 : 1u << 22;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* log2f() decides only where its own rounding may: within 1e-5 of the square root of
 * two.  Elsewhere the mantissa says it, and groups are many. */
uint8_t
fp_e8m0_round(float d)
{
	uint32_t u = bits_of(d), m = u & 0x7fffff;
	int e = (int)(u >> 23) - 127;
	float l;

	if (e == 128)
		return 0xff;
	if (e > -127 && m < 0x350481)			/* below 1.41420 */
		return (uint8_t)(e + 127);
	if (e > -127 && e < 127 && m > 0x35057c)	/* above 1.41423 */
		return (uint8_t)(e + 128);
	l = roundf(log2f(d));
	return (uint8_t)((l > -127 ? l < 127 ? l : 127 : -127) + 127);
}

float
fp_round(enum dtype t, float x)
{
	switch (t) {
	case DT_BF16:
		return tb_bf16_f32(tb_f32_bf16(x));
	case DT_F16:
		return tb_f16_f32(tb_f32_f16(x));
	default:
		return x;
	}
}

float
fp_load(enum dtype t, const void *p, uint64_t i)
{
	uint16_t h;
	float f;

	if (t == DT_F32) {
		memcpy(&f, (const char *)p + 4 * i, 4);
		return f;
	}
	memcpy(&h, (const char *)p + 2 * i, 2);
	return t == DT_BF16 ? tb_bf16_f32(h) : tb_f16_f32(h);
}

void
fp_store(enum dtype t, void *p, uint64_t i, float x)
{
	uint16_t h;

	if (t == DT_F32) {
		memcpy((char *)p + 4 * i, &x, 4);
		return;
	}
	h = t == DT_BF16 ? tb_f32_bf16(x) : tb_f32_f16(x);
	memcpy((char *)p + 2 * i, &h, 2);
}
