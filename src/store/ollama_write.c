/* ollama_write.c - writing into an Ollama store, beside others who do. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/sha256.h"
#include "src/store/journal.h"
#include "src/store/ollama.h"

#define KEPT_MAX 51		/* bytes of a tag's 80 that are left beside ".replaced-…" */

/* Others take this lock alone for the moment in which they take blobs back. */
static enum tb_status
hold_store(struct ollama_writer *w, struct tb_err *err)
{
	char *dir = tb_path_join(w->root, "blobs");
	enum tb_status status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);

	if (!status) {
		journal_recover_now(w->root);
		status = store_lock_shared(&w->lock, w->root, err);
	}
	if (!status)
		tb_out_sweep(dir);
	free(dir);
	return status;
}

enum tb_status
ollama_part_init(struct ollama_writer *part, const char *root, struct tb_err *err)
{
	*part = (struct ollama_writer){ .root = tb_strdup(root), .lock = STORE_UNLOCKED };
	return part->root ? TB_OK : tb_nomem(err);
}

enum tb_status
ollama_writer_init(struct ollama_writer *w, const char *root, struct tb_err *err)
{
	enum tb_status status = ollama_part_init(w, root, err);

	if (!status)
		status = hold_store(w, err);
	if (status)
		ollama_writer_free(w);
	return status;
}

/* A blob that we made or touched, and its time since then: other programs know nothing
 * of locks, but touch what they reuse, and then it is not ours alone. */
struct ollama_made {
	char *path;
	char digest[TB_DIGEST_MAX];
	int64_t mtime_ns;
	int64_t before_ns;		/* the time of one that was there; 0: of ours, or not known */
	bool was_there, named;
};

static enum tb_status
writer_remember(struct ollama_writer *w, const char *path, const char *digest, bool was_there,
		int64_t before_ns, struct tb_err *err)
{
	struct ollama_made m = { .path = tb_strdup(path), .was_there = was_there,
				 .before_ns = before_ns };
	struct tb_ident id;

	if (!m.path || !tb_grow(&w->made, &w->made_cap, w->nmade + 1, sizeof(m))) {
		free(m.path);
		return tb_nomem(err);
	}
	memcpy(m.digest, digest, sizeof(m.digest));
	if (!tb_file_ident(path, &id, NULL))
		m.mtime_ns = id.mtime_ns;
	w->made[w->nmade++] = m;
	return TB_OK;
}

/* What was touched needs that no more, and gets its time back, unless somebody else has
 * touched it since: a blob with a new time looks changed to who has hashed it. */
static void
forget_made(struct ollama_writer *w)
{
	while (w->nmade) {
		struct ollama_made *m = &w->made[--w->nmade];
		const struct timespec times[2] = {
			{ .tv_nsec = UTIME_OMIT },
			{ m->before_ns / 1000000000, m->before_ns % 1000000000 },
		};
		struct tb_ident id;

		if (m->before_ns > 0 && !tb_file_ident(m->path, &id, NULL) &&
		    id.mtime_ns == m->mtime_ns)
			(void)!utimensat(AT_FDCWD, m->path, times, 0);
		free(m->path);
	}
}

static int
writer_by_digest(const void *a, const void *b)
{
	return strcmp(((const struct ollama_made *)a)->digest,
		      ((const struct ollama_made *)b)->digest);
}

static void
mark_named(void *arg, const char *digest)
{
	struct ollama_writer *w = arg;
	struct ollama_made key = { 0 }, *m;

	memcpy(key.digest, digest, sizeof(key.digest));
	m = bsearch(&key, w->made, w->nmade, sizeof(*m), writer_by_digest);
	if (!m)
		return;
	while (m > w->made && writer_by_digest(m - 1, &key) == 0)
		m--;
	for (; m < w->made + w->nmade && writer_by_digest(m, &key) == 0; m++)
		m->named = true;
}

/* Removes made[i .. end) if it was not there before and nobody else touched it since. */
static void
take_back_one(const struct ollama_writer *w, size_t i, size_t end)
{
	const char *path = w->made[i].path;
	bool made = false, ours = false;
	struct tb_ident id;

	if (w->made[i].named || tb_file_ident(path, &id, NULL))
		return;
	for (; i < end; i++) {
		made |= !w->made[i].was_there;
		ours |= w->made[i].mtime_ns == id.mtime_ns;
	}
	if (made && ours)
		unlink(path);
}

