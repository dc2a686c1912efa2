/* A small hybrid of every kind of layer (state space, attention, squared ReLU, experts) run
 * by the engine, and computed in doubles token after token. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "src/engine/engine.h"
#include "src/store/store.h"
#include "tests/unit/families.h"

#define LAYERS 6
#define PATTERN "M*-MEM"
#define VOCAB 50
#define DIM 24
#define HEADS 4
#define KV 2
#define HEAD 8
#define FFN 40
#define EXPERTS 5
#define USED 2
#define EXPERT_FFN 12
#define SHARED_FFN 20
/* Heads that do not fill whole pieces of columns, in groups that have two of them each. */
#define M_HEADS 6
#define M_DIM 40
#define M_GROUPS 3
#define M_STATE 10
#define M_KERNEL 4
#define INNER (M_HEADS * M_DIM)
#define CONV (INNER + 2 * M_GROUPS * M_STATE)
#define IN (INNER + CONV + M_HEADS)
#define EPS 1e-5

static const char config[] =
	"{\"architectures\":[\"NemotronHForCausalLM\"],\"model_type\":\"nemotron_h\","
	"\"vocab_size\":50,\"hidden_size\":24,\"intermediate_size\":40,\"num_hidden_layers\":6,"
	"\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":8,"
	"\"max_position_embeddings\":64,\"layer_norm_epsilon\":1e-5,\"mlp_hidden_act\":\"relu2\","
	"\"hybrid_override_pattern\":\"" PATTERN "\",\"mamba_num_heads\":6,\"mamba_head_dim\":40,"
	"\"n_groups\":3,\"ssm_state_size\":10,\"conv_kernel\":4,\"expand\":2,"
	"\"time_step_limit\":[0.0,Infinity],\"tie_word_embeddings\":false,"
	"\"n_routed_experts\":5,\"num_experts_per_tok\":2,\"moe_intermediate_size\":12,"
	"\"n_shared_experts\":1,\"moe_shared_expert_intermediate_size\":20,\"n_group\":1,"
	"\"topk_group\":1,\"norm_topk_prob\":true,\"routed_scaling_factor\":2.5}";

static struct arrays all;

static const char *
mixer(size_t l, const char *name)
{
	static char text[128];

	snprintf(text, sizeof(text), "backbone.layers.%zu.mixer.%s", l, name);
	return text;
}

static const float *
get(const char *name)
{
	return arrays_find(&all, name)->v;
}

static void
make_mamba(size_t l)
{
	arrays_add(&all, mixer(l, "in_proj.weight"), IN, DIM, 0);
	arrays_add(&all, mixer(l, "conv1d.weight"), CONV, M_KERNEL, 0);
	arrays_add(&all, mixer(l, "conv1d.bias"), CONV, 0, 0);
	arrays_add(&all, mixer(l, "A_log"), M_HEADS, 0, 0.5);
	arrays_add(&all, mixer(l, "D"), M_HEADS, 0, 1);
	arrays_add(&all, mixer(l, "dt_bias"), M_HEADS, 0, -1);
	arrays_add(&all, mixer(l, "norm.weight"), INNER, 0, 1);
	arrays_add(&all, mixer(l, "out_proj.weight"), DIM, INNER, 0);
}

static void
make_attention(size_t l)
{
	arrays_add(&all, mixer(l, "q_proj.weight"), HEADS * HEAD, DIM, 0);
	arrays_add(&all, mixer(l, "k_proj.weight"), KV * HEAD, DIM, 0);
	arrays_add(&all, mixer(l, "v_proj.weight"), KV * HEAD, DIM, 0);
	arrays_add(&all, mixer(l, "o_proj.weight"), DIM, HEADS * HEAD, 0);
}

static void
make_two(size_t l, const char *where, size_t ffn)
{
	char name[64];

	snprintf(name, sizeof(name), "%sup_proj.weight", where);
	arrays_add(&all, mixer(l, name), ffn, DIM, 0);
	snprintf(name, sizeof(name), "%sdown_proj.weight", where);
	arrays_add(&all, mixer(l, name), DIM, ffn, 0);
}

static void
make_experts(size_t l)
{
	char where[64];

	arrays_add(&all, mixer(l, "gate.weight"), EXPERTS, DIM, 0);
	arrays_add(&all, mixer(l, "gate.e_score_correction_bias"), EXPERTS, 0, 0);
	make_two(l, "shared_experts.", SHARED_FFN);
	for (unsigned e = 0; e < EXPERTS; e++) {
		snprintf(where, sizeof(where), "experts.%u.", e);
		make_two(l, where, EXPERT_FFN);
	}
}

