/* ggml_encode.h - F32 to blocks of ggml's types, the bytes that ggml_quantize_chunk()
 * gives: single precision, the same operations in the same order, nothing fused. */
#ifndef TBTUI_QUANT_GGML_ENCODE_H
#define TBTUI_QUANT_GGML_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

/* Is there an encoder for this enum ggml_type? */
bool ggml_encodable(unsigned type);
/* rows of cols finite values, cols a multiple of the block.  weights: how much each of
 * the cols columns counts, or NULL: where ggml has two algorithms, that is the other, and
 * the block may depend on its whole row. */
void ggml_encode(unsigned type, const float *src, size_t rows, size_t cols, const float *weights,
		 void *out);
/* The first block with a scale that F16 does not have, which is infinite then; `blocks`
 * where there is none. */
size_t ggml_overflow(unsigned type, const void *src, size_t blocks);
#endif
