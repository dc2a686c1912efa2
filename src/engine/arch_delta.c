/* arch_delta.c - architectures most of whose layers have a state instead of keys and values:
 * Qwen's with the delta rule, LFM2 with short convolutions. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <inttypes.h>
#include <stddef.h>

#include "src/engine/hparams_read.h"

/* ---- the delta rule ---- */

static const struct { const char *config, *gguf; uint32_t max; size_t at; } sizes[] = {
	{ "linear_num_key_heads", "ssm.group_count", HP_MAX_DIM, offsetof(struct delta_shape, k_heads) },
	{ "linear_num_value_heads", "ssm.time_step_rank", HP_MAX_DIM,
	  offsetof(struct delta_shape, v_heads) },
	{ "linear_key_head_dim", "ssm.state_size", HP_MAX_HEAD_DIM, offsetof(struct delta_shape, k_dim) },
	{ "linear_value_head_dim", "ssm.state_size", HP_MAX_HEAD_DIM,
	  offsetof(struct delta_shape, v_dim) },
};
#define NSIZES (sizeof(sizes) / sizeof(*sizes))

static uint32_t *
size_at(struct hparams *hp, size_t i)
{
	return (uint32_t *)(void *)((char *)&hp->delta + sizes[i].at);
}

static enum tb_status
check_delta(const struct hparams *hp, struct tb_err *err)
{
	const struct delta_shape *d = &hp->delta;

	if (d->v_heads % d->k_heads)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " value heads of the linear attention are no "
			       "multiple of its %" PRIu32 " key heads", d->v_heads, d->k_heads);
	if ((uint64_t)d->v_heads * d->v_dim > HP_MAX_DIM || (uint64_t)d->k_heads * d->k_dim > HP_MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " heads of the linear attention of %" PRIu32
			       " are over %u", d->v_heads, d->v_dim, HP_MAX_DIM);
	if ((uint64_t)d->v_heads * d->v_dim * d->k_dim > HP_MAX_STATE)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " states of the linear attention of %" PRIu32
			       " by %" PRIu32 " are over %u numbers", d->v_heads, d->k_dim, d->v_dim,
			       HP_MAX_STATE);
	return TB_OK;
}

/* Attention in each so-manieth layer. */
static void
set_interval(struct hparams *hp, uint32_t every)
{
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].mixer = (i + 1) % every ? MIX_DELTA : MIX_ATTENTION;
}

static enum tb_status
config_delta(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	bool gate = true;
	uint32_t every;
	enum tb_status status;

	for (size_t i = 0; i < NSIZES; i++)
		if ((status = config_count(r, sizes[i].config, sizes[i].max, 0, size_at(hp, i))))
			return status;
	if ((status = config_count(r, "linear_conv_kernel_dim", HP_MAX_KERNEL, 0, &hp->conv_kernel)) ||
	    (status = config_count(r, "full_attention_interval", HP_MAX_LAYERS, 4, &every)) ||
	    (status = config_flag(r, r->c, "attn_output_gate", &gate)))
		return status;
	if (!gate)
		return tb_fail(r->err, TB_EUNSUP, "config.json: attention without a gate "
			       "(attn_output_gate false) cannot be run in %s", hp->arch->name);
	if (!config_value(r->c, "layer_types"))
		set_interval(hp, every);
	if ((status = check_delta(hp, r->err)))
		(void)tb_wrap(r->err, status, "config.json");
	return status;
}

static enum tb_status
metadata_delta(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	uint32_t inner, every;
	enum tb_status status;

	for (size_t i = 0; i < NSIZES; i++)
		if ((status = meta_number(r, sizes[i].gguf, sizes[i].max, 0, size_at(hp, i))))
			return status;
	if ((status = meta_number(r, "ssm.conv_kernel", HP_MAX_KERNEL, 0, &hp->conv_kernel)) ||
	    (status = meta_number(r, "full_attention_interval", HP_MAX_LAYERS, 4, &every)) ||
	    (status = meta_number(r, "ssm.inner_size", HP_MAX_DIM, hp->delta.v_heads * hp->delta.v_dim,
				  &inner)))
		return status;
	if (inner % hp->delta.v_heads || inner / hp->delta.v_heads > HP_MAX_HEAD_DIM)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " are no %" PRIu32 " heads", inner,
				 hp->delta.v_heads);
	hp->delta.v_dim = inner / hp->delta.v_heads;
	hp->delta.tiled = hp->arch->gguf_tiled;
	set_interval(hp, every);
	return check_delta(hp, r->err);
}

