/* mv_digits.h - x as two signed digits an element, for kernels on 4-bit codes.
 *
 * Blocks of 128 elements take 256 bytes of mv_x.digit: the high digits of the even
 * elements, those of the odd ones, then the low digits in the same way.  Codes come
 * out of a byte likewise, low nibbles then high ones. */
#ifndef TBTUI_ENGINE_MV_DIGITS_H
#define TBTUI_ENGINE_MV_DIGITS_H

#include "src/engine/mv.h"

#define MV_DIGITS_MAX 32512.0f		/* 127 * 256: both digits fit a signed byte */
#define MV_E2M1_OFFSET 12		/* 2 v + 12 of an E2M1 value is 0 to 24 */

/* Can a group whose largest magnitude is `max` be cut into digits?  Not infinities
 * and NaN, nor what its unit or the reciprocal of it cannot express. */
static inline bool
mv_digits_fit(float max)
{
	return max == 0 || (max > 0x1p-100f && max < 0x1p100f);
}
#endif
