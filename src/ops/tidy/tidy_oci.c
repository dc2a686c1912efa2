/* tidy_oci.c - a model of an OCI layout: its line in index.json, and the blobs that no
 * other image names. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/ops/tidy/tidy_parts.h"
#include "src/store/oci.h"

struct oci_rm {
	struct tidy *t;
	const struct model_loc *loc;
	size_t root;
	char *layout, *index;
	char digest[TB_DIGEST_MAX];	/* of the image that goes */
	struct tb_names stay, go;	/* digests */
	struct tb_names seen[2];	/* images and indexes of those: an index may list itself */
	struct tb_err unclear;		/* an image that stays cannot be read */
};

static enum tb_status
add_manifest(struct tb_names *to, const char *path, struct tb_err *err)
{
	struct manifest m;
	enum tb_status status = manifest_read(&m, path, err);

	if (status)
		return status;
	if (*m.config.digest)
		status = tb_names_add(to, m.config.digest, err);
	for (size_t i = 0; i < m.nlayers && !status; i++)
		status = tb_names_add(to, m.layers[i].digest, err);
	manifest_free(&m);
	return status;
}

/* Is that one met for the first time on the way to the digests of `to`?  What is listed a
 * thousand times has the same digests each time. */
static enum tb_status
first_time(struct oci_rm *r, const struct tb_names *to, const char *digest, bool *first,
	   struct tb_err *err)
{
	struct tb_names *seen = &r->seen[to == &r->go];

	*first = true;
	for (size_t i = 0; i < seen->n && *first; i++)
		*first = strcmp(seen->v[i], digest) != 0;
	if (*first && seen->n == OCI_MAX_IMAGES)
		return tb_fail(err, TB_ELIMIT, "%s: names more than %u images", r->index, OCI_MAX_IMAGES);
	return *first ? tb_names_add(seen, digest, err) : TB_OK;
}

/* What a descriptor of an index leads to. */
static enum tb_status
add_image(struct oci_rm *r, struct tb_names *to, const cJSON *d, unsigned depth,
	  struct tb_err *err)
{
	const char *digest = json_str(json_get(d, "digest"));
	char canonical[TB_DIGEST_MAX], *path;
	enum tb_status status;
	cJSON *doc = NULL;
	bool first;

	if (!digest || !digest_parse(digest, canonical) || depth > OCI_MAX_NESTING)
		return tb_fail(err, TB_EFORMAT, "%s: names an image that cannot be read", r->index);
	status = first_time(r, to, canonical, &first, err);
	if (status || !first)
		return status;
	path = store_oci.blob_path(r->layout, canonical);
	status = path ? tb_names_add(to, canonical, err) : tb_nomem(err);
	if (!status && oci_is_index(d)) {
		status = json_read(&doc, path, OCI_INDEX_MAX, err);
		for (const cJSON *e = json_first(json_get(doc, "manifests")); e && !status;
		     e = json_next(e))
			status = add_image(r, to, e, depth + 1, err);
		json_free(doc);
	} else if (!status) {
		status = add_manifest(to, path, err);
	}
	free(path);
	return status;
}

/* "oci:FOLDER:REF" means the line of that reference, and "oci:FOLDER@DIGEST" all of that image. */
static bool
is_meant(const struct oci_rm *r, const cJSON *d)
{
	const char *digest = json_str(json_get(d, "digest")), *name = r->loc->name, *end;
	const char *ref = json_str(json_get(json_get(d, "annotations"),
					    "org.opencontainers.image.ref.name"));
	char canonical[TB_DIGEST_MAX];

	if (!digest || !digest_parse(digest, canonical) || strcmp(canonical, r->digest) != 0)
		return false;
	if (!ref || !tb_starts(name, "oci:") || !tb_ends(name, ref))
		return !tb_starts(name, "oci:") || !ref || strchr(name, '@');
	end = name + strlen(name) - strlen(ref);
	return end[-1] == ':';
}

