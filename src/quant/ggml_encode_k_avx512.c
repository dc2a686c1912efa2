#include "config.h"

#include "src/quant/simd_avx512.h"

#define K_NAME(name) name##_avx512
#include "src/quant/ggml_k_encode.h"
