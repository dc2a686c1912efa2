/* vec_body.h - the functions of vec.h for one width of register.
 *
 * Included by vec.c once for each instruction set, with VEC_BYTES (of a register),
 * VEC_WIDE (registers a row that vec_ops.tile keeps) and VEC_NAME(x) defined. */

#include "src/engine/vec_lanes.h"

static void
VEC_NAME(rmsnorm)(float *out, const float *x, const float *w, size_t n, float eps)
{
	vf acc = { 0 };
	float sum, scale;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		vf v = *(const vf *)(x + i);

		acc += v * v;
	}
	sum = VEC_NAME(sum_lanes)(&acc);
	for (; i < n; i++)
		sum += x[i] * x[i];
	scale = 1 / sqrtf(sum / (float)n + eps);
	for (i = 0; w && i + LANES <= n; i += LANES)
		*(vf *)(out + i) = *(const vf *)(x + i) * scale * *(const vf *)(w + i);
	for (; w && i < n; i++)
		out[i] = x[i] * scale * w[i];
	for (; i < n; i++)
		out[i] = x[i] * scale;
}

static void
VEC_NAME(layernorm)(float *out, const float *x, const float *w, size_t n, float eps)
{
	vf acc = { 0 };
	float mean;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		acc += *(const vf *)(x + i);
	mean = VEC_NAME(sum_lanes)(&acc);
	for (; i < n; i++)
		mean += x[i];
	mean /= (float)n;
	for (i = 0; i < n; i++)
		out[i] = x[i] - mean;
	VEC_NAME(rmsnorm)(out, out, w, n, eps);
}

static void
VEC_NAME(add_scaled)(float *x, const float *y, float a, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		*(vf *)(x + i) += *(const vf *)(y + i) * a;
	for (; i < n; i++)
		x[i] += y[i] * a;
}

static inline void
VEC_NAME(silu_mul_lanes)(float *gate, const float *up)
{
	vf g = *(vf *)gate, e = -g;

	VEC_NAME(exp_lanes)(&e);
	*(vf *)gate = g / (1.0f + e) * *(const vf *)up;
}

/* x (1 + tanh(y)) / 2 = x / (1 + exp(-2y)), y = sqrt(2/pi) (x + 0.044715 x^3) */
static inline void
VEC_NAME(gelu_mul_lanes)(float *gate, const float *up)
{
	vf g = *(vf *)gate, e = g * (g * g * -0.071354816f - 1.5957691f);

	VEC_NAME(exp_lanes)(&e);
	*(vf *)gate = g / (1.0f + e) * *(const vf *)up;
}

/* A NaN stays one. */
static inline void
VEC_NAME(clamped_mul_lanes)(float *gate, const float *up)
{
	const vf most = (vf){ 0 } + 7.0f;
	const vf g = SELECT(*(vf *)gate > most, most, *(vf *)gate);
	const vf u = SELECT(*(const vf *)up > most, most, *(const vf *)up);
	vf e = g * -1.702f;

	VEC_NAME(exp_lanes)(&e);
	*(vf *)gate = g / (1.0f + e) * (SELECT(u < -most, -most, u) + 1.0f);
}

typedef void VEC_NAME(pair_fn)(float *x, const float *y);

/* The last elements go through a padded copy, so that they are computed alike.  y NULL: 1. */
static inline __attribute__((always_inline)) void
VEC_NAME(each_lanes)(VEC_NAME(pair_fn) *fn, float *x, const float *y, size_t n)
{
	const vf one = (vf){ 0 } + 1.0f;
	float a[LANES] = { 0 }, b[LANES];
	size_t i = 0;

	memcpy(b, &one, sizeof(b));
	for (; i + LANES <= n; i += LANES)
		fn(x + i, y ? y + i : b);
	if (i < n) {
		memcpy(a, x + i, (n - i) * sizeof(*a));
		if (y)
			memcpy(b, y + i, (n - i) * sizeof(*b));
		fn(a, b);
		memcpy(x + i, a, (n - i) * sizeof(*a));
	}
}

static void
VEC_NAME(silu_mul)(float *gate, const float *up, size_t n)
{
	VEC_NAME(each_lanes)(VEC_NAME(silu_mul_lanes), gate, up, n);
}

static void
VEC_NAME(gelu_mul)(float *gate, const float *up, size_t n)
{
	VEC_NAME(each_lanes)(VEC_NAME(gelu_mul_lanes), gate, up, n);
}

static inline void
VEC_NAME(relu2_mul_lanes)(float *gate, const float *up)
{
	const vf g = *(vf *)gate, zero = { 0 }, r = SELECT(g < zero, zero, g);

	*(vf *)gate = r * r * *(const vf *)up;
}

static void
VEC_NAME(relu2_mul)(float *gate, const float *up, size_t n)
{
	VEC_NAME(each_lanes)(VEC_NAME(relu2_mul_lanes), gate, up, n);
}

