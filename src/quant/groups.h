/* groups.h - codes back to numbers, group after group: in F32, and as MLX does it (every
 * step rounded to the result's dtype).  A kind gives how its scales and codes are read,
 * and gets functions of its own, in which nothing is asked element by element. */
#ifndef TBTUI_QUANT_GROUPS_H
#define TBTUI_QUANT_GROUPS_H

#include "src/quant/bits.h"
#include "src/quant/fp.h"
#include "src/quant/scheme_row.h"

struct group_how {
	float (*scale)(const struct quant_src *q, size_t i);	/* of group i */
	float (*value)(uint8_t code);
	bool bias;
};

static inline __attribute__((always_inline)) void
groups_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out,
	      struct group_how how)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++, out += s->group) {
		float scale = how.scale(q, i) * q->global, bias = 0;

		if (how.bias)
			bias = fp_load(q->scale_dtype, q->biases, i) * q->global;
		bits_unpack((const uint8_t *)q->codes + i * bytes, s->group, s->bits, code);
		for (unsigned j = 0; j < s->group; j++)
			out[j] = how.bias ? how.value(code[j]) * scale + bias
					  : how.value(code[j]) * scale;
	}
}

/* MLX's CPU backend builds a scale that is a byte in the result's dtype, where a power of
 * two may be lost; Metal rounds only the product. */
static inline __attribute__((always_inline)) void
groups_exact(const struct scheme *s, enum flavour f, const struct quant_src *q, size_t n,
	     enum dtype t, void *out, struct group_how how)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++) {
		float scale = how.scale(q, i), bias = 0;

		if (how.bias)
			bias = fp_round(t, fp_load(q->scale_dtype, q->biases, i));
		if (q->scale_dtype != DT_U8 || f == FLAVOUR_MLX_CPU)
			scale = fp_round(t, scale);
		scale *= q->global;
		bits_unpack((const uint8_t *)q->codes + i * bytes, s->group, s->bits, code);
		for (unsigned j = 0; j < s->group; j++) {
			float v = fp_round(t, how.value(code[j]) * scale);

			fp_store(t, out, i * s->group + j, how.bias ? fp_round(t, v + bias) : v);
		}
	}
}

/* Defines NAME_decode() and NAME_exact(). */
#define GROUPS_DECODERS(name, ...) \
static void \
name##_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out) \
{ \
	groups_decode(s, q, n, out, (struct group_how){ __VA_ARGS__ }); \
} \
static void \
name##_exact(const struct scheme *s, enum flavour f, const struct quant_src *q, size_t n, \
	     enum dtype t, void *out) \
{ \
	groups_exact(s, f, q, n, t, out, (struct group_how){ __VA_ARGS__ }); \
}
#endif
