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
	struct tb_err err = { 0 };

	tb_job_begin(j->job);
	if (j->ran && j->ops->again(j->arg, &err)) {
		if (!err.code)
			(void)tb_nomem(&err);
		tb_job_end(j->job, err.code, &err);
		return;
	}
	j->ran = true;
	if (pthread_create(&j->thread, NULL, job_thread, j) == 0) {
		j->running = true;
		return;
	}
	(void)tb_fail(&err, TB_ELIMIT, "no thread for \"%s\"", j->title);
	tb_job_end(j->job, err.code, &err);
}

/* Which of those that wait for their turn may run beside one another. */
static const struct { unsigned flag, width; } lanes[] = {
	{ JOB_SERIAL, 1 }, { JOB_TRANSFER, JOB_TRANSFERS },
};
#define IN_LANES (JOB_SERIAL | JOB_TRANSFER)

/* The oldest one that waits in a lane with room; false: there is none. */
static bool
start_one(unsigned flag, unsigned width, struct jobs *js)
{
	struct ui_job *oldest = NULL;
	unsigned running = 0;

	for (struct ui_job *j = js->head; j; j = j->next) {
		if (j->ended || !(j->ops->flags & flag))
			continue;
		if (j->progress.state != TB_JOB_QUEUED)
			running++;
		else if (!j->held)
			oldest = j;
	}
	if (!oldest || running >= width)
		return false;
	job_run(oldest);
	oldest->progress.state = TB_JOB_RUNNING;
	return true;
}

static void
start_next(struct jobs *js)
{
	for (size_t i = 0; i < sizeof(lanes) / sizeof(*lanes); i++)
		while (start_one(lanes[i].flag, lanes[i].width, js))
			;
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
	if (ops->flags & IN_LANES) {
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

/* It was stopped to go on later: it waits as if it had just been started, and what it had
 * done is still shown.  false: then it has ended. */
static bool
wait_again(struct jobs *js, struct ui_job *j)
{
	struct tb_job *fresh = tb_job_new(js->wake_fd);

	if (!fresh) {
		j->progress.state = TB_JOB_FAILED;
		(void)tb_nomem(&j->progress.err);
		return false;
	}
	tb_job_free(j->job);
	j->job = fresh;
	free(j->result);
	j->result = NULL;
	j->ended = false;
	j->progress.state = TB_JOB_QUEUED;
	j->progress.err = (struct tb_err){ 0 };
	j->progress.rate = 0;
	j->progress.eta = -1;
	return true;
}

/* The thread has said its last: what it leaves is the loop's now. */
static void
finish(struct jobs *js, struct ui_job *j)
{
	bool stopped = j->stopping && j->progress.state == TB_JOB_CANCELLED;
	struct tb_buf line = TB_BUF(4096);
	enum tb_status status;

	if (j->running)
		pthread_join(j->thread, NULL);
	j->running = j->stopping = false;
	deliver(j);
	if (stopped && wait_again(js, j))
		return;
	j->ended = true;
	status = j->progress.state == TB_JOB_CANCELLED ? TB_ECANCEL : j->progress.err.code;
	if (!status && j->ops->result)
		j->ops->result(j->arg, &line);
	if (status == TB_ECANCEL && j->ops->left)
		j->ops->left(j->arg, &line);
	if (line.len)
		j->result = tb_buf_take(&line);
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

struct ui_job *
jobs_by_id(const struct jobs *js, uint64_t id)
{
	struct ui_job *j = js->head;

	while (j && j->id != id)
		j = j->next;
	return j;
}

void
jobs_cancel(struct ui_job *j)
{
	if (j->ended)
		return;
	j->stopping = j->held = false;
	tb_job_cancel(j->job);
	if (j->running)
		return;
	/* It waits for its turn: there is nobody else who would end it. */
	tb_job_begin(j->job);
	tb_job_end(j->job, TB_ECANCEL, NULL);
	j->progress.state = TB_JOB_CANCELLED;
}

bool
jobs_can_pause(const struct ui_job *j)
{
	return j->ops->again && j->ops->flags & IN_LANES &&
	       (!j->ended || j->progress.state == TB_JOB_FAILED ||
		j->progress.state == TB_JOB_CANCELLED);
}

bool
jobs_waits(const struct ui_job *j)
{
	return j->ended || j->held;
}

void
jobs_pause(struct jobs *js, struct ui_job *j)
{
	bool runs = j->progress.state == TB_JOB_RUNNING;

	if (!jobs_can_pause(j))
		return;
	if (j->ended) {		/* what came of that run is not over */
		(void)wait_again(js, j);
	} else {
		j->held = !j->held;
		if (runs && j->held) {
			j->stopping = true;
			tb_job_cancel(j->job);
		}
	}
	start_next(js);
}

/* What is paused waits for a person, nobody for it. */
static bool
busy(const struct ui_job *j)
{
	return !j->ended && !(j->held && j->progress.state == TB_JOB_QUEUED);
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
		if (busy(j) && (!listed_only || j->ops->flags & JOB_LISTED))
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

size_t
jobs_beside(const struct jobs *js)
{
	size_t n = 0;

	for (const struct ui_job *j = js->head; j; j = j->next)
		n += !j->ended && j->ops->flags & JOB_LISTED && j->progress.state == TB_JOB_RUNNING;
	return n ? n - 1 : 0;
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
