#include "config.h"

#include "src/store/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/replace.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/store/split.h"
#include "src/store/store.h"
#include "src/store/unread.h"

#define MAX_DEPTH 12

struct folder { dev_t dev; ino_t ino; };

struct walk {
	const char *root;
	struct unread *unread;		/* borrowed */
	struct model_loc *locs;		/* owned */
	size_t n, cap;
	struct folder *seen;		/* sorted; owned */
	size_t nseen, seen_cap;
};

char *
store_absolute(const char *path)
{
	struct tb_buf b = TB_BUF(1 << 20);
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

	if (*path != '/' && !cwd)
		return NULL;
	if (cwd && strcmp(cwd, "/") != 0)
		tb_buf_str(&b, cwd);
	free(cwd);
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n && !(n == 1 && *path == '.')) {
			tb_buf_chr(&b, '/');
			tb_buf_add(&b, path, n);
		}
		path += n + (path[n] == '/');
	}
	if (!b.len)
		tb_buf_chr(&b, '/');
	return tb_buf_take(&b);
}

enum tb_status
loc_make(struct model_loc *loc, enum model_kind kind, const char *name, const char *path,
	 const char *root, struct tb_err *err)
{
	struct tb_path config = { "" };
	struct stat st = { 0 };

	if (kind_is_folder(kind))
		tb_path_in(&config, path, "config.json");
	if (stat(tb_exists(config.s) ? config.s : path, &st))
		st.st_mtim = (struct timespec){ 0 };
	*loc = (struct model_loc){ .kind = kind, .name = tb_strdup(name),
		.path = tb_strdup(path), .root = tb_strdup(root),
		.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec };
	if (loc->name && loc->path && loc->root)
		return TB_OK;
	model_loc_free(loc);
	return tb_nomem(err);
}

enum tb_status
loc_make_file(struct model_loc *loc, const char *name, const char *path, const char *root,
	      struct tb_err *err)
{
	const struct format *format;
	enum tb_status status = format_of_file(path, &format, err);

	return status ? status
	     : loc_make(loc, kind_for(NULL, LAYOUT_FILE, format), name, path, root, err);
}

enum tb_status
walk_add(struct walk *w, enum model_kind kind, const char *name, const char *path,
	 const char *store, struct tb_err *err)
{
	enum tb_status status;

	if (!tb_grow(&w->locs, &w->cap, w->n + 1, sizeof(*w->locs)))
		return tb_nomem(err);
	status = loc_make(&w->locs[w->n], kind, name, path, store ? store : w->root, err);
	w->n += !status;
	return status;
}

enum tb_status
walk_entries(struct walk *w, const char *dir, struct tb_names *out, struct tb_err *err)
{
	struct tb_err why;
	enum tb_status status = tb_names_read(out, dir, &why);
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++)
		if (*out->v[i] == '.')
			free(out->v[i]);
		else
			out->v[n++] = out->v[i];
	out->n = n;
	return unread_note(w->unread, dir, status, &why, err);
}

enum tb_status
walk_look(struct walk *w, const char *dir, const char *path, bool *folder, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct tb_err why;
	struct stat st;

	*folder = false;
	if (!stat(path, &st))
		*folder = S_ISDIR(st.st_mode);
	else
		status = tb_fail_errno(&why, "%s", path);
	return unread_note(w->unread, status && tb_exists(path) ? path : dir, status, &why, err);
}

static bool
walk_is_weights(const char *name)
{
	const struct format *format = format_of_name(name);

	return format && format->folder;
}

static bool
is_model(const struct tb_names *e)
{
	bool config = false, weights = false, model = false;

	for (size_t i = 0; i < e->n; i++) {
		config |= strcmp(e->v[i], "config.json") == 0;
		weights |= walk_is_weights(e->v[i]);
		model |= tb_starts(e->v[i], "model") &&
			 (walk_is_weights(e->v[i]) || tb_ends(e->v[i], ".safetensors.index.json"));
	}
	return model || (config && weights);
}

enum tb_status
folder_has_weights(const char *dir, bool *yes, struct tb_err *err)
{
	struct tb_names e;
	enum tb_status status = tb_names_read(&e, dir, err);

	*yes = is_model(&e);
	for (size_t i = 0; i < e.n; i++)
		*yes |= *e.v[i] != '.' && walk_is_weights(e.v[i]);
	tb_names_free(&e);
	return status;
}

/* One file of a split stands for all: the first that is there. */
static bool
is_continued(const struct tb_names *e, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (split_same(e->v[k], e->v[i]))
			return true;
	return false;
}

/* The name of a split model is that of its files without their numbers. */
static char *
file_model_name(const char *folder, const char *entry)
{
	struct split s;
	int n = split_parse(entry, &s) ? (int)s.base : (int)strlen(entry);

	return tb_asprintf("%s%s%.*s", folder, *folder ? "/" : "", n, entry);
}

