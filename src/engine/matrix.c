/* matrix.c - rows of a matrix as F32, whatever they are packed as. */
#include "config.h"

#include "src/engine/matrix.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/engine/mv.h"
#include "src/quant/codec.h"

uint64_t
matrix_row_bytes(const struct matrix *w)
{
	return scheme_code_bytes(&w->scheme, w->cols);
}

void
matrix_decode(const struct matrix *w, uint32_t r, uint32_t col, uint32_t n, float global,
	      float *out)
{
	const struct quant_src all = { w->codes, w->scales, w->biases, w->scale_dtype, global };
	struct quant_src q = quant_src_at(&w->scheme, &all, (uint64_t)w->cols * r + col);

	quant_decode(&w->scheme, &q, n, out);
	if (global == 1 || scheme_form(&w->scheme) == FORM_GROUPS)
		return;
	for (uint32_t i = 0; i < n; i++)	/* decoding did not see it */
		out[i] *= global;
}

enum tb_status
matrix_room(float **p, size_t *have, size_t n, struct tb_err *err)
{
	if (n <= *have)
		return TB_OK;
	free(*p);
	*p = n < SIZE_MAX / sizeof(**p) ? tb_aligned(n * sizeof(**p)) : NULL;
	*have = *p ? n : 0;
	return *p ? TB_OK : tb_nomem(err);
}

void
matrix_row(const struct matrix *w, uint32_t r, float *out)
{
	matrix_decode(w, r, 0, w->cols, w->global, out);
}
