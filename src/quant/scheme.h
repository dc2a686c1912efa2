/* scheme.h - what a logical tensor is stored as: a plain dtype, packed codes with
 * scales (and biases) a group, or blocks that hold both, as ggml has them.  One row
 * a kind; names as in the manual. */
#ifndef TBTUI_QUANT_SCHEME_H
#define TBTUI_QUANT_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/format/dtype.h"

/* id, its row (scheme_row.h), and for -q: names, pattern, an example of it; "" is read only.
 * Without SCHEME_PLAIN, which is any dtype. */
#define SCHEME_LIST(X) \
	X(AFFINE, affine, "int4 int8 ", "affine:BITS:GROUP ", "affine:6:64 ") \
	X(MXFP4, mxfp4, "mxfp4 ", "", "") \
	X(MXFP8, mxfp8, "mxfp8 ", "", "") \
	X(NVFP4, nvfp4, "nvfp4 ", "", "") \
	X(GGML, ggml, "", "", "")	/* scales and all in the blocks: one part */ \
	/* Of other programs, read whole and never written: src/quant/foreign.h. */ \
	X(AWQ, awq, "", "", "") \
	X(GPTQ, gptq, "", "", "") \
	X(GPTQ_V2, gptq_v2, "", "", "") \
	X(CT_INT, ct_int, "", "", "") \
	X(INT8, int8, "", "", "") \
	X(FP8, fp8, "", "", "")

#define X(id, row, names, pattern, example) SCHEME_##id,
enum scheme_kind { SCHEME_PLAIN, SCHEME_LIST(X) SCHEME_KINDS };
#undef X

/* What -q takes: "… int4 int8 affine:BITS:GROUP mxfp4 …", each with a blank behind it. */
#define SCHEME_WORDS_(id, row, names, pattern, example) names pattern
#define SCHEME_EXAMPLES_(id, row, names, pattern, example) names example
#define SCHEME_DTYPES "f32 f16 bf16 "
#define SCHEME_WORDS SCHEME_LIST(SCHEME_WORDS_)
#define SCHEME_EXAMPLES SCHEME_LIST(SCHEME_EXAMPLES_)

/* Those that have a key where conversions are planned: id, name, key, rank (as in
 * ui/action.def), help. */
#define SCHEME_KEY_LIST(K) \
	K(INT4, "int4", "4", 11, "this tensor, or those marked, as int4") \
	K(INT8, "int8", "8", 12, "as int8") \
	K(NVFP4, "nvfp4", "n", 13, "as nvfp4") \
	K(MXFP8, "mxfp8", "x", 14, "as mxfp8") \
	K(MXFP4, "mxfp4", "m", 15, "as mxfp4")

/* What `group` may be of the foreign ones besides a number. */
#define SCHEME_PER_ROW (1u << 30)
#define SCHEME_PER_TENSOR (SCHEME_PER_ROW + 1)

struct scheme {
	enum scheme_kind kind;
	unsigned bits;		/* a code; for SCHEME_PLAIN those of the dtype; 0 for SCHEME_GGML */
	unsigned group;		/* elements that share a scale, or a block's; 0 for SCHEME_PLAIN */
	enum dtype dtype;	/* SCHEME_PLAIN only */
	unsigned ggml;		/* enum ggml_type; SCHEME_GGML only */
};

#define SCHEME_NAME_MAX 24

struct scheme scheme_plain(enum dtype d);
struct scheme scheme_affine(unsigned bits, unsigned group);
/* Plain for the types that are plain numbers.  type is one of enum ggml_type. */
struct scheme scheme_ggml(unsigned type);
/* What GGUF files call what both have: mxfp4 is MXFP4 there.  Others as they are. */
struct scheme scheme_in_gguf(const struct scheme *s);
/* ggml's number for the very same, one of enum ggml_type; false: it has none. */
bool scheme_ggml_type(const struct scheme *s, unsigned *type);
bool scheme_equal(const struct scheme *a, const struct scheme *b);

/* How the numbers of a kind lie, which is what a reader needs to know of it. */
enum scheme_form {
	FORM_PLAIN,	/* one after the other, of a dtype */
	FORM_GROUPS,	/* packed codes; scales (and biases) a group in parts of their own */
	FORM_BLOCKS,	/* scales and all in the blocks: one part */
	FORM_MATRIX	/* of other programs, read a matrix at a time: src/quant/foreign.h */
};
enum scheme_form scheme_form(const struct scheme *s);
bool scheme_is_plain(const struct scheme *s);
bool scheme_foreign(const struct scheme *s);	/* FORM_MATRIX: read, never written */
bool scheme_readable(const struct scheme *s);	/* is there a decoder? */
/* Where a number is stored: its first byte in the codes of a matrix of that shape (or
 * of several); of blocks, the block's. */
uint64_t scheme_place(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t index);

/* SCHEME_DTYPES and SCHEME_WORDS, any case; int4 is affine:4:64, int8 affine:8:64.  Also
 * Ollama's aliases q4 fp4 q8 fp8, and ggml's types by their names, which GGUF files alone
 * hold; mxfp4 and nvfp4 mean those of MLX.  TB_EUSAGE says what would be accepted. */
enum tb_status scheme_parse(const char *text, struct scheme *out, struct tb_err *err) TB_MUST_USE;
/* The shortest name that parses back: "int4", "affine:4:32", "BF16" for plain; of
 * ggml's the name alone: "Q4_K" (MXFP4 and NVFP4 parse as MLX's).  The foreign ones are
 * read only: "awq:4:128", "gptq:4:row", "ct-int4:128", "ct-int8:row", "fp8:128x128". */
const char *scheme_name(const struct scheme *s, char out[SCHEME_NAME_MAX]);
/* Ollama's quant_type: "int4" whatever the group; "int3" and the like for widths that
 * Ollama has no name for (it does not load them); NULL for what MLX does not write. */
const char *scheme_quant_type(const struct scheme *s);
bool scheme_ollama(const struct scheme *s);	/* Ollama knows that name */
/* From quant_type and group_size as found in metadata; 0 = that type's default. */
bool scheme_from_quant_type(const char *type, unsigned group, struct scheme *out);
/* From mode/bits/group_size of config.json; mode NULL = affine, 0 = the mode's default. */
bool scheme_from_mode(const char *mode, unsigned bits, unsigned group, struct scheme *out);
const char *scheme_mode(const struct scheme *s);	/* "affine", "mxfp4", … */

bool scheme_has_bias(const struct scheme *s);
enum dtype scheme_scale_dtype(const struct scheme *s, enum dtype source); /* U8 for the fp kinds */
/* What bytes of its scales and of its codes are: small floats, or DT_COUNT. */
enum dtype scheme_scale_float(const struct scheme *s);
enum dtype scheme_code_float(const struct scheme *s);
/* The 8-bit sibling, for tensors that suffer from fewer: int8 for int4 and int8 (other
 * affine widths keep their group), else mxfp8.  *experts: theirs may have it, too. */
struct scheme scheme_eight(const struct scheme *s, bool *experts);
/* Can rows of k elements be stored so? */
bool scheme_fits(const struct scheme *s, uint64_t k);
/* Bytes of the packed codes / of the scales of n elements (n a multiple of group). */
uint64_t scheme_code_bytes(const struct scheme *s, uint64_t n);
uint64_t scheme_scales(const struct scheme *s, uint64_t n);	/* how many; foreign: 0 */
#endif
