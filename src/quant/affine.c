/* affine.c - w = code * scale + bias, a group at a time.
 * Everything in F32 and in this order: the bytes depend on it.  NaN is ignored by
 * minimum and maximum; comparisons are written so that vectors do the same. */
#include "config.h"

#include "src/quant/encode.h"

#include <math.h>

#include "src/quant/bits.h"
#include "src/quant/fp.h"

struct grid { float scale, bias; };

static struct grid
affine_grid(const float *w, unsigned group, float n, enum flavour f)
{
	float lo = INFINITY, hi = f == FLAVOUR_METAL ? 0 : -INFINITY, s, edge, q0;
	bool low;

	for (unsigned i = 0; i < group; i++) {
		lo = w[i] < lo ? w[i] : lo;
		hi = w[i] > hi ? w[i] : hi;
	}
	s = (hi - lo) / n;
	s = s > 1e-7f ? s : 1e-7f;
	low = fabsf(lo) > fabsf(hi);
	s = low ? s : -s;
	edge = low ? lo : hi;
	q0 = f == FLAVOUR_METAL ? roundf(edge / s) : rintf(edge / s);
	if (q0 == 0)
		return (struct grid){ s, 0 };
	return (struct grid){ edge / q0, edge };
}

static uint8_t
affine_code(float w, struct grid g, float n, enum flavour f)
{
	float v = (w - g.bias) / g.scale;

	v = f == FLAVOUR_METAL ? roundf(v) : rintf(v);
	v = v < n ? v : n;
	return (uint8_t)(v > 0 ? v : 0);
}

void
affine_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	      const struct quant_parts *out)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	float top = (float)((1u << s->bits) - 1), w[QUANT_GROUP_MAX];
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++) {
		struct grid g;

		for (unsigned j = 0; j < s->group; j++)
			w[j] = fp_load(t, src, i * s->group + j);
		g = affine_grid(w, s->group, top, f);
		for (unsigned j = 0; j < s->group; j++)
			code[j] = affine_code(w[j], g, top, f);
		bits_pack(code, s->group, s->bits, (uint8_t *)out->codes + i * bytes);
		fp_store(t, out->scales, i, g.scale);
		fp_store(t, out->biases, i, g.bias);
	}
}
