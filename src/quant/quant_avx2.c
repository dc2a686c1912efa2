/* quant_avx2.c - the vector path, compiled for AVX2. */
#include "config.h"

#include <math.h>

#include "src/format/ggml_type.h"
#include "src/quant/bits.h"
#include "src/quant/fp.h"
#include "src/quant/scheme_row.h"
#include "src/quant/simd_avx2.h"

#include "src/quant/pack_simd.h"
#include "src/quant/affine_simd.h"
#include "src/quant/mx_simd.h"
#include "src/quant/ggml_simd.h"
#include "src/quant/decode_simd.h"

const struct quant_kernels quant_avx2 = { "avx2", encode_simd, decode_simd };
