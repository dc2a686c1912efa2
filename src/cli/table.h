/* table.h - columns of text: cells are cleaned, columns are as wide as they need. */
#ifndef TBTUI_CLI_TABLE_H
#define TBTUI_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct cli_table {
	const char *align;	/* one letter a column: l left, r right; borrowed */
	char **cell;		/* owned, row by row */
	size_t n, cap;
	bool failed;
};

/* Cells in order; a row is full when there is one for each letter of `align`. */
void cli_cell(struct cli_table *t, const char *text);
void cli_cellf(struct cli_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints on standard output and frees; false when memory ran out on the way. */
bool cli_table_end(struct cli_table *t);
#endif
