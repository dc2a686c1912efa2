#include "config.h"

#define STATS_NAME stats_scalar
#define STATS_RUN 32
#include "src/quant/stats_kernel.h"
