/* usage.h - which model uses which bytes on the disk, in memory: so that what a set of
 * models has for itself can be said while it is being chosen. */
#ifndef TBTUI_DB_USAGE_H
#define TBTUI_DB_USAGE_H

#include "db/db.h"

struct db_usage {
	struct db_usage_model { int64_t id; size_t first, n; } *model;	/* by id; owned */
	size_t nmodels;
	uint32_t *use;		/* of each model its n files; owned */
	/* A file is an inode, however many paths lead to it. */
	struct db_usage_file { uint64_t size; uint32_t owners, chosen; } *file;	/* owned */
	size_t nfiles;
};

/* Reads all: for a worker. */
enum tb_status db_usage_read(struct db *db, struct db_usage *out, struct tb_err *err) TB_MUST_USE;
void db_usage_free(struct db_usage *u);

/* Bytes that only the models among `ids` use, and those that others use, too.  What is not
 * in the index counts nothing. */
struct db_share { uint64_t alone, shared; };
struct db_share db_usage_of(struct db_usage *u, const uint64_t *ids, size_t n);
#endif
