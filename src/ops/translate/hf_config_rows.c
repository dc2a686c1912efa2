/* hf_config_rows.c - config.json from a GGUF's keys: the table of translate_config_keys.c
 * read the other way, and what classes of Hugging Face's have to be told besides. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/translate/hf_parts.h"
#include "src/ops/translate/translate_rows.h"

struct config_making {
	const struct hf_making *h;
	const struct translate *t;
	cJSON *o, *rope;		/* rope_scaling; empty: there is none */
	double hidden, heads, head, part;	/* part: of a head, that turns */
};

/* Which of several keys with one meaning an architecture's class reads; else the first. */
static const struct { const char *archs, *key; } preferred[] = {
	{ "deepseek2 glm4moe nemotron_h*", "n_routed_experts" },
	{ "ernie4_5-moe", "moe_num_experts" },
	{ "ernie4_5-moe", "moe_k" },
	{ "qwen* olmoe lfm2moe laguna gemma4 cohere2moe", "num_experts" },
	{ "gemma4", "top_k_experts" },
	{ "cohere2moe", "prefix_dense_intermediate_size" },
	{ "-cohere2moe *", "intermediate_size" },
	{ "lfm2*", "norm_eps" },
	{ "nemotron_h*", "layer_norm_epsilon" },
	{ "nemotron_h*", "conv_kernel" }, { "nemotron_h*", "ssm_state_size" },
	{ "nemotron_h*", "n_groups" }, { "nemotron_h*", "mamba_num_heads" },
	{ "*", "rope_theta" }, { "*", "original_max_position_embeddings" },
	{ .archs = NULL }
};

/* What no key says, for each class of that kind alike. */
static const struct { const char *archs, *key, *json; } constants[] = {
	{ "-gemma4 -nemotron_h* *", "hidden_act", "\"silu\"" },
	{ "gemma4", "hidden_activation", "\"gelu_pytorch_tanh\"" },
	{ "nemotron_h*", "mlp_hidden_act", "\"relu2\"" },
	{ "nemotron_h*", "mamba_hidden_act", "\"silu\"" },
	{ "nemotron_h* granitehybrid", "use_conv_bias", "true" },
	{ "granitehybrid", "mamba_conv_bias", "true" },
	{ "granitehybrid", "mamba_proj_bias", "false" },
	{ "granitehybrid", "position_embedding_type", "\"nope\"" },
	{ "*", "attention_dropout", "0.0" },
	{ "qwen2moe qwen3vlmoe qwen3next", "decoder_sparse_step", "1" },
	{ "qwen2moe qwen3vlmoe qwen3next qwen35moe", "mlp_only_layers", "[]" },
	{ "qwen3vlmoe qwen3next glm4moe nemotron_h_moe cohere2moe", "norm_topk_prob", "true" },
	{ "qwen2moe olmoe", "norm_topk_prob", "false" },
	{ "qwen35*", "attn_output_gate", "true" },
	{ "deepseek2", "moe_layer_freq", "1" },
	{ "ernie4_5*", "use_bias", "false" },
	{ "lfm2*", "conv_bias", "false" },
	{ "lfm2", "block_auto_adjust_ff_dim", "false" },
	{ "lfm2moe", "use_expert_bias", "true" },
	{ "lfm2moe", "norm_topk_prob", "true" },
	{ "cohere2", "use_parallel_block", "true" },
	{ "cohere2 cohere2moe", "use_qk_norm", "false" },
	{ "cohere2moe", "shared_expert_combination_strategy", "\"average\"" },
	{ "cohere2moe", "prefix_dense_sliding_window_pattern", "1" },
	{ "cohere2*", "sliding_window_pattern", "4" },
	{ "smollm3", "no_rope_layer_interval", "4" },
	{ "minimax-m2", "use_qk_norm", "true" },
	{ "minimax-m2", "scoring_func", "\"sigmoid\"" },
	{ "minimax-m2", "use_routing_bias", "true" },
	{ "nemotron_h*", "mamba_proj_bias", "false" }, { "nemotron_h*", "mlp_bias", "false" },
	{ "nemotron_h*", "use_bias", "false" },
	{ "qwen2moe", "qkv_bias", "true" }, { "qwen2moe", "attention_bias", "false" },
	{ "qwen2moe qwen3next smollm3", "use_sliding_window", "false" },
	{ "seed_oss", "attention_out_bias", "false" },
	{ "hunyuan-dense", "use_qk_norm", "true" },
	{ "ernie4_5-moe", "moe_use_aux_free", "true" },
	{ "lfm2", "block_multiple_of", "256" }, { "lfm2", "block_ffn_dim_multiplier", "1.0" },
	{ "laguna", "gating", "true" },
	{ .archs = NULL }
};

