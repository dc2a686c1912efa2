/* mm_amx.c - the tile of many x on CPUs with AMX. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include "src/engine/amx.h"
#include "src/engine/mm_avx512.h"

#include "src/engine/mm_amx_body.h"

const struct mm_tile mm_amx = { .tokens = TOKENS, .x_size = amx_x_size, .pack = amx_pack,
				.multiply = amx_multiply, .instruction = "tdpbf16ps" };
