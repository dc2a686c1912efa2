/* schema.c - the two schemas, step by step, and whether a file has them. */
#include "config.h"

#include "db/stmt.h"

#include <stdio.h>
#include <string.h>

#include "db/sql_strings.h"
#include "src/base/hash.h"

/* A new version is a new step at the end, never a change of an old one.  An index can be
 * made again: when its steps are many they become one, and what is older is set aside. */
static const char *const index_steps[] = { schema_sql };
static const char *const audit_steps[] = { audits_sql, facts_sql, states_sql, seal_sql,
	kept_sql, sums_sql, resume_sql, moved_sql };
static const char *const chats_steps[] = { chats_sql };

const struct db_schema db_index_schema = {
	"main", 0x74627478, index_steps, .oldest = 7, .version = 7,
};
const struct db_schema db_audit_schema = {
	"audit", 0x74627461, audit_steps, .oldest = 1, .version = 8,
};

const struct db_schema db_chats_schema = {
	"main", 0x74627463, chats_steps, .oldest = 1, .version = 1,
};

/* The steps know no schema name: they run on a connection of their own whose only
 * file this is ("main"). */
enum tb_status
db_migrate(struct db *db, const struct db_schema *s, struct tb_err *err)
{
	char sql[96];
	int64_t version = 0;
	enum tb_status status = db_run_sql(db, "BEGIN IMMEDIATE", err);

	if (!status)
		status = db_value(db, &version, 0, err, "PRAGMA user_version", "");
	if (!status && version && (version < s->oldest || version > s->version))
		status = tb_fail(err, TB_EDB, "%s: has no version that can be renewed", db->path);
	for (int64_t v = version ? version + 1 : s->oldest; !status && v <= s->version; v++)
		status = db_run_sql(db, s->steps[v - s->oldest], err);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %u; PRAGMA user_version = %d; COMMIT",
		 s->application, s->version);
	if (!status)
		status = db_run_sql(db, sql, err);
	if (status && !sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

/* Everything that makes up the tables, as one number. */
static enum tb_status
fingerprint(struct db *db, uint64_t *out, struct tb_err *err)
{
	struct tb_arena mem = { 0 };
	struct db_rows r;
	uint64_t h = TB_FNV;

	rows_open(&r, db, &mem, false, err, "SELECT name, coalesce(sql, '') FROM sqlite_schema "
		  "WHERE name NOT LIKE 'sqlite_%' ORDER BY name", "");
	while (rows_next(&r))
		for (int col = 0; col < 2; col++)
			h = tb_fnv(h, rows_text(&r, col), strlen(rows_text(&r, col)));
	*out = h;
	if (rows_end(&r))
		return r.status;
	tb_arena_free(&mem);
	return TB_OK;
}

enum tb_status
db_schema_check(struct db *db, const struct db_schema *s, int version, struct tb_err *err)
{
	struct db model = { .path = db->path };
	uint64_t want = 0, have = 0;
	int64_t wrong = 0;
	enum tb_status status = db_connect(&model, "file::memory:", true, err);

	for (int v = s->oldest; !status && v <= version; v++)
		status = db_run_sql(&model, s->steps[v - s->oldest], err);
	if (!status)
		status = fingerprint(&model, &want, err);
	if (!status)
		status = fingerprint(db, &have, err);
	db_disconnect(&model);
	if (!status && want != have) {
		db->corrupt = true;
		status = tb_fail(err, TB_EDB, "%s: its tables are not those of an index",
				 db->path);
	}
	if (!status)
		status = db_value(db, &wrong, 0, err, "SELECT count(*) FROM pragma_quick_check(1)"
				  " WHERE quick_check <> 'ok'", "");
	if (!status && wrong) {
		db->corrupt = true;
		status = tb_fail(err, TB_EDB, "%s: the index is damaged", db->path);
	}
	return status;
}
