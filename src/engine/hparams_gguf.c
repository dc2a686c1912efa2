/* hparams_gguf.c - what the metadata of a GGUF file say about a model. */
#include "config.h"

#include "src/engine/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/format/gguf_array.h"
#include "src/store/model_meta.h"

#define ARCH_MAX 64
#define KEY_MAX 160

struct meta_reader {
	const struct model_meta *mm;
	const char *arch;	/* what keys begin with */
	char key[KEY_MAX];	/* the last one asked for */
	struct tb_err *err;
};

static const struct gguf_kv *
meta_find(struct meta_reader *r, const char *key)
{
	snprintf(r->key, sizeof(r->key), "%s.%s", r->arch, key);
	return gguf_find(&r->mm->g, r->key);
}

/* What is wrong with the last key. */
__attribute__((format(printf, 3, 4))) static enum tb_status
meta_fail(const struct meta_reader *r, enum tb_status status, const char *fmt, ...)
{
	char what[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return tb_fail(r->err, status, "%.200s: key %s%s", r->mm->file.path, r->key, what);
}

/* The number that all elements are, one a layer. */
static enum tb_status
same_in_all(const struct meta_reader *r, const struct gguf_kv *kv, uint64_t *out, bool *ok)
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
		status = meta_fail(r, TB_EUNSUP, ": differs from layer to layer, which cannot be run");
	return status;
}

/* fallback 0: the key must be there. */
static enum tb_status
meta_number(struct meta_reader *r, const char *key, uint32_t max, uint32_t fallback, uint32_t *out)
{
	const struct gguf_kv *kv = meta_find(r, key);
	uint64_t n = 0;
	bool ok;
	enum tb_status status;

	*out = fallback;
	if (!kv)
		return fallback ? TB_OK : meta_fail(r, TB_EFORMAT, " is missing");
	if (kv->type != GGUF_ARRAY)
		ok = gguf_u64(kv, &n);
	else if ((status = same_in_all(r, kv, &n, &ok)))
		return status;
	if (!ok || n < 1 || n > max)
		return meta_fail(r, TB_EFORMAT, ": is not a whole number from 1 to %" PRIu32, max);
	*out = (uint32_t)n;
	return TB_OK;
}

static enum tb_status
meta_real(struct meta_reader *r, const char *key, double min, double max, double fallback,
	  double *out)
{
	const struct gguf_kv *kv = meta_find(r, key);

	*out = fallback;
	if (kv && (!gguf_f64(kv, out) || !(*out >= min && *out <= max)))
		return meta_fail(r, TB_EFORMAT, ": is not a number from %g to %g", min, max);
	return TB_OK;
}

/* A number that is not known to the forward pass unless it changes nothing. */
static enum tb_status
meta_only(struct meta_reader *r, const char *key, double neutral)
{
	double x;
	enum tb_status status = meta_real(r, key, -1e30, 1e30, neutral, &x);

	if (!status && x != neutral && x != 0)
		status = meta_fail(r, TB_EUNSUP, ": %g cannot be run", x);
	return status;
}

static enum tb_status
meta_arch(struct hparams *hp, struct meta_reader *r, char **name)
{
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
meta_vocab(struct hparams *hp, struct meta_reader *r)
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
		return meta_number(r, "vocab_size", HP_MAX_VOCAB, 0, &hp->vocab);
	if (kv->count < 1 || kv->count > HP_MAX_VOCAB)
		return tb_fail(r->err, TB_EFORMAT, "%.200s: key %s: not 1 to %u tokens",
			       r->mm->file.path, kv->key, HP_MAX_VOCAB);
	hp->vocab = (uint32_t)kv->count;
	return TB_OK;
}

static enum tb_status
meta_heads(struct hparams *hp, struct meta_reader *r)
{
	uint32_t value;
	enum tb_status status;

	if ((status = meta_number(r, "attention.head_count_kv", HP_MAX_DIM, hp->heads,
				  &hp->kv_heads)))
		return status;
	if (hp->heads % hp->kv_heads)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " heads are no multiple of %" PRIu32,
				 hp->heads, hp->kv_heads);
	if (!meta_find(r, "attention.key_length") && hp->dim % hp->heads)
		return meta_fail(r, TB_EFORMAT, " is missing");
	if ((status = meta_number(r, "attention.key_length", HP_MAX_HEAD_DIM, hp->dim / hp->heads,
				  &hp->head_dim)) ||
	    (status = meta_number(r, "attention.value_length", HP_MAX_HEAD_DIM, hp->head_dim,
				  &value)))
		return status;
	if (value != hp->head_dim)
		return meta_fail(r, TB_EUNSUP, ": %" PRIu32 ", but keys have %" PRIu32 ", which "
				 "cannot be run", value, hp->head_dim);
	return TB_OK;
}

