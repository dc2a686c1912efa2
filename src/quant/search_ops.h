/* search_ops.h - private to src/quant: a search, once for each instruction set. */
#ifndef TBTUI_QUANT_SEARCH_OPS_H
#define TBTUI_QUANT_SEARCH_OPS_H

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
	/* In: the usual choice; out: the best. */
	float scale[SEARCH_GROUPS], bias[SEARCH_GROUPS];
	uint32_t byte[SEARCH_GROUPS];	/* scales that are small floats */
	/* Out: is it another one, and then its codes. */
	uint8_t better[SEARCH_GROUPS];
	uint8_t code[QUANT_GROUP_MAX][SEARCH_GROUPS];
};

typedef void search_fn(struct search_block *b);
extern search_fn search_scalar, search_avx2, search_avx512;
#endif
