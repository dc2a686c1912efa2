/* rows.h - the rows of a screen's table: a table says where they come from, and count,
 * order, place and identity follow.
 *
 * Of a list in the index a window is held: what shows, and some more.  A list in memory is
 * a window of all of it, of which those that the filter lets through are numbered. */
#ifndef TBTUI_UI_ROWS_H
#define TBTUI_UI_ROWS_H

#include <stddef.h>

#include "db/db.h"

struct rows;
struct view;

struct rows_source {
	size_t size;		/* of a row */
	/* Hands rows over with ROWS_TAKE(): the window that q asks for, in its filter and
	 * order; a list in memory gives all that there are with ROWS_ALL().  NULL: they are
	 * an array of the screen's state, ROWS_IN(). */
	size_t rows_at, n_at;
	enum tb_status (*read)(struct view *v, const struct db_query *q, struct rows *out);
	/* Where the row now is in the list that q asks for.  NULL: it is looked for among
	 * those that are held. */
	enum tb_status (*find)(struct view *v, const struct db_query *q, uint64_t id,
			       uint64_t *row, bool *found);
	/* What stays of a row under any filter and order.  NULL: its number in the list. */
	uint64_t (*id)(struct view *v, size_t row);
	/* Of a list in memory: does the filter let the row through, and which comes first by
	 * the column that is sorted by (0: as they lie).  NULL: read() has seen to it. */
	bool (*match)(const struct view *v, const void *row);
	int (*order)(const struct view *v, const void *a, const void *b);
};

struct rows {
	const struct rows_source *of;
	struct db_query q;	/* filter and order; borrowed from v->list and the table */
	const void *v;		/* n rows from `first` on; what they own lives in mem */
	size_t n;
	uint64_t first, total;
	size_t *shown;		/* in mem: numbers of the `total` rows that show; NULL: all do */
	struct tb_arena mem;
	struct tb_err err;	/* why there are none; code TB_OK: no failure */
};

/* list: any of the index's struct db_…s. */
#define ROWS_TAKE(out, list) ((out)->v = (list).rows, (out)->n = (list).n, \
			      (out)->total = (list).total, (out)->mem = (list).mem)
/* count of them at `first`, which stay where they are until the screen is refreshed. */
#define ROWS_ALL(out, rows, count) ((out)->v = (rows), (out)->total = (out)->n = (count))

/* For a source: rows and their number are these members of the state, struct type. */
#define ROWS_IN(type, rows, n) .size = sizeof(*((type *)0)->rows), \
	.rows_at = offsetof(type, rows), .n_at = offsetof(type, n)

/* The rows of the view's table: */
uint64_t rows_count(struct view *v);		/* reads them anew */
const void *rows_at(struct view *v, size_t row);	/* NULL: none; borrowed until the next call */
const void *rows_current(struct view *v);	/* that under the cursor, likewise */
/* The same without reading: what is on the screen is held.  For can(). */
const void *rows_seen(const struct view *v);
uint64_t rows_id(struct view *v, size_t row);
bool rows_find(struct view *v, uint64_t id, size_t *row);
/* For .id of rows that begin with an int64_t or uint64_t that is theirs for ever. */
uint64_t rows_own_id(struct view *v, size_t row);

/* Other rows than those of the table: */
void rows_start(struct rows *r, struct view *v, const struct rows_source *of,
	       const struct db_query *q);
const void *rows_get(struct rows *r, struct view *v, uint64_t row);
/* Has the window hold [row, row + n). */
void rows_hold(struct rows *r, struct view *v, uint64_t row, uint64_t n);
void rows_free(struct rows *r);
#endif
