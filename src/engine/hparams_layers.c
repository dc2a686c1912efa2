/* hparams_layers.c - what each layer is made of, and what follows for its tensors. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "src/base/mem.h"
#include "src/engine/hparams.h"

enum tb_status
hparams_layers(struct hparams *hp, struct tb_err *err)
{
	hp->layer = tb_calloc(hp->layers, sizeof(*hp->layer));
	if (!hp->layer)
		return tb_nomem(err);
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i] = (struct layer_shape){
			.mixer = MIX_ATTENTION,
			.ffn_kind = hp->arch->experts ? FFN_EXPERTS : FFN_DENSE,
			.heads = hp->heads, .kv_heads = hp->kv_heads, .head_dim = hp->head_dim,
			.value_dim = hp->head_dim, .ffn = hp->ffn, .turned = true, .kv_from = i,
		};
	return TB_OK;
}

void
hparams_set_windows(struct hparams *hp, uint32_t first, uint32_t period)
{
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].windowed = i >= first && (!period || (i + 1) % period);
}

bool
hparams_windowed(const struct hparams *hp, uint32_t layer)
{
	return hp->window && hp->layer[layer].windowed;
}

/* Of attention. */
static enum tb_status
check_heads(const struct hparams *hp, uint32_t layer, struct tb_err *err)
{
	const struct layer_shape *l = &hp->layer[layer];
	bool local = hp->rope_local.theta > 0 && hparams_windowed(hp, layer);
	const struct rope *rope = local ? &hp->rope_local : &hp->rope;
	uint32_t turn = rope->dims ? rope->dims : hp->rope_dims;

	if (!l->heads || !l->kv_heads || l->heads % l->kv_heads)
		return tb_fail(err, TB_EFORMAT, "num_attention_heads %" PRIu32
			       " is no multiple of num_key_value_heads %" PRIu32,
			       l->heads, l->kv_heads);
	if (!l->head_dim || l->head_dim % 2 || !l->value_dim)
		return tb_fail(err, TB_EFORMAT, "head_dim %" PRIu32 " is odd", l->head_dim);
	if ((uint64_t)l->heads * l->head_dim > HP_MAX_DIM ||
	    (uint64_t)l->heads * l->value_dim > HP_MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " heads of %" PRIu32 " are over %u",
			       l->heads, l->head_dim, HP_MAX_DIM);
	if (l->turned && (turn % 2 || turn > l->head_dim))
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " elements of a head cannot turn: it has %"
			       PRIu32, turn, l->head_dim);
	if (l->kv_from > layer || hp->layer[l->kv_from].kv_heads != l->kv_heads ||
	    hp->layer[l->kv_from].head_dim != l->head_dim)
		return tb_fail(err, TB_EFORMAT, "layer %" PRIu32 " cannot use the keys and values of "
			       "layer %" PRIu32, layer, l->kv_from);
	return TB_OK;
}

static enum tb_status
check_layer(const struct hparams *hp, uint32_t layer, struct tb_err *err)
{
	const struct layer_shape *l = &hp->layer[layer];
	bool heads = l->mixer == MIX_ATTENTION || l->mixer == MIX_MLA;
	enum tb_status status = heads ? check_heads(hp, layer, err) : TB_OK;

	if (status)
		return status;
	if (l->mixer != MIX_NONE && !arch_mixes(hp->arch, l->mixer))
		return tb_fail(err, TB_EUNSUP, "layer %" PRIu32 ": its kind cannot be run in %s", layer,
			       hp->arch->name);
	if (l->ffn_kind == FFN_DENSE && !arch_has(hp->arch, PART_DENSE))
		return tb_fail(err, TB_EUNSUP, "layer %" PRIu32 ": a layer without experts cannot be run"
			       " in %s", layer, hp->arch->name);
	if ((l->ffn_kind == FFN_DENSE || l->ffn_kind == FFN_BOTH) && (!l->ffn || l->ffn > HP_MAX_DIM))
		return tb_fail(err, TB_EFORMAT, "%s is missing",
			       arch_key(hp->arch, "intermediate_size"));
	if ((l->ffn_kind == FFN_EXPERTS || l->ffn_kind == FFN_BOTH) &&
	    !(hp->experts && hp->expert_ffn))
		return tb_fail(err, TB_EFORMAT, "%s is missing",
			       arch_key(hp->arch, hp->experts ? "moe_intermediate_size"
							      : "num_experts"));
	return TB_OK;
}

