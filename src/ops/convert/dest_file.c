/* dest_file.c - one .safetensors file with Ollama's names. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/convert/dest.h"

static enum tb_status
file_begin(struct dest *d, struct tb_err *err)
{
	const char *path = d->target->path;

	if (tb_is_dir(path))
		return tb_fail(err, TB_EEXIST, "%s: is a folder", path);
	d->dir = tb_path_parent(path);
	if (!d->dir)
		return tb_nomem(err);
	tb_out_sweep(d->dir);
	return TB_OK;
}

static enum tb_status
file_blob(struct dest *d, struct blob *b, struct tb_err *err)
{
	if (d->out.tmp)
		return tb_fail(err, TB_EFORMAT, "%s: more than one file", d->target->path);
	d->out = b->out;
	b->out = (struct tb_out){ .fd = -1 };
	d->work.files[b->index].there = d->work.files[b->index].made = true;
	return TB_OK;
}

enum tb_status
dest_commit_file(struct dest *d, enum model_kind kind, struct tb_err *err)
{
	const char *path = d->target->path;
	enum tb_status status = convert_check(d->plan, kind, path, d->out.tmp, "", err);
	char *old;

	if (status)
		return status;
	if (!d->replace)
		return tb_out_commit(&d->out, path, false, err);
	status = tb_out_replace(&d->out, path, path, &old, err);
	keep_path(&d->kept, path, old);
	return status;
}

static enum tb_status
file_commit(struct dest *d, struct tb_err *err)
{
	return dest_commit_file(d, MODEL_SAFETENSORS_FILE, err);
}

static void
file_end(struct dest *d, enum tb_status status)
{
	(void)status;
	if (d->out.tmp)
		tb_out_abort(&d->out);
}

const struct dest_ops dest_file = { false, true, file_begin, file_blob, file_commit, file_end };
