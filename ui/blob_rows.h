/* blob_rows.h - which blobs a list shows, and in what order: in memory, so that 60,000
 * of them answer a key at once.  Draws nothing, reads nothing. */
#ifndef TBTUI_UI_BLOB_ROWS_H
#define TBTUI_UI_BLOB_ROWS_H

#include "db/blob_keys.h"

/* id, title of the pane, what it says when it is empty */
#define BLOB_SET_LIST(X) \
	X(SET_ALL, "All", "No content-addressed files yet: Ollama stores and" \
	  "\nHugging Face caches have them.  R reads the stores.") \
	X(SET_ORPHANS, "Orphans", "No orphans: no blob is left that no model uses.") \
	X(SET_SHARED, "Shared", "No blob is used by two models.") \
	X(SET_MISSING, "Missing", "Nothing is missing: every file that a model names is there.") \
	X(SET_UNDECIDED, "Undecided", "Nothing is undecided: no unused blob is younger than an hour," \
	  "\nand none may belong to a model that cannot be read.") \
	X(SET_LEFT, "Left over", "No partial downloads, and nothing else that was left behind.")
#define X(id, title, none) id,
enum blob_set { BLOB_SET_LIST(X) SET_COUNT };
#undef X

enum blob_order { ORDER_DIGEST, ORDER_KIND, ORDER_SIZE, ORDER_OWNERS, ORDER_STATE,
	ORDER_MODIFIED, ORDER_COUNT };

struct blob_rows {
	struct db_blob_keys keys;	/* owned */
	uint32_t *row;			/* owned: those shown, in order, as indices of keys */
	size_t n;
	struct { uint64_t n, bytes; } set[SET_COUNT];
};

/* Takes the keys; counts the sets. false: out of memory. */
bool blob_rows_set(struct blob_rows *b, struct db_blob_keys *keys);
void blob_rows_free(struct blob_rows *b);
/* "manifest", "tensor", "license", "partial", … */
const char *blob_kind(const struct db_blob_key *k);
/* filter: part of the digest, the kind or (of what has no digest) the path. */
void blob_rows_show(struct blob_rows *b, enum blob_set set, const char *filter,
		    enum blob_order order, bool reverse);
/* Where the file is shown; false: it is not. */
bool blob_rows_find(const struct blob_rows *b, int64_t id, size_t *row);
#endif
