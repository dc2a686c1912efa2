/* slot_rules.c - what files call a model's tensors, whatever its architecture; names that
 * one architecture alone has stand beside its row. */
#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/engine/arch_rows.h"

/* What files of Hugging Face's call them, and what is made of those; the best first. */
static const struct slot_rule hf_rules[] = {
	RULE(SLOT_EMBED, "embed_tokens.weight"),
	RULE(SLOT_OUTPUT_NORM, "norm.weight"),
	RULE(SLOT_ATTN_NORM, "layers.{n}.input_layernorm.weight"),
	{ SLOT_Q, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .after = { DIM_K, DIM_V } },
	{ SLOT_K, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .before = { DIM_Q }, .after = { DIM_V } },
	{ SLOT_V, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .before = { DIM_Q, DIM_K } },
	RULE(SLOT_Q, "layers.{n}.self_attn.q_proj.weight"),
	RULE(SLOT_K, "layers.{n}.self_attn.k_proj.weight"),
	RULE(SLOT_V, "layers.{n}.self_attn.v_proj.weight"),
	RULE(SLOT_O, "layers.{n}.self_attn.o_proj.weight"),
	RULE(SLOT_Q_BIAS, "layers.{n}.self_attn.q_proj.bias"),
	RULE(SLOT_K_BIAS, "layers.{n}.self_attn.k_proj.bias"),
	RULE(SLOT_V_BIAS, "layers.{n}.self_attn.v_proj.bias"),
	RULE(SLOT_O_BIAS, "layers.{n}.self_attn.o_proj.bias"),
	RULE(SLOT_Q_NORM, "layers.{n}.self_attn.q_norm.weight"),
	RULE(SLOT_K_NORM, "layers.{n}.self_attn.k_norm.weight"),
	RULE(SLOT_Q_NORM, "layers.{n}.self_attn.query_layernorm.weight"),
	RULE(SLOT_K_NORM, "layers.{n}.self_attn.key_layernorm.weight"),
	{ SLOT_FFN_NORM, "layers.{n}.post_attention_layernorm.weight", .never = WAY_POST_NORMS },
	{ SLOT_FFN_NORM, "layers.{n}.pre_feedforward_layernorm.weight", .only = WAY_POST_NORMS },
	{ SLOT_POST_ATTN_NORM, "layers.{n}.post_attention_layernorm.weight",
	  .only = WAY_POST_NORMS },
	RULE(SLOT_POST_FFN_NORM, "layers.{n}.post_feedforward_layernorm.weight"),
	RULE(SLOT_POST_ATTN_NORM, "layers.{n}.post_self_attn_layernorm.weight"),
	RULE(SLOT_POST_FFN_NORM, "layers.{n}.post_mlp_layernorm.weight"),
	{ SLOT_GATE, "layers.{n}.mlp.gate_up_proj.weight", .only = WAY_FUSED, .after = { DIM_FFN } },
	{ SLOT_UP, "layers.{n}.mlp.gate_up_proj.weight", .only = WAY_FUSED, .before = { DIM_FFN } },
	RULE(SLOT_GATE, "layers.{n}.mlp.gate_proj.weight"),
	RULE(SLOT_UP, "layers.{n}.mlp.up_proj.weight"),
	RULE(SLOT_DOWN, "layers.{n}.mlp.down_proj.weight"),
	RULE(SLOT_ROUTER, "layers.{n}.block_sparse_moe.gate.weight"),
	RULE(SLOT_ROUTER, "layers.{n}.mlp.gate.weight"),
	EXPERTS_AT(STACK, "layers.{n}.mlp.experts.", "gate_proj", "up_proj", "down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.mlp.switch_mlp.", "gate_proj", "up_proj", "down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.block_sparse_moe.switch_mlp.", "gate_proj", "up_proj",
		   "down_proj"),
	EXPERTS_AT(STACK, "layers.{n}.block_sparse_moe.experts.", "w1", "w3", "w2"),
	EXPERTS_AT(RULE, "layers.{n}.block_sparse_moe.experts.{e}.", "w1", "w3", "w2"),
	EXPERTS_AT(RULE, "layers.{n}.mlp.experts.{e}.", "gate_proj", "up_proj", "down_proj"),
	RULE(SLOT_ROUTER, "layers.{n}.block_sparse_moe.router.layer.weight"),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.block_sparse_moe.input_linear.weight",
		DIM_EXPERT_FFN, .stacked = true),
	STACK(SLOT_X_DOWN, "layers.{n}.block_sparse_moe.output_linear.weight"),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.mlp.experts.gate_up_proj", DIM_EXPERT_FFN,
		.stacked = true, .never = WAY_TURNED | WAY_WOVEN),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.mlp.experts.gate_up_proj.weight",
		DIM_EXPERT_FFN, .stacked = true, .never = WAY_TURNED | WAY_WOVEN),
	{ SLOT_X_DOWN, "layers.{n}.mlp.experts.down_proj", .stacked = true, .never = WAY_TURNED },
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "layers.{n}.mlp.experts.gate_up_proj", DIM_EXPERT_FFN,
		.stacked = true, .turned = true, .only = WAY_TURNED),
	{ SLOT_X_DOWN, "layers.{n}.mlp.experts.down_proj", .stacked = true, .turned = true,
	  .only = WAY_TURNED },
	GATE_UP(SLOT_S_GATE, SLOT_S_UP, "layers.{n}.shared_mlp.input_linear.weight", DIM_SHARED_FFN),
	RULE(SLOT_S_DOWN, "layers.{n}.shared_mlp.output_linear.weight"),
	GATE_UP(SLOT_GATE, SLOT_UP, "layers.{n}.shared_mlp.input_linear.weight", DIM_FFN),
	RULE(SLOT_DOWN, "layers.{n}.shared_mlp.output_linear.weight"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.mlp.gate.e_score_correction_bias"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.mlp.experts.e_score_correction_bias"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.mlp.moe_statics.e_score_correction_bias"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.block_sparse_moe.e_score_correction_bias"),
	SHARED_AT("layers.{n}.mlp.shared_expert.", "gate_proj", "up_proj", "down_proj"),
	SHARED_AT("layers.{n}.mlp.shared_experts.", "gate_proj", "up_proj", "down_proj"),
	RULE(SLOT_S_ROUTER, "layers.{n}.mlp.shared_expert_gate.weight"),
	RULE(SLOT_ATTN_GATE, "layers.{n}.self_attn.g_proj.weight"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.mlp.switch_mlp.e_score_correction_bias"),
	RULE(SLOT_SINKS, "layers.{n}.self_attn.sinks"),
	RULE(SLOT_ROUTER, "layers.{n}.mlp.router.weight"),
	RULE(SLOT_ROUTER_BIAS, "layers.{n}.mlp.router.bias"),
	{ SLOT_X_GATE_UP, "layers.{n}.mlp.experts.gate_up_proj", .stacked = true, .only = WAY_WOVEN },
	EACH(SLOT_X_GATE_UP_BIAS, "layers.{n}.mlp.experts.gate_up_proj_bias"),
	EACH(SLOT_X_DOWN_BIAS, "layers.{n}.mlp.experts.down_proj_bias"),
	EACH(SLOT_X_GATE_BIAS, "layers.{n}.mlp.experts.gate_proj.bias"),
	EACH(SLOT_X_UP_BIAS, "layers.{n}.mlp.experts.up_proj.bias"),
	EACH(SLOT_X_DOWN_BIAS, "layers.{n}.mlp.experts.down_proj.bias"),
	RULE(SLOT_MLA_Q, "layers.{n}.self_attn.q_proj.weight"),
	RULE(SLOT_Q_A, "layers.{n}.self_attn.q_a_proj.weight"),
	RULE(SLOT_Q_A_NORM, "layers.{n}.self_attn.q_a_layernorm.weight"),
	RULE(SLOT_Q_B, "layers.{n}.self_attn.q_b_proj.weight"),
	RULE(SLOT_KV_A, "layers.{n}.self_attn.kv_a_proj_with_mqa.weight"),
	RULE(SLOT_KV_A_NORM, "layers.{n}.self_attn.kv_a_layernorm.weight"),
	RULE(SLOT_KV_B, "layers.{n}.self_attn.kv_b_proj.weight"),
	FOLD(SLOT_K_B, "layers.{n}.self_attn.embed_q.weight"),
	FOLD(SLOT_V_B, "layers.{n}.self_attn.unembed_out.weight"),
	RULE(SLOT_MLA_O, "layers.{n}.self_attn.o_proj.weight"),
	RULE(SLOT_DELTA_QKV, "layers.{n}.linear_attn.in_proj_qkv.weight"),
	RULE(SLOT_DELTA_Z, "layers.{n}.linear_attn.in_proj_z.weight"),
	RULE(SLOT_DELTA_A, "layers.{n}.linear_attn.in_proj_a.weight"),
	RULE(SLOT_DELTA_B, "layers.{n}.linear_attn.in_proj_b.weight"),
	RULE(SLOT_DELTA_QKVZ, "layers.{n}.linear_attn.in_proj_qkvz.weight"),
	RULE(SLOT_DELTA_BA, "layers.{n}.linear_attn.in_proj_ba.weight"),
	RULE(SLOT_DELTA_CONV, "layers.{n}.linear_attn.conv1d.weight"),
	{ SLOT_DELTA_RATE, "layers.{n}.linear_attn.A_log", .log = true },
	RULE(SLOT_DELTA_DT_BIAS, "layers.{n}.linear_attn.dt_bias"),
	RULE(SLOT_DELTA_NORM, "layers.{n}.linear_attn.norm.weight"),
	RULE(SLOT_DELTA_OUT, "layers.{n}.linear_attn.out_proj.weight"),
	RULE(SLOT_MAMBA_IN, "layers.{n}.mamba.in_proj.weight"),
	RULE(SLOT_MAMBA_CONV, "layers.{n}.mamba.conv1d.weight"),
	RULE(SLOT_MAMBA_CONV_BIAS, "layers.{n}.mamba.conv1d.bias"),
	{ SLOT_MAMBA_RATE, "layers.{n}.mamba.A_log", .log = true },
	RULE(SLOT_MAMBA_PASS, "layers.{n}.mamba.D"),
	RULE(SLOT_MAMBA_DT_BIAS, "layers.{n}.mamba.dt_bias"),
	RULE(SLOT_MAMBA_NORM, "layers.{n}.mamba.norm.weight"),
	RULE(SLOT_MAMBA_OUT, "layers.{n}.mamba.out_proj.weight"),
	RULE(SLOT_OUTPUT, "lm_head.weight"),
	{ .slot = SLOT_COUNT }
};

