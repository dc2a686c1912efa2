#include "config.h"

#include "src/engine/arch.h"

#include <stdio.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define BIT(slot) (1u << (slot))

enum {
	COMMON = BIT(SLOT_EMBED) | BIT(SLOT_OUTPUT_NORM) | BIT(SLOT_ATTN_NORM) | BIT(SLOT_Q) |
		 BIT(SLOT_K) | BIT(SLOT_V) | BIT(SLOT_O) | BIT(SLOT_FFN_NORM),
	HEAD = BIT(SLOT_OUTPUT) | BIT(SLOT_ROPE_FREQS),
	DENSE = BIT(SLOT_GATE) | BIT(SLOT_UP) | BIT(SLOT_DOWN),
	EXPERTS = BIT(SLOT_ROUTER) | BIT(SLOT_X_GATE) | BIT(SLOT_X_UP) | BIT(SLOT_X_DOWN),
	QKV_BIAS = BIT(SLOT_Q_BIAS) | BIT(SLOT_K_BIAS) | BIT(SLOT_V_BIAS),
	QK_NORM = BIT(SLOT_Q_NORM) | BIT(SLOT_K_NORM),
	BIASES = QKV_BIAS | BIT(SLOT_O_BIAS),	/* attention_bias of config.json */
};
_Static_assert(SLOT_COUNT <= 32, "a slot is a bit of uint32_t");

static const struct arch archs[] = {
	{ .name = "llama", .class_name = "LlamaForCausalLM", .gguf_name = "llama",
	  .required = COMMON | DENSE, .optional = HEAD | BIASES, .gguf_pairs = true,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "mistral", .class_name = "MistralForCausalLM",
	  .required = COMMON | DENSE, .optional = HEAD,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "mixtral", .class_name = "MixtralForCausalLM", .gguf_name = "llama",
	  .required = COMMON | EXPERTS, .optional = HEAD, .gguf_pairs = true,
	  .experts_key = "num_local_experts", .expert_ffn_key = "intermediate_size",
	  .norm_topk = true, .rms_eps = 1e-5f, .rope_theta = 1e6f },
	{ .name = "qwen2", .class_name = "Qwen2ForCausalLM", .gguf_name = "qwen2",
	  .required = COMMON | DENSE | QKV_BIAS, .optional = HEAD,
	  .window_flag = true, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "qwen3", .class_name = "Qwen3ForCausalLM", .gguf_name = "qwen3",
	  .required = COMMON | DENSE | QK_NORM, .optional = HEAD | BIASES,
	  .window_flag = true, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "qwen3_moe", .class_name = "Qwen3MoeForCausalLM", .gguf_name = "qwen3moe",
	  .required = COMMON | EXPERTS | QK_NORM, .optional = HEAD | BIASES,
	  .experts_key = "num_experts", .expert_ffn_key = "moe_intermediate_size",
	  .window_flag = true, .rms_eps = 1e-6f, .rope_theta = 10000 },
};
#define NARCHS (sizeof(archs) / sizeof(*archs))

#define X(id, name, rows, cols) { name, rows, cols },
static const struct slot_info slots[] = { SLOT_LIST(X) };
#undef X