static enum tb_status
hparams_check(const struct hparams *hp, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (!hp->layers || hp->layers > HP_MAX_LAYERS)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " layers are not from 1 to %u",
			       hp->layers, HP_MAX_LAYERS);
	for (uint32_t i = 0; i < hp->layers && !status; i++)
		status = check_layer(hp, i, err);
	if (status)
		return status;
	if (hp->experts_used > hp->experts)
		return tb_fail(err, TB_EFORMAT, "num_experts_per_tok %" PRIu32
			       " is more than the %" PRIu32 " experts", hp->experts_used,
			       hp->experts);
	if (hp->routing.groups > 1 &&
	    (hp->routing.groups > HP_MAX_GROUPS || hp->experts % hp->routing.groups || hp->routing.groups_used > hp->routing.groups ||
	     hp->experts / hp->routing.groups * hp->routing.groups_used < hp->experts_used))
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " of %" PRIu32 " groups of %" PRIu32
			       " experts cannot be chosen", hp->routing.groups_used,
			       hp->routing.groups, hp->experts);
	if ((uint64_t)hp->experts * 2 * hp->expert_ffn > UINT32_MAX ||
	    (uint64_t)hp->experts * hp->dim > UINT32_MAX)
		return tb_fail(err, TB_EFORMAT, "%" PRIu32 " experts of %" PRIu32 " by %" PRIu32
			       " are too many", hp->experts, hp->expert_ffn, hp->dim);
	if (hp->shared_ffn > HP_MAX_DIM)
		return tb_fail(err, TB_EFORMAT, "a shared expert of %" PRIu32 " is over %u",
			       hp->shared_ffn, HP_MAX_DIM);
	return TB_OK;
}

enum tb_status
hparams_finish(struct hparams *hp, struct tb_err *err)
{
	float *const ones[] = { &hp->residual_scale, &hp->logit_scale, &hp->routing.scale,
				&hp->routing.both };

	hp->rope_dims = hp->rope_dims ? hp->rope_dims : hp->head_dim;
	if (!(hp->embed_scale > 0))
		hp->embed_scale = hp->arch->embed_scale ? sqrtf((float)hp->dim) : 1;
	if (!(hp->attn_scale > 0))
		hp->attn_scale = 1 / sqrtf((float)hp->head_dim);
	for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++)
		*ones[i] = *ones[i] > 0 ? *ones[i] : 1;
	return hparams_check(hp, err);
}

/* Of a norm of a layer's q or k. */
static uint32_t
norm_width(const struct hparams *hp, const struct layer_shape *l, uint32_t heads)
{
	return l->head_dim * (hp->arch->qk_norm_whole ? heads : 1);
}

