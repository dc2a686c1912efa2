/* arch_mamba.c - architectures with state spaces between their layers of attention:
 * Nemotron-H, whose layers are a mixer or a feed-forward part alone, and Granite. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/engine/hparams_read.h"
#include "src/format/gguf.h"

/* Sizes of the state space against each other, before shapes are made of them. */
static enum tb_status
check_mamba(const struct hparams *hp, struct tb_err *err)
{
	const struct mamba_shape *s = &hp->mamba;
	uint64_t row = 2 * (uint64_t)s->inner + 2 * (uint64_t)s->groups * s->state + s->heads;

	if (!s->inner || s->inner % s->heads || s->heads % s->groups)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " elements of a state space are not %"
			       PRIu32 " heads in %" PRIu32 " groups", s->inner, s->heads, s->groups);
	if (row > HP_MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "a state space of %" PRIu64 " numbers a token is over "
			       "%u", row, HP_MAX_DIM);
	if ((uint64_t)s->inner * s->state > HP_MAX_STATE)
		return tb_fail(err, TB_EFORMAT, "a state space of %" PRIu32 " by %" PRIu32 " numbers is "
			       "over %u", s->inner, s->state, HP_MAX_STATE);
	return TB_OK;
}

/* What the length of a step is held between; null, or an object that means it: no end. */
static enum tb_status
config_step(const struct config_reader *r)
{
	const cJSON *limit = config_value(r->c, "time_step_limit"), *first = json_first(limit);
	double least = 0, most = HUGE_VAL;

	if (limit && (json_count(limit) != 2 || (json_f64(first, &least) && !(least >= 0)) ||
		      (json_f64(json_next(first), &most) && !(most >= least))))
		return tb_fail(r->err, TB_EFORMAT, "config.json: time_step_limit is not two numbers");
	r->hp->mamba.step_least = (float)least;
	r->hp->mamba.step_most = (float)most;
	return TB_OK;
}

static enum tb_status
config_mamba(const struct config_reader *r)
{
	struct mamba_shape *s = &r->hp->mamba;
	enum tb_status status;

	if ((status = config_count(r, "mamba_num_heads", HP_MAX_DIM, 0, &s->heads)) ||
	    (status = config_count(r, "ssm_state_size", HP_MAX_DIM, 0, &s->state)) ||
	    (status = config_count(r, "n_groups", HP_MAX_DIM, 1, &s->groups)) ||
	    (status = config_count(r, "conv_kernel", HP_MAX_KERNEL, 4, &r->hp->conv_kernel)))
		return status;
	return config_step(r);
}

static enum tb_status
metadata_mamba(struct meta_reader *r)
{
	struct mamba_shape *s = &r->hp->mamba;
	enum tb_status status;

	s->step_most = HUGE_VALF;
	if ((status = meta_number(r, "ssm.inner_size", HP_MAX_DIM, 0, &s->inner)) ||
	    (status = meta_number(r, "ssm.time_step_rank", HP_MAX_DIM, 0, &s->heads)) ||
	    (status = meta_number(r, "ssm.state_size", HP_MAX_DIM, 0, &s->state)) ||
	    (status = meta_number(r, "ssm.group_count", HP_MAX_DIM, 0, &s->groups)) ||
	    (status = meta_number(r, "ssm.conv_kernel", HP_MAX_KERNEL, 0, &r->hp->conv_kernel)))
		return status;
	return check_mamba(r->hp, r->err);
}

/* ---- Nemotron-H ---- */

/* By its letter in a pattern, or its name in a list. */
static bool
set_layer(struct layer_shape *l, const char *name, bool experts)
{
	l->turned = false;
	l->mixer = MIX_NONE;
	l->ffn_kind = FFN_NONE;
	if (!strcmp(name, "M") || !strcmp(name, "mamba"))
		l->mixer = MIX_MAMBA;
	else if (!strcmp(name, "*") || !strcmp(name, "attention"))
		l->mixer = MIX_ATTENTION;
	else if (!strcmp(name, "-") || !strcmp(name, "mlp"))
		l->ffn_kind = FFN_DENSE;
	else if (experts && (!strcmp(name, "E") || !strcmp(name, "moe")))
		l->ffn_kind = FFN_EXPERTS;
	else
		return false;
	return true;
}

