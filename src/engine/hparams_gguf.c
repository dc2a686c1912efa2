/* hparams_gguf.c - what the metadata of a GGUF file say about a model. */
#include "config.h"

#include "src/engine/hparams_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/gguf_array.h"
#include "src/store/model_meta.h"

#define ARCH_MAX 64

const struct gguf_kv *
meta_find(struct meta_reader *r, const char *key)
{
	snprintf(r->key, sizeof(r->key), "%s.%s", r->arch, key);
	return gguf_find(&r->mm->g, r->key);
}

enum tb_status
meta_fail(const struct meta_reader *r, enum tb_status status, const char *fmt, ...)
{
	char what[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return tb_fail(r->err, status, "%.200s: key %s%s", r->mm->file.path, r->key, what);
}

/* What a list of numbers is. */
struct list {
	uint64_t largest, count;
	bool same, ok;		/* all of them; numbers up to 32 bits */
};

/* Those of the first layers go to `each` in their shapes, unless it is HP_NOT_EACH. */
static enum tb_status
read_each_layer(const struct meta_reader *r, const struct gguf_kv *kv, size_t each,
		struct list *out)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status = gguf_array_open(&a, kv, &r->mm->file, r->err);
	uint64_t n;

	*out = (struct list){ .same = true, .ok = true };
	if (status)
		return status;
	for (; out->ok && gguf_array_next(a, &item); out->count++) {
		out->ok = gguf_number_u64(kv->elem, item.bits, &n) && n <= UINT32_MAX;
		out->same &= !out->count || n == out->largest;
		out->largest = n > out->largest ? n : out->largest;
		if (out->ok && each != HP_NOT_EACH && out->count < r->hp->layers)
			*(uint32_t *)(void *)((char *)&r->hp->layer[out->count] + each) = (uint32_t)n;
	}
	out->ok &= out->count > 0;
	return gguf_array_close(a);
}

/* `differ`: of a list that says another number for some layers the largest; else such a list
 * is an error. */
static enum tb_status
find_number(struct meta_reader *r, const char *key, uint32_t max, uint32_t fallback, bool differ,
	    uint32_t *out)
{
	const struct gguf_kv *kv = meta_find(r, key);
	struct list list = { .ok = true };
	enum tb_status status = TB_OK;

	*out = fallback;
	if (!kv)
		return fallback ? TB_OK : meta_fail(r, TB_EFORMAT, " is missing");
	if (kv->type != GGUF_ARRAY)
		list.ok = gguf_u64(kv, &list.largest);
	else if ((status = read_each_layer(r, kv, HP_NOT_EACH, &list)))
		return status;
	if (!list.ok || list.largest < 1 || list.largest > max)
		return meta_fail(r, TB_EFORMAT, ": is not a whole number from 1 to %" PRIu32, max);
	if (kv->type == GGUF_ARRAY && !list.same && !differ)
		return meta_fail(r, TB_EUNSUP, ": numbers that differ among layers cannot be run");
	*out = (uint32_t)list.largest;
	return TB_OK;
}

enum tb_status
meta_number(struct meta_reader *r, const char *key, uint32_t max, uint32_t fallback, uint32_t *out)
{
	return find_number(r, key, max, fallback, false, out);
}

enum tb_status
meta_none(struct meta_reader *r, const char *key, uint32_t max, uint32_t *out)
{
	const struct gguf_kv *kv = meta_find(r, key);
	uint64_t n = 0;

	if (kv && (!gguf_u64(kv, &n) || n > max))
		return meta_fail(r, TB_EFORMAT, ": is not a whole number from 0 to %" PRIu32, max);
	*out = (uint32_t)n;
	return TB_OK;
}

/* A number for each layer, or one for all of them, at `offset` in struct layer_shape; 0 may be
 * among them.  Not there: left as it is. */
