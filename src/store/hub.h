/* hub.h - a Hugging Face cache: models--ORG--NAME with refs/, snapshots/REV and blobs/.
 * What a snapshot holds are links to ../../blobs/HASH; large files are named by their
 * SHA-256, small ones as git names them. */
#ifndef TBTUI_STORE_HUB_H
#define TBTUI_STORE_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/base/sha256.h"
#include "src/store/store_kind.h"

/* Where the entry of a snapshot leads to: into the repository's folder (then *blob is
 * that path, whether or not it is there), nowhere (no link), or out of it. */
enum hub_link { HUB_PLAIN, HUB_BLOB, HUB_OUTSIDE };
enum tb_status hub_follow(const char *path, enum hub_link *kind, char **blob, struct tb_err *err)
	TB_MUST_USE;

/* "org/name" -> "models--org--name"; NULL when out of memory, caller frees. */
char *hub_folder_name(const char *repo);

/* What the name of a file in blobs/ says of its bytes: "sha256:…" or "gitsha1:…"; false:
 * nothing. */
bool hub_digest(const char *path, char digest[TB_DIGEST_MAX]);

/* Calls fn for each file in the blobs/ of a repository that no snapshot leads to:
 * partial downloads (NAME.incomplete), what was left behind by an update.  Fails without
 * a call where a snapshot cannot be read: who knows what it leads to. */
enum tb_status hub_left(const char *repository, store_file_fn *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
/* The same as if that snapshot were not there. */
enum tb_status hub_left_without(const char *repository, const char *revision, store_file_fn *fn,
				void *arg, struct tb_err *err) TB_MUST_USE;
#endif
