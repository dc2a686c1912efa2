/* convert_apart.c - is the destination apart from the source?  Names and links do not
 * matter, places do: device and inode of it and of all folders above it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/convert.h"
#include "src/store/ollama.h"
#include "src/store/store.h"

static bool
is_same(const char *path, const struct stat *st)
{
	struct stat is;

	return stat(path, &is) == 0 && is.st_dev == st->st_dev && is.st_ino == st->st_ino;
}

/* The part of a path that is there, links resolved; caller frees.  What is not there yet
 * is below it: a ".." in that would lead anywhere once it is made. */
static enum tb_status
real_part(const char *path, char **out, struct tb_err *err)
{
	char *part = tb_strdup(path), *slash;
	enum tb_status status = TB_OK;

	*out = NULL;
	while (part && !status && !(*out = realpath(part, NULL))) {
		slash = strrchr(part, '/');
		if (errno != ENOENT)
			status = tb_fail_errno(err, "%s", path);
		else if (tb_ends(part, "/..") || !strcmp(part, ".."))
			status = tb_fail(err, TB_EUSAGE, "%s: there is no such folder; name it without "
					 "\"..\"", path);
		else if (!slash && !strcmp(part, "."))
			status = tb_fail_errno(err, "%s", path);
		else if (!slash)
			memcpy(part, ".", 2);
		else
			slash[slash == part] = 0;
	}
	if (!part)
		status = tb_nomem(err);
	free(part);
	return status;
}

/* Is `st` the place `real` (an absolute path without links, which is cut), or above it? */
static bool
is_above(char *real, const struct stat *st)
{
	for (;;) {
		char *slash = strrchr(real, '/');

		if (is_same(real, st))
			return true;
		if (!slash || !real[1])
			return false;
		slash[slash == real] = 0;
	}
}

/* Does the destination `st`, which exists, hold a file of the source? */
static bool
holds(const struct stat *st, const char *file)
{
	char *real = realpath(file, NULL);
	bool yes = real && is_above(real, st);

	free(real);
	return yes;
}

static enum tb_status
is_source(const char *where, struct tb_err *err)
{
	return tb_fail(err, TB_EUSAGE, "%s: is what is to be converted; give the result another "
		       "name", where);
}

/* Files of one folder have the same folders above them: it is asked once. */
static enum tb_status
check_files(const char *path, const struct model *m, struct tb_err *err)
{
	const char *dir = "";
	struct stat st;
	size_t n = 0;

	if (stat(path, &st))
		return TB_OK;
	if (is_same(m->loc.path, &st))
		return is_source(path, err);
	if (holds(&st, m->loc.path))
		return tb_fail(err, TB_EUSAGE, "%s: holds what is to be converted; write the result "
			       "elsewhere", path);
	for (size_t i = 0; i < m->nfiles; i++) {
		const char *file = m->files[i].path, *slash = strrchr(file, '/');
		struct stat is;
		bool link = lstat(file, &is) == 0 && S_ISLNK(is.st_mode);

		if (is_same(file, &st))
			return is_source(path, err);
		if (!link && slash && n == (size_t)(slash - file) && !strncmp(dir, file, n))
			continue;
		if (holds(&st, file))
			return tb_fail(err, TB_EUSAGE, "%s: holds %s, which is to be converted; write "
				       "the result elsewhere", path, file);
		if (!link) {
			dir = file;
			n = slash ? (size_t)(slash - file) : 0;
		}
	}
	return TB_OK;
}

/* Would the destination be made within `folder`? */
static enum tb_status
check_folder(const char *path, const char *folder, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *real = NULL;
	struct stat st;

	if (stat(folder, &st) || !S_ISDIR(st.st_mode))
		return TB_OK;
	status = real_part(path, &real, err);
	if (!status && is_above(real, &st))
		status = tb_fail(err, TB_EUSAGE, "%s: lies in what is to be converted; write the "
				 "result elsewhere", path);
	free(real);
	return status;
}

/* Of a store its two folders are the source: what else lies below its root is not. */
static enum tb_status
check_path(const char *path, const struct model *m, struct tb_err *err)
{
	const struct store_kind *kind = kind_store(m->loc.kind);
	enum tb_status status = check_files(path, m, err);

	if (!status)
		status = check_folder(path, m->loc.path, err);
	for (const char *const *part = kind ? kind->parts : NULL; part && *part && !status; part++) {
		char *folder = tb_path_join(m->loc.root, *part);

		status = folder ? check_folder(path, folder, err) : tb_nomem(err);
		free(folder);
	}
	return status;
}

/* The manifest that would be replaced, or NULL; caller frees *out. */
static enum tb_status
manifest_of(const struct convert_target *t, char **out, struct tb_err *err)
{
	struct model_name name;
	enum tb_status status = name_parse(t->name, &name, err);

	*out = NULL;
	return status ? status : ollama_find_manifest(t->root, &name, out, err);
}

enum tb_status
convert_target_check(const struct convert_target *t, const struct model *source, struct tb_err *err)
{
	enum tb_status status;
	struct stat st;
	char *manifest;

	if (t->dest != PLAN_TO_STORE)
		return check_path(t->path, source, err);
	status = manifest_of(t, &manifest, err);
	if (manifest && stat(manifest, &st) == 0 && is_same(source->loc.path, &st))
		status = is_source(t->name, err);
	free(manifest);
	return status;
}

void
convert_victim(const struct convert_target *t, char *out, size_t size)
{
	struct store_roots none = { 0 };
	struct model_loc loc = { 0 };
	struct model *m = NULL;
	char *manifest = NULL, bytes[16];
	enum tb_status status = TB_OK;

	*out = 0;
	if (!t->exists)
		return;
	if (t->dest == PLAN_TO_STORE)
		status = manifest_of(t, &manifest, NULL);
	else
		manifest = tb_strdup(t->path);
	if (!status)
		status = manifest ? store_resolve(&none, manifest, &loc, NULL) : TB_ENOENT;
	if (!status)
		status = model_open(&m, &loc, NULL);
	if (status)
		snprintf(out, size, "not a model that can be read");
	else
		snprintf(out, size, "%s, %s", m->scheme, tb_human_bytes(m->bytes, bytes));
	model_free(m);
	model_loc_free(&loc);
	free(manifest);
}
