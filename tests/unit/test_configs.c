/* test_configs.c - config.json as well-known models have it: what their keys make of layers. */
#include "config.h"

#include <math.h>

#include "src/engine/hparams.h"
#include "tests/unit/unit.h"

#define DEEPSEEK ",\"attention_bias\":false,\"ep_size\":1,\"first_k_dense_replace\":1," \
	"\"hidden_act\":\"silu\",\"max_position_embeddings\":163840,\"moe_layer_freq\":1," \
	"\"num_nextn_predict_layers\":1,\"rms_norm_eps\":1e-06,\"rope_theta\":10000," \
	"\"tie_word_embeddings\":false,\"vocab_size\":102400,\"qk_nope_head_dim\":128," \
	"\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"kv_lora_rank\":512,"
#define YARN(mscale) "\"rope_scaling\":{\"beta_fast\":32,\"beta_slow\":1,\"factor\":40,\"mscale\":" \
	mscale ",\"mscale_all_dim\":" mscale ",\"original_max_position_embeddings\":4096," \
	"\"type\":\"yarn\"}"
#define GLM ",\"attention_bias\":false,\"hidden_act\":\"silu\",\"hidden_size\":2048," \
	"\"intermediate_size\":10240,\"max_position_embeddings\":202752," \
	"\"moe_intermediate_size\":1536,\"norm_topk_prob\":true,\"num_attention_heads\":20," \
	"\"n_group\":1,\"topk_group\":1,\"n_routed_experts\":64,\"n_shared_experts\":1," \
	"\"routed_scaling_factor\":1.8,\"num_experts_per_tok\":4,\"num_key_value_heads\":20," \
	"\"rms_norm_eps\":1e-05,\"tie_word_embeddings\":false,\"q_lora_rank\":768," \
	"\"kv_lora_rank\":512,\"qk_nope_head_dim\":192,\"qk_rope_head_dim\":64," \
	"\"v_head_dim\":256,\"vocab_size\":154880"
#define FULL "\"full_attention\""
#define SLIDING "\"sliding_attention\""

static struct hparams
parse(const char *text)
{
	struct hparams hp;
	struct tb_err err;

	assert_ok(hparams_parse(&hp, text, strlen(text), &err), err);
	return hp;
}

/* Before scoring_func and head_dim; then as newer programs write it: head_dim is what turns,
 * and layers are listed. */
static void
test_glm_flash(void **state)
{
	static const char *const texts[] = {
		"{\"architectures\":[\"Glm4MoeLiteForCausalLM\"],\"model_type\":\"glm4_moe_lite\","
		"\"num_hidden_layers\":47,\"first_k_dense_replace\":1,"
		"\"num_nextn_predict_layers\":1,\"partial_rotary_factor\":1.0,"
		"\"rope_scaling\":null,\"rope_theta\":1000000,\"topk_method\":\"noaux_tc\"" GLM "}",
		"{\"architectures\":[\"Glm4MoeLiteForCausalLM\"],\"model_type\":\"glm4_moe_lite\","
		"\"num_hidden_layers\":3,\"head_dim\":64,\"qk_head_dim\":256,"
		"\"rope_interleave\":true,\"mlp_layer_types\":[\"dense\",\"sparse\",\"sparse\"],"
		"\"rope_parameters\":{\"partial_rotary_factor\":1.0,\"rope_theta\":1000000,"
		"\"rope_type\":\"default\"}" GLM "}",
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct hparams hp = parse(texts[i]);
		const struct layer_shape *l = hp.layer;

		assert_int_equal(hp.layers, i ? 3 : 47);
		assert_int_equal(hp.draft_layers, i ? 0 : 1);
		assert_true(l->mixer == MIX_MLA && l->ffn_kind == FFN_DENSE && l->ffn == 10240);
		assert_true(l[1].ffn_kind == FFN_EXPERTS && hp.expert_ffn == 1536);
		assert_int_equal(hp.shared_ffn, 1536);
		assert_true(l->kv_heads == 1 && l->head_dim == 576 && l->value_dim == 512);
		assert_true(hp.rope_dims == 64 && hp.rope_pairs && hp.rope.theta == 1e6);
		assert_true(fabsf(hp.attn_scale - 1 / 16.0f) < 1e-7f);
		assert_true(hp.routing.score == SCORE_SIGMOID && hp.routing.renormalize);
		assert_true(fabsf(hp.routing.scale - 1.8f) < 1e-6f && hp.experts == 64);
		assert_int_equal(hparams_dim(&hp, 0, DIM_MLA_Q), 20 * 256);
		assert_int_equal(hparams_dim(&hp, 0, DIM_MLA_PAIRS), 20 * 448);
		assert_true(hparams_needs(&hp, 0, SLOT_Q_A) && !hparams_has(&hp, 0, SLOT_MLA_Q));
		hparams_free(&hp);
	}
}

