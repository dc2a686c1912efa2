/* blobs.c - lists of files, what they hold, totals, and SQL for people. */
#include "config.h"

#include "db/blob.h"
#include "db/stmt.h"

#include <string.h>

static const char *const words[] = {
#define X(id, word) [id] = word,
	DB_FILE_LIST(X)
#undef X
};

const char *
db_file_word(enum db_file_kind k)
{
	return words[k];
}

static const struct db_sort sorts[] = {
	{ "digest", "f.digest", false },
	{ "size", "f.size", true },
	{ "owners", "f.owners", true },
	{ "kind", "f.kind", false },
	{ "state", "f.state", true },
	{ "modified", "f.mtime_ns", true },
	{ NULL, NULL, false }
};

/* DB_FILE_BLOB = 2; files of directories have no place in a list of blobs. */
static const char *const sets[] = {
	[DB_BLOBS_ALL] = "f.kind >= 2",
	[DB_BLOBS_ORPHANS] = "f.kind = 2 AND f.owners = 0 AND NOT tb_young(f.mtime_ns)",
	[DB_BLOBS_SHARED] = "f.kind = 2 AND f.owners > 1",
	[DB_BLOBS_MISSING] = "f.missing",
	[DB_BLOBS_LEFT] = "f.kind > 2",
};
_Static_assert(DB_FILE_BLOB == 2 && DB_FILE_PARTIAL == 3, "the sets count on it");

/* owners is -1 where the scan could not read who uses it: see db_finish_root(). */
void
db_blob_fate(struct db_blob *b, int64_t owners)
{
	bool unused = b->kind == DB_FILE_BLOB && owners <= 0 && !b->missing;

	b->owners = owners > 0 ? (uint64_t)owners : 0;
	b->unclear = unused && owners < 0;
	b->young = unused && owners == 0 && db_young(b->mtime_ns);
}

void
db_blob_read(struct db_rows *r, void *row)
{
	struct db_blob *b = row;
	int64_t kind = rows_i64(r, 4);

	*b = (struct db_blob){
		.id = rows_i64(r, 0), .path = rows_text(r, 1), .root = rows_text(r, 2),
		.digest = rows_digest(r, 3), .size = rows_u64(r, 5),
		.kind = kind >= 0 && kind < DB_FILE_COUNT ? (enum db_file_kind)kind : DB_FILE_FOREIGN,
		.missing = rows_i64(r, 7),
		.state = db_state_of(rows_i64(r, 8)), .mtime_ns = rows_i64(r, 9),
		.verified_ns = rows_i64(r, 10), .media = rows_text(r, 11),
	};
	db_blob_fate(b, rows_i64(r, 6));
}

enum tb_status
db_blobs(struct db *db, enum db_blob_set set, const struct db_query *q, struct db_blobs *out,
	 struct tb_err *err)
{
	const struct db_list list = {
		.columns = DB_BLOB_COLUMNS, .from = "file_state f", .where = sets[set],
		.filter = "f.path", .root = "f.root_path", .path = "f.path", .tie = "f.path",
		.sort = sorts,
	};

	return query_window(db, &list, q, ROWS(out, db_blob_read), err);
}

void
db_digest_bounds(const char *hex, char low[TB_DIGEST_MAX], char high[TB_DIGEST_MAX])
{
	size_t n = strlen(hex);

	for (size_t i = 0; i < 2 * TB_SHA256_LEN; i++) {
		low[7 + i] = i < n ? hex[i] : '0';
		high[7 + i] = i < n ? hex[i] : 'f';
	}
	memcpy(low, "sha256:", 7);
	memcpy(high, "sha256:", 7);
	low[7 + 2 * TB_SHA256_LEN] = high[7 + 2 * TB_SHA256_LEN] = 0;
}

/* Hashes of files that are still what they were then; see db/copies.c. */
#define HASHES "audit.hashes h JOIN files x ON x.path = h.path AND x.dev = h.dev AND " \
	"x.ino = h.ino AND x.size = h.size AND x.mtime_ns = h.mtime_ns " \
	"AND (h.ok OR x.digest IS NOT NULL) "

enum tb_status
db_blob_find(struct db *db, const char *hex, const char *path, struct db_blobs *out,
	     struct tb_err *err)
{
	char low[TB_DIGEST_MAX] = "", high[TB_DIGEST_MAX] = "";

	if (hex && *hex)
		db_digest_bounds(hex, low, high);
	return rows_select(db, ROWS(out, db_blob_read), err,
		  "SELECT " DB_BLOB_COLUMNS " FROM file_state f WHERE f.id IN "
		  "(SELECT id FROM files WHERE digest BETWEEN ?1 AND ?2 UNION "
		  "SELECT x.id FROM " HASHES "WHERE h.digest BETWEEN ?1 AND ?2 UNION "
		  "SELECT id FROM files WHERE path = ?3) ORDER BY f.path", "dds", low, high, path);
}

static const char like_sql[] =
	"WITH me AS MATERIALIZED (SELECT id, path, digest FROM files "
	" WHERE path = ?1 OR (ino = ?2 AND dev = ?3 AND NOT missing)), "
	"content AS MATERIALIZED (SELECT digest FROM me WHERE digest IS NOT NULL UNION "
	" SELECT h.digest FROM " HASHES "WHERE x.id IN (SELECT id FROM me)) "
	"SELECT " DB_BLOB_COLUMNS " FROM file_state f WHERE f.id IN (SELECT id FROM me UNION "
	" SELECT id FROM files WHERE digest IN content UNION "
	" SELECT x.id FROM " HASHES "WHERE h.digest IN content) ORDER BY f.path";