static const struct slot_rule gguf_rules[] = {
	RULE(SLOT_EMBED, "token_embd.weight"),
	RULE(SLOT_OUTPUT_NORM, "output_norm.weight"),
	RULE(SLOT_OUTPUT, "output.weight"),
	RULE(SLOT_ROPE_FREQS, "rope_freqs.weight"),
	RULE(SLOT_ROPE_FREQS, "rope_factors_short.weight"),
	RULE(SLOT_ROPE_LONG, "rope_factors_long.weight"),
	RULE(SLOT_ATTN_NORM, "blk.{n}.attn_norm.weight"),
	{ SLOT_Q, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .after = { DIM_K, DIM_V } },
	{ SLOT_K, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .before = { DIM_Q },
	  .after = { DIM_V } },
	{ SLOT_V, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .before = { DIM_Q, DIM_K } },
	RULE(SLOT_Q, "blk.{n}.attn_q.weight"),
	RULE(SLOT_K, "blk.{n}.attn_k.weight"),
	RULE(SLOT_V, "blk.{n}.attn_v.weight"),
	RULE(SLOT_O, "blk.{n}.attn_output.weight"),
	RULE(SLOT_Q_BIAS, "blk.{n}.attn_q.bias"),
	RULE(SLOT_K_BIAS, "blk.{n}.attn_k.bias"),
	RULE(SLOT_V_BIAS, "blk.{n}.attn_v.bias"),
	RULE(SLOT_O_BIAS, "blk.{n}.attn_output.bias"),
	RULE(SLOT_Q_NORM, "blk.{n}.attn_q_norm.weight"),
	RULE(SLOT_K_NORM, "blk.{n}.attn_k_norm.weight"),
	{ SLOT_FFN_NORM, "blk.{n}.post_attention_norm.weight", .only = WAY_LATE_NORM },
	{ SLOT_POST_ATTN_NORM, "blk.{n}.post_attention_norm.weight", .never = WAY_LATE_NORM },
	RULE(SLOT_POST_FFN_NORM, "blk.{n}.post_ffw_norm.weight"),
	RULE(SLOT_FFN_NORM, "blk.{n}.ffn_norm.weight"),
	{ SLOT_GATE, "blk.{n}.ffn_up.weight", .only = WAY_FUSED, .after = { DIM_FFN } },
	{ SLOT_UP, "blk.{n}.ffn_up.weight", .only = WAY_FUSED, .before = { DIM_FFN } },
	RULE(SLOT_GATE, "blk.{n}.ffn_gate.weight"),
	RULE(SLOT_UP, "blk.{n}.ffn_up.weight"),
	RULE(SLOT_DOWN, "blk.{n}.ffn_down.weight"),
	RULE(SLOT_ROUTER, "blk.{n}.ffn_gate_inp.weight"),
	EXPERTS_AT(STACK, "blk.{n}.ffn_", "gate_exps", "up_exps", "down_exps"),
	EXPERTS_AT(RULE, "blk.{n}.ffn_", "gate.{e}", "up.{e}", "down.{e}"),
	RULE(SLOT_CHOICE_BIAS, "blk.{n}.exp_probs_b.bias"),
	SHARED_AT("blk.{n}.ffn_", "gate_shexp", "up_shexp", "down_shexp"),
	RULE(SLOT_S_ROUTER, "blk.{n}.ffn_gate_inp_shexp.weight"),
	RULE(SLOT_ATTN_GATE, "blk.{n}.attn_gate.weight"),
	RULE(SLOT_ATTN_GATE, "blk.{n}.attn_g.weight"),
	RULE(SLOT_SINKS, "blk.{n}.attn_sinks.weight"),
	RULE(SLOT_SINKS, "blk.{n}.attn_sinks"),
	RULE(SLOT_O, "blk.{n}.attn_out.weight"),
	RULE(SLOT_O_BIAS, "blk.{n}.attn_out.bias"),
	RULE(SLOT_ROUTER_BIAS, "blk.{n}.ffn_gate_inp.bias"),
	EACH(SLOT_X_GATE_BIAS, "blk.{n}.ffn_gate_exps.bias"),
	EACH(SLOT_X_UP_BIAS, "blk.{n}.ffn_up_exps.bias"),
	EACH(SLOT_X_DOWN_BIAS, "blk.{n}.ffn_down_exps.bias"),
	RULE(SLOT_MLA_Q, "blk.{n}.attn_q.weight"),
	RULE(SLOT_Q_A, "blk.{n}.attn_q_a.weight"),
	RULE(SLOT_Q_A_NORM, "blk.{n}.attn_q_a_norm.weight"),
	RULE(SLOT_Q_B, "blk.{n}.attn_q_b.weight"),
	RULE(SLOT_KV_A, "blk.{n}.attn_kv_a_mqa.weight"),
	RULE(SLOT_KV_A_NORM, "blk.{n}.attn_kv_a_norm.weight"),
	RULE(SLOT_KV_B, "blk.{n}.attn_kv_b.weight"),
	FOLD(SLOT_K_B, "blk.{n}.attn_k_b.weight"),
	FOLD(SLOT_V_B, "blk.{n}.attn_v_b.weight"),
	RULE(SLOT_MLA_O, "blk.{n}.attn_output.weight"),
	{ SLOT_DELTA_QKV, "blk.{n}.attn_qkv.weight", .only = WAY_DELTA },
	{ SLOT_DELTA_Z, "blk.{n}.attn_gate.weight", .only = WAY_DELTA },
	RULE(SLOT_DELTA_A, "blk.{n}.ssm_alpha.weight"),
	RULE(SLOT_DELTA_B, "blk.{n}.ssm_beta.weight"),
	RULE(SLOT_DELTA_BA, "blk.{n}.ssm_ba.weight"),
	RULE(SLOT_DELTA_CONV, "blk.{n}.ssm_conv1d.weight"),
	RULE(SLOT_DELTA_RATE, "blk.{n}.ssm_a"),
	RULE(SLOT_DELTA_DT_BIAS, "blk.{n}.ssm_dt.bias"),
	RULE(SLOT_DELTA_NORM, "blk.{n}.ssm_norm.weight"),
	RULE(SLOT_DELTA_OUT, "blk.{n}.ssm_out.weight"),
	RULE(SLOT_LAYER_SCALE, "blk.{n}.layer_output_scale.weight"),
	RULE(SLOT_PL_EMBED, "per_layer_token_embd.weight"),
	RULE(SLOT_PL_MODEL, "per_layer_model_proj.weight"),
	RULE(SLOT_PL_MODEL_NORM, "per_layer_proj_norm.weight"),
	RULE(SLOT_PL_GATE, "blk.{n}.inp_gate.weight"),
	RULE(SLOT_PL_OUT, "blk.{n}.proj.weight"),
	RULE(SLOT_PL_POST_NORM, "blk.{n}.post_norm.weight"),
	RULE(SLOT_DENSE_POST_NORM, "blk.{n}.post_ffw_norm_1.weight"),
	RULE(SLOT_EXPERTS_NORM, "blk.{n}.pre_ffw_norm_2.weight"),
	RULE(SLOT_EXPERTS_POST_NORM, "blk.{n}.post_ffw_norm_2.weight"),
	RULE(SLOT_ROUTER_SCALE, "blk.{n}.ffn_gate_inp.scale"),
	RULE(SLOT_EXPERT_SCALE, "blk.{n}.ffn_down_exps.scale"),
	GATE_UP(SLOT_X_GATE, SLOT_X_UP, "blk.{n}.ffn_gate_up_exps.weight", DIM_EXPERT_FFN,
		.stacked = true),
	RULE(SLOT_MAMBA_IN, "blk.{n}.ssm_in.weight"),
	RULE(SLOT_MAMBA_CONV, "blk.{n}.ssm_conv1d.weight"),
	RULE(SLOT_MAMBA_CONV_BIAS, "blk.{n}.ssm_conv1d.bias"),
	RULE(SLOT_MAMBA_RATE, "blk.{n}.ssm_a"),
	RULE(SLOT_MAMBA_PASS, "blk.{n}.ssm_d"),
	RULE(SLOT_MAMBA_DT_BIAS, "blk.{n}.ssm_dt.bias"),
	{ SLOT_MAMBA_NORM, "blk.{n}.ssm_norm.weight", .folded = DIM_MAMBA_GROUPS },
	RULE(SLOT_MAMBA_OUT, "blk.{n}.ssm_out.weight"),
	RULE(SLOT_OUTPUT_NORM, "token_embd_norm.weight"),
	RULE(SLOT_CONV_IN, "blk.{n}.shortconv.in_proj.weight"),
	RULE(SLOT_CONV, "blk.{n}.shortconv.conv.weight"),
	RULE(SLOT_CONV_OUT, "blk.{n}.shortconv.out_proj.weight"),
	{ .slot = SLOT_COUNT }
};
#define END(rules) (&(rules)[sizeof(rules) / sizeof(*(rules)) - 1])

