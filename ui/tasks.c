#include "config.h"

#include "ui/tasks.h"

#include <stdlib.h>

#include "src/base/arena.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/face/words.h"
#include "src/ops/scan/scan.h"
#include "src/ops/verify/verify.h"
#include "ui/view.h"

struct scan_task {
	struct op_ctx *ctx;
	struct scan_request req;
	struct scan_result result;
};

static enum tb_status
scan_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct scan_task *t = arg;

	return op_scan(t->ctx, &t->req, job, &t->result, err);
}

static void
scan_say(void *arg, struct tb_buf *out)
{
	const struct scan_task *t = arg;
	const struct scan_result *r = &t->result;
	char text[WORD_MAX];

	tb_buf_str(out, word_count(r->models, "model", text));
	if (r->added + r->changed + r->removed == 0)
		tb_buf_str(out, ", nothing new");
	else
		tb_buf_printf(out, ", %ju added, %ju changed, %ju removed", (uintmax_t)r->added,
			      (uintmax_t)r->changed, (uintmax_t)r->removed);
	if (r->problems)
		tb_buf_printf(out, ", %ju with problems", (uintmax_t)r->problems);
	if (r->unseen)
		tb_buf_printf(out, ", %ju not seen", (uintmax_t)r->unseen);
	if (r->unread)
		tb_buf_printf(out, "; %s could not be read", word_count(r->unread, "place", text));
	if (*r->notice)
		tb_buf_printf(out, ". %s", r->notice);
}

static void
scan_free(void *arg)
{
	struct scan_task *t = arg;

	scan_result_free(&t->result);
	free(t);
}

static const struct job_ops scan_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = scan_run, .result = scan_say, .free = scan_free,
};

void
task_scan(struct view *v)
{
	struct scan_task *t = view_alloc(v, sizeof(*t));

	if (!t)
		return;
	t->ctx = view_ctx(v);
	(void)view_job(v, &scan_job, t, "scan");
}

struct verify_task {
	struct op_ctx *ctx;
	struct verify_request req;
	struct tb_arena mem;		/* has req.refs */
	struct verify_result result;
	struct tb_err late;		/* what after_verify() had to tell */
};

static enum tb_status
verify_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct verify_task *t = arg;

	enum tb_status status = op_verify(t->ctx, &t->req, job, &t->result, err);

	if (!status)
		after_verify(t->ctx, t->result.run, &t->late);
	return status;
}

static void
verify_say(void *arg, struct tb_buf *out)
{
	const struct verify_task *t = arg;
	const struct verify_result *r = &t->result;
	char text[WORD_MAX], bytes[16];

	if (r->state == RUN_EMPTY) {
		tb_buf_str(out, r->models ? "none of their bytes could be read"
			   : "there was nothing to check");
		return;
	}
	if (r->errors)
		tb_buf_printf(out, "%s %s", theme_sign(SIGN_BAD),
			      word_count(r->errors, "error", text));
	else
		tb_buf_printf(out, "%s %s", theme_sign(r->state == RUN_CLEAN ? SIGN_OK : SIGN_PART),
			      run_state_word(r->state));
	tb_buf_printf(out, ", %s", word_count(r->blobs, "file", text));
	tb_buf_printf(out, ", %s", tb_human_bytes(r->bytes, bytes));
	if (r->state == RUN_RECORDED && !r->compared)
		tb_buf_str(out, "; the next verify compares");
	else if (r->recorded)
		tb_buf_printf(out, "; %s recorded for the next verify",
			      word_count(r->recorded, "file", text));
	if (r->warnings)
		tb_buf_printf(out, ", %s", word_count(r->warnings, "warning", text));
	if (r->resumes)
		tb_buf_printf(out, "; goes on with run %jd: %s, %s found good then",
			      (intmax_t)r->resumes, word_count(r->resumed, "file", text),
			      tb_human_bytes(r->resumed_bytes, bytes));
	if (*r->notice)
		tb_buf_printf(out, ". %s", r->notice);
	if (t->late.code)
		tb_buf_printf(out, ". %s", t->late.msg);
}

static void
verify_free(void *arg)
{
	struct verify_task *t = arg;

	tb_arena_free(&t->mem);
	db_close(t->result.unkept);
	free(t);
}

static const struct job_ops verify_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = verify_run, .result = verify_say, .free = verify_free,
};

void
task_verify(struct view *v, const char *const *refs, size_t nrefs, bool deep, const char *title)
{
	struct verify_task *t = view_alloc(v, sizeof(*t));
	const char **copy = t ? tb_arena_get(&t->mem, (nrefs + 1) * sizeof(*copy)) : NULL;
	bool ok = copy != NULL;

	for (size_t i = 0; ok && i < nrefs; i++)
		ok = (copy[i] = tb_arena_str(&t->mem, refs[i])) != NULL;
	if (ok) {
		t->ctx = view_ctx(v);
		t->req.refs = copy;
		t->req.nrefs = nrefs;
		t->req.deep = deep;
		(void)view_job(v, &verify_job, t, deep ? "deep verify %s" : "verify %s", title);
	} else if (t) {
		verify_free(t);
		view_say(v, "out of memory");
	}
}
