/* hf_config.c - config.json from what a GGUF says of the model. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"
#include "src/ops/translate/hf_parts.h"

double
hf_neat(float x)
{
	char text[40];

	for (int digits = 1; digits < 10; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)x);
		if (strtof(text, NULL) == x)
			break;
	}
	return strtod(text, NULL);
}

static void
set_real(cJSON *o, const char *key, double x)
{
	json_set_f64(o, key, hf_neat((float)x));
}

/* null where there is none. */
static void
set_cap(cJSON *o, const char *key, float x)
{
	if (x > 0)
		set_real(o, key, (double)x);
	else
		json_set_str(o, key, NULL);
}

/* Where all layers have experts, some call their width as others that of dense layers. */
static bool
one_width(const struct arch *a, const struct hparams_number *n)
{
	return a->experts && !arch_has(a, PART_DENSE) && !strcmp(n->config, "moe_intermediate_size");
}

static void
set_sizes(const struct hf_making *h, cJSON *o)
{
	struct hparams hp = h->hp;
	const struct arch *a = hp.arch;

	for (const struct hparams_number *n = hparams_numbers; n->config; n++)
		if ((!n->experts || a->experts) && *hparams_field(&hp, n) && !one_width(a, n))
			json_set_u64(o, arch_key(a, n->config), *hparams_field(&hp, n));
	json_set_u64(o, arch_key(a, "num_key_value_heads"), hp.kv_heads);
	json_set_u64(o, arch_key(a, "head_dim"), hp.head_dim);
	set_real(o, "rms_norm_eps", (double)hp.rms_eps);
}

static void
set_experts(const struct hf_making *h, cJSON *o)
{
	const struct arch *a = h->hp.arch;

	if (!a->experts || a->routing.renormalize)	/* then its class knows no other way */
		return;
	json_set_bool(o, "norm_topk_prob", h->hp.routing.renormalize);
	json_set_u64(o, "decoder_sparse_step", 1);
	json_set(o, "mlp_only_layers", json_array());
}

static void
set_activation(const struct hf_making *h, cJSON *o)
{
	static const char *const names[] = { [ACT_SILU] = "silu",
					     [ACT_GELU_TANH] = "gelu_pytorch_tanh" };
	const struct hparams *hp = &h->hp;
	const char *name = hp->arch->own_act ? hp->arch->own_act : names[hp->act];

	json_set_str(o, "hidden_act", name);
	if (strcmp(arch_key(hp->arch, "hidden_act"), "hidden_act"))
		json_set_str(o, arch_key(hp->arch, "hidden_act"), name);
}

/* A period if that is all there is to say, and each layer's kind. */
static void
set_layers(const struct hf_making *h, cJSON *o)
{
	const struct hparams *hp = &h->hp;
	cJSON *types = json_array();
	uint32_t period = 0, i;

	for (i = 0; i < hp->layers; i++)
		json_push_str(types, hparams_windowed(hp, i) ? "sliding_attention"
							     : "full_attention");
	json_set(o, "layer_types", types);
	while (period < hp->layers && hparams_windowed(hp, period))
		period++;
	period++;
	for (i = 0; i < hp->layers && hparams_windowed(hp, i) == ((i + 1) % period != 0); i++)
		;
	if (i == hp->layers && period <= hp->layers)
		json_set_u64(o, "sliding_window_pattern", period);
}

static void
set_window(const struct hf_making *h, cJSON *o)
{
	const struct hparams *hp = &h->hp;
	const struct arch *a = hp->arch;

	if (a->window_flag) {
		json_set_bool(o, "use_sliding_window", false);
		json_set_u64(o, "max_window_layers", hp->layers);
	}
	if (!hp->window) {
		json_set_str(o, "sliding_window", NULL);
		return;
	}
	json_set_u64(o, "sliding_window", hp->window);
	if (a->window_period)
		set_layers(h, o);
}

static void
set_attention(const struct hf_making *h, cJSON *o)
{
	const struct hparams *hp = &h->hp;
	const struct arch *a = hp->arch;
	double scalar = 1 / ((double)hp->attn_scale * (double)hp->attn_scale);

	if (a->optional & PART_BIT(PART_QKV_BIAS))
		json_set_bool(o, "attention_bias",
			      model_tensor(h->gguf, "blk.0.attn_q.bias") != NULL);
	json_set_f64(o, "attention_dropout", 0);
	if (a->query_scalar > 0)
		json_set_f64(o, "query_pre_attn_scalar",
			     fabs(scalar - round(scalar)) < 1e-3 ? round(scalar) : scalar);
	if (a->softcaps) {
		set_cap(o, "attn_logit_softcapping", hp->attn_softcap);
		set_cap(o, "final_logit_softcapping", hp->final_softcap);
	}
}

static enum tb_status
set_rope(const struct hf_making *h, cJSON *o)
{
	const struct hparams *hp = &h->hp;
	enum tb_status status;
	cJSON *scaling = hf_rope_scaling(h, &status);

	if (status)
		return status;
	set_real(o, "rope_theta", hp->rope.theta);
	if (hp->rope_local.theta > 0)
		set_real(o, "rope_local_base_freq", hp->rope_local.theta);
	if (hp->rope_dims != hp->head_dim)
		json_set_f64(o, "partial_rotary_factor", (double)hp->rope_dims / hp->head_dim);
	if (scaling && json_get(scaling, "long_factor") && hp->rope.original > 0)
		json_set_u64(o, "original_max_position_embeddings", (uint64_t)hp->rope.original);
	if (scaling)
		json_set(o, "rope_scaling", scaling);
	else
		json_set_str(o, "rope_scaling", NULL);
	return TB_OK;
}

static void
set_rest(const struct hf_making *h, cJSON *o)
{
	static const struct { const char *key, *gguf; } ids[] = {
		{ "bos_token_id", "tokenizer.ggml.bos_token_id" },
		{ "eos_token_id", "tokenizer.ggml.eos_token_id" },
		{ "pad_token_id", "tokenizer.ggml.padding_token_id" },
	};
	uint64_t id;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (gguf_u64(gguf_find(&h->mm.g, ids[i].gguf), &id))
			json_set_u64(o, ids[i].key, id);
	json_set_bool(o, "tie_word_embeddings", !model_tensor(h->gguf, "output.weight"));
	json_set_str(o, "torch_dtype", h->dtype == DT_BF16 ? "bfloat16"
		     : h->dtype == DT_F16 ? "float16" : "float32");
	json_set_bool(o, "use_cache", true);
}

enum tb_status
hf_config(const struct hf_making *h, char **out)
{
	const struct arch *a = h->hp.arch;
	cJSON *o, *classes;
	enum tb_status status;

	if (h->row)
		return hf_config_rows(h, out);
	o = json_object();
	classes = json_array();
	json_push_str(classes, a->class_name);
	json_set(o, "architectures", classes);
	json_set_str(o, "model_type", a->text_name ? a->text_name : a->name);
	set_sizes(h, o);
	set_experts(h, o);
	set_activation(h, o);
	set_attention(h, o);
	set_window(h, o);
	status = set_rope(h, o);
	set_rest(h, o);
	*out = status ? NULL : json_print_pretty(o);
	json_free(o);
	return status || *out ? status : tb_nomem(h->err);
}
