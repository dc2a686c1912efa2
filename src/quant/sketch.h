/* sketch.h - the distribution of many values in one bucket for each pattern of 16 bits:
 * exact for BF16 and F16; of F32 the upper half, so that a bucket's values differ by
 * less than 2^-7 of themselves.  Sketches of the same type add up. */
#ifndef TBTUI_QUANT_SKETCH_H
#define TBTUI_QUANT_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/format/dtype.h"

#define SKETCH_KEYS 65536

struct sketch {
	enum dtype dtype;		/* BF16, F16 or F32 */
	uint32_t count[SKETCH_KEYS];	/* by pattern; at most 2^32 - 1 values in all */
};

/* n values of the sketch's dtype at src, of any alignment. */
void sketch_add(struct sketch *s, const void *src, size_t n);
void sketch_merge(struct sketch *s, const struct sketch *other);
/* Is each bucket one value? */
bool sketch_exact(const struct sketch *s);

/* What is finite, cumulated in the order of values; lo and hi of a bucket of one value
 * are the same. */
struct sketch_cdf {
	struct sketch_step { double lo, hi; uint64_t below, count; } *step;	/* owned */
	size_t n;
	uint64_t total;
};
/* False: out of memory. */
bool sketch_cdf(const struct sketch *s, struct sketch_cdf *out) __attribute__((warn_unused_result));
void sketch_cdf_free(struct sketch_cdf *c);
/* The value below which a share q (0 to 1) lies, between neighbours as numpy has it
 * ("linear"); 0 of nothing. */
double sketch_quantile(const struct sketch_cdf *c, double q);
/* Spreads the counts over equal bins of [lo, hi], lo < hi; the last one holds hi, too. */
void sketch_bins(const struct sketch_cdf *c, double lo, double hi, unsigned bins,
		 uint64_t *count);
#endif
