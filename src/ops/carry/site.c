#include "config.h"

#include "src/ops/carry/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/store/model.h"
#include "src/store/ollama.h"
#include "src/store/store_kind.h"

/* What says nothing of itself; Docker's has to. */
#define OCI_TYPE "application/vnd.oci.image.manifest.v1+json"

void
site_manifest_free(struct site_manifest *m)
{
	tb_buf_free(&m->text);
}

void
site_free(struct site *s)
{
	if (!s)
		return;
	free(s->shown);
	s->row->free(s);
}

const char *
site_shown(const struct site *s)
{
	return s->shown;
}

enum tb_status
site_read(struct site *s, struct http *h, const char *reference, struct tb_job *job,
	  struct site_manifest *out, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct site_manifest){ 0 };
	status = s->row->manifest(s, h, reference, job, out, err);
	if (status)
		site_manifest_free(out);
	return status;
}

enum tb_status
site_write(struct site *s, struct http *h, const struct site_manifest *m, const char *tag,
	   struct tb_job *job, struct tb_err *err)
{
	if (!s->row->write)
		return tb_fail(err, TB_EUNSUP, "%s: nothing can be put there", s->shown);
	return s->row->write(s, h, m, tag, job, err);
}

enum tb_status
site_referrers(struct site *s, struct http *h, const char *digest, struct tb_job *job,
	       struct site_refs *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = (struct site_refs){ 0 };
	if (s->row->referrers)
		status = s->row->referrers(s, h, digest, job, out, err);
	if (status)
		site_refs_free(out);
	return status;
}

enum tb_status
site_finish(struct site *s, struct tb_err *err)
{
	return s->row->finish ? s->row->finish(s, err) : TB_OK;
}

/* ---- a model of a store ---- */

struct site_model {
	struct site base;
	char *manifest, *root;		/* owned */
};

/* There is one, and nothing that refers to it. */
static enum tb_status
model_manifest(struct site *base, struct http *h, const char *reference, struct tb_job *job,
	       struct site_manifest *out, struct tb_err *err)
{
	const struct site_model *s = (const struct site_model *)base;
	char *text;
	size_t len;
	cJSON *doc;
	const char *type;
	enum tb_status status = tb_file_slurp(s->manifest, REGISTRY_MANIFEST_MAX, &text, &len, err);

	(void)h, (void)job;
	if (status)
		return status;
	status = tb_sha256_bytes(text, len, out->digest, err);
	if (!status && *reference && strcmp(reference, out->digest) != 0)
		status = tb_fail(err, TB_ENOENT, "%s: has no manifest \"%.80s\"", base->shown, reference);
	if (status) {
		free(text);
		return status;
	}
	status = json_parse(&doc, text, len, s->manifest, err);
	if (!status) {
		type = json_str(json_get(doc, "mediaType"));
		snprintf(out->type, sizeof(out->type), "%s", type && strlen(type) < sizeof(out->type) &&
			 !strpbrk(type, "\r\n") ? type : OCI_TYPE);
		json_free(doc);
		out->text = TB_BUF(REGISTRY_MANIFEST_MAX);
		tb_buf_add(&out->text, text, len);
		status = tb_buf_status(&out->text, s->manifest, err);
	}
	free(text);
	return status;
}

static enum tb_status
model_blob(struct site *base, const struct site_blob *b, struct tb_job *job,
	   struct site_stream **out, struct tb_err *err)
{
	const struct site_model *s = (const struct site_model *)base;

	(void)job;
	return site_file_stream(out, ollama_blob_path(s->root, b->digest), b->size, err);
}

static char *
model_where(const struct site *base, const struct site_blob *b)
{
	return ollama_blob_path(((const struct site_model *)base)->root, b->digest);
}

static void
model_free_site(struct site *base)
{
	struct site_model *s = (struct site_model *)base;

	free(s->manifest);
	free(s->root);
	free(s);
}

static const struct site_row model_row = {
	.manifest = model_manifest, .open = model_blob, .where = model_where, .free = model_free_site,
};

enum tb_status
site_model(struct site **out, const struct model_loc *loc, struct tb_err *err)
{
	const char *path;
	size_t n;
	const struct store_kind *kind = store_of_model(loc, &path, &n);
	struct site_model *s;

	if (kind != &store_ollama)
		return tb_fail(err, TB_EUNSUP, "%s: is no model of an Ollama store, which is what registries "
			       "take; \"tbtui import\" makes one of it", loc->name);
	if (!(s = tb_calloc(1, sizeof(*s))))
		return tb_nomem(err);
	s->base.row = &model_row;
	s->base.shown = tb_strdup(loc->name);
	s->manifest = tb_strdup(loc->path);
	s->root = tb_strndup(path, n);
	*out = &s->base;
	if (s->base.shown && s->manifest && s->root)
		return TB_OK;
	site_free(*out);
	*out = NULL;
	return tb_nomem(err);
}
