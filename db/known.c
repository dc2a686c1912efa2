/* known.c - what the last scan found, for the next one to compare with. */
#include "config.h"

#include "db/private.h"
#include "db/write.h"

enum tb_status
db_root(struct db *db, const char *path, int64_t *id, struct tb_err *err)
{
	static const char find[] = "SELECT id FROM roots WHERE path = ?";
	enum tb_status status = db_value(db, id, 0, err, find, "s", path);

	if (!status && !*id) {
		status = db_exec(db, err, "INSERT INTO roots(path) VALUES (?)", "s", path);
		*id = sqlite3_last_insert_rowid(db->sql);
	}
	return status;
}

enum tb_status
db_drop_root(struct db *db, int64_t root, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM roots WHERE id = ?", "i", root);
}

enum tb_status
db_roots(struct db *db, struct db_lines *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_lines){ 0 };
	rows_open(&r, db, &out->mem, true, err, "SELECT path FROM roots ORDER BY path", "");
	while (rows_next(&r)) {
		const char **more = rows_push(&r, out->rows, &out->n, &cap, sizeof(*more));

		if (more) {
			out->rows = more;
			out->rows[out->n - 1] = rows_text(&r, 0);
		}
	}
	if (rows_end(&r))
		*out = (struct db_lines){ 0 };
	out->total = out->n;
	return r.status;
}

static struct tb_ident
ident(struct db_rows *r, int col)
{
	return (struct tb_ident){
		.dev = (uint64_t)rows_i64(r, col), .ino = (uint64_t)rows_i64(r, col + 1),
		.size = (uint64_t)rows_i64(r, col + 2), .mtime_ns = rows_i64(r, col + 3),
	};
}

enum tb_status
db_known(struct db *db, const char *path, struct db_known *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_known){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT m.id, m.mtime_ns, m.dir_ns, m.kind, f.path, f.dev, f.ino, f.size,"
		  " f.mtime_ns, f.missing FROM models m LEFT JOIN model_files mf ON mf.model = m.id"
		  " LEFT JOIN files f ON f.id = mf.file WHERE m.path = ? ORDER BY mf.ord", "s", path);
	while (rows_next(&r)) {
		struct db_known_file *more;

		out->model = rows_i64(&r, 0);
		out->mtime_ns = rows_i64(&r, 1);
		out->dir_ns = rows_i64(&r, 2);
		out->kind = (enum model_kind)rows_i64(&r, 3);
		if (sqlite3_column_type(r.st, 4) == SQLITE_NULL)
			continue;	/* a model without files */
		more = rows_push(&r, out->rows, &out->n, &cap, sizeof(*more));
		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_known_file){
			.path = rows_text(&r, 4), .id = ident(&r, 5), .missing = rows_i64(&r, 9),
		};
	}
	if (rows_end(&r))
		*out = (struct db_known){ 0 };
	return r.status;
}

enum tb_status
db_drop_model(struct db *db, int64_t id, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM models WHERE id = ?", "i", id);
}

enum tb_status
db_root_models(struct db *db, int64_t root, struct db_models *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_models){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT id, name, path FROM models WHERE root = ?", "i", root);
	while (rows_next(&r)) {
		struct db_model *more = rows_push(&r, out->rows, &out->n, &cap, sizeof(*more));

		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_model){
			.id = rows_i64(&r, 0), .name = rows_text(&r, 1), .path = rows_text(&r, 2),
		};
	}
	if (rows_end(&r))
		*out = (struct db_models){ 0 };
	out->total = out->n;
	return r.status;
}

/* ---- blobs/ ---- */

enum tb_status
db_root_entries(struct db *db, int64_t root, struct db_entries *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_entries){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT id, path, kind, dev, ino, size, mtime_ns, missing FROM files "
		  "WHERE root = ? AND kind >= 2 ORDER BY path", "i", root);
	while (rows_next(&r)) {
		struct db_entry *more = rows_push(&r, out->rows, &out->n, &cap, sizeof(*more));

		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_entry){
			.id = rows_i64(&r, 0), .path = rows_text(&r, 1), .digest = "",
			.kind = (enum db_file_kind)rows_i64(&r, 2), .ident = ident(&r, 3),
			.missing = rows_i64(&r, 7),
		};
	}
	if (rows_end(&r))
		*out = (struct db_entries){ 0 };
	return r.status;
}

enum tb_status
db_put_entry(struct db *db, int64_t root, const struct db_entry *e, struct tb_err *err)
{
	return db_exec(db, err,
		       "INSERT INTO files(root, path, kind, digest, dev, ino, size, mtime_ns, missing)"
		       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT(path) DO UPDATE SET"
		       " root = excluded.root, kind = excluded.kind, digest = excluded.digest,"
		       " dev = excluded.dev, ino = excluded.ino, size = excluded.size,"
		       " mtime_ns = excluded.mtime_ns, missing = 0", "isidiiii", root, e->path,
		       (int64_t)e->kind, e->digest, (int64_t)e->ident.dev, (int64_t)e->ident.ino,
		       (int64_t)e->ident.size, e->ident.mtime_ns);
}

