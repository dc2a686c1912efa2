/* bundle_import.c - an archive becomes models again.  Blobs are hashed while they are
 * written; manifests are kept until all of the archive is there and right, folders are filled
 * under a hidden name. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/ops/bundle/bundle_parts.h"
#include "src/ops/import/import.h"
#include "src/store/ollama.h"

struct taken {			/* a manifest */
	struct tb_buf text;
	struct ollama_writer part;
};

struct take {
	const struct op_ctx *ctx;
	const struct bundle_import *req;
	struct bundle_imported *out;
	const struct bundle *b;
	char *folder;			/* where a folder goes; NULL: a store; owned */
	char *hidden;			/* with files that are nobody's yet; NULL: none; owned */
	int hold;			/* lock on it, so that nobody sweeps it; -1 */
	struct ollama_writer w;
	struct taken *manifests;	/* one a model, empty for others; owned */
	size_t model;			/* of the manifest that arrives */
	struct tb_out file;
	bool writing;
};

static bool
is_manifest(const struct bundle_model *m)
{
	return tb_starts(m->path, BUNDLE_MANIFESTS);
}

/* ---- before the first byte ---- */

/* "manifests/host/ns/model/tag" -> its name, or the one that was asked for. */
static enum tb_status
name_of(const struct take *t, size_t i, struct model_name *name, struct tb_err *err)
{
	const struct bundle_model *m = &t->b->models[i];
	char *text = tb_strdup(t->req->name ? t->req->name : m->name);
	char *tag;
	enum tb_status status;

	if (text && !t->req->name && is_manifest(m)) {
		free(text);
		text = tb_strdup(m->path + strlen(BUNDLE_MANIFESTS));
		tag = text ? strrchr(text, '/') : NULL;
		if (tag)
			*tag = ':';
	}
	status = text ? name_parse(text, name, err) : tb_nomem(err);
	if (status && !t->req->name)
		status = tb_wrap(err, status, "%.100s: give it a name", m->name);
	free(text);
	return status;
}

static enum tb_status
check_name(struct take *t, size_t i, struct tb_err *err)
{
	char shown[640], *taken = NULL;
	struct model_name name;
	enum tb_status status = name_of(t, i, &name, err);

	if (status)
		return status;
	t->out->models[i].name = tb_strdup(name_format(&name, shown));
	if (!t->out->models[i].name)
		return tb_nomem(err);
	if (!t->req->replace)
		status = ollama_find_manifest(t->out->root, &name, &taken, err);
	if (taken)
		status = tb_fail(err, TB_EEXIST, "%s: exists already; name another, or --replace it",
				 shown);
	free(taken);
	return status;
}

static bool
is_path(const char *name)
{
	return *name == '.' || *name == '/' || tb_starts(name, "~/") || tb_ends(name, "/") ||
	       tb_is_dir(name);
}

static enum tb_status
folder_target(struct take *t, struct tb_err *err)
{
	const char *name = t->req->name, *home = getenv("HOME");
	char *path = tb_starts(name, "~/") && home ? tb_path_join(home, name + 2) : tb_strdup(name);

	if (!path)
		return tb_nomem(err);
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
		path[--n] = 0;
	t->folder = path;
	t->out->models[0].name = tb_strdup(path);
	if (!t->out->models[0].name)
		return tb_nomem(err);
	if (is_manifest(&t->b->models[0]))
		return tb_fail(err, TB_EUSAGE, "%s: is a folder, %.100s is a model of a store: give it a "
			       "name in one", name, t->b->models[0].name);
	if (tb_exists(path))
		return tb_fail(err, TB_EEXIST, "%s: exists already", path);
	return TB_OK;
}

/* A folder that nobody takes for a model, nor for one that was left behind. */
static enum tb_status
hide(struct take *t, struct tb_err *err)
{
	char *at = t->folder ? tb_strdup(t->folder) : tb_path_join(t->out->root, "bundle"), *dir;
	enum tb_status status;

	t->hidden = at ? tb_hidden_beside(at) : NULL;
	free(at);
	dir = t->hidden ? tb_path_join(t->hidden, "files") : NULL;
	status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);
	free(dir);
	if (status)
		return status;
	t->hold = open(t->hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->hold >= 0)
		(void)!flock(t->hold, LOCK_SH | LOCK_NB);
	return TB_OK;
}

