/* repack.h - blocks of ggml's types as groups of MLX's schemes, where the same codes give
 * the same numbers: nothing is rounded, nothing decoded.
 *
 * A block's scale d is F16, and so are the group's scale d and its bias (d times the code
 * that stands for 0, or the block's minimum): a product of 11 and at most 8 bits and their
 * sum are exact in F32.  A zero may lose its sign. */
#ifndef TBTUI_QUANT_REPACK_H
#define TBTUI_QUANT_REPACK_H

#include "src/quant/codec.h"

/* The scheme that such blocks become; false: there is none. */
bool repack_scheme(const struct scheme *blocks, struct scheme *out);
/* Scales and biases are F16 (those of mxfp4 bytes).  n elements, whole blocks.  Of the
 * elements before what is returned all is written: n, or the first of a block whose scale
 * the group cannot have (a bias too large for F16). */
size_t repack(const struct scheme *blocks, const void *src, size_t n, const struct quant_parts *out);
#endif
