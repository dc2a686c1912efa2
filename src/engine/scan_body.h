/* scan_body.h - the functions of scan.h for one width of register.
 *
 * Included by scan.c once for each instruction set, with VEC_BYTES (of a register) and
 * VEC_NAME(x) defined. */

#include "src/engine/vec_lanes.h"

/* Columns [j, j + wide * LANES).  What was is kept in registers, so that rows can be replaced
 * as they are read. `kernel` and `wide` are constants where it matters. */
static inline __attribute__((always_inline)) void
VEC_NAME(conv_columns)(const struct scan_conv *c, size_t j, size_t kernel, size_t wide)
{
	vf w[SCAN_KERNEL_MAX][4], past[SCAN_KERNEL_MAX][4], bias[4];

#pragma GCC unroll 2
	for (size_t i = 0; i < wide; i++) {
		size_t at = j + i * LANES;

		bias[i] = c->bias ? *(const vf *)(c->bias + at) : (vf){ 0 };
#pragma GCC unroll 4
		for (size_t k = 0; k < kernel; k++) {
			w[k][i] = *(const vf *)(c->w + k * c->width + at);
			past[k][i] = k + 1 < kernel ? *(const vf *)(c->past + k * c->width + at)
						    : (vf){ 0 };
		}
	}
	for (size_t t = 0; t < c->m; t++) {
		float *x = c->x + t * c->stride + j;

#pragma GCC unroll 2
		for (size_t i = 0; i < wide; i++) {
			vf y = bias[i];

			past[kernel - 1][i] = *(vf *)(x + i * LANES);
#pragma GCC unroll 4
			for (size_t k = 0; k < kernel; k++)
				y += past[k][i] * w[k][i];
#pragma GCC unroll 4
			for (size_t k = 1; k < kernel; k++)
				past[k - 1][i] = past[k][i];
			if (c->silu) {
				vf e = -y;

				VEC_NAME(exp_lanes)(&e);
				y = y / (1.0f + e);
			}
			*(vf *)(x + i * LANES) = y;
		}
	}
#pragma GCC unroll 2
	for (size_t i = 0; i < wide; i++)
#pragma GCC unroll 4
		for (size_t k = 1; k < kernel; k++)
			*(vf *)(c->past + (k - 1) * c->width + j + i * LANES) = past[k - 1][i];
}

static void
VEC_NAME(conv_column)(const struct scan_conv *c, size_t j)
{
	float past[SCAN_KERNEL_MAX];

	for (size_t k = 0; k + 1 < c->kernel; k++)
		past[k] = c->past[k * c->width + j];
	for (size_t t = 0; t < c->m; t++) {
		float *x = c->x + t * c->stride + j, y = c->bias ? c->bias[j] : 0;

		past[c->kernel - 1] = *x;
		for (size_t k = 0; k < c->kernel; k++)
			y += past[k] * c->w[k * c->width + j];
		memmove(past, past + 1, (c->kernel - 1) * sizeof(*past));
		*x = c->silu ? y / (1 + expf(-y)) : y;
	}
	for (size_t k = 0; k + 1 < c->kernel; k++)
		c->past[k * c->width + j] = past[k];
}

static void
VEC_NAME(conv)(const struct scan_conv *c, size_t first, size_t end)
{
	size_t j = first;

	for (; c->kernel == 4 && j + 2 * LANES <= end; j += 2 * LANES)
		VEC_NAME(conv_columns)(c, j, 4, 2);
	for (; c->kernel == 3 && j + 2 * LANES <= end; j += 2 * LANES)
		VEC_NAME(conv_columns)(c, j, 3, 2);
	for (; j + LANES <= end; j += LANES)
		VEC_NAME(conv_columns)(c, j, c->kernel, 1);
	for (; j < end; j++)
		VEC_NAME(conv_column)(c, j);
}

/* sum[i] = S^T k of the columns; sums run beside each other, as one waits for itself. */
static inline __attribute__((always_inline)) void
VEC_NAME(state_look)(const struct scan_state *s, size_t j, const float *k, vf *sum, size_t wide,
		     size_t beside)
{
	vf acc[4][4] = { { { 0 } } };
	size_t r = 0;

	for (; r + beside <= s->rows; r += beside)
#pragma GCC unroll 4
		for (size_t b = 0; b < beside; b++)
#pragma GCC unroll 4
			for (size_t i = 0; i < wide; i++)
				acc[b][i] += *(const vf *)(s->s + (r + b) * s->cols + j + i * LANES) *
					     k[r + b];
	for (; r < s->rows; r++)
#pragma GCC unroll 4
		for (size_t i = 0; i < wide; i++)
			acc[0][i] += *(const vf *)(s->s + r * s->cols + j + i * LANES) * k[r];
#pragma GCC unroll 4
	for (size_t i = 0; i < wide; i++) {
		sum[i] = acc[0][i];
#pragma GCC unroll 4
		for (size_t b = 1; b < beside; b++)
			sum[i] += acc[b][i];
	}
}

