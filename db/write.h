/* write.h - what the scan writes.  Only on connections from db_open_write(); one
 * thread at a time.  Functions that change more than one row want to run between
 * db_begin() and db_end(). */
#ifndef TBTUI_DB_WRITE_H
#define TBTUI_DB_WRITE_H

#include "db/blob.h"
#include "src/store/unread.h"

enum tb_status db_begin(struct db *db, struct tb_err *err) TB_MUST_USE;
/* Commits what went well so far (status), or takes all of it back. */
enum tb_status db_end(struct db *db, enum tb_status status, struct tb_err *err) TB_MUST_USE;
/* Did SQLite find damage while reading?  Then close, db_condemn(), open again. */
bool db_damaged(const struct db *db);
enum tb_status db_condemn(const char *path, char *notice, size_t len, struct tb_err *err)
	TB_MUST_USE;

/* The root's id, made when it is new. */
enum tb_status db_root(struct db *db, const char *path, int64_t *id, struct tb_err *err)
	TB_MUST_USE;
/* Forgets a root with all that is below it. */
enum tb_status db_drop_root(struct db *db, int64_t root, struct tb_err *err) TB_MUST_USE;
/* All roots in the index; also on a connection for reading. */
struct db_lines DB_LIST(const char *);
enum tb_status db_roots(struct db *db, struct db_lines *out, struct tb_err *err) TB_MUST_USE;

/* What is known of a model; model == 0: nothing. */
struct db_known {
	int64_t model, mtime_ns, dir_ns;
	enum model_kind kind;
	uint64_t *files;		/* ids of its files */
	size_t n;
	struct tb_arena mem;
};
enum tb_status db_known(struct db *db, const char *path, struct db_known *out,
			struct tb_err *err) TB_MUST_USE;
/* The identities that all files had. */
struct db_known_file {
	uint64_t id;
	const char *path;
	struct tb_ident ident;
	bool missing;
	enum { FILE_UNSEEN, FILE_SAME, FILE_DIFFERS } now;	/* whoever looks notes it here */
};
struct db_known_files DB_LIST(struct db_known_file);
enum tb_status db_known_files(struct db *db, struct db_known_files *out, struct tb_err *err)
	TB_MUST_USE;
struct db_known_file *db_known_file(const struct db_known_files *f, uint64_t id);	/* or NULL */

/* What the file was when a model with it was put over this connection; false: none was, or
 * it was not there. */
bool db_file_seen(struct db *db, const char *path, struct tb_ident *ident);

struct db_put {
	int64_t root;
	const struct model *model;	/* tensors in natural order; problems as found */
	int64_t dir_ns;
	uint64_t stamp;
};
/* Puts the model in the place of what was known of that path. */
enum tb_status db_put_model(struct db *db, const struct db_put *put, struct tb_err *err)
	TB_MUST_USE;
enum tb_status db_drop_model(struct db *db, int64_t id, struct tb_err *err) TB_MUST_USE;
/* The place of the model could not be read: it stays as it was, with that as its problem,
 * and looks changed to the next scan. */
enum tb_status db_unseen_model(struct db *db, int64_t id, const char *problem,
			       struct tb_err *err) TB_MUST_USE;
/* Models of a root: id, name and path only, in no order. */
enum tb_status db_root_models(struct db *db, int64_t root, struct db_models *out,
			      struct tb_err *err) TB_MUST_USE;

/* Files in blobs/ as the index has them, by path (bytewise). */
struct db_entry {
	int64_t id;
	const char *path, *digest;
	enum db_file_kind kind;
	struct tb_ident ident;
	bool missing;
};
struct db_entries DB_LIST(struct db_entry);
enum tb_status db_root_entries(struct db *db, int64_t root, struct db_entries *out,
			       struct tb_err *err) TB_MUST_USE;
enum tb_status db_put_entry(struct db *db, int64_t root, const struct db_entry *e,
			    struct tb_err *err) TB_MUST_USE;
/* No longer on the disk: missing; db_finish_root() forgets it when no model names it. */
enum tb_status db_lost_entry(struct db *db, int64_t id, struct tb_err *err) TB_MUST_USE;

/* Before a root's models are put: was its last scan brought to its end?  Until
 * db_finish_root() it counts as interrupted. */
enum tb_status db_root_open(struct db *db, int64_t root, bool *whole, struct tb_err *err)
	TB_MUST_USE;
/* The end of a root's scan: drops files that nothing names, sets its time; with
 * `changed` also exclusive sizes (of all models: roots may share files) and names.  What
 * is unused in stores of which something is `unread`, or a manifest cannot be used, has -1
 * owners: nobody knows. */
enum tb_status db_finish_root(struct db *db, int64_t root, bool changed, int64_t now_ns,
			      const struct unread *unread, struct tb_err *err) TB_MUST_USE;
/* Before the first change, and at the end: folds the log into the index file and seals it,
 * so that a change by anybody else is found out when it is next opened for writing. */
enum tb_status db_unseal(struct db *db, struct tb_err *err) TB_MUST_USE;
void db_settle(struct db *db);
#endif
