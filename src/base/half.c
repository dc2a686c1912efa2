#include "config.h"

#include "src/base/half.h"

#include "src/base/half_rows.h"

/* 2^-24 steps below 2^-14, then exponent and mantissa move into place. */
float
tb_f16_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
	float f;

	if (e == 0) {
		f = (float)m * 0x1p-24f;
		memcpy(&u, &f, 4);
		u |= sign;
	} else {
		u = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
	}
	memcpy(&f, &u, 4);
	return f;
}

uint16_t
tb_f32_f16(float f)
{
	uint32_t u, sign, m, shift;
	int e;

	memcpy(&u, &f, 4);
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x1ff));
	if (u >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);	/* 65520 and above round to infinity */
	e = (int)(u >> 23) - 112;
	if (e > 0)		/* the carry of rounding walks into the exponent by itself */
		return (uint16_t)(sign | ((u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13));
	if (e < -10)
		return (uint16_t)sign;
	m = (u & 0x7fffff) | 0x800000;
	shift = (uint32_t)(14 - e);
	return (uint16_t)(sign | ((m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift));
}

void
tb_bf16_to_f32(const void *src, size_t n, float *dst)
{
	const char *p = src;

	for (size_t i = half_bf16_to_f32(src, n, dst); i < n; i++) {
		uint16_t b;

		memcpy(&b, p + 2 * i, 2);
		dst[i] = tb_bf16_f32(b);
	}
}

void
tb_f16_to_f32(const void *src, size_t n, float *dst)
{
	const char *p = src;

	for (size_t i = half_f16_to_f32(src, n, dst); i < n; i++) {
		uint16_t h;

		memcpy(&h, p + 2 * i, 2);
		dst[i] = tb_f16_f32(h);
	}
}

void
tb_f32_to_bf16(const float *src, size_t n, void *dst)
{
	char *p = dst;

	for (size_t i = half_f32_to_bf16(src, n, dst); i < n; i++) {
		uint16_t b = tb_f32_bf16(src[i]);

		memcpy(p + 2 * i, &b, 2);
	}
}

void
tb_f32_to_f16(const float *src, size_t n, void *dst)
{
	char *p = dst;

	for (size_t i = half_f32_to_f16(src, n, dst); i < n; i++) {
		uint16_t h = tb_f32_f16(src[i]);

		memcpy(p + 2 * i, &h, 2);
	}
}
