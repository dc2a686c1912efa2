/* Small models of each family in files as Hugging Face has them, run by the engine and
 * computed here in doubles from the same numbers, found by their names in the file:
 * this knows nothing of slots, rules and struct hparams. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/engine/engine.h"
#include "src/format/safetensors.h"
#include "src/quant/codec.h"
#include "src/store/store.h"

#define TOKENS 24
#define WIDEST 2048
#define MAX_ARRAYS 100

struct spec {
	const char *dir, *prefix, *config;
	size_t vocab, dim, ffn, layers, heads, kv, hd;
	bool post_norms, qk_norms, biases, fused, gelu, vision;
	double norm_add, embed, scalar;		/* scalar: of q k; 0: hd */
	double attn_cap, final_cap;
	size_t window;
	unsigned windowed;			/* bits of layers */
	double theta, local, factor;		/* local: of layers with a window; factor: others' */
	size_t rot;				/* elements that turn; 0: all */
	double divide[4], longer;		/* of frequencies; length of what turned */
};

#define S(n) #n
#define SIZES(vocab, dim, ffn, layers) "\"vocab_size\":" S(vocab) ",\"hidden_size\":" S(dim) \
	",\"intermediate_size\":" S(ffn) ",\"num_hidden_layers\":" S(layers)
#define HEADS(heads, kv, hd) ",\"num_attention_heads\":" S(heads) \
	",\"num_key_value_heads\":" S(kv) ",\"head_dim\":" S(hd) ",\"max_position_embeddings\":32" \
	",\"rms_norm_eps\":1e-6"

static const struct spec specs[] = {
	{ .dir = "gemma", .prefix = "model.",
	  .config = "{\"model_type\":\"gemma\",\"hidden_act\":\"gelu\","
		    SIZES(50, 24, 40, 2) HEADS(4, 1, 8) "}",
	  .vocab = 50, .dim = 24, .ffn = 40, .layers = 2, .heads = 4, .kv = 1, .hd = 8,
	  .gelu = true, .norm_add = 1, .embed = 4.898979486, .theta = 10000 },
	{ .dir = "gemma2", .prefix = "model.",
	  .config = "{\"model_type\":\"gemma2\",\"sliding_window\":5,\"query_pre_attn_scalar\":3,"
		    "\"attn_logit_softcapping\":2,\"final_logit_softcapping\":1.5,"
		    SIZES(50, 16, 40, 3) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 3, .heads = 4, .kv = 2, .hd = 8,
	  .post_norms = true, .gelu = true, .norm_add = 1, .embed = 4, .scalar = 3,
	  .attn_cap = 2, .final_cap = 1.5, .window = 5, .windowed = 5, .theta = 10000 },
	/* nested, with a picture's part beside it, and silent about what is usual */
	{ .dir = "gemma3", .prefix = "language_model.model.", .vision = true,
	  .config = "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],"
		    "\"model_type\":\"gemma3\",\"vision_config\":{\"hidden_size\":7},"
		    "\"text_config\":{\"model_type\":\"gemma3_text\",\"sliding_window\":6,"
		    "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},"
		    SIZES(50, 16, 24, 6) "}}",
	  .vocab = 50, .dim = 16, .ffn = 24, .layers = 6, .heads = 8, .kv = 4, .hd = 256,
	  .post_norms = true, .qk_norms = true, .gelu = true, .norm_add = 1, .embed = 4,
	  .window = 6, .windowed = 31, .theta = 1e6, .local = 10000, .factor = 8 },
	{ .dir = "phi3", .prefix = "model.", .fused = true,
	  .config = "{\"model_type\":\"phi3\",\"sliding_window\":9,\"partial_rotary_factor\":0.5,"
		    "\"original_max_position_embeddings\":8,\"rope_scaling\":{\"type\":\"longrope\","
		    "\"short_factor\":[1,1],\"long_factor\":[1.25,3.5]},"
		    SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .window = 9, .windowed = 3, .theta = 10000, .rot = 4, .divide = { 1.25, 3.5 },
	  .longer = 1.2909944487358056 },	/* sqrt(1 + ln 4 / ln 8) */
	{ .dir = "qwen2", .prefix = "model.",
	  .config = "{\"model_type\":\"qwen2\",\"use_sliding_window\":true,\"sliding_window\":4,"
		    "\"max_window_layers\":1," SIZES(50, 16, 40, 3) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 3, .heads = 4, .kv = 2, .hd = 8,
	  .biases = true, .window = 4, .windowed = 6, .theta = 10000 },
	{ .dir = "qwen3", .prefix = "model.",
	  .config = "{\"model_type\":\"qwen3\",\"use_sliding_window\":true,\"sliding_window\":3,"
		    "\"layer_types\":[\"sliding_attention\",\"full_attention\"],"
		    "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500},"
		    SIZES(50, 16, 40, 2) HEADS(4, 2, 8) "}",
	  .vocab = 50, .dim = 16, .ffn = 40, .layers = 2, .heads = 4, .kv = 2, .hd = 8,
	  .qk_norms = true, .window = 3, .windowed = 1, .theta = 500 },
};

