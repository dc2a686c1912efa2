/* What config.json and the tensors may not say, and the names that tensors have. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/half.h"
#include "src/engine/engine.h"
#include "src/engine/hparams.h"
#include "src/format/safetensors.h"
#include "src/store/store.h"

#define LLAMA "\"model_type\":\"llama\""
#define SIZES ",\"vocab_size\":10,\"hidden_size\":8,\"num_hidden_layers\":1," \
	"\"num_attention_heads\":2,\"num_key_value_heads\":1,\"intermediate_size\":12," \
	"\"max_position_embeddings\":16"
#define MIXTRAL "\"model_type\":\"mixtral\",\"num_local_experts\":3,\"num_experts_per_tok\":2"

#define GEMMA2 "\"model_type\":\"gemma2\""
#define GEMMA3 "\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\""
#define LINEAR "\"model_type\":\"qwen3_next\",\"num_experts\":3,\"num_experts_per_tok\":2," \
	"\"linear_num_key_heads\":2,\"linear_key_head_dim\":4,\"linear_value_head_dim\":4"
#define FOUR ",\"linear_conv_kernel_dim\":4,\"linear_num_value_heads\":4"
#define NEMOTRON(heads, state) "\"model_type\":\"nemotron_h\",\"mamba_num_heads\":" heads \
	",\"mamba_head_dim\":1,\"ssm_state_size\":" state ",\"n_groups\":1," \
	"\"hybrid_override_pattern\":\"M\""
#define LFM2 "\"model_type\":\"lfm2\",\"conv_L_cache\":3"
#define PHI3 "\"model_type\":\"phi3\""
#define LONG ",\"rope_scaling\":{\"type\":\"longrope\","

static const struct {
	const char *config;
	enum tb_status code;
	const char *says;	/* part of the message; NULL: is accepted */
} configs[] = {
	{ "{" LLAMA SIZES "}", TB_OK, NULL },
	{ "{" MIXTRAL SIZES "}", TB_OK, NULL },
	{ "{\"architectures\":[\"LlamaForCausalLM\"]" SIZES "}", TB_OK, NULL },
	{ "{" LLAMA SIZES ",\"head_dim\":null,\"rope_scaling\":null}", TB_OK, NULL },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}", TB_OK, NULL },
	{ "{" LLAMA SIZES ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":5e5}}",
	  TB_OK, NULL },
	{ "[]", TB_EFORMAT, "object" },
	{ "{", TB_EFORMAT, "config.json" },
	{ "{}", TB_EUNSUP, "\"tbtui doctor\" lists those that can" },
	{ "{\"model_type\":\"mistral4\"" SIZES "}", TB_EUNSUP,
	  "\"mistral4\" cannot be run; the nearest that can is \"mistral\";" },
	{ "{\"model_type\":\"gemma9\",\"text_config\":{\"model_type\":\"gemma9_text\"}}", TB_EUNSUP,
	  "the nearest that can is \"gemma3\"" },
	{ "{\"model_type\":\"olmoe\",\"num_experts\":3,\"num_experts_per_tok\":2,\"clip_qkv\":8" SIZES
	  "}", TB_EUNSUP, "clip_qkv cannot be run" },
	{ "{" LLAMA SIZES ",\"attention_bias\":7}", TB_EFORMAT, "attention_bias" },
	{ "{\"model_type\":\"gpt2\"" SIZES "}", TB_EUNSUP, "gpt2" },
	{ "{\"model_type\":\"gpt2\",\"architectures\":[\"LlamaForCausalLM\"]" SIZES "}",
	  TB_EUNSUP, "gpt2" },
	{ "{" LLAMA "}", TB_EFORMAT, "vocab_size is missing" },
	{ "{" LLAMA ",\"vocab_size\":0}", TB_EFORMAT, "vocab_size" },
	{ "{" LLAMA ",\"vocab_size\":-5}", TB_EFORMAT, "vocab_size" },
	{ "{" LLAMA ",\"vocab_size\":1.5}", TB_EFORMAT, "vocab_size" },
	{ "{" LLAMA ",\"vocab_size\":\"10\"}", TB_EFORMAT, "vocab_size" },
	{ "{" LLAMA ",\"vocab_size\":4294967297}", TB_EFORMAT, "vocab_size" },
	{ "{" LLAMA ",\"vocab_size\":10,\"hidden_size\":8,\"num_hidden_layers\":1000000}",
	  TB_EFORMAT, "num_hidden_layers" },
	{ "{" LLAMA ",\"vocab_size\":10,\"hidden_size\":9,\"num_hidden_layers\":1,"
	  "\"num_attention_heads\":2,\"intermediate_size\":4,\"max_position_embeddings\":4}",
	  TB_EFORMAT, "no multiple" },
	{ "{" LLAMA ",\"vocab_size\":10,\"hidden_size\":8,\"num_hidden_layers\":1,"
	  "\"num_attention_heads\":4,\"num_key_value_heads\":3,\"intermediate_size\":4,"
	  "\"max_position_embeddings\":4}", TB_EFORMAT, "num_key_value_heads" },
	{ "{" LLAMA SIZES ",\"head_dim\":3}", TB_EFORMAT, "odd" },
	{ "{" LLAMA SIZES ",\"head_dim\":1000000}", TB_EFORMAT, "head_dim" },
	{ "{" LLAMA SIZES ",\"rms_norm_eps\":-1}", TB_EFORMAT, "rms_norm_eps" },
	{ "{" LLAMA SIZES ",\"rope_theta\":0}", TB_EFORMAT, "rope_theta" },
	{ "{" LLAMA SIZES ",\"hidden_act\":\"gelu\"}", TB_EUNSUP, "gelu" },
	{ "{" LLAMA SIZES ",\"tie_word_embeddings\":1}", TB_EFORMAT, "tie_word_embeddings" },
	{ "{" LLAMA SIZES ",\"partial_rotary_factor\":0.5}", TB_EUNSUP, "partial" },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}}", TB_OK, NULL },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"rope_type\":\"yarn\"}}", TB_EFORMAT, "lacks" },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":4}}",
	  TB_EUNSUP, "ntk" },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"factor\":4}}", TB_EUNSUP, "rope_scaling" },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":4}}",
	  TB_EFORMAT, "lacks" },
	{ "{" LLAMA SIZES ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0}}",
	  TB_EFORMAT, "factor" },
	{ "{\"model_type\":\"mixtral\",\"num_local_experts\":3,\"num_experts_per_tok\":4" SIZES "}",
	  TB_EFORMAT, "num_experts_per_tok" },
	{ "{\"model_type\":\"mixtral\"" SIZES "}", TB_EFORMAT, "num_local_experts" },
	{ "{\"model_type\":\"qwen3_moe\",\"num_experts\":3,\"num_experts_per_tok\":2,"
	  "\"moe_intermediate_size\":4,\"mlp_only_layers\":[0]" SIZES "}", TB_OK, NULL },
	{ "{" MIXTRAL ",\"mlp_only_layers\":[0]" SIZES "}", TB_EUNSUP, "a layer without experts" },
	{ "{" GEMMA2 SIZES "}", TB_OK, NULL },
	{ "{" GEMMA3 SIZES "}}", TB_OK, NULL },
	{ "{" GEMMA2 ",\"hidden_activation\":\"gelu\"" SIZES "}", TB_EUNSUP, "\"gelu\"" },
	{ "{" GEMMA2 ",\"sliding_window\":0" SIZES "}", TB_EFORMAT, "sliding_window" },
	{ "{" GEMMA2 ",\"attn_logit_softcapping\":-1" SIZES "}", TB_EFORMAT, "attn_logit" },
	{ "{" GEMMA2 ",\"final_logit_softcapping\":\"30\"" SIZES "}", TB_EFORMAT, "final_logit" },
	{ "{" GEMMA2 ",\"query_pre_attn_scalar\":0" SIZES "}", TB_EFORMAT, "query_pre_attn" },
	{ "{" GEMMA3 ",\"sliding_window_pattern\":0" SIZES "}}", TB_EFORMAT, "window_pattern" },
	{ "{" GEMMA3 ",\"layer_types\":[]" SIZES "}}", TB_EFORMAT, "layer_types are not 1" },
	{ "{" GEMMA3 ",\"layer_types\":[\"linear_attention\"]" SIZES "}}", TB_EUNSUP,
	  "linear_attention" },
	{ "{" GEMMA3 ",\"layer_types\":[3]" SIZES "}}", TB_EUNSUP, "(none)" },
	{ "{" GEMMA3 ",\"rope_local_base_freq\":0" SIZES "}}", TB_EFORMAT, "rope_local" },
	{ "{" GEMMA3 ",\"use_bidirectional_attention\":true" SIZES "}}", TB_EUNSUP,
	  "both directions" },
	{ "{\"model_type\":\"gemma3\",\"text_config\":7}", TB_EFORMAT, "not an object" },
	{ "{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"llama\"}}", TB_EUNSUP,
	  "\"gemma3\" around \"llama\" cannot be run" },
	{ "{" PHI3 ",\"partial_rotary_factor\":0.5" SIZES "}", TB_OK, NULL },
	{ "{" PHI3 ",\"partial_rotary_factor\":0.75" SIZES "}", TB_EFORMAT, "3 elements" },
	{ "{" PHI3 ",\"partial_rotary_factor\":0.1" SIZES "}", TB_EFORMAT, "nothing of a head" },
	{ "{" PHI3 LONG "\"short_factor\":[1,2],\"long_factor\":[1,2]}" SIZES "}", TB_OK, NULL },
	{ "{" PHI3 LONG "\"short_factor\":[1,2]}" SIZES "}", TB_EFORMAT, "long_factor" },
	{ "{" PHI3 LONG "\"short_factor\":[1],\"long_factor\":[1,2]}" SIZES "}", TB_EFORMAT,
	  "short_factor is not a list of 2" },
	{ "{" PHI3 LONG "\"short_factor\":[1,2],\"long_factor\":[1,0]}" SIZES "}", TB_EFORMAT,
	  "long_factor: number 2" },
	{ "{" PHI3 LONG "\"short_factor\":[1,2],\"long_factor\":{\"a\":1,\"b\":\"x\"}}" SIZES "}",
	  TB_EFORMAT, "long_factor: number 2" },
	{ "{" PHI3 LONG "\"attention_factor\":0,\"short_factor\":[1,2],\"long_factor\":[1,2]}"
	  SIZES "}", TB_EFORMAT, "attention_factor" },
	{ "{" LINEAR FOUR SIZES "}", TB_OK, NULL },
	{ "{" LINEAR FOUR ",\"mlp_only_layers\":[0]" SIZES "}", TB_OK, NULL },
	{ "{" LINEAR FOUR ",\"attn_output_gate\":false" SIZES "}", TB_EUNSUP, "attn_output_gate" },
	{ "{" LINEAR FOUR ",\"layer_types\":[\"conv\"]" SIZES "}", TB_EUNSUP, "\"conv\"" },
	{ "{" LINEAR ",\"linear_conv_kernel_dim\":4" SIZES "}", TB_EFORMAT,
	  "linear_num_value_heads is missing" },
	{ "{" LINEAR ",\"linear_conv_kernel_dim\":4,\"linear_num_value_heads\":3" SIZES "}",
	  TB_EFORMAT, "no multiple" },
	{ "{" LINEAR ",\"linear_conv_kernel_dim\":4,\"linear_num_value_heads\":1000000" SIZES "}",
	  TB_EFORMAT, "are over" },
	{ "{" LINEAR ",\"linear_conv_kernel_dim\":9,\"linear_num_value_heads\":4" SIZES "}",
	  TB_EFORMAT, "linear_conv_kernel_dim" },
	{ "{" LINEAR FOUR ",\"mlp_only_layers\":[\"0\"]" SIZES "}", TB_EFORMAT, "mlp_only_layers" },
	{ "{" LINEAR FOUR ",\"hidden_act\":1" SIZES "}", TB_EUNSUP, "(no word)" },
	{ "{" LINEAR FOUR ",\"scoring_func\":[\"sigmoid\"]" SIZES "}", TB_EUNSUP, "scoring_func" },
	{ "{\"model_type\":\"qwen3_next\",\"num_experts\":3,\"num_experts_per_tok\":2,"
	  "\"linear_num_key_heads\":2,\"linear_key_head_dim\":4096,\"linear_value_head_dim\":4096,"
	  "\"linear_conv_kernel_dim\":4,\"linear_num_value_heads\":256" SIZES "}", TB_EFORMAT,
	  "are over 33554432 numbers" },
	{ "{" NEMOTRON("8192", "128") SIZES "}", TB_OK, NULL },
	{ "{" NEMOTRON("262144", "131072") SIZES "}", TB_EFORMAT, "over 33554432" },
	{ "{\"model_type\":\"mixtral\",\"num_local_experts\":8000,\"num_experts_per_tok\":257" SIZES
	  "}", TB_EFORMAT, "num_experts_per_tok" },
	{ "{" LFM2 ",\"layer_types\":[\"conv\"]" SIZES "}", TB_OK, NULL },
	{ "{" LFM2 ",\"full_attn_idxs\":[]" SIZES "}", TB_OK, NULL },
	{ "{" LFM2 ",\"full_attn_idxs\":[1]" SIZES "}", TB_EFORMAT, "full_attn_idxs" },
	{ "{" LFM2 SIZES "}", TB_EFORMAT, "layer_types is missing" },
	{ "{" LFM2 ",\"layer_types\":[\"linear_attention\"]" SIZES "}", TB_EUNSUP,
	  "linear_attention" },
	{ "{" LFM2 ",\"conv_bias\":true,\"full_attn_idxs\":[]" SIZES "}", TB_EUNSUP, "conv_bias" },
	{ "{" LFM2 ",\"block_multiple_of\":2000000,\"full_attn_idxs\":[]" SIZES "}", TB_EFORMAT,
	  "block_multiple_of" },
	{ "{" LFM2 ",\"block_ff_dim\":1000000,\"block_ffn_dim_multiplier\":100,"
	  "\"full_attn_idxs\":[]" SIZES "}", TB_EFORMAT, "intermediate_size" },
	{ "{\"model_type\":\"qwen2\",\"use_sliding_window\":true,\"sliding_window\":4" SIZES "}",
	  TB_EFORMAT, "max_window_layers" },
};

