/* fetch_load.c - a part, from its first byte to its last, whatever breaks between them. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/net/patience.h"
#include "src/ops/fetch/fetch_parts.h"

#define NOTE_EVERY (64u << 10)		/* bytes that a kill may cost in a part */
#define WINDOW 1.0			/* seconds that a rate is measured over */
#define SLOW_PART 10			/* of the others' median */
#define SLOW_MAX 5u			/* times that an item is begun anew for it */
#define SLOW_OTHERS 2u			/* that must have a rate, before one is called slow */
#define PROGRESS 4096u			/* bytes: after less a try counts as in vain */

struct fetch_pace fetch_pace = { .slow = 5, .busy = 0.2 };

struct fetch_sink {
	struct fetch_worker *w;
	struct fetch_file *file;
	struct fetch_part *part;
	uint64_t skip;			/* that come before what is missing */
	uint64_t noted;			/* of part->got, on the disk */
	bool said, may, slow;
	unsigned after;
	enum tb_status status;		/* what is wrong on this side */
	double window;			/* when the rate was last measured */
	double began;
	uint64_t got, window_got;
};

void
fetch_whole(struct fetch_sink *s)
{
	if (!s->file->stream)
		atomic_store(&s->file->whole, true);
	s->skip = s->part->off + s->part->got;
}

void
fetch_retry(struct fetch_sink *s, bool may, unsigned after)
{
	s->said = true;
	s->may = may;
	s->after = after;
}

