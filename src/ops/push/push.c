#include "config.h"

#include "src/ops/push/push.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"
#include "src/net/http.h"
#include "src/store/name.h"
#include "src/store/store.h"

#define OLLAMA_HOST "registry.ollama.ai"
#define ADVICE "\"tbtui verify\" says more, \"tbtui heal\" mends it"

struct push {
	struct op_ctx *ctx;
	struct push_request req;	/* its texts are owned */
	struct model_loc loc;
	struct image_name name;		/* where to */
	struct image_name local;	/* where it may have come from; zeros: from nowhere */
	char *keep;
	struct site *from, *to;
	struct site_manifest manifest;
	struct carry *carry;
};

void
push_result_free(struct push_result *r)
{
	free(r->name);
	r->name = NULL;
}

void
push_free(struct push *p)
{
	if (!p)
		return;
	carry_free(p->carry);
	site_manifest_free(&p->manifest);
	site_free(p->from);
	site_free(p->to);
	image_name_free(&p->name);
	image_name_free(&p->local);
	model_loc_free(&p->loc);
	free((char *)p->req.ref);
	free((char *)p->req.as);
	free(p->keep);
	free(p);
}

/* ---- where to ---- */

/* Most registries take small letters alone; better said before anything is sent. */
static enum tb_status
check_letters(const struct image_name *n, struct tb_err *err)
{
	char small[256];
	size_t len = strlen(n->repo);

	if (tb_ends(n->host, ".ollama.ai") || len >= sizeof(small))
		return TB_OK;
	for (size_t i = 0; i <= len; i++)
		small[i] = n->repo[i] >= 'A' && n->repo[i] <= 'Z' ? (char)(n->repo[i] + 32) : n->repo[i];
	if (!strcmp(small, n->repo))
		return TB_OK;
	return tb_fail(err, TB_EUSAGE, "%s/%s: registries take names in small letters alone; push it as"
		       " %s/%s:%s", n->host, n->repo, n->host, small, n->tag);
}

static enum tb_status
find_name(struct push *p, struct tb_err *err)
{
	const char *as = p->req.as ? p->req.as : p->loc.name;
	enum tb_status status = image_name_parse(&p->name, as, err);

	if (status)
		return p->req.as ? status
		     : tb_wrap(err, status, "%s: say where to: HOST/NAMESPACE/MODEL:TAG", p->req.ref);
	if (*p->name.digest)
		return tb_fail(err, TB_EUSAGE, "%s: a model is pushed under a tag; its digest follows from"
			       " its bytes", as);
	if (!strcmp(p->name.host, OLLAMA_HOST) && tb_starts(p->name.repo, "library/"))
		return tb_fail(err, TB_EUSAGE, "%s: only Ollama pushes to its library; say where to: tbtui push"
			       " %s NAMESPACE/MODEL, or HOST/NAMESPACE/MODEL", as, p->req.ref);
	if (image_name_parse(&p->local, p->loc.name, NULL) || strcmp(p->local.host, p->name.host) != 0)
		image_name_free(&p->local);
	return check_letters(&p->name, err);
}

/* ---- what ---- */

static enum tb_status
open_sites(struct push *p, struct tb_err *err)
{
	struct config_registry said;
	struct registry_opts o;
	struct carry_opts how = { .streams = p->req.streams, .chunk = p->req.chunk, .advice = ADVICE,
				  .mount = p->local.repo };
	enum tb_status status = site_model(&p->from, &p->loc, err);

	config_registry_opts(&p->ctx->config, &p->name, p->req.insecure, p->req.skip_verify, &said, &o);
	o.mirrors = NULL;		/* what is there is asked of the registry itself */
	if (!status)
		status = site_registry(&p->to, &p->name, &o, err);
	if (!status)
		status = site_read(p->from, NULL, "", NULL, &p->manifest, err);
	if (!status && *p->loc.root && !(p->keep = tb_asprintf("%s/" PUSH_DIR, p->loc.root)))
		status = tb_nomem(err);
	how.keep = p->keep;
	if (!status)
		status = carry_new(&p->carry, p->from, p->to, &how, err);
	if (!status)
		status = carry_add_image(p->carry, &p->manifest, err);
	return status;
}

