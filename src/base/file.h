/* file.h - reading files without believing them.
 *
 * Inputs are opened read-only and must be regular files.  A file can shrink
 * while it is mapped: the pages that went away then read as zeros instead of
 * killing the process, and tb_map_torn() says so (see file_map.c). */
#ifndef TBTUI_BASE_FILE_H
#define TBTUI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

/* Enough to know that a file has not changed since it was last looked at. */
struct tb_ident {
	uint64_t dev, ino, size;
	int64_t mtime_ns;	/* nanoseconds since 1970, UTC */
};

struct tb_file {
	int fd;			/* -1 when closed */
	char *path;		/* owned */
	struct tb_ident id;
	const struct tb_partial *partial;	/* not all of it is there (partial.h); or NULL */
};

enum tb_status tb_file_open(struct tb_file *f, const char *path, struct tb_err *err) TB_MUST_USE;
void tb_file_close(struct tb_file *f);	/* also fine on a zeroed or closed one */

/* Reads exactly `len` bytes at `off`; the error names path, offset and length. */
enum tb_status tb_file_read(const struct tb_file *f, uint64_t off, void *buf, size_t len,
			    struct tb_err *err) TB_MUST_USE;

/* For who does not know yet how much there is to read: lowers *n to what can be read at `off` for
 * nothing, which is all of it on a disk, and in a file that is not all there at least `least`. */
enum tb_status tb_file_afford(const struct tb_file *f, uint64_t off, size_t least, size_t *n,
			      struct tb_err *err) TB_MUST_USE;

/* Only that is read, and nothing ahead of it; with a single call into the kernel where the
 * bytes are cached. */
enum tb_status tb_file_read_random(const struct tb_file *f, uint64_t off, void *buf, size_t len,
				   struct tb_err *err) TB_MUST_USE;

/* stat() without opening; TB_EFORMAT for anything but a regular file. */
enum tb_status tb_file_ident(const char *path, struct tb_ident *id, struct tb_err *err) TB_MUST_USE;
bool tb_ident_equal(const struct tb_ident *a, const struct tb_ident *b);
/* As it is by now, while f->id is as it was opened. */
enum tb_status tb_file_now(const struct tb_file *f, struct tb_ident *id, struct tb_err *err)
	TB_MUST_USE;

/* The whole file, NUL-terminated, at most `max` bytes (else TB_ELIMIT). *out is
 * the caller's to free; *len may be NULL (then NUL bytes inside are an error). */
enum tb_status tb_file_slurp(const char *path, size_t max, char **out, size_t *len,
			     struct tb_err *err) TB_MUST_USE;

struct tb_map {
	const uint8_t *p;	/* bytes [off, off + len) of the file; any alignment */
	size_t len;
	void *base;		/* private to file_map.c from here */
	size_t base_len;
	int slot;
};

/* Maps [off, off + len), which must lie inside the file.  Valid after the file
 * is closed.  len == 0 gives p != NULL. */
enum tb_status tb_map_open(struct tb_map *m, const struct tb_file *f, uint64_t off, size_t len,
			   struct tb_err *err) TB_MUST_USE;
/* [off, off + len) of the map is done with: its pages count no more as this process's
 * memory; reading them again is fine. */
void tb_map_forget(const struct tb_map *m, size_t off, size_t len);
bool tb_map_torn(const struct tb_map *m);
void tb_map_close(struct tb_map *m);

/* dir + "/" + name in fresh memory, NULL when out of memory.  No checks. */
char *tb_path_join(const char *dir, const char *name);
/* A file of the program's configuration, in fresh memory: $XDG_CONFIG_HOME/tbtui/NAME, else
 * ~/.config/tbtui/NAME; "" where nothing says whose it would be: not what lies in the current
 * folder. */
char *tb_config_path(const char *name);
/* What is behind the last slash; all of it where there is none, or nothing behind. */
const char *tb_path_name(const char *path);
/* The folder that a file or folder is in, "." for a name alone; NULL when out of memory. */
char *tb_path_parent(const char *path);
/* Is `path` the folder whose name are the first n bytes of `folder`, or below it, as the
 * names say? */
bool tb_path_inside(const char *path, const char *folder, size_t n);
/* mkdir -p, mode 0777 & ~umask. */
enum tb_status tb_mkdirs(const char *path, struct tb_err *err) TB_MUST_USE;
/* The same without memory: a question of yes or no has no answer for its lack.  What is
 * longer than any path becomes "", which is nothing. */
struct tb_path { char s[4096]; };
const char *tb_path_in(struct tb_path *p, const char *dir, const char *name);
bool tb_is_dir(const char *path);
bool tb_exists(const char *path);
bool tb_same_place(const char *a, const char *b);	/* are both there, and one? */
/* These are known: false also when nobody can say. */
bool tb_absent(const char *path);	/* there is nothing */
bool tb_no_dir(const char *path);	/* there is no folder, nor a link to one */
#endif
