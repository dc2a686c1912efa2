#include "config.h"

#include "src/ops/convert/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/ops/convert/dest.h"

#define WAITS 200		/* of 50 ms */
#define WORK_NAME_MAX 96

enum tb_status
work_init(struct work *w, const struct plan *p, bool digests, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*w = (struct work){ .plan = p, .files = tb_calloc(p->nblobs, sizeof(*w->files)),
			    .lock = -1, .digests = digests };
	if (!w->files)
		return tb_nomem(err);
	for (size_t i = 0; i < p->nblobs && !status; i++) {
		struct tb_buf head = TB_BUF(ST_HEADER_MAX + 16u);
		struct placed *placed = NULL;
		size_t n;

		/* A GGUF's head is known when its keys are; its size follows. */
		if (p->dest == PLAN_TO_GGUF)
			w->files[i].size = p->blobs[i].bytes;
		else
			status = blob_layout(p, i, &head, &placed, &n, &w->files[i].size, err);
		w->files[i].ours = true;
		free(placed);
		tb_buf_free(&head);
	}
	return status;
}

void
work_free(struct work *w)
{
	if (w->lock >= 0)
		close(w->lock);
	free(w->files);
	free(w->dir);
	*w = (struct work){ .lock = -1 };
}

static const char *
file_name(const struct work *w, size_t i, char out[WORK_NAME_MAX])
{
	char shard[64];

	if (w->digests)
		snprintf(out, WORK_NAME_MAX, "%06zu-%s", i, w->files[i].digest + strlen("sha256:"));
	else
		snprintf(out, WORK_NAME_MAX, "%s", shard_name(w->plan, i, shard));
	return out;
}

char *
work_path(const struct work *w, size_t i)
{
	char name[WORK_NAME_MAX];

	return tb_path_join(w->dir, file_name(w, i, name));
}

/* Which file the name of a finished one says; false: it is none. */
static bool
parse_name(const struct work *w, const char *name, size_t *i, char digest[TB_DIGEST_MAX])
{
	uint8_t bytes[TB_SHA256_LEN];
	char again[WORK_NAME_MAX], shard[64], *end;
	unsigned long long n;

	*digest = 0;
	if (!w->digests) {
		for (*i = 0; *i < w->plan->nblobs; (*i)++)
			if (!strcmp(name, shard_name(w->plan, *i, shard)))
				return true;
		return false;
	}
	n = strtoull(name, &end, 10);
	if (*end != '-' || n >= w->plan->nblobs)
		return false;
	*i = (size_t)n;
	snprintf(digest, TB_DIGEST_MAX, "sha256:%s", end + 1);
	snprintf(again, sizeof(again), "%06zu%s", *i, end);
	return tb_digest_bytes(digest, bytes) && !strcmp(again, name);
}

/* Two files that should be one and differ: one of them is wrong, nobody knows which. */
static void
take_both(struct work *w, size_t i, const char *second)
{
	char *first = work_path(w, i);

	if (first)
		unlink(first);
	unlink(second);
	free(first);
	w->files[i].there = false;
	*w->files[i].digest = 0;
}

/* The size of a regular file; whatever else has its name was put there by nobody of us. */
static bool
file_size(const char *path, uint64_t *size)
{
	struct stat st;

	if (lstat(path, &st))
		return false;
	*size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX;
	return true;
}

static enum tb_status
find_finished(struct work *w, struct tb_err *err)
{
	struct tb_names names;
	enum tb_status status = tb_names_read(&names, w->dir, err);

	for (size_t k = 0; k < names.n && !status; k++) {
		char *path = tb_path_join(w->dir, names.v[k]), digest[TB_DIGEST_MAX];
		uint64_t size;
		size_t i;

		if (!path)
			status = tb_nomem(err);
		else if (!parse_name(w, names.v[k], &i, digest) || !file_size(path, &size))
			;			/* none */
		else if (size != w->files[i].size) {
			unlink(path);		/* somebody has cut it */
		} else if (w->files[i].there) {
			take_both(w, i, path);
		} else {
			memcpy(w->files[i].digest, digest, sizeof(digest));
			w->files[i].there = true;
		}
		free(path);
	}
	tb_names_free(&names);
	return status;
}

/* 0, or why not.  A file system without locks gives none, which is no failure. */
static int
try_lock(struct work *w, bool alone)
{
	struct stat here, there;
	int fd = w->lock >= 0 ? w->lock
		 : open(w->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why = 0;

	if (fd < 0)
		return errno;
	if (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB))
		why = errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
	else if (fstat(fd, &here) || lstat(w->dir, &there) || here.st_ino != there.st_ino)
		why = ESTALE;		/* it has been renamed, or taken away, meanwhile */
	else
		w->alone = alone;
	if (why && fd != w->lock)
		close(fd);
	else
		w->lock = fd;
	return why;
}

/* Alone from here on, if nobody else is there. */
static void
be_alone(struct work *w)
{
	if (!w->alone && !try_lock(w, true))
		w->alone = true;
}

static enum tb_status
make_passing(struct work *w, const char *parent, struct tb_err *err)
{
	char *inside = tb_path_join(parent, "x");
	enum tb_status status;
	int why = ESTALE;

	for (int tries = 0; inside && tries < 10 && why; tries++) {
		free(w->dir);
		w->dir = tb_hidden_beside(inside);
		status = w->dir ? tb_mkdirs(w->dir, err) : tb_nomem(err);
		if (status) {
			free(inside);
			return status;
		}
		why = try_lock(w, true);	/* somebody who sweeps may be quicker */
	}
	free(inside);
	w->alone = w->passing = true;
	return why ? tb_fail(err, TB_EIO, "%s: cannot be locked", w->dir) : TB_OK;
}