static void
test_deepseek(void **state)
{
	double grown = 1 + 0.0707 * log(40);
	struct hparams hp = parse("{\"model_type\":\"deepseek_v2\",\"hidden_size\":2048,"
		"\"intermediate_size\":10944,\"moe_intermediate_size\":1408,\"n_group\":1,"
		"\"n_routed_experts\":64,\"n_shared_experts\":2,\"norm_topk_prob\":false,"
		"\"num_attention_heads\":16,\"num_experts_per_tok\":6,\"num_hidden_layers\":27,"
		"\"num_key_value_heads\":16,\"q_lora_rank\":null,\"routed_scaling_factor\":1.0,"
		"\"scoring_func\":\"softmax\",\"topk_group\":1,\"topk_method\":\"greedy\""
		DEEPSEEK YARN("0.707") "}");

	(void)state;
	assert_true(hp.routing.score == SCORE_SOFTMAX && !hp.routing.renormalize);
	assert_true(hp.shared_ffn == 2816 && hp.mla.q_short == 0);
	assert_true(hparams_needs(&hp, 0, SLOT_MLA_Q) && !hparams_has(&hp, 0, SLOT_Q_A));
	assert_true(fabs(hp.attn_scale - grown * grown / sqrt(192)) < 1e-7);
	assert_true(fabs(hp.rope.magnitude - 1) < 1e-9);
	hparams_free(&hp);

	hp = parse("{\"model_type\":\"deepseek_v3\",\"hidden_size\":7168,"
		"\"intermediate_size\":18432,\"moe_intermediate_size\":2048,\"n_group\":8,"
		"\"n_routed_experts\":256,\"n_shared_experts\":1,\"norm_topk_prob\":true,"
		"\"num_attention_heads\":128,\"num_experts_per_tok\":8,\"num_hidden_layers\":61,"
		"\"num_key_value_heads\":128,\"q_lora_rank\":1536,\"routed_scaling_factor\":2.5,"
		"\"scoring_func\":\"sigmoid\",\"topk_group\":4,\"topk_method\":\"noaux_tc\""
		DEEPSEEK YARN("1.0") "}");
	assert_true(hp.routing.groups == 8 && hp.routing.groups_used == 4);
	assert_true(hp.routing.score == SCORE_SIGMOID && hp.draft_layers == 1);
	assert_int_equal(hparams_dim(&hp, 60, DIM_MLA_Q), 128 * 192);
	assert_true(hparams_needs(&hp, 1, SLOT_CHOICE_BIAS) || hparams_has(&hp, 1, SLOT_CHOICE_BIAS));
	hparams_free(&hp);
}

