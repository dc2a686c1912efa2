/* reader.c - read-only connections, also to what is not there yet. */
#include "config.h"

#include "db/stmt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/mem.h"

enum tb_status
db_fill_empty(struct db *db, const struct db_schema *s, struct tb_err *err)
{
	struct db step = { .path = db->path };
	sqlite3_backup *copy;
	enum tb_status status;

	status = db_connect(&step, "file::memory:", true, err);
	if (!status)
		status = db_migrate(&step, s, err);
	if (!status) {
		copy = sqlite3_backup_init(db->sql, s->name, step.sql, "main");
		if (!copy || sqlite3_backup_step(copy, -1) != SQLITE_DONE)
			status = db_sql_fail(db, err, "memory");
		sqlite3_backup_finish(copy);
	}
	db_disconnect(&step);
	return status;
}

static enum tb_status
readable(struct db *db, int which, bool *yes, struct tb_err *err)
{
	const char *path = which ? db->audits : db->path;
	enum db_verdict v;
	enum tb_status status = db_examine(path, which ? &db_audit_schema : &db_index_schema, false,
					   &v, err);

	*yes = !status && v == DB_FILE_OURS;
	db->strange[which] = !status && !*yes && v != DB_FILE_ABSENT;
	if (db->strange[which])
		snprintf(db->notice, sizeof(db->notice), "%s %s", path, db_verdict_text(v));
	return status;
}

static void
reader_look(struct db *db)
{
	const char *const path[2] = { db->path, db->audits };
	static const char *const ask[2] = { "PRAGMA main.data_version",
					    "PRAGMA audit.data_version" };

	for (int i = 0; i < 2; i++) {
		struct stat st;
		struct tb_err err;

		db->seen[i] = (struct db_seen){ 0 };
		if (stat(path[i], &st) == 0) {
			db->seen[i].dev = st.st_dev;
			db->seen[i].ino = st.st_ino;
		}
		if (db_value(db, &db->seen[i].version, 0, &err, ask[i], ""))
			db->seen[i].version = -1;
	}
}

static enum tb_status
connect_reader(struct db *db, struct tb_err *err)
{
	bool index, audits;
	char *main_uri = NULL, *audit_uri = NULL;
	enum tb_status status;

	*db->notice = 0;
	db->corrupt = false;
	status = readable(db, 0, &index, err);
	if (!status)
		status = readable(db, 1, &audits, err);
	if (status)
		return status;
	main_uri = index ? db_read_uri(db->path) : tb_strdup("file:?mode=memory");
	audit_uri = audits ? db_read_uri(db->audits) : tb_strdup("file:?mode=memory");
	status = main_uri && audit_uri ? db_connect(db, main_uri, !index, err) : tb_nomem(err);
	if (!status)
		status = db_attach(db, audit_uri, err);
	if (!status && !index)
		status = db_fill_empty(db, &db_index_schema, err);
	if (!status && !audits)
		status = db_fill_empty(db, &db_audit_schema, err);
	if (!status)
		status = db_run_sql(db, "PRAGMA query_only = on", err);
	free(main_uri);
	free(audit_uri);
	reader_look(db);
	return status;
}

enum tb_status
db_open_read(struct db **out, const char *path, struct tb_err *err)
{
	enum tb_status status = db_new(out, path, false, err);

	return status ? status : db_opened(out, connect_reader(*out, err));
}

/* Has a writer renewed in its place what an older version had made? */
static bool
renewed(struct db *db)
{
	bool ours = false;

	for (int i = 0; i < 2 && !ours; i++)
		if (db->strange[i] && readable(db, i, &ours, NULL))
			ours = false;
	return ours;
}

bool
db_changed(struct db *db)
{
	struct db_seen was[2];
	struct tb_err err;
	bool replaced = false;

	memcpy(was, db->seen, sizeof(was));
	reader_look(db);
	for (int i = 0; i < 2; i++)
		replaced |= was[i].dev != db->seen[i].dev || was[i].ino != db->seen[i].ino;
	if (replaced || renewed(db)) {
		db_disconnect(db);
		if (connect_reader(db, &err))
			snprintf(db->notice, sizeof(db->notice), "%s", err.msg);
		return true;
	}
	return memcmp(was, db->seen, sizeof(was)) != 0;
}
