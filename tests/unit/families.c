#include "config.h"

#include "tests/unit/families.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/format/safetensors.h"

#define WIDEST 2048

static float
uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (float)(int32_t)(*seed >> 32) / 2147483648.0f;
}

void
arrays_add(struct arrays *all, const char *name, size_t rows, size_t cols, double mean)
{
	struct array *t = &all->t[all->n++];
	double spread = cols ? 2 / sqrt((double)cols) : 0.3;

	assert_true(all->n <= FAMILY_MAX);
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->rows = rows;
	t->cols = cols;
	t->v = calloc(rows * (cols ? cols : 1), sizeof(float));
	for (size_t i = 0; i < rows * (cols ? cols : 1); i++)
		t->v[i] = (float)(mean + spread * uniform(&all->seed));
}

/* A file, and config.json beside it. */
void
family_file(const char *dir, const char *config, struct st_tensor *t, size_t n,
	   const struct tb_buf *data)
{
	struct tb_buf file = TB_BUF(8 << 20);
	char name[300];
	struct tb_err err;

	assert_ok(st_layout(t, n, NULL, 0, &file, &err), err);
	tb_buf_add(&file, data->p, data->len);
	assert_false(tb_buf_failed(&file));
	assert_ok(tb_mkdirs(unit_path(dir), &err), err);
	snprintf(name, sizeof(name), "%s/model.safetensors", dir);
	unit_write(name, file.p, file.len);
	snprintf(name, sizeof(name), "%s/config.json", dir);
	unit_write(name, config, strlen(config));
	tb_buf_free(&file);
}

void
arrays_save(const struct arrays *all, const char *dir, const char *config)
{
	struct st_tensor t[FAMILY_MAX];
	struct tb_buf data = TB_BUF(8 << 20);

	for (size_t i = 0; i < all->n; i++) {
		const struct array *from = &all->t[i];

		t[i] = (struct st_tensor){ .name = from->name, .dtype = DT_F32,
					   .ndim = from->cols ? 2 : 1,
					   .dim = { from->rows, from->cols } };
		if (strstr(from->name, "conv1d.weight")) {	/* [channels, 1, kernel] */
			t[i].ndim = 3;
			t[i].dim[1] = 1;
			t[i].dim[2] = from->cols;
		}
		tb_buf_add(&data, from->v, from->rows * (from->cols ? from->cols : 1) * 4);
	}
	family_file(dir, config, t, all->n, &data);
	tb_buf_free(&data);
}

void
arrays_free(struct arrays *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->t[i].v);
	all->n = 0;
}

const char *
family_name(const struct spec *s, size_t layer, const char *name)
{
	static char text[160];

	snprintf(text, sizeof(text), "%slayers.%zu.%s", s->prefix, layer, name);
	return text;
}

const struct array *
arrays_find(const struct arrays *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->t[i].name, name))
			return &all->t[i];
	fail_msg("no tensor %s", name);
	return NULL;
}

static const float *
get(const struct arrays *all, const char *name)
{
	return arrays_find(all, name)->v;
}

static const char *
q_norm(const struct spec *s)
{
	return s->late ? "self_attn.query_layernorm.weight" : "self_attn.q_norm.weight";
}

static const char *
k_norm(const struct spec *s)
{
	return s->late ? "self_attn.key_layernorm.weight" : "self_attn.k_norm.weight";
}

static void
make_attention(const struct spec *s, size_t l, struct arrays *all)
{
	size_t q = s->heads * s->hd, kv = s->kv * s->hd;
	double one = 1 - s->norm_add;

	if (s->fused) {
		arrays_add(all, family_name(s, l, "self_attn.qkv_proj.weight"), q + 2 * kv, s->dim, 0);
	} else {
		arrays_add(all, family_name(s, l, "self_attn.q_proj.weight"), q, s->dim, 0);
		arrays_add(all, family_name(s, l, "self_attn.k_proj.weight"), kv, s->dim, 0);
		arrays_add(all, family_name(s, l, "self_attn.v_proj.weight"), kv, s->dim, 0);
	}
	if (s->biases) {
		arrays_add(all, family_name(s, l, "self_attn.q_proj.bias"), q, 0, 0);
		arrays_add(all, family_name(s, l, "self_attn.k_proj.bias"), kv, 0, 0);
		arrays_add(all, family_name(s, l, "self_attn.v_proj.bias"), kv, 0, 0);
	}
	if (s->qk_norms) {
		arrays_add(all, family_name(s, l, q_norm(s)), s->whole ? q : s->hd, 0, one);
		arrays_add(all, family_name(s, l, k_norm(s)), s->whole ? kv : s->hd, 0, one);
	}
	arrays_add(all, family_name(s, l, "self_attn.o_proj.weight"), s->dim, q, 0);
}

