#include "config.h"

#include "src/store/ollama.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum tb_status
ollama_writer_init(struct ollama_writer *w, const char *root, struct tb_err *err)
{
	*w = (struct ollama_writer){ .root = tb_strdup(root) };
	return w->root ? TB_OK : tb_nomem(err);
}

/* A blob that we made or touched, and its time since then: whoever else reuses it
 * touches it, and then it is no longer ours to remove or to set back. */
struct ollama_made {
	char *path;
	int64_t mtime_ns;
	bool was_there;
	int64_t before_ns;	/* its time before we touched it */
};

static enum tb_status
remember(struct ollama_writer *w, const char *path, bool was_there, int64_t before_ns,
	 struct tb_err *err)
{
	struct ollama_made m = { tb_strdup(path), 0, was_there, before_ns };
	struct tb_ident id;

	if (!m.path || !tb_grow(&w->made, &w->made_cap, w->nmade + 1, sizeof(m))) {
		free(m.path);
		if (!was_there)
			unlink(path);
		return tb_nomem(err);
	}
	if (!tb_file_ident(path, &id, NULL))
		m.mtime_ns = id.mtime_ns;
	w->made[w->nmade++] = m;
	return TB_OK;
}

static void
set_mtime(const char *path, int64_t ns)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) },
	};

	(void)!utimensat(AT_FDCWD, path, times, 0);
}

/* A touched blob gets its time back: to whoever watches times it has not changed. */
static void
forget_made(struct ollama_writer *w, bool remove)
{
	struct tb_ident id;

	while (w->nmade) {
		struct ollama_made *m = &w->made[--w->nmade];
		bool ours = !tb_file_ident(m->path, &id, NULL) && id.mtime_ns == m->mtime_ns;

		if (ours && m->was_there)
			set_mtime(m->path, m->before_ns);
		else if (ours && remove)
			unlink(m->path);
		free(m->path);
	}
}

void
ollama_writer_free(struct ollama_writer *w)
{
	forget_made(w, true);
	free(w->made);
	free(w->root);
	manifest_free(&w->manifest);
	*w = (struct ollama_writer){ 0 };
}

enum tb_status
ollama_merge(struct ollama_writer *w, struct ollama_writer *from, struct tb_err *err)
{
	struct manifest *to = &w->manifest, *m = &from->manifest;
	enum tb_status status = TB_OK;

	if (!tb_grow(&to->layers, &to->cap, to->nlayers + m->nlayers, sizeof(*to->layers)) ||
	    !tb_grow(&w->made, &w->made_cap, w->nmade + from->nmade, sizeof(*w->made))) {
		status = tb_nomem(err);
	} else {
		for (size_t i = 0; i < m->nlayers; i++)
			to->layers[to->nlayers++] = m->layers[i];
		for (size_t i = 0; i < from->nmade; i++)
			w->made[w->nmade++] = from->made[i];
		m->nlayers = from->nmade = 0;
	}
	ollama_writer_free(from);
	return status;
}

enum tb_status
ollama_blob_open(struct ollama_writer *w, struct tb_out *o, struct tb_err *err)
{
	char *dir = tb_path_join(w->root, "blobs");
	enum tb_status status;

	*o = (struct tb_out){ .fd = -1 };
	if (!dir)
		return tb_nomem(err);
	status = tb_out_open(o, dir, err);
	free(dir);
	return status;
}

/* Does the file have the bytes that its name says?  Ollama looks at the size alone
 * and so keeps a damaged blob for ever. */
static bool
is_good(const char *path, const char *digest, uint64_t size)
{
	char actual[TB_DIGEST_MAX];
	struct tb_file f;
	bool good;

	if (tb_file_open(&f, path, NULL))
		return false;
	good = f.id.size == size && !tb_sha256_file(&f, NULL, actual, NULL) &&
	       !strcmp(actual, digest);
	tb_file_close(&f);
	return good;
}

/* Spares a blob that is there from pruning, which takes what is older than an hour
 * and not referenced yet. */
static enum tb_status
reuse(struct ollama_writer *w, const char *path, struct tb_err *err)
{
	struct tb_ident id;
	enum tb_status status = tb_file_ident(path, &id, err);

	if (status)
		return status;
	(void)!utimensat(AT_FDCWD, path, NULL, 0);
	return remember(w, path, true, id.mtime_ns, err);
}

/* One with other bytes is damaged: the right one takes its place, and stays. */
static enum tb_status
make(struct ollama_writer *w, struct tb_out *o, const char *path, struct tb_err *err)
{
	bool mends = tb_exists(path);
	enum tb_status status = tb_out_commit(o, path, true, err);

	return status || mends ? status : remember(w, path, false, 0, err);
}

enum tb_status
ollama_add_blob(struct ollama_writer *w, enum media kind, const char *name, struct tb_out *o,
		const char *digest, uint64_t size, struct tb_err *err)
{
	char *path = ollama_blob_path(w->root, digest), canonical[TB_DIGEST_MAX];
	enum tb_status status = TB_OK;

	if (!digest_parse(digest, canonical))
		status = tb_fail(err, TB_EFORMAT, "bad digest \"%.80s\"", digest);
	else if (!path)
		status = tb_nomem(err);
	else if (is_good(path, canonical, size))
		status = reuse(w, path, err);
	else
		status = make(w, o, path, err);
	tb_out_abort(o);
	free(path);
	return status ? status : manifest_add(&w->manifest, kind, digest, size, name, err);
}

enum tb_status
ollama_add_bytes(struct ollama_writer *w, enum media kind, const char *name, const void *data,
		 size_t len, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	enum tb_status status;
	struct tb_out o;

	tb_sha256_bytes(data, len, digest);
	status = ollama_blob_open(w, &o, err);
	if (!status)
		status = tb_out_write(&o, data, len, err);
	if (status) {
		tb_out_abort(&o);
		return status;
	}
	return ollama_add_blob(w, kind, name, &o, digest, len, err);
}

enum tb_status
ollama_commit(struct ollama_writer *w, const struct model_name *name, bool replace,
	      struct tb_err *err)
{
	char *path = ollama_find_manifest(w->root, name), shown[640];
	struct tb_buf text = TB_BUF(MANIFEST_MAX);
	enum tb_status status = TB_OK;

	if (path && !replace)
		status = tb_fail(err, TB_EEXIST, "%s: exists already (%s)",
				 name_format(name, shown), path);
	if (!path)
		path = ollama_manifest_path(w->root, name);
	manifest_print(&w->manifest, &text);
	if (!path || (tb_buf_failed(&text) && text.cap < MANIFEST_MAX / 2))
		status = tb_nomem(err);
	else if (!status && tb_buf_failed(&text))
		status = tb_fail(err, TB_ELIMIT, "%s: a manifest of more than %u bytes",
				 name_format(name, shown), MANIFEST_MAX);
	if (!status)
		status = tb_out_file(path, text.p, text.len, replace, err);
	if (!status)
		forget_made(w, false);
	tb_buf_free(&text);
	free(path);
	return status;
}
