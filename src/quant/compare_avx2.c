#include "config.h"

#define COMPARE_NAME compare_avx2
#define LANES 4
#include "src/quant/compare_kernel.h"
