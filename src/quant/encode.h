/* encode.h - the scalar encoders: what every other code path is compared with. */
#ifndef TBTUI_QUANT_ENCODE_H
#define TBTUI_QUANT_ENCODE_H

#include "src/quant/codec.h"

#define QUANT_GROUP_MAX 128

void affine_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
		   const struct quant_parts *out);
void mx_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	       const struct quant_parts *out);
/* absmax: of the whole tensor, for a global scale of absmax / 2688; 0 = none. */
void nv_encode(enum flavour f, enum dtype t, const void *src, size_t n, float absmax,
	       const struct quant_parts *out);

/* A vector path: each encodes or decodes from the start as much as it can and says
 * how many elements that was (whole groups; 0 = not this case); the rest is scalar. */
struct quant_kernels {
	const char *name;
	size_t (*affine)(const struct scheme *s, enum flavour f, enum dtype t, const void *src,
			 size_t n, const struct quant_parts *out);
	size_t (*fp)(const struct scheme *s, enum flavour f, enum dtype t, const void *src,
		     size_t n, const struct quant_parts *out);
	size_t (*decode)(const struct scheme *s, const struct quant_src *q, size_t n, float *out);
	size_t (*ggml)(unsigned type, const void *src, size_t n, float *out);
};
extern const struct quant_kernels quant_avx512, quant_avx2;
#endif
