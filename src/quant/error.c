#include "config.h"

#include <math.h>

#include "src/quant/codec.h"

void
quant_error_add(struct quant_error *e, const float *a, const float *b, size_t n)
{
	double diff = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		double d = (double)a[i] - b[i];

		diff += d * d;
		sum += (double)a[i] * a[i];
	}
	e->sum_sq_diff += diff;
	e->sum_sq += sum;
}

double
quant_error_rms(const struct quant_error *e)
{
	if (e->sum_sq_diff == 0)
		return 0;
	return sqrt(e->sum_sq_diff / e->sum_sq);
}
