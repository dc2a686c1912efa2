/* unread.h - places that are there and could not be read: what lies in them is unknown,
 * which is something else than nothing. */
#ifndef TBTUI_STORE_UNREAD_H
#define TBTUI_STORE_UNREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct unread_place { char *path, *why; };	/* why: a sentence that names the path */
struct unread { struct unread_place *v; size_t n, cap; };	/* owned */

/* What came of reading `path`.  TB_OK and TB_ENOENT are nothing to note; what this process
 * lacks (TB_ENOMEM), and a cancel, is passed on; all else is noted, once a path or sentence, and TB_OK. */
enum tb_status unread_note(struct unread *u, const char *path, enum tb_status status,
			   const struct tb_err *why, struct tb_err *err) TB_MUST_USE;
/* All of `more`, once. */
enum tb_status unread_add(struct unread *u, const struct unread *more, struct tb_err *err)
	TB_MUST_USE;
void unread_free(struct unread *u);

/* The first of them that `path` is or lies in; NULL: none. */
const struct unread_place *unread_above(const struct unread *u, const char *path);
/* May a file in the blobs/ of a store (an Ollama store, a repository of a cache) be what one of
 * them uses?  Then nobody can say that it is an orphan. */
bool unread_uses(const struct unread *u, const char *blob);
#endif