static void
test_configs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		const char *c = configs[i].config;
		struct hparams hp;
		struct tb_err err = { 0 };
		enum tb_status got = hparams_parse(&hp, c, strlen(c), &err);

		if (got != configs[i].code ||
		    (got && !strstr(err.msg, configs[i].says)))
			fail_msg("%s: %d \"%s\"", c, got, err.msg);
		if (!got)
			hparams_free(&hp);
	}
}

static void
test_values(void **state)
{
	static const char config[] = "{\"model_type\":\"mistral\",\"sliding_window\":7,"
		"\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4}" SIZES "}";
	static const char qwen[] = "{\"model_type\":\"qwen3\",\"sliding_window\":7,"
		"\"use_sliding_window\":false,\"head_dim\":6" SIZES "}";
	struct hparams hp;
	struct tb_err err;

	(void)state;
	assert_ok(hparams_parse(&hp, config, sizeof(config) - 1, &err), err);
	assert_int_equal(hp.context, 16);
	assert_int_equal(hp.window, 7);
	assert_true(hparams_windowed(&hp, 0));
	assert_int_equal(hp.head_dim, 4);
	assert_false(hp.tied_known);
	assert_true(fabs(hparams_inv_freq(&hp, &hp.rope, 0, 16) - 0.25) < 1e-12);
	assert_true(fabs(hparams_inv_freq(&hp, &hp.rope, 1, 16) - 0.25 / 100) < 1e-12);
	hparams_free(&hp);
	assert_ok(hparams_parse(&hp, qwen, sizeof(qwen) - 1, &err), err);
	assert_false(hparams_windowed(&hp, 0));
	assert_int_equal(hparams_dim(&hp, 0, DIM_Q), 12);
	assert_int_equal(hparams_dim(&hp, 0, DIM_K), 6);
	hparams_free(&hp);
}