/* The tensors of one file. */
struct array { char name[128]; size_t rows, cols; float *v; };
struct arrays { struct array t[MAX_ARRAYS]; size_t n; uint64_t seed; };

static float
uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (float)(int32_t)(*seed >> 32) / 2147483648.0f;
}

/* cols 0: a vector of values around `mean` */
static void
add(struct arrays *all, const char *name, size_t rows, size_t cols, double mean)
{
	struct array *t = &all->t[all->n++];
	double spread = cols ? 2 / sqrt((double)cols) : 0.3;

	assert_true(all->n <= MAX_ARRAYS);
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->rows = rows;
	t->cols = cols;
	t->v = calloc(rows * (cols ? cols : 1), sizeof(float));
	for (size_t i = 0; i < rows * (cols ? cols : 1); i++)
		t->v[i] = (float)(mean + spread * uniform(&all->seed));
}

static void
arrays_free(struct arrays *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->t[i].v);
	all->n = 0;
}

static const char *
at(const struct spec *s, size_t layer, const char *name)
{
	static char text[160];

	snprintf(text, sizeof(text), "%slayers.%zu.%s", s->prefix, layer, name);
	return text;
}

static const struct array *
find(const struct arrays *all, const char *name)
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
	return find(all, name)->v;
}

static void
make_attention(const struct spec *s, size_t l, struct arrays *all)
{
	size_t q = s->heads * s->hd, kv = s->kv * s->hd;
	double one = 1 - s->norm_add;

	if (s->fused) {
		add(all, at(s, l, "self_attn.qkv_proj.weight"), q + 2 * kv, s->dim, 0);
	} else {
		add(all, at(s, l, "self_attn.q_proj.weight"), q, s->dim, 0);
		add(all, at(s, l, "self_attn.k_proj.weight"), kv, s->dim, 0);
		add(all, at(s, l, "self_attn.v_proj.weight"), kv, s->dim, 0);
	}
	if (s->biases) {
		add(all, at(s, l, "self_attn.q_proj.bias"), q, 0, 0);
		add(all, at(s, l, "self_attn.k_proj.bias"), kv, 0, 0);
		add(all, at(s, l, "self_attn.v_proj.bias"), kv, 0, 0);
	}
	if (s->qk_norms) {
		add(all, at(s, l, "self_attn.q_norm.weight"), s->hd, 0, one);
		add(all, at(s, l, "self_attn.k_norm.weight"), s->hd, 0, one);
	}
	add(all, at(s, l, "self_attn.o_proj.weight"), s->dim, q, 0);
}

static void
make_layer(const struct spec *s, size_t l, struct arrays *all)
{
	double one = 1 - s->norm_add;

	add(all, at(s, l, "input_layernorm.weight"), s->dim, 0, one);
	add(all, at(s, l, "post_attention_layernorm.weight"), s->dim, 0, one);
	if (s->post_norms) {
		add(all, at(s, l, "pre_feedforward_layernorm.weight"), s->dim, 0, one);
		add(all, at(s, l, "post_feedforward_layernorm.weight"), s->dim, 0, one);
	}
	make_attention(s, l, all);
	if (s->fused) {
		add(all, at(s, l, "mlp.gate_up_proj.weight"), 2 * s->ffn, s->dim, 0);
	} else {
		add(all, at(s, l, "mlp.gate_proj.weight"), s->ffn, s->dim, 0);
		add(all, at(s, l, "mlp.up_proj.weight"), s->ffn, s->dim, 0);
	}
	add(all, at(s, l, "mlp.down_proj.weight"), s->dim, s->ffn, 0);
}

