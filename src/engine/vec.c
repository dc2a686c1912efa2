#include "config.h"

#include "src/engine/vec.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/base/target.h"
#include "src/engine/mv.h"
#include "src/engine/mv_ggml.h"

#define VEC_BYTES 16
#define VEC_WIDE 2
#define VEC_NAME(x) x##_plain
#include "src/engine/vec_body.h"

#ifdef __x86_64__
TARGET("avx2,fma")
#define VEC_BYTES 32
#define VEC_WIDE 2
#define VEC_NAME(x) x##_avx2
#include "src/engine/vec_body.h"
TARGET_END

TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define VEC_BYTES 64
#define VEC_WIDE 4
#define VEC_NAME(x) x##_avx512
#include "src/engine/vec_body.h"
TARGET_END
#endif

const struct vec_ops *
vec_ops(void)
{
	return MV_BEST(&ops_plain, &ops_avx2, &ops_avx512);
}
