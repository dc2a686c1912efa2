/* fetch_run.c - threads that take what is to be done next, and the caller, who looks after them. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/net/http.h"
#include "src/ops/fetch/fetch_parts.h"
#include "src/ops/output/output.h"

#define LOOK 0.008			/* seconds between two looks at the caller's job */
#define TELL 0.1			/* between two steps of progress */
#define RATE 0.5			/* between two looks at how fast each is */
#define WRONG_MAX 2u			/* times that all bytes may come and be wrong */

static struct timespec
in_seconds(double s)
{
	double end = tb_monotonic() + s;
	time_t whole = (time_t)end;

	return (struct timespec){ whole, (long)((end - (double)whole) * 1e9) };
}

/* ---- what is to be done ---- */

/* The lock is held. */
static void
fail_all(struct fetch *f, enum tb_status status, const struct tb_err *err)
{
	if (!f->status) {
		f->status = status;
		f->err = *err;
		tb_job_cancel(f->job);
	}
	pthread_cond_broadcast(&f->more);
}

static struct fetch_part *
free_part(struct fetch_file *file)
{
	while (file->next < file->nparts && file->parts[file->next].taken)
		file->next++;
	return file->next < file->nparts ? &file->parts[file->next++] : NULL;
}

/* A part of a file that is open; the lock is held. */
static struct fetch_part *
take_part(struct fetch *f, struct fetch_file **out)
{
	for (size_t i = 0; i < f->nactive; i++) {
		struct fetch_file *file = f->files[f->active[i]];
		struct fetch_part *p = atomic_load(&file->whole) ? NULL : free_part(file);

		if (!p)
			continue;
		p->taken = true;
		file->users++;
		*out = file;
		return p;
	}
	return NULL;
}

/* A file that nobody has begun, or that may be tried again; the lock is held. */
static struct fetch_file *
take_file(struct fetch *f)
{
	double now = tb_monotonic();

	while (f->next < f->n) {
		size_t i = f->order[f->next++];

		if (f->files[i]->same == i)
			return f->files[i];
	}
	for (size_t i = 0; i < f->nagain; i++) {
		struct fetch_file *file = f->files[f->again[i]];

		if (file->not_before > now)
			continue;
		f->again[i] = f->again[--f->nagain];
		return file;
	}
	return NULL;
}

/* NULL: there is nothing more to do.  *part NULL: the file is to be opened. */
static struct fetch_file *
take_work(struct fetch *f, struct fetch_part **part)
{
	struct fetch_file *file = NULL;

	pthread_mutex_lock(&f->lock);
	while (!f->status && f->left) {
		struct timespec end;

		if ((*part = take_part(f, &file)))
			break;
		if ((file = take_file(f))) {
			file->users = 1;
			break;
		}
		end = in_seconds(fetch_pace.busy);
		pthread_cond_timedwait(&f->more, &f->lock, &end);
	}
	pthread_mutex_unlock(&f->lock);
	return file;
}

/* ---- one file ---- */

static void
done(struct fetch *f, struct fetch_file *file)
{
	pthread_mutex_lock(&f->lock);
	file->state = FETCH_DONE;
	file->rate = 0;
	*file->why = 0;
	if (file->there + atomic_load(&file->got) < file->it.size)	/* found, not loaded */
		file->there = file->it.size - atomic_load(&file->got);
	if (!--f->left)
		pthread_cond_broadcast(&f->more);
	pthread_mutex_unlock(&f->lock);
}

static void
later(struct fetch *f, struct fetch_file *file, double seconds, enum fetch_state state,
      const char *why)
{
	pthread_mutex_lock(&f->lock);
	file->users = 0;
	file->not_before = tb_monotonic() + seconds;
	file->state = state;
	snprintf(file->why, sizeof(file->why), "%s", why);
	f->again[f->nagain++] = file->same;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
}

/* All bytes are there. */
static enum tb_status
end_file(struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	enum tb_status status = fetch_file_end(f, file, err);

	if (!status) {
		done(f, file);
		return TB_OK;
	}
	if (status != TB_EFORMAT || ++file->wrong >= WRONG_MAX)
		return status;
	pthread_mutex_lock(&f->lock);
	file->there = 0;
	atomic_store(&file->got, 0);
	pthread_mutex_unlock(&f->lock);
	later(f, file, 0, FETCH_AGAIN, err->msg);
	return TB_OK;
}

