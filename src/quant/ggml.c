#include "config.h"

#include "src/quant/ggml.h"

#include "src/format/ggml_type.h"
#include "src/quant/ggml_blocks.h"
#include "src/quant/ggml_encode.h"
#include "src/quant/scheme_row.h"

static ggml_block_fn *const decoders[] = {
	[GGML_Q4_0] = ggml_q4_0, [GGML_Q4_1] = ggml_q4_1,
	[GGML_Q5_0] = ggml_q5_0, [GGML_Q5_1] = ggml_q5_1, [GGML_Q8_0] = ggml_q8_0,
	[GGML_Q2_K] = ggml_q2_k, [GGML_Q3_K] = ggml_q3_k, [GGML_Q4_K] = ggml_q4_k,
	[GGML_Q5_K] = ggml_q5_k, [GGML_Q6_K] = ggml_q6_k,
	[GGML_IQ2_XXS] = ggml_iq2_xxs, [GGML_IQ2_XS] = ggml_iq2_xs, [GGML_IQ2_S] = ggml_iq2_s,
	[GGML_IQ3_XXS] = ggml_iq3_xxs, [GGML_IQ3_S] = ggml_iq3_s,
	[GGML_IQ1_S] = ggml_iq1_s, [GGML_IQ1_M] = ggml_iq1_m,
	[GGML_IQ4_NL] = ggml_iq4_nl, [GGML_IQ4_XS] = ggml_iq4_xs,
	[GGML_TQ1_0] = ggml_tq1_0, [GGML_TQ2_0] = ggml_tq2_0,
	[GGML_MXFP4] = ggml_mxfp4, [GGML_NVFP4] = ggml_nvfp4,
	[GGML_Q1_0] = ggml_q1_0, [GGML_Q2_0] = ggml_q2_0,
};

bool
ggml_decodable(unsigned type)
{
	return type < sizeof(decoders) / sizeof(*decoders) && decoders[type];
}

void
ggml_decode(unsigned type, const void *src, size_t n, float *out)
{
	const struct ggml_info *info = ggml_info(type);
	const uint8_t *p = src;

	for (size_t i = 0; i < n / info->block; i++)
		decoders[type](p + i * info->bytes, out + i * info->block);
}

static void
blocks_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out)
{
	ggml_decode(s->ggml, q->codes, n, out);
}

/* In stretches that stay in the nearest cache.  Nothing weighs here, so that no block
 * depends on another. */
static void
blocks_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	      const struct quant_parts *out)
{
	const unsigned size = dtype_bits(t) / 8;
	float some[16 * GGML_BLOCK_MAX];
	size_t k;

	(void)f;
	for (size_t i = 0; i < n; i += k) {
		k = n - i < sizeof(some) / sizeof(*some) ? n - i : sizeof(some) / sizeof(*some);
		dtype_to_f32(t, (const char *)src + i * size, k, some);
		ggml_encode(s->ggml, some, 1, k, NULL,
			    (char *)out->codes + scheme_code_bytes(s, i));
	}
}

const struct scheme_row scheme_row_ggml = {
	.form = FORM_BLOCKS, .mode = "ggml", .decode = blocks_decode, .encode = blocks_encode,
};