static enum tb_status
lock_it(struct work *w, const char *parent, enum work_want want, struct tb_err *err)
{
	int why = EWOULDBLOCK;

	for (int tries = 0; tries < WAITS && why; tries++) {
		enum tb_status status = tb_mkdirs(w->dir, err);

		if (status)
			return status;
		why = try_lock(w, want != WORK_SHARED);
		if (why == EWOULDBLOCK && want == WORK_ALONE_OR_PASSING)
			return make_passing(w, parent, err);
		if (why == EWOULDBLOCK)
			nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		else if (why && why != ESTALE && why != ENOENT)
			break;
	}
	errno = why;
	if (why == EWOULDBLOCK)
		return tb_fail(err, TB_EIO, "%s: somebody else still writes there; try again when it "
			       "has ended", w->dir);
	if (why)
		return tb_fail_errno(err, "%s: cannot be opened", w->dir);
	w->alone |= want != WORK_SHARED;
	return TB_OK;
}

enum tb_status
work_open(struct work *w, const char *parent, enum work_want want, struct tb_err *err)
{
	char key[WORK_KEY_MAX];
	enum tb_status status;

	if (want == WORK_PASSING)
		return make_passing(w, parent, err);
	status = work_key(w->plan, key, err);
	if (status)
		return status;
	w->dir = tb_asprintf("%s/" TB_WORK_PREFIX "%s", parent, key);
	status = w->dir ? lock_it(w, parent, want, err) : tb_nomem(err);
	if (!status)
		tb_out_sweep(w->dir);
	return status ? status : find_finished(w, err);
}

void
work_clean(struct work *w, bool made)
{
	char digest[TB_DIGEST_MAX];
	struct tb_names names;
	size_t i;

	if (!w->dir || (!w->alone && !w->done) || tb_names_read(&names, w->dir, NULL))
		return;
	for (size_t k = 0; k < names.n; k++) {
		char *path = tb_path_join(w->dir, names.v[k]);
		bool file = parse_name(w, names.v[k], &i, digest);
		/* what we do not know of others may have finished since we looked */
		bool goes = file ? w->done || (made && w->files[i].made) : w->alone;

		if (path && goes)
			unlink(path);
		free(path);
	}
	tb_names_free(&names);
}

void
work_end(struct work *w, bool made)
{
	if (!w->dir)
		return;
	/* Before the lock is asked for, and perhaps lost: who gets it must find nothing of
	 * ours, or nobody takes the folder away. */
	if (w->done)
		work_clean(w, made);
	be_alone(w);
	work_clean(w, made);
	if (w->alone)
		rmdir(w->dir);
}

static void
sweep_one(const char *dir)
{
	const struct plan none = { 0 };
	struct work left = { .plan = &none, .dir = tb_strdup(dir), .lock = -1 };

	if (left.dir && !try_lock(&left, true) && left.alone) {
		work_clean(&left, true);
		rmdir(dir);
	}
	work_free(&left);
}

void
work_sweep(const char *parent)
{
	struct tb_names names;

	(void)!tb_names_read(&names, parent, NULL);
	for (size_t i = 0; i < names.n; i++) {
		char *path = tb_is_temporary(names.v[i]) ? tb_path_join(parent, names.v[i]) : NULL;

		if (path)
			sweep_one(path);
		free(path);
	}
	tb_names_free(&names);
}

void
work_distrust(struct work *w)
{
	for (size_t i = 0; i < w->plan->nblobs; i++)
		w->files[i].made |= w->files[i].there;
}

struct share { uint64_t size; size_t i; };

static int
larger_first(const void *va, const void *vb)
{
	const struct share *a = va, *b = vb;

	if (a->size != b->size)
		return a->size < b->size ? 1 : -1;
	return (a->i > b->i) - (a->i < b->i);
}

/* The largest first, each to who has least so far. */
enum tb_status
work_share(struct work *w, size_t part, size_t n, struct tb_err *err)
{
	size_t count = w->plan->nblobs;
	struct share *order = tb_calloc(count, sizeof(*order));
	uint64_t *load = tb_calloc(n, sizeof(*load));

	for (size_t i = 0; order && load && i < count; i++)
		order[i] = (struct share){ w->files[i].size, i };
	if (order && load)
		qsort(order, count, sizeof(*order), larger_first);
	for (size_t i = 0; order && load && i < count; i++) {
		size_t least = 0;

		for (size_t k = 1; k < n; k++)
			if (load[k] < load[least])
				least = k;
		load[least] += order[i].size;
		w->files[order[i].i].ours = least + 1 == part;
	}
	if (!order || !load) {
		free(order);
		free(load);
		return tb_nomem(err);
	}
	free(order);
	free(load);
	return TB_OK;
}

void
work_sums(const struct work *w, struct work_sum *there, struct work_sum *missing)
{
	*there = *missing = (struct work_sum){ 0 };
	for (size_t i = 0; i < w->plan->nblobs; i++) {
		const struct work_file *f = &w->files[i];
		struct work_sum *s = f->there ? there : f->reused ? NULL : missing;

		if (!s)
			continue;
		s->files++;
		s->tensors += w->plan->blobs[i].tensors;
		s->bytes += f->size;
	}
}
