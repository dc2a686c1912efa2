#include "config.h"

#define STATS_NAME stats_avx2
#define LANES 8
#include "src/quant/stats_kernel.h"
