/* stmt.h - inside db/: statements, and what they give as lists. */
#ifndef TBTUI_DB_STMT_H
#define TBTUI_DB_STMT_H

#include "db/private.h"

/* Arguments follow `types`, one letter each: s const char * (NULL: null), i int64_t (cast!),
 * f double, d digest text -> 32 bytes ("" or NULL: null), b two: const void * (NULL: null)
 * and size_t.  sql must be a literal where nothing else is said: the statement is cached
 * under its address. */
enum tb_status db_exec(struct db *db, struct tb_err *err, const char *sql, const char *types, ...)
	TB_MUST_USE;
/* The first column of the first row, or `none` without a row. */
enum tb_status db_value(struct db *db, int64_t *out, int64_t none, struct tb_err *err,
			const char *sql, const char *types, ...) TB_MUST_USE;
/* Changes when another connection has written to the index. */
enum tb_status db_version(struct db *db, int64_t *out, struct tb_err *err) TB_MUST_USE;

struct db_rows {
	struct db *db;
	sqlite3_stmt *st;	/* NULL: could not be prepared */
	struct tb_arena *mem;	/* where texts go; borrowed */
	bool failed;		/* out of memory on the way */
	struct tb_err *err;
	enum tb_status status;
};
/* Then: while (rows_next(&r)) { … } return rows_end(&r); any sql when not `keep`. */
void rows_open(struct db_rows *r, struct db *db, struct tb_arena *mem, bool keep,
	       struct tb_err *err, const char *sql, const char *types, ...);
bool rows_next(struct db_rows *r);
enum tb_status rows_end(struct db_rows *r) TB_MUST_USE;
const char *rows_text(struct db_rows *r, int col);	/* in r->mem; "" for null */
const char *rows_digest(struct db_rows *r, int col);	/* "sha256:…", "" for null */
int64_t rows_i64(struct db_rows *r, int col);
uint64_t rows_u64(struct db_rows *r, int col);
struct tb_ident rows_ident(struct db_rows *r, int col);	/* dev, ino, size, mtime_ns */
/* Room for one more row of `size` bytes, zeroed; NULL: no memory. */
void *rows_push(struct tb_arena *mem, void *rows, size_t *n, size_t *cap, size_t size);

/* Lists differ in what their rows are, and are alike otherwise. */
struct any_list DB_LIST(void);
/* Reads what r is at into a zeroed row. */
typedef void rows_fn(struct db_rows *r, void *row);
/* A DB_LIST() and how its rows are read, as the arguments below. */
#define ROWS(list, read) (list), sizeof(*(list)->rows), (read)
/* Ends r: the list of what is left of it, which stands for `total` rows (0: that is all).
 * Empty after a failure. */
enum tb_status rows_all(struct db_rows *r, uint64_t total, void *list, size_t size,
			rows_fn *read) TB_MUST_USE;
enum tb_status rows_select(struct db *db, void *list, size_t size, rows_fn *read,
			   struct tb_err *err, const char *sql, const char *types, ...) TB_MUST_USE;

/* query.c: a window of a list, chosen and ordered by SQL. */
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
enum tb_status query_window(struct db *db, const struct db_list *l, const struct db_query *q,
			   void *list, size_t size, rows_fn *read, struct tb_err *err) TB_MUST_USE;
/* The row that has the id, which is the first column. */
enum tb_status query_find(struct db *db, const struct db_list *l, const struct db_query *q,
			  int64_t id, uint64_t *row, bool *found, struct tb_err *err) TB_MUST_USE;
/* The key that is asked for, NULL and "" being the first; TB_EUSAGE: there is none of it. */
enum tb_status db_sort_find(const struct db_sort *sorts, const char *key,
			    const struct db_sort **out, struct tb_err *err) TB_MUST_USE;

/* blobs.c: a blob is read from these columns of file_state f. */
#define DB_BLOB_COLUMNS "f.id, f.path, f.root_path, f.digest, f.kind, f.size, f.owners, " \
	"f.missing, f.state, f.mtime_ns, f.verified_ns, f.media"
rows_fn db_blob_read;
/* Fills owners, young and unclear from the column "owners". */
struct db_blob;
void db_blob_fate(struct db_blob *b, int64_t owners);
/* The first and the last digest that start with `hex`. */
void db_digest_bounds(const char *hex, char low[TB_DIGEST_MAX], char high[TB_DIGEST_MAX]);
/* models.c: is a root with that path one of them, or are all meant (NULL)? */
bool db_among(const struct store_roots *roots, const char *path);
#endif