static const char *const ignored[] = {
	"*.rotary_emb.inv_freq",	/* computed from config.json instead */
	"vision_tower.*", "model.vision_tower.*",	/* text does not pass through it */
	"visual.*", "model.visual.*",
	"vision_model.*", "mlp1.*", "sound_encoder.*", "sound_projection.*",
	"audio_tower.*", "model.audio_tower.*", "embed_vision.*", "model.embed_vision.*",
	"embed_audio.*", "model.embed_audio.*",
	"multi_modal_projector.*", "model.multi_modal_projector.*", "v.*", "mm.*",
	NULL
};

bool
slot_ignored(const char *name)
{
	for (const char *const *p = ignored; *p; p++)
		if (tb_glob(*p, name))
			return true;
	return false;
}

static bool
is_for(const struct slot_rule *r, unsigned ways)
{
	return (!r->only || ways & r->only) && !(ways & r->never);
}

const struct slot_rule *
slot_rule_next(const struct slot_rule *own, unsigned ways, const struct slot_rule *r)
{
	do {
		r = r ? r + 1 : own ? own : hf_rules;
		if (r == END(gguf_rules))
			return NULL;
		if (!r->pattern)
			r = r == END(hf_rules) ? gguf_rules : hf_rules;
	} while (!is_for(r, ways));
	return r;
}

bool
slot_rule_gguf(const struct slot_rule *r)
{
	return (uintptr_t)r - (uintptr_t)gguf_rules < sizeof(gguf_rules);
}