static bool
put_already(const struct config_making *c, const char *key)
{
	return json_get(c->o, key) != NULL;
}

static double
number(const struct config_making *c, const char *key)
{
	double *list, x = 0;
	size_t n;

	if (!hf_key_numbers(c->h, key, &list, &n))
		for (size_t i = 0; i < n; i++)
			x = list[i] > x ? list[i] : x;
	free(list);
	return x;
}

/* hf_key_numbers() has seen that they are not too large. */
static uint64_t
whole_number(double x)
{
	return x > 0 ? (uint64_t)x : 0;
}

static void
set_number(cJSON *o, const char *key, enum key_type type, double x)
{
	if (type == KEY_BOOL)
		json_set_bool(o, key, x != 0);
	else if (type == KEY_U32)
		json_set_u64(o, key, whole_number(x));
	else
		json_set_f64(o, key, hf_neat((float)x));
}

/* One of "a|b|rope.c"; a rope's own only if there is no other. */
static bool
choose(const struct config_making *c, const char *paths, char *out, size_t size)
{
	const char *first = paths;

	while (tb_starts(first, "rope.") && strchr(first, '|'))
		first = strchr(first, '|') + 1;
	for (size_t i = 0; preferred[i].archs; i++) {
		const char *key = preferred[i].key;
		size_t n = strlen(key);

		if (!translate_listed(preferred[i].archs, c->t->gguf))
			continue;
		for (const char *p = paths; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
			if (!strncmp(p, key, n) && (p[n] == '|' || !p[n])) {
				snprintf(out, size, "%s", key);
				return true;
			}
	}
	snprintf(out, size, "%.*s", (int)strcspn(first, "|"), first);
	return strchr(out, '.') == NULL;
}

static void
set_paths(struct config_making *c, const struct translate_key *r, const double *x, size_t n)
{
	char key[128];
	bool plain = choose(c, r->hf, key, sizeof(key));
	cJSON *o = plain ? c->o : c->rope, *list;
	const char *name = plain ? key : strchr(key, '.') + 1;

	if (json_get(o, name) || (!plain && !tb_starts(key, "rope.")))
		return;
	if (n == 1) {
		set_number(o, name, r->type, *x);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_push_f64(list, x[i]);
	json_set(o, name, list);
}

/* ---- what the other way computes ---- */

static void
set_types(struct config_making *c, const double *x, size_t n, const char *yes, const char *no)
{
	cJSON *types = json_array();

	for (size_t i = 0; i < n && i < c->t->layers; i++)
		json_push_str(types, x[i] != 0 ? yes : no);
	json_set(c->o, "layer_types", types);
}

/* Layers that see everything may have other heads. */
static void
set_gemma4_kv(struct config_making *c, const double *x, size_t n)
{
	double *windows, some = *x, all = *x;
	size_t layers;

	if (hf_key_numbers(c->h, "attention.sliding_window_pattern", &windows, &layers))
		layers = 0;
	for (size_t i = 0; i < n && i < layers; i++)
		*(windows[i] != 0 ? &some : &all) = x[i];
	free(windows);
	json_set_u64(c->o, "num_key_value_heads", whole_number(some));
	if (all != some)
		json_set_u64(c->o, "num_global_key_value_heads", whole_number(all));
}

/* M state space, * attention, - and E feed-forward, by what layers have. */
static void
set_hybrid_pattern(struct config_making *c, const double *kv, size_t n)
{
	char pattern[1024];
	double *ffn;
	size_t nffn;

	if (hf_key_numbers(c->h, "feed_forward_length", &ffn, &nffn))
		nffn = 0;
	if (n < sizeof(pattern) && n == nffn) {
		for (size_t i = 0; i < n; i++)
			pattern[i] = kv[i] != 0 ? '*' : !(ffn[i] > 0) ? 'M'
				: tb_ends(c->t->gguf, "_moe") ? 'E' : '-';
		pattern[n] = 0;
		json_set_str(c->o, "hybrid_override_pattern", pattern);
	}
	free(ffn);
}

static void
set_sections(struct config_making *c, const double *x, size_t n)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < n && i < 3; i++)
		json_push_u64(list, whole_number(x[i]));
	json_set(c->rope, "mrope_section", list);
	json_set_bool(c->rope, "mrope_interleaved", true);
}

