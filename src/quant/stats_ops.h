/* stats_ops.h - private to src/quant: what there is once for each instruction set. */
#ifndef TBTUI_QUANT_STATS_OPS_H
#define TBTUI_QUANT_STATS_OPS_H

#include <stddef.h>
#include <stdint.h>

#define STATS_BLOCK 4096		/* values with one shift */

struct stats_block {
	float min, max;
	double sum, sq;			/* of the deviations from shift; not finite when a
					 * value is not.  The sums are F32 inside: where sq
					 * is far more than it would be with the mean as
					 * shift, the difference is lost */
	uint32_t zeros;
};

/* In the order F32, BF16, F16. */
struct stats_ops {
	void (*block[3])(const void *src, size_t n, float shift, struct stats_block *out);
	void (*index[3])(const void *src, size_t n, float lo, float scale, unsigned bins,
			 uint32_t *index);
};
extern const struct stats_ops stats_scalar, stats_avx2, stats_avx512;
#endif
