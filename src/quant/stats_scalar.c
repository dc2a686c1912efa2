#include "config.h"

#define STATS_NAME stats_scalar
#include "src/quant/stats_kernel.h"
