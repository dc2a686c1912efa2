/* The forward pass against the same model computed in double precision, the plain
 * way: whole sequence at once, no cache, no blocks, no vectors. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/base/job.h"
#include "src/engine/run.h"
#include "src/engine/synthetic.h"
#include "src/quant/codec.h"

#define N 40			/* tokens, mostly */
#define MAX_N 600		/* beyond two steps of the cache and one block */
#define MAX_WIDTH 1024

#define SHAPE(vocab, dim, ffn, heads, kv, hd) \
	"\"vocab_size\":" #vocab ",\"hidden_size\":" #dim ",\"intermediate_size\":" #ffn \
	",\"num_hidden_layers\":2,\"num_attention_heads\":" #heads ",\"num_key_value_heads\":" #kv \
	",\"head_dim\":" #hd ",\"max_position_embeddings\":700,\"rms_norm_eps\":1e-5," \
	"\"rope_theta\":10000"

/* Widths that fill no register, widths that fill many, all kinds of layers. */
static const struct {
	const char *config;
	double tolerance;
} models[] = {
	{ "{\"model_type\":\"llama\"," SHAPE(67, 36, 50, 6, 2, 6) "}", 2e-4 },
	{ "{\"model_type\":\"llama\",\"tie_word_embeddings\":true,"
	  SHAPE(96, 128, 192, 4, 4, 64) ",\"rope_scaling\":{\"rope_type\":\"llama3\","
	  "\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
	  "\"original_max_position_embeddings\":16}}", 2e-4 },
	{ "{\"model_type\":\"qwen2\"," SHAPE(80, 64, 128, 8, 1, 16) "}", 2e-4 },
	{ "{\"model_type\":\"mixtral\",\"num_local_experts\":5,\"num_experts_per_tok\":2,"
	  SHAPE(70, 64, 128, 4, 2, 32) "}", 2e-4 },
	{ "{\"model_type\":\"qwen3_moe\",\"num_experts\":12,\"num_experts_per_tok\":9,"
	  "\"moe_intermediate_size\":64,\"norm_topk_prob\":false,"
	  SHAPE(70, 64, 128, 4, 2, 32) "}", 2e-4 },
	{ "{\"model_type\":\"gemma\"," SHAPE(75, 48, 100, 6, 1, 16) "}", 2e-4 },
	{ "{\"model_type\":\"gemma2\",\"sliding_window\":7,\"query_pre_attn_scalar\":0.1,"
	  "\"attn_logit_softcapping\":1.5,\"final_logit_softcapping\":0.4,"
	  SHAPE(77, 64, 96, 4, 2, 32) "}", 2e-4 },
	{ "{\"model_type\":\"gemma3_text\",\"sliding_window\":20,\"sliding_window_pattern\":2,"
	  "\"query_pre_attn_scalar\":3,\"rope_local_base_freq\":20,"
	  "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8},"
	  SHAPE(77, 64, 96, 4, 2, 32) "}", 2e-4 },
	{ "{\"model_type\":\"mistral\",\"sliding_window\":270,"
	  SHAPE(67, 36, 50, 6, 2, 6) "}", 2e-4 },
};
enum { SMALL = 0, EXPERTS = 3, GEMMA2 = 6, GEMMA3 = 7, MISTRAL = 8 };
#define NMODELS (sizeof(models) / sizeof(*models))

static struct engine *
make(size_t i, const char *scheme)
{
	struct synthetic spec = { .config = models[i].config, .seed = 7 + i };
	struct engine_opts opts = { .threads = 3, .exact = true, .kv = KV_F32 };
	struct engine *e;
	struct tb_err err;

	spec.config_len = strlen(spec.config);
	assert_ok(scheme_parse(scheme, &spec.scheme, &err), err);
	assert_ok(engine_synthetic(&e, &spec, &opts, &err), err);
	return e;
}

