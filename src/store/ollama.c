#include "config.h"

#include "src/store/ollama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/walk.h"

char *
ollama_blob_path(const char *root, const char *digest)
{
	static const char between[] = "/blobs/sha256-";
	size_t n = strlen(root), m = sizeof(between) - 1;
	char canonical[TB_DIGEST_MAX], *path;

	if (!digest_parse(digest, canonical))
		return NULL;
	/* no printf: there are stores with hundreds of thousands of layers */
	path = malloc(n + m + TB_DIGEST_MAX - 7);
	if (path) {
		memcpy(path, root, n);
		memcpy(path + n, between, m);
		memcpy(path + n + m, canonical + 7, TB_DIGEST_MAX - 7);
	}
	return path;
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
manifest_at(const char *path, ollama_manifest_fn *fn, void *arg, struct tb_err *err)
{
	struct manifest m;
	enum tb_status status = manifest_read(&m, path, err);

	if (status)
		return status;
	status = fn(arg, path, &m, err);
	manifest_free(&m);
	return status;
}

static enum tb_status manifests_below(const char *dir, unsigned depth, ollama_manifest_fn *fn,
				      void *arg, struct tb_err *err);

static enum tb_status
manifest_or_folder(char *path, unsigned depth, ollama_manifest_fn *fn, void *arg,
		   struct tb_err *err)
{
	if (!path)
		return tb_nomem(err);
	if (!tb_is_dir(path))
		return manifest_at(path, fn, arg, err);
	return depth < MANIFEST_DEPTH ? manifests_below(path, depth + 1, fn, arg, err)
				      : tb_fail(err, TB_ELIMIT, "%s: too deep", path);
}

/* One that cannot be read hides no other: the first failure is told when all were seen. */
static enum tb_status
manifests_below(const char *dir, unsigned depth, ollama_manifest_fn *fn, void *arg,
		struct tb_err *err)
{
	struct tb_names names;
	enum tb_status first = tb_names_read(&names, dir, err), status;

	for (size_t i = 0; first != TB_ENOMEM && i < names.n; i++) {
		char *path;

		/* A writer that is about to commit holds a lock, so this is none's. */
		if (tb_is_temporary(names.v[i]))
			continue;
		path = tb_path_join(dir, names.v[i]);
		status = manifest_or_folder(path, depth, fn, arg, first ? NULL : err);
		if (status == TB_ENOMEM && first)
			first = tb_nomem(err);
		first = first ? first : status;
		free(path);
	}
	tb_names_free(&names);
	return first;
}

enum tb_status
ollama_manifests(const char *root, ollama_manifest_fn *fn, void *arg, struct tb_err *err)
{
	char *dir = tb_path_join(root, "manifests");
	enum tb_status status;

	if (!dir)
		return tb_nomem(err);
	status = tb_absent(dir) ? TB_OK : manifests_below(dir, 0, fn, arg, err);
	free(dir);
	return status;
}

void
ollama_each_digest(const struct manifest *m, ollama_named_fn *fn, void *arg)
{
	if (*m->config.digest)
		fn(arg, m->config.digest);
	for (size_t i = 0; i < m->nlayers; i++)
		fn(arg, m->layers[i].digest);
}

struct digests { ollama_named_fn *fn; void *arg; };

static enum tb_status
each_named(void *arg, const char *path, const struct manifest *m, struct tb_err *err)
{
	const struct digests *d = arg;

	(void)path;
	(void)err;
	ollama_each_digest(m, d->fn, d->arg);
	return TB_OK;
}

enum tb_status
ollama_named(const char *root, ollama_named_fn *fn, void *arg, struct tb_err *err)
{
	return ollama_manifests(root, each_named, &(struct digests){ fn, arg }, err);
}

bool
ollama_blobs_shared(const char *root)
{
	char *dir = tb_path_join(root, "blobs");
	struct stat st;
	bool shared = !dir || lstat(dir, &st) || !S_ISDIR(st.st_mode);

	free(dir);
	return shared;
}

/* ---- the row ---- */

static const struct store_usual usual[] = {
	{ "OLLAMA_MODELS", NULL, "" },
	{ NULL, "/.ollama/models", "" },
	{ NULL, NULL, "/usr/share/ollama/.ollama/models" },
	{ NULL, NULL, "/var/lib/ollama/.ollama/models" },
	{ NULL, NULL, NULL }
};

static bool
has_folder(const char *root, const char *name)
{
	struct tb_path path;

	return tb_is_dir(tb_path_in(&path, root, name));
}

static bool
ollama_is_store(const char *root)
{
	/* A Hugging Face repository has blobs/, too, but beside refs/ and snapshots/. */
	return has_folder(root, "manifests") ||
	       (has_folder(root, "blobs") && !has_folder(root, "snapshots") && !store_oci.is(root));
}

/* A folder in the place of a manifest is damage, unless links led there in a circle. */
static bool
in_place(const char *root, const char *path)
{
	char *top = realpath(root, NULL), *real = realpath(path, NULL);
	size_t n = top ? strlen(top) : 0;
	unsigned deep = 0;

	if (real && n && !strncmp(real, top, n) && tb_starts(real + n, "/manifests/"))
		for (const char *p = real + n + 1; *p; p++)
			deep += *p == '/';
	free(top);
	free(real);
	return deep == 4;
}

/* manifests/host/namespace/model/tag: `below` is what came after manifests/ so far. */
static enum tb_status
walk_manifests(struct walk *w, const char *root, const char *below, unsigned level,
	       struct tb_err *err)
{
	char *dir = tb_asprintf("%s/manifests%s%s", root, level ? "/" : "", below);
	char *path, *next, shown[640];
	bool folder = false;
	struct tb_names e = { 0 };
	enum tb_status status = dir ? walk_entries(w, dir, &e, err) : tb_nomem(err);
	struct model_name name;

	for (size_t i = 0; i < e.n && !status; i++) {
		next = tb_asprintf("%s%s%s", below, level == 0 ? "" : level == 3 ? ":" : "/",
				   e.v[i]);
		path = tb_path_join(dir, e.v[i]);
		status = next && path ? walk_look(w, dir, path, &folder, err) : tb_nomem(err);
		if (!status && folder && level < 3)
			status = walk_manifests(w, root, next, level + 1, err);
		else if (!status && level == 3 && (!folder || in_place(root, path)) &&
			 !name_parse(next, &name, NULL))
			status = walk_add(w, MODEL_OLLAMA_TENSORS, name_format(&name, shown), path,
					  root, err);
		free(next);
		free(path);
	}
	tb_names_free(&e);
	free(dir);
	return status;
}

static enum tb_status
ollama_walk(struct walk *w, const char *dir, const char *name, struct tb_err *err)
{
	(void)name;
	return walk_manifests(w, dir, "", 0, err);
}

/* What lies among the manifests, but not where walk_manifests() finds one. */
static enum tb_status
nameless_below(const char *dir, const char *below, unsigned level, store_odd_fn *fn, void *arg,
	       struct tb_err *err)
{
	struct tb_names e;
	enum tb_status status = tb_names_read(&e, dir, err);
	struct model_name name;

	for (size_t i = 0; i < e.n && !status; i++) {
		char *path = tb_path_join(dir, e.v[i]);
		char *next = tb_asprintf("%s%s%s", below, level == 0 ? "" : level == 3 ? ":" : "/",
					 e.v[i]);
		bool hidden = *e.v[i] == '.';

		if (!path || !next)
			status = tb_nomem(err);
		else if (!hidden && level < 3 && tb_is_dir(path))
			status = nameless_below(path, next, level + 1, fn, arg, err);
		else if (!hidden && !tb_is_dir(path) && (level < 3 || name_parse(next, &name, NULL)))
			status = fn(arg, ODD_NAMELESS, path, "a manifest, but no model can be called so:"
				    " rename the file, or remove it", err);
		free(path);
		free(next);
	}
	tb_names_free(&e);
	return status == TB_ENOENT ? TB_OK : status;
}

static enum tb_status
ollama_odd(const char *store, store_odd_fn *fn, void *arg, struct tb_err *err)
{
	char *dir = tb_path_join(store, "manifests");
	enum tb_status status = dir ? nameless_below(dir, "", 0, fn, arg, err) : tb_nomem(err);

	free(dir);
	return status;
}

/* Five levels above root/manifests/host/ns/model/tag. */
static size_t
ollama_root_of(const char *path)
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

/* "…/manifests/host/ns/model/tag" -> "model:tag" and the store's root. */
static enum tb_status
ollama_locate(const char *path, struct model_loc *out, struct tb_err *err)
{
	size_t n = ollama_root_of(path);
	const char *manifests = n ? strstr(path + (n > 1 ? n : 0), "/manifests/") : NULL;
	char *text = manifests ? tb_strdup(manifests + strlen("/manifests/")) : NULL, *root;
	char shown[640];
	struct model_name name;
	enum tb_status status;

	if (!text)
		return manifests ? tb_nomem(err) : TB_ENOENT;
	*strrchr(text, '/') = ':';
	root = tb_strndup(path, n);
	if (!root)
		status = tb_nomem(err);
	else if (!name_parse(text, &name, NULL))
		status = loc_make(out, MODEL_OLLAMA_TENSORS, name_format(&name, shown), path, root,
				  err);
	else
		status = TB_ENOENT;
	free(text);
	free(root);
	return status;
}

/* The last "manifests" on the way. */
static size_t
ollama_above(const char *path)
{
	const char *manifests = NULL;

	for (const char *p = path; (p = strstr(p, "/manifests")); p++)
		if (!p[10] || p[10] == '/')
			manifests = p;
	return manifests ? (size_t)(manifests - path) : 0;
}

static enum store_file
ollama_file(const char *path, char digest[TB_DIGEST_MAX])
{
	/* Names that programs give to files on their way (a running create or
	 * pull).  Whatever else starts with "sha256-" is one, too. */
	static const char *const temporary[] = {
		"sha256-", "Q4_K_M", "Q4_K_S", "Q8_0", "F16", "BF16", "F32", "COPY",
		"projector-metadata", "compat-tensors", "split-copy", "split-gguf-",
	};
	const char *name = tb_path_name(path);
	char head[sizeof("sha256-") + 2 * TB_SHA256_LEN];

	if (digest_parse(name, digest))
		return STORE_BLOB;
	if (tb_starts(name, "sha256-") && (strstr(name, "-partial") || tb_ends(name, ".tmp"))) {
		snprintf(head, sizeof(head), "%s", name);
		(void)digest_parse(head, digest);	/* of the blob that it would be */
		return STORE_PARTIAL;
	}
	for (size_t i = 0; i < sizeof(temporary) / sizeof(*temporary); i++)
		if (tb_starts(name, temporary[i]))
			return STORE_TEMP;
	return tb_is_temporary(name) ? STORE_TEMP : STORE_FOREIGN;
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

static const char *const parts[] = { "blobs", "manifests", NULL };

const struct store_kind store_ollama = {
	.usual = usual,
	.is = ollama_is_store,
	.walk = ollama_walk,
	.locate = ollama_locate,
	.root_of = ollama_root_of,
	.above = ollama_above,
	.parts = parts,
	.written = "manifests",
	.blobs = "blobs",
	.file = ollama_file,
	.odd = ollama_odd,
	.writable = true,
	.typed = true,
	.is_model = ollama_is_model,
	.blob_path = ollama_blob_path,
};
