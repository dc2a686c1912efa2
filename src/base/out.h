/* out.h - writing a file so that it is either there, whole, or not there.
 *
 * Bytes go to a file without a name in the destination's folder, which is gone when
 * the process is, however it ends; where the file system has no such files, to a
 * hidden one, which the next writer there takes away.  Commit is fsync + link or rename +
 * fsync of the folder.  Nothing is overwritten unless asked. */
#ifndef TBTUI_BASE_OUT_H
#define TBTUI_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct tb_out {
	int fd;
	char *tmp;		/* path by which it can be read until commit; owned */
	char *dir;		/* the folder that it is in, for messages; owned */
	bool nameless;		/* tmp is of /proc, for this process alone */
	uint64_t pos;		/* where tb_out_write() writes next */
};

/* For tests: as on a file system that has no files without a name. */
extern bool tb_out_hidden;

/* In `dir` (made if missing); hidden ones are named ".tbtui-tmp-…".  The name under which
 * it will live may depend on its bytes (a digest). */
enum tb_status tb_out_open(struct tb_out *o, const char *dir, struct tb_err *err) TB_MUST_USE;
enum tb_status tb_out_write(struct tb_out *o, const void *data, size_t len, struct tb_err *err)
	TB_MUST_USE;
/* Out of order, for parallel writers; does not move pos. Thread-safe. */
enum tb_status tb_out_pwrite(struct tb_out *o, uint64_t off, const void *data, size_t len,
			     struct tb_err *err) TB_MUST_USE;

/* Makes it visible as `path` (same folder).  replace == false and `path` exists:
 * TB_EEXIST.  Closes and, on failure, removes the temporary file.  TB_ESYNC alone means
 * that it is visible nevertheless: nobody may take back what others see. */
enum tb_status tb_out_commit(struct tb_out *o, const char *path, bool replace, struct tb_err *err)
	TB_MUST_USE;
/* The same with replace, and what was there is kept: see tb_replace(). */
enum tb_status tb_out_replace(struct tb_out *o, const char *path, const char *keep, char **kept,
			      struct tb_err *err) TB_MUST_USE;
void tb_out_abort(struct tb_out *o);	/* removes it; fine after commit */

/* Removes the hidden files that killed writers left in `dir`: whoever still writes one
 * holds a lock on it.  Where there are no locks, they stay. */
void tb_out_sweep(const char *dir);
bool tb_is_temporary(const char *name);		/* of such a file, or folder */
/* A folder with what is finished of something that may go on: nobody sweeps it. */
#define TB_WORK_PREFIX ".tbtui-work-"
bool tb_is_work(const char *name);
/* A fresh one in the folder of `path`, which a scan meanwhile, or after a crash, does not
 * take for a model; NULL when out of memory. */
char *tb_hidden_beside(const char *path);

/* Small files in one call. */
enum tb_status tb_out_file(const char *path, const void *data, size_t len, bool replace,
			   struct tb_err *err) TB_MUST_USE;
#endif