static enum tb_status
config_nemotron_layers(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const char *letters = json_str(config_value(r->c, "hybrid_override_pattern"));
	const cJSON *list = config_value(r->c, "layers_block_type"), *v = json_first(list);
	size_t n = letters ? strlen(letters) : json_count(list);

	if (n != hp->layers)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is of %zu layers, not of %" PRIu32,
			       letters ? "hybrid_override_pattern" : "layers_block_type", n,
			       hp->layers);
	for (uint32_t i = 0; i < n; i++, v = json_next(v)) {
		char letter[2] = { letters ? letters[i] : '\0' };
		const char *name = letters ? letter : json_str(v);

		if (!name || !set_layer(&hp->layer[i], name, hp->experts > 0))
			return tb_fail(r->err, TB_EUNSUP, "config.json: a layer of type \"%.40s\" "
				       "cannot be run", name ? name : "(none)");
	}
	return TB_OK;
}

static enum tb_status
config_nemotron(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	uint32_t head_dim;
	enum tb_status status;

	if ((status = config_mamba(r)) ||
	    (status = config_count(r, "mamba_head_dim", HP_MAX_HEAD_DIM, 0, &head_dim)))
		return status;
	if (config_value(r->c, "moe_latent_size"))
		return tb_fail(r->err, TB_EUNSUP, "config.json: experts that see less than the whole "
			       "stream (moe_latent_size) cannot be run");
	hp->mamba.inner = (uint64_t)hp->mamba.heads * head_dim > HP_MAX_DIM ? 0
			  : hp->mamba.heads * head_dim;
	if ((status = check_mamba(hp, r->err)))
		return tb_wrap(r->err, status, "config.json");
	return config_nemotron_layers(r);
}

/* Layers with a feed-forward width are that alone; of the others those without keys have
 * state spaces. */
static enum tb_status
metadata_nemotron(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	enum tb_status status = metadata_mamba(r);

	for (uint32_t i = 0; i < hp->layers; i++) {
		struct layer_shape *l = &hp->layer[i];

		l->turned = false;
		l->mixer = l->ffn ? MIX_NONE : l->kv_heads ? MIX_ATTENTION : MIX_MAMBA;
		l->ffn_kind = !l->ffn ? FFN_NONE : hp->experts ? FFN_EXPERTS : FFN_DENSE;
	}
	return status || !meta_find(r, "moe_latent_size") ? status
	       : meta_fail(r, TB_EUNSUP, ": experts that see less than the whole stream cannot be run");
}

/* ---- Granite 4 ---- */

static enum tb_status
config_granite_hybrid(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const char *positions = json_str(config_value(r->c, "position_embedding_type"));
	double expand = 2;
	enum tb_status status;

	if ((status = config_mamba(r)) ||
	    (status = config_real(r, r->c, "mamba_expand", 1e-3, 1e3, &expand)))
		return status;
	hp->mamba.inner = (uint32_t)(expand * hp->dim + 0.5);
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].turned = positions && !strcmp(positions, "rope");
	if ((status = check_mamba(hp, r->err)))
		(void)tb_wrap(r->err, status, "config.json");
	return status;
}

static enum tb_status
metadata_granite_hybrid(struct meta_reader *r)
{
	const struct gguf_kv *turned = meta_find(r, "rope.scaling.finetuned");

	for (uint32_t i = 0; i < r->hp->layers; i++) {
		struct layer_shape *l = &r->hp->layer[i];

		l->turned = turned && turned->bits & 1;
		l->mixer = l->kv_heads ? MIX_ATTENTION : MIX_MAMBA;
	}
	return metadata_mamba(r);
}

/* ---- rows ---- */

