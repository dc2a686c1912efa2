/* dest_store.c - a model of an Ollama store: blobs first, manifest last. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/convert/dest.h"

/* Text layers that come along from another model of a store, in Ollama's order. */
static const enum media texts[] = {
	MEDIA_TEMPLATE, MEDIA_PROMPT, MEDIA_SYSTEM, MEDIA_LICENSE, MEDIA_PARAMS, MEDIA_MESSAGES,
};

static enum tb_status
store_begin(struct dest *d, struct tb_err *err)
{
	enum tb_status status = ollama_writer_init(&d->writer, d->target->root, err);

	if (status)
		return status;
	d->dir = tb_path_join(d->target->root, "blobs");
	return d->dir ? TB_OK : tb_nomem(err);
}

static enum tb_status
store_blob(struct dest *d, struct blob *b, struct tb_err *err)
{
	enum tb_status status = ollama_add_blob(&d->writer, MEDIA_TENSOR,
						d->plan->blobs[b->index].name, &b->out, b->digest,
						b->size, err);

	d->bytes += b->size;
	d->files++;
	return status;
}

static enum tb_status
add_bytes(struct dest *d, enum media kind, const char *name, const void *data, size_t len,
	  struct tb_err *err)
{
	enum tb_status status = ollama_add_bytes(&d->writer, kind, name, data, len, err);

	d->bytes += len;
	d->files++;
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

static enum tb_status
store_commit(struct dest *d, struct tb_err *err)
{
	struct model_name name;
	char *config = NULL;
	enum tb_status status = add_jsons(d, err);

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
	if (!status || status == TB_ESYNC)
		keep_manifest(&d->kept, &d->writer);
	return status;
}

static void
store_end(struct dest *d)
{
	ollama_writer_free(&d->writer);
}

const struct dest_ops dest_store = { true, store_begin, store_blob, store_commit, store_end };
