/* compare_ops.h - private to src/quant: what there is once for each instruction set. */
#ifndef TBTUI_QUANT_COMPARE_OPS_H
#define TBTUI_QUANT_COMPARE_OPS_H

#include <stddef.h>
#include <stdint.h>

#define COMPARE_BLOCK 2048		/* values at a time */

/* Not finite anywhere: dd is not, and nothing else counts. */
struct compare_block { double aa, bb, ab, dd, max; uint64_t unequal; };

typedef void compare_fn(const float *a, const float *b, size_t n, struct compare_block *out);
extern compare_fn compare_scalar, compare_avx2, compare_avx512;
#endif
