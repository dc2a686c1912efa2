/* translate_rows.c - architectures and names, where they are not those of the engine's
 * (src/engine/arch.c). */
#include "config.h"

#include "src/ops/translate/translate_rows.h"

#include <string.h>

#include "src/base/text.h"
#include "src/engine/arch.h"

/* Of those that GGUF calls alike the first whose sign a file has is what it goes back to. */
const struct translate_arch translate_archs[] = {
	{ "llama", "llama", 0, true, 0, NULL, false,
	  "LlamaForCausalLM", NULL, NULL },
	{ "mistral", "llama", 0, true, 0, NULL, false,
	  "MistralForCausalLM", NULL, NULL },
	{ "ministral3", "mistral3", 0, true, 0, NULL, false,
	  "Ministral3ForCausalLM", "attention.temperature_scale", NULL },
	{ "mistral3", "mistral3", 0, true, 0, NULL, false,
	  "MistralForCausalLM", NULL, NULL },
	{ "smollm3", "smollm3", 0, true, 0, NULL, false,
	  "SmolLM3ForCausalLM", NULL, NULL },
	{ "granite", "granite", 0, true, 0, NULL, false,
	  "GraniteForCausalLM", NULL, NULL },
	{ "granitemoeshared", "granitemoe", 0, true, 0, NULL, false,
	  "GraniteMoeSharedForCausalLM", "expert_shared_feed_forward_length", NULL },
	{ "granitemoe", "granitemoe", 0, true, 0, NULL, false,
	  "GraniteMoeForCausalLM", NULL, NULL },
	{ "granitemoehybrid", "granitehybrid", 0, true, 0, "num_local_experts", false,
	  "GraniteMoeHybridForCausalLM", "expert_count", NULL },
	{ "granitemoehybrid", "granitehybrid", 0, true, 0, NULL, false,
	  "GraniteMoeHybridForCausalLM", NULL, "granitehybrid-dense" },
	{ "nemotron_h", "nemotron_h_moe", 0, true, 0, "n_routed_experts", false,
	  "NemotronHForCausalLM", NULL, NULL },
	{ "nemotron_h", "nemotron_h", 0, true, 0, NULL, false,
	  "NemotronHForCausalLM", NULL, NULL },
	{ "qwen2_moe", "qwen2moe", 0, false, 0, NULL, false,
	  "Qwen2MoeForCausalLM", NULL, NULL },
	{ "qwen3_vl_text", "qwen3vl", 0, false, 0, NULL, false,
	  "Qwen3VLForConditionalGeneration", NULL, NULL },
	/* What goes back is text alone, and that is this model's. */
	{ "qwen3_moe", "qwen3vlmoe", 0, false, 0, "vision_config", false,
	  "Qwen3MoeForCausalLM", NULL, NULL },
	{ "qwen3_vl_moe_text", "qwen3vlmoe", 0, false, 0, NULL, false,
	  "Qwen3VLMoeForConditionalGeneration", NULL, NULL },
	{ "qwen3_next", "qwen3next", WAY_POST_NORMS, false, 1, NULL, false,
	  "Qwen3NextForCausalLM", NULL, NULL },
	{ "qwen3_5_text", "qwen35", WAY_POST_NORMS, false, 1, NULL, false,
	  "Qwen3_5ForCausalLM", NULL, NULL },
	{ "qwen3_5_moe_text", "qwen35moe", WAY_POST_NORMS, false, 1, NULL, false,
	  "Qwen3_5MoeForCausalLM", NULL, NULL },
	{ "gemma4_text", "gemma4", WAY_POST_NORMS, false, 0, NULL, false,
	  "Gemma4ForCausalLM", NULL, NULL },
	{ "gpt_oss", "gpt-oss", WAY_POST_NORMS, false, 0, NULL, false,
	  "GptOssForCausalLM", NULL, NULL },
	{ "seed_oss", "seed_oss", WAY_POST_NORMS, false, 0, NULL, false,
	  "SeedOssForCausalLM", NULL, NULL },
	{ "olmo3", "olmo2", WAY_POST_NORMS, false, 0, NULL, false,
	  "Olmo3ForCausalLM", "attention.sliding_window", NULL },
	{ "olmo2", "olmo2", WAY_POST_NORMS, false, 0, NULL, false,
	  "Olmo2ForCausalLM", NULL, NULL },
	{ "olmoe", "olmoe", 0, false, 0, NULL, false,
	  "OlmoeForCausalLM", NULL, NULL },
	{ "exaone4", "exaone4", WAY_POST_NORMS, false, 0, NULL, false,
	  "Exaone4ForCausalLM", NULL, NULL },
	{ "glm4", "glm4", WAY_FUSED, false, 0, NULL, false,
	  "Glm4ForCausalLM", NULL, NULL },
	{ "glm4_moe", "glm4moe", WAY_POST_NORMS, false, 0, NULL, false,
	  "Glm4MoeForCausalLM", NULL, NULL },
	{ "deepseek_v3", "deepseek2", 0, false, 0, NULL, true,
	  "DeepseekV3ForCausalLM", "expert_gating_func=2 rope.scaling.type", NULL },
	{ "glm4_moe_lite", "deepseek2", 0, false, 0, NULL, false,
	  "Glm4MoeLiteForCausalLM", "expert_gating_func=2", NULL },
	{ "deepseek_v2", "deepseek2", 0, false, 0, NULL, true,
	  "DeepseekV2ForCausalLM", NULL, NULL },
	{ "ernie4_5", "ernie4_5", 0, false, 0, NULL, false,
	  "Ernie4_5ForCausalLM", NULL, NULL },
	{ "ernie4_5_moe", "ernie4_5-moe", 0, false, 0, NULL, false,
	  "Ernie4_5_MoeForCausalLM", NULL, NULL },
	{ "hunyuan_v1_dense", "hunyuan-dense", 0, false, 0, NULL, false,
	  "HunYuanDenseV1ForCausalLM", NULL, NULL },
	{ "minimax_m2", "minimax-m2", 0, false, 0, NULL, false,
	  "MiniMaxM2ForCausalLM", NULL, NULL },
	{ "cohere2", "cohere2", 0, false, 0, NULL, false,
	  "Cohere2ForCausalLM", NULL, NULL },
	{ "cohere2_moe", "cohere2moe", 0, false, 0, NULL, false,
	  "Cohere2MoeForCausalLM", NULL, NULL },
	{ "laguna", "laguna", 0, false, 0, NULL, false,
	  "LagunaForCausalLM", NULL, NULL },
	{ "lfm2", "lfm2", 0, false, 0, NULL, false,
	  "Lfm2ForCausalLM", NULL, NULL },
	{ "lfm2_moe", "lfm2moe", 0, false, 0, NULL, false,
	  "Lfm2MoeForCausalLM", NULL, NULL },
	{ .type = NULL }
};

