/* site_layout.c - an OCI image layout as a site.  Blobs come first, each whole; what it lists, in
 * index.json, is written once, last. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/ops/carry/site.h"
#include "src/store/lock.h"
#include "src/store/oci.h"
#include "src/store/ollama.h"

#define REF_NAME "org.opencontainers.image.ref.name"
#define LAYOUT_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"
#define PIECE (1u << 20)

struct site_dir {
	struct site base;
	char *dir;
	cJSON *added;			/* descriptors that the index gets; owned */
};

/* ---- reading ---- */

static enum tb_status
layout_index(const struct site_dir *s, cJSON **doc, struct tb_err *err)
{
	char *path = tb_path_join(s->dir, "index.json");
	enum tb_status status = path ? json_read(doc, path, OCI_INDEX_MAX, err) : tb_nomem(err);

	free(path);
	return status;
}

/* The descriptor that the index has under that name; of "" the only one with a name that is not
 * about another image, or the only one at all.  Borrowed; NULL: there is none. */
static const cJSON *
find_name(const cJSON *doc, const char *name)
{
	const cJSON *named = NULL, *any = NULL;
	unsigned nnamed = 0, n = 0;

	for (const cJSON *d = json_first(json_get(doc, "manifests")); d; d = json_next(d)) {
		const char *ref = json_str(json_get(json_get(d, "annotations"), REF_NAME));

		if (*name && ref && !strcmp(ref, name))
			return d;
		any = d;
		n++;
		if (ref && !tb_starts(ref, "sha256-")) {
			named = d;
			nnamed++;
		}
	}
	if (*name)
		return NULL;
	return nnamed == 1 ? named : n == 1 ? any : NULL;
}

static enum tb_status
read_blob(const struct site_dir *s, const char *digest, struct site_manifest *out,
	  struct tb_err *err)
{
	char *path = oci_blob_path(s->dir, digest), *text = NULL;
	size_t len;
	cJSON *doc;
	const char *type;
	enum tb_status status = path ? tb_file_slurp(path, REGISTRY_MANIFEST_MAX, &text, &len, err)
				     : tb_fail(err, TB_EFORMAT, "%s: \"%.80s\" is no digest", s->dir,
					       digest);

	if (!status)
		status = tb_sha256_bytes(text, len, out->digest, err);
	if (!status && strcmp(out->digest, digest) != 0)
		status = tb_fail(err, TB_EFORMAT, "%s: is damaged: its SHA-256 is %s", path, out->digest);
	if (!status && !(status = json_parse(&doc, text, len, path, err))) {
		type = json_str(json_get(doc, "mediaType"));
		if (!type || strlen(type) >= sizeof(out->type) || strpbrk(type, "\r\n"))
			type = json_is_array(json_get(doc, "manifests"))
			       ? OCI_INDEX_TYPE : "application/vnd.oci.image.manifest.v1+json";
		memcpy(out->type, type, strlen(type) + 1);
		json_free(doc);
		out->text = TB_BUF(REGISTRY_MANIFEST_MAX);
		tb_buf_add(&out->text, text, len);
		status = tb_buf_status(&out->text, path, err);
	}
	free(text);
	free(path);
	return status;
}

static enum tb_status
layout_manifest(struct site *base, struct http *h, const char *reference, struct tb_job *job,
		struct site_manifest *out, struct tb_err *err)
{
	const struct site_dir *s = (const struct site_dir *)base;
	char digest[TB_DIGEST_MAX];
	const char *said;
	cJSON *doc = NULL;
	enum tb_status status = TB_OK;

	(void)h, (void)job;
	if (tb_absent(s->dir))
		return tb_fail(err, TB_ENOENT, "%s: is not there", s->dir);
	if (!tb_starts(reference, "sha256:") || !digest_parse(reference, digest)) {
		status = layout_index(s, &doc, err);
		if (status)
			return status;
		said = json_str(json_get(find_name(doc, reference), "digest"));
		if (!said || !digest_parse(said, digest))
			status = tb_fail(err, TB_ENOENT, *reference ? "%s: has no image \"%s\""
					 : "%s: has not one image%s; say which: oci:DIR:NAME", s->dir,
					 reference);
		json_free(doc);
	}
	return status ? status : read_blob(s, digest, out, err);
}

static enum tb_status
layout_referrers(struct site *base, struct http *h, const char *digest, struct tb_job *job,
		 struct site_refs *out, struct tb_err *err)
{
	const struct site_dir *s = (const struct site_dir *)base;
	cJSON *doc;
	enum tb_status status = layout_index(s, &doc, err);
	unsigned n = 0;

