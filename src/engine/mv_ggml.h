/* mv_ggml.h - x as ggml's products have it: integers of 8 bits.
 *
 * A block of x, of 32 elements or of 256 for weights in blocks of 256, is unit * q with
 * |q| <= 127.  Blocks of ggml's types were made to meet such an x; with it our results are
 * those of other programs but for the order of sums.  unit is rounded to F16 in blocks
 * of 32, for there it is stored so. */
#ifndef TBTUI_ENGINE_MV_GGML_H
#define TBTUI_ENGINE_MV_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/base/half.h"

#define ROUND8_BLOCK 32
#define ROUND8_SUPER 256

/* How much of x goes with a matrix of blocks of `group`. */
static inline size_t
round8_block(unsigned group)
{
	return group == ROUND8_SUPER ? ROUND8_SUPER : ROUND8_BLOCK;
}

struct round8 { float steps, unit, exact; };	/* q = x * steps; exact: unit before rounding */

/* From the bits of a block's largest magnitude.  false: not finite, or not to be
 * expressed so. */
static inline bool
round8_of(uint32_t bits, size_t block, struct round8 *out)
{
	float max;

	memcpy(&max, &bits, sizeof(max));
	*out = (struct round8){ 0, 0, 0 };
	if (!(max < 127 * 65504.0f))
		return false;
	if (max < 0x1p-100f)
		return true;
	out->steps = 127 / max;
	out->exact = max / 127;
	out->unit = block == ROUND8_SUPER ? 1 / out->steps : tb_f16_f32(tb_f32_f16(out->exact));
	return true;
}

static inline uint32_t
load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

struct matrix;

/* Blocks of Q4_1 and Q5_1 have a minimum, which meets the sum of a block of x; and that
 * went through F16 on its own.  Who multiplies decoded values with rounded x has to add
 * a block's minimum times what the two sums are apart. */
bool ggml_minima(const struct matrix *w);
/* Of row r, one a block. */
void ggml_row_minima(const struct matrix *w, uint32_t r, float *out);
/* Their sum with what blocks of x are apart. */
float ggml_minima_dot(const struct matrix *w, uint32_t r, const float *apart);
/* out[b] for each block of n elements of x, for all of which round8_of() is true. */
void round8_apart(const float *x, size_t n, float *out);
#endif
