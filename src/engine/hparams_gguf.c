/* hparams_gguf.c - what the metadata of a GGUF file say about a model. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/format/gguf_array.h"
#include "src/store/model_meta.h"

#define ARCH_MAX 64
#define KEY_MAX 160

struct reader {
	const struct model_meta *mm;
	const char *arch;	/* what keys begin with */
	char key[KEY_MAX];	/* the last one asked for */
	struct tb_err *err;
};

static const struct gguf_kv *
find(struct reader *r, const char *key)
{
	snprintf(r->key, sizeof(r->key), "%s.%s", r->arch, key);
	return gguf_find(&r->mm->g, r->key);
}

static enum tb_status
missing(const struct reader *r)
{
	return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s is missing", r->mm->file.path, r->key);
}

/* The number that all elements are, one a layer. */
static enum tb_status
same_in_all(const struct reader *r, const struct gguf_kv *kv, uint64_t *out, bool *ok)
{
	struct gguf_array *a;
	struct gguf_item item;
	bool differ = false, first = true;
	enum tb_status status = gguf_array_open(&a, kv, &r->mm->file, r->err);

	*ok = true;
	if (status)
		return status;
	while (*ok && !differ && gguf_array_next(a, &item)) {
		uint64_t n;

		*ok = gguf_number_u64(kv->elem, item.bits, &n);
		differ = *ok && !first && n != *out;
		*out = n;
		first = false;
	}
	*ok &= !first;
	status = gguf_array_close(a);
	if (!status && differ)
		status = tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: differs from layer to layer, "
				 "which cannot be run", r->mm->file.path, r->key);
	return status;
}

/* fallback 0: the key must be there. */
static enum tb_status
number(struct reader *r, const char *key, uint32_t max, uint32_t fallback, uint32_t *out)
{
	const struct gguf_kv *kv = find(r, key);
	uint64_t n = 0;
	bool ok;
	enum tb_status status;

	*out = fallback;
	if (!kv)
		return fallback ? TB_OK : missing(r);
	if (kv->type != GGUF_ARRAY)
		ok = gguf_u64(kv, &n);
	else if ((status = same_in_all(r, kv, &n, &ok)))
		return status;
	if (!ok || n < 1 || n > max)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: is not a whole number from 1 to"
			       " %" PRIu32, r->mm->file.path, r->key, max);
	*out = (uint32_t)n;
	return TB_OK;
}

static enum tb_status
real(struct reader *r, const char *key, double min, double max, double fallback, double *out)
{
	const struct gguf_kv *kv = find(r, key);

	*out = fallback;
	if (kv && (!gguf_f64(kv, out) || !(*out >= min && *out <= max)))
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: is not a number from %g to %g",
			       r->mm->file.path, r->key, min, max);
	return TB_OK;
}

/* A number that is not known to the forward pass unless it changes nothing. */
static enum tb_status
only(struct reader *r, const char *key, double neutral)
{
	double x;
	enum tb_status status = real(r, key, -1e30, 1e30, neutral, &x);

	if (!status && x != neutral && x != 0)
		status = tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: %g cannot be run",
				 r->mm->file.path, r->key, x);
	return status;
}

static enum tb_status
read_arch(struct hparams *hp, struct reader *r, char **name)
{
	const struct gguf_kv *kv = gguf_find(&r->mm->g, "general.architecture");
	struct tb_buf list = TB_BUF(1024);
	uint64_t experts = 0;
	enum tb_status status;

	if (!kv)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key general.architecture is missing",
			       r->mm->file.path);
	if ((status = gguf_string(kv, &r->mm->file, ARCH_MAX, name, r->err)))
		return status;
	r->arch = *name;
	(void)gguf_u64(find(r, "expert_count"), &experts);
	hp->arch = arch_find_gguf(*name, experts > 0);
	if (!hp->arch) {
		arch_list(&list);
		status = tb_fail(r->err, TB_EUNSUP, "architecture \"%.80s\"%s cannot be run; "
				 "supported are %s", *name, experts ? " with experts" : "",
				 tb_buf_cstr(&list));
	} else {
		hparams_init(hp, hp->arch);
		hp->norm_add = 0;
	}
	tb_buf_free(&list);
	return status;
}

/* The embedding counts: some tokenizers know words that the model does not.  Then the
 * tokenizer; vocab_size is for files without one. */
