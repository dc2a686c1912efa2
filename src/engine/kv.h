/* kv.h - keys and values of the positions so far, and the angles of positions.
 *
 * Memory comes in steps of KV_STEP positions for all layers at once, as a
 * conversation grows; what is there never moves.  Keys lie transposed, so that
 * scores of many positions are one vector, without sums across lanes. */
#ifndef TBTUI_ENGINE_KV_H
#define TBTUI_ENGINE_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct hparams;

#define KV_STEP 256
#define KV_ROPES 2		/* of layers without and with a window */

struct kv {
	uint32_t layers, heads, head_dim, context;
	size_t nsteps, max_steps;
	float **step;		/* owned; each [layers][heads][k: head_dim x KV_STEP,
				 * v: KV_STEP x head_dim] */
	size_t half[KV_ROPES];	/* pairs of a head that turn */
	unsigned ropes;		/* KV_ROPES, or 1 when they are the same */
	size_t widest;		/* of `half` */
	float **angles;		/* owned; each [ropes][KV_STEP][cos: half, sin: half, … widest] */
	double *inv_freq;	/* owned; [ropes][widest] */
	double magnitude[KV_ROPES];
};

enum tb_status kv_init(struct kv *kv, const struct hparams *hp, uint32_t context,
		       struct tb_err *err) TB_MUST_USE;
void kv_free(struct kv *kv);
/* Bytes that n positions take, rounded up to steps. */
uint64_t kv_bytes(const struct hparams *hp, uint32_t n);
/* Room for positions < n <= context. TB_ENOMEM leaves what was there usable. */
enum tb_status kv_reserve(struct kv *kv, uint32_t n, struct tb_err *err) TB_MUST_USE;

size_t kv_step_bytes(const struct kv *kv, size_t step);	/* of kv->step[step] */

/* k and v of one position: [heads][head_dim] each. */
void kv_store(struct kv *kv, uint32_t layer, uint32_t pos, const float *k, const float *v);
/* A head's keys [head_dim][KV_STEP] and values [KV_STEP][head_dim] in a step. */
const float *kv_keys(const struct kv *kv, uint32_t layer, uint32_t head, size_t step);
const float *kv_values(const struct kv *kv, uint32_t layer, uint32_t head, size_t step);
/* kv_half() cosines, then as many sines. `local`: of layers with a window. */
size_t kv_half(const struct kv *kv, bool local);
const float *kv_angles(const struct kv *kv, bool local, uint32_t pos);
#endif
