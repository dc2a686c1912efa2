/* convert.c - runs a plan: rounds of blobs.  While the pool encodes one round, it also
 * reads the round before again, to check and hash it. */
#include "config.h"

#include "src/ops/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/deliver.h"
#include "src/ops/convert/dest.h"
#include "src/ops/output/output.h"

#define ROUND_BLOBS 64			/* open files, twice */
#define ROUND_BYTES (512u << 20)	/* of source: enough to share out evenly */

/* Of a blob a task to be run, or a piece to be verified. */
struct step { struct blob *blob; struct blob_task *task; };
struct check { struct blob *blob; size_t piece; };

struct round {
	struct blob blobs[ROUND_BLOBS];
	size_t n;
	struct step *steps;		/* owned */
	size_t nsteps;
	struct check *checks;		/* owned; when all steps are done */
	size_t nchecks;
};

struct conversion {
	const struct plan *plan;
	struct tb_pool *pool;
	struct tb_job *job;
	struct dest dest;
	struct values_files *files;	/* of the source */
	struct deliver deliver;
	struct round now, before;
	size_t *todo, ntodo;		/* files to be written; owned */
	size_t next;			/* of them the first of the next round */
};

static void
close_round(struct round *r)
{
	for (size_t i = 0; i < r->n; i++)
		blob_free(&r->blobs[i]);
	free(r->steps);
	free(r->checks);
	memset(r, 0, sizeof(*r));
}

/* Of the source: what becomes file i. */
static uint64_t
row_bytes(const struct plan *p, size_t i)
{
	uint64_t bytes = 0;
	size_t n;
	const struct plan_out *outs = blob_outs(p, i, &n);

	for (size_t k = 0; k < n; k++)
		for (size_t j = 0; j < outs[k].npieces; j++) {
			const struct plan_piece *piece = &p->parts->pieces[outs[k].piece + j];
			const struct plan_row *r = &p->rows[piece->row];

			bytes += r->src->elems ? (uint64_t)((double)r->before * (double)piece->elems /
							    (double)r->src->elems) : 0;
		}
	return bytes;
}

/* As many blobs as make a round, with their headers written. */
static enum tb_status
open_round(struct conversion *c, struct tb_err *err)
{
	struct round *r = &c->now;
	uint64_t bytes = 0;
	size_t k = 0;

	while (c->next < c->ntodo && r->n < ROUND_BLOBS && bytes < ROUND_BYTES) {
		size_t i = c->todo[c->next];
		enum tb_status status = blob_open(&r->blobs[r->n], c->plan, c->files, i,
						  c->dest.dir, c->dest.gguf, err);

		if (status)
			return status;
		bytes += c->plan->blobs[i].bytes;
		c->next++;
		r->nsteps += r->blobs[r->n++].ntasks;
	}
	r->steps = tb_calloc(r->nsteps, sizeof(*r->steps));
	if (!r->steps)
		return tb_nomem(err);
	/* Threads that write to one file wait for each other: take the files in turn. */
	for (size_t j = 0; k < r->nsteps; j++)
		for (size_t i = 0; i < r->n; i++)
			if (j < r->blobs[i].ntasks)
				r->steps[k++] = (struct step){ &r->blobs[i], &r->blobs[i].tasks[j] };
	return TB_OK;
}

/* A piece of a file; with the last one it is finished. */
static enum tb_status
run_check(struct conversion *c, const struct check *k, struct tb_err *err)
{
	bool last;
	struct window *window = deliver_window(&c->deliver);
	enum tb_status status = blob_verify(k->blob, k->piece, c->dest.ops->hash, window->src,
					    4 * WINDOW_ELEMS, c->job, &last, err);

	deliver_put(&c->deliver, window);
	return status || !last ? status : c->dest.ops->blob(&c->dest, k->blob, err);
}

/* Part i: a piece of the round before, or a task of this one. */
static enum tb_status
run_part(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct conversion *c = arg;
	const struct step *w;
	enum tb_status status;

	(void)worker;
	if (i < c->before.nchecks)
		return run_check(c, &c->before.checks[i], err);
	w = &c->now.steps[i - c->before.nchecks];
	if (w->task->first == 0)
		tb_job_what(c->job, "%s", c->plan->rows[w->task->row].src->name);
	status = deliver_task(&c->deliver, w->blob, w->task, err);
	if (!status)
		tb_job_step(c->job, blob_task_bytes(w->blob, w->task), w->task->last);
	return status;
}

