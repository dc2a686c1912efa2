#include "config.h"

#include "src/ops/blobdir/blobdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/ops/output/output.h"

#define MAX_DEPTH 12

/* Earlier versions called a folder so while they put another in its place. */
static bool
is_old(const char *name)
{
	return tb_starts(name, ".tbtui-old-");
}

/* The bytes of the files in a folder; such folders have none below them. */
static uint64_t
size_of(const char *dir)
{
	struct tb_names names;
	uint64_t sum = 0;
	struct stat st;

	if (tb_names_read(&names, dir, NULL))
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		char *path = tb_path_join(dir, names.v[i]);

		if (path && !lstat(path, &st) && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
		free(path);
	}
	tb_names_free(&names);
	return sum;
}

static enum tb_status
add(struct blobdir *d, const char *path, bool kept, struct tb_err *err)
{
	struct blobdir_entry *e;
	struct stat st;

	if (lstat(path, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return TB_OK;
	if (!tb_grow(&d->rows, &d->cap, d->n + 1, sizeof(*d->rows)))
		return tb_nomem(err);
	e = &d->rows[d->n];
	*e = (struct blobdir_entry){ .path = tb_strdup(path),
		.kind = kept ? DB_FILE_KEPT : DB_FILE_TEMP };
	if (!e->path)
		return tb_nomem(err);
	e->id = (struct tb_ident){ st.st_dev, st.st_ino, S_ISDIR(st.st_mode) ? size_of(path)
				   : (uint64_t)st.st_size,
				   st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec };
	d->n++;
	return TB_OK;
}

enum tb_status
leftover_add(struct blobdir *d, const char *path, struct tb_err *err)
{
	return add(d, path, false, err);
}

static bool
is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static enum tb_status walk_from(struct blobdir *d, const char *dir, unsigned depth,
				struct tb_err *err);

/* in: the store that the folder is (top) or lies in.  A store's blobs are listed already, and a
 * manifest that was replaced is a model like others, under another tag. */
static enum tb_status
walk(struct blobdir *d, const char *dir, unsigned depth, const struct store_kind *in, bool top,
     struct tb_err *err)
{
	struct tb_names names = { 0 };
	enum tb_status status = TB_OK;
	struct tb_err why;

	if (depth < MAX_DEPTH)
		status = unread_note(&d->unread, dir, tb_names_read(&names, dir, &why), &why, err);
	for (size_t i = 0; !status && i < names.n; i++) {
		const char *name = names.v[i];
		bool kept = !in && tb_is_replaced(name);
		bool left = tb_is_temporary(name) || tb_is_work(name) || is_old(name);
		char *path;

		if (!kept && !left && (*name == '.' || store_kind_of(name, true) ||
				       (top && strcmp(name, in->written))))
			continue;
		path = tb_path_join(dir, name);
		if (!path)
			status = tb_nomem(err);
		else if (kept || left)
			status = add(d, path, kept, err);
		else if (!is_folder(path))
			status = TB_OK;
		else if (in)
			status = walk(d, path, depth + 1, in, false, err);
		else
			status = walk_from(d, path, depth + 1, err);
		free(path);
	}
	tb_names_free(&names);
	return status;
}

static enum tb_status
walk_from(struct blobdir *d, const char *dir, unsigned depth, struct tb_err *err)
{
	const struct store_kind *kind = store_kind_of(dir, false);
	bool listed = kind && kind->written;

	return walk(d, dir, depth, listed ? kind : NULL, listed, err);
}

enum tb_status
leftover_root(struct blobdir *d, const char *root, struct tb_err *err)
{
	return walk_from(d, root, 0, err);
}

bool
leftover_in_use(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* several may work in such a folder, each with a shared lock */
	int how = tb_is_work(tb_path_name(path)) ? LOCK_EX : LOCK_SH;
	bool used = fd >= 0 && flock(fd, how | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return used;
}

char *
leftover_text(const char *path)
{
	const char *name = tb_path_name(path);
	char *remove, *text;

	if (tb_is_temporary(name))
		return tb_strdup("is left over from a conversion that did not end; the next one to the "
				 "same place takes it away");
	if (!tb_is_work(name) && !is_old(name) && !tb_is_replaced(name))
		return tb_strdup("");
	remove = kept_remove(path);
	if (!remove)
		return NULL;
	if (tb_is_work(name))
		text = tb_asprintf("is what is finished of a conversion that was stopped: the same command "
				   "goes on with it; to be rid of it: %s", remove);
	else if (is_old(name))
		text = tb_asprintf("is left over from a replacement that did not end, and may be all that "
				   "is left of the old model: give it its name again with mv, or %s",
				   remove);
	else
		text = tb_asprintf("is an old model, kept when another took its place; to be rid of it: "
				   "%s", remove);
	free(remove);
	return text;
}