enum tb_status
db_lost_entry(struct db *db, int64_t id, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "DELETE FROM files WHERE id = ? AND id NOT IN "
					"(SELECT file FROM model_files WHERE file = files.id)",
					"i", id);

	if (!status)
		status = db_exec(db, err, "UPDATE files SET missing = 1, dev = 0, ino = 0 "
				 "WHERE id = ?", "i", id);
	return status;
}

/* ---- the end of a scan ---- */

enum tb_status
db_root_open(struct db *db, int64_t root, bool *whole, struct tb_err *err)
{
	int64_t was = 0;
	enum tb_status status = db_value(db, &was, 0, err, "SELECT whole FROM roots WHERE id = ?",
					 "i", root);

	*whole = was;
	return status ? status : db_exec(db, err, "UPDATE roots SET whole = 0 WHERE id = ?", "i",
					 root);
}

/* A model's names lie all over this index: putting many models with it in place
 * writes most of its pages again for each of them (4 GB for 2,000 models).  So it is
 * not part of the schema, comes last, and nothing but speed depends on it. */
enum tb_status
db_bulk(struct db *db, bool start, struct tb_err *err)
{
	return db_run_sql(db, start ? "DROP INDEX IF EXISTS tensors_name"
			  : "CREATE INDEX IF NOT EXISTS tensors_name ON tensors(name)", err);
}

/* A file counts by inode: two paths can be one file (links of a cache). */
static const char exclusive_sql[] =
	"WITH used AS (SELECT DISTINCT mf.model, f.dev, f.ino, f.size FROM model_files mf"
	"  JOIN files f ON f.id = mf.file WHERE NOT f.missing),"
	" sole AS (SELECT max(model) AS model, max(size) AS size FROM used"
	"  GROUP BY dev, ino HAVING count(*) = 1),"
	" sums AS (SELECT model, sum(size) AS bytes FROM sole GROUP BY model)"
	"UPDATE models SET exclusive = sums.bytes FROM sums WHERE sums.model = models.id";

/* Only what differs is written: a scan that changes one model writes a few pages. */
static const char owners_sql[] =
	"WITH used AS (SELECT file, count(DISTINCT model) AS n FROM model_files GROUP BY file)"
	"UPDATE files SET owners = coalesce(u.n, 0) FROM files AS f"
	"  LEFT JOIN used u ON u.file = f.id"
	"  WHERE f.id = files.id AND files.owners <> coalesce(u.n, 0)";

static const char totals_sql[] =
	"WITH f AS (SELECT * FROM files WHERE root = ?1)"
	"UPDATE roots SET (models, tensors) ="
	"  (SELECT count(*), coalesce(sum(tensors), 0) FROM models WHERE root = ?1),"
	" (bytes, blobs, shared_bytes, orphans, orphan_bytes, missing, leftovers, leftover_bytes) ="
	"  (SELECT coalesce(sum(size) FILTER (WHERE kind IN (0, 2) AND owners > 0 AND NOT missing), 0),"
	"    count(*) FILTER (WHERE kind = 2 AND NOT missing),"
	"    coalesce(sum(size) FILTER (WHERE kind IN (0, 2) AND owners > 1 AND NOT missing), 0),"
	"    count(*) FILTER (WHERE kind = 2 AND owners = 0),"
	"    coalesce(sum(size) FILTER (WHERE kind = 2 AND owners = 0), 0),"
	"    count(*) FILTER (WHERE missing), count(*) FILTER (WHERE kind > 2),"
	"    coalesce(sum(size) FILTER (WHERE kind > 2), 0) FROM f) WHERE id = ?1";

enum tb_status
db_finish_root(struct db *db, int64_t root, bool changed, int64_t now_ns, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "UPDATE roots SET scanned_ns = ?, whole = 1 "
					"WHERE id = ?", "ii", now_ns, root);

	if (status || !changed)
		return status;
	status = db_bulk(db, false, err);
	if (!status)
		status = db_exec(db, err, "DELETE FROM files WHERE root = ? AND "
				 "(kind < 2 OR missing) AND NOT EXISTS "
				 "(SELECT 1 FROM model_files WHERE file = files.id)", "i", root);
	if (!status)
		status = db_exec(db, err, "DELETE FROM names WHERE NOT EXISTS "
				 "(SELECT 1 FROM tensors WHERE name = names.id)", "");
	db_names_forget(db);
	if (!status)
		status = db_exec(db, err, "UPDATE models SET exclusive = 0", "");
	if (!status)
		status = db_exec(db, err, exclusive_sql, "");
	if (!status)
		status = db_exec(db, err, owners_sql, "");
	if (!status)
		status = db_exec(db, err, totals_sql, "i", root);
	return status;
}

void
db_settle(struct db *db)
{
	sqlite3_exec(db->sql, "PRAGMA optimize; PRAGMA main.wal_checkpoint(truncate);"
		     "PRAGMA audit.wal_checkpoint(passive)", NULL, NULL, NULL);
}
