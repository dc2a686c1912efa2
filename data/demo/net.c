/* net.c - what a model says to texts, and what that costs. */
#include "config.h"

#include "data/demo/net.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/demo/net_private.h"

float
net_random(uint64_t *s)
{
	float sum = 0;

	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	for (int i = 0; i < 4; i++)
		sum += (float)(*s >> 16 * i & 0xffff) / 65536 - .5f;
	return sum * 1.7320508f;
}

void
net_mul_t(float *c, const float *a, const float *b, size_t rows, size_t cols, size_t inner)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)cols, (int)inner, 1,
		    a, (int)inner, b, (int)inner, 0, c, (int)cols);
}

void
net_mul(float *c, const float *a, const float *b, size_t rows, size_t cols, size_t inner)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)cols, (int)inner,
		    1, a, (int)inner, b, (int)cols, 0, c, (int)cols);
}

void
net_mul_grad(float *c, const float *a, const float *b, size_t rows, size_t cols, size_t inner)
{
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)rows, (int)cols, (int)inner, 1,
		    a, (int)rows, b, (int)cols, 1, c, (int)cols);
}

static unsigned
qkv_rows(const struct net_shape *s)
{
	return (s->heads + 2 * s->kv_heads) * s->head_dim;
}

static void
lay_out(struct net *n)
{
	const struct net_shape *s = &n->s;
	size_t at = (size_t)s->vocab * s->dim;

	for (unsigned l = 0; l < s->layers; l++) {
		struct net_layer *y = &n->layer[l];

		y->norm1 = at;
		y->qkv = y->norm1 + s->dim;
		y->out = y->qkv + (size_t)qkv_rows(s) * s->dim;
		y->norm2 = y->out + (size_t)s->dim * s->heads * s->head_dim;
		y->gate_up = y->norm2 + s->dim;
		y->down = y->gate_up + (size_t)2 * s->ffn * s->dim;
		at = y->down + (size_t)s->dim * s->ffn;
	}
	n->norm = at;
	n->n = at + s->dim;
}

bool
net_is_norm(const struct net *n, size_t i)
{
	if (i >= n->norm)
		return true;
	for (unsigned l = 0; l < n->s.layers; l++) {
		const struct net_layer *y = &n->layer[l];

		if ((i >= y->norm1 && i < y->qkv) || (i >= y->norm2 && i < y->gate_up))
			return true;
	}
	return false;
}

/* What adds to the stream of a token begins smaller, so that many layers add no more. */
static void
begin(struct net *n, uint64_t seed)
{
	float width = .02f, deep = .02f / sqrtf(2.0f * (float)n->s.layers);
	unsigned l = 0;

	for (size_t i = 0; i < n->n; i++) {
		while (l + 1 < n->s.layers && i >= n->layer[l + 1].norm1)
			l++;
		const struct net_layer *y = &n->layer[l];
		bool adds = (i >= y->out && i < y->norm2) || (i >= y->down && i < n->norm);

		n->w[i] = net_is_norm(n, i) ? 1 : net_random(&seed) * (adds ? deep : width);
	}
}

bool
net_new(struct net *n, const struct net_shape *s, uint64_t seed)
{
	*n = (struct net){ .s = *s };
	n->layer = calloc(s->layers, sizeof(*n->layer));
	if (!n->layer)
		return false;
	lay_out(n);
	n->w = calloc(n->n, sizeof(*n->w));
	n->grad = calloc(n->n, sizeof(*n->grad));
	n->m = calloc(n->n, sizeof(*n->m));
	n->v = calloc(n->n, sizeof(*n->v));
	n->acts = calloc(1, sizeof(*n->acts));
	if (!n->w || !n->grad || !n->m || !n->v || !n->acts)
		return false;
	begin(n, seed);
	return true;
}

