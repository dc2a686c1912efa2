#include "config.h"

#include "src/engine/arch.h"

#include <stdio.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define COMMON (SLOT_BIT(SLOT_EMBED) | SLOT_BIT(SLOT_OUTPUT_NORM) | SLOT_BIT(SLOT_ATTN_NORM) | \
	SLOT_BIT(SLOT_Q) | SLOT_BIT(SLOT_K) | SLOT_BIT(SLOT_V) | SLOT_BIT(SLOT_O) | \
	SLOT_BIT(SLOT_FFN_NORM))
#define DENSE (SLOT_BIT(SLOT_GATE) | SLOT_BIT(SLOT_UP) | SLOT_BIT(SLOT_DOWN))
#define EXPERTS (SLOT_BIT(SLOT_ROUTER) | SLOT_BIT(SLOT_X_GATE) | SLOT_BIT(SLOT_X_UP) | \
	SLOT_BIT(SLOT_X_DOWN))
#define QKV_BIAS (SLOT_BIT(SLOT_Q_BIAS) | SLOT_BIT(SLOT_K_BIAS) | SLOT_BIT(SLOT_V_BIAS))
#define QK_NORM (SLOT_BIT(SLOT_Q_NORM) | SLOT_BIT(SLOT_K_NORM))
#define POST_NORMS (SLOT_BIT(SLOT_POST_ATTN_NORM) | SLOT_BIT(SLOT_POST_FFN_NORM))
#define BIASES (QKV_BIAS | SLOT_BIT(SLOT_O_BIAS))	/* attention_bias of config.json */
#define HEAD (SLOT_BIT(SLOT_OUTPUT) | SLOT_BIT(SLOT_ROPE_FREQS))
#define KEYS(...) (const char *const[]){ __VA_ARGS__, NULL }
_Static_assert(SLOT_COUNT <= 64, "a slot is a bit of uint64_t");

static const struct arch archs[] = {
	{ .name = "llama", .class_name = "LlamaForCausalLM", .gguf_name = "llama",
	  .required = COMMON | DENSE, .optional = HEAD | BIASES, .gguf_pairs = true,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "mistral", .class_name = "MistralForCausalLM",
	  .required = COMMON | DENSE, .optional = HEAD,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "mixtral", .class_name = "MixtralForCausalLM", .gguf_name = "llama",
	  .required = COMMON | EXPERTS, .optional = HEAD, .gguf_pairs = true,
	  .experts = true, .keys = KEYS("num_experts", "num_local_experts"),
	  .norm_topk = true, .rms_eps = 1e-5f, .rope_theta = 1e6f },
	{ .name = "qwen2", .class_name = "Qwen2ForCausalLM", .gguf_name = "qwen2",
	  .required = COMMON | DENSE | QKV_BIAS, .optional = HEAD,
	  .window_flag = true, .window_from_key = "max_window_layers",
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "qwen3", .class_name = "Qwen3ForCausalLM", .gguf_name = "qwen3",
	  .required = COMMON | DENSE | QK_NORM, .optional = HEAD | BIASES,
	  .window_flag = true, .window_from_key = "max_window_layers",
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "qwen3_moe", .class_name = "Qwen3MoeForCausalLM", .gguf_name = "qwen3moe",
	  .required = COMMON | EXPERTS | QK_NORM, .optional = HEAD | BIASES,
	  .experts = true, .keys = KEYS("intermediate_size", "moe_intermediate_size"),
	  .window_flag = true, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "gemma", .class_name = "GemmaForCausalLM", .gguf_name = "gemma",
	  .required = COMMON | DENSE, .optional = HEAD | BIASES,
	  .vocab = 256000, .heads = 16, .kv_heads = 16, .head_dim = 256, .context = 8192,
	  .act = ACT_GELU_TANH, .keys = KEYS("hidden_act", "hidden_activation"),
	  .embed_scale = true, .norm_add = 1,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "gemma2", .class_name = "Gemma2ForCausalLM", .gguf_name = "gemma2",
	  .required = COMMON | DENSE | POST_NORMS, .optional = HEAD | BIASES,
	  .ways = WAY_POST_NORMS,
	  .vocab = 256000, .heads = 8, .kv_heads = 4, .head_dim = 256, .context = 8192,
	  .act = ACT_GELU_TANH, .keys = KEYS("hidden_act", "hidden_activation"),
	  .embed_scale = true, .norm_add = 1,
	  .query_scalar = 256, .gguf_wide_layers = 46, .softcaps = true, .attn_softcap = 50,
	  .final_softcap = 30, .window = 4096, .window_period = 2, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "gemma3", .text_name = "gemma3_text", .class_name = "Gemma3ForCausalLM",
	  .gguf_name = "gemma3",
	  .required = COMMON | DENSE | QK_NORM | POST_NORMS, .optional = HEAD | BIASES,
	  .ways = WAY_POST_NORMS,
	  .vocab = 262208, .heads = 8, .kv_heads = 4, .head_dim = 256, .context = 131072,
	  .act = ACT_GELU_TANH, .keys = KEYS("hidden_act", "hidden_activation"),
	  .embed_scale = true, .norm_add = 1,
	  .query_scalar = 256, .gguf_wide_layers = 62, .softcaps = true, .window = 4096,
	  .window_period = 6, .rms_eps = 1e-6f, .rope_theta = 1e6f, .rope_local = 10000,
	  .gguf_silent = true, .gguf_stretch = 8, .gguf_stretch_from = 131072 },
	{ .name = "phi3", .class_name = "Phi3ForCausalLM", .gguf_name = "phi3",
	  .required = COMMON | DENSE, .optional = HEAD | SLOT_BIT(SLOT_ROPE_LONG), .ways = WAY_FUSED,
	  .rms_eps = 1e-5f, .rope_theta = 10000, .rope_partial = true },
};
#define NARCHS (sizeof(archs) / sizeof(*archs))

