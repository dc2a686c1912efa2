#include "config.h"

#include "src/ops/pull/pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/pull/pull_parts.h"
#include "src/store/store.h"

#define ROUNDS 4			/* that others may take away what is there meanwhile */

const char *
pull_name_word(enum pull_name n)
{
#define X(id, word) [id] = word,
	static const char *const words[] = { PULL_NAME_LIST(X) };
#undef X

	return words[n];
}

/* ---- before ---- */

static enum tb_status
name_it(struct pull *p, const struct pull_request *req, struct tb_err *err)
{
	enum tb_status status = image_name_parse(&p->image, req->name, err);

	if (status)
		return status;
	if (!(p->from = image_name_text(&p->image)))
		return tb_nomem(err);
	return req->as ? name_parse(req->as, &p->local, err)
		       : image_name_local(&p->image, &p->local, err);
}

static enum tb_status
place_it(struct pull *p, const struct pull_request *req, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (!req->store)
		status = store_destination(&p->ctx->roots, &p->root, err);
	else if (!(p->root = tb_strdup(req->store)))
		status = tb_nomem(err);
	if (!status && !(p->dir = tb_path_join(p->root, FETCH_DIR)))
		status = tb_nomem(err);
	return status;
}

enum tb_status
pull_new(struct pull **out, struct op_ctx *ctx, const struct pull_request *req, struct tb_err *err)
{
	struct config_registry said;
	struct registry_opts opts;
	struct pull *p = tb_calloc(1, sizeof(*p));
	enum tb_status status;

	*out = NULL;
	if (!p)
		return tb_nomem(err);
	p->ctx = ctx;
	p->replace = req->replace;
	p->renamed = req->as != NULL;
	p->streams = req->streams;
	pthread_mutex_init(&p->mu, NULL);
	status = name_it(p, req, err);
	if (!status)
		status = place_it(p, req, err);
	if (!status) {
		config_registry_opts(&ctx->config, &p->image, req->insecure, req->skip_verify, &said,
				     &opts);
		status = registry_new(&p->registry, &p->image, &opts, err);
	}
	if (status)
		pull_free(p);
	else
		*out = p;
	return status;
}

void
pull_free(struct pull *p)
{
	if (!p)
		return;
	fetch_free(p->fetch);
	registry_free(p->registry);
	registry_manifest_free(&p->text);
	manifest_free(&p->manifest);
	image_name_free(&p->image);
	pthread_mutex_destroy(&p->mu);
	free(p->blobs);
	free(p->taken_path);
	free(p->from);
	free(p->root);
	free(p->dir);
	free(p);
}

size_t
pull_look(struct pull *p, struct fetch_row *rows, size_t max)
{
	size_t n;

	pthread_mutex_lock(&p->mu);
	n = p->fetch ? fetch_look(p->fetch, rows, max) : 0;
	pthread_mutex_unlock(&p->mu);
	return n;
}

/* The manifest, once. */
static enum tb_status
ask_once(struct pull *p, struct tb_job *job, struct tb_err *err)
{
	struct http *h = NULL;
	enum tb_status status;

	if (p->blobs)
		return TB_OK;
	status = http_new(&h, err);
	if (!status)
		status = pull_ask(p, h, job, err);
	http_free(h);
	return status;
}

/* ---- what would be ---- */

/* What lies there of a blob: about so much, since nothing of it has been looked at. */
static uint64_t
begun(const struct pull *p, const struct manifest_layer *l)
{
	struct tb_path hex, done;
	char name[TB_DIGEST_MAX + 8];
	struct stat st;
	uint64_t n = 0;

	snprintf(name, sizeof(name), "%s.done", l->digest + strlen("sha256:"));
	tb_path_in(&done, p->dir, name);
	tb_path_in(&hex, p->dir, l->digest + strlen("sha256:"));
	if (!stat(done.s, &st) || !stat(hex.s, &st))
		n = (uint64_t)st.st_blocks * 512;
	return n < l->size ? n : l->size;
}

static void
count_plan(const struct pull *p, struct pull_plan *plan)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct pull_blob *b = &p->blobs[i];

		plan->bytes += b->layer->size;
		if (b->there == PULL_UNSURE)
			plan->unsure += b->layer->size;
		if (b->there != PULL_ABSENT && b->there != PULL_DAMAGED)
			continue;
		plan->come += b->layer->size;
		plan->begun += begun(p, b->layer);
		plan->come_blobs++;
	}
	plan->blobs = p->n;
	plan->taken = p->taken;
	plan->room = space_free(p->root);
	memcpy(plan->digest, p->text.digest, sizeof(plan->digest));
}

enum tb_status
op_pull_plan(struct pull *p, struct tb_job *job, struct pull_plan *out, struct tb_err *err)
{
	enum tb_status status = ask_once(p, job, err);
	char shown[640];

	*out = (struct pull_plan){ 0 };
	if (!status)
		status = pull_find(p, err);
	if (status)
		return status;
	count_plan(p, out);
	out->from = tb_strdup(p->from);
	out->root = tb_strdup(p->root);
	out->name = tb_strdup(name_format(&p->local, shown));
	if (out->from && out->root && out->name)
		return TB_OK;
	pull_plan_free(out);
	return tb_nomem(err);
}

void
pull_plan_free(struct pull_plan *plan)
{
	free(plan->from);
	free(plan->name);
	free(plan->root);
	*plan = (struct pull_plan){ 0 };
}

/* ---- what comes ---- */

