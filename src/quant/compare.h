/* compare.h - how far two runs of values are apart, summed up in double.
 *
 * Two NaN are equal, as are infinities of one sign.  The sums are those of the pairs
 * of which both values are finite. */
#ifndef TBTUI_QUANT_COMPARE_H
#define TBTUI_QUANT_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#define COMPARE_NONE UINT64_MAX		/* "first…", max_at: there is none */

struct compare {
	uint64_t n;			/* pairs, all of them */
	uint64_t unequal, first;	/* those that are not equal; the first one's index */
	uint64_t odd, first_odd;	/* those of them in which not both are finite */
	double aa, bb, ab, dd;		/* sums of a*a, b*b, a*b, (a-b)^2 */
	double max;			/* of |a-b| */
	uint64_t max_at;		/* the first pair that has it; NONE while max is 0 */
};

void compare_init(struct compare *c);
/* `at`: the first pair's index; runs come in order, or one merges in order. */
void compare_f32(struct compare *c, const float *a, const float *b, size_t n, uint64_t at);
void compare_f64(struct compare *c, const double *a, const double *b, size_t n, uint64_t at);
/* `later`: of pairs behind those of *c. */
void compare_merge(struct compare *c, const struct compare *later);

/* sum (a-b)^2 / sum a^2; 0 when all are equal, infinite when a is all zeros. */
double compare_nmse(const struct compare *c);
/* Of the angle between them; 1 when all are equal, 0 when one is all zeros. */
double compare_cos(const struct compare *c);
#endif