uint32_t
hparams_dim(const struct hparams *hp, uint32_t layer, enum dim dim)
{
	const struct layer_shape *l = &hp->layer[layer];
	const struct delta_shape *d = &hp->delta;
	const struct mamba_shape *s = &hp->mamba;

	switch (dim) {
	case DIM_VOCAB: return hp->vocab;
	case DIM_MODEL: return hp->dim;
	case DIM_Q: return l->heads * l->head_dim;
	case DIM_Q_ROWS: return l->heads * l->head_dim * (hp->arch->q_gated ? 2 : 1);
	case DIM_K: return l->kv_heads * l->head_dim;
	case DIM_V: return l->kv_heads * l->value_dim;
	case DIM_O: return l->heads * l->value_dim;
	case DIM_Q_NORM: return norm_width(hp, l, l->heads);
	case DIM_K_NORM: return norm_width(hp, l, l->kv_heads);
	case DIM_PAIRS: return hp->rope_dims / 2;
	case DIM_FFN: return l->ffn;
	case DIM_EXPERTS: return hp->experts;
	case DIM_EXPERT_FFN: return hp->expert_ffn;
	case DIM_SHARED_FFN: return hp->shared_ffn;
	case DIM_ATTENTION_GATE: return l->heads * hp->gate_rows;
	case DIM_X_PAIRS: return 2 * hp->expert_ffn;
	case DIM_X_BIAS: return hp->experts * hp->expert_ffn;
	case DIM_X_PAIRS_BIAS: return hp->experts * 2 * hp->expert_ffn;
	case DIM_X_DOWN_BIAS: return hp->experts * hp->dim;
	case DIM_HEADS: return l->heads;
	case DIM_MLA_Q: return l->heads * (hp->mla.straight + hp->rope_dims);
	case DIM_MLA_Q_SHORT: return hp->mla.q_short;
	case DIM_MLA_KV: return hp->mla.kv;
	case DIM_MLA_KEY: return hp->mla.kv + hp->rope_dims;
	case DIM_MLA_STRAIGHT: return hp->mla.straight;
	case DIM_MLA_PAIRS: return l->heads * (hp->mla.straight + hp->mla.value);
	case DIM_MLA_K: return l->heads * hp->mla.kv;
	case DIM_MLA_V: return l->heads * hp->mla.value;
	case DIM_KERNEL: return hp->conv_kernel;
	case DIM_CONV_IN: return 3 * hp->dim;
	case DIM_DELTA_QKV: return 2 * d->k_heads * d->k_dim + d->v_heads * d->v_dim;
	case DIM_DELTA_V: return d->v_heads * d->v_dim;
	case DIM_DELTA_HEADS: return d->v_heads;
	case DIM_DELTA_VALUE: return d->v_dim;
	case DIM_DELTA_QKVZ: return 2 * (d->k_heads * d->k_dim + d->v_heads * d->v_dim);
	case DIM_DELTA_BA: return 2 * d->v_heads;
	case DIM_MAMBA_IN: return 2 * (s->inner + s->groups * s->state) + s->heads;
	case DIM_MAMBA_CONV: return s->inner + 2 * s->groups * s->state;
	case DIM_MAMBA_HEADS: return s->heads;
	case DIM_MAMBA_INNER: return s->inner;
	case DIM_MAMBA_GROUPS: return s->groups;
	case DIM_PL: return hp->per_layer;
	case DIM_PL_ALL: return hp->per_layer * hp->layers;
	case DIM_PL_VOCAB: return hp->per_layer_vocab;
	case DIM_ONE:
	case DIM_NONE: break;
	}
	return 1;
}

uint32_t
hparams_widest(const struct hparams *hp, enum dim d)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < hp->layers; i++) {
		uint32_t n = hparams_dim(hp, i, d);

		most = n > most ? n : most;
	}
	return most;
}

bool
hparams_idle(const struct hparams *hp, uint32_t layer, enum slot s)
{
	return slot_layered(s) && hp->layer[layer].kv_from != layer &&
	       (s == SLOT_K || s == SLOT_V || s == SLOT_K_NORM || s == SLOT_K_BIAS ||
		s == SLOT_V_BIAS);
}

bool
hparams_has(const struct hparams *hp, uint32_t layer, enum slot s)
{
	const struct layer_shape *l = &hp->layer[layer];
	enum arch_part p = slot_info(s)->part;

	if (!arch_has(hp->arch, p))
		return false;
	if (p == PART_PER_LAYER && !hp->per_layer)
		return false;
	if (!slot_layered(s))
		return true;
	if (hparams_idle(hp, layer, s) || (l->same && (s == SLOT_V || s == SLOT_V_BIAS)))
		return false;
	if (p == PART_SHARED || p == PART_SHARED_GATE || p == PART_SHARED_ROUTER)
		return hp->shared_ffn && l->ffn_kind == FFN_EXPERTS;
	if (p == PART_MLA_Q || p == PART_MLA_Q_SHORT)
		return l->mixer == MIX_MLA && (hp->mla.q_short > 0) == (p == PART_MLA_Q_SHORT);
	return part_in(p, l->mixer, l->ffn_kind);
}

bool
hparams_needs(const struct hparams *hp, uint32_t layer, enum slot s)
{
	enum arch_part p = slot_info(s)->part;

	return hparams_has(hp, layer, s) && (arch_needs(hp->arch, p) || hp->said & PART_BIT(p));
}
