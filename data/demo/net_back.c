/* net_back.c - the way back: what each weight has to do with the cost. */
#include "config.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "data/demo/net_private.h"

/* d: derivative of what was normed; added to d_x is that of what came in. */
static void
norm_back(const struct net *n, float *d_x, const float *d, const float *x, const float *scale,
	  size_t weight, size_t rows)
{
	size_t dim = n->s.dim;
	const float *w = n->w + weight;
	float *g = n->grad + weight;

	for (size_t r = 0; r < rows; r++, d += dim, x += dim, d_x += dim) {
		float dot = 0, c = scale[r];

		for (size_t i = 0; i < dim; i++) {
			dot += d[i] * w[i] * x[i];
			g[i] += d[i] * x[i] * c;
		}
		dot *= c * c * c / (float)dim;
		for (size_t i = 0; i < dim; i++)
			d_x[i] += d[i] * w[i] * c - x[i] * dot;
	}
}

/* d_act -> d_gate_up. */
static void
gate_back(const struct net *n, const struct layer_acts *a, const float *d_act, float *d,
	  size_t rows)
{
	size_t ffn = n->s.ffn;

	for (size_t r = 0; r < rows; r++) {
		const float *g = a->gate_up + r * 2 * ffn, *u = g + ffn;

		for (size_t i = 0; i < ffn; i++) {
			float open = 1 / (1 + expf(-g[i])), by = d_act[r * ffn + i];

			d[r * 2 * ffn + i] = by * u[i] * open * (1 + g[i] * (1 - open));
			d[r * 2 * ffn + ffn + i] = by * g[i] * open;
		}
	}
}

/* Derivatives of shares -> of scores; scaled as scores were. */
static void
soften_back(const float *p, float *d, size_t len, float scale)
{
	for (size_t i = 0; i < len; i++, p += len, d += len) {
		float dot = 0;

		for (size_t j = 0; j <= i; j++)
			dot += p[j] * d[j];
		for (size_t j = 0; j <= i; j++)
			d[j] = p[j] * (d[j] - dot) * scale;
		memset(d + i + 1, 0, (len - i - 1) * sizeof(*d));
	}
}

static void
attend_back(const struct net *n, const struct net_batch *b, const struct layer_acts *a,
	    const float *d_mix, float *d_qkv)
{
	const struct net_shape *s = &n->s;
	int hd = (int)s->head_dim, q = (int)(s->heads * s->head_dim);
	int wide = (int)((s->heads + 2 * s->kv_heads) * s->head_dim);
	const float *share = a->share;
	float *d = n->acts->d_share;

	memset(d_qkv, 0, b->begin[b->ntexts] * (size_t)wide * sizeof(*d_qkv));
	for (size_t t = 0; t < b->ntexts; t++) {
		int len = (int)(b->begin[t + 1] - b->begin[t]);
		const float *x = a->qkv + b->begin[t] * (size_t)wide;
		float *dx = d_qkv + b->begin[t] * (size_t)wide;

		for (unsigned h = 0; h < s->heads; h++, share += (size_t)len * (size_t)len) {
			unsigned g = h / (s->heads / s->kv_heads);
			size_t k = (size_t)(s->heads + g) * s->head_dim, own = (size_t)h * s->head_dim;
			size_t v = (size_t)(s->heads + s->kv_heads + g) * s->head_dim;
			const float *dm = d_mix + b->begin[t] * (size_t)q + own;

			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, len, len, hd, 1, dm, q,
				    x + v, wide, 0, d, len);
			cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, len, hd, len, 1, share,
				    len, dm, q, 1, dx + v, wide);
			soften_back(share, d, (size_t)len, 1 / sqrtf((float)hd));
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, len, hd, len, 1, d, len,
				    x + k, wide, 1, dx + own, wide);
			cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, len, hd, len, 1, d, len,
				    x + own, wide, 1, dx + k, wide);
		}
	}
}

/* d_x: derivative of the stream behind the layer, then of that before it. */
static void
layer_back(struct net *n, const struct net_batch *b, unsigned l, size_t rows)
{
	const struct net_shape *s = &n->s;
	const struct net_layer *y = &n->layer[l];
	struct net_acts *acts = n->acts;
	const struct layer_acts *a = &acts->layer[l];
	size_t dim = s->dim, ffn = s->ffn, q = (size_t)s->heads * s->head_dim;
	size_t qkv = (s->heads + 2 * s->kv_heads) * (size_t)s->head_dim;

	net_mul(acts->d_c, acts->d_x, n->w + y->down, rows, ffn, dim);
	net_mul_grad(n->grad + y->down, acts->d_x, a->act, dim, ffn, rows);
	gate_back(n, a, acts->d_c, acts->d_b, rows);
	net_mul(acts->d_a, acts->d_b, n->w + y->gate_up, rows, dim, 2 * ffn);
	net_mul_grad(n->grad + y->gate_up, acts->d_b, a->normed2, 2 * ffn, dim, rows);
	norm_back(n, acts->d_x, acts->d_a, a->mid, a->scale2, y->norm2, rows);

	net_mul(acts->d_c, acts->d_x, n->w + y->out, rows, q, dim);
	net_mul_grad(n->grad + y->out, acts->d_x, a->mix, dim, q, rows);
	attend_back(n, b, a, acts->d_c, acts->d_b);
	net_turn(n, b, acts->d_b, true);
	net_mul(acts->d_a, acts->d_b, n->w + y->qkv, rows, dim, qkv);
	net_mul_grad(n->grad + y->qkv, acts->d_b, a->normed1, qkv, dim, rows);
	norm_back(n, acts->d_x, acts->d_a, a->in, a->scale1, y->norm1, rows);
}

void
net_back(struct net *n, const struct net_batch *b, size_t picked)
{
	struct net_acts *a = n->acts;
	size_t rows = b->begin[b->ntexts], dim = n->s.dim;

	memset(n->grad, 0, n->n * sizeof(*n->grad));
	memset(a->d_x, 0, rows * dim * sizeof(float));
	net_mul_grad(n->grad, a->logits, a->picked, n->s.vocab, dim, picked);
	net_mul(a->picked, a->logits, n->w, picked, dim, n->s.vocab);
	memset(a->d_a, 0, rows * dim * sizeof(float));
	for (size_t i = 0; i < picked; i++)
		memcpy(a->d_a + a->row[i] * dim, a->picked + i * dim, dim * sizeof(float));
	norm_back(n, a->d_x, a->d_a, a->end, a->end_scale, n->norm, rows);
	for (unsigned l = n->s.layers; l-- > 0;)
		layer_back(n, b, l, rows);
	for (size_t r = 0; r < rows; r++) {
		float *g = n->grad + b->ids[r] * dim;

		for (size_t i = 0; i < dim; i++)
			g[i] += a->d_x[r * dim + i];
	}
}