	(void)h;
	if (status)
		return status;
	for (const cJSON *d = json_first(json_get(doc, "manifests")); d && !status; d = json_next(d)) {
		const char *said = json_str(json_get(d, "digest"));
		char own[TB_DIGEST_MAX], subject[TB_DIGEST_MAX];
		struct site_manifest m = { 0 };

		if (!said || !digest_parse(said, own) || oci_is_index(d) || ++n > OCI_MAX_IMAGES)
			continue;
		status = tb_job_check(job, err);
		/* what cannot be read is said where it is wanted */
		if (!status && !read_blob(s, own, &m, NULL) && site_subject(&m, subject) &&
		    !strcmp(subject, digest))
			status = site_refs_add(out, own, err);
		site_manifest_free(&m);
	}
	json_free(doc);
	return status;
}

static char *
layout_where(const struct site *base, const struct site_blob *b)
{
	return oci_blob_path(((const struct site_dir *)base)->dir, b->digest);
}

static enum tb_status
layout_open(struct site *base, const struct site_blob *b, struct tb_job *job,
	    struct site_stream **out, struct tb_err *err)
{
	(void)job;
	return site_file_stream(out, layout_where(base, b), b->size, err);
}

/* ---- writing ---- */

static enum tb_status
layout_has(struct site *base, struct http *h, const struct site_blob *b, bool *has,
	   struct tb_job *job, struct tb_err *err)
{
	char *path = layout_where(base, b);

	(void)h, (void)job;
	if (!path)
		return tb_nomem(err);
	*has = ollama_blob_good(path, b->digest, b->size);
	free(path);
	return TB_OK;
}

/* All of it into the file, hashed. */
static enum tb_status
fill_blob(const struct site_put *p, struct tb_out *o, char *buf, struct tb_err *err)
{
	const struct site_blob *b = p->blob;
	struct tb_sha256 sha;
	char digest[TB_DIGEST_MAX];
	enum tb_status status = tb_sha256_init(&sha, err);

	for (uint64_t at = 0; at < b->size && !status;) {
		size_t n = b->size - at < PIECE ? (size_t)(b->size - at) : PIECE;

		status = tb_job_check(p->job, err);
		if (!status)
			status = p->read(p->arg, at, buf, n, err);
		if (!status)
			status = tb_out_write(o, buf, n, err);
		if (!status)
			tb_sha256_add(&sha, buf, n);
		at += n;
		if (!status && p->told.went)
			p->told.went(p->told.arg, at);
	}
	if (status) {
		tb_sha256_free(&sha);
		return status;
	}
	tb_sha256_done(&sha, digest);
	if (strcmp(digest, b->digest) != 0)
		return tb_fail(err, TB_EFORMAT, "%s: is damaged: its SHA-256 is %.19s…, not %.19s…%s%s",
			       p->what, digest, b->digest, p->advice ? "; " : "",
			       p->advice ? p->advice : "");
	return TB_OK;
}

static enum tb_status
layout_put(struct site *base, const struct site_put *p, enum upload_how *how, struct tb_err *err)
{
	struct tb_out o = { .fd = -1 };
	char *path, *dir, *buf;
	bool has = false;
	enum tb_status status = layout_has(base, p->http, p->blob, &has, p->job, err);

	*how = UPLOAD_THERE;
	if (status || has)
		return status;
	*how = UPLOAD_SENT;
	path = layout_where(base, p->blob);
	dir = path ? tb_path_parent(path) : NULL;
	buf = malloc(PIECE);
	status = dir && buf ? tb_out_open(&o, dir, err) : tb_nomem(err);
	if (!status)
		status = fill_blob(p, &o, buf, err);
	if (!status)
		status = tb_out_commit(&o, path, true, err);
	tb_out_abort(&o);
	free(buf);
	free(dir);
	free(path);
	return status == TB_ESYNC ? tb_fail(err, TB_EIO, "%s", err ? err->msg : "") : status;
}

/* The index is to list what has a name, and what refers to others. */
static enum tb_status
layout_write(struct site *base, struct http *h, const struct site_manifest *m, const char *tag,
	     struct tb_job *job, struct tb_err *err)
{
	struct site_dir *s = (struct site_dir *)base;
	char *path = oci_blob_path(s->dir, m->digest), subject[TB_DIGEST_MAX];
	enum tb_status status = TB_OK;

	(void)h, (void)job;
	if (!path)
		return tb_nomem(err);
	if (!ollama_blob_good(path, m->digest, m->text.len)) {
		char *dir = tb_path_parent(path);

		status = dir ? tb_mkdirs(dir, err) : tb_nomem(err);
		free(dir);
		if (!status)
			status = tb_out_file(path, m->text.p, m->text.len, true, err);
	}
	free(path);
	if (!status && (tag || site_subject(m, subject)))
		json_push(s->added, site_descriptor(m, tag));
	return status;
}

