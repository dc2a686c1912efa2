/* dest_gguf.c - one GGUF file, or several: all that speaks of the model is in the head of the
 * first.  Several are finished in a hidden folder beside their places and moved there, the
 * first last, without which the others are no model. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/ops/convert/dest.h"
#include "src/store/split.h"

static enum tb_status
gguf_begin(struct dest *d, struct tb_err *err)
{
	const char *path = d->target->path;
	char *parent;
	enum tb_status status;

	if (tb_is_dir(path))
		return tb_fail(err, TB_EEXIST, "%s: is a folder", path);
	parent = tb_path_parent(path);
	if (!parent)
		return tb_nomem(err);
	tb_out_sweep(parent);
	work_sweep(parent);
	status = gguf_head_new(&d->gguf, d->plan, d->pre, err);
	if (status || d->plan->nblobs == 1) {
		d->dir = parent;
		return status;
	}
	status = work_open(&d->work, parent, WORK_PASSING, err);
	if (!status && !(d->dir = tb_strdup(d->work.dir)))
		status = tb_nomem(err);
	free(parent);
	return status;
}

static enum tb_status
gguf_blob(struct dest *d, struct blob *b, struct tb_err *err)
{
	struct work_file *f = &d->work.files[b->index];
	enum tb_status status = TB_OK;
	char *path;

	if (d->plan->nblobs == 1) {
		d->out = b->out;
		b->out = (struct tb_out){ .fd = -1 };
	} else {
		path = work_path(&d->work, b->index);
		status = path ? tb_out_commit(&b->out, path, false, err) : tb_nomem(err);
		free(path);
		/* of the model nothing is there yet */
		if (status == TB_ESYNC || status == TB_EEXIST)
			status = tb_fail(err, TB_EIO, "%s", err->msg);
	}
	f->size = b->size;
	f->there = f->made = !status;
	return status;
}

/* File `no`, from 1 on, to its place, or back from there. */
static enum tb_status
move_file(struct dest *d, unsigned no, bool back, struct tb_err *err)
{
	struct split s;
	char *from = work_path(&d->work, no - 1);
	char *to = split_parse(d->target->path, &s) ? split_path(d->target->path, &s, no) : NULL;
	enum tb_status status = TB_OK;

	if (!from || !to)
		status = tb_nomem(err);
	else if (back ? rename(to, from) : tb_rename_new(from, to))
		status = tb_fail_errno(err, "%s: cannot be written", to);
	free(from);
	free(to);
	return status;
}

static enum tb_status
publish(struct dest *d, struct tb_err *err)
{
	unsigned n = (unsigned)d->plan->nblobs, no = n;
	int folder;
	enum tb_status status = tb_folder_open(d->target->path, &folder, err);

	if (status)
		return status;
	while (no && !status)
		if (!(status = move_file(d, no, false, err)))
			no--;
	if (!status)
		return tb_folder_sync(folder, d->target->path, err);
	while (no++ < n)
		(void)!move_file(d, no, true, NULL);
	if (folder >= 0)
		close(folder);
	return status;
}

static enum tb_status
commit_several(struct dest *d, struct tb_err *err)
{
	char *first = work_path(&d->work, 0);
	enum tb_status status = first ? convert_check(d->plan, MODEL_GGUF_FILE, d->target->path, first,
						      "", err) : tb_nomem(err);

	free(first);
	return status ? status : publish(d, err);
}

static enum tb_status
gguf_commit(struct dest *d, struct tb_err *err)
{
	return d->plan->nblobs > 1 ? commit_several(d, err)
				   : dest_commit_file(d, MODEL_GGUF_FILE, err);
}

static void
gguf_end(struct dest *d, enum tb_status status)
{
	(void)status;
	if (d->out.tmp)
		tb_out_abort(&d->out);
	work_end(&d->work, true);
}

const struct dest_ops dest_gguf = { false, true, gguf_begin, gguf_blob, gguf_commit, gguf_end };
