#include "config.h"

#include "src/quant/ggml_fields.h"

#include <math.h>
#include <stddef.h>

#include "src/format/ggml_type.h"
#include "src/quant/fp.h"
#include "src/quant/ggml_blocks.h"

static const struct ggml_field fields[] = {
	{ GGML_Q4_0, "d", FIELD_F16, 0, 2 }, { GGML_Q4_0, "qs", FIELD_NIBBLES, 2, 16 },
	{ GGML_Q4_1, "d", FIELD_F16, 0, 2 }, { GGML_Q4_1, "m", FIELD_F16, 2, 2 },
	{ GGML_Q4_1, "qs", FIELD_NIBBLES, 4, 16 },
	{ GGML_Q5_0, "d", FIELD_F16, 0, 2 }, { GGML_Q5_0, "qh", FIELD_BITS, 2, 4 },
	{ GGML_Q5_0, "qs", FIELD_NIBBLES, 6, 16 },
	{ GGML_Q5_1, "d", FIELD_F16, 0, 2 }, { GGML_Q5_1, "m", FIELD_F16, 2, 2 },
	{ GGML_Q5_1, "qh", FIELD_BITS, 4, 4 }, { GGML_Q5_1, "qs", FIELD_NIBBLES, 8, 16 },
	{ GGML_Q8_0, "d", FIELD_F16, 0, 2 }, { GGML_Q8_0, "qs", FIELD_I8, 2, 32 },
	{ GGML_Q2_K, "scales", FIELD_NIBBLES, 0, 16 }, { GGML_Q2_K, "qs", FIELD_PAIRS, 16, 64 },
	{ GGML_Q2_K, "d", FIELD_F16, 80, 2 }, { GGML_Q2_K, "dmin", FIELD_F16, 82, 2 },
	{ GGML_Q3_K, "hmask", FIELD_BITS, 0, 32 }, { GGML_Q3_K, "qs", FIELD_PAIRS, 32, 64 },
	{ GGML_Q3_K, "scales", FIELD_SCALES_32, 96, 12 }, { GGML_Q3_K, "d", FIELD_F16, 108, 2 },
	{ GGML_Q4_K, "d", FIELD_F16, 0, 2 }, { GGML_Q4_K, "dmin", FIELD_F16, 2, 2 },
	{ GGML_Q4_K, "scales", FIELD_SCALES_6, 4, 12 }, { GGML_Q4_K, "mins", FIELD_MINS_6, 4, 12 },
	{ GGML_Q4_K, "qs", FIELD_NIBBLES, 16, 128 },
	{ GGML_Q5_K, "d", FIELD_F16, 0, 2 }, { GGML_Q5_K, "dmin", FIELD_F16, 2, 2 },
	{ GGML_Q5_K, "scales", FIELD_SCALES_6, 4, 12 }, { GGML_Q5_K, "mins", FIELD_MINS_6, 4, 12 },
	{ GGML_Q5_K, "qh", FIELD_BITS, 16, 32 }, { GGML_Q5_K, "qs", FIELD_NIBBLES, 48, 128 },
	{ GGML_Q6_K, "ql", FIELD_NIBBLES, 0, 128 }, { GGML_Q6_K, "qh", FIELD_PAIRS, 128, 64 },
	{ GGML_Q6_K, "scales", FIELD_I8, 192, 16 }, { GGML_Q6_K, "d", FIELD_F16, 208, 2 },
	{ GGML_IQ2_XXS, "d", FIELD_F16, 0, 2 }, { GGML_IQ2_XXS, "qs", FIELD_U16, 2, 64 },
	{ GGML_IQ2_XS, "d", FIELD_F16, 0, 2 }, { GGML_IQ2_XS, "qs", FIELD_U16, 2, 64 },
	{ GGML_IQ2_XS, "scales", FIELD_NIBBLES, 66, 8 },
	{ GGML_IQ2_S, "d", FIELD_F16, 0, 2 }, { GGML_IQ2_S, "qs", FIELD_U8, 2, 32 },
	{ GGML_IQ2_S, "signs", FIELD_U8, 34, 32 }, { GGML_IQ2_S, "qh", FIELD_PAIRS, 66, 8 },
	{ GGML_IQ2_S, "scales", FIELD_NIBBLES, 74, 8 },
	{ GGML_IQ3_XXS, "d", FIELD_F16, 0, 2 }, { GGML_IQ3_XXS, "qs", FIELD_U8, 2, 64 },
	{ GGML_IQ3_XXS, "signs", FIELD_U32, 66, 32 },
	{ GGML_IQ3_S, "d", FIELD_F16, 0, 2 }, { GGML_IQ3_S, "qs", FIELD_U8, 2, 64 },
	{ GGML_IQ3_S, "qh", FIELD_U8, 66, 8 }, { GGML_IQ3_S, "signs", FIELD_U8, 74, 32 },
	{ GGML_IQ3_S, "scales", FIELD_NIBBLES, 106, 4 },
	{ GGML_IQ1_S, "d", FIELD_F16, 0, 2 }, { GGML_IQ1_S, "qs", FIELD_U8, 2, 32 },
	{ GGML_IQ1_S, "qh", FIELD_U16, 34, 16 },
	{ GGML_IQ1_M, "qs", FIELD_U8, 0, 32 }, { GGML_IQ1_M, "qh", FIELD_NIBBLES, 32, 16 },
	{ GGML_IQ1_M, "scales", FIELD_U16, 48, 8 }, { GGML_IQ1_M, "d", FIELD_D_SPREAD, 48, 8 },
	{ GGML_IQ4_NL, "d", FIELD_F16, 0, 2 }, { GGML_IQ4_NL, "qs", FIELD_NIBBLES, 2, 16 },
	{ GGML_IQ4_XS, "d", FIELD_F16, 0, 2 }, { GGML_IQ4_XS, "scales_h", FIELD_PAIRS, 2, 2 },
	{ GGML_IQ4_XS, "scales_l", FIELD_NIBBLES, 4, 4 },
	{ GGML_IQ4_XS, "qs", FIELD_NIBBLES, 8, 128 },
	{ GGML_TQ1_0, "qs", FIELD_U8, 0, 48 }, { GGML_TQ1_0, "qh", FIELD_U8, 48, 4 },
	{ GGML_TQ1_0, "d", FIELD_F16, 52, 2 },
	{ GGML_TQ2_0, "qs", FIELD_PAIRS, 0, 64 }, { GGML_TQ2_0, "d", FIELD_F16, 64, 2 },
	{ GGML_MXFP4, "e", FIELD_E8M0, 0, 1 }, { GGML_MXFP4, "qs", FIELD_NIBBLES, 1, 16 },
	{ GGML_NVFP4, "d", FIELD_UE4M3, 0, 4 }, { GGML_NVFP4, "qs", FIELD_NIBBLES, 4, 32 },
	{ GGML_Q1_0, "d", FIELD_F16, 0, 2 }, { GGML_Q1_0, "qs", FIELD_BITS, 2, 16 },
	{ GGML_Q2_0, "d", FIELD_F16, 0, 2 }, { GGML_Q2_0, "qs", FIELD_PAIRS, 2, 16 },
};

