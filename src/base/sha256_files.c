/* sha256_files.c - which files are hashed when, and beside which others. */
#include "config.h"

#include "src/base/sha256_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "src/base/cached.h"
#include "src/base/device.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/sha256_lanes.h"

#define WINDOW (4u << 20)	/* of a file, mapped at a time */
#define STEP (512u << 10)	/* of all streams of a way, between two looks around: fits caches */
#define WAIT_NS 50000000	/* for a device, between two looks around */

/* The files of one device, largest first. */
struct queue {
	uint64_t dev;
	unsigned readers, reading;
	size_t *files, n, cap, next;	/* owned */
};

struct hashing {
	const struct tb_hash_files *h;
	struct tb_job *job;
	unsigned workers, width;	/* width: files that a worker has open at most */
	pthread_mutex_t lock;		/* guards the queues and what is `busy` */
	pthread_cond_t freed;
	unsigned busy;			/* workers that have files, or wait for some */
	struct queue *queues;		/* owned */
	size_t nqueues, queues_cap;
	_Atomic uint64_t left;		/* bytes, of files that are open and that are not */
	atomic_size_t waiting;		/* files that nobody has opened */
};

struct stream {
	struct tb_file file;
	size_t item;
	struct queue *queue;		/* NULL: does not count as a reader */
	struct sha_stream sha;
	struct tb_map map;
	size_t at;			/* in the map: what comes next */
	uint64_t left;			/* bytes to hash */
	struct tb_cached cached;
	struct tb_seen seen;
};

struct worker {
	struct hashing *h;
	struct stream *open[SHA_STREAMS];	/* owned */
	unsigned n;
	struct tb_err err;
};

/* ---- files to take ---- */

static struct queue *
queue_of(struct hashing *h, const struct tb_hash_file *f)
{
	struct queue *q;

	for (size_t i = 0; i < h->nqueues; i++)
		if (h->queues[i].dev == f->dev)
			return &h->queues[i];
	if (!tb_grow(&h->queues, &h->queues_cap, h->nqueues + 1, sizeof(*h->queues)))
		return NULL;
	q = &h->queues[h->nqueues++];
	*q = (struct queue){ .dev = f->dev, .readers = h->h->readers ? h->h->readers
			     : tb_device_readers(f->path, f->dev) };
	return q;
}

static bool
fill_queues(struct hashing *h)
{
	uint64_t left = 0;

	for (size_t i = 0; i < h->h->n; i++) {
		struct queue *q = queue_of(h, &h->h->files[i]);

		if (!q || !tb_grow(&q->files, &q->cap, q->n + 1, sizeof(*q->files)))
			return false;
		q->files[q->n++] = i;
		left += h->h->files[i].size;
	}
	atomic_store(&h->left, left);
	atomic_store(&h->waiting, h->h->n);
	return true;
}

/* The largest file whose device has room for a reader; the lock is held.  *later: others
 * wait for their device. */
static struct queue *
next_queue(const struct hashing *h, bool *later)
{
	struct queue *best = NULL;

	*later = false;
	for (size_t i = 0; i < h->nqueues; i++) {
		struct queue *q = &h->queues[i];

		if (q->next == q->n)
			continue;
		if (q->readers != TB_READERS_ANY && q->reading >= q->readers)
			*later = true;
		else if (!best || q->files[q->next] < best->files[best->next])
			best = q;
	}
	return best;
}

static bool
take(struct hashing *h, size_t *item, struct queue **queue)
{
	bool later;

	pthread_mutex_lock(&h->lock);
	*queue = next_queue(h, &later);
	if (*queue) {
		*item = (*queue)->files[(*queue)->next++];
		(*queue)->reading++;
		atomic_fetch_sub(&h->waiting, 1);
	}
	pthread_mutex_unlock(&h->lock);
	return *queue;
}

static void
leave(struct hashing *h, struct queue *queue)
{
	pthread_mutex_lock(&h->lock);
	queue->reading--;
	pthread_cond_broadcast(&h->freed);
	pthread_mutex_unlock(&h->lock);
}

/* For a moment, or until something is freed; the lock is held. */
static void
wait_a_moment(struct hashing *h)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&h->freed, &h->lock, &until);
}

