/* journal_tree.c - what lies in an operation's folder: how much that is, and deleting it.
 *
 * What was taken away may be anybody's folder, and they may still be in it: while it is
 * deleted, a folder in it can become a link to one of ours.  So each is opened from the one
 * above it, never by a path, and none that is on another file system. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/store/journal_parts.h"

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEPTH_MAX 512		/* a file descriptor each */

/* ---- deleting ---- */

/* Where it is: the folder that is open, its path for messages, and how far down. */
struct below { int fd; dev_t dev; const char *path; unsigned depth; struct tb_job *job; };

static enum tb_status clear_folder(const struct below *b, struct tb_err *err);

static enum tb_status
delete_folder(const struct below *b, const char *name, const char *path, struct tb_err *err)
{
	struct below in = { openat(b->fd, name, OPEN_FOLDER), b->dev, path, b->depth + 1,
			    b->job };
	enum tb_status status = TB_OK;
	struct stat st;

	if (in.fd < 0)
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s: cannot be deleted", path);
	if (fstat(in.fd, &st) || st.st_dev != b->dev)
		status = tb_fail(err, TB_EUNSUP, "%s: is on another file system, of which nothing is "
				 "deleted: unmount it first", path);
	else if (in.depth > DEPTH_MAX)
		status = tb_fail(err, TB_ELIMIT, "too deep; delete it by hand: %s", path);
	else
		status = clear_folder(&in, err);
	close(in.fd);
	if (!status && unlinkat(b->fd, name, AT_REMOVEDIR) && errno != ENOENT)
		status = tb_fail_errno(err, "%s: cannot be deleted", path);
	return status;
}

static enum tb_status
delete_entry(const struct below *b, const char *name, struct tb_err *err)
{
	char *path = tb_path_join(b->path, name);
	enum tb_status status = path ? TB_OK : tb_nomem(err);
	struct stat st;

	if (!status && fstatat(b->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		status = errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s", path);
	else if (!status && S_ISDIR(st.st_mode))
		status = delete_folder(b, name, path, err);
	else if (!status && unlinkat(b->fd, name, 0) && errno != ENOENT)
		status = tb_fail_errno(err, "%s: cannot be deleted", path);
	else if (!status)
		tb_job_step(b->job, S_ISREG(st.st_mode) && st.st_nlink == 1 ? (uint64_t)st.st_size : 0, 0);
	free(path);
	return status;
}

static enum tb_status
clear_folder(const struct below *b, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read_at(&names, b->fd, b->path, err);

	for (size_t i = 0; i < names.n && !status; i++)
		status = delete_entry(b, names.v[i], err);
	tb_names_free(&names);
	return status;
}

/* In the order in which they were taken: models before their blobs, so that what is left
 * when this ends early is no model without some of them. */
static int
by_slot(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t m = strlen(x), n = strlen(y);

	return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

/* list: the list as well. */
static enum tb_status
clear_slots(const struct below *top, bool list, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read_at(&names, top->fd, top->path, err);

	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), by_slot);
	for (size_t i = 0; i < names.n && !status; i++) {
		bool slot = !tb_starts(names.v[i], JOURNAL_LIST);

		if (!slot && !list)
			continue;
		status = tb_job_check(top->job, err);
		if (!status && !(status = delete_entry(top, names.v[i], err)))
			tb_job_step(top->job, 0, slot);
	}
	tb_names_free(&names);
	return status;
}

enum tb_status
journal_delete(const struct journal *j, bool list, struct tb_err *err)
{
	struct below top = { .fd = open(j->dir, OPEN_FOLDER), .path = j->dir, .job = j->job };
	enum tb_status status = TB_OK;
	struct stat st;

	if (top.fd < 0 || fstat(top.fd, &st)) {
		status = tb_fail_errno(err, "%s: cannot be opened", j->dir);
	} else {
		top.dev = st.st_dev;
		status = clear_slots(&top, list, err);
	}
	if (top.fd >= 0)
		close(top.fd);
	if (!status && list && rmdir(j->dir))
		status = tb_fail_errno(err, "%s: cannot be deleted", j->dir);
	return status;
}

/* ---- what it holds ---- */

static enum tb_status
tree_size(const struct below *b, const char *name, uint64_t *bytes, struct tb_err *err)
{
	struct below in = { .fd = -1, .depth = b->depth + 1 };
	struct tb_names names = { 0 };
	enum tb_status status = TB_OK;
	struct stat st;
	char *path;

	if (fstatat(b->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s/%s", b->path, name);
	if (S_ISREG(st.st_mode) && st.st_nlink == 1)
		*bytes += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode) || in.depth > DEPTH_MAX)
		return TB_OK;
	in.fd = openat(b->fd, name, OPEN_FOLDER);
	in.path = path = tb_path_join(b->path, name);
	if (in.fd < 0 || !path)
		status = path ? tb_fail_errno(err, "%s", path) : tb_nomem(err);
	else
		status = tb_names_read_at(&names, in.fd, path, err);
	for (size_t i = 0; i < names.n && !status; i++)
		status = tree_size(&in, names.v[i], bytes, err);
	tb_names_free(&names);
	free(path);
	if (in.fd >= 0)
		close(in.fd);
	return status;
}

enum tb_status
journal_held(const struct journal *j, uint64_t *things, uint64_t *bytes, struct tb_err *err)
{
	struct tb_names names = { 0 };
	struct below top = { .fd = open(j->dir, OPEN_FOLDER), .path = j->dir };
	enum tb_status status = top.fd < 0 ? tb_fail_errno(err, "%s", j->dir)
					   : tb_names_read_at(&names, top.fd, j->dir, err);

	*things = *bytes = 0;
	for (size_t i = 0; i < names.n && !status; i++) {
		if (tb_starts(names.v[i], JOURNAL_LIST))
			continue;
		status = tree_size(&top, names.v[i], bytes, err);
		++*things;
	}
	tb_names_free(&names);
	if (top.fd >= 0)
		close(top.fd);
	return status;
}
