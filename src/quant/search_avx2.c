#include "config.h"

#define SEARCH_NAME search_avx2
#define LANES 8
#include "src/quant/search_kernel.h"
