/* lefts.h - downloads that did not end, in all stores: a row each. */
#ifndef TBTUI_UI_LEFTS_H
#define TBTUI_UI_LEFTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/table.h"

struct view;

struct left_row {
	char *line;			/* what the dialogue takes to go on with it; owned */
	uint64_t there, size;
	int64_t when_ns;
	bool in_use;			/* somebody is at it */
};
struct lefts { struct left_row *v; size_t n, cap; };
void lefts_free(struct lefts *l);

/* Looks for them on a worker; came() takes what it wants. */
typedef void lefts_fn(struct view *v, struct lefts *l);
void lefts_ask(struct view *v, lefts_fn *came);

/* Columns of a table of them, whose rows are struct left_row. */
extern const struct column lefts_cols[];
#define LEFTS_COLS 4
void lefts_cell(struct view *v, const void *row, size_t col, struct cell *out);
#endif