/* One row of the state and what is seen of it. */
static inline __attribute__((always_inline)) void
VEC_NAME(state_row)(float *row, float decay, float k, float q,
		    const vf *d, vf *out, size_t wide)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < wide; i++) {
		vf v = *(vf *)(row + i * LANES) * decay + d[i] * k;

		*(vf *)(row + i * LANES) = v;
		out[i] += v * q;
	}
}

/* Columns [j, j + wide * LANES) of all tokens. */
static inline __attribute__((always_inline)) void
VEC_NAME(state_columns)(const struct scan_state *s, size_t j, size_t wide, size_t beside)
{
	for (size_t t = 0; t < s->m; t++) {
		const float *k = s->k + t * s->qk_stride, *q = s->q + t * s->qk_stride;
		float decay = s->decay[t * s->gate_stride], beta = s->beta[t * s->gate_stride];
		vf d[4] = { { 0 } }, acc[4][4] = { { { 0 } } };
		size_t r = 0;

		if (s->delta)
			VEC_NAME(state_look)(s, j, k, d, wide, beside);
#pragma GCC unroll 4
		for (size_t i = 0; i < wide; i++)
			d[i] = (*(const vf *)(s->v + t * s->v_stride + j + i * LANES) -
				d[i] * decay) * beta;
		for (; r + beside <= s->rows; r += beside)
#pragma GCC unroll 4
			for (size_t b = 0; b < beside; b++)
				VEC_NAME(state_row)(s->s + (r + b) * s->cols + j, decay, k[r + b],
						    q[r + b], d, acc[b], wide);
		for (; r < s->rows; r++)
			VEC_NAME(state_row)(s->s + r * s->cols + j, decay, k[r], q[r], d, acc[0],
					    wide);
#pragma GCC unroll 4
		for (size_t i = 0; i < wide; i++) {
#pragma GCC unroll 4
			for (size_t b = 1; b < beside; b++)
				acc[0][i] += acc[b][i];
			*(vf *)(s->out + t * s->out_stride + j + i * LANES) = acc[0][i];
		}
	}
}

static void
VEC_NAME(state_column)(const struct scan_state *s, size_t j)
{
	for (size_t t = 0; t < s->m; t++) {
		const float *k = s->k + t * s->qk_stride, *q = s->q + t * s->qk_stride;
		float decay = s->decay[t * s->gate_stride], seen = 0, out = 0, d;

		for (size_t r = 0; s->delta && r < s->rows; r++)
			seen += s->s[r * s->cols + j] * k[r];
		d = (s->v[t * s->v_stride + j] - seen * decay) * s->beta[t * s->gate_stride];
		for (size_t r = 0; r < s->rows; r++) {
			float *v = &s->s[r * s->cols + j];

			*v = *v * decay + d * k[r];
			out += *v * q[r];
		}
		s->out[t * s->out_stride + j] = out;
	}
}

#if VEC_BYTES == 64
/* What tokens that go together are to one another. */
struct VEC_NAME(together) {
	float decay[TOGETHER];			/* of the state before all, up to a token */
	float on_d[TOGETHER][TOGETHER];		/* what d of an earlier one takes from d … */
	float on_out[TOGETHER][TOGETHER];	/* … and adds to what is seen */
	float left[TOGETHER];			/* of what a token adds, behind the last */
};