static enum tb_status
meta_each(struct meta_reader *r, const char *key, uint32_t max, size_t offset)
{
	const struct gguf_kv *kv = meta_find(r, key);
	struct list list;
	uint32_t all;
	enum tb_status status;

	if (!kv)
		return TB_OK;
	if (kv->type == GGUF_ARRAY) {
		if ((status = read_each_layer(r, kv, offset, &list)))
			return status;
		if (!list.ok || list.largest > max)
			return meta_fail(r, TB_EFORMAT, ": is not a list of whole numbers up to %"
					 PRIu32, max);
		if (list.count >= r->hp->layers)
			return TB_OK;
		if (!list.same)
			return meta_fail(r, TB_EFORMAT, ": not a number for each of %" PRIu32
					 " layers", r->hp->layers);
	}
	if ((status = find_number(r, key, max, 0, true, &all)))
		return status;
	for (uint32_t i = 0; i < r->hp->layers; i++)
		*(uint32_t *)(void *)((char *)&r->hp->layer[i] + offset) = all;
	return TB_OK;
}

uint32_t
meta_rows(const struct meta_reader *r, const char *name)
{
	const struct gguf *g = &r->mm->g;

	for (size_t i = 0; i < g->ntensors; i++)
		if (tb_glob(name, g->tensors[i].name))
			return g->tensors[i].ne[1] <= HP_MAX_VOCAB ? (uint32_t)g->tensors[i].ne[1] : 0;
	return 0;
}

enum tb_status
meta_real(struct meta_reader *r, const char *key, double min, double max, double fallback,
	  double *out)
{
	const struct gguf_kv *kv = meta_find(r, key);

	*out = fallback;
	if (kv && (!gguf_f64(kv, out) || !(*out >= min && *out <= max)))
		return meta_fail(r, TB_EFORMAT, ": is not a number from %g to %g", min, max);
	return TB_OK;
}

enum tb_status
meta_only(struct meta_reader *r, const char *key, double neutral)
{
	double x;
	enum tb_status status = meta_real(r, key, -1e30, 1e30, neutral, &x);

	if (!status && x != neutral && x != 0)
		status = meta_fail(r, TB_EUNSUP, ": %g cannot be run", x);
	return status;
}

static enum tb_status
meta_arch(struct meta_reader *r, char **name)
{
	struct hparams *hp = r->hp;
	const struct gguf_kv *kv = gguf_find(&r->mm->g, "general.architecture");
	uint64_t experts = 0;
	enum tb_status status;

	if (!kv)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key general.architecture is missing",
			       r->mm->file.path);
	if ((status = gguf_string(kv, &r->mm->file, ARCH_MAX, name, r->err)))
		return status;
	r->arch = *name;
	(void)gguf_u64(meta_find(r, "expert_count"), &experts);
	hp->arch = arch_find_gguf(*name, experts > 0);
	if (!hp->arch)
		return arch_unknown(*name, experts ? " with experts" : "", r->err);
	hparams_init(hp, hp->arch);
	hp->norm_add = 0;
	return TB_OK;
}

/* The embedding counts: some tokenizers know words that the model does not.  Then the
 * tokenizer; vocab_size is for files without one. */
static enum tb_status
meta_vocab(struct meta_reader *r)
{
	const struct gguf_kv *kv = gguf_find(&r->mm->g, "tokenizer.ggml.tokens");
	struct hparams *hp = r->hp;

	if ((hp->vocab = meta_rows(r, "token_embd.weight")))
		return TB_OK;
	if (!kv || kv->type != GGUF_ARRAY)
		return meta_number(r, "vocab_size", HP_MAX_VOCAB, 0, &hp->vocab);
	if (kv->count < 1 || kv->count > HP_MAX_VOCAB)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: not 1 to %u tokens",
			       r->mm->file.path, kv->key, HP_MAX_VOCAB);
	hp->vocab = (uint32_t)kv->count;
	return TB_OK;
}

static enum tb_status
meta_heads(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	uint32_t value;
	enum tb_status status;

	if ((status = find_number(r, "attention.head_count_kv", HP_MAX_DIM, hp->heads, true,
				  &hp->kv_heads)))
		return status;
	if (hp->heads % hp->kv_heads && !hp->arch->layers_differ)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " heads are no multiple of %" PRIu32,
				 hp->heads, hp->kv_heads);
	if (!meta_find(r, "attention.key_length") && hp->dim % hp->heads)
		return meta_fail(r, TB_EFORMAT, " is missing");
	if ((status = meta_number(r, "attention.key_length", HP_MAX_HEAD_DIM, hp->dim / hp->heads,
				  &hp->head_dim)) ||
	    (status = meta_number(r, "attention.value_length", HP_MAX_HEAD_DIM, hp->head_dim,
				  &value)))
		return status;
	if (value != hp->head_dim && !hp->arch->layers_differ)
		return meta_fail(r, TB_EUNSUP, ": %" PRIu32 ", but keys have %" PRIu32 ", which "
				 "cannot be run", value, hp->head_dim);
	return TB_OK;
}

