/* mm_vnni.c - codes of up to 8 bits times x of 8 bits, VPDPBUSD, for many tokens.
 *
 * 32 rows meet 6 tokens at once: 12 integer accumulators, which at the end of each step,
 * where the scale or the unit of x changes, are converted and added to as many floats:
 * that takes a fifth of the time.  Where one of the two stays for a span of steps, sums are
 * multiplied with it at the end of the span.  Codes are positive; where theirs are not,
 * accumulators start at what that adds.  x is rounded in blocks of 32, that of ggml's
 * types as mv_ggml.h says. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include <string.h>

#include "src/engine/mm_avx512.h"
#include "src/engine/mv_avx512_ggml.h"
#include "src/quant/scheme.h"

#define TOKENS 6
#define QUAD 4			/* codes that a lane multiplies at once */

/* One block of tokens' x: quads in turn, then a step's units, then its sums (floats) or
 * starts (integers). */
struct packed { int8_t *q; float *unit, *sum; int32_t *start; };

static size_t
quads_size(const struct mm_x *x)
{
	return ((size_t)x->cols + 63) / 64 * 64 * TOKENS;
}

static size_t
vnni_x_size(const struct mm_x *x)
{
	size_t steps = x->cols / x->step;

	return (quads_size(x) + 2 * steps * TOKENS * sizeof(float) + 63) / 64 * 64;
}

static struct packed
packed_block(const struct mm_x *x, size_t block)
{
	char *p = x->data + vnni_x_size(x) * block;
	float *unit = (float *)(p + quads_size(x)), *sum = unit + x->cols / x->step * TOKENS;

	return (struct packed){ (int8_t *)p, unit, sum, (int32_t *)sum };
}

/* Our own schemes: the unit is as it comes. */
INLINE bool
round_own(const float *x, uint32_t n, int8_t *q, struct round8 *r)
{
	__m512i most = _mm512_setzero_si512();
	float max;
	uint32_t bits;

	for (uint32_t i = 0; i < n; i += 16)
		most = _mm512_max_epu32(most, magnitude(_mm512_loadu_ps(x + i)));
	bits = _mm512_reduce_max_epu32(most);
	memcpy(&max, &bits, sizeof(max));
	if (!(max < 0x1p100f) || (max > 0 && max < 0x1p-100f))
		return false;
	*r = (struct round8){ max > 0 ? 127 / max : 0, max / 127, max / 127 };
	for (uint32_t i = 0; i < n; i += 16) {
		__m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(r->steps));

		_mm_storeu_si128((void *)(q + i), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
	}
	return true;
}