static void
parse(struct hparams *hp, const char *config)
{
	struct tb_err err;

	assert_ok(hparams_parse(hp, config, strlen(config), &err), err);
}

/* null takes away what the row has; silence does not. */
static void
test_gemma_values(void **state)
{
	struct hparams hp;

	(void)state;
	parse(&hp, "{" GEMMA2 SIZES "}");
	assert_true(hp.attn_softcap == 50 && hp.final_softcap == 30 && hp.norm_add == 1);
	assert_true(hp.attn_scale == 1 / 16.0f);	/* of a query_pre_attn_scalar of 256 */
	assert_int_equal(hp.window, 4096);
	assert_int_equal(hp.head_dim, 256);
	hparams_free(&hp);
	parse(&hp, "{" GEMMA2 ",\"attn_logit_softcapping\":null,\"final_logit_softcapping\":null,"
	      "\"sliding_window\":null" SIZES "}");
	assert_true(hp.attn_softcap == 0 && hp.final_softcap == 0);
	assert_false(hparams_windowed(&hp, 0));
	hparams_free(&hp);
	parse(&hp, "{" GEMMA3 ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"linear\","
	      "\"factor\":8,\"rope_theta\":1e6},\"sliding_attention\":{\"rope_type\":\"default\","
	      "\"rope_theta\":300}},\"_sliding_window_pattern\":3" SIZES "}}");
	assert_true(hp.rope.kind == ROPE_LINEAR && hp.rope.factor == 8 && hp.rope.theta == 1e6);
	assert_true(hp.rope_local.kind == ROPE_PLAIN && hp.rope_local.theta == 300);
	assert_int_equal(hp.context, 16);
	hparams_free(&hp);
	parse(&hp, "{\"model_type\":\"mistral\",\"sliding_window\":null" SIZES "}");
	assert_false(hparams_windowed(&hp, 0));
	hparams_free(&hp);
}