#define X(id, name, rows, cols) { name, rows, cols },
static const struct slot_info slots[] = { SLOT_LIST(X) };
#undef X

#define RULE(s, name) { .slot = s, .pattern = name }
#define STACK(s, name) { .slot = s, .pattern = name, .stacked = true }
#define EXPERTS_AT(rule, at, gate, up, down) rule(SLOT_X_GATE, at gate ".weight"), \
	rule(SLOT_X_UP, at up ".weight"), rule(SLOT_X_DOWN, at down ".weight")

const struct slot_rule slot_rules[] = {
	RULE(SLOT_EMBED, "embed_tokens.weight"),
	RULE(SLOT_OUTPUT_NORM, "norm.weight"),
	RULE(SLOT_ATTN_NORM, "layers.{n}.input_layernorm.weight"),
	{ SLOT_Q, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .after = { DIM_KV, DIM_KV } },
	{ SLOT_K, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .before = { DIM_Q }, .after = { DIM_KV } },
	{ SLOT_V, "layers.{n}.self_attn.qkv_proj.weight", .only = WAY_FUSED,
	  .before = { DIM_Q, DIM_KV } },
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
	{ SLOT_FFN_NORM, "layers.{n}.post_attention_layernorm.weight", .never = WAY_POST_NORMS },
	{ SLOT_FFN_NORM, "layers.{n}.pre_feedforward_layernorm.weight", .only = WAY_POST_NORMS },
	{ SLOT_POST_ATTN_NORM, "layers.{n}.post_attention_layernorm.weight",
	  .only = WAY_POST_NORMS },
	RULE(SLOT_POST_FFN_NORM, "layers.{n}.post_feedforward_layernorm.weight"),
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
	RULE(SLOT_OUTPUT, "lm_head.weight"),
	/* GGUF's names. */
	RULE(SLOT_EMBED, "token_embd.weight"),
	RULE(SLOT_OUTPUT_NORM, "output_norm.weight"),
	RULE(SLOT_OUTPUT, "output.weight"),
	RULE(SLOT_ROPE_FREQS, "rope_freqs.weight"),
	RULE(SLOT_ROPE_FREQS, "rope_factors_short.weight"),
	RULE(SLOT_ROPE_LONG, "rope_factors_long.weight"),
	RULE(SLOT_ATTN_NORM, "blk.{n}.attn_norm.weight"),
	{ SLOT_Q, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .after = { DIM_KV, DIM_KV } },
	{ SLOT_K, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .before = { DIM_Q },
	  .after = { DIM_KV } },
	{ SLOT_V, "blk.{n}.attn_qkv.weight", .only = WAY_FUSED, .before = { DIM_Q, DIM_KV } },
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
	RULE(SLOT_POST_ATTN_NORM, "blk.{n}.post_attention_norm.weight"),
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
	{ .slot = SLOT_COUNT }
};

