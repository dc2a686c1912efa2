/* look_registry.c - the mirror of a model at a registry. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/format.h"
#include "src/format/json.h"
#include "src/net/registry.h"
#include "src/ops/home/home.h"
#include "src/store/name.h"
#include "src/store/oci.h"

#define WHOLE_MAX LOOK_FREE		/* of what is known to be no tensors */
#define UNKNOWN_MAX (1u << 20)		/* of what may be anything */

struct at_registry {
	struct registry *r;
	struct image_name name;
};

static enum tb_status
at_get(void *arg, struct http *h, const struct look_file *f, uint64_t off, uint64_t len,
       http_body_fn *fn, void *fn_arg, struct tb_job *job, struct http_fate *fate,
       struct tb_err *err)
{
	struct at_registry *at = arg;
	const struct registry_range want = { f->digest, f->size, off, len };

	return registry_blob(at->r, h, &want, fn, fn_arg, job, fate, err);
}

static const char *
at_host(const void *arg)
{
	const struct at_registry *at = arg;

	return registry_host(at->r);
}

/* As one of its names, with the digest of what is meant. */
static char *
at_place(const void *arg, const struct look_file *f)
{
	const struct at_registry *at = arg;

	return tb_asprintf("%s/%s@%s", registry_host(at->r), registry_repo(at->r), f->name);
}

static void
at_free(void *arg)
{
	struct at_registry *at = arg;

	registry_free(at->r);
	image_name_free(&at->name);
	free(at);
}

static enum tb_status
at_open(struct look *l, struct op_ctx *ctx, const struct look_request *req, struct tb_err *err)
{
	struct config_registry said;
	struct registry_opts opts;
	struct at_registry *at = tb_calloc(1, sizeof(*at));
	enum tb_status status = at ? image_name_parse(&at->name, req->name, err) : tb_nomem(err);

	if (!status) {
		config_registry_opts(&ctx->config, &at->name, req->insecure, req->skip_verify, &said, &opts);
		status = registry_new(&at->r, &at->name, &opts, err);
	}
	if (status && at) {
		image_name_free(&at->name);
		free(at);
	}
	if (!status)
		l->source = (struct look_source){ at_get, at_host, at_place, NULL, at_free, at };
	return status;
}

/* ---- its layers ---- */

/* Others say in many ways what a layer is; Ollama says it by its own types. */
static bool
is_typed(const struct manifest *m)
{
	bool typed = false;

	for (size_t i = 0; i < m->nlayers && !typed; i++) {
		enum media media = media_parse(m->layers[i].media_type);

		typed = media != MEDIA_UNKNOWN && media != MEDIA_CONFIG;
	}
	return typed;
}

struct laying {
	struct look *l;
	const struct op_ctx *ctx;
	struct db *db;			/* NULL: nothing is known of any store */
	bool typed;
};

static char *
blob_below(const struct laying *y, const char *digest)
{
	return tb_asprintf(y->typed ? "blobs/sha256-%s" : "blobs/sha256/%s", digest + strlen("sha256:"));
}

static enum tb_status
lay_blob(struct laying *y, const struct manifest_layer *layer, struct tb_err *err)
{
	enum media media = media_parse(layer->media_type);
	bool tensors = format_of_media(media) != NULL;
	char *below = blob_below(y, layer->digest), *path = NULL;
	struct look_file *f = NULL;
	enum tb_status status = below ? look_in_stores(y->ctx, y->db, layer->digest, layer->size, &path,
						       err) : tb_nomem(err);

	if (!status)
		status = path ? mirror_link(y->l, below, path, layer->digest, layer->size, &f, err)
			      : mirror_file(y->l, below, NULL, layer->size, layer->digest, layer->digest,
					    &f, err);
	if (!status && f) {
		f->whole = !tensors && layer->size <= (media == MEDIA_UNKNOWN ? UNKNOWN_MAX : WHOLE_MAX);
		f->early = tensors || media == MEDIA_CONFIG || (media == MEDIA_UNKNOWN && !f->whole) ||
			   (layer->name && !strcmp(layer->name, "config.json"));
	}
	free(path);
	free(below);
	return status;
}

