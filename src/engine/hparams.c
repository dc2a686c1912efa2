#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/format/json.h"

/* Far above any model there is, and far below what overflows a product of two. */
#define MAX_DIM (1u << 20)
#define MAX_VOCAB (1u << 24)
#define MAX_LAYERS 4096u
#define MAX_HEAD_DIM 4096u
#define MAX_CONTEXT (1u << 26)
#define MAX_EXPERTS 8192u

static const cJSON *
value(const cJSON *config, const char *key)
{
	const cJSON *v = json_get(config, key);

	return json_is_null(v) ? NULL : v;
}

/* fallback 0: the key must be there. */
static enum tb_status
number(const cJSON *config, const char *key, uint32_t max, uint32_t fallback, uint32_t *out,
       struct tb_err *err)
{
	const cJSON *v = value(config, key);
	uint64_t n;

	*out = fallback;
	if (!v && fallback)
		return TB_OK;
	if (!v)
		return tb_fail(err, TB_EFORMAT, "config.json: %s is missing", key);
	if (!json_u64(v, &n) || n < 1 || n > max)
		return tb_fail(err, TB_EFORMAT, "config.json: %s is not a whole number from 1 to %"
			       PRIu32, key, max);
	*out = (uint32_t)n;
	return TB_OK;
}

static enum tb_status
real(const cJSON *config, const char *key, double min, double max, double fallback, double *out,
     struct tb_err *err)
{
	const cJSON *v = value(config, key);

	*out = fallback;
	if (!v)
		return TB_OK;
	if (!json_f64(v, out) || !(*out >= min && *out <= max))
		return tb_fail(err, TB_EFORMAT, "config.json: %s is not a number from %g to %g",
			       key, min, max);
	return TB_OK;
}

static enum tb_status
flag(const cJSON *config, const char *key, bool *out, bool *known, struct tb_err *err)
{
	const cJSON *v = value(config, key);

	if (known)
		*known = v != NULL;
	if (v && !json_bool(v, out))
		return tb_fail(err, TB_EFORMAT, "config.json: %s is neither true nor false", key);
	return TB_OK;
}

static enum tb_status
read_arch(struct hparams *hp, const cJSON *config, struct tb_err *err)
{
	const char *type = json_str(json_get(config, "model_type"));
	const char *class_name = json_str(json_first(json_get(config, "architectures")));
	struct tb_buf list = TB_BUF(1024);
	enum tb_status status = TB_OK;

	hp->arch = arch_find(type, class_name);
	if (!hp->arch) {
		arch_list(&list);
		status = tb_fail(err, TB_EUNSUP, "architecture \"%.80s\" cannot be run; "
				 "supported are %s",
				 type ? type : class_name ? class_name : "(none given)",
				 tb_buf_cstr(&list));
	}
	tb_buf_free(&list);
	return status;
}

static enum tb_status
read_sizes(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	const char *ffn = hp->arch->expert_ffn_key ? hp->arch->expert_ffn_key
						   : "intermediate_size";
	uint32_t head_dim;
	enum tb_status status;

	if ((status = number(c, "vocab_size", MAX_VOCAB, 0, &hp->vocab, err)) ||
	    (status = number(c, "hidden_size", MAX_DIM, 0, &hp->dim, err)) ||
	    (status = number(c, "num_hidden_layers", MAX_LAYERS, 0, &hp->layers, err)) ||
	    (status = number(c, "num_attention_heads", MAX_DIM, 0, &hp->heads, err)) ||
	    (status = number(c, "num_key_value_heads", MAX_DIM, hp->heads, &hp->kv_heads, err)) ||
	    (status = number(c, ffn, MAX_DIM, 0, &hp->ffn, err)) ||
	    (status = number(c, "max_position_embeddings", MAX_CONTEXT, 0, &hp->context, err)))
		return status;
	head_dim = hp->dim / hp->heads;
	if (!value(c, "head_dim") && hp->dim % hp->heads)
		return tb_fail(err, TB_EFORMAT, "config.json: hidden_size %" PRIu32 " is no multiple"
			       " of num_attention_heads %" PRIu32 " and head_dim is missing",
			       hp->dim, hp->heads);
	return number(c, "head_dim", MAX_HEAD_DIM, head_dim, &hp->head_dim, err);
}

