/* private.h - inside db/: the connection, statements, and reading rows. */
#ifndef TBTUI_DB_PRIVATE_H
#define TBTUI_DB_PRIVATE_H

#include <sqlite3.h>

#include "db/db.h"

#define DB_CACHE 48		/* statements kept; more than there are fixed ones */

struct db_schema;

struct db {
	sqlite3 *sql;
	char *path, *audits;	/* owned */
	bool writer;
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
extern const struct db_schema db_index_schema, db_audit_schema;
/* These two work on the main file of a connection. */
enum tb_status db_migrate(struct db *db, const struct db_schema *s, struct tb_err *err) TB_MUST_USE;
/* Are the tables those of that version of the schema, and whole?  Sets db->corrupt if not. */
enum tb_status db_schema_check(struct db *db, const struct db_schema *s, int version,
			       struct tb_err *err) TB_MUST_USE;

/* seal.c: has anybody but a scan changed the index? */
enum tb_status db_seal_check(struct db *db, bool *broken, struct tb_err *err) TB_MUST_USE;
void db_seal(struct db *db);		/* also puts all into the file; without one on failure */

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

/* stmt.c.  Arguments follow `types`, one letter each: s const char * (NULL: null),
 * i int64_t (cast!), f double, d digest text -> 32 bytes ("" or NULL: null), b two:
 * const void * (NULL: null) and size_t. */
enum tb_status db_sql_fail(struct db *db, struct tb_err *err, const char *what);
enum tb_status db_exec(struct db *db, struct tb_err *err, const char *sql, const char *types, ...)
	TB_MUST_USE;
/* The first column of the first row, or `none` without a row. */
enum tb_status db_value(struct db *db, int64_t *out, int64_t none, struct tb_err *err,
			const char *sql, const char *types, ...) TB_MUST_USE;

struct db_rows {
	struct db *db;
	sqlite3_stmt *st;	/* NULL: could not be prepared */
	struct tb_arena *mem;	/* where texts go; borrowed */
	bool failed;		/* out of memory on the way */
	struct tb_err *err;
	enum tb_status status;
};
/* Then: while (rows_next(&r)) { … } return rows_end(&r); sql must be a literal when
 * `keep`: the statement is cached under its address. */
void rows_open(struct db_rows *r, struct db *db, struct tb_arena *mem, bool keep,
	       struct tb_err *err, const char *sql, const char *types, ...);
bool rows_next(struct db_rows *r);
enum tb_status rows_end(struct db_rows *r) TB_MUST_USE;
const char *rows_text(struct db_rows *r, int col);	/* in r->mem; "" for null */
const char *rows_digest(struct db_rows *r, int col);	/* "sha256:…", "" for null */
int64_t rows_i64(struct db_rows *r, int col);
/* Room for one more row of `size` bytes; NULL when out of memory (noted in r). */
void *rows_push(struct db_rows *r, void *rows, size_t *n, size_t *cap, size_t size);

/* What a connection remembers is forgotten with it: tensors.c, search.c */
void db_look_forget(struct db *db);
void db_search_forget(struct db *db);

/* vtab.c: the tables "tensors" and "model_files". */
enum tb_status db_tables(struct db *db, struct tb_err *err) TB_MUST_USE;

/* blobs.c: fills owners, young and unclear from the column "owners". */
struct db_blob;
void db_blob_fate(struct db_blob *b, int64_t owners);
/* The first and the last digest that start with `hex`. */
void db_digest_bounds(const char *hex, char low[TB_DIGEST_MAX], char high[TB_DIGEST_MAX]);

/* query.c: WHERE, ORDER BY and LIMIT of a window. After a failure r is closed. */
struct db_sort { const char *key, *order; bool down; };	/* ended by key NULL */
struct db_list {
	const char *columns, *from;	/* SELECT columns FROM from */
	const char *where;		/* "1" if none */
	const char *filter;		/* the expression that q->filter is matched with */
	const char *root;		/* the expression of the root's path; NULL: not by root */
	const char *path;		/* that of the row's own: roots may lie in one another */
	const char *tie;		/* last in ORDER BY, so that windows fit together */
	const struct db_sort *sort;
	bool has_arg;			/* `where` has one ?, and it is this: */
	int64_t arg;
};
enum tb_status db_list_open(struct db_rows *r, struct db *db, const struct db_list *l,
			    const struct db_query *q, struct tb_arena *mem, uint64_t *total,
			    struct tb_err *err) TB_MUST_USE;
#endif
