#include "config.h"

#define STATS_NAME stats_avx512
#define LANES 16
#include "src/quant/stats_kernel.h"
