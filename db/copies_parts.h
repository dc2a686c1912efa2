/* copies_parts.h - what the parts of copies.h share. Private to them. */
#ifndef TBTUI_DB_COPIES_PARTS_H
#define TBTUI_DB_COPIES_PARTS_H

#include "db/copies.h"
#include "db/stmt.h"

/* A row as it is read, and where its bytes are. */
struct copy_found {
	struct db_copy row;
	uint64_t dev, ino, off;
};

struct copy_reading {
	struct copy_found *rows;	/* owned */
	size_t n, cap;
	const struct store_roots *roots;
};

/* Adds the tensors of files whose sums are kept that have the sums of another place. */
enum tb_status copies_by_sum(struct db *db, struct copy_reading *in, struct tb_arena *mem,
			     struct tb_err *err) TB_MUST_USE;
#endif
