/* pull_place.c - what came and is right gets its names in the store: blobs, then the manifest. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/ops/content/content.h"
#include "src/ops/home/home.h"
#include "src/ops/pull/pull_parts.h"
#include "src/store/journal.h"
#include "src/store/ollama.h"

#define SYNC_EACH 16			/* files that are synced one by one, not with all others */

/* Where the blob lies that came; NULL: none did, or somebody else has taken it. */
static const char *
came_as(const struct pull *p, const struct pull_blob *b)
{
	const char *path = NULL;

	if (p->fetch && (b->there == PULL_ABSENT || b->there == PULL_DAMAGED))
		path = fetch_path(p->fetch, b->item);
	return path && !tb_absent(path) ? path : NULL;
}

/* ---- the disk has them ---- */

static enum tb_status
sync_fd(int fd, const char *path, bool all, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (fd < 0 || (all ? syncfs(fd) : fsync(fd)))
		status = tb_fail_errno(err, "%s: cannot be synced", path);
	if (fd >= 0)
		close(fd);
	return status;
}

/* Before they can be seen; all at once where there are many. */
static enum tb_status
sync_files(struct pull *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const char *path = came_as(p, &p->blobs[i]);

		p->blobs[i].came = (struct tb_ident){ 0 };
		if (path && !tb_file_ident(path, &p->blobs[i].came, NULL))
			n++;
	}
	if (n > SYNC_EACH)
		return sync_fd(open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), p->dir, true, err);
	for (size_t i = 0; !status && i < p->n; i++) {
		const char *path = came_as(p, &p->blobs[i]);

		if (path)
			status = sync_fd(open(path, O_RDONLY | O_CLOEXEC), path, false, err);
	}
	return status;
}

/* ---- in the place of what is damaged ---- */

/* A name in the journal's folder for what came, which keeps its own where that can be. */
static enum tb_status
mend_stage(struct journal *j, const char *file, unsigned *slot, struct tb_err *err)
{
	char *path = NULL;
	enum tb_status status = journal_stage(j, slot, &path, err);

	if (!status && link(file, path) && rename(file, path)) {
		status = tb_fail_errno(err, "%s", path);
		journal_unstage(j, *slot);
	}
	free(path);
	return status;
}

static enum tb_status
mend_step(const struct pull *p, struct journal *j, const struct pull_blob *b, struct tb_err *err)
{
	char *path = ollama_blob_path(p->root, b->layer->digest), shown[640];
	const struct journal_note note = { .model = name_format(&p->local, shown),
					   .digest = b->layer->digest, .bytes = b->was.size };
	const char *file = came_as(p, b), *below;
	unsigned slot;
	enum tb_status status = path ? mend_stage(j, file, &slot, err) : tb_nomem(err);

	if (!status) {
		below = path + strlen(p->root) + strspn(path + strlen(p->root), "/");
		status = tb_absent(path) ? journal_put(j, slot, below, &note, err)
					 : journal_swap(j, slot, below, &note, err);
		if (status)
			journal_unstage(j, slot);
	}
	free(path);
	return status;
}

static enum tb_status
mend_all(struct pull *p, struct pull_result *out, struct journal *j, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status = store_lock_alone(&lock, p->root, err);
	size_t n = 0;

	if (!status)
		status = journal_recover(p->root, &lock, NULL, err);
	for (size_t i = 0; !status && i < p->n; i++)
		if (p->blobs[i].there == PULL_DAMAGED && came_as(p, &p->blobs[i])) {
			status = mend_step(p, j, &p->blobs[i], err);
			n++;
		}
	if (!status && n)
		status = journal_commit(j, &lock, err);
	store_unlock(&lock);
	if (tb_written(status) && n) {
		out->undo = j->n;
		out->mended += n;
	}
	/* they are there, but of the model nothing is yet */
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err ? err->msg : "") : status;
}

