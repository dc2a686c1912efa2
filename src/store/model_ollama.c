#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/model_build.h"
#include "src/store/oci.h"
#include "src/store/ollama.h"
#include "src/store/walk.h"

#define CONFIG_BLOB_MAX (1u << 20)

/* How much of the path of a manifest is the store's root: five levels above
 * root/manifests/host/ns/model/tag; 0: it is in none. */
static size_t
root_len(const char *path)
{
	const char *end = path + strlen(path);

	for (int i = 0; i < 5; i++) {
		end = end > path ? memrchr(path, '/', (size_t)(end - path)) : NULL;
		if (!end)
			return 0;
	}
	if (strncmp(end, "/manifests/", 11) != 0)
		return 0;
	return end == path ? 1 : (size_t)(end - path);
}

static enum tb_status
find_root(const struct model_loc *loc, bool image, char **root, struct tb_err *err)
{
	size_t n = image ? oci_layout_of(loc->path) : *loc->root ? 0 : root_len(loc->path);

	*root = NULL;
	if (!n && (image || !*loc->root))
		return tb_fail(err, TB_ENOENT, "%s: a manifest, but not in a store: no blobs", loc->path);
	*root = n ? tb_strndup(loc->path, n) : tb_strdup(loc->root);
	return *root ? TB_OK : tb_nomem(err);
}

/* Marks the layers whose digest came earlier: a blob is read once. */
struct seen { const char *digest; size_t layer; };

static int
seen_cmp(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int d = strcmp(x->digest, y->digest);

	return d ? d : (x->layer > y->layer) - (x->layer < y->layer);
}

static bool *
repeated(const struct manifest *m)
{
	struct seen *s = tb_calloc(m->nlayers, sizeof(*s));
	bool *again = tb_calloc(m->nlayers, sizeof(*again));

	if (!s || !again) {
		free(s);
		free(again);
		return NULL;
	}
	for (size_t i = 0; i < m->nlayers; i++)
		s[i] = (struct seen){ m->layers[i].digest, i };
	qsort(s, m->nlayers, sizeof(*s), seen_cmp);
	for (size_t i = 1; i < m->nlayers; i++)
		again[s[i].layer] = strcmp(s[i - 1].digest, s[i].digest) == 0;
	free(s);
	return again;
}

/* Images of others say in many ways what a layer is: what is in it says it best. */
static enum media
media_of(const struct model_file *f)
{
	enum model_kind kind;

	if (!file_is_weights(f->path, &kind, NULL))
		return kind == MODEL_GGUF_FILE ? MEDIA_MODEL : MEDIA_TENSOR;
	return f->name && tb_ends(f->name, ".json") ? MEDIA_JSON : MEDIA_UNKNOWN;
}

static enum tb_status
add_layer(struct build *b, const char *root, const struct manifest_layer *l,
	  struct model_file **out, struct tb_err *err)
{
	bool image = model_is_image(b->m);
	char *path = image ? oci_blob_path(root, l->digest) : ollama_blob_path(root, l->digest);
	const char *slash = image && l->name ? strrchr(l->name, '/') : NULL;
	enum tb_status status = build_file(b, path, slash ? slash + 1 : l->name, out, err);
	struct model_file *f = *out;

	if (status)
		return status;
	f->media = media_parse(l->media_type);
	if (image && f->media == MEDIA_UNKNOWN)
		f->media = media_of(f);
	f->media_type = tb_strdup(l->media_type);
	memcpy(f->digest, l->digest, sizeof(f->digest));
	f->want_size = l->size;
	return f->media_type ? TB_OK : tb_nomem(err);
}

static bool
holds_gguf(enum media m)
{
	return m == MEDIA_MODEL || m == MEDIA_PROJECTOR || m == MEDIA_ADAPTER || m == MEDIA_DRAFT;
}

/* A draft of tensor layers is told from the model by its names alone. */
static void
read_draft(struct build *b, const cJSON *doc)
{
	const cJSON *draft = json_get(doc, "draft");
	const char *prefix = json_str(json_get(draft, "tensor_prefix"));

	if (json_is_object(draft))
		snprintf(b->draft, sizeof(b->draft), "%s", prefix && *prefix ? prefix : "draft.");
}

/* family and file type as the config blob states them: all that is known of a GGUF
 * model whose file is damaged, and the hint for packed tensors without metadata. */
static enum tb_status
read_config_blob(struct build *b, const struct model_file *f, struct tb_err *err)
{
	struct tb_err why = { 0 };
	const char *family, *type;
	char *text = NULL;
	cJSON *doc = NULL;
	size_t len;

	if (!tb_file_slurp(f->path, CONFIG_BLOB_MAX, &text, &len, &why))
		(void)!json_parse(&doc, text, len, f->path, &why);
	free(text);
	if (why.code)
		return build_small_bad(b, f->path, f->digest, &why, err);
	family = json_str(json_get(doc, "model_family"));
	type = json_str(json_get(doc, "file_type"));
	read_draft(b, doc);
	if (type)
		tb_text_clean(type, b->hint, sizeof(b->hint));
	if (family && *family && !*b->m->arch) {
		free(b->m->arch);
		b->m->arch = tb_strdup(family);
	}
	json_free(doc);
	return b->m->arch ? TB_OK : tb_nomem(err);
}