enum tb_status
push_new(struct push **out, struct op_ctx *ctx, const struct push_request *req, struct tb_err *err)
{
	struct push *p = tb_calloc(1, sizeof(*p));
	enum tb_status status;

	*out = NULL;
	if (!p)
		return tb_nomem(err);
	p->ctx = ctx;
	p->req = *req;
	p->req.ref = tb_strdup(req->ref);
	p->req.as = req->as ? tb_strdup(req->as) : NULL;
	status = p->req.ref && !p->req.as == !req->as ? store_resolve(&ctx->roots, req->ref, &p->loc, err)
						      : tb_nomem(err);
	if (!status)
		status = find_name(p, err);
	if (!status)
		status = open_sites(p, err);
	if (status)
		push_free(p);
	else
		*out = p;
	return status;
}

size_t
push_look(struct push *p, struct fetch_row *rows, size_t max)
{
	return carry_look(p->carry, rows, max);
}

/* ---- there ---- */

static uint64_t
manifest_bytes(const struct site_manifest *m)
{
	struct manifest doc;
	uint64_t n;

	if (manifest_parse(&doc, tb_buf_cstr(&m->text), m->text.len, "", NULL))
		return 0;
	n = doc.config.media_type ? doc.config.size : 0;
	for (size_t i = 0; i < doc.nlayers; i++)
		n += doc.layers[i].size;
	manifest_free(&doc);
	return n;
}

/* Is the tag taken? */
static enum tb_status
look_there(struct push *p, struct http *h, struct tb_job *job, struct push_result *out,
	   struct tb_err *err)
{
	struct site_manifest old;
	char size[16];
	enum tb_status status;

	tb_job_what(job, "asking %s", p->name.host);
	status = site_read(p->to, h, p->name.tag, job, &old, err);
	if (status == TB_ENOENT)
		return TB_OK;
	if (status)
		return status;
	memcpy(out->old, old.digest, sizeof(out->old));
	out->old_bytes = manifest_bytes(&old);
	site_manifest_free(&old);
	out->same = !strcmp(out->old, p->manifest.digest);
	if (out->same || p->req.replace || p->req.dry_run)
		return TB_OK;
	return tb_fail(err, TB_EEXIST, "%s: another model is there under that name: manifest %.19s…, %s;"
		       " --replace puts this one in its place", out->name, out->old,
		       tb_human_bytes(out->old_bytes, size));
}

static enum tb_status
push_all(struct push *p, struct http *h, struct tb_job *job, struct push_result *out,
	 struct tb_err *err)
{
	enum tb_status status = look_there(p, h, job, out, err);

	if (status || out->same)
		return status;
	if (p->req.dry_run)
		return carry_ask(p->carry, job, &out->sum, err);
	status = carry_run(p->carry, job, &out->sum, err);
	tb_job_what(job, "manifest");
	if (!status)
		status = site_write(p->to, h, &p->manifest, p->name.tag, job, err);
	return status ? status : site_finish(p->to, err);
}

enum tb_status
op_push(struct push *p, struct tb_job *job, struct push_result *out, struct tb_err *err)
{
	struct http *h;
	enum tb_status status;

	*out = (struct push_result){ .name = image_name_text(&p->name),
				     .blobs = push_look(p, NULL, 0),
				     .bytes = manifest_bytes(&p->manifest) };
	memcpy(out->digest, p->manifest.digest, sizeof(out->digest));
	if (!out->name)
		return tb_nomem(err);
	if ((status = http_new(&h, err)))
		return status;
	status = push_all(p, h, job, out, err);
	http_free(h);
	return status;
}
