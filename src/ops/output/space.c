#include "config.h"

#include "src/ops/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define MORE (16u << 20)	/* headers, JSON, a manifest */

/* Of the nearest folder that is there. */
static int
ask(const char *dir, struct statvfs *fs)
{
	char *path = tb_strdup(dir), *slash;
	int r = -1;

	if (!path)
		errno = ENOMEM;
	while (path && (r = statvfs(path, fs)) && errno == ENOENT && (slash = strrchr(path, '/')) &&
	       slash > path)
		*slash = 0;
	if (r && path && errno == ENOENT)
		r = statvfs(*path == '/' ? "/" : ".", fs);
	free(path);
	return r;
}

uint64_t
space_free(const char *dir)
{
	struct statvfs fs;

	return ask(dir, &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}

enum tb_status
space_check(const char *dir, uint64_t bytes, struct tb_err *err)
{
	uint64_t need = bytes + MORE, have;
	struct statvfs fs;
	char a[16], b[16];

	if (ask(dir, &fs))
		return errno == ENOSYS ? TB_OK : tb_fail_errno(err, "%s", dir);
	have = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (have >= need)
		return TB_OK;
	return tb_fail(err, TB_ELIMIT, "%s: the result needs %s, free are %s", dir,
		       tb_human_bytes(need, a), tb_human_bytes(have, b));
}

/* f_files 0: the file system makes inodes as it needs them. */
static enum tb_status
inodes_check(const char *dir, uint64_t files, struct tb_err *err)
{
	struct statvfs fs;

	if (ask(dir, &fs) || !fs.f_files || fs.f_favail >= files)
		return TB_OK;
	return tb_fail(err, TB_ELIMIT, "%s: the result needs %ju files, and there is room for %ju "
		       "(inodes)", dir, (uintmax_t)files, (uintmax_t)fs.f_favail);
}

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443	/* of Linux 5.14; what is older says that it has none */
#endif

/* Who may do anything has no quota; who asks in vain has none that is known. */
static enum tb_status
quota_check(const char *dir, const struct space_need *need, struct tb_err *err)
{
	struct dqblk q = { 0 };
	int fd = geteuid() ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	long r = fd < 0 ? -1 : syscall(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, USRQUOTA), geteuid(),
				       &q);
	uint64_t most = q.dqb_bhardlimit * 1024;
	char a[16], b[16];

	if (fd >= 0)
		close(fd);
	if (r)
		return TB_OK;
	if (most && q.dqb_curspace + need->bytes > most)
		return tb_fail(err, TB_ELIMIT, "%s: the result needs %s, your quota leaves %s", dir,
			       tb_human_bytes(need->bytes, a),
			       tb_human_bytes(most > q.dqb_curspace ? most - q.dqb_curspace : 0, b));
	if (q.dqb_ihardlimit && q.dqb_curinodes + need->files > q.dqb_ihardlimit)
		return tb_fail(err, TB_ELIMIT, "%s: the result needs %ju files, more than your quota "
			       "of %ju leaves", dir, (uintmax_t)need->files,
			       (uintmax_t)q.dqb_ihardlimit);
	return TB_OK;
}

/* Beyond it a write does not fail but kills. */
static enum tb_status
length_check(const char *dir, uint64_t largest, struct tb_err *err)
{
	struct rlimit most;
	char a[16], b[16];

	if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY ||
	    most.rlim_cur >= largest)
		return TB_OK;
	return tb_fail(err, TB_ELIMIT, "%s: the result has a file of %s, and files may have %s here "
		       "(ulimit -f)", dir, tb_human_bytes(largest, a),
		       tb_human_bytes(most.rlim_cur, b));
}

enum tb_status
space_ready(const char *dir, const struct space_need *need, struct tb_err *err)
{
	enum tb_status status = space_check(dir, need->bytes, err);

	if (!status)
		status = inodes_check(dir, need->files, err);
	if (!status)
		status = quota_check(dir, need, err);
	return status ? status : length_check(dir, need->largest, err);
}