static enum tb_status
read_experts(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	uint32_t step;
	enum tb_status status;

	if (!hp->arch->experts_key)
		return TB_OK;
	hp->norm_topk = hp->arch->norm_topk;
	if ((status = number(c, hp->arch->experts_key, MAX_EXPERTS, 0, &hp->experts, err)) ||
	    (status = number(c, "num_experts_per_tok", MAX_EXPERTS, 0, &hp->experts_used, err)) ||
	    (status = number(c, "decoder_sparse_step", MAX_LAYERS, 1, &step, err)) ||
	    (!hp->norm_topk && (status = flag(c, "norm_topk_prob", &hp->norm_topk, NULL, err))))
		return status;
	if (step != 1 || json_first(json_get(c, "mlp_only_layers")))
		return tb_fail(err, TB_EUNSUP, "config.json: layers without experts between those "
			       "with experts (decoder_sparse_step, mlp_only_layers) cannot be run");
	return TB_OK;
}

/* Today's files have rope_scaling beside rope_theta; newer ones rope_parameters
 * with both inside. */
static enum tb_status
read_rope(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	const cJSON *r = value(c, "rope_parameters");
	const char *kind;
	double partial;
	enum tb_status status;

	if ((status = real(r && value(r, "rope_theta") ? r : c, "rope_theta", 1, 1e12,
			   hp->arch->rope_theta, &hp->rope_theta, err)))
		return status;
	if ((status = real(r && value(r, "partial_rotary_factor") ? r : c,
			   "partial_rotary_factor", 0, 1, 1, &partial, err)))
		return status;
	if (partial < 1)
		return tb_fail(err, TB_EUNSUP, "config.json: partial_rotary_factor %g cannot be run",
			       partial);
	r = r ? r : value(c, "rope_scaling");
	kind = json_str(json_get(r, "rope_type"));
	kind = kind ? kind : json_str(json_get(r, "type"));
	if (!r || (kind && !strcmp(kind, "default")))
		return TB_OK;
	if (kind && !strcmp(kind, "linear"))
		hp->rope = ROPE_LINEAR;
	else if (kind && !strcmp(kind, "llama3"))
		hp->rope = ROPE_LLAMA3;
	else
		return tb_fail(err, TB_EUNSUP, "config.json: rope_scaling of type \"%.40s\" cannot "
			       "be run; default, linear and llama3 can", kind ? kind : "(none)");
	if ((status = real(r, "factor", 1, 1e6, NAN, &hp->rope_factor, err)) ||
	    (status = real(r, "low_freq_factor", 1e-6, 1e6, NAN, &hp->rope_low, err)) ||
	    (status = real(r, "high_freq_factor", 1e-6, 1e6, NAN, &hp->rope_high, err)) ||
	    (status = real(r, "original_max_position_embeddings", 1, MAX_CONTEXT, NAN,
			   &hp->rope_original, err)))
		return status;
	if (isnan(hp->rope_factor) ||
	    (hp->rope == ROPE_LLAMA3 && !(hp->rope_high > hp->rope_low && hp->rope_original > 0)))
		return tb_fail(err, TB_EFORMAT, "config.json: rope_scaling of type %s lacks a factor",
			       kind);
	return TB_OK;
}

/* A window narrower than the trained context: up to its width there is no
 * difference, so that is how far we go. */
static enum tb_status
read_window(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	bool on = !hp->arch->window_flag;
	uint32_t window;
	enum tb_status status;

	if ((status = flag(c, "use_sliding_window", &on, NULL, err)) || !on)
		return status;
	if ((status = number(c, "sliding_window", MAX_CONTEXT, MAX_CONTEXT, &window, err)))
		return status;
	hp->context = window < hp->context ? window : hp->context;
	return TB_OK;
}

