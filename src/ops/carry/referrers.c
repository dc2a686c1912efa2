/* referrers.c - what belongs to an image and is not in its manifest: other manifests, whose subject
 * it is. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/format/manifest.h"
#include "src/ops/carry/site.h"

#define REF_NAME "org.opencontainers.image.ref.name"

void
site_refs_free(struct site_refs *r)
{
	free(r->v);
	*r = (struct site_refs){ 0 };
}

enum tb_status
site_refs_add(struct site_refs *r, const char *digest, struct tb_err *err)
{
	if (r->n == SITE_REFS_MAX)
		return tb_fail(err, TB_ELIMIT, "%.80s: more than %u manifests refer to one image", digest,
			       SITE_REFS_MAX);
	if (!tb_grow(&r->v, &r->cap, r->n + 1, sizeof(*r->v)))
		return tb_nomem(err);
	if (!digest_parse(digest, r->v[r->n]))
		return tb_fail(err, TB_EFORMAT, "\"%.80s\": is no digest of a manifest", digest);
	r->n++;
	return TB_OK;
}

enum tb_status
site_refs_read(struct site_refs *r, const char *text, size_t len, const char *what,
	       struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_parse(&doc, text, len, what, err);

	if (status)
		return status;
	for (const cJSON *d = json_first(json_get(doc, "manifests")); d && !status; d = json_next(d)) {
		const char *digest = json_str(json_get(d, "digest"));

		status = site_refs_add(r, digest ? digest : "", err);
	}
	json_free(doc);
	return status;
}

bool
site_subject(const struct site_manifest *m, char digest[TB_DIGEST_MAX])
{
	cJSON *doc;
	const char *subject;
	bool has = false;

	if (json_parse(&doc, tb_buf_cstr(&m->text), m->text.len, "", NULL))
		return false;
	subject = json_str(json_path(doc, "subject.digest"));
	has = subject && digest_parse(subject, digest);
	json_free(doc);
	return has;
}

cJSON *
site_descriptor(const struct site_manifest *m, const char *ref)
{
	cJSON *d = json_object(), *doc, *notes;
	const char *type;

	json_set_str(d, "mediaType", m->type);
	json_set_str(d, "digest", m->digest);
	json_set_u64(d, "size", m->text.len);
	notes = json_object();
	if (!json_parse(&doc, tb_buf_cstr(&m->text), m->text.len, "", NULL)) {
		type = json_str(json_get(doc, "artifactType"));
		if (!type && json_get(doc, "subject"))
			type = json_str(json_path(doc, "config.mediaType"));
		if (type)
			json_set_str(d, "artifactType", type);
		for (const cJSON *n = json_get(doc, "subject") ? json_first(json_get(doc, "annotations"))
							       : NULL; n; n = json_next(n))
			json_set(notes, json_key(n), json_copy(n));
		json_free(doc);
	}
	if (ref)
		json_set_str(notes, REF_NAME, ref);
	if (json_first(notes))
		json_set(d, "annotations", notes);
	else
		json_free(notes);
	return d;
}

void
site_fallback(const char *digest, char tag[TB_DIGEST_MAX])
{
	memcpy(tag, digest, TB_DIGEST_MAX);
	tag[strlen("sha256")] = '-';
}
