/* hparams_config.c - a model's numbers from config.json. */
#include "config.h"

#include "src/engine/hparams_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/json.h"

const cJSON *
config_value(const cJSON *in, const char *key)
{
	const cJSON *v = json_get(in, key);

	return json_is_null(v) ? NULL : v;
}

const cJSON *
config_own(const struct config_reader *r, const char *key)
{
	return config_value(r->c, arch_key(r->hp->arch, key));
}

enum tb_status
config_count(const struct config_reader *r, const char *key, uint32_t max, uint32_t fallback,
	      uint32_t *out)
{
	const char *own = arch_key(r->hp->arch, key);
	const cJSON *v = config_value(r->c, own);
	uint64_t n = 0;

	*out = fallback;
	if (!v && fallback)
		return TB_OK;
	if (!v)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is missing", own);
	if (!json_u64(v, &n) || n < 1 || n > max)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a whole number from 1 to"
			       " %" PRIu32, own, max);
	*out = (uint32_t)n;
	return TB_OK;
}

enum tb_status
config_real(const struct config_reader *r, const cJSON *in, const char *key, double min, double max,
	    double *out)
{
	const char *own = in == r->c ? arch_key(r->hp->arch, key) : key;
	const cJSON *v = config_value(in, own);

	if (v && (!json_f64(v, out) || !(*out >= min && *out <= max)))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a number from %g to %g",
			       own, min, max);
	return TB_OK;
}

enum tb_status
config_flag(const struct config_reader *r, const cJSON *in, const char *key, bool *out)
{
	const cJSON *v = config_value(in, key);

	if (v && !json_bool(v, out))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is neither true nor false", key);
	return TB_OK;
}

static enum tb_status
config_arch(const struct config_reader *r)
{
	const char *type = json_str(json_get(r->config, "model_type"));
	const char *class_name = json_str(json_first(json_get(r->config, "architectures")));
	const char *inner = json_str(json_path(r->config, "text_config.model_type"));
	char around[80];
	const struct arch *arch = inner ? arch_find_inner(type, inner) : arch_find(type, class_name);
	uint64_t experts = 0;

	if (!arch && type && inner && arch_find(type, NULL)) {
		snprintf(around, sizeof(around), " around \"%.60s\"", inner);
		return arch_unknown(type, around, r->err);
	}
	if (!arch)
		return arch_unknown(inner ? inner : type ? type : class_name ? class_name
				    : "(none given)", "", r->err);
	if (arch->experts_key)
		arch = arch_with(arch, json_u64(config_value(r->c, arch->experts_key), &experts) &&
				       experts > 0);
	hparams_init(r->hp, arch);
	r->hp->rope_pairs = arch->pairs;
	return TB_OK;
}

/* Layers that come behind those of num_hidden_layers. */
static enum tb_status
config_draft(const struct config_reader *r)
{
	const cJSON *v = config_own(r, "num_nextn_predict_layers");
	uint64_t n = 0;

	if (v && (!json_u64(v, &n) || n > HP_MAX_LAYERS))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a number of layers",
			       arch_key(r->hp->arch, "num_nextn_predict_layers"));
	r->hp->draft_layers = (uint32_t)n;
	return TB_OK;
}

static enum tb_status
config_sizes(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const struct arch *a = hp->arch;
	uint32_t head_dim;
	enum tb_status status;

	for (const struct hparams_number *n = hparams_numbers; n->config; n++) {
		bool may_lack = n->optional && (a->experts || a->layers_differ) &&
				!config_own(r, n->config);

		if ((a->experts || !n->experts) && !may_lack &&
		    (status = config_count(r, n->config, n->max, hparams_usual(a, n),
					    hparams_field(hp, n))))
			return status;
	}
	if ((status = config_draft(r)))
		return status;
	if (a->experts && !hp->expert_ffn && !(hp->expert_ffn = hp->ffn))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is missing",
			       arch_key(a, "moe_intermediate_size"));
	if ((status = config_count(r, "num_key_value_heads", HP_MAX_DIM,
				    a->kv_heads ? a->kv_heads : hp->heads, &hp->kv_heads)))
		return status;
	head_dim = a->head_dim ? a->head_dim : hp->dim / hp->heads;
	if (!config_own(r, "head_dim") && !a->head_dim && hp->dim % hp->heads)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s %" PRIu32 " is no multiple of %s"
			       " %" PRIu32 " and head_dim is missing", arch_key(a, "hidden_size"),
			       hp->dim, arch_key(a, "num_attention_heads"), hp->heads);
	if ((status = config_count(r, "head_dim", HP_MAX_HEAD_DIM, head_dim, &hp->head_dim)))
		return status;
	return hparams_layers(hp, r->err);
}

/* null: none. */
static enum tb_status
config_cap(const struct config_reader *r, const char *key, float *out)
{
	double cap = json_is_null(json_get(r->c, key)) ? 0 : *out;
	enum tb_status status = config_real(r, r->c, key, 1e-3, 1e6, &cap);

	*out = (float)cap;
	return status;
}