static double
most_of(const double *x, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

static bool
set_layers(struct config_making *c, const char *name, const double *x, size_t n)
{
	if (!strcmp(name, "conv_kv_heads")) {
		json_set_u64(c->o, "num_key_value_heads", (uint64_t)most_of(x, n));
		set_types(c, x, n, "full_attention", "conv");
	} else if (!strcmp(name, "gemma4_kv")) {
		set_gemma4_kv(c, x, n);
	} else if (!strcmp(name, "gemma4_ffn")) {
		json_set_u64(c->o, "intermediate_size", whole_number(*x));
		json_set_bool(c->o, "use_double_wide_mlp", most_of(x, n) > *x);
	} else if (!strcmp(name, "hybrid_kv")) {
		json_set_u64(c->o, "num_key_value_heads", (uint64_t)most_of(x, n));
		if (tb_starts(c->t->gguf, "granite"))
			set_types(c, x, n, "attention", "mamba");
		else
			set_hybrid_pattern(c, x, n);
	} else if (!strcmp(name, "hybrid_ffn")) {
		json_set_u64(c->o, tb_ends(c->t->gguf, "_moe") ? "moe_intermediate_size"
			     : "intermediate_size", (uint64_t)most_of(x, n));
	} else if (!strcmp(name, "sliding")) {
		if (n >= c->t->layers)
			set_types(c, x, n, "sliding_attention", "full_attention");
	} else if (!strcmp(name, "mrope")) {
		set_sections(c, x, n);
	} else {
		return false;
	}
	return true;
}

static void
set_gating(struct config_making *c, double x)
{
	const char *key = tb_starts(c->t->gguf, "cohere") ? "expert_selection_fn"
		: tb_starts(c->t->gguf, "laguna") ? "moe_router_activation" : "scoring_func";

	if (x > 0.5 && x < 2.5)
		json_set_str(c->o, key, x < 1.5 ? "softmax" : "sigmoid");
}

/* Both, or attention would be as sharp as with one alone. */
static void
set_mscale(struct config_making *c, double x)
{
	json_set_f64(c->rope, "mscale", x);
	json_set_f64(c->rope, "mscale_all_dim", x);
}

static void
set_dense_layers(struct config_making *c, double dense)
{
	cJSON *types = json_array();

	for (uint32_t i = 0; i < c->t->layers; i++)
		json_push_str(types, i < dense ? "dense" : "sparse");
	json_set(c->o, "mlp_layer_types", types);
}

/* What is one number, of which another follows. */
static void
set_computed(struct config_making *c, const char *name, double x)
{
	bool granite = tb_starts(c->t->gguf, "granite");

	if (!strcmp(name, "blocks"))
		json_set_u64(c->o, "num_hidden_layers", c->t->layers);
	else if (!strcmp(name, "lfm2_ffn"))
		json_set_u64(c->o, "intermediate_size", whole_number(x));
	else if (!strcmp(name, "sigmoid") || !strcmp(name, "gating"))
		set_gating(c, x);
	else if (!strcmp(name, "dense_layers"))
		set_dense_layers(c, x);
	else if (!strcmp(name, "dynamic_base"))
		json_set_f64(c->o, "rope_theta", hf_neat((float)x));
	else if (!strcmp(name, "rope_dims") && c->head > 0)
		json_set_f64(c->o, "partial_rotary_factor", c->part = hf_neat((float)(x / c->head)));
	else if (!strcmp(name, "head_dim") && !put_already(c, name) &&
		 fabs(x * c->heads - c->hidden) > 0.5)
		json_set_u64(c->o, "head_dim", whole_number(x));
	else if (!strcmp(name, "mtp"))
		json_set_u64(c->o, "mtp_num_hidden_layers", whole_number(x));
	else if (!strcmp(name, "nextn"))
		json_set_u64(c->o, "num_nextn_predict_layers", whole_number(x));
	else if (!strcmp(name, "linear_inner"))
		json_set_u64(c->o, "linear_value_head_dim", c->t->v_dim);
	else if (!strcmp(name, "mla_head"))
		json_set_u64(c->o, "qk_nope_head_dim", c->t->nope);
	else if (!strcmp(name, "yarn_log"))
		set_mscale(c, hf_neat((float)(10 * hf_neat((float)x))));
	else if (!strcmp(name, "norm_topk"))
		json_set_bool(c->o, "norm_topk_prob", x != 0);
	else if (!strcmp(name, "softcap"))
		json_set_f64(c->o, "final_logit_softcapping", hf_neat((float)x));
	else if (!strcmp(name, "no_positions"))
		json_set_u64(c->o, "max_position_embeddings", whole_number(x));
	else if (!strcmp(name, "mamba_inner"))
		json_set_u64(c->o, granite ? "mamba_d_head" : "mamba_head_dim", c->t->v_dim);
	if (!strcmp(name, "mamba_inner") && granite && c->hidden > 0)
		json_set_f64(c->o, "mamba_expand", hf_neat((float)(x / c->hidden)));
}

/* Rows of single architectures come first, and what they say stays. */
static bool
said_before(const struct translate_key *r, const char *arch)
{
	for (const struct translate_key *b = translate_config_keys; b < r; b++)
		if (!strcmp(b->gguf, r->gguf) && translate_listed(b->archs, arch))
			return true;
	return false;
}

static enum tb_status
set_rows(struct config_making *c)
{
	enum tb_status status = TB_OK;

	for (const struct translate_key *r = translate_config_keys; r->gguf && !status; r++) {
		double *x;
		size_t n;

		if (!translate_listed(r->archs, c->t->gguf) || *r->hf == '\'' ||
		    said_before(r, c->t->gguf))
			continue;
		status = hf_key_numbers(c->h, r->gguf, &x, &n);
		if (!status && n && *r->hf != '=')
			set_paths(c, r, x, n);
		else if (!status && n && !set_layers(c, r->hf + 1, x, n))
			set_computed(c, r->hf + 1, *x);
		free(x);
	}
	return status;
}

/* ---- how positions turn ---- */

static enum tb_status
scaling_type(const struct config_making *c, char **out)
{
	char key[160];
	const struct gguf_kv *kv;

	*out = NULL;
	snprintf(key, sizeof(key), "%.60s.rope.scaling.type", c->h->gguf->arch);
	kv = gguf_find(&c->h->mm.g, key);
	return kv ? gguf_string(kv, &c->h->mm.file, 64, out, c->h->err) : TB_OK;
}

static void
set_scaling(struct config_making *c, const char *type)
{
	static const struct { const char *gguf, *hf; } numbers[] = {
		{ "rope.scaling.factor", "factor" },
		{ "rope.scaling.original_context_length", "original_max_position_embeddings" },
		{ "rope.scaling.yarn_ext_factor", "extrapolation_factor" },
		{ "rope.scaling.yarn_attn_factor", "attention_factor" },
		{ "rope.scaling.yarn_beta_fast", "beta_fast" },
		{ "rope.scaling.yarn_beta_slow", "beta_slow" },
	};

	const cJSON *all = json_get(c->rope, "mscale_all_dim");

	json_set_str(c->rope, "rope_type", type);
	json_set_str(c->rope, "type", type);
	if (all && !json_get(c->rope, "mscale"))
		json_set(c->rope, "mscale", json_copy(all));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		double x = number(c, numbers[i].gguf);

		if (x > 0 && !json_get(c->rope, numbers[i].hf))
			json_set_f64(c->rope, numbers[i].hf, hf_neat((float)x));
	}
}

