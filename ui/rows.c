#include "config.h"

#include "ui/rows.h"

#define WINDOW_MIN 64	/* rows read at once */

void
rows_forget(struct rows *r)
{
	r->stale = true;
}

void
rows_show(struct rows *r, struct view *v, uint64_t first, uint64_t n)
{
	if (!r->stale && first >= r->first && first + n <= r->first + r->n)
		return;
	rows_free(r);
	r->first = first;
	r->stale = false;
	r->err.code = TB_OK;
	if (r->read(v, first, n > WINDOW_MIN ? n : WINDOW_MIN, r))
		r->n = 0;
}

uint64_t
rows_count(struct rows *r, struct view *v)
{
	rows_forget(r);
	rows_show(r, v, 0, 1);
	return r->total;
}

const void *
rows_at(struct rows *r, struct view *v, uint64_t row)
{
	rows_show(r, v, row, 1);
	if (row < r->first || row - r->first >= r->n)
		return NULL;
	return (const char *)r->v + (row - r->first) * r->size;
}

void
rows_free(struct rows *r)
{
	tb_arena_free(&r->mem);
	r->v = NULL;
	r->n = 0;
	r->total = 0;
}
