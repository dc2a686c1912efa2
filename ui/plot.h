/* plot.h - counts as columns of dots: braille, or signs where there is only ASCII. */
#ifndef TBTUI_UI_PLOT_H
#define TBTUI_UI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/draw.h"

struct tb_buf;

/* Screen columns that n counts take when at most `cols` are there. */
int plot_cols(size_t n, int cols);
/* Row `row` of `rows` (0 = top) as text of plot_cols() columns.  A count that is
 * not 0 shows at least one dot. */
void plot_row(struct tb_buf *out, const uint64_t *count, size_t n, int cols, int rows, int row,
	      bool log_scale);
#endif
