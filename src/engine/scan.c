#include "config.h"

#include "src/engine/scan.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/base/target.h"
#include "src/engine/mv.h"

#define TOGETHER 4	/* tokens that a state is read for */

#define VEC_BYTES 16
#define VEC_NAME(x) x##_plain
#include "src/engine/scan_body.h"

#ifdef __x86_64__
TARGET("avx2,fma")
#define VEC_BYTES 32
#define VEC_NAME(x) x##_avx2
#include "src/engine/scan_body.h"
TARGET_END

TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define VEC_BYTES 64
#define VEC_NAME(x) x##_avx512
#include "src/engine/scan_body.h"
TARGET_END
#endif

const struct scan_ops *
scan_ops(void)
{
	return MV_BEST(&ops_plain, &ops_avx2, &ops_avx512);
}
