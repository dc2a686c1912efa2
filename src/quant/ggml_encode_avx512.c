/* ggml_encode_avx512.c - encoders of ggml's types, compiled for AVX-512. */
#include "config.h"

#include "src/base/half.h"
#include "src/quant/simd_avx512.h"

#define WAY(name) name##_avx512
#include "src/quant/ggml_encode_lanes.h"
#include "src/quant/ggml_encode_nibble.h"
#include "src/quant/ggml_encode_table.h"
