/* hparams_config.c - a model's numbers from config.json. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/format/json.h"

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
	const char *inner = json_str(json_path(config, "text_config.model_type"));
	const struct arch *arch = arch_find(type, class_name);
	struct tb_buf list = TB_BUF(1024);
	enum tb_status status = TB_OK;

	if (arch && inner && arch_find(inner, NULL) != arch)
		arch = NULL;
	if (arch) {
		hparams_init(hp, arch);
	} else {
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
	const struct arch *a = hp->arch;
	const char *ffn = a->expert_ffn_key ? a->expert_ffn_key : "intermediate_size";
	uint32_t head_dim;
	enum tb_status status;

	if ((status = number(c, "vocab_size", HP_MAX_VOCAB, a->vocab, &hp->vocab, err)) ||
	    (status = number(c, "hidden_size", HP_MAX_DIM, 0, &hp->dim, err)) ||
	    (status = number(c, "num_hidden_layers", HP_MAX_LAYERS, 0, &hp->layers, err)) ||
	    (status = number(c, "num_attention_heads", HP_MAX_DIM, a->heads, &hp->heads, err)) ||
	    (status = number(c, "num_key_value_heads", HP_MAX_DIM,
			     a->kv_heads ? a->kv_heads : hp->heads, &hp->kv_heads, err)) ||
	    (status = number(c, ffn, HP_MAX_DIM, 0, &hp->ffn, err)) ||
	    (status = number(c, "max_position_embeddings", HP_MAX_CONTEXT, a->context,
			     &hp->context, err)))
		return status;
	head_dim = a->head_dim ? a->head_dim : hp->dim / hp->heads;
	if (!value(c, "head_dim") && !a->head_dim && hp->dim % hp->heads)
		return tb_fail(err, TB_EFORMAT, "config.json: hidden_size %" PRIu32 " is no multiple"
			       " of num_attention_heads %" PRIu32 " and head_dim is missing",
			       hp->dim, hp->heads);
	return number(c, "head_dim", HP_MAX_HEAD_DIM, head_dim, &hp->head_dim, err);
}

static enum tb_status
read_experts(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	uint32_t step;
	enum tb_status status;

	if (!hp->arch->experts_key)
		return TB_OK;
	if ((status = number(c, hp->arch->experts_key, HP_MAX_EXPERTS, 0, &hp->experts, err)) ||
	    (status = number(c, "num_experts_per_tok", HP_MAX_EXPERTS, 0, &hp->experts_used, err)) ||
	    (status = number(c, "decoder_sparse_step", HP_MAX_LAYERS, 1, &step, err)) ||
	    (!hp->norm_topk && (status = flag(c, "norm_topk_prob", &hp->norm_topk, NULL, err))))
		return status;
	if (step != 1 || json_first(json_get(c, "mlp_only_layers")))
		return tb_fail(err, TB_EUNSUP, "config.json: layers without experts between those "
			       "with experts (decoder_sparse_step, mlp_only_layers) cannot be run");
	return TB_OK;
}

/* A list of rope_dims / 2 numbers that frequencies are divided by. */
static enum tb_status
read_factors(const struct hparams *hp, const cJSON *r, const char *key, float **out,
	     struct tb_err *err)
{
	const cJSON *list = value(r, key), *v = json_first(list);
	size_t n = hp->rope_dims / 2;
	double x;

	if (!list || json_count(list) != n)
		return tb_fail(err, TB_EFORMAT, "config.json: %s is not a list of %zu numbers", key,
			       n);
	*out = tb_calloc(n, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++, v = json_next(v)) {
		if (!json_f64(v, &x) || !(x >= 1e-6 && x <= 1e6))
			return tb_fail(err, TB_EFORMAT, "config.json: %s: number %zu is not from "
				       "1e-6 to 1e6", key, i + 1);
		(*out)[i] = (float)x;
	}
	return TB_OK;
}

/* Each frequency has its own factor, one below and one beyond the original context. */
static enum tb_status
read_longrope(const struct hparams *hp, const cJSON *c, const cJSON *r, struct rope *rope,
	      struct tb_err *err)
{
	const char *original = "original_max_position_embeddings";
	double stretch;
	enum tb_status status;

	if ((status = real(value(c, original) ? c : r, original, 2, HP_MAX_CONTEXT, hp->context,
			   &rope->original, err)) ||
	    (status = real(r, "factor", 1, 1e6, hp->context / rope->original, &stretch, err)) ||
	    (status = real(r, "attention_factor", 1e-3, 1e3,
			   stretch > 1 ? sqrt(1 + log(stretch) / log(rope->original)) : 1,
			   &rope->magnitude, err)) ||
	    (status = read_factors(hp, r, "short_factor", &rope->factors, err)))
		return status;
	return read_factors(hp, r, "long_factor", &rope->long_factors, err);
}

