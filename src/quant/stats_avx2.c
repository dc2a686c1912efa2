#include "config.h"

#include "src/quant/simd_avx2.h"

#define STATS_NAME stats_avx2
#define STATS_WITH "src/quant/stats_simd.h"
#include "src/quant/stats_kernel.h"
