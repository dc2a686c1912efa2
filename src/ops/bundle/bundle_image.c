/* bundle_image.c - models become images of an OCI layout: blobs first, each by its digest, the
 * index last, so that what it lists is there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/bundle/bundle_parts.h"
#include "src/store/lock.h"
#include "src/store/name.h"
#include "src/store/oci.h"
#include "src/store/ollama.h"

#define IMAGE_TYPE "application/vnd.oci.image.manifest.v1+json"
#define EMPTY_TYPE "application/vnd.oci.empty.v1+json"
#define REF_NAME "org.opencontainers.image.ref.name"
#define TITLE "org.opencontainers.image.title"
#define LAYOUT_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"

struct imager {
	const struct image_request *req;
	struct image_result *out;
	struct gather g;
	struct bundle b;
	struct store_lock lock;
	char *index;			/* its path; owned */
	cJSON *doc;			/* what it is to be; owned */
	cJSON *manifests;		/* of doc */
};

static bool
is_manifest(const char *path)
{
	return tb_starts(path, BUNDLE_MANIFESTS);
}

/* ---- the place ---- */

static enum tb_status
open_layout(struct imager *im, struct tb_err *err)
{
	const char *dir = im->req->layout;
	bool empty;
	enum tb_status status = tb_dir_empty(dir, &empty, err);
	char *blobs;

	if (status)
		return status;
	if (!empty && store_kind_of(dir, false) != &store_oci && store_kind_of(dir, true) != &store_oci)
		return tb_fail(err, TB_EEXIST, "%s: exists already, and is no OCI image layout", dir);
	blobs = tb_asprintf("%s" OCI_BLOBS, dir);
	im->index = tb_path_join(dir, "index.json");
	status = blobs && im->index ? tb_mkdirs(blobs, err) : tb_nomem(err);
	free(blobs);
	/* Who adds to its index must be alone with that; where there are no locks, all are. */
	if (!status)
		status = store_lock_alone(&im->lock, dir, err);
	return status == TB_EUNSUP ? TB_OK : status;
}

static bool
is_ours(const struct imager *im, const char *ref)
{
	for (size_t i = 0; ref && i < im->out->names.n; i++)
		if (!strcmp(im->out->names.v[i], ref))
			return true;
	return false;
}

/* The index without what is replaced. */
static enum tb_status
read_index(struct imager *im, struct tb_err *err)
{
	cJSON *old = NULL;
	enum tb_status status = TB_OK;

	im->doc = json_object();
	im->manifests = json_array();
	if (!tb_absent(im->index))
		status = json_read(&old, im->index, OCI_INDEX_MAX, err);
	if (!status && old && !json_is_array(json_get(old, "manifests")))
		status = tb_fail(err, TB_EFORMAT, "%s: has no manifests", im->index);
	if (!old)
		json_set_u64(im->doc, "schemaVersion", 2);
	for (const cJSON *v = json_first(old); v && !status; v = json_next(v))
		if (strcmp(json_key(v), "manifests") != 0)
			json_set(im->doc, json_key(v), json_copy(v));
	for (const cJSON *v = json_first(json_get(old, "manifests")); v && !status; v = json_next(v)) {
		const char *ref = json_str(json_get(json_get(v, "annotations"), REF_NAME));
		bool ours = is_ours(im, ref);

		if (ours && !im->req->replace)
			status = tb_fail(err, TB_EEXIST, "%s: has %.200s already; --replace it", im->req->layout,
					 ref);
		if (!ours)
			json_push(im->manifests, json_copy(v));
	}
	json_free(old);
	return status;
}

/* ---- blobs ---- */

static enum tb_status
put_out(void *arg, const char *data, size_t len, struct tb_err *err)
{
	return tb_out_write(arg, data, len, err);
}

/* Opens what becomes a blob, unless that is there and right (*path NULL). */
static enum tb_status
blob_begin(struct imager *im, const char *digest, uint64_t size, char **path, struct tb_out *out,
	   struct tb_err *err)
{
	char *dir;
	enum tb_status status;

	*path = oci_blob_path(im->req->layout, digest);
	if (!*path)
		return tb_nomem(err);
	if (ollama_blob_good(*path, digest, size)) {
		im->out->there++;
		free(*path);
		*path = NULL;
		return TB_OK;
	}
	dir = tb_path_parent(*path);
	status = dir ? tb_out_open(out, dir, err) : tb_nomem(err);
	free(dir);
	return status;
}

