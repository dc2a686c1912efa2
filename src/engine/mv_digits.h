/* mv_digits.h - x as integers of two signed digits, for kernels on small codes.
 *
 * A group of x is unit * q with |q| <= 32512 and q = 256 h + l.  Codes times digits
 * are exact integers, and so is 256 H + L: the error is that of a 16-bit x, 2e-5 of
 * the result's size.  Sums of x are those of its integers: codes are not centred, and
 * their bias must meet the same x. */
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