/* What was written becomes the round before; its blobs move. */
static enum tb_status
end_round(struct conversion *c, struct tb_err *err)
{
	struct round *r = &c->before;
	enum tb_status status = TB_OK;
	size_t k = 0;

	free(c->now.steps);
	c->now.steps = NULL;
	*r = c->now;
	memset(&c->now, 0, sizeof(c->now));
	for (size_t i = 0; i < r->n && !status; i++) {
		status = blob_seal(&r->blobs[i], c->dest.ops->hash, err);
		r->nchecks += r->blobs[i].npieces;
	}
	if (status)
		return status;
	r->checks = tb_calloc(r->nchecks, sizeof(*r->checks));
	if (!r->checks)
		return tb_nomem(err);
	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < r->blobs[i].npieces; j++)
			r->checks[k++] = (struct check){ &r->blobs[i], j };
	return TB_OK;
}

static enum tb_status
run_round(struct conversion *c, struct tb_err *err)
{
	enum tb_status status = tb_job_check(c->job, err);

	if (!status)
		status = open_round(c, err);
	if (status)
		return status;
	status = tb_pool_try(c->pool, c->before.nchecks + c->now.nsteps, run_part, c, c->job, err);
	close_round(&c->before);
	return status ? status : end_round(c, err);
}

/* The folder that holds the working one is what somebody knows the name of. */
static enum tb_status
ask_space(const struct conversion *c, const struct space_need *need, struct tb_err *err)
{
	const char *work = c->dest.work.dir;
	char *known = work && !strcmp(c->dest.dir, work) ? tb_path_parent(work)
							 : tb_strdup(c->dest.dir);
	enum tb_status status = known ? space_ready(known, need, err) : tb_nomem(err);

	free(known);
	return status;
}

/* What is neither there nor another's part, and the room that it needs. */
static enum tb_status
find_todo(struct conversion *c, struct tb_err *err)
{
	const struct work *w = &c->dest.work;
	struct space_need need = { .files = 64 };	/* folders, small files */

	c->todo = tb_calloc(c->plan->nblobs, sizeof(*c->todo));
	if (!c->todo)
		return tb_nomem(err);
	for (size_t i = 0; i < c->plan->nblobs; i++) {
		const struct work_file *f = &w->files[i];

		if (f->there || f->reused) {
			tb_job_step(c->job, row_bytes(c->plan, i), c->plan->blobs[i].tensors);
			continue;
		}
		if (!f->ours)
			continue;
		c->todo[c->ntodo++] = i;
		need.bytes += f->size;
		need.files++;
		if (f->size > need.largest)
			need.largest = f->size;
	}
	return ask_space(c, &need, err);
}

static enum tb_status
check_assembled(const struct conversion *c, struct tb_err *err)
{
	struct work_sum there, missing;
	char bytes[16];

	work_sums(&c->dest.work, &there, &missing);
	if (c->dest.how != CONVERT_ASSEMBLE || !missing.files)
		return TB_OK;
	return tb_fail(err, TB_ENOENT, "%zu of %zu files (%s) are not there yet, the first of them "
		       "%.200s: write them with --part, or without --assemble to write them here",
		       missing.files, c->plan->nblobs, tb_human_bytes(missing.bytes, bytes),
		       c->plan->blobs[c->todo[0]].name);
}

/* Everything that can be known before the first byte. */
static enum tb_status
make_ready(struct conversion *c, const struct convert_request *req, struct tb_err *err)
{
	struct dest *d = &c->dest;
	enum tb_status status = sources_ready(c->plan, err);

	if (!status)
		status = work_init(&d->work, c->plan, d->ops->hash, err);
	if (!status && req->how == CONVERT_PART)
		status = work_share(&d->work, req->part, req->parts, err);
	if (!status)
		status = d->ops->begin(d, err);
	tb_job_total(c->job, c->plan->total.before, c->plan->parts->nouts);
	if (!status)
		status = find_todo(c, err);
	return status ? status : check_assembled(c, err);
}

static enum tb_status
run_rounds(struct conversion *c, struct tb_err *err)
{
	enum tb_status status = values_files_open(&c->files, c->plan->model, err);

	if (!status)
		status = deliver_init(&c->deliver, tb_pool_size(c->pool), err);
	while (!status && (c->next < c->ntodo || c->before.n))
		status = run_round(c, err);
	if (!status)
		status = tb_job_check(c->job, err);
	if (status || c->dest.how == CONVERT_PART)
		return status;
	status = c->dest.ops->commit(&c->dest, err);
	if (status == TB_EEXIST)	/* it was not when we began */
		return tb_fail(err, status, "%s: exists already (made meanwhile); name another "
			       "destination, or replace it",
			       c->dest.target->name ? c->dest.target->name : c->dest.target->path);
	return status;
}

