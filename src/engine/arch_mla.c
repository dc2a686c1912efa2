/* arch_mla.c - architectures with multi-head latent attention.  What files say of a
 * head is about keys and values that nobody keeps: see mla.c. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <inttypes.h>
#include <math.h>

#include "src/engine/hparams_read.h"

/* `stretch`: what config.json calls mscale_all_dim, over 10.  All scores grow with it. */
static void
mla_layers(struct hparams *hp, double stretch)
{
	const struct mla_shape *d = &hp->mla;
	double factor = hp->rope.kind == ROPE_YARN && hp->rope.factor > 1 ? hp->rope.factor : 1;
	double grown = 1 + stretch * log(factor);

	hp->attn_scale = (float)(grown * grown / sqrt((double)d->straight + hp->rope_dims));
	hp->rope_pairs = true;
	hp->kv_heads = 1;
	hp->head_dim = d->kv + hp->rope_dims;
	for (uint32_t i = 0; i < hp->layers; i++) {
		hp->layer[i].mixer = MIX_MLA;
		hp->layer[i].kv_heads = 1;
		hp->layer[i].head_dim = d->kv + hp->rope_dims;
		hp->layer[i].value_dim = d->kv;
	}
}

static enum tb_status
mla_config(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	struct mla_shape *d = &hp->mla;
	const cJSON *scaling = config_value(r->c, "rope_parameters");
	double all = 0;
	enum tb_status status;

	scaling = scaling ? scaling : config_value(r->c, "rope_scaling");
	if ((status = config_count(r, "kv_lora_rank", HP_MAX_HEAD_DIM, 0, &d->kv)) ||
	    (config_value(r->c, "q_lora_rank") &&
	     (status = config_count(r, "q_lora_rank", HP_MAX_DIM, 0, &d->q_short))) ||
	    (status = config_count(r, "qk_nope_head_dim", HP_MAX_HEAD_DIM, 0, &d->straight)) ||
	    (status = config_count(r, "qk_rope_head_dim", HP_MAX_HEAD_DIM, 0, &hp->rope_dims)) ||
	    (status = config_count(r, "v_head_dim", HP_MAX_HEAD_DIM, 0, &d->value)) ||
	    (status = config_real(r, scaling, "mscale_all_dim", 0, 1e3, &all)))
		return status;
	mla_layers(hp, all / 10);
	return TB_OK;
}

/* Files from before keys could be absorbed have head_count_kv heads of key_length, in
 * attn_kv_b; newer ones say how long the one key is, and a head's sizes beside it. */
static enum tb_status
mla_metadata(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	struct mla_shape *d = &hp->mla;
	bool newer = meta_find(r, "attention.key_length_mla");
	uint32_t key;
	double stretch;
	enum tb_status status;

	if ((status = meta_number(r, "attention.kv_lora_rank", HP_MAX_HEAD_DIM, 0, &d->kv)) ||
	    (meta_find(r, "attention.q_lora_rank") &&
	     (status = meta_number(r, "attention.q_lora_rank", HP_MAX_DIM, 0, &d->q_short))) ||
	    (status = meta_number(r, "rope.dimension_count", HP_MAX_HEAD_DIM, 0, &hp->rope_dims)) ||
	    (status = meta_number(r, newer ? "attention.value_length_mla" : "attention.value_length",
				  HP_MAX_HEAD_DIM, 0, &d->value)) ||
	    (status = meta_real(r, "rope.scaling.yarn_log_multiplier", 0, 1e3, 0, &stretch)) ||
	    (status = meta_number(r, newer ? "attention.key_length_mla" : "attention.key_length",
				  HP_MAX_HEAD_DIM, 0, &key)))
		return status;
	if (key <= hp->rope_dims)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " of %" PRIu32 " elements turn, which leaves none",
				 hp->rope_dims, key);
	d->straight = key - hp->rope_dims;
	mla_layers(hp, stretch);
	return TB_OK;
}

#define MLA (PART_BIT(PART_MODEL) | PRE_NORMS | PART_BIT(PART_MLA) | PART_BIT(PART_MLA_Q) | \
	PART_BIT(PART_MLA_Q_SHORT) | PART_BIT(PART_MLA_KV) | PART_BIT(PART_MLA_SPLIT))
/* The head's size is there for files that do not say it: another one is computed. */
#define LATENT .required = MLA | DENSE | EXPERTS | SHARED, .gguf_name = "deepseek2", \
	.experts = true, .layers_differ = true, .rope_partial = true, .head_dim = 64, \
	.keys = KEYS("num_experts", "n_routed_experts"), \
	.config = mla_config, .metadata = mla_metadata
/* Which experts are chosen is said by a bias, too.  A GGUF says itself how they are. */
#define OPTIONAL HEAD | PART_BIT(PART_CHOICE_BIAS)

const struct arch arch_rows_mla[] = {
	{ .name = "deepseek_v2", .class_name = "DeepseekV2ForCausalLM", LATENT, .optional = OPTIONAL,
	  .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "deepseek_v3", .class_name = "DeepseekV3ForCausalLM", LATENT, .optional = OPTIONAL,
	  .routing = { .score = SCORE_SIGMOID }, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "kimi_k2", .class_name = "DeepseekV3ForCausalLM", LATENT, .optional = OPTIONAL,
	  .routing = { .score = SCORE_SIGMOID }, .rms_eps = 1e-6f, .rope_theta = 10000 },
	{ .name = "glm4_moe_lite", .class_name = "Glm4MoeLiteForCausalLM", LATENT, .optional = OPTIONAL,
	  .routing = { .score = SCORE_SIGMOID }, .rms_eps = 1e-5f, .rope_theta = 1e6f },
	{ .name = NULL }
};