static void
test_gpt_oss(void **state)
{
	struct hparams hp = parse("{\"architectures\":[\"GptOssForCausalLM\"],"
		"\"attention_bias\":true,\"attention_dropout\":0.0,\"eos_token_id\":200002,"
		"\"experts_per_token\":4,\"head_dim\":64,\"hidden_act\":\"silu\","
		"\"hidden_size\":2880,\"initial_context_length\":4096,"
		"\"intermediate_size\":2880,\"layer_types\":[" SLIDING "," FULL "," SLIDING "," FULL
		"],\"max_position_embeddings\":131072,\"model_type\":\"gpt_oss\","
		"\"num_attention_heads\":64,\"num_experts_per_tok\":4,\"num_hidden_layers\":4,"
		"\"num_key_value_heads\":8,\"num_local_experts\":32,\"rms_norm_eps\":1e-05,"
		"\"rope_scaling\":{\"beta_fast\":32.0,\"beta_slow\":1.0,\"factor\":32.0,"
		"\"original_max_position_embeddings\":4096,\"rope_type\":\"yarn\","
		"\"truncate\":false},\"rope_theta\":150000,\"sliding_window\":128,"
		"\"swiglu_limit\":7.0,\"tie_word_embeddings\":false,\"vocab_size\":201088}");

	(void)state;
	assert_true(hp.act == ACT_CLAMPED && hp.window == 128);
	assert_true(hparams_windowed(&hp, 0) && !hparams_windowed(&hp, 3));
	assert_true(hp.expert_ffn == 2880 && hp.experts == 32 && hp.layer->ffn_kind == FFN_EXPERTS);
	assert_true(hp.rope.kind == ROPE_YARN && hp.rope.smooth && !(hp.rope_local.theta > 0));
	assert_true(fabs(hp.rope.magnitude - (0.1 * log(32) + 1)) < 1e-9);
	assert_true(hp.routing.score == SCORE_CHOSEN);
	hparams_free(&hp);
}

static void
test_laguna(void **state)
{
	struct hparams hp = parse("{\"architectures\":[\"LagunaForCausalLM\"],"
		"\"model_type\":\"laguna\",\"vocab_size\":100352,\"hidden_size\":2048,"
		"\"intermediate_size\":8192,\"num_hidden_layers\":4,\"num_attention_heads\":48,"
		"\"num_key_value_heads\":8,\"head_dim\":128,\"max_position_embeddings\":131072,"
		"\"rms_norm_eps\":1e-06,\"num_experts\":256,\"num_experts_per_tok\":8,"
		"\"moe_intermediate_size\":512,\"shared_expert_intermediate_size\":512,"
		"\"tie_word_embeddings\":false,\"gating\":true,\"sliding_window\":512,"
		"\"rope_parameters\":{\"full_attention\":{\"rope_theta\":500000.0,"
		"\"rope_type\":\"yarn\",\"factor\":32.0,"
		"\"original_max_position_embeddings\":4096,\"beta_slow\":1.0,"
		"\"beta_fast\":64.0,\"attention_factor\":1.0,\"partial_rotary_factor\":0.5},"
		"\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":10000.0,"
		"\"partial_rotary_factor\":1.0},\"original_max_position_embeddings\":4096},"
		"\"layer_types\":[" FULL "," SLIDING "," SLIDING "," SLIDING "],"
		"\"num_attention_heads_per_layer\":[48,64,64,64],\"mlp_only_layers\":[0],"
		"\"moe_routed_scaling_factor\":2.5}");

	(void)state;
	assert_true(hp.layer[0].heads == 48 && hp.layer[3].heads == 64);
	assert_true(hp.layer[0].ffn_kind == FFN_DENSE && hp.layer[1].ffn_kind == FFN_EXPERTS);
	assert_true(hp.rope_dims == 64 && hp.rope_local.dims == 128);
	assert_true(hp.rope.high == 64 && hp.rope.magnitude == 1 && hp.rope_local.theta == 10000);
	assert_true(hp.rope_local.kind == ROPE_PLAIN && hp.gate_rows == 1);
	assert_true(hp.routing.renormalize && fabsf(hp.routing.scale - 2.5f) < 1e-6f);
	assert_int_equal(hparams_dim(&hp, 1, DIM_ATTENTION_GATE), 64);
	hparams_free(&hp);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glm_flash), cmocka_unit_test(test_deepseek),
		cmocka_unit_test(test_gpt_oss), cmocka_unit_test(test_laguna),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
