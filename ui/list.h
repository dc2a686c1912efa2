/* list.h - a list as a pure model: cursor, scrolling, filter, order and marks.
 *
 * It knows no rows: whoever owns the rows says how many there are and what
 * identifies one, and fetches only those that show.  Draws nothing. */
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

/* The rows behind a list, in its present filter and order. */
struct list_rows {
	size_t (*count)(void *arg);
	uint64_t (*id)(void *arg, size_t row);	/* stable over filter and order */
	/* Where the row now is; false if the filter hides it or it is gone. */
	bool (*find)(void *arg, uint64_t id, size_t *row);
};

void list_init(struct list *l);
void list_free(struct list *l);

/* Counts again after filter, order or the rows changed; the cursor stays on the
 * row with identity *id (from list_current() before the change; NULL = none). */
void list_requery(struct list *l, const struct list_rows *rows, void *arg, const uint64_t *id);
/* Identity of the row under the cursor; false when the list is empty. */
bool list_current(const struct list *l, const struct list_rows *rows, void *arg, uint64_t *id);

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
