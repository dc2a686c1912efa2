#include "config.h"

#include "src/engine/attn_ops.h"

#include <math.h>
#include <string.h>

#include "src/base/target.h"
#include "src/engine/mv.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef uint16_t halves __attribute__((vector_size(8), aligned(2), may_alias));
typedef int8_t bytes __attribute__((vector_size(4), aligned(1), may_alias));
typedef int32_t words __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16), aligned(4), may_alias));

/* Four numbers of 16 bits: exponent and mantissa move into place, 2^112 does the rest. */
static inline floats
load_f16(const void *p)
{
	const words h = __builtin_convertvector(*(const halves *)p, words), sign = h & 0x8000;
	const words finite = (h & 0x7fff) << 13;
	const floats f = (floats)finite * 0x1p112f;
	const words infinite = (words)(finite >= 0x1f << 23) & (0xff << 23);

	return (floats)((words)f | infinite | sign << 16);
}

static inline floats
load_int8(const void *p)
{
	return __builtin_convertvector(*(const bytes *)p, floats);
}

#define VEC_BYTES 16
#define VEC_NAME(x) x##_plain
#define ATTN_ROWS 4
#define ATTN_WIDE 2
#define LOAD_F16(p) (vf)load_f16(p)
#define LOAD_INT8(p) (vf)load_int8(p)
#define MAX(a, b) SELECT((a) > (b), a, b)
#define EXP(x) exp_below_plain(x)
#include "src/engine/attn_body.h"

#ifdef __x86_64__
TARGET("avx2,fma,f16c")
#define VEC_BYTES 32
#define VEC_NAME(x) x##_avx2
#define ATTN_ROWS 4
#define ATTN_WIDE 2
#define LOAD_F16(p) (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(p)))
#define LOAD_INT8(p) (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(p)))
#define MAX(a, b) (vf)_mm256_max_ps((__m256)(a), (__m256)(b))
#define EXP(x) exp_below_avx2(x)
#include "src/engine/attn_body.h"
TARGET_END

TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#include "src/engine/attn_exp512.h"
#define VEC_BYTES 64
#define VEC_NAME(x) x##_avx512
#define ATTN_ROWS 8
#define ATTN_WIDE 2
#define LOAD_F16(p) (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(p)))
#define LOAD_INT8(p) (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32( \
	_mm_loadu_si128((const __m128i_u *)(p))))
#define MAX(a, b) (vf)_mm512_max_ps((__m512)(a), (__m512)(b))
#define EXP(x) (vf)attn_exp512((__m512)(x))
#include "src/engine/attn_body.h"
TARGET_END
#endif

const struct attn_ops *
attn_ops(void)
{
	return MV_BEST(&ops_plain, &ops_avx2, &ops_avx512);
}
