/* mx.c - mxfp4, mxfp8 and nvfp4: a small float an element and a byte of scale a
 * group.  Metal multiplies by a reciprocal in F32; MLX's CPU
 * backend divides and rounds each step to the tensor's own dtype. */
#include "config.h"

#include <math.h>

#include "src/quant/groups.h"

/* How the elements of a group become codes, once its scale is known. */
struct scaling {
	uint8_t byte;
	float by;		/* Metal: multiply; CPU: divide */
	float enc;		/* then multiply, nvfp4 with a global scale; else 1 */
	bool divide;
};

/* Of MLX on a CPU the byte wraps as its conversion does on x86-64; the power of two is
 * built in the tensor's dtype and may be lost there. */
static struct scaling
mx_scaling(float amax, float top, enum flavour f, enum dtype t)
{
	float d, e;
	uint8_t byte;

	if (f == FLAVOUR_METAL) {
		byte = fp_e8m0_round(amax / top);
		return (struct scaling){ byte, 1 / fp_e8m0_decode(byte), 1, false };
	}
	d = fp_round(t, amax / top);
	e = d == 0 ? 0 : rintf(fp_round(t, log2f(d)));
	if (!isfinite(e))
		return (struct scaling){ 0xff, INFINITY, 1, true };
	byte = (uint8_t)((int)e + 127);
	return (struct scaling){ byte, fp_round(t, ldexpf(1, (int)e)), 1, true };
}

static struct scaling
nv_scaling(float amax, float absmax, enum flavour f, enum dtype t)
{
	float enc = absmax > 0 ? 2688 / absmax : 1, scale;
	uint8_t byte;

	if (f == FLAVOUR_MLX_CPU) {
		byte = fp_e4m3_encode(fp_round(t, amax / 6) * enc);
		return (struct scaling){ byte, fp_e4m3_decode(byte), enc, true };
	}
	byte = fp_e4m3_encode(amax / 6 * enc);
	scale = fp_e4m3_decode(byte);
	return (struct scaling){ byte, scale == 0 ? 0 : enc / scale, 1, false };
}

static uint8_t
encode_one(float w, const struct scaling *sc, unsigned bits, enum dtype t)
{
	if (!sc->divide)
		return bits == 8 ? fp_e4m3_encode(w * sc->by) : fp_e2m1_encode(w * sc->by);
	w = fp_round(t, w / sc->by) * sc->enc;
	return bits == 8 ? fp_e4m3_encode(w) : fp_e2m1_nearest(w);
}

static void
mx_encode_all(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	      float absmax, const struct quant_parts *out)
{
	size_t bytes = (size_t)scheme_code_bytes(s, s->group);
	float w[QUANT_GROUP_MAX], top = s->bits == 8 ? 448 : 6;
	uint8_t code[QUANT_GROUP_MAX];

	for (size_t i = 0; i < n / s->group; i++) {
		struct scaling sc;
		float amax = 0;

		for (unsigned j = 0; j < s->group; j++)
			w[j] = fp_load(t, src, i * s->group + j);
		for (unsigned j = 0; j < s->group; j++)
			amax = fabsf(w[j]) > amax ? fabsf(w[j]) : amax;
		sc = s->kind == SCHEME_NVFP4 ? nv_scaling(amax, absmax, f, t)
					     : mx_scaling(amax, top, f, t);
		((uint8_t *)out->scales)[i] = sc.byte;
		for (unsigned j = 0; j < s->group; j++)
			code[j] = encode_one(w[j], &sc, s->bits, t);
		bits_pack(code, s->group, s->bits, (uint8_t *)out->codes + i * bytes);
	}
}

static void
mx_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	  const struct quant_parts *out)
{
	mx_encode_all(s, f, t, src, n, 0, out);
}

void
quant_encode_nvfp4_global(enum flavour f, enum dtype t, const void *src, size_t n, float absmax,
			  const struct quant_parts *out)
{
	const struct scheme nvfp4 = { .kind = SCHEME_NVFP4, .bits = 4, .group = 16 };

	mx_encode_all(&nvfp4, f, t, src, n, absmax, out);
}

static float
mx_scale(const struct quant_src *q, size_t i)
{
	return fp_e8m0_decode(((const uint8_t *)q->scales)[i]);
}

static float
nv_scale(const struct quant_src *q, size_t i)
{
	return fp_e4m3_decode(((const uint8_t *)q->scales)[i]);
}

GROUPS_DECODERS(mxfp4, mx_scale, fp_e2m1_decode, false)
GROUPS_DECODERS(mxfp8, mx_scale, fp_e4m3_decode, false)
GROUPS_DECODERS(nvfp4, nv_scale, fp_e2m1_decode, false)

const struct scheme_row scheme_row_mxfp4 = {
	.form = FORM_GROUPS, .mode = "mxfp4", .bits = { 4 }, .groups = { 32 },
	.scale = DT_U8, .scale_float = DT_F8_E8M0, .code_float = DT_COUNT, .eight = SCHEME_MXFP8,
	.encode = mx_encode, .decode = mxfp4_decode, .exact = mxfp4_exact,
};

const struct scheme_row scheme_row_mxfp8 = {
	.form = FORM_GROUPS, .mode = "mxfp8", .bits = { 8 }, .groups = { 32 },
	.scale = DT_U8, .scale_float = DT_F8_E8M0, .code_float = DT_F8_E4M3, .eight = SCHEME_MXFP8,
	.encode = mx_encode, .decode = mxfp8_decode, .exact = mxfp8_exact,
};

const struct scheme_row scheme_row_nvfp4 = {
	.form = FORM_GROUPS, .mode = "nvfp4", .bits = { 4 }, .groups = { 16 },
	.scale = DT_U8, .scale_float = DT_F8_E4M3, .code_float = DT_COUNT, .eight = SCHEME_MXFP8,
	.encode = mx_encode, .decode = nvfp4_decode, .exact = nvfp4_exact,
};
