/* attn_body.h - the functions of attn_ops.h for one width of register.
 *
 * Included by attn_ops.c once for each instruction set, with VEC_BYTES, VEC_NAME(x),
 * ATTN_ROWS (rows side by side), ATTN_WIDE (registers of each), LOAD_F16(p), LOAD_INT8(p)
 * (one register of floats), MAX(a, b) (b where one is a NaN) and EXP(x) defined. */

#include "src/engine/vec_lanes.h"

#define ATTN_AHEAD 4096		/* bytes */
#define SPLAT(a) ((vf){ 0 } + (a))

/* Number i of a register's worth at p; group: of scales, of 8 bits only. */
static inline __attribute__((always_inline)) vf
VEC_NAME(load)(enum kv_type type, const void *p, size_t i)
{
	if (type == KV_F32)
		return *(const vf *)((const float *)p + i);
	if (type == KV_F16)
		return LOAD_F16((const uint16_t *)p + i);
	return LOAD_INT8((const int8_t *)p + i);
}

/* What is read linearly comes sooner: `wide` registers behind number i. */
static inline __attribute__((always_inline)) void
VEC_NAME(fetch)(enum kv_type type, const void *p, size_t i, size_t wide)
{
	const size_t size = type == KV_F32 ? 4 : type == KV_F16 ? 2 : 1;
	const char *at = (const char *)p + i * size + ATTN_AHEAD;

#pragma GCC unroll 4
	for (size_t k = 0; k < wide * LANES * size; k += 64)
		__builtin_prefetch(at + k);
}

/* ---- scores ---- */

/* Rows [0, rows) against `wide` registers of positions, `at` registers from the first. */
static inline __attribute__((always_inline)) void
VEC_NAME(scores_tile)(enum kv_type type, const float *q, size_t ldq, struct kv_part keys,
		      size_t dim, size_t at, float *s, size_t lds, size_t rows, size_t wide)
{
	const size_t groups = kv_groups((uint32_t)dim);
	vf acc[ATTN_ROWS][ATTN_WIDE] = { { { 0 } } };
	size_t data[ATTN_WIDE], scales[ATTN_WIDE];

#pragma GCC unroll 4
	for (size_t w = 0; w < wide; w++) {
		size_t block = (at + w) * LANES / KV_BLOCK, lane = (at + w) * LANES % KV_BLOCK;

		data[w] = block * dim * KV_BLOCK + lane;
		scales[w] = block * groups * KV_BLOCK + lane;
	}
	for (size_t g = 0; g < groups; g++) {
		size_t end = (g + 1) * KV_GROUP < dim ? (g + 1) * KV_GROUP : dim;
		vf scale[ATTN_WIDE];

#pragma GCC unroll 4
		for (size_t w = 0; w < wide && type == KV_INT8; w++)
			scale[w] = *(const vf *)(keys.scale + scales[w] + g * KV_BLOCK);
		for (size_t i = g * KV_GROUP; i < end; i++) {
			vf b[ATTN_WIDE];

			VEC_NAME(fetch)(type, keys.data, data[0] + i * wide * LANES, wide);
#pragma GCC unroll 4
			for (size_t w = 0; w < wide; w++) {
				b[w] = VEC_NAME(load)(type, keys.data, data[w] + i * KV_BLOCK);
				if (type == KV_INT8)
					b[w] *= scale[w];
			}
#pragma GCC unroll 8
			for (size_t r = 0; r < rows; r++) {
				const vf a = SPLAT(q[r * ldq + i]);

#pragma GCC unroll 4
				for (size_t w = 0; w < wide; w++)
					acc[r][w] += b[w] * a;
			}
		}
	}
#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			*(vf *)(s + r * lds + (at + w) * LANES) = acc[r][w];
}

static inline __attribute__((always_inline)) void
VEC_NAME(scores_rows)(enum kv_type type, const float *q, size_t ldq, struct kv_part keys,
		      size_t dim, size_t blocks, float *s, size_t lds, size_t rows)
{
	const size_t n = blocks * (KV_BLOCK / LANES);
	size_t at = 0;

	for (; at + ATTN_WIDE <= n; at += ATTN_WIDE)
		VEC_NAME(scores_tile)(type, q, ldq, keys, dim, at, s, lds, rows, ATTN_WIDE);
	for (; at < n; at++)
		VEC_NAME(scores_tile)(type, q, ldq, keys, dim, at, s, lds, rows, 1);
}

