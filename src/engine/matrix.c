/* matrix.c - rows of a matrix as F32, whatever they are packed as. */
#include "config.h"

#include "src/engine/matrix.h"

#include <string.h>

#include "src/base/half.h"
#include "src/engine/mv.h"
#include "src/quant/codec.h"

uint64_t
matrix_row_bytes(const struct matrix *w)
{
	if (w->scheme.kind == SCHEME_PLAIN)
		return (uint64_t)w->cols * (w->scheme.dtype == DT_F32 ? 4 : 2);
	return scheme_code_bytes(&w->scheme, w->cols);
}

static void
decode_plain(enum dtype dtype, const uint8_t *src, uint32_t n, float *out)
{
	if (dtype == DT_BF16)
		tb_bf16_to_f32(src, n, out);
	else if (dtype == DT_F16)
		tb_f16_to_f32(src, n, out);
	else
		memcpy(out, src, (size_t)n * sizeof(*out));
}

void
matrix_decode(const struct matrix *w, uint32_t r, uint32_t col, uint32_t n, float global,
	      float *out)
{
	const uint8_t *codes = w->codes + matrix_row_bytes(w) * r;
	uint64_t group, skip;
	struct quant_src q;

	if (w->scheme.kind == SCHEME_PLAIN || w->scheme.kind == SCHEME_GGML) {
		q = (struct quant_src){ .codes = codes + scheme_code_bytes(&w->scheme, col) };
		if (w->scheme.kind == SCHEME_PLAIN)
			decode_plain(w->scheme.dtype, q.codes, n, out);
		else
			quant_decode(&w->scheme, &q, n, out);
		for (uint32_t i = 0; global != 1 && i < n; i++)
			out[i] *= global;
		return;
	}
	group = (uint64_t)(w->cols / w->scheme.group) * r + col / w->scheme.group;
	skip = group * (w->scale_dtype == DT_U8 ? 1 : w->scale_dtype == DT_F32 ? 4 : 2);
	q = (struct quant_src){
		.codes = codes + (uint64_t)col * w->scheme.bits / 8,
		.scales = w->scales + skip,
		.biases = w->biases ? w->biases + skip : NULL,
		.scale_dtype = w->scale_dtype,
		.global = global,
	};
	quant_decode(&w->scheme, &q, n, out);
}

void
matrix_row(const struct matrix *w, uint32_t r, float *out)
{
	matrix_decode(w, r, 0, w->cols, w->global, out);
}
