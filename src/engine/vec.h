/* vec.h - what happens between the matrices, for one row at a time.
 *
 * One body of code, compiled for several instruction sets and chosen at run time;
 * it goes with the kernels that matmul_kernels() names. */
#ifndef TBTUI_ENGINE_VEC_H
#define TBTUI_ENGINE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "src/engine/arch.h"

#define VEC_TILE 4	/* rows that vec_ops.tile works on at once */
#define VEC_SLACK 16	/* floats in the widest register */

struct vec_ops {
	/* out = x / rms(x) * w; out may be x; w NULL: 1. */
	void (*rmsnorm)(float *out, const float *x, const float *w, size_t n, float eps);
	/* The same of x without its mean. */
	void (*layernorm)(float *out, const float *x, const float *w, size_t n, float eps);
	void (*add)(float *x, const float *y, size_t n);		/* x += y */
	void (*add_scaled)(float *x, const float *y, float a, size_t n);/* x += a * y */
	/* gate = act(gate) * up; up NULL: 1 */
	void (*act_mul[ACT_COUNT])(float *gate, const float *up, size_t n);
	void (*sigmoid_mul)(float *x, const float *gate, size_t n);	/* x *= sigmoid(gate) */
	/* x = cap * tanh(a * x / cap) */
	void (*softcap)(float *x, size_t n, float a, float cap);
	void (*softmax)(float *x, size_t n, float scale);		/* of scale * x; n > 0 */
	/* Turns the first 2 * half elements of `heads` heads, `width` apart, by the angles
	 * cos, sin [half]. */
	void (*rope)(float *x, size_t heads, size_t width, size_t half, const float *cos,
		     const float *sin);
	/* The same where element 2 i turns with 2 i + 1. */
	void (*rope_pairs)(float *x, size_t heads, size_t width, size_t half, const float *cos,
			   const float *sin);
	/* x as 8 bits would hold it, see mv_ggml.h; n whole blocks.  false: not finite,
	 * out is not to be used. */
	bool (*round8)(float *out, const float *x, size_t n, size_t block);
	/* c[r][0..n) (+)= sum over i < k of a[r][i] * b[i * ldb + 0..n), for rows r < VEC_TILE,
	 * in tile_one for r = 0 alone.  Rows may be given twice: all of c is read before
	 * any is written.  Behind the last b there are VEC_SLACK floats that may be read. */
	void (*tile)(const float *const *a, const float *b, size_t ldb, size_t k, size_t n,
		     float *const *c, int add);
	void (*tile_one)(const float *const *a, const float *b, size_t ldb, size_t k, size_t n,
			 float *const *c, int add);
};

const struct vec_ops *vec_ops(void);
#endif