static void
make(void)
{
	char name[64];

	all = (struct arrays){ .seed = 5 };
	arrays_add(&all, "backbone.embeddings.weight", VOCAB, DIM, 0);
	arrays_add(&all, "backbone.norm_f.weight", DIM, 0, 1);
	arrays_add(&all, "lm_head.weight", VOCAB, DIM, 0);
	for (size_t l = 0; l < LAYERS; l++) {
		snprintf(name, sizeof(name), "backbone.layers.%zu.norm.weight", l);
		arrays_add(&all, name, DIM, 0, 1);
		if (PATTERN[l] == 'M')
			make_mamba(l);
		else if (PATTERN[l] == '*')
			make_attention(l);
		else if (PATTERN[l] == '-')
			make_two(l, "", FFN);
		else
			make_experts(l);
	}
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
norm(const float *w, const double *x, size_t n, double *out)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] / sqrt(sum / (double)n + EPS) * w[i];
}

static double
silu(double x)
{
	return x / (1 + exp(-x));
}

/* What the layers know of the tokens so far. */
static double rows[LAYERS][FAMILY_TOKENS][IN], state[LAYERS][INNER][M_STATE];
static double keys[LAYERS][FAMILY_TOKENS][KV * HEAD], values[LAYERS][FAMILY_TOKENS][KV * HEAD];

static void
mamba(size_t l, size_t pos, const double *h, double *out)
{
	double *row = rows[l][pos], xbc[CONV], y[INNER];
	const float *w = get(mixer(l, "conv1d.weight")), *bias = get(mixer(l, "conv1d.bias"));
	const float *a = get(mixer(l, "A_log")), *d = get(mixer(l, "D"));
	const float *dt_bias = get(mixer(l, "dt_bias")), *weight = get(mixer(l, "norm.weight"));

	times(get(mixer(l, "in_proj.weight")), h, IN, DIM, row);
	for (size_t c = 0; c < CONV; c++) {
		xbc[c] = bias[c];
		for (size_t i = 0; i < M_KERNEL; i++)
			if (pos + i + 1 >= M_KERNEL)
				xbc[c] += w[c * M_KERNEL + i] *
					  rows[l][pos + i + 1 - M_KERNEL][INNER + c];
		xbc[c] = silu(xbc[c]);
	}
	for (size_t c = 0; c < INNER; c++) {
		size_t head = c / M_DIM, group = head / (M_HEADS / M_GROUPS);
		double dt = log1p(exp(row[INNER + CONV + head] + dt_bias[head]));

		y[c] = d[head] * xbc[c];
		for (size_t j = 0; j < M_STATE; j++) {
			double *s = &state[l][c][j], in = xbc[INNER + group * M_STATE + j];

			*s = (pos ? *s * exp(-exp(a[head]) * dt) : 0) + dt * in * xbc[c];
			y[c] += *s * xbc[INNER + (M_GROUPS + group) * M_STATE + j];
		}
		y[c] *= silu(row[c]);
	}
	for (size_t g = 0; g < INNER; g += INNER / M_GROUPS)
		norm(weight + g, y + g, INNER / M_GROUPS, y + g);
	times(get(mixer(l, "out_proj.weight")), y, DIM, INNER, out);
}

/* Positions turn nothing. */
static void
attention(size_t l, size_t pos, const double *h, double *out)
{
	double q[HEADS * HEAD], mixed[HEADS * HEAD];

	times(get(mixer(l, "q_proj.weight")), h, HEADS * HEAD, DIM, q);
	times(get(mixer(l, "k_proj.weight")), h, KV * HEAD, DIM, keys[l][pos]);
	times(get(mixer(l, "v_proj.weight")), h, KV * HEAD, DIM, values[l][pos]);
	for (size_t n = 0; n < HEADS; n++) {
		size_t kv = n / (HEADS / KV) * HEAD;
		double w[FAMILY_TOKENS], sum = 0;

		for (size_t p = 0; p <= pos; p++) {
			w[p] = 0;
			for (size_t i = 0; i < HEAD; i++)
				w[p] += q[n * HEAD + i] * keys[l][p][kv + i];
			sum += w[p] = exp(w[p] / sqrt(HEAD));
		}
		for (size_t i = 0; i < HEAD; i++) {
			mixed[n * HEAD + i] = 0;
			for (size_t p = 0; p <= pos; p++)
				mixed[n * HEAD + i] += w[p] / sum * values[l][p][kv + i];
		}
	}
	times(get(mixer(l, "o_proj.weight")), mixed, DIM, HEADS * HEAD, out);
}

/* down(relu(up h)^2) */
static void
two(size_t l, const char *where, size_t ffn, const double *h, double *out)
{
	double u[FFN];
	char name[64];

	snprintf(name, sizeof(name), "%sup_proj.weight", where);
	times(get(mixer(l, name)), h, ffn, DIM, u);
	for (size_t i = 0; i < ffn; i++)
		u[i] = u[i] > 0 ? u[i] * u[i] : 0;
	snprintf(name, sizeof(name), "%sdown_proj.weight", where);
	times(get(mixer(l, name)), u, DIM, ffn, out);
}

