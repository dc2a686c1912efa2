/* dest_store.c - a model of an Ollama store: blobs first, manifest last. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/ops/convert/dest.h"

/* Text layers that come along from another model of a store, in Ollama's order. */
static const enum media texts[] = {
	MEDIA_TEMPLATE, MEDIA_PROMPT, MEDIA_SYSTEM, MEDIA_LICENSE, MEDIA_PARAMS, MEDIA_MESSAGES,
};

/* What the store has already: blobs of the source that stay as they are, also those of a
 * source that lies in another store. */
static enum tb_status
find_blob(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct dest *d = arg;
	struct work_file *w = &d->work.files[i];
	const struct model_file *f = NULL;
	enum tb_status status = w->there ? TB_OK : source_same(d->plan, i, &f, err);
	char *path;

	(void)worker;
	if (status || !f)
		return status;
	path = ollama_blob_path(d->target->root, f->digest);
	if (!path)
		return tb_nomem(err);
	if (tb_same_place(path, f->path) ||
	    (tb_exists(path) && ollama_blob_good(path, f->digest, w->size))) {
		memcpy(w->digest, f->digest, sizeof(w->digest));
		w->reused = true;
	}
	free(path);
	return TB_OK;
}

/* The small texts are made once before anything is written: what cannot be made now cannot
 * be made in the end either. */
static enum tb_status
texts_ready(const struct plan *p, struct tb_err *err)
{
	const struct model_file *f;
	enum tb_status status = TB_OK;
	char *text;
	size_t len;

	for (size_t i = 0; !status && (f = source_json(p->model, i)); i++)
		if (!(status = source_text(p, f, &text, &len, err)))
			free(text);
	for (size_t i = 0; i < p->model->nfiles && !status; i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts) && !status; k++)
			if (*p->model->files[i].digest && p->model->files[i].media == texts[k])
				status = source_ready(&p->model->files[i], err);
	if (!status && !(status = store_config(p, &text, err)))
		free(text);
	return status;
}

static enum tb_status
manifest_ready(const struct dest *d, struct tb_err *err)
{
	struct model_name name;
	enum tb_status status = name_parse(d->target->name, &name, err);
	char *path = NULL;

	if (!status && !(path = ollama_manifest_path(d->target->root, &name)))
		status = tb_nomem(err);
	if (!status)
		status = place_ready(path, err);
	free(path);
	return status;
}

static enum tb_status
store_begin(struct dest *d, struct tb_err *err)
{
	enum tb_status status = texts_ready(d->plan, err);
	char *blobs;

	if (!status)
		status = manifest_ready(d, err);
	if (!status)
		status = ollama_writer_init(&d->writer, d->target->root, err);
	if (status)
		return status;
	blobs = tb_path_join(d->target->root, "blobs");
	status = blobs ? work_open(&d->work, blobs, WORK_SHARED, err) : tb_nomem(err);
	free(blobs);
	if (status)
		return status;
	d->dir = tb_strdup(d->work.dir);
	return d->dir ? tb_pool_try(d->pool, d->plan->nblobs, find_blob, d, d->job, err)
		      : tb_nomem(err);
}

/* Another may have finished the same. */
static enum tb_status
store_blob(struct dest *d, struct blob *b, struct tb_err *err)
{
	struct work_file *w = &d->work.files[b->index];
	char *blob = ollama_blob_path(d->target->root, b->digest), *path;
	enum tb_status status;

	memcpy(w->digest, b->digest, sizeof(w->digest));
	path = work_path(&d->work, b->index);
	if (!blob || !path)
		status = tb_nomem(err);
	else if (tb_exists(blob) && ollama_blob_good(blob, b->digest, b->size) &&
		 link(blob, path) == 0)
		status = TB_OK;
	else
		status = tb_out_commit(&b->out, path, false, err);
	w->made = tb_written(status);	/* it has its name then, too */
	if (status == TB_EEXIST)
		status = TB_OK;
	if (status == TB_ESYNC)
		status = tb_fail(err, TB_EIO, "%s", err->msg);
	w->there = !status;
	free(blob);
	free(path);
	return status;
}

