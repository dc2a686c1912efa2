/* db.h - the index: what was found in the stores, read a window at a time.
 *
 * Two files: the index can be made again by a scan; audits.db beside it (runs,
 * findings, last results: db/audit.h) cannot, so it is never dropped with the index.
 * One connection a thread.  Whoever reads needs no index to be there: what is missing,
 * damaged or foreign reads as empty, db_notice() says why.
 * Lists own their strings: release each with tb_arena_free(&list.mem). */
#ifndef TBTUI_DB_DB_H
#define TBTUI_DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/store/model.h"
#include "src/store/store.h"

struct db;

/* What every list is.  total: rows that match, whatever the window. */
#define DB_LIST(row) { row *rows; size_t n; uint64_t total; struct tb_arena mem; }

/* For reading: never writes, waits at most a second for a writer. */
enum tb_status db_open_read(struct db **out, const char *path, struct tb_err *err) TB_MUST_USE;
/* For writing: makes the files, migrates, sets a damaged or foreign file aside. */
enum tb_status db_open_write(struct db **out, const char *path, struct tb_err *err) TB_MUST_USE;
/* For writing, empty, in memory: where the one at `path` cannot be written. */
enum tb_status db_open_scratch(struct db **out, const char *path, struct tb_err *err) TB_MUST_USE;
void db_close(struct db *db);			/* NULL is fine */
const char *db_notice(const struct db *db);	/* "" or a sentence for people; borrowed */
/* Readers: true when what is stored has changed since the last call (cheap: call it
 * each second); follows files that appeared or were set aside. */
bool db_changed(struct db *db);

/* How a model or file stands, as it is kept in audits.db. Order: worst last. id, word in
 * --json and on screen, what it means */
#define DB_STATE_LIST(X) \
	X(DB_NEVER, "never", "never verified, as it is now") \
	X(DB_HASHED, "hashed", "every byte is what its digest says") \
	X(DB_STRUCTURE, "structure", "looked at, but not all bytes could be compared") \
	X(DB_CHANGED, "changed", "another file than was verified")	/* files alone */ \
	X(DB_INCOMPLETE, "incomplete", "whole, but would not run") \
	X(DB_DAMAGED, "damaged", "wrong in the last verify, or in the scan since") \
	X(DB_MISSING, "missing", "not there")				/* files alone */
#define X(id, word, meaning) id,
enum db_state { DB_STATE_LIST(X) DB_STATE_COUNT };
#undef X
const char *db_state_word(enum db_state s);
const char *db_state_meaning(enum db_state s);
/* As a database has it; a number that is none is DB_NEVER. */
enum db_state db_state_of(int64_t number);

/* Which rows, in what order. Zeroed: all rows in natural order. */
struct db_query {
	const char *filter;	/* NULL, "": all; with * ? [: glob; else substring, any case */
	const char *sort;	/* a key named at the list; NULL: its first.  TB_EUSAGE else */
	bool reverse;
	uint64_t offset, limit;	/* limit 0: all */
	/* Models and blobs: only in and below these; NULL: all. */
	const struct store_roots *roots;
};

struct db_model {
	int64_t id;		/* stays while the model stays at its path */
	const char *name, *path, *root;
	enum model_kind kind;
	const char *arch, *scheme;
	uint64_t params, bytes, exclusive, tensors, files, problems;
	int64_t mtime_ns;
	enum db_state state;
	bool changed;		/* was verified, but its files were others then */
	int64_t verified_ns;	/* 0: never */
	uint64_t bad;		/* errors of the last verify */
};
/* The word for its state in lists: "changed" for one that was verified as another. */
const char *db_model_word(const struct db_model *m);
struct model_loc db_model_loc(const struct db_model *m);	/* borrows from it */
struct db_models DB_LIST(struct db_model);
/* sort: name kind arch params scheme size exclusive tensors state modified.
 * filter: name. */
enum tb_status db_models(struct db *db, const struct db_query *q, struct db_models *out,
			 struct tb_err *err) TB_MUST_USE;
/* Where the model is in the list that q asks for. */
enum tb_status db_models_find(struct db *db, const struct db_query *q, int64_t id, uint64_t *row,
			      bool *found, struct tb_err *err) TB_MUST_USE;
/* One by id, path or exact name (the first of them that fits); n == 0: none. */
enum tb_status db_model_by_id(struct db *db, int64_t id, struct db_models *out,
			      struct tb_err *err) TB_MUST_USE;
enum tb_status db_model_by_path(struct db *db, const char *path, struct db_models *out,
				struct tb_err *err) TB_MUST_USE;
#endif
