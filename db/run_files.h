/* run_files.h - what a verify run saw: the files of each model, and the stores.  Kept in
 * audits.db; writing between db_begin() and db_end() of db/write.h. */
#ifndef TBTUI_DB_RUN_FILES_H
#define TBTUI_DB_RUN_FILES_H

#include "db/db.h"

/* How a file of a model stood. id, letter in the database, word */
#define RUN_FILE_LIST(X) \
	X(RUN_FILE_HASHED, 'h', "hashed")	/* its bytes are those of its digest */ \
	X(RUN_FILE_RECORDED, 'r', "recorded")	/* read; there was nothing to compare with */ \
	X(RUN_FILE_DAMAGED, 'd', "damaged") \
	X(RUN_FILE_MISSING, 'm', "missing") \
	X(RUN_FILE_UNREAD, 'u', "unread")	/* it is there, and was not hashed */
#define X(id, letter, word) id,
enum run_file_state { RUN_FILE_LIST(X) RUN_FILE_COUNT };
#undef X
const char *run_file_word(enum run_file_state s);

struct db_run_file {
	enum run_file_state state;
	const char *digest;		/* of the bytes that were read, "sha256:…"; "" */
	uint64_t bytes;
	const char *path;		/* in the model's folder or store */
};
struct db_run_files DB_LIST(struct db_run_file);
/* Those of a model, in that order; a list that is there already is not put again. */
enum tb_status db_run_files_put(struct db *db, const struct db_run_file *files, size_t n,
				int64_t *list, struct tb_err *err) TB_MUST_USE;
enum tb_status db_run_files(struct db *db, int64_t list, struct db_run_files *out,
			    struct tb_err *err) TB_MUST_USE;

/* A store that a run looked into, and what lies there and is no model's. */
struct db_run_root {
	const char *path;
	bool away;			/* it was not there */
	uint64_t orphans, orphan_bytes;
	uint64_t rest, rest_bytes;	/* young, partial, left over, kept */
	uint64_t held, held_bytes;	/* taken away, not yet freed */
};
struct db_run_roots DB_LIST(struct db_run_root);
enum tb_status db_run_root_put(struct db *db, int64_t run, const struct db_run_root *root,
			       struct tb_err *err) TB_MUST_USE;
enum tb_status db_run_roots(struct db *db, int64_t run, struct db_run_roots *out,
			    struct tb_err *err) TB_MUST_USE;
#endif
