/* connect.c - what every connection has. */
#include "config.h"

#include "db/dict.h"
#include "db/names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

#define WAIT_READ 1000		/* ms */
#define WAIT_WRITE 15000

/* The audits are "DIR/audits.db"; for an index of another name than index.db
 * "NAME.audits.db", so that two indexes in one folder do not share theirs. */
enum tb_status
db_new(struct db **out, const char *path, bool writer, struct tb_err *err)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	struct db *db = *out = tb_calloc(1, sizeof(*db));

	if (!db)
		return tb_nomem(err);
	db->writer = writer;
	db->path = tb_strdup(path);
	db->audits = strcmp(base, "index.db") ? tb_asprintf("%s.audits.db", path)
		: tb_asprintf("%.*saudits.db", (int)(base - path), path);
	return db_opened(out, db->path && db->audits ? TB_OK : tb_nomem(err));
}

enum tb_status
db_opened(struct db **db, enum tb_status status)
{
	if (status) {
		db_close(*db);
		*db = NULL;
	}
	return status;
}

void
db_disconnect(struct db *db)
{
	for (size_t i = 0; i < DB_CACHE; i++)
		sqlite3_finalize(db->cache[i].st);
	memset(db->cache, 0, sizeof(db->cache));
	db_names_forget(db);
	db_search_forget(db);
	db_look_forget(db);
	db_dict_forget(db);
	sqlite3_close(db->sql);
	db->sql = NULL;
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	db_disconnect(db);
	free(db->path);
	free(db->audits);
	free(db);
}

const char *
db_notice(const struct db *db)
{
	return db->notice;
}

enum tb_status
db_run_sql(struct db *db, const char *sql, struct tb_err *err)
{
	return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) ? db_sql_fail(db, err, "open")
							    : TB_OK;
}

/* Nobody asks SQLite how much memory it has, and counting it takes a lock each time. */
static void
count_nothing(void)
{
	(void)!sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

enum tb_status
db_connect(struct db *db, const char *uri, bool write, struct tb_err *err)
{
	int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
		    (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	enum tb_status status;

	pthread_once(&once, count_nothing);
	if (sqlite3_open_v2(uri, &db->sql, flags, NULL))
		return db->sql ? db_sql_fail(db, err, "open") : tb_nomem(err);
	sqlite3_busy_timeout(db->sql, write ? WAIT_WRITE : WAIT_READ);
	sqlite3_extended_result_codes(db->sql, 0);
	status = db_functions(db->sql, err);
	return status ? status : db_tables(db, err);
}

/* What the lists need to know about the last verify, in one place. A model is what
 * its last verify said only as long as its files are those of that time; and what the
 * scan has found wrong since is wrong, whatever was hashed. */
static const char views[] =
	"PRAGMA temp_store = memory;"
	"CREATE TEMP VIEW model_state AS SELECT m.*, r.path AS root_path,"
	"  coalesce(v.when_ns, 0) AS verified_ns, coalesce(v.errors, 0) AS bad,"
	"  v.stamp IS NOT NULL AND v.stamp <> m.stamp AS changed,"
	"  CASE WHEN v.stamp = m.stamp AND v.errors > 0 THEN v.state"
	"    WHEN m.missing > 0 OR m.problems > 0 THEN 5"
	"    WHEN v.stamp = m.stamp THEN v.state ELSE 0 END AS state"
	"  FROM main.models m JOIN main.roots r ON r.id = m.root"
	"  LEFT JOIN audit.verified v ON v.path = m.path;"
	"CREATE TEMP VIEW file_state AS SELECT f.*, r.path AS root_path,"
	"  coalesce(h.when_ns, 0) AS verified_ns,"
	"  CASE WHEN f.missing THEN 6 WHEN h.path IS NULL THEN 0"
	"    WHEN h.dev <> f.dev OR h.ino <> f.ino OR h.size <> f.size"
	"      OR h.mtime_ns <> f.mtime_ns THEN 3"
	"    WHEN NOT h.ok THEN 5 WHEN h.ok = 2 THEN 2 ELSE 1 END AS state"
	"  FROM main.files f JOIN main.roots r ON r.id = f.root"
	"  LEFT JOIN audit.hashes h ON h.path = f.path;";
_Static_assert(DB_NEVER == 0 && DB_HASHED == 1 && DB_STRUCTURE == 2 && DB_CHANGED == 3 &&
	       DB_INCOMPLETE == 4 && DB_DAMAGED == 5 && DB_MISSING == 6,
	       "the views and db/states.sql count on it");

enum tb_status
db_attach(struct db *db, const char *uri, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "ATTACH ? AS audit", "s", uri);

	return status ? status : db_run_sql(db, views, err);
}
