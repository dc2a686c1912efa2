/* arch_laguna.c - Laguna: layers with more heads than others, whose answers are
 * multiplied by what the layer's input says; windows of another rope. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <inttypes.h>
#include <string.h>

#include "src/engine/hparams_read.h"
#include "src/store/model_meta.h"

#define FULL_PERIOD 4	/* layers 0, 4, 8 … of files that do not say it see everything */

static enum tb_status
laguna_heads(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *list = config_value(r->c, "num_attention_heads_per_layer");
	const cJSON *v = json_first(list);
	uint64_t n;

	for (uint32_t i = 0; v; i++, v = json_next(v)) {
		if (json_count(list) != hp->layers || !json_u64(v, &n) || n < 1 || n > HP_MAX_DIM)
			return tb_fail(r->err, TB_EFORMAT, "config.json: num_attention_heads_per_layer is"
				       " not %" PRIu32 " numbers of heads", hp->layers);
		hp->layer[i].heads = (uint32_t)n;
	}
	return TB_OK;
}

/* true, false, or a word. */
static enum tb_status
laguna_gating(const struct config_reader *r)
{
	const cJSON *v = config_value(r->c, "gating");
	const char *word = json_str(v);
	bool on = true;

	if (word && !strcmp(word, "per-element"))
		r->hp->gate_rows = r->hp->head_dim;
	else if ((word && (!strcmp(word, "per-head") || !strcmp(word, "true"))) ||
		 (!word && json_bool(v, &on) && on))
		r->hp->gate_rows = 1;
	else
		return tb_fail(r->err, TB_EUNSUP, "config.json: gating is not per-head or per-element");
	return TB_OK;
}

static enum tb_status
laguna_config(const struct config_reader *r)
{
	static const char *const neither[] = { "moe_apply_router_weight_on_input",
					       "swa_attention_sink_enabled", NULL };
	struct hparams *hp = r->hp;
	const cJSON *local = json_path(r->c, "rope_parameters.sliding_attention");
	double partial = 1, cap = 0;
	bool sigmoid = true;
	enum tb_status status;

	for (const char *const *key = neither; *key; key++) {
		bool on = false;

		if ((status = config_flag(r, r->c, *key, &on)))
			return status;
		if (on)
			return tb_fail(r->err, TB_EUNSUP, "config.json: %s cannot be run", *key);
	}
	hp->routing.renormalize = true;
	if ((status = config_flag(r, r->c, "norm_topk_prob", &hp->routing.renormalize)) ||
	    (status = config_flag(r, r->c, "moe_router_use_sigmoid", &sigmoid)))
		return status;
	hp->routing.score = sigmoid ? SCORE_SIGMOID : SCORE_SOFTMAX;
	if ((status = config_real(r, r->c, "moe_router_logit_softcapping", 0, 1e6, &cap)))
		return status;
	if (cap > 0)
		return tb_fail(r->err, TB_EUNSUP, "config.json: moe_router_logit_softcapping %g cannot be"
			       " run", cap);
	local = local ? local : config_value(r->c, "swa_rope_parameters");
	if ((status = config_real(r, local, "partial_rotary_factor", 0, 1, &partial)) ||
	    (status = config_real(r, local, "rope_theta", 1, 1e12, &hp->rope_local.theta)))
		return status;
	hp->rope_local.dims = (uint32_t)(hp->head_dim * partial);
	if ((status = laguna_heads(r)))
		return status;
	return laguna_gating(r);
}

/* Files of two programs, which have different keys and no word on the gate. */
static enum tb_status
laguna_metadata(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	bool theirs = meta_find(r, "rope.swa.dimension_count");
	uint32_t gate = meta_rows(r, theirs ? "blk.0.attn_g.weight" : "blk.0.attn_gate.weight");
	enum tb_status status;

	if ((status = meta_number(r, theirs ? "rope.swa.dimension_count" : "rope.dimension_count_swa",
				  HP_MAX_HEAD_DIM, hp->head_dim, &hp->rope_local.dims)) ||
	    (status = meta_real(r, theirs ? "rope.swa.freq_base" : "rope.freq_base_swa", 1, 1e12,
				hp->rope_local.theta, &hp->rope_local.theta)))
		return status;
	for (uint32_t i = 0; i < hp->layers && !meta_find(r, "attention.sliding_window_pattern"); i++)
		hp->layer[i].windowed = i % FULL_PERIOD;
	if (!hp->layer[0].heads)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key laguna.attention.head_count: layer 0 has "
			       "no heads", r->mm->file.path);
	hp->gate_rows = gate / hp->layer[0].heads;
	if (hp->gate_rows != 1 && hp->gate_rows != hp->head_dim)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: a gate of %" PRIu32 " rows is neither one for "
			       "each of %" PRIu32 " heads nor one for each of their elements",
			       r->mm->file.path, gate, hp->layer[0].heads);
	return TB_OK;
}

const struct arch arch_rows_laguna[] = {
	{ .name = "laguna", .class_name = "LagunaForCausalLM", .gguf_name = "laguna",
	  .required = COMMON | DENSE | EXPERTS | SHARED | QK_NORM | PART_BIT(PART_CHOICE_BIAS) |
	  PART_BIT(PART_ATTENTION_GATE), .optional = HEAD,
	  .experts = true, .layers_differ = true, .rope_partial = true,
	  .routing = { .score = SCORE_SIGMOID }, .gguf_renormalize = true,
	  .keys = KEYS("routed_scaling_factor", "moe_routed_scaling_factor"),
	  .config = laguna_config, .metadata = laguna_metadata,
	  .rms_eps = 1e-6f, .rope_theta = 500000, .rope_local = 10000 },
	{ .name = NULL }
};