static enum tb_status
config_attention(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	bool both_ways = false;
	double scalar = hp->arch->query_scalar;
	enum tb_status status;

	if ((status = config_flag(r, r->c, "use_bidirectional_attention", &both_ways)) ||
	    (scalar > 0 &&
	     (status = config_real(r, r->c, "query_pre_attn_scalar", 1e-3, 1e9, &scalar))))
		return status;
	if (both_ways)
		return tb_fail(r->err, TB_EUNSUP, "config.json: attention in both directions "
			       "(use_bidirectional_attention) cannot be run");
	if (config_value(r->c, "clip_qkv"))
		return tb_fail(r->err, TB_EUNSUP, "config.json: clip_qkv cannot be run: queries, keys "
			       "and values are not cut off");
	hp->attn_scale = scalar > 0 ? (float)(1 / sqrt(scalar)) : 0;
	if (!hp->arch->softcaps)
		return TB_OK;
	if ((status = config_cap(r, "attn_logit_softcapping", &hp->attn_softcap)))
		return status;
	return config_cap(r, "final_logit_softcapping", &hp->final_softcap);
}

/* Parts that may be there: some files say so. */
static enum tb_status
config_said(const struct config_reader *r)
{
	static const struct { const char *key; enum arch_part part; } flags[] = {
		{ "attention_bias", PART_QKV_BIAS }, { "attention_out_bias", PART_O_BIAS },
		{ "use_qk_norm", PART_QK_NORM }, { "moe_use_aux_free", PART_CHOICE_BIAS },
		{ "use_routing_bias", PART_CHOICE_BIAS },
	};
	enum tb_status status;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		bool on = false;

		if ((status = config_flag(r, r->c, flags[i].key, &on)))
			return status;
		if (on)
			r->hp->said |= PART_BIT(flags[i].part);
	}
	return TB_OK;
}

/* Numbers that multiply; logits_scaling divides. */
static enum tb_status
config_scales(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const struct { const char *key; float *to; } scales[] = {
		{ "embedding_multiplier", &hp->embed_scale }, { "attention_multiplier", &hp->attn_scale },
		{ "residual_multiplier", &hp->residual_scale }, { "logit_scale", &hp->logit_scale },
		{ "logits_scaling", &hp->logit_scale },
	};
	enum tb_status status;

	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++) {
		double x = (double)*scales[i].to;

		if (!config_value(r->c, scales[i].key))
			continue;
		if ((status = config_real(r, r->c, scales[i].key, 1e-6, 1e6, &x)))
			return status;
		*scales[i].to = (float)(strcmp(scales[i].key, "logits_scaling") ? x : 1 / x);
	}
	return TB_OK;
}

static enum tb_status
config_norm(const struct config_reader *r)
{
	const char *own = "layer_norm_eps";
	double eps = (double)r->hp->rms_eps;
	enum tb_status status;

	r->hp->centered = r->hp->arch->centered && !config_value(r->c, "rms_norm_eps");
	status = config_real(r, r->c, r->hp->centered ? own : "rms_norm_eps", 1e-30, 1, &eps);
	r->hp->rms_eps = (float)eps;
	return status;
}

static enum tb_status
config_activation(const struct config_reader *r)
{
	static const struct { const char *name; enum activation act; } acts[] = {
		{ "silu", ACT_SILU }, { "swish", ACT_SILU },
		{ "gelu_pytorch_tanh", ACT_GELU_TANH }, { "gelu_new", ACT_GELU_TANH },
		{ "relu2", ACT_RELU2 },
	};
	const cJSON *v = config_own(r, "hidden_act");
	const char *name = json_str(v), *own = r->hp->arch->own_act;

	if (!v || (name && own && !strcmp(name, own)))
		return TB_OK;
	for (size_t i = 0; name && !own && i < sizeof(acts) / sizeof(*acts); i++) {
		if (!strcmp(name, acts[i].name)) {
			r->hp->act = acts[i].act;
			return TB_OK;
		}
	}
	return tb_fail(r->err, TB_EUNSUP, "config.json: activation \"%.40s\" cannot be run; %s can",
		       name ? name : "(no word)", own ? own : "silu, gelu_pytorch_tanh and relu2");
}

static enum tb_status
config_all(struct config_reader *r)
{
	static enum tb_status (*const parts[])(const struct config_reader *r) = {
		config_arch, config_sizes, config_experts, config_rope, config_window,
		config_layers, config_attention, config_said, config_scales, config_norm, config_activation,
	};
	struct hparams *hp = r->hp;
	enum tb_status status = TB_OK;

	r->c = config_value(r->config, "text_config");
	r->c = r->c ? r->c : r->config;
	if (!json_is_object(r->c))
		return tb_fail(r->err, TB_EFORMAT, "config.json: not an object");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !status; i++)
		status = parts[i](r);
	if (status)
		return status;
	if (hp->arch->config && (status = hp->arch->config(r)))
		return status;
	hp->tied_known = config_value(r->c, "tie_word_embeddings") ||
			 config_value(r->config, "tie_word_embeddings");
	if ((status = config_flag(r, config_value(r->c, "tie_word_embeddings") ? r->c : r->config,
				  "tie_word_embeddings", &hp->tied)))
		return status;
	if ((status = hparams_finish(hp, r->err)))
		(void)tb_wrap(r->err, status, "config.json");
	return status;
}

enum tb_status
hparams_parse(struct hparams *hp, const char *json, size_t len, struct tb_err *err)
{
	struct config_reader r = { .hp = hp, .err = err };
	cJSON *config;
	enum tb_status status;

	*hp = (struct hparams){ 0 };
	if ((status = json_parse_python(&config, json, len, "config.json", err)))
		return status;
	r.config = config;
	if ((status = config_all(&r)))
		hparams_free(hp);
	json_free(config);
	return status;
}
