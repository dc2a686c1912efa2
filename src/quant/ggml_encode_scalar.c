/* ggml_encode_scalar.c - encoders of ggml's types, compiled for whatever machine. */
#include "config.h"

#include "src/base/half.h"
#include "src/quant/simd_four.h"

#define WAY(name) name##_scalar
#include "src/quant/ggml_encode_lanes.h"
#include "src/quant/ggml_encode_nibble.h"
#include "src/quant/ggml_encode_table.h"
