/* query.c - the window of a list as SQL.  Texts of people are always bound, never
 * part of the statement; sort keys are rows of a table. */
#include "config.h"

#include "db/private.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"

#define SQL_MAX 65536

static const struct db_sort *
find_sort(const struct db_list *l, const char *key)
{
	const struct db_sort *s = l->sort;

	if (!key || !*key)
		return s;
	while (s->key && strcmp(s->key, key))
		s++;
	return s->key ? s : NULL;
}

static enum tb_status
bad_sort(const struct db_list *l, const char *key, struct tb_err *err)
{
	struct tb_buf keys = TB_BUF(512);
	enum tb_status status;

	for (const struct db_sort *s = l->sort; s->key; s++)
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
build(struct tb_buf *sql, const struct db_list *l, const struct db_query *q,
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
bind(sqlite3_stmt *st, const struct db_list *l, const struct db_query *q, bool window)
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

static enum tb_status
open_one(struct db_rows *r, struct db *db, const struct db_list *l, const struct db_query *q,
	 const struct db_sort *sort, struct tb_err *err)
{
	struct tb_buf sql = TB_BUF(SQL_MAX);

	build(&sql, l, q, sort);
	if (tb_buf_failed(&sql)) {
		tb_buf_free(&sql);
		return r->status = tb_nomem(err);
	}
	rows_open(r, db, r->mem, false, err, tb_buf_cstr(&sql), "");
	tb_buf_free(&sql);
	if (!r->status && !bind(r->st, l, q, sort != NULL))
		r->status = db_sql_fail(db, err, "bind");
	return r->status;
}

static enum tb_status
count(struct db *db, const struct db_list *l, const struct db_query *q, uint64_t *total,
      struct tb_err *err)
{
	struct db_rows r = { .mem = NULL };

	if (!open_one(&r, db, l, q, NULL, err) && rows_next(&r))
		*total = (uint64_t)rows_i64(&r, 0);
	return rows_end(&r);
}

enum tb_status
db_list_open(struct db_rows *r, struct db *db, const struct db_list *l,
	     const struct db_query *q, struct tb_arena *mem, uint64_t *total, struct tb_err *err)
{
	static const struct db_query everything;
	const struct db_sort *sort = find_sort(l, q ? q->sort : NULL);
	enum tb_status status;

	*total = 0;
	*r = (struct db_rows){ .mem = mem };
	if (!sort)
		return bad_sort(l, q->sort, err);
	if (!q)
		q = &everything;
	status = count(db, l, q, total, err);
	if (!status && open_one(r, db, l, q, sort, err))
		status = rows_end(r);
	return status;
}
