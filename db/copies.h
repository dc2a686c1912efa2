/* copies.h - content that is on the disk more than once: files, and tensors whose digests are
 * kept, or the sums of their pieces, as a verify does. */
#ifndef TBTUI_DB_COPIES_H
#define TBTUI_DB_COPIES_H

#include "db/db.h"

struct db_copy {
	uint64_t group;			/* rows of one content have one number, from 0 */
	const char *digest;		/* of tensors also "xxh3:…": equal by their sums, and
					 * nobody has compared their bytes */
	const char *path, *root;	/* the file; the root it was found below */
	const char *model, *tensor;	/* "" for files */
	uint64_t size;			/* of the file or of the tensor */
	uint64_t owners;		/* models that use the file */
	bool link;			/* the same place on the disk as the row before: a link
					 * to the file, or a blob that several models use */
};

struct db_copies {
	struct db_copy *rows;		/* groups with most to save first */
	size_t n;
	uint64_t total;
	struct tb_arena mem;
	uint64_t groups;
	uint64_t spare;			/* bytes beyond one copy of each */
	/* db_copies_of_files(): files that are as large as another one and whose content
	 * nobody knows, because they were never hashed. */
	uint64_t unknown, unknown_bytes;
};

/* What a file holds is known from its last hash, else from its name.  roots NULL: all. */
enum tb_status db_copies_of_files(struct db *db, const struct store_roots *roots,
				  struct db_copies *out, struct tb_err *err) TB_MUST_USE;
enum tb_status db_copies_of_tensors(struct db *db, const struct store_roots *roots,
				    struct db_copies *out, struct tb_err *err) TB_MUST_USE;

/* Tensors whose kept digest starts with `hex` (lower case, no "sha256:"): digest, path of
 * the model, model and tensor. */
enum tb_status db_copies_of_digest(struct db *db, const char *hex, struct db_copies *out,
				   struct tb_err *err) TB_MUST_USE;
#endif