static inline float
VEC_NAME(dot)(const float *x, const float *y, size_t n)
{
	vf acc = { 0 };
	float sum;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		acc += *(const vf *)(x + i) * *(const vf *)(y + i);
	sum = VEC_NAME(sum_lanes)(&acc);
	for (; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

static void
VEC_NAME(compare)(const struct scan_state *s, size_t t, struct VEC_NAME(together) *x)
{
	float all = 1;

	for (size_t b = 0; b < TOGETHER; b++) {
		const float *k = s->k + (t + b) * s->qk_stride, *q = s->q + (t + b) * s->qk_stride;
		float fade = 1;

		all *= s->decay[(t + b) * s->gate_stride];
		x->decay[b] = all;
		for (size_t i = b + 1; i--;) {
			const float *ki = s->k + (t + i) * s->qk_stride;

			x->on_out[b][i] = fade * VEC_NAME(dot)(ki, q, s->rows);
			x->on_d[b][i] = s->delta && i < b ? fade * VEC_NAME(dot)(ki, k, s->rows) : 0;
			if (b + 1 == TOGETHER)
				x->left[i] = fade;
			fade *= s->decay[(t + i) * s->gate_stride];
		}
	}
}

/* Several tokens, the state being read twice and written once for all of them. */
static inline __attribute__((always_inline)) void
VEC_NAME(state_together)(const struct scan_state *s, size_t t, size_t j,
			 const struct VEC_NAME(together) *x, bool delta)
{
	const float *q = s->q + t * s->qk_stride, *k = s->k + t * s->qk_stride;
	vf found[TOGETHER][2] = { { { 0 } } }, seen[TOGETHER][2] = { { { 0 } } }, d[TOGETHER][2];

	for (size_t r = 0; r < s->rows; r++) {
		const vf *row = (const vf *)(s->s + r * s->cols + j);

#pragma GCC unroll 4
		for (size_t b = 0; b < TOGETHER; b++)
#pragma GCC unroll 2
			for (size_t i = 0; i < 2; i++) {
				if (delta)
					found[b][i] += row[i] * k[b * s->qk_stride + r];
				seen[b][i] += row[i] * q[b * s->qk_stride + r];
			}
	}
#pragma GCC unroll 4
	for (size_t b = 0; b < TOGETHER; b++) {
		const float beta = s->beta[(t + b) * s->gate_stride];

#pragma GCC unroll 2
		for (size_t i = 0; i < 2; i++) {
			vf v = *(const vf *)(s->v + (t + b) * s->v_stride + j + i * LANES);
			vf out = seen[b][i] * x->decay[b];

			if (delta)
				v -= found[b][i] * x->decay[b];
			for (size_t e = 0; e < b; e++) {
				v -= d[e][i] * x->on_d[b][e];
				out += d[e][i] * x->on_out[b][e];
			}
			d[b][i] = v * beta;
			out += d[b][i] * x->on_out[b][b];
			*(vf *)(s->out + (t + b) * s->out_stride + j + i * LANES) = out;
		}
	}
#pragma GCC unroll 4
	for (size_t b = 0; b < TOGETHER; b++)
#pragma GCC unroll 2
		for (size_t i = 0; i < 2; i++)
			d[b][i] *= x->left[b];
	for (size_t r = 0; r < s->rows; r++) {
		vf *row = (vf *)(s->s + r * s->cols + j);

#pragma GCC unroll 2
		for (size_t i = 0; i < 2; i++) {
			vf v = row[i] * x->decay[TOGETHER - 1];

#pragma GCC unroll 4
			for (size_t b = 0; b < TOGETHER; b++)
				v += d[b][i] * k[b * s->qk_stride + r];
			row[i] = v;
		}
	}
}

/* Tokens of a long pass; a few come out as each alone would.  Returns how many. */
static size_t
VEC_NAME(state_many)(const struct scan_state *s)
{
	struct VEC_NAME(together) x;
	size_t t = 0;

	if (s->m < SCAN_MANY || s->cols % (2 * LANES))
		return 0;
	for (; t + TOGETHER <= s->m; t += TOGETHER) {
		VEC_NAME(compare)(s, t, &x);
		for (size_t j = 0; j < s->cols && s->delta; j += 2 * LANES)
			VEC_NAME(state_together)(s, t, j, &x, true);
		for (size_t j = 0; j < s->cols && !s->delta; j += 2 * LANES)
			VEC_NAME(state_together)(s, t, j, &x, false);
	}
	return t;
}
#endif

static void
VEC_NAME(state)(const struct scan_state *all)
{
	struct scan_state rest = *all, *s = &rest;
	size_t j = 0;

#if VEC_BYTES == 64
	size_t done = VEC_NAME(state_many)(all);

	rest.q += done * all->qk_stride;
	rest.k += done * all->qk_stride;
	rest.v += done * all->v_stride;
	rest.decay += done * all->gate_stride;
	rest.beta += done * all->gate_stride;
	rest.out += done * all->out_stride;
	if (!(rest.m -= done))
		return;
	for (; j + 2 * LANES <= s->cols; j += 2 * LANES)
		VEC_NAME(state_columns)(s, j, 2, 4);
#else
	for (; j + 4 * LANES <= s->cols; j += 4 * LANES)
		VEC_NAME(state_columns)(s, j, 4, 2);
#endif
	for (; j + LANES <= s->cols; j += LANES)
		VEC_NAME(state_columns)(s, j, 1, 4);
	for (; j < s->cols; j++)
		VEC_NAME(state_column)(s, j);
}

static void
VEC_NAME(unit)(float *x, size_t n, size_t width, float eps, float to)
{
	for (; n; n--, x += width) {
		vf acc = { 0 };
		float sum;
		size_t i = 0;

		for (; i + LANES <= width; i += LANES)
			acc += *(const vf *)(x + i) * *(const vf *)(x + i);
		sum = VEC_NAME(sum_lanes)(&acc);
		for (; i < width; i++)
			sum += x[i] * x[i];
		sum = to / sqrtf(sum + eps);
		for (i = 0; i + LANES <= width; i += LANES)
			*(vf *)(x + i) *= sum;
		for (; i < width; i++)
			x[i] *= sum;
	}
}

static const struct scan_ops VEC_NAME(ops) = { VEC_NAME(conv), VEC_NAME(state), VEC_NAME(unit) };

#include "src/engine/vec_lanes_end.h"
