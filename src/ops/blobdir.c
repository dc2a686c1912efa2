#include "config.h"

#include "src/ops/blobdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/leftover.h"
#include "src/store/hub.h"
#include "src/store/store.h"

/* Names that programs give to files on their way (a running create or
 * pull).  Whatever else starts with "sha256-" is one, too. */
static const char *const temporary[] = {
	".tbtui-tmp-", "sha256-", "Q4_K_M", "Q4_K_S", "Q8_0", "F16", "BF16", "F32", "COPY",
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
	return DB_FILE_FOREIGN;
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

static enum tb_status
add(struct blobdir *d, const char *dir, const char *name, struct tb_err *err)
{
	struct blobdir_entry *e;
	bool regular;

	if (!tb_grow(&d->rows, &d->cap, d->n + 1, sizeof(*d->rows)))
		return tb_nomem(err);
	e = &d->rows[d->n];
	*e = (struct blobdir_entry){ .path = tb_path_join(dir, name) };
	if (!e->path)
		return tb_nomem(err);
	d->n++;
	regular = tb_file_ident(e->path, &e->id, NULL) == TB_OK;
	if (!regular)
		e->id = (struct tb_ident){ 0 };
	e->kind = kind_of(name, regular, e->digest);
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
	DIR *handle = opendir(dir);
	enum tb_status status = TB_OK;
	struct dirent *entry;

	if (!handle && errno != ENOENT && fn == add)
		status = tb_fail_errno(err, "%s", dir);
	while (!status && handle && (entry = readdir(handle)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			status = fn(d, dir, entry->d_name, err);
	if (handle)
		closedir(handle);
	return status;
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

	if (!tb_grow(&d->rows, &d->cap, d->n + 1, sizeof(*d->rows)))
		return tb_nomem(err);
	e = &d->rows[d->n];
	*e = (struct blobdir_entry){ .path = tb_strdup(path) };
	if (!e->path)
		return tb_nomem(err);
	d->n++;
	regular = tb_file_ident(path, &e->id, NULL) == TB_OK;
	if (!regular)
		e->id = (struct tb_ident){ 0 };
	hash = hub_digest(path, e->digest);
	if (!hash || !tb_starts(e->digest, "sha256:"))
		*e->digest = 0;
	e->kind = regular && hash ? DB_FILE_BLOB : is_partial(name) ? DB_FILE_PARTIAL
						 : DB_FILE_FOREIGN;
	return TB_OK;
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
		status = hub_left(path, add_left, d, err);
	else if (is_partial(name) && !tb_is_dir(path))
		status = add_left(d, path, err);
	free(path);
	return status;
}

enum tb_status
blobdir_root(struct blobdir *d, const char *root, struct tb_err *err)
{
	enum tb_status status = store_is_ollama(root) ? add_blobs(d, root, err)
						      : each(d, root, add_loose, err);

	return status ? status : leftover_root(d, root, err);
}

enum tb_status
blobdir_model(struct blobdir *d, const char *root, const struct model_loc *loc,
	      struct tb_err *err)
{
	bool ollama = loc->kind == MODEL_OLLAMA_TENSORS || loc->kind == MODEL_OLLAMA_GGUF;
	size_t n = ollama ? strlen(loc->root) : hub_repository(loc->path);
	const char *path = ollama ? loc->root : loc->path;

	if (!n || (ollama && !strcmp(path, root)) ||
	    (d->last && strlen(d->last) == n && !strncmp(d->last, path, n)))
		return TB_OK;
	free(d->last);
	d->last = tb_strndup(path, n);
	if (!d->last)
		return tb_nomem(err);
	return ollama ? add_blobs(d, d->last, err) : hub_left(d->last, add_left, d, err);
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
	*d = (struct blobdir){ 0 };
}

static uint64_t
mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h;
}

uint64_t
model_stamp(const struct model *m)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		uint64_t id[5] = { f->id.dev, f->id.ino, f->id.size, (uint64_t)f->id.mtime_ns,
				   f->missing };

		h = mix(h, f->path, strlen(f->path) + 1);
		h = mix(h, id, sizeof(id));
	}
	return h;
}