static enum tb_status
take_list(void *arg, const struct bundle *b, struct tb_err *err)
{
	struct take *t = arg;
	struct bundle_imported *out = t->out;
	enum tb_status status = TB_OK;
	bool files = false;

	t->b = b;
	if (t->req->name && b->nmodels != 1)
		return tb_fail(err, TB_EUSAGE, "%s: holds %zu models; without a name all of them come in, "
			       "as they are called there", t->req->src.what, b->nmodels);
	out->models = tb_calloc(b->nmodels, sizeof(*out->models));
	t->manifests = tb_calloc(b->nmodels, sizeof(*t->manifests));
	if (!out->models || !t->manifests)
		return tb_nomem(err);
	out->nmodels = b->nmodels;
	if (t->req->name && is_path(t->req->name))
		status = folder_target(t, err);
	else
		status = store_destination(&t->ctx->roots, &out->root, err);
	for (size_t i = 0; i < b->nmodels && !status; i++) {
		t->manifests[i].text = TB_BUF(MANIFEST_MAX);
		t->manifests[i].part.lock = STORE_UNLOCKED;
		files |= !is_manifest(&b->models[i]);
		if (!t->folder)
			status = check_name(t, i, err);
	}
	if (!status)
		status = space_check(t->folder ? t->folder : out->root, b->bytes, err);
	if (!status && out->root)
		status = ollama_writer_init(&t->w, out->root, err);
	return status || !files ? status : hide(t, err);
}

/* ---- its bytes ---- */

static enum tb_status
take_begin(void *arg, const struct bundle_member *m, struct tb_err *err)
{
	struct take *t = arg;
	char *path, *dir;
	enum tb_status status;

	t->writing = false;
	if (tb_starts(m->path, BUNDLE_MANIFESTS)) {
		for (t->model = 0; t->model < t->b->nmodels; t->model++)
			if (!strcmp(t->b->models[t->model].path, m->path))
				return m->size <= MANIFEST_MAX ? TB_OK
					: tb_fail(err, TB_ELIMIT, "%s: has %ju bytes", m->path,
						  (uintmax_t)m->size);
		return TB_OK;
	}
	t->model = t->b->nmodels;
	t->writing = true;
	if (tb_starts(m->path, BUNDLE_BLOBS)) {
		if (!t->out->root)
			return tb_fail(err, TB_EFORMAT, "%s: %s: belongs to no folder", t->req->src.what,
				       m->path);
		return ollama_blob_open(&t->w, &t->file, err);
	}
	if (!t->hidden)
		return tb_fail(err, TB_EFORMAT, "%s: %s: belongs to no model", t->req->src.what, m->path);
	path = tb_path_join(t->hidden, m->path);
	dir = path ? tb_path_parent(path) : NULL;
	status = dir ? tb_out_open(&t->file, dir, err) : tb_nomem(err);
	free(path);
	free(dir);
	return status;
}

static enum tb_status
take_bytes(void *arg, const void *data, size_t len, struct tb_err *err)
{
	struct take *t = arg;

	if (t->writing)
		return tb_out_write(&t->file, data, len, err);
	if (t->model < t->b->nmodels)
		tb_buf_add(&t->manifests[t->model].text, data, len);
	return TB_OK;
}

static enum tb_status
take_end(void *arg, const struct bundle_member *m, struct tb_err *err)
{
	struct take *t = arg;
	enum tb_status status;
	char *path;

	t->out->members++;
	t->out->bytes += m->size;
	if (!t->writing)
		return TB_OK;
	t->writing = false;
	if (tb_starts(m->path, BUNDLE_BLOBS))
		return ollama_add_blob(&t->w, MEDIA_UNKNOWN, NULL, &t->file, m->digest, m->size, err);
	path = tb_path_join(t->hidden, m->path);
	status = path ? tb_out_commit(&t->file, path, false, err) : tb_nomem(err);
	tb_out_abort(&t->file);
	free(path);
	/* of the model nothing is there yet */
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err->msg) : status;
}

/* One that is not right is not taken at all. */
static enum tb_status
take_wrong(void *arg, const char *member, const char *why, struct tb_err *err)
{
	const struct take *t = arg;

	return tb_fail(err, TB_EFORMAT, "%s: %.200s: %s (bundle verify says all that is wrong)",
		       t->req->src.what, member, why);
}

/* ---- models ---- */

static enum tb_status
check_manifest(struct take *t, size_t i, struct tb_err *err)
{
	const struct bundle_model *m = &t->b->models[i];
	struct taken *n = &t->manifests[i];
	enum tb_status status = tb_buf_status(&n->text, m->path, err);

	if (!status)
		status = ollama_part_init(&n->part, t->out->root, err);
	n->part.text = &n->text;
	return status ? status : bundle_manifest(t->b, m->path, &n->text, &n->part.manifest, err);
}