static enum tb_status
read_stretch(const cJSON *r, struct rope *rope, struct tb_err *err)
{
	enum tb_status status;

	if ((status = real(r, "factor", 1, 1e6, NAN, &rope->factor, err)) ||
	    (status = real(r, "low_freq_factor", 1e-6, 1e6, NAN, &rope->low, err)) ||
	    (status = real(r, "high_freq_factor", 1e-6, 1e6, NAN, &rope->high, err)) ||
	    (status = real(r, "original_max_position_embeddings", 1, HP_MAX_CONTEXT, NAN,
			   &rope->original, err)))
		return status;
	if (isnan(rope->factor) ||
	    (rope->kind == ROPE_LLAMA3 && !(rope->high > rope->low && rope->original > 0)))
		return tb_fail(err, TB_EFORMAT, "config.json: rope_scaling of type %s lacks a factor",
			       rope->kind == ROPE_LLAMA3 ? "llama3" : "linear");
	return TB_OK;
}

/* How frequencies are changed for contexts longer than the model was first trained
 * for; r NULL: not at all. */
static enum tb_status
read_scaling(const struct hparams *hp, const cJSON *c, const cJSON *r, struct rope *rope,
	     struct tb_err *err)
{
	static const struct { const char *name; enum rope_kind kind; } kinds[] = {
		{ "default", ROPE_PLAIN }, { "linear", ROPE_LINEAR }, { "llama3", ROPE_LLAMA3 },
		{ "longrope", ROPE_LONGROPE }, { "su", ROPE_LONGROPE },
	};
	const char *name = json_str(json_get(r, "rope_type"));
	size_t i = 0, n = sizeof(kinds) / sizeof(*kinds);

	name = name ? name : json_str(json_get(r, "type"));
	while (i < n && !(name && !strcmp(name, kinds[i].name)))
		i++;
	if (r && i == n)
		return tb_fail(err, TB_EUNSUP, "config.json: rope_scaling of type \"%.40s\" cannot "
			       "be run; default, linear, llama3 and longrope can",
			       name ? name : "(none)");
	rope->kind = r ? kinds[i].kind : ROPE_PLAIN;
	if (rope->kind == ROPE_LONGROPE)
		return read_longrope(hp, c, r, rope, err);
	return rope->kind == ROPE_PLAIN ? TB_OK : read_stretch(r, rope, err);
}

static enum tb_status
read_theta(const cJSON *c, const char *key, struct rope *rope, struct tb_err *err)
{
	return real(c, key, 1, 1e12, rope->theta, &rope->theta, err);
}

static enum tb_status
read_partial(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	double partial;
	enum tb_status status;

	if ((status = real(c, "partial_rotary_factor", 0, 1, 1, &partial, err)))
		return status;
	if (partial < 1 && !hp->arch->rope_partial)
		return tb_fail(err, TB_EUNSUP, "config.json: partial_rotary_factor %g cannot be run",
			       partial);
	hp->rope_dims = (uint32_t)(hp->head_dim * partial);
	if (!hp->rope_dims)
		return tb_fail(err, TB_EFORMAT, "config.json: partial_rotary_factor %g leaves "
			       "nothing of a head", partial);
	return TB_OK;
}

/* Today's files have rope_scaling beside rope_theta; newer ones rope_parameters with
 * both inside, or inside of one object for each kind of layer. */
static enum tb_status
read_rope(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	const cJSON *r = value(c, "rope_parameters"), *full = value(r, "full_attention");
	const cJSON *local = value(r, "sliding_attention");
	enum tb_status status;

	r = full ? full : r;
	if ((status = read_partial(hp, r && value(r, "partial_rotary_factor") ? r : c, err)) ||
	    (status = read_theta(r && value(r, "rope_theta") ? r : c, "rope_theta", &hp->rope, err)) ||
	    (status = read_scaling(hp, c, r ? r : value(c, "rope_scaling"), &hp->rope, err)))
		return status;
	if (local && !(hp->rope_local.theta > 0))
		hp->rope_local.theta = hp->arch->rope_theta;
	if (!(hp->rope_local.theta > 0))
		return TB_OK;
	if ((status = read_theta(c, "rope_local_base_freq", &hp->rope_local, err)) ||
	    (status = read_theta(local, "rope_theta", &hp->rope_local, err)))
		return status;
	return read_scaling(hp, c, local, &hp->rope_local, err);
}

