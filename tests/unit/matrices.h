/* matrices.h - matrices of random codes with what they stand for, worked out here in
 * doubles and not by the code under test. */
#ifndef TBTUI_TESTS_MATRICES_H
#define TBTUI_TESTS_MATRICES_H

#include <stddef.h>
#include <stdint.h>

#include "src/engine/matrix.h"

struct sample {
	struct matrix w;
	double *value;		/* [rows][cols] */
	double *size;		/* how large the numbers are that a kernel adds up to it */
	void *map[3];		/* parts, each ending where memory ends */
	size_t map_len[3];
};

uint64_t sample_random(uint64_t *seed);
float sample_normal(uint64_t *seed);	/* roughly: four uniform numbers */

/* Random codes and scales; any read behind a part's end is a fault. */
void sample_make(struct sample *s, struct scheme scheme, enum dtype scale_dtype, uint32_t rows,
		 uint32_t cols, float global, uint64_t seed);
void sample_free(struct sample *s);

/* Products of 2 to 8 x in one pass are those of each alone, bit for bit. */
void matmul_together(const struct matrix *w, const char *path);

static inline enum tb_status
matmul_one(struct matmul *mm, const struct matrix *w, const float *x, size_t m, float *y,
	   struct tb_err *err)
{
	return matmul_run(mm, &w, 1, x, m, &y, err);
}
#endif