/* The last of those who work on a file sees what becomes of it. */
static enum tb_status
leave_file(struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	bool last, complete, whole;

	pthread_mutex_lock(&f->lock);
	last = !--file->users;
	complete = file->hashed == file->it.size;
	whole = atomic_load(&file->whole) && !file->stream;
	for (size_t i = 0; last && (complete || whole) && i < f->nactive; i++)
		if (f->active[i] == file->same)
			f->active[i] = f->active[--f->nactive];
	pthread_mutex_unlock(&f->lock);
	if (!last)
		return TB_OK;
	if (complete)
		return end_file(f, file, err);
	if (whole) {
		fetch_file_close(file);
		later(f, file, 0, FETCH_AGAIN, "the server knows no ranges: in one piece");
	}
	return TB_OK;
}

static enum tb_status
load_part(struct fetch_worker *w, struct http **h, struct fetch_file *file, struct fetch_part *p,
	  struct tb_err *err)
{
	enum tb_status status = fetch_load(w, h, file, p, err);

	pthread_mutex_lock(&w->f->lock);
	p->ready = p->got;
	pthread_mutex_unlock(&w->f->lock);
	if (status && atomic_load(&file->whole) && !file->stream && !tb_job_cancelled(w->f->job))
		status = TB_OK;		/* it will come in one piece */
	if (!status && !file->stream)
		status = fetch_hash_on(w->f, file, err);
	return status;
}

static enum tb_status
begin_file(struct fetch_worker *w, struct http **h, struct fetch_file *file, bool *leaves,
	   struct tb_err *err)
{
	struct fetch *f = w->f;
	enum fetch_found found;
	enum tb_status status = fetch_file_open(f, file, &found, err);

	*leaves = !status && found == FETCH_OPENED;
	if (status)
		return status;
	if (found == FETCH_RIGHT)
		done(f, file);
	else if (found == FETCH_BUSY)
		later(f, file, fetch_pace.busy, FETCH_WAITING, "another loads it already");
	if (found != FETCH_OPENED)
		return TB_OK;
	if (!file->stream) {
		pthread_mutex_lock(&f->lock);
		f->active[f->nactive++] = file->same;
		pthread_cond_broadcast(&f->more);
		pthread_mutex_unlock(&f->lock);
	}
	status = fetch_hash_on(f, file, err);
	if (!status && file->stream)
		status = load_part(w, h, file, &file->parts[0], err);
	return status;
}

static void *
work(void *arg)
{
	struct fetch_worker *w = arg;
	struct fetch *f = w->f;
	struct fetch_part *p = NULL;
	struct fetch_file *file;
	struct http *h = NULL;
	struct tb_err err;
	enum tb_status status = http_new(&h, &err);

	while (!status && (file = take_work(f, &p))) {
		bool leaves = true;

		status = p ? load_part(w, &h, file, p, &err) : begin_file(w, &h, file, &leaves, &err);
		if (!status && leaves)
			status = leave_file(f, file, &err);
		pthread_mutex_lock(&f->lock);
		if (status && status != TB_ECANCEL) {
			file->state = FETCH_FAILED;
			snprintf(file->why, sizeof(file->why), "%s", err.msg);
			tb_wrap(&err, status, "%s", *file->it.what ? file->it.what : file->it.digest);
		}
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_lock(&f->lock);
	if (status)
		fail_all(f, status, &err);
	f->running--;
	pthread_cond_signal(&f->ended);
	pthread_mutex_unlock(&f->lock);
	http_free(h);
	return NULL;
}

/* ---- the caller ---- */

/* Sizes are somebody's claim. */
static enum tb_status
look_for_room(const struct fetch *f, uint64_t *total, struct tb_err *err)
{
	struct space_need need = { 0 };

	*total = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct fetch_file *file = f->files[i];

		if (file->same != i)
			continue;
		if (file->it.size > INT64_MAX - *total)
			return tb_fail(err, TB_ELIMIT, "%s: its sizes are more than any disk has",
				       f->note);
		*total += file->it.size;
		need.bytes += fetch_file_room(f, file);
		need.files++;
		if (file->it.size > need.largest)
			need.largest = file->it.size;
	}
	return space_ready(f->dir, &need, err);
}

static int
by_size(const void *a, const void *b, void *arg)
{
	const struct fetch *f = arg;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t x = f->files[i]->it.size, y = f->files[k]->it.size;

	return x != y ? (x < y ? 1 : -1) : i < k ? -1 : i > k;
}

static enum tb_status
prepare(struct fetch *f, struct tb_err *err)
{
	uint64_t streams = 0;

	f->order = tb_calloc(f->n + 1, sizeof(*f->order));
	f->active = tb_calloc(f->n + 1, sizeof(*f->active));
	f->again = tb_calloc(f->n + 1, sizeof(*f->again));
	if (!f->order || !f->active || !f->again)
		return tb_nomem(err);
	for (size_t i = 0; i < f->n; i++) {
		uint64_t size = f->files[i]->it.size;

		f->order[i] = i;
		if (f->files[i]->same == i) {
			f->left++;
			streams += 1 + size / fetch_part_size(f, size);
		}
	}
	qsort_r(f->order, f->n, sizeof(*f->order), by_size, f);
	f->nworkers = streams < f->opts.streams ? (unsigned)streams : f->opts.streams;
	f->workers = tb_calloc(f->nworkers + 1, sizeof(*f->workers));
	return f->workers ? TB_OK : tb_nomem(err);
}