static enum tb_status
publish_manifest(struct take *t, size_t i, struct tb_err *err)
{
	struct model_name name;
	enum tb_status status = name_of(t, i, &name, err);

	if (!status)
		status = ollama_commit(&t->manifests[i].part, &name, t->req->replace, err);
	if (tb_written(status))
		keep_manifest(&t->out->models[i].kept, &t->manifests[i].part);
	return status;
}

/* The folder gets its name, or what is in it becomes layers. */
static enum tb_status
publish_folder(struct take *t, size_t i, struct tb_job *job, struct tb_err *err)
{
	char *path = tb_path_join(t->hidden, t->b->models[i].path), *dir = NULL;
	struct import_result res = { 0 };
	const struct import_request req = { .path = path, .name = t->out->models[i].name,
					    .replace = t->req->replace };
	enum tb_status status;
	int fd = -1;

	if (!path)
		return tb_nomem(err);
	if (t->folder) {
		dir = tb_is_dir(path) ? tb_strdup(path) : tb_path_parent(path);
		status = dir ? tb_folder_open(t->folder, &fd, err) : tb_nomem(err);
		if (!status && tb_rename_new(dir, t->folder)) {
			status = tb_fail_errno(err, "%s: cannot be written", t->folder);
			if (fd >= 0)
				close(fd);
		} else if (!status) {
			status = tb_folder_sync(fd, t->folder, err);
		}
	} else {
		status = op_import(t->ctx, &req, job, &res, err);
		t->out->models[i].kept = res.kept;
		res.kept = (struct kept){ 0 };
	}
	free(path);
	free(dir);
	import_result_free(&res);
	return status;
}

static enum tb_status
publish_all(struct take *t, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK, late = TB_OK;
	const struct bundle *b = t->b;

	for (size_t i = 0; i < b->nmodels && !status; i++)
		if (is_manifest(&b->models[i]))
			status = check_manifest(t, i, err);
	if (!status)
		status = tb_job_check(job, err);
	if (!status && t->out->root)
		status = ollama_sync_blobs(&t->w, err);
	for (size_t i = 0; i < b->nmodels && !status; i++) {
		status = is_manifest(&b->models[i]) ? publish_manifest(t, i, err)
						    : publish_folder(t, i, job, err);
		if (status == TB_ESYNC) {	/* it is there */
			late = status;
			status = TB_OK;
		}
	}
	return status ? status : late;
}

/* ---- the end ---- */

static void
empty_folder(const char *dir, unsigned depth)
{
	struct tb_names names;

	if (tb_names_read(&names, dir, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		char *path = tb_path_join(dir, names.v[i]);

		if (path && unlink(path) && depth)
			empty_folder(path, depth - 1);
		free(path);
	}
	tb_names_free(&names);
	rmdir(dir);
}

/* Blobs that no manifest names go with the writer that made them. */
static void
take_free(struct take *t)
{
	tb_out_abort(&t->file);
	for (size_t i = 0; t->manifests && i < t->out->nmodels; i++) {
		tb_buf_free(&t->manifests[i].text);
		ollama_writer_free(&t->manifests[i].part);
	}
	free(t->manifests);
	ollama_writer_free(&t->w);
	if (t->hidden)
		empty_folder(t->hidden, 2);	/* files/FOLDER/FILE */
	if (t->hold >= 0)
		close(t->hold);
	free(t->hidden);
	free(t->folder);
}

enum tb_status
op_bundle_import(const struct op_ctx *ctx, const struct bundle_import *req, struct tb_job *job,
		 struct bundle_imported *out, struct tb_err *err)
{
	struct take t = { .ctx = ctx, .req = req, .out = out, .hold = -1, .file.fd = -1 };
	const struct bundle_sink sink = { take_list, take_begin, take_bytes, take_end, take_wrong, &t };
	struct bundle b = { 0 };
	double start = tb_monotonic();
	enum tb_status status;

	*out = (struct bundle_imported){ 0 };
	status = bundle_walk(&req->src, &sink, false, job, &b, err);
	if (!status)
		status = publish_all(&t, job, err);
	if (status == TB_EFORMAT && !tb_starts(err->msg, req->src.what))
		tb_wrap(err, status, "%s", req->src.what);
	take_free(&t);
	bundle_free(&b);
	out->seconds = tb_monotonic() - start;
	if (!tb_written(status))
		bundle_imported_free(out);
	return status;
}

void
bundle_imported_free(struct bundle_imported *r)
{
	for (size_t i = 0; i < r->nmodels; i++) {
		free(r->models[i].name);
		kept_free(&r->models[i].kept);
	}
	free(r->models);
	free(r->root);
	*r = (struct bundle_imported){ 0 };
}
