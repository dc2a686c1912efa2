/* known.c - what the last scan found, for the next one to compare with. */
#include "config.h"

#include "db/pack.h"
#include "db/stmt.h"
#include "db/write.h"

#include "src/base/search.h"

static void
read_path(struct db_rows *r, void *row)
{
	*(const char **)row = rows_text(r, 0);
}

enum tb_status
db_roots(struct db *db, struct db_lines *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_path), err, "SELECT path FROM roots ORDER BY path", "");
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

static void
read_known_file(struct db_rows *r, void *row)
{
	*(struct db_known_file *)row = (struct db_known_file){
		.id = rows_u64(r, 0), .path = rows_text(r, 1), .ident = rows_ident(r, 2),
		.missing = rows_i64(r, 6),
	};
}

enum tb_status
db_known_files(struct db *db, struct db_known_files *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_known_file), err, "SELECT id, path, dev, ino, size, "
			   "mtime_ns, missing FROM files ORDER BY id", "");
}

struct db_known_file *
db_known_file(const struct db_known_files *f, uint64_t id)
{
	size_t at = TB_FIRST(f->n, i, f->rows[i].id < id);

	return at < f->n && f->rows[at].id == id ? &f->rows[at] : NULL;
}

static void
read_root_model(struct db_rows *r, void *row)
{
	*(struct db_model *)row = (struct db_model){
		.id = rows_i64(r, 0), .name = rows_text(r, 1), .path = rows_text(r, 2),
	};
}

enum tb_status
db_root_models(struct db *db, int64_t root, struct db_models *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_root_model), err,
			   "SELECT id, name, path FROM models WHERE root = ?", "i", root);
}

static void
read_entry(struct db_rows *r, void *row)
{
	*(struct db_entry *)row = (struct db_entry){
		.id = rows_i64(r, 0), .path = rows_text(r, 1), .digest = "",
		.kind = (enum db_file_kind)rows_i64(r, 2), .ident = rows_ident(r, 3),
		.missing = rows_i64(r, 7),
	};
}

enum tb_status
db_root_entries(struct db *db, int64_t root, struct db_entries *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_entry), err,
			   "SELECT id, path, kind, dev, ino, size, mtime_ns, missing FROM files "
			   "WHERE root = ? AND kind >= 2 ORDER BY path", "i", root);
}
