#include "config.h"

#include "src/ops/hub_pull/hub_pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/hub_pull/hub_choose.h"
#include "src/ops/hub_pull/hub_pull_parts.h"
#include "src/ops/output/output.h"
#include "src/store/hub.h"

#define ROUNDS 4			/* that others may take away what is there meanwhile */
#define LEFT_SHOWN 3			/* names of files that are not wanted */

/* ---- before ---- */

static void
free_list(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

/* *out NULL: there are none. */
static enum tb_status
copy_list(const char *const *v, char ***out, struct tb_err *err)
{
	size_t n = 0;

	*out = NULL;
	while (v && v[n])
		n++;
	if (!n)
		return TB_OK;
	if (!(*out = tb_calloc(n + 1, sizeof(**out))))
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (!((*out)[i] = tb_strdup(v[i])))
			return tb_nomem(err);
	return TB_OK;
}

static enum tb_status
place_it(struct hub_pull *p, const struct hub_pull_request *req, struct tb_err *err)
{
	enum tb_status status = hub_cache_find(p->ctx, req->store, &p->root, err);
	char *folder;

	if (status)
		return status;
	folder = hub_folder_name(p->name.repo);
	p->repo = folder ? tb_path_join(p->root, folder) : NULL;
	p->dir = p->repo ? tb_path_join(p->repo, FETCH_DIR) : NULL;
	free(folder);
	return p->repo && p->dir ? TB_OK : tb_nomem(err);
}

enum tb_status
hub_pull_new(struct hub_pull **out, struct op_ctx *ctx, const struct hub_pull_request *req,
	     struct tb_err *err)
{
	struct hub_pull *p = tb_calloc(1, sizeof(*p));
	enum tb_status status;

	*out = NULL;
	if (!p)
		return tb_nomem(err);
	p->ctx = ctx;
	p->streams = req->streams;
	p->trust.skip = req->skip_verify;
	pthread_mutex_init(&p->mu, NULL);
	status = hub_name_parse(&p->name, req->name, err);
	if (!status)
		status = place_it(p, req, err);
	if (!status)
		status = copy_list(req->include, &p->include, err);
	if (!status)
		status = copy_list(req->exclude, &p->exclude, err);
	if (status)
		hub_pull_free(p);
	else
		*out = p;
	return status;
}

void
hub_pull_free(struct hub_pull *p)
{
	if (!p)
		return;
	fetch_free(p->fetch);
	hub_free(p->hub);
	for (size_t i = 0; i < p->n; i++) {
		free(p->blobs[i].path);
		free(p->blobs[i].begun);
	}
	free(p->blobs);
	free(p->take);
	hub_files_free(&p->files);
	hub_name_free(&p->name);
	free_list(p->include);
	free_list(p->exclude);
	free(p->snapshot);
	free(p->root);
	free(p->repo);
	free(p->dir);
	pthread_mutex_destroy(&p->mu);
	free(p);
}

size_t
hub_pull_look(struct hub_pull *p, struct fetch_row *rows, size_t max)
{
	size_t n;

	pthread_mutex_lock(&p->mu);
	n = p->fetch ? fetch_look(p->fetch, rows, max) : 0;
	pthread_mutex_unlock(&p->mu);
	return n;
}

/* ---- what the hub says ---- */

static int
by_hex(const void *a, const void *b)
{
	const struct hub_blob *x = a, *y = b;

	return strcmp(x->file->digest, y->file->digest);
}

/* Files with the same bytes are one blob. */
static enum tb_status
list_blobs(struct hub_pull *p, struct tb_err *err)
{
	size_t n = 0, kept = 0;

	p->blobs = tb_calloc(p->files.n + 1, sizeof(*p->blobs));
	if (!p->blobs)
		return tb_nomem(err);
	for (size_t i = 0; i < p->files.n; i++)
		if (p->take[i])
			p->blobs[n++].file = &p->files.v[i];
	if (n)
		qsort(p->blobs, n, sizeof(*p->blobs), by_hex);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(p->blobs[kept - 1].file->digest, p->blobs[i].file->digest))
			p->blobs[kept++] = p->blobs[i];
	p->n = kept;
	for (size_t i = 0; i < kept; i++) {
		p->blobs[i].path = tb_asprintf("%s/blobs/%s", p->repo, hub_file_hex(p->blobs[i].file));
		if (!p->blobs[i].path)
			return tb_nomem(err);
	}
	return TB_OK;
}

