#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/model_build.h"

#define CONFIG_BLOB_MAX (1u << 20)

/* A manifest that is being written lies elsewhere, and its root is known. */
static enum tb_status
find_root(const struct model_loc *loc, char **root, struct tb_err *err)
{
	const struct store_kind *store = kind_store(loc->kind);
	size_t n = store->root_of(loc->path);

	*root = NULL;
	if (!n && !(store->writable && *loc->root))
		return tb_fail(err, TB_ENOENT, "%s: a manifest, but not in a store: no blobs", loc->path);
	*root = n ? tb_strndup(loc->path, n) : tb_strdup(loc->root);
	return *root ? TB_OK : tb_nomem(err);
}

/* Marks the layers whose digest came earlier: a blob is read once. */
struct seen { uint64_t head; const char *digest; size_t layer; };

/* In any order in which equal ones are beside one another. */
static int
seen_cmp(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int d;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	d = strcmp(x->digest, y->digest);
	return d ? d : (x->layer > y->layer) - (x->layer < y->layer);
}

static bool *
layers_repeated(const struct manifest *m)
{
	struct seen *s = tb_calloc(m->nlayers, sizeof(*s));
	bool *again = tb_calloc(m->nlayers, sizeof(*again));

	if (!s || !again) {
		free(s);
		free(again);
		return NULL;
	}
	for (size_t i = 0; i < m->nlayers; i++) {
		s[i] = (struct seen){ 0, m->layers[i].digest, i };
		memcpy(&s[i].head, s[i].digest + strlen("sha256:"), sizeof(s[i].head));
	}
	qsort(s, m->nlayers, sizeof(*s), seen_cmp);
	for (size_t i = 1; i < m->nlayers; i++)
		again[s[i].layer] = strcmp(s[i - 1].digest, s[i].digest) == 0;
	free(s);
	return again;
}

static enum tb_status
layers_add_layer(struct build *b, const char *root, const struct manifest_layer *l,
		 struct model_file **out, struct tb_err *err)
{
	const struct store_kind *store = kind_store(b->m->loc.kind);
	const char *name = !store->typed && l->name ? tb_path_name(l->name) : l->name;
	enum tb_status status = build_file(b, store->blob_path(root, l->digest), name, out, err);
	struct model_file *f = *out;
	const struct format *format;

	if (status)
		return status;
	f->media = media_parse(l->media_type);
	f->media_type = f->media != MEDIA_UNKNOWN ? media_type(f->media)
						  : tb_arena_str(b->arena, l->media_type);
	/* Others say in many ways what a layer is: what is in it says it best. */
	if (!store->typed && f->media == MEDIA_UNKNOWN && !format_of_file(f->path, &format, NULL))
		f->media = format->layer;
	else if (!store->typed && f->media == MEDIA_UNKNOWN && f->name && tb_ends(f->name, ".json"))
		f->media = MEDIA_JSON;
	memcpy(f->digest, l->digest, sizeof(f->digest));
	f->want_size = l->size;
	return f->media_type ? TB_OK : tb_nomem(err);
}

/* family and file type as the config blob states them: all that is known of a GGUF
 * model whose file is damaged, and the hint for packed tensors without metadata. */
static enum tb_status
read_config_blob(struct build *b, const struct model_file *f, struct tb_err *err)
{
	struct tb_err why = { 0 };
	const char *family, *type, *prefix;
	cJSON *doc;

	if (json_read(&doc, f->path, CONFIG_BLOB_MAX, &why))
		return build_small_bad(b, f->path, f->digest, &why, err);
	family = json_str(json_get(doc, "model_family"));
	type = json_str(json_get(doc, "file_type"));
	/* A draft of tensor layers is told from the model by its names alone. */
	prefix = json_str(json_path(doc, "draft.tensor_prefix"));
	if (json_is_object(json_get(doc, "draft")))
		snprintf(b->m->draft_prefix, sizeof(b->m->draft_prefix), "%s",
			 prefix && *prefix ? prefix : "draft.");
	if (type)
		tb_text_clean(type, b->hint, sizeof(b->hint));
	if (family && *family && !*b->m->arch) {
		free(b->m->arch);
		b->m->arch = tb_strdup(family);
	}
	json_free(doc);
	return b->m->arch ? TB_OK : tb_nomem(err);
}

