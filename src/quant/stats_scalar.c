#include "config.h"

#define STATS_NAME stats_scalar
#define STATS_WITH "src/quant/stats_lanes.h"
#include "src/quant/stats_kernel.h"
