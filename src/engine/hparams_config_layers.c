/* hparams_config_layers.c - what config.json says of single layers, and of experts. */
#include "config.h"

#include "src/engine/hparams_read.h"

#include <inttypes.h>
#include <string.h>

/* ---- windows and mixers ---- */

/* As layer_types call layers. */
static const struct { const char *name; enum mixer mixer; bool windowed; } types[] = {
	{ "full_attention", MIX_ATTENTION, false }, { "sliding_attention", MIX_ATTENTION, true },
	{ "attention", MIX_ATTENTION, false }, { "linear_attention", MIX_DELTA, false },
	{ "conv", MIX_CONV, false }, { "mamba", MIX_MAMBA, false },
};
#define NTYPES (sizeof(types) / sizeof(*types))

/* An architecture of layers that differ may have MLA where others have attention. */
static enum tb_status
set_type(const struct config_reader *r, uint32_t layer, const char *name)
{
	struct layer_shape *l = &r->hp->layer[layer];
	size_t i = 0;

	while (i < NTYPES && !(name && !strcmp(types[i].name, name)))
		i++;
	if (i == NTYPES || !arch_mixes(r->hp->arch, types[i].mixer))
		return tb_fail(r->err, TB_EUNSUP, "config.json: a layer of type \"%.40s\" cannot be run",
			       name ? name : "(none)");
	l->mixer = types[i].mixer;
	l->windowed = types[i].windowed;
	return TB_OK;
}

/* Each layer's by name, or a rule. */
enum tb_status
config_layers(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *list = config_value(r->c, "layer_types"), *t = json_first(list);
	uint32_t period = hp->arch->window_period;
	uint64_t first = 0;
	const char *key = hp->arch->window_from_key;
	enum tb_status status = TB_OK;

	if (!hp->window && !hp->arch->layers_differ)
		return TB_OK;
	if (list && json_count(list) != hp->layers)
		return tb_fail(r->err, TB_EFORMAT, "config.json: layer_types are not %" PRIu32,
			       hp->layers);
	for (uint32_t i = 0; t && !status; i++, t = json_next(t))
		status = set_type(r, i, json_str(t));
	if (list || !hp->window)
		return status;
	if (key && !json_u64(config_value(r->c, key), &first))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a number of layers", key);
	if (period &&
	    ((status = config_count(r, "_sliding_window_pattern", HP_MAX_LAYERS, period, &period)) ||
	     (status = config_count(r, "sliding_window_pattern", HP_MAX_LAYERS, period, &period))))
		return status;
	hparams_set_windows(hp, first < hp->layers ? (uint32_t)first : hp->layers, period);
	return TB_OK;
}

/* null says that there is none, even where the row has one. */
enum tb_status
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
	return config_count(r, "sliding_window", HP_MAX_CONTEXT, hp->window, &hp->window);
}

/* ---- experts ---- */

/* The first layers are dense; or those of a list, and all but each so-manieth. */
static enum tb_status
config_dense(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *list = config_value(r->c, "mlp_layer_types");
	const cJSON *v = config_own(r, "first_k_dense_replace");
	uint64_t dense = 0, n;
	uint32_t step;
	enum tb_status status;

	if (v && !json_u64(v, &dense))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a number of layers",
			       arch_key(hp->arch, "first_k_dense_replace"));
	if ((status = config_count(r, "decoder_sparse_step", HP_MAX_LAYERS, 1, &step)))
		return status;
	for (uint32_t i = 0; i < hp->layers; i++)
		if (i < dense || (i + 1) % step)
			hp->layer[i].ffn_kind = FFN_DENSE;
	v = json_first(config_value(r->c, "mlp_only_layers"));
	for (; v; v = json_next(v)) {
		if (!json_u64(v, &n))
			return tb_fail(r->err, TB_EFORMAT, "config.json: mlp_only_layers are not numbers"
				       " of layers");
		if (n < hp->layers)
			hp->layer[n].ffn_kind = FFN_DENSE;
	}
	if (list && json_count(list) != hp->layers)
		return tb_fail(r->err, TB_EFORMAT, "config.json: mlp_layer_types are not %" PRIu32,
			       hp->layers);
	v = json_first(list);
	for (uint32_t i = 0; v; i++, v = json_next(v)) {
		const char *name = json_str(v);

		if (!name || (strcmp(name, "dense") && strcmp(name, "sparse")))
			return tb_fail(r->err, TB_EUNSUP, "config.json: mlp_layer_types: \"%.40s\" "
				       "cannot be run", name ? name : "(none)");
		hp->layer[i].ffn_kind = *name == 'd' ? FFN_DENSE : FFN_EXPERTS;
	}
	return TB_OK;
}

/* Its width, or so many times an expert's. */
static enum tb_status
config_shared(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *width = config_own(r, "shared_expert_intermediate_size");
	const cJSON *count = config_own(r, "n_shared_experts");
	uint64_t n = 0;

	if (!arch_has(hp->arch, PART_SHARED) || (!width && !count))
		return TB_OK;
	if (!json_u64(width ? width : count, &n) || n > HP_MAX_DIM)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a whole number from 0 to %u",
			       arch_key(hp->arch, width ? "shared_expert_intermediate_size"
							: "n_shared_experts"), HP_MAX_DIM);
	n *= width ? 1 : hp->expert_ffn;
	hp->shared_ffn = n <= HP_MAX_DIM ? (uint32_t)n : HP_MAX_DIM + 1;
	return TB_OK;
}

static enum tb_status
config_score(const struct config_reader *r)
{
	static const char *const names[] = { [SCORE_SOFTMAX] = "softmax",
					     [SCORE_SIGMOID] = "sigmoid" };
	const cJSON *v = config_own(r, "scoring_func");
	const char *name = json_str(v);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			r->hp->routing.score = (enum router_score)i;
			return TB_OK;
		}
	return !v ? TB_OK : tb_fail(r->err, TB_EUNSUP, "config.json: %s \"%.40s\" cannot be run; "
				    "softmax and sigmoid can", arch_key(r->hp->arch, "scoring_func"),
				    name ? name : "(no word)");
}

enum tb_status
config_experts(const struct config_reader *r)
{
	struct routing *to = &r->hp->routing;
	double scale = (double)to->scale;
	enum tb_status status;

	if (!r->hp->arch->experts)
		return TB_OK;
	if (!r->hp->arch->routing.renormalize &&
	    (status = config_flag(r, r->c, "norm_topk_prob", &to->renormalize)))
		return status;
	if ((status = config_dense(r)) || (status = config_shared(r)) || (status = config_score(r)) ||
	    (status = config_real(r, r->c, "routed_scaling_factor", 1e-6, 1e6, &scale)) ||
	    (status = config_count(r, "n_group", HP_MAX_EXPERTS, 1, &to->groups)) ||
	    (status = config_count(r, "topk_group", HP_MAX_EXPERTS, to->groups, &to->groups_used)))
		return status;
	to->scale = (float)scale;
	return TB_OK;
}