static void
make(const struct spec *s, struct arrays *all)
{
	char name[128];

	*all = (struct arrays){ .seed = s->dim * 7 + s->layers };
	snprintf(name, sizeof(name), "%sembed_tokens.weight", s->prefix);
	add(all, name, s->vocab, s->dim, 0);
	snprintf(name, sizeof(name), "%snorm.weight", s->prefix);
	add(all, name, s->dim, 0, 1 - s->norm_add);
	for (size_t l = 0; l < s->layers; l++)
		make_layer(s, l, all);
	if (s->vision)
		add(all, "vision_tower.vision_model.embeddings.patch_embedding.weight", 7, 3, 0);
}

/* A file, and config.json beside it. */
static void
write_file(const char *dir, const char *config, struct st_tensor *t, size_t n,
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

static void
save(const struct arrays *all, const char *dir, const char *config)
{
	struct st_tensor t[MAX_ARRAYS];
	struct tb_buf data = TB_BUF(8 << 20);

	for (size_t i = 0; i < all->n; i++) {
		const struct array *from = &all->t[i];

		t[i] = (struct st_tensor){ .name = from->name, .dtype = DT_F32,
					   .ndim = from->cols ? 2 : 1,
					   .dim = { from->rows, from->cols } };
		tb_buf_add(&data, from->v, from->rows * (from->cols ? from->cols : 1) * 4);
	}
	write_file(dir, config, t, all->n, &data);
	tb_buf_free(&data);
}

struct opened {
	struct store_roots roots;
	struct model_loc loc;
	struct model *m;
	struct engine *e;
	struct session *s;
};

static void
open_model(struct opened *o, const char *dir)
{
	const char *root = unit_tmp();
	struct tb_err err;

	assert_ok(store_roots_init(&o->roots, &root, 1, &err), err);
	assert_ok(store_resolve(&o->roots, unit_path(dir), &o->loc, &err), err);
	assert_ok(model_open(&o->m, &o->loc, &err), err);
	assert_ok(engine_open(&o->e, o->m, &(struct engine_opts){ .threads = 2 }, &err), err);
	assert_ok(session_new(&o->s, o->e, 0, &err), err);
}

static void
close_model(struct opened *o)
{
	session_free(o->s);
	engine_free(o->e);
	model_free(o->m);
	model_loc_free(&o->loc);
	store_roots_free(&o->roots);
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
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] / sqrt(sum / (double)n + 1e-6) * (w[i] + s->norm_add);
}

/* Norm and turn of the heads of q or k. */
static void
turn(const struct spec *s, const float *w, bool windowed, size_t pos, size_t heads, double *x)
{
	size_t rot = s->rot ? s->rot : s->hd, half = rot / 2;
	bool local = windowed && s->local > 0;

	for (size_t h = 0; h < heads; h++, x += s->hd) {
		if (w)
			norm(s, w, x, s->hd, x);
		for (size_t i = 0; i < half; i++) {
			double f = pow(local ? s->local : s->theta, -2.0 * (double)i / (double)rot);
			double len = s->longer > 0 ? s->longer : 1, p = x[i], q = x[half + i], a;

			f /= local || !(s->factor > 0) ? 1 : s->factor;
			a = f / (s->longer > 0 ? s->divide[i] : 1) * (double)pos;
			x[i] = len * (p * cos(a) - q * sin(a));
			x[half + i] = len * (q * cos(a) + p * sin(a));
		}
	}
}

static double keys[6][TOKENS][WIDEST], values[6][TOKENS][WIDEST];

