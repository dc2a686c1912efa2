#include "config.h"

#include "src/quant/stats.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "src/quant/codec.h"
#include "src/quant/stats_ops.h"

#define NARROW 0.5		/* of the squares' sum: the part that may be left */

void
stats_init(struct stats *s)
{
	*s = (struct stats){ .first_nan = UINT64_MAX, .first_inf = UINT64_MAX };
}

static const struct stats_ops *
ops(void)
{
#ifdef HAVE_X86
	const char *path = quant_path();

	if (!strcmp(path, "avx512"))
		return &stats_avx512;
	if (!strcmp(path, "avx2"))
		return &stats_avx2;
#endif
	return &stats_scalar;
}

static unsigned
dtype_row(enum dtype d)
{
	return d == DT_F32 ? 0 : d == DT_BF16 ? 1 : 2;
}

/* Two sets of n > 0 and k > 0 values become one (Chan's update). */
static void
merge_moments(struct stats *s, uint64_t k, double mean, double m2)
{
	double n = (double)s->n, delta = mean - s->mean, all = n + (double)k;

	s->mean += delta * ((double)k / all);
	s->m2 += m2 + delta * delta * (n * (double)k / all);
	s->n += k;
}

static void
widen(struct stats *s, double min, double max)
{
	s->min = s->n && s->min < min ? s->min : min;
	s->max = s->n && s->max > max ? s->max : max;
}

void
stats_merge(struct stats *s, const struct stats *o)
{
	s->zeros += o->zeros;
	s->nans += o->nans;
	s->infs += o->infs;
	s->first_nan = o->first_nan < s->first_nan ? o->first_nan : s->first_nan;
	s->first_inf = o->first_inf < s->first_inf ? o->first_inf : s->first_inf;
	if (!o->n)
		return;
	widen(s, o->min, o->max);
	merge_moments(s, o->n, o->mean, o->m2);
}

/* A block with values that are not finite, or too large to square in F32. */
void
stats_add_f64(struct stats *s, const double *v, size_t n, uint64_t at)
{
	struct stats b;

	stats_init(&b);
	for (size_t i = 0; i < n; i++) {
		double delta = v[i] - b.mean;

		if (isnan(v[i])) {
			b.nans++;
			b.first_nan = at + i < b.first_nan ? at + i : b.first_nan;
			continue;
		}
		if (isinf(v[i])) {
			b.infs++;
			b.first_inf = at + i < b.first_inf ? at + i : b.first_inf;
			continue;
		}
		widen(&b, v[i], v[i]);
		b.zeros += v[i] == 0;
		b.n++;
		b.mean += delta / (double)b.n;
		b.m2 += delta * (v[i] - b.mean);
	}
	stats_merge(s, &b);
}

/* As many as a block has, at most. */
static void
to_f64(enum dtype d, const uint8_t *p, size_t n, double v[STATS_BLOCK])
{
	float f[STATS_BLOCK];

	dtype_to_f32(d, p, n, f);
	for (size_t i = 0; i < n; i++)
		v[i] = f[i];
}

/* Of values that lie close together, far from zero, the squares tell little of their
 * spread: from one of them the deviations are small. */
void
stats_add(struct stats *s, enum dtype d, const void *src, size_t n, uint64_t at)
{
	void (*block)(const void *src, size_t n, float shift, struct stats_block *out) =
		ops()->block[dtype_row(d)];
	const uint8_t *p = src;
	unsigned size = dtype_bits(d) / 8;

	for (size_t i = 0, k; i < n; i += k) {
		struct stats_block b;
		double square;
		float shift = 0;

		k = n - i < STATS_BLOCK ? n - i : STATS_BLOCK;
		block(p + i * size, k, shift, &b);
		square = b.sum * b.sum / (double)k;
		if (isfinite(b.sq) && square > 0 && b.sq - square < NARROW * b.sq) {
			shift = b.min;
			block(p + i * size, k, shift, &b);
		}
		if (isfinite(b.sum) && isfinite(b.sq)) {
			double mean = b.sum / (double)k, m2 = b.sq - mean * b.sum;

			widen(s, b.min, b.max);
			s->zeros += b.zeros;
			merge_moments(s, k, (double)shift + mean, m2 > 0 ? m2 : 0);
		} else {
			double v[STATS_BLOCK];

			to_f64(d, p + i * size, k, v);
			stats_add_f64(s, v, k, at + i);
		}
	}
}

/* In F32 over short stretches, as the registers like it. */
size_t
stats_magnitudes(const float *v, size_t n, double *sum, float *max)
{
	size_t bad = 0;

	for (size_t at = 0; at < n; at += 256) {
		size_t end = n - at < 256 ? n : at + 256;
		float part = 0, most = 0;
		uint32_t odd = 0;

		_Pragma("omp simd reduction(+:part, odd) reduction(max:most)")
		for (size_t i = at; i < end; i++) {
			float x = fabsf(v[i]), good = x <= FLT_MAX ? x : 0;

			part += good;
			most = good > most ? good : most;
			odd += !(x <= FLT_MAX);
		}
		*sum += (double)part;
		*max = most > *max ? most : *max;
		bad += odd;
	}
	return bad;
}

void
stats_bin_f64(struct stats_bins *b, const double *v, size_t n)
{
	double half = b->hi / 2 - b->lo / 2;	/* hi - lo may be too large for a double */

	for (size_t i = 0; i < n; i++) {
		double at = (v[i] / 2 - b->lo / 2) / half * b->bins;

		if (!isfinite(v[i]))
			continue;
		at = at > 0 ? at : 0;
		b->count[at < b->bins ? (unsigned)at : b->bins - 1]++;
	}
}

void
stats_bin(struct stats_bins *b, enum dtype d, const void *src, size_t n)
{
	float lo = (float)b->lo, scale = (float)(b->bins / (b->hi - b->lo));
	bool fits = b->hi - b->lo < FLT_MAX && isfinite(scale) && scale >= FLT_MIN;
	const uint8_t *p = src;
	unsigned size = dtype_bits(d) / 8;

	for (size_t i = 0, k; i < n; i += k) {
		uint32_t index[STATS_BLOCK];

		k = n - i < STATS_BLOCK ? n - i : STATS_BLOCK;
		if (fits) {
			ops()->index[dtype_row(d)](p + i * size, k, lo, scale, b->bins, index);
			for (size_t j = 0; j < k; j++)
				if (index[j] < b->bins)
					b->count[index[j]]++;
		} else {
			double v[STATS_BLOCK];

			to_f64(d, p + i * size, k, v);
			stats_bin_f64(b, v, k);
		}
	}
}
