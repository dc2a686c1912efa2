#include "config.h"

#include "src/store/ollama.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"

char *
ollama_blob_path(const char *root, const char *digest)
{
	char canonical[TB_DIGEST_MAX];

	if (!digest_parse(digest, canonical))
		return NULL;
	return tb_asprintf("%s/blobs/sha256-%s", root, canonical + 7);
}

char *
ollama_manifest_path(const char *root, const struct model_name *name)
{
	char below[640];

	return tb_asprintf("%s/manifests/%s", root, name_path(name, below));
}

static enum tb_status descend(const char *dir, const char *const *parts, int left, char **found,
			      struct tb_err *err);

static enum tb_status
descend_into(const char *dir, const char *entry, const char *const *parts, int left, char **found,
	     struct tb_err *err)
{
	char *path = tb_path_join(dir, entry);
	enum tb_status status = path ? descend(path, parts, left, found, err) : tb_nomem(err);

	free(path);
	return status;
}

/* Goes down from `dir` along parts[0..3], by any spelling but for case, the one that is
 * asked for first; *found is the path of the manifest or stays NULL. */
static enum tb_status
descend(const char *dir, const char *const *parts, int left, char **found, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status;

	if (!left) {
		*found = tb_exists(dir) && !tb_is_dir(dir) ? tb_strdup(dir) : NULL;
		return TB_OK;
	}
	status = tb_names_read(&names, dir, err);
	if (!status && tb_names_have(&names, *parts))
		status = descend_into(dir, *parts, parts + 1, left - 1, found, err);
	for (size_t i = 0; i < names.n && !status && !*found; i++)
		if (!strcasecmp(names.v[i], *parts))
			status = descend_into(dir, names.v[i], parts + 1, left - 1, found, err);
	tb_names_free(&names);
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
ollama_find_manifest(const char *root, const struct model_name *name, char **out,
		     struct tb_err *err)
{
	const char *parts[] = { name->host, name->ns, name->model, name->tag };
	char *dir;
	enum tb_status status;

	*out = ollama_manifest_path(root, name);
	if (!*out || (tb_exists(*out) && !tb_is_dir(*out)))
		return *out ? TB_OK : tb_nomem(err);
	free(*out);
	*out = NULL;
	dir = tb_path_join(root, "manifests");
	status = dir ? descend(dir, parts, 4, out, err) : tb_nomem(err);
	free(dir);
	return status;
}

#define MANIFEST_DEPTH 8	/* four are usual */

static enum tb_status
named_in(const char *path, ollama_named_fn *fn, void *arg, struct tb_err *err)
{
	struct manifest m;
	char *text = NULL;
	size_t len;
	enum tb_status status = tb_file_slurp(path, MANIFEST_MAX, &text, &len, err);

	if (!status)
		status = manifest_parse(&m, text, len, path, err);
	free(text);
	if (status)
		return status;
	if (*m.config.digest)
		fn(arg, m.config.digest);
	for (size_t i = 0; i < m.nlayers; i++)
		fn(arg, m.layers[i].digest);
	manifest_free(&m);
	return TB_OK;
}

static enum tb_status
named_below(const char *dir, unsigned depth, ollama_named_fn *fn, void *arg, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, dir, err);

	for (size_t i = 0; !status && i < names.n; i++) {
		char *path;

		/* A writer that is about to commit holds a lock, so this is none's. */
		if (tb_is_temporary(names.v[i]))
			continue;
		path = tb_path_join(dir, names.v[i]);
		if (!path)
			status = tb_nomem(err);
		else if (!tb_is_dir(path))
			status = named_in(path, fn, arg, err);
		else if (depth < MANIFEST_DEPTH)
			status = named_below(path, depth + 1, fn, arg, err);
		else
			status = tb_fail(err, TB_ELIMIT, "%s: too deep", path);
		free(path);
	}
	tb_names_free(&names);
	return status;
}

enum tb_status
ollama_named(const char *root, ollama_named_fn *fn, void *arg, struct tb_err *err)
{
	char *dir = tb_path_join(root, "manifests");
	enum tb_status status;

	if (!dir)
		return tb_nomem(err);
	status = tb_absent(dir) ? TB_OK : named_below(dir, 0, fn, arg, err);
	free(dir);
	return status;
}

/* ---- the row ---- */

/* Five levels above root/manifests/host/ns/model/tag. */
static size_t
root_of(const char *path)
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

/* Programs are kept as models are, in layers: those of a container's file system, and none
 * of which anybody knows that a model has it. */
static bool
ollama_is_model(const struct manifest *m)
{
	static const char *const words[] = { "vnd.docker.image.", "vnd.oci.image.layer." };
	bool layers = false;

	for (size_t i = 0; i < m->nlayers; i++) {
		if (media_parse(m->layers[i].media_type) != MEDIA_UNKNOWN)
			return true;
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			layers |= tb_contains(m->layers[i].media_type, words[k]);
	}
	return !layers;
}

const struct store_kind store_ollama = {
	.writable = true,
	.typed = true,
	.is_model = ollama_is_model,
	.root_of = root_of,
	.blob_path = ollama_blob_path,
};
