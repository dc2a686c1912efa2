#include "config.h"

#include "src/base/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define WAKE_EVERY 0.1		/* seconds between wakes for progress alone */
#define RATE_WINDOW 3.0		/* seconds over which the rate is smoothed */

struct tb_job {
	atomic_bool cancelled;
	pthread_mutex_t mu;
	struct tb_progress p;
	double began, last_wake;
	double rate_at;			/* when rate_done was taken */
	uint64_t rate_done, there;	/* there: of done, without work */
	int wake_fd;
	bool woken;			/* a byte is in the pipe that nobody has taken */
	struct tb_msg *head, **tail;
};

struct tb_job *
tb_job_new(int wake_fd)
{
	struct tb_job *job = tb_calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	pthread_mutex_init(&job->mu, NULL);
	job->wake_fd = wake_fd;
	job->tail = &job->head;
	job->p.eta = -1;
	return job;
}

void
tb_job_free(struct tb_job *job)
{
	if (!job)
		return;
	for (struct tb_msg *m = job->head, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	pthread_mutex_destroy(&job->mu);
	free(job);
}

/* The lock is held. `now`: a message or an end does not wait for its turn. */
static void
wake(struct tb_job *job, bool now)
{
	double t;
	ssize_t n;

	if (job->wake_fd < 0 || job->woken)
		return;
	t = tb_monotonic();
	if (!now && t - job->last_wake < WAKE_EVERY)
		return;
	job->last_wake = t;
	/* A full pipe (EAGAIN) wakes as well as a byte of ours. */
	do
		n = write(job->wake_fd, "", 1);
	while (n < 0 && errno == EINTR);
	job->woken = true;
}

void
tb_progress_part(const struct tb_progress *p, uint64_t *done, uint64_t *total)
{
	bool bytes = p->total > 0 || (p->done > 0 && !p->items_total);

	*total = bytes ? p->total : p->items_total;
	*done = bytes ? p->done : p->items;
	if (*total && *done > *total)
		*done = *total;
}

unsigned
tb_percent(uint64_t done, uint64_t total)
{
	return done < total ? (unsigned)(100.0 * (double)done / (double)total) : 100;
}

void
tb_job_total(struct tb_job *job, uint64_t bytes, uint64_t items)
{
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	job->p.total = bytes;
	job->p.items_total = items;
	wake(job, false);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_step(struct tb_job *job, uint64_t bytes, uint64_t items)
{
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	job->p.done += bytes;
	job->p.items += items;
	wake(job, false);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_there(struct tb_job *job, uint64_t bytes, uint64_t items)
{
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	job->p.done += bytes;
	job->p.items += items;
	job->rate_done += bytes;
	job->there += bytes;
	wake(job, false);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_what(struct tb_job *job, const char *fmt, ...)
{
	va_list ap;

	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	va_start(ap, fmt);
	vsnprintf(job->p.what, sizeof(job->p.what), fmt, ap);
	va_end(ap);
	wake(job, false);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_post(struct tb_job *job, int kind, const void *data, size_t len)
{
	struct tb_msg *m;

	if (!job)
		return;
	m = malloc(sizeof(*m) + len + 1);
	if (!m)
		return;
	m->next = NULL;
	m->kind = kind;
	m->len = len;
	if (len)
		memcpy(m->data, data, len);
	m->data[len] = 0;
	pthread_mutex_lock(&job->mu);
	*job->tail = m;
	job->tail = &m->next;
	wake(job, true);
	pthread_mutex_unlock(&job->mu);
}

bool
tb_job_cancelled(const struct tb_job *job)
{
	return job && atomic_load_explicit(&job->cancelled, memory_order_relaxed);
}

enum tb_status
tb_job_check(const struct tb_job *job, struct tb_err *err)
{
	return tb_job_cancelled(job) ? tb_fail(err, TB_ECANCEL, "cancelled") : TB_OK;
}

void
tb_job_begin(struct tb_job *job)
{
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	job->p.state = TB_JOB_RUNNING;
	job->began = job->rate_at = tb_monotonic();
	wake(job, true);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_end(struct tb_job *job, enum tb_status status, const struct tb_err *err)
{
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	if (job->p.state == TB_JOB_RUNNING)
		job->p.seconds = tb_monotonic() - job->began;
	job->p.state = status == TB_OK ? TB_JOB_DONE
		     : status == TB_ECANCEL ? TB_JOB_CANCELLED : TB_JOB_FAILED;
	if (status && err)
		job->p.err = *err;
	wake(job, true);
	pthread_mutex_unlock(&job->mu);
}

void
tb_job_cancel(struct tb_job *job)
{
	if (job)
		atomic_store(&job->cancelled, true);
}

/* The lock is held. */
static void
refresh_rate(struct tb_job *job)
{
	struct tb_progress *p = &job->p;
	double now = tb_monotonic(), span = now - job->rate_at;
	bool first = job->rate_at <= job->began;

	p->seconds = now - job->began;
	if (span >= RATE_WINDOW || ((first || p->rate <= 0) && span > WAKE_EVERY)) {
		p->rate = (double)(p->done - job->rate_done) / span;
		if (span >= RATE_WINDOW) {
			job->rate_at = now;
			job->rate_done = p->done;
		}
	}
	p->eta = p->total > p->done && p->rate > 0 ? (double)(p->total - p->done) / p->rate : -1;
}

void
tb_job_progress(struct tb_job *job, struct tb_progress *out)
{
	*out = (struct tb_progress){ .eta = -1 };
	if (!job)
		return;
	pthread_mutex_lock(&job->mu);
	job->woken = false;
	if (job->p.state == TB_JOB_RUNNING)
		refresh_rate(job);
	else if (job->p.seconds > 0)
		job->p.rate = (double)(job->p.done - job->there) / job->p.seconds;
	if (job->p.state != TB_JOB_RUNNING)
		job->p.eta = -1;
	*out = job->p;
	pthread_mutex_unlock(&job->mu);
}

struct tb_msg *
tb_job_take(struct tb_job *job)
{
	struct tb_msg *head;

	if (!job)
		return NULL;
	pthread_mutex_lock(&job->mu);
	job->woken = false;
	head = job->head;
	job->head = NULL;
	job->tail = &job->head;
	pthread_mutex_unlock(&job->mu);
	return head;
}