/* A projection of three: of one expert, of a shared one, of the layer. */
#define GLU(archs, hf, gate, up, down, gguf, end) \
	{ archs, hf gate ".weight", gguf "gate" end ".weight", AS_IS }, \
	{ archs, hf up ".weight", gguf "up" end ".weight", AS_IS }, \
	{ archs, hf down ".weight", gguf "down" end ".weight", AS_IS }

#define GEMMA "gemma gemma2 gemma3"
#define QWEN_LINEAR "qwen35 qwen35moe qwen3next"
#define QWEN35 "qwen35 qwen35moe"
#define GRANITE "granitemoe granitehybrid"
#define MIXER "backbone.layers.{n}.mixer."
#define NEMOTRON "nemotron_h*"

const struct translate_name translate_names[] = {
	/* Everywhere. */
	GLU("*", "layers.{n}.mlp.shared_expert.", "gate_proj", "up_proj", "down_proj",
	    "blk.{n}.ffn_", "_shexp"),
	GLU("*", "layers.{n}.mlp.shared_experts.", "gate_proj", "up_proj", "down_proj",
	    "blk.{n}.ffn_", "_shexp"),
	{ "*", "layers.{n}.mlp.shared_expert_gate.weight", "blk.{n}.ffn_gate_inp_shexp.weight", AS_IS },
	{ "*", "layers.{n}.mlp.gate.e_score_correction_bias", "blk.{n}.exp_probs_b.bias", AS_IS },
	{ "*", "layers.{n}.mlp.experts.e_score_correction_bias", "blk.{n}.exp_probs_b.bias", AS_IS },
	{ "*", "layers.{n}.block_sparse_moe.e_score_correction_bias", "blk.{n}.exp_probs_b.bias",
	  AS_IS },

	/* Gemma's head is its embedding, whatever lies there. */
	{ GEMMA, "lm_head.weight", NULL, LEFT_OUT },

	{ "qwen3vlmoe", "layers.{n}.mlp.experts.gate_up_proj", "blk.{n}.ffn_gate_exps.weight",
	  FIRST_TURNED },
	{ "qwen3vlmoe", "layers.{n}.mlp.experts.gate_up_proj", "blk.{n}.ffn_up_exps.weight",
	  LAST_TURNED },
	{ "qwen3vlmoe", "layers.{n}.mlp.experts.down_proj", "blk.{n}.ffn_down_exps.weight", TURNED },
	{ "qwen35moe qwen2moe qwen3moe", "layers.{n}.mlp.experts.gate_up_proj",
	  "blk.{n}.ffn_gate_exps.weight", FIRST_ROWS },
	{ "qwen35moe qwen2moe qwen3moe", "layers.{n}.mlp.experts.gate_up_proj",
	  "blk.{n}.ffn_up_exps.weight", LAST_ROWS },
	{ "qwen35moe qwen2moe qwen3moe", "layers.{n}.mlp.experts.down_proj",
	  "blk.{n}.ffn_down_exps.weight", AS_IS },

	/* Linear attention. */
	{ QWEN_LINEAR, "layers.{n}.linear_attn.norm.weight", "blk.{n}.ssm_norm.weight", AS_IS },
	{ QWEN35, "layers.{n}.linear_attn.in_proj_qkv.weight", "blk.{n}.attn_qkv.weight", V_HEADS_TAIL },
	{ QWEN35, "layers.{n}.linear_attn.in_proj_z.weight", "blk.{n}.attn_gate.weight", V_HEADS },
	{ QWEN35, "layers.{n}.linear_attn.in_proj_a.weight", "blk.{n}.ssm_alpha.weight", V_HEADS },
	{ QWEN35, "layers.{n}.linear_attn.in_proj_b.weight", "blk.{n}.ssm_beta.weight", V_HEADS },
	{ QWEN35, "layers.{n}.linear_attn.dt_bias", "blk.{n}.ssm_dt.bias", V_HEADS },
	{ QWEN35, "layers.{n}.linear_attn.A_log", "blk.{n}.ssm_a", V_HEADS_NEG_EXP },
	{ QWEN35, "layers.{n}.linear_attn.conv1d.weight", "blk.{n}.ssm_conv1d.weight", V_HEADS_TAIL },
	{ QWEN35, "layers.{n}.linear_attn.out_proj.weight", "blk.{n}.ssm_out.weight", V_HEADS_COLS },
	{ QWEN_LINEAR, "layers.{n}.eh_proj.weight", "blk.{n}.nextn.eh_proj.weight", AS_IS },
	{ QWEN_LINEAR, "layers.{n}.enorm.weight", "blk.{n}.nextn.enorm.weight", NORM },
	{ QWEN_LINEAR, "layers.{n}.hnorm.weight", "blk.{n}.nextn.hnorm.weight", NORM },
	{ QWEN_LINEAR, "layers.{n}.shared_head.norm.weight", "blk.{n}.nextn.shared_head_norm.weight",
	  NORM },
	{ "qwen3next", "layers.{n}.linear_attn.in_proj_qkvz.weight", "blk.{n}.attn_qkv.weight",
	  GROUPED_QKV },
	{ "qwen3next", "layers.{n}.linear_attn.in_proj_qkvz.weight", "blk.{n}.attn_gate.weight",
	  GROUPED_Z },
	{ "qwen3next", "layers.{n}.linear_attn.in_proj_ba.weight", "blk.{n}.ssm_ba.weight", AS_IS },
	{ "qwen3next", "layers.{n}.linear_attn.dt_bias", "blk.{n}.ssm_dt.bias", AS_IS },
	{ "qwen3next", "layers.{n}.linear_attn.A_log", "blk.{n}.ssm_a", NEG_EXP },
	{ "qwen3next", "layers.{n}.linear_attn.conv1d.weight", "blk.{n}.ssm_conv1d.weight", SQUEEZED },
	{ "qwen3next", "layers.{n}.linear_attn.out_proj.weight", "blk.{n}.ssm_out.weight", AS_IS },

	{ "gemma4", "embed_tokens_per_layer.weight", "per_layer_token_embd.weight", AS_IS },
	{ "gemma4", "per_layer_model_projection.weight", "per_layer_model_proj.weight", AS_IS },
	{ "gemma4", "per_layer_projection_norm.weight", "per_layer_proj_norm.weight", AS_IS },
	{ "gemma4", "layers.{n}.per_layer_input_gate.weight", "blk.{n}.inp_gate.weight", AS_IS },
	{ "gemma4", "layers.{n}.per_layer_projection.weight", "blk.{n}.proj.weight", AS_IS },
	{ "gemma4", "layers.{n}.post_per_layer_input_norm.weight", "blk.{n}.post_norm.weight", AS_IS },
	{ "gemma4", "layers.{n}.layer_scalar", "blk.{n}.layer_output_scale.weight", AS_IS },
	{ "gemma4", "layers.{n}.post_feedforward_layernorm_1.weight", "blk.{n}.post_ffw_norm_1.weight",
	  AS_IS },
	{ "gemma4", "layers.{n}.post_feedforward_layernorm_2.weight", "blk.{n}.post_ffw_norm_2.weight",
	  AS_IS },
	{ "gemma4", "layers.{n}.pre_feedforward_layernorm_2.weight", "blk.{n}.pre_ffw_norm_2.weight",
	  AS_IS },
	{ "gemma4", "layers.{n}.experts.gate_up_proj", "blk.{n}.ffn_gate_up_exps.weight", AS_IS },
	{ "gemma4", "layers.{n}.experts.down_proj", "blk.{n}.ffn_down_exps.weight", AS_IS },
	{ "gemma4", "layers.{n}.router.proj.weight", "blk.{n}.ffn_gate_inp.weight", AS_IS },
	{ "gemma4", "layers.{n}.router.scale", "blk.{n}.ffn_gate_inp.scale", AS_IS },
	{ "gemma4", "layers.{n}.router.per_expert_scale", "blk.{n}.ffn_down_exps.scale", AS_IS },

	{ "gpt-oss", "layers.{n}.self_attn.sinks", "blk.{n}.attn_sinks.weight", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.router.weight", "blk.{n}.ffn_gate_inp.weight", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.router.bias", "blk.{n}.ffn_gate_inp.bias", AS_IS },
	/* As MLX has them, which does not weave rows of gate and up. */
	GLU("gpt-oss", "layers.{n}.mlp.experts.", "gate_proj", "up_proj", "down_proj", "blk.{n}.ffn_",
	    "_exps"),
	{ "gpt-oss", "layers.{n}.mlp.experts.gate_proj.bias", "blk.{n}.ffn_gate_exps.bias", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.experts.up_proj.bias", "blk.{n}.ffn_up_exps.bias", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.experts.down_proj.bias", "blk.{n}.ffn_down_exps.bias", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.experts.gate_up_proj", "blk.{n}.ffn_gate_exps.weight",
	  EVEN_ROWS },
	{ "gpt-oss", "layers.{n}.mlp.experts.gate_up_proj", "blk.{n}.ffn_up_exps.weight", ODD_ROWS },
	{ "gpt-oss", "layers.{n}.mlp.experts.down_proj", "blk.{n}.ffn_down_exps.weight", AS_IS },
	{ "gpt-oss", "layers.{n}.mlp.experts.gate_up_proj_bias", "blk.{n}.ffn_gate_exps.bias",
	  EVEN },
	{ "gpt-oss", "layers.{n}.mlp.experts.gate_up_proj_bias", "blk.{n}.ffn_up_exps.bias", ODD },
	{ "gpt-oss", "layers.{n}.mlp.experts.down_proj_bias", "blk.{n}.ffn_down_exps.bias", AS_IS },

	/* MLA. */
	{ "deepseek2", "layers.{n}.self_attn.q_a_proj.weight", "blk.{n}.attn_q_a.weight", AS_IS },
	{ "deepseek2", "layers.{n}.self_attn.q_a_layernorm.weight", "blk.{n}.attn_q_a_norm.weight", AS_IS },
	{ "deepseek2", "layers.{n}.self_attn.q_b_proj.weight", "blk.{n}.attn_q_b.weight", AS_IS },
	{ "deepseek2", "layers.{n}.self_attn.kv_a_proj_with_mqa.weight", "blk.{n}.attn_kv_a_mqa.weight",
	  AS_IS },
	{ "deepseek2", "layers.{n}.self_attn.kv_a_layernorm.weight", "blk.{n}.attn_kv_a_norm.weight",
	  AS_IS },
	{ "deepseek2", "layers.{n}.self_attn.kv_b_proj.weight", "blk.{n}.attn_k_b.weight", MLA_K },
	{ "deepseek2", "layers.{n}.self_attn.kv_b_proj.weight", "blk.{n}.attn_v_b.weight", MLA_V },
	/* What guesses a token ahead. */
	{ "deepseek2 glm4moe", "layers.{n}.eh_proj.weight", "blk.{n}.nextn.eh_proj.weight", AS_IS },
	{ "deepseek2 glm4moe", "layers.{n}.enorm.weight", "blk.{n}.nextn.enorm.weight", AS_IS },
	{ "deepseek2 glm4moe", "layers.{n}.hnorm.weight", "blk.{n}.nextn.hnorm.weight", AS_IS },
	{ "deepseek2 glm4moe", "layers.{n}.embed_tokens.weight", "blk.{n}.nextn.embed_tokens.weight",
	  AS_IS },
	{ "deepseek2 glm4moe", "layers.{n}.shared_head.norm.weight",
	  "blk.{n}.nextn.shared_head_norm.weight", AS_IS },
	{ "deepseek2 glm4moe", "layers.{n}.shared_head.head.weight",
	  "blk.{n}.nextn.shared_head_head.weight", AS_IS },

	{ "glm4", "layers.{n}.post_self_attn_layernorm.weight", "blk.{n}.post_attention_norm.weight", AS_IS },
	{ "glm4", "layers.{n}.post_mlp_layernorm.weight", "blk.{n}.post_ffw_norm.weight", AS_IS },
	{ "ernie4_5-moe", "layers.{n}.mlp.moe_statics.e_score_correction_bias",
	  "blk.{n}.exp_probs_b.bias", AS_IS },
	{ "hunyuan-dense", "layers.{n}.self_attn.query_layernorm.weight", "blk.{n}.attn_q_norm.weight",
	  AS_IS },
	{ "hunyuan-dense", "layers.{n}.self_attn.key_layernorm.weight", "blk.{n}.attn_k_norm.weight",
	  AS_IS },
	{ "laguna", "layers.{n}.self_attn.g_proj.weight", "blk.{n}.attn_gate.weight", AS_IS },

	{ "lfm2*", "embedding_norm.weight", "token_embd_norm.weight", AS_IS },
	{ "lfm2*", "layers.{n}.operator_norm.weight", "blk.{n}.attn_norm.weight", AS_IS },
	{ "lfm2*", "layers.{n}.ffn_norm.weight", "blk.{n}.ffn_norm.weight", AS_IS },
	{ "lfm2*", "layers.{n}.self_attn.q_layernorm.weight", "blk.{n}.attn_q_norm.weight", AS_IS },
	{ "lfm2*", "layers.{n}.self_attn.k_layernorm.weight", "blk.{n}.attn_k_norm.weight", AS_IS },
	{ "lfm2*", "layers.{n}.self_attn.out_proj.weight", "blk.{n}.attn_output.weight", AS_IS },
	{ "lfm2*", "layers.{n}.conv.in_proj.weight", "blk.{n}.shortconv.in_proj.weight", AS_IS },
	{ "lfm2*", "layers.{n}.conv.out_proj.weight", "blk.{n}.shortconv.out_proj.weight", AS_IS },
	{ "lfm2*", "layers.{n}.conv.conv.weight", "blk.{n}.shortconv.conv.weight", SQUEEZED },
	{ "lfm2*", "layers.{n}.feed_forward.gate.weight", "blk.{n}.ffn_gate_inp.weight", AS_IS },
	{ "lfm2*", "layers.{n}.feed_forward.expert_bias", "blk.{n}.exp_probs_b.bias", AS_IS },
	GLU("lfm2*", "layers.{n}.feed_forward.", "w1", "w3", "w2", "blk.{n}.ffn_", ""),
	GLU("lfm2*", "layers.{n}.feed_forward.experts.{e}.", "w1", "w3", "w2", "blk.{n}.ffn_", "_exps"),

	{ GRANITE, "layers.{n}.block_sparse_moe.router.layer.weight", "blk.{n}.ffn_gate_inp.weight",
	  AS_IS },
	{ GRANITE, "layers.{n}.block_sparse_moe.input_linear.weight", "blk.{n}.ffn_gate_exps.weight",
	  FIRST_ROWS },
	{ GRANITE, "layers.{n}.block_sparse_moe.input_linear.weight", "blk.{n}.ffn_up_exps.weight",
	  LAST_ROWS },
	{ GRANITE, "layers.{n}.block_sparse_moe.output_linear.weight", "blk.{n}.ffn_down_exps.weight",
	  AS_IS },
	{ GRANITE, "layers.{n}.shared_mlp.input_linear.weight", "blk.{n}.ffn_gate_shexp.weight",
	  FIRST_ROWS },
	{ GRANITE, "layers.{n}.shared_mlp.input_linear.weight", "blk.{n}.ffn_up_shexp.weight",
	  LAST_ROWS },
	{ GRANITE, "layers.{n}.shared_mlp.output_linear.weight", "blk.{n}.ffn_down_shexp.weight", AS_IS },
	/* Without experts what all tokens shared is the feed-forward part. */
	{ "granitehybrid-dense", "layers.{n}.shared_mlp.input_linear.weight", "blk.{n}.ffn_gate.weight",
	  FIRST_ROWS },
	{ "granitehybrid-dense", "layers.{n}.shared_mlp.input_linear.weight", "blk.{n}.ffn_up.weight",
	  LAST_ROWS },
	{ "granitehybrid-dense", "layers.{n}.shared_mlp.output_linear.weight", "blk.{n}.ffn_down.weight",
	  AS_IS },

	{ "granitehybrid*", "layers.{n}.mamba.in_proj.weight", "blk.{n}.ssm_in.weight", AS_IS },
	{ "granitehybrid*", "layers.{n}.mamba.out_proj.weight", "blk.{n}.ssm_out.weight", AS_IS },
	{ "granitehybrid*", "layers.{n}.mamba.conv1d.weight", "blk.{n}.ssm_conv1d.weight", SQUEEZED },
	{ "granitehybrid*", "layers.{n}.mamba.conv1d.bias", "blk.{n}.ssm_conv1d.bias", AS_IS },
	{ "granitehybrid*", "layers.{n}.mamba.dt_bias", "blk.{n}.ssm_dt.bias", AS_IS },
	{ "granitehybrid*", "layers.{n}.mamba.A_log", "blk.{n}.ssm_a", COLUMN_NEG_EXP },
	{ "granitehybrid*", "layers.{n}.mamba.D", "blk.{n}.ssm_d", COLUMN },
	{ "granitehybrid*", "layers.{n}.mamba.norm.weight", "blk.{n}.ssm_norm.weight", GROUPS },

	{ NEMOTRON, "backbone.embeddings.weight", "token_embd.weight", AS_IS },
	{ NEMOTRON, "backbone.norm_f.weight", "output_norm.weight", AS_IS },
	{ NEMOTRON, "backbone.layers.{n}.norm.weight", "blk.{n}.attn_norm.weight", AS_IS },
	{ NEMOTRON, MIXER "q_proj.weight", "blk.{n}.attn_q.weight", PAIRS_Q },
	{ NEMOTRON, MIXER "k_proj.weight", "blk.{n}.attn_k.weight", PAIRS_K },
	{ NEMOTRON, MIXER "v_proj.weight", "blk.{n}.attn_v.weight", AS_IS },
	{ NEMOTRON, MIXER "o_proj.weight", "blk.{n}.attn_output.weight", AS_IS },
	{ NEMOTRON, MIXER "up_proj.weight", "blk.{n}.ffn_up.weight", AS_IS },
	{ NEMOTRON, MIXER "down_proj.weight", "blk.{n}.ffn_down.weight", AS_IS },
	{ NEMOTRON, MIXER "gate.weight", "blk.{n}.ffn_gate_inp.weight", AS_IS },
	{ NEMOTRON, MIXER "gate.e_score_correction_bias", "blk.{n}.exp_probs_b.bias", AS_IS },
	{ NEMOTRON, MIXER "experts.{e}.up_proj.weight", "blk.{n}.ffn_up_exps.weight", AS_IS },
	{ NEMOTRON, MIXER "experts.{e}.down_proj.weight", "blk.{n}.ffn_down_exps.weight", AS_IS },
	{ NEMOTRON, MIXER "shared_experts.up_proj.weight", "blk.{n}.ffn_up_shexp.weight", AS_IS },
	{ NEMOTRON, MIXER "shared_experts.down_proj.weight", "blk.{n}.ffn_down_shexp.weight", AS_IS },
	{ NEMOTRON, MIXER "in_proj.weight", "blk.{n}.ssm_in.weight", AS_IS },
	{ NEMOTRON, MIXER "out_proj.weight", "blk.{n}.ssm_out.weight", AS_IS },
	{ NEMOTRON, MIXER "conv1d.weight", "blk.{n}.ssm_conv1d.weight", SQUEEZED },
	{ NEMOTRON, MIXER "conv1d.bias", "blk.{n}.ssm_conv1d.bias", AS_IS },
	{ NEMOTRON, MIXER "dt_bias", "blk.{n}.ssm_dt.bias", AS_IS },
	{ NEMOTRON, MIXER "A_log", "blk.{n}.ssm_a", COLUMN_NEG_EXP },
	{ NEMOTRON, MIXER "D", "blk.{n}.ssm_d", COLUMN },
	{ NEMOTRON, MIXER "norm.weight", "blk.{n}.ssm_norm.weight", GROUPS },
	{ .hf = NULL }
};

