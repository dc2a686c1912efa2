#include "config.h"

#include "src/ops/copy/copy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/net/http.h"
#include "src/ops/copy/copy_place.h"

#define NODES_MAX 2000u
#define DEPTH_MAX 8u

/* A manifest that goes, behind those that it names. */
struct node {
	struct site_manifest m;
	char *tag;			/* owned; NULL: by its digest alone */
	bool there;
};

struct copy {
	struct op_ctx *ctx;
	struct copy_request req;	/* without its texts */
	struct copy_place from, to;
	struct carry *carry;
	struct node *v;			/* owned */
	size_t n, cap, referrers;
};

void
copy_result_free(struct copy_result *r)
{
	free(r->from);
	free(r->to);
	r->from = r->to = NULL;
}

void
copy_free(struct copy *c)
{
	if (!c)
		return;
	carry_free(c->carry);
	for (size_t i = 0; i < c->n; i++) {
		site_manifest_free(&c->v[i].m);
		free(c->v[i].tag);
	}
	free(c->v);
	copy_place_free(&c->from);
	copy_place_free(&c->to);
	free(c);
}

enum tb_status
copy_new(struct copy **out, struct op_ctx *ctx, const struct copy_request *req, struct tb_err *err)
{
	struct copy *c = tb_calloc(1, sizeof(*c));
	const struct carry_opts how = { .streams = req->streams, .chunk = req->chunk };
	enum tb_status status;

	*out = NULL;
	if (!c)
		return tb_nomem(err);
	c->ctx = ctx;
	c->req = *req;
	status = copy_place_open(&c->from, ctx, req->src, req, false, err);
	if (!status)
		status = copy_place_open(&c->to, ctx, req->dst, req, true, err);
	if (!status)
		status = carry_new(&c->carry, c->from.site, c->to.site, &how, err);
	if (status)
		copy_free(c);
	else
		*out = c;
	return status;
}

size_t
copy_look(struct copy *c, struct fetch_row *rows, size_t max)
{
	return carry_look(c->carry, rows, max);
}

/* ---- what goes ---- */

static bool
is_gathered(const struct copy *c, const char *digest, const char *tag)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].m.digest, digest) &&
		    (!tag || (c->v[i].tag && !strcmp(c->v[i].tag, tag))))
			return true;
	return false;
}

static enum tb_status gather_node(struct copy *c, struct http *h, const char *reference,
				  const char *tag, unsigned depth, struct tb_job *job,
				  struct tb_err *err);

static enum tb_status
gather_refs(struct copy *c, struct http *h, const struct site_refs *refs, unsigned depth,
	    struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < refs->n && !status; i++)
		if (!is_gathered(c, refs->v[i], NULL))
			status = gather_node(c, h, refs->v[i], NULL, depth + 1, job, err);
	return status;
}

/* Who signs with cosign tags what belongs to an image by its digest. */
static enum tb_status
gather_tags(struct copy *c, struct http *h, const char *digest, unsigned depth, struct tb_job *job,
	    struct tb_err *err)
{
	static const char *const ends[] = { ".sig", ".att", ".sbom" };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && !status; i++) {
		struct site_manifest m;
		char *tag = tb_asprintf("sha256-%s%s", digest + strlen("sha256:"), ends[i]);

		status = tag ? site_read(c->from.site, h, tag, job, &m, err) : tb_nomem(err);
		if (status == TB_ENOENT) {
			status = TB_OK;
		} else if (!status) {
			c->referrers++;
			status = gather_node(c, h, m.digest, tag, depth + 1, job, err);
			site_manifest_free(&m);
		}
		free(tag);
	}
	return status;
}

static enum tb_status
gather_referrers(struct copy *c, struct http *h, const char *digest, unsigned depth,
		 struct tb_job *job, struct tb_err *err)
{
	struct site_refs refs;
	enum tb_status status;

	if (c->req.alone || depth + 1 >= DEPTH_MAX)
		return TB_OK;
	status = site_referrers(c->from.site, h, digest, job, &refs, err);
	if (status)
		return status;
	c->referrers += refs.n;
	status = gather_refs(c, h, &refs, depth, job, err);
	site_refs_free(&refs);
	return status ? status : gather_tags(c, h, digest, depth, job, err);
}

/* Its images, or its blobs; nothing of a manifest that is there: so is what it names. */
static enum tb_status
gather_parts(struct copy *c, struct http *h, struct node *node, unsigned depth, struct tb_job *job,
	     struct tb_err *err)
{
	const struct site_manifest *m = &node->m;
	struct site_manifest other;
	struct site_refs parts = { 0 };
	cJSON *doc;
	bool index;
	enum tb_status status = json_parse(&doc, tb_buf_cstr(&m->text), m->text.len,
					   site_shown(c->from.site), err);