/* The last ones of block_count. */
static enum tb_status
meta_draft(struct meta_reader *r)
{
	const struct gguf_kv *kv = meta_find(r, "nextn_predict_layers");
	uint64_t n = 0;

	if (kv && (!gguf_u64(kv, &n) || n >= r->hp->layers))
		return meta_fail(r, TB_EFORMAT, ": not fewer than the %" PRIu32 " layers",
				 r->hp->layers);
	r->hp->draft_layers = (uint32_t)n;
	r->hp->layers -= (uint32_t)n;
	return TB_OK;
}

static enum tb_status
meta_sizes(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	const struct arch *a = hp->arch;
	enum tb_status status;

	for (const struct hparams_number *n = hparams_numbers; n->config; n++) {
		bool may_lack = n->optional && (a->experts || a->layers_differ) &&
				!meta_find(r, n->gguf);

		if (n->gguf && (a->experts || !n->experts) && !may_lack &&
		    (status = find_number(r, n->gguf, n->max, 0, n->each != HP_NOT_EACH,
					  hparams_field(hp, n))))
			return status;
	}
	if ((status = meta_draft(r)))
		return status;
	if (a->experts && !hp->expert_ffn && !(hp->expert_ffn = hp->ffn))
		return meta_fail(r, TB_EFORMAT, " is missing");
	if ((status = meta_vocab(r)) || (status = meta_heads(r)) ||
	    (status = hparams_layers(hp, r->err)))
		return status;
	for (const struct hparams_number *n = hparams_numbers; n->config; n++)
		if (n->each != HP_NOT_EACH && (status = meta_each(r, n->gguf, n->max, n->each)))
			return status;
	return meta_each(r, "attention.head_count_kv", HP_MAX_DIM,
			 offsetof(struct layer_shape, kv_heads));
}

static enum tb_status
meta_experts(struct meta_reader *r)
{
	static const enum router_score scores[] = { SCORE_SOFTMAX, SCORE_SOFTMAX, SCORE_SIGMOID,
						    SCORE_CHOSEN };
	struct hparams *hp = r->hp;
	struct routing *to = &hp->routing;
	const struct gguf_kv *norm = meta_find(r, "expert_weights_norm");
	uint32_t dense, func;
	double scale;
	enum tb_status status;

	if (hp->experts_used > hp->experts)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " are more than the %" PRIu32
				 " experts", hp->experts_used, hp->experts);
	to->renormalize = norm ? norm->bits & 1 : hp->arch->gguf_renormalize;
	if ((status = meta_none(r, "expert_gating_func", UINT32_MAX, &func)))
		return status;
	if (func >= sizeof(scores) / sizeof(*scores))
		return meta_fail(r, TB_EUNSUP, ": %" PRIu32 " cannot be run", func);
	if (func)
		to->score = scores[func];
	if ((status = meta_none(r, "leading_dense_block_count", UINT32_MAX, &dense)))
		return status;
	for (uint32_t i = 0; i < hp->layers && i < dense; i++)
		hp->layer[i].ffn_kind = FFN_DENSE;
	if (arch_has(hp->arch, PART_SHARED))
		hp->shared_ffn = meta_rows(r, "blk.*.ffn_up_shexp.weight");
	if ((status = meta_real(r, "expert_weights_scale", 0, 1e6, (double)to->scale, &scale)) ||
	    (status = meta_number(r, "expert_group_count", HP_MAX_EXPERTS, 1, &to->groups)))
		return status;
	to->scale = (float)scale;
	return meta_number(r, "expert_group_used_count", HP_MAX_EXPERTS, to->groups, &to->groups_used);
}

