#include "config.h"

#include "src/engine/kv.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/engine/hparams.h"
#include "src/engine/run.h"
#include "src/engine/vec.h"

#define LINE 64			/* bytes: what is read by vectors begins on one */
#define F16_MOST 65504.0f

static const struct { const char *name; size_t size; } types[] = {
#define X(id, name, size) { name, size },
	[KV_USUAL] = { "", 0 },
	KV_TYPE_LIST(X)
#undef X
};

bool
kv_type_named(const char *name, enum kv_type *out)
{
	for (unsigned i = KV_USUAL + 1; i < KV_TYPES; i++)
		if (!strcmp(name, types[i].name)) {
			*out = (enum kv_type)i;
			return true;
		}
	return false;
}

const char *
kv_type_name(enum kv_type type)
{
	return types[type].name;
}

enum kv_type
kv_chosen(const struct engine_opts *opts)
{
	if (opts && opts->kv)
		return opts->kv;
	return opts && opts->exact ? KV_F32 : KV_F16;
}

/* ---- where things lie ---- */

static size_t
lines(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static void
layer_init(struct kv_layer *l, enum kv_type type)
{
	size_t scale = type == KV_INT8 ? sizeof(float) : 0;

	l->key_scales = lines(KV_STEP * types[type].size * l->key_dim);
	l->values = l->key_scales + lines(KV_STEP * scale * kv_groups(l->key_dim));
	l->value_scales = l->values + lines(KV_STEP * types[type].size * kv_columns(l->value_dim));
	l->head = l->value_scales + lines(KV_STEP * scale * kv_groups(l->value_dim));
}

static void
layer_shape(struct kv_layer *l, const struct hparams *hp, uint32_t layer, enum kv_type type)
{
	const struct layer_shape *shape = &hp->layer[layer];
	bool own = shape->kv_from == layer && (shape->mixer == MIX_ATTENTION || shape->mixer == MIX_MLA);

	*l = (struct kv_layer){ .heads = own ? shape->kv_heads : 0, .key_dim = shape->head_dim,
				.value_dim = shape->value_dim,
				.windowed = hparams_windowed(hp, layer) };
	layer_init(l, type);
}

/* Steps that a layer with a window needs: a row at the end of a block sees as far back as
 * the first, whose window begins before it.  0: no less than all. */
static size_t
ring_steps(const struct hparams *hp, uint32_t context)
{
	uint64_t positions = (uint64_t)hp->window + RUN_BLOCK;

	return hp->window && positions < context ? (positions + KV_STEP - 1) / KV_STEP : 0;
}

/* Layers that forget nothing come first, so that a step without the others is shorter. */
static void
place_layers(struct kv *kv)
{
	for (unsigned windowed = 0; windowed < 2; windowed++) {
		for (uint32_t i = 0; i < kv->layers; i++) {
			struct kv_layer *l = &kv->layer[i];

			if ((kv->ring && l->windowed) != windowed)
				continue;
			l->at = kv->ring_bytes;
			kv->ring_bytes += l->heads * l->head;
		}
		if (!windowed)
			kv->step_bytes = kv->ring_bytes;
	}
}

static uint32_t
rope_dims(const struct hparams *hp, const struct rope *rope)
{
	return rope->dims ? rope->dims : hp->rope_dims;
}

static enum tb_status
init_angles(struct kv *kv, const struct hparams *hp, struct tb_err *err)
{
	const struct rope *rope[KV_ROPES] = { &hp->rope, &hp->rope_local };

	for (size_t i = 0; i < kv->ropes; i++)
		kv->magnitude[i] = rope[i]->magnitude > 0 ? rope[i]->magnitude : 1;
	for (size_t i = 0; i < kv->ropes * kv->widest; i++) {
		size_t which = i / kv->widest;
		uint32_t pair = (uint32_t)(i % kv->widest);
		double f = pair < kv->half[which] ? hparams_inv_freq(hp, rope[which], pair, kv->context)
						  : 1;

		kv->inv_freq[i] = f;
		/* Factors may come from a tensor, which nobody has looked into. */
		if (!(f > 0 && f <= 1e6))
			return tb_fail(err, TB_EFORMAT, "positions cannot turn pair %" PRIu32
				       " of a head by %g: the factors of frequencies may be damaged",
				       pair, f);
	}
	return TB_OK;
}

enum tb_status
kv_init(struct kv *kv, const struct hparams *hp, enum kv_type type, uint32_t context,
	struct tb_err *err)
{
	enum tb_status status;

	*kv = (struct kv){
		.type = type, .layers = hp->layers, .context = context, .window = hp->window,
		.ring = ring_steps(hp, context), .max_steps = (context + KV_STEP - 1) / KV_STEP,
		.half = { rope_dims(hp, &hp->rope) / 2, rope_dims(hp, &hp->rope_local) / 2 },
		.ropes = hp->rope_local.theta > 0 ? KV_ROPES : 1,
	};
	kv->widest = kv->half[0] > kv->half[1] ? kv->half[0] : kv->half[1];
	kv->layer = tb_calloc(kv->layers, sizeof(*kv->layer));
	kv->step = tb_calloc(kv->max_steps, sizeof(*kv->step));
	kv->angles = tb_calloc(kv->max_steps, sizeof(*kv->angles));
	kv->inv_freq = tb_calloc(kv->ropes * kv->widest, sizeof(*kv->inv_freq));
	status = kv->layer && kv->step && kv->angles && kv->inv_freq ? init_angles(kv, hp, err)
								      : tb_nomem(err);
	if (status) {
		kv_free(kv);
		return status;
	}
	for (uint32_t i = 0; i < kv->layers; i++)
		layer_shape(&kv->layer[i], hp, i, type);
	place_layers(kv);
	return TB_OK;
}

void
kv_free(struct kv *kv)
{
	for (size_t i = 0; i < kv->nsteps; i++) {
		free(kv->step[i]);
		free(kv->angles[i]);
	}
	free(kv->layer);
	free(kv->step);
	free(kv->angles);
	free(kv->inv_freq);
	*kv = (struct kv){ 0 };
}

size_t
kv_step_bytes(const struct kv *kv, size_t step)
{
	return !kv->ring || step < kv->ring ? kv->ring_bytes : kv->step_bytes;
}

uint64_t
kv_bytes(const struct hparams *hp, enum kv_type type, uint32_t n)
{
	uint64_t steps = ((uint64_t)n + KV_STEP - 1) / KV_STEP, ring = ring_steps(hp, n);
	uint32_t turn = rope_dims(hp, &hp->rope), local = rope_dims(hp, &hp->rope_local);
	uint64_t angles = (uint64_t)(hp->rope_local.theta > 0 ? KV_ROPES : 1) *
			  (turn > local ? turn : local);
	uint64_t bytes = steps * KV_STEP * angles * sizeof(float);

	for (uint32_t i = 0; i < hp->layers; i++) {
		struct kv_layer l;

		layer_shape(&l, hp, i, type);
		bytes += l.heads * l.head * (ring && l.windowed ? ring : steps);
	}
	return bytes;
}

/* ---- room ---- */

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

/* Zeros: what nobody has stored yet is multiplied with 0 like what is masked. */
enum tb_status
kv_reserve(struct kv *kv, uint32_t n, struct tb_err *err)
{
	while (kv->nsteps * KV_STEP < n) {
		size_t bytes = kv_step_bytes(kv, kv->nsteps);
		unsigned char *step = tb_calloc(bytes + LINE, 1);
		float *angles = make_angles(kv, kv->nsteps);

		if (!step || !angles) {
			free(step);
			free(angles);
			return tb_fail(err, TB_ENOMEM, "no memory for the keys and values of %"
				       PRIu32 " tokens (%zu MB): a shorter context or --kv int8 take "
				       "less", n,
				       (kv->nsteps + 1) * bytes / 1000000);
		}
		kv->step[kv->nsteps] = step;
		kv->angles[kv->nsteps++] = angles;
	}
	return TB_OK;
}

/* ---- what is stored ---- */

void *
kv_step(const struct kv *kv, size_t step)
{
	return kv->step[step] + (LINE - (uintptr_t)kv->step[step] % LINE) % LINE;
}

static unsigned char *
head_at(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	const struct kv_layer *l = &kv->layer[layer];
	unsigned char *base = kv_step(kv, kv->ring && l->windowed ? step % kv->ring : step);

	return base + l->at + head * l->head;
}

/* What 16 bits cannot hold comes as near as they can; what is not finite stays so. */
static void
pack_f16(const float *x, size_t n, uint16_t *out)
{
	float clamped[KV_GROUP];

	for (size_t i = 0; i < n; i++)
		clamped[i] = x[i] > F16_MOST && x[i] <= FLT_MAX ? F16_MOST
			   : x[i] < -F16_MOST && x[i] >= -FLT_MAX ? -F16_MOST : x[i];
	tb_f32_to_f16(clamped, n, out);
}

/* A scale that is not finite says what its elements cannot. */
static void
pack_int8(const float *x, size_t n, int8_t *out, float *scale)
{
	float most = 0, nothing = 0, steps;

	for (size_t i = 0; i < n; i++) {
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
		nothing += x[i] * 0;
	}
	*scale = most / 127 + nothing;
	steps = most > 0 ? 127 / most : 0;
	for (size_t i = 0; i < n; i++)
		out[i] = isfinite(*scale) ? (int8_t)lrintf(x[i] * steps) : 0;
}

/* n <= KV_GROUP elements. */
static void
pack(enum kv_type type, const float *x, size_t n, void *out, float *scale)
{
	if (type == KV_F32)
		memcpy(out, x, n * sizeof(*x));
	else if (type == KV_F16)
		pack_f16(x, n, out);
	else
		pack_int8(x, n, out, scale);
}

/* Elements go to places KV_BLOCK elements apart. */
static void
spread(const unsigned char *from, size_t n, size_t size, unsigned char *to)
{
	for (size_t i = 0; i < n && size == 4; i++)
		memcpy(to + i * KV_BLOCK * 4, from + i * 4, 4);
	for (size_t i = 0; i < n && size == 2; i++)
		memcpy(to + i * KV_BLOCK * 2, from + i * 2, 2);
	for (size_t i = 0; i < n && size == 1; i++)
		to[i * KV_BLOCK] = from[i];
}

static void
store_keys(enum kv_type type, unsigned char *head, const struct kv_layer *l, size_t pos,
	   const float *k)
{
	size_t size = types[type].size, block = pos / KV_BLOCK * KV_BLOCK, in_block = pos % KV_BLOCK;
	unsigned char *to = head + (block * l->key_dim + in_block) * size, packed[4 * KV_GROUP];
	float *scale = (float *)(void *)(head + l->key_scales);

	scale += block * kv_groups(l->key_dim) + in_block;
	for (size_t i = 0, n; i < l->key_dim; i += n, scale += KV_BLOCK) {
		n = l->key_dim - i < KV_GROUP ? l->key_dim - i : KV_GROUP;
		pack(type, k + i, n, packed, scale);
		spread(packed, n, size, to + i * KV_BLOCK * size);
	}
}

static void
store_values(enum kv_type type, unsigned char *head, const struct kv_layer *l, size_t pos,
	     const float *v)
{
	size_t size = types[type].size;
	unsigned char *to = head + l->values + pos * kv_columns(l->value_dim) * size;
	float *scale = (float *)(void *)(head + l->value_scales);

	scale += pos * kv_groups(l->value_dim);
	for (size_t i = 0, n; i < l->value_dim; i += n, scale++) {
		n = l->value_dim - i < KV_GROUP ? l->value_dim - i : KV_GROUP;
		pack(type, v + i, n, to + i * size, scale);
	}
}

void
kv_store(struct kv *kv, uint32_t layer, uint32_t pos, const float *k, const float *v)
{
	const struct kv_layer *l = &kv->layer[layer];

	for (uint32_t h = 0; h < l->heads; h++, k += l->key_dim, v += l->value_dim) {
		unsigned char *head = head_at(kv, layer, h, pos / KV_STEP);

		store_keys(kv->type, head, l, pos % KV_STEP, k);
		store_values(kv->type, head, l, pos % KV_STEP, v);
	}
}

void
kv_stored(struct kv *kv, uint32_t pos)
{
	kv->stored = pos > kv->stored ? pos : kv->stored;
}

uint32_t
kv_rewind(struct kv *kv, uint32_t pos)
{
	uint64_t kept = kv->ring * KV_STEP;

	/* The first position of a window that is not there any more: begin again. */
	if (kv->ring && kv->stored > kept && pos + kept < kv->stored + (uint64_t)kv->window)
		pos = 0;
	if (!pos)
		kv->stored = 0;
	return pos;
}

struct kv_part
kv_keys(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	const unsigned char *p = head_at(kv, layer, head, step);

	return (struct kv_part){ p, (const float *)(const void *)(p + kv->layer[layer].key_scales) };
}

struct kv_part
kv_values(const struct kv *kv, uint32_t layer, uint32_t head, size_t step)
{
	const struct kv_layer *l = &kv->layer[layer];
	const unsigned char *p = head_at(kv, layer, head, step);

	return (struct kv_part){ p + l->values, (const float *)(const void *)(p + l->value_scales) };
}

struct kv_part
kv_keys_at(enum kv_type type, struct kv_part keys, uint32_t dim, size_t at)
{
	return (struct kv_part){ (const char *)keys.data + at * dim * types[type].size,
				 keys.scale + at * kv_groups(dim) };
}

struct kv_part
kv_values_at(enum kv_type type, struct kv_part values, uint32_t dim, size_t at)
{
	return (struct kv_part){ (const char *)values.data + at * kv_columns(dim) * types[type].size,
				 values.scale + at * kv_groups(dim) };
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
