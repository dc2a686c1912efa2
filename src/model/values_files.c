/* values_files.c - the bytes of tensors, from files that are what they were when the
 * model was opened. */
#include "config.h"

#include "src/model/values_files.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/base/mem.h"

#define KEPT 256u	/* files that stay open: a store's model may have 100,000 of them */

/* A blob's time is that of its last use: whoever makes a model of blobs that are there
 * touches them.  What they hold is known by their digests, and nobody writes to them. */
static bool
is_same(const struct model_file *mf, const struct tb_ident *now)
{
	if (!*mf->digest)
		return tb_ident_equal(now, &mf->id);
	return now->dev == mf->id.dev && now->ino == mf->id.ino && now->size == mf->id.size;
}

static enum tb_status
values_file_open(struct tb_file *f, const struct model *m, unsigned file, struct tb_err *err)
{
	const struct model_file *mf = &m->files[file];
	enum tb_status status;

	if (mf->missing)
		return tb_fail(err, TB_ENOENT, "%s: is missing", mf->path);
	status = tb_file_open(f, mf->path, err);
	if (status || is_same(mf, &f->id))
		return status;
	tb_file_close(f);
	return tb_fail(err, TB_EIO, "%s: has changed since it was opened", mf->path);
}

/* A file that was written to, or cut within its last page, gives no other sign of it. */
static enum tb_status
same_still(const struct model_file *mf, const struct tb_ident *now, struct tb_err *err)
{
	return is_same(mf, now) ? TB_OK
	       : tb_fail(err, TB_EIO, "%s: changed while it was read", mf->path);
}

enum tb_status
values_file_check(const struct model_file *mf, struct tb_err *err)
{
	struct tb_ident now;
	enum tb_status status = tb_file_ident(mf->path, &now, err);

	return status ? status : same_still(mf, &now, err);
}

/* From an open one. */
static enum tb_status
read_open(const struct tb_file *f, const struct model_file *mf, uint64_t off, void *buf,
	  size_t len, struct tb_err *err)
{
	struct tb_ident now;
	enum tb_status status = tb_file_read(f, off, buf, len, err);

	if (!status)
		status = tb_file_now(f, &now, err);
	return status ? status : same_still(mf, &now, err);
}

enum tb_status
values_bytes(const struct model *m, const struct tensor_part *part, uint64_t off, size_t len,
	     void *out, struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status;

	if (off > part->len || len > part->len - off)
		return tb_fail(err, TB_EUSAGE, "bytes %ju to %ju lie outside the %ju there are",
			       (uintmax_t)off, (uintmax_t)(off + len), (uintmax_t)part->len);
	status = values_file_open(&f, m, part->file, err);
	if (status)
		return status;
	status = read_open(&f, &m->files[part->file], part->off + off, out, len, err);
	tb_file_close(&f);
	return status;
}

/* ---- opened once, to read in many ---- */

struct values_file {
	struct tb_file f;
	unsigned file, users;
};

struct values_files {
	const struct model *m;
	pthread_mutex_t lock;		/* of who is in kept[], not of reading */
	struct values_file kept[KEPT];
};

enum tb_status
values_files_open(struct values_files **out, const struct model *m, struct tb_err *err)
{
	*out = tb_calloc(1, sizeof(**out));
	if (!*out)
		return tb_nomem(err);
	(*out)->m = m;
	pthread_mutex_init(&(*out)->lock, NULL);
	return TB_OK;
}

void
values_files_close(struct values_files *fs)
{
	if (!fs)
		return;
	for (unsigned i = 0; i < KEPT; i++)
		tb_file_close(&fs->kept[i].f);
	pthread_mutex_destroy(&fs->lock);
	free(fs);
}

/* The file where it has its place, or, if another is being read there, in *own. */
static enum tb_status
file_enter(struct values_files *fs, unsigned file, struct values_file *own,
	   struct values_file **out, struct tb_err *err)
{
	struct values_file *k = &fs->kept[file % KEPT];
	enum tb_status status = TB_OK;

	pthread_mutex_lock(&fs->lock);
	if (k->users && k->file != file) {
		*own = (struct values_file){ .file = file };
		k = own;
	}
	if (!k->f.path || k->file != file) {
		tb_file_close(&k->f);
		k->file = file;
		status = values_file_open(&k->f, fs->m, file, err);
	}
	k->users += !status;
	pthread_mutex_unlock(&fs->lock);
	*out = k;
	return status;
}

enum tb_status
values_files_read(struct values_files *fs, const struct tensor_part *p, uint64_t off, void *buf,
		  size_t len, struct tb_err *err)
{
	struct values_file own, *k;
	enum tb_status status;

	if (off > p->len || len > p->len - off)
		return tb_fail(err, TB_EFORMAT, "%s: a tensor is shorter than its shape",
			       fs->m->files[p->file].path);
	status = file_enter(fs, p->file, &own, &k, err);
	if (status)
		return status;
	status = read_open(&k->f, &fs->m->files[p->file], p->off + off, buf, len, err);
	if (k == &own) {
		tb_file_close(&own.f);
		return status;
	}
	pthread_mutex_lock(&fs->lock);
	k->users--;
	pthread_mutex_unlock(&fs->lock);
	return status;
}

/* ---- in place ---- */

enum tb_status
values_map(struct tb_map *map, const struct model *m, const struct tensor_part *p,
	   struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = values_file_open(&f, m, p->file, err);

	if (status)
		return status;
	status = tb_map_open(map, &f, p->off, p->len, err);
	tb_file_close(&f);
	return status;
}

enum tb_status
values_maps_open(struct values_maps *maps, const struct model *m, struct tb_err *err)
{
	*maps = (struct values_maps){ tb_calloc(m->nfiles, sizeof(*maps->map)), 0 };
	if (!maps->map)
		return tb_nomem(err);
	maps->n = m->nfiles;
	return TB_OK;
}

void
values_maps_close(struct values_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->map[i].p)
			tb_map_close(&maps->map[i]);
	free(maps->map);
	*maps = (struct values_maps){ 0 };
}

enum tb_status
values_maps_part(struct values_maps *maps, const struct model *m, const struct tensor_part *part,
		 const uint8_t **out, struct tb_err *err)
{
	const struct model_file *mf = &m->files[part->file];
	struct tensor_part whole = { .file = part->file, .len = mf->id.size };
	struct tb_map *map = &maps->map[part->file];
	enum tb_status status = map->p ? TB_OK : values_map(map, m, &whole, err);

	if (status)
		return status;
	if (part->off > map->len || part->len > map->len - part->off)
		return tb_fail(err, TB_EFORMAT, "%s: %ju bytes at %ju lie outside the file", mf->path,
			       (uintmax_t)part->len, (uintmax_t)part->off);
	*out = map->p + part->off;
	return TB_OK;
}

enum tb_status
values_maps_check(const struct values_maps *maps, struct tb_err *err)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->map[i].p && tb_map_torn(&maps->map[i]))
			return tb_fail(err, TB_EIO, "a file of the model was cut short while it "
				       "was in use");
	return TB_OK;
}