bool
translate_listed(const char *list, const char *word)
{
	char glob[64];

	while (*list) {
		size_t n = strcspn(list, " ");
		bool no = *list == '-';

		if (n < sizeof(glob)) {
			memcpy(glob, list + no, n - no);
			glob[n - no] = 0;
			if (tb_glob(glob, word))
				return !no;
		}
		list += n + (list[n] == ' ');
	}
	return false;
}

bool
translate_name_for(const struct translate_name *r, const struct translate *t)
{
	return translate_listed(r->archs, t->names ? t->names : t->gguf);
}

/* What is only read so, since files of those architectures do not have it. */
static const struct { const char *archs, *hf; } one_way[] = {
	{ "-qwen* -laguna *", "*.mlp.shared_expert.*" },
	{ "-deepseek2 -glm4moe -ernie4_5-moe -cohere2moe *", "*.mlp.shared_experts.*" },
	{ "-deepseek2 -glm4moe *", "layers.*.mlp.gate.e_score_correction_bias" },
	{ "-laguna *", "layers.*.mlp.experts.e_score_correction_bias" },
	{ "-minimax-m2 *", "layers.*.block_sparse_moe.e_score_correction_bias" },
	{ "qwen2moe qwen3moe qwen3vlmoe", "layers.*.mlp.experts.*_proj" },
};

bool
translate_name_back(const struct translate_name *r, const struct translate *t)
{
	if (!r->gguf || !translate_name_for(r, t))
		return false;
	for (size_t i = 0; i < sizeof(one_way) / sizeof(*one_way); i++)
		if (translate_listed(one_way[i].archs, t->gguf) && tb_glob(one_way[i].hf, r->hf))
			return false;
	return true;
}
