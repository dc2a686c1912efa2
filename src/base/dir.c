#include "config.h"

#include "src/base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum tb_status
tb_names_add(struct tb_names *to, const char *name, struct tb_err *err)
{
	if (!tb_grow(&to->v, &to->cap, to->n + 1, sizeof(*to->v)) ||
	    !(to->v[to->n] = tb_strdup(name)))
		return tb_nomem(err);
	to->n++;
	return TB_OK;
}

void
tb_names_sort(struct tb_names *n)
{
	if (n->n > 1)
		qsort(n->v, n->n, sizeof(*n->v), by_bytes);
}

/* d: NULL if it could not be opened. */
static enum tb_status
read_all(struct tb_names *out, DIR *d, const char *dir, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct dirent *e;

	*out = (struct tb_names){ 0 };
	if (!d)
		return tb_fail_errno(err, "%s", dir);
	for (;;) {
		errno = 0;	/* the end and an error look alike otherwise */
		e = readdir(d);
		if (!e && errno)
			status = tb_fail_errno(err, "%s: reading the folder", dir);
		if (!e || status)
			break;
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			status = tb_names_add(out, e->d_name, err);
	}
	closedir(d);
	if (status)
		tb_names_free(out);
	tb_names_sort(out);
	return status;
}

enum tb_status
tb_names_read(struct tb_names *out, const char *dir, struct tb_err *err)
{
	return read_all(out, opendir(dir), dir, err);
}

enum tb_status
tb_names_read_at(struct tb_names *out, int fd, const char *dir, struct tb_err *err)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (own >= 0 && !d) {
		int why = errno;

		close(own);
		errno = why;
	}
	return read_all(out, d, dir, err);
}

void
tb_names_free(struct tb_names *n)
{
	while (n->n)
		free(n->v[--n->n]);
	free(n->v);
	*n = (struct tb_names){ 0 };
}

bool
tb_names_have(const struct tb_names *n, const char *name)
{
	return n->n && bsearch(&name, n->v, n->n, sizeof(*n->v), by_bytes);
}

enum tb_status
tb_dir_empty(const char *dir, bool *empty, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, dir, err);

	if (status == TB_ENOENT) {	/* a file, or a link to nothing, is no empty folder */
		*empty = !tb_exists(dir);
		return TB_OK;
	}
	*empty = !status && !names.n;
	tb_names_free(&names);
	return status;
}