/* Is that entry of the index said anew: the same name, or the same manifest without one? */
static bool
is_anew(const cJSON *added, const cJSON *d)
{
	const char *name = json_str(json_get(json_get(d, "annotations"), REF_NAME));
	const char *digest = json_str(json_get(d, "digest"));

	for (const cJSON *a = json_first(added); a; a = json_next(a)) {
		const char *other = json_str(json_get(json_get(a, "annotations"), REF_NAME));

		if (name ? other && !strcmp(name, other)
			 : digest && !strcmp(digest, json_str(json_get(a, "digest"))))
			return true;
	}
	return false;
}

static char *
index_text(const struct site_dir *s, const cJSON *old)
{
	cJSON *doc = json_object(), *list = json_array();
	char *text;

	if (!json_get(old, "schemaVersion"))
		json_set_u64(doc, "schemaVersion", 2);
	for (const cJSON *v = json_first(old); v; v = json_next(v))
		if (strcmp(json_key(v), "manifests") != 0)
			json_set(doc, json_key(v), json_copy(v));
	for (const cJSON *d = json_first(json_get(old, "manifests")); d; d = json_next(d))
		if (!is_anew(s->added, d))
			json_push(list, json_copy(d));
	for (const cJSON *d = json_first(s->added); d; d = json_next(d))
		json_push(list, json_copy(d));
	json_set(doc, "manifests", list);
	text = json_print(doc);
	json_free(doc);
	return text;
}

static enum tb_status
write_index(struct site_dir *s, struct tb_err *err)
{
	char *index = tb_path_join(s->dir, "index.json"), *layout = tb_path_join(s->dir, "oci-layout");
	char *text = NULL;
	cJSON *old = NULL;
	enum tb_status status = index && layout ? TB_OK : tb_nomem(err);

	if (!status && !tb_absent(index))
		status = json_read(&old, index, OCI_INDEX_MAX, err);
	if (!status && !(text = index_text(s, old)))
		status = tb_nomem(err);
	if (!status && !tb_exists(layout))
		status = tb_out_file(layout, LAYOUT_TEXT, strlen(LAYOUT_TEXT), false, err);
	if (!status)
		status = tb_out_file(index, text, strlen(text), true, err);
	json_free(old);
	free(text);
	free(index);
	free(layout);
	return status;
}

static enum tb_status
layout_finish(struct site *base, struct tb_err *err)
{
	struct site_dir *s = (struct site_dir *)base;
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status;

	if (!json_first(s->added))
		return TB_OK;
	/* who changes the index is alone with it; where there are no locks, all are */
	status = store_lock_alone(&lock, s->dir, err);
	if (!status || status == TB_EUNSUP)
		status = write_index(s, err);
	store_unlock(&lock);
	return status;
}

static void
layout_free(struct site *base)
{
	struct site_dir *s = (struct site_dir *)base;

	json_free(s->added);
	free(s->dir);
	free(s);
}

static const struct site_row layout_row = {
	.manifest = layout_manifest, .open = layout_open, .where = layout_where, .has = layout_has,
	.put = layout_put, .write = layout_write, .referrers = layout_referrers,
	.finish = layout_finish, .free = layout_free,
};

/* Nothing else's folder is filled. */
static enum tb_status
check_dir(const char *dir, bool made, struct tb_err *err)
{
	bool empty, layout = store_kind_of(dir, false) == &store_oci ||
			     store_kind_of(dir, true) == &store_oci;
	enum tb_status status = layout ? TB_OK : tb_dir_empty(dir, &empty, err);

	if (status || layout || (made && empty))
		return status;
	if (tb_absent(dir))
		return tb_fail(err, TB_ENOENT, "%s: is not there", dir);
	return tb_fail(err, made ? TB_EEXIST : TB_EFORMAT, "%s: %sno OCI image layout", dir,
		       made ? "exists already, and is " : "is ");
}

enum tb_status
site_layout(struct site **out, const char *dir, bool made, struct tb_err *err)
{
	struct site_dir *s;
	enum tb_status status = check_dir(dir, made, err);

	*out = NULL;
	if (status)
		return status;
	if (!(s = tb_calloc(1, sizeof(*s))))
		return tb_nomem(err);
	s->base.row = &layout_row;
	s->base.shown = tb_asprintf("oci:%s", dir);
	s->dir = tb_strdup(dir);
	s->added = json_array();
	*out = &s->base;
	if (s->base.shown && s->dir && s->added)
		return TB_OK;
	site_free(*out);
	*out = NULL;
	return tb_nomem(err);
}
