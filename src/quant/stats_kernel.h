/* stats_kernel.h - private to src/quant: the loops over a block, compiled once for
 * each instruction set: stats_scalar.c, stats_avx2.c, stats_avx512.c define STATS_NAME
 * and STATS_WITH, the header with the blocks.  Each lane has its own sums. */
#include <math.h>
#include <string.h>

#include "src/quant/stats_ops.h"

typedef uint16_t loose_16 __attribute__((aligned(1), may_alias));
typedef uint32_t loose_32 __attribute__((aligned(1), may_alias));

static inline float
as_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline float
load_f32(const void *p, size_t i)
{
	return as_float(((const loose_32 *)p)[i]);
}

static inline float
load_bf16(const void *p, size_t i)
{
	return as_float((uint32_t)((const loose_16 *)p)[i] << 16);
}

/* The exponent is moved by a product, which mends subnormals on its way; what comes
 * out at 65536 and more was infinity or NaN. */
static inline float
load_f16(const void *p, size_t i)
{
	uint32_t h = ((const loose_16 *)p)[i], u = (h & 0x7fff) << 13;
	float f = as_float(u) * 0x1p112f;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	bits |= f >= 65536 ? 0x7f800000 : 0;
	return as_float(bits | (h & 0x8000) << 16);
}

/* One of those that do not fill the registers. */
static inline void
block_one(struct stats_block *b, float x, float shift)
{
	double d = (double)x - (double)shift;

	b->min = x < b->min ? x : b->min;
	b->max = x > b->max ? x : b->max;
	b->sum += d;
	b->sq += d * d;
	b->zeros += x == 0;
}

#include STATS_WITH

/* The bin of each; those that are not finite go behind the last. */
#define STATS_INDEX_FN(name, load) \
static void \
name(const void *src, size_t n, float lo, float scale, unsigned bins, uint32_t *index) \
{ \
	float last = (float)(bins - 1), none = (float)bins; \
\
	_Pragma("omp simd") \
	for (size_t i = 0; i < n; i++) { \
		float x = load(src, i), at = (x - lo) * scale; \
\
		at = at < last ? at : last; \
		at = at > 0 ? at : 0; \
		at = x - x == 0 ? at : none; \
		index[i] = (uint32_t)(int32_t)at; \
	} \
}

STATS_INDEX_FN(index_f32, load_f32)
STATS_INDEX_FN(index_bf16, load_bf16)
STATS_INDEX_FN(index_f16, load_f16)

const struct stats_ops STATS_NAME = {
	{ block_f32, block_bf16, block_f16 }, { index_f32, index_bf16, index_f16 },
};
