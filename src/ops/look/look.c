/* look.c - a look from its beginning to its end. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/net/hub_name.h"

static enum tb_status
look_new(struct look **out, const struct look_request *req, struct tb_err *err)
{
	struct look *l = *out = tb_calloc(1, sizeof(*l));

	if (!l)
		return tb_nomem(err);
	l->held = -1;
	l->allowed = req->all ? UINT64_MAX : LOOK_FREE;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->idle, NULL);
	l->streams = tb_pool_new(req->streams ? req->streams : LOOK_STREAMS);
	return l->streams ? TB_OK : tb_nomem(err);
}

enum tb_status
look_open(struct look **out, struct op_ctx *ctx, const struct look_request *req,
	  struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = look_new(out, req, err);

	if (!status)
		status = mirror_make(*out, err);
	if (!status)
		status = hub_name_is(req->name) ? look_hub(*out, ctx, req, job, err)
						: look_registry(*out, ctx, req, job, err);
	if (!status)
		status = look_heads(*out, req->name, job, err);
	if (!status && !(*out)->loc.path)
		status = look_locate(*out, err);
	if (status) {
		look_close(*out);
		*out = NULL;
	}
	return status;
}

void
look_close(struct look *l)
{
	if (!l)
		return;
	tb_pool_free(l->streams);
	mirror_remove(l);
	for (size_t i = 0; i < l->nhttp; i++)
		http_free(l->http[i]);
	free(l->http);
	if (l->source.free)
		l->source.free(l->source.arg);
	model_loc_free(&l->loc);
	pthread_cond_destroy(&l->idle);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

const struct model_loc *
look_loc(const struct look *l)
{
	return &l->loc;
}

const char *
look_host(const struct look *l)
{
	return l->source.host(l->source.arg);
}

enum tb_status
look_model(struct look *l, struct model **out, struct tb_err *err)
{
	enum tb_status status = model_open(out, &l->loc, err);

	if (!status)
		status = look_failed(l, err);
	for (size_t i = 0; !status && i < (*out)->nfiles; i++) {
		struct model_file *file = &(*out)->files[i];
		const struct look_file *f = mirror_find(l, file->path);

		file->from = f ? l->source.place(l->source.arg, f) : NULL;
		if (f && !file->from)
			status = tb_nomem(err);
	}
	if (status) {
		model_free(*out);
		*out = NULL;
	}
	return status;
}

uint64_t
look_moved(struct look *l)
{
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = l->moved;
	pthread_mutex_unlock(&l->lock);
	return n;
}

void
look_allow(struct look *l)
{
	pthread_mutex_lock(&l->lock);
	l->allowed = UINT64_MAX;
	pthread_mutex_unlock(&l->lock);
}

void
look_job(struct look *l, struct tb_job *job)
{
	pthread_mutex_lock(&l->lock);
	l->job = job;
	pthread_mutex_unlock(&l->lock);
}

enum tb_status
look_failed(struct look *l, struct tb_err *err)
{
	struct tb_err why;

	pthread_mutex_lock(&l->lock);
	why = l->failed;
	pthread_mutex_unlock(&l->lock);
	return why.code ? tb_pass(err, &why) : TB_OK;
}
