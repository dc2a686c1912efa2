/* attention_mixer.c - attention as a mixer: x becomes q, k and v, each head's get what the
 * architecture gives them (biases, norms, the turn by position), heads look (attention.c), and
 * what they say may be gated before it is put together. */
#include "config.h"

#include "src/engine/mixer.h"

#include <math.h>
#include <string.h>

#include "src/engine/run.h"

/* What a row function needs. */
struct heads {
	struct run *run;
	const struct layer *l;
	uint32_t layer;
	const float *gate;	/* work.scratch, from the first row that has an answer on */
};

/* Of each head, or of all together. */
static void
norm_heads(const struct heads *s, float *x, size_t heads, const float *norm)
{
	const struct hparams *hp = s->run->hp;
	size_t whole = hp->arch->qk_norm_whole ? heads : 1, n = hp->layer[s->layer].head_dim * whole;

	for (size_t h = 0; norm && h < heads; h += whole)
		s->run->norm(x + h / whole * n, x + h / whole * n, norm, n, hp->rms_eps);
}

/* Bias, norm, and the turn by position: each only where the model has it. */
static void
finish_heads(const struct heads *s, const struct kv *kv, uint32_t pos, float *x, size_t heads,
	     const float *bias, const float *norm)
{
	const struct vec_ops *vec = s->run->e->vec;
	const struct hparams *hp = s->run->hp;
	size_t hd = hp->layer[s->layer].head_dim;
	bool local = hparams_windowed(hp, s->layer);
	const float *angles = kv_angles(kv, local, pos);
	size_t half = kv_half(kv, local);

	if (bias)
		vec->add(x, bias, heads * hd);
	if (!hp->arch->qk_norm_late)
		norm_heads(s, x, heads, norm);
	if (hp->layer[s->layer].turned)
		(hp->rope_pairs ? vec->rope_pairs : vec->rope)(x, heads, hd, half, angles,
							       angles + half);
	if (hp->arch->qk_norm_late)
		norm_heads(s, x, heads, norm);
}

/* Queries of far positions are longer. */
static void
grow(const struct hparams *hp, float *q, size_t n, uint32_t pos)
{
	float a = (float)(1 + hp->q_growth * log(1 + floor(pos / hp->q_growth_from)));

	for (size_t i = 0; i < n; i++)
		q[i] *= a;
}

/* Where q's rows of a head are it and what gates its output, one behind the other; or what
 * another tensor says of the output. */
size_t
attention_scratch(const struct hparams *hp, uint32_t layer)
{
	return hp->arch->q_gated ? hparams_dim(hp, layer, DIM_Q_ROWS)
				 : hparams_dim(hp, layer, DIM_ATTENTION_GATE);
}

static void
take_queries(const struct heads *s, size_t row)
{
	const struct layer_shape *shape = &s->run->hp->layer[s->layer];
	const struct work *w = &s->run->e->work;
	size_t hd = shape->head_dim;
	const float *from = w->scratch + row * shape->heads * 2 * hd;

	for (size_t h = 0; h < shape->heads; h++)
		memcpy(w->q + (row * shape->heads + h) * hd, from + h * 2 * hd, hd * sizeof(*from));
}

static void
gate_row(void *arg, size_t row)
{
	const struct heads *s = arg;
	const struct layer_shape *shape = &s->run->hp->layer[s->layer];
	const struct work *w = &s->run->e->work;
	size_t hd = shape->head_dim;
	const float *gate = s->gate + row * shape->heads * 2 * hd + hd;

	for (size_t h = 0; h < shape->heads; h++)
		s->run->e->vec->sigmoid_mul(w->att + (row * shape->heads + h) * hd, gate + h * 2 * hd,
					    hd);
}