static enum tb_status
read_vocab(struct hparams *hp, struct reader *r)
{
	const struct gguf_kv *kv = gguf_find(&r->mm->g, "tokenizer.ggml.tokens");
	const struct gguf *g = &r->mm->g;

	for (size_t i = 0; i < g->ntensors; i++) {
		const struct gguf_tensor *t = &g->tensors[i];

		if (strcmp(t->name, "token_embd.weight") || t->ne[1] < 1 ||
		    t->ne[1] > HP_MAX_VOCAB)
			continue;
		hp->vocab = (uint32_t)t->ne[1];
		return TB_OK;
	}
	if (!kv || kv->type != GGUF_ARRAY)
		return number(r, "vocab_size", HP_MAX_VOCAB, 0, &hp->vocab);
	if (kv->count < 1 || kv->count > HP_MAX_VOCAB)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: not 1 to %u tokens",
			       r->mm->file.path, kv->key, HP_MAX_VOCAB);
	hp->vocab = (uint32_t)kv->count;
	return TB_OK;
}

static enum tb_status
read_heads(struct hparams *hp, struct reader *r)
{
	uint32_t value;
	enum tb_status status;

	if ((status = number(r, "attention.head_count", HP_MAX_DIM, 0, &hp->heads)) ||
	    (status = number(r, "attention.head_count_kv", HP_MAX_DIM, hp->heads, &hp->kv_heads)))
		return status;
	if (hp->heads % hp->kv_heads)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: %" PRIu32 " heads are no "
			       "multiple of %" PRIu32, r->mm->file.path, r->key, hp->heads,
			       hp->kv_heads);
	if (!find(r, "attention.key_length") && hp->dim % hp->heads)
		return missing(r);
	if ((status = number(r, "attention.key_length", HP_MAX_HEAD_DIM, hp->dim / hp->heads,
			     &hp->head_dim)) ||
	    (status = number(r, "attention.value_length", HP_MAX_HEAD_DIM, hp->head_dim, &value)))
		return status;
	if (value != hp->head_dim)
		return tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: %" PRIu32 ", but keys have %"
			       PRIu32 ", which cannot be run", r->mm->file.path, r->key, value,
			       hp->head_dim);
	return TB_OK;
}

static enum tb_status
read_sizes(struct hparams *hp, struct reader *r)
{
	bool own = hp->arch->experts_key && find(r, "expert_feed_forward_length");
	enum tb_status status;

	if ((status = number(r, "embedding_length", HP_MAX_DIM, 0, &hp->dim)) ||
	    (status = number(r, "block_count", HP_MAX_LAYERS, 0, &hp->layers)) ||
	    (status = number(r, own ? "expert_feed_forward_length" : "feed_forward_length",
			     HP_MAX_DIM, 0, &hp->ffn)) ||
	    (status = number(r, "context_length", HP_MAX_CONTEXT, 0, &hp->context)) ||
	    (status = read_vocab(hp, r)))
		return status;
	return read_heads(hp, r);
}

static enum tb_status
read_experts(struct hparams *hp, struct reader *r)
{
	enum tb_status status;

	if (!hp->arch->experts_key)
		return TB_OK;
	hp->norm_topk = true;
	if ((status = number(r, "expert_count", HP_MAX_EXPERTS, 0, &hp->experts)) ||
	    (status = only(r, "expert_weights_scale", 1)) ||
	    (status = number(r, "expert_used_count", HP_MAX_EXPERTS, 0, &hp->experts_used)))
		return status;
	if (hp->experts_used > hp->experts)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: %" PRIu32 " are more than the "
			       "%" PRIu32 " experts", r->mm->file.path, r->key, hp->experts_used,
			       hp->experts);
	return TB_OK;
}

/* Old files have scale_linear for the factor.  Factors of longrope are tensors. */
static enum tb_status
read_scaling(struct hparams *hp, struct reader *r)
{
	const char *factor = find(r, "rope.scaling.factor") ? "rope.scaling.factor"
							    : "rope.scale_linear";
	bool tensors = hp->arch->optional & SLOT_BIT(SLOT_ROPE_LONG);
	const struct gguf_kv *kv = find(r, "rope.scaling.type");
	double usual = 0;
	char *type = NULL;
	bool linear, none;
	enum tb_status status;

	if (kv && (status = gguf_string(kv, &r->mm->file, ARCH_MAX, &type, r->err)))
		return status;
	linear = !type || !strcmp(type, "linear");
	none = type && (!strcmp(type, "none") || (tensors && !strcmp(type, "longrope")));
	status = linear || none ? TB_OK
		: tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: \"%.40s\" cannot be run; none and "
			  "linear can", r->mm->file.path, r->key, type);
	free(type);
	if (status || none)
		return status;
	if (!kv && hp->arch->gguf_stretch > 0 && hp->context >= hp->arch->gguf_stretch_from)
		usual = hp->arch->gguf_stretch;
	if ((status = real(r, factor, 0, 1e6, usual, &hp->rope.factor)))
		return status;
	if (hp->rope.factor > 0 && hp->rope.factor != 1)
		hp->rope.kind = ROPE_LINEAR;
	return TB_OK;
}