/* A model as a directory: tensors from a list of names and shapes.  All values of a
 * tensor (of an expert) are equal, and exact in every type. */
struct spec { const char *name; unsigned ndim; uint64_t dim[3]; enum dtype dtype; };

#define V(name, a) { name, 1, { a }, DT_F32 }
#define M(name, a, b) { name, 2, { a, b }, DT_BF16 }
#define X3(name, a, b, c) { name, 3, { a, b, c }, DT_F16 }
#define END { .name = NULL }
#define ATTENTION(p) \
	M(p "embed_tokens.weight", 10, 8), V(p "norm.weight", 8), \
	V(p "layers.0.input_layernorm.weight", 8), \
	V(p "layers.0.post_attention_layernorm.weight", 8), \
	M(p "layers.0.self_attn.q_proj.weight", 8, 8), M(p "layers.0.self_attn.k_proj.weight", 4, 8), \
	M(p "layers.0.self_attn.v_proj.weight", 4, 8), M(p "layers.0.self_attn.o_proj.weight", 8, 8)
#define DENSE(p) \
	M(p "layers.0.mlp.gate_proj.weight", 12, 8), M(p "layers.0.mlp.up_proj.weight", 12, 8), \
	M(p "layers.0.mlp.down_proj.weight", 8, 12)
