#include "config.h"

#include "src/ops/output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

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