INLINE int32_t
sum_of(const int8_t *q, uint32_t n)
{
	__m128i sum = _mm_setzero_si128();

	for (uint32_t i = 0; i < n; i += 16) {
		__m128i v = _mm_loadu_si128((const void *)(q + i));

		v = _mm_maddubs_epi16(_mm_set1_epi8(1), v);
		sum = _mm_add_epi32(sum, _mm_madd_epi16(v, _mm_set1_epi16(1)));
	}
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

/* What stays for a span of steps. */
enum keeps { KEEPS_NOTHING, KEEPS_SCALE, KEEPS_UNIT };

/* Steps of a span. */
INLINE uint32_t
span_of(const struct mm_x *x, enum keeps *keeps)
{
	bool unit = x->kernel->block > x->step, scale = !unit && x->group > x->step;

	*keeps = unit ? KEEPS_UNIT : scale ? KEEPS_SCALE : KEEPS_NOTHING;
	return unit ? x->kernel->block / x->step : scale ? x->group / x->step : 1;
}

/* What biases meet.  Where the unit comes later, integers; where a bias comes later, the
 * sum of its span up to here. */
INLINE float
bias_factor(const struct mm_x *x, size_t step, int32_t sum, const struct round8 *r,
	    const float *before)
{
	enum keeps keeps;
	uint32_t span = span_of(x, &keeps);

	if (keeps == KEEPS_UNIT)
		return (float)sum;
	if (keeps == KEEPS_SCALE)
		return r->unit * (float)sum + (step % span ? *before : 0);
	/* ggml's sum of a block of 32 goes through F16 on its own */
	return x->kernel->kind == SCHEME_GGML ? tb_f16_f32(tb_f32_f16(r->exact * (float)sum))
					      : r->unit * (float)sum;
}

/* n rounded elements from column col on, token i of its block. */
INLINE void
put_block(const struct mm_x *x, const struct packed *p, unsigned i, uint32_t col, uint32_t n,
	  const int8_t *q, const struct round8 *r)
{
	const struct mm_kernel *k = x->kernel;

	for (uint32_t c = 0; c < n; c += QUAD)
		memcpy(p->q + ((size_t)(col + c) / QUAD * TOKENS + i) * QUAD, q + c, QUAD);
	for (uint32_t c = 0; c < n; c += x->step) {
		size_t at = (col + c) / x->step * TOKENS + i;
		int32_t sum = sum_of(q + c, x->step);

		p->unit[at] = r->unit;
		if (k->off)
			p->start[at] = -k->off * sum;
		else
			p->sum[at] = bias_factor(x, (col + c) / x->step, sum, r,
						 &p->sum[at] - TOKENS);
	}
}

static bool
vnni_pack(const struct mm_x *x, size_t block)
{
	const struct packed p = packed_block(x, block);
	const bool ggml = x->kernel->kind == SCHEME_GGML;
	const uint32_t size = x->kernel->block > x->step ? x->kernel->block : x->step;
	_Alignas(64) int8_t q[ROUND8_SUPER];

	memset(p.q, 0, vnni_x_size(x));
	for (unsigned i = 0; i < TOKENS && block * TOKENS + i < x->m; i++) {
		const float *row = x->x + (block * TOKENS + i) * x->cols;

		for (uint32_t c = 0; c < x->cols; c += size) {
			uint32_t n = x->cols - c < size ? x->cols - c : size;
			struct round8 r;

			if (!(ggml ? round_block(row + c, n, q, &r) : round_own(row + c, n, q, &r)))
				return false;
			put_block(x, &p, i, c, n, q, &r);
		}
	}
	return true;
}

#define DOT(acc, codes, x) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "v"(x))

/* Where the tile is: x of the block, and the panel. */
struct cursor {
	const char *codes;
	const float *scale, *bias;
	const int32_t *quad, *start;
	const float *unit, *sum;
};

/* One step: integers of all its quads. */
INLINE void
dot_step(unsigned n, bool starts, uint32_t quads, struct cursor *c, __m512i acc[TOKENS][2])
{
#pragma GCC unroll 6
	for (unsigned i = 0; i < n; i++)
		acc[i][0] = acc[i][1] = starts ? _mm512_set1_epi32(c->start[i])
					       : _mm512_setzero_si512();
#pragma GCC unroll 8
	for (uint32_t u = 0; u < quads; u++) {
		__m512i w0 = _mm512_load_si512(c->codes), w1 = _mm512_load_si512(c->codes + MM_TILE);

#pragma GCC unroll 6
		for (unsigned i = 0; i < n; i++) {
			__m512i x = _mm512_set1_epi32(c->quad[i]);

			DOT(acc[i][0], w0, x);
			DOT(acc[i][1], w1, x);
		}
		c->codes += 64;
		c->quad += TOKENS;
	}
}

INLINE void
next_step(uint32_t quads, struct cursor *c, uint32_t step)
{
	if ((step + 1) * quads % 16 == 0)	/* behind the other half of the panel's tile */
		c->codes += MM_TILE;
	c->scale += MM_ROWS;
	c->bias += MM_ROWS;
	c->unit += TOKENS;
	c->sum += TOKENS;
	c->start += TOKENS;
}

/* A step's integers become floats and are added up. */
INLINE void
end_step(unsigned n, bool biased, enum keeps keeps, bool first, const struct cursor *c,
	 __m512i acc[TOKENS][2], __m512 sum[TOKENS][2])
{
#pragma GCC unroll 2
	for (unsigned h = 0; h < 2; h++) {
		__m512 scale = _mm512_load_ps(c->scale + 16 * h);
		__m512 bias = biased ? _mm512_load_ps(c->bias + 16 * h) : scale;

#pragma GCC unroll 6
		for (unsigned i = 0; i < n; i++) {
			__m512 t = _mm512_cvtepi32_ps(acc[i][h]);

			if (keeps != KEEPS_UNIT)
				t = _mm512_mul_ps(t, _mm512_set1_ps(c->unit[i]));
			sum[i][h] = first ? _mm512_mul_ps(t, scale)
					  : _mm512_fmadd_ps(t, scale, sum[i][h]);
			if (biased)
				sum[i][h] = _mm512_fmadd_ps(bias, _mm512_set1_ps(c->sum[i]),
							    sum[i][h]);
		}
	}
}

/* At the last step of a span its sums join those of all, which are in memory. */
INLINE void
end_span(unsigned n, const struct cursor *c, __m512 sum[TOKENS][2], float *all)
{
#pragma GCC unroll 6
	for (unsigned i = 0; i < n; i++) {
		__m512 unit = _mm512_set1_ps(c->unit[i]);

#pragma GCC unroll 2
		for (unsigned h = 0; h < 2; h++) {
			float *to = all + i * MM_ROWS + 16 * h;

			_mm512_store_ps(to, _mm512_fmadd_ps(sum[i][h], unit, _mm512_load_ps(to)));
		}
	}
}

INLINE void
put_tokens(unsigned n, const struct mm_job *j, __m512 sum[TOKENS][2], float *y)
{
#pragma GCC unroll 6
	for (unsigned i = 0; i < n; i++) {
#pragma GCC unroll 2
		for (unsigned h = 0; h < 2; h++)
			put_half(j, h, y + (size_t)i * j->part.w->rows, sum[i][h]);
	}
}

/* n tokens of a block.  Halves of a panel's tiles stand side by side: a tile's columns are
 * 16 quads, behind which the next one's begin.  Scales that stay have their bias at the end
 * of the span. */
INLINE void
tile(unsigned n, uint32_t quads, bool starts, enum keeps keeps, const struct mm_job *j,
     struct cursor c, uint32_t span, float *y)
{
	const uint32_t steps = j->part.n / (quads * QUAD);
	__m512 sum[TOKENS][2];

#pragma GCC unroll 6
	for (unsigned i = 0; i < n; i++)
		sum[i][0] = sum[i][1] = _mm512_setzero_ps();
	for (uint32_t s = 0; s < steps; s++) {
		__m512i acc[TOKENS][2];

		for (uint32_t k = 1; keeps == KEEPS_SCALE && k < span; k++) {
			dot_step(n, starts, quads, &c, acc);
			end_step(n, false, keeps, false, &c, acc, sum);
			next_step(quads, &c, s++);
		}
		dot_step(n, starts, quads, &c, acc);
		end_step(n, !starts, keeps, false, &c, acc, sum);
		next_step(quads, &c, s);
	}
	put_tokens(n, j, sum, y);
}

/* The same where the unit stays: it multiplies a span's sums. */
INLINE void
tile_spans(unsigned n, uint32_t quads, bool starts, const struct mm_job *j, struct cursor c,
	   uint32_t span, float *y)
{
	const uint32_t steps = j->part.n / (quads * QUAD);
	float *all = j->panel->row;
	__m512 sum[TOKENS][2];

	memset(all, 0, n * MM_ROWS * sizeof(*all));
	for (uint32_t s = 0, end; s < steps; s = end) {
		__m512i acc[TOKENS][2];

		dot_step(n, starts, quads, &c, acc);
		end_step(n, !starts, KEEPS_UNIT, true, &c, acc, sum);
		end = s + span < steps ? s + span : steps;
		for (uint32_t k = s + 1; k < end; k++) {
			next_step(quads, &c, k - 1);
			dot_step(n, starts, quads, &c, acc);
			end_step(n, !starts, KEEPS_UNIT, false, &c, acc, sum);
		}
		end_span(n, &c, sum, all);
		next_step(quads, &c, end - 1);
	}
#pragma GCC unroll 6
	for (unsigned i = 0; i < n; i++) {
		sum[i][0] = _mm512_load_ps(all + i * MM_ROWS);
		sum[i][1] = _mm512_load_ps(all + i * MM_ROWS + 16);
	}
	put_tokens(n, j, sum, y);
}

/* What a kernel is like becomes constants. */
#define TILE(n, j, c, span, keeps, y) do { \
	bool starts = (j)->x->kernel->off != 0, wide = (j)->x->step == 32; \
	if (keeps == KEEPS_SCALE) \
		tile(n, 8, false, KEEPS_SCALE, j, *(c), span, y); \
	else if (keeps == KEEPS_NOTHING && starts) \
		tile(n, 8, true, KEEPS_NOTHING, j, *(c), 1, y); \
	else if (keeps == KEEPS_NOTHING) \
		tile(n, 8, false, KEEPS_NOTHING, j, *(c), 1, y); \
	else if (wide && starts) \
		tile_spans(n, 8, true, j, *(c), span, y); \
	else if (wide) \
		tile_spans(n, 8, false, j, *(c), span, y); \
	else if (starts) \
		tile_spans(n, 4, true, j, *(c), span, y); \
	else \
		tile_spans(n, 4, false, j, *(c), span, y); \
} while (0)