/* Which layers have the window: a list by name, or a rule. */
static enum tb_status
read_layers(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	const cJSON *types = value(c, "layer_types"), *t = json_first(types);
	uint32_t period = hp->arch->window_period;
	uint64_t first = 0;
	const char *key = hp->arch->window_from_key;
	enum tb_status status;

	if (types && json_count(types) != hp->layers)
		return tb_fail(err, TB_EFORMAT, "config.json: layer_types are not %" PRIu32,
			       hp->layers);
	for (uint32_t i = 0; t; i++, t = json_next(t)) {
		const char *name = json_str(t);

		if (!name || (strcmp(name, "full_attention") && strcmp(name, "sliding_attention")))
			return tb_fail(err, TB_EUNSUP, "config.json: a layer of type \"%.40s\" cannot"
				       " be run", name ? name : "(none)");
		hparams_set_window(hp, i, *name == 's');
	}
	if (types)
		return TB_OK;
	if (key && !json_u64(value(c, key), &first))
		return tb_fail(err, TB_EFORMAT, "config.json: %s is not a number of layers", key);
	if (period &&
	    ((status = number(c, "_sliding_window_pattern", HP_MAX_LAYERS, period, &period, err)) ||
	     (status = number(c, "sliding_window_pattern", HP_MAX_LAYERS, period, &period, err))))
		return status;
	hparams_set_windows(hp, first < hp->layers ? (uint32_t)first : hp->layers, period);
	return TB_OK;
}
/* null says that there is none, even where the row has one. */
static enum tb_status
read_window(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	bool on = !hp->arch->window_flag;
	const cJSON *v = json_get(c, "sliding_window");
	enum tb_status status;

	if ((status = flag(c, "use_sliding_window", &on, NULL, err)))
		return status;
	if (!on || json_is_null(v) || (!v && !hp->window)) {
		hp->window = 0;
		return TB_OK;
	}
	if ((status = number(c, "sliding_window", HP_MAX_CONTEXT, hp->window, &hp->window, err)))
		return status;
	return read_layers(hp, c, err);
}

static enum tb_status
read_cap(const cJSON *c, const char *key, float *out, struct tb_err *err)
{
	double cap;
	enum tb_status status;

	if (json_is_null(json_get(c, key)))
		*out = 0;
	if ((status = real(c, key, 1e-3, 1e6, *out, &cap, err)))
		return status;
	*out = (float)cap;
	return TB_OK;
}

static enum tb_status
read_attention(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	bool both_ways = false;
	double scalar = hp->arch->query_scalar;
	enum tb_status status;

	if ((status = flag(c, "use_bidirectional_attention", &both_ways, NULL, err)) ||
	    (scalar > 0 &&
	     (status = real(c, "query_pre_attn_scalar", 1e-3, 1e9, scalar, &scalar, err))))
		return status;
	if (both_ways)
		return tb_fail(err, TB_EUNSUP, "config.json: attention in both directions "
			       "(use_bidirectional_attention) cannot be run");
	hp->attn_scale = scalar > 0 ? (float)(1 / sqrt(scalar)) : 0;
	if (!hp->arch->softcaps)
		return TB_OK;
	if ((status = read_cap(c, "attn_logit_softcapping", &hp->attn_softcap, err)))
		return status;
	return read_cap(c, "final_logit_softcapping", &hp->final_softcap, err);
}

static enum tb_status
read_activation(struct hparams *hp, const cJSON *c, struct tb_err *err)
{
	static const struct { const char *name; enum activation act; } acts[] = {
		{ "silu", ACT_SILU }, { "swish", ACT_SILU },
		{ "gelu_pytorch_tanh", ACT_GELU_TANH }, { "gelu_new", ACT_GELU_TANH },
	};
	const char *name = json_str(value(c, hp->arch->act_key ? hp->arch->act_key
							       : "hidden_act"));

	for (size_t i = 0; name && i < sizeof(acts) / sizeof(*acts); i++) {
		if (!strcmp(name, acts[i].name)) {
			hp->act = acts[i].act;
			return TB_OK;
		}
	}
	return name ? tb_fail(err, TB_EUNSUP, "config.json: activation \"%.40s\" cannot be run; "
			      "silu and gelu_pytorch_tanh can", name) : TB_OK;
}

/* `c` may be within `config`. */
static enum tb_status
read_rest(struct hparams *hp, const cJSON *config, const cJSON *c, struct tb_err *err)
{
	double eps;
	enum tb_status status;

	if ((status = real(c, "rms_norm_eps", 1e-30, 1, hp->rms_eps, &eps, err)))
		return status;
	hp->rms_eps = (float)eps;
	return flag(value(c, "tie_word_embeddings") ? c : config, "tie_word_embeddings", &hp->tied,
		    &hp->tied_known, err);
}

static enum tb_status
read_all(struct hparams *hp, const cJSON *config, struct tb_err *err)
{
	const cJSON *c = value(config, "text_config");
	enum tb_status status;

	c = c ? c : config;
	if (!json_is_object(c))
		return tb_fail(err, TB_EFORMAT, "config.json: not an object");
	if ((status = read_arch(hp, config, err)) || (status = read_sizes(hp, c, err)) ||
	    (status = read_experts(hp, c, err)) || (status = read_rope(hp, c, err)) ||
	    (status = read_window(hp, c, err)) || (status = read_attention(hp, c, err)) ||
	    (status = read_activation(hp, c, err)) ||
	    (status = read_rest(hp, config, c, err)))
		return status;
	if ((status = hparams_finish(hp, err)))
		(void)tb_wrap(err, status, "config.json");
	return status;
}

enum tb_status
hparams_parse(struct hparams *hp, const char *json, size_t len, struct tb_err *err)
{
	cJSON *config;
	enum tb_status status;

	*hp = (struct hparams){ 0 };
	if ((status = json_parse_python(&config, json, len, "config.json", err)))
		return status;
	if ((status = read_all(hp, config, err)))
		hparams_free(hp);
	json_free(config);
	return status;
}