static enum tb_status
blob_end(struct imager *im, char *path, uint64_t size, struct tb_out *out, enum tb_status status,
	 struct tb_err *err)
{
	if (path && !status)
		status = tb_out_commit(out, path, true, err);
	if (path && !status) {
		im->out->written++;
		im->out->bytes += size;
	}
	tb_out_abort(out);
	free(path);
	/* of the image nothing is there yet */
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err->msg) : status;
}

static enum tb_status
blob_file(struct imager *im, const struct bundle_file *s, char *buf, struct tb_err *err)
{
	struct tb_out out = { .fd = -1 };
	char *path;
	enum tb_status status = blob_begin(im, s->m.digest, s->m.size, &path, &out, err);

	if (!status && path)
		status = bundle_copy(s, buf, put_out, &out, im->g.job, err);
	else
		tb_job_step(im->g.job, s->m.size, 1);
	return blob_end(im, path, s->m.size, &out, status, err);
}

static enum tb_status
blob_text(struct imager *im, const char *text, char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct tb_out out = { .fd = -1 };
	char *path = NULL;
	enum tb_status status = tb_sha256_bytes(text, strlen(text), digest, err);

	if (!status)
		status = blob_begin(im, digest, strlen(text), &path, &out, err);
	if (!status && path)
		status = tb_out_write(&out, text, strlen(text), err);
	return blob_end(im, path, strlen(text), &out, status, err);
}

static enum tb_status
put_blobs(struct imager *im, struct tb_err *err)
{
	char *buf = malloc(BUNDLE_CHUNK);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	tb_job_total(im->g.job, im->b.bytes, im->g.n);
	for (size_t i = 0; i < im->g.n && !status; i++)
		if (!is_manifest(im->g.sources[i].m.path))
			status = blob_file(im, &im->g.sources[i], buf, err);
	free(buf);
	return status;
}

/* ---- images ---- */

static cJSON *
descriptor(const char *type, const char *digest, uint64_t size, const char *key, const char *value)
{
	cJSON *d = json_object(), *notes;

	json_set_str(d, "mediaType", type);
	json_set_str(d, "digest", digest);
	json_set_u64(d, "size", size);
	if (key) {
		notes = json_object();
		json_set_str(notes, key, value);
		json_set(d, "annotations", notes);
	}
	return d;
}

/* An artifact as others make them: a layer a file, which its title names. */
static char *
artifact_text(const struct imager *im, const struct bundle_model *m, const char *empty)
{
	cJSON *doc = json_object(), *layers = json_array();
	const char *slash = strchr(m->path + strlen(BUNDLE_FILES), '/');
	size_t folder = slash ? (size_t)(slash - m->path) : strlen(m->path);
	char *text;

	json_set_u64(doc, "schemaVersion", 2);
	json_set_str(doc, "mediaType", IMAGE_TYPE);
	json_set_str(doc, "artifactType", "application/vnd.tbtui.model");
	json_set(doc, "config", descriptor(EMPTY_TYPE, empty, 2, NULL, NULL));
	for (size_t i = 0; i < im->b.nmembers; i++) {
		const struct bundle_member *f = &im->b.members[i];

		if (tb_path_inside(f->path, m->path, folder))
			json_push(layers, descriptor("application/octet-stream", f->digest, f->size,
						     TITLE, f->path + folder + 1));
	}
	json_set(doc, "layers", layers);
	text = json_print(doc);
	json_free(doc);
	return text;
}

static enum tb_status
list_artifact(struct imager *im, const struct bundle_model *m, const char *ref, struct tb_err *err)
{
	char empty[TB_DIGEST_MAX], digest[TB_DIGEST_MAX], *text = NULL;
	enum tb_status status = blob_text(im, "{}", empty, err);

	if (!status && !(text = artifact_text(im, m, empty)))
		status = tb_nomem(err);
	if (!status)
		status = blob_text(im, text, digest, err);
	if (!status)
		json_push(im->manifests, descriptor(IMAGE_TYPE, digest, strlen(text), REF_NAME, ref));
	free(text);
	return status;
}

/* A layer as it was; Ollama's name of it is said as others look for it, too. */
static cJSON *
image_layer(const cJSON *layer)
{
	const char *name = json_str(json_get(layer, "name"));
	cJSON *out = json_copy(layer), *notes;

	if (name && !json_get(layer, "annotations")) {
		notes = json_object();
		json_set_str(notes, TITLE, name);
		json_set(out, "annotations", notes);
	}
	return out;
}

/* A manifest of Ollama's is one of Docker's, by which programs find no image in a layout: the
 * same layers and config, as an image's. */