/* Two ways of turning: `all` in layers that see everything, else the usual. */
static void
set_two_ropes(struct config_making *c, cJSON *all, double part, double part_some)
{
	cJSON *some = json_object(), *both = json_object();

	json_set_f64(all, "partial_rotary_factor", part);
	json_set_f64(all, "rope_theta", hf_neat((float)number(c, "rope.freq_base")));
	json_set_f64(some, "partial_rotary_factor", part_some);
	json_set_f64(some, "rope_theta", hf_neat((float)number(c, "rope.freq_base_swa")));
	json_set_str(some, "rope_type", "default");
	json_set(both, "full_attention", all);
	json_set(both, "sliding_attention", some);
	json_set(c->o, "rope_parameters", both);
}

/* Which pairs turn is said by what frequencies are divided by. */
static enum tb_status
set_gemma4_rope(struct config_making *c)
{
	const struct tensor *t = model_tensor(c->h->gguf, "rope_freqs.weight");
	enum tb_status status = TB_OK;
	cJSON *all = json_object();
	uint64_t turn = 0;
	float *x = NULL;

	if (t)
		status = hf_numbers(c->h, t, &x);
	for (uint64_t i = 0; x && i < t->elems; i++)
		turn += x[i] < 1e20f;
	json_set_str(all, "rope_type", "proportional");
	set_two_ropes(c, all, x ? (double)turn / (double)t->elems : 1, 1);
	free(x);
	return status;
}

