/* decode.h - the scalar decoder to F32. */
#ifndef TBTUI_QUANT_DECODE_H
#define TBTUI_QUANT_DECODE_H

#include "src/quant/codec.h"

void decode_f32(const struct scheme *s, const struct quant_src *q, size_t n, float *out);
#endif
