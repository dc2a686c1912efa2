/* ggml_type.h - what GGUF files store tensors as: one row a type.
 *
 * A row of a tensor is whole blocks of so many elements in so many bytes.  Types
 * of one element a block are plain numbers and have a dtype. */
#ifndef TBTUI_FORMAT_GGML_TYPE_H
#define TBTUI_FORMAT_GGML_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/format/dtype.h"

/* id, number in the file, name, elements a block, bytes a block, dtype (DT_COUNT:
 * packed) */
#define GGML_TYPE_LIST(X) \
	X(GGML_F32, 0, "F32", 1, 4, DT_F32) \
	X(GGML_F16, 1, "F16", 1, 2, DT_F16) \
	X(GGML_Q4_0, 2, "Q4_0", 32, 18, DT_COUNT) \
	X(GGML_Q4_1, 3, "Q4_1", 32, 20, DT_COUNT) \
	X(GGML_Q5_0, 6, "Q5_0", 32, 22, DT_COUNT) \
	X(GGML_Q5_1, 7, "Q5_1", 32, 24, DT_COUNT) \
	X(GGML_Q8_0, 8, "Q8_0", 32, 34, DT_COUNT) \
	X(GGML_Q8_1, 9, "Q8_1", 32, 36, DT_COUNT) \
	X(GGML_Q2_K, 10, "Q2_K", 256, 84, DT_COUNT) \
	X(GGML_Q3_K, 11, "Q3_K", 256, 110, DT_COUNT) \
	X(GGML_Q4_K, 12, "Q4_K", 256, 144, DT_COUNT) \
	X(GGML_Q5_K, 13, "Q5_K", 256, 176, DT_COUNT) \
	X(GGML_Q6_K, 14, "Q6_K", 256, 210, DT_COUNT) \
	X(GGML_Q8_K, 15, "Q8_K", 256, 292, DT_COUNT) \
	X(GGML_IQ2_XXS, 16, "IQ2_XXS", 256, 66, DT_COUNT) \
	X(GGML_IQ2_XS, 17, "IQ2_XS", 256, 74, DT_COUNT) \
	X(GGML_IQ3_XXS, 18, "IQ3_XXS", 256, 98, DT_COUNT) \
	X(GGML_IQ1_S, 19, "IQ1_S", 256, 50, DT_COUNT) \
	X(GGML_IQ4_NL, 20, "IQ4_NL", 32, 18, DT_COUNT) \
	X(GGML_IQ3_S, 21, "IQ3_S", 256, 110, DT_COUNT) \
	X(GGML_IQ2_S, 22, "IQ2_S", 256, 82, DT_COUNT) \
	X(GGML_IQ4_XS, 23, "IQ4_XS", 256, 136, DT_COUNT) \
	X(GGML_I8, 24, "I8", 1, 1, DT_I8) \
	X(GGML_I16, 25, "I16", 1, 2, DT_I16) \
	X(GGML_I32, 26, "I32", 1, 4, DT_I32) \
	X(GGML_I64, 27, "I64", 1, 8, DT_I64) \
	X(GGML_F64, 28, "F64", 1, 8, DT_F64) \
	X(GGML_IQ1_M, 29, "IQ1_M", 256, 56, DT_COUNT) \
	X(GGML_BF16, 30, "BF16", 1, 2, DT_BF16) \
	X(GGML_TQ1_0, 34, "TQ1_0", 256, 54, DT_COUNT) \
	X(GGML_TQ2_0, 35, "TQ2_0", 256, 66, DT_COUNT) \
	X(GGML_MXFP4, 39, "MXFP4", 32, 17, DT_COUNT) \
	X(GGML_NVFP4, 40, "NVFP4", 64, 36, DT_COUNT) \
	X(GGML_Q1_0, 41, "Q1_0", 128, 18, DT_COUNT) \
	X(GGML_Q2_0, 42, "Q2_0", 64, 18, DT_COUNT)

#define X(id, number, name, block, bytes, dtype) id = number,
enum ggml_type { GGML_TYPE_LIST(X) };
#undef X

#define GGML_BLOCK_MAX 256	/* elements */

struct ggml_info {
	const char *name;
	unsigned block, bytes;
	enum dtype dtype;
};
/* NULL: no type of today has that number. */
const struct ggml_info *ggml_info(uint32_t number);
/* Numbers that old files have: "Q4_2" for 4, …; NULL for the others. */
const char *ggml_removed(uint32_t number);

/* What a converter was asked for, as general.file_type has it: the type that most
 * matrices get, and the one for those whose rows are no whole blocks of it. */
struct gguf_mixture { const char *name; uint32_t main, instead; };
const struct gguf_mixture *gguf_mixture(uint64_t file_type);	/* NULL: nobody knows */
#endif
