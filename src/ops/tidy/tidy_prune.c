/* tidy_prune.c - what no model uses, in all stores. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		if (d->rows[i].kind == DB_FILE_PARTIAL && tidy_is_young(tidy_stamp(d->rows[i].path),
									TIDY_HOUR))
			return true;
	return false;
}

static enum tb_status
prune_folder(struct tidy *t, const char *root, struct tb_err *err)
{
	struct blobdir d = { 0 };
	size_t at;
	enum tb_status status = blobdir_root(&d, root, err);
	bool busy;

	blobdir_sort(&d);
	busy = !t->young && downloads(&d);
	if (!status)
		status = tidy_root(t, root, &at, err);
	if (!status && d.unread.n)
		snprintf(t->unread, sizeof(t->unread), "%s", d.unread.v[0].why);
	for (size_t i = 0; i < d.n && !status; i++) {
		const struct blobdir_entry *e = &d.rows[i];

		if (e->kind == DB_FILE_BLOB && (busy || unread_uses(&d.unread, e->path)))
			tidy_stays(t, busy ? TIDY_DOWNLOAD : TIDY_UNCLEAR, e->id.size);
		else
			status = prune_row(t, at, e, err);
	}
	blobdir_free(&d);
	return status;
}

/* Ollama stores that lie in a folder that is looked into. */
struct below { struct tidy *t; struct tb_names done; };

static enum tb_status
prune_store(struct below *b, const char *root, struct tb_err *err)
{
	for (size_t i = 0; i < b->done.n; i++)
		if (!strcmp(b->done.v[i], root) || tb_same_place(b->done.v[i], root))
			return TB_OK;
	if (tb_names_add(&b->done, root, err))
		return TB_ENOMEM;
	return tidy_is_ollama(root) ? tidy_ollama_prune(b->t, root, err)
				    : prune_folder(b->t, root, err);
}

static enum tb_status
see_model(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	return *loc->root && tidy_is_ollama(loc->root) ? prune_store(arg, loc->root, err) : TB_OK;
}

enum tb_status
tidy_prune(struct tidy *t, struct op_ctx *ctx, struct tb_err *err)
{
	struct below b = { .t = t };
	struct unread unread = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ctx->roots.n && !status; i++) {
		const char *root = ctx->roots.path[i];

		if (store_root_away(&ctx->roots, i))
			continue;
		if (tb_no_dir(root)) {
			if (!tb_exists(root))
				status = tb_fail(err, TB_ENOENT, "%s: no such folder", root);
			continue;		/* a model in one file */
		}
		status = prune_store(&b, root, err);
		if (!status && !tidy_is_ollama(root))
			status = store_walk(root, see_model, &b, &unread, err);
	}
	unread_free(&unread);
	tb_names_free(&b.done);
	return status;
}
