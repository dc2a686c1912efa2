/* oci_check.c - what an image layout says of itself: its version, what its indexes list and
 * how long that is; and blobs that nothing names. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/store/oci.h"

struct look {
	const char *layout;
	store_odd_fn *fn;		/* NULL: what is odd is not asked for */
	void *arg;
	struct tb_names named;		/* names of blobs; owned */
	struct tb_names seen;		/* indexes; owned */
	bool unread;			/* an index or manifest of them: more may be named */
};

static enum tb_status
tell(struct look *l, enum store_odd what, const char *path, char *why, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (!why)
		status = tb_nomem(err);
	else if (l->fn)
		status = l->fn(l->arg, what, path, why, err);
	free(why);
	return status;
}

/* The blob of a descriptor's digest is named; *path is NULL where that cannot be said. */
static enum tb_status
name_blob(struct look *l, const cJSON *d, const char *where, char **path, struct tb_err *err)
{
	const char *digest = json_str(json_get(d, "digest"));

	*path = digest ? oci_blob_path(l->layout, digest) : NULL;
	if (*path)
		return tb_names_add(&l->named, tb_path_name(*path), err);
	if (digest && tb_starts(digest, "sha512:"))
		return tell(l, ODD_UNCHECKED, where, tb_asprintf("names %.40s…, whose digest cannot be "
			    "computed here: it is not checked", digest), err);
	return tell(l, ODD_DESCRIPTION, where, tb_asprintf("names \"%.80s\", which is no digest",
		    digest ? digest : ""), err);
}

/* Is the file as long as the descriptor says?  One that is not there is told by whoever
 * opens the model. */
static enum tb_status
check_length(struct look *l, const cJSON *d, const char *path, const char *where,
	     struct tb_err *err)
{
	struct tb_ident id;
	uint64_t size;

	if (tb_file_ident(path, &id, NULL))
		return TB_OK;
	if (!json_u64(json_get(d, "size"), &size))
		return tell(l, ODD_DESCRIPTION, where, tb_asprintf("names %s with a size that is none",
			    tb_path_name(path)), err);
	if (size != id.size)
		return tell(l, ODD_SIZE, path, tb_asprintf("has %ju bytes, %s says %ju",
			    (uintmax_t)id.size, where, (uintmax_t)size), err);
	return TB_OK;
}

/* Manifests are hashed with the models that they are of, indexes are nobody's. */
static enum tb_status
check_index_bytes(struct look *l, const char *path, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX], *text = NULL;
	size_t len;
	enum tb_status status = TB_OK;

	if (!l->fn || tb_file_slurp(path, OCI_INDEX_MAX, &text, &len, NULL))
		return TB_OK;
	status = tb_sha256_bytes(text, len, digest, err);
	free(text);
	if (!status && strcmp(digest + strlen("sha256:"), tb_path_name(path)) != 0)
		status = tell(l, ODD_DIGEST, path, tb_asprintf("an index that does not have the bytes "
			      "that its name says, but %s", digest), err);
	return status;
}

static enum tb_status
look_at_manifest(struct look *l, const char *path, struct tb_err *err)
{
	static const char *const lists[] = { "layers", "blobs" }, *const single[] = { "config", "subject" };
	enum tb_status status = TB_OK;
	cJSON *doc = NULL;
	char *blob;

	if (l->fn)		/* its layers are looked at with the model */
		return TB_OK;
	if (json_read(&doc, path, MANIFEST_MAX, NULL)) {
		l->unread = true;
		return TB_OK;
	}
	for (size_t i = 0; i < 2 && !status; i++) {
		const cJSON *d = json_get(doc, single[i]);

		if (!json_is_object(d))
			continue;
		status = name_blob(l, d, path, &blob, err);
		free(blob);
	}
	for (size_t i = 0; i < 2 && !status; i++)
		for (const cJSON *d = json_first(json_get(doc, lists[i])); d && !status;
		     d = json_next(d)) {
			status = name_blob(l, d, path, &blob, err);
			free(blob);
		}
	json_free(doc);
	return status;
}

static enum tb_status look_at_index(struct look *l, const char *path, unsigned depth,
				    struct tb_err *err);

static enum tb_status
look_at_entry(struct look *l, const cJSON *d, const char *where, unsigned depth, struct tb_err *err)
{
	char *path;
	enum tb_status status = name_blob(l, d, where, &path, err);

	if (!status && path && l->fn)
		status = check_length(l, d, path, where, err);
	if (!status && path && oci_is_index(d))
		status = look_at_index(l, path, depth + 1, err);
	else if (!status && path)
		status = look_at_manifest(l, path, err);
	free(path);
	return status;
}

