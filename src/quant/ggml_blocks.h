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

typedef void ggml_block_fn(const uint8_t *p, float *out);
/* ggml_nibble.c: one scale for 32 elements */
ggml_block_fn ggml_q4_0, ggml_q4_1, ggml_q5_0, ggml_q5_1, ggml_q8_0;
/* ggml_few.c: one or two bits, ternary */
ggml_block_fn ggml_q1_0, ggml_q2_0, ggml_tq1_0, ggml_tq2_0;
/* ggml_k.c: scales of scales */
ggml_block_fn ggml_q2_k, ggml_q3_k, ggml_q4_k, ggml_q5_k, ggml_q6_k;
/* Scale and minimum number j of eight, 6 bits each, in 12 bytes. */
void ggml_scale_min(const uint8_t *s, int j, int *scale, int *min);
/* ggml_table.c: codes look up a value */
ggml_block_fn ggml_iq4_nl, ggml_iq4_xs, ggml_mxfp4, ggml_nvfp4;
/* ggml_iq.c: points of code books */
ggml_block_fn ggml_iq2_xxs, ggml_iq2_xs, ggml_iq2_s, ggml_iq3_xxs, ggml_iq3_s, ggml_iq1_s, ggml_iq1_m;
#endif
