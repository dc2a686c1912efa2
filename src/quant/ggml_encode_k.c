#include "config.h"

#include "src/quant/simd_four.h"

#define K_NAME(name) name##_scalar
#include "src/quant/ggml_k_encode.h"