static void
row_of(const struct matrix *m, uint32_t r, float *out)
{
	if (m->scheme.kind == SCHEME_PLAIN) {
		size_t size = m->scheme.bits / 8;

		dtype_to_f32(m->scheme.dtype, m->codes + (size_t)r * m->cols * size, m->cols, out);
	} else {
		size_t scales = scheme_scales(&m->scheme, m->cols);
		size_t width = dtype_bits(m->scale_dtype) / 8;
		struct quant_src q = {
			.codes = m->codes + r * scheme_code_bytes(&m->scheme, m->cols),
			.scales = m->scales + r * scales * width,
			.biases = m->biases ? m->biases + r * scales * width : NULL,
			.scale_dtype = m->scale_dtype, .global = m->global,
		};

		quant_decode(&m->scheme, &q, m->cols, out);
	}
}

static void
product(const struct matrix *m, const double *x, double *y)
{
	float row[MAX_WIDTH];

	for (uint32_t r = 0; r < m->rows; r++) {
		row_of(m, r, row);
		y[r] = 0;
		for (uint32_t i = 0; i < m->cols; i++)
			y[r] += row[i] * x[i];
	}
}

static void
norm(double *out, const double *x, const float *w, size_t n, double eps)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] / sqrt(sum / (double)n + eps) * w[i];
}

static void
heads(const struct hparams *hp, const struct rope *rope, double *x, uint32_t n, const float *bias,
      const float *w, uint32_t pos)
{
	uint32_t hd = hp->head_dim, half = hd / 2;

	for (uint32_t i = 0; bias && i < n * hd; i++)
		x[i] += bias[i];
	for (uint32_t h = 0; h < n; h++, x += hd) {
		if (w)
			norm(x, x, w, hd, hp->rms_eps);
		for (uint32_t i = 0; i < half; i++) {
			double a = pos * hparams_inv_freq(hp, rope, i, 700), p = x[i], q = x[half + i];

			x[i] = p * cos(a) - q * sin(a);
			x[half + i] = q * cos(a) + p * sin(a);
		}
	}
}

static double
activate(const struct hparams *hp, double x)
{
	return hp->act == ACT_GELU_TANH
		? x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
		: x / (1 + exp(-x));
}

static double
soft(double x, double cap)
{
	return cap > 0 ? cap * tanh(x / cap) : x;
}

static void
swiglu(const struct hparams *hp, const struct matrix *gate, const struct matrix *up,
       const struct matrix *down, const double *x, double weight, double *to)
{
	double g[MAX_WIDTH], u[MAX_WIDTH], y[MAX_WIDTH];

	product(gate, x, g);
	product(up, x, u);
	for (uint32_t i = 0; i < gate->rows; i++)
		g[i] = activate(hp, g[i]) * u[i];
	product(down, g, y);
	for (uint32_t i = 0; i < hp->dim; i++)
		to[i] += weight * y[i];
}

static void
experts(const struct hparams *hp, const struct layer *l, const double *x, double *to)
{
	double p[64], sum = 0, chosen = 0;
	bool used[64] = { false };
	uint32_t order[64];

	product(&l->m[SLOT_ROUTER], x, p);
	for (uint32_t e = 0; e < hp->experts; e++)
		sum += p[e] = exp(p[e]);
	for (uint32_t i = 0; i < hp->experts_used; i++) {
		uint32_t best = hp->experts;

		for (uint32_t e = 0; e < hp->experts; e++)
			if (!used[e] && (best == hp->experts || p[e] > p[best]))
				best = e;
		used[order[i] = best] = true;
		chosen += p[best];
	}
	for (uint32_t i = 0; i < hp->experts_used; i++)
		swiglu(hp, &l->x[SLOT_X_GATE][order[i]], &l->x[SLOT_X_UP][order[i]],
		       &l->x[SLOT_X_DOWN][order[i]], x,
		       p[order[i]] / (hp->routing.renormalize ? chosen : sum), to);
}