static void
writer_take_back(struct ollama_writer *w)
{
	if (!w->nmade || w->lock.fd < 0 || ollama_blobs_shared(w->root) ||
	    !store_lock_try_alone(&w->lock, w->root))
		return;
	qsort(w->made, w->nmade, sizeof(*w->made), writer_by_digest);
	if (ollama_named(w->root, mark_named, w, NULL))
		return;
	for (size_t i = 0, end; i < w->nmade; i = end) {
		for (end = i + 1; end < w->nmade && !writer_by_digest(&w->made[i], &w->made[end]); end++)
			;
		take_back_one(w, i, end);
	}
}

void
ollama_writer_free(struct ollama_writer *w)
{
	if (!w->root)
		return;			/* zeroed: its lock is none */
	writer_take_back(w);
	forget_made(w);
	store_unlock(&w->lock);
	free(w->made);
	free(w->root);
	free(w->path);
	free(w->kept_path);
	manifest_free(&w->manifest);
	*w = (struct ollama_writer){ .lock = STORE_UNLOCKED };
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
		tb_arena_join(&to->texts, &m->texts);
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

bool
ollama_blob_good(const char *path, const char *digest, uint64_t size)
{
	char actual[TB_DIGEST_MAX];
	struct tb_file f;
	bool good;

	if (tb_file_open(&f, path, NULL))
		return false;
	good = f.id.size == size && !tb_sha256_file(&f, NULL, NULL, actual, NULL) &&
	       !strcmp(actual, digest);
	tb_file_close(&f);
	return good;
}

/* Spares a blob that is there from pruning until a manifest names it: that takes what is
 * older than an hour and not referenced. */
static enum tb_status
reuse(struct ollama_writer *w, const char *path, const char *digest, struct tb_err *err)
{
	struct tb_ident id;
	int64_t before = tb_file_ident(path, &id, NULL) ? 0 : id.mtime_ns;

	(void)!utimensat(AT_FDCWD, path, NULL, 0);
	return writer_remember(w, path, digest, true, before, err);
}

/* One with other bytes is damaged: the right one takes its place, and stays.  One that
 * another writer made meanwhile is as good as ours, and is theirs. */
static enum tb_status
writer_make(struct ollama_writer *w, struct tb_out *o, const char *path, const char *digest,
	    uint64_t size, struct tb_err *err)
{
	bool mends = tb_exists(path);
	enum tb_status status = tb_out_commit(o, path, mends, err), late;

	if (status == TB_EEXIST && !mends && ollama_blob_good(path, digest, size))
		return reuse(w, path, digest, err);
	if (status == TB_EEXIST)
		return tb_fail(err, TB_EIO, "%s: somebody else makes it, with other bytes", path);
	if (!tb_written(status))
		return status;
	if (mends)
		return status ? tb_fail(err, TB_EIO, "%s: cannot be synced", path) : TB_OK;
	late = writer_remember(w, path, digest, false, 0, NULL);
	if (status)		/* of the model nothing is there yet */
		return err ? tb_fail(err, TB_EIO, "%s", err->msg) : TB_EIO;
	return late ? tb_nomem(err) : TB_OK;
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
	else if (ollama_blob_good(path, canonical, size))
		status = reuse(w, path, canonical, err);
	else
		status = writer_make(w, o, path, canonical, size, err);
	tb_out_abort(o);
	free(path);
	return status ? status : manifest_add(&w->manifest, kind, digest, size, name, err);
}

/* Gives a file its name as a blob, too; where a file system has no second names, instead.
 * One that is there and damaged is replaced. */
static enum tb_status
name_blob(struct ollama_writer *w, const char *file, const char *path, const char *digest,
	  uint64_t size, struct tb_err *err)
{
	bool taken;

	if (link(file, path) == 0) {
		(void)!utimensat(AT_FDCWD, path, NULL, 0);	/* a young blob is not pruned */
		return writer_remember(w, path, digest, false, 0, err);
	}
	taken = tb_exists(path);
	/* Another may have made the same, and be done with the file. */
	if (taken && (tb_same_place(file, path) || ollama_blob_good(path, digest, size)))
		return reuse(w, path, digest, err);
	if (taken ? rename(file, path) : tb_rename_new(file, path))
		return tb_fail_errno(err, "%s: cannot be written", path);
	return taken ? TB_OK : writer_remember(w, path, digest, false, 0, err);
}

enum tb_status
ollama_add_file(struct ollama_writer *w, enum media kind, const char *name, const char *file,
		const char *digest, uint64_t size, struct tb_err *err)
{
	char *path = ollama_blob_path(w->root, digest);
	enum tb_status status;

	if (!path)
		status = tb_nomem(err);
	else
		status = name_blob(w, file, path, digest, size, err);
	free(path);
	return status ? status : manifest_add(&w->manifest, kind, digest, size, name, err);
}

enum tb_status
ollama_sync_blobs(struct ollama_writer *w, struct tb_err *err)
{
	char *dir = tb_path_join(w->root, "blobs"), *any = dir ? tb_path_join(dir, "any") : NULL;
	int fd = -1;
	enum tb_status status = any ? tb_folder_open(any, &fd, err) : tb_nomem(err);

	if (!status)
		status = tb_folder_sync(fd, dir, err);
	free(dir);
	free(any);
	/* of the model nothing is there yet */
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err->msg) : status;
}

