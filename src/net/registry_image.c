/* registry_image.c - the image that is meant, where a name has several. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/net/registry_parts.h"

static bool
is_index(const char *type)
{
	return !strcmp(type, "application/vnd.oci.image.index.v1+json") ||
	       !strcmp(type, "application/vnd.docker.distribution.manifest.list.v2+json");
}

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
say_images(const cJSON *all, const char *name, struct tb_err *err)
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
	(void)tb_fail(err, TB_EUNSUP, "%.120s: is a list of several: %s; ask for one by its digest,"
		      " NAME@sha256:…", name,
		      text.len ? tb_buf_cstr(&text) : "none that can be pulled");
	tb_buf_free(&text);
	return TB_EUNSUP;
}

/* The only one; else the only one for this machine. */
static enum tb_status
choose_image(const struct tb_buf *text, const char *name, char digest[TB_DIGEST_MAX],
	     struct tb_err *err)
{
	size_t images = 0, here = 0;
	const char *any = NULL, *ours = NULL;
	cJSON *doc;
	enum tb_status status = json_parse(&doc, tb_buf_cstr(text), text->len, name, err);
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
		status = say_images(all, name, err);
	json_free(doc);
	return status;
}

enum tb_status
registry_image(struct registry *r, struct http *h, const char *reference, struct tb_job *job,
	       struct registry_manifest *out, struct tb_err *err)
{
	char *name = tb_asprintf("%s/%s:%s", registry_host(r), r->repo, reference);
	char digest[TB_DIGEST_MAX];
	enum tb_status status;

	*out = (struct registry_manifest){ 0 };
	status = name ? registry_manifest(r, h, reference, job, out, err) : tb_nomem(err);
	if (!status && is_index(out->type)) {
		status = choose_image(&out->text, name, digest, err);
		registry_manifest_free(out);
		if (!status)
			status = registry_manifest(r, h, digest, job, out, err);
	}
	if (!status && is_index(out->type)) {
		registry_manifest_free(out);
		status = tb_fail(err, TB_EUNSUP, "%.300s: a list of lists of images", name);
	}
	free(name);
	return status;
}
