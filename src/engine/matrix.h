/* matrix.h - y = W x straight from the bytes of a file.
 *
 * A matrix borrows its bytes (mapped, any alignment) and knows how they are
 * packed.  Few tokens go through kernels that read packed weights once, many through
 * panels of rows, unpacked once for all of them (mm.h), or through sgemm (gemm.h). */
#ifndef TBTUI_ENGINE_MATRIX_H
#define TBTUI_ENGINE_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/quant/scheme.h"

struct lowrank;
struct team;

struct matrix {
	struct scheme scheme;		/* plain: of F32, F16 or BF16 */
	uint32_t rows, cols;		/* y has rows, x has cols elements */
	const uint8_t *codes;		/* plain data or packed codes, row after row */
	const uint8_t *scales, *biases;	/* NULL where the scheme has none */
	enum dtype scale_dtype;		/* BF16, F16, F32; U8 for the fp kinds */
	float global;			/* multiplies everything; 1 = none */
	const struct lowrank *low;	/* what adapters add to products in a run (lowrank.h);
					 * borrowed; NULL: nothing */
};

/* Workspace of products: prepared activations, tiles. One at a time a team. */
struct matmul;
enum tb_status matmul_new(struct matmul **out, struct team *team, struct tb_err *err) TB_MUST_USE;
void matmul_free(struct matmul *mm);
/* From now on x and weights are F32 in every product, also with types of ggml's. */
void matmul_exactly(struct matmul *mm);

/* y[i][m][rows] = x[m][cols] * w[i]^T, F32, for n matrices with the same x (q k v; gate up):
 * activations are prepared once and one fork-join serves all.  Types of ggml's meet an x of
 * 8 bits (mv_ggml.h); where x are many, codes of our schemes do so, too, and BF16 meets
 * BF16.  x and y do not overlap.  Grows its workspace; TB_ENOMEM is the only failure. */
enum tb_status matmul_run(struct matmul *mm, const struct matrix *const *w, size_t n,
			  const float *x, size_t m, float *const *y, struct tb_err *err) TB_MUST_USE;

/* The same where each matrix meets an x of its own: x[i][m][cols of w[i]]. */
enum tb_status matmul_each(struct matmul *mm, const struct matrix *const *w, size_t n,
			   const float *const *x, size_t m, float *const *y,
			   struct tb_err *err) TB_MUST_USE;

/* The instruction (peak.h) that multiplies w with many x, or "sgemm"; static. */
const char *matmul_instruction(const struct matmul *mm, const struct matrix *w);

/* Room for n floats at *p, where there are *have; what was there is lost. */
enum tb_status matrix_room(float **p, size_t *have, size_t n, struct tb_err *err) TB_MUST_USE;

/* Row r as F32 (embedding look-up). out has cols elements. */
void matrix_row(const struct matrix *w, uint32_t r, float *out);

/* Which kernels this machine runs: "amx", "avx2", "scalar" … (mv.h). TBTUI_CPU holds it down. */
const char *matmul_kernels(void);
/* How a scheme is multiplied with one x: one of those names, or "rows" that are decoded one
 * by one; and with many: the instruction (peak.h), or "sgemm", OpenBLAS on decoded rows. */
void matmul_names(const struct scheme *s, const char **decode, const char **prefill);
#endif
