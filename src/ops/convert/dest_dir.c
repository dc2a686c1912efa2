/* dest_dir.c - a directory as MLX and Hugging Face have them.  It is made beside its
 * place under another name and moved there whole. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/ops/convert/dest.h"

/* Calls fn for each name in a folder but . and ..; fn false ends it.  What cannot be
 * read to its end is not all so. */
static bool
each_name(const char *dir, bool (*fn)(const char *path))
{
	struct tb_names names;
	bool ok = !tb_names_read(&names, dir, NULL);

	for (size_t i = 0; ok && i < names.n; i++) {
		char *path = tb_path_join(dir, names.v[i]);

		ok = path && fn(path);
		free(path);
	}
	tb_names_free(&names);
	return ok;
}

static bool
is_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool
nothing(const char *path)
{
	(void)path;
	return false;
}

/* What would be replaced: a folder with nothing but files in it, one of them a model's.
 * Not through a symbolic link: that is somebody else's folder, which would be emptied. */
static enum tb_status
check_place(struct dest *d, struct tb_err *err)
{
	const char *path = d->target->path;
	struct tb_path config;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? TB_OK : tb_fail_errno(err, "%s", path);
	if (S_ISLNK(st.st_mode))
		return tb_fail(err, TB_EEXIST, "%s: is a symbolic link and will not be replaced", path);
	if (!S_ISDIR(st.st_mode))
		return tb_fail(err, TB_EEXIST, "%s: is a file", path);
	d->was_empty = each_name(path, nothing);
	if (d->was_empty)
		return TB_OK;
	if (!d->replace)
		return tb_fail(err, TB_EEXIST, "%s: exists already and is not empty", path);
	if (!tb_exists(tb_path_in(&config, path, "config.json")) || !each_name(path, is_file))
		return tb_fail(err, TB_EEXIST, "%s: is not only a model (no config.json, or folders "
			       "in it) and will not be replaced", path);
	return TB_OK;
}

/* A layer's name is not a path: "draft/config.json" stays behind. */
static bool
comes_along(const struct model_file *f)
{
	return f->name && *f->name && *f->name != '.' && !strchr(f->name, '/') && !f->missing &&
	       !f->is_manifest && !format_of_name(f->name) &&
	       !tb_ends(f->name, ".safetensors.index.json") &&
	       (!f->media_type || f->media == MEDIA_JSON);
}

/* What cannot be made now cannot be made in the end either. */
static enum tb_status
texts_ready(const struct plan *p, struct tb_err *err)
{
	const struct model *m = p->model;
	enum tb_status status = TB_OK;
	char *text;
	size_t len;

	for (size_t i = 0; i < m->nfiles && !kind_is_bare(m->loc.kind) && !status; i++)
		if (comes_along(&m->files[i]) &&
		    !(status = source_text(p, &m->files[i], &text, &len, err)))
			free(text);
	return status;
}

static enum tb_status
dir_begin(struct dest *d, struct tb_err *err)
{
	static const enum work_want wants[] = {
		[CONVERT_WHOLE] = WORK_ALONE_OR_PASSING, [CONVERT_PART] = WORK_SHARED,
		[CONVERT_ASSEMBLE] = WORK_ALONE,
	};
	char *parent = tb_path_parent(d->target->path);
	enum tb_status status = parent ? check_place(d, err) : tb_nomem(err);

	if (!status)
		status = texts_ready(d->plan, err);
	if (!status)
		status = place_ready(d->target->path, err);
	if (!status) {
		work_sweep(parent);
		tb_out_sweep(parent);
		status = work_open(&d->work, parent, wants[d->how], err);
	}
	if (!status && d->how != CONVERT_PART)
		work_clean(&d->work, false);	/* what was stopped while it wrote the rest */
	if (!status && !(d->dir = tb_strdup(d->work.dir)))
		status = tb_nomem(err);
	free(parent);
	return status;
}

/* A file within the folder: of the model nothing is there yet. */
static enum tb_status
part(enum tb_status status, struct tb_err *err)
{
	return status == TB_ESYNC || status == TB_EEXIST ? tb_fail(err, TB_EIO, "%s", err->msg)
							 : status;
}