static enum tb_status
pull_get(void *arg, struct http *h, const struct fetch_item *it, uint64_t off, uint64_t len,
	 struct fetch_sink *sink, struct tb_job *job, struct tb_err *err)
{
	struct registry *r = arg;
	struct pull_blob *b = it->ref;
	struct registry_range want = { it->digest, it->size, off, len };
	struct http_fate fate;
	enum tb_status status;

	if (!off && atomic_fetch_add(&b->begun, 1))	/* once more: why, is not said */
		registry_leave_mirrors(r);
	status = registry_blob(r, h, &want, fetch_put, sink, job, &fate, err);
	if (fate.whole) {			/* nothing came yet */
		fetch_whole(sink);
		want.off = 0;
		want.len = it->size;
		status = registry_blob(r, h, &want, fetch_put, sink, job, &fate, err);
	}
	if (status)
		fetch_retry(sink, fate.again, fate.retry_after);
	return status;
}

static enum tb_status
add_items(struct pull *p, struct fetch *f, size_t *n, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char what[200];

	*n = 0;
	for (size_t i = 0; !status && i < p->n; i++) {
		struct pull_blob *b = &p->blobs[i];
		const struct manifest_layer *l = b->layer;
		struct fetch_item item = { .what = what, .size = l->size, .ref = b };

		if (b->there != PULL_ABSENT && b->there != PULL_DAMAGED)
			continue;
		memcpy(item.digest, l->digest, sizeof(item.digest));
		snprintf(what, sizeof(what), "%s%s%.150s",
			 l == &p->manifest.config ? "config"
						  : media_name(media_parse(l->media_type)),
			 l->name ? " " : "", l->name ? l->name : "");
		b->item = (*n)++;
		status = fetch_add(f, &item, err);
	}
	return status;
}

/* Loads what the store has not. */
static enum tb_status
bring(struct pull *p, struct tb_job *job, struct pull_result *out, struct tb_err *err)
{
	const struct fetch_source source = { pull_get, p->registry };
	char shown[640], *note = tb_asprintf("pull %s%s%s", p->from, p->renamed ? " " : "",
					     p->renamed ? name_format(&p->local, shown) : "");
	char *blobs = tb_path_join(p->root, "blobs");
	const struct fetch_opts opts = { .dir = p->dir, .streams = p->streams, .note = note,
					 .blobs = blobs };
	struct fetch *f = NULL, *old;
	enum tb_status status = note && blobs ? fetch_new(&f, &source, &opts, err) : tb_nomem(err);
	size_t n = 0;

	if (!status)
		status = add_items(p, f, &n, err);
	pthread_mutex_lock(&p->mu);
	old = p->fetch;
	p->fetch = f;
	pthread_mutex_unlock(&p->mu);
	fetch_free(old);
	if (!status)
		status = fetch_run(f, job, err);
	if (f)
		out->moved += fetch_moved(f);
	free(note);
	free(blobs);
	return status;
}

static void
count_result(const struct pull *p, struct pull_result *out)
{
	out->blobs = p->n;
	out->bytes = out->come = out->come_blobs = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct pull_blob *b = &p->blobs[i];

		out->bytes += b->layer->size;
		if (b->there != PULL_ABSENT && b->there != PULL_DAMAGED)
			continue;
		out->come += b->layer->size;
		out->come_blobs++;
	}
	out->current = p->taken == PULL_SAME && !out->come_blobs;
	memcpy(out->digest, p->text.digest, sizeof(out->digest));
}

static enum tb_status
check_name(const struct pull *p, struct tb_err *err)
{
	char shown[640];

	if (p->taken != PULL_OTHER || p->replace)
		return TB_OK;
	return tb_fail(err, TB_EEXIST, "%.200s: the store has another model of that name; --replace"
		       " takes this one and keeps that, or say another name behind it",
		       name_format(&p->local, shown));
}

/* While bytes come nobody is kept from the store, so what was there may be gone then: it
 * comes as well. */
static enum tb_status
pull_rounds(struct pull *p, struct tb_job *job, struct pull_result *out, struct tb_err *err)
{
	enum tb_status status;
	bool again = false;

	for (unsigned round = 0;; round++) {
		status = pull_find(p, err);
		if (!status)
			status = check_name(p, err);
		if (!status)
			status = pull_hash(p, job, err);
		if (!status)
			status = bring(p, job, out, err);
		if (status)
			return status;
		count_result(p, out);
		status = pull_place(p, out, &again, err);
		if (!again || round + 1 == ROUNDS)
			return status;
	}
}

enum tb_status
op_pull(struct pull *p, struct tb_job *job, struct pull_result *out, struct tb_err *err)
{
	double start = tb_monotonic();
	enum tb_status status;
	char shown[640];

	*out = (struct pull_result){ .from = tb_strdup(p->from), .root = tb_strdup(p->root),
				     .name = tb_strdup(name_format(&p->local, shown)) };
	status = out->from && out->root && out->name ? ask_once(p, job, err) : tb_nomem(err);
	if (!status)
		status = pull_rounds(p, job, out, err);
	out->seconds = tb_monotonic() - start;
	if (!tb_written(status)) {
		uint64_t moved = out->moved;

		pull_result_free(out);
		out->moved = moved;
	}
	return status;
}

void
pull_result_free(struct pull_result *r)
{
	free(r->from);
	free(r->name);
	free(r->root);
	kept_free(&r->kept);
	*r = (struct pull_result){ 0 };
}