static const char *const ignored[] = {
	"*.rotary_emb.inv_freq",	/* computed from config.json instead */
	"vision_tower.*", "model.vision_tower.*",	/* text does not pass through it */
	"multi_modal_projector.*", "model.multi_modal_projector.*", "v.*", "mm.*",
	NULL
};

const struct slot_info *
slot_info(enum slot s)
{
	return &slots[s];
}

bool
slot_layered(enum slot s)
{
	return strstr(slots[s].name, "{n}") != NULL;
}

bool
slot_expert(enum slot s)
{
	return strstr(slots[s].name, "{e}") != NULL;
}

bool
slot_norm(enum slot s)
{
	return strstr(slots[s].name, "norm.weight") != NULL;
}

bool
slot_ignored(const char *name)
{
	for (const char *const *p = ignored; *p; p++)
		if (tb_glob(*p, name))
			return true;
	return false;
}

bool
slot_rule_for(const struct slot_rule *r, unsigned ways)
{
	return (!r->only || ways & r->only) && !(ways & r->never);
}

bool
slot_rule_gguf(const struct slot_rule *r)
{
	const struct slot_rule *first = slot_rules;

	while (strcmp(first->pattern, "token_embd.weight"))
		first++;
	return r >= first;
}

const struct arch *
arch_find(const char *model_type, const char *class_name)
{
	for (size_t i = 0; i < NARCHS; i++)
		if (model_type && (!strcmp(archs[i].name, model_type) ||
				   (archs[i].text_name && !strcmp(archs[i].text_name, model_type))))
			return &archs[i];
	for (size_t i = 0; i < NARCHS && !(model_type && *model_type); i++)
		if (class_name && !strcmp(archs[i].class_name, class_name))
			return &archs[i];
	return NULL;
}

const struct arch *
arch_find_gguf(const char *name, bool experts)
{
	for (size_t i = 0; i < NARCHS; i++)
		if (archs[i].gguf_name && !strcmp(archs[i].gguf_name, name) &&
		    experts == archs[i].experts)
			return &archs[i];
	return NULL;
}

bool
slot_permuted(const struct arch *a, enum slot s)
{
	return a->gguf_pairs &&
	       (s == SLOT_Q || s == SLOT_K || s == SLOT_Q_BIAS || s == SLOT_K_BIAS);
}

uint32_t
slot_unpermuted(uint32_t i, uint32_t head_dim)
{
	return i / 2 + i % 2 * (head_dim / 2);
}

enum tb_status
arch_unknown(const char *name, const char *with, struct tb_err *err)
{
	struct tb_buf list = TB_BUF(1024);

	for (size_t i = 0; i < NARCHS; i++)
		tb_buf_printf(&list, "%s%s", i ? ", " : "", archs[i].name);
	(void)tb_fail(err, TB_EUNSUP, "architecture \"%.80s\"%s cannot be run; supported are %s",
		      name, with, tb_buf_cstr(&list));
	tb_buf_free(&list);
	return TB_EUNSUP;
}

const char *
arch_key(const struct arch *a, const char *key)
{
	for (const char *const *k = a->keys; k && *k; k += 2)
		if (!strcmp(*k, key))
			return k[1];
	return key;
}