enum tb_status
ollama_add_there(struct ollama_writer *w, enum media kind, const char *name, const char *digest,
		 uint64_t size, struct tb_err *err)
{
	char *path = ollama_blob_path(w->root, digest), canonical[TB_DIGEST_MAX];
	struct tb_ident id;
	enum tb_status status;

	if (!digest_parse(digest, canonical))
		status = tb_fail(err, TB_EFORMAT, "bad digest \"%.80s\"", digest);
	else
		status = path ? tb_file_ident(path, &id, err) : tb_nomem(err);
	if (!status && id.size != size)
		status = tb_fail(err, TB_EFORMAT, "%s: has %ju bytes, not %ju", path,
				 (uintmax_t)id.size, (uintmax_t)size);
	if (!status)
		status = reuse(w, path, canonical, err);
	free(path);
	return status ? status : manifest_add(&w->manifest, kind, digest, size, name, err);
}

enum tb_status
ollama_add_bytes(struct ollama_writer *w, enum media kind, const char *name, const void *data,
		 size_t len, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	enum tb_status status = tb_sha256_bytes(data, len, digest, err);
	struct tb_out o = { .fd = -1 };

	if (!status)
		status = ollama_blob_open(w, &o, err);
	if (!status)
		status = tb_out_write(&o, data, len, err);
	if (status) {
		tb_out_abort(&o);
		return status;
	}
	return ollama_add_blob(w, kind, name, &o, digest, len, err);
}

static enum tb_status
writer_publish(struct ollama_writer *w, const struct tb_buf *text, bool replace, struct tb_err *err)
{
	const char *tag = tb_path_name(w->path);
	char *dir = tb_strndup(w->path, (size_t)(tag - 1 - w->path));
	/* "…/latest" -> what its name as a replaced one begins with: a tag has 80 bytes */
	char *keep = tb_asprintf("%.*s%.*s", (int)(tag - w->path), w->path, KEPT_MAX, tag);
	struct tb_out o = { .fd = -1 };
	enum tb_status status = dir && keep ? tb_out_open(&o, dir, err) : tb_nomem(err);

	if (!status) {
		tb_out_sweep(dir);
		status = tb_out_write(&o, text->p, text->len, err);
		if (status)
			tb_out_abort(&o);
		else if (replace)
			status = tb_out_replace(&o, w->path, keep, &w->kept_path, err);
		else
			status = tb_out_commit(&o, w->path, false, err);
	}
	free(dir);
	free(keep);
	return status;
}

enum tb_status
ollama_commit(struct ollama_writer *w, const struct model_name *name, bool replace,
	      struct tb_err *err)
{
	char shown[640];
	struct model_name old = *name;
	struct tb_buf text = TB_BUF(MANIFEST_MAX);
	enum tb_status status;

	free(w->path);
	free(w->kept_path);
	w->kept_path = NULL;
	*w->kept = 0;
	status = ollama_find_manifest(w->root, name, &w->path, err);
	if (w->path && !replace)
		status = tb_fail(err, TB_EEXIST, "%s: exists already (%s)",
				 name_format(name, shown), w->path);
	if (!w->path)
		w->path = ollama_manifest_path(w->root, name);
	if (w->text)
		tb_buf_add(&text, w->text->p, w->text->len);
	else
		manifest_print(&w->manifest, &text);
	if (!w->path)
		status = tb_nomem(err);
	if (!status)
		status = tb_buf_status(&text, "the manifest", err);
	if (!status)
		status = writer_publish(w, &text, replace, err);
	if (tb_written(status)) {
		const char *tag = w->kept_path ? tb_path_name(w->kept_path) : "";

		forget_made(w);
		if (*tag && strlen(tag) < sizeof(old.tag)) {	/* perhaps it differs in case, too */
			memcpy(old.tag, tag, strlen(tag) + 1);
			name_format(&old, w->kept);
		}
	}
	tb_buf_free(&text);
	return status;
}
