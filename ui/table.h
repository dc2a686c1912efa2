/* table.h - a list with columns: which of them fit, and drawing what shows.
 *
 * Columns go away by priority when the screen is narrow; a row never wraps. */
#ifndef TBTUI_UI_TABLE_H
#define TBTUI_UI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"
#include "src/face/columns.h"
#include "ui/draw.h"
#include "ui/list.h"
#include "ui/rows.h"

#define TABLE_COLS_MAX LIST_COLS_MAX

struct cell {
	struct tb_buf text;	/* made empty before each cell() */
	enum role role;		/* ROLE_TEXT before each cell() */
};

struct table {
	const struct column *cols;
	size_t ncols;
	const struct rows_source *rows;
	void (*cell)(struct view *v, const void *row, size_t col, struct cell *out);
	const char *empty;	/* what to do when there are no rows; may be NULL */
	const char *no_match;	/* the same under a filter; NULL: empty */
};
#define TABLE_COLS(of) .cols = of, .ncols = sizeof(of) / sizeof(*(of))

/* Titles and rows of the view's table; sets its list's height. */
void table_draw(struct area a, struct view *v);
/* The next column that sorts; false if there is none. */
bool table_sort_next(const struct table *t, struct list *l);
/* "only-this": what the configuration calls a column. */
const char *table_column_word(const struct column *c, char out[32]);
/* The column at screen column x when drawn w columns wide; ncols if none. */
size_t table_column_at(const struct table *t, const struct list *l, int w, int x);
#endif