static void
attend(const struct hparams *hp, size_t window, size_t t, double (*q)[MAX_WIDTH],
       double (*k)[MAX_WIDTH], double (*v)[MAX_WIDTH], double *out)
{
	double scale = hp->arch->query_scalar > 0 ? hp->attn_scale : 1 / sqrt(hp->head_dim);
	size_t from = window && t + 1 > window ? t + 1 - window : 0;

	for (uint32_t h = 0; h < hp->heads; h++) {
		uint32_t hd = hp->head_dim, kv = h / (hp->heads / hp->kv_heads) * hd;
		double w[MAX_N], sum = 0;

		for (size_t p = from; p <= t; p++) {
			w[p] = 0;
			for (uint32_t i = 0; i < hd; i++)
				w[p] += q[t][h * hd + i] * k[p][kv + i];
			sum += w[p] = exp(soft(w[p] * scale, hp->attn_softcap));
		}
		for (uint32_t i = 0; i < hd; i++) {
			out[h * hd + i] = 0;
			for (size_t p = from; p <= t; p++)
				out[h * hd + i] += w[p] / sum * v[p][kv + i];
		}
	}
}

static double x[MAX_N][MAX_WIDTH], q[MAX_N][MAX_WIDTH], k[MAX_N][MAX_WIDTH], v[MAX_N][MAX_WIDTH];

/* x += what a part of the layer says, normed where the model has that */
static void
join(const struct hparams *hp, double *to, double *out, const float *w)
{
	if (w)
		norm(out, out, w, hp->dim, hp->rms_eps);
	for (uint32_t i = 0; i < hp->dim; i++)
		to[i] += out[i];
}

static void
layer(const struct hparams *hp, const struct layer *l, uint32_t number, size_t n)
{
	double h[MAX_WIDTH], att[MAX_WIDTH];
	size_t window = hparams_windowed(hp, number) ? hp->window : 0;
	const struct rope *rope = window && hp->rope_local.theta > 0 ? &hp->rope_local : &hp->rope;

	for (uint32_t t = 0; t < n; t++) {
		norm(h, x[t], l->v[SLOT_ATTN_NORM], hp->dim, hp->rms_eps);
		product(&l->m[SLOT_Q], h, q[t]);
		product(&l->m[SLOT_K], h, k[t]);
		product(&l->m[SLOT_V], h, v[t]);
		heads(hp, rope, q[t], hp->heads, l->v[SLOT_Q_BIAS], l->v[SLOT_Q_NORM], t);
		heads(hp, rope, k[t], hp->kv_heads, l->v[SLOT_K_BIAS], l->v[SLOT_K_NORM], t);
		for (uint32_t i = 0; l->v[SLOT_V_BIAS] && i < hp->kv_heads * hp->head_dim; i++)
			v[t][i] += l->v[SLOT_V_BIAS][i];
	}
	for (size_t t = 0; t < n; t++) {
		double out[MAX_WIDTH] = { 0 };

		attend(hp, window, t, q, k, v, att);
		product(&l->m[SLOT_O], att, h);
		join(hp, x[t], h, l->v[SLOT_POST_ATTN_NORM]);
		norm(h, x[t], l->v[SLOT_FFN_NORM], hp->dim, hp->rms_eps);
		if (hp->experts)
			experts(hp, l, h, out);
		else
			swiglu(hp, &l->m[SLOT_GATE], &l->m[SLOT_UP], &l->m[SLOT_DOWN], h, 1, out);
		join(hp, x[t], out, l->v[SLOT_POST_FFN_NORM]);
	}
}

static void
plain_way(const struct engine *e, const uint32_t *ids, size_t n, double (*logits)[MAX_WIDTH])
{
	const struct layer *rest = e->weights.rest;
	double h[MAX_WIDTH], scale = e->hp.arch->embed_scale ? sqrt(e->hp.dim) : 1;

	for (size_t t = 0; t < n; t++) {
		float row[MAX_WIDTH];

		row_of(&rest->m[SLOT_EMBED], ids[t], row);
		for (uint32_t i = 0; i < e->hp.dim; i++)
			x[t][i] = row[i] * scale;
	}
	for (uint32_t i = 0; i < e->hp.layers; i++)
		layer(&e->hp, &e->weights.layers[i], i, n);
	for (size_t t = 0; t < n; t++) {
		norm(h, x[t], rest->v[SLOT_OUTPUT_NORM], e->hp.dim, e->hp.rms_eps);
		product(&rest->m[SLOT_OUTPUT], h, logits[t]);
		for (uint32_t i = 0; i < e->hp.vocab; i++)
			logits[t][i] = soft(logits[t][i], e->hp.final_softcap);
	}
}

