/* search.h - a place in what is in order. */
#ifndef TBTUI_BASE_SEARCH_H
#define TBTUI_BASE_SEARCH_H

#include <stddef.h>

/* The first i in [0, n) of which `before`, an expression of i, is false; n if it is true of
 * all.  It is true up to there, and false behind. */
#define TB_FIRST(n, i, before) ({						\
	size_t lo_ = 0, hi_ = (n);						\
										\
	while (lo_ < hi_) {							\
		size_t i = lo_ + (hi_ - lo_) / 2;				\
										\
		if (before)							\
			lo_ = i + 1;						\
		else								\
			hi_ = i;						\
	}									\
	lo_;									\
})
#endif
