/* oci.c - OCI image layouts: oci-layout, index.json, blobs/sha256/<hex>.  An image is a
 * model when one of its layers is, by its media type or its name: Ollama's, a GGUF or
 * a safetensors file. */
#include "config.h"

#include "src/store/oci.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/format.h"
#include "src/store/walk.h"

static bool
has(const char *dir, const char *name, bool folder)
{
	struct tb_path path;

	return tb_exists(tb_path_in(&path, dir, name)) && tb_is_dir(path.s) == folder;
}

static bool
oci_is_layout(const char *dir)
{
	return has(dir, "oci-layout", false) &&		/* its blobs may be what is lost */
	       (has(dir, "blobs/sha256", true) || has(dir, "index.json", false));
}

char *
oci_blob_path(const char *layout, const char *digest)
{
	char canonical[TB_DIGEST_MAX];

	if (!digest_parse(digest, canonical))
		return NULL;
	return tb_asprintf("%s" OCI_BLOBS "%s", layout, canonical + 7);
}

/* Bytes of `path` that are the layout's folder, when it is a blob of one; 0: it is none. */
static size_t
oci_layout_of(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t n = name ? (size_t)(name + 1 - path) : 0;
	struct tb_path dir;

	if (n <= strlen(OCI_BLOBS) || strlen(name + 1) != 64 ||
	    strncmp(path + n - strlen(OCI_BLOBS), OCI_BLOBS, strlen(OCI_BLOBS)) != 0)
		return 0;
	n -= strlen(OCI_BLOBS);
	if (n >= sizeof(dir.s))
		return 0;
	memcpy(dir.s, path, n);
	dir.s[n] = 0;
	return oci_is_layout(dir.s) ? n : 0;
}

/* ---- images ---- */

/* The path of its manifest, and what the index calls it ("" if it does not). */
typedef enum tb_status oci_image_fn(void *arg, const char *manifest, const char *ref,
				    struct tb_err *err);

struct images {
	const char *layout;
	oci_image_fn *fn, *other, *broken;
	void *arg;
	unsigned n;
	char **seen;		/* indexes and broken images that were dealt with; owned */
	size_t nseen, seen_cap;
};

/* Is that path met for the first time?  Without memory to remember it, yes: the number
 * of images is bounded all the same. */
static bool
first_time(struct images *im, const char *path)
{
	for (size_t i = 0; i < im->nseen; i++)
		if (!strcmp(im->seen[i], path))
			return false;
	if (tb_grow(&im->seen, &im->seen_cap, im->nseen + 1, sizeof(*im->seen)) &&
	    (im->seen[im->nseen] = tb_strdup(path)))
		im->nseen++;
	return true;
}

static bool
oci_is_model(const struct manifest *m)
{
	for (size_t i = 0; i < m->nlayers; i++) {
		const struct manifest_layer *l = &m->layers[i];
		enum media media = media_parse(l->media_type);
		const struct format *format = format_of_media(media);

		if ((format && format->layer == media) || (l->name && format_of_name(l->name)) ||
		    tb_contains(l->media_type, "model.weight"))
			return true;
		for (const struct format *const *f = format_rows; *f; f++)
			if (tb_contains(l->media_type, (*f)->ending + 1))
				return true;
	}
	return false;
}

static enum tb_status
oci_skip(const struct images *im, const char *path, const struct tb_err *why, struct tb_err *err)
{
	if (why->code == TB_ENOMEM)
		return tb_pass(err, why);
	return im->broken ? im->broken(im->arg, path, why->msg, err) : TB_OK;
}

static const char *
ref_of(const cJSON *descriptor)
{
	const cJSON *a = json_get(descriptor, "annotations");
	const char *ref = json_str(json_get(a, "org.opencontainers.image.ref.name"));

	if (!ref)
		ref = json_str(json_get(a, "io.containerd.image.name"));
	return ref ? ref : "";
}

static enum tb_status read_index(struct images *im, const char *path, unsigned depth,
				 struct tb_err *err);

bool
oci_is_index(const cJSON *descriptor)
{
	const char *type = json_str(json_get(descriptor, "mediaType"));

	return type && (tb_ends(type, "image.index.v1+json") || tb_ends(type, "manifest.list.v2+json"));
}

