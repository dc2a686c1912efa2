/* arch_gemma4.c - Gemma 4: heads of two sizes, keys and values that layers share, numbers for
 * each layer besides the stream, experts beside a dense part. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/engine/hparams_read.h"
#include "src/format/gguf.h"

/* The last layers use keys and values of the last one before them that sees as far. */
static enum tb_status
share_keys(struct hparams *hp, uint32_t shared, struct tb_err *err)
{
	for (uint32_t i = hp->layers - shared; i < hp->layers; i++) {
		uint32_t from = hp->layers - shared;

		while (from > 0 && hp->layer[from - 1].windowed != hp->layer[i].windowed)
			from--;
		if (!from)
			return tb_fail(err, TB_EFORMAT, "layer %" PRIu32 " has no keys and values, and "
				       "no layer before it that it could share them with", i);
		hp->layer[i].kv_from = from - 1;
	}
	return TB_OK;
}

/* Heads of layers that see everything are of another size. */
static void
set_heads(struct hparams *hp, uint32_t full, uint32_t windowed)
{
	hp->attn_scale = 1;
	hp->rope_dims = hp->rope.dims = full;
	hp->rope_local.dims = windowed;
	for (uint32_t i = 0; i < hp->layers; i++) {
		struct layer_shape *l = &hp->layer[i];

		l->head_dim = l->value_dim = hparams_windowed(hp, i) ? windowed : full;
		l->ffn_kind = hp->experts ? FFN_BOTH : FFN_DENSE;
	}
}

/* Of which 0 and null mean none. */
static enum tb_status
config_none(const struct config_reader *r, const char *key, uint32_t max, uint32_t *out)
{
	const cJSON *v = config_value(r->c, key);
	uint64_t n = 0;

	if (v && (!json_u64(v, &n) || n > max))
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a whole number from 0 to %"
			       PRIu32, key, max);
	*out = (uint32_t)n;
	return TB_OK;
}

static enum tb_status
check_per_layer(const struct hparams *hp, struct tb_err *err)
{
	return (uint64_t)hp->per_layer * hp->layers <= HP_MAX_DIM ? TB_OK
	       : tb_fail(err, TB_EFORMAT, "%" PRIu32 " numbers for each of %" PRIu32 " layers are over"
			 " %u", hp->per_layer, hp->layers, HP_MAX_DIM);
}

static enum tb_status
config_gemma4(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	bool same = false, wide = false;
	uint32_t full, kv_heads = hp->kv_heads, shared;
	enum tb_status status;

	if ((status = config_count(r, "global_head_dim", HP_MAX_HEAD_DIM, hp->head_dim, &full)) ||
	    (status = config_flag(r, r->c, "attention_k_eq_v", &same)) ||
	    (status = config_flag(r, r->c, "use_double_wide_mlp", &wide)) ||
	    (same && (status = config_count(r, "num_global_key_value_heads", HP_MAX_DIM, kv_heads,
					    &kv_heads))) ||
	    (status = config_none(r, "num_kv_shared_layers", hp->layers - 1, &shared)) ||
	    (status = config_none(r, "hidden_size_per_layer_input", HP_MAX_HEAD_DIM,
				  &hp->per_layer)) ||
	    (status = config_count(r, "vocab_size_per_layer_input", HP_MAX_VOCAB, hp->vocab,
				   &hp->per_layer_vocab)))
		return status;
	set_heads(hp, full, hp->head_dim);
	for (uint32_t i = 0; i < hp->layers; i++) {
		struct layer_shape *l = &hp->layer[i];

		l->same = same && !hparams_windowed(hp, i);
		l->kv_heads = l->same ? kv_heads : l->kv_heads;
		l->ffn *= wide && i >= hp->layers - shared ? 2 : 1;
	}
	if ((status = share_keys(hp, shared, r->err)) || (status = check_per_layer(hp, r->err)))
		(void)tb_wrap(r->err, status, "config.json");
	return status;
}

/* A layer without values of its own has none in the file. */
static void
find_values(struct meta_reader *r)
{
	char name[64];

	for (uint32_t i = 0; i < r->hp->layers; i++) {
		snprintf(name, sizeof(name), "blk.%" PRIu32 ".attn_v.weight", i);
		r->hp->layer[i].same = !meta_rows(r, name);
	}
}

