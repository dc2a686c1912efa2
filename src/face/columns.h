/* columns.h - which columns of a table fit, and how wide they are.  Columns go away by
 * priority where there is little room; a row never wraps. */
#ifndef TBTUI_FACE_COLUMNS_H
#define TBTUI_FACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_GAP 2	/* blanks between them */

struct column {
	const char *title;
	/* What is left over goes where texts are cut, names first and as far as they need,
	 * others to their max; then up to max, from the left on.  A column whose texts need
	 * less than min lends to those. */
	short min, max;
	bool right;		/* numbers */
	enum { SORTS_NOT, SORTS_UP, SORTS_DOWN } sorts;	/* which end comes first */
	unsigned char priority;	/* 0 stays; the greatest goes first */
	bool middle;		/* names: cut in the middle, their ends differ most */
	bool whole;		/* never cut, whatever runs over */
	bool head;		/* digests: their head says enough, others need not lend */
	const char *key;	/* what the index calls the order by this column; NULL: its first */
};

/* Widths for `w` columns of screen; 0 = left out.  want: what their texts take, NULL = not
 * known. */
void columns_fit(const struct column *cols, size_t n, int w, const short *want, short *out);
#endif
