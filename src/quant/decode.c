/* decode.c - codes back to numbers: in F32, and as MLX does it (every step rounded
 * to the result's dtype). */
#include "config.h"

#include "src/quant/decode.h"

#include "src/quant/bits.h"
#include "src/quant/encode.h"
#include "src/quant/fp.h"

/* The scale of group i as an F32; NVFP4's are E4M3, MX's are powers of two. */
static float
scale_of(const struct scheme *s, const struct quant_src *q, size_t i)
{
	if (s->kind == SCHEME_AFFINE)
		return fp_load(q->scale_dtype, q->scales, i);
	return s->kind == SCHEME_NVFP4 ? fp_e4m3_decode(((const uint8_t *)q->scales)[i])
				       : fp_e8m0_decode(((const uint8_t *)q->scales)[i]);
}

static float
value_of(const struct scheme *s, uint8_t code)
{
	if (s->kind == SCHEME_AFFINE)
		return code;
	return s->bits == 8 ? fp_e4m3_decode(code) : fp_e2m1_decode(code);
}

void
decode_f32(const struct scheme *s, const struct quant_src *q, size_t n, float *out)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++, out += s->group) {
		float scale = scale_of(s, q, i) * q->global, bias = 0;

		if (scheme_has_bias(s))
			bias = fp_load(q->scale_dtype, q->biases, i) * q->global;
		bits_unpack((const uint8_t *)q->codes + i * bytes, s->group, s->bits, code);
		for (unsigned j = 0; j < s->group; j++)
			out[j] = scheme_has_bias(s) ? value_of(s, code[j]) * scale + bias
						    : value_of(s, code[j]) * scale;
	}
}

static float
exact_one(const struct scheme *s, float value, float scale, float bias, enum dtype t)
{
	if (s->kind == SCHEME_AFFINE)
		return fp_round(t, fp_round(t, value * scale) + bias);
	return fp_round(t, value * scale);
}

/* MLX's CPU backend builds the scale itself in the result's dtype, where a power of
 * two may be lost; Metal rounds only the product. */
void
quant_decode_exact(const struct scheme *s, enum flavour f, const struct quant_src *q, size_t n,
		   enum dtype out_dtype, void *out)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++) {
		float scale = scale_of(s, q, i), bias = 0;

		if (s->kind == SCHEME_AFFINE)
			bias = fp_round(out_dtype, fp_load(q->scale_dtype, q->biases, i));
		if (s->kind == SCHEME_AFFINE || f == FLAVOUR_MLX_CPU)
			scale = fp_round(out_dtype, scale);
		scale *= q->global;
		bits_unpack((const uint8_t *)q->codes + i * bytes, s->group, s->bits, code);
		for (unsigned j = 0; j < s->group; j++)
			fp_store(out_dtype, out, i * s->group + j,
				 exact_one(s, value_of(s, code[j]), scale, bias, out_dtype));
	}
}
