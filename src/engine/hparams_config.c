/* hparams_config.c - a model's numbers from config.json. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/json.h"

/* A file that is read into `hp`. */
struct config_reader {
	struct hparams *hp;
	const cJSON *config;	/* all of it */
	const cJSON *c;		/* what is said of the language model: it, or its text_config */
	struct tb_err *err;
};

static const cJSON *
config_value(const cJSON *in, const char *key)
{
	const cJSON *v = json_get(in, key);

	return json_is_null(v) ? NULL : v;
}

/* What the architecture says where others say `key`. */
static const cJSON *
config_own(const struct config_reader *r, const char *key)
{
	return config_value(r->c, arch_key(r->hp->arch, key));
}

/* fallback 0: the key must be there. */
static enum tb_status
config_number(const struct config_reader *r, const char *key, uint32_t max, uint32_t fallback,
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

/* Silence leaves *out as it is. */
static enum tb_status
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

static enum tb_status
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
	const struct arch *arch = arch_find(type, class_name);

	if (!arch || (inner && arch_find(inner, NULL) != arch))
		return arch_unknown(type ? type : class_name ? class_name : "(none given)", "",
				    r->err);
	hparams_init(r->hp, arch);
	return TB_OK;
}

static enum tb_status
config_sizes(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const struct arch *a = hp->arch;
	uint32_t head_dim;
	enum tb_status status;

	for (const struct hparams_number *n = hparams_numbers; n->config; n++)
		if ((a->experts || !n->experts) &&
		    (status = config_number(r, n->config, n->max, hparams_usual(a, n),
					    hparams_field(hp, n))))
			return status;
	if ((status = config_number(r, "num_key_value_heads", HP_MAX_DIM,
				    a->kv_heads ? a->kv_heads : hp->heads, &hp->kv_heads)))
		return status;
	head_dim = a->head_dim ? a->head_dim : hp->dim / hp->heads;
	if (!config_own(r, "head_dim") && !a->head_dim && hp->dim % hp->heads)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s %" PRIu32 " is no multiple of %s"
			       " %" PRIu32 " and head_dim is missing", arch_key(a, "hidden_size"),
			       hp->dim, arch_key(a, "num_attention_heads"), hp->heads);
	return config_number(r, "head_dim", HP_MAX_HEAD_DIM, head_dim, &hp->head_dim);
}

static enum tb_status
config_experts(const struct config_reader *r)
{
	uint32_t step;
	enum tb_status status;

	if (!r->hp->arch->experts)
		return TB_OK;
	if ((status = config_number(r, "decoder_sparse_step", HP_MAX_LAYERS, 1, &step)) ||
	    (!r->hp->norm_topk &&
	     (status = config_flag(r, r->c, "norm_topk_prob", &r->hp->norm_topk))))
		return status;
	if (step != 1 || json_first(json_get(r->c, "mlp_only_layers")))
		return tb_fail(r->err, TB_EUNSUP, "config.json: layers without experts between those"
			       " with experts (decoder_sparse_step, mlp_only_layers) cannot be run");
	return TB_OK;
}

/* A list of rope_dims / 2 numbers that frequencies are divided by. */
static enum tb_status
config_factors(const struct config_reader *r, const cJSON *scaling, const char *key, float **out)
{
	const cJSON *list = config_value(scaling, key), *v = json_first(list);
	size_t n = r->hp->rope_dims / 2;
	double x;

	if (!list || json_count(list) != n)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a list of %zu numbers",
			       key, n);
	*out = tb_calloc(n, sizeof(**out));
	if (!*out)
		return tb_nomem(r->err);
	for (size_t i = 0; i < n; i++, v = json_next(v)) {
		if (!json_f64(v, &x) || !(x >= 1e-6 && x <= 1e6))
			return tb_fail(r->err, TB_EFORMAT, "config.json: %s: number %zu is not from "
				       "1e-6 to 1e6", key, i + 1);
		(*out)[i] = (float)x;
	}
	return TB_OK;
}

