/* ggml_blocks.h - one decoder a type: p is one block, out has room for its elements.
 * Private to src/quant/ggml*.c. */
#ifndef TBTUI_QUANT_GGML_BLOCKS_H
#define TBTUI_QUANT_GGML_BLOCKS_H

#include <stdint.h>

#include "src/base/half.h"

static inline float
ggml_half(const uint8_t *p)
{
	uint16_t h = (uint16_t)(p[0] | p[1] << 8);
	float f;

	tb_f16_to_f32(&h, 1, &f);
	return f;
}

/* ggml_nibble.c: one scale for 32 elements */
void ggml_q4_0(const uint8_t *p, float *out);
void ggml_q4_1(const uint8_t *p, float *out);
void ggml_q5_0(const uint8_t *p, float *out);
void ggml_q5_1(const uint8_t *p, float *out);
void ggml_q8_0(const uint8_t *p, float *out);
/* ggml_few.c: one or two bits, ternary */
void ggml_q1_0(const uint8_t *p, float *out);
void ggml_q2_0(const uint8_t *p, float *out);
void ggml_tq1_0(const uint8_t *p, float *out);
void ggml_tq2_0(const uint8_t *p, float *out);
/* ggml_k.c: scales of scales */
void ggml_q2_k(const uint8_t *p, float *out);
void ggml_q3_k(const uint8_t *p, float *out);
void ggml_q4_k(const uint8_t *p, float *out);
void ggml_q5_k(const uint8_t *p, float *out);
void ggml_q6_k(const uint8_t *p, float *out);
/* Scale and minimum number j of eight, 6 bits each, in 12 bytes. */
void ggml_scale_min(const uint8_t *s, int j, int *scale, int *min);
/* ggml_table.c: codes look up a value */
void ggml_iq4_nl(const uint8_t *p, float *out);
void ggml_iq4_xs(const uint8_t *p, float *out);
void ggml_mxfp4(const uint8_t *p, float *out);
void ggml_nvfp4(const uint8_t *p, float *out);
/* ggml_iq.c: points of code books */
void ggml_iq2_xxs(const uint8_t *p, float *out);
void ggml_iq2_xs(const uint8_t *p, float *out);
void ggml_iq2_s(const uint8_t *p, float *out);
void ggml_iq3_xxs(const uint8_t *p, float *out);
void ggml_iq3_s(const uint8_t *p, float *out);
void ggml_iq1_s(const uint8_t *p, float *out);
void ggml_iq1_m(const uint8_t *p, float *out);
#endif