/* By softplus of one number a head, or of as many as it has values. */
static void
soft_gate_row(void *arg, size_t row)
{
	const struct heads *s = arg;
	const struct hparams *hp = s->run->hp;
	const struct layer_shape *shape = &hp->layer[s->layer];
	size_t n = hp->gate_rows, width = shape->heads * n, each = shape->value_dim / n;
	const float *gate = s->gate + row * width;
	float *out = s->run->e->work.att + row * shape->heads * shape->value_dim;

	for (size_t i = 0; i < width; i++) {
		float g = fmaxf(gate[i], 0) + log1pf(expf(-fabsf(gate[i])));

		for (size_t j = 0; j < each; j++)
			out[i * each + j] *= g;
	}
}

static void
heads_row(void *arg, size_t row)
{
	const struct heads *s = arg;
	const struct hparams *hp = s->run->hp;
	const struct layer_shape *shape = &hp->layer[s->layer];
	struct work *w = &s->run->e->work;
	size_t v_width = hparams_dim(hp, s->layer, DIM_V);
	size_t q_width = hparams_dim(hp, s->layer, DIM_Q);
	float *k = w->k + row * hparams_dim(hp, s->layer, DIM_K), *v = w->v + row * v_width;
	float *q = w->q + row * q_width;
	uint32_t pos;
	struct kv *kv = &run_session(s->run, row, &pos)->kv;

	if (hp->arch->q_gated)
		take_queries(s, row);
	finish_heads(s, kv, pos, q, shape->heads, s->l->v[SLOT_Q_BIAS], s->l->v[SLOT_Q_NORM]);
	if (hp->q_growth > 0)
		grow(hp, q, q_width, pos);
	if (shape->kv_from != s->layer)
		return;
	if (shape->same)
		memcpy(v, k, v_width * sizeof(*v));
	finish_heads(s, kv, pos, k, shape->kv_heads, s->l->v[SLOT_K_BIAS], s->l->v[SLOT_K_NORM]);
	if (s->l->v[SLOT_V_BIAS])
		s->run->e->vec->add(v, s->l->v[SLOT_V_BIAS], v_width);
	for (size_t h = 0; hp->arch->value_norm && h < v_width; h += shape->value_dim)
		s->run->norm(v + h, v + h, NULL, shape->value_dim, hp->rms_eps);
	kv_store(kv, s->layer, pos, k, v);
}

enum tb_status
run_attention(struct run *run, const struct layer *l, uint32_t layer, size_t m, size_t want)
{
	const struct hparams *hp = run->hp;
	struct work *w = &run->e->work;
	struct heads s = { .run = run, .l = l, .layer = layer };
	const struct matrix *o = &l->m[SLOT_O];
	bool gated = hp->arch->q_gated, soft = l->m[SLOT_ATTN_GATE].codes;
	const struct { enum slot slot; float *y; } made[] = {
		{ SLOT_Q, gated ? w->scratch : w->q }, { SLOT_K, w->k }, { SLOT_V, w->v },
		{ SLOT_ATTN_GATE, w->scratch },
	};
	const struct matrix *in[4];
	float *y[4];
	size_t n = 0;
	enum tb_status status;

	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
		if (l->m[made[i].slot].codes) {
			in[n] = &l->m[made[i].slot];
			y[n++] = made[i].y;
		}
	if ((status = run_matmul(run, in, n, w->h, m, y)))
		return status;
	run_rows(run, heads_row, &s, m, hparams_dim(hp, layer, DIM_Q) +
					2 * (size_t)hparams_dim(hp, layer, DIM_K));
	if (!want)
		return TB_OK;
	attention(run, layer, m, want);
	s.gate = w->scratch + (m - want) * attention_scratch(hp, layer);
	if (gated)
		run_rows(run, gate_row, &s, want, hparams_dim(hp, layer, DIM_O));
	if (soft)
		run_rows(run, soft_gate_row, &s, want, hparams_dim(hp, layer, DIM_O));
	return run_matmul(run, &o, 1, w->att, want, &w->out);
}
