/* search.h - better than rounding, in the same format: for each group the scale (and
 * bias) with the least error of what readers will decode.
 *
 * The search begins with what quant_encode() chooses and takes something else only
 * where its error, measured with scales as they are stored, is smaller.  All code paths
 * give the same bytes. */
#ifndef TBTUI_QUANT_SEARCH_H
#define TBTUI_QUANT_SEARCH_H

#include "src/quant/codec.h"

/* What an error in a column costs. */
struct quant_weights {
	const float *cost;	/* [cols], not negative; NULL: all cost the same */
	size_t cols;		/* of a row */
	size_t at;		/* the column of the first element */
};

/* As quant_encode(): n elements, whole groups.  Schemes that are not searchable are encoded
 * as ever. */
void quant_search(const struct scheme *s, enum flavour f, enum dtype src_dtype, const void *src,
		  size_t n, const struct quant_weights *w, const struct quant_parts *out);
#endif
