#include "config.h"

#include "src/engine/mv_ggml.h"

#include <math.h>

#include "src/engine/mv.h"
#include "src/format/ggml_type.h"

bool
ggml_minima(const struct matrix *w)
{
	return w->scheme.kind == SCHEME_GGML &&
	       (w->scheme.ggml == GGML_Q4_1 || w->scheme.ggml == GGML_Q5_1);
}

/* Behind the scale. */
static float
minimum(const uint8_t *block)
{
	uint16_t half;

	memcpy(&half, block + sizeof(half), sizeof(half));
	return tb_f16_f32(half);
}

void
ggml_row_minima(const struct matrix *w, uint32_t r, float *out)
{
	size_t bytes = ggml_info(w->scheme.ggml)->bytes;
	const uint8_t *p = w->codes + matrix_row_bytes(w) * r;

	for (uint32_t b = 0; b < w->cols / ROUND8_BLOCK; b++)
		out[b] = minimum(p + b * bytes);
}

float
ggml_minima_dot(const struct matrix *w, uint32_t r, const float *apart)
{
	size_t bytes = ggml_info(w->scheme.ggml)->bytes;
	const uint8_t *p = w->codes + matrix_row_bytes(w) * r;
	float sum = 0;

	for (uint32_t b = 0; b < w->cols / ROUND8_BLOCK; b++)
		sum += minimum(p + b * bytes) * apart[b];
	return sum;
}

void
round8_apart(const float *x, size_t n, float *out)
{
	for (size_t b = 0; b < n / ROUND8_BLOCK; b++, x += ROUND8_BLOCK) {
		float max = 0, sum = 0;
		struct round8 r;
		uint32_t bits;

		for (size_t i = 0; i < ROUND8_BLOCK; i++)
			max = fmaxf(max, fabsf(x[i]));
		memcpy(&bits, &max, sizeof(bits));
		(void)round8_of(bits, ROUND8_BLOCK, &r);	/* who calls has seen it be true */
		for (size_t i = 0; i < ROUND8_BLOCK; i++)
			sum += rintf(x[i] * r.steps);		/* exact */
		out[b] = tb_f16_f32(tb_f32_f16(r.exact * sum)) - r.unit * sum;
	}
}