static inline void
VEC_NAME(sigmoid_mul_lanes)(float *x, const float *gate)
{
	vf e = -*(const vf *)gate;

	VEC_NAME(exp_lanes)(&e);
	*(vf *)x = *(vf *)x / (1.0f + e);
}

static void
VEC_NAME(sigmoid_mul)(float *x, const float *gate, size_t n)
{
	VEC_NAME(each_lanes)(VEC_NAME(sigmoid_mul_lanes), x, gate, n);
}

static void
VEC_NAME(clamped_mul)(float *gate, const float *up, size_t n)
{
	VEC_NAME(each_lanes)(VEC_NAME(clamped_mul_lanes), gate, up, n);
}

/* tanh(y) = 1 - 2 / (1 + exp(2y)): off by one in the last place of `cap`, not of x. */
static inline void
VEC_NAME(softcap_lanes)(float *x, float twice, float cap)
{
	vf e = *(vf *)x * twice;

	VEC_NAME(exp_lanes)(&e);
	*(vf *)x = cap - 2 * cap / (1.0f + e);
}

static void
VEC_NAME(softcap)(float *x, size_t n, float a, float cap)
{
	float rest[LANES] = { 0 }, twice = 2 * a / cap;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		VEC_NAME(softcap_lanes)(x + i, twice, cap);
	if (i < n) {
		memcpy(rest, x + i, (n - i) * sizeof(*rest));
		VEC_NAME(softcap_lanes)(rest, twice, cap);
		memcpy(x + i, rest, (n - i) * sizeof(*rest));
	}
}

static inline float
VEC_NAME(max_of)(const float *x, size_t n)
{
	float s[LANES], max = x[0];
	size_t i = 0;

	if (n >= LANES) {
		vf m = *(const vf *)x;

		for (; i + LANES <= n; i += LANES) {
			vf v = *(const vf *)(x + i);

			m = SELECT(v > m, v, m);
		}
		memcpy(s, &m, sizeof(s));
		for (size_t j = 0; j < LANES; j++)
			max = s[j] > max ? s[j] : max;
	}
	for (; i < n; i++)
		max = x[i] > max ? x[i] : max;
	return max;
}

static void
VEC_NAME(softmax)(float *x, size_t n, float scale)
{
	float max = VEC_NAME(max_of)(x, n), tail[LANES], sum;
	size_t i = 0;
	vf acc = { 0 };

	for (; i + LANES <= n; i += LANES) {
		vf v = (*(vf *)(x + i) - max) * scale;

		VEC_NAME(exp_lanes)(&v);
		*(vf *)(x + i) = v;
		acc += v;
	}
	sum = VEC_NAME(sum_lanes)(&acc);
	if (i < n) {
		vf v;

		for (size_t j = 0; j < LANES; j++)
			tail[j] = (x[i + j < n ? i + j : i] - max) * scale;
		memcpy(&v, tail, sizeof(v));
		VEC_NAME(exp_lanes)(&v);
		memcpy(tail, &v, sizeof(v));
		for (size_t j = 0; i + j < n; j++) {
			x[i + j] = tail[j];
			sum += tail[j];
		}
	}
	sum = 1 / sum;
	for (i = 0; i + LANES <= n; i += LANES)
		*(vf *)(x + i) *= sum;
	for (; i < n; i++)
		x[i] *= sum;
}

static void
VEC_NAME(rope)(float *x, size_t heads, size_t width, size_t half, const float *cos,
	       const float *sin)
{
	for (size_t h = 0; h < heads; h++, x += width) {
		size_t i = 0;

		for (; i + LANES <= half; i += LANES) {
			vf a = *(vf *)(x + i), b = *(vf *)(x + half + i);
			vf c = *(const vf *)(cos + i), s = *(const vf *)(sin + i);

			*(vf *)(x + i) = a * c - b * s;
			*(vf *)(x + half + i) = b * c + a * s;
		}
		for (; i < half; i++) {
			float a = x[i], b = x[half + i];

			x[i] = a * cos[i] - b * sin[i];
			x[half + i] = b * cos[i] + a * sin[i];
		}
	}
}

static void
VEC_NAME(rope_pairs)(float *x, size_t heads, size_t width, size_t half, const float *cos,
		     const float *sin)
{
	for (size_t h = 0; h < heads; h++, x += width) {
		for (size_t i = 0; i < half; i++) {
			float a = x[2 * i], b = x[2 * i + 1];

			x[2 * i] = a * cos[i] - b * sin[i];
			x[2 * i + 1] = b * cos[i] + a * sin[i];
		}
	}
}

