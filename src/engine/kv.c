#include "config.h"

#include "src/engine/kv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/hparams.h"
#include "src/engine/vec.h"

enum tb_status
kv_init(struct kv *kv, const struct hparams *hp, uint32_t context, struct tb_err *err)
{
	const struct rope *rope[KV_ROPES] = { &hp->rope, &hp->rope_local };

	*kv = (struct kv){
		.layers = hp->layers, .heads = hp->kv_heads, .head_dim = hp->head_dim,
		.context = context, .max_steps = (context + KV_STEP - 1) / KV_STEP,
		.ropes = hp->rope_local.theta > 0 ? KV_ROPES : 1,
	};
	for (size_t i = 0; i < KV_ROPES; i++) {
		kv->half[i] = (rope[i]->dims ? rope[i]->dims : hp->rope_dims) / 2;
		kv->widest = kv->half[i] > kv->widest ? kv->half[i] : kv->widest;
	}
	kv->step = tb_calloc(kv->max_steps, sizeof(*kv->step));
	kv->angles = tb_calloc(kv->max_steps, sizeof(*kv->angles));
	kv->inv_freq = tb_calloc(kv->ropes * kv->widest, sizeof(*kv->inv_freq));
	if (!kv->step || !kv->angles || !kv->inv_freq) {
		kv_free(kv);
		return tb_nomem(err);
	}
	for (uint32_t i = 0; i < kv->ropes * kv->widest; i++) {
		size_t which = i / kv->widest;
		const struct rope *r = rope[which];
		uint32_t pair = i % (uint32_t)kv->widest;
		double f = kv->inv_freq[i] = pair < kv->half[which]
					     ? hparams_inv_freq(hp, r, pair, context) : 1;

		kv->magnitude[which] = r->magnitude > 0 ? r->magnitude : 1;
		if (f > 0 && f <= 1e6)
			continue;
		/* Factors may come from a tensor, which nobody has looked into. */
		kv_free(kv);
		return tb_fail(err, TB_EFORMAT, "positions cannot turn pair %" PRIu32 " of a head by"
			       " %g: the factors of frequencies may be damaged", pair, f);
	}
	return TB_OK;
}

void
kv_free(struct kv *kv)
{
	for (size_t i = 0; i < kv->nsteps; i++) {
		free(kv->step[i]);
		free(kv->angles[i]);
	}
	free(kv->step);
	free(kv->angles);
	free(kv->inv_freq);
	*kv = (struct kv){ 0 };
}

static size_t
plane(const struct kv *kv)
{
	return (size_t)KV_STEP * kv->head_dim;
}

size_t
kv_step_bytes(const struct kv *kv, size_t step)
{
	(void)step;
	return 2 * (size_t)kv->layers * kv->heads * plane(kv) * sizeof(float);
}

uint64_t
kv_bytes(const struct hparams *hp, uint32_t n)
{
	uint64_t steps = ((uint64_t)n + KV_STEP - 1) / KV_STEP;
	uint64_t planes = 2 * (uint64_t)hp->layers * hp->kv_heads;
	uint32_t turn = hp->rope.dims ? hp->rope.dims : hp->rope_dims;
	uint32_t local = hp->rope_local.dims ? hp->rope_local.dims : hp->rope_dims;
	uint64_t angles = (uint64_t)(hp->rope_local.theta > 0 ? KV_ROPES : 1) *
			  (turn > local ? turn : local);

	return steps * KV_STEP * (planes * hp->head_dim + angles) * sizeof(float);
}

/* In double: a float angle of position 100 000 is off by 0.004. */
static float *
make_angles(const struct kv *kv, size_t step)
{
	float *angles = tb_calloc(kv->ropes * KV_STEP * 2 * kv->widest, sizeof(float));

	for (size_t row = 0; angles && row < kv->ropes * KV_STEP; row++) {
		size_t rope = row / KV_STEP, pos = step * KV_STEP + row % KV_STEP;
		float *out = angles + row * 2 * kv->widest;

		for (size_t i = 0; i < kv->half[rope]; i++) {
			double a = (double)pos * kv->inv_freq[rope * kv->widest + i];

			out[i] = (float)(cos(a) * kv->magnitude[rope]);
			out[kv->half[rope] + i] = (float)(sin(a) * kv->magnitude[rope]);
		}
	}
	return angles;
}

enum tb_status
kv_reserve(struct kv *kv, uint32_t n, struct tb_err *err)
{
	size_t planes = 2 * (size_t)kv->layers * kv->heads;

	while (kv->nsteps * KV_STEP < n) {
		float *step = tb_calloc(planes * plane(kv) + VEC_SLACK, sizeof(float));
		float *angles = make_angles(kv, kv->nsteps);

		if (!step || !angles) {
			free(step);
			free(angles);
			return tb_fail(err, TB_ENOMEM, "no memory for the keys and values of %"
				       PRIu32 " tokens (%zu MB)", n,
				       planes * plane(kv) / (1000000 / sizeof(float)) *
				       (kv->nsteps + 1));
		}
		kv->step[kv->nsteps] = step;
		kv->angles[kv->nsteps++] = angles;
	}
	return TB_OK;
}

static float *
head_at(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	return kv->step[step] + 2 * ((size_t)layer * kv->heads + head) * plane(kv);
}

void
kv_store(struct kv *kv, uint32_t layer, uint32_t pos, const float *k, const float *v)
{
	size_t in_step = pos % KV_STEP;

	for (uint32_t h = 0; h < kv->heads; h++, k += kv->head_dim, v += kv->head_dim) {
		float *keys = head_at(kv, layer, h, pos / KV_STEP);

		for (size_t i = 0; i < kv->head_dim; i++)
			keys[i * KV_STEP + in_step] = k[i];
		memcpy(keys + plane(kv) + in_step * kv->head_dim, v,
		       kv->head_dim * sizeof(*v));
	}
}

const float *
kv_keys(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	return head_at(kv, layer, head, step);
}

const float *
kv_values(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	return head_at(kv, layer, head, step) + plane(kv);
}

size_t
kv_half(const struct kv *kv, bool local)
{
	return kv->half[local && kv->ropes > 1];
}

const float *
kv_angles(const struct kv *kv, bool local, uint32_t pos)
{
	size_t rope = local && kv->ropes > 1;

	return kv->angles[pos / KV_STEP] + (rope * KV_STEP + pos % KV_STEP) * 2 * kv->widest;
}
