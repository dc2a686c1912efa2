#include "config.h"

#define SEARCH_NAME search_scalar
#define LANES 4
#include "src/quant/search_kernel.h"
