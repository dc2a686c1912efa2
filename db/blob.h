/* blob.h - the index's view of files: blobs of stores and files of models. */
#ifndef TBTUI_DB_BLOB_H
#define TBTUI_DB_BLOB_H

#include "db/db.h"

/* id, word in --json and on screen */
#define DB_FILE_LIST(X) \
	X(DB_FILE_MODEL, "file")	/* of a directory: no content address */ \
	X(DB_FILE_MANIFEST, "manifest") \
	X(DB_FILE_BLOB, "blob")		/* blobs/sha256-<64 hex> */ \
	X(DB_FILE_PARTIAL, "partial")	/* a download that did not end */ \
	X(DB_FILE_TEMP, "temporary")	/* left behind by some program */ \
	X(DB_FILE_FOREIGN, "foreign")	/* in blobs/, and nobody knows why */ \
	X(DB_FILE_KEPT, "kept")		/* an old model, beside the one that took its place */
#define X(id, word) id,
enum db_file_kind { DB_FILE_LIST(X) DB_FILE_COUNT };
#undef X
const char *db_file_word(enum db_file_kind k);
/* Written less than an hour ago: as long as Ollama waits before it prunes what no model
 * uses, since a pull or a create writes the manifest last. */
bool db_young(int64_t mtime_ns);

struct db_blob {
	int64_t id;
	const char *path, *root;
	const char *digest;		/* "" if its name is none */
	enum db_file_kind kind;
	const char *media;		/* what a manifest calls it: "tensor", ""; the first found */
	uint64_t size;			/* on the disk; as the manifest states it when missing */
	uint64_t owners;		/* models that use it */
	bool missing;
	bool young;			/* no model uses it, but one may be on its way */
	bool unclear;			/* no model that could be read uses it */
	enum db_state state;		/* missing, or by its last hash */
	int64_t mtime_ns, verified_ns;
};
struct db_blobs DB_LIST(struct db_blob);

enum db_blob_set {
	DB_BLOBS_ALL,		/* everything in a blobs/ folder, and what should be there */
	DB_BLOBS_ORPHANS,	/* blobs that no model uses, young and unclear ones left out */
	DB_BLOBS_SHARED,	/* used by two models or more */
	DB_BLOBS_MISSING,
	DB_BLOBS_LEFT,		/* partial, temporary, foreign, kept */
};
/* sort: digest size owners kind state modified. filter: path. */
enum tb_status db_blobs(struct db *db, enum db_blob_set set, const struct db_query *q,
			struct db_blobs *out, struct tb_err *err) TB_MUST_USE;
/* Files whose digest starts with `hex` (lower case, no "sha256:"), by their last hash or
 * by their name, or that are at this path. */
enum tb_status db_blob_find(struct db *db, const char *hex, const char *path,
			    struct db_blobs *out, struct tb_err *err) TB_MUST_USE;
/* The file at this path or of this identity, whatever its names, and all that is known
 * to hold the same. */
enum tb_status db_blob_like(struct db *db, const char *path, const struct tb_ident *id,
			    struct db_blobs *out, struct tb_err *err) TB_MUST_USE;
/* Models that use a file, by name. */
enum tb_status db_blob_owners(struct db *db, int64_t blob, struct db_models *out,
			      struct tb_err *err) TB_MUST_USE;

/* The tensors of a model whose weights are in a file, in order of their place there.
 * limit 0: all. */
struct db_place { const char *tensor; uint64_t off; };
struct db_places DB_LIST(struct db_place);
enum tb_status db_blob_tensors(struct db *db, int64_t blob, int64_t model, uint64_t limit,
			       struct db_places *out, struct tb_err *err) TB_MUST_USE;
/* Has the model, as the index knows it, a tensor of that name? */
enum tb_status db_has_tensor(struct db *db, int64_t model, const char *name, bool *yes,
			     struct tb_err *err) TB_MUST_USE;

struct db_totals {
	uint64_t models, tensors, bytes;	/* bytes: distinct files of models */
	uint64_t blobs, shared_bytes;		/* bytes of blobs that several models use */
	uint64_t orphans, orphan_bytes;
	uint64_t missing;
	uint64_t left, left_bytes;		/* partial, temporary, foreign */
	int64_t scanned_ns;			/* end of the last whole scan; 0: never */
};
enum tb_status db_totals(struct db *db, const struct store_roots *roots, struct db_totals *out,
			 struct tb_err *err) TB_MUST_USE;

/* Read-only SQL for people: every row's columns as text (NULL for null). fn returning
 * anything but TB_OK ends it.  Statements that would write are refused. */
typedef enum tb_status db_row_fn(void *arg, int ncols, const char *const *names,
				 const char *const *values, struct tb_err *err);
enum tb_status db_sql(struct db *db, const char *sql, db_row_fn *fn, void *arg,
		      struct tb_err *err) TB_MUST_USE;
/* A statement for db_sql(): the tables that there are, and their columns. */
extern const char db_tables_sql[];
#endif