/* index.json without those lines; fills stay and go. */
static enum tb_status
new_index(struct oci_rm *r, const cJSON *doc, char **text, struct tb_err *err)
{
	cJSON *out = json_object(), *list = json_array();
	enum tb_status status = TB_OK;
	size_t gone = 0;

	for (const cJSON *v = json_first(doc); v; v = json_next(v))
		if (strcmp(json_key(v), "manifests") != 0)
			json_set(out, json_key(v), json_copy(v));
	for (const cJSON *d = json_first(json_get(doc, "manifests")); d && !status; d = json_next(d)) {
		bool goes = is_meant(r, d);

		gone += goes;
		if (!goes)
			json_push(list, json_copy(d));
		status = add_image(r, goes ? &r->go : &r->stay, d, 0, &r->unclear);
		status = status == TB_ENOMEM ? tb_nomem(err) : TB_OK;
	}
	json_set(out, "manifests", list);
	*text = json_print(out);
	json_free(out);
	if (status || !*text)
		return status ? status : tb_nomem(err);
	if (!gone)
		return tb_fail(err, TB_EUSAGE, "%s: is part of a list of images, of which nothing is "
			       "taken out; remove the layout, %s", r->loc->name, r->layout);
	return TB_OK;
}

/* The image's own blobs, as long as it is known what the others have. */
static enum tb_status
rm_blobs(struct oci_rm *r, struct tb_err *err)
{
	int64_t since = tidy_stamp(r->index);
	enum tb_status status = TB_OK;

	tb_names_sort(&r->stay);
	tb_names_sort(&r->go);
	for (size_t i = 0; i < r->go.n && !status; i++) {
		const char *digest = r->go.v[i];
		char *path;
		int64_t stamp;

		if (i && !strcmp(digest, r->go.v[i - 1]))
			continue;
		path = store_oci.blob_path(r->layout, digest);
		stamp = path ? tidy_stamp(path) : 0;
		if (!path)
			status = tb_nomem(err);
		else if (!tb_exists(path))
			status = TB_OK;
		else if (r->unclear.code || tb_names_have(&r->stay, digest))
			tidy_stays(r->t, r->unclear.code ? TIDY_UNCLEAR : TIDY_USED, tidy_size(path));
		else if (!r->t->young && tidy_is_young(stamp, TIDY_HOUR) && stamp > since)
			tidy_stays(r->t, TIDY_YOUNG, tidy_size(path));
		else
			status = tidy_add(r->t, &(struct tidy_new){ .what = TIDY_REMOVE, .path = path,
					  .model = r->loc->name, .digest = digest,
					  .root = r->root }, err);
		free(path);
	}
	return status;
}

enum tb_status
tidy_oci_rm(struct tidy *t, const struct model_loc *loc, struct tb_err *err)
{
	size_t n = store_oci.root_of(loc->path);
	struct oci_rm r = { .t = t, .loc = loc, .layout = tb_strndup(loc->path, n) };
	enum tb_status status = TB_OK;
	char *text = NULL, named[TB_DIGEST_MAX];
	cJSON *doc = NULL;

	snprintf(named, sizeof(named), "sha256:%.64s", tb_path_name(loc->path));
	r.index = r.layout ? tb_path_join(r.layout, "index.json") : NULL;
	if (!r.index)
		status = tb_nomem(err);
	else if (!n || !digest_parse(named, r.digest))
		status = tb_fail(err, TB_EUSAGE, "%s: is in no OCI layout", loc->path);
	for (size_t i = 0; i < t->n && !status; i++)	/* each is a new index.json */
		if (!strcmp(t->v[i].path, r.index))
			status = tb_fail(err, TB_EUSAGE, "%s: one model of a layout is removed at a time",
					 r.layout);
	if (!status)
		status = tidy_root(t, r.layout, &r.root, err);
	if (!status)
		status = json_read(&doc, r.index, OCI_INDEX_MAX, err);
	if (!status)
		status = new_index(&r, doc, &text, err);
	if (!status)
		status = tidy_add(t, &(struct tidy_new){ .what = TIDY_REWRITE, .path = r.index,
				  .model = loc->name, .text = text, .root = r.root }, err);
	if (!status)
		status = rm_blobs(&r, err);
	json_free(doc);
	free(text);
	tb_names_free(&r.stay);
	tb_names_free(&r.go);
	tb_names_free(&r.seen[0]);
	tb_names_free(&r.seen[1]);
	free(r.index);
	free(r.layout);
	return status;
}