/* What was last said of all files. */
struct told { uint64_t bytes, got, files; };

static void
tell(const struct fetch *f, struct tb_job *job, struct told *told)
{
	struct told now = { 0 };
	uint64_t step, came;

	for (size_t i = 0; i < f->n; i++) {
		const struct fetch_file *file = f->files[i];
		uint64_t got = atomic_load(&file->got);

		if (file->same != i)
			continue;
		now.bytes += file->there + got;
		now.got += got;
		now.files += file->state == FETCH_DONE;
	}
	step = now.bytes > told->bytes ? now.bytes - told->bytes : 0;
	came = now.got > told->got ? now.got - told->got : 0;
	if (came > step)
		came = step;
	if (step > came)
		tb_job_there(job, step - came, 0);
	if (came || now.files > told->files)
		tb_job_step(job, came, now.files - told->files);
	now.bytes = told->bytes + step;
	*told = now;
}

/* The largest of those that are worked on. */
static void
tell_what(const struct fetch *f, struct tb_job *job)
{
	static const struct { enum fetch_state state; const char *doing; } kinds[] = {
		{ FETCH_LOADING, "" }, { FETCH_HASHING, "checking " }, { FETCH_AGAIN, "again " },
	};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (size_t i = 0; i < f->n; i++) {
			const struct fetch_file *file = f->files[f->order[i]];

			if (file->state != kinds[k].state || !*file->it.what)
				continue;
			tb_job_what(job, "%s%s", kinds[k].doing, file->it.what);
			return;
		}
}

static void
measure_rates(struct fetch *f, double span)
{
	for (size_t i = 0; i < f->n; i++) {
		struct fetch_file *file = f->files[i];
		uint64_t got = atomic_load(&file->got);
		double rate = got > file->seen ? (double)(got - file->seen) / span : 0;

		if (file->state == FETCH_LOADING || file->rate > 0)
			file->rate = file->rate > 0 ? (file->rate + rate) / 2 : rate;
		if (file->state != FETCH_LOADING)
			file->rate = 0;
		file->seen = got;
	}
}

/* Until all workers have ended; the lock is held. */
static void
look_after(struct fetch *f, struct tb_job *job)
{
	double told_at = 0, measured = tb_monotonic();
	struct told told = { 0 };

	while (f->running) {
		struct timespec end = in_seconds(LOOK);
		struct tb_err err;
		double now;

		pthread_cond_timedwait(&f->ended, &f->lock, &end);
		if (tb_job_check(job, &err))
			fail_all(f, TB_ECANCEL, &err);
		now = tb_monotonic();
		if (now - told_at >= TELL || !f->running) {
			tell(f, job, &told);
			tell_what(f, job);
			told_at = now;
		}
		if (now - measured >= RATE) {
			measure_rates(f, now - measured);
			measured = now;
		}
	}
}

static enum tb_status
run_workers(struct fetch *f, struct tb_job *job, struct tb_err *err)
{
	unsigned made = 0;
	sigset_t before;

	pthread_mutex_lock(&f->lock);
	tb_signals_block(&before);
	for (; made < f->nworkers; made++) {
		struct fetch_worker *w = &f->workers[made];

		w->f = f;
		w->n = made;
		if (pthread_create(&w->id, NULL, work, w))
			break;
		f->running++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	look_after(f, job);
	pthread_mutex_unlock(&f->lock);
	for (unsigned i = 0; i < made; i++)
		pthread_join(f->workers[i].id, NULL);
	if (f->status)
		return tb_pass(err, &f->err);
	return f->left ? tb_fail(err, TB_ENOMEM, "no thread can be made") : TB_OK;
}

enum tb_status
fetch_run(struct fetch *f, struct tb_job *job, struct tb_err *err)
{
	uint64_t total = 0;
	enum tb_status status;

	if (!f->n) {
		fetch_list_sweep(f);
		return TB_OK;
	}
	status = fetch_list_begin(f, err);
	if (!status)
		status = look_for_room(f, &total, err);
	if (!status)
		status = prepare(f, err);
	if (!status) {
		tb_job_total(job, total, f->left);
		status = run_workers(f, job, err);
	}
	for (size_t i = 0; status && i < f->n; i++)
		fetch_file_close(f->files[i]);
	return status;
}
