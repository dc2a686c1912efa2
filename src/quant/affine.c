/* affine.c - w = code * scale + bias, a group at a time.
 * Everything in F32 and in this order: the bytes depend on it.  NaN is ignored by
 * minimum and maximum; comparisons are written so that vectors do the same. */
#include "config.h"

#include <math.h>

#include "src/quant/groups.h"

struct scale_bias { float scale, bias; };

static struct scale_bias
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
		return (struct scale_bias){ s, 0 };
	return (struct scale_bias){ edge / q0, edge };
}

static uint8_t
affine_code(float w, struct scale_bias g, float n, enum flavour f)
{
	float v = (w - g.bias) / g.scale;

	v = f == FLAVOUR_METAL ? roundf(v) : rintf(v);
	v = v < n ? v : n;
	return (uint8_t)(v > 0 ? v : 0);
}

static void
affine_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	      const struct quant_parts *out)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	float top = (float)((1u << s->bits) - 1), w[QUANT_GROUP_MAX];
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++) {
		struct scale_bias g;

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

static float
affine_scale(const struct quant_src *q, size_t i)
{
	return fp_load(q->scale_dtype, q->scales, i);
}

static float
affine_value(uint8_t code)
{
	return code;
}

GROUPS_DECODERS(affine, affine_scale, affine_value, true)

static const char *const affine_types[] = { [2] = "int2", [3] = "int3", [4] = "int4",
					    [5] = "int5", [6] = "int6", [8] = "int8" };

const struct scheme_row scheme_row_affine = {
	.form = FORM_GROUPS, .mode = "affine", .bits = { 2, 3, 4, 5, 6, 8 }, .groups = { 32, 64, 128 },
	.usual_bits = 4, .usual_group = 64,
	.words = { { "int4", 4 }, { "int8", 8 }, { "q4", 4 }, { "fp4", 4 }, { "q8", 8 }, { "fp8", 8 } },
	.quant_types = affine_types,
	.bias = true, .scale = DT_COUNT, .scale_float = DT_COUNT, .code_float = DT_COUNT,
	.eight = SCHEME_AFFINE, .eight_experts = true,
	.encode = affine_encode, .decode = affine_decode, .exact = affine_exact,
};
