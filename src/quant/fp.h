/* fp.h - the small floating formats, one value at a time. */
#ifndef TBTUI_QUANT_FP_H
#define TBTUI_QUANT_FP_H

#include <stdint.h>

#include "src/format/dtype.h"

/* E4M3 without infinities: nearest even, saturating; NaN becomes +-448. */
uint8_t fp_e4m3_encode(float x);
float fp_e4m3_decode(uint8_t b);	/* 0x7f gives 480, as MLX has it */

/* E2M1: nearest even as the GPU does it; NaN gives 7. */
uint8_t fp_e2m1_encode(float x);
/* The nearest of 16 by trying all in order: MLX's CPU backend.  Ties go to the
 * smaller magnitude, and there is no negative zero. */
uint8_t fp_e2m1_nearest(float x);
float fp_e2m1_decode(uint8_t code);	/* code < 16 */

float fp_e8m0_decode(uint8_t b);	/* 2^(b-127); 255 gives infinity */
/* The exponent byte of a shared scale: log2 rounded, halves away from zero. */
uint8_t fp_e8m0_round(float d);

/* x rounded to BF16, F16 or F32 and back. */
float fp_round(enum dtype t, float x);
float fp_load(enum dtype t, const void *p, uint64_t i);
void fp_store(enum dtype t, void *p, uint64_t i, float x);
#endif
