#include "config.h"

#include "ui/jobs.h"

#include <stdlib.h>

#include "src/base/buf.h"
#include "src/base/mem.h"

#define KEEP_ENDED 50	/* listed jobs that are still shown after their end */

void
jobs_init(struct jobs *js, int wake_fd)
{
	*js = (struct jobs){ .wake_fd = wake_fd };
}

static void
job_free(struct ui_job *j)
{
	if (j->ops->free)
		j->ops->free(j->arg);
	tb_job_free(j->job);
	free(j->title);
	free(j->result);
	free(j);
}

static void *
job_thread(void *arg)
{
	struct ui_job *j = arg;
	struct tb_err err = { 0 };
	enum tb_status status = j->ops->run(j->arg, j->job, &err);

	if (status && !err.code)
		(void)tb_fail(&err, status, "%s", tb_status_text(status));
	tb_job_end(j->job, status, &err);
	return NULL;
}

/* A job that never ran still ends once, like all others. */
static void
job_run(struct ui_job *j)
{
	struct tb_err err;

	tb_job_begin(j->job);
	if (pthread_create(&j->thread, NULL, job_thread, j) == 0) {
		j->running = true;
		return;
	}
	(void)tb_fail(&err, TB_ELIMIT, "no thread for \"%s\"", j->title);
	tb_job_end(j->job, err.code, &err);
}

/* One of those that wait for their turn runs at a time: the oldest one. */
static void
start_next(struct jobs *js)
{
	struct ui_job *oldest = NULL;

	for (struct ui_job *j = js->head; j; j = j->next) {
		if (j->ended || !(j->ops->flags & JOB_SERIAL))
			continue;
		if (j->progress.state != TB_JOB_QUEUED)
			return;
		oldest = j;
	}
	if (!oldest)
		return;
	job_run(oldest);
	oldest->progress.state = TB_JOB_RUNNING;
}

struct ui_job *
jobs_start(struct jobs *js, const struct job_ops *ops, struct view *owner, void *arg,
	   const char *title, struct tb_err *err)
{
	struct ui_job *j = tb_calloc(1, sizeof(*j));

	if (j) {
		j->job = tb_job_new(js->wake_fd);
		j->title = tb_strdup(title);
	}
	if (!j || !j->job || !j->title) {
		if (j) {
			tb_job_free(j->job);
			free(j->title);
		}
		free(j);
		if (ops->free)
			ops->free(arg);
		(void)tb_nomem(err);
		return NULL;
	}
	j->ops = ops;
	j->owner = owner;
	j->arg = arg;
	j->id = ++js->last_id;
	j->next = js->head;
	js->head = j;
	if (ops->flags & JOB_SERIAL) {
		start_next(js);
	} else {
		job_run(j);
		j->progress.state = TB_JOB_RUNNING;
	}
	return j;
}

static void
deliver(struct ui_job *j)
{
	for (struct tb_msg *m = tb_job_take(j->job), *next; m; m = next) {
		next = m->next;
		if (j->ops->message)
			j->ops->message(j->owner, j->arg, m);
		free(m);
	}
}

/* The thread has said its last: what it leaves is the loop's now. */
static void
finish(struct jobs *js, struct ui_job *j)
{
	enum tb_status status = j->progress.state == TB_JOB_CANCELLED ? TB_ECANCEL
			      : j->progress.err.code;
	struct tb_buf line = TB_BUF(4096);

	if (j->running)
		pthread_join(j->thread, NULL);
	j->running = false;
	deliver(j);
	j->ended = true;
	if (!status && j->ops->result) {
		j->ops->result(j->arg, &line);
		j->result = tb_buf_take(&line);
	}
	tb_buf_free(&line);
	if (j->owner && j->ops->done)
		j->ops->done(j->owner, j->arg, status, &j->progress.err);
	if (js->ended && j->ops->flags & JOB_LISTED)
		js->ended(js->user, j);
}

static void
drop_old(struct jobs *js)
{
	size_t kept = 0;

	for (struct ui_job **p = &js->head; *p; ) {
		struct ui_job *j = *p;

		if (!j->ended || (j->ops->flags & JOB_LISTED && kept++ < KEEP_ENDED)) {
			p = &j->next;
			continue;
		}
		*p = j->next;
		job_free(j);
	}
}

/* done() may start other jobs: they are put in front, where this walk has been. */
void
jobs_pump(struct jobs *js)
{
	for (struct ui_job *j = js->head; j; j = j->next) {
		bool waits = j->progress.state == TB_JOB_QUEUED;

		if (j->ended || waits)
			continue;
		deliver(j);
		tb_job_progress(j->job, &j->progress);
		if (j->progress.state >= TB_JOB_DONE)
			finish(js, j);
	}
	drop_old(js);
	start_next(js);
}

void
jobs_cancel(struct ui_job *j)
{
	if (j->ended)
		return;
	tb_job_cancel(j->job);
	if (j->running)
		return;
	/* It waits for its turn: there is nobody else who would end it. */
	tb_job_begin(j->job);
	tb_job_end(j->job, TB_ECANCEL, NULL);
	j->progress.state = TB_JOB_CANCELLED;
}

void
jobs_disown(struct jobs *js, const struct view *owner)
{
	for (struct ui_job *j = js->head; j; j = j->next) {
		if (j->owner != owner)
			continue;
		j->owner = NULL;
		if (!(j->ops->flags & JOB_LISTED))
			jobs_cancel(j);
	}
}

bool
jobs_busy(const struct jobs *js, bool listed_only)
{
	for (const struct ui_job *j = js->head; j; j = j->next)
		if (!j->ended && (!listed_only || j->ops->flags & JOB_LISTED))
			return true;
	return false;
}

bool
jobs_busy_for(const struct jobs *js, const struct view *owner)
{
	for (const struct ui_job *j = js->head; j; j = j->next)
		if (!j->ended && j->owner == owner && !(j->ops->flags & JOB_LISTED))
			return true;
	return false;
}

const struct ui_job *
jobs_current(const struct jobs *js)
{
	for (const struct ui_job *j = js->head; j; j = j->next)
		if (!j->ended && j->ops->flags & JOB_LISTED && j->progress.state == TB_JOB_RUNNING)
			return j;
	return NULL;
}

void
jobs_free(struct jobs *js)
{
	for (struct ui_job *j = js->head; j; j = j->next) {
		j->owner = NULL;
		tb_job_cancel(j->job);
	}
	for (struct ui_job *j = js->head, *next; j; j = next) {
		next = j->next;
		if (j->running)
			pthread_join(j->thread, NULL);
		job_free(j);
	}
	js->head = NULL;
}
