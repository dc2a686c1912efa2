/* scan.h - what layers with a state do token after token: a short convolution, and a matrix
 * that each token changes a little and looks into.
 *
 * Columns are independent of each other, so they are what threads share.  One body of code,
 * compiled for several instruction sets as that of vec.h. */
#ifndef TBTUI_ENGINE_SCAN_H
#define TBTUI_ENGINE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_COLUMNS 32		/* of a state that stays in the first-level cache */
#define SCAN_MANY 16		/* tokens: fewer at once give the bits that each gives alone */
#define SCAN_KERNEL_MAX 8	/* HP_MAX_KERNEL */

/* Causal, depthwise: x[t][c] = sum over i < kernel of w[i][c] * x[t - kernel + 1 + i][c], in
 * place; what was before the first row is in past. */
struct scan_conv {
	float *x;			/* [m] rows, `stride` floats apart */
	size_t m, stride, width;
	float *past;			/* [kernel - 1][width]; then of the last rows */
	const float *w;			/* [kernel][width] */
	const float *bias;		/* [width]; NULL: none */
	size_t kernel;			/* 1 … SCAN_KERNEL_MAX */
	bool silu;			/* of what comes out */
};

/* For each token: S = decay S, d = beta (v - S^T k), S += k d^T, out = S^T q: the gated delta
 * rule.  Without `delta`, d = beta v: the state of Mamba-2. */
struct scan_state {
	float *s;			/* [rows][cols], one behind the other */
	size_t rows, cols, m;
	const float *q, *k;		/* [m][rows], qk_stride apart */
	const float *v;			/* [m][cols], v_stride apart */
	const float *decay, *beta;	/* [m], gate_stride apart */
	float *out;			/* [m][cols], out_stride apart; not v */
	size_t qk_stride, v_stride, gate_stride, out_stride;
	bool delta;
};

struct scan_ops {
	void (*conv)(const struct scan_conv *c, size_t first, size_t end);	/* columns */
	void (*state)(const struct scan_state *s);
	/* Makes each of n vectors, one behind the other, as long as `to`. */
	void (*unit)(float *x, size_t n, size_t width, float eps, float to);
};

const struct scan_ops *scan_ops(void);
#endif
