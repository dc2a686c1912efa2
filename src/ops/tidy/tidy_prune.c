/* tidy_prune.c - what no model uses, in all stores. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/ops/tidy/tidy_parts.h"

/* A file that was found in a cache or folder: what nothing leads to, or a program left. */
static enum tb_status
prune_row(struct tidy *t, size_t root, const struct blobdir_entry *e, struct tb_err *err)
{
	bool blob = e->kind == DB_FILE_BLOB;

	if (!blob && e->kind != DB_FILE_PARTIAL && e->kind != DB_FILE_TEMP)
		return TB_OK;
	if (!(blob && t->young) && tidy_is_young(tidy_stamp(e->path), blob ? TIDY_HOUR : TIDY_DAY)) {
		tidy_stays(t, blob ? TIDY_YOUNG : TIDY_DOWNLOAD, e->id.size);
		return TB_OK;
	}
	return tidy_add(t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = e->path,
			.digest = e->digest, .root = root }, err);
}

/* Is there a row of a download beside it that goes on? */
static bool
downloads(const struct blobdir *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i].kind == DB_FILE_PARTIAL && !tidy_is_pull(d->rows[i].path) &&
		    tidy_is_young(tidy_stamp(d->rows[i].path), TIDY_HOUR))
			return true;
	return false;
}

/* What lies in an image layout is held there, as what rm takes out of one, and under the same
 * lock; all else below the folder that is looked into. */
static enum tb_status
row_root(struct tidy *t, const struct blobdir_entry *e, size_t folder, size_t *at,
	 struct tb_err *err)
{
	size_t n = store_oci.root_of(e->path);
	char *layout = n ? tb_strndup(e->path, n) : NULL;
	enum tb_status status = n && !layout ? tb_nomem(err) : TB_OK;

	*at = folder;
	if (layout)
		status = tidy_root(t, layout, at, err);
	free(layout);
	return status;
}

/* The stores of a folder that is looked into. */
struct below {
	struct tidy *t;
	const char *root;
	struct blobdir d;		/* of those that are not Ollama's */
	struct tb_names done;		/* those that have been looked into */
};

/* One store that cannot be read does not keep the others as they are. */
static enum tb_status
prune_unread(struct tidy *t, size_t n, const struct tb_err *why, struct tb_err *err)
{
	if (why->code == TB_ENOMEM || why->code == TB_ECANCEL)
		return tb_pass(err, why);
	while (t->n > n)
		tidy_action_free(&t->v[--t->n]);
	return tb_names_add(&t->unread, why->msg, err);
}

/* All of the folder that the file is in, for the first of its files; *last: that folder. */
static enum tb_status
prune_pulls(struct tidy *t, size_t root, const char *path, char **last, struct tb_err *err)
{
	char *dir = tb_path_parent(path);

	if (!dir)
		return tb_nomem(err);
	if (*last && !strcmp(*last, dir)) {
		free(dir);
		return TB_OK;
	}
	free(*last);
	*last = dir;
	return tidy_pulls_prune(t, root, dir, err);
}

static enum tb_status
prune_found(struct below *b, struct tb_err *err)
{
	struct blobdir *d = &b->d;
	struct tidy *t = b->t;
	size_t at, of;
	enum tb_status status = tidy_root(t, b->root, &at, err);
	char *pulls = NULL;
	bool busy;

	blobdir_sort(d);
	busy = !t->young && downloads(d);
	if (!status && d->unread.n)
		status = tb_names_add(&t->unread, d->unread.v[0].why, err);
	for (size_t i = 0; i < d->n && !status; i++) {
		const struct blobdir_entry *e = &d->rows[i];

		if (e->kind == DB_FILE_BLOB && (busy || unread_uses(&d->unread, e->path)))
			tidy_stays(t, busy ? TIDY_DOWNLOAD : TIDY_UNCLEAR, e->id.size);
		else if (tidy_is_pull(e->path))
			status = prune_pulls(t, at, e->path, &pulls, err);
		else if (!(status = row_root(t, e, at, &of, err)))
			status = prune_row(t, of, e, err);
	}
	free(pulls);
	return status;
}

/* Each folder once, by whatever path. */
static bool
is_done(const struct below *b, const char *root)
{
	for (size_t i = 0; i < b->done.n; i++)
		if (!strcmp(b->done.v[i], root) || tb_same_place(b->done.v[i], root))
			return true;
	return false;
}

static enum tb_status
prune_ollama(struct below *b, const char *root, struct tb_err *err)
{
	size_t n = b->t->n;
	struct tb_err why;

	if (is_done(b, root))
		return TB_OK;
	if (tb_names_add(&b->done, root, err))
		return TB_ENOMEM;
	return tidy_ollama_prune(b->t, root, &why) ? prune_unread(b->t, n, &why, err) : TB_OK;
}

static enum tb_status
see_model(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct below *b = arg;

	return *loc->root && tidy_is_ollama(loc->root) ? prune_ollama(b, loc->root, err)
						       : blobdir_model(&b->d, b->root, loc, err);
}

static enum tb_status
prune_folder(struct below *b, const char *root, struct tb_err *err)
{
	size_t n = b->t->n;
	struct tb_err why;
	enum tb_status status;

	if (is_done(b, root))
		return TB_OK;
	if (tb_names_add(&b->done, root, err))
		return TB_ENOMEM;
	b->root = root;
	status = blobdir_root(&b->d, root, &why);
	if (!status)
		status = store_walk(root, see_model, b, &b->d.unread, &why);
	if (!status)
		status = prune_found(b, &why);
	blobdir_free(&b->d);
	return status ? prune_unread(b->t, n, &why, err) : TB_OK;
}

enum tb_status
tidy_prune(struct tidy *t, struct op_ctx *ctx, struct tb_err *err)
{
	struct below b = { .t = t };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ctx->roots.n && !status; i++) {
		const char *root = ctx->roots.path[i];

		if (store_root_away(&ctx->roots, i))
			continue;
		if (!tb_no_dir(root))
			status = tidy_is_ollama(root) ? prune_ollama(&b, root, err)
						      : prune_folder(&b, root, err);
		else if (!tb_exists(root))	/* else a model in one file */
			status = tb_fail(err, TB_ENOENT, "%s: no such folder", root);
	}
	tb_names_free(&b.done);
	return status;
}
