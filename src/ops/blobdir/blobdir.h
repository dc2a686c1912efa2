/* blobdir.h - what lies in the blobs/ folders of Ollama stores, all of it, and what is left
 * in those of Hugging Face caches and other folders that programs download into; what
 * writers that were killed left there, and old models that were replaced and kept. */
#ifndef TBTUI_OPS_BLOBDIR_H
#define TBTUI_OPS_BLOBDIR_H

#include <stddef.h>

#include "db/blob.h"
#include "src/base/file.h"
#include "src/store/store_kind.h"
#include "src/store/unread.h"

struct blobdir_entry {
	char *path;			/* owned by the list */
	char digest[TB_DIGEST_MAX];	/* that its name states; "" if it is no blob */
	enum db_file_kind kind;		/* blob, partial, temporary or foreign */
	struct tb_ident id;		/* zero for what is no regular file */
};

struct blobdir {
	struct blobdir_entry *rows;
	size_t n, cap;
	struct unread unread;		/* folders that could not be read; owned */
	/* What somebody has found a moment ago need not be looked at again; NULL: look. */
	bool (*seen)(void *arg, const char *path, struct tb_ident *id);
	void *arg;
	char *last;			/* private, as is store: that whose files are added */
	const struct store_kind *store;
};

/* Adds those of a root; looks with stat() alone. */
enum tb_status blobdir_root(struct blobdir *d, const char *root, struct tb_err *err) TB_MUST_USE;
/* Adds those of the store that a model below `root` is in, if that is another. */
enum tb_status blobdir_model(struct blobdir *d, const char *root, const struct model_loc *loc,
			     struct tb_err *err) TB_MUST_USE;
/* By path, bytewise, each once; without temporary files that are still written. */
void blobdir_sort(struct blobdir *d);
void blobdir_free(struct blobdir *d);

/* One number for the identities of all files of a model: equal as long as no file
 * came, went or was written. */
uint64_t model_stamp(const struct model *m);

/* Adds what writers left below `root`, with the size of what is in them. */
enum tb_status leftover_root(struct blobdir *d, const char *root, struct tb_err *err) TB_MUST_USE;
/* One of them, a folder with its size. */
enum tb_status leftover_add(struct blobdir *d, const char *path, struct tb_err *err) TB_MUST_USE;
/* Does somebody still write it? */
bool leftover_in_use(const char *path);
/* What it is, for a person: "is left over from …"; "" if it is none of these.  Caller frees; NULL
 * when out of memory. */
char *leftover_text(const char *path);
#endif