static enum tb_status
choose_files(struct hub_pull *p, struct tb_err *err)
{
	char *what = tb_asprintf("hf:%s", p->name.repo);
	const struct hub_wish wish = { .what = what, .which = p->name.which,
				       .include = (const char *const *)p->include,
				       .exclude = (const char *const *)p->exclude };
	enum tb_status status;

	p->take = tb_calloc(p->files.n + 1, sizeof(*p->take));
	status = what && p->take ? hub_choose(&p->files, &wish, p->take, err) : tb_nomem(err);
	free(what);
	return status ? status : list_blobs(p, err);
}

/* Once. */
static enum tb_status
ask_once(struct hub_pull *p, struct tb_job *job, struct tb_err *err)
{
	struct config_registry said = { 0 };
	struct http *http = NULL;
	enum tb_status status;

	if (p->blobs)
		return TB_OK;
	status = http_new(&http, err);
	if (!status)
		status = hub_new(&p->hub, p->name.repo, &p->trust, err);
	if (!status) {
		config_registry(&p->ctx->config, hub_host(p->hub), &said);
		p->trust.ca_file = said.ca_file;
		tb_job_what(job, "asking %.100s", hub_host(p->hub));
	}
	if (!status && hub_is_commit(p->name.revision))
		memcpy(p->commit, p->name.revision, sizeof(p->commit));
	else if (!status)
		status = hub_commit(p->hub, http, p->name.revision, job, p->commit, err);
	if (!status && !(p->snapshot = tb_asprintf("%s/snapshots/%s", p->repo, p->commit)))
		status = tb_nomem(err);
	if (!status)
		status = hub_list(p->hub, http, p->commit, job, &p->files, err);
	http_free(http);
	return status ? status : choose_files(p, err);
}

/* ---- what would be ---- */

static void
count_left(const struct hub_pull *p, struct hub_pull_plan *plan)
{
	size_t shown[LEFT_SHOWN], n = 0, len = 0;

	for (size_t i = 0; i < p->files.n; i++) {
		size_t k;

		if (p->take[i])
			continue;
		plan->left_files++;
		plan->left += p->files.v[i].size;
		for (k = n < LEFT_SHOWN ? n++ : LEFT_SHOWN; k &&
		     p->files.v[shown[k - 1]].size < p->files.v[i].size; k--)
			if (k < LEFT_SHOWN)
				shown[k] = shown[k - 1];
		if (k < LEFT_SHOWN)
			shown[k] = i;
	}
	for (size_t i = 0; i < n && len < sizeof(plan->left_names) - 50; i++)
		len += (size_t)snprintf(plan->left_names + len, sizeof(plan->left_names) - len, "%s%.44s",
					i ? ", " : "", p->files.v[shown[i]].path);
}

static void
count_plan(const struct hub_pull *p, struct hub_pull_plan *plan)
{
	for (size_t i = 0; i < p->files.n; i++)
		plan->files += p->take[i];
	for (size_t i = 0; i < p->n; i++) {
		const struct hub_blob *b = &p->blobs[i];

		plan->bytes += b->file->size;
		if (b->there == HUB_UNSURE)
			plan->unsure += b->file->size;
		if (b->there != HUB_ABSENT && b->there != HUB_DAMAGED)
			continue;
		plan->come += b->file->size;
		plan->come_files++;
	}
	plan->current = hub_is_current(p);
	plan->room = space_free(p->root);
	memcpy(plan->commit, p->commit, sizeof(plan->commit));
	count_left(p, plan);
}

enum tb_status
op_hub_pull_plan(struct hub_pull *p, struct tb_job *job, struct hub_pull_plan *out,
		 struct tb_err *err)
{
	enum tb_status status = ask_once(p, job, err);

	*out = (struct hub_pull_plan){ 0 };
	if (!status)
		status = hub_find(p, err);
	if (status)
		return status;
	count_plan(p, out);
	out->name = strcmp(p->name.revision, "main")
		  ? tb_asprintf("hf:%s@%s", p->name.repo, p->name.revision)
		  : tb_asprintf("hf:%s", p->name.repo);
	out->root = tb_strdup(p->root);
	out->snapshot = tb_strdup(p->snapshot);
	if (out->name && out->root && out->snapshot)
		return TB_OK;
	hub_pull_plan_free(out);
	return tb_nomem(err);
}

const struct hub_files *
hub_pull_files(const struct hub_pull *p, const bool **take, const char **commit, struct hub **hub)
{
	*take = p->take;
	*commit = p->commit;
	*hub = p->hub;
	return &p->files;
}