/* What some classes look for there and nowhere else. */
static void
set_rope_parameters(struct config_making *c)
{
	const cJSON *part = json_get(c->o, "partial_rotary_factor");
	double dims = number(c, "rope.dimension_count_swa");

	if (!strcmp(c->t->gguf, "laguna")) {
		set_two_ropes(c, json_copy(c->rope), c->part, c->head > 0 ? dims / c->head : 1);
		return;
	}
	if (!tb_starts(c->t->gguf, "qwen35") && strcmp(c->t->type, "ministral3"))
		return;
	json_set_f64(c->rope, "rope_theta", hf_neat((float)number(c, "rope.freq_base")));
	if (part)
		json_set(c->rope, "partial_rotary_factor", json_copy(part));
	json_set(c->o, "rope_parameters", json_copy(c->rope));
}

static enum tb_status
set_rope(struct config_making *c)
{
	struct hf_making own = *c->h;		/* for what it says of frequencies */
	char *type;
	cJSON *scaling;
	enum tb_status status = scaling_type(c, &type);

	if (status)
		return status;
	if (!strcmp(c->t->gguf, "gemma4")) {
		free(type);
		return set_gemma4_rope(c);
	}
	own.hp.rope_dims = c->head <= UINT32_MAX ? (uint32_t)c->head : 0;
	own.hp.rope.theta = number(c, "rope.freq_base");
	scaling = hf_rope_scaling(&own, &status);
	if (scaling)
		json_set(c->o, "rope_scaling", scaling);
	if (type && strcmp(type, "none"))
		set_scaling(c, type);
	else if (json_first(c->rope))
		json_set_str(c->rope, "rope_type", "default");
	free(type);
	if (!status && !scaling && json_first(c->rope))
		json_set(c->o, "rope_scaling", json_copy(c->rope));
	set_rope_parameters(c);
	return status;
}

/* ---- the rest ---- */