const struct ggml_field *
ggml_field(unsigned type, unsigned i)
{
	for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++)
		if (fields[k].type == type && i-- == 0)
			return &fields[k];
	return NULL;
}

/* Codes of so many bits, from the lowest of each byte on. */
static unsigned
codes(const uint8_t *p, unsigned len, unsigned bits, double *out)
{
	unsigned n = len * 8 / bits;

	for (unsigned i = 0; i < n; i++)
		out[i] = p[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);
	return n;
}

static unsigned
words(const uint8_t *p, unsigned len, unsigned size, double *out)
{
	for (unsigned i = 0; i < len / size; i++) {
		uint32_t v = 0;

		for (unsigned k = 0; k < size; k++)
			v |= (uint32_t)p[i * size + k] << 8 * k;
		out[i] = v;
	}
	return len / size;
}

static double
half(unsigned bits)
{
	uint8_t two[2] = { (uint8_t)bits, (uint8_t)(bits >> 8) };

	return (double)ggml_half(two);
}

static unsigned
scales_32(const uint8_t *p, double *out)
{
	for (int g = 0; g < 16; g++)
		out[g] = ((g < 8 ? p[g] & 15 : p[g - 8] >> 4) |
			  (p[8 + g % 4] >> g / 4 * 2 & 3) << 4) - 32;
	return 16;
}

static unsigned
scales_6(const uint8_t *p, bool mins, double *out)
{
	for (int j = 0; j < 8; j++) {
		int scale, min;

		ggml_scale_min(p, j, &scale, &min);
		out[j] = mins ? min : scale;
	}
	return 8;
}

static double
single(const struct ggml_field *f, const uint8_t *p)
{
	switch (f->kind) {
	case FIELD_D_SPREAD:
		return half(p[1] >> 4 | (p[3] & 0xf0) | (p[5] & 0xf0u) << 4 | (p[7] & 0xf0u) << 8);
	case FIELD_E8M0:
		return ldexp(1, p[0] - 127);
	case FIELD_UE4M3:
		return p[0] == 0x7f ? 0 : (double)fp_e4m3_decode(p[0] & 0x7f);
	case FIELD_I8:
		return (int8_t)p[0];
	default:
		return (double)ggml_half(p);
	}
}

unsigned
ggml_field_read(const struct ggml_field *f, const uint8_t *block, double out[GGML_FIELD_NUMBERS])
{
	const uint8_t *p = block + f->off;

	switch (f->kind) {
	case FIELD_U8: return codes(p, f->len, 8, out);
	case FIELD_NIBBLES: return codes(p, f->len, 4, out);
	case FIELD_PAIRS: return codes(p, f->len, 2, out);
	case FIELD_BITS: return codes(p, f->len, 1, out);
	case FIELD_U16: return words(p, f->len, 2, out);
	case FIELD_U32: return words(p, f->len, 4, out);
	case FIELD_SCALES_32: return scales_32(p, out);
	case FIELD_SCALES_6:
	case FIELD_MINS_6: return scales_6(p, f->kind == FIELD_MINS_6, out);
	case FIELD_I8:
	case FIELD_UE4M3:
		for (unsigned i = 0; i < f->len; i++)
			out[i] = single(f, p + i);
		return f->len;
	default:
		out[0] = single(f, p);
		return 1;
	}
}

bool
ggml_field_whole(const struct ggml_field *f)
{
	return f->kind != FIELD_F16 && f->kind != FIELD_E8M0 && f->kind != FIELD_UE4M3 &&
	       f->kind != FIELD_D_SPREAD;
}
