/* kv.h - keys and values of the positions so far, and the angles of positions.
 *
 * Memory comes in steps of KV_STEP positions for all layers at once, as a
 * conversation grows; what is there never moves.  Layers with a window keep no more
 * than it reaches, and a block of tokens: step after step takes the place of the one
 * that nobody sees any more.
 *
 * Keys lie in blocks of KV_BLOCK positions, [dim][KV_BLOCK], so that scores of many
 * positions are one vector, without sums across lanes; values lie as they come. */
#ifndef TBTUI_ENGINE_KV_H
#define TBTUI_ENGINE_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/engine.h"

struct hparams;

#define KV_STEP 256
#define KV_BLOCK 16
#define KV_GROUP 32		/* elements of 8 bits that share a scale */
#define KV_ROPES 2		/* of layers without and with a window */

/* How a head's keys and values lie in one step, bytes from its beginning. */
struct kv_layer {
	uint32_t heads, key_dim, value_dim;	/* heads 0: it has none of its own */
	bool windowed;
	size_t at, head;	/* of the layer in a step; bytes of a head */
	size_t key_scales, values, value_scales;
};

struct kv {
	enum kv_type type;
	uint32_t layers, context, window;
	struct kv_layer *layer;	/* owned */
	size_t ring;		/* steps that layers with a window have; 0: as many as all */
	size_t ring_bytes, step_bytes;	/* of a step among the first `ring`, and behind */
	size_t nsteps, max_steps;
	unsigned char **step;	/* owned */
	uint32_t stored;	/* positions that were stored and not taken back */
	size_t half[KV_ROPES];	/* pairs of a head that turn */
	unsigned ropes;		/* KV_ROPES, or 1 when they are the same */
	size_t widest;		/* of `half` */
	float **angles;		/* owned; each [ropes][KV_STEP][cos: half, sin: half, … widest] */
	double *inv_freq;	/* owned; [ropes][widest] */
	double magnitude[KV_ROPES];
};

/* Numbers of a step, and, of 8 bits, what each group is multiplied with. */
struct kv_part {
	const void *data;
	const float *scale;
};

/* What sessions of an engine with such options keep: opts->kv, or what goes with them. */
enum kv_type kv_chosen(const struct engine_opts *opts);

enum tb_status kv_init(struct kv *kv, const struct hparams *hp, enum kv_type type,
		       uint32_t context, struct tb_err *err) TB_MUST_USE;
void kv_free(struct kv *kv);
/* Bytes that n positions take, rounded up to steps. */
uint64_t kv_bytes(const struct hparams *hp, enum kv_type type, uint32_t n);
/* Room for positions < n <= context. TB_ENOMEM leaves what was there usable. */
enum tb_status kv_reserve(struct kv *kv, uint32_t n, struct tb_err *err) TB_MUST_USE;

size_t kv_step_bytes(const struct kv *kv, size_t step);	/* of what kv_step() is */
void *kv_step(const struct kv *kv, size_t step);

/* What is stored behind pos counts no more.  Returns the position, pos or before it,
 * from which on all that a layer must see is there. */
uint32_t kv_rewind(struct kv *kv, uint32_t pos);

/* k [heads][key_dim] and v [heads][value_dim] of one position; kv_stored() when all layers
 * have those of positions < pos. */
void kv_store(struct kv *kv, uint32_t layer, uint32_t pos, const float *k, const float *v);
void kv_stored(struct kv *kv, uint32_t pos);
/* A head's keys [KV_STEP / KV_BLOCK][key_dim][KV_BLOCK] in a step, with scales
 * [KV_STEP / KV_BLOCK][groups][KV_BLOCK]; its values [KV_STEP][kv_columns()], with scales
 * [KV_STEP][groups]. */
struct kv_part kv_keys(const struct kv *kv, uint32_t layer, uint32_t head, size_t step);
struct kv_part kv_values(const struct kv *kv, uint32_t layer, uint32_t head, size_t step);
/* From position `at` of a step on, a multiple of KV_BLOCK. */
struct kv_part kv_keys_at(enum kv_type type, struct kv_part keys, uint32_t dim, size_t at);
struct kv_part kv_values_at(enum kv_type type, struct kv_part values, uint32_t dim, size_t at);
/* kv_half() cosines, then as many sines. `local`: of layers with a window. */
size_t kv_half(const struct kv *kv, bool local);
const float *kv_angles(const struct kv *kv, bool local, uint32_t pos);

/* Values are padded with zeros to whole registers. */
static inline uint32_t
kv_columns(uint32_t dim)
{
	return (dim + KV_BLOCK - 1) / KV_BLOCK * KV_BLOCK;
}

static inline uint32_t
kv_groups(uint32_t dim)
{
	return (dim + KV_GROUP - 1) / KV_GROUP;
}
#endif
