/* blobdir.h - what lies in the blobs/ folder of an Ollama store. */
#ifndef TBTUI_OPS_BLOBDIR_H
#define TBTUI_OPS_BLOBDIR_H

#include <stddef.h>

#include "db/blob.h"
#include "src/base/file.h"

struct blobdir_entry {
	char *path;			/* owned by the list */
	char digest[TB_DIGEST_MAX];	/* that its name states; "" if it is no blob */
	enum db_file_kind kind;		/* blob, partial, temporary or foreign */
	struct tb_ident id;		/* zero for what is no regular file */
};

struct blobdir {
	struct blobdir_entry *rows;
	size_t n, cap;
};

/* Adds a store's; looks with stat() alone; a store without blobs/ has none. */
enum tb_status blobdir_add(struct blobdir *d, const char *root, struct tb_err *err) TB_MUST_USE;
void blobdir_sort(struct blobdir *d);	/* by path, bytewise, each once */
void blobdir_free(struct blobdir *d);

/* One number for the identities of all files of a model: equal as long as no file
 * came, went or was written. */
uint64_t model_stamp(const struct model *m);
#endif
