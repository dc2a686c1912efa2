#include "config.h"

#define SEARCH_NAME search_avx512
#define LANES 16
#include "src/quant/search_kernel.h"