#define EACH(e) \
	M("model.layers.0.block_sparse_moe.experts." #e ".w1.weight", 12, 8), \
	M("model.layers.0.block_sparse_moe.experts." #e ".w3.weight", 12, 8), \
	M("model.layers.0.block_sparse_moe.experts." #e ".w2.weight", 8, 12)

static void
put(struct tb_buf *b, enum dtype d, float x, uint64_t n)
{
	uint16_t half = d == DT_BF16 ? tb_f32_bf16(x) : tb_f32_f16(x);

	for (uint64_t i = 0; i < n; i++)
		tb_buf_add(b, d == DT_F32 ? (void *)&x : (void *)&half, d == DT_F32 ? 4 : 2);
}

static float
value(const char *name, unsigned expert)
{
	static const struct { const char *part; float value; } values[] = {
		{ "gate_proj", 0.5f }, { "w1", 0.5f }, { "up_proj", 0.25f }, { "w3", 0.25f },
		{ "down_proj", 0.125f }, { "w2", 0.125f }, { "norm", 1 }, { "lm_head", 4 },
	};
	const char *p = strstr(name, "experts.");

	expert = p && p[8] >= '0' && p[8] <= '9' ? (unsigned)(p[8] - '0') : expert;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (strstr(name, values[i].part))
			return values[i].value * (float)(expert + 1);
	return 0.0625f;
}

static void
write_model(const char *dir, const char *config, const struct spec *spec)
{
	struct tb_buf file = TB_BUF(1 << 20), data = TB_BUF(1 << 20);
	struct st_tensor t[40];
	struct tb_err err;
	char name[300];
	size_t n = 0;

	for (; spec[n].name; n++) {
		uint64_t elems = 1, stack = spec[n].ndim == 3 ? spec[n].dim[0] : 1;

		t[n] = (struct st_tensor){ .name = spec[n].name, .dtype = spec[n].dtype,
					   .ndim = spec[n].ndim };
		for (unsigned i = 0; i < spec[n].ndim; i++)
			elems *= t[n].dim[i] = spec[n].dim[i];
		for (unsigned e = 0; e < stack; e++)
			put(&data, spec[n].dtype, value(spec[n].name, e), elems / stack);
	}
	assert_ok(st_layout(t, n, NULL, 0, &file, &err), err);
	tb_buf_add(&file, data.p, data.len);
	snprintf(name, sizeof(name), "%s/model.safetensors", dir);
	assert_ok(tb_mkdirs(unit_path(dir), &err), err);
	unit_write(name, file.p, file.len);
	snprintf(name, sizeof(name), "%s/config.json", dir);
	unit_write(name, config, strlen(config));
	tb_buf_free(&file);
	tb_buf_free(&data);
}

/* Opens it and evaluates one token; the sum of the logits says which weights took part. */
static enum tb_status
try(const char *dir, double *sum, struct tb_err *err)
{
	const char *root = unit_tmp();
	struct store_roots roots;
	struct model_loc loc;
	struct model *m;
	struct engine *e;
	struct session *s;
	const uint32_t ids[] = { 1, 2 };
	const float *logits;
	enum tb_status status;

	assert_ok(store_roots_init(&roots, &root, 1, err), *err);
	assert_ok(store_resolve(&roots, unit_path(dir), &loc, err), *err);
	assert_ok(model_open(&m, &loc, err), *err);
	if (!(status = engine_open(&e, m, &(struct engine_opts){ .threads = 1 }, err))) {
		assert_ok(session_new(&s, e, 0, err), *err);
		assert_ok(session_eval(s, ids, 2, false, NULL, &logits, err), *err);
		*sum = 0;
		for (unsigned i = 0; i < 10; i++)
			*sum += logits[i];
		session_free(s);
		engine_free(e);
	}
	model_free(m);
	model_loc_free(&loc);
	store_roots_free(&roots);
	return status;
}

static void
test_prefixes(void **state)
{
	static const struct spec with[] = { ATTENTION("model."), DENSE("model."), END };
	static const struct spec without[] = { ATTENTION(""), DENSE(""), END };
	static const struct spec language[] = { ATTENTION("language_model.model."),
						DENSE("language_model.model."), END };
	static const struct spec untied[] = { ATTENTION("model."), DENSE("model."),
					      M("lm_head.weight", 10, 8), END };
	static const char config[] = "{" LLAMA SIZES "}";
	double a, b, c, d;
	struct tb_err err;

	(void)state;
	write_model("with", config, with);
	write_model("without", config, without);
	write_model("language", config, language);
	write_model("untied", config, untied);
	assert_ok(try("with", &a, &err), err);
	assert_ok(try("without", &b, &err), err);
	assert_ok(try("language", &c, &err), err);
	assert_ok(try("untied", &d, &err), err);
	assert_true(a == b && a == c && d > a * 2);
}

/* A tensor each and all in one: the same experts. */
static void
test_experts(void **state)
{
	static const struct spec each[] = {
		ATTENTION("model."), M("model.layers.0.block_sparse_moe.gate.weight", 3, 8),
		EACH(0), EACH(1), EACH(2), END
	};
	static const struct spec stacked[] = {
		ATTENTION("model."), M("model.layers.0.mlp.gate.weight", 3, 8),
		X3("model.layers.0.mlp.experts.gate_proj.weight", 3, 12, 8),
		X3("model.layers.0.mlp.experts.up_proj.weight", 3, 12, 8),
		X3("model.layers.0.mlp.experts.down_proj.weight", 3, 8, 12), END
	};
	static const struct spec lacking[] = {
		ATTENTION("model."), M("model.layers.0.block_sparse_moe.gate.weight", 3, 8),
		EACH(0), EACH(2), END
	};
	static const struct spec few[] = {
		ATTENTION("model."), M("model.layers.0.mlp.gate.weight", 3, 8),
		X3("model.layers.0.mlp.experts.gate_proj.weight", 2, 12, 8),
		X3("model.layers.0.mlp.experts.up_proj.weight", 2, 12, 8),
		X3("model.layers.0.mlp.experts.down_proj.weight", 2, 8, 12), END
	};
	static const char config[] = "{" MIXTRAL SIZES "}";
	double a, b;
	struct tb_err err;

	(void)state;
	write_model("each", config, each);
	write_model("stacked", config, stacked);
	write_model("lacking", config, lacking);
	write_model("few", config, few);
	assert_ok(try("each", &a, &err), err);
	assert_ok(try("stacked", &b, &err), err);
	assert_true(fabs(a) > 0.1 && fabs(a - b) < 1e-5);
	assert_fails(try("lacking", &a, &err), err, TB_EFORMAT, "experts.1.");
	assert_fails(try("few", &a, &err), err, TB_EFORMAT, "makes it [3, 12, 8]");
}

static void
test_bad_tensors(void **state)
{
	static const char config[] = "{" LLAMA SIZES "}";
	static const char untied[] = "{" LLAMA SIZES ",\"tie_word_embeddings\":false}";
	static const struct spec good[] = { ATTENTION("model."), DENSE("model."), END };
	static const struct spec more[] = { ATTENTION("model."), DENSE("model."),
		V("model.layers.0.mlp.gate_proj.bias", 12), END };
	static const struct spec ignored[] = { ATTENTION("model."), DENSE("model."),
		V("model.layers.0.self_attn.rotary_emb.inv_freq", 2), END };
	static const struct spec integers[] = { ATTENTION("model."),
		{ "model.layers.0.mlp.gate_proj.weight", 2, { 12, 8 }, DT_F32 },
		{ "model.layers.0.mlp.up_proj.weight", 2, { 12, 8 }, DT_F32 },
		{ "model.layers.0.mlp.down_proj.weight", 2, { 8, 12 }, DT_I16 }, END };
	static const struct spec vector[] = { ATTENTION("model."),
		M("model.layers.0.mlp.gate_proj.weight", 12, 8),
		V("model.layers.0.mlp.up_proj.weight", 96),
		M("model.layers.0.mlp.down_proj.weight", 8, 12), END };
	static const struct spec none[] = { ATTENTION("model."),
		M("model.layers.0.mlp.gate_proj.weight", 12, 8), END };
	double sum;
	struct tb_err err;

	(void)state;
	write_model("a", untied, good);
	assert_fails(try("a", &sum, &err), err, TB_EFORMAT, "lm_head.weight");
	write_model("b", config, more);
	assert_fails(try("b", &sum, &err), err, TB_EUNSUP, "gate_proj.bias");
	write_model("c", config, ignored);
	assert_ok(try("c", &sum, &err), err);
	write_model("d", config, integers);
	assert_fails(try("d", &sum, &err), err, TB_EUNSUP, "I16");
	write_model("e", config, vector);
	assert_fails(try("e", &sum, &err), err, TB_EFORMAT, "up_proj.weight: shape [96]");
	write_model("f", config, none);
	assert_fails(try("f", &sum, &err), err, TB_EFORMAT, "model.layers.0.mlp.up_proj.weight");
}

/* The file goes away under an open engine: an error, neither a crash nor a guess. */
static void
test_torn(void **state)
{
	static const struct spec spec[] = { ATTENTION("model."), DENSE("model."), END };
	const char *root = unit_tmp();
	const uint32_t ids[] = { 1, 2 };
	const float *logits;
	struct store_roots roots;
	struct model_loc loc;
	struct model *m;
	struct engine *e;
	struct session *s;
	struct tb_err err;

	(void)state;
	write_model("torn", "{" LLAMA SIZES "}", spec);
	assert_ok(store_roots_init(&roots, &root, 1, &err), err);
	assert_ok(store_resolve(&roots, unit_path("torn"), &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	assert_ok(engine_open(&e, m, &(struct engine_opts){ .threads = 1 }, &err), err);
	assert_ok(session_new(&s, e, 0, &err), err);
	assert_ok(session_eval(s, ids, 2, false, NULL, &logits, &err), err);
	assert_int_equal(truncate(unit_path("torn/model.safetensors"), 0), 0);
	assert_fails(session_eval(s, ids, 2, false, NULL, &logits, &err), err, TB_EIO, "cut short");
	assert_int_equal(session_pos(s), 2);
	session_free(s);
	engine_free(e);
	assert_fails(engine_open(&e, m, NULL, &err), err, TB_EIO, "has changed");
	model_free(m);
	model_loc_free(&loc);
	store_roots_free(&roots);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configs),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_gemma_values),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_bad_tensors),
		cmocka_unit_test(test_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