static enum tb_status
layers_read_layers(struct build *b, const char *root, const struct manifest *m, const bool *again,
		   struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const struct format *found = NULL, *format;	/* one that needs config.json wins */
	struct model_file *f;

	if (!tb_grow(&b->m->files, &b->files_cap, b->m->nfiles + m->nlayers,
		     sizeof(*b->m->files)))
		return tb_nomem(err);
	for (size_t i = 0; i < m->nlayers && !status; i++) {
		status = layers_add_layer(b, root, &m->layers[i], &f, err);
		if (status)
			return status;
		format = format_of_media(f->media);
		if (format && (!found || !format->keys))
			found = format;
		if (again[i]) {		/* its problems are told already */
			enum tb_status gone = tb_file_ident(f->path, &f->id, NULL);

			f->unread = gone == TB_EIO;
			f->missing = gone && !f->unread;
		} else {
			status = format ? build_weights(b, f, err) : build_stat(b, f, err);
		}
		if (!status && f->media == MEDIA_JSON && !f->missing && !b->config && f->name &&
		    strcmp(f->name, "config.json") == 0)
			status = build_config(b, f->path, err);
	}
	b->m->loc.kind = kind_for(kind_store(b->m->loc.kind), LAYOUT_MANIFEST, found ? found
				 : kind_format(b->m->loc.kind));
	return status;
}

static enum tb_status
read_blobs(struct build *b, const char *root, const struct manifest *m, struct tb_err *err)
{
	bool *again = layers_repeated(m);
	enum tb_status status = again ? TB_OK : tb_nomem(err);
	size_t config = b->m->nfiles;
	struct model_file *f;

	if (!status && m->config.media_type) {
		status = layers_add_layer(b, root, &m->config, &f, err);
		if (!status)
			status = build_stat(b, f, err);
	}
	if (!status)
		status = layers_read_layers(b, root, m, again, err);
	free(again);
	if (status || !m->config.media_type || b->m->files[config].missing ||
	    b->m->files[config].media != MEDIA_CONFIG)
		return status;
	return read_config_blob(b, &b->m->files[config], err);
}

/* The name of one that is a blob itself says what its bytes are. */
static enum tb_status
add_manifest(struct build *b, struct tb_err *err)
{
	const char *path = b->m->loc.path;
	struct model_file *f;
	enum tb_status status = build_file(b, tb_strdup(path), NULL, &f, err);

	if (status)
		return status;
	f->is_manifest = true;
	if (kind_store(b->m->loc.kind)->manifests_are_blobs)
		snprintf(f->digest, sizeof(f->digest), "sha256:%.64s", tb_path_name(path));
	return build_stat(b, f, err);
}

enum tb_status
build_manifest(struct build *b, struct tb_err *err)
{
	struct model_loc *loc = &b->m->loc;
	const struct store_kind *store = kind_store(loc->kind);
	struct manifest m = { 0 };
	char *root = NULL;
	enum tb_status status;

	loc->kind = kind_for(store, LAYOUT_MANIFEST, &format_safetensors);	/* so far */
	status = manifest_read(&m, loc->path, err);
	if (!status)
		status = find_root(loc, &root, err);
	if (!status)
		status = add_manifest(b, err);
	if (!status)
		status = read_blobs(b, root, &m, err);
	if (!status && !store->is_model(&m))
		loc->kind = kind_for(store, LAYOUT_MANIFEST, NULL);
	if (!status)
		status = build_sort(b, err);
	manifest_free(&m);
	free(root);
	return status;
}