static void
make_ids(const struct engine *e, uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = (uint32_t)(i * i * 31 + i * 7 + 3) % e->hp.vocab;
}

/* The largest difference, against the spread of the logits. */
static double
distance(const float *a, const double *b, size_t n)
{
	double most = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		most = fmax(most, fabs(a[i] - b[i]));
		sum += b[i] * b[i];
	}
	return most / sqrt(sum / (double)n);
}

static void
compare(size_t model, const char *scheme, size_t n, double tolerance)
{
	static double want[MAX_N][MAX_WIDTH];
	struct engine *e = make(model, scheme);
	uint32_t ids[MAX_N];
	struct session *s;
	const float *logits;
	struct tb_err err;
	double worst = 0;

	make_ids(e, ids, n);
	plain_way(e, ids, n, want);
	assert_ok(session_new(&s, e, 0, &err), err);
	assert_ok(session_eval(s, ids, n - 3, true, NULL, &logits, &err), err);
	for (size_t t = 0; t < n - 3; t++)
		worst = fmax(worst, distance(logits + t * e->hp.vocab, want[t], e->hp.vocab));
	for (size_t t = n - 3; t < n; t++) {
		assert_ok(session_eval(s, ids + t, 1, false, NULL, &logits, &err), err);
		worst = fmax(worst, distance(logits, want[t], e->hp.vocab));
	}
	if (worst > tolerance)
		fail_msg("model %zu in %s: off by %g", model, scheme, worst);
	session_free(s);
	engine_free(e);
}

static void
test_against_double(void **state)
{
	(void)state;
	for (size_t i = 0; i < NMODELS; i++) {
		compare(i, "f32", N, models[i].tolerance);
		compare(i, "bf16", N, models[i].tolerance);
		compare(i, "f16", N, models[i].tolerance);
	}
}

/* Windows that end in the middle of a step of the cache, and behind the first. */
static void
test_windows(void **state)
{
	(void)state;
	compare(GEMMA2, "f32", MAX_N, 2e-4);
	compare(GEMMA3, "f32", MAX_N, 2e-4);
	compare(MISTRAL, "f32", MAX_N, 2e-4);
}

static void
test_quantized(void **state)
{
	static const char *const schemes[] = { "int4", "int8", "mxfp4", "mxfp8", "nvfp4" };

	(void)state;
	for (size_t i = 1; i < NMODELS; i++)
		for (size_t s = 0; s < sizeof(schemes) / sizeof(*schemes); s++)
			compare(i, schemes[s], N, 0.02);
}

/* However a text is cut into calls, the last logits are the same; 600 tokens cross
 * the steps of the cache and the blocks of the prefill. */
static void
pieces(size_t model)
{
	static const size_t size[] = { 600, 1, 255, 256, 257, 100 };
	struct engine *e = make(model, "f32");
	double first[MAX_WIDTH];
	uint32_t ids[MAX_N];
	struct tb_err err;

	make_ids(e, ids, 600);
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		const float *logits = NULL;
		struct session *s;

		assert_ok(session_new(&s, e, 0, &err), err);
		for (size_t at = 0, n; at < 600; at += n) {
			n = 600 - at < size[i] ? 600 - at : size[i];
			assert_ok(session_eval(s, ids + at, n, false, NULL, &logits, &err), err);
		}
		assert_int_equal(session_pos(s), 600);
		for (size_t j = 0; !i && j < e->hp.vocab; j++)
			first[j] = logits[j];
		assert_true(distance(logits, first, e->hp.vocab) < 2e-4);
		session_free(s);
	}
	engine_free(e);
}

static void
test_pieces(void **state)
{
	(void)state;
	pieces(SMALL);	/* heads narrower than a register */
	pieces(EXPERTS);
	pieces(GEMMA2);
	pieces(GEMMA3);
	pieces(MISTRAL);
}

