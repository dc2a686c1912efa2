#include "config.h"

#include "src/quant/ggml_encode.h"

#include <math.h>
#include <string.h>

#include "src/base/half.h"
#include "src/format/ggml_type.h"
#include "src/quant/codec.h"
#include "src/quant/ggml_encoders.h"
#include "src/quant/ggml_fields.h"

#ifdef HAVE_X86
#define WAYS(name) .scalar = name##_scalar, .avx2 = name##_avx2, .avx512 = name##_avx512
#else
#define WAYS(name) .scalar = name##_scalar
#endif

/* A row a type; without a vector path the scalar one serves everywhere. */
static const struct encoder {
	ggml_encode_fn *scalar, *avx2, *avx512;
} encoders[] = {
	[GGML_F32] = { .scalar = ggml_encode_f32 },
	[GGML_F16] = { .scalar = ggml_encode_f16 },
	[GGML_BF16] = { .scalar = ggml_encode_bf16 },
	[GGML_Q4_0] = { WAYS(ggml_encode_q4_0) },
	[GGML_Q4_1] = { WAYS(ggml_encode_q4_1) },
	[GGML_Q5_0] = { WAYS(ggml_encode_q5_0) },
	[GGML_Q5_1] = { WAYS(ggml_encode_q5_1) },
	[GGML_Q8_0] = { WAYS(ggml_encode_q8_0) },
	[GGML_Q2_K] = { WAYS(ggml_encode_q2_k) },
	[GGML_Q3_K] = { WAYS(ggml_encode_q3_k) },
	[GGML_Q4_K] = { WAYS(ggml_encode_q4_k) },
	[GGML_Q5_K] = { WAYS(ggml_encode_q5_k) },
	[GGML_Q6_K] = { WAYS(ggml_encode_q6_k) },
	[GGML_IQ4_NL] = { WAYS(ggml_encode_iq4_nl) },
	[GGML_IQ4_XS] = { WAYS(ggml_encode_iq4_xs) },
	[GGML_TQ1_0] = { .scalar = ggml_encode_tq1_0 },
	[GGML_TQ2_0] = { .scalar = ggml_encode_tq2_0 },
	[GGML_MXFP4] = { WAYS(ggml_encode_mxfp4) },
	[GGML_NVFP4] = { WAYS(ggml_encode_nvfp4) },
	[GGML_Q1_0] = { .scalar = ggml_encode_q1_0 },
	[GGML_Q2_0] = { .scalar = ggml_encode_q2_0 },
};

static const struct encoder *
find(unsigned type)
{
	return type < sizeof(encoders) / sizeof(*encoders) && encoders[type].scalar
	     ? &encoders[type] : NULL;
}

bool
ggml_encodable(unsigned type)
{
	return find(type) != NULL;
}

void
ggml_encode(unsigned type, const float *src, size_t rows, size_t cols, const float *weights,
	    void *out)
{
	const struct encoder *e = find(type);
	const char *path = quant_path();

	if (e->avx512 && !strcmp(path, "avx512"))
		e->avx512(src, rows, cols, weights, out);
	else if (e->avx2 && !strcmp(path, "avx2"))
		e->avx2(src, rows, cols, weights, out);
	else
		e->scalar(src, rows, cols, weights, out);
}

static bool
scale_finite(const struct ggml_field *f, const uint8_t *block)
{
	double d[GGML_FIELD_NUMBERS];

	if (f->kind == FIELD_F16)
		return (block[f->off + 1] & 0x7c) != 0x7c;
	return ggml_field_read(f, block, d) && isfinite(d[0]);
}

size_t
ggml_overflow(unsigned type, const void *src, size_t blocks)
{
	unsigned bytes = ggml_info(type)->bytes;
	const struct ggml_field *f;
	size_t bad = blocks;

	for (unsigned i = 0; (f = ggml_field(type, i)); i++)
		if (f->kind == FIELD_F16 || f->kind == FIELD_D_SPREAD)
			for (size_t k = 0; k < bad; k++)
				if (!scale_finite(f, (const uint8_t *)src + k * bytes))
					bad = k;
	return bad;
}

void
ggml_encode_f32(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	(void)weights;
	memcpy(out, src, rows * cols * sizeof(*src));
}

void
ggml_encode_f16(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	(void)weights;
	tb_f32_to_f16(src, rows * cols, out);
}

void
ggml_encode_bf16(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	(void)weights;
	tb_f32_to_bf16(src, rows * cols, out);
}