/* ---- LFM2 ---- */

/* Two thirds of it, times a factor, rounded up; unless it is said that it is as it is. */
static enum tb_status
config_lfm2_ffn(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	bool adjust = true;
	double by = 1;
	uint32_t of, ffn;
	uint64_t n;
	enum tb_status status;

	if ((status = config_count(r, "block_ff_dim", HP_MAX_DIM, hp->ffn, &ffn)) ||
	    (status = config_flag(r, r->c, "block_auto_adjust_ff_dim", &adjust)) ||
	    (status = config_real(r, r->c, "block_ffn_dim_multiplier", 1e-3, 1e3, &by)) ||
	    (status = config_count(r, "block_multiple_of", HP_MAX_DIM, 256, &of)))
		return status;
	n = adjust ? (uint64_t)(by * (2 * (uint64_t)ffn / 3)) : ffn;
	n = adjust ? (n + of - 1) / of * of : n;
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].ffn = n <= HP_MAX_DIM ? (uint32_t)n : 0;
	hp->ffn = hp->layer[0].ffn;
	return TB_OK;
}

/* Older files say which layers have attention. */
static enum tb_status
config_conv_layers(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *list = config_value(r->c, "full_attn_idxs");
	uint64_t n;

	if (config_value(r->c, "layer_types"))
		return TB_OK;
	if (!list)
		return tb_fail(r->err, TB_EFORMAT, "config.json: layer_types is missing");
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].mixer = MIX_CONV;
	for (const cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!json_u64(v, &n) || n >= hp->layers)
			return tb_fail(r->err, TB_EFORMAT, "config.json: full_attn_idxs are not numbers "
				       "of layers");
		hp->layer[n].mixer = MIX_ATTENTION;
	}
	return TB_OK;
}

static enum tb_status
config_conv(const struct config_reader *r)
{
	bool bias = false;
	enum tb_status status;

	if ((status = config_count(r, "conv_L_cache", HP_MAX_KERNEL, 0, &r->hp->conv_kernel)) ||
	    (status = config_flag(r, r->c, "conv_bias", &bias)))
		return status;
	if (bias)
		return tb_fail(r->err, TB_EUNSUP, "config.json: convolutions with a bias (conv_bias) "
			       "cannot be run in %s", r->hp->arch->name);
	return config_conv_layers(r);
}

static enum tb_status
config_lfm2(const struct config_reader *r)
{
	enum tb_status status = config_conv(r);

	return status ? status : config_lfm2_ffn(r);
}

/* Layers with no keys have a convolution. */
static enum tb_status
metadata_lfm2(struct meta_reader *r)
{
	struct hparams *hp = r->hp;

	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].mixer = hp->layer[i].kv_heads ? MIX_ATTENTION : MIX_CONV;
	return meta_number(r, "shortconv.l_cache", HP_MAX_KERNEL, 0, &hp->conv_kernel);
}

/* ---- rows ---- */

