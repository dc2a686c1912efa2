#include "config.h"

#include "ui/rows.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/home/home.h"
#include "ui/view.h"

#define WINDOW_MIN 64	/* rows read at once */

static const void *
rows_nth(const struct rows *r, size_t i)
{
	return (const char *)r->v + i * r->of->size;
}

struct sorting { const struct view *v; const struct rows *r; };

static int
rows_by_order(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int d = s->r->of->order(s->v, rows_nth(s->r, x), rows_nth(s->r, y));

	if (!d)
		d = x < y ? -1 : x > y;
	return s->r->q.reverse ? -d : d;
}

/* Of a list in memory that has been read. */
static void
rows_choose(struct rows *r, struct view *v)
{
	struct sorting s = { v, r };

	if (!r->of->match && !r->of->order)
		return;
	r->total = 0;
	r->shown = tb_arena_get(&r->mem, (r->n + 1) * sizeof(*r->shown));
	if (!r->shown) {
		r->n = 0;
		(void)tb_nomem(&r->err);
		return;
	}
	for (size_t i = 0; i < r->n; i++)
		if (!r->of->match || r->of->match(v, rows_nth(r, i)))
			r->shown[r->total++] = i;
	if (r->of->order && r->total)
		qsort_r(r->shown, r->total, sizeof(*r->shown), rows_by_order, &s);
}

static void
rows_read(struct rows *r, struct view *v, uint64_t first, uint64_t n)
{
	const char *state = v->state;

	r->q.offset = r->first = first;
	r->q.limit = n > WINDOW_MIN ? n : WINDOW_MIN;
	tb_arena_free(&r->mem);
	r->v = r->shown = NULL;
	r->n = 0;
	r->err.code = TB_OK;
	if (!r->of->read) {
		memcpy(&r->v, state + r->of->rows_at, sizeof(r->v));
		memcpy(&r->n, state + r->of->n_at, sizeof(r->n));
		r->total = r->n;
	} else if (r->of->read(v, &r->q, r)) {
		r->n = 0;
	}
	if (!r->err.code)
		rows_choose(r, v);
}

void
rows_start(struct rows *r, struct view *v, const struct rows_source *of, const struct db_query *q)
{
	r->of = of;
	r->q = *q;
	r->total = 0;
	rows_read(r, v, 0, 0);
}

void
rows_hold(struct rows *r, struct view *v, uint64_t row, uint64_t n)
{
	if (!r->shown && (row < r->first || row + n > r->first + r->n) && row < r->total)
		rows_read(r, v, row, n);
}

const void *
rows_get(struct rows *r, struct view *v, uint64_t row)
{
	if (row >= r->total)
		return NULL;
	rows_hold(r, v, row, 1);
	if (r->shown)
		return rows_nth(r, r->shown[row]);
	return row >= r->first && row - r->first < r->n ? rows_nth(r, row - r->first) : NULL;
}

void
rows_free(struct rows *r)
{
	tb_arena_free(&r->mem);
	*r = (struct rows){ 0 };
}

uint64_t
rows_count(struct view *v)
{
	const struct table *t = view_table(v);

	rows_start(&v->rows, v, t->rows, &(struct db_query){
		.filter = v->list.filter, .sort = t->cols[v->list.sort].key,
		.reverse = v->list.reverse, .roots = &view_ctx(v)->roots,
	});
	return v->rows.total;
}

const void *
rows_at(struct view *v, size_t row)
{
	return rows_get(&v->rows, v, row);
}

const void *
rows_current(struct view *v)
{
	return v->list.n ? rows_at(v, v->list.cur) : NULL;
}

const void *
rows_seen(const struct view *v)
{
	const struct rows *r = &v->rows;
	uint64_t row = v->list.cur;

	if (!v->list.n || row >= r->total)
		return NULL;
	if (r->shown)
		return rows_nth(r, r->shown[row]);
	return row >= r->first && row - r->first < r->n ? rows_nth(r, row - r->first) : NULL;
}

uint64_t
rows_id(struct view *v, size_t row)
{
	const struct rows *r = &v->rows;

	if (r->of->id)
		return r->of->id(v, row);
	return r->shown && row < r->total ? r->shown[row] : row;
}

uint64_t
rows_own_id(struct view *v, size_t row)
{
	const uint64_t *id = rows_at(v, row);

	return id ? *id : 0;
}

bool
rows_find(struct view *v, uint64_t id, size_t *row)
{
	const struct rows *r = &v->rows;
	size_t n = r->shown ? (size_t)r->total : r->n;
	uint64_t at;
	bool found;

	if (r->of->find) {
		struct db_query q = r->q;

		q.offset = q.limit = 0;
		if (r->of->find(v, &q, id, &at, &found))
			return false;
		*row = (size_t)at;
		return found;
	}
	for (size_t i = 0; i < n; i++)
		if (rows_id(v, (size_t)r->first + i) == id) {
			*row = (size_t)r->first + i;
			return true;
		}
	return false;
}
