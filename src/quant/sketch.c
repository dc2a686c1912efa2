#include "config.h"

#include "src/quant/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"

typedef uint16_t loose_16 __attribute__((aligned(1), may_alias));

void
sketch_add(struct sketch *s, const void *src, size_t n)
{
	const loose_16 *p = src;
	size_t step = s->dtype == DT_F32 ? 2 : 1;
	uint32_t *count = s->count;

	p += step - 1;			/* the upper half, on machines of this byte order */
	for (size_t i = 0; i < n; i++)
		count[p[i * step]]++;
}

void
sketch_merge(struct sketch *s, const struct sketch *other)
{
	for (size_t i = 0; i < SKETCH_KEYS; i++)
		s->count[i] += other->count[i];
}

bool
sketch_exact(const struct sketch *s)
{
	return s->dtype != DT_F32;
}

/* The magnitude with which a bucket begins; that of the next is where it ends. */
static double
magnitude(enum dtype d, unsigned key)
{
	uint16_t half = (uint16_t)key;
	float f;

	dtype_to_f32(d == DT_F16 ? DT_F16 : DT_BF16, &half, 1, &f);
	return (double)f;
}

/* Patterns below are finite: without the sign. */
static unsigned
finite_keys(enum dtype d)
{
	return d == DT_F16 ? 0x7c00 : 0x7f80;
}

static void
add_step(struct sketch_cdf *c, const struct sketch *s, unsigned key)
{
	unsigned pattern = key & 0x7fff;
	double lo = magnitude(s->dtype, pattern), hi = lo;

	if (!s->count[key])
		return;
	if (!sketch_exact(s) && pattern + 1 < finite_keys(s->dtype))
		hi = magnitude(s->dtype, pattern + 1);
	c->step[c->n++] = (struct sketch_step){ key & 0x8000 ? -hi : lo, key & 0x8000 ? -lo : hi,
						c->total, s->count[key] };
	c->total += s->count[key];
}

bool
sketch_cdf(const struct sketch *s, struct sketch_cdf *out)
{
	unsigned keys = finite_keys(s->dtype);

	*out = (struct sketch_cdf){ .step = tb_calloc(2 * (size_t)keys, sizeof(*out->step)) };
	if (!out->step)
		return false;
	for (unsigned k = keys; k-- > 0;)
		add_step(out, s, 0x8000 | k);
	for (unsigned k = 0; k < keys; k++)
		add_step(out, s, k);
	return true;
}

void
sketch_cdf_free(struct sketch_cdf *c)
{
	free(c->step);
	*c = (struct sketch_cdf){ 0 };
}

/* The value with that many below it: a bucket's values lie evenly between its ends. */
static double
value_at(const struct sketch_cdf *c, uint64_t rank)
{
	size_t behind = TB_FIRST(c->n, i, c->step[i].below <= rank);
	const struct sketch_step *b = &c->step[behind ? behind - 1 : 0];

	return b->lo + (b->hi - b->lo) * ((double)(rank - b->below) + 0.5) / (double)b->count;
}

double
sketch_quantile(const struct sketch_cdf *c, double q)
{
	double at, part;
	uint64_t rank;

	if (!c->total)
		return 0;
	at = q * (double)(c->total - 1);
	rank = (uint64_t)at;
	part = at - (double)rank;
	if (rank + 1 >= c->total || part <= 0)
		return value_at(c, rank < c->total ? rank : c->total - 1);
	return value_at(c, rank) * (1 - part) + value_at(c, rank + 1) * part;
}

/* The bin that holds v, and how many bins lie wholly below it. */
static unsigned
bin_of(double v, double lo, double hi, unsigned bins)
{
	double at = (v / 2 - lo / 2) / (hi / 2 - lo / 2) * bins;

	return at <= 0 ? 0 : at < bins ? (unsigned)at : bins - 1;
}

/* A bucket over several bins is shared out so that nothing is lost in rounding. */
static void
spread(const struct sketch_step *b, double lo, double hi, unsigned bins, uint64_t *count)
{
	unsigned first = bin_of(b->lo, lo, hi, bins), last = bin_of(b->hi, lo, hi, bins);
	uint64_t given = 0;

	for (unsigned i = first; i < last; i++) {
		double end = lo + (hi - lo) * ((i + 1.0) / bins);
		double share = (end - b->lo) / (b->hi - b->lo);
		uint64_t upto = (uint64_t)((double)b->count * (share < 0 ? 0 : share < 1 ? share : 1));

		upto = upto < given ? given : upto < b->count ? upto : b->count;
		count[i] += upto - given;
		given = upto;
	}
	count[last] += b->count - given;
}

void
sketch_bins(const struct sketch_cdf *c, double lo, double hi, unsigned bins, uint64_t *count)
{
	memset(count, 0, bins * sizeof(*count));
	for (size_t i = 0; i < c->n; i++)
		spread(&c->step[i], lo, hi, bins, count);
}