static enum tb_status
read_rest(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	const char *act = json_str(json_get(c, "hidden_act"));
	double eps;
	enum tb_status status;

	if (act && strcmp(act, "silu") && strcmp(act, "swish"))
		return tb_fail(err, TB_EUNSUP, "config.json: hidden_act \"%.40s\" cannot be run with"
			       " %s; silu can", act, hp->arch->name);
	if ((status = real(c, "rms_norm_eps", 1e-30, 1, hp->arch->rms_eps, &eps, err)))
		return status;
	hp->rms_eps = (float)eps;
	return flag(c, "tie_word_embeddings", &hp->tied, &hp->tied_known, err);
}

enum tb_status
hparams_check(const struct hparams *hp, struct tb_err *err)
{
	if (hp->heads % hp->kv_heads)
		return tb_fail(err, TB_EFORMAT, "config.json: num_attention_heads %" PRIu32
			       " is no multiple of num_key_value_heads %" PRIu32,
			       hp->heads, hp->kv_heads);
	if (hp->head_dim % 2)
		return tb_fail(err, TB_EFORMAT, "config.json: head_dim %" PRIu32 " is odd",
			       hp->head_dim);
	if ((uint64_t)hp->heads * hp->head_dim > MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "config.json: %" PRIu32 " heads of %" PRIu32
			       " are over %u", hp->heads, hp->head_dim, MAX_DIM);
	if (hp->experts_used > hp->experts)
		return tb_fail(err, TB_EFORMAT, "config.json: num_experts_per_tok %" PRIu32
			       " is more than the %" PRIu32 " experts", hp->experts_used,
			       hp->experts);
	return TB_OK;
}

enum tb_status
hparams_parse(struct hparams *hp, const char *json, size_t len, struct tb_err *err)
{
	cJSON *config;
	enum tb_status status;

	*hp = (struct hparams){ .rope = ROPE_PLAIN };
	if ((status = json_parse(&config, json, len, "config.json", err)))
		return status;
	if (!json_is_object(config))
		status = tb_fail(err, TB_EFORMAT, "config.json: not an object");
	else if (!(status = read_arch(hp, config, err)) &&
		 !(status = read_sizes(hp, config, err)) &&
		 !(status = read_experts(hp, config, err)) &&
		 !(status = read_rope(hp, config, err)) &&
		 !(status = read_window(hp, config, err)) &&
		 !(status = read_rest(hp, config, err)))
		status = hparams_check(hp, err);
	json_free(config);
	return status;
}

uint32_t
hparams_dim(const struct hparams *hp, enum dim d)
{
	switch (d) {
	case DIM_VOCAB: return hp->vocab;
	case DIM_MODEL: return hp->dim;
	case DIM_Q: return hp->heads * hp->head_dim;
	case DIM_KV: return hp->kv_heads * hp->head_dim;
	case DIM_HEAD: return hp->head_dim;
	case DIM_PAIRS: return hp->head_dim / 2;
	case DIM_FFN: return hp->ffn;
	case DIM_EXPERTS: return hp->experts;
	case DIM_NONE: break;
	}
	return 1;
}

/* llama3: long waves are slowed down by the factor, short ones kept, those between
 * blended. */
double
hparams_inv_freq(const struct hparams *hp, uint32_t i)
{
	double f = pow(hp->rope_theta, -2.0 * i / hp->head_dim);
	double turns, blend;

	if (hp->rope_factors)
		f /= hp->rope_factors[i];
	if (hp->rope == ROPE_PLAIN)
		return f;
	if (hp->rope == ROPE_LINEAR)
		return f / hp->rope_factor;
	turns = hp->rope_original * f / (2 * M_PI);	/* within the original context */
	blend = (turns - hp->rope_low) / (hp->rope_high - hp->rope_low);
	blend = blend < 0 ? 0 : blend > 1 ? 1 : blend;
	return f * (blend + (1 - blend) / hp->rope_factor);
}