	if (status)
		return status;
	index = json_is_array(json_get(doc, "manifests"));
	json_free(doc);
	if (index) {
		status = site_refs_read(&parts, tb_buf_cstr(&m->text), m->text.len,
					site_shown(c->from.site), err);
		if (!status)
			status = gather_refs(c, h, &parts, depth, job, err);
		site_refs_free(&parts);
		return status;
	}
	if (!c->to.is_layout && !site_read(c->to.site, h, m->digest, job, &other, NULL)) {
		node->there = true;
		site_manifest_free(&other);
		return tb_job_check(job, err);
	}
	return carry_add_image(c->carry, m, err);
}

static enum tb_status
gather_node(struct copy *c, struct http *h, const char *reference, const char *tag, unsigned depth,
       struct tb_job *job, struct tb_err *err)
{
	struct node node = { .tag = tag ? tb_strdup(tag) : NULL };
	enum tb_status status = !tag == !node.tag ? TB_OK : tb_nomem(err);

	if (!status && (depth > DEPTH_MAX || c->n >= NODES_MAX))
		status = tb_fail(err, TB_ELIMIT, "%s: manifests that name manifests, too many",
				 site_shown(c->from.site));
	if (!status) {
		tb_job_what(job, "reading what belongs to it: %zu", c->n + 1);
		status = site_read(c->from.site, h, reference, job, &node.m, err);
	}
	if (!status && is_gathered(c, node.m.digest, tag))
		goto out;
	if (!status)
		status = gather_parts(c, h, &node, depth, job, err);
	if (!status && !(tag && tb_starts(tag, "sha256-")))
		status = gather_referrers(c, h, node.m.digest, depth, job, err);
	if (!status && !tb_grow(&c->v, &c->cap, c->n + 1, sizeof(node)))
		status = tb_nomem(err);
	if (!status) {
		c->v[c->n++] = node;
		return TB_OK;
	}
out:
	site_manifest_free(&node.m);
	free(node.tag);
	return status;
}

/* ---- there ---- */

static enum tb_status
look_there(struct copy *c, struct http *h, struct tb_job *job, struct copy_result *out,
	   struct tb_err *err)
{
	struct site_manifest old;
	enum tb_status status;

	if (!*c->to.name)
		return TB_OK;
	status = site_read(c->to.site, h, c->to.name, job, &old, err);
	if (status == TB_ENOENT)
		return TB_OK;
	if (status)
		return status;
	if (strcmp(old.digest, out->digest) != 0)
		memcpy(out->old, old.digest, sizeof(out->old));
	site_manifest_free(&old);
	if (!*out->old || c->req.replace || c->req.dry_run)
		return TB_OK;
	return tb_fail(err, TB_EEXIST, "%s: something else is there under that name: manifest %.19s…;"
		       " --replace puts this in its place", out->to, out->old);
}

static enum tb_status
put_manifests(struct copy *c, struct http *h, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < c->n && !status; i++) {
		const struct node *node = &c->v[i];

		tb_job_what(job, "manifest %zu of %zu", i + 1, c->n);
		status = tb_job_check(job, err);
		if (!status && !(node->there && !node->tag))
			status = site_write(c->to.site, h, &node->m, node->tag, job, err);
	}
	return status ? status : site_finish(c->to.site, err);
}

static enum tb_status
copy_all(struct copy *c, struct http *h, struct tb_job *job, struct copy_result *out,
	 struct tb_err *err)
{
	const char *tag = *c->to.name ? c->to.name : NULL;
	struct fetch_row *rows;
	enum tb_status status = gather_node(c, h, c->from.reference, tag, 0, job, err);

	if (status)
		return status;
	memcpy(out->digest, c->v[c->n - 1].m.digest, sizeof(out->digest));
	out->docker_in_layout = c->to.is_layout && tb_starts(c->v[c->n - 1].m.type, "application/vnd.docker.");
	out->manifests = c->n;
	out->referrers = c->referrers;
	out->blobs = copy_look(c, NULL, 0);
	if (!(rows = tb_calloc(out->blobs + 1, sizeof(*rows))))
		return tb_nomem(err);
	copy_look(c, rows, out->blobs);
	for (size_t i = 0; i < out->blobs; i++)
		out->bytes += rows[i].size;
	free(rows);
	status = look_there(c, h, job, out, err);
	if (!status && c->req.dry_run)
		return carry_ask(c->carry, job, &out->sum, err);
	if (!status)
		status = carry_run(c->carry, job, &out->sum, err);
	return status ? status : put_manifests(c, h, job, err);
}

enum tb_status
op_copy(struct copy *c, struct tb_job *job, struct copy_result *out, struct tb_err *err)
{
	struct http *h;
	enum tb_status status;

	*out = (struct copy_result){ .from = copy_place_text(&c->from), .to = copy_place_text(&c->to) };
	if (!out->from || !out->to)
		return tb_nomem(err);
	if ((status = http_new(&h, err)))
		return status;
	status = copy_all(c, h, job, out, err);
	http_free(h);
	return status;
}