/* What layers see, where the file does not say it for each. */
static void
set_periods(struct config_making *c)
{
	const char *arch = c->t->gguf, *other = "sliding_attention";
	double period = number(c, "full_attention_interval");
	bool smol = !strcmp(arch, "smollm3"), laguna = !strcmp(arch, "laguna");
	cJSON *types;

	if (put_already(c, "layer_types"))
		return;
	if (tb_starts(arch, "qwen3") && period > 0)
		other = "linear_attention";
	else if (!strcmp(arch, "gpt-oss"))
		period = 2;
	else if (tb_starts(arch, "cohere2") || smol || laguna ||
		 (!strcmp(arch, "exaone4") && number(c, "attention.sliding_window") > 0))
		period = 4;
	else if (!strcmp(arch, "exaone4"))
		period = 1;
	if (!(period >= 1 && period <= UINT32_MAX))
		return;
	types = json_array();
	for (uint32_t i = 0; i < c->t->layers; i++) {
		bool full = (i + !laguna) % (uint32_t)period == 0;

		if (smol)
			json_push_u64(types, !full);
		else
			json_push_str(types, full ? "full_attention" : other);
	}
	json_set(c->o, smol ? "no_rope_layers" : "layer_types", types);
	if (!strcmp(arch, "exaone4") && period > 1)
		json_set_str(c->o, "sliding_window_pattern", "LLLG");
}

static void
set_constants(struct config_making *c)
{
	for (size_t i = 0; constants[i].archs; i++) {
		const char *text = constants[i].json;
		cJSON *v;

		if (!translate_listed(constants[i].archs, c->t->gguf) ||
		    put_already(c, constants[i].key) ||
		    json_parse(&v, text, strlen(text), constants[i].key, NULL))
			continue;
		json_set(c->o, constants[i].key, v);
	}
}

static void
set_full_layers(struct config_making *c)
{
	cJSON *list = json_array();
	uint64_t i = 0;

	for (const cJSON *t = json_first(json_get(c->o, "layer_types")); t; t = json_next(t), i++)
		if (json_str(t) && !strcmp(json_str(t), "full_attention"))
			json_push_u64(list, i);
	json_set(c->o, "full_attn_idxs", list);
}

static bool
has(const struct config_making *c, const char *tensor)
{
	return model_tensor(c->h->gguf, tensor) != NULL;
}

static bool
some_layer_lacks_v(const struct config_making *c)
{
	char k[64], v[64];

	for (uint32_t i = 0; i < c->t->layers; i++) {
		snprintf(k, sizeof(k), "blk.%u.attn_k.weight", i);
		snprintf(v, sizeof(v), "blk.%u.attn_v.weight", i);
		if (has(c, k) && !has(c, v))
			return true;
	}
	return false;
}

/* What follows from other numbers, or from which tensors there are. */
static void
set_own(struct config_making *c)
{
	const char *arch = c->t->gguf, *score = json_str(json_get(c->o, "scoring_func"));
	const cJSON *ffn = json_get(c->o, "intermediate_size");
	bool sigmoid = score && !strcmp(score, "sigmoid");

	if (!strcmp(arch, "deepseek2")) {		/* its keys are of what heads share */
		json_set_u64(c->o, "num_key_value_heads", (uint64_t)c->heads);
		if (!put_already(c, "q_lora_rank"))
			json_set_str(c->o, "q_lora_rank", NULL);
		if (!put_already(c, "norm_topk_prob"))
			json_set_bool(c->o, "norm_topk_prob", false);
		json_set_str(c->o, "topk_method", sigmoid ? "noaux_tc"
			     : number(c, "expert_group_count") > 1 ? "group_limited_greedy" : "greedy");
	} else if (!strcmp(arch, "gemma4")) {
		json_set_bool(c->o, "attention_k_eq_v", some_layer_lacks_v(c));
		json_set_bool(c->o, "enable_moe_block", number(c, "expert_count") > 0);
	} else if (!strcmp(arch, "glm4moe")) {
		json_set_bool(c->o, "use_qk_norm", has(c, "blk.0.attn_q_norm.weight"));
	} else if (!strcmp(arch, "ernie4_5-moe")) {
		json_set_u64(c->o, "moe_layer_end_index", c->t->layers - 1);
	} else if (!strcmp(arch, "cohere2moe")) {
		set_dense_layers(c, number(c, "leading_dense_block_count"));
	} else if (!strcmp(arch, "laguna")) {
		json_set_u64(c->o, "num_attention_heads", (uint64_t)c->heads);
	} else if (tb_starts(arch, "lfm2")) {
		set_full_layers(c);
	}
	if (!strcmp(arch, "lfm2")) {		/* older names, which some read alone */
		json_set_u64(c->o, "block_dim", (uint64_t)c->hidden);
		json_set(c->o, "block_ff_dim", json_copy(ffn));
	}
}

