/* verify_store.c - what lies in blobs/ and belongs to no model. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/ops/blobdir/blobdir.h"

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- what is odd in a store ---- */

struct odd {
	struct verify_run *r;
	const struct store_kind *kind;
	const char *store;
	struct tb_names seen;		/* stores; owned, as are */
	struct tb_names blobs;		/* paths of what manifests of no model name */
};

/* What it names is of use for whoever gives it a right name again: no orphans. */
static enum tb_status
keep_named(struct odd *o, const struct manifest *m, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i <= m->nlayers && !status; i++) {
		const char *digest = i < m->nlayers ? m->layers[i].digest : m->config.digest;
		char *blob = *digest ? o->kind->blob_path(o->store, digest) : NULL;

		if (blob)
			status = tb_names_add(&o->blobs, blob, err);
		else if (*digest)
			status = tb_nomem(err);
		free(blob);
	}
	return status;
}

static enum tb_status
tell_odd(void *arg, enum store_odd what, const char *path, const char *why, struct tb_err *err)
{
	static const enum finding_code codes[] = {
		[ODD_NAMELESS] = F_NAME_BAD, [ODD_REF] = F_REF_BAD, [ODD_SIZE] = F_SIZE_MISMATCH,
		[ODD_DIGEST] = F_DIGEST_MISMATCH, [ODD_DESCRIPTION] = F_LAYOUT_BAD,
		[ODD_UNCHECKED] = F_UNCHECKED,
	};
	struct odd *o = arg;
	struct verify_where at = { .blob = path };
	enum tb_status status = TB_OK;
	struct manifest m;

	if (what == ODD_NAMELESS && manifest_read(&m, path, NULL)) {
		verify_find(o->r, F_LEFTOVER, &at, "%s: lies among the manifests and is none", path);
		return TB_OK;
	}
	verify_find(o->r, codes[what], &at, "%s: %s", path, why);
	if (what == ODD_NAMELESS) {
		status = keep_named(o, &m, err);
		manifest_free(&m);
	}
	return status;
}

static enum tb_status
look_at_store(struct odd *o, const char *store, const struct store_kind *kind, struct tb_err *err)
{
	struct tb_err why;
	enum tb_status status;

	for (size_t i = o->seen.n; i--;)
		if (!strcmp(o->seen.v[i], store))
			return TB_OK;
	if (tb_names_add(&o->seen, store, err))
		return TB_ENOMEM;
	o->kind = kind;
	o->store = store;
	status = kind->odd(store, tell_odd, o, &why);
	return unread_note(&o->r->unread, store, status, &why, err);
}

/* A root that is a store, or a folder in which they lie side by side. */
static enum tb_status
look_at_root(struct odd *o, const char *root, struct tb_err *err)
{
	const struct store_kind *kind = store_kind_of(root, false);
	struct tb_names e = { 0 };
	enum tb_status status = TB_OK;

	if (kind)
		return kind->odd ? look_at_store(o, root, kind, err) : TB_OK;
	if (tb_names_read(&e, root, NULL))	/* told by who walked it */
		return TB_OK;
	for (size_t i = 0; i < e.n && !status; i++) {
		char *path = tb_path_join(root, e.v[i]);

		kind = path && tb_is_dir(path) ? store_kind_of(path, true) : NULL;
		if (!path)
			status = tb_nomem(err);
		else if (kind && kind->odd)
			status = look_at_store(o, path, kind, err);
		free(path);
	}
	tb_names_free(&e);
	return status;
}

static enum tb_status
find_odd(struct odd *o, struct tb_err *err)
{
	const struct store_roots *roots = &o->r->ctx->roots;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < roots->n && !status; i++)
		if (!store_root_away(roots, i))
			status = look_at_root(o, roots->path[i], err);
	for (size_t i = 0; i < o->r->nmodels && !status; i++) {	/* stores below them */
		const char *path;
		size_t n;
		const struct store_kind *kind = store_of_model(&o->r->models[i].loc, &path, &n);
		char *store = kind && kind->odd ? tb_strndup(path, n) : NULL;

		if (store)
			status = look_at_store(o, store, kind, err);
		else if (kind && kind->odd)
			status = tb_nomem(err);
		free(store);
	}
	tb_names_free(&o->seen);
	return status;
}

/* ---- files that are no model's ---- */

/* Paths of all files of all models and `more`, sorted; caller frees the array alone. */
static enum tb_status
used_paths(const struct verify_run *r, const struct tb_names *more, const char ***out, size_t *n,
	   struct tb_err *err)
{
	size_t max = 1 + more->n;