static enum tb_status
add_bytes(struct dest *d, enum media kind, const char *name, const void *data, size_t len,
	  struct tb_err *err)
{
	enum tb_status status = ollama_add_bytes(&d->writer, kind, name, data, len, err);

	d->small += len;
	d->nsmall++;
	return status;
}

static enum tb_status
add_jsons(struct dest *d, struct tb_err *err)
{
	const struct model_file *f;
	enum tb_status status = TB_OK;
	char *text;
	size_t len;

	for (size_t i = 0; !status && (f = source_json(d->plan->model, i)); i++) {
		status = source_text(d->plan, f, &text, &len, err);
		if (status)
			break;
		status = add_bytes(d, MEDIA_JSON, f->name, text, len, err);
		free(text);
	}
	return status;
}

static enum tb_status
add_texts(struct dest *d, struct tb_err *err)
{
	const struct model *m = d->plan->model;
	enum tb_status status = TB_OK;
	char *text;
	size_t len;

	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		for (size_t i = 0; i < m->nfiles && !status; i++) {
			if (!*m->files[i].digest || m->files[i].media != texts[k])
				continue;
			status = tb_file_slurp(m->files[i].path, SMALL_FILE_MAX, &text, &len, err);
			if (status)
				break;
			status = add_bytes(d, texts[k], NULL, text, len, err);
			free(text);
		}
	}
	return status;
}

/* The manifest under a name of no meaning, so that the model can be opened before
 * anybody else sees it. */
static enum tb_status
check_written(struct dest *d, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(MANIFEST_MAX);
	struct tb_out o;
	enum tb_status status = tb_out_open(&o, d->dir, err);

	if (status)
		return status;
	manifest_print(&d->writer.manifest, &text);
	status = tb_buf_status(&text, "the manifest", err);
	if (!status)
		status = tb_out_write(&o, text.p, text.len, err);
	if (!status)
		status = convert_check(d->plan, MODEL_OLLAMA_TENSORS, d->target->name, o.tmp,
				       d->target->root, err);
	tb_out_abort(&o);
	tb_buf_free(&text);
	return status;
}

/* In the order of the plan. */
static enum tb_status
add_tensors(struct dest *d, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < d->plan->nblobs && !status; i++) {
		const struct work_file *w = &d->work.files[i];
		const char *name = d->plan->blobs[i].name;
		char *path = work_path(&d->work, i);

		if (!path)
			status = tb_nomem(err);
		else if (w->reused)
			status = ollama_add_there(&d->writer, MEDIA_TENSOR, name, w->digest, w->size,
						  err);
		else
			status = ollama_add_file(&d->writer, MEDIA_TENSOR, name, path, w->digest,
						 w->size, err);
		free(path);
	}
	return status ? status : ollama_sync_blobs(&d->writer, err);
}

static enum tb_status
store_commit(struct dest *d, struct tb_err *err)
{
	struct model_name name;
	char *config = NULL;
	enum tb_status status = add_tensors(d, err);

	if (!status)
		status = add_jsons(d, err);
	if (!status && !d->amend)
		status = add_texts(d, err);
	if (!status)
		status = store_config(d->plan, &config, err);
	if (!status && d->amend)
		status = d->amend->fn(d->amend->arg, &d->writer, &config, err);
	if (!status)
		status = add_bytes(d, MEDIA_CONFIG, NULL, config, strlen(config), err);
	free(config);
	if (!status)
		status = check_written(d, err);
	if (!status)
		status = name_parse(d->target->name, &name, err);
	if (!status)
		status = ollama_commit(&d->writer, &name, d->replace, err);
	if (tb_written(status))
		keep_manifest(&d->kept, &d->writer);
	return status;
}

/* Blobs that have their names need the folder no more. */
static void
store_end(struct dest *d, enum tb_status status)
{
	d->work.done = d->how != CONVERT_PART && tb_written(status);
	work_end(&d->work, d->how != CONVERT_PART && status != TB_ECANCEL);
	ollama_writer_free(&d->writer);
}

const struct dest_ops dest_store = { true, false, store_begin, store_blob, store_commit,
				     store_end };
