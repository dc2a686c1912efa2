/* writer.c - connections for writing: the files are made, renewed or set aside first. */
#include "config.h"

#include "db/facts.h"
#include "db/private.h"
#include "db/write.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"

/* On a connection of its own, since steps speak of the main database only. */
static enum tb_status
make(const char *path, const struct db_schema *s, struct tb_err *err)
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
	     struct tb_err *err)
{
	enum db_verdict v;
	enum tb_status status = db_examine(path, s, thorough, &v, err);

	if (!status && v == DB_FILE_NEWER)
		return tb_fail(err, TB_EUNSUP, "%s was made by a newer version of this program",
			       path);
	if (!status && (v == DB_FILE_OTHER || v == DB_FILE_BROKEN))
		status = db_set_aside(path, db_verdict_text(v), db->notice, sizeof(db->notice), err);
	if (!status && v != DB_FILE_OURS)
		status = make(path, s, err);
	return status;
}

static enum tb_status
make_folder(const char *path, struct tb_err *err)
{
	char *dir = tb_strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;
	enum tb_status status = dir ? TB_OK : tb_nomem(err);

	if (slash && slash > dir) {
		*slash = 0;
		status = tb_mkdirs(dir, err);
	}
	free(dir);
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

enum tb_status
db_open_write(struct db **out, const char *path, struct tb_err *err)
{
	enum tb_status status = make_folder(path, err);
	struct db *db = NULL;

	*out = NULL;
	if (!status)
		status = db_new(&db, path, true, err);
	if (!status)
		status = prepare_file(db, db->path, &db_index_schema, true, err);
	if (!status)
		status = prepare_file(db, db->audits, &db_audit_schema, true, err);
	if (!status)
		status = connect_writer(db, err);
	if (status) {
		db_close(db);
		return status;
	}
	*out = db;
	return TB_OK;
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
	enum tb_status status = make_folder(path, err);
	struct db *db = NULL;

	*out = NULL;
	if (!status)
		status = db_new(&db, path, true, err);
	if (!status)
		status = prepare_file(db, db->audits, &db_audit_schema, false, err);
	if (!status)
		status = connect_audits(db, err);
	if (status) {
		db_close(db);
		return status;
	}
	*out = db;
	return TB_OK;
}

bool
db_damaged(const struct db *db)
{
	return db->corrupt;
}

enum tb_status
db_condemn(const char *path, char *notice, size_t len, struct tb_err *err)
{
	return db_set_aside(path, db_verdict_text(DB_FILE_BROKEN), notice, len, err);
}
