/* hparams.c - what follows from a model's numbers, wherever they came from. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "src/store/model.h"
#include "src/store/model_meta.h"

#define CONFIG_MAX (4u << 20)

#define FIELD(name) .field = offsetof(struct hparams, name)
#define USUAL(name) .usual = offsetof(struct arch, name)
const struct hparams_number hparams_numbers[] = {
	{ "vocab_size", NULL, HP_MAX_VOCAB, FIELD(vocab), USUAL(vocab) },
	{ "hidden_size", "embedding_length", HP_MAX_DIM, FIELD(dim) },
	{ "num_hidden_layers", "block_count", HP_MAX_LAYERS, FIELD(layers) },
	{ "num_attention_heads", "attention.head_count", HP_MAX_DIM, FIELD(heads), USUAL(heads) },
	{ "intermediate_size", "feed_forward_length", HP_MAX_DIM, FIELD(ffn),
	  .gguf_experts = "expert_feed_forward_length" },
	{ "max_position_embeddings", "context_length", HP_MAX_CONTEXT, FIELD(context),
	  USUAL(context) },
	{ "num_experts", "expert_count", HP_MAX_EXPERTS, .experts = true, FIELD(experts) },
	{ "num_experts_per_tok", "expert_used_count", HP_MAX_EXPERTS, .experts = true,
	  FIELD(experts_used) },
	{ .config = NULL }
};

uint32_t *
hparams_field(struct hparams *hp, const struct hparams_number *n)
{
	return (uint32_t *)(void *)((char *)hp + n->field);
}

uint32_t
hparams_usual(const struct arch *a, const struct hparams_number *n)
{
	return n->usual ? *(const uint32_t *)(const void *)((const char *)a + n->usual) : 0;
}

void
hparams_init(struct hparams *hp, const struct arch *arch)
{
	*hp = (struct hparams){
		.arch = arch, .act = arch->act, .rms_eps = arch->rms_eps,
		.norm_topk = arch->norm_topk, .norm_add = arch->norm_add,
		.attn_softcap = arch->attn_softcap, .final_softcap = arch->final_softcap,
		.window = arch->window,
		.rope = { .theta = arch->rope_theta }, .rope_local = { .theta = arch->rope_local },
	};
}

void
hparams_free(struct hparams *hp)
{
	free(hp->rope.factors);
	free(hp->rope.long_factors);
	free(hp->rope_local.factors);
	free(hp->rope_local.long_factors);
	*hp = (struct hparams){ 0 };
}

void
hparams_set_window(struct hparams *hp, uint32_t layer, bool on)
{
	uint64_t bit = (uint64_t)1 << layer % 64;

	if (on)
		hp->windowed[layer / 64] |= bit;
	else
		hp->windowed[layer / 64] &= ~bit;
}

void
hparams_set_windows(struct hparams *hp, uint32_t first, uint32_t period)
{
	for (uint32_t i = 0; i < hp->layers; i++)
		hparams_set_window(hp, i, i >= first && (!period || (i + 1) % period));
}

bool
hparams_windowed(const struct hparams *hp, uint32_t layer)
{
	return hp->window && hp->windowed[layer / 64] >> layer % 64 & 1;
}

static enum tb_status
hparams_check(const struct hparams *hp, struct tb_err *err)
{
	if (!hp->heads || !hp->kv_heads || hp->heads % hp->kv_heads)
		return tb_fail(err, TB_EFORMAT, "num_attention_heads %" PRIu32
			       " is no multiple of num_key_value_heads %" PRIu32,
			       hp->heads, hp->kv_heads);
	if (!hp->layers || hp->layers > HP_MAX_LAYERS)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " layers are not from 1 to %u",
			       hp->layers, HP_MAX_LAYERS);
	if (!hp->head_dim || hp->head_dim % 2)
		return tb_fail(err, TB_EFORMAT, "head_dim %" PRIu32 " is odd", hp->head_dim);
	if ((uint64_t)hp->heads * hp->head_dim > HP_MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " heads of %" PRIu32 " are over %u",
			       hp->heads, hp->head_dim, HP_MAX_DIM);
	if (hp->rope_dims % 2 || hp->rope_dims > hp->head_dim)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " elements of a head cannot turn: it has %"
			       PRIu32, hp->rope_dims, hp->head_dim);
	if (hp->experts_used > hp->experts)
		return tb_fail(err, TB_EFORMAT, "num_experts_per_tok %" PRIu32
			       " is more than the %" PRIu32 " experts", hp->experts_used,
			       hp->experts);
	return TB_OK;
}

enum tb_status
hparams_finish(struct hparams *hp, struct tb_err *err)
{
	hp->rope_dims = hp->rope_dims ? hp->rope_dims : hp->head_dim;
	if (!(hp->embed_scale > 0))
		hp->embed_scale = hp->arch->embed_scale ? sqrtf((float)hp->dim) : 1;
	if (!(hp->attn_scale > 0))
		hp->attn_scale = 1 / sqrtf((float)hp->head_dim);
	return hparams_check(hp, err);
}

uint32_t
hparams_dim(const struct hparams *hp, enum dim d)
{
	switch (d) {
	case DIM_VOCAB: return hp->vocab;
	case DIM_MODEL: return hp->dim;
	case DIM_Q: return hp->heads * hp->head_dim;
	case DIM_KV: return hp->kv_heads * hp->head_dim;
	case DIM_HEAD: return hp->head_dim;
	case DIM_PAIRS: return hp->rope_dims / 2;
	case DIM_FFN: return hp->ffn;
	case DIM_EXPERTS: return hp->experts;
	case DIM_NONE: break;
	}
	return 1;
}

double
hparams_inv_freq(const struct hparams *hp, const struct rope *rope, uint32_t i, uint32_t context)
{
	double f = pow(rope->theta, -2.0 * i / hp->rope_dims);
	const float *factors = rope->long_factors && context > rope->original ? rope->long_factors
									      : rope->factors;

	if (rope->kind == ROPE_LINEAR)
		f /= rope->factor;
	if (rope->kind == ROPE_LLAMA3) {
		/* Long waves are slowed down by the factor, short ones kept, those between
		 * blended, by how often they turn within the original context. */
		double turns = rope->original * f / (2 * M_PI);
		double blend = (turns - rope->low) / (rope->high - rope->low);

		blend = blend < 0 ? 0 : blend > 1 ? 1 : blend;
		f *= blend + (1 - blend) / rope->factor;
	}
	return factors ? f / factors[i] : f;
}

enum tb_status
hparams_model(struct hparams *hp, const struct model *m, struct tb_err *err)
{
	struct model_meta mm;
	char *config;
	size_t len;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (!status) {
		status = hparams_gguf(hp, &mm, err);
		model_meta_close(&mm);
		return status;
	}
	if (status != TB_ENOENT || (status = model_read(m, "config.json", CONFIG_MAX, &config, &len,
							err)))
		return status;
	status = hparams_parse(hp, config, len, err);
	free(config);
	return status;
}