static enum tb_status
metadata_gemma4(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	uint32_t windowed, shared;
	enum tb_status status;

	if ((status = meta_number(r, "attention.key_length_swa", HP_MAX_HEAD_DIM, hp->head_dim,
				  &windowed)) ||
	    (status = meta_none(r, "attention.shared_kv_layers", hp->layers - 1, &shared)) ||
	    (status = meta_none(r, "embedding_length_per_layer_input", HP_MAX_HEAD_DIM,
				&hp->per_layer)))
		return status;
	hp->per_layer_vocab = meta_rows(r, "per_layer_token_embd.weight");
	set_heads(hp, hp->head_dim, windowed);
	find_values(r);
	if ((status = share_keys(hp, shared, r->err)))
		return status;
	return check_per_layer(hp, r->err);
}

static const struct slot_rule gemma4_names[] = {
	RULE(SLOT_LAYER_SCALE, "layers.{n}.layer_scalar"),
	RULE(SLOT_PL_EMBED, "embed_tokens_per_layer.weight"),
	RULE(SLOT_PL_MODEL, "per_layer_model_projection.weight"),
	RULE(SLOT_PL_MODEL_NORM, "per_layer_projection_norm.weight"),
	RULE(SLOT_PL_GATE, "layers.{n}.per_layer_input_gate.weight"),
	RULE(SLOT_PL_OUT, "layers.{n}.per_layer_projection.weight"),
	RULE(SLOT_PL_POST_NORM, "layers.{n}.post_per_layer_input_norm.weight"),
	RULE(SLOT_DENSE_POST_NORM, "layers.{n}.post_feedforward_layernorm_1.weight"),
	RULE(SLOT_EXPERTS_NORM, "layers.{n}.pre_feedforward_layernorm_2.weight"),
	RULE(SLOT_EXPERTS_POST_NORM, "layers.{n}.post_feedforward_layernorm_2.weight"),
	RULE(SLOT_ROUTER, "layers.{n}.router.proj.weight"),
	RULE(SLOT_ROUTER_SCALE, "layers.{n}.router.scale"),
	RULE(SLOT_EXPERT_SCALE, "layers.{n}.router.per_expert_scale"),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.experts.gate_up_proj", DIM_EXPERT_FFN,
		.stacked = true),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.experts.gate_up_proj.weight", DIM_EXPERT_FFN,
		.stacked = true),
	STACK(SLOT_X_DOWN, "layers.{n}.experts.down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.experts.", "gate_proj", "up_proj", "down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.experts.switch_glu.", "gate_proj", "up_proj", "down_proj"),
	EXPERTS_AT(RULE, "layers.{n}.experts.{e}.", "gate_proj", "up_proj", "down_proj"),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.moe.gate_up_proj", DIM_EXPERT_FFN,
		.stacked = true),
	STACK(SLOT_X_DOWN, "layers.{n}.moe.down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.moe.switch_mlp.", "gate_proj", "up_proj", "down_proj"),
	EXPERTS_AT(RULE, "layers.{n}.moe.experts.{e}.", "gate_proj", "up_proj", "down_proj"),
	{ .slot = SLOT_COUNT }
};

#define GEMMA4 (COMMON | DENSE | QK_NORM | POST_NORMS | PART_BIT(PART_PER_LAYER))
#define LIKE_GEMMA4 .names = gemma4_names, .name = "gemma4", .text_name = "gemma4_text", \
	.class_name = "Gemma4ForCausalLM", .gguf_name = "gemma4", \
	.optional = HEAD | PART_BIT(PART_LAYER_SCALE), .ways = WAY_POST_NORMS, \
	.act = ACT_GELU_TANH, .embed_scale = true, .value_norm = true, .softcaps = true, \
	.final_softcap = 30, .window = 512, .window_period = 6, .layers_differ = true, \
	.rope_partial = true, .rope_theta = 1e6f, .rope_local = 10000, .rms_eps = 1e-6f, \
	.experts_key = "num_experts", .config = config_gemma4, .metadata = metadata_gemma4
#define GEMMA4_KEYS "hidden_act", "hidden_activation"

const struct arch arch_rows_gemma4[] = {
	{ LIKE_GEMMA4, .required = GEMMA4, .keys = KEYS(GEMMA4_KEYS) },
	{ LIKE_GEMMA4, .required = GEMMA4 | EXPERTS | PART_BIT(PART_BESIDE),
	  .keys = KEYS(GEMMA4_KEYS, "num_experts_per_tok", "top_k_experts"),
	  .experts = true, .routing.renormalize = true, .gguf_renormalize = true },
	{ .name = NULL }
};
