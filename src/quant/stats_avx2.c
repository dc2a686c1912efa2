#include "config.h"

#define STATS_NAME stats_avx2
#define STATS_RUN 256
#include "src/quant/stats_kernel.h"
