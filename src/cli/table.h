/* table.h - columns of text: cells are cleaned, columns are as wide as they need.
 *
 * On a terminal that is narrower than the table, columns are cut and left out; what
 * goes to a file or a pipe is always whole. */
#ifndef TBTUI_CLI_TABLE_H
#define TBTUI_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_table {
	/* One letter a column: l left, r right, m left and may be cut in the middle
	 * (names), e left and may be cut at its end (digests).  Borrowed. */
	const char *align;
	/* One digit a column: 0 stays, the greatest goes first.  NULL: all stay. */
	const char *drop;
	bool wide;		/* whole also on a terminal */
	char **cell;		/* owned, row by row */
	size_t n, cap;
	bool failed;
};

/* Cells in order; a row is full when there is one for each letter of `align`. */
void cli_cell(struct cli_table *t, const char *text);
void cli_cellf(struct cli_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_cell_u64(struct cli_table *t, uint64_t n);
/* Some at once; NULL behind the last. */
void cli_cells(struct cli_table *t, ...) __attribute__((sentinel));
/* What came together in a buffer, whole. */
struct tb_buf;
void cli_cell_buf(struct cli_table *t, const struct tb_buf *b);
/* Prints on standard output and frees; false when memory ran out on the way. */
bool cli_table_end(struct cli_table *t);

#define CLI_CUT_MIN 16		/* columns that are left of what is cut */
#define CLI_LEFT_OUT ((size_t)-1)
/* Widths of columns that need need[i], for `room` columns of screen: need[i], less
 * where it is cut, or CLI_LEFT_OUT.  false: out of memory. */
bool cli_table_fit(const struct cli_table *t, const size_t *need, size_t room, size_t *out);
/* Columns of the terminal there; SIZE_MAX if it is none. */
size_t cli_columns(int fd);
#endif
