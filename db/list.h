/* list.h - inside db/: rows of tensors chosen and ordered in memory.
 *
 * What a list shows is a window of an order; the order is kept until another one is
 * asked for or the index has changed, so that scrolling only makes rows. */
#ifndef TBTUI_DB_LIST_H
#define TBTUI_DB_LIST_H

#include "db/dict.h"
#include "db/tensors.h"

/* One list's order, and what it was made for. */
struct order {
	bool valid;
	int64_t model, version;		/* model 0: all */
	char *filter, *sort, *roots;	/* owned */
	bool reverse;
};
/* Is it the order that q asks for, of the index as it is now?  Notes q if not. */
enum tb_status order_same(struct db *db, struct order *o, int64_t model,
			  const struct db_query *q, bool *same, struct tb_err *err) TB_MUST_USE;
void order_free(struct order *o);

/* A glob where the filter has one of *?[, else a part of the text in any case. */
bool db_match(const char *filter, const char *text);

/* Rows in the order of ranks, those of equal rank as they were: counting, since there
 * are few ranks and many rows.  `at(arg, i)` is the rank of row i.  false: no memory. */
typedef uint32_t rank_fn(const void *arg, size_t i);
bool rank_order(rank_fn *at, const void *arg, size_t n, size_t nranks, bool reverse,
		uint32_t *out);

/* The window [offset, offset + n) of `total` rows. */
size_t window_of(const struct db_query *q, size_t total, size_t *offset);

/* A row as people see it; texts go into mem. */
bool tensor_row(const struct dict *d, const struct contents *c, size_t ord, struct tb_arena *mem,
		struct db_tensor *out);
#endif