static void
set_rest(struct config_making *c)
{
	static const struct { const char *key, *gguf; } ids[] = {
		{ "bos_token_id", "tokenizer.ggml.bos_token_id" },
		{ "eos_token_id", "tokenizer.ggml.eos_token_id" },
		{ "pad_token_id", "tokenizer.ggml.padding_token_id" },
	};
	const struct tensor *embed = model_tensor(c->h->gguf, "token_embd.weight");
	uint64_t id;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (gguf_u64(gguf_find(&c->h->mm.g, ids[i].gguf), &id))
			json_set_u64(c->o, ids[i].key, id);
	if (embed && !put_already(c, "vocab_size"))
		json_set_u64(c->o, "vocab_size", embed->dim[0]);
	if (!put_already(c, "attention_bias"))
		json_set_bool(c->o, "attention_bias",
			      model_tensor(c->h->gguf, "blk.0.attn_q.bias") != NULL);
	json_set_bool(c->o, "tie_word_embeddings", !model_tensor(c->h->gguf, "output.weight"));
	json_set_str(c->o, "torch_dtype", c->h->dtype == DT_BF16 ? "bfloat16"
		     : c->h->dtype == DT_F16 ? "float16" : "float32");
	if (!put_already(c, "num_key_value_heads"))
		json_set_u64(c->o, "num_key_value_heads", (uint64_t)c->heads);
	if (!put_already(c, "rope_scaling") && !put_already(c, "rope_parameters"))
		json_set_str(c->o, "rope_scaling", NULL);
}

/* The text of a model that sees pictures is a part of one. */
static cJSON *
whole(const struct config_making *c)
{
	const char *class = c->h->row->class_name, *type = c->t->type;
	bool nested = tb_ends(class, "ForConditionalGeneration");
	cJSON *o = json_object(), *classes = json_array();
	char name[64];

	json_push_str(classes, class);
	json_set_str(c->o, "model_type", type);
	if (!nested) {
		json_set(c->o, "architectures", classes);
		json_free(o);
		return c->o;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(type) - strlen("_text")), type);
	json_set(o, "architectures", classes);
	json_set_str(o, "model_type", name);
	json_set(o, "tie_word_embeddings", json_copy(json_get(c->o, "tie_word_embeddings")));
	json_set(o, "text_config", c->o);
	return o;
}

enum tb_status
hf_config_rows(const struct hf_making *h, char **out)
{
	struct config_making c = { .h = h, .t = &h->t, .o = json_object(),
		.rope = json_object(), .part = 1 };
	enum tb_status status;
	cJSON *o;

	c.hidden = number(&c, "embedding_length");
	c.heads = number(&c, "attention.head_count");
	c.head = number(&c, "attention.key_length");
	if (!(c.head > 0) && c.heads > 0)
		c.head = floor(c.hidden / c.heads);
	status = set_rows(&c);
	if (!status)
		status = set_rope(&c);
	set_periods(&c);
	set_own(&c);
	set_constants(&c);
	set_rest(&c);
	o = whole(&c);
	*out = status ? NULL : json_print_pretty(o);
	json_free(o);
	json_free(c.rope);
	return status || *out ? status : tb_nomem(h->err);
}
