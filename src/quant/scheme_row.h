/* scheme_row.h - what a scheme is, as data: each kind's file ends with its row, which
 * SCHEME_LIST names.  Whoever wants to know something of a kind asks its row (most of it
 * through scheme.h), and compares no kinds. */
#ifndef TBTUI_QUANT_SCHEME_ROW_H
#define TBTUI_QUANT_SCHEME_ROW_H

#include "src/quant/codec.h"

#define QUANT_GROUP_MAX 128		/* of FORM_GROUPS */

typedef void scheme_encode_fn(const struct scheme *s, enum flavour f, enum dtype t, const void *src,
			      size_t n, const struct quant_parts *out);
typedef void scheme_decode_fn(const struct scheme *s, const struct quant_src *q, size_t n,
			      float *out);
typedef void scheme_exact_fn(const struct scheme *s, enum flavour f, const struct quant_src *q,
			     size_t n, enum dtype out_dtype, void *out);

struct scheme_row {
	enum scheme_form form;
	const char *mode;		/* in config.json and for people; NULL: plain */
	scheme_decode_fn *decode;	/* the scalar code; NULL: FORM_MATRIX */

	scheme_encode_fn *encode;	/* FORM_GROUPS and FORM_BLOCKS */

	/* FORM_GROUPS. */
	uint8_t bits[8];		/* those that there are, ascending; 0 ends them */
	uint16_t groups[4];
	uint8_t usual_bits;		/* meant where nothing is said; 0: the first */
	uint16_t usual_group;
	struct { const char *name; unsigned bits; } words[8];	/* besides the mode, of the
								 * usual group */
	const char *const *quant_types;	/* Ollama's, by bits; NULL: the mode */
	bool bias;
	enum dtype scale;		/* as which scales are stored; DT_COUNT: the source's */
	/* The small floats that bytes of scales, and codes, are; DT_COUNT: they are none. */
	enum dtype scale_float, code_float;
	/* What a plan gives to tensors that want 8 bits, and whether experts may, too. */
	enum scheme_kind eight;
	bool eight_experts;
	scheme_exact_fn *exact;

	const struct foreign_layout *foreign;	/* FORM_MATRIX: src/quant/foreign.h */
};

#define X(id, row, names, pattern, example) extern const struct scheme_row scheme_row_##row;
SCHEME_LIST(X)
#undef X
const struct scheme_row *scheme_row(enum scheme_kind k);

/* A vector path: each encodes or decodes from the start as much as it can and says
 * how many elements that was (whole groups; 0 = not this case); the rest is scalar. */
struct quant_kernels {
	const char *name;
	size_t (*encode)(const struct scheme *s, enum flavour f, enum dtype t, const void *src,
			 size_t n, const struct quant_parts *out);
	size_t (*decode)(const struct scheme *s, const struct quant_src *q, size_t n, float *out);
};
extern const struct quant_kernels quant_avx512, quant_avx2;
#endif
