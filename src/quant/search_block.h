/* search_block.h - private to src/quant: a search, once for each instruction set. */
#ifndef TBTUI_QUANT_SEARCH_BLOCK_H
#define TBTUI_QUANT_SEARCH_BLOCK_H

#include "src/quant/scheme_row.h"

#define SEARCH_GROUPS 16		/* side by side */

/* Element j of group i is [j][i]. */
struct search_block {
	enum scheme_kind kind;
	unsigned bits, group;
	enum dtype scale_dtype;		/* to which scales and biases are rounded */
	bool plus_zero;			/* E2M1: no code for -0 */
	float x[QUANT_GROUP_MAX][SEARCH_GROUPS], cost[QUANT_GROUP_MAX][SEARCH_GROUPS];
	float now[QUANT_GROUP_MAX][SEARCH_GROUPS];	/* what the usual codes decode to */
	/* In: the usual choice; out: the best, which may be the same. */
	float scale[SEARCH_GROUPS], bias[SEARCH_GROUPS];
	uint32_t byte[SEARCH_GROUPS];	/* scales that are small floats */
	/* Out: is it another one, and then its codes. */
	uint8_t better[SEARCH_GROUPS];
	uint8_t code[QUANT_GROUP_MAX][SEARCH_GROUPS];
};

/* Rows side by side while their columns are encoded one after the other. */
struct search_feed {
	float *side;		/* [cols][SEARCH_GROUPS] */
	const float *share;	/* as in struct quant_feedback */
	size_t block, first, cols;	/* the group's first column */
};

struct search_kernels {
	void (*search)(struct search_block *b);
	/* Codes of b->x, which is at feed->first, with the scales that are in b; what they
	 * lose goes to the columns behind them. */
	void (*feed)(struct search_block *b, const struct search_feed *f);
};
extern const struct search_kernels search_scalar, search_avx2, search_avx512;

/* search.c */
const struct search_kernels *search_kernels(void);
struct search_block search_begin(const struct scheme *s, enum flavour f, enum dtype t);
/* Scales and biases of so many groups into b. */
void search_usual(struct search_block *b, const struct scheme *s, const struct quant_src *q,
		  unsigned groups);
/* Group i of b as the group `at` of out. */
void search_put(const struct search_block *b, unsigned i, enum dtype t,
		const struct quant_parts *out, size_t at);
#endif
