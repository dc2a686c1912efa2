/* stats_kernel.h - private to src/quant: the loops over a block, compiled once for
 * each instruction set: stats_scalar.c, stats_avx2.c, stats_avx512.c define STATS_NAME
 * and LANES, the values in a register.  Each lane has its own sums. */
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

typedef float lanes_f __attribute__((vector_size(4 * LANES)));
typedef int32_t lanes_i __attribute__((vector_size(4 * LANES)));
typedef uint32_t lanes_u __attribute__((vector_size(4 * LANES)));
typedef uint16_t lanes_h __attribute__((vector_size(2 * LANES)));

static inline void
lanes_f32(const void *p, lanes_f *out)
{
	memcpy(out, p, sizeof(*out));
}

static inline void
lanes_bf16(const void *p, lanes_f *out)
{
	lanes_h h;

	memcpy(&h, p, sizeof(h));
	*out = (lanes_f)(__builtin_convertvector(h, lanes_u) << 16);
}

static inline void
lanes_f16(const void *p, lanes_f *out)
{
	lanes_u u;
	lanes_f f;
	lanes_h h;

	memcpy(&h, p, sizeof(h));
	u = __builtin_convertvector(h, lanes_u);
	f = (lanes_f)((u & 0x7fff) << 13) * 0x1p112f;
	*out = (lanes_f)((lanes_u)f | ((lanes_u)(f >= 65536) & 0x7f800000) | (u & 0x8000) << 16);
}

struct lane_sums { lanes_f min, max, sum, sq; lanes_i zeros; };

static inline void
lanes_take(struct lane_sums *l, const lanes_f *x, float shift)
{
	lanes_f d = *x - shift;
	lanes_i less = *x < l->min, more = *x > l->max;

	l->min = (lanes_f)(((lanes_i)*x & less) | ((lanes_i)l->min & ~less));
	l->max = (lanes_f)(((lanes_i)*x & more) | ((lanes_i)l->max & ~more));
	l->sum += d;
	l->sq += d * d;
	l->zeros -= *x == 0;
}

static inline void
lanes_end(const struct lane_sums *l, struct stats_block *out)
{
	for (unsigned i = 0; i < LANES; i++) {
		out->min = l->min[i] < out->min ? l->min[i] : out->min;
		out->max = l->max[i] > out->max ? l->max[i] : out->max;
		out->sum += (double)l->sum[i];
		out->sq += (double)l->sq[i];
		out->zeros += (uint32_t)l->zeros[i];
	}
}

/* What does not fill the lanes is filled up with the block's first value, which
 * deviates from itself by nothing. */
#define STATS_BLOCK_FN(name, load, load_lanes, size) \
static void \
name(const void *src, size_t n, struct stats_block *out) \
{ \
	float shift = load(src, 0); \
	struct lane_sums l = { .min = (lanes_f){ 0 } + shift, .max = (lanes_f){ 0 } + shift }; \
	const char *p = src; \
	char rest[LANES * size]; \
	size_t i = 0; \
	lanes_f x; \
\
	*out = (struct stats_block){ .min = shift, .max = shift, .shift = shift }; \
	for (; i + LANES <= n; i += LANES) { \
		load_lanes(p + i * size, &x); \
		lanes_take(&l, &x, shift); \
	} \
	if (i < n) { \
		for (size_t k = 0; k < LANES; k++) \
			memcpy(rest + k * size, p + (i + k < n ? i + k : 0) * size, size); \
		load_lanes(rest, &x); \
		lanes_take(&l, &x, shift); \
		out->zeros -= shift == 0 ? (uint32_t)(LANES - (n - i)) : 0; \
	} \
	lanes_end(&l, out); \
}

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

STATS_BLOCK_FN(block_f32, load_f32, lanes_f32, 4)
STATS_BLOCK_FN(block_bf16, load_bf16, lanes_bf16, 2)
STATS_BLOCK_FN(block_f16, load_f16, lanes_f16, 2)
STATS_INDEX_FN(index_f32, load_f32)
STATS_INDEX_FN(index_bf16, load_bf16)
STATS_INDEX_FN(index_f16, load_f16)

const struct stats_ops STATS_NAME = {
	{ block_f32, block_bf16, block_f16 }, { index_f32, index_bf16, index_f16 },
};
