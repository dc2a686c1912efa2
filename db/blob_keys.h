/* blob_keys.h - every content-addressed file in a few bytes each, so that a list of all
 * can be filtered and sorted in memory while its texts are read for what shows. */
#ifndef TBTUI_DB_BLOB_KEYS_H
#define TBTUI_DB_BLOB_KEYS_H

#include "db/blob.h"
#include "src/format/manifest.h"

struct db_blob_key {
	int64_t id;
	int64_t owner;			/* the first model by name that uses it; 0: none */
	uint64_t size;
	int64_t mtime_ns;
	const char *path;		/* of what has no digest for a name; else NULL */
	uint32_t owners;
	uint8_t kind, state, media;	/* enum db_file_kind, db_state, media */
	/* hashed: digest is its name; young, unclear: see db_blob */
	bool missing, hashed, young, unclear;
	uint8_t digest[TB_SHA256_LEN];
};
/* By digest, then what has none by path. */
struct db_blob_keys DB_LIST(struct db_blob_key);

/* Reads all: for a worker. */
enum tb_status db_blob_keys(struct db *db, const struct store_roots *roots,
			    struct db_blob_keys *out, struct tb_err *err) TB_MUST_USE;

struct db_blob_use {
	struct db_blob blob;
	const char *owner;		/* the name of its key's owner, "" if none */
};
struct db_blob_uses DB_LIST(struct db_blob_use);
/* Those of the keys, in that order (of a key only id and owner count); files that are
 * gone are left out. */
enum tb_status db_blob_window(struct db *db, const struct db_blob_key *const *keys, size_t n,
			      struct db_blob_uses *out, struct tb_err *err) TB_MUST_USE;
#endif
