/* codec.h - encoding and decoding groups of elements.
 *
 * Since a group's codes fill whole bytes and a row is whole groups, rows follow
 * each other without gaps: all functions work on n elements, n a multiple of the
 * group, whatever the shape.  Codes are a little-endian bit stream.  Pointers may
 * have any alignment.  Thread-safe: no state. */
#ifndef TBTUI_QUANT_CODEC_H
#define TBTUI_QUANT_CODEC_H

#include "src/quant/scheme.h"

/* Whose rounding: MLX on a GPU under Metal (what files in the wild have), or
 * MLX's CPU backend.  They differ in ties, signs of zero, and scale bytes. */
enum flavour { FLAVOUR_METAL, FLAVOUR_MLX_CPU };
bool flavour_parse(const char *s, enum flavour *out);	/* "metal", "mlx-cpu" */
const char *flavour_name(enum flavour f);

struct quant_parts {
	void *codes;		/* scheme_code_bytes(); of blocks nothing else */
	void *scales;		/* scheme_scales() of scheme_scale_dtype() */
	void *biases;		/* affine: as many, of the source dtype; else NULL */
};

/* src: n elements of BF16, F16 or F32. */
void quant_encode(const struct scheme *s, enum flavour f, enum dtype src_dtype, const void *src,
		  size_t n, const struct quant_parts *out);

/* NVFP4 with MLX's optional global scale: absmax is the largest magnitude of the whole
 * tensor; decoding then needs `global` = absmax / 2688, which nothing stores. */
void quant_encode_nvfp4_global(enum flavour f, enum dtype src_dtype, const void *src, size_t n,
			       float absmax, const struct quant_parts *out);

struct quant_src {
	const void *codes, *scales, *biases;
	enum dtype scale_dtype;	/* of scales and biases; U8 for the fp kinds */
	float global;		/* multiplies every value (nvfp4 of ModelOpt); 1 = none */
};

/* The same from element `first` on, where a group begins (of plain numbers: a byte). */
struct quant_src quant_src_at(const struct scheme *s, const struct quant_src *q, uint64_t first);

/* To F32, computed in F32 (what the engine multiplies with).  Of plain numbers and of
 * blocks, which must be scheme_readable(), only codes is used: no `global`. */
void quant_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out);
/* As MLX's dequantize: every step rounded to `out_dtype` (BF16, F16, F32), bit for bit. */
void quant_decode_exact(const struct scheme *s, enum flavour f, const struct quant_src *q,
			size_t n, enum dtype out_dtype, void *out);

/* Which code path runs here: "avx512", "avx2", "scalar". TBTUI_CPU=scalar|avx2|avx512
 * in the environment holds it down (tests compare the paths). */
const char *quant_path(void);

/* Relative error of b against a: sqrt(sum (a-b)^2 / sum a^2); 0 for two zeros. */
struct quant_error { double sum_sq_diff, sum_sq; };
void quant_error_add(struct quant_error *e, const float *a, const float *b, size_t n);
double quant_error_rms(const struct quant_error *e);
#endif
