#include "config.h"

#include "src/net/hub_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/format/json.h"
#include "src/net/hub_name.h"

#define FILES_MAX 50000u
#define SIZE_MAX_BYTES (UINT64_C(1) << 50)

void
hub_files_free(struct hub_files *f)
{
	while (f->n)
		free(f->v[--f->n].path);
	free(f->v);
	*f = (struct hub_files){ 0 };
}

const char *
hub_file_hex(const struct hub_file *f)
{
	return strchr(f->digest, ':') + 1;
}

static bool
take_digest(struct hub_file *out, const char *kind, const char *hex, size_t digits)
{
	if (!hex || strlen(hex) != digits || strspn(hex, "0123456789abcdef") != digits)
		return false;
	snprintf(out->digest, sizeof(out->digest), "%s:%s", kind, hex);
	return true;
}

/* Large files are kept apart, named by their SHA-256; git's own name for the rest is a SHA-1.
 * false: it says neither in a way that can be checked. */
static bool
take_bytes(struct hub_file *out, const cJSON *entry)
{
	const cJSON *lfs = json_get(entry, "lfs");
	const char *oid = json_str(json_get(lfs, "oid"));
	uint64_t n;

	if (!json_u64(json_get(entry, "size"), &out->size) || out->size > SIZE_MAX_BYTES)
		return false;
	if (!json_is_object(lfs))
		return take_digest(out, "gitsha1", json_str(json_get(entry, "oid")), 40);
	if (oid && !strncmp(oid, "sha256:", 7))
		oid += 7;
	if (json_get(lfs, "size") && (!json_u64(json_get(lfs, "size"), &n) || n != out->size))
		return false;
	return take_digest(out, "sha256", oid, 64);
}

static enum tb_status
add_entry(struct hub_files *f, const cJSON *entry, const char *what, struct tb_err *err)
{
	const char *type = json_str(json_get(entry, "type"));
	const char *path = json_str(json_get(entry, "path")), *why;
	struct hub_file file = { 0 };

	if (!type || !path)
		return tb_fail(err, TB_EFORMAT, "%s: its list of files has an entry without type or "
			       "path", what);
	if (!hub_path_ok(path, &why))
		return tb_fail(err, TB_EFORMAT, "%s: it lists a file \"%.200s\", which %s; nothing of it "
			       "is taken", what, path, why);
	if (strcmp(type, "file"))
		return TB_OK;
	if (!take_bytes(&file, entry))
		return tb_fail(err, TB_EFORMAT, "%s: of %.200s it says no size and digest that could be "
			       "checked", what, path);
	if (f->n >= FILES_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: it has more than %u files", what, FILES_MAX);
	file.path = tb_strdup(path);
	if (!file.path || !tb_grow(&f->v, &f->cap, f->n + 1, sizeof(*f->v))) {
		free(file.path);
		return tb_nomem(err);
	}
	f->v[f->n++] = file;
	return TB_OK;
}

enum tb_status
hub_files_add(struct hub_files *f, const char *text, size_t len, const char *what,
	      struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_parse(&doc, text, len, what, err);

	if (status)
		return status;
	if (!json_is_array(doc))
		status = tb_fail(err, TB_EFORMAT, "%s: what it answers is no list of files", what);
	for (const cJSON *e = json_first(doc); e && !status; e = json_next(e))
		status = add_entry(f, e, what, err);
	json_free(doc);
	return status;
}

static int
by_hub_path(const void *a, const void *b)
{
	const struct hub_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

const struct hub_file *
hub_files_find(const struct hub_files *f, const char *path)
{
	size_t at = TB_FIRST(f->n, i, strcmp(f->v[i].path, path) < 0);

	return at < f->n && !strcmp(f->v[at].path, path) ? &f->v[at] : NULL;
}

/* Is one of the folders that the file is in a file itself? */
static bool
below_file(const struct hub_files *f, const char *path)
{
	char folder[1025];
	size_t n = strlen(path);

	if (n >= sizeof(folder))
		return true;
	memcpy(folder, path, n + 1);
	for (char *slash; (slash = strrchr(folder, '/'));) {
		*slash = 0;
		if (hub_files_find(f, folder))
			return true;
	}
	return false;
}

enum tb_status
hub_files_sort(struct hub_files *f, const char *what, struct tb_err *err)
{
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_hub_path);
	for (size_t i = 0; i < f->n; i++)
		if ((i && !strcmp(f->v[i].path, f->v[i - 1].path)) || below_file(f, f->v[i].path))
			return tb_fail(err, TB_EFORMAT, "%s: it lists two files that cannot both be: "
				       "%.200s", what, f->v[i].path);
	return TB_OK;
}
