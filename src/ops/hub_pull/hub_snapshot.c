/* hub_snapshot.c - a revision's folder: links to blobs by the names of files; and refs/. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/ops/hub_pull/hub_pull_parts.h"

char *
snapshot_path(const struct hub_pull *p, const struct hub_file *file)
{
	return tb_path_join(p->snapshot, file->path);
}

bool
snapshot_leads(const struct hub_pull *p, const struct hub_file *file)
{
	char *path = snapshot_path(p, file);
	char *blob = tb_asprintf("%s/blobs/%s", p->repo, hub_file_hex(file));
	bool yes = path && blob && tb_same_place(path, blob);

	free(path);
	free(blob);
	return yes;
}

/* The folders between the snapshot and a file are folders, not links to some. */
static enum tb_status
make_folders(const struct hub_pull *p, const struct hub_file *file, struct tb_err *err)
{
	char *path = snapshot_path(p, file);
	enum tb_status status = path ? tb_mkdirs(p->snapshot, err) : tb_nomem(err);
	struct stat st;

	for (char *c = path ? path + strlen(p->snapshot) + 1 : NULL; !status && (c = strchr(c, '/')); c++) {
		*c = 0;
		if (mkdir(path, 0777) && (errno != EEXIST || lstat(path, &st) || !S_ISDIR(st.st_mode)))
			status = errno == EEXIST ? tb_fail(err, TB_EEXIST, "%s: is no folder, and files of "
							   "the model belong into it", path)
						 : tb_fail_errno(err, "%s", path);
		*c = '/';
	}
	free(path);
	return status;
}

enum tb_status
snapshot_link(const struct hub_pull *p, const struct hub_file *file, struct tb_err *err)
{
	enum tb_status status = make_folders(p, file, err);
	struct tb_buf target = TB_BUF(8192);
	char *path = snapshot_path(p, file);

	for (const char *c = file->path; (c = strchr(c, '/')); c++)
		tb_buf_str(&target, "../");
	tb_buf_printf(&target, "../../blobs/%s", hub_file_hex(file));
	if (!status && (!path || tb_buf_failed(&target)))
		status = tb_nomem(err);
	if (!status && symlink(target.p, path) && !snapshot_leads(p, file))
		status = tb_fail_errno(err, "%s: cannot be made", path);
	tb_buf_free(&target);
	free(path);
	return status;
}

static enum tb_status
sync_folder(const char *dir, struct tb_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum tb_status status = TB_OK;

	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		status = tb_fail_errno(err, "%s: cannot be synced", dir);
	if (fd >= 0)
		close(fd);
	return status;
}

enum tb_status
snapshot_sync(const struct hub_pull *p, struct tb_err *err)
{
	char *blobs = tb_path_join(p->repo, "blobs"), *above = tb_path_join(p->repo, "snapshots");
	enum tb_status status = blobs && above ? sync_folder(blobs, err) : tb_nomem(err);
	char *last = NULL;

	for (size_t i = 0; !status && i < p->files.n; i++) {
		char *path = p->take[i] ? snapshot_path(p, &p->files.v[i]) : NULL;
		char *dir = path ? tb_path_parent(path) : NULL;

		if (p->take[i] && !dir)
			status = tb_nomem(err);
		if (!status && dir && (!last || strcmp(dir, last)))
			status = sync_folder(dir, err);
		if (dir) {
			free(last);
			last = dir;
		}
		free(path);
	}
	if (!status)
		status = sync_folder(p->snapshot, err);
	if (!status)
		status = sync_folder(above, err);
	free(last);
	free(above);
	free(blobs);
	return status;
}

enum tb_status
snapshot_name(const struct hub_pull *p, struct tb_err *err)
{
	size_t n = strlen(p->name.revision);
	char *path, *text = NULL;
	enum tb_status status = TB_OK;

	if (n >= 7 && tb_starts(p->commit, p->name.revision))
		return TB_OK;			/* a commit needs no other name */
	path = tb_asprintf("%s/refs/%s", p->repo, p->name.revision);
	if (!path)
		return tb_nomem(err);
	if (tb_file_slurp(path, 256, &text, NULL, NULL) || strcmp(text, p->commit))
		status = tb_out_file(path, p->commit, strlen(p->commit), true, err);
	free(text);
	free(path);
	return status;
}
