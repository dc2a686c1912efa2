/* look_read.c - what is there of the mirror's files, and what is fetched when somebody reads the
 * rest. */
#include "config.h"

#include "src/ops/look/look_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/net/patience.h"

#define PART (UINT64_C(4) << 20)	/* of a long stretch: a request */

/* ---- what is there (under the lock) ---- */

static uint64_t
there(const struct look_file *f, uint64_t off)
{
	size_t at = TB_FIRST(f->n, i, f->v[i].to <= off);

	if (f->here)
		return f->size - off;
	return at < f->n && f->v[at].from <= off ? f->v[at].to - off : 0;
}

/* The first hole in [from, to). */
static bool
next_hole(const struct look_file *f, uint64_t from, uint64_t to, struct stretch *out)
{
	size_t at;

	from += there(f, from);
	if (from >= to)
		return false;
	at = TB_FIRST(f->n, i, f->v[i].from <= from);
	*out = (struct stretch){ from, at < f->n && f->v[at].from < to ? f->v[at].from : to };
	return true;
}

static uint64_t
lacks(const struct look_file *f, uint64_t off, uint64_t len)
{
	uint64_t end = off + len, n = 0;
	struct stretch hole;

	for (uint64_t at = off; at < end && next_hole(f, at, end, &hole); at = hole.to)
		n += hole.to - hole.from;
	return n;
}

/* [from, to) is a hole so far. */
static enum tb_status
filled(struct look_file *f, uint64_t from, uint64_t to, struct tb_err *err)
{
	size_t at = TB_FIRST(f->n, i, f->v[i].to < from), end = at;

	if (!tb_grow(&f->v, &f->cap, f->n + 1, sizeof(*f->v)))
		return tb_nomem(err);
	while (end < f->n && f->v[end].from <= to) {	/* they touch */
		from = f->v[end].from < from ? f->v[end].from : from;
		to = f->v[end].to > to ? f->v[end].to : to;
		end++;
	}
	memmove(&f->v[at + 1], &f->v[end], (f->n - end) * sizeof(*f->v));
	f->v[at] = (struct stretch){ from, to };
	f->n = f->n + 1 - (end - at);
	return TB_OK;
}

uint64_t
look_file_there(void *file, uint64_t off, uint64_t len)
{
	struct look_file *f = file;
	uint64_t n;

	pthread_mutex_lock(&f->look->lock);
	n = there(f, off);
	pthread_mutex_unlock(&f->look->lock);
	return n < len ? n : len;
}

/* ---- a hole is filled ---- */

struct filling {
	struct look_file *f;
	struct tb_job *job;
	int fd;
	uint64_t at, end;
};

