#include "config.h"

#include "src/quant/simd_avx2.h"

#define K_NAME(name) name##_avx2
#include "src/quant/ggml_k_encode.h"
