/* look_mirror.c - the mirror's folder: private, gone with the program, and swept by the next one
 * if that was killed. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"

#define PREFIX "tbtui-look-"
#define DEPTH 12		/* of what is made here, and some */

static const char *
temporary_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir == '/' ? dir : "/tmp";
}

/* All that is in an open folder; links are not followed. */
static void
remove_all(int fd, unsigned depth)
{
	struct tb_names names = { 0 };

	if (tb_names_read_at(&names, fd, PREFIX, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		int in;

		if (!unlinkat(fd, names.v[i], 0))
			continue;
		in = depth ? openat(fd, names.v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (in < 0)
			continue;
		remove_all(in, depth - 1);
		close(in);
		(void)unlinkat(fd, names.v[i], AT_REMOVEDIR);
	}
	tb_names_free(&names);
}

/* What a killed program left: its own folder that nobody holds. */
static void
sweep(const char *dir)
{
	struct tb_names names = { 0 };
	struct tb_path path;
	struct stat st;

	if (tb_names_read(&names, dir, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		int fd = !tb_starts(names.v[i], PREFIX) ? -1
			 : open(tb_path_in(&path, dir, names.v[i]),
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB)) {
			remove_all(fd, DEPTH);
			(void)rmdir(path.s);
		}
		close(fd);
	}
	tb_names_free(&names);
}

enum tb_status
mirror_make(struct look *l, struct tb_err *err)
{
	const char *dir = temporary_dir();
	struct stat st = { 0 };

	sweep(dir);
	for (int i = 0; i < 100 && !st.st_nlink; i++) {	/* others sweep, too */
		free(l->dir);
		l->dir = tb_asprintf("%s/" PREFIX "XXXXXX", dir);
		if (!l->dir)
			return tb_nomem(err);
		if (!mkdtemp(l->dir)) {
			tb_fail_errno(err, "%s: no folder for what is looked at", dir);
			free(l->dir);
			l->dir = NULL;
			return err ? err->code : TB_EIO;
		}
		if (l->held >= 0)
			close(l->held);
		l->held = open(l->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (l->held < 0 || flock(l->held, LOCK_EX) || fstat(l->held, &st))
			st.st_nlink = 0;
	}
	return st.st_nlink ? TB_OK
	       : tb_fail(err, TB_EIO, "%s: a folder in it goes away again and again", dir);
}

void
mirror_remove(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct look_file *f = l->files[i];

		if (f->partial.need)
			tb_partial_drop(&f->partial);
		free(f->path);
		free(f->name);
		free(f->copy);
		free(f->v);
		free(f);
	}
	free(l->files);
	l->files = NULL;
	l->n = 0;
	if (l->held >= 0) {
		remove_all(l->held, DEPTH);
		(void)rmdir(l->dir);
		close(l->held);
	}
	free(l->dir);
	l->dir = NULL;
	l->held = -1;
}

/* In l->files, with the folder that it is in. */
static enum tb_status
new_file(struct look *l, const char *below, const char *name, struct look_file **out,
	 struct tb_err *err)
{
	struct look_file *f = *out = tb_calloc(1, sizeof(*f));
	char *dir;
	enum tb_status status;

	if (!f || !tb_grow(&l->files, &l->cap, l->n + 1, sizeof(*l->files))) {
		free(f);
		return tb_nomem(err);
	}
	l->files[l->n++] = f;
	f->look = l;
	f->path = tb_path_join(l->dir, below);
	f->name = tb_strdup(name);
	dir = f->path ? tb_path_parent(f->path) : NULL;
	status = dir && f->name ? tb_mkdirs(dir, err) : tb_nomem(err);
	free(dir);
	return status;
}

static enum tb_status
write_all(int fd, const char *p, uint64_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return TB_EIO;
		p += n;
		len -= (uint64_t)n;
	}
	return TB_OK;
}

enum tb_status
mirror_file(struct look *l, const char *below, const void *data, uint64_t size, const char *name,
	    const char *digest, struct look_file **out, struct tb_err *err)
{
	enum tb_status status = new_file(l, below, name, out, err);
	struct look_file *f = *out;
	char text[16];
	int fd;

	if (status)
		return status;
	f->size = size;
	snprintf(f->digest, sizeof(f->digest), "%s", digest);
	fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		l->n--;
		free(f->path);
		free(f->name);
		free(f);
		*out = NULL;
		return TB_OK;
	}
	if (fd < 0 || (data ? write_all(fd, data, size) != TB_OK
		       : size > INT64_MAX ? (errno = EFBIG) : ftruncate(fd, (off_t)size)))
		status = tb_fail_errno(err, "%s of %s cannot be laid out in %s", name,
				       tb_human_bytes(size, text), l->dir);
	if (fd >= 0)
		close(fd);
	f->here = data || !size;
	if (status || f->here)
		return status;
	status = tb_file_ident(f->path, &f->partial.id, err);
	if (status)
		return status;
	f->partial.need = look_file_need;
	f->partial.there = look_file_there;
	f->partial.arg = f;
	tb_partial_add(&f->partial);
	return TB_OK;
}

enum tb_status
mirror_link(struct look *l, const char *below, const char *path, const char *name, uint64_t size,
	    struct look_file **out, struct tb_err *err)
{
	enum tb_status status = new_file(l, below, name, out, err);

	if (status)
		return status;
	(*out)->size = size;
	(*out)->here = true;
	if (symlink(path, (*out)->path) && errno != EEXIST)
		return tb_fail_errno(err, "%s", (*out)->path);
	return TB_OK;
}

enum tb_status
mirror_entry(struct look *l, const char *below, const char *target, struct tb_err *err)
{
	char *path = tb_path_join(l->dir, below), *dir = path ? tb_path_parent(path) : NULL;
	enum tb_status status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);

	if (!status && symlink(target, path))
		status = tb_fail_errno(err, "%s", path);
	free(dir);
	free(path);
	return status;
}

static int
file_cmp(const void *a, const void *b)
{
	return strcmp((*(struct look_file *const *)a)->path, (*(struct look_file *const *)b)->path);
}

void
mirror_sort(struct look *l)
{
	if (l->n)
		qsort(l->files, l->n, sizeof(struct look_file *), file_cmp);
}

struct look_file *
mirror_find(const struct look *l, const char *path)
{
	size_t at = TB_FIRST(l->n, i, strcmp(l->files[i]->path, path) < 0);

	return at < l->n && !strcmp(l->files[at]->path, path) ? l->files[at] : NULL;
}
