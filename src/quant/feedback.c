#include "config.h"

#include "src/quant/feedback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/quant/fp.h"
#include "src/quant/search.h"
#include "src/quant/search_block.h"

enum tb_status
quant_feedback_new(struct quant_feedback **out, size_t cols, size_t block, struct tb_err *err)
{
	struct quant_feedback *f = *out = tb_calloc(1, sizeof(*f));

	if (!f)
		return tb_nomem(err);
	*f = (struct quant_feedback){ .cols = cols, .block = block };
	f->share = tb_calloc((cols + block - 1) / block * block, block * sizeof(*f->share));
	f->cost = tb_calloc(cols, sizeof(*f->cost));
	if (f->share && f->cost)
		return TB_OK;
	quant_feedback_free(f);
	*out = NULL;
	return tb_nomem(err);
}

void
quant_feedback_free(struct quant_feedback *f)
{
	if (!f)
		return;
	free(f->share);
	free(f->cost);
	free(f);
}

static double
dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

#pragma omp simd reduction(+:sum)
	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* h [n][n], lower half: becomes r, upper, with h = r r'.  From the last column on, so that
 * the inverse of r is what takes a column's error to those behind it. */
static bool
factor(double *h, size_t n)
{
	for (size_t j = n; j-- > 0;) {
		double *rj = h + j * n, d = rj[j] - dot(rj + j + 1, rj + j + 1, n - 1 - j);

		if (!(d > 0))
			return false;
		rj[j] = sqrt(d);
		for (size_t i = 0; i < j; i++) {
			double *ri = h + i * n;

			ri[j] = (rj[i] - dot(ri + j + 1, rj + j + 1, n - 1 - j)) / rj[j];
		}
	}
	return true;
}

/* inverse [j][i] = (1 / r)[i][j], i <= j. */
static void
invert(const double *r, double *inverse, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		double *v = inverse + j * n;

		v[j] = 1 / r[j * n + j];
		for (size_t i = j; i-- > 0;)
			v[i] = -dot(r + i * n + i + 1, v + i + 1, j - i) / r[i * n + i];
	}
}

/* A column that met nothing takes no part; the others are damped. */
static void
damped(double *h, const float *gram, size_t n, size_t width, double damp)
{
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += gram[i * width + i] / (double)n;
	mean = mean > 0 ? mean : 1;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			h[i * n + k] = gram[i * width + k];
		h[i * n + i] = gram[i * width + i] + damp * mean;
	}
}

enum tb_status
quant_feedback_set(struct quant_feedback *f, size_t b, const float *gram, struct tb_err *err)
{
	size_t first = b * f->block, n = f->cols - first < f->block ? f->cols - first : f->block;
	double *h = tb_calloc(n * n, sizeof(*h)), *inverse = tb_calloc(n * n, sizeof(*inverse));
	float *share = f->share + b * f->block * f->block;
	double damp = 0.01;
	bool good = false;

	for (unsigned i = 0; h && inverse && i < 8 && !good; i++, damp *= 10) {
		damped(h, gram, n, f->block, damp);
		good = factor(h, n);
	}
	if (good)
		invert(h, inverse, n);
	for (size_t j = 0; good && j < n; j++) {
		double u = inverse[j * n + j];

		f->cost[first + j] = (float)(1 / (u * u));
		for (size_t k = j + 1; k < n; k++)
			share[j * f->block + k] = (float)(-inverse[k * n + j] / u);
	}
	free(inverse);
	free(h);
	if (!h || !inverse)
		return tb_nomem(err);
	return good ? TB_OK : tb_fail(err, TB_EFORMAT, "products of columns %zu to %zu belong to no "
				      "text: calibrate again", first, first + n - 1);
}

/* Rows side by side: [cols][SEARCH_GROUPS]. */
static void
load_rows(enum dtype t, const uint8_t *src, size_t cols, unsigned rows, float *flat, float *side)
{
	for (unsigned i = 0; i < SEARCH_GROUPS; i++) {
		if (i < rows)
			dtype_to_f32(t, src + i * cols * (dtype_bits(t) / 8), cols, flat);
		for (size_t j = 0; j < cols; j++)
			side[j * SEARCH_GROUPS + i] = i < rows ? flat[j] : 0;
	}
}

/* The usual choice for the group as it is by now is where the search begins. */
static void
usual_group(struct search_block *b, const struct scheme *s, enum flavour fl, enum dtype t,
	    const float *side)
{
	float flat[SEARCH_GROUPS * QUANT_GROUP_MAX];
	uint8_t src[4 * SEARCH_GROUPS * QUANT_GROUP_MAX], codes[SEARCH_GROUPS * QUANT_GROUP_MAX];
	uint8_t scales[4 * SEARCH_GROUPS * 8], biases[4 * SEARCH_GROUPS];
	struct quant_src q = { codes, scales, biases, scheme_scale_dtype(s, t), 1 };
	size_t n = (size_t)SEARCH_GROUPS * s->group;

	for (unsigned j = 0; j < s->group; j++)
		for (unsigned i = 0; i < SEARCH_GROUPS; i++) {
			float x = side[j * SEARCH_GROUPS + i];

			b->x[j][i] = x;
			fp_store(t, src, i * s->group + j, x);
		}
	quant_encode(s, fl, t, src, n, &(struct quant_parts){ codes, scales, biases });
	quant_decode(s, &q, n, flat);
	search_usual(b, s, &q, SEARCH_GROUPS);
	for (unsigned j = 0; j < s->group; j++)
		for (unsigned i = 0; i < SEARCH_GROUPS; i++)
			b->now[j][i] = flat[i * s->group + j];
}

enum tb_status
quant_encode_fed(const struct scheme *s, enum flavour fl, enum dtype t, const void *src,
		 size_t rows, const struct quant_feedback *f, const struct quant_parts *out,
		 struct tb_err *err)
{
	struct search_block b = search_begin(s, fl, t);
	size_t row_bytes = f->cols * (dtype_bits(t) / 8), groups = f->cols / s->group;
	float *side = tb_aligned(f->cols * sizeof(*side) * SEARCH_GROUPS);
	float *flat = tb_aligned(f->cols * sizeof(*flat));

	for (size_t at = 0; side && flat && at < rows; at += SEARCH_GROUPS) {
		unsigned n = rows - at < SEARCH_GROUPS ? (unsigned)(rows - at) : SEARCH_GROUPS;

		load_rows(t, (const uint8_t *)src + at * row_bytes, f->cols, n, flat, side);
		for (size_t g = 0; g < groups; g++) {
			size_t first = g * s->group;
			struct search_feed feed = { side, f->share, f->block, first, f->cols };

			usual_group(&b, s, fl, t, side + first * SEARCH_GROUPS);
			for (unsigned j = 0; j < s->group; j++)
				for (unsigned i = 0; i < SEARCH_GROUPS; i++)
					b.cost[j][i] = f->cost[first + j];
			search_kernels()->search(&b);
			search_kernels()->feed(&b, &feed);
			for (unsigned i = 0; i < n; i++)
				search_put(&b, i, t, out, (at + i) * groups + g);
		}
	}
	free(side);
	free(flat);
	return side && flat ? TB_OK : tb_nomem(err);
}
