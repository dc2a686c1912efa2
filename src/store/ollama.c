#include "config.h"

#include "src/store/ollama.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"

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

static int
entry_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Entries of `dir` that are `part` but for case, the one spelled so first. */
static size_t
entries_like(const char *dir, const char *part, char **found, size_t max)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)) && n < max) {
		if (strcasecmp(e->d_name, part) != 0)
			continue;
		found[n] = tb_strdup(e->d_name);
		n += found[n] != NULL;
	}
	if (d)
		closedir(d);
	qsort(found, n, sizeof(*found), entry_cmp);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(found[i], part) == 0) {
			char *exact = found[i];

			memmove(found + 1, found, i * sizeof(*found));
			found[0] = exact;
		}
	}
	return n;
}

#define MAX_SPELLINGS 16

/* Goes down from `dir` along parts[0..3]; the path of the manifest or NULL. */
static char *
descend(const char *dir, const char *const *parts, int left)
{
	char *found[MAX_SPELLINGS], *path, *result = NULL;
	size_t n;

	if (!left)
		return tb_exists(dir) && !tb_is_dir(dir) ? tb_strdup(dir) : NULL;
	n = entries_like(dir, *parts, found, MAX_SPELLINGS);
	for (size_t i = 0; i < n; i++) {
		path = result ? NULL : tb_path_join(dir, found[i]);
		if (path)
			result = descend(path, parts + 1, left - 1);
		free(path);
		free(found[i]);
	}
	return result;
}

char *
ollama_find_manifest(const char *root, const struct model_name *name)
{
	const char *parts[] = { name->host, name->ns, name->model, name->tag };
	char *exact = ollama_manifest_path(root, name), *dir, *path;

	if (!exact || (tb_exists(exact) && !tb_is_dir(exact)))
		return exact;
	free(exact);
	dir = tb_path_join(root, "manifests");
	path = dir ? descend(dir, parts, 4) : NULL;
	free(dir);
	return path;
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
	DIR *d = opendir(dir);
	enum tb_status status = TB_OK;
	struct dirent *e;

	if (!d)
		return tb_fail_errno(err, "%s", dir);
	while (!status) {
		char *path;

		errno = 0;
		e = readdir(d);
		if (!e && errno)
			status = tb_fail_errno(err, "%s", dir);
		if (!e)
			break;
		/* A writer that is about to commit holds a lock, so this is none's. */
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    tb_is_temporary(e->d_name))
			continue;
		path = tb_path_join(dir, e->d_name);
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
	closedir(d);
	return status;
}

enum tb_status
ollama_named(const char *root, ollama_named_fn *fn, void *arg, struct tb_err *err)
{
	char *dir = tb_path_join(root, "manifests");
	enum tb_status status;

	if (!dir)
		return tb_nomem(err);
	status = !tb_exists(dir) && errno == ENOENT ? TB_OK : named_below(dir, 0, fn, arg, err);
	free(dir);
	return status;
}
