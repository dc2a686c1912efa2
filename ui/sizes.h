/* sizes.h - parameters and memory of a model as texts for a pager. */
#ifndef TBTUI_UI_SIZES_H
#define TBTUI_UI_SIZES_H

#include <stdbool.h>

#include "src/ops/about/about.h"

/* NULL when there is nothing to say or no memory; the caller frees it. */
char *sizes_params(const struct params *p);
/* steady: without the figures of this machine. */
char *sizes_memory(const struct memory *m, bool steady);
#endif
