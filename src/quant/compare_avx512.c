#include "config.h"

#define COMPARE_NAME compare_avx512
#define LANES 8
#include "src/quant/compare_kernel.h"