/* For a worker that has nothing; false: nothing will come. */
static bool
wait_for_device(struct hashing *h)
{
	bool later, now;

	pthread_mutex_lock(&h->lock);
	now = next_queue(h, &later);
	if (!now && later)
		wait_a_moment(h);
	pthread_mutex_unlock(&h->lock);
	return now || later;
}

/* The others have files yet: what is to be done now and then goes on. */
static void
wait_for_others(struct hashing *h)
{
	pthread_mutex_lock(&h->lock);
	while (h->busy) {
		wait_a_moment(h);
		pthread_mutex_unlock(&h->lock);
		if (h->h->now_and_then)
			h->h->now_and_then(h->h->arg);
		pthread_mutex_lock(&h->lock);
	}
	pthread_mutex_unlock(&h->lock);
}

static void
count_busy(struct hashing *h, int by)
{
	pthread_mutex_lock(&h->lock);
	h->busy += (unsigned)by;
	pthread_cond_broadcast(&h->freed);
	pthread_mutex_unlock(&h->lock);
}

/* ---- one file ---- */

/* What was read is let go as soon as nobody reads it again. */
static void
drop_window(const struct hashing *h, struct stream *s)
{
	uint64_t end = s->file.id.size - s->left, len = s->map.len;

	tb_map_close(&s->map);
	if (len && !h->h->again)
		tb_cached_restore(&s->cached, &s->file, end - len, len);
}

static void
stream_free(struct worker *w, struct stream *s)
{
	struct hashing *h = w->h;

	tb_map_close(&s->map);
	/* Again, since pages that two windows share stay until both are let go. */
	if (s->file.path)
		tb_cached_restore(&s->cached, &s->file, 0, s->file.id.size);
	tb_cached_free(&s->cached);
	tb_file_close(&s->file);
	if (s->queue)
		leave(h, s->queue);
	atomic_fetch_sub(&h->left, s->left);
	free(s);
}

/* The window that has been hashed: were all of its bytes there? */
static enum tb_status
check_window(const struct stream *s, struct tb_err *err)
{
	uint64_t end = s->file.id.size - s->left;

	if (!s->map.len || !tb_map_torn(&s->map))
		return TB_OK;
	return tb_sha256_torn(&s->file, end - s->at, s->map.len, err);
}

static enum tb_status
next_window(const struct hashing *h, struct stream *s, struct tb_err *err)
{
	uint64_t at = s->file.id.size - s->left;
	size_t len = s->left < WINDOW ? (size_t)s->left : WINDOW;
	enum tb_status status = check_window(s, err);

	if (status)
		return status;
	drop_window(h, s);
	s->at = 0;
	status = tb_map_open(&s->map, &s->file, at, len, err);
	if (!status && !s->cached.all)	/* what comes behind is read while this is hashed */
		(void)!posix_fadvise(s->file.fd, (off_t)(at + len), WINDOW, POSIX_FADV_WILLNEED);
	return status;
}

static void
advance(struct stream *s, size_t len)
{
	if (s->seen.fn && len)		/* while it is in the cache */
		s->seen.fn(s->seen.arg, s->file.id.size - s->left, s->map.p + s->at, len);
	s->at += len;
	s->left -= len;
}

/* Less than a block is left. */
static enum tb_status
stream_finish(struct worker *w, struct stream *s, char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	size_t rest = (size_t)s->left;
	enum tb_status status = TB_OK;
	struct stat now;
	uint8_t md[32];

	if (rest && s->at == s->map.len)
		status = next_window(w->h, s, err);
	if (status)
		return status;
	sha_stream_end(&s->sha, s->map.p + s->at, rest, md);
	advance(s, rest);
	atomic_fetch_sub(&w->h->left, rest);
	tb_job_step(w->h->job, rest, 0);
	status = check_window(s, err);
	/* Cut within its last page it reads as zeros there without a fault. */
	if (!status && s->file.id.size && !fstat(s->file.fd, &now) &&
	    (uint64_t)now.st_size < s->file.id.size)
		status = tb_sha256_torn(&s->file, s->file.id.size - 1, 1, err);
	if (!status)
		tb_digest_text("sha256:", md, sizeof(md), digest);
	return status;
}

