/* writer.c - connections for writing: the files are made, renewed or set aside first. */
#include "config.h"

#include "db/facts.h"
#include "db/stmt.h"
#include "db/write.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"

/* On a connection of its own, since steps speak of the main database only. */
static enum tb_status
make_file(const char *path, const struct db_schema *s, struct tb_err *err)
{
	struct db db = { .path = (char *)path };
	char *uri = db_uri(path, "mode=rwc");
	enum tb_status status = uri ? db_connect(&db, uri, true, err) : tb_nomem(err);

	if (!status)
		status = db_migrate(&db, s, err);
	if (!status)
		status = db_run_sql(&db, "PRAGMA journal_mode = wal", err);
	db_disconnect(&db);
	free(uri);
	return status;
}

static enum tb_status
prepare_file(struct db *db, const char *path, const struct db_schema *s, bool thorough,
	     bool *made, struct tb_err *err)
{
	enum db_verdict v;
	enum tb_status status = db_examine(path, s, thorough, &v, err);

	if (!status && (v == DB_FILE_OTHER || v == DB_FILE_BROKEN || v == DB_FILE_NEWER ||
			v == DB_FILE_OLDEST))
		status = db_set_aside(path, v, db->notice, sizeof(db->notice), err);
	if (!status && v != DB_FILE_OURS)
		status = make_file(path, s, err);
	*made = v != DB_FILE_OURS;
	return status;
}

static enum tb_status
connect_writer(struct db *db, struct tb_err *err)
{
	char *main_uri = db_uri(db->path, "mode=rw"), *audit_uri = db_uri(db->audits, "mode=rw");
	enum tb_status status = main_uri && audit_uri ? db_connect(db, main_uri, true, err)
						      : tb_nomem(err);

	if (!status)
		status = db_attach(db, audit_uri, err);
	/* The index does not wait for the disk: if the power fails it may be damaged, which is
	 * found out when it is next opened, and a scan makes it again. */
	if (!status)
		status = db_run_sql(db, "PRAGMA foreign_keys = on; PRAGMA main.synchronous = off;"
			     "PRAGMA audit.synchronous = full; PRAGMA main.cache_size = -16000;"
			     "PRAGMA wal_autocheckpoint = 16384;"
			     "PRAGMA main.journal_size_limit = 16777216", err);
	free(main_uri);
	free(audit_uri);
	return status;
}

/* The seal is that of another file, or it is broken: then this one is made again. */
static enum tb_status
trust_index(struct db *db, bool made, struct tb_err *err)
{
	bool broken = false;
	enum tb_status status = made ? db_unseal(db, err) : db_seal_check(db, &broken, err);

	if (status || !broken)
		return status;
	status = db_unseal(db, err);
	db_disconnect(db);
	if (!status)
		status = db_set_aside(db->path, DB_FILE_CHANGED, db->notice, sizeof(db->notice), err);
	if (!status)
		status = make_file(db->path, &db_index_schema, err);
	return status ? status : connect_writer(db, err);
}

/* The folder that it is in is made, too. */
static enum tb_status
writer_new(struct db **out, const char *path, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	enum tb_status status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);

	free(dir);
	*out = NULL;
	return status ? status : db_new(out, path, true, err);
}

enum tb_status
db_open_write(struct db **out, const char *path, struct tb_err *err)
{
	enum tb_status status = writer_new(out, path, err);
	struct db *db = *out;
	bool made, audits;

	if (!status)
		status = prepare_file(db, db->path, &db_index_schema, true, &made, err);
	if (!status)
		status = prepare_file(db, db->audits, &db_audit_schema, true, &audits, err);
	if (!status)
		status = connect_writer(db, err);
	/* A file that may not be written is opened for reading only, and nobody says so. */
	if (!status && sqlite3_db_readonly(db->sql, "main") == 1)
		status = tb_fail(err, TB_EIO, "%s: may not be written", db->path);
	if (!status && sqlite3_db_readonly(db->sql, "audit") == 1)
		status = tb_fail(err, TB_EIO, "%s: may not be written", db->audits);
	if (!status)
		status = trust_index(db, made, err);
	return db_opened(out, status);
}

/* In the place of the index nothing, in memory: whoever puts facts waits neither for a
 * scan nor for the check of a large index. */
static enum tb_status
connect_audits(struct db *db, struct tb_err *err)
{
	char *uri = db_uri(db->audits, "mode=rw");
	enum tb_status status = uri ? db_connect(db, "file:?mode=memory", true, err)
				    : tb_nomem(err);

	if (!status)
		status = db_fill_empty(db, &db_index_schema, err);
	if (!status)
		status = db_attach(db, uri, err);
	/* the last facts may be lost with the power: they can be computed again */
	if (!status)
		status = db_run_sql(db, "PRAGMA foreign_keys = on; "
				    "PRAGMA audit.synchronous = normal", err);
	free(uri);
	return status;
}

enum tb_status
db_facts_open(struct db **out, const char *path, struct tb_err *err)
{
	enum tb_status status = writer_new(out, path, err);
	bool made;

	if (!status)
		status = prepare_file(*out, (*out)->audits, &db_audit_schema, false, &made, err);
	if (!status)
		status = connect_audits(*out, err);
	return db_opened(out, status);
}

enum tb_status
db_open_scratch(struct db **out, const char *path, struct tb_err *err)
{
	enum tb_status status = db_new(out, path, true, err);

	if (!status)
		status = db_connect(*out, "file:?mode=memory", true, err);
	if (!status)
		status = db_attach(*out, "file:?mode=memory", err);
	if (!status)
		status = db_fill_empty(*out, &db_index_schema, err);
	if (!status)
		status = db_fill_empty(*out, &db_audit_schema, err);
	return db_opened(out, status);
}

bool
db_damaged(const struct db *db)
{
	return db->corrupt;
}

enum tb_status
db_condemn(const char *path, char *notice, size_t len, struct tb_err *err)
{
	return db_set_aside(path, DB_FILE_BROKEN, notice, len, err);
}