/* A blob that an earlier layer has told the problems of. */
static void
look_again(struct model_file *f)
{
	enum tb_status status = tb_file_ident(f->path, &f->id, NULL);

	f->unread = status == TB_EIO;
	f->missing = status && !f->unread;
}

static enum tb_status
read_layers(struct build *b, const char *root, const struct manifest *m, const bool *again,
	    struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct model_file *f;
	bool gguf = false, tensors = false;

	if (!tb_grow(&b->m->files, &b->files_cap, b->m->nfiles + m->nlayers,
		     sizeof(*b->m->files)))
		return tb_nomem(err);
	for (size_t i = 0; i < m->nlayers && !status; i++) {
		status = add_layer(b, root, &m->layers[i], &f, err);
		if (status)
			return status;
		gguf |= holds_gguf(f->media);
		tensors |= f->media == MEDIA_TENSOR;
		if (f->media == MEDIA_TENSOR && !again[i])
			status = build_header(b, f, err);
		else if (holds_gguf(f->media) && !again[i])
			status = build_gguf(b, f, NULL, err);
		else if (!again[i])
			status = build_stat(b, f, err);
		else
			look_again(f);
		if (!status && f->media == MEDIA_JSON && !f->missing && !b->config && f->name &&
		    strcmp(f->name, "config.json") == 0)
			status = build_config(b, f->path, err);
	}
	if (gguf && !tensors)
		b->m->loc.kind = model_is_image(b->m) ? MODEL_OCI_GGUF : MODEL_OLLAMA_GGUF;
	return status;
}

static enum tb_status
read_blobs(struct build *b, const char *root, const struct manifest *m, struct tb_err *err)
{
	bool *again = repeated(m);
	enum tb_status status = again ? TB_OK : tb_nomem(err);
	size_t config = b->m->nfiles;
	struct model_file *f;

	if (!status && m->config.media_type) {
		status = add_layer(b, root, &m->config, &f, err);
		if (!status)
			status = build_stat(b, f, err);
	}
	if (!status)
		status = read_layers(b, root, m, again, err);
	free(again);
	if (status || !m->config.media_type || b->m->files[config].missing ||
	    b->m->files[config].media != MEDIA_CONFIG)
		return status;
	return read_config_blob(b, &b->m->files[config], err);
}

/* Programs are kept as models are, in layers: those of a container's file system, and none
 * of which anybody knows that a model has it. */
static bool
is_container(const struct model *model, const struct manifest *m)
{
	static const char *const words[] = { "vnd.docker.image.", "vnd.oci.image.layer." };
	bool layers = false;

	if (model_is_image(model))
		return !oci_is_model(m);
	for (size_t i = 0; i < m->nlayers; i++) {
		if (media_parse(m->layers[i].media_type) != MEDIA_UNKNOWN)
			return false;
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			layers |= tb_contains(m->layers[i].media_type, words[k]);
	}
	return layers;
}

/* A manifest of a layout is a blob itself, whose name says what its bytes are. */
static enum tb_status
add_manifest(struct build *b, struct tb_err *err)
{
	const char *path = b->m->loc.path;
	struct model_file *f;
	enum tb_status status = build_file(b, tb_strdup(path), NULL, &f, err);

	if (status)
		return status;
	f->is_manifest = true;
	if (model_is_image(b->m))
		snprintf(f->digest, sizeof(f->digest), "sha256:%.64s", strrchr(path, '/') + 1);
	return build_stat(b, f, err);
}

enum tb_status
build_ollama(struct build *b, struct tb_err *err)
{
	const struct model_loc *loc = &b->m->loc;
	bool image = model_is_image(b->m) ||
		     (loc->kind == MODEL_CONTAINER && oci_layout_of(loc->path));
	struct manifest m = { 0 };
	char *root = NULL, *text = NULL;
	enum tb_status status;
	size_t len;

	b->m->loc.kind = image ? MODEL_OCI_TENSORS : MODEL_OLLAMA_TENSORS;
	status = tb_file_slurp(loc->path, MANIFEST_MAX, &text, &len, err);
	if (!status)
		status = manifest_parse(&m, text, len, loc->path, err);
	if (!status)
		status = find_root(loc, image, &root, err);
	if (!status)
		status = add_manifest(b, err);
	if (!status)
		status = read_blobs(b, root, &m, err);
	if (!status && is_container(b->m, &m))
		b->m->loc.kind = MODEL_CONTAINER;
	if (!status)
		status = build_sort(b, err);
	manifest_free(&m);
	free(text);
	free(root);
	return status;
}