/* Few positions at a time, all rows: keys stay in the nearest cache. */
static inline __attribute__((always_inline)) void
VEC_NAME(scores)(enum kv_type type, const float *q, size_t ldq, size_t rows, struct kv_part keys,
		 size_t dim, size_t blocks, float *s, size_t lds)
{
	for (size_t b = 0, n; b < blocks; b += n) {
		struct kv_part k = kv_keys_at(type, keys, (uint32_t)dim, b * KV_BLOCK);
		float *to = s + b * KV_BLOCK;
		size_t r = 0;

		n = blocks - b < 2 ? blocks - b : 2;
		for (; r + ATTN_ROWS <= rows; r += ATTN_ROWS)
			VEC_NAME(scores_rows)(type, q + r * ldq, ldq, k, dim, n, to + r * lds, lds,
					      ATTN_ROWS);
		for (; r + 4 <= rows && ATTN_ROWS > 4; r += 4)
			VEC_NAME(scores_rows)(type, q + r * ldq, ldq, k, dim, n, to + r * lds, lds, 4);
		for (; r + 2 <= rows; r += 2)
			VEC_NAME(scores_rows)(type, q + r * ldq, ldq, k, dim, n, to + r * lds, lds, 2);
		if (r < rows)
			VEC_NAME(scores_rows)(type, q + r * ldq, ldq, k, dim, n, to + r * lds, lds, 1);
	}
}

/* ---- mixtures of values ---- */

/* Columns [at, at + wide) registers of all n values, for rows [0, rows). */
static inline __attribute__((always_inline)) void
VEC_NAME(mix_tile)(enum kv_type type, const float *p, size_t ldp, struct kv_part values,
		   size_t columns, size_t groups, size_t n, size_t at, float *out, size_t ldo,
		   size_t rows, size_t wide)
{
	vf acc[ATTN_ROWS][ATTN_WIDE];

#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			acc[r][w] = *(vf *)(out + r * ldo + (at + w) * LANES);
	for (size_t i = 0; i < n; i++) {
		vf b[ATTN_WIDE];

		for (size_t k = 0; k < columns && !at; k += 64 / LANES * LANES)
			VEC_NAME(fetch)(type, values.data, i * columns + k, 64 / LANES);
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++) {
			b[w] = VEC_NAME(load)(type, values.data, i * columns + (at + w) * LANES);
			if (type == KV_INT8)
				b[w] *= SPLAT(values.scale[i * groups + (at + w) * LANES / KV_GROUP]);
		}
#pragma GCC unroll 8
		for (size_t r = 0; r < rows; r++) {
			const vf a = SPLAT(p[r * ldp + i]);

#pragma GCC unroll 4
			for (size_t w = 0; w < wide; w++)
				acc[r][w] += b[w] * a;
		}
	}
#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			*(vf *)(out + r * ldo + (at + w) * LANES) = acc[r][w];
}

static inline __attribute__((always_inline)) void
VEC_NAME(mix_rows)(enum kv_type type, const float *p, size_t ldp, struct kv_part values,
		   size_t columns, size_t n, size_t at, size_t end, float *out, size_t ldo,
		   size_t rows)
{
	const size_t groups = kv_groups((uint32_t)columns);

	for (; at + ATTN_WIDE <= end; at += ATTN_WIDE)
		VEC_NAME(mix_tile)(type, p, ldp, values, columns, groups, n, at, out, ldo, rows,
				   ATTN_WIDE);
	for (; at < end; at++)
		VEC_NAME(mix_tile)(type, p, ldp, values, columns, groups, n, at, out, ldo, rows, 1);
}

/* Few columns at a time, all rows. */
static inline __attribute__((always_inline)) void
VEC_NAME(mix)(enum kv_type type, const float *p, size_t ldp, size_t rows, struct kv_part values,
	      size_t columns, size_t n, float *out, size_t ldo)
{
	const size_t all = columns / LANES, few = 2 * KV_BLOCK / LANES;

	for (size_t at = 0; at < all; at += few) {
		size_t end = at + few < all ? at + few : all, r = 0;

		for (; r + ATTN_ROWS <= rows; r += ATTN_ROWS)
			VEC_NAME(mix_rows)(type, p + r * ldp, ldp, values, columns, n, at, end,
					   out + r * ldo, ldo, ATTN_ROWS);
		for (; r + 4 <= rows && ATTN_ROWS > 4; r += 4)
			VEC_NAME(mix_rows)(type, p + r * ldp, ldp, values, columns, n, at, end,
					   out + r * ldo, ldo, 4);
		for (; r + 2 <= rows; r += 2)
			VEC_NAME(mix_rows)(type, p + r * ldp, ldp, values, columns, n, at, end,
					   out + r * ldo, ldo, 2);
		if (r < rows)
			VEC_NAME(mix_rows)(type, p + r * ldp, ldp, values, columns, n, at, end,
					   out + r * ldo, ldo, 1);
	}
}

/* ---- as F32 ---- */

static inline __attribute__((always_inline)) void
VEC_NAME(keys)(enum kv_type type, struct kv_part keys, size_t dim, size_t blocks, float *out)
{
	const size_t groups = kv_groups((uint32_t)dim);

	for (size_t b = 0; b < blocks; b++)
		for (size_t i = 0; i < dim; i++)
			for (size_t lane = 0; lane < KV_BLOCK; lane += LANES) {
				size_t at = (b * dim + i) * KV_BLOCK + lane;
				vf x = VEC_NAME(load)(type, keys.data, at);

				if (type == KV_INT8)
					x *= *(const vf *)(keys.scale + lane +
							   (b * groups + i / KV_GROUP) * KV_BLOCK);
				*(vf *)(out + at) = x;
			}
}