static void
make_layer(const struct spec *s, size_t l, struct arrays *all)
{
	double one = 1 - s->norm_add;

	if (!s->behind)
		arrays_add(all, family_name(s, l, "input_layernorm.weight"), s->dim, 0, one);
	if (!s->beside)
		arrays_add(all, family_name(s, l, "post_attention_layernorm.weight"), s->dim, 0, one);
	if (s->post_norms) {
		if (!s->behind)
			arrays_add(all, family_name(s, l, "pre_feedforward_layernorm.weight"), s->dim, 0,
				   one);
		arrays_add(all, family_name(s, l, "post_feedforward_layernorm.weight"), s->dim, 0, one);
	}
	make_attention(s, l, all);
	if (s->fused) {
		arrays_add(all, family_name(s, l, "mlp.gate_up_proj.weight"), 2 * s->ffn, s->dim, 0);
	} else {
		arrays_add(all, family_name(s, l, "mlp.gate_proj.weight"), s->ffn, s->dim, 0);
		arrays_add(all, family_name(s, l, "mlp.up_proj.weight"), s->ffn, s->dim, 0);
	}
	arrays_add(all, family_name(s, l, "mlp.down_proj.weight"), s->dim, s->ffn, 0);
}

void
family_make(const struct spec *s, struct arrays *all)
{
	char name[128];

	*all = (struct arrays){ .seed = s->dim * 7 + s->layers };
	snprintf(name, sizeof(name), "%sembed_tokens.weight", s->prefix);
	arrays_add(all, name, s->vocab, s->dim, 0);
	snprintf(name, sizeof(name), "%snorm.weight", s->prefix);
	arrays_add(all, name, s->dim, 0, 1 - s->norm_add);
	for (size_t l = 0; l < s->layers; l++)
		make_layer(s, l, all);
	if (s->vision)
		arrays_add(all, "vision_tower.vision_model.embeddings.patch_embedding.weight", 7, 3, 0);
}

static void
times(const float *w, const double *x, size_t rows, size_t cols, double *y)
{
	for (size_t r = 0; r < rows; r++) {
		y[r] = 0;
		for (size_t i = 0; i < cols; i++)
			y[r] += w[r * cols + i] * x[i];
	}
}

static void
norm(const struct spec *s, const float *w, const double *x, size_t n, double *out)
{
	double sum = 0, mean = 0;

	for (size_t i = 0; s->centered && i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	for (size_t i = 0; i < n; i++)
		out[i] = (x[i] - mean) / sqrt(sum / (double)n + 1e-6) * (w[i] + s->norm_add);
}

static void
norm_heads(const struct spec *s, const float *w, size_t heads, double *x)
{
	size_t n = s->whole ? heads * s->hd : s->hd;

	for (size_t at = 0; w && at < heads * s->hd; at += n)
		norm(s, w, x + at, n, x + at);
}

/* Norm and turn of the heads of q or k. */
static void
turn(const struct spec *s, const float *w, size_t l, size_t pos, size_t heads, double *x)
{
	size_t rot = s->rot ? s->rot : s->hd, half = s->still >> l & 1 ? 0 : rot / 2;
	bool local = s->windowed >> l & 1 && s->local > 0;

	if (!s->late)
		norm_heads(s, w, heads, x);
	for (size_t h = 0; h < heads; h++) {
		for (size_t i = 0; i < half; i++) {
			double f = pow(local ? s->local : s->theta, -2.0 * (double)i / (double)rot);
			double *a = x + h * s->hd + (s->pairs ? 2 * i : i), *b = a + (s->pairs ? 1 : half);
			double len = s->longer > 0 ? s->longer : 1, p = *a, q = *b, angle;

			f /= local || !(s->factor > 0) ? 1 : s->factor;
			angle = f / (s->longer > 0 ? s->divide[i] : 1) * (double)pos;
			*a = len * (p * cos(angle) - q * sin(angle));
			*b = len * (q * cos(angle) + p * sin(angle));
		}
	}
	if (s->late)
		norm_heads(s, w, heads, x);
}

static double keys[6][FAMILY_TOKENS][WIDEST], values[6][FAMILY_TOKENS][WIDEST];

/* The rows of a projection, which may begin after others in a tensor. */
static void
project(const struct spec *s, const struct arrays *all, size_t l, const char *name,
	const char *fused, size_t skip, size_t rows, const double *x, double *y)
{
	char full[80];
	const float *w;

	snprintf(full, sizeof(full), "%s.weight", s->fused ? fused : name);
	w = get(all, family_name(s, l, full));
	times(s->fused ? w + skip * s->dim : w, x, rows, s->dim, y);
	snprintf(full, sizeof(full), "%s.bias", name);
	if (s->biases && strstr(name, "attn")) {
		w = get(all, family_name(s, l, full));
		for (size_t i = 0; i < rows; i++)
			y[i] += w[i];
	}
}

static double
cap(double x, double most)
{
	return most > 0 ? most * tanh(x / most) : x;
}

static void
look_back(const struct spec *s, size_t l, size_t pos, const double *q, double *out)
{
	bool windowed = s->windowed >> l & 1;
	size_t from = windowed && pos + 1 > s->window ? pos + 1 - s->window : 0;

	for (size_t h = 0; h < s->heads; h++) {
		size_t kv = h / (s->heads / s->kv) * s->hd;
		double w[FAMILY_TOKENS], sum = 0;

		for (size_t p = from; p <= pos; p++) {
			w[p] = 0;
			for (size_t i = 0; i < s->hd; i++)
				w[p] += q[h * s->hd + i] * keys[l][p][kv + i];
			w[p] /= sqrt(s->scalar > 0 ? s->scalar : (double)s->hd);
			sum += w[p] = exp(cap(w[p], s->attn_cap));
		}
		for (size_t i = 0; i < s->hd; i++) {
			out[h * s->hd + i] = 0;
			for (size_t p = from; p <= pos; p++)
				out[h * s->hd + i] += w[p] / sum * values[l][p][kv + i];
		}
	}
}

static void
attention(const struct spec *s, const struct arrays *all, size_t l, size_t pos, const double *h,
	  double *out)
{
	size_t q_rows = s->heads * s->hd, kv_rows = s->kv * s->hd;
	double q[WIDEST], mixed[WIDEST], *k = keys[l][pos], *v = values[l][pos];
	const char *fused = "self_attn.qkv_proj";

	project(s, all, l, "self_attn.q_proj", fused, 0, q_rows, h, q);
	project(s, all, l, "self_attn.k_proj", fused, q_rows, kv_rows, h, k);
	project(s, all, l, "self_attn.v_proj", fused, q_rows + kv_rows, kv_rows, h, v);
	turn(s, s->qk_norms ? get(all, family_name(s, l, q_norm(s))) : NULL, l, pos, s->heads, q);
	turn(s, s->qk_norms ? get(all, family_name(s, l, k_norm(s))) : NULL, l, pos, s->kv, k);
	look_back(s, l, pos, q, mixed);
	times(get(all, family_name(s, l, "self_attn.o_proj.weight")), mixed, s->dim, q_rows, out);
}

static void
feed_forward(const struct spec *s, const struct arrays *all, size_t l, const double *h, double *out)
{
	double g[WIDEST], u[WIDEST];

	project(s, all, l, "mlp.gate_proj", "mlp.gate_up_proj", 0, s->ffn, h, g);
	project(s, all, l, "mlp.up_proj", "mlp.gate_up_proj", s->ffn, s->ffn, h, u);
	for (size_t i = 0; i < s->ffn; i++) {
		double x = g[i], t = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);

		g[i] = u[i] * (s->gelu ? x / 2 * (1 + tanh(t)) : x / (1 + exp(-x)));
	}
	times(get(all, family_name(s, l, "mlp.down_proj.weight")), g, s->dim, s->ffn, out);
}