static void
tile_of(size_t n, const struct mm_job *j, const struct cursor *c, float *y)
{
	enum keeps keeps;
	uint32_t span = span_of(j->x, &keeps);

	switch (n) {
	case 1: TILE(1, j, c, span, keeps, y); break;
	case 2: TILE(2, j, c, span, keeps, y); break;
	case 3: TILE(3, j, c, span, keeps, y); break;
	case 4: TILE(4, j, c, span, keeps, y); break;
	case 5: TILE(5, j, c, span, keeps, y); break;
	default: TILE(6, j, c, span, keeps, y); break;
	}
}

static void
vnni_multiply(const struct mm_job *j)
{
	const struct mm_x *x = j->x;
	const size_t step = j->part.col / x->step * TOKENS;

	for (size_t b = j->block; b < j->end; b++) {
		struct packed p = packed_block(x, b);
		struct cursor c = {
			.codes = j->panel->tiles, .scale = j->panel->scale, .bias = j->panel->bias,
			.quad = (const int32_t *)p.q + (size_t)j->part.col / QUAD * TOKENS,
			.start = p.start + step, .unit = p.unit + step, .sum = p.sum + step,
		};

		tile_of(x->m - b * TOKENS, j, &c,
			j->y + b * TOKENS * j->part.w->rows + j->part.first);
	}
}

const struct mm_tile mm_vnni = { .tokens = TOKENS, .x_size = vnni_x_size, .pack = vnni_pack,
				 .multiply = vnni_multiply,
				.instruction = "vpdpbusd" };