/* Where Ollama would have it; a name that has no place there gets another. */
static char *
manifest_below(const struct laying *y)
{
	const struct at_registry *at = y->l->source.arg;
	struct model_name n;
	char text[640];

	if (image_name_local(&at->name, &n, NULL))
		return tb_strdup("manifests/registry/look/at/it");
	return tb_asprintf("manifests/%s", name_path(&n, text));
}

/* What makes a folder with blobs an image layout. */
static enum tb_status
lay_index(struct laying *y, const struct registry_manifest *text, struct tb_err *err)
{
	static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}\n";
	cJSON *index = json_object(), *list = json_array(), *image = json_object(), *said = json_object();
	struct look_file *f;
	enum tb_status status;
	char *printed;

	json_set_str(image, "mediaType", text->type);
	json_set_str(image, "digest", text->digest);
	json_set_u64(image, "size", text->text.len);
	json_set_str(said, "org.opencontainers.image.ref.name", y->l->loc.name);
	json_set(image, "annotations", said);
	json_push(list, image);
	json_set_u64(index, "schemaVersion", 2);
	json_set(index, "manifests", list);
	printed = json_print(index);
	json_free(index);
	status = printed ? mirror_file(y->l, "oci-layout", layout, sizeof(layout) - 1, "oci-layout", "", &f,
					err) : tb_nomem(err);
	if (!status)
		status = mirror_file(y->l, "index.json", printed, strlen(printed), "index.json", "", &f, err);
	free(printed);
	return status;
}

static enum tb_status
lay_manifest(struct laying *y, const struct registry_manifest *text, struct tb_err *err)
{
	char *below = y->typed ? manifest_below(y) : blob_below(y, text->digest);
	struct look_file *f = NULL;
	enum tb_status status = TB_OK;

	if (!below)
		return tb_nomem(err);
	if (!y->typed)
		status = lay_index(y, text, err);
	if (!status)
		status = mirror_file(y->l, below, text->text.p, text->text.len, text->digest, "", &f, err);
	y->l->loc.path = tb_path_join(y->l->dir, below);
	y->l->loc.root = tb_strdup(y->l->dir);
	y->l->loc.kind = y->typed ? MODEL_OLLAMA_TENSORS : MODEL_OCI_TENSORS;
	free(below);
	return status ? status : y->l->loc.path && y->l->loc.root ? TB_OK : tb_nomem(err);
}

static enum tb_status
lay_model(struct look *l, const struct op_ctx *ctx, const struct registry_manifest *text,
	struct tb_err *err)
{
	struct laying y = { .l = l, .ctx = ctx };
	struct manifest m = { 0 };
	enum tb_status status = manifest_parse(&m, text->text.p, text->text.len, l->loc.name, err);

	if (status)
		return status;
	y.typed = is_typed(&m);
	if (db_open_read(&y.db, ctx->db_path, NULL))
		y.db = NULL;
	status = lay_manifest(&y, text, err);
	if (!status && m.config.media_type)
		status = lay_blob(&y, &m.config, err);
	for (size_t i = 0; i < m.nlayers && !status; i++)
		status = lay_blob(&y, &m.layers[i], err);
	if (y.db)
		db_close(y.db);
	manifest_free(&m);
	mirror_sort(l);
	return status;
}

/* What the model would be called in a store; where it could not be called so, as it was said. */
static char *
name_of(const struct image_name *n)
{
	struct model_name local;
	char text[640];

	return image_name_local(n, &local, NULL) ? image_name_text(n)
						 : tb_strdup(name_format(&local, text));
}

enum tb_status
look_registry(struct look *l, struct op_ctx *ctx, const struct look_request *req,
	      struct tb_job *job, struct tb_err *err)
{
	struct registry_manifest m = { 0 };
	struct http *h = NULL;
	enum tb_status status = at_open(l, ctx, req, err);
	const struct at_registry *at = l->source.arg;

	if (!status && !(l->loc.name = name_of(&at->name)))
		status = tb_nomem(err);
	if (!status)
		status = http_new(&h, err);
	if (!status)
		status = registry_image(at->r, h, image_reference(&at->name), job, &m, err);
	if (h)
		http_free(h);
	if (!status)
		l->moved += m.text.len;
	if (!status)
		status = lay_model(l, ctx, &m, err);
	registry_manifest_free(&m);
	return status;
}