static enum tb_status
fill_bytes(struct filling *s, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct look *l = s->f->look;

	n = n < s->end - s->at ? n : (size_t)(s->end - s->at);
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(s->fd, p + done, n - done, (off_t)(s->at + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return tb_fail_errno(err, "%s: no room for what is looked at", l->dir);
		done += (size_t)put;
	}
	s->at += n;
	*enough = s->at == s->end;
	tb_job_step(s->job, n, 0);
	return TB_OK;
}

static enum tb_status
fill_piece(void *arg, const char *p, size_t n, bool *enough, struct tb_err *err)
{
	struct filling *s = arg;
	struct look *l = s->f->look;

	pthread_mutex_lock(&l->lock);
	l->moved += n;
	pthread_mutex_unlock(&l->lock);
	return fill_bytes(s, p, n, enough, err);
}

static enum tb_status
take_http(struct look *l, struct http **out, struct tb_err *err)
{
	pthread_mutex_lock(&l->lock);
	*out = l->nhttp ? l->http[--l->nhttp] : NULL;
	pthread_mutex_unlock(&l->lock);
	return *out ? TB_OK : http_new(out, err);
}

static void
give_http(struct look *l, struct http *h)
{
	bool kept;

	pthread_mutex_lock(&l->lock);
	kept = tb_grow(&l->http, &l->http_cap, l->nhttp + 1, sizeof(struct http *));
	if (kept)
		l->http[l->nhttp++] = h;
	pthread_mutex_unlock(&l->lock);
	if (!kept)
		http_free(h);
}

/* The same from what is here. */
static enum tb_status
copy_piece(struct filling *s, struct tb_err *err)
{
	static const size_t piece = 1u << 16;
	char *buf = malloc(piece);
	struct tb_file from = { .fd = -1 };
	enum tb_status status = buf ? tb_file_open(&from, s->f->copy, err) : tb_nomem(err);
	bool enough = false;

	while (!status && s->at < s->end) {
		size_t n = s->end - s->at < piece ? (size_t)(s->end - s->at) : piece;

		status = tb_file_read(&from, s->at, buf, n, err);
		if (!status)
			status = fill_bytes(s, buf, n, &enough, err);
	}
	tb_file_close(&from);
	free(buf);
	return status;
}

static enum tb_status
ask_source(struct filling *s, struct tb_err *err)
{
	struct look *l = s->f->look;
	struct patience patience = { .kind = PATIENCE_SMALL };
	struct http_fate fate = { 0 };
	struct http *h;
	enum tb_status status = take_http(l, &h, err);

	while (!status && s->at < s->end) {
		uint64_t was = s->at;
		double seconds;

		status = l->source.get(l->source.arg, h, s->f, s->at, s->end - s->at, fill_piece, s,
				       s->job, &fate, err);
		if (!status && s->at < s->end)
			status = tb_fail(err, TB_EIO, "%s: %s: bytes %ju to %ju did not come",
					 look_host(l), s->f->name, (uintmax_t)s->at,
					 (uintmax_t)s->end);
		if (s->at > was)
			patience.tries = 0;
		if (!status || !patience_left(&patience, &fate, &seconds))
			break;
		status = patience_wait(seconds, s->job, err);
	}
	if (h)
		give_http(l, h);
	return status;
}

/* A small file has the bytes that its digest says, or none. */
static enum tb_status
check_whole(const struct look_file *f, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct tb_file file;
	enum tb_status status = tb_file_open(&file, f->path, err);

	if (status)
		return status;
	file.partial = NULL;		/* it is all there, which nobody else is to know yet */
	status = tb_starts(f->digest, "gitsha1:") ? tb_gitsha1_file(&file, NULL, digest, err)
						  : tb_sha256_file(&file, NULL, NULL, digest, err);
	tb_file_close(&file);
	if (!status && strcmp(digest, f->digest) != 0)
		status = tb_fail(err, TB_EFORMAT, "%s: %s sends other bytes than its digest says",
				 f->name, look_host(f->look));
	return status;
}

static enum tb_status
fill_hole(struct look_file *f, struct stretch hole, struct tb_job *job, struct tb_err *err)
{
	struct filling s = { .f = f, .job = job, .at = hole.from, .end = hole.to };
	enum tb_status status = TB_OK, kept;

	s.fd = open(f->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (s.fd < 0)
		return tb_fail_errno(err, "%s", f->path);
	status = f->copy ? copy_piece(&s, err) : ask_source(&s, err);
	close(s.fd);
	if (!status && f->whole)
		status = check_whole(f, err);
	if (s.at == hole.from || (status && f->whole))
		return status;
	pthread_mutex_lock(&f->look->lock);
	kept = filled(f, hole.from, s.at, status ? NULL : err);
	pthread_mutex_unlock(&f->look->lock);
	return status ? status : kept;
}

/* ---- who reads waits ---- */

/* May so much more come?  Under the lock. */
static enum tb_status
may(struct look *l, const struct look_file *f, uint64_t n, struct tb_err *err)
{
	char free_bytes[16], bytes[16];

	if (f->copy)
		return TB_OK;
	if (l->planned + n <= l->allowed) {
		l->planned += n;
		return TB_OK;
	}
	return tb_fail(err, TB_EUSAGE, "%s: %s more would come from %s; more than %s in all is to be"
		       " allowed (--yes)", f->name, tb_human_bytes(n, bytes), look_host(l),
		       tb_human_bytes(LOOK_FREE, free_bytes));
}

/* What is fetched at once where those bytes are needed. */
static void
want_more(struct look_file *f, struct stretch *want)
{
	const struct look *l = f->look;
	uint64_t n;

	if (f->whole) {
		*want = (struct stretch){ 0, f->size };
		return;
	}
	if (!l->heads || (f->n && !f->ahead))
		return;
	/* The first time as much as headers had so far; one that does not say how long it is goes
	 * on and on. */
	n = f->n ? f->ahead : l->header;
	if (want->to - want->from < n)
		want->to = n < f->size - want->from ? want->from + n : f->size;
	if (f->n && f->ahead < PART)
		f->ahead *= 2;
}

/* Nobody else fetches any of it; false: it is there already. */
static bool
look_enter(struct look_file *f, const struct stretch *want)
{
	struct stretch hole;

	while (next_hole(f, want->from, want->to, &hole) && f->busy)
		pthread_cond_wait(&f->look->idle, &f->look->lock);
	f->busy = next_hole(f, want->from, want->to, &hole);
	return f->busy;
}

static void
look_leave(struct look_file *f, enum tb_status status, const struct tb_err *why)
{
	struct look *l = f->look;

	pthread_mutex_lock(&l->lock);
	f->busy = false;
	/* what is wrong with the model itself is told as its problem */
	if (status && !l->failed.code && status != TB_EFORMAT && status != TB_ENOENT)
		l->failed = *why;
	pthread_cond_broadcast(&l->idle);
	pthread_mutex_unlock(&l->lock);
}

enum tb_status
look_file_need(void *file, uint64_t off, uint64_t len, struct tb_err *err)
{
	struct look_file *f = file;
	struct look *l = f->look;
	struct stretch want = { off, off + len }, hole;
	struct tb_err why = { 0 };
	enum tb_status status;
	struct tb_job *job;

	pthread_mutex_lock(&l->lock);
	if (!look_enter(f, &want)) {
		pthread_mutex_unlock(&l->lock);
		return TB_OK;
	}
	want_more(f, &want);
	job = l->job;
	status = may(l, f, lacks(f, want.from, want.to - want.from), &why);
	pthread_mutex_unlock(&l->lock);
	for (uint64_t at = want.from; !status && at < want.to; at = hole.to) {
		bool more;

		pthread_mutex_lock(&l->lock);
		more = next_hole(f, at, want.to, &hole);
		pthread_mutex_unlock(&l->lock);
		if (!more)
			break;
		status = fill_hole(f, hole, job, &why);
	}
	look_leave(f, status, &why);
	return status ? tb_pass(err, &why) : TB_OK;
}

/* ---- asked for ---- */

uint64_t
look_lacks(struct look *l, const char *path, uint64_t off, uint64_t len)
{
	const struct look_file *f = mirror_find(l, path);
	uint64_t n;

	if (!f || f->copy || off > f->size)
		return 0;
	pthread_mutex_lock(&l->lock);
	n = lacks(f, off, len < f->size - off ? len : f->size - off);
	pthread_mutex_unlock(&l->lock);
	return n;
}

struct parts { struct look_file *f; struct stretch want; struct tb_job *job; };

static enum tb_status
fill_part(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	const struct parts *p = arg;
	uint64_t from = p->want.from + i * PART;
	uint64_t to = p->want.to - from > PART ? from + PART : p->want.to;
	struct look *l = p->f->look;
	enum tb_status status = TB_OK;
	struct stretch hole;

	(void)worker;
	while (!status && from < to) {
		bool more;

		pthread_mutex_lock(&l->lock);
		more = next_hole(p->f, from, to, &hole);
		pthread_mutex_unlock(&l->lock);
		if (!more)
			break;
		status = fill_hole(p->f, hole, p->job, err);
		from = hole.to;
	}
	return status;
}

enum tb_status
look_need(struct look *l, const char *path, uint64_t off, uint64_t len, struct tb_job *job,
	  struct tb_err *err)
{
	struct look_file *f = mirror_find(l, path);
	struct parts p = { f, { off, off + len }, job };
	struct tb_err why = { 0 };
	enum tb_status status;

	if (!f || off > f->size || len > f->size - off)
		return tb_fail(err, TB_EFORMAT, "%s: %ju bytes at %ju lie outside the file", path,
			       (uintmax_t)len, (uintmax_t)off);
	if (f->whole)
		return look_file_need(f, off, len, err);
	pthread_mutex_lock(&l->lock);
	if (!look_enter(f, &p.want)) {
		pthread_mutex_unlock(&l->lock);
		return TB_OK;
	}
	status = may(l, f, lacks(f, off, len), &why);
	pthread_mutex_unlock(&l->lock);
	if (!status)
		status = tb_pool_try(l->streams, (size_t)((len + PART - 1) / PART), fill_part, &p, job,
				     &why);
	look_leave(f, status, &why);
	return status ? tb_pass(err, &why) : TB_OK;
}
