/* stats.h - what statistics are made of, gathered in one pass over many values.
 *
 * Values that are not finite are counted and left out of everything else.  Sums
 * are taken as deviations from a value of the same block, so that a large mean
 * does not eat up a small spread. */
#ifndef TBTUI_QUANT_STATS_H
#define TBTUI_QUANT_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "src/format/dtype.h"

struct stats {
	uint64_t n;			/* finite values */
	uint64_t zeros, nans, infs;
	uint64_t first_nan, first_inf;	/* index; UINT64_MAX: none */
	double min, max;		/* of the finite ones; meaningless while n == 0 */
	double mean, m2;		/* m2: sum of the squared deviations from the mean */
};

void stats_init(struct stats *s);
/* n values of F32, BF16 or F16 at src (any alignment); `at`: the first one's index. */
void stats_add(struct stats *s, enum dtype d, const void *src, size_t n, uint64_t at);
void stats_add_f64(struct stats *s, const double *v, size_t n, uint64_t at);
void stats_merge(struct stats *s, const struct stats *other);

/* Adds the magnitudes to *sum and widens *max, of what is finite; how many are not. */
size_t stats_magnitudes(const float *v, size_t n, double *sum, float *max);

/* Equal bins over [lo, hi], lo < hi; the last one holds hi, too.  Adds to count[bins]. */
#define STATS_BINS_MAX 512
struct stats_bins {
	double lo, hi;
	unsigned bins;
	uint64_t count[STATS_BINS_MAX];
};
void stats_bin(struct stats_bins *b, enum dtype d, const void *src, size_t n);
void stats_bin_f64(struct stats_bins *b, const double *v, size_t n);
#endif
