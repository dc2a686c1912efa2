/* list.h - a list as a pure model: cursor, scrolling, filter, order and marks.
 *
 * It knows no rows: whoever has them (rows.h) says how many there are and what
 * identifies one.  Draws nothing. */
#ifndef TBTUI_UI_LIST_H
#define TBTUI_UI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIST_FILTER_MAX 256
#define LIST_COLS_MAX 16

struct list {
	size_t n;		/* rows under the present filter */
	size_t cur, top;	/* cur < n or both 0; top: the first that shows */
	size_t height;		/* rows that fit, >= 1 */
	unsigned sort;		/* column sorted by; index into the table's columns */
	bool reverse;		/* against the column's own direction */
	char filter[LIST_FILTER_MAX];	/* "" = everything */
	uint64_t *marks;	/* sorted identities; owned */
	size_t nmarks, marks_cap;
	const char *columns;	/* those to show, "name size"; NULL: all; borrowed */
	int y;			/* screen row of `top` when last drawn; for the mouse */
	/* Columns of the screen that the texts drawn so far take, and in which table of
	 * how many columns that was: they fit without jumping to and fro. */
	short want[LIST_COLS_MAX];
	const void *want_of;
	int want_w;
};

void list_init(struct list *l);
void list_free(struct list *l);

/* There are n rows after filter, order or the rows changed; the row that was under the
 * cursor is now at *row and stays where it is on the screen (NULL: it is gone, or hidden). */
void list_requery(struct list *l, size_t n, const size_t *row);

/* `at`, moved by `by`: stops at 0 and at `last`. */
size_t list_step(size_t at, long by, size_t last);
void list_set_height(struct list *l, size_t height);
void list_move(struct list *l, long by);	/* stops at both ends */
void list_goto(struct list *l, size_t row);	/* beyond the end: the last */
void list_scroll(struct list *l, long by);	/* moves the window, the cursor stays inside */

bool list_marked(const struct list *l, uint64_t id);
bool list_mark(struct list *l, uint64_t id, bool on);	/* false: out of memory */
void list_unmark_all(struct list *l);

/* true: the filter is another one now. */
bool list_set_filter(struct list *l, const char *text);
#endif
