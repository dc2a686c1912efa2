#include "config.h"

#include "src/ops/scan/blobdir.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/ops/scan/leftover.h"
#include "src/store/hub.h"
#include "src/store/store.h"

/* Names that programs give to files on their way (a running create or
 * pull).  Whatever else starts with "sha256-" is one, too. */
static const char *const temporary[] = {
	"sha256-", "Q4_K_M", "Q4_K_S", "Q8_0", "F16", "BF16", "F32", "COPY",
	"projector-metadata", "compat-tensors", "split-copy", "split-gguf-",
};

static enum db_file_kind
kind_of(const char *name, bool regular, char digest[TB_DIGEST_MAX])
{
	*digest = 0;
	if (!regular)
		return DB_FILE_FOREIGN;
	if (digest_parse(name, digest))
		return DB_FILE_BLOB;
	if (tb_starts(name, "sha256-") && (strstr(name, "-partial") || tb_ends(name, ".tmp")))
		return DB_FILE_PARTIAL;
	for (size_t i = 0; i < sizeof(temporary) / sizeof(*temporary); i++)
		if (tb_starts(name, temporary[i]))
			return DB_FILE_TEMP;
	return tb_is_temporary(name) ? DB_FILE_TEMP : DB_FILE_FOREIGN;
}

/* How names of downloads end that have not: Hugging Face, llama.cpp, others. */
static const char *const endings[] = {
	".incomplete", ".downloadInProgress", ".part", ".partial", ".crdownload", ".aria2",
};

static bool
is_partial(const char *name)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (tb_ends(name, endings[i]))
			return true;
	return false;
}

/* A new row for the path (owned, may be NULL), with what stat() says.  What is gone
 * meanwhile gets none: *out is NULL. */
static enum tb_status
add_row(struct blobdir *d, char *path, struct blobdir_entry **out, bool *regular,
	struct tb_err *err)
{
	struct tb_ident id = { 0 };
	enum tb_status status;

	*out = NULL;
	if (!path || !tb_grow(&d->rows, &d->cap, d->n + 1, sizeof(*d->rows))) {
		free(path);
		return tb_nomem(err);
	}
	status = tb_file_ident(path, &id, err);
	*regular = !status;
	if (status && !tb_exists(path)) {	/* else it is something, or a link to nothing */
		free(path);
		return status == TB_ENOENT ? TB_OK : status;
	}
	*out = &d->rows[d->n++];
	**out = (struct blobdir_entry){ .path = path, .id = id };
	return TB_OK;
}

static enum tb_status
add(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	struct blobdir_entry *e;
	bool regular;
	enum tb_status status = add_row(d, tb_path_join(dir, name), &e, &regular, err);

	if (e)
		e->kind = kind_of(name, regular, e->digest);
	return status;
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
add_blobs(struct blobdir *d, const char *root, struct tb_err *err)
{
	char *dir = tb_path_join(root, "blobs");
	enum tb_status status = dir ? each(d, dir, add, err) : tb_nomem(err);

	free(dir);
	return status;
}

/* A file in the blobs/ of a repository that no snapshot leads to. */
static enum tb_status
add_left(void *arg, const char *path, struct tb_err *err)
{
	struct blobdir *d = arg;
	const char *name = strrchr(path, '/') + 1;
	struct blobdir_entry *e;
	bool regular, hash;
	enum tb_status status = add_row(d, tb_strdup(path), &e, &regular, err);

	if (!e)
		return status;
	hash = hub_digest(path, e->digest);
	if (!hash || !tb_starts(e->digest, "sha256:"))
		*e->digest = 0;
	e->kind = regular && hash ? DB_FILE_BLOB : is_partial(name) ? DB_FILE_PARTIAL
						 : DB_FILE_FOREIGN;
	return TB_OK;
}

static enum tb_status
add_repository(struct blobdir *d, const char *path, struct tb_err *err)
{
	struct tb_err why;
	enum tb_status status = hub_left(path, add_left, d, &why);

	return unread_note(&d->unread, path, status, &why, err);
}

/* An entry of a folder that is no Ollama store. */
static enum tb_status
add_loose(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	enum tb_status status = TB_OK;

	if (!path)
		return tb_nomem(err);
	if (tb_starts(name, "models--") && tb_is_dir(path))
		status = add_repository(d, path, err);
	else if (is_partial(name) && !tb_is_dir(path))
		status = add_left(d, path, err);
	free(path);
	return status;
}

enum tb_status
blobdir_root(struct blobdir *d, const char *root, struct tb_err *err)
{
	enum tb_status status;

	if (tb_exists(root) && tb_no_dir(root))	/* a model in one file */
		return TB_OK;
	status = store_is_ollama(root) ? add_blobs(d, root, err) : each(d, root, add_loose, err);
	return status ? status : leftover_root(d, root, err);
}

enum tb_status
blobdir_model(struct blobdir *d, const char *root, const struct model_loc *loc,
	      struct tb_err *err)
{
	bool ollama = kind_shares_blobs(loc->kind);
	size_t n = ollama ? strlen(loc->root) : hub_repository(loc->path);
	const char *path = ollama ? loc->root : loc->path;

	if (!n || (ollama && !strcmp(path, root)) ||
	    (d->last && strlen(d->last) == n && !strncmp(d->last, path, n)))
		return TB_OK;
	free(d->last);
	d->last = tb_strndup(path, n);
	if (!d->last)
		return tb_nomem(err);
	return ollama ? add_blobs(d, d->last, err) : add_repository(d, d->last, err);
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

uint64_t
model_stamp(const struct model *m)
{
	uint64_t h = TB_FNV;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		uint64_t id[5] = { f->id.dev, f->id.ino, f->id.size, (uint64_t)f->id.mtime_ns,
				   f->missing };

		h = tb_fnv(h, f->path, strlen(f->path) + 1);
		h = tb_fnv(h, id, sizeof(id));
	}
	return h;
}
