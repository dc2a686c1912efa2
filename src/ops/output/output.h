/* output.h - around whatever writes models: is there room, what was replaced, how to have it
 * back and how to be rid of it. */
#ifndef TBTUI_OPS_OUTPUT_H
#define TBTUI_OPS_OUTPUT_H

#include <stdint.h>

#include "src/base/err.h"

struct ollama_writer;

/* TB_ELIMIT: the file system of `dir` has not that many bytes free, and some more for what
 * belongs to them.  A folder that is not there yet is made on that of its parents. */
enum tb_status space_check(const char *dir, uint64_t bytes, struct tb_err *err) TB_MUST_USE;

/* The same for who knows what it makes: room, inodes, what the user may have (quota), and
 * how long a file may become. */
struct space_need {
	uint64_t bytes, files;
	uint64_t largest;	/* of the files */
};
enum tb_status space_ready(const char *dir, const struct space_need *need, struct tb_err *err)
	TB_MUST_USE;

/* The bytes that are free there; UINT64_MAX: nobody knows. */
uint64_t space_free(const char *dir);

struct kept {
	char *where;		/* name or path of the old one; NULL: nothing was there; owned */
	char *restore, *remove;	/* commands for a shell; NULL when memory ran out; owned */
};

/* A file or folder `path`, which is `old` now (taken; NULL: nothing was there). */
void keep_path(struct kept *k, const char *path, char *old);
/* After a commit; names it as its store does. */
void keep_manifest(struct kept *k, const struct ollama_writer *w);
/* The command that removes a file or folder; caller frees, NULL when out of memory. */
char *kept_remove(const char *path);
void kept_free(struct kept *k);
#endif
