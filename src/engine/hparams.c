/* hparams.c - what follows from a model's numbers, wherever they came from. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "src/base/text.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"

#define CONFIG_MAX (4u << 20)

#define FIELD(name) .field = offsetof(struct hparams, name), .each = HP_NOT_EACH
#define EACH(name) .field = offsetof(struct hparams, name), \
	.each = offsetof(struct layer_shape, name)
#define USUAL(name) .usual = offsetof(struct arch, name)
const struct hparams_number hparams_numbers[] = {
	{ "vocab_size", NULL, HP_MAX_VOCAB, FIELD(vocab), USUAL(vocab) },
	{ "hidden_size", "embedding_length", HP_MAX_DIM, FIELD(dim) },
	{ "num_hidden_layers", "block_count", HP_MAX_LAYERS, FIELD(layers) },
	{ "num_attention_heads", "attention.head_count", HP_MAX_DIM, EACH(heads), USUAL(heads) },
	{ "max_position_embeddings", "context_length", HP_MAX_CONTEXT, FIELD(context),
	  USUAL(context) },
	{ "num_experts", "expert_count", HP_MAX_EXPERTS, .experts = true, FIELD(experts) },
	{ "num_experts_per_tok", "expert_used_count", HP_MAX_USED, .experts = true,
	  FIELD(experts_used) },
	{ "intermediate_size", "feed_forward_length", HP_MAX_DIM, .optional = true, EACH(ffn) },
	{ "moe_intermediate_size", "expert_feed_forward_length", HP_MAX_DIM, .experts = true,
	  .optional = true, FIELD(expert_ffn) },
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
		.routing = arch->routing, .norm_add = arch->norm_add,
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
	free(hp->layer);
	*hp = (struct hparams){ 0 };
}

/* Which pair of `dims` / 2 turns so often within the original context. */
static double
yarn_pair(const struct rope *rope, uint32_t dims, double turns)
{
	return dims * log(rope->original / (2 * M_PI * turns)) / (2 * log(rope->theta));
}

/* How much of pair i's frequency is divided by the factor: that of long waves, none of short
 * ones. */
static double
yarn_ramp(const struct rope *rope, uint32_t dims, uint32_t i)
{
	double lo = yarn_pair(rope, dims, rope->high), hi = yarn_pair(rope, dims, rope->low);

	if (!rope->smooth) {
		lo = floor(lo);
		hi = ceil(hi);
	}
	lo = fmax(lo, 0);
	hi = fmin(hi, dims - 1);
	return fmin(fmax((i - lo) / fmax(hi - lo, 0.001), 0), 1);
}

double
hparams_inv_freq(const struct hparams *hp, const struct rope *rope, uint32_t i, uint32_t context)
{
	uint32_t dims = rope->dims ? rope->dims : hp->rope_dims;
	double f = pow(rope->theta, -2.0 * i / dims);
	const float *factors = rope->long_factors && context > rope->original ? rope->long_factors
									      : rope->factors;

	if (rope->kind == ROPE_LINEAR)
		f /= rope->factor;
	if (rope->kind == ROPE_YARN) {
		double ramp = yarn_ramp(rope, dims, i);

		f *= ramp / rope->factor + 1 - ramp;
	}
	if (rope->kind == ROPE_LLAMA3) {
		/* Long waves are slowed down by the factor, short ones kept, those between
		 * blended, by how often they turn within the original context. */
		double turns = rope->original * f / (2 * M_PI);
		double blend = (turns - rope->low) / (rope->high - rope->low);

		blend = blend < 0 ? 0 : blend > 1 ? 1 : blend;
		f *= blend + (1 - blend) / rope->factor;
	}
	if (rope->kind == ROPE_PROPORTIONAL && i >= (uint32_t)(rope->factor * dims / 2))
		f *= 1e-30;	/* as good as 0 at every position */
	return factors ? f / factors[i] : f;
}

bool
hparams_norms_whole(const struct model *m)
{
	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];

		if (t->ndim == 3 && t->dim[2] == 1 && t->dim[1] != 1 &&
		    tb_ends(t->name, ".linear_attn.conv1d.weight"))
			return true;
	}
	return false;
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
	if (!status && hparams_norms_whole(m))
		hp->norm_add = 0;
	free(config);
	return status;
}
