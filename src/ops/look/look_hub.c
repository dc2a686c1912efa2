/* look_hub.c - the mirror of a model at a Hugging Face hub: a cache as a pull would leave it. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/format.h"
#include "src/net/hub_api.h"
#include "src/ops/home/home.h"
#include "src/ops/hub_pull/hub_pull.h"

struct at_hub {
	struct hub_pull *pull;		/* asked for its list, never run */
	struct hub_pull_plan plan;
	const char *commit;		/* these are the pull's */
	struct hub *hub;
};

static enum tb_status
at_hub_get(void *arg, struct http *h, const struct look_file *f, uint64_t off, uint64_t len,
	   http_body_fn *fn, void *fn_arg, struct tb_job *job, struct http_fate *fate,
	   struct tb_err *err)
{
	struct at_hub *at = arg;
	const struct hub_range want = { .file = f->ref, .off = off, .len = len };

	return hub_get(at->hub, h, at->commit, &want, fn, fn_arg, job, fate, err);
}

static const char *
at_hub_host(const void *arg)
{
	const struct at_hub *at = arg;

	return hub_host(at->hub);
}

static char *
at_hub_place(const void *arg, const struct look_file *f)
{
	const struct at_hub *at = arg;

	return tb_asprintf("%s/%s", at->plan.name, f->name);
}

static void
at_hub_cost(const void *arg, struct look_facts *out)
{
	const struct at_hub *at = arg;

	out->bytes = at->plan.bytes;
	out->to_come = at->plan.come;
	out->there = at->plan.bytes - at->plan.come;
	out->store = tb_strdup(at->plan.root);
	out->free = at->plan.room;
}

static void
at_hub_free(void *arg)
{
	struct at_hub *at = arg;

	hub_pull_plan_free(&at->plan);
	hub_pull_free(at->pull);
	free(at);
}

/* ---- its files ---- */

struct cache {
	struct look *l;
	struct db *db;			/* NULL: nothing is known of any file here */
	char *repository;		/* "models--ORG--NAME", in the cache and in the mirror */
	const struct at_hub *at;
};

/* Entries of a snapshot are links to blobs, from as deep as the file is. */
static enum tb_status
link_entry(const struct cache *c, const struct hub_file *f, struct tb_err *err)
{
	char *below = tb_asprintf("%s/snapshots/%s/%s", c->repository, c->at->commit, f->path);
	struct tb_buf to = TB_BUF(1u << 16);
	enum tb_status status = TB_OK;

	for (const char *slash = f->path; slash; slash = strchr(slash + 1, '/'))
		tb_buf_str(&to, "../");
	tb_buf_printf(&to, "../blobs/%s", hub_file_hex(f));
	if (!below)
		status = tb_nomem(err);
	if (!status)
		status = tb_buf_status(&to, f->path, err);
	if (!status)
		status = mirror_entry(c->l, below, tb_buf_cstr(&to), err);
	tb_buf_free(&to);
	free(below);
	return status;
}

static bool
is_description(const char *path)
{
	return !strcmp(path, "config.json") || tb_ends(path, ".index.json");
}

static enum tb_status
lay_file(const struct cache *c, const struct hub_file *f, struct tb_err *err)
{
	bool tensors = format_of_name(f->path) != NULL;
	char *below = tb_asprintf("%s/blobs/%s", c->repository, hub_file_hex(f));
	char *here = tb_asprintf("%s/%s/blobs/%s", c->at->plan.root, c->repository, hub_file_hex(f));
	struct look_file *made = NULL;
	enum tb_status status = below && here ? mirror_file(c->l, below, NULL, f->size, f->path, f->digest,
							    &made, err) : tb_nomem(err);

	if (!status && made) {
		made->ref = f;
		made->whole = !tensors && f->size <= LOOK_FREE;
		made->early = tensors || is_description(f->path);
		if (c->db && look_is_known(c->db, here, f->digest, f->size)) {
			made->copy = here;
			here = NULL;
		}
	}
	free(below);
	free(here);
	return status ? status : link_entry(c, f, err);
}

static enum tb_status
lay_files(struct look *l, const struct op_ctx *ctx, struct at_hub *at, struct tb_err *err)
{
	const bool *take;
	const struct hub_files *files = hub_pull_files(at->pull, &take, &at->commit, &at->hub);
	char *snapshots = tb_path_parent(at->plan.snapshot);
	char *repository = snapshots ? tb_path_parent(snapshots) : NULL;
	struct cache c = { .l = l, .at = at };
	enum tb_status status = repository ? TB_OK : tb_nomem(err);

	if (!status && !(c.repository = tb_strdup(tb_path_name(repository))))
		status = tb_nomem(err);
	if (!status && db_open_read(&c.db, ctx->db_path, NULL))
		c.db = NULL;
	for (size_t i = 0; !status && i < files->n; i++)
		if (take[i])
			status = lay_file(&c, &files->v[i], err);
	if (c.db)
		db_close(c.db);
	free(c.repository);
	free(repository);
	free(snapshots);
	mirror_sort(l);
	return status;
}

enum tb_status
look_hub(struct look *l, struct op_ctx *ctx, const struct look_request *req, struct tb_job *job,
	 struct tb_err *err)
{
	const struct hub_pull_request pull = { .name = req->name, .skip_verify = req->skip_verify };
	struct at_hub *at;
	enum tb_status status;

	if (req->insecure)
		return tb_fail(err, TB_EUSAGE, "--insecure is for registries; a hub without TLS is named by "
			       "HF_ENDPOINT=http://…");
	at = tb_calloc(1, sizeof(*at));
	status = at ? hub_pull_new(&at->pull, ctx, &pull, err) : tb_nomem(err);
	if (!status)
		status = op_hub_pull_plan(at->pull, job, &at->plan, err);
	if (status) {
		if (at)
			at_hub_free(at);
		return status;
	}
	l->source = (struct look_source){ at_hub_get, at_hub_host, at_hub_place, at_hub_cost, at_hub_free,
					  at };
	return lay_files(l, ctx, at, err);
}

/* ---- the model ---- */

/* A folder; or the first file that is no part of another model, as projectors are. */
static enum tb_status
better(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct look *l = arg;
	bool part = tb_contains(tb_path_name(loc->path), "mmproj");
	bool folder = kind_is_folder(loc->kind);

	if (l->loc.path && (kind_is_folder(l->loc.kind) || (!folder && part)))
		return TB_OK;
	if (l->loc.path && !folder && !tb_contains(tb_path_name(l->loc.path), "mmproj"))
		return TB_OK;
	model_loc_free(&l->loc);
	return model_loc_copy(&l->loc, loc, err);
}

enum tb_status
look_locate(struct look *l, struct tb_err *err)
{
	struct unread unread = { 0 };
	enum tb_status status = store_walk(l->dir, better, l, &unread, err);

	unread_free(&unread);
	if (!status && !l->loc.path)
		status = tb_fail(err, TB_EFORMAT, "%s: none of its files is a model", look_host(l));
	return status ? status : look_failed(l, err);
}
