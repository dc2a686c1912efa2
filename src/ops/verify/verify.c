#include "config.h"

#include "src/ops/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/ops/verify/verify_run.h"

static enum tb_status
start_run(struct verify_run *r, struct tb_err *err)
{
	struct tb_buf scope = TB_BUF(65536);
	struct db_run run = { .started_ns = r->started_ns, .deep = r->req->deep,
			      .since_ns = r->req->since_ns, .program = PACKAGE_STRING };
	enum tb_status status;

	for (size_t i = 0; i < r->req->nrefs; i++)
		tb_buf_printf(&scope, "%s%s", i ? "\n" : "", r->req->refs[i]);
	run.scope = tb_buf_cstr(&scope);
	status = tb_buf_failed(&scope) ? tb_nomem(err) : db_begin(r->db, err);
	if (!status)
		status = db_run_start(r->db, &run, &r->out->run, err);
	status = db_end(r->db, status, err);
	run.id = r->out->run;
	if (!status)
		status = verify_resume_find(r, &run, err);
	if (!status && !r->out->unkept)	/* or those who watch would open another one */
		tb_job_post(r->job, VERIFY_MSG_RUN, &r->out->run, sizeof(r->out->run));
	tb_buf_free(&scope);
	return status;
}

static enum tb_status
end_run(struct verify_run *r, enum tb_status status, struct tb_err *err)
{
	const struct verify_result *out = r->out;
	struct db_run run = {
		.id = out->run, .ended_ns = tb_now_ns(), .models = out->models,
		.manifests = out->manifests, .blobs = out->blobs, .bytes = out->bytes,
		.recorded = out->recorded, .skipped = out->skipped, .compared = out->compared,
		.resumes = out->resumes, .resumed = out->resumed,
		.resumed_bytes = out->resumed_bytes,
		.errors = out->errors, .warnings = out->warnings, .notes = out->notes,
		.seconds = out->seconds, .message = status && err ? err->msg : "",
	};
	struct tb_err late;
	enum tb_status failed = verify_flush(r, &late);

	run.state = r->out->state = verify_run_state(out, status ? status : failed);
	if (!failed)
		failed = db_begin(r->db, &late);
	if (!failed)
		failed = db_run_end(r->db, &run, &late);
	if (!failed)
		failed = db_end(r->db, TB_OK, &late);
	if (status || !failed)
		return status;
	if (err)
		*err = late;
	return failed;
}

/* What cannot be kept can still be found out. */
static enum tb_status
open_audits(struct verify_run *r, struct tb_err *err)
{
	enum tb_status status = db_open_write(&r->db, r->ctx->db_path, err);

	if (!status) {
		snprintf(r->out->notice, sizeof(r->out->notice), "%s", db_notice(r->db));
		return TB_OK;
	}
	if (status == TB_ENOMEM || status == TB_EUSAGE || status == TB_ECANCEL)
		return status;
	snprintf(r->out->notice, sizeof(r->out->notice), "this run cannot be kept: %.450s",
		 err ? err->msg : "its file cannot be written");
	status = db_open_scratch(&r->db, r->ctx->db_path, err);
	r->out->unkept = r->db;
	return status;
}

enum tb_status
op_verify(struct op_ctx *ctx, const struct verify_request *req, struct tb_job *job,
	  struct verify_result *out, struct tb_err *err)
{
	struct verify_run r = { .ctx = ctx, .req = req, .job = job, .out = out };
	double from = tb_monotonic();
	enum tb_status status;

	*out = (struct verify_result){ .state = RUN_FAILED };
	status = open_audits(&r, err);
	if (status)
		return status;
	r.started_ns = tb_now_ns();
	r.flushed = from;
	pthread_mutex_init(&r.lock, NULL);
	status = start_run(&r, err);
	if (!status) {
		status = verify_collect(&r, err);
		if (!status)
			status = verify_read_models(&r, err);
		if (!status && !req->nrefs)
			status = verify_store(&r, err);
		if (!status)
			status = verify_files(&r, err);
		if (!status)
			status = verify_keep(&r, err);
		out->seconds = tb_monotonic() - from;
		status = end_run(&r, status, err);
	}
	tb_arena_free(&r.news.mem);
	verify_resume_free(&r.resume);
	verify_free_models(&r);
	pthread_mutex_destroy(&r.lock);
	if (!out->unkept)
		db_close(r.db);
	return status;
}