static enum tb_status
read_rope(struct hparams *hp, struct reader *r)
{
	bool tensors = hp->arch->optional & SLOT_BIT(SLOT_ROPE_LONG);
	const char *base = find(r, "rope.global.freq_base") ? "rope.global.freq_base"
							    : "rope.freq_base";
	const char *local = find(r, "rope.local.freq_base") ? "rope.local.freq_base"
							    : "rope.freq_base_swa";
	enum tb_status status;

	hp->rope_pairs = hp->arch->gguf_pairs;
	if ((status = real(r, base, 1, 1e12,
			   hp->arch->gguf_silent ? hp->arch->rope_theta : 10000,
			   &hp->rope.theta)) ||
	    (hp->rope_local.theta > 0 &&
	     (status = real(r, local, 1, 1e12, hp->rope_local.theta, &hp->rope_local.theta))) ||
	    (status = tensors ? real(r, "rope.scaling.attn_factor", 0, 1e3, 1,
				     &hp->rope.magnitude)
			      : only(r, "rope.scaling.attn_factor", 1)) ||
	    (status = real(r, "rope.scaling.original_context_length", 1, HP_MAX_CONTEXT,
			   hp->context, &hp->rope.original)) ||
	    (status = number(r, "rope.dimension_count", HP_MAX_HEAD_DIM, hp->head_dim,
			     &hp->rope_dims)))
		return status;
	if (hp->rope_dims != hp->head_dim && !hp->arch->rope_partial)
		return tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: %" PRIu32 " of %" PRIu32
			       " cannot be run", r->mm->file.path, r->key, hp->rope_dims,
			       hp->head_dim);
	return read_scaling(hp, r);
}

/* Which layers have the window: one flag a layer. */
static enum tb_status
read_flags(struct hparams *hp, struct reader *r, const struct gguf_kv *kv)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status = gguf_array_open(&a, kv, &r->mm->file, r->err);

	if (status)
		return status;
	for (uint32_t i = 0; i < hp->layers && gguf_array_next(a, &item); i++)
		hparams_set_window(hp, i, item.bits != 0);
	status = gguf_array_close(a);
	if (!status && (kv->count < hp->layers || kv->elem == GGUF_STRING))
		status = tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: not a flag for each of %"
				 PRIu32 " layers", r->mm->file.path, r->key, hp->layers);
	return status;
}

static enum tb_status
read_window(struct hparams *hp, struct reader *r)
{
	const struct gguf_kv *kv;
	uint32_t period = hp->arch->window_period;
	double window;
	enum tb_status status;

	if ((status = real(r, "attention.sliding_window", 0, HP_MAX_CONTEXT, hp->window, &window)))
		return status;
	hp->window = (uint32_t)window;
	kv = find(r, "attention.sliding_window_pattern");
	if (kv && kv->type == GGUF_ARRAY)
		return read_flags(hp, r, kv);
	if (period && (status = number(r, "attention.sliding_window_pattern", HP_MAX_LAYERS, period,
				       &period)))
		return status;
	hparams_set_windows(hp, 0, period);
	return TB_OK;
}

static enum tb_status
read_cap(struct reader *r, bool known, const char *key, float *out)
{
	double cap;
	enum tb_status status;

	if (!known)
		return only(r, key, 0);
	if ((status = real(r, key, 0, 1e6, *out, &cap)))
		return status;
	*out = (float)cap;
	return TB_OK;
}

static enum tb_status
read_rest(struct hparams *hp, struct reader *r)
{
	bool caps = hp->arch->softcaps;
	double eps;
	enum tb_status status;

	if ((status = read_cap(r, caps, "attn_logit_softcapping", &hp->attn_softcap)) ||
	    (status = read_cap(r, caps, "final_logit_softcapping", &hp->final_softcap)) ||
	    (status = real(r, "attention.layer_norm_rms_epsilon", 1e-30, 1, hp->rms_eps, &eps)))
		return status;
	if (!hp->arch->gguf_silent && !find(r, "attention.layer_norm_rms_epsilon"))
		return missing(r);
	hp->rms_eps = (float)eps;
	if (hp->arch->gguf_wide_layers == hp->layers)
		hp->attn_scale = 1 / sqrtf((float)(hp->dim / hp->heads));
	return TB_OK;
}

enum tb_status
hparams_gguf(struct hparams *hp, const struct model_meta *mm, struct tb_err *err)
{
	struct reader r = { .mm = mm, .err = err };
	char *name = NULL;
	enum tb_status status;

	*hp = (struct hparams){ 0 };
	if (!(status = read_arch(hp, &r, &name)) && !(status = read_sizes(hp, &r)) &&
	    !(status = read_experts(hp, &r)) && !(status = read_rope(hp, &r)) &&
	    !(status = read_window(hp, &r)) && !(status = read_rest(hp, &r)) &&
	    (status = hparams_finish(hp, err)))
		(void)tb_wrap(err, status, "%.200s", mm->file.path);
	free(name);
	if (status)
		hparams_free(hp);
	return status;
}
