/* ggml.h - blocks of ggml's types to F32, as ggml computes them, bit for bit: the same
 * single-precision operations in the same order, nothing fused. */
#ifndef TBTUI_QUANT_GGML_H
#define TBTUI_QUANT_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there a decoder for this enum ggml_type?  (Q8_1 and Q8_K have none: they
 * are for activations.) */
bool ggml_decodable(unsigned type);
/* n elements, whole blocks, of a decodable type; src may have any alignment.  One element
 * at a time; quant_decode() has the machine's own path. */
void ggml_decode(unsigned type, const void *src, size_t n, float *out);
#endif