static void
free_acts(struct net *n)
{
	struct net_acts *a = n->acts;

	for (unsigned l = 0; a->layer && l < n->s.layers; l++) {
		float **p = (float **)&a->layer[l];

		for (size_t i = 0; i < sizeof(a->layer[l]) / sizeof(*p); i++)
			free(p[i]);
	}
	free(a->layer);
	float *rest[] = { a->end, a->end_normed, a->end_scale, a->picked, a->logits, a->cos,
			  a->sin, a->d_x, a->d_a, a->d_b, a->d_c, a->d_share };
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		free(rest[i]);
	free(a->row);
	*a = (struct net_acts){ 0 };
}

void
net_free(struct net *n)
{
	if (n->acts)
		free_acts(n);
	free(n->acts);
	free(n->w);
	free(n->grad);
	free(n->m);
	free(n->v);
	free(n->layer);
	*n = (struct net){ 0 };
}

static float *
room(size_t n)
{
	float *p = calloc(n, sizeof(*p));

	if (!p)
		abort();
	return p;
}

static void
make_angles(struct net *n)
{
	unsigned half = n->s.head_dim / 2;

	n->acts->cos = room((size_t)NET_POSITIONS * half);
	n->acts->sin = room((size_t)NET_POSITIONS * half);
	for (unsigned p = 0; p < NET_POSITIONS; p++)
		for (unsigned i = 0; i < half; i++) {
			double angle = p * pow(n->s.theta, -2.0 * i / n->s.head_dim);

			n->acts->cos[p * half + i] = (float)cos(angle);
			n->acts->sin[p * half + i] = (float)sin(angle);
		}
}

/* squares: sum of the texts' lengths squared. */
static void
make_room(struct net *n, size_t rows, size_t squares)
{
	const struct net_shape *s = &n->s;
	struct net_acts *a = n->acts;
	size_t q = (size_t)s->heads * s->head_dim, qkv = qkv_rows(s), wide = 2 * s->ffn;

	if (a->layer && a->rows >= rows && a->squares >= squares)
		return;
	rows = rows > a->rows ? rows : a->rows;
	squares = squares > a->squares ? squares : a->squares;
	free_acts(n);
	a->rows = rows;
	a->squares = squares;
	a->layer = calloc(s->layers, sizeof(*a->layer));
	if (!a->layer)
		abort();
	for (unsigned l = 0; l < s->layers; l++)
		a->layer[l] = (struct layer_acts){
			room(rows * s->dim), room(rows * s->dim), room(rows),
			room(rows * qkv), room(rows * q), room(squares * s->heads),
			room(rows * s->dim), room(rows * s->dim), room(rows),
			room(rows * wide), room(rows * s->ffn),
		};
	a->end = room(rows * s->dim);
	a->end_normed = room(rows * s->dim);
	a->end_scale = room(rows);
	a->picked = room(rows * s->dim);
	a->logits = room(rows * s->vocab);
	a->row = calloc(rows, sizeof(*a->row));
	a->d_x = room(rows * s->dim);
	a->d_a = room(rows * s->dim);
	a->d_b = room(rows * (wide > qkv ? wide : qkv));
	a->d_c = room(rows * (s->ffn > q ? s->ffn : q));
	a->d_share = room(squares);
	if (!a->row)
		abort();
	make_angles(n);
}

static void
norm_rows(const struct net *n, float *out, float *scale, const float *x, const float *w,
	  size_t rows)
{
	size_t dim = n->s.dim;

	for (size_t r = 0; r < rows; r++, x += dim, out += dim) {
		float sum = 0;

		for (size_t i = 0; i < dim; i++)
			sum += x[i] * x[i];
		scale[r] = 1 / sqrtf(sum / (float)dim + n->s.eps);
		for (size_t i = 0; i < dim; i++)
			out[i] = x[i] * scale[r] * w[i];
	}
}

