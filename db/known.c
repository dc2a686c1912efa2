/* known.c - what the last scan found, for the next one to compare with. */
#include "config.h"

#include "db/pack.h"
#include "db/private.h"
#include "db/write.h"
#include "src/base/search.h"

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

	*out = (struct db_known){ 0 };
	rows_open(&r, db, &out->mem, true, err, "SELECT m.id, m.mtime_ns, m.dir_ns, m.kind, c.files"
		  " FROM models m JOIN contents c ON c.model = m.id WHERE m.path = ?", "s",
		  path);
	if (rows_next(&r)) {
		const void *p = sqlite3_column_blob(r.st, 4);
		size_t len = (size_t)sqlite3_column_bytes(r.st, 4);

		out->model = rows_i64(&r, 0);
		out->mtime_ns = rows_i64(&r, 1);
		out->dir_ns = rows_i64(&r, 2);
		out->kind = kind_of_number(rows_i64(&r, 3));
		out->n = pack_count(p, len);
		out->files = tb_arena_get(&out->mem, (out->n + 1) * sizeof(*out->files));
		r.failed = !out->files;
		if (out->files && !pack_read64(p, len, out->files, out->n))
			out->mtime_ns = 0;	/* damaged: it looks changed */
	}
	if (rows_end(&r))
		*out = (struct db_known){ 0 };
	return r.status;
}

enum tb_status
db_known_files(struct db *db, struct db_known_files *out, struct tb_err *err)
{
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_known_files){ 0 };
	rows_open(&r, db, &out->mem, true, err, "SELECT id, path, dev, ino, size, mtime_ns, missing"
		  " FROM files ORDER BY id", "");
	while (rows_next(&r)) {
		struct db_known_file *more = rows_push(&r, out->rows, &out->n, &cap,
						       sizeof(*more));

		if (!more)
			continue;
		out->rows = more;
		more[out->n - 1] = (struct db_known_file){
			.id = (uint64_t)rows_i64(&r, 0), .path = rows_text(&r, 1),
			.ident = ident(&r, 2), .missing = rows_i64(&r, 6),
		};
	}
	if (rows_end(&r))
		*out = (struct db_known_files){ 0 };
	return r.status;
}

struct db_known_file *
db_known_file(const struct db_known_files *f, uint64_t id)
{
	size_t at = TB_FIRST(f->n, i, f->rows[i].id < id);

	return at < f->n && f->rows[at].id == id ? &f->rows[at] : NULL;
}

enum tb_status
db_drop_model(struct db *db, int64_t id, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM models WHERE id = ?", "i", id);
}

enum tb_status
db_unseen_model(struct db *db, int64_t id, const char *problem, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "UPDATE models SET problems = 1, dir_ns = -1"
					" WHERE id = ?", "i", id);

	if (!status)
		status = db_exec(db, err, "DELETE FROM problems WHERE model = ?", "i", id);
	return status ? status : db_exec(db, err, "INSERT INTO problems VALUES (?, 0, ?)", "is", id,
					 problem);
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
	return db_exec(db, err, "UPDATE files SET missing = 1, dev = 0, ino = 0 WHERE id = ?", "i",
		       id);
}

/* ---- around the scan of a root ---- */

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

void
db_settle(struct db *db)
{
	sqlite3_exec(db->sql, "PRAGMA optimize", NULL, NULL, NULL);
	db_seal(db);
	sqlite3_exec(db->sql, "PRAGMA audit.wal_checkpoint(passive)", NULL, NULL, NULL);
}
