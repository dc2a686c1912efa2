/* half.h - BF16 and F16 to F32 and back, one at a time and in rows.
 * Rounding is to nearest, ties to even; subnormals are kept; NaN stays NaN. */
#ifndef TBTUI_BASE_HALF_H
#define TBTUI_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float
tb_bf16_f32(uint16_t b)
{
	uint32_t u = (uint32_t)b << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint16_t
tb_f32_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);	/* a quiet NaN, never an infinity */
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float tb_f16_f32(uint16_t h);
uint16_t tb_f32_f16(float f);

/* Rows; src may have any alignment. */
void tb_bf16_to_f32(const void *src, size_t n, float *dst);
void tb_f16_to_f32(const void *src, size_t n, float *dst);
void tb_f32_to_bf16(const float *src, size_t n, void *dst);
void tb_f32_to_f16(const float *src, size_t n, void *dst);
#endif