/* What an index lists: an image, or another index. */
static enum tb_status
read_image(struct images *im, const cJSON *d, unsigned depth, struct tb_err *err)
{
	const char *digest = json_str(json_get(d, "digest"));
	char *path = digest ? oci_blob_path(im->layout, digest) : NULL;
	struct tb_err why = { 0 };
	enum tb_status status = TB_OK;
	struct manifest m;

	if (!path)
		return tb_fail(&why, TB_EFORMAT, "%.200s/index.json: bad digest \"%.80s\"", im->layout,
			       digest ? digest : ""), oci_skip(im, im->layout, &why, err);
	if (++im->n > OCI_MAX_IMAGES) {
		tb_fail(&why, TB_ELIMIT, "%.200s: more than %u images", im->layout, OCI_MAX_IMAGES);
		status = im->n == OCI_MAX_IMAGES + 1 ? oci_skip(im, path, &why, err) : TB_OK;
	} else if (oci_is_index(d)) {
		status = first_time(im, path) ? read_index(im, path, depth + 1, err) : TB_OK;
	} else if (manifest_read(&m, path, &why)) {
		status = first_time(im, path) ? oci_skip(im, path, &why, err) : TB_OK;
	} else {
		oci_image_fn *fn = oci_is_model(&m) ? im->fn : im->other;

		if (fn)
			status = fn(im->arg, path, ref_of(d), err);
		manifest_free(&m);
	}
	free(path);
	return status;
}

static enum tb_status
read_index(struct images *im, const char *path, unsigned depth, struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status = TB_OK;
	cJSON *doc = NULL;

	if (depth > OCI_MAX_NESTING)
		tb_fail(&why, TB_ELIMIT, "%.200s: indexes in indexes, too deep", path);
	else
		(void)!json_read(&doc, path, OCI_INDEX_MAX, &why);
	if (!why.code && !json_is_array(json_get(doc, "manifests")))
		tb_fail(&why, TB_EFORMAT, "%.200s: has no manifests", path);
	if (why.code)
		status = oci_skip(im, path, &why, err);
	else
		for (const cJSON *d = json_first(json_get(doc, "manifests")); d && !status;
		     d = json_next(d))
			status = read_image(im, d, depth, err);
	json_free(doc);
	return status;
}

/* Calls fn for each image that is a model, and `other` (NULL: nobody asks) for each that
 * is none.  An index or manifest that cannot be read is skipped: `broken`, which may be
 * NULL, is called with its path and why. */
static enum tb_status
oci_images(const char *layout, oci_image_fn *fn, oci_image_fn *other, oci_image_fn *broken,
	   void *arg, struct tb_err *err)
{
	struct images im = { .layout = layout, .fn = fn, .other = other, .broken = broken,
			     .arg = arg };
	char *path = tb_path_join(layout, "index.json");
	enum tb_status status = path ? read_index(&im, path, 0, err) : tb_nomem(err);

	free(path);
	for (size_t i = 0; i < im.nseen; i++)
		free(im.seen[i]);
	free(im.seen);
	return status;
}

/* ---- the row ---- */

struct layout { struct walk *w; const char *name; };

/* "oci:FOLDER:REF", or without a reference the first digits of the manifest's digest. */
static enum tb_status
add_image(void *arg, const char *manifest, const char *ref, struct tb_err *err)
{
	struct layout *l = arg;
	char *name = *ref ? tb_asprintf("oci:%s:%s", l->name, ref)
			  : tb_asprintf("oci:%s@%.12s", l->name, tb_path_name(manifest));
	enum tb_status status = name ? walk_add(l->w, MODEL_OCI_TENSORS, name, manifest, NULL, err)
				     : tb_nomem(err);

	free(name);
	return status;
}

/* It is yielded, so that whoever opens it learns why it cannot be read. */
static enum tb_status
add_broken(void *arg, const char *path, const char *why, struct tb_err *err)
{
	(void)why;
	return tb_is_dir(path) ? TB_OK : add_image(arg, path, "", err);
}

static enum tb_status
oci_walk(struct walk *w, const char *dir, const char *name, struct tb_err *err)
{
	struct layout l = { w, *name ? name : tb_path_name(dir) };

	return oci_images(dir, add_image, add_image, add_broken, &l, err);
}

struct only { struct model_loc *out; unsigned n; };

