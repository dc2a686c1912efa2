/* query.c - the window of a list as SQL.  Texts of people are always bound, never
 * part of the statement; sort keys are rows of a table. */
#include "config.h"

#include "db/stmt.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"

#define SQL_MAX 65536

enum tb_status
db_sort_find(const struct db_sort *sorts, const char *key, const struct db_sort **out,
	     struct tb_err *err)
{
	struct tb_buf keys = TB_BUF(512);
	const struct db_sort *s = sorts;
	enum tb_status status;

	if (key && *key)
		while (s->key && strcmp(s->key, key))
			s++;
	*out = s;
	if (s->key)
		return TB_OK;
	for (s = sorts; s->key; s++)
		tb_buf_printf(&keys, " %s", s->key);
	status = tb_fail(err, TB_EUSAGE, "cannot sort by \"%s\"; one of:%s", key,
			 tb_buf_cstr(&keys));
	tb_buf_free(&keys);
	return status;
}

static void
where_roots(struct tb_buf *sql, const struct db_list *l, const struct db_query *q)
{
	if (!l->root || !q->roots)
		return;
	tb_buf_str(sql, " AND (0");
	for (size_t i = 0; i < q->roots->n; i++) {
		unsigned at = (unsigned)i + 1 + l->has_arg + (q->filter && *q->filter);

		/* '0' is the character behind '/' */
		tb_buf_printf(sql, " OR %s = ?%u OR (%s > ?%u || '/' AND %s < ?%u || '0')",
			      l->root, at, l->path, at, l->path, at);
	}
	tb_buf_chr(sql, ')');
}

static void
query_text(struct tb_buf *sql, const struct db_list *l, const struct db_query *q,
	   const struct db_sort *sort)
{
	tb_buf_printf(sql, "SELECT %s FROM %s WHERE %s", sort ? l->columns : "count(*)",
		      l->from, l->where);
	if (q->filter && *q->filter)
		tb_buf_printf(sql, " AND tb_match(?, %s)", l->filter);
	where_roots(sql, l, q);
	if (!sort)
		return;
	tb_buf_printf(sql, " ORDER BY %s %s", sort->order,
		      sort->down != q->reverse ? "DESC" : "ASC");
	if (l->tie)
		tb_buf_printf(sql, ", %s", l->tie);
	if (q->limit || q->offset)
		tb_buf_str(sql, " LIMIT ? OFFSET ?");
}

static int64_t
clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static bool
query_bind(sqlite3_stmt *st, const struct db_list *l, const struct db_query *q, bool window)
{
	int i = 1;
	bool bad = false;

	if (l->has_arg)
		bad |= sqlite3_bind_int64(st, i++, l->arg);
	if (q->filter && *q->filter)
		bad |= sqlite3_bind_text(st, i++, q->filter, -1, SQLITE_TRANSIENT);
	for (size_t k = 0; l->root && q->roots && k < q->roots->n; k++)
		bad |= sqlite3_bind_text(st, i++, q->roots->path[k], -1, SQLITE_TRANSIENT);
	if (window && (q->limit || q->offset)) {
		bad |= sqlite3_bind_int64(st, i++, q->limit ? clamp(q->limit) : -1);
		bad |= sqlite3_bind_int64(st, i++, clamp(q->offset));
	}
	return !bad;
}

/* Without sort: how many there are.  What fails is r->status. */
static void
query_start(struct db_rows *r, struct db *db, const struct db_list *l, const struct db_query *q,
	    const struct db_sort *sort, struct tb_err *err)
{
	struct tb_buf sql = TB_BUF(SQL_MAX);

	query_text(&sql, l, q, sort);
	if (tb_buf_failed(&sql))
		*r = (struct db_rows){ .status = tb_nomem(err) };
	else
		rows_open(r, db, r->mem, false, err, tb_buf_cstr(&sql), "");
	tb_buf_free(&sql);
	if (!r->status && !query_bind(r->st, l, q, sort != NULL))
		r->status = db_sql_fail(db, err, "bind");
}

enum tb_status
query_window(struct db *db, const struct db_list *l, const struct db_query *q, void *list,
	     size_t size, rows_fn *read, struct tb_err *err)
{
	static const struct db_query everything;
	struct tb_arena mem = { 0 };
	struct db_rows r = { .mem = &mem };
	const struct db_sort *sort;
	uint64_t total = 0;
	enum tb_status status = db_sort_find(l->sort, q ? q->sort : NULL, &sort, err);

	memset(list, 0, sizeof(struct any_list));
	if (status)
		return status;
	q = q ? q : &everything;
	query_start(&r, db, l, q, NULL, err);
	if (rows_next(&r))
		total = rows_u64(&r, 0);
	status = rows_end(&r);
	if (status)
		return status;
	query_start(&r, db, l, q, sort, err);
	return rows_all(&r, total, list, size, read);
}

enum tb_status
query_find(struct db *db, const struct db_list *l, const struct db_query *q, int64_t id,
	   uint64_t *row, bool *found, struct tb_err *err)
{
	struct db_list ids = *l;
	struct db_query all = *q;
	struct db_rows r = { .mem = NULL };
	const struct db_sort *sort;
	enum tb_status status = db_sort_find(l->sort, q->sort, &sort, err);

	*found = false;
	if (status)
		return status;
	ids.columns = "id";
	all.offset = all.limit = 0;
	query_start(&r, db, &ids, &all, sort, err);
	for (*row = 0; !*found && rows_next(&r); *row += !*found)
		*found = rows_i64(&r, 0) == id;
	return rows_end(&r);
}