static const struct slot_rule nemotron_names[] = {
	RULE(SLOT_EMBED, "backbone.embeddings.weight"),
	RULE(SLOT_OUTPUT_NORM, "backbone.norm_f.weight"),
	RULE(SLOT_ATTN_NORM, "backbone.layers.{n}.norm.weight"),
	RULE(SLOT_MAMBA_IN, "backbone.layers.{n}.mixer.in_proj.weight"),
	RULE(SLOT_MAMBA_CONV, "backbone.layers.{n}.mixer.conv1d.weight"),
	RULE(SLOT_MAMBA_CONV_BIAS, "backbone.layers.{n}.mixer.conv1d.bias"),
	{ SLOT_MAMBA_RATE, "backbone.layers.{n}.mixer.A_log", .log = true },
	RULE(SLOT_MAMBA_PASS, "backbone.layers.{n}.mixer.D"),
	RULE(SLOT_MAMBA_DT_BIAS, "backbone.layers.{n}.mixer.dt_bias"),
	RULE(SLOT_MAMBA_NORM, "backbone.layers.{n}.mixer.norm.weight"),
	RULE(SLOT_MAMBA_OUT, "backbone.layers.{n}.mixer.out_proj.weight"),
	RULE(SLOT_Q, "backbone.layers.{n}.mixer.q_proj.weight"),
	RULE(SLOT_K, "backbone.layers.{n}.mixer.k_proj.weight"),
	RULE(SLOT_V, "backbone.layers.{n}.mixer.v_proj.weight"),
	RULE(SLOT_O, "backbone.layers.{n}.mixer.o_proj.weight"),
	RULE(SLOT_UP, "backbone.layers.{n}.mixer.up_proj.weight"),
	RULE(SLOT_DOWN, "backbone.layers.{n}.mixer.down_proj.weight"),
	RULE(SLOT_ROUTER, "backbone.layers.{n}.mixer.gate.weight"),
	RULE(SLOT_CHOICE_BIAS, "backbone.layers.{n}.mixer.gate.e_score_correction_bias"),
	RULE(SLOT_X_UP, "backbone.layers.{n}.mixer.experts.{e}.up_proj.weight"),
	RULE(SLOT_X_DOWN, "backbone.layers.{n}.mixer.experts.{e}.down_proj.weight"),
	STACK(SLOT_X_UP, "backbone.layers.{n}.mixer.experts.up_proj.weight"),
	STACK(SLOT_X_DOWN, "backbone.layers.{n}.mixer.experts.down_proj.weight"),
	STACK(SLOT_X_UP, "backbone.layers.{n}.mixer.switch_mlp.fc1.weight"),
	STACK(SLOT_X_DOWN, "backbone.layers.{n}.mixer.switch_mlp.fc2.weight"),
	RULE(SLOT_S_UP, "backbone.layers.{n}.mixer.shared_experts.up_proj.weight"),
	RULE(SLOT_S_DOWN, "backbone.layers.{n}.mixer.shared_experts.down_proj.weight"),
	{ .slot = SLOT_COUNT }
};

#define MAMBA (PART_BIT(PART_MODEL) | PART_BIT(PART_ATTENTION) | PART_BIT(PART_MIXER_NORM) | \
	PART_BIT(PART_MAMBA))
#define MAMBA_OPTIONAL (HEAD | BIASES | PART_BIT(PART_MAMBA_CONV_BIAS))
#define LIKE_NEMOTRON .names = nemotron_names, .name = "nemotron_h", .class_name = "NemotronHForCausalLM", \
	.optional = MAMBA_OPTIONAL, .act = ACT_RELU2, .experts_key = "n_routed_experts", \
	.gguf_pairs = true, .layers_differ = true, .rms_eps = 1e-5f, .rope_theta = 10000, \
	.config = config_nemotron, .metadata = metadata_nemotron
#define NEMOTRON_KEYS "rms_norm_eps", "layer_norm_epsilon", "hidden_act", "mlp_hidden_act"
#define GRANITE (MAMBA | PART_BIT(PART_FFN_NORM))
#define LIKE_GRANITE .name = "granitemoehybrid", .class_name = "GraniteMoeHybridForCausalLM", \
	.gguf_name = "granitehybrid", .optional = MAMBA_OPTIONAL, \
	.experts_key = "num_local_experts", .gguf_pairs = true, .layers_differ = true, \
	.logit_divides = true, .rms_eps = 1e-5f, .rope_theta = 10000, \
	.config = config_granite_hybrid, \
	.metadata = metadata_granite_hybrid
#define GRANITE_KEYS "mamba_num_heads", "mamba_n_heads", "ssm_state_size", "mamba_d_state", \
	"n_groups", "mamba_n_groups", "conv_kernel", "mamba_d_conv"

const struct arch arch_rows_mamba[] = {
	{ LIKE_NEMOTRON, .gguf_name = "nemotron_h",
	  .required = MAMBA | PART_BIT(PART_DENSE), .keys = KEYS(NEMOTRON_KEYS) },
	{ LIKE_NEMOTRON, .gguf_name = "nemotron_h_moe",
	  .required = MAMBA | PART_BIT(PART_DENSE) | PART_BIT(PART_EXPERTS) |
		      PART_BIT(PART_CHOICE_BIAS) | PART_BIT(PART_SHARED),
	  .keys = KEYS(NEMOTRON_KEYS, "num_experts", "n_routed_experts",
		       "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
	  .experts = true, .routing.score = SCORE_SIGMOID },
	{ LIKE_GRANITE, .required = GRANITE | DENSE,
	  .keys = KEYS(GRANITE_KEYS, "intermediate_size", "shared_intermediate_size") },
	{ LIKE_GRANITE, .required = GRANITE | EXPERTS | SHARED,
	  .keys = KEYS(GRANITE_KEYS, "num_experts", "num_local_experts", "moe_intermediate_size",
		       "intermediate_size", "shared_expert_intermediate_size",
		       "shared_intermediate_size"),
	  .experts = true, .routing.score = SCORE_CHOSEN },
	{ .name = NULL }
};