static const struct slot_rule lfm2_names[] = {
	RULE(SLOT_OUTPUT_NORM, "embedding_norm.weight"),
	RULE(SLOT_ATTN_NORM, "layers.{n}.operator_norm.weight"),
	RULE(SLOT_FFN_NORM, "layers.{n}.ffn_norm.weight"),
	RULE(SLOT_Q_NORM, "layers.{n}.self_attn.q_layernorm.weight"),
	RULE(SLOT_K_NORM, "layers.{n}.self_attn.k_layernorm.weight"),
	RULE(SLOT_O, "layers.{n}.self_attn.out_proj.weight"),
	RULE(SLOT_CONV_IN, "layers.{n}.conv.in_proj.weight"),
	RULE(SLOT_CONV, "layers.{n}.conv.conv.weight"),
	RULE(SLOT_CONV_OUT, "layers.{n}.conv.out_proj.weight"),
	RULE(SLOT_GATE, "layers.{n}.feed_forward.w1.weight"),
	RULE(SLOT_UP, "layers.{n}.feed_forward.w3.weight"),
	RULE(SLOT_DOWN, "layers.{n}.feed_forward.w2.weight"),
	RULE(SLOT_GATE, "layers.{n}.feed_forward.gate_proj.weight"),
	RULE(SLOT_UP, "layers.{n}.feed_forward.up_proj.weight"),
	RULE(SLOT_DOWN, "layers.{n}.feed_forward.down_proj.weight"),
	RULE(SLOT_ROUTER, "layers.{n}.feed_forward.gate.weight"),
	RULE(SLOT_CHOICE_BIAS, "layers.{n}.feed_forward.expert_bias"),
	EXPERTS_AT(RULE, "layers.{n}.feed_forward.experts.{e}.", "w1", "w3", "w2"),
	EXPERTS_AT(STACK, "layers.{n}.feed_forward.experts.", "w1", "w3", "w2"),
	EXPERTS_AT(STACK, "layers.{n}.feed_forward.switch_mlp.", "gate_proj", "up_proj",
		   "down_proj"),
	{ .slot = SLOT_COUNT }
};

#define QWEN (COMMON | QK_NORM | PART_BIT(PART_DELTA) | PART_BIT(PART_DELTA_SPLIT))
#define QWEN_EXPERTS (EXPERTS | DENSE | SHARED | PART_BIT(PART_SHARED_ROUTER))
#define LIKE_QWEN .ways = WAY_LATE_NORM | WAY_DELTA, .q_gated = true, .layers_differ = true, \
	.norm_add = 1, .rope_partial = true, .rms_eps = 1e-6f, .config = config_delta, \
	.metadata = metadata_delta
#define WITH_EXPERTS .experts = true, .routing.renormalize = true, .gguf_renormalize = true
#define LFM2 (COMMON | QK_NORM | PART_BIT(PART_CONV))
#define LIKE_LFM2 .names = lfm2_names, .layers_differ = true, .rms_eps = 1e-5f, .rope_theta = 1e6f, \
	.metadata = metadata_lfm2

const struct arch arch_rows_delta[] = {
	{ .name = "qwen3_5", .text_name = "qwen3_5_text",
	  .class_name = "Qwen3_5ForConditionalGeneration", .gguf_name = "qwen35",
	  .required = QWEN | DENSE, .optional = HEAD, LIKE_QWEN, .gguf_tiled = true,
	  .rope_theta = 1e7f },
	{ .name = "qwen3_5_moe", .text_name = "qwen3_5_moe_text",
	  .class_name = "Qwen3_5MoeForConditionalGeneration", .gguf_name = "qwen35moe",
	  .required = QWEN | QWEN_EXPERTS, .optional = HEAD, LIKE_QWEN, WITH_EXPERTS,
	  .gguf_tiled = true, .rope_theta = 1e7f },
	{ .name = "qwen3_next", .class_name = "Qwen3NextForCausalLM", .gguf_name = "qwen3next",
	  .required = QWEN | QWEN_EXPERTS, .optional = HEAD | PART_BIT(PART_DELTA_WHOLE), LIKE_QWEN,
	  WITH_EXPERTS, .rope_theta = 1e7f },
	{ .name = "lfm2", .class_name = "Lfm2ForCausalLM", .gguf_name = "lfm2",
	  .required = LFM2 | DENSE, .optional = HEAD, LIKE_LFM2,
	  .keys = KEYS("rms_norm_eps", "norm_eps"), .config = config_lfm2 },
	{ .name = "lfm2_moe", .class_name = "Lfm2MoeForCausalLM", .gguf_name = "lfm2moe",
	  .required = LFM2 | DENSE | EXPERTS, .optional = HEAD | PART_BIT(PART_CHOICE_BIAS), LIKE_LFM2,
	  .experts = true, .routing.score = SCORE_SIGMOID, .gguf_renormalize = true,
	  .keys = KEYS("rms_norm_eps", "norm_eps", "first_k_dense_replace", "num_dense_layers"),
	  .config = config_conv },
	{ .name = NULL }
};