/* Its end, and what came out. */
static void
stream_end(struct worker *w, struct stream *s, enum tb_status status)
{
	const struct tb_hash_files *h = w->h->h;
	char digest[TB_DIGEST_MAX] = "";

	if (!status)
		status = stream_finish(w, s, digest, &w->err);
	h->done(h->arg, s->item, &s->file, status, digest, &w->err);
	stream_free(w, s);
}

/* A device does not mind readers of what is in memory. */
static void
stream_look(struct worker *w, struct stream *s)
{
	tb_cached_look(&s->cached, &s->file);
	if (s->cached.all) {
		leave(w->h, s->queue);
		s->queue = NULL;
	} else {
		(void)!posix_fadvise(s->file.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
}

static void
stream_open(struct worker *w, size_t item, struct queue *queue)
{
	const struct tb_hash_files *h = w->h->h;
	struct stream *s = tb_calloc(1, sizeof(*s));
	enum tb_status status;

	if (!s) {
		leave(w->h, queue);
		atomic_fetch_sub(&w->h->left, h->files[item].size);
		h->done(h->arg, item, NULL, tb_nomem(&w->err), "", &w->err);
		return;
	}
	*s = (struct stream){ .item = item, .queue = queue, .left = h->files[item].size,
			      .map.slot = -1, .cached.all = true };
	sha_stream_start(&s->sha);
	status = tb_file_open(&s->file, h->files[item].path, &w->err);
	if (status) {
		h->done(h->arg, item, NULL, status, "", &w->err);
		stream_free(w, s);
		return;
	}
	atomic_fetch_add(&w->h->left, s->file.id.size - s->left);
	s->left = s->file.id.size;
	stream_look(w, s);
	if (h->begun)
		status = h->begun(h->arg, item, &s->file, &s->seen, &w->err);
	if (status || s->left < SHA_BLOCK)
		stream_end(w, s, status);
	else
		w->open[w->n++] = s;
}

/* ---- what goes on next ---- */

static void
sort_streams(struct worker *w)
{
	for (unsigned i = 1; i < w->n; i++) {
		struct stream *s = w->open[i];
		unsigned k = i;

		for (; k && w->open[k - 1]->left < s->left; k--)
			w->open[k] = w->open[k - 1];
		w->open[k] = s;
	}
}

/* How many of the streams, the longest first, go on next: those that would take longest if
 * they were all that is left.  A file that is larger than all the others together runs
 * alone at its own speed then, instead of being left over at the end.
 * *seconds: how long that is at least. */
static unsigned
critical(const struct worker *w, double *seconds)
{
	unsigned best = 0;
	double sum = 0;

	*seconds = 0;
	for (unsigned i = 0; i < w->n; i++) {
		double least;

		sum += (double)w->open[i]->left;
		least = sum / sha_rate(i + 1);
		if (least >= *seconds) {
			*seconds = least;
			best = i + 1;
		}
	}
	return best;
}

/* How long this worker's part of all that is left takes, side by side as far as there are
 * files for it. */
static double
part_seconds(const struct worker *w)
{
	const struct hashing *h = w->h;
	size_t waiting = (atomic_load(&h->waiting) + h->workers - 1) / h->workers;
	size_t n = w->n + waiting < h->width ? w->n + waiting : h->width;

	return n ? (double)atomic_load(&h->left) / h->workers / sha_rate((unsigned)n) : 0;
}

static bool
wants_more(const struct worker *w)
{
	double part = (double)atomic_load(&w->h->left) / w->h->workers, own = 0, seconds;

	if (w->n >= w->h->width)
		return false;
	for (unsigned i = 0; i < w->n; i++)
		own += (double)w->open[i]->left;
	(void)critical(w, &seconds);
	return !w->n || (own < part && seconds < part_seconds(w));
}

static enum tb_status
prepare(const struct worker *w, struct stream *s, struct tb_err *err)
{
	if (s->map.len - s->at >= SHA_BLOCK)
		return TB_OK;
	return next_window(w->h, s, err);
}

static void
remove_stream(struct worker *w, unsigned i, enum tb_status status)
{
	struct stream *s = w->open[i];

	w->open[i] = w->open[--w->n];
	stream_end(w, s, status);
}

/* Streams [first, first + n) go on by the way that was chosen. */
static void
go_on(struct worker *w, unsigned first, unsigned n, size_t way)
{
	struct sha_stream *sha[SHA_STREAMS];
	const uint8_t *data[SHA_STREAMS];
	size_t blocks = STEP / SHA_BLOCK / n;

	for (unsigned i = 0; i < n; i++) {
		const struct stream *s = w->open[first + i];
		size_t have = (s->map.len - s->at) / SHA_BLOCK;

		blocks = have < blocks ? have : blocks;
		sha[i] = &w->open[first + i]->sha;
		data[i] = s->map.p + s->at;
	}
	sha_streams_add(way, sha, data, n, blocks);
	for (unsigned i = 0; i < n; i++)
		advance(w->open[first + i], blocks * SHA_BLOCK);
	atomic_fetch_sub(&w->h->left, n * blocks * SHA_BLOCK);
	tb_job_step(w->h->job, n * blocks * SHA_BLOCK, 0);
}

static void
step(struct worker *w)
{
	double seconds;
	unsigned n, way_streams;
	size_t way;

	for (unsigned i = w->n; i-- > 0;) {
		enum tb_status status = prepare(w, w->open[i], &w->err);

		if (status)
			remove_stream(w, i, status);
	}
	sort_streams(w);
	n = critical(w, &seconds);
	if (part_seconds(w) > seconds)
		n = w->n;
	while (n < w->n && sha_seconds(n + 1) <= sha_seconds(n))	/* lanes that are free */
		n++;
	for (unsigned first = 0; first < n; first += way_streams) {
		way_streams = sha_best(n - first, &way);
		go_on(w, first, way_streams, way);
	}
	for (unsigned i = w->n; i-- > 0;)
		if (w->open[i]->left < SHA_BLOCK)
			remove_stream(w, i, TB_OK);
}

static void
hash_files(void *arg, size_t part, unsigned id)
{
	struct worker w = { .h = arg };
	const struct tb_hash_files *h = w.h->h;
	struct queue *queue;
	size_t item;

	(void)part;
	count_busy(w.h, 1);
	do {
		while (!tb_job_cancelled(w.h->job) && wants_more(&w) && take(w.h, &item, &queue))
			stream_open(&w, item, queue);
		while (w.n && tb_job_cancelled(w.h->job))
			remove_stream(&w, w.n - 1, tb_job_check(w.h->job, &w.err));
		if (w.n)
			step(&w);
		if (id == 0 && h->now_and_then)	/* the thread that called */
			h->now_and_then(h->arg);
	} while (w.n || (!tb_job_cancelled(w.h->job) && wait_for_device(w.h)));
	count_busy(w.h, -1);
	if (id == 0)
		wait_for_others(w.h);
}

/* Half of the files that a process may have open, for all workers together. */
static unsigned
streams_each(unsigned workers)
{
	struct rlimit limit;
	rlim_t n = SHA_STREAMS;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		n = limit.rlim_cur / 2 / workers;
	return n < 1 ? 1 : n < SHA_STREAMS ? (unsigned)n : SHA_STREAMS;
}

enum tb_status
tb_sha256_files(struct tb_pool *pool, const struct tb_hash_files *files, struct tb_job *job,
		struct tb_err *err)
{
	struct hashing h = { .h = files, .job = job, .workers = tb_pool_size(pool) };
	enum tb_status status = TB_OK;

	h.width = streams_each(h.workers);
	pthread_mutex_init(&h.lock, NULL);
	pthread_cond_init(&h.freed, NULL);
	if (fill_queues(&h))
		tb_pool_each(pool, h.workers, hash_files, &h);
	else
		status = tb_nomem(err);
	for (size_t i = 0; i < h.nqueues; i++)
		free(h.queues[i].files);
	free(h.queues);
	pthread_cond_destroy(&h.freed);
	pthread_mutex_destroy(&h.lock);
	return status ? status : tb_job_check(job, err);
}