static enum tb_status
look_at_index(struct look *l, const char *path, unsigned depth, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	cJSON *doc = NULL;
	uint64_t version;

	for (size_t i = 0; i < l->seen.n; i++)
		if (!strcmp(l->seen.v[i], path))
			return TB_OK;
	if (l->seen.n >= OCI_MAX_IMAGES) {
		l->unread = true;	/* told by the walk over the models */
		return TB_OK;
	}
	status = tb_names_add(&l->seen, path, err);
	if (!status && depth)
		status = check_index_bytes(l, path, err);
	if (status)
		return status;
	if (depth > OCI_MAX_NESTING || json_read(&doc, path, OCI_INDEX_MAX, NULL)) {
		l->unread = true;	/* told by the walk over the models */
		return TB_OK;
	}
	l->unread |= !json_is_array(json_get(doc, "manifests"));
	if (depth && !json_is_array(json_get(doc, "manifests")))
		status = tell(l, ODD_DESCRIPTION, path, tb_strdup("is listed as an index, and is none"),
			      err);
	else if (!json_u64(json_get(doc, "schemaVersion"), &version) || version != 2)
		status = tell(l, ODD_DESCRIPTION, path, tb_strdup("has no schemaVersion of 2"), err);
	for (const cJSON *d = json_first(json_get(doc, "manifests")); d && !status; d = json_next(d))
		status = look_at_entry(l, d, path, depth, err);
	json_free(doc);
	return status;
}

static enum tb_status
look_at_layout(struct look *l, struct tb_err *err)
{
	char *index = tb_path_join(l->layout, "index.json");
	enum tb_status status = index ? look_at_index(l, index, 0, err) : tb_nomem(err);

	tb_names_sort(&l->named);
	tb_names_free(&l->seen);
	free(index);
	return status;
}

static enum tb_status
check_version(struct look *l, struct tb_err *err)
{
	char *path = tb_path_join(l->layout, "oci-layout");
	struct tb_err why = { 0 };
	enum tb_status status = TB_OK;
	const char *version;
	cJSON *doc = NULL;

	if (!path)
		return tb_nomem(err);
	if (json_read(&doc, path, OCI_INDEX_MAX, &why))
		status = why.code == TB_ENOMEM ? tb_pass(err, &why)
		       : tell(l, ODD_DESCRIPTION, path, tb_strdup(why.msg), err);
	else if (!(version = json_str(json_get(doc, "imageLayoutVersion"))))
		status = tell(l, ODD_DESCRIPTION, path, tb_strdup("says no imageLayoutVersion"), err);
	else if (!tb_starts(version, "1."))
		status = tell(l, ODD_DESCRIPTION, path, tb_asprintf("says that this is a layout of version "
			      "%.40s, only 1.0.0 is known", version), err);
	json_free(doc);
	free(path);
	return status;
}

enum tb_status
oci_odd(const char *layout, store_odd_fn *fn, void *arg, struct tb_err *err)
{
	struct look l = { .layout = layout, .fn = fn, .arg = arg };
	enum tb_status status = check_version(&l, err);

	if (!status)
		status = look_at_layout(&l, err);
	tb_names_free(&l.named);
	return status;
}

/* Where an index or a manifest cannot be read, nobody knows what it names. */
enum tb_status
oci_left(const char *layout, store_file_fn *fn, void *arg, struct tb_err *err)
{
	struct look l = { .layout = layout };
	char *dir = tb_asprintf("%s" OCI_BLOBS, layout);
	struct tb_names names = { 0 };
	enum tb_status status = dir ? look_at_layout(&l, err) : tb_nomem(err);

	if (!status && !l.unread)
		status = tb_names_read(&names, dir, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		char *path;

		if (*names.v[i] == '.' || tb_names_have(&l.named, names.v[i]))
			continue;
		path = tb_asprintf("%s%s", dir, names.v[i]);
		status = path ? fn(arg, path, err) : tb_nomem(err);
		free(path);
	}
	tb_names_free(&names);
	tb_names_free(&l.named);
	free(dir);
	return status == TB_ENOENT ? TB_OK : status;
}

enum store_file
oci_file(const char *path, char digest[TB_DIGEST_MAX])
{
	const char *name = tb_path_name(path);
	bool hash = strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;

	*digest = 0;
	if (hash) {
		memcpy(digest, "sha256:", 7);
		memcpy(digest + 7, name, 65);
	}
	return hash ? STORE_BLOB : store_is_partial(name) ? STORE_PARTIAL : STORE_FOREIGN;
}
