/* put.c - what a scan writes: roots, models with what is in them, files in blobs/. */
#include "config.h"

#include "db/names.h"
#include "db/pack.h"
#include "db/stmt.h"
#include "db/write.h"

#include <string.h>

/* At once for writing: a transaction that starts by reading could not wait for another
 * writer any more, it would have to fail. */
enum tb_status
db_begin(struct db *db, struct tb_err *err)
{
	enum tb_status status = db_run_sql(db, "BEGIN IMMEDIATE", err);

	return status ? status : db_names_check(db, err);
}

enum tb_status
db_end(struct db *db, enum tb_status status, struct tb_err *err)
{
	if (!status)
		status = db_run_sql(db, "COMMIT", err);
	if (!status)
		return TB_OK;
	if (!sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	db_names_forget(db);	/* some of the ids may have gone with it */
	return status;
}

/* ---- roots ---- */

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
db_root_open(struct db *db, int64_t root, bool *whole, struct tb_err *err)
{
	int64_t was = 0;
	enum tb_status status = db_value(db, &was, 0, err, "SELECT whole FROM roots WHERE id = ?",
					 "i", root);

	*whole = was;
	return status ? status : db_exec(db, err, "UPDATE roots SET whole = 0 WHERE id = ?", "i",
					 root);
}

enum tb_status
db_drop_root(struct db *db, int64_t root, struct tb_err *err)
{
	return db_exec(db, err, "DELETE FROM roots WHERE id = ?", "i", root);
}

/* ---- a model ---- */

#define FILE_COLUMNS "root, path, kind, digest, dev, ino, size, mtime_ns, missing, media)"
#define FILE_MARKS "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define FILE_TYPES "isidiiiiis"
#define FILE_VALUES put->root, f->path, (int64_t)kind, f->digest, (int64_t)f->id.dev, \
	(int64_t)f->id.ino, (int64_t)(f->missing ? f->want_size : f->id.size), f->id.mtime_ns, \
	(int64_t)f->missing, media

/* A file belongs to many models, and is mostly put already.  Else it is mostly new, and
 * then a row needs half the time that one does which may stand for another. */
static enum tb_status
put_file(struct db *db, const struct db_put *put, const struct model_file *f, int64_t *id,
	 struct tb_err *err)
{
	enum tb_status status = db_file_known(db, f->path, &f->id, f->missing, id, err);
	enum db_file_kind kind = kind_shares_blobs(put->model->loc.kind) ? DB_FILE_BLOB
									 : DB_FILE_MODEL;
	const char *media = f->media_type ? f->media_type : "";

	if (status || *id)
		return status;
	if (f->is_manifest) {
		kind = DB_FILE_MANIFEST;
		media = "manifest";
	} else if (f->media != MEDIA_UNKNOWN) {
		media = media_name(f->media);
	}
	/* This model uses it, and mostly no other: then its owners are counted already. */
	status = db_exec(db, err, "INSERT OR IGNORE INTO files(owners, " FILE_COLUMNS " VALUES (1, "
			 FILE_MARKS, FILE_TYPES, FILE_VALUES);
	if (!status && sqlite3_changes(db->sql))
		*id = sqlite3_last_insert_rowid(db->sql);
	else if (!status)
		status = db_value(db, id, 0, err, "INSERT INTO files(" FILE_COLUMNS " VALUES (" FILE_MARKS
			" ON CONFLICT(path) DO UPDATE SET root = excluded.root, kind = excluded.kind,"
			" digest = coalesce(excluded.digest, digest), dev = excluded.dev,"
			" ino = excluded.ino, size = excluded.size, mtime_ns = excluded.mtime_ns,"
			" missing = excluded.missing, media = excluded.media RETURNING id",
			FILE_TYPES, FILE_VALUES);
	return status ? status : db_file_remember(db, f->path, &f->id, f->missing, *id, err);
}

/* The row keeps its id as long as the model keeps its path, so that a cursor in a
 * list stays where it is. */
static enum tb_status
put_row(struct db *db, const struct db_put *put, int64_t *id, struct tb_err *err)
{
	const struct model *m = put->model;
	int64_t missing = 0;

	for (size_t i = 0; i < m->nfiles; i++)
		missing += m->files[i].missing;
	return db_value(db, id, 0, err,
		"INSERT INTO models(root, path, kind, name, arch, scheme, params, bytes, tensors,"
		" files, missing, problems, mtime_ns, dir_ns, stamp)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE"
		" SET root = excluded.root, kind = excluded.kind, name = excluded.name,"
		" arch = excluded.arch, scheme = excluded.scheme, params = excluded.params,"
		" bytes = excluded.bytes, tensors = excluded.tensors, files = excluded.files,"
		" missing = excluded.missing, problems = excluded.problems,"
		" mtime_ns = excluded.mtime_ns, dir_ns = excluded.dir_ns, stamp = excluded.stamp"
		" RETURNING id",
		"isisssiiiiiiiii", put->root, m->loc.path, (int64_t)m->loc.kind, m->loc.name,
		m->arch ? m->arch : "", m->scheme, (int64_t)m->params, (int64_t)m->bytes,
		(int64_t)m->ntensors, (int64_t)m->nfiles, missing, (int64_t)m->nproblems,
		m->loc.mtime_ns, put->dir_ns, (int64_t)put->stamp);
}

/* ---- what is in it: five lists, see schema.sql ---- */

enum { NAMES, FORMS, PLACES, OFFSETS, FILES, LISTS };
#define LIST_MAX (1u << 29)	/* bytes; SQLite takes no more than 10^9 */

struct lists { struct tb_buf list[LISTS]; uint64_t last[LISTS]; };
#define BYTES(l, which) \
	((l).list[which].len ? (l).list[which].p : ""), (l).list[which].len

static void
append(struct lists *l, int which, uint64_t v)
{
	pack_put(&l->list[which], &l->last[which], v);
}

/* Names come from other threads' memory, one here and one there: they are asked for while
 * those before them are looked up. */
#define AHEAD 8

static enum tb_status
pack(struct db *db, const struct db_put *put, struct lists *l, struct tb_err *err)
{
	const struct model *m = put->model;
	enum tb_status status = TB_OK;
	int64_t id;

	for (size_t i = 0; i < m->nfiles && !status; i++) {
		status = put_file(db, put, &m->files[i], &id, err);
		append(l, FILES, (uint64_t)id);
	}
	for (size_t i = 0; i < m->ntensors && !status; i++) {
		const struct tensor *t = &m->tensors[i];

		if (i + AHEAD < m->ntensors)
			__builtin_prefetch(t[AHEAD].name);
		status = db_name_id(db, t->name, &id, err);
		append(l, NAMES, (uint64_t)id);
		if (!status)
			status = db_form_id(db, t, &id, err);
		append(l, FORMS, (uint64_t)id);
		append(l, PLACES, t->weight.file);
		append(l, OFFSETS, t->weight.off);
	}
	return status;
}

static enum tb_status
put_contents(struct db *db, const struct db_put *put, int64_t id, struct tb_err *err)
{
	struct lists l = { 0 };
	enum tb_status status;

	for (int i = 0; i < LISTS; i++)
		l.list[i] = TB_BUF(LIST_MAX);
	status = pack(db, put, &l, err);
	for (int i = 0; i < LISTS && !status; i++)
		status = tb_buf_status(&l.list[i], put->model->loc.name, err);
	if (!status)
		status = db_exec(db, err, "INSERT OR REPLACE INTO contents(model, names, forms, places,"
				 " offsets, files) VALUES (?, ?, ?, ?, ?, ?)", "ibbbbb", id,
				 BYTES(l, NAMES), BYTES(l, FORMS), BYTES(l, PLACES),
				 BYTES(l, OFFSETS), BYTES(l, FILES));
	for (int i = 0; i < LISTS; i++)
		tb_buf_free(&l.list[i]);
	return status;
}

enum tb_status
db_put_model(struct db *db, const struct db_put *put, struct tb_err *err)
{
	const struct model *m = put->model;
	int64_t id = 0;
	enum tb_status status = put_row(db, put, &id, err);

	if (!status)
		status = put_contents(db, put, id, err);
	if (!status)
		status = db_exec(db, err, "DELETE FROM problems WHERE model = ?", "i", id);
	for (size_t i = 0; !status && i < m->nproblems; i++)
		status = db_exec(db, err, "INSERT INTO problems VALUES (?, ?, ?)", "iis", id,
				 (int64_t)i, m->problems[i].message);
	return status;
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

/* ---- blobs/ ---- */

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
