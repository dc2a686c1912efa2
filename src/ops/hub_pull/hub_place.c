/* hub_place.c - what came and is right gets its names in the cache: blobs, links, the revision. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/ops/content/content.h"
#include "src/ops/home/home.h"
#include "src/ops/hub_pull/hub_pull_parts.h"
#include "src/store/journal.h"
#include "src/store/lock.h"

#define SYNC_EACH 16			/* files that are synced one by one, not with all others */

enum tb_status
hub_make_repo(const struct hub_pull *p, struct tb_err *err)
{
	static const char *const folders[] = { "blobs", "refs", "snapshots" };
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < 3; i++) {
		char *dir = tb_path_join(p->repo, folders[i]);

		status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);
		free(dir);
	}
	return status;
}

/* Where the blob lies that came; NULL: none did, or somebody else has taken it. */
static const char *
hub_came_as(const struct hub_pull *p, const struct hub_blob *b)
{
	const char *path = NULL;

	if (p->fetch && (b->there == HUB_ABSENT || b->there == HUB_DAMAGED))
		path = fetch_path(p->fetch, b->item);
	return path && !tb_absent(path) ? path : NULL;
}

/* ---- the disk has them ---- */

static enum tb_status
sync_path(const char *path, bool all, struct tb_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum tb_status status = TB_OK;

	if (fd < 0 || (all ? syncfs(fd) : fsync(fd)))
		status = tb_fail_errno(err, "%s: cannot be synced", path);
	if (fd >= 0)
		close(fd);
	return status;
}

/* Before they can be seen; all at once where there are many. */
static enum tb_status
sync_blobs(struct hub_pull *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const char *path = hub_came_as(p, &p->blobs[i]);

		p->blobs[i].came = (struct tb_ident){ 0 };
		if (path && !tb_file_ident(path, &p->blobs[i].came, NULL))
			n++;
	}
	if (n > SYNC_EACH)
		return sync_path(p->dir, true, err);
	for (size_t i = 0; !status && i < p->n; i++) {
		const char *path = hub_came_as(p, &p->blobs[i]);

		if (path)
			status = sync_path(path, false, err);
	}
	return status;
}

/* ---- beside what is there ---- */

/* Somebody else may have put the same there, or taken away what was. */
static enum tb_status
add_hub_blob(const struct hub_pull *p, const struct hub_blob *b, bool *again, struct tb_err *err)
{
	const char *file = b->there == HUB_ABSENT ? hub_came_as(p, b) : NULL;
	struct tb_ident now;

	if (b->there == HUB_DAMAGED) {
		*again |= !hub_came_as(p, b);
		return TB_OK;
	}
	if (b->there == HUB_SURE || !file) {
		*again |= tb_file_ident(b->path, &now, NULL) || now.size != b->file->size ||
			  (b->there == HUB_SURE && !tb_ident_equal(&now, &b->was));
		return TB_OK;
	}
	if (link(file, b->path) && tb_rename_new(file, b->path)) {
		if (tb_same_place(file, b->path))
			return TB_OK;		/* two pulls share what comes */
		*again = tb_exists(b->path);
		return *again ? TB_OK : tb_fail_errno(err, "%s: cannot be written", b->path);
	}
	(void)!utimensat(AT_FDCWD, b->path, NULL, 0);	/* a young blob is not pruned */
	return TB_OK;
}

/* ---- in the place of what is wrong ---- */

static const char *
below_root(const struct hub_pull *p, const char *path)
{
	path += strlen(p->root);
	return path + strspn(path, "/");
}

static enum tb_status
swap_blob(const struct hub_pull *p, struct journal *j, const struct hub_blob *b, struct tb_err *err)
{
	const struct journal_note note = { .digest = b->file->digest, .bytes = b->was.size };
	const char *file = hub_came_as(p, b);
	char *slot_path = NULL;
	unsigned slot;
	enum tb_status status = journal_stage(j, &slot, &slot_path, err);

	if (!status && link(file, slot_path) && rename(file, slot_path))
		status = tb_fail_errno(err, "%s", slot_path);
	else if (!status)
		status = tb_absent(b->path)
		       ? journal_put(j, slot, below_root(p, b->path), &note, err)
		       : journal_swap(j, slot, below_root(p, b->path), &note, err);
	if (status && slot_path)
		journal_unstage(j, slot);
	free(slot_path);
	return status;
}

/* An entry of the snapshot that leads elsewhere: there is something, and it is not that. */
static bool
is_odd(const struct hub_pull *p, size_t i, char **path)
{
	struct stat st;

	*path = NULL;
	if (!p->take[i] || snapshot_leads(p, &p->files.v[i]))
		return false;
	*path = snapshot_path(p, &p->files.v[i]);
	if (*path && !lstat(*path, &st) && !S_ISDIR(st.st_mode))
		return true;
	free(*path);
	*path = NULL;
	return false;
}

