/* private.h - inside db/: the connection, and the two files. */
#ifndef TBTUI_DB_PRIVATE_H
#define TBTUI_DB_PRIVATE_H

#include <sqlite3.h>

#include "db/db.h"

#define DB_CACHE 64		/* statements kept; others are prepared each time */

struct db_schema;

struct db {
	sqlite3 *sql;
	char *path, *audits;	/* owned */
	bool writer;
	bool chats;		/* its file is that of kept chats, and no index */
	bool corrupt;		/* SQLite found damage */
	char notice[512];
	struct { const char *text; sqlite3_stmt *st; } cache[DB_CACHE];
	struct db_names *names;		/* what a writer need not ask for again */
	struct dict *dict;		/* names and forms as a reader has them */
	struct db_look *look;		/* the model that was read last */
	struct db_search *search;	/* and what was searched for */
	/* what a reader saw last: of the index, then of the audits */
	struct db_seen { uint64_t dev, ino; int64_t version; } seen[2];
	/* A reader: that file is there, but of another version or somebody else's, and
	 * something empty stands for it. */
	bool strange[2];
};

/* connect.c */
enum tb_status db_new(struct db **out, const char *path, bool writer, struct tb_err *err)
	TB_MUST_USE;
/* The end of whatever opens one: after a failure there is none. */
enum tb_status db_opened(struct db **db, enum tb_status status) TB_MUST_USE;
enum tb_status db_connect(struct db *db, const char *uri, bool write, struct tb_err *err)
	TB_MUST_USE;
void db_disconnect(struct db *db);	/* keeps *db */
/* The tables of a schema, empty, in the place of a file that is not there. */
enum tb_status db_fill_empty(struct db *db, const struct db_schema *s, struct tb_err *err)
	TB_MUST_USE;
enum tb_status db_attach(struct db *db, const char *uri, struct tb_err *err) TB_MUST_USE;
enum tb_status db_run_sql(struct db *db, const char *sql, struct tb_err *err) TB_MUST_USE;

/* schema.c: the two files, and how they come about. */
struct db_schema {
	const char *name;		/* "main", "audit" */
	uint32_t application;
	const char *const *steps;	/* the first makes version `oldest`, each other the next */
	int oldest, version;
};
extern const struct db_schema db_index_schema, db_audit_schema, db_chats_schema;
/* These two work on the main file of a connection. */
enum tb_status db_migrate(struct db *db, const struct db_schema *s, struct tb_err *err) TB_MUST_USE;
/* Are the tables those of that version of the schema, and whole?  Sets db->corrupt if not. */
enum tb_status db_schema_check(struct db *db, const struct db_schema *s, int version,
			       struct tb_err *err) TB_MUST_USE;

/* seal.c: has anybody but a scan changed the index? */
enum tb_status db_seal_check(struct db *db, bool *broken, struct tb_err *err) TB_MUST_USE;

/* aside.c: what a file is, before it is trusted, and moving it away. */
enum db_verdict { DB_FILE_ABSENT, DB_FILE_OURS, DB_FILE_OLD, DB_FILE_OLDEST, DB_FILE_NEWER,
	DB_FILE_OTHER, DB_FILE_BROKEN, DB_FILE_CHANGED, DB_FILE_UNFINISHED };
enum tb_status db_examine(const char *path, const struct db_schema *s, bool thorough,
			  enum db_verdict *out, struct tb_err *err) TB_MUST_USE;
const char *db_verdict_text(enum db_verdict v);		/* "is damaged" */
enum tb_status db_set_aside(const char *path, enum db_verdict why, char *notice, size_t len,
			    struct tb_err *err) TB_MUST_USE;
char *db_uri(const char *path, const char *query);	/* "file:…?query"; caller frees */
char *db_read_uri(const char *path);

/* funcs.c: tb_match(filter, text), collation "tb_natural". */
enum tb_status db_functions(sqlite3 *sql, struct tb_err *err) TB_MUST_USE;

/* stmt.c: what SQLite says about the last call, as an error; and that something is not
 * what was written. */
enum tb_status db_sql_fail(struct db *db, struct tb_err *err, const char *what);
enum tb_status db_found_damage(struct db *db, struct tb_err *err);

/* What a connection remembers is forgotten with it: tensors.c, search.c */
void db_look_forget(struct db *db);
void db_search_forget(struct db *db);

/* vtab.c: the tables "tensors" and "model_files". */
enum tb_status db_tables(struct db *db, struct tb_err *err) TB_MUST_USE;
#endif