void
net_turn(const struct net *n, const struct net_batch *b, float *qkv, bool back)
{
	const struct net_shape *s = &n->s;
	unsigned half = s->head_dim / 2, turned = s->heads + s->kv_heads;

	for (size_t t = 0; t < b->ntexts; t++)
		for (size_t r = b->begin[t]; r < b->begin[t + 1]; r++) {
			const float *c = n->acts->cos + (r - b->begin[t]) * half;
			const float *d = n->acts->sin + (r - b->begin[t]) * half;
			float *x = qkv + r * qkv_rows(s);

			for (unsigned h = 0; h < turned; h++, x += s->head_dim)
				for (unsigned i = 0; i < half; i++) {
					float p = x[i], q = x[i + half], e = back ? -d[i] : d[i];

					x[i] = p * c[i] - q * e;
					x[i + half] = q * c[i] + p * e;
				}
		}
}

/* Rows of scores to shares of what has been said so far. */
static void
soften(float *p, size_t len)
{
	for (size_t i = 0; i < len; i++, p += len) {
		float most = p[0], sum = 0;

		for (size_t j = 1; j <= i; j++)
			most = p[j] > most ? p[j] : most;
		for (size_t j = 0; j <= i; j++)
			sum += p[j] = expf(p[j] - most);
		for (size_t j = 0; j <= i; j++)
			p[j] /= sum;
		memset(p + i + 1, 0, (len - i - 1) * sizeof(*p));
	}
}

static void
attend(const struct net *n, const struct net_batch *b, struct layer_acts *a)
{
	const struct net_shape *s = &n->s;
	int hd = (int)s->head_dim, wide = (int)qkv_rows(s), q = (int)(s->heads * s->head_dim);
	float *share = a->share;

	for (size_t t = 0; t < b->ntexts; t++) {
		size_t len = b->begin[t + 1] - b->begin[t];
		const float *x = a->qkv + b->begin[t] * (size_t)wide;
		float *out = a->mix + b->begin[t] * (size_t)q;

		for (unsigned h = 0; h < s->heads; h++, share += len * len) {
			unsigned g = h / (s->heads / s->kv_heads);
			const float *k = x + (s->heads + g) * s->head_dim;
			const float *v = x + (s->heads + s->kv_heads + g) * s->head_dim;

			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)len, (int)len, hd,
				    1 / sqrtf((float)hd), x + h * s->head_dim, wide, k, wide, 0,
				    share, (int)len);
			soften(share, len);
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)len, hd, (int)len,
				    1, share, (int)len, v, wide, 0, out + h * s->head_dim, q);
		}
	}
}

