/* rows.h - the rows of a long list in the index, of which a window is held: what shows,
 * and some more. */
#ifndef TBTUI_UI_ROWS_H
#define TBTUI_UI_ROWS_H

#include "db/db.h"

struct view;
struct rows;

/* Reads n rows from `first` on, in the order and filter of v->list, and hands the list
 * over with ROWS_TAKE(). */
typedef enum tb_status rows_read(struct view *v, uint64_t first, uint64_t n, struct rows *out);

struct rows {
	rows_read *read;	/* set by the screen, as is size: of one row */
	size_t size;
	const void *v;		/* n rows from `first` on; their strings live in mem */
	size_t n;
	uint64_t first, total;
	struct tb_arena mem;
	bool stale;
	struct tb_err err;	/* why there are none; code TB_OK: no failure */
};

/* list: any of the index's struct db_…s. */
#define ROWS_TAKE(out, list) ((out)->v = (list).rows, (out)->n = (list).n, \
			      (out)->total = (list).total, (out)->mem = (list).mem)

/* How many there are now: forgets what was read. */
uint64_t rows_count(struct rows *r, struct view *v);
/* The next time, they are read again. */
void rows_forget(struct rows *r);
/* Has the window hold [first, first + n). */
void rows_show(struct rows *r, struct view *v, uint64_t first, uint64_t n);
/* NULL: there is no such row.  Borrowed until the next call. */
const void *rows_at(struct rows *r, struct view *v, uint64_t row);
void rows_free(struct rows *r);
#endif
