/* replace.h - how something gets its name: never over anything else, or so that what was
 * there is kept beside it. For files and folders alike. */
#ifndef TBTUI_BASE_REPLACE_H
#define TBTUI_BASE_REPLACE_H

#include <stdbool.h>

#include "src/base/err.h"

/* A rename that never overwrites, not even an empty folder: 0, or -1 and errno. */
int tb_rename_new(const char *from, const char *to);

/* Renames `from` to `path`, both in one folder.  What was at `path` is at *kept then,
 * which is `keep` (or as much of its name as there is room for) with
 * ".replaced-20261122T014841Z" behind it (NULL: nothing was there); the caller's to free.
 * At each moment there is something whole at `path`, where the file system can exchange
 * names; else the old one is never under a hidden name. */
enum tb_status tb_replace(const char *from, const char *path, const char *keep, char **kept,
			  struct tb_err *err) TB_MUST_USE;
/* Is it a name that tb_replace() made? */
bool tb_is_replaced(const char *name);

/* The folder of `path`, to be synced after a rename in it: *fd is -1 where folders cannot
 * be opened to that end.  Fails before anything is renamed. */
enum tb_status tb_folder_open(const char *path, int *fd, struct tb_err *err) TB_MUST_USE;
/* Closes it.  TB_ESYNC: `path` is there, but a power cut may take it away again.  A file
 * system that does not sync folders is no failure. */
enum tb_status tb_folder_sync(int fd, const char *path, struct tb_err *err) TB_MUST_USE;
#endif