/* The models of one folder: the folder itself, or files in it that stand alone. */
static enum tb_status
add_folder(struct walk *w, const char *dir, const char *name, const struct tb_names *e,
	   struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool model = is_model(e);

	if (model)
		status = walk_add(w, MODEL_SAFETENSORS_DIR, name, dir, NULL, err);
	for (size_t i = 0; i < e->n && !status; i++) {
		const struct format *format = format_of_name(e->v[i]);
		char *path, *full;

		if (!format || (model && format->folder) || is_continued(e, i))
			continue;
		path = tb_path_join(dir, e->v[i]);
		full = file_model_name(name, e->v[i]);
		if (!path || !full)
			status = tb_nomem(err);
		else if (!tb_is_dir(path))
			status = walk_add(w, kind_for(NULL, LAYOUT_FILE, format), full, path, NULL, err);
		free(path);
		free(full);
	}
	return status;
}

/* Snapshots link to files alone: a folder behind a link is none of theirs. */
static bool
leads_out(const char *path)
{
	const struct store_kind *const *k = store_kinds;
	struct stat st;

	while (*k && !((*k)->beside && (*k)->root_of(path)))
		k++;
	return *k && (lstat(path, &st) || S_ISLNK(st.st_mode));
}

/* Symbolic links may lead in circles, or to one place on many ways: each folder is
 * looked at once.  *again: it has been. */
static enum tb_status
walk_visit(struct walk *w, const struct stat *st, bool *again, struct tb_err *err)
{
	const struct folder f = { st->st_dev, st->st_ino };
	size_t at = TB_FIRST(w->nseen, i, w->seen[i].ino < f.ino ||
			     (w->seen[i].ino == f.ino && w->seen[i].dev < f.dev));

	*again = at < w->nseen && w->seen[at].ino == f.ino && w->seen[at].dev == f.dev;
	if (*again)
		return TB_OK;
	if (!tb_grow(&w->seen, &w->seen_cap, w->nseen + 1, sizeof(f)))
		return tb_nomem(err);
	memmove(w->seen + at + 1, w->seen + at, (w->nseen++ - at) * sizeof(f));
	w->seen[at] = f;
	return TB_OK;
}

static enum tb_status
walk_below(struct walk *w, const char *dir, const char *name, const struct tb_names *e,
	   unsigned depth, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < e->n && !status; i++) {
		char *path = tb_path_join(dir, e->v[i]);
		char *full = *name ? tb_path_join(name, e->v[i]) : tb_strdup(e->v[i]);
		const struct store_kind *kind;
		bool folder = false;

		status = path && full ? walk_look(w, dir, path, &folder, err) : tb_nomem(err);
		if (!status && folder && (kind = store_kind_of(path, true)))
			status = kind->walk(w, path, full, err);
		else if (!status && folder && !leads_out(path))
			status = walk_folder(w, path, full, depth + 1, err);
		free(path);
		free(full);
	}
	return status;
}

enum tb_status
walk_folder(struct walk *w, const char *dir, const char *name, unsigned depth, struct tb_err *err)
{
	const struct store_kind *kind;
	struct tb_names e = { 0 };
	enum tb_status status;
	const char *shown;
	struct tb_err why;
	struct stat st;
	bool again;

	if (depth > MAX_DEPTH || (depth && tb_is_replaced(dir)))	/* kept beside its successor */
		return TB_OK;
	if (stat(dir, &st))
		return unread_note(w->unread, dir, tb_fail_errno(&why, "%s", dir), &why, err);
	status = walk_visit(w, &st, &again, err);
	if (status || again)
		return status;
	kind = store_kind_of(dir, false);
	if (kind)
		return kind->walk(w, dir, name, err);
	status = walk_entries(w, dir, &e, err);
	shown = *name || !is_model(&e) ? name : strrchr(dir, '/') + 1;
	if (!status)
		status = add_folder(w, dir, shown, &e, err);
	if (!status && !is_model(&e))	/* what lies below a model belongs to it */
		status = walk_below(w, dir, name, &e, depth, err);
	tb_names_free(&e);
	return status;
}

static int
loc_cmp(const void *a, const void *b)
{
	const struct model_loc *x = a, *y = b;
	int d = tb_natural_cmp(x->name, y->name);

	return d ? d : strcmp(x->path, y->path);
}

/* A root may be a model in one file. */
static enum tb_status
walk_file(struct walk *w, const char *path, struct tb_err *err)
{
	const struct format *format;
	enum tb_status status;
	char *name;

	if (!tb_exists(path))
		return tb_fail(err, TB_ENOENT, "%s: no such folder", path);
	if ((status = format_of_file(path, &format, err)))
		return status;
	name = file_model_name("", strrchr(path, '/') + 1);
	status = name ? walk_add(w, kind_for(NULL, LAYOUT_FILE, format), name, path, NULL, err)
		      : tb_nomem(err);
	free(name);
	return status;
}

enum tb_status
store_walk(const char *root, store_walk_fn *fn, void *arg, struct unread *unread,
	   struct tb_err *err)
{
	char *abs = store_absolute(root);
	struct walk w = { .root = abs, .unread = unread };
	enum tb_status status = abs ? TB_OK : tb_nomem(err);

	if (!status && tb_no_dir(abs))
		status = walk_file(&w, abs, err);
	else if (!status)
		status = walk_folder(&w, abs, "", 0, err);
	if (w.n > 1)
		qsort(w.locs, w.n, sizeof(*w.locs), loc_cmp);
	for (size_t i = 0; i < w.n && !status; i++)
		status = fn(arg, &w.locs[i], err);
	while (w.n)
		model_loc_free(&w.locs[--w.n]);
	free(w.locs);
	free(w.seen);
	free(abs);
	return status;
}