const struct slot_rule slot_rules[] = {
	{ SLOT_EMBED, "embed_tokens.weight", false },
	{ SLOT_OUTPUT_NORM, "norm.weight", false },
	{ SLOT_ATTN_NORM, "layers.{n}.input_layernorm.weight", false },
	{ SLOT_Q, "layers.{n}.self_attn.q_proj.weight", false },
	{ SLOT_K, "layers.{n}.self_attn.k_proj.weight", false },
	{ SLOT_V, "layers.{n}.self_attn.v_proj.weight", false },
	{ SLOT_O, "layers.{n}.self_attn.o_proj.weight", false },
	{ SLOT_Q_BIAS, "layers.{n}.self_attn.q_proj.bias", false },
	{ SLOT_K_BIAS, "layers.{n}.self_attn.k_proj.bias", false },
	{ SLOT_V_BIAS, "layers.{n}.self_attn.v_proj.bias", false },
	{ SLOT_O_BIAS, "layers.{n}.self_attn.o_proj.bias", false },
	{ SLOT_Q_NORM, "layers.{n}.self_attn.q_norm.weight", false },
	{ SLOT_K_NORM, "layers.{n}.self_attn.k_norm.weight", false },
	{ SLOT_FFN_NORM, "layers.{n}.post_attention_layernorm.weight", false },
	{ SLOT_GATE, "layers.{n}.mlp.gate_proj.weight", false },
	{ SLOT_UP, "layers.{n}.mlp.up_proj.weight", false },
	{ SLOT_DOWN, "layers.{n}.mlp.down_proj.weight", false },
	{ SLOT_ROUTER, "layers.{n}.block_sparse_moe.gate.weight", false },
	{ SLOT_ROUTER, "layers.{n}.mlp.gate.weight", false },
	{ SLOT_X_GATE, "layers.{n}.mlp.experts.gate_proj.weight", true },
	{ SLOT_X_UP, "layers.{n}.mlp.experts.up_proj.weight", true },
	{ SLOT_X_DOWN, "layers.{n}.mlp.experts.down_proj.weight", true },
	{ SLOT_X_GATE, "layers.{n}.mlp.switch_mlp.gate_proj.weight", true },
	{ SLOT_X_UP, "layers.{n}.mlp.switch_mlp.up_proj.weight", true },
	{ SLOT_X_DOWN, "layers.{n}.mlp.switch_mlp.down_proj.weight", true },
	{ SLOT_X_GATE, "layers.{n}.block_sparse_moe.switch_mlp.gate_proj.weight", true },
	{ SLOT_X_UP, "layers.{n}.block_sparse_moe.switch_mlp.up_proj.weight", true },
	{ SLOT_X_DOWN, "layers.{n}.block_sparse_moe.switch_mlp.down_proj.weight", true },
	{ SLOT_X_GATE, "layers.{n}.block_sparse_moe.experts.w1.weight", true },
	{ SLOT_X_UP, "layers.{n}.block_sparse_moe.experts.w3.weight", true },
	{ SLOT_X_DOWN, "layers.{n}.block_sparse_moe.experts.w2.weight", true },
	{ SLOT_X_GATE, "layers.{n}.block_sparse_moe.experts.{e}.w1.weight", false },
	{ SLOT_X_UP, "layers.{n}.block_sparse_moe.experts.{e}.w3.weight", false },
	{ SLOT_X_DOWN, "layers.{n}.block_sparse_moe.experts.{e}.w2.weight", false },
	{ SLOT_X_GATE, "layers.{n}.mlp.experts.{e}.gate_proj.weight", false },
	{ SLOT_X_UP, "layers.{n}.mlp.experts.{e}.up_proj.weight", false },
	{ SLOT_X_DOWN, "layers.{n}.mlp.experts.{e}.down_proj.weight", false },
	{ SLOT_OUTPUT, "lm_head.weight", false },
	/* GGUF's names. */
	{ SLOT_EMBED, "token_embd.weight", false },
	{ SLOT_OUTPUT_NORM, "output_norm.weight", false },
	{ SLOT_OUTPUT, "output.weight", false },
	{ SLOT_ROPE_FREQS, "rope_freqs.weight", false },
	{ SLOT_ATTN_NORM, "blk.{n}.attn_norm.weight", false },
	{ SLOT_Q, "blk.{n}.attn_q.weight", false },
	{ SLOT_K, "blk.{n}.attn_k.weight", false },
	{ SLOT_V, "blk.{n}.attn_v.weight", false },
	{ SLOT_O, "blk.{n}.attn_output.weight", false },
	{ SLOT_Q_BIAS, "blk.{n}.attn_q.bias", false },
	{ SLOT_K_BIAS, "blk.{n}.attn_k.bias", false },
	{ SLOT_V_BIAS, "blk.{n}.attn_v.bias", false },
	{ SLOT_O_BIAS, "blk.{n}.attn_output.bias", false },
	{ SLOT_Q_NORM, "blk.{n}.attn_q_norm.weight", false },
	{ SLOT_K_NORM, "blk.{n}.attn_k_norm.weight", false },
	{ SLOT_FFN_NORM, "blk.{n}.ffn_norm.weight", false },
	{ SLOT_GATE, "blk.{n}.ffn_gate.weight", false },
	{ SLOT_UP, "blk.{n}.ffn_up.weight", false },
	{ SLOT_DOWN, "blk.{n}.ffn_down.weight", false },
	{ SLOT_ROUTER, "blk.{n}.ffn_gate_inp.weight", false },
	{ SLOT_X_GATE, "blk.{n}.ffn_gate_exps.weight", true },
	{ SLOT_X_UP, "blk.{n}.ffn_up_exps.weight", true },
	{ SLOT_X_DOWN, "blk.{n}.ffn_down_exps.weight", true },
	{ SLOT_X_GATE, "blk.{n}.ffn_gate.{e}.weight", false },
	{ SLOT_X_UP, "blk.{n}.ffn_up.{e}.weight", false },
	{ SLOT_X_DOWN, "blk.{n}.ffn_down.{e}.weight", false },
	{ SLOT_COUNT, NULL, false }
};

/* lm_head.weight stands outside the inner "model.": each is tried for every rule. */
const char *const slot_prefixes[] = {
	"model.", "", "language_model.model.", "language_model.", "model.language_model.", NULL
};

static const char *const ignored[] = {
	"*.rotary_emb.inv_freq",	/* computed from config.json instead */
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
slot_ignored(const char *name)
{
	for (const char *const *p = ignored; *p; p++)
		if (tb_glob(*p, name))
			return true;
	return false;
}

bool
slot_expand(const char *pattern, uint32_t layer, uint32_t expert, char *out, size_t len)
{
	struct tb_buf b = TB_BUF(len);
	bool fits;

	for (const char *p = pattern; *p; p++) {
		bool n = !strncmp(p, "{n}", 3), e = !strncmp(p, "{e}", 3);

		if (n || e) {
			tb_buf_printf(&b, "%u", n ? layer : expert);
			p += 2;
		} else {
			tb_buf_chr(&b, *p);
		}
	}
	fits = !tb_buf_failed(&b) && b.len < len;
	if (fits)
		memcpy(out, tb_buf_cstr(&b), b.len + 1);
	tb_buf_free(&b);
	return fits;
}

const struct arch *
arch_find(const char *model_type, const char *class_name)
{
	for (size_t i = 0; i < NARCHS; i++)
		if (model_type && !strcmp(archs[i].name, model_type))
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
		    experts == (archs[i].experts_key != NULL))
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

void
arch_list(struct tb_buf *out)
{
	for (size_t i = 0; i < NARCHS; i++)
		tb_buf_printf(out, "%s%s", i ? ", " : "", archs[i].name);
}
