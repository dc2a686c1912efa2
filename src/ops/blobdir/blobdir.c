#include "config.h"

#include "src/ops/blobdir/blobdir.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/ops/fetch/fetch.h"
#include "src/store/model.h"

/* A row for the path (owned, may be NULL), with what stat() says and, of a regular file, its
 * name; what is gone meanwhile gets none. */
static enum tb_status
add_row(struct blobdir *d, char *path, struct tb_err *err)
{
	static const enum db_file_kind kinds[] = {
		[STORE_BLOB] = DB_FILE_BLOB, [STORE_PARTIAL] = DB_FILE_PARTIAL,
		[STORE_TEMP] = DB_FILE_TEMP, [STORE_FOREIGN] = DB_FILE_FOREIGN,
	};
	struct tb_ident id = { 0 };
	struct blobdir_entry *e;
	enum tb_status status;

	if (!path || !tb_grow(&d->rows, &d->cap, d->n + 1, sizeof(*d->rows))) {
		free(path);
		return tb_nomem(err);
	}
	status = d->seen && d->seen(d->arg, path, &id) ? TB_OK : tb_file_ident(path, &id, err);
	if (status && !tb_exists(path)) {	/* else it is something, or a link to nothing */
		free(path);
		return status == TB_ENOENT ? TB_OK : status;
	}
	e = &d->rows[d->n++];
	*e = (struct blobdir_entry){ .path = path, .id = id, .kind = DB_FILE_FOREIGN };
	if (!d->store)
		e->kind = DB_FILE_PARTIAL;
	else if (!status)
		e->kind = kinds[d->store->file(path, e->digest)];
	return TB_OK;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct blobdir_entry *)a)->path,
		      ((const struct blobdir_entry *)b)->path);
}

/* Calls fn for each entry of a folder that may be missing. */
typedef enum tb_status entry_fn(struct blobdir *d, const char *dir, const char *name,
				struct tb_err *err);

static enum tb_status
each(struct blobdir *d, const char *dir, entry_fn *fn, struct tb_err *err)
{
	struct tb_names names;
	struct tb_err why;
	enum tb_status status = tb_names_read(&names, dir, &why);

	for (size_t i = 0; !status && i < names.n; i++)
		status = fn(d, dir, names.v[i], &why);
	tb_names_free(&names);
	return unread_note(&d->unread, dir, status, &why, err);
}

static enum tb_status
add_entry(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	enum tb_status status;

	if (!path || !tb_is_work(name))
		return add_row(d, path, err);
	status = leftover_add(d, path, err);
	free(path);
	return status;
}

static enum tb_status
add_left(void *arg, const char *path, struct tb_err *err)
{
	return add_row(arg, tb_strdup(path), err);
}

/* What was to come into the store, or is on its way; its size is that of what is there. */
static enum tb_status
add_pulled(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX], *path = tb_path_join(dir, name);
	size_t n = d->n;
	enum tb_status status;

	if (path && !fetch_left_is_data(name, digest)) {
		free(path);
		return TB_OK;
	}
	status = add_row(d, path, err);
	if (!status && d->n > n) {
		d->rows[n].kind = DB_FILE_PARTIAL;
		d->rows[n].id.size = fetch_left_there(path);
		memcpy(d->rows[n].digest, digest, sizeof(digest));
	}
	return status;
}

static enum tb_status
add_pulls(struct blobdir *d, const char *root, struct tb_err *err)
{
	struct tb_names dirs;
	enum tb_status status = fetch_left_dirs(&dirs, root, err);

	for (size_t i = 0; i < dirs.n && !status; i++)
		status = each(d, dirs.v[i], add_pulled, err);
	tb_names_free(&dirs);
	return status;
}

/* What may belong to no model of a store. */
static enum tb_status
add_store(struct blobdir *d, const struct store_kind *kind, const char *path, struct tb_err *err)
{
	char *dir = kind->blobs ? tb_path_join(path, kind->blobs) : NULL;
	enum tb_status status = TB_OK;
	struct tb_err why;

	d->store = kind;
	if (dir)
		status = each(d, dir, add_entry, err);
	else if (kind->blobs)
		status = tb_nomem(err);
	else if (kind->left)
		status = unread_note(&d->unread, path, kind->left(path, add_left, d, &why), &why, err);
	d->store = NULL;
	free(dir);
	return status ? status : add_pulls(d, path, err);
}

/* An entry of a folder that is no store, or none that lists its files. */
static enum tb_status
add_loose(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	bool folder = path && tb_is_dir(path);
	const struct store_kind *kind = folder ? store_kind_of(path, true) : NULL;
	enum tb_status status = TB_OK;

	if (!path)
		return tb_nomem(err);
	if (kind)
		status = add_store(d, kind, path, err);
	else if (!folder && store_is_partial(name))
		status = add_row(d, tb_strdup(path), err);
	free(path);
	return status;
}

enum tb_status
blobdir_root(struct blobdir *d, const char *root, struct tb_err *err)
{
	const struct store_kind *kind;
	enum tb_status status;

	if (tb_exists(root) && tb_no_dir(root))	/* a model in one file */
		return TB_OK;
	kind = store_kind_of(root, false);
	status = kind && kind->file ? add_store(d, kind, root, err) : each(d, root, add_loose, err);
	if (!status && !(kind && kind->file))
		status = add_pulls(d, root, err);
	return status ? status : leftover_root(d, root, err);
}

enum tb_status
blobdir_model(struct blobdir *d, const char *root, const struct model_loc *loc,
	      struct tb_err *err)
{
	const char *path;
	size_t n;
	const struct store_kind *kind = store_of_model(loc, &path, &n);

	if (!kind || !kind->file || (!kind->beside && strlen(root) == n && !strncmp(path, root, n)) ||
	    (d->last && strlen(d->last) == n && !strncmp(d->last, path, n)))
		return TB_OK;
	free(d->last);
	d->last = tb_strndup(path, n);
	return d->last ? add_store(d, kind, d->last, err) : tb_nomem(err);
}

void
blobdir_sort(struct blobdir *d)
{
	size_t n = 0;

	if (d->n)
		qsort(d->rows, d->n, sizeof(*d->rows), by_path);
	for (size_t i = 0; i < d->n; i++)
		if ((n && !strcmp(d->rows[n - 1].path, d->rows[i].path)) ||
		    (d->rows[i].kind == DB_FILE_TEMP && leftover_in_use(d->rows[i].path)))
			free(d->rows[i].path);
		else
			d->rows[n++] = d->rows[i];
	d->n = n;
}

void
blobdir_free(struct blobdir *d)
{
	while (d->n)
		free(d->rows[--d->n].path);
	free(d->rows);
	free(d->last);
	unread_free(&d->unread);
	*d = (struct blobdir){ 0 };
}

/* Each path is in a place of its own, and another thread may have made it: asked for while
 * those before it are hashed. */
#define AHEAD 4

uint64_t
model_stamp(const struct model *m)
{
	uint64_t h = TB_FNV;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		uint64_t id[5] = { f->id.dev, f->id.ino, f->id.size, (uint64_t)f->id.mtime_ns,
				   f->missing };

		if (i + AHEAD < m->nfiles) {
			__builtin_prefetch(f[AHEAD].path);
			__builtin_prefetch(f[AHEAD].path + 64);
		}
		h = tb_fnv(h, f->path, strlen(f->path) + 1);
		h = tb_fnv(h, id, sizeof(id));
	}
	return h;
}