/* The rows of a projection, which may begin after others in a tensor. */
static void
project(const struct spec *s, const struct arrays *all, size_t l, const char *name,
	const char *fused, size_t skip, size_t rows, const double *x, double *y)
{
	char full[80];
	const float *w;

	snprintf(full, sizeof(full), "%s.weight", s->fused ? fused : name);
	w = get(all, at(s, l, full));
	times(s->fused ? w + skip * s->dim : w, x, rows, s->dim, y);
	snprintf(full, sizeof(full), "%s.bias", name);
	if (s->biases && strstr(name, "attn")) {
		w = get(all, at(s, l, full));
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
		double w[TOKENS], sum = 0;

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
	bool windowed = s->windowed >> l & 1;
	double q[WIDEST], mixed[WIDEST], *k = keys[l][pos], *v = values[l][pos];
	const char *fused = "self_attn.qkv_proj";

	project(s, all, l, "self_attn.q_proj", fused, 0, q_rows, h, q);
	project(s, all, l, "self_attn.k_proj", fused, q_rows, kv_rows, h, k);
	project(s, all, l, "self_attn.v_proj", fused, q_rows + kv_rows, kv_rows, h, v);
	turn(s, s->qk_norms ? get(all, at(s, l, "self_attn.q_norm.weight")) : NULL, windowed, pos,
	     s->heads, q);
	turn(s, s->qk_norms ? get(all, at(s, l, "self_attn.k_norm.weight")) : NULL, windowed, pos,
	     s->kv, k);
	look_back(s, l, pos, q, mixed);
	times(get(all, at(s, l, "self_attn.o_proj.weight")), mixed, s->dim, q_rows, out);
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
	times(get(all, at(s, l, "mlp.down_proj.weight")), g, s->dim, s->ffn, out);
}

static void
plain_layer(const struct spec *s, const struct arrays *all, size_t l, size_t pos, double *x)
{
	double h[WIDEST], out[WIDEST];
	const char *before = s->post_norms ? "pre_feedforward_layernorm.weight"
					   : "post_attention_layernorm.weight";

	norm(s, get(all, at(s, l, "input_layernorm.weight")), x, s->dim, h);
	attention(s, all, l, pos, h, out);
	if (s->post_norms)
		norm(s, get(all, at(s, l, "post_attention_layernorm.weight")), out, s->dim, out);
	for (size_t i = 0; i < s->dim; i++)
		x[i] += out[i];
	norm(s, get(all, at(s, l, before)), x, s->dim, h);
	feed_forward(s, all, l, h, out);
	if (s->post_norms)
		norm(s, get(all, at(s, l, "post_feedforward_layernorm.weight")), out, s->dim, out);
	for (size_t i = 0; i < s->dim; i++)
		x[i] += out[i];
}

static void
plain_token(const struct spec *s, const struct arrays *all, uint32_t id, size_t pos, double *logits)
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
		logits[i] = cap(logits[i], s->final_cap);
}

static void
check_row(const struct spec *s, size_t pos, const float *got, const double *want)
{
	for (size_t i = 0; i < s->vocab; i++)
		if (!(fabs(got[i] - want[i]) < 2e-4))
			fail_msg("%s: logit %zu of token %zu is %g, not %g", s->dir, i, pos, got[i],
				 want[i]);
}

static void
check_family(const struct spec *s)
{
	double want[TOKENS][64];
	uint32_t ids[TOKENS];
	const float *logits;
	struct arrays all;
	struct opened o;
	struct tb_err err;

	make(s, &all);
	save(&all, s->dir, s->config);
	for (uint32_t t = 0; t < TOKENS; t++) {
		ids[t] = (t * t * 11 + 3 * t + 1) % (uint32_t)s->vocab;
		plain_token(s, &all, ids[t], t, want[t]);
	}
	open_model(&o, s->dir);
	assert_ok(session_eval(o.s, ids, TOKENS, true, NULL, &logits, &err), err);
	for (size_t t = 0; t < TOKENS; t++)
		check_row(s, t, logits + t * s->vocab, want[t]);
	session_rewind(o.s, 0);
	for (size_t t = 0; t < TOKENS; t++) {
		assert_ok(session_eval(o.s, ids + t, 1, false, NULL, &logits, &err), err);
		check_row(s, t, logits, want[t]);
	}
	close_model(&o);
	arrays_free(&all);
}

static void
test_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
		check_family(&specs[i]);
}

/* A matrix as codes, scales and biases, as MLX names them. */
static void
quantized(const struct array *a, const struct scheme *scheme, char (*names)[140],
	  struct st_tensor *t, struct tb_buf *data)
{
	static const char *const endings[] = { "weight", "scales", "biases" };
	size_t n = a->rows * a->cols, codes = scheme_code_bytes(scheme, n);
	size_t scales = scheme_scales(scheme, n) * 4, stem = strlen(a->name) - strlen("weight");
	uint8_t *bytes = malloc(codes + 2 * scales);
	struct quant_parts parts = { bytes, bytes + codes, bytes + codes + scales };

	quant_encode(scheme, FLAVOUR_METAL, DT_F32, a->v, n, &parts);
	for (size_t i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%.*s%s", (int)stem, a->name, endings[i]);
		t[i] = (struct st_tensor){
			.name = names[i], .dtype = i ? DT_F32 : DT_U32, .ndim = 2,
			.dim = { a->rows, i ? a->cols / scheme->group : a->cols * scheme->bits / 32 }
		};
	}
	tb_buf_add(data, bytes, codes + 2 * scales);
	free(bytes);
}