enum tb_status
db_blob_like(struct db *db, const char *path, const struct tb_ident *id, struct db_blobs *out,
	     struct tb_err *err)
{
	return rows_select(db, ROWS(out, db_blob_read), err, like_sql, "sii", path,
			   (int64_t)id->ino, (int64_t)id->dev);
}

/* ---- what a file holds, as the models that use it see it ---- */

enum tb_status
db_blob_tensors(struct db *db, int64_t blob, int64_t model, uint64_t limit,
		struct db_places *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_places){ 0 };
	rows_open(&r, db, &out->mem, true, err, "SELECT name, off, count(*) OVER () FROM tensors "
		  "WHERE model = ? AND file_id = ? ORDER BY off, ord LIMIT ?", "iii", model, blob,
		  limit ? (int64_t)limit : -1);
	while (rows_next(&r)) {
		struct db_place *more = rows_push(&out->mem, out->rows, &out->n, &cap,
						  sizeof(*more));

		r.failed |= !more;
		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_place){ rows_text(&r, 0), rows_u64(&r, 1) };
		out->total = rows_u64(&r, 2);
	}
	if (rows_end(&r))
		*out = (struct db_places){ 0 };
	return r.status;
}

enum tb_status
db_has_tensor(struct db *db, int64_t model, const char *name, bool *yes, struct tb_err *err)
{
	int64_t found;
	enum tb_status status = db_value(db, &found, 0, err, "SELECT EXISTS(SELECT 1 FROM tensors "
					 "WHERE model = ? AND name = ?)", "is", model, name);

	*yes = !status && found;
	return status;
}

/* ---- totals ---- */

/* Added up by db_finish_root(). */
static const char totals_sql[] =
	"SELECT sum(models), sum(tensors), sum(bytes), sum(blobs), sum(shared_bytes), sum(orphans),"
	" sum(orphan_bytes), sum(missing), sum(leftovers), sum(leftover_bytes), max(scanned_ns)"
	" FROM roots WHERE ?1 IS NULL OR path = ?1";

static enum tb_status
add_totals(struct db *db, const char *root, struct db_totals *out, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, totals_sql, "s", root);
	if (rows_next(&r)) {
		uint64_t *const to[] = {
			&out->models, &out->tensors, &out->bytes, &out->blobs, &out->shared_bytes,
			&out->orphans, &out->orphan_bytes, &out->missing, &out->left,
			&out->left_bytes,
		};

		for (int i = 0; i < 10; i++)
			*to[i] += rows_u64(&r, i);
		if (rows_i64(&r, 10) > out->scanned_ns)
			out->scanned_ns = rows_i64(&r, 10);
	}
	return rows_end(&r);
}

enum tb_status
db_totals(struct db *db, const struct store_roots *roots, struct db_totals *out,
	  struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = (struct db_totals){ 0 };
	if (!roots)
		return add_totals(db, NULL, out, err);
	for (size_t i = 0; !status && i < roots->n; i++)
		status = add_totals(db, roots->path[i], out, err);
	return status;
}

/* ---- SQL for people ---- */

#define MAX_COLUMNS 256

/* First the views and tables that are made for people. */
const char db_tables_sql[] =
	"SELECT s.name AS \"table\", group_concat(c.name, ' ') AS columns FROM ("
	"SELECT 'tensor_list' AS name, 0 AS ord UNION ALL SELECT 'blob_list', 1"
	" UNION ALL SELECT 'model_state', 2 UNION ALL SELECT 'file_state', 3"
	" UNION ALL SELECT 'tensors', 4 UNION ALL SELECT 'model_files', 5"
	" UNION ALL SELECT name, 100 + rowid FROM main.sqlite_schema WHERE type = 'table'"
	" AND name NOT GLOB 'sqlite_*' AND name <> 'contents'"
	" UNION ALL SELECT name, 200 + rowid FROM audit.sqlite_schema WHERE type = 'table'"
	" AND name NOT GLOB 'sqlite_*') s JOIN pragma_table_info(s.name) c "
	"GROUP BY s.ord, s.name ORDER BY s.ord";

static enum tb_status
one_row(sqlite3_stmt *st, db_row_fn *fn, void *arg, struct tb_err *err)
{
	const char *names[MAX_COLUMNS], *values[MAX_COLUMNS];
	int n = sqlite3_column_count(st);

	if (n > MAX_COLUMNS)
		return tb_fail(err, TB_ELIMIT, "more than %d columns", MAX_COLUMNS);
	for (int i = 0; i < n; i++) {
		names[i] = sqlite3_column_name(st, i);
		values[i] = (const char *)sqlite3_column_text(st, i);
	}
	return fn(arg, n, names, values, err);
}

enum tb_status
db_sql(struct db *db, const char *sql, db_row_fn *fn, void *arg, struct tb_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *rest = "";
	enum tb_status status = TB_OK;
	int rc = SQLITE_DONE;

	if (sqlite3_prepare_v2(db->sql, sql, -1, &st, &rest))
		return tb_fail(err, TB_EUSAGE, "sql: %s", sqlite3_errmsg(db->sql));
	if (!st)
		return tb_fail(err, TB_EUSAGE, "sql: no statement");
	if (rest[strspn(rest, " \t\r\n;")])
		status = tb_fail(err, TB_EUSAGE, "sql: one statement at a time");
	else if (!sqlite3_stmt_readonly(st) || sqlite3_column_count(st) == 0)
		status = tb_fail(err, TB_EUSAGE, "sql: only statements that read");
	while (!status && (rc = sqlite3_step(st)) == SQLITE_ROW)
		status = one_row(st, fn, arg, err);
	if (!status && rc != SQLITE_DONE)
		status = tb_fail(err, TB_EDB, "sql: %s", sqlite3_errmsg(db->sql));
	sqlite3_finalize(st);
	return status;
}