static enum tb_status
mend(struct pull *p, struct pull_result *out, struct tb_err *err)
{
	bool any = false;
	struct journal j;
	enum tb_status status;
	char what[700];

	for (size_t i = 0; i < p->n; i++)
		any |= p->blobs[i].there == PULL_DAMAGED && came_as(p, &p->blobs[i]);
	if (!any)
		return TB_OK;
	snprintf(what, sizeof(what), "pull %.600s", out->name);
	status = journal_begin(&j, p->root, what, home_last_operation(p->ctx, p->root), err);
	if (!status) {
		status = mend_all(p, out, &j, err);
		journal_free(&j);
	}
	return status;
}

/* ---- beside what is there ---- */

static enum tb_status
add_blob(struct pull *p, struct ollama_writer *w, const struct pull_blob *b, bool *again,
	 struct tb_err *err)
{
	const struct manifest_layer *l = b->layer;
	enum media kind = l == &p->manifest.config ? MEDIA_CONFIG : media_parse(l->media_type);
	const char *file = b->there == PULL_ABSENT ? came_as(p, b) : NULL;
	enum tb_status status;

	if (file)
		return ollama_add_file(w, kind, l->name, file, l->digest, l->size, err);
	status = ollama_add_there(w, kind, l->name, l->digest, l->size, err);
	*again = status == TB_ENOENT || status == TB_EFORMAT;
	return status;
}

/* Somebody may have written the name meanwhile: the same, perhaps. */
static enum tb_status
commit(struct pull *p, struct ollama_writer *w, struct pull_result *out, struct tb_err *err)
{
	enum tb_status status;
	struct tb_err why;

	if (p->taken == PULL_SAME)
		return TB_OK;
	status = ollama_commit(w, &p->local, p->replace, &why);
	if (tb_written(status))
		keep_manifest(&out->kept, w);
	if (status == TB_EEXIST && !pull_find_name(p, NULL) && p->taken == PULL_SAME)
		return TB_OK;
	return status ? tb_pass(err, &why) : TB_OK;
}

/* What came has its second name now.  That the first goes changes the blobs' times, and who
 * takes a model away spares blobs that are younger than it: so it is younger. */
static void
let_go(struct pull *p, const struct ollama_writer *w)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->blobs[i].there != PULL_ABSENT && p->blobs[i].there != PULL_DAMAGED)
			fetch_forget(p->fetch, p->blobs[i].layer->digest);
	fetch_clear(p->fetch);
	if (w->path)
		(void)!utimensat(AT_FDCWD, w->path, NULL, 0);
}

/* All of it is right: nobody need hash it for that once more. */
static void
note_hashed(const struct pull *p)
{
	struct content_hashed *v = tb_calloc(p->n + 1, sizeof(*v));
	char **paths = tb_calloc(p->n + 1, sizeof(*paths)), *model = NULL;
	size_t n = 0;

	for (size_t i = 0; v && paths && i < p->n; i++) {
		const struct pull_blob *b = &p->blobs[i];
		bool there = b->there == PULL_SURE;

		if ((there || b->came.ino) && (paths[n] = ollama_blob_path(p->root, b->layer->digest))) {
			v[n] = (struct content_hashed){ paths[n], b->layer->digest,
							there ? b->was : b->came, !there };
			n++;
		}
	}
	if (n && !ollama_find_manifest(p->root, &p->local, &model, NULL) && model)
		content_note_hashed(p->ctx, v, n, (const char *const[]){ model }, 1);
	for (size_t i = 0; i < n; i++)
		free(paths[i]);
	free(model);
	free(paths);
	free(v);
}

enum tb_status
pull_place(struct pull *p, struct pull_result *out, bool *again, struct tb_err *err)
{
	struct ollama_writer w = { .lock = STORE_UNLOCKED };
	enum tb_status status = sync_files(p, err);

	*again = false;
	if (!status)
		status = mend(p, out, err);
	if (status)
		return status;
	status = ollama_writer_init(&w, p->root, err);
	w.text = &p->text.text;
	for (size_t i = 0; !status && i < p->n; i++)
		status = add_blob(p, &w, &p->blobs[i], again, err);
	if (!status)
		status = ollama_sync_blobs(&w, err);
	if (!status)
		status = commit(p, &w, out, err);
	if (tb_written(status))
		let_go(p, &w);
	ollama_writer_free(&w);
	if (tb_written(status) && !*again)
		note_hashed(p);
	return status;
}
