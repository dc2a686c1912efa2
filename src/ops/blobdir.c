#include "config.h"

#include "src/ops/blobdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

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

enum tb_status
blobdir_add(struct blobdir *d, const char *root, struct tb_err *err)
{
	char *dir = tb_path_join(root, "blobs");
	enum tb_status status = dir ? TB_OK : tb_nomem(err);
	DIR *handle = dir ? opendir(dir) : NULL;
	struct dirent *entry;

	if (!status && !handle && errno != ENOENT)
		status = tb_fail_errno(err, "%s", dir);
	while (!status && handle && (entry = readdir(handle)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			status = add(d, dir, entry->d_name, err);
	if (handle)
		closedir(handle);
	free(dir);
	return status;
}

void
blobdir_sort(struct blobdir *d)
{
	size_t n = 0;

	if (d->n)
		qsort(d->rows, d->n, sizeof(*d->rows), by_path);
	for (size_t i = 0; i < d->n; i++)
		if (n && !strcmp(d->rows[n - 1].path, d->rows[i].path))
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