	for (size_t i = 0; i < r->nmodels; i++)
		max += r->models[i].nfiles;
	*n = 0;
	*out = calloc(max, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	for (size_t i = 0; i < r->nmodels; i++)
		for (size_t k = 0; k < r->models[i].nfiles; k++)
			(*out)[(*n)++] = r->models[i].files[k].path;
	for (size_t i = 0; i < more->n; i++)
		(*out)[(*n)++] = more->v[i];
	qsort(*out, *n, sizeof(**out), by_text);
	return TB_OK;
}

/* An orphan is hashed when it may be the blob of a manifest that cannot be read, and
 * --deep: `ollama pull` takes a blob that has the right name without looking at it. */
static enum tb_status
keep_orphan(struct verify_run *r, const struct blobdir_entry *e, struct tb_err *err)
{
	struct verify_file *f;

	if (e->kind != DB_FILE_BLOB || !(r->req->deep || unread_uses(&r->unread, e->path)))
		return TB_OK;
	if (!tb_grow(&r->orphans, &r->orphans_cap, r->norphans + 1, sizeof(*r->orphans)))
		return tb_nomem(err);
	f = &r->orphans[r->norphans];
	*f = (struct verify_file){ .path = tb_arena_str(&r->mem, e->path), .id = e->id };
	if (!f->path)
		return tb_nomem(err);
	memcpy(f->digest, e->digest, sizeof(f->digest));
	r->norphans++;
	return TB_OK;
}

static enum tb_status
tell_unused(struct verify_run *r, const struct blobdir_entry *e, struct tb_err *err)
{
	struct verify_where at = { .blob = *e->digest ? e->digest : e->path };
	bool unclear = e->kind == DB_FILE_BLOB && unread_uses(&r->unread, e->path);
	bool orphan = e->kind == DB_FILE_BLOB && !unclear && !db_young(e->id.mtime_ns);
	char size[16];

	tb_human_bytes(e->id.size, size);
	if (unclear)
		verify_find(r, F_UNCLEAR, &at, "%s (%s) belongs to no model that could be read, perhaps"
			    " to one that could not", at.blob, size);
	else if (orphan)
		verify_find(r, F_ORPHAN, &at, "%s (%s) belongs to no model", at.blob, size);
	else if (e->kind == DB_FILE_BLOB)
		verify_find(r, F_YOUNG, &at, "%s (%s) belongs to no model, but is less than an hour"
			    " old", at.blob, size);
	else if (e->kind == DB_FILE_PARTIAL)
		verify_find(r, F_PARTIAL, &at, "%s (%s) is a download that did not end", at.blob,
			    size);
	else {
		char *text = leftover_text(e->path);

		verify_find(r, e->kind == DB_FILE_KEPT ? F_KEPT : F_LEFTOVER, &at, "%s (%s) %s",
			    e->path, size, text && *text ? text : "is no blob");
		free(text);
	}
	return verify_count_unused(r, e, orphan, err);
}

enum tb_status
verify_store(struct verify_run *r, struct tb_err *err)
{
	struct odd odd = { .r = r };
	struct blobdir d = { 0 };
	const char **used = NULL;
	size_t n = 0, told = r->unread.n;
	enum tb_status status = TB_OK;

	/* The roots, and stores that lie below them. */
	for (size_t i = 0; !status && i < r->ctx->roots.n; i++)
		if (!store_root_away(&r->ctx->roots, i))
			status = blobdir_root(&d, r->ctx->roots.path[i], err);
	for (size_t i = 0; !status && i < r->nmodels; i++)
		status = blobdir_model(&d, "", &r->models[i].loc, err);
	blobdir_sort(&d);
	if (!status)
		status = unread_add(&r->unread, &d.unread, err);
	if (!status)
		status = find_odd(&odd, err);
	/* Those that the walk over the models has not told already. */
	for (size_t i = told; i < r->unread.n; i++)
		verify_find_unread(r, &r->unread.v[i]);
	if (!status)
		status = used_paths(r, &odd.blobs, &used, &n, err);
	for (size_t i = 0; !status && i < d.n; i++)
		if (!bsearch(&d.rows[i].path, used, n, sizeof(*used), by_text)) {
			status = tell_unused(r, &d.rows[i], err);
			if (!status)
				status = keep_orphan(r, &d.rows[i], err);
		}
	blobdir_free(&d);
	tb_names_free(&odd.blobs);
	free(used);
	return status;
}
