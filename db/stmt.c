/* stmt.c - statements: preparing, binding, stepping, and what went wrong. */
#include "config.h"

#include "db/stmt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum tb_status
db_found_damage(struct db *db, struct tb_err *err)
{
	db->corrupt = true;
	if (db->chats)
		return tb_fail(err, TB_EDB, "%s: the kept sessions are damaged; \"sqlite3 %s .recover\" "
			       "may bring most of them back", db->path, db->path);
	return tb_fail(err, TB_EDB, "%s: the index is damaged; \"tbtui scan\" makes a new one",
		       db->path);
}

enum tb_status
db_sql_fail(struct db *db, struct tb_err *err, const char *what)
{
	int code = sqlite3_errcode(db->sql) & 0xff;
	const char *called = db->chats ? "list of sessions" : "index";

	switch (code) {
	case SQLITE_NOMEM:
		return tb_nomem(err);
	case SQLITE_INTERRUPT:
		return tb_fail(err, TB_ECANCEL, "cancelled");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return tb_fail(err, TB_EDB, "%s: another program is writing to the %s; "
			       "try again", db->path, called);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return db_found_damage(db, err);
	case SQLITE_IOERR:
	case SQLITE_FULL:
	case SQLITE_CANTOPEN:
		errno = sqlite3_system_errno(db->sql);	/* SQLite has not always kept it */
		if (errno)
			return tb_fail_errno(err, "%s: the %s cannot be %s", db->path, called,
					     code == SQLITE_CANTOPEN ? "opened" : "read or written");
		return tb_fail(err, TB_EDB, "%s: the %s cannot be read or written (%s): is the disk "
			       "full, or a limit of file sizes reached?", db->path, called,
			       sqlite3_errmsg(db->sql));
	default:
		return tb_fail(err, TB_EDB, "%s: %s: %s", db->path, what,
			       sqlite3_errmsg(db->sql));
	}
}

/* keep: the arguments may be gone when the statement runs. */
static bool
bind_all(sqlite3_stmt *st, bool keep, const char *types, va_list ap)
{
	sqlite3_destructor_type life = keep ? SQLITE_TRANSIENT : SQLITE_STATIC;
	uint8_t md[TB_SHA256_LEN];
	const void *bytes;
	int rc = SQLITE_OK;

	for (int i = 1; *types && rc == SQLITE_OK; types++, i++)
		switch (*types) {
		case 's':
			/* a NULL text binds null */
			rc = sqlite3_bind_text(st, i, va_arg(ap, const char *), -1, life);
			break;
		case 'd':
			bytes = va_arg(ap, const char *);
			rc = bytes && tb_digest_bytes(bytes, md)
			   ? sqlite3_bind_blob(st, i, md, sizeof(md), SQLITE_TRANSIENT)
			   : sqlite3_bind_null(st, i);
			break;
		case 'b':
			bytes = va_arg(ap, const void *);
			rc = sqlite3_bind_blob64(st, i, bytes, va_arg(ap, size_t), life);
			break;
		case 'f':
			rc = sqlite3_bind_double(st, i, va_arg(ap, double));
			break;
		default:
			rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
		}
	return rc == SQLITE_OK;
}

/* The cache goes by the address of the literal: no comparing, no hashing. */
static sqlite3_stmt *
prepare(struct db *db, const char *sql, bool keep)
{
	size_t slot = 0;
	sqlite3_stmt *st = NULL;

	while (keep && slot < DB_CACHE && db->cache[slot].text && db->cache[slot].text != sql)
		slot++;
	if (keep && slot < DB_CACHE && db->cache[slot].text)
		return db->cache[slot].st;
	if (sqlite3_prepare_v3(db->sql, sql, -1, keep ? SQLITE_PREPARE_PERSISTENT : 0, &st, NULL))
		return NULL;
	if (keep && slot < DB_CACHE) {
		db->cache[slot].text = sql;
		db->cache[slot].st = st;
	}
	return st;
}

static void
release(struct db *db, sqlite3_stmt *st)
{
	for (size_t i = 0; i < DB_CACHE && db->cache[i].text; i++)
		if (db->cache[i].st == st) {
			sqlite3_reset(st);
			sqlite3_clear_bindings(st);
			return;
		}
	sqlite3_finalize(st);
}

enum tb_status
db_exec(struct db *db, struct tb_err *err, const char *sql, const char *types, ...)
{
	sqlite3_stmt *st = prepare(db, sql, true);
	enum tb_status status = TB_OK;
	va_list ap;
	bool bound;

	if (!st)
		return db_sql_fail(db, err, "prepare");
	va_start(ap, types);
	bound = bind_all(st, false, types, ap);
	va_end(ap);
	if (!bound || sqlite3_step(st) != SQLITE_DONE)
		status = db_sql_fail(db, err, "write");
	release(db, st);
	return status;
}