static enum tb_status
meta_window(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	const struct gguf_kv *kv;
	struct gguf_array *a;
	struct gguf_item item;
	uint32_t period = hp->arch->window_period;
	double window;
	enum tb_status status;

	if ((status = meta_real(r, "attention.sliding_window", 0, HP_MAX_CONTEXT, hp->window,
				&window)))
		return status;
	hp->window = (uint32_t)window;
	kv = meta_find(r, "attention.sliding_window_pattern");
	if (kv && kv->type == GGUF_ARRAY) {	/* a flag for each layer */
		if ((status = gguf_array_open(&a, kv, &r->mm->file, r->err)))
			return status;
		for (uint32_t i = 0; i < hp->layers && gguf_array_next(a, &item); i++)
			hp->layer[i].windowed = item.bits != 0;
		status = gguf_array_close(a);
		if (!status && (kv->count < hp->layers || kv->elem == GGUF_STRING))
			status = meta_fail(r, TB_EFORMAT, ": not a flag for each of %" PRIu32
					   " layers", hp->layers);
		return status;
	}
	if (period && (status = meta_number(r, "attention.sliding_window_pattern", HP_MAX_LAYERS,
					    period, &period)))
		return status;
	hparams_set_windows(hp, 0, period);
	return TB_OK;
}

static enum tb_status
meta_cap(struct meta_reader *r, bool known, const char *key, float *out)
{
	double cap;
	enum tb_status status;

	if (!known)
		return meta_only(r, key, 0);
	if ((status = meta_real(r, key, 0, 1e6, *out, &cap)))
		return status;
	*out = (float)cap;
	return TB_OK;
}

static enum tb_status
meta_norm(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	const char *key = "attention.layer_norm_rms_epsilon";
	double eps;
	enum tb_status status;

	hp->centered = hp->arch->centered && !meta_find(r, key);
	if (hp->centered)
		key = "attention.layer_norm_epsilon";
	if ((status = meta_real(r, key, 1e-30, 1, (double)hp->rms_eps, &eps)))
		return status;
	if (!hp->arch->gguf_silent && !meta_find(r, key))
		return meta_fail(r, TB_EFORMAT, " is missing");
	hp->rms_eps = (float)eps;
	return TB_OK;
}

/* Numbers that multiply. */
static enum tb_status
meta_scales(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	const struct { const char *key; float *to; } scales[] = {
		{ "embedding_scale", &hp->embed_scale }, { "attention.scale", &hp->attn_scale },
		{ "residual_scale", &hp->residual_scale }, { "logit_scale", &hp->logit_scale },
	};
	enum tb_status status;
	double x;

	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++) {
		if ((status = meta_real(r, scales[i].key, 0, 1e6, (double)*scales[i].to, &x)))
			return status;
		*scales[i].to = (float)x;
	}
	if (hp->arch->logit_divides && hp->logit_scale > 0)
		hp->logit_scale = 1 / hp->logit_scale;
	hp->q_growth_from = hp->rope.original;
	return meta_real(r, "attention.temperature_scale", 0, 1e3, 0, &hp->q_growth);
}

static enum tb_status
meta_rest(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	bool caps = hp->arch->softcaps;
	enum tb_status status;

	if ((status = meta_cap(r, caps, "attn_logit_softcapping", &hp->attn_softcap)) ||
	    (status = meta_cap(r, caps, "final_logit_softcapping", &hp->final_softcap)) ||
	    (status = meta_norm(r)) || (status = meta_scales(r)))
		return status;
	if (hp->arch->gguf_wide_layers == hp->layers)
		hp->attn_scale = 1 / sqrtf((float)(hp->dim / hp->heads));
	return hp->arch->metadata ? hp->arch->metadata(r) : TB_OK;
}

enum tb_status
hparams_gguf(struct hparams *hp, const struct model_meta *mm, struct tb_err *err)
{
	struct meta_reader r = { .hp = hp, .mm = mm, .err = err };
	char *name = NULL;
	enum tb_status status;

	*hp = (struct hparams){ 0 };
	if (!(status = meta_arch(&r, &name)) && !(status = meta_sizes(&r)) &&
	    !(status = hp->arch->experts ? meta_experts(&r) : TB_OK) &&
	    !(status = meta_rope(&r)) && !(status = meta_window(&r)) &&
	    !(status = meta_rest(&r)) && (status = hparams_finish(hp, err)))
		(void)tb_wrap(err, status, "%.200s", mm->file.path);
	free(name);
	if (status)
		hparams_free(hp);
	return status;
}
