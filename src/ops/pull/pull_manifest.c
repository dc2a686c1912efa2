/* pull_manifest.c - what is to come, as the registry's manifest says, and whether that can be. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "src/base/hash.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/pull/pull_parts.h"

static bool
is_index(const char *type)
{
	return !strcmp(type, "application/vnd.oci.image.index.v1+json") ||
	       !strcmp(type, "application/vnd.docker.distribution.manifest.list.v2+json");
}

/* ---- one of several ---- */

/* An image of an index that runs somewhere, or says not where; not an attestation beside one. */
static bool
is_image(const cJSON *v)
{
	const char *os = json_str(json_path(v, "platform.os"));
	const char *type = json_str(json_get(v, "artifactType"));

	return json_is_object(v) && (!os || strcmp(os, "unknown")) && !type;
}

/* What this machine is called there. */
static const char *
own_architecture(void)
{
	static const char *const names[][2] = {
		{ "x86_64", "amd64" }, { "aarch64", "arm64" }, { "ppc64le", "ppc64le" },
		{ "s390x", "s390x" }, { "riscv64", "riscv64" },
	};
	struct utsname u;

	if (uname(&u))
		return "";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(u.machine, names[i][0]))
			return names[i][1];
	return "";
}

static bool
is_for_here(const cJSON *v)
{
	const char *os = json_str(json_path(v, "platform.os"));
	const char *arch = json_str(json_path(v, "platform.architecture"));

	return os && arch && !strcmp(os, "linux") && !strcmp(arch, own_architecture());
}

/* None, or too many to choose: says which there are. */
static enum tb_status
say_images(const struct pull *p, const cJSON *all, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(4096);
	char digest[TB_DIGEST_MAX];

	for (const cJSON *v = json_first(all); v; v = json_next(v)) {
		const char *os = json_str(json_path(v, "platform.os"));
		const char *arch = json_str(json_path(v, "platform.architecture"));
		const char *said = json_str(json_get(v, "digest"));

		if (!is_image(v) || !said || !digest_parse(said, digest) || text.len > 300)
			continue;
		tb_buf_printf(&text, "%s@%.19s… (%.12s/%.12s)", text.len ? ", " : "", digest,
			      os ? os : "?", arch ? arch : "?");
	}
	(void)tb_fail(err, TB_EUNSUP, "%.120s: is a list of several: %s; ask for one by its digest, NAME@"
		      "sha256:…", p->from, text.len ? tb_buf_cstr(&text) : "none that can be pulled");
	tb_buf_free(&text);
	return TB_EUNSUP;
}

/* The only one; else the only one for this machine. */
static enum tb_status
choose_image(const struct pull *p, char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	size_t images = 0, here = 0;
	const char *any = NULL, *ours = NULL;
	cJSON *doc;
	enum tb_status status = json_parse(&doc, tb_buf_cstr(&p->text.text), p->text.text.len, p->from,
					   err);
	const cJSON *all;

	if (status)
		return status;
	all = json_get(doc, "manifests");
	for (const cJSON *v = json_first(all); v; v = json_next(v)) {
		const char *said = json_str(json_get(v, "digest"));

		if (!is_image(v))
			continue;
		images++;
		any = said;
		if (is_for_here(v)) {
			here++;
			ours = said;
		}
	}
	if (images == 1)
		ours = any;
	if ((images != 1 && here != 1) || !ours || !digest_parse(ours, digest))
		status = say_images(p, all, err);
	json_free(doc);
	return status;
}

/* ---- its blobs ---- */

static enum tb_status
check_kinds(const struct pull *p, struct tb_err *err)
{
	const struct manifest *m = &p->manifest;

	for (size_t i = 0; i < m->nlayers; i++)
		if (media_parse(m->layers[i].media_type) != MEDIA_UNKNOWN)
			return TB_OK;
	if (!m->nlayers)
		return tb_fail(err, TB_EUNSUP, "%s: has no layers: there is no model in it", p->from);
	return tb_fail(err, TB_EUNSUP, "%.200s: is no model: its layers are %.100s", p->from,
		       m->layers[0].media_type);
}

/* Layers may name one blob twice, but then it has one size. */
static enum tb_status
add_blob(struct pull *p, uint32_t *slots, size_t nslots, const struct manifest_layer *l,
	 struct tb_err *err)
{
	uint64_t hash = tb_hash(l->digest, strlen(l->digest));
	uint32_t *slot = TB_SLOT(slots, nslots, hash >> 32, i,
				 !strcmp(p->blobs[i].layer->digest, l->digest));

	if (*slot && p->blobs[*slot - 1].layer->size != l->size)
		return tb_fail(err, TB_EFORMAT, "%s: %s has two sizes in its manifest, %ju and %ju",
			       p->from, l->digest, (uintmax_t)p->blobs[*slot - 1].layer->size,
			       (uintmax_t)l->size);
	if (*slot)
		return TB_OK;
	p->blobs[p->n] = (struct pull_blob){ .layer = l };
	*slot = (uint32_t)++p->n;
	return TB_OK;
}

static enum tb_status
list_blobs(struct pull *p, struct tb_err *err)
{
	const struct manifest *m = &p->manifest;
	enum tb_status status = TB_OK;
	size_t nslots = 16;
	uint32_t *slots;
	uint64_t sum = 0;

	while (nslots < 2 * (m->nlayers + 1))
		nslots *= 2;
	slots = tb_calloc(nslots, sizeof(*slots));
	p->blobs = tb_calloc(m->nlayers + 1, sizeof(*p->blobs));
	if (!slots || !p->blobs)
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < m->nlayers; i++)
		status = add_blob(p, slots, nslots, &m->layers[i], err);
	if (!status && m->config.media_type)
		status = add_blob(p, slots, nslots, &m->config, err);
	for (size_t i = 0; !status && i < p->n; i++)
		if (__builtin_add_overflow(sum, p->blobs[i].layer->size, &sum) || sum > INT64_MAX)
			status = tb_fail(err, TB_EFORMAT, "%s: more bytes than there can be", p->from);
	free(slots);
	return status;
}

enum tb_status
pull_ask(struct pull *p, struct http *h, struct tb_job *job, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	enum tb_status status;

	tb_job_what(job, "%s", p->from);
	status = registry_manifest(p->registry, h, image_reference(&p->image), job, &p->text, err);
	if (!status && is_index(p->text.type)) {
		status = choose_image(p, digest, err);
		registry_manifest_free(&p->text);
		if (!status)
			status = registry_manifest(p->registry, h, digest, job, &p->text, err);
	}
	if (!status && is_index(p->text.type))
		status = tb_fail(err, TB_EUNSUP, "%s: a list of lists of images", p->from);
	if (!status)
		status = manifest_parse(&p->manifest, tb_buf_cstr(&p->text.text), p->text.text.len,
					p->from, err);
	if (!status)
		status = check_kinds(p, err);
	return status ? status : list_blobs(p, err);
}
