/* hub_files.h - the files of a repository, as a hub lists them. */
#ifndef TBTUI_NET_HUB_FILES_H
#define TBTUI_NET_HUB_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/sha256.h"

struct hub_file {
	char *path;			/* below the repository, and nowhere else; owned */
	uint64_t size;
	char digest[TB_DIGEST_MAX];	/* "sha256:…" of what LFS keeps, else "gitsha1:…" */
};

struct hub_files { struct hub_file *v; size_t n, cap; };	/* owned */
void hub_files_free(struct hub_files *f);	/* also fine on zeros */

/* Adds those of a page of "/api/models/…/tree/…?recursive=1".  A name that leads elsewhere, or
 * bytes that nothing can be compared with, fail: such a repository is not to be trusted. */
enum tb_status hub_files_add(struct hub_files *f, const char *text, size_t len, const char *what,
			     struct tb_err *err) TB_MUST_USE;
/* Puts them in bytewise order.  TB_EFORMAT: two are called alike, or one is called as a folder of
 * another. */
enum tb_status hub_files_sort(struct hub_files *f, const char *what, struct tb_err *err)
	TB_MUST_USE;
/* Of sorted ones; NULL: it is none of them. */
const struct hub_file *hub_files_find(const struct hub_files *f, const char *path);
/* The name in a cache's blobs/: the digits of its digest. */
const char *hub_file_hex(const struct hub_file *f);
#endif