/* Each frequency has its own factor, one below and one beyond the original context. */
static enum tb_status
config_longrope(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	const char *original = "original_max_position_embeddings";
	double stretch;
	enum tb_status status;

	rope->original = r->hp->context;
	if ((status = config_real(r, config_value(r->c, original) ? r->c : scaling, original, 2,
				  HP_MAX_CONTEXT, &rope->original)))
		return status;
	stretch = r->hp->context / rope->original;
	if ((status = config_real(r, scaling, "factor", 1, 1e6, &stretch)))
		return status;
	rope->magnitude = stretch > 1 ? sqrt(1 + log(stretch) / log(rope->original)) : 1;
	if ((status = config_real(r, scaling, "attention_factor", 1e-3, 1e3, &rope->magnitude)) ||
	    (status = config_factors(r, scaling, "short_factor", &rope->factors)))
		return status;
	return config_factors(r, scaling, "long_factor", &rope->long_factors);
}

/* How frequencies are changed for contexts longer than the model was first trained
 * for; scaling NULL: not at all. */
static enum tb_status
config_scaling(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	static const struct { const char *name; enum rope_kind kind; } kinds[] = {
		{ "default", ROPE_PLAIN }, { "linear", ROPE_LINEAR }, { "llama3", ROPE_LLAMA3 },
		{ "longrope", ROPE_LONGROPE }, { "su", ROPE_LONGROPE },
	};
	const char *name = json_str(json_get(scaling, "rope_type"));
	size_t i = 0, n = sizeof(kinds) / sizeof(*kinds);
	enum tb_status status;

	name = name ? name : json_str(json_get(scaling, "type"));
	while (i < n && !(name && !strcmp(name, kinds[i].name)))
		i++;
	if (scaling && i == n)
		return tb_fail(r->err, TB_EUNSUP, "config.json: rope_scaling of type \"%.40s\" cannot "
			       "be run; default, linear, llama3 and longrope can",
			       name ? name : "(none)");
	rope->kind = scaling ? kinds[i].kind : ROPE_PLAIN;
	if (rope->kind == ROPE_PLAIN)
		return TB_OK;
	if (rope->kind == ROPE_LONGROPE)
		return config_longrope(r, scaling, rope);
	rope->factor = rope->low = rope->high = rope->original = NAN;
	if ((status = config_real(r, scaling, "factor", 1, 1e6, &rope->factor)) ||
	    (status = config_real(r, scaling, "low_freq_factor", 1e-6, 1e6, &rope->low)) ||
	    (status = config_real(r, scaling, "high_freq_factor", 1e-6, 1e6, &rope->high)) ||
	    (status = config_real(r, scaling, "original_max_position_embeddings", 1, HP_MAX_CONTEXT,
				  &rope->original)))
		return status;
	if (isnan(rope->factor) ||
	    (rope->kind == ROPE_LLAMA3 && !(rope->high > rope->low && rope->original > 0)))
		return tb_fail(r->err, TB_EFORMAT, "config.json: rope_scaling of type %s lacks a "
			       "factor", rope->kind == ROPE_LLAMA3 ? "llama3" : "linear");
	return TB_OK;
}

/* Today's files have rope_scaling beside rope_theta; newer ones rope_parameters with
 * both inside, or inside of one object for each kind of layer. */
static enum tb_status
config_rope(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *c = r->c, *p = config_value(c, "rope_parameters");
	const cJSON *full = config_value(p, "full_attention");
	const cJSON *local = config_value(p, "sliding_attention");
	double partial = 1;
	enum tb_status status;

	p = full ? full : p;
	if ((status = config_real(r, config_value(p, "partial_rotary_factor") ? p : c,
				  "partial_rotary_factor", 0, 1, &partial)))
		return status;
	hp->rope_dims = (uint32_t)(hp->head_dim * partial);
	if (partial < 1 && !hp->arch->rope_partial)
		return tb_fail(r->err, TB_EUNSUP, "config.json: partial_rotary_factor %g cannot be "
			       "run", partial);
	if (!hp->rope_dims)
		return tb_fail(r->err, TB_EFORMAT, "config.json: partial_rotary_factor %g leaves "
			       "nothing of a head", partial);
	if ((status = config_real(r, config_value(p, "rope_theta") ? p : c, "rope_theta", 1, 1e12,
				  &hp->rope.theta)) ||
	    (status = config_scaling(r, p ? p : config_value(c, "rope_scaling"), &hp->rope)))
		return status;
	if (local && !(hp->rope_local.theta > 0))
		hp->rope_local.theta = hp->arch->rope_theta;
	if (!(hp->rope_local.theta > 0))
		return TB_OK;
	if ((status = config_real(r, c, "rope_local_base_freq", 1, 1e12, &hp->rope_local.theta)) ||
	    (status = config_real(r, local, "rope_theta", 1, 1e12, &hp->rope_local.theta)))
		return status;
	return config_scaling(r, local, &hp->rope_local);
}