static enum tb_status
dir_blob(struct dest *d, struct blob *b, struct tb_err *err)
{
	char *path = work_path(&d->work, b->index);
	enum tb_status status = path ? tb_out_commit(&b->out, path, false, err) : tb_nomem(err);

	free(path);
	d->work.files[b->index].made = tb_written(status);
	if (status == TB_EEXIST && d->how == CONVERT_PART)
		status = TB_OK;			/* another has finished the same */
	d->work.files[b->index].there = !status;
	return part(status, err);
}

static enum tb_status
write_file(struct dest *d, const char *name, const char *text, size_t len, struct tb_err *err)
{
	char *path = tb_path_join(d->dir, name);
	enum tb_status status = path ? tb_out_file(path, text, len, false, err) : tb_nomem(err);

	free(path);
	d->small += len;
	d->nsmall++;
	return part(status, err);
}

static enum tb_status
copy_files(struct dest *d, struct tb_err *err)
{
	const struct model *m = d->plan->model;
	bool alone = kind_is_bare(m->loc.kind), config = false;
	enum tb_status status = TB_OK;
	char *text;
	size_t len;

	for (size_t i = 0; i < m->nfiles && !alone && !status; i++) {
		if (!comes_along(&m->files[i]))
			continue;
		config |= !strcmp(m->files[i].name, "config.json");
		status = source_text(d->plan, &m->files[i], &text, &len, err);
		if (status)
			break;
		status = write_file(d, m->files[i].name, text, len, err);
		free(text);
	}
	if (status || config)
		return status;
	status = bare_config(d->plan, &text, err);
	if (status || !text)
		return status;
	status = write_file(d, "config.json", text, strlen(text), err);
	free(text);
	return status;
}

static enum tb_status
write_index(struct dest *d, struct tb_err *err)
{
	enum tb_status status;
	char *text;

	if (d->plan->nblobs < 2)
		return TB_OK;
	status = index_text(d->plan, &text, err);
	if (status)
		return status;
	status = write_file(d, "model.safetensors.index.json", text, strlen(text), err);
	free(text);
	return status;
}

/* What somebody else made there meanwhile stays: rename() goes over empty folders alone,
 * and without one at the beginning over nothing. */
static enum tb_status
take_place(struct dest *d, struct tb_err *err)
{
	const char *path = d->target->path;
	char *old;
	enum tb_status status;

	if ((d->was_empty ? rename(d->dir, path) : tb_rename_new(d->dir, path)) == 0)
		return TB_OK;
	if (errno == ENOTEMPTY)
		errno = EEXIST;
	if (errno != EEXIST || !d->replace)
		return tb_fail_errno(err, "%s: cannot be written", path);
	status = tb_replace(d->dir, path, path, &old, err);
	keep_path(&d->kept, path, old);
	return status;
}

static enum tb_status
publish(struct dest *d, struct tb_err *err)
{
	int folder;
	enum tb_status status = tb_folder_open(d->target->path, &folder, err);

	if (!status) {
		status = take_place(d, err);
		d->published = status == TB_OK;
	}
	if (d->published)
		return tb_folder_sync(folder, d->target->path, err);
	if (folder >= 0)
		close(folder);
	return status;
}

static enum tb_status
dir_commit(struct dest *d, struct tb_err *err)
{
	enum tb_status status = write_index(d, err);

	if (!status)
		status = copy_files(d, err);
	if (!status)
		status = convert_check(d->plan, MODEL_SAFETENSORS_DIR, d->target->path, d->dir, "",
				       err);
	if (status == TB_EFORMAT)
		work_distrust(&d->work);
	return status ? status : publish(d, err);
}

static void
dir_end(struct dest *d, enum tb_status status)
{
	if (!d->published)
		work_end(&d->work, d->how != CONVERT_PART &&
			 (status != TB_ECANCEL || d->work.passing));
}

const struct dest_ops dest_dir = { false, false, dir_begin, dir_blob, dir_commit, dir_end };
