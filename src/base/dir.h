/* dir.h - what is in a folder, or why that cannot be said.
 *
 * The one place that reads folders: a folder that cannot be read, or not to its end, is
 * not an empty one, and half of its names are worse than none. */
#ifndef TBTUI_BASE_DIR_H
#define TBTUI_BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct tb_names { char **v; size_t n, cap; };	/* owned */

/* All names in `dir` but "." and "..", in bytewise order.  TB_ENOENT: it is not there, or
 * no folder.  After a failure *out is empty. */
enum tb_status tb_names_read(struct tb_names *out, const char *dir, struct tb_err *err)
	TB_MUST_USE;
/* The same of a folder that is open; `dir`: what it is called, for messages. */
enum tb_status tb_names_read_at(struct tb_names *out, int fd, const char *dir, struct tb_err *err)
	TB_MUST_USE;
/* One more, out of order; tb_names_sort() puts them back into it. */
enum tb_status tb_names_add(struct tb_names *n, const char *name, struct tb_err *err) TB_MUST_USE;
void tb_names_sort(struct tb_names *n);
void tb_names_free(struct tb_names *n);
bool tb_names_have(const struct tb_names *n, const char *name);

/* Is there nothing in it, or nothing at all at that path? */
enum tb_status tb_dir_empty(const char *dir, bool *empty, struct tb_err *err) TB_MUST_USE;
#endif
