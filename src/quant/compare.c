#include "config.h"

#include "src/quant/compare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "src/quant/codec.h"
#include "src/quant/compare_ops.h"

void
compare_init(struct compare *c)
{
	*c = (struct compare){ .first = COMPARE_NONE, .first_odd = COMPARE_NONE,
			       .max_at = COMPARE_NONE };
}

static compare_fn *
compare_kernel(void)
{
#ifdef HAVE_X86
	const char *path = quant_path();

	if (!strcmp(path, "avx512"))
		return compare_avx512;
	if (!strcmp(path, "avx2"))
		return compare_avx2;
#endif
	return compare_scalar;
}

/* One pair, whatever it is. */
static void
add_pair(struct compare *c, double a, double b, uint64_t at)
{
	double d = fabs(a - b);

	c->n++;
	if (isnan(a) && isnan(b))
		return;
	if (a != b && !c->unequal++)
		c->first = at;
	if (!isfinite(a) || !isfinite(b)) {
		if (a != b && !c->odd++)
			c->first_odd = at;
		return;
	}
	c->aa += a * a;
	c->bb += b * b;
	c->ab += a * b;
	c->dd += d * d;
	if (d > c->max) {
		c->max = d;
		c->max_at = at;
	}
}

void
compare_f64(struct compare *c, const double *a, const double *b, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++)
		add_pair(c, a[i], b[i], at + i);
}

/* The sums of a block are known; where in it something is, is looked up. */
static void
add_block(struct compare *c, const struct compare_block *s, const float *a, const float *b,
	  size_t n, uint64_t at)
{
	size_t i;

	c->n += n;
	c->aa += s->aa;
	c->bb += s->bb;
	c->ab += s->ab;
	c->dd += s->dd;
	if (s->unequal && !c->unequal) {
		for (i = 0; i < n && a[i] == b[i];)
			i++;
		c->first = at + i;
	}
	c->unequal += s->unequal;
	if (s->max > c->max) {
		for (i = 0; i < n && fabs((double)a[i] - (double)b[i]) != s->max;)
			i++;
		c->max = s->max;
		c->max_at = at + i;
	}
}

void
compare_f32(struct compare *c, const float *a, const float *b, size_t n, uint64_t at)
{
	compare_fn *block = compare_kernel();

	for (size_t i = 0, k; i < n; i += k) {
		struct compare_block s;

		k = n - i < COMPARE_BLOCK ? n - i : COMPARE_BLOCK;
		block(a + i, b + i, k, &s);
		if (isfinite(s.dd))
			add_block(c, &s, a + i, b + i, k, at + i);
		else
			for (size_t j = i; j < i + k; j++)
				add_pair(c, (double)a[j], (double)b[j], at + j);
	}
}

void
compare_merge(struct compare *c, const struct compare *later)
{
	c->n += later->n;
	c->unequal += later->unequal;
	c->odd += later->odd;
	c->first = later->first < c->first ? later->first : c->first;
	c->first_odd = later->first_odd < c->first_odd ? later->first_odd : c->first_odd;
	c->aa += later->aa;
	c->bb += later->bb;
	c->ab += later->ab;
	c->dd += later->dd;
	if (later->max > c->max) {
		c->max = later->max;
		c->max_at = later->max_at;
	}
}

double
compare_nmse(const struct compare *c)
{
	return c->dd == 0 ? 0 : c->dd / c->aa;
}

double
compare_cos(const struct compare *c)
{
	double cos;

	if (c->dd == 0)
		return 1;
	if (c->aa == 0 || c->bb == 0)
		return 0;
	cos = c->ab / (sqrt(c->aa) * sqrt(c->bb));
	return cos > 1 ? 1 : cos;
}
