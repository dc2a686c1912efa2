/* site_pipe.c - a blob of a registry as it comes: a thread asks for it, and waits when nobody
 * reads. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/net/patience.h"
#include "src/ops/carry/site.h"

#define RING (4u << 20)
#define LOOK_NS 50000000	/* between two looks at the job */

struct pipe_stream {
	struct site_stream base;
	struct registry *registry;
	struct tb_job *job;
	char digest[TB_DIGEST_MAX];
	uint64_t size;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	/* Under the lock. */
	char *ring;			/* byte `off` of the blob at off % RING */
	uint64_t at, end;		/* what is in it */
	uint64_t skip;			/* of what comes: it has been here before */
	bool stop, ended;
	struct tb_err why;		/* of the end, if there is none of the blob */
};

/* Under the lock. */
static void
wait_turn(struct pipe_stream *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&s->turn, &s->lock, &until);
}

/* Both of n bytes that begin with byte `off` of the blob. */
static void
ring_in(struct pipe_stream *s, uint64_t off, const char *in, size_t n)
{
	size_t from = (size_t)(off % RING), first = RING - from < n ? RING - from : n;

	memcpy(s->ring + from, in, first);
	memcpy(s->ring, in + first, n - first);
}

static void
ring_out(const struct pipe_stream *s, uint64_t off, char *out, size_t n)
{
	size_t from = (size_t)(off % RING), first = RING - from < n ? RING - from : n;

	memcpy(out, s->ring + from, first);
	memcpy(out + first, s->ring, n - first);
}

/* ---- the thread that asks ---- */

static enum tb_status
pipe_put(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct pipe_stream *s = arg;
	enum tb_status status = TB_OK;

	pthread_mutex_lock(&s->lock);
	if (s->skip) {
		size_t gone = s->skip < n ? (size_t)s->skip : n;

		s->skip -= gone;
		p += gone;
		n -= gone;
	}
	while (n && !s->stop && !status) {
		uint64_t room = RING - (s->end - s->at);
		size_t some = room < n ? (size_t)room : n;

		if (!some) {
			wait_turn(s);
			status = tb_job_check(s->job, err);
			continue;
		}
		ring_in(s, s->end, p, some);
		s->end += some;
		p += some;
		n -= some;
		pthread_cond_signal(&s->turn);
	}
	*enough = s->stop;
	pthread_mutex_unlock(&s->lock);
	return status;
}

static bool
is_stopped(struct pipe_stream *s)
{
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/* `end` and `skip` are written by this thread alone. */
static enum tb_status
pipe_pause(struct pipe_stream *s, double seconds, struct tb_err *err)
{
	double until = tb_monotonic() + seconds;
	enum tb_status status = TB_OK;

	while (!status && tb_monotonic() < until && !is_stopped(s)) {
		pthread_mutex_lock(&s->lock);
		wait_turn(s);
		pthread_mutex_unlock(&s->lock);
		status = tb_job_check(s->job, err);
	}
	return status;
}

static enum tb_status
pipe_fill(struct pipe_stream *s, struct http *h, struct tb_err *err)
{
	uint64_t before = s->end;
	struct patience patience = { .kind = PATIENCE_CARRY };
	enum tb_status status = TB_OK;
	bool whole = false;

	while (s->end < s->size && !is_stopped(s)) {
		struct registry_range want = { s->digest, s->size, whole ? 0 : s->end,
					       s->size - (whole ? 0 : s->end) };
		struct http_fate fate = { 0 };
		double seconds;

		s->skip = whole ? s->end : 0;
		status = registry_blob(s->registry, h, &want, pipe_put, s, s->job, &fate, err);
		if (!status || status == TB_ECANCEL || is_stopped(s))
			return status;
		if (s->end > before)
			patience.tries = 0;
		before = s->end;
		if (fate.whole && !whole) {	/* from its start once more */
			whole = true;
			continue;
		}
		if (!patience_left(&patience, &fate, &seconds))
			return status;
		if ((status = pipe_pause(s, seconds, err)))
			return status;
	}
	return status;
}

static void *
pipe_run(void *arg)
{
	struct pipe_stream *s = arg;
	struct tb_err why = { 0 };
	struct http *h;

	if (!http_new(&h, &why)) {
		if (pipe_fill(s, h, &why) == TB_OK)
			why.code = TB_OK;
		http_free(h);
	}
	pthread_mutex_lock(&s->lock);
	s->why = why;
	s->ended = true;
	pthread_cond_signal(&s->turn);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- who reads ---- */

static void
pipe_stop(struct pipe_stream *s)
{
	if (!s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->turn);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->running = false;
}

static enum tb_status
pipe_start(struct pipe_stream *s, uint64_t off, struct tb_err *err)
{
	sigset_t before;
	int failed;

	s->at = s->end = off;
	s->skip = 0;
	s->stop = s->ended = false;
	tb_signals_block(&before);
	failed = pthread_create(&s->thread, NULL, pipe_run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return tb_fail(err, TB_ENOMEM, "no thread more can be made");
	s->running = true;
	return TB_OK;
}

static enum tb_status
pipe_read(struct site_stream *base, uint64_t off, char *p, size_t n, struct tb_err *err)
{
	struct pipe_stream *s = (struct pipe_stream *)base;
	enum tb_status status = TB_OK;

	if (!s->running || off != s->at) {
		pipe_stop(s);
		status = pipe_start(s, off, err);
	}
	pthread_mutex_lock(&s->lock);
	while (n && !status) {
		size_t some = s->end - s->at < n ? (size_t)(s->end - s->at) : n;

		if (some) {
			ring_out(s, s->at, p, some);
			s->at += some;
			p += some;
			n -= some;
			pthread_cond_signal(&s->turn);
		} else if (s->ended) {
			status = s->why.code ? tb_pass(err, &s->why)
					     : tb_fail(err, TB_EIO, "%s: it ended too early", s->digest);
		} else {
			wait_turn(s);
			status = tb_job_check(s->job, err);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

static void
pipe_close(struct site_stream *base)
{
	struct pipe_stream *s = (struct pipe_stream *)base;

	pipe_stop(s);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->turn);
	free(s->ring);
	free(s);
}

enum tb_status
site_pipe(struct site_stream **out, struct registry *r, const struct site_blob *b,
	  struct tb_job *job, struct tb_err *err)
{
	struct pipe_stream *s = tb_calloc(1, sizeof(*s));

	if (!s || !(s->ring = malloc(RING))) {
		free(s);
		return tb_nomem(err);
	}
	s->base = (struct site_stream){ pipe_read, pipe_close };
	s->registry = r;
	s->job = job;
	s->size = b->size;
	memcpy(s->digest, b->digest, sizeof(s->digest));
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->turn, NULL);
	*out = &s->base;
	return TB_OK;
}