static void
experts(size_t l, const double *h, double *out)
{
	const float *bias = get(mixer(l, "gate.e_score_correction_bias"));
	double p[EXPERTS], one[DIM], sum = 0;
	size_t chosen[USED];
	char where[64];

	times(get(mixer(l, "gate.weight")), h, EXPERTS, DIM, p);
	for (size_t e = 0; e < EXPERTS; e++)
		p[e] = 1 / (1 + exp(-p[e]));
	for (size_t i = 0; i < USED; i++) {
		chosen[i] = EXPERTS;
		for (size_t e = 0; e < EXPERTS; e++)
			if (!(i && chosen[0] == e) &&
			    (chosen[i] == EXPERTS || p[e] + bias[e] > p[chosen[i]] + bias[chosen[i]]))
				chosen[i] = e;
		sum += p[chosen[i]];
	}
	two(l, "shared_experts.", SHARED_FFN, h, out);
	for (size_t i = 0; i < USED; i++) {
		snprintf(where, sizeof(where), "experts.%zu.", chosen[i]);
		two(l, where, EXPERT_FFN, h, one);
		for (size_t j = 0; j < DIM; j++)
			out[j] += 2.5 * p[chosen[i]] / sum * one[j];
	}
}

static void
token(uint32_t id, size_t pos, double *logits)
{
	double x[DIM], h[DIM], out[DIM];
	char name[64];

	for (size_t i = 0; i < DIM; i++)
		x[i] = get("backbone.embeddings.weight")[id * DIM + i];
	for (size_t l = 0; l < LAYERS; l++) {
		snprintf(name, sizeof(name), "backbone.layers.%zu.norm.weight", l);
		norm(get(name), x, DIM, h);
		if (PATTERN[l] == 'M')
			mamba(l, pos, h, out);
		else if (PATTERN[l] == '*')
			attention(l, pos, h, out);
		else if (PATTERN[l] == '-')
			two(l, "", FFN, h, out);
		else
			experts(l, h, out);
		for (size_t i = 0; i < DIM; i++)
			x[i] += out[i];
	}
	norm(get("backbone.norm_f.weight"), x, DIM, h);
	times(get("lm_head.weight"), h, VOCAB, DIM, logits);
}

static uint32_t ids[FAMILY_TOKENS];
static double want[FAMILY_TOKENS][VOCAB];

static void
check_row(size_t pos, const float *got, const char *how)
{
	for (size_t i = 0; i < VOCAB; i++)
		if (!(fabs(got[i] - want[pos][i]) < 2e-4))
			fail_msg("%s: logit %zu of token %zu is %g, not %g", how, i, pos, got[i],
				 want[pos][i]);
}

/* In pieces of n tokens. */
static void
check_pieces(struct session *s, size_t n, const char *how)
{
	const float *logits;
	struct tb_err err;

	assert_int_equal(session_rewind(s, 0), 0);
	for (size_t at = 0; at < FAMILY_TOKENS; at += n) {
		size_t m = FAMILY_TOKENS - at < n ? FAMILY_TOKENS - at : n;

		assert_ok(session_eval(s, ids + at, m, true, NULL, &logits, &err), err);
		for (size_t i = 0; i < m; i++)
			check_row(at + i, logits + i * VOCAB, how);
	}
}

/* A state cannot be cut: what the session went back to is computed again from there. */
static void
check_back(struct session *s, uint32_t to)
{
	uint32_t from = session_rewind(s, to);
	const float *logits;
	struct tb_err err;

	assert_true(from <= to);
	assert_int_equal(session_pos(s), from);
	assert_ok(session_eval(s, ids + from, FAMILY_TOKENS - from, false, NULL, &logits, &err), err);
	check_row(FAMILY_TOKENS - 1, logits, "after going back");
}

static void
test_hybrid(void **unused)
{
	static const char *const paths[] = { "scalar", "avx2", "avx512" };
	const char *root = unit_tmp();
	struct store_roots roots;
	struct model_loc loc;
	struct model *m;
	struct engine *e;
	struct session *s;
	struct tb_err err;

	(void)unused;
	make();
	arrays_save(&all, "hybrid", config);
	for (uint32_t t = 0; t < FAMILY_TOKENS; t++) {
		ids[t] = (t * t * 11 + 3 * t + 1) % VOCAB;
		token(ids[t], t, want[t]);
	}
	assert_ok(store_roots_init(&roots, &root, 1, &err), err);
	assert_ok(store_resolve(&roots, unit_path("hybrid"), &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	for (size_t p = 0; p < sizeof(paths) / sizeof(*paths); p++) {
		assert_int_equal(setenv("TBTUI_CPU", paths[p], 1), 0);
		assert_ok(engine_open(&e, m, &(struct engine_opts){ .threads = 2, .exact = true }, &err), err);
		assert_ok(session_new(&s, e, 0, &err), err);
		check_pieces(s, FAMILY_TOKENS, "all at once");
		check_pieces(s, 1, "one by one");
		check_pieces(s, 5, "five by five");
		check_back(s, 17);
		check_back(s, 3);
		session_free(s);
		engine_free(e);
	}
	unsetenv("TBTUI_CPU");
	model_free(m);
	model_loc_free(&loc);
	store_roots_free(&roots);
	arrays_free(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_hybrid) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