void
hub_pull_plan_free(struct hub_pull_plan *plan)
{
	free(plan->name);
	free(plan->root);
	free(plan->snapshot);
	*plan = (struct hub_pull_plan){ 0 };
}

/* ---- what comes ---- */

static enum tb_status
get_stretch_of(void *arg, struct http *h, const struct fetch_item *it, uint64_t off, uint64_t len,
	       struct fetch_sink *sink, struct tb_job *job, struct tb_err *err)
{
	struct hub_pull *p = arg;
	struct hub_range want = { .file = it->ref, .off = off, .len = len };
	struct http_fate fate;
	enum tb_status status = hub_get(p->hub, h, p->commit, &want, fetch_put, sink, job, &fate, err);

	if (fate.whole) {			/* nothing came yet */
		fetch_whole(sink);
		want.off = 0;
		want.len = it->size;
		status = hub_get(p->hub, h, p->commit, &want, fetch_put, sink, job, &fate, err);
	}
	if (status)
		fetch_retry(sink, fate.again, fate.retry_after);
	return status;
}

static enum tb_status
add_items(struct hub_pull *p, struct fetch *f, size_t *n, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*n = 0;
	for (size_t i = 0; !status && i < p->n; i++) {
		struct hub_blob *b = &p->blobs[i];
		struct fetch_item item = { .what = b->file->path, .size = b->file->size,
					   .ref = (void *)b->file, .begun = b->begun };

		if (b->there != HUB_ABSENT && b->there != HUB_DAMAGED)
			continue;
		memcpy(item.digest, b->file->digest, sizeof(item.digest));
		b->item = (*n)++;
		status = fetch_add(f, &item, err);
	}
	return status;
}

/* Loads what the cache has not. */
static enum tb_status
bring(struct hub_pull *p, struct tb_job *job, struct hub_pull_result *out, struct tb_err *err)
{
	const struct fetch_source source = { get_stretch_of, p };
	char *note = tb_asprintf("pull hf:%s@%s", p->name.repo, p->name.revision);
	const struct fetch_opts opts = { .dir = p->dir, .streams = p->streams, .note = note };
	struct fetch *f = NULL, *old;
	enum tb_status status = note ? hub_make_repo(p, err) : tb_nomem(err);
	size_t n = 0;

	if (!status)
		status = fetch_new(&f, &source, &opts, err);
	if (!status)
		status = add_items(p, f, &n, err);
	pthread_mutex_lock(&p->mu);
	old = p->fetch;
	p->fetch = f;
	pthread_mutex_unlock(&p->mu);
	if (old)
		fetch_clear(old);	/* what came has its place, or did not find it */
	fetch_free(old);
	if (!status && n)
		status = fetch_run(f, job, err);
	if (f)
		out->moved += fetch_moved(f);
	free(note);
	return status;
}

/* While bytes come nobody is kept from the cache, so what was there may be gone then: it comes
 * as well. */
static enum tb_status
pull_rounds(struct hub_pull *p, struct tb_job *job, struct hub_pull_result *out, struct tb_err *err)
{
	enum tb_status status;
	bool again = false;

	for (unsigned round = 0; round < ROUNDS; round++) {
		status = hub_find(p, err);
		if (!status)
			status = hub_check(p, job, err);
		if (!status)
			status = bring(p, job, out, err);
		if (!status)
			status = hub_place(p, out, &again, err);
		if (status || !again)
			break;
	}
	if (!status && again)
		status = tb_fail(err, TB_EIO, "%s: others take away what is pulled; try again later",
				 p->repo);
	if (tb_written(status) && p->fetch)
		fetch_clear(p->fetch);
	return status;
}

enum tb_status
op_hub_pull(struct hub_pull *p, struct tb_job *job, struct hub_pull_result *out, struct tb_err *err)
{
	double start = tb_monotonic();
	enum tb_status status;

	*out = (struct hub_pull_result){ 0 };
	status = op_hub_pull_plan(p, job, &out->plan, err);
	if (!status)
		status = pull_rounds(p, job, out, err);
	out->seconds = tb_monotonic() - start;
	if (!tb_written(status)) {
		uint64_t moved = out->moved;

		hub_pull_result_free(out);
		out->moved = moved;
	}
	return status;
}

void
hub_pull_result_free(struct hub_pull_result *r)
{
	hub_pull_plan_free(&r->plan);
	*r = (struct hub_pull_result){ 0 };
}
