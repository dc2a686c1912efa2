/* hparams_gguf_rope.c - how a GGUF's metadata say that positions turn. */
#include "config.h"

#include "src/engine/hparams_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/store/model_meta.h"

#define TYPE_MAX 64

/* What yarn needs besides the factor.  Where a file has a multiplier of the logarithm, it is
 * not what was turned that is longer. */
static enum tb_status
meta_yarn(struct meta_reader *r)
{
	struct rope *rope = &r->hp->rope;
	double usual;
	enum tb_status status;

	rope->kind = ROPE_YARN;
	if (!(rope->factor >= 1))
		return meta_fail(r, TB_EFORMAT, ": yarn needs a factor of 1 or more");
	usual = meta_find(r, "rope.scaling.yarn_log_multiplier") ? 1 : 0.1 * log(rope->factor) + 1;
	if ((status = meta_real(r, "rope.scaling.yarn_beta_fast", 1e-6, 1e6, 32, &rope->high)) ||
	    (status = meta_real(r, "rope.scaling.yarn_beta_slow", 1e-6, 1e6, 1, &rope->low)))
		return status;
	return meta_real(r, "rope.scaling.yarn_attn_factor", 1e-3, 1e3, usual, &rope->magnitude);
}

/* Old files have scale_linear for the factor.  Factors of longrope are tensors. */
static enum tb_status
meta_scaling(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	const char *factor = meta_find(r, "rope.scaling.factor") ? "rope.scaling.factor"
								 : "rope.scale_linear";
	bool tensors = arch_has(hp->arch, PART_ROPE_LONG);
	const struct gguf_kv *kv = meta_find(r, "rope.scaling.type");
	double usual = 0;
	char *type = NULL;
	bool linear, none, yarn;
	enum tb_status status;

	if (kv && (status = gguf_string(kv, &r->mm->file, TYPE_MAX, &type, r->err)))
		return status;
	linear = !type || !strcmp(type, "linear");
	none = type && (!strcmp(type, "none") || (tensors && !strcmp(type, "longrope")));
	yarn = type && !strcmp(type, "yarn");
	status = linear || none || yarn ? TB_OK
		: tb_fail(r->err, TB_EUNSUP, "%.200s: key %s: \"%.40s\" cannot be run; none, linear"
			  " and yarn can", r->mm->file.path, r->key, type);
	free(type);
	if (status || none)
		return status;
	if (!kv && hp->arch->gguf_stretch > 0 && hp->context >= hp->arch->gguf_stretch_from)
		usual = hp->arch->gguf_stretch;
	if ((status = meta_real(r, factor, 0, 1e6, usual, &hp->rope.factor)))
		return status;
	if (yarn)
		return meta_yarn(r);
	if (hp->rope.factor > 0 && hp->rope.factor != 1)
		hp->rope.kind = ROPE_LINEAR;
	return TB_OK;
}

enum tb_status
meta_rope(struct meta_reader *r)
{
	struct hparams *hp = r->hp;
	bool tensors = arch_has(hp->arch, PART_ROPE_LONG);
	const char *base = meta_find(r, "rope.global.freq_base") ? "rope.global.freq_base"
								 : "rope.freq_base";
	const char *local = meta_find(r, "rope.local.freq_base") ? "rope.local.freq_base"
								 : "rope.freq_base_swa";
	enum tb_status status;

	hp->rope_pairs = hp->arch->gguf_pairs || hp->arch->pairs;
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
	return meta_scaling(r);
}
