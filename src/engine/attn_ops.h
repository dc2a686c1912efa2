/* attn_ops.h - products of attention, straight from the cache (kv.h).
 *
 * One body of code for several instruction sets, as in vec.h.  A row's sums are in an
 * order that does not depend on how many rows there are. */
#ifndef TBTUI_ENGINE_ATTN_OPS_H
#define TBTUI_ENGINE_ATTN_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "src/engine/kv.h"

struct attn_ops {
	/* s[r][0..blocks * KV_BLOCK) = q[r] . keys, rows ldq and lds apart. */
	void (*scores[KV_TYPES])(const float *q, size_t ldq, size_t rows, struct kv_part keys,
				 size_t dim, size_t blocks, float *s, size_t lds);
	/* out[r][0..columns) += p[r][0..n) values; columns is padded, see kv_columns(). */
	void (*mix[KV_TYPES])(const float *p, size_t ldp, size_t rows, struct kv_part values,
			      size_t columns, size_t n, float *out, size_t ldo);
	/* The same numbers in F32, where they lie as they did. */
	void (*keys[KV_TYPES])(struct kv_part keys, size_t dim, size_t blocks, float *out);
	void (*values[KV_TYPES])(struct kv_part values, size_t columns, size_t n, float *out);
	/* s becomes exp(s - max) within [from, to), 0 else in [0, n); max and sum of the row
	 * go on.  Returns what all that was summed before must be multiplied with. */
	float (*weigh)(float *s, size_t from, size_t to, size_t n, float *max, float *sum);
	void (*scale)(float *x, size_t n, float a);			/* x *= a */
};

const struct attn_ops *attn_ops(void);

/* Those of KV_F16 in BF16, a little less exact: pairs of numbers, KV_BLOCK columns side by
 * side. */
struct attn_bf16 {
	/* out[r][0..n) = a * x[r][0..n), n padded with zeros to pairs. */
	void (*round)(const float *x, float a, size_t n, uint16_t *out);
	/* As attn_ops.weigh(), from s to p. */
	float (*weigh)(float *s, size_t from, size_t to, size_t n, float *max, float *sum,
		       uint16_t *p);
	/* Panels [blocks][pairs of dim][KV_BLOCK][2]. */
	void (*keys)(struct kv_part keys, size_t dim, size_t blocks, uint16_t *out);
	/* Panels [columns / KV_BLOCK][n / 2][KV_BLOCK][2]; n is even. */
	void (*values)(struct kv_part values, size_t columns, size_t n, uint16_t *out);
	/* c[r] (+)= a[r] panels: rows of `pairs` pairs against each panel. */
	void (*product)(const uint16_t *a, size_t lda, size_t rows, const uint16_t *panels,
			size_t npanels, size_t pairs, float *c, size_t ldc, int add);
};

const struct attn_bf16 *attn_bf16(void);	/* NULL: this CPU has none */
#endif