static void
add_rows(float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

/* in -> out, the stream behind the layer. */
static void
run_layer(struct net *n, const struct net_batch *b, unsigned l, size_t rows, float *out)
{
	const struct net_shape *s = &n->s;
	const struct net_layer *y = &n->layer[l];
	struct layer_acts *a = &n->acts->layer[l];
	size_t dim = s->dim, ffn = s->ffn;

	norm_rows(n, a->normed1, a->scale1, a->in, n->w + y->norm1, rows);
	net_mul_t(a->qkv, a->normed1, n->w + y->qkv, rows, qkv_rows(s), dim);
	net_turn(n, b, a->qkv, false);
	attend(n, b, a);
	net_mul_t(a->mid, a->mix, n->w + y->out, rows, dim, s->heads * s->head_dim);
	add_rows(a->mid, a->in, rows * dim);
	norm_rows(n, a->normed2, a->scale2, a->mid, n->w + y->norm2, rows);
	net_mul_t(a->gate_up, a->normed2, n->w + y->gate_up, rows, 2 * ffn, dim);
	for (size_t r = 0; r < rows; r++) {
		const float *g = a->gate_up + r * 2 * ffn, *u = g + ffn;

		for (size_t i = 0; i < ffn; i++)
			a->act[r * ffn + i] = g[i] / (1 + expf(-g[i])) * u[i];
	}
	net_mul_t(out, a->act, n->w + y->down, rows, dim, ffn);
	add_rows(out, a->mid, rows * dim);
}

/* Logits of row i -> their derivative, times share; its loss. */
static double
cost(float *x, unsigned vocab, uint32_t want, float share)
{
	float most = x[0];
	double sum = 0, loss;

	for (unsigned i = 1; i < vocab; i++)
		most = x[i] > most ? x[i] : most;
	loss = (double)most - (double)x[want];
	for (unsigned i = 0; i < vocab; i++)
		sum += (double)(x[i] = expf(x[i] - most));
	for (unsigned i = 0; i < vocab; i++)
		x[i] *= share / (float)sum;
	x[want] -= share;
	return (loss + log(sum)) * (double)share;
}

double
net_loss(struct net *n, const struct net_batch *b, bool learn)
{
	struct net_acts *a = n->acts;
	size_t rows = b->begin[b->ntexts], dim = n->s.dim, squares = 0, picked = 0;
	double all = 0, loss = 0;

	for (size_t t = 0; t < b->ntexts; t++)
		squares += (b->begin[t + 1] - b->begin[t]) * (b->begin[t + 1] - b->begin[t]);
	make_room(n, rows, squares);
	for (size_t r = 0; r < rows; r++)
		memcpy(a->layer[0].in + r * dim, n->w + b->ids[r] * dim, dim * sizeof(float));
	for (unsigned l = 0; l < n->s.layers; l++)
		run_layer(n, b, l, rows, l + 1 < n->s.layers ? a->layer[l + 1].in : a->end);
	norm_rows(n, a->end_normed, a->end_scale, a->end, n->w + n->norm, rows);
	for (size_t r = 0; r < rows; r++)
		if (b->weight[r] > 0) {
			memcpy(a->picked + picked * dim, a->end_normed + r * dim, dim * sizeof(float));
			a->row[picked++] = (uint32_t)r;
			all += (double)b->weight[r];
		}
	net_mul_t(a->logits, a->picked, n->w, picked, n->s.vocab, dim);
	for (size_t i = 0; i < picked; i++)
		loss += cost(a->logits + i * n->s.vocab, n->s.vocab, b->want[a->row[i]],
			     b->weight[a->row[i]] / (float)all);
	if (learn)
		net_back(n, b, picked);
	return loss;
}

double
net_step(struct net *n, const struct net_rate *r)
{
	double norm = 0;
	float scale, c1, c2;

	n->steps++;
	for (size_t i = 0; i < n->n; i++)
		norm += (double)(n->grad[i] * n->grad[i]);
	norm = sqrt(norm);
	scale = norm > (double)r->clip ? r->clip / (float)norm : 1;
	c1 = 1 - (float)pow((double)r->beta1, (double)n->steps);
	c2 = 1 - (float)pow((double)r->beta2, (double)n->steps);
	for (size_t i = 0; i < n->n; i++) {
		float g = n->grad[i] * scale;

		n->m[i] = r->beta1 * n->m[i] + (1 - r->beta1) * g;
		n->v[i] = r->beta2 * n->v[i] + (1 - r->beta2) * g * g;
	}
	for (size_t i = 0; i < n->n; i++)
		n->w[i] -= r->lr * (n->m[i] / c1 / (sqrtf(n->v[i] / c2) + 1e-8f));
	for (unsigned l = 0; l <= n->s.layers; l++) {	/* matrices decay, vectors do not */
		const struct net_layer *y = l < n->s.layers ? &n->layer[l] : NULL;
		size_t from[2] = { y ? y->qkv : 0, y ? y->gate_up : 0 };
		size_t to[2] = { y ? y->norm2 : n->layer[0].norm1,
				 y ? (l + 1 < n->s.layers ? n->layer[l + 1].norm1 : n->norm) : 0 };

		for (int k = 0; k < 2; k++)
			for (size_t i = from[k]; i < to[k]; i++)
				n->w[i] *= 1 - r->lr * r->decay;
	}
	return norm;
}
