/* convert.c - runs a plan: rounds of blobs.  While the pool encodes one round, it also
 * reads the round before again, to check and hash it. */
#include "config.h"

#include "src/ops/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/dest.h"
#include "src/ops/output/output.h"

#define ROUND_BLOBS 64			/* open files, twice */
#define ROUND_BYTES (512u << 20)	/* of source: enough to share out evenly */

struct work { struct blob *blob; struct blob_task *task; };

struct round {
	struct blob blobs[ROUND_BLOBS];
	size_t n;
	struct work *work;		/* owned */
	size_t nwork;
};

struct conversion {
	const struct plan *plan;
	struct tb_pool *pool;
	struct tb_job *job;
	struct dest dest;
	struct values_files *files;	/* of the source */
	struct window *windows;		/* one a worker */
	struct round now, before;
	size_t next;			/* the first blob of the next round */
};

static void
close_round(struct round *r)
{
	for (size_t i = 0; i < r->n; i++)
		blob_free(&r->blobs[i]);
	free(r->work);
	memset(r, 0, sizeof(*r));
}

/* As many blobs as make a round, with their headers written. */
static enum tb_status
open_round(struct conversion *c, struct tb_err *err)
{
	struct round *r = &c->now;
	uint64_t bytes = 0;
	size_t k = 0;

	while (c->next < c->plan->nblobs && r->n < ROUND_BLOBS && bytes < ROUND_BYTES) {
		enum tb_status status = blob_open(&r->blobs[r->n], c->plan, c->files, c->next,
						  c->dest.dir, err);

		if (status)
			return status;
		bytes += c->plan->blobs[c->next++].bytes;
		r->nwork += r->blobs[r->n++].ntasks;
	}
	r->work = tb_calloc(r->nwork, sizeof(*r->work));
	if (!r->work)
		return tb_nomem(err);
	/* Threads that write to one file wait for each other: take the files in turn. */
	for (size_t j = 0; k < r->nwork; j++)
		for (size_t i = 0; i < r->n; i++)
			if (j < r->blobs[i].ntasks)
				r->work[k++] = (struct work){ &r->blobs[i], &r->blobs[i].tasks[j] };
	return TB_OK;
}

/* Part i: a blob of the round before, or a task of this one. */
static enum tb_status
run_part(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct conversion *c = arg;
	struct window *window = &c->windows[worker];
	const struct work *w;
	enum tb_status status;

	if (i < c->before.n)
		return blob_verify(&c->before.blobs[i], c->dest.ops->hash, window->src,
				   4 * WINDOW_ELEMS, c->job, err);
	w = &c->now.work[i - c->before.n];
	if (w->task->first == 0)
		tb_job_what(c->job, "%s", c->plan->rows[w->task->row].src->name);
	status = blob_run(w->blob, w->task, window, err);
	if (!status)
		tb_job_step(c->job, blob_task_bytes(w->blob, w->task), w->task->last);
	return status;
}

static enum tb_status
run_round(struct conversion *c, struct tb_err *err)
{
	enum tb_status status = tb_job_check(c->job, err);

	if (!status)
		status = open_round(c, err);
	if (status)
		return status;
	status = tb_pool_try(c->pool, c->before.n + c->now.nwork, run_part, c, c->job, err);
	for (size_t i = 0; i < c->before.n && !status; i++)
		status = c->dest.ops->blob(&c->dest, &c->before.blobs[i], err);
	close_round(&c->before);
	free(c->now.work);		/* points at blobs, which move */
	c->now.work = NULL;
	c->before = c->now;
	memset(&c->now, 0, sizeof(c->now));
	return status;
}

static enum tb_status
run_rounds(struct conversion *c, struct tb_err *err)
{
	enum tb_status status = c->dest.ops->begin(&c->dest, err);

	tb_job_total(c->job, c->plan->total.before, c->plan->parts->nouts);
	if (!status)
		status = space_check(c->dest.dir, c->plan->total.after, err);
	if (!status)
		status = values_files_open(&c->files, c->plan->model, err);
	if (!status)
		status = windows_new(&c->windows, tb_pool_size(c->pool), err);
	while (!status && (c->next < c->plan->nblobs || c->before.n))
		status = run_round(c, err);
	if (!status)
		status = tb_job_check(c->job, err);
	if (status)
		return status;
	status = c->dest.ops->commit(&c->dest, err);
	if (status == TB_EEXIST)	/* it was not when we began */
		return tb_fail(err, status, "%s: exists already (made meanwhile); name another "
			       "destination, or replace it",
			       c->dest.target->name ? c->dest.target->name : c->dest.target->path);
	return status;
}

/* Refuses what is known to fail before anything is written. */
static enum tb_status
check_target(const struct conversion *c, struct tb_err *err)
{
	const struct convert_target *t = c->dest.target;

	if (c->plan->dest != t->dest)
		return tb_fail(err, TB_EUSAGE, "the plan was made for another kind of destination");
	if (t->exists && !c->dest.replace)
		return tb_fail(err, TB_EEXIST, "%s: exists already", t->name ? t->name : t->path);
	return TB_OK;
}

enum tb_status
op_convert(const struct op_ctx *ctx, const struct convert_request *req, struct tb_job *job,
	   struct convert_result *out, struct tb_err *err)
{
	static const struct dest_ops *const kinds[] = {
		[PLAN_TO_STORE] = &dest_store, [PLAN_TO_DIR] = &dest_dir, [PLAN_TO_FILE] = &dest_file };
	const struct convert_target *target = req->target;
	struct conversion *c = tb_calloc(1, sizeof(*c));
	double begin = tb_monotonic();
	enum tb_status status;

	*out = (struct convert_result){ 0 };
	if (!c)
		return tb_nomem(err);
	*c = (struct conversion){ .plan = req->plan, .pool = ctx->pool, .job = job,
		.dest = { .lock = -1, .plan = req->plan, .target = target, .replace = req->replace,
			  .ops = kinds[target->dest], .out = { .fd = -1 }, .amend = req->amend } };
	/* The name now: behind the commit nothing else may fail. */
	out->where = tb_strdup(target->name ? target->name : target->path);
	status = out->where ? check_target(c, err) : tb_nomem(err);
	if (!status)
		status = run_rounds(c, err);
	if (!status || status == TB_ESYNC) {
		out->bytes_read = c->plan->total.before;
		out->bytes_written = c->dest.bytes;
		out->tensors = c->plan->total.tensors;
		out->changed = c->plan->total.changed;
		out->blobs = c->dest.files;
		out->seconds = tb_monotonic() - begin;
		out->kept = c->dest.kept;
		c->dest.kept = (struct kept){ 0 };
	} else {
		convert_result_free(out);
	}
	close_round(&c->now);
	close_round(&c->before);
	windows_free(c->windows, tb_pool_size(c->pool));
	values_files_close(c->files);
	c->dest.ops->end(&c->dest);
	kept_free(&c->dest.kept);
	free(c->dest.dir);
	free(c);
	return status;
}

void
convert_result_free(struct convert_result *r)
{
	free(r->where);
	kept_free(&r->kept);
	*r = (struct convert_result){ 0 };
}