enum tb_status
db_value(struct db *db, int64_t *out, int64_t none, struct tb_err *err, const char *sql,
	 const char *types, ...)
{
	sqlite3_stmt *st = prepare(db, sql, true);
	enum tb_status status = TB_OK;
	va_list ap;
	int rc;

	*out = none;
	if (!st)
		return db_sql_fail(db, err, "prepare");
	va_start(ap, types);
	rc = bind_all(st, false, types, ap) ? sqlite3_step(st) : SQLITE_ERROR;
	va_end(ap);
	if (rc == SQLITE_ROW)	/* what RETURNING returns has been done by then */
		*out = sqlite3_column_int64(st, 0);
	else if (rc != SQLITE_DONE)
		status = db_sql_fail(db, err, "read");
	release(db, st);
	return status;
}

static void
rows_start(struct db_rows *r, bool keep, const char *sql, const char *types, va_list ap)
{
	r->st = prepare(r->db, sql, keep);
	if (!r->st)
		r->status = db_sql_fail(r->db, r->err, "prepare");
	else if (!bind_all(r->st, true, types, ap))
		r->status = db_sql_fail(r->db, r->err, "bind");
}

enum tb_status
db_version(struct db *db, int64_t *out, struct tb_err *err)
{
	return db_value(db, out, 0, err, "PRAGMA main.data_version", "");
}

void
rows_open(struct db_rows *r, struct db *db, struct tb_arena *mem, bool keep, struct tb_err *err,
	  const char *sql, const char *types, ...)
{
	va_list ap;

	*r = (struct db_rows){ .db = db, .mem = mem, .err = err };
	va_start(ap, types);
	rows_start(r, keep, sql, types, ap);
	va_end(ap);
}

bool
rows_next(struct db_rows *r)
{
	int rc;

	if (r->status)
		return false;
	if (r->failed) {
		r->status = tb_nomem(r->err);
		return false;
	}
	rc = sqlite3_step(r->st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r->status = db_sql_fail(r->db, r->err, "read");
	return rc == SQLITE_ROW;
}

enum tb_status
rows_end(struct db_rows *r)
{
	if (!r->status && r->failed)
		r->status = tb_nomem(r->err);
	if (r->st)
		release(r->db, r->st);
	r->st = NULL;
	if (r->status && r->mem)
		tb_arena_free(r->mem);
	return r->status;
}

const char *
rows_text(struct db_rows *r, int col)
{
	const char *s = (const char *)sqlite3_column_text(r->st, col);
	const char *copy = "";

	if (s && *s)
		copy = tb_arena_text(r->mem, s, (size_t)sqlite3_column_bytes(r->st, col));
	r->failed |= !copy;
	return copy ? copy : "";
}

const char *
rows_digest(struct db_rows *r, int col)
{
	const void *md = sqlite3_column_blob(r->st, col);
	char *out;

	if (!md || sqlite3_column_bytes(r->st, col) != TB_SHA256_LEN)
		return "";
	out = tb_arena_get(r->mem, TB_DIGEST_MAX);
	if (!out) {
		r->failed = true;
		return "";
	}
	tb_digest_text("sha256:", md, TB_SHA256_LEN, out);
	return out;
}

int64_t
rows_i64(struct db_rows *r, int col)
{
	return sqlite3_column_int64(r->st, col);
}

uint64_t
rows_u64(struct db_rows *r, int col)
{
	return (uint64_t)rows_i64(r, col);
}

struct tb_ident
rows_ident(struct db_rows *r, int col)
{
	return (struct tb_ident){ rows_u64(r, col), rows_u64(r, col + 1), rows_u64(r, col + 2),
				  rows_i64(r, col + 3) };
}

void *
rows_push(struct tb_arena *mem, void *rows, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 32;
		void *bigger = tb_arena_get(mem, more * size);

		if (!bigger)
			return NULL;
		if (*n)
			memcpy(bigger, rows, *n * size);
		rows = bigger;
		*cap = more;
	}
	++*n;
	return rows;
}

enum tb_status
rows_all(struct db_rows *r, uint64_t total, void *list, size_t size, rows_fn *read)
{
	struct any_list l = { .total = total };
	size_t cap = 0;

	while (rows_next(r)) {
		char *more = rows_push(r->mem, l.rows, &l.n, &cap, size);

		if (more) {
			l.rows = more;
			read(r, more + (l.n - 1) * size);
		} else {
			r->failed = true;
		}
	}
	if (rows_end(r))
		l = (struct any_list){ 0 };
	else
		l.mem = *r->mem;
	if (!total)
		l.total = l.n;
	memcpy(list, &l, sizeof(l));
	return r->status;
}

enum tb_status
rows_select(struct db *db, void *list, size_t size, rows_fn *read, struct tb_err *err,
	    const char *sql, const char *types, ...)
{
	struct tb_arena mem = { 0 };
	struct db_rows r = { .db = db, .mem = &mem, .err = err };
	va_list ap;

	va_start(ap, types);
	rows_start(&r, true, sql, types, ap);
	va_end(ap);
	return rows_all(&r, 0, list, size, read);
}