static inline __attribute__((always_inline)) void
VEC_NAME(values)(enum kv_type type, struct kv_part values, size_t columns, size_t n, float *out)
{
	const size_t groups = kv_groups((uint32_t)columns);

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < columns; c += LANES) {
			vf x = VEC_NAME(load)(type, values.data, i * columns + c);

			if (type == KV_INT8)
				x *= SPLAT(values.scale[i * groups + c / KV_GROUP]);
			*(vf *)(out + i * columns + c) = x;
		}
}

/* ---- weights ---- */

/* exp(x) as exp_lanes() has it, for x <= 0; below its least it is 0. */
static inline vf
VEC_NAME(exp_below)(vf x)
{
	const vf least = SPLAT(-87.0f), round = SPLAT(0x1.8p23f);
	const vf v = MAX(least, x);
	const vf t = v * 1.44269504f + round;	/* n in the last bits */
	const vf fn = t - round;
	const vf r = v - fn * 0.693359375f + fn * 2.12194440e-4f;
	vf p = r * 1.9875691500e-4f + 1.3981999507e-3f;

	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	return SELECT(x < least, least - least, p * (vf)(((vi)t - (vi)round + 127) << 23));
}

/* What is masked is so before and behind: a row's sums take the same numbers in the same
 * order however far the others see. */
static float
VEC_NAME(weigh)(float *s, size_t from, size_t to, size_t n, float *max, float *sum)
{
	vf most = SPLAT(*max), acc = { 0 };
	float lanes[LANES], was = *max, now = was;

	for (size_t i = 0; i < from; i++)
		s[i] = -INFINITY;
	for (size_t i = to; i < n; i++)
		s[i] = -INFINITY;
	for (size_t i = 0; i < n; i += LANES) {
		vf v = *(const vf *)(s + i);

		most = MAX(v, most);
	}
	memcpy(lanes, &most, sizeof(lanes));
	for (size_t i = 0; i < LANES; i++)
		now = lanes[i] > now ? lanes[i] : now;
	for (size_t i = 0; i < n; i += LANES) {
		vf v = EXP(*(const vf *)(s + i) - now);

		*(vf *)(s + i) = v;
		acc += v;
	}
	*max = now;
	most = SPLAT(was) - now;
	most = EXP(most);
	*sum = *sum * most[0] + VEC_NAME(sum_lanes)(&acc);
	return most[0];
}

static void
VEC_NAME(scale)(float *x, size_t n, float a)
{
	for (size_t i = 0; i < n; i += LANES)
		*(vf *)(x + i) *= a;
}

/* ---- one of each for each type ---- */

#define ATTN_TYPE(type) \
static void \
VEC_NAME(scores_##type)(const float *q, size_t ldq, size_t rows, struct kv_part keys, size_t dim, \
			size_t blocks, float *s, size_t lds) \
{ \
	VEC_NAME(scores)(type, q, ldq, rows, keys, dim, blocks, s, lds); \
} \
static void \
VEC_NAME(mix_##type)(const float *p, size_t ldp, size_t rows, struct kv_part values, \
		     size_t columns, size_t n, float *out, size_t ldo) \
{ \
	VEC_NAME(mix)(type, p, ldp, rows, values, columns, n, out, ldo); \
} \
static void \
VEC_NAME(keys_##type)(struct kv_part keys, size_t dim, size_t blocks, float *out) \
{ \
	VEC_NAME(keys)(type, keys, dim, blocks, out); \
} \
static void \
VEC_NAME(values_##type)(struct kv_part values, size_t columns, size_t n, float *out) \
{ \
	VEC_NAME(values)(type, values, columns, n, out); \
}
ATTN_TYPE(KV_F32)
ATTN_TYPE(KV_F16)
ATTN_TYPE(KV_INT8)

#define OF_TYPES(name) { [KV_F32] = VEC_NAME(name##_KV_F32), \
			 [KV_F16] = VEC_NAME(name##_KV_F16), \
			 [KV_INT8] = VEC_NAME(name##_KV_INT8) }
static const struct attn_ops VEC_NAME(ops) = {
	OF_TYPES(scores), OF_TYPES(mix), OF_TYPES(keys), OF_TYPES(values),
	VEC_NAME(weigh), VEC_NAME(scale)
};

#undef ATTN_AHEAD
#undef SPLAT
#undef ATTN_TYPE
#undef OF_TYPES
#undef ATTN_ROWS
#undef ATTN_WIDE
#undef LOAD_F16
#undef LOAD_INT8
#undef MAX
#undef EXP
#include "src/engine/vec_lanes_end.h"
