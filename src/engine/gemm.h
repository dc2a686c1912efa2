/* gemm.h - Y = X W^T for many x where mm.c has no kernel: tiles of rows are decoded to F32,
 * then sgemm. */
#ifndef TBTUI_ENGINE_GEMM_H
#define TBTUI_ENGINE_GEMM_H

#include <stdbool.h>

#include "src/engine/matrix.h"

struct gemm {
	struct team *team;		/* borrowed */
	bool exact;			/* x stays as it is with ggml's types, too */
	float *tile;			/* decoded rows; owned */
	float *rounded;			/* x as ggml's types need it; owned */
	size_t tile_cap, rounded_cap;	/* in floats */
};

void gemm_init(struct gemm *g, struct team *team);
void gemm_free(struct gemm *g);
enum tb_status gemm_run(struct gemm *g, const struct matrix *w, const float *x, size_t m, float *y,
			struct tb_err *err) TB_MUST_USE;
#endif