static enum tb_status
mend_steps(struct hub_pull *p, struct journal *j, size_t *n, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *path;

	for (size_t i = 0; !status && i < p->n; i++)
		if (p->blobs[i].there == HUB_DAMAGED && hub_came_as(p, &p->blobs[i])) {
			status = swap_blob(p, j, &p->blobs[i], err);
			(*n)++;
		}
	for (size_t i = 0; !status && i < p->files.n; i++)
		if (is_odd(p, i, &path)) {
			const struct journal_note note = { .digest = NULL };

			status = journal_take(j, below_root(p, path), &note, err);
			free(path);
			(*n)++;
		}
	return status;
}

/* `lock` is held alone by then. */
static enum tb_status
mend(struct hub_pull *p, struct store_lock *lock, struct hub_pull_result *out, struct tb_err *err)
{
	struct journal j;
	enum tb_status status;
	char what[300];
	size_t n = 0;

	snprintf(what, sizeof(what), "pull hf:%.200s", p->name.repo);
	status = store_lock_alone(lock, p->root, err);
	if (!status)
		status = journal_recover(p->root, lock, NULL, err);
	if (status)
		return status;
	status = journal_begin(&j, p->root, what, home_last_operation(p->ctx, p->root), err);
	if (status)
		return status;
	status = mend_steps(p, &j, &n, err);
	if (!status && n)
		status = journal_commit(&j, lock, err);
	if (tb_written(status) && n) {
		out->undo = j.n;
		out->mended += n;
	}
	journal_free(&j);
	/* they are there, but of the model nothing is yet */
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err ? err->msg : "") : status;
}

static bool
needs_mending(const struct hub_pull *p)
{
	char *path;

	for (size_t i = 0; i < p->n; i++)
		if (p->blobs[i].there == HUB_DAMAGED)
			return true;
	for (size_t i = 0; i < p->files.n; i++)
		if (is_odd(p, i, &path)) {
			free(path);
			return true;
		}
	return false;
}

static enum tb_status
place_all(struct hub_pull *p, struct store_lock *lock, struct hub_pull_result *out, bool *again,
	  struct tb_err *err)
{
	enum tb_status status = hub_make_repo(p, err);

	for (size_t i = 0; !status && i < p->n; i++)
		status = add_hub_blob(p, &p->blobs[i], again, err);
	if (status || *again)
		return status;
	if (needs_mending(p))
		status = mend(p, lock, out, err);
	for (size_t i = 0; !status && i < p->files.n; i++)
		if (p->take[i] && !snapshot_leads(p, &p->files.v[i]))
			status = snapshot_link(p, &p->files.v[i], err);
	if (!status)
		status = snapshot_sync(p, err);
	return status ? status : snapshot_name(p, err);
}

/* What of the snapshot is a model: its folder, or files of it. */
static void
hub_note_models(const struct hub_pull *p, const struct content_hashed *v, size_t n)
{
	char **models = tb_calloc(p->files.n + 1, sizeof(*models));
	size_t nmodels = 0;

	for (size_t i = 0; models && i < p->files.n; i++)
		if (p->take[i] && tb_ends(p->files.v[i].path, ".gguf") &&
		    (models[nmodels + 1] = snapshot_path(p, &p->files.v[i])))
			nmodels++;
	if (models) {
		models[0] = p->snapshot;
		content_note_hashed(p->ctx, v, n, (const char *const *)models, nmodels + 1);
	}
	for (size_t i = 0; i < nmodels; i++)
		free(models[i + 1]);
	free(models);
}

/* All of it is right: nobody need hash it for that once more. */
static void
hub_note_hashed(const struct hub_pull *p)
{
	struct content_hashed *v = tb_calloc(p->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v && i < p->n; i++) {
		const struct hub_blob *b = &p->blobs[i];
		bool there = b->there == HUB_SURE;

		if (there || b->came.ino)
			v[n++] = (struct content_hashed){ b->path, b->file->digest, there ? b->was : b->came,
							  !there };
	}
	if (n)
		hub_note_models(p, v, n);
	free(v);
}

enum tb_status
hub_place(struct hub_pull *p, struct hub_pull_result *out, bool *again, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status = sync_blobs(p, err);

	*again = false;
	if (!status)
		status = store_lock_shared(&lock, p->root, err);
	if (!status)
		status = place_all(p, &lock, out, again, err);
	store_unlock(&lock);
	if ((!status || status == TB_ESYNC) && !*again)
		hub_note_hashed(p);
	return status;
}
