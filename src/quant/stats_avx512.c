#include "config.h"

#include "src/quant/simd_avx512.h"

#define STATS_NAME stats_avx512
#define STATS_WITH "src/quant/stats_simd.h"
#include "src/quant/stats_kernel.h"