static bool
VEC_NAME(round8)(float *out, const float *x, size_t n, size_t block)
{
	const vf round = (vf){ 0 } + 0x1.8p23f;

	for (size_t b = 0; b < n; b += block) {
		vi most = { 0 };
		uint32_t bits[LANES], high = 0;
		struct round8 r;

		for (size_t i = b; i < b + block; i += LANES) {
			vi a = *(const vi *)(x + i) & 0x7fffffff;

			most = (a & (a > most)) | (most & ~(a > most));
		}
		memcpy(bits, &most, sizeof(bits));
		for (size_t i = 0; i < LANES; i++)
			high = bits[i] > high ? bits[i] : high;
		if (!round8_of(high, block, &r))
			return false;
		for (size_t i = b; i < b + block; i += LANES)
			*(vf *)(out + i) = *(const vf *)(x + i) * r.steps;
		for (size_t i = b; i < b + block; i += LANES)	/* the product is rounded first */
			*(vf *)(out + i) = (*(vf *)(out + i) + round - round) * r.unit;
	}
	return true;
}

/* Columns [j, j + wide * LANES) of vec_ops.tile. `rows` and `wide` are constants. */
static inline __attribute__((always_inline)) void
VEC_NAME(tile_columns)(const float *const *a, const float *b, size_t ldb, size_t k, size_t j,
		       float *const *c, int add, size_t rows, size_t wide)
{
	vf acc[VEC_TILE][4];

#pragma GCC unroll 4
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			acc[r][w] = add ? *(vf *)(c[r] + j + w * LANES) : (vf){ 0 };
	for (size_t i = 0; i < k; i++) {
		vf bv[4];

#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			bv[w] = *(const vf *)(b + i * ldb + j + w * LANES);
#pragma GCC unroll 4
		for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (size_t w = 0; w < wide; w++)
				acc[r][w] += bv[w] * a[r][i];
	}
#pragma GCC unroll 4
	for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (size_t w = 0; w < wide; w++)
			*(vf *)(c[r] + j + w * LANES) = acc[r][w];
}

/* The last columns, fewer than a register has: it is read whole all the same. */
static inline __attribute__((always_inline)) void
VEC_NAME(tile_rest)(const float *const *a, const float *b, size_t ldb, size_t k, size_t j,
		    size_t n, float *const *c, int add, size_t rows)
{
	vf acc[VEC_TILE] = { { 0 } };

	for (size_t r = 0; add && r < rows; r++)
		memcpy(&acc[r], c[r] + j, (n - j) * sizeof(float));
	for (size_t i = 0; i < k; i++) {
		const vf bv = *(const vf *)(b + i * ldb + j);

#pragma GCC unroll 4
		for (size_t r = 0; r < rows; r++)
			acc[r] += bv * a[r][i];
	}
	for (size_t r = 0; r < rows; r++)
		memcpy(c[r] + j, &acc[r], (n - j) * sizeof(float));
}

static inline __attribute__((always_inline)) void
VEC_NAME(tile_rows)(const float *const *a, const float *b, size_t ldb, size_t k, size_t n,
		    float *const *c, int add, size_t rows, size_t wide)
{
	size_t j = 0;

	for (; j + wide * LANES <= n; j += wide * LANES)
		VEC_NAME(tile_columns)(a, b, ldb, k, j, c, add, rows, wide);
	for (; j + LANES <= n; j += LANES)
		VEC_NAME(tile_columns)(a, b, ldb, k, j, c, add, rows, 1);
	if (j < n)
		VEC_NAME(tile_rest)(a, b, ldb, k, j, n, c, add, rows);
}

static void
VEC_NAME(add)(float *x, const float *y, size_t n)
{
	VEC_NAME(add_scaled)(x, y, 1, n);
}

static void
VEC_NAME(tile)(const float *const *a, const float *b, size_t ldb, size_t k, size_t n,
	       float *const *c, int add)
{
	VEC_NAME(tile_rows)(a, b, ldb, k, n, c, add, VEC_TILE, VEC_WIDE);
}

static void
VEC_NAME(tile_one)(const float *const *a, const float *b, size_t ldb, size_t k, size_t n,
		   float *const *c, int add)
{
	VEC_NAME(tile_rows)(a, b, ldb, k, n, c, add, 1, 4);
}

static const struct vec_ops VEC_NAME(ops) = {
	VEC_NAME(rmsnorm), VEC_NAME(layernorm), VEC_NAME(add), VEC_NAME(add_scaled),
	{ [ACT_SILU] = VEC_NAME(silu_mul), [ACT_GELU_TANH] = VEC_NAME(gelu_mul),
	  [ACT_CLAMPED] = VEC_NAME(clamped_mul), [ACT_RELU2] = VEC_NAME(relu2_mul) },
	VEC_NAME(sigmoid_mul), VEC_NAME(softcap), VEC_NAME(softmax), VEC_NAME(rope), VEC_NAME(rope_pairs),
	VEC_NAME(round8), VEC_NAME(tile), VEC_NAME(tile_one)
};

#include "src/engine/vec_lanes_end.h"
#undef VEC_WIDE