/* Refuses what is known to fail before anything is looked at. */
static enum tb_status
check_target(const struct conversion *c, const struct convert_request *req, struct tb_err *err)
{
	const struct convert_target *t = c->dest.target;

	if (c->plan->dest != t->dest)
		return tb_fail(err, TB_EUSAGE, "the plan was made for another kind of destination");
	if (t->exists && !c->dest.replace)
		return tb_fail(err, TB_EEXIST, "%s: exists already", t->name ? t->name : t->path);
	if (req->how != CONVERT_WHOLE && c->dest.ops->single)
		return tb_fail(err, TB_EUSAGE, "%s: one file is written in one go; parts need a store "
			       "or a directory", t->path);
	return convert_target_check(t, c->plan->model, err);
}

/* What was stopped and stays there. */
static enum tb_status
say_stopped(const struct conversion *c, enum tb_status status, struct tb_err *err)
{
	const struct work *w = &c->dest.work;
	struct work_sum there, missing;
	char bytes[16], *discard;

	if (status != TB_ECANCEL || !w->dir || w->passing)
		return status;
	work_sums(w, &there, &missing);
	discard = there.files ? kept_remove(w->dir) : NULL;
	if (discard)
		tb_fail(err, status, "cancelled; %zu of %zu files (%s) are finished, and the same "
			"command goes on with them; to be rid of them: %s", there.files,
			c->plan->nblobs, tb_human_bytes(there.bytes, bytes), discard);
	free(discard);
	return status;
}

static void
fill_result(const struct conversion *c, struct convert_result *out)
{
	const struct dest *d = &c->dest;
	const struct work *w = &d->work;

	out->bytes_made = out->bytes_written = d->small;
	out->blobs = d->nsmall;
	for (size_t i = 0; i < c->plan->nblobs; i++) {
		const struct work_file *f = &w->files[i];

		if (f->there || f->reused) {
			out->resumed += !f->made && !f->reused;
			out->reused += f->reused;
			out->blobs++;
			out->bytes_made += f->size;
			out->bytes_written += f->made ? f->size : 0;
			out->bytes_read += f->made ? row_bytes(c->plan, i) : 0;
			continue;
		}
		out->missing++;
		out->missing_bytes += f->size;
	}
	out->tensors = c->plan->total.tensors;
	out->changed = c->plan->total.changed;
}

static void
conversion_free(struct conversion *c, enum tb_status status)
{
	close_round(&c->now);
	close_round(&c->before);
	deliver_free(&c->deliver);
	values_files_close(c->files);
	c->dest.ops->end(&c->dest, status);
	work_free(&c->dest.work);
	gguf_head_free(c->dest.gguf);
	kept_free(&c->dest.kept);
	free(c->dest.dir);
	free(c->todo);
	free(c);
}

enum tb_status
op_convert(const struct op_ctx *ctx, const struct convert_request *req, struct tb_job *job,
	   struct convert_result *out, struct tb_err *err)
{
	static const struct dest_ops *const kinds[] = {
		[PLAN_TO_STORE] = &dest_store, [PLAN_TO_DIR] = &dest_dir, [PLAN_TO_FILE] = &dest_file,
		[PLAN_TO_GGUF] = &dest_gguf };
	const struct convert_target *target = req->target;
	struct conversion *c = tb_calloc(1, sizeof(*c));
	double begin = tb_monotonic();
	enum tb_status status;

	*out = (struct convert_result){ 0 };
	if (!c)
		return tb_nomem(err);
	*c = (struct conversion){ .plan = req->plan, .pool = ctx->pool, .job = job,
		.dest = { .plan = req->plan, .target = target,
			  /* a part replaces nothing */
			  .replace = req->replace || req->how == CONVERT_PART,
			  .how = req->how, .pool = ctx->pool, .job = job, .work = { .lock = -1 },
			  .ops = kinds[target->dest], .out = { .fd = -1 }, .amend = req->amend,
			  .pre = req->pre } };
	/* The name now: behind the commit nothing else may fail. */
	out->where = tb_strdup(target->name ? target->name : target->path);
	status = out->where ? check_target(c, req, err) : tb_nomem(err);
	if (!status)
		status = make_ready(c, req, err);
	if (!status)
		status = run_rounds(c, err);
	if (tb_written(status)) {
		fill_result(c, out);
		out->seconds = tb_monotonic() - begin;
		out->kept = c->dest.kept;
		c->dest.kept = (struct kept){ 0 };
	} else {
		convert_result_free(out);
		status = say_stopped(c, status, err);
	}
	conversion_free(c, status);
	return status;
}

void
convert_result_free(struct convert_result *r)
{
	free(r->where);
	kept_free(&r->kept);
	*r = (struct convert_result){ 0 };
}
