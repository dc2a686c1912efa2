/* search.c - groups, laid side by side for the kernel, and what it found put in place. */
#include "config.h"

#include "src/quant/search.h"

#include <string.h>

#include "src/quant/bits.h"
#include "src/quant/fp.h"
#include "src/quant/search_block.h"

#define BLOCK_ELEMS (SEARCH_GROUPS * QUANT_GROUP_MAX)

static bool
searchable(const struct scheme *s)
{
	return s->kind == SCHEME_AFFINE || s->kind == SCHEME_MXFP4 || s->kind == SCHEME_MXFP8 ||
	       s->kind == SCHEME_NVFP4;
}

const struct search_kernels *
search_kernels(void)
{
#ifdef HAVE_X86
	const char *path = quant_path();

	if (!strcmp(path, "avx512"))
		return &search_avx512;
	if (!strcmp(path, "avx2"))
		return &search_avx2;
#endif
	return &search_scalar;
}

struct search_block
search_begin(const struct scheme *s, enum flavour f, enum dtype t)
{
	return (struct search_block){ .kind = s->kind, .bits = s->bits, .group = s->group,
				      .scale_dtype = t,
				      .plus_zero = f == FLAVOUR_MLX_CPU && s->bits == 4 };
}

/* flat[i][j] -> side[j][i]; groups that are not there are zeros. */
static void
side_by_side(const float *flat, unsigned groups, unsigned group,
	float side[QUANT_GROUP_MAX][SEARCH_GROUPS])
{
	for (unsigned j = 0; j < group; j++)
		for (unsigned i = 0; i < SEARCH_GROUPS; i++)
			side[j][i] = i < groups ? flat[i * group + j] : 0;
}

/* Costs of the groups from element `first` on, which all-zero costs would make equal. */
static void
side_costs(struct search_block *b, const struct quant_weights *w, uint64_t first)
{
	size_t at = w && w->cost ? (size_t)((w->at + first) % w->cols) : 0;

	for (unsigned i = 0; i < SEARCH_GROUPS; i++) {
		float sum = 0;

		for (unsigned j = 0; w && w->cost && j < b->group; j++)
			sum += b->cost[j][i] = w->cost[at + j];
		for (unsigned j = 0; !(sum > 0) && j < b->group; j++)
			b->cost[j][i] = 1;
		if (w && w->cost)
			at = at + b->group < w->cols ? at + b->group : 0;
	}
}

void
search_put(const struct search_block *b, unsigned i, enum dtype t, const struct quant_parts *out,
	   size_t at)
{
	size_t bytes = (size_t)b->group * b->bits / 8;
	uint8_t code[QUANT_GROUP_MAX];

	for (unsigned j = 0; j < b->group; j++)
		code[j] = b->code[j][i];
	bits_pack(code, b->group, b->bits, (uint8_t *)out->codes + at * bytes);
	if (b->kind != SCHEME_AFFINE) {
		((uint8_t *)out->scales)[at] = (uint8_t)b->byte[i];
		return;
	}
	fp_store(t, out->scales, at, b->scale[i]);
	fp_store(t, out->biases, at, b->bias[i]);
}

void
search_usual(struct search_block *b, const struct scheme *s, const struct quant_src *q,
	     unsigned groups)
{
	for (unsigned i = 0; i < SEARCH_GROUPS; i++) {
		bool there = i < groups, affine = s->kind == SCHEME_AFFINE;

		b->scale[i] = there && affine ? fp_load(q->scale_dtype, q->scales, i) : 1;
		b->bias[i] = there && affine ? fp_load(q->scale_dtype, q->biases, i) : 0;
		b->byte[i] = there && !affine ? ((const uint8_t *)q->scales)[i] : 1;
	}
}

static void
search_block(struct search_block *b, const struct scheme *s, enum dtype t, const void *src,
	     uint64_t first, unsigned groups, const struct quant_weights *w,
	     const struct quant_parts *out)
{
	float flat[BLOCK_ELEMS];
	unsigned n = groups * s->group;
	struct quant_src all = { out->codes, out->scales, out->biases, scheme_scale_dtype(s, t), 1 };
	struct quant_src q = quant_src_at(s, &all, first);

	dtype_to_f32(t, (const uint8_t *)src + first * (dtype_bits(t) / 8), n, flat);
	side_by_side(flat, groups, s->group, b->x);
	quant_decode(s, &q, n, flat);
	side_by_side(flat, groups, s->group, b->now);
	if (!first || (w && w->cost))
		side_costs(b, w, first);
	search_usual(b, s, &q, groups);
	search_kernels()->search(b);
	for (unsigned i = 0; i < groups; i++)
		if (b->better[i])
			search_put(b, i, t, out, (size_t)(first / s->group) + i);
}

void
quant_search(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	     const struct quant_weights *w, const struct quant_parts *out)
{
	struct search_block b = search_begin(s, f, t);
	size_t step = (size_t)SEARCH_GROUPS * s->group;

	quant_encode(s, f, t, src, n, out);
	for (size_t i = 0; searchable(s) && i < n; i += step)
		search_block(&b, s, t, src, i,
			     (unsigned)((n - i < step ? n - i : step) / s->group), w, out);
}
