#include "config.h"

#include "src/base/replace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define MARK ".replaced-"
#define MAX_KEPT 100		/* of one second */

/* mkdir() and link() refuse what is there, as the flag does. */
static int
rename_without_flag(const char *from, const char *to)
{
	struct stat st;
	int why;

	if (lstat(from, &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		if (link(from, to))
			return -1;
		unlink(from);
		return 0;
	}
	if (mkdir(to, 0777))
		return -1;
	if (rename(from, to) == 0)	/* over that one alone, and only while it is empty */
		return 0;
	why = errno;
	rmdir(to);
	errno = why;
	return -1;
}

int
tb_rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? rename_without_flag(from, to) : -1;
}

/* So much of the path `keep` that `more` bytes fit behind its name, no character in two:
 * a name that is as long as names can be is found out when hours of work are done. */
static int
room_before(const char *keep, size_t more, const char *path)
{
	const char *slash = strrchr(keep, '/'), *name = slash ? slash + 1 : keep;
	long max = pathconf(path, _PC_NAME_MAX);
	size_t most = max > 0 ? (size_t)max : NAME_MAX, n = strlen(name);

	if (n + more > most) {
		n = most > more ? most - more : 0;
		for (int i = 0; i < 3 && n && ((unsigned char)name[n] & 0xc0) == 0x80; i++)
			n--;
	}
	return (int)(name - keep + (ptrdiff_t)n);
}

static char *
kept_name(const char *path, const char *keep, int n)
{
	time_t now = (time_t)(tb_now_ns() / 1000000000);
	char when[32], more[16] = "", mark[64];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm))
		return NULL;
	if (n > 1)
		snprintf(more, sizeof(more), "-%d", n);
	snprintf(mark, sizeof(mark), MARK "%s%s", when, more);
	return tb_asprintf("%.*s%s", room_before(keep, strlen(mark), path), keep, mark);
}

bool
tb_is_replaced(const char *name)
{
	static const char form[] = "dddddddd" "T" "dddddd" "Z";
	const char *s = NULL;

	for (const char *p = name; (p = strstr(p, MARK)); p++)
		s = p + strlen(MARK);
	if (!s)
		return false;
	for (const char *f = form; *f; f++, s++)
		if (*f == 'd' ? !isdigit((unsigned char)*s) : *s != *f)
			return false;
	if (*s == '-' && s[1])
		s += 1 + strspn(s + 1, "0123456789");
	return *s == 0;
}

/* Where names cannot be exchanged.  A file has two names for a moment, of a folder there
 * is none at `path` for a moment. */
static int
step_aside(const char *from, const char *path, const char *kept)
{
	int why;

	if (link(path, kept) == 0) {
		if (rename(from, path) == 0)
			return 0;
		unlink(kept);		/* a folder does not go over a file */
	}
	if (tb_rename_new(path, kept))
		return -1;
	if (tb_rename_new(from, path) == 0)
		return 0;
	why = errno;
	(void)!tb_rename_new(kept, path);
	errno = why;
	return -1;
}

/* The new one takes the name for the old one first: whenever this ends, nothing that is
 * the only one of its kind has a hidden name, which a sweep would take away. */
static int
swap(const char *from, const char *path, const char *kept)
{
	int why;

	if (tb_rename_new(from, kept))
		return -1;
	if (renameat2(AT_FDCWD, kept, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		return 0;
	why = errno;
	if (tb_rename_new(kept, from) == 0 && (why == EINVAL || why == ENOSYS))
		return step_aside(from, path, kept);
	errno = why;
	return -1;
}

enum tb_status
tb_replace(const char *from, const char *path, const char *keep, char **kept, struct tb_err *err)
{
	*kept = NULL;
	for (int n = 1; n <= MAX_KEPT; n++) {
		char *to;
		int why;

		if (!tb_exists(path)) {
			if (tb_rename_new(from, path) == 0)
				return TB_OK;
			if (errno != EEXIST)
				break;
			continue;		/* made meanwhile */
		}
		to = kept_name(path, keep, n);
		if (!to)
			return tb_nomem(err);
		if (swap(from, path, to) == 0) {
			*kept = to;
			return TB_OK;
		}
		why = errno;
		if (!tb_exists(path) && tb_exists(to)) {
			tb_fail(err, TB_EIO, "%s: cannot be replaced: %s; what was there is now %s",
				path, strerror(why), to);
			free(to);
			return TB_EIO;
		}
		free(to);
		errno = why;
		if (why != EEXIST && why != ENOENT)
			break;
	}
	return tb_fail_errno(err, "%s: cannot be replaced", path);
}

/* FUSE and old NFS have no such call and say one of these. */
static bool
is_unknown(int why)
{
	return why == EINVAL || why == ENOSYS || why == EOPNOTSUPP || why == ENOTSUP;
}

enum tb_status
tb_folder_open(const char *path, int *fd, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	enum tb_status status = TB_OK;

	*fd = -1;
	if (!dir)
		return tb_nomem(err);
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0 && !is_unknown(errno))
		status = tb_fail_errno(err, "%s: cannot be written", path);
	free(dir);
	return status;
}

enum tb_status
tb_folder_sync(int fd, const char *path, struct tb_err *err)
{
	int why = fd >= 0 && fsync(fd) ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (!why || is_unknown(why))
		return TB_OK;
	return tb_fail(err, TB_ESYNC, "%s: written, but could not be synced: %s; it may be gone "
		       "after a power cut", path, strerror(why));
}
