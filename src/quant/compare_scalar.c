#include "config.h"

#define COMPARE_NAME compare_scalar
#define LANES 2
#include "src/quant/compare_kernel.h"