static void
test_rewind(void **state)
{
	struct engine *e = make(0, "f32");
	uint32_t ids[30], other[30];
	const float *logits;
	double want[MAX_WIDTH];
	struct session *s;
	struct tb_err err;

	(void)state;
	make_ids(e, ids, 30);
	memcpy(other, ids, sizeof(ids));
	for (size_t i = 20; i < 30; i++)
		other[i] = 1;
	assert_ok(session_new(&s, e, 0, &err), err);
	assert_ok(session_eval(s, ids, 30, false, NULL, &logits, &err), err);
	for (size_t j = 0; j < e->hp.vocab; j++)
		want[j] = logits[j];
	assert_int_equal(session_rewind(s, 20), 20);
	assert_ok(session_eval(s, other + 20, 10, false, NULL, &logits, &err), err);
	assert_true(distance(logits, want, e->hp.vocab) > 1e-3);
	assert_int_equal(session_rewind(s, 20), 20);
	assert_ok(session_eval(s, ids + 20, 10, false, NULL, &logits, &err), err);
	assert_true(distance(logits, want, e->hp.vocab) < 2e-4);
	assert_int_equal(session_rewind(s, 1000), 30);	/* not forward */
	assert_int_equal(session_pos(s), 30);
	session_free(s);
	engine_free(e);
}

static void
test_refusals(void **state)
{
	struct engine *e = make(0, "f32");
	struct tb_job *job = tb_job_new(-1);
	uint32_t ids[16] = { 1, 2, 3 }, bad[] = { 1, 67 };
	const float *logits;
	struct session *s;
	struct tb_err err;

	(void)state;
	assert_ok(session_new(&s, e, 10, &err), err);
	assert_int_equal(session_context(s), 10);
	assert_fails(session_eval(s, bad, 2, false, NULL, &logits, &err), err, TB_EUSAGE, "67");
	assert_fails(session_eval(s, ids, 0, false, NULL, &logits, &err), err, TB_EUSAGE, "");
	assert_fails(session_eval(s, ids, 11, false, NULL, &logits, &err), err, TB_ELIMIT, "10");
	assert_ok(session_eval(s, ids, 3, false, NULL, &logits, &err), err);
	assert_fails(session_eval(s, ids, 8, false, NULL, &logits, &err), err, TB_ELIMIT, "full");
	tb_job_cancel(job);
	assert_fails(session_eval(s, ids, 3, false, job, &logits, &err), err, TB_ECANCEL, "");
	assert_int_equal(session_pos(s), 3);
	assert_ok(session_eval(s, ids, 7, false, NULL, &logits, &err), err);
	session_free(s);
	assert_ok(session_new(&s, e, 5000, &err), err);
	assert_int_equal(session_context(s), 700);	/* no further than it was trained */
	session_free(s);
	tb_job_free(job);
	engine_free(e);
}

static void
test_not_finite(void **state)
{
	struct engine *e = make(0, "f32");
	uint32_t ids[] = { 1, 2, 3 };
	const float *logits;
	struct session *s;
	struct tb_err err;

	(void)state;
	e->weights.layers[1].v[SLOT_FFN_NORM][5] = NAN;
	assert_ok(session_new(&s, e, 0, &err), err);
	assert_fails(session_eval(s, ids, 3, false, NULL, &logits, &err), err, TB_EFORMAT, "finite");
	assert_int_equal(session_pos(s), 0);
	session_free(s);
	engine_free(e);
}

static void
test_bad_factors(void **state)
{
	static const float bad[] = { 0, NAN, -1, INFINITY };
	struct engine *e = make(SMALL, "f32");
	struct session *s;
	struct tb_err err;

	(void)state;
	e->hp.rope.factors = malloc(3 * sizeof(float));
	for (size_t i = 0; i < 4; i++) {
		memcpy(e->hp.rope.factors, (float[]){ 1, 1, bad[i] }, 3 * sizeof(float));
		assert_fails(session_new(&s, e, 0, &err), err, TB_EFORMAT, "pair 2");
		assert_null(s);
	}
	e->hp.rope.factors[2] = 3;
	assert_ok(session_new(&s, e, 0, &err), err);
	session_free(s);
	engine_free(e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_double),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_quantized),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_rewind),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_bad_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
