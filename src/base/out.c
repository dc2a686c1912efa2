#include "config.h"

#include "src/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/text.h"

#define HIDDEN ".tbtui-tmp-"

bool tb_out_hidden;

static char *
hidden_name(const char *dir, size_t len, int salt)
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		r = (uint64_t)tb_now_ns() ^ (uint64_t)(uintptr_t)dir ^ (uint64_t)salt << 48;
	return tb_asprintf("%.*s/" HIDDEN "%016jx", (int)len, dir, (uintmax_t)r);
}

char *
tb_hidden_beside(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? hidden_name(path, (size_t)(slash - path), 0) : hidden_name(".", 1, 0);
}

/* False: somebody who sweeps was quicker than the lock. */
static bool
hold(int fd)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return false;
	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Not mkstemp(), which makes private files: models are shared like any other
 * file, and umask() cannot be asked without changing it for all threads. */
static enum tb_status
open_hidden(struct tb_out *o, const char *dir, struct tb_err *err)
{
	for (int tries = 0; tries < 100; tries++) {
		free(o->tmp);
		o->tmp = hidden_name(dir, strlen(dir), tries);
		if (!o->tmp)
			return tb_nomem(err);
		o->fd = open(o->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (o->fd >= 0 && hold(o->fd))
			return TB_OK;
		if (o->fd < 0 && errno != EEXIST)
			break;
		if (o->fd >= 0) {
			unlink(o->tmp);
			close(o->fd);
		}
		o->fd = -1;
	}
	return tb_fail_errno(err, "%s: cannot make a file there", dir);
}

static enum tb_status
open_fresh(struct tb_out *o, const char *dir, struct tb_err *err)
{
	o->dir = tb_strdup(dir);
	if (!o->dir)
		return tb_nomem(err);
	o->fd = tb_out_hidden ? -1 : open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (o->fd < 0)		/* the file system has no such files */
		return open_hidden(o, dir, err);
	o->tmp = tb_asprintf("/proc/self/fd/%d", o->fd);
	if (!o->tmp)
		return tb_nomem(err);
	if (access(o->tmp, F_OK)) {	/* and without /proc no way to give it a name */
		close(o->fd);
		return open_hidden(o, dir, err);
	}
	o->nameless = true;
	return TB_OK;
}

enum tb_status
tb_out_open(struct tb_out *o, const char *dir, struct tb_err *err)
{
	enum tb_status status = tb_mkdirs(dir, err);

	*o = (struct tb_out){ .fd = -1 };
	if (!status)
		status = open_fresh(o, dir, err);
	if (status)
		tb_out_abort(o);
	return status;
}

enum tb_status
tb_out_pwrite(struct tb_out *o, uint64_t off, const void *data, size_t len, struct tb_err *err)
{
	const char *p = data;

	while (len) {
		ssize_t n = pwrite(o->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tb_fail_errno(err, "%s: writing %zu bytes at %ju", o->dir, len,
					     (uintmax_t)off);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return TB_OK;
}

enum tb_status
tb_out_write(struct tb_out *o, const void *data, size_t len, struct tb_err *err)
{
	enum tb_status status = tb_out_pwrite(o, o->pos, data, len, err);

	if (!status)
		o->pos += len;
	return status;
}

/* Gives it a name: `path`, or if that is to be replaced, a hidden one. */
static enum tb_status
name_it(struct tb_out *o, const char *path, bool replace, struct tb_err *err)
{
	char *to = replace ? tb_hidden_beside(path) : tb_strdup(path);

	if (!to)
		return tb_nomem(err);
	(void)flock(o->fd, LOCK_EX | LOCK_NB);	/* from now on it can be swept */
	if (linkat(AT_FDCWD, o->tmp, AT_FDCWD, to, AT_SYMLINK_FOLLOW)) {
		free(to);
		return tb_fail_errno(err, "%s: cannot be written", path);
	}
	free(o->tmp);
	o->tmp = to;
	o->nameless = false;
	return TB_OK;
}

/* How a name that is taken is dealt with. */
struct taken {
	bool replace;
	const char *keep;	/* not NULL: what was there is kept, and *kept its name */
	char **kept;
};

/* Whatever may fail but the sync does so before others see it. */
static enum tb_status
publish(struct tb_out *o, const char *path, const struct taken *t, struct tb_err *err)
{
	bool named = o->nameless && !t->replace;
	enum tb_status status;
	struct stat st;
	int folder;

	/* over /dev/null or /dev/stdout there would be a file in its place, for everybody */
	if (t->replace && !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return tb_fail(err, TB_EEXIST, "%s: no regular file, and will not be replaced",
			       path);
	status = tb_folder_open(path, &folder, err);
	if (!status && o->nameless)
		status = name_it(o, path, t->replace, err);
	if (!status && !named && t->keep)
		status = tb_replace(o->tmp, path, t->keep, t->kept, err);
	else if (!status && !named &&
		 (t->replace ? rename(o->tmp, path) : tb_rename_new(o->tmp, path)))
		status = tb_fail_errno(err, "%s: cannot be written", path);
	if (status) {
		if (folder >= 0)
			close(folder);
		return status;
	}
	free(o->tmp);
	o->tmp = NULL;
	return tb_folder_sync(folder, path, err);
}

static enum tb_status
commit_as(struct tb_out *o, const char *path, const struct taken *t, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (fsync(o->fd))
		status = tb_fail_errno(err, "%s: cannot sync", o->dir);
	if (!status)
		status = publish(o, path, t, err);
	tb_out_abort(o);	/* of what was committed, nothing is left to remove */
	return status;
}

enum tb_status
tb_out_commit(struct tb_out *o, const char *path, bool replace, struct tb_err *err)
{
	return commit_as(o, path, &(struct taken){ .replace = replace }, err);
}

enum tb_status
tb_out_replace(struct tb_out *o, const char *path, const char *keep, char **kept,
	       struct tb_err *err)
{
	*kept = NULL;
	return commit_as(o, path, &(struct taken){ true, keep, kept }, err);
}

void
tb_out_abort(struct tb_out *o)
{
	if (o->fd >= 0)
		close(o->fd);
	if (o->tmp && !o->nameless)
		unlink(o->tmp);
	free(o->tmp);
	free(o->dir);
	*o = (struct tb_out){ .fd = -1 };
}

bool
tb_is_temporary(const char *name)
{
	return tb_starts(name, HIDDEN);
}

bool
tb_is_work(const char *name)
{
	return tb_starts(name, TB_WORK_PREFIX);
}

static void
sweep_one(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir, name, 0);
	close(fd);
}

void
tb_out_sweep(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tb_names names = { 0 };

	if (fd >= 0 && !tb_names_read(&names, dir, NULL))
		for (size_t i = 0; i < names.n; i++)
			if (tb_is_temporary(names.v[i]))
				sweep_one(fd, names.v[i]);
	tb_names_free(&names);
	if (fd >= 0)
		close(fd);
}

enum tb_status
tb_out_file(const char *path, const void *data, size_t len, bool replace, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	struct tb_out o;
	enum tb_status status;

	if (!dir)
		return tb_nomem(err);
	status = tb_out_open(&o, dir, err);
	free(dir);
	if (status)
		return status;
	status = tb_out_write(&o, data, len, err);
	if (status) {
		tb_out_abort(&o);
		return status;
	}
	return tb_out_commit(&o, path, replace, err);
}
