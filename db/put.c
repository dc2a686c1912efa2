/* put.c - a model as rows: itself, its files, tensors and problems. */
#include "config.h"

#include "db/private.h"
#include "db/write.h"

#include <stdio.h>
#include <string.h>

/* At once for writing: a transaction that starts by reading could not wait for another
 * writer any more, it would have to fail. */
enum tb_status
db_begin(struct db *db, struct tb_err *err)
{
	return db_run_sql(db, "BEGIN IMMEDIATE", err);
}

enum tb_status
db_commit(struct db *db, struct tb_err *err)
{
	enum tb_status status = db_run_sql(db, "COMMIT", err);

	if (status)
		db_rollback(db);
	return status;
}

void
db_rollback(struct db *db)
{
	if (!sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	db_names_forget(db);	/* some of the ids may have gone with it */
	db->scheme_id = 0;
}

static enum db_file_kind
kind_of(const struct model *m, const struct model_file *f)
{
	if (f->is_manifest)
		return DB_FILE_MANIFEST;
	if (m->loc.kind == MODEL_OLLAMA_TENSORS || m->loc.kind == MODEL_OLLAMA_GGUF)
		return DB_FILE_BLOB;
	return DB_FILE_MODEL;
}

static enum tb_status
put_file(struct db *db, const struct db_put *put, int64_t model, size_t i, struct tb_err *err)
{
	const struct model_file *f = &put->model->files[i];
	const char *media = f->is_manifest ? "manifest"
			  : f->media == MEDIA_UNKNOWN && f->media_type ? f->media_type
			  : f->media == MEDIA_UNKNOWN ? "" : media_name(f->media);
	int64_t file = 0;
	enum tb_status status = db_exec(db, err,
		"INSERT INTO files(root, path, kind, digest, dev, ino, size, mtime_ns, missing)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE SET"
		" root = excluded.root, kind = excluded.kind,"
		" digest = coalesce(excluded.digest, digest), dev = excluded.dev,"
		" ino = excluded.ino, size = excluded.size, mtime_ns = excluded.mtime_ns,"
		" missing = excluded.missing", "isidiiiii",
		put->root, f->path, (int64_t)kind_of(put->model, f), f->digest,
		(int64_t)f->id.dev, (int64_t)f->id.ino,
		(int64_t)(f->missing ? f->want_size : f->id.size), f->id.mtime_ns,
		(int64_t)f->missing);

	if (!status)
		status = db_value(db, &file, 0, err, "SELECT id FROM files WHERE path = ?", "s",
				  f->path);
	if (!status)
		status = db_exec(db, err, "INSERT INTO model_files VALUES (?, ?, ?, ?, ?)", "iiiss",
				 model, (int64_t)i, file, media, f->name ? f->name : "");
	return status;
}

static void
shape_text(const struct tensor *t, char out[TB_MAX_DIMS * 21])
{
	size_t n = 0;

	*out = 0;
	for (unsigned i = 0; i < t->ndim; i++)
		n += (size_t)snprintf(out + n, TB_MAX_DIMS * 21 - n, "%s%ju", i ? "," : "",
				      (uintmax_t)t->dim[i]);
}

static enum tb_status
put_tensor(struct db *db, int64_t model, size_t ord, const struct tensor *t, struct tb_err *err)
{
	char shape[TB_MAX_DIMS * 21];
	int64_t name = 0, scheme = 0;
	enum tb_status status = db_name_id(db, t->name, &name, err);

	if (!status)
		status = db_scheme_id(db, &t->scheme, &scheme, err);
	shape_text(t, shape);
	if (!status)
		status = db_exec(db, err, "INSERT INTO tensors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				 "iiiiisiiii", model, (int64_t)ord, name, scheme,
				 (int64_t)t->weight.dtype, shape, (int64_t)t->elems,
				 (int64_t)t->bytes, (int64_t)t->weight.file,
				 (int64_t)t->weight.off);
	return status;
}

/* The row keeps its id as long as the model keeps its path, so that a cursor in a
 * list stays where it is. */
static enum tb_status
put_row(struct db *db, const struct db_put *put, int64_t *id, struct tb_err *err)
{
	const struct model *m = put->model;
	int64_t missing = 0;
	enum tb_status status;

	for (size_t i = 0; i < m->nfiles; i++)
		missing += m->files[i].missing;
	status = db_exec(db, err,
		"INSERT INTO models(root, path, kind, name, arch, scheme, params, bytes, tensors,"
		" files, missing, problems, mtime_ns, dir_ns, stamp)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE"
		" SET root = excluded.root, kind = excluded.kind, name = excluded.name,"
		" arch = excluded.arch, scheme = excluded.scheme, params = excluded.params,"
		" bytes = excluded.bytes, tensors = excluded.tensors, files = excluded.files,"
		" missing = excluded.missing, problems = excluded.problems,"
		" mtime_ns = excluded.mtime_ns, dir_ns = excluded.dir_ns, stamp = excluded.stamp",
		"isisssiiiiiiiii", put->root, m->loc.path, (int64_t)m->loc.kind, m->loc.name,
		m->arch ? m->arch : "", m->scheme, (int64_t)m->params, (int64_t)m->bytes,
		(int64_t)m->ntensors, (int64_t)m->nfiles, missing, (int64_t)m->nproblems,
		m->loc.mtime_ns, put->dir_ns, (int64_t)put->stamp);
	if (!status)
		status = db_value(db, id, 0, err, "SELECT id FROM models WHERE path = ?", "s",
				  m->loc.path);
	return status;
}

static enum tb_status
clear(struct db *db, int64_t id, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "DELETE FROM tensors WHERE model = ?", "i", id);

	if (!status)
		status = db_exec(db, err, "DELETE FROM model_files WHERE model = ?", "i", id);
	if (!status)
		status = db_exec(db, err, "DELETE FROM problems WHERE model = ?", "i", id);
	return status;
}

enum tb_status
db_put_model(struct db *db, const struct db_put *put, struct tb_err *err)
{
	const struct model *m = put->model;
	int64_t id = 0;
	enum tb_status status = put_row(db, put, &id, err);

	if (!status)
		status = clear(db, id, err);
	for (size_t i = 0; !status && i < m->nfiles; i++)
		status = put_file(db, put, id, i, err);
	for (size_t i = 0; !status && i < m->ntensors; i++)
		status = put_tensor(db, id, i, &m->tensors[i], err);
	for (size_t i = 0; !status && i < m->nproblems; i++)
		status = db_exec(db, err, "INSERT INTO problems VALUES (?, ?, ?)", "iis", id,
				 (int64_t)i, m->problems[i].message);
	return status;
}
