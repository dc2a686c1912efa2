#include "config.h"

#include "src/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/partial.h"

static enum tb_status
ident_of(const char *path, const struct stat *st, struct tb_ident *id, struct tb_err *err)
{
	const struct tb_partial *partial;

	if (!S_ISREG(st->st_mode))
		return tb_fail(err, TB_EFORMAT, "%s: not a regular file", path);
	partial = tb_partial_of(st->st_dev, st->st_ino);
	*id = (struct tb_ident){
		.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
	};
	if (partial)
		id->mtime_ns = partial->id.mtime_ns;
	return TB_OK;
}

enum tb_status
tb_file_open(struct tb_file *f, const char *path, struct tb_err *err)
{
	struct stat st;
	enum tb_status status;

	*f = (struct tb_file){ .fd = -1, .path = tb_strdup(path) };
	if (!f->path)
		return tb_nomem(err);
	/* O_NONBLOCK: opening a FIFO that somebody put there must not hang. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &st))
		status = tb_fail_errno(err, "%s", path);
	else
		status = ident_of(path, &st, &f->id, err);
	if (status)
		tb_file_close(f);
	else
		f->partial = tb_partial_of(f->id.dev, f->id.ino);
	return status;
}

void
tb_file_close(struct tb_file *f)
{
	if (f->path && f->fd >= 0)	/* a zeroed one has fd 0 and no path */
		close(f->fd);
	free(f->path);
	*f = (struct tb_file){ .fd = -1 };
}

enum tb_status
tb_file_read(const struct tb_file *f, uint64_t off, void *buf, size_t len, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *p = buf;

	if (f->partial && off < f->id.size)	/* what is beyond its end lacks below */
		status = f->partial->need(f->partial->arg, off,
					  len < f->id.size - off ? len : f->id.size - off, err);
	while (len && !status) {
		ssize_t n = pread(f->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tb_fail_errno(err, "%s: reading %zu bytes at %ju", f->path, len,
					     (uintmax_t)off);
		if (n == 0)
			return tb_fail(err, TB_EIO, "%s: ends at %ju, %zu bytes are missing",
				       f->path, (uintmax_t)off, len);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return status;
}

enum tb_status
tb_file_afford(const struct tb_file *f, uint64_t off, size_t least, size_t *n, struct tb_err *err)
{
	const struct tb_partial *p = f->partial;
	enum tb_status status = p && *n ? p->need(p->arg, off, least, err) : TB_OK;

	if (!status && p)
		*n = (size_t)p->there(p->arg, off, *n);
	return status;
}

enum tb_status
tb_file_read_random(const struct tb_file *f, uint64_t off, void *buf, size_t len,
		    struct tb_err *err)
{
	struct iovec v = { buf, len };

	if (!f->partial && preadv2(f->fd, &v, 1, (off_t)off, RWF_NOWAIT) == (ssize_t)len)
		return TB_OK;
	(void)!posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
	return tb_file_read(f, off, buf, len, err);
}

enum tb_status
tb_file_ident(const char *path, struct tb_ident *id, struct tb_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return tb_fail_errno(err, "%s", path);
	return ident_of(path, &st, id, err);
}

bool
tb_ident_equal(const struct tb_ident *a, const struct tb_ident *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns;
}

enum tb_status
tb_file_now(const struct tb_file *f, struct tb_ident *id, struct tb_err *err)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return tb_fail_errno(err, "%s", f->path);
	return ident_of(f->path, &st, id, err);
}

enum tb_status
tb_file_slurp(const char *path, size_t max, char **out, size_t *len, struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, path, err);
	char *p = NULL;

	*out = NULL;
	if (status)
		return status;
	if (f.id.size > max)
		status = tb_fail(err, TB_ELIMIT, "%s: %ju bytes, at most %zu are read", path,
				 (uintmax_t)f.id.size, max);
	else if (!(p = malloc(f.id.size + 1)))
		status = tb_nomem(err);
	else
		status = tb_file_read(&f, 0, p, f.id.size, err);
	if (!status) {
		p[f.id.size] = 0;
		if (len)
			*len = f.id.size;
		else if (strlen(p) != f.id.size)
			status = tb_fail(err, TB_EFORMAT, "%s: NUL byte in a text", path);
	}
	if (status)
		free(p);
	else
		*out = p;
	tb_file_close(&f);
	return status;
}

char *
tb_path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir), slash = !n || dir[n - 1] != '/', len = strlen(name);
	char *path = malloc(n + slash + len + 1);

	if (!path)
		return NULL;
	memcpy(path, dir, n);
	path[n] = '/';
	memcpy(path + n + slash, name, len + 1);
	return path;
}

static enum tb_status
make_dir(const char *path, struct tb_err *err)
{
	int saved;

	if (mkdir(path, 0777) == 0)
		return TB_OK;
	saved = errno;
	if (tb_is_dir(path))	/* whatever errno: a read-only file system says EROFS */
		return TB_OK;
	errno = saved;
	return tb_fail_errno(err, "%s: cannot make the folder", path);
}

enum tb_status
tb_mkdirs(const char *path, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *copy = tb_strdup(path);

	if (!copy)
		return tb_nomem(err);
	for (char *p = copy + 1; !status && *copy && (p = strchr(p, '/')); p++) {
		*p = 0;
		status = make_dir(copy, err);
		*p = '/';
	}
	if (!status && *copy)
		status = make_dir(copy, err);
	free(copy);
	return status;
}

char *
tb_config_path(const char *name)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && *xdg == '/')
		return tb_asprintf("%s/tbtui/%s", xdg, name);
	return home && *home ? tb_asprintf("%s/.config/tbtui/%s", home, name) : tb_strdup("");
}

const char *
tb_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *
tb_path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? tb_strndup(path, (size_t)(slash - path) + (slash == path)) : tb_strdup(".");
}

bool
tb_path_inside(const char *path, const char *folder, size_t n)
{
	return !strncmp(path, folder, n) && (!path[n] || path[n] == '/' || (n && folder[n - 1] == '/'));
}

const char *
tb_path_in(struct tb_path *p, const char *dir, const char *name)
{
	if ((size_t)snprintf(p->s, sizeof(p->s), "%s/%s", dir, name) >= sizeof(p->s))
		*p->s = 0;
	return p->s;
}

bool
tb_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool
tb_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool
tb_same_place(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool
says_absent(int why)
{
	return why == ENOENT || why == ENOTDIR || why == ELOOP;
}

bool
tb_absent(const char *path)
{
	struct stat st;

	return lstat(path, &st) && says_absent(errno);
}

bool
tb_no_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) ? says_absent(errno) : !S_ISDIR(st.st_mode);
}