static int
by_rate(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t
rate_of(uint64_t bytes, double seconds)
{
	return (uint64_t)((double)bytes / (seconds > 1e-6 ? seconds : 1e-6)) + 1;
}

/* What the others make, or made before they ended; 0: too few have. */
static uint64_t
median_of_others(const struct fetch_worker *w)
{
	const struct fetch *f = w->f;
	uint64_t rates[FETCH_STREAMS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < f->nworkers; i++) {
		uint64_t rate = atomic_load(&f->workers[i].rate);

		if (i != w->n && rate)
			rates[n++] = rate;
	}
	if (n < SLOW_OTHERS)
		return 0;
	qsort(rates, n, sizeof(*rates), by_rate);
	return rates[n / 2];
}

/* Measures, and says whether it crawls while others run. */
static bool
crawls(struct fetch_sink *s, size_t n)
{
	double now = tb_monotonic(), span = now - s->window;
	uint64_t rate, others;

	s->got += n;
	s->window_got += n;
	if (span < WINDOW && span < fetch_pace.slow)
		return false;
	rate = rate_of(s->window_got, span);
	s->window = now;
	s->window_got = 0;
	others = now - s->began < fetch_pace.slow || s->file->slow >= SLOW_MAX ? 0
		 : median_of_others(s->w);
	if (rate < others / SLOW_PART)
		return true;
	atomic_store(&s->w->rate, rate);
	return false;
}

static enum tb_status
write_piece(struct fetch_sink *s, const char *p, size_t n, struct tb_err *err)
{
	struct fetch_file *file = s->file;
	struct fetch_part *part = s->part;

	while (n) {
		ssize_t put = pwrite(file->fd, p, n, (off_t)(part->off + part->got));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fetch_write_failed(s->w->f, file, err);
		if (file->stream) {
			tb_sha256_add(&file->hash, p, (size_t)put);
			file->hashed += (uint64_t)put;
		}
		part->got += (uint64_t)put;
		atomic_fetch_add(&file->got, (uint64_t)put);
		p += put;
		n -= (size_t)put;
	}
	if (part->got - s->noted >= NOTE_EVERY) {
		fetch_file_note(file, part);
		s->noted = part->got;
	}
	return TB_OK;
}

static enum tb_status
sink_piece(struct fetch_sink *s, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct fetch_file *file = s->file;
	uint64_t left = s->part->len - s->part->got, skip = s->skip < n ? s->skip : n;

	atomic_fetch_add(&s->w->f->moved, n);
	if (tb_job_cancelled(s->w->f->job))
		return tb_job_check(s->w->f->job, err);
	if (atomic_load(&file->whole) && !file->stream)
		return tb_fail(err, TB_EIO, "the server knows no ranges");
	if (crawls(s, n)) {
		s->slow = true;
		return tb_fail(err, TB_EIO, "slower than a tenth of the others");
	}
	s->skip -= skip;
	if (n - skip > left)
		return tb_fail(err, TB_EFORMAT, "more comes than the %ju bytes that it should have",
			       (uintmax_t)file->it.size);
	*enough = false;
	return write_piece(s, p + skip, n - (size_t)skip, err);
}

enum tb_status
fetch_put(void *sink, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct fetch_sink *s = sink;

	if (!s->status)
		s->status = sink_piece(s, p, n, enough, err);
	return s->status;
}

static void
say(struct fetch *f, struct fetch_file *file, enum fetch_state state, const char *why)
{
	pthread_mutex_lock(&f->lock);
	file->state = state;
	snprintf(file->why, sizeof(file->why), "%s", why);
	pthread_mutex_unlock(&f->lock);
}

/* One request; TB_OK: the part is complete. */
static enum tb_status
ask_once(struct http *h, struct fetch_sink *s, struct tb_err *err)
{
	struct fetch *f = s->w->f;
	struct fetch_part *p = s->part;
	uint64_t missing = p->len - p->got;
	enum tb_status status;

	s->began = s->window = tb_monotonic();
	s->noted = p->got;
	status = f->source.get(f->source.arg, h, &s->file->it, p->off + p->got, missing, s, f->job,
			       err);
	if (s->noted != p->got)
		fetch_file_note(s->file, p);
	if (s->got == s->window_got && s->got >= PROGRESS)	/* too short for the window */
		atomic_store(&s->w->rate, rate_of(s->got, tb_monotonic() - s->began));
	if (s->status)
		return s->status;
	if (p->got == p->len)
		return TB_OK;		/* whatever came behind it */
	return status ? status : tb_fail(err, TB_EIO, "the answer ended %ju bytes too early",
					 (uintmax_t)(p->len - p->got));
}

/* A connection that failed, or crawled, is not used again. */
static enum tb_status
reconnect(struct http **h, struct tb_err *err)
{
	http_free(*h);
	*h = NULL;
	return http_new(h, err);
}

enum tb_status
fetch_load(struct fetch_worker *w, struct http **h, struct fetch_file *file, struct fetch_part *p,
	   struct tb_err *err)
{
	struct patience patience = { .kind = PATIENCE_BYTES };
	enum tb_status status = TB_OK;

	while (p->got < p->len) {
		struct fetch_sink s = { .w = w, .file = file, .part = p };
		struct http_fate fate = { .again = true };
		uint64_t before = p->got;
		double seconds;

		say(w->f, file, FETCH_LOADING, "");
		status = ask_once(*h, &s, err);
		if (!status || status == TB_ECANCEL || tb_job_cancelled(w->f->job) ||
		    (atomic_load(&file->whole) && !file->stream))
			return status;
		if (s.status ? s.status != TB_EIO || !s.slow : s.said ? !s.may : status != TB_EIO)
			return status;
		if (s.slow)
			file->slow++;
		if (p->got - before >= PROGRESS)
			patience.tries = 0;
		fate.retry_after = s.after;
		if (!patience_left(&patience, &fate, &seconds))
			return patience.tries > 1 ? tb_wrap(err, status, "tried %u times", patience.tries)
						  : status;
		say(w->f, file, FETCH_AGAIN, err->msg);
		status = reconnect(h, err);
		if (!status && !s.slow)
			status = patience_wait(seconds, w->f->job, err);
		if (status)
			return status;
	}
	return TB_OK;
}
