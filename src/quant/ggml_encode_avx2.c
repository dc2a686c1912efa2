/* ggml_encode_avx2.c - encoders of ggml's types, compiled for AVX2. */
#include "config.h"

#include "src/base/half.h"
#include "src/quant/simd_avx2.h"

#define WAY(name) name##_avx2
#include "src/quant/ggml_encode_lanes.h"
#include "src/quant/ggml_encode_nibble.h"
#include "src/quant/ggml_encode_table.h"