static void
save_quantized(const struct arrays *all, const char *dir, const char *config)
{
	static char names[3 * MAX_ARRAYS][140];
	struct st_tensor t[3 * MAX_ARRAYS];
	struct tb_buf data = TB_BUF(8 << 20);
	struct scheme scheme;
	struct tb_err err;
	size_t n = 0;

	assert_ok(scheme_parse("int4", &scheme, &err), err);
	for (size_t i = 0; i < all->n; i++) {
		const struct array *a = &all->t[i];

		if (a->cols) {
			quantized(a, &scheme, names + n, t + n, &data);
			n += 3;
		} else {
			t[n++] = (struct st_tensor){ .name = a->name, .dtype = DT_F32, .ndim = 1,
						     .dim = { a->rows } };
			tb_buf_add(&data, a->v, a->rows * 4);
		}
	}
	write_file(dir, config, t, n, &data);
	tb_buf_free(&data);
}

/* The array `name` of layer l, as the rows of several behind each other. */
static void
fuse(const struct spec *s, const struct arrays *from, size_t l, const char *name,
     const char *const parts[3], struct arrays *to)
{
	struct array *t = &to->t[to->n++];

	*t = (struct array){ .cols = s->dim, .v = malloc(512 * s->dim * sizeof(float)) };
	for (size_t i = 0; i < 3 && parts[i]; i++) {
		const struct array *a = find(from, at(s, l, parts[i]));

		assert_true(t->rows + a->rows <= 512);
		memcpy(t->v + t->rows * t->cols, a->v, a->rows * t->cols * sizeof(float));
		t->rows += a->rows;
	}
	snprintf(t->name, sizeof(t->name), "%s", at(s, l, name));
}

static void
fuse_all(const struct spec *s, const struct arrays *from, struct arrays *to)
{
	static const char *const qkv[] = { "self_attn.q_proj.weight", "self_attn.k_proj.weight",
					   "self_attn.v_proj.weight" };
	static const char *const mlp[] = { "mlp.gate_proj.weight", "mlp.up_proj.weight", NULL };

	to->n = 0;
	for (size_t l = 0; l < s->layers; l++) {
		fuse(s, from, l, "self_attn.qkv_proj.weight", qkv, to);
		fuse(s, from, l, "mlp.gate_up_proj.weight", mlp, to);
	}
	for (size_t i = 0; i < from->n; i++) {
		const struct array *a = &from->t[i];
		size_t n = a->rows * (a->cols ? a->cols : 1);

		if (strstr(a->name, "q_proj") || strstr(a->name, "k_proj") ||
		    strstr(a->name, "v_proj") || strstr(a->name, "gate_proj") ||
		    strstr(a->name, "up_proj"))
			continue;
		to->t[to->n] = *a;
		to->t[to->n].v = malloc(n * sizeof(float));
		memcpy(to->t[to->n++].v, a->v, n * sizeof(float));
	}
}

static void
check_same(const char *a, const char *b)
{
	static const uint32_t ids[] = { 1, 5, 9, 20, 3, 7, 11 };
	struct opened x, y;
	const float *p, *q;
	struct tb_err err;

	open_model(&x, a);
	open_model(&y, b);
	assert_ok(session_eval(x.s, ids, 7, true, NULL, &p, &err), err);
	assert_ok(session_eval(y.s, ids, 7, true, NULL, &q, &err), err);
	assert_memory_equal(p, q, 7 * 50 * sizeof(float));
	close_model(&x);
	close_model(&y);
}

/* Views of rows are the same bytes as matrices of their own, codes and scales too. */
static void
test_fused(void **state)
{
	static const struct spec s = { .prefix = "model.", .vocab = 50, .dim = 64, .ffn = 128,
				       .layers = 2, .heads = 4, .kv = 2, .hd = 16 };
#define BODY SIZES(50, 64, 128, 2) HEADS(4, 2, 16)
#define QUANTIZED BODY ",\"quantization\":{\"group_size\":64,\"bits\":4}"
	static const char llama[] = "{\"model_type\":\"llama\"," BODY "}";
	static const char phi3[] = "{\"model_type\":\"phi3\"," BODY "}";
	static const char llama_q[] = "{\"model_type\":\"llama\"," QUANTIZED "}";
	static const char phi3_q[] = "{\"model_type\":\"phi3\"," QUANTIZED "}";
	struct arrays each, fused;

	(void)state;
	make(&s, &each);
	fuse_all(&s, &each, &fused);
	save(&each, "each", llama);
	save(&fused, "fused", phi3);
	check_same("each", "fused");
	save_quantized(&each, "each-q", llama_q);
	save_quantized(&fused, "fused-q", phi3_q);
	check_same("each-q", "fused-q");
	arrays_free(&each);
	arrays_free(&fused);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_fused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