static enum tb_status
keep_image(void *arg, const char *manifest, const char *ref, struct tb_err *err)
{
	struct only *o = arg;

	(void)ref;
	return o->n++ ? TB_OK : loc_make(o->out, MODEL_OCI_TENSORS, tb_path_name(manifest), manifest, "",
					 err);
}

/* A layout with one model in it is that model. */
static enum tb_status
locate_layout(const char *dir, struct model_loc *out, struct tb_err *err)
{
	struct only o = { .out = out };
	enum tb_status status = oci_images(dir, keep_image, NULL, NULL, &o, err);

	if (!status && o.n > 1)
		status = tb_fail(err, TB_EUSAGE, "%s: holds %u models; name one of them", dir, o.n);
	if (status && o.n)
		model_loc_free(out);
	return status ? status : o.n ? TB_OK : TB_ENOENT;
}

size_t
oci_folder(const char *spec)
{
	struct tb_path dir;
	size_t first = strcspn(spec, ":@");

	for (size_t n = first;; n += 1 + strcspn(spec + n + 1, ":@")) {
		if (n < sizeof(dir.s)) {
			memcpy(dir.s, spec, n);
			dir.s[n] = 0;
			if (tb_is_dir(dir.s))
				return n;
		}
		if (!spec[n])
			return first;
	}
}

/* The image that is asked for, with what its layout is called in front. */
struct asked { struct model_loc *out; const char *dir, *name; char digest[TB_DIGEST_MAX]; unsigned n; };

static enum tb_status
keep_asked(void *arg, const char *manifest, const char *ref, struct tb_err *err)
{
	struct asked *a = arg;
	bool is = *a->digest ? !strcmp(tb_path_name(manifest), a->digest + strlen("sha256:"))
			     : !*a->name || !strcmp(ref, a->name);
	char *name;
	enum tb_status status;

	if (!is || a->n++)
		return TB_OK;
	name = *ref ? tb_asprintf("oci:%s:%s", tb_path_name(a->dir), ref)
		    : tb_asprintf("oci:%s@%.12s", tb_path_name(a->dir), tb_path_name(manifest));
	status = name ? loc_make(a->out, MODEL_OCI_TENSORS, name, manifest, "", err) : tb_nomem(err);
	free(name);
	return status;
}

/* "oci:DIR:NAME", "oci:DIR@sha256:…", "oci:DIR" */
static enum tb_status
oci_spelled(const char *ref, struct model_loc *out, struct tb_err *err)
{
	const char *spec = ref + strlen("oci:"), *at = strstr(ref, "@sha256:");
	struct asked a = { .out = out };
	char *dir, *name = NULL;
	enum tb_status status;
	size_t n;

	if (!tb_starts(ref, "oci:"))
		return TB_ENOENT;
	n = oci_folder(spec);
	a.dir = dir = tb_strndup(spec, n);
	if (dir && !oci_is_layout(dir)) {
		free(dir);
		return TB_ENOENT;	/* a name in a root looks the same */
	}
	if (at && !digest_parse(at + 1, a.digest))
		status = tb_fail(err, TB_EUSAGE, "%s: the digest is none", ref);
	else if (!dir || !(a.name = name = tb_strdup(spec[n] == ':' ? spec + n + 1 : "")))
		status = tb_nomem(err);
	else
		status = oci_images(dir, keep_asked, NULL, NULL, &a, err);
	if (!status && !a.n)
		status = tb_fail(err, TB_EUSAGE, "%s: the layout has no model \"%s\"", ref, name);
	if (!status && a.n > 1 && !*name && !*a.digest)
		status = tb_fail(err, TB_EUSAGE, "%s: holds %u models; name one of them", ref, a.n);
	if (status && a.n)
		model_loc_free(out);
	free(dir);
	free(name);
	return status;
}

static enum tb_status
oci_locate(const char *path, struct model_loc *out, struct tb_err *err)
{
	return tb_is_dir(path) ? locate_layout(path, out, err)
			       : loc_make(out, MODEL_OCI_TENSORS, tb_path_name(path), path, "", err);
}

const struct store_kind store_oci = {
	.is = oci_is_layout,
	.walk = oci_walk,
	.locate = oci_locate,
	.spelled = oci_spelled,
	.root_of = oci_layout_of,
	.manifests_are_blobs = true,
	.is_model = oci_is_model,
	.blob_path = oci_blob_path,
	.left = oci_left,
	.file = oci_file,
	.odd = oci_odd,
};
