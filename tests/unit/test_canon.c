/* One name for a tensor, whatever its file calls it. */
#include "config.h"

#include "src/engine/canon.h"
#include "tests/unit/unit.h"

static void
check(enum model_kind kind, const char *arch, const char *name, unsigned ndim, const char *want)
{
	char type[32];
	const struct model m = { .loc = { .kind = kind }, .arch = type, .model_type = type };
	const struct tensor t = { .name = name, .ndim = ndim };
	struct canon_model cm;
	struct canon c;

	strncpy(type, arch, sizeof(type) - 1);
	type[sizeof(type) - 1] = 0;
	canon_model(&cm, &m);
	assert_true(canon_of(&cm, &t, &c));
	assert_string_equal(c.name, want);
}
#define HF(arch, name, ndim, want) check(MODEL_SAFETENSORS_DIR, arch, name, ndim, want)
#define GGUF(arch, name, ndim, want) check(MODEL_GGUF_FILE, arch, name, ndim, want)

static void
test_slots(void **state)
{
	(void)state;
	HF("llama", "model.layers.12.self_attn.q_proj.weight", 2, "layers.12.attention.q.weight");
	HF("llama", "language_model.model.layers.0.mlp.up_proj.weight", 2, "layers.0.ffn.up.weight");
	HF("llama", "lm_head.weight", 2, "output.weight");
	HF("", "model.embed_tokens.weight", 2, "token_embedding.weight");
	GGUF("llama", "blk.12.attn_q.weight", 2, "layers.12.attention.q.weight");
	GGUF("qwen2", "output.weight", 2, "output.weight");
	GGUF("unheard-of", "token_embd.weight", 2, "token_embedding.weight");
}

/* What a name means may depend on whose it is. */
static void
test_ways(void **state)
{
	(void)state;
	HF("llama", "model.layers.1.post_attention_layernorm.weight", 1, "layers.1.ffn_norm.weight");
	HF("gemma2", "model.layers.1.post_attention_layernorm.weight", 1,
	   "layers.1.attention.post_norm.weight");
	HF("gemma2", "model.layers.1.pre_feedforward_layernorm.weight", 1,
	   "layers.1.ffn_norm.weight");
	HF("phi3", "model.layers.1.self_attn.qkv_proj.weight", 2, "layers.1.attention.q+.weight");
	GGUF("phi3", "blk.1.attn_qkv.weight", 2, "layers.1.attention.q+.weight");
	HF("phi3", "model.layers.1.mlp.gate_up_proj.weight", 2, "layers.1.ffn.gate+.weight");
	GGUF("phi3", "blk.1.ffn_up.weight", 2, "layers.1.ffn.gate+.weight");
	GGUF("llama", "blk.1.ffn_up.weight", 2, "layers.1.ffn.up.weight");
}

static void
test_experts(void **state)
{
	const struct canon_model none = { 0 };
	const struct tensor t = { .name = "model.layers.3.mlp.switch_mlp.up_proj.weight", .ndim = 3 };
	struct canon c;
	char name[CANON_MAX];

	(void)state;
	HF("mixtral", "model.layers.3.block_sparse_moe.experts.7.w3.weight", 2,
	   "layers.3.ffn.experts.7.up.weight");
	HF("qwen3_moe", "model.layers.3.mlp.experts.up_proj.weight", 3,
	   "layers.3.ffn.experts.*.up.weight");
	GGUF("qwen3moe", "blk.3.ffn_up_exps.weight", 3, "layers.3.ffn.experts.*.up.weight");
	HF("unheard-of", "model.layers.3.moe.switch_mlp.w9.weight", 3,
	   "layers.3.moe.experts.*.w9.weight");
	HF("unheard-of", "model.layers.3.moe.experts.5.w9.weight", 2,
	   "layers.3.moe.experts.5.w9.weight");
	assert_true(canon_of(&none, &t, &c) && c.stacked);
	assert_true(canon_expert(&c, 11, name));
	assert_string_equal(name, "layers.3.ffn.experts.11.up.weight");
	/* Not three dimensions: no stack. */
	HF("qwen3_moe", "model.layers.3.mlp.experts.up_proj.weight", 2,
	   "layers.3.mlp.experts.up_proj.weight");
}

/* Names that no rule knows, or that only look as if one did. */
static void
test_others(void **state)
{
	const struct canon_model none = { 0 };
	char name[2 * CANON_MAX];
	struct tensor t = { .name = name, .ndim = 1 };
	struct canon c;

	(void)state;
	HF("llama", "model.layers.007.mlp.up_proj.weight", 2, "layers.007.mlp.up_proj.weight");
	HF("llama", "model.layers.9999999999.mlp.up_proj.weight", 2,
	   "layers.9999999999.mlp.up_proj.weight");
	HF("llama", "model.layers..mlp.up_proj.weight", 2, "layers..mlp.up_proj.weight");
	HF("llama", "model.language_model.visual.norm.bias", 1, "visual.norm.bias");
	HF("llama", "model.", 1, "model.");
	HF("llama", "", 1, "");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_false(canon_of(&none, &t, &c));
}

/* What has to be undone before values are compared. */
static void
test_undone(void **state)
{
	const struct model gguf = { .loc = { .kind = MODEL_GGUF_FILE, .name = (char *)"x" },
				    .arch = (char *)"llama" };
	const struct model gemma = { .arch = (char *)"", .model_type = (char *)"gemma",
				     .loc = { .kind = MODEL_SAFETENSORS_DIR } };
	const struct tensor q = { .name = "blk.0.attn_q.weight", .ndim = 2 };
	const struct tensor v = { .name = "blk.0.attn_v.weight", .ndim = 2 };
	const struct tensor norm = { .name = "model.norm.weight", .ndim = 1 };
	struct canon_model cm;
	struct canon c;

	(void)state;
	canon_model(&cm, &gguf);
	assert_int_equal(cm.head_dim, 0);
	assert_true(canon_of(&cm, &q, &c) && c.pairs);
	assert_true(canon_of(&cm, &v, &c) && !c.pairs);
	canon_model(&cm, &gemma);
	assert_true(canon_of(&cm, &norm, &c) && c.add == 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