static enum tb_status
meta_sizes(struct hparams *hp, struct meta_reader *r)
{
	const struct arch *a = hp->arch;
	enum tb_status status;

	for (const struct hparams_number *n = hparams_numbers; n->config; n++) {
		const char *key = n->gguf_experts && a->experts && meta_find(r, n->gguf_experts)
				  ? n->gguf_experts : n->gguf;

		if (key && (a->experts || !n->experts) &&
		    (status = meta_number(r, key, n->max, 0, hparams_field(hp, n))))
			return status;
	}
	if (hp->experts_used > hp->experts)
		return meta_fail(r, TB_EFORMAT, ": %" PRIu32 " are more than the %" PRIu32
				 " experts", hp->experts_used, hp->experts);
	if (a->experts && (status = meta_only(r, "expert_weights_scale", 1)))
		return status;
	hp->norm_topk |= a->experts;
	if ((status = meta_vocab(hp, r)))
		return status;
	return meta_heads(hp, r);
}

/* Old files have scale_linear for the factor.  Factors of longrope are tensors. */
static enum tb_status
meta_scaling(struct hparams *hp, struct meta_reader *r)
{
	const char *factor = meta_find(r, "rope.scaling.factor") ? "rope.scaling.factor"
								 : "rope.scale_linear";
	bool tensors = hp->arch->optional & SLOT_BIT(SLOT_ROPE_LONG);
	const struct gguf_kv *kv = meta_find(r, "rope.scaling.type");
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
	if ((status = meta_real(r, factor, 0, 1e6, usual, &hp->rope.factor)))
		return status;
	if (hp->rope.factor > 0 && hp->rope.factor != 1)
		hp->rope.kind = ROPE_LINEAR;
	return TB_OK;
}

static enum tb_status
meta_rope(struct hparams *hp, struct meta_reader *r)
{
	bool tensors = hp->arch->optional & SLOT_BIT(SLOT_ROPE_LONG);
	const char *base = meta_find(r, "rope.global.freq_base") ? "rope.global.freq_base"
								 : "rope.freq_base";
	const char *local = meta_find(r, "rope.local.freq_base") ? "rope.local.freq_base"
								 : "rope.freq_base_swa";
	enum tb_status status;

	hp->rope_pairs = hp->arch->gguf_pairs;
	if ((status = meta_real(r, base, 1, 1e12,
				hp->arch->gguf_silent ? hp->arch->rope_theta : 10000,
				&hp->rope.theta)) ||
	    (hp->rope_local.theta > 0 &&
	     (status = meta_real(r, local, 1, 1e12, hp->rope_local.theta, &hp->rope_local.theta))) ||
	    (status = tensors ? meta_real(r, "rope.scaling.attn_factor", 0, 1e3, 1,
					  &hp->rope.magnitude)
			      : meta_only(r, "rope.scaling.attn_factor", 1)) ||
	    (status = meta_real(r, "rope.scaling.original_context_length", 1, HP_MAX_CONTEXT,
				hp->context, &hp->rope.original)) ||
	    (status = meta_number(r, "rope.dimension_count", HP_MAX_HEAD_DIM, hp->head_dim,
				  &hp->rope_dims)))
		return status;
	if (hp->rope_dims != hp->head_dim && !hp->arch->rope_partial)
		return meta_fail(r, TB_EUNSUP, ": %" PRIu32 " of %" PRIu32 " cannot be run",
				 hp->rope_dims, hp->head_dim);
	return meta_scaling(hp, r);
}

static enum tb_status
meta_window(struct hparams *hp, struct meta_reader *r)
{
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
			hparams_set_window(hp, i, item.bits != 0);
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
meta_rest(struct hparams *hp, struct meta_reader *r)
{
	bool caps = hp->arch->softcaps;
	double eps;
	enum tb_status status;

	if ((status = meta_cap(r, caps, "attn_logit_softcapping", &hp->attn_softcap)) ||
	    (status = meta_cap(r, caps, "final_logit_softcapping", &hp->final_softcap)) ||
	    (status = meta_real(r, "attention.layer_norm_rms_epsilon", 1e-30, 1, hp->rms_eps, &eps)))
		return status;
	if (!hp->arch->gguf_silent && !meta_find(r, "attention.layer_norm_rms_epsilon"))
		return meta_fail(r, TB_EFORMAT, " is missing");
	hp->rms_eps = (float)eps;
	if (hp->arch->gguf_wide_layers == hp->layers)
		hp->attn_scale = 1 / sqrtf((float)(hp->dim / hp->heads));
	return TB_OK;
}

enum tb_status
hparams_gguf(struct hparams *hp, const struct model_meta *mm, struct tb_err *err)
{
	struct meta_reader r = { .mm = mm, .err = err };
	char *name = NULL;
	enum tb_status status;

	*hp = (struct hparams){ 0 };
	if (!(status = meta_arch(hp, &r, &name)) && !(status = meta_sizes(hp, &r)) &&
	    !(status = meta_rope(hp, &r)) &&
	    !(status = meta_window(hp, &r)) && !(status = meta_rest(hp, &r)) &&
	    (status = hparams_finish(hp, err)))
		(void)tb_wrap(err, status, "%.200s", mm->file.path);
	free(name);
	if (status)
		hparams_free(hp);
	return status;
}
