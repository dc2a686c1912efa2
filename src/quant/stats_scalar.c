#include "config.h"

#define STATS_NAME stats_scalar
#define LANES 4
#include "src/quant/stats_kernel.h"