static char *
image_text(const cJSON *manifest)
{
	cJSON *doc = json_object(), *layers = json_array();
	char *text;

	json_set_u64(doc, "schemaVersion", 2);
	json_set_str(doc, "mediaType", IMAGE_TYPE);
	for (const cJSON *v = json_first(json_get(manifest, "layers")); v; v = json_next(v))
		json_push(layers, image_layer(v));
	for (const cJSON *v = json_first(manifest); v; v = json_next(v))
		if (strcmp(json_key(v), "schemaVersion") != 0 && strcmp(json_key(v), "mediaType") != 0 &&
		    strcmp(json_key(v), "layers") != 0)
			json_set(doc, json_key(v), json_copy(v));
	json_set(doc, "layers", layers);
	text = json_print(doc);
	json_free(doc);
	return text;
}

static enum tb_status
list_manifest(struct imager *im, const struct bundle_model *m, const char *ref, struct tb_err *err)
{
	const struct bundle_file *f = &im->g.sources[bundle_find(&im->b, m->path) - im->b.members];
	char digest[TB_DIGEST_MAX], *text = NULL;
	cJSON *doc;
	enum tb_status status = json_read(&doc, f->file, MANIFEST_MAX, err);

	if (status)
		return status;
	text = image_text(doc);
	status = text ? blob_text(im, text, digest, err) : tb_nomem(err);
	if (!status)
		json_push(im->manifests, descriptor(IMAGE_TYPE, digest, strlen(text), REF_NAME, ref));
	json_free(doc);
	free(text);
	return status;
}

/* "manifests/host/ns/model/tag" as people say it; else the folder. */
static enum tb_status
name_images(struct imager *im, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < im->b.nmodels && !status; i++) {
		const char *path = im->b.models[i].path, *slash;
		struct model_name name;
		char shown[640], *text;

		if (is_manifest(path)) {
			text = tb_strdup(path + strlen(BUNDLE_MANIFESTS));
			if (text)
				*strrchr(text, '/') = ':';
			status = text ? name_parse(text, &name, err) : tb_nomem(err);
			if (!status)
				status = tb_names_add(&im->out->names, name_format(&name, shown), err);
		} else {
			path += strlen(BUNDLE_FILES);
			slash = strchr(path, '/');
			text = tb_strndup(path, slash ? (size_t)(slash - path) : strlen(path));
			status = text ? tb_names_add(&im->out->names, text, err) : tb_nomem(err);
		}
		free(text);
	}
	return status;
}

static enum tb_status
write_index(struct imager *im, char **names, struct tb_err *err)
{
	char *layout = tb_path_join(im->req->layout, "oci-layout"), *text = NULL;
	enum tb_status status = layout ? TB_OK : tb_nomem(err);

	for (size_t i = 0; i < im->b.nmodels && !status; i++)
		status = is_manifest(im->b.models[i].path)
			 ? list_manifest(im, &im->b.models[i], names[i], err)
			 : list_artifact(im, &im->b.models[i], names[i], err);
	json_set(im->doc, "manifests", im->manifests);
	im->manifests = NULL;
	if (!status && !tb_exists(layout))
		status = tb_out_file(layout, LAYOUT_TEXT, strlen(LAYOUT_TEXT), false, err);
	if (!status && !(text = json_print(im->doc)))
		status = tb_nomem(err);
	if (!status)
		status = tb_out_file(im->index, text, strlen(text), true, err);
	free(layout);
	free(text);
	return status;
}

enum tb_status
op_image(const struct op_ctx *ctx, const struct image_request *req, struct tb_job *job,
	 struct image_result *out, struct tb_err *err)
{
	struct imager im = { .req = req, .out = out, .lock = STORE_UNLOCKED };
	enum tb_status status;

	*out = (struct image_result){ 0 };
	im.g.job = job;
	im.g.b = &im.b;
	status = bundle_gather(&im.g, ctx, req->refs, req->nrefs, err);
	if (!status)
		status = name_images(&im, err);
	if (!status)
		status = open_layout(&im, err);
	if (!status)
		status = read_index(&im, err);
	if (!status)
		status = space_check(req->layout, im.b.bytes, err);
	if (!status)
		status = put_blobs(&im, err);
	if (!status)
		status = write_index(&im, out->names.v, err);
	json_free(im.manifests);
	json_free(im.doc);
	free(im.index);
	store_unlock(&im.lock);
	gather_free(&im.g);
	bundle_free(&im.b);
	if (!tb_written(status))
		tb_names_free(&out->names);
	return status;
}