/* Which layers have the window: a list by name, or a rule. */
static enum tb_status
config_layers(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *types = config_value(r->c, "layer_types"), *t = json_first(types);
	uint32_t period = hp->arch->window_period;
	uint64_t first = 0;
	const char *key = hp->arch->window_from_key;
	enum tb_status status;

	if (types && json_count(types) != hp->layers)
		return tb_fail(r->err, TB_EFORMAT, "config.json: layer_types are not %" PRIu32,
			       hp->layers);
	for (uint32_t i = 0; t; i++, t = json_next(t)) {
		const char *name = json_str(t);

		if (!name || (strcmp(name, "full_attention") && strcmp(name, "sliding_attention")))
			return tb_fail(r->err, TB_EUNSUP, "config.json: a layer of type \"%.40s\" "
				       "cannot be run", name ? name : "(none)");
		hparams_set_window(hp, i, *name == 's');
	}
	if (types)
		return TB_OK;
	if (key && !json_u64(config_value(r->c, key), &first))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a number of layers", key);
	if (period &&
	    ((status = config_number(r, "_sliding_window_pattern", HP_MAX_LAYERS, period, &period)) ||
	     (status = config_number(r, "sliding_window_pattern", HP_MAX_LAYERS, period, &period))))
		return status;
	hparams_set_windows(hp, first < hp->layers ? (uint32_t)first : hp->layers, period);
	return TB_OK;
}

/* null says that there is none, even where the row has one. */
static enum tb_status
config_window(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	bool on = !hp->arch->window_flag;
	const cJSON *v = json_get(r->c, "sliding_window");
	enum tb_status status;

	if ((status = config_flag(r, r->c, "use_sliding_window", &on)))
		return status;
	if (!on || json_is_null(v) || (!v && !hp->window)) {
		hp->window = 0;
		return TB_OK;
	}
	if ((status = config_number(r, "sliding_window", HP_MAX_CONTEXT, hp->window, &hp->window)))
		return status;
	return config_layers(r);
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
	hp->attn_scale = scalar > 0 ? (float)(1 / sqrt(scalar)) : 0;
	if (!hp->arch->softcaps)
		return TB_OK;
	if ((status = config_cap(r, "attn_logit_softcapping", &hp->attn_softcap)))
		return status;
	return config_cap(r, "final_logit_softcapping", &hp->final_softcap);
}

static enum tb_status
config_activation(const struct config_reader *r)
{
	static const struct { const char *name; enum activation act; } acts[] = {
		{ "silu", ACT_SILU }, { "swish", ACT_SILU },
		{ "gelu_pytorch_tanh", ACT_GELU_TANH }, { "gelu_new", ACT_GELU_TANH },
	};
	const char *name = json_str(config_own(r, "hidden_act")), *own = r->hp->arch->own_act;

	if (!name || (own && !strcmp(name, own)))
		return TB_OK;
	for (size_t i = 0; !own && i < sizeof(acts) / sizeof(*acts); i++) {
		if (!strcmp(name, acts[i].name)) {
			r->hp->act = acts[i].act;
			return TB_OK;
		}
	}
	return tb_fail(r->err, TB_EUNSUP, "config.json: activation \"%.40s\" cannot be run; %s can",
		       name, own ? own : "silu and gelu_pytorch_tanh");
}

static enum tb_status
config_all(struct config_reader *r)
{
	static enum tb_status (*const parts[])(const struct config_reader *r) = {
		config_arch, config_sizes, config_experts, config_rope, config_window,
		config_attention, config_activation,
	};
	struct hparams *hp = r->hp;
	enum tb_status status = TB_OK;
	double eps;

	r->c = config_value(r->config, "text_config");
	r->c = r->c ? r->c : r->config;
	if (!json_is_object(r->c))
		return tb_fail(r->err, TB_EFORMAT, "config.json: not an object");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !status; i++)
		status = parts[i](r);
	if (status)
		return status;
	eps = hp->rms_eps;
	if ((status = config_real(r, r->c, "rms_norm_eps", 1e-30, 1, &eps)))
		return status;
	hp->rms_eps = (float)eps;
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
