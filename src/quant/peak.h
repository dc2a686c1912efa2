/* peak.h - is there anything among many numbers that is worth a second look?  A pass that
 * costs next to nothing: numbers are compared as the bits that they are. */
#ifndef TBTUI_QUANT_PEAK_H
#define TBTUI_QUANT_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/quant/scheme.h"

#define PEAK 1000.0	/* no weight of a model that works is as large */

/* Bytes of what peak_found() looks at as one: a number, or a block; 0: it cannot tell
 * anything of that scheme, which is to be looked at in another way. */
unsigned peak_unit(const struct scheme *s);
/* May one of n units (any alignment) be NaN, infinite, or of PEAK and more?  "No" is
 * certain; of blocks, scales are looked at. */
bool peak_found(const struct scheme *s, const uint8_t *p, size_t n);
/* Is one of n numbers of F16, BF16 or F32 a zero? */
bool peak_zero(enum dtype d, const uint8_t *p, size_t n);
#endif