static void
join(const struct spec *s, const double *out, double *x)
{
	for (size_t i = 0; i < s->dim; i++)
		x[i] += out[i] * (s->residual > 0 ? s->residual : 1);
}

static void
plain_layer(const struct spec *s, const struct arrays *all, size_t l, size_t pos, double *x)
{
	double h[WIDEST], out[WIDEST];
	const char *before = s->post_norms ? "pre_feedforward_layernorm.weight"
					   : "post_attention_layernorm.weight";

	memcpy(h, x, s->dim * sizeof(*h));
	if (!s->behind)
		norm(s, get(all, family_name(s, l, "input_layernorm.weight")), x, s->dim, h);
	attention(s, all, l, pos, h, out);
	if (s->post_norms)
		norm(s, get(all, family_name(s, l, "post_attention_layernorm.weight")), out, s->dim, out);
	join(s, out, x);
	if (s->behind)
		memcpy(h, x, s->dim * sizeof(*h));
	else if (!s->beside)
		norm(s, get(all, family_name(s, l, before)), x, s->dim, h);
	feed_forward(s, all, l, h, out);
	if (s->post_norms)
		norm(s, get(all, family_name(s, l, "post_feedforward_layernorm.weight")), out, s->dim, out);
	join(s, out, x);
}

void
family_token(const struct spec *s, const struct arrays *all, uint32_t id, size_t pos, double *logits)
{
	char name[128];
	const float *embed;
	double x[WIDEST];

	snprintf(name, sizeof(name), "%sembed_tokens.weight", s->prefix);
	embed = get(all, name);
	for (size_t i = 0; i < s->dim; i++)
		x[i] = embed[id * s->dim + i] * (s->embed > 0 ? s->embed : 1);
	for (size_t l = 0; l < s->layers; l++)
		plain_layer(s, all, l, pos, x);
	snprintf(name, sizeof(name), "%snorm.weight", s->prefix);
	norm(s, get(all, name), x, s->dim, x);
	times(embed, x, s->vocab, s->dim, logits);
	for (size_t i = 0; i < s->vocab; i++)
		logits[i] = cap(logits[i] * (s->logits > 0 ? s->logits : 1), s->final_cap);
}
