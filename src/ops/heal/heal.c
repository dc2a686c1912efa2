/* heal.c - does what a plan says: makes each file beside, looks at what it has become, and
 * puts it in place. */
#include "config.h"

#include "src/ops/heal/heal_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/ops/output/output.h"
#include "src/store/journal.h"

#define PIECE (1u << 20)

/* The items of one store, in one operation. */
struct healing {
	struct op_ctx *ctx;
	struct heal_plan *plan;
	struct tb_job *job;
	size_t first, end;		/* of by_store */
	struct heal_item **by_store;	/* owned */
	struct journal j;
	unsigned *slots;		/* owned; of each item that is staged */
	bool *staged;			/* owned */
};

static enum tb_status
item_fails(struct healing *h, struct heal_item *item, enum tb_status status,
	   const struct tb_err *why, struct tb_err *err)
{
	if (status == TB_ENOMEM || status == TB_ECANCEL)
		return tb_pass(err, why);
	item->why = tb_arena_str(&h->plan->mem, why->msg);
	return item->why ? TB_OK : tb_nomem(err);
}

/* ---- the new file ---- */

/* The file system can let two files have the same bytes once, until one is written. */
static bool
cloned(const struct heal_whole *w, const struct tb_out *o)
{
	return !w->n && ioctl(o->fd, FICLONE, w->base.fd) == 0;
}

static enum tb_status
copy(struct healing *h, const struct heal_whole *w, struct tb_out *o, struct tb_err *err)
{
	char *buf = malloc(PIECE);
	enum tb_status status = buf ? space_check(o->dir, w->size, err) : tb_nomem(err);

	for (uint64_t off = 0; !status && off < w->size; off += PIECE) {
		size_t n = w->size - off < PIECE ? (size_t)(w->size - off) : PIECE;

		status = tb_job_check(h->job, err);
		if (!status)
			status = heal_whole_read(w, off, buf, n, err);
		if (!status)
			status = tb_out_write(o, buf, n, err);
		tb_job_step(h->job, n, 0);
	}
	free(buf);
	return status;
}

/* Who could read the old one can read the new one; where nothing was, it is its folder's. */
static void
dress(const struct heal_item *item, int fd)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ item->time_ns / 1000000000, item->time_ns % 1000000000 },
	};
	char *parent = tb_path_parent(item->path);
	struct stat st;
	bool old = !stat(item->path, &st) && S_ISREG(st.st_mode);

	if (old)
		(void)!fchmod(fd, st.st_mode & 0777);
	if (geteuid() == 0 && (old || (parent && !stat(parent, &st))))
		(void)!fchown(fd, st.st_uid, st.st_gid);
	if (item->time_ns > 0)
		(void)!futimens(fd, times);
	free(parent);
}

static enum tb_status
make(struct healing *h, const struct heal_item *item, const char *to, struct tb_err *err)
{
	struct heal_whole w = { 0 };
	struct tb_out o = { .fd = -1 };
	enum tb_status status = heal_whole_open(&w, item->source ? item->source : item->path,
						item->size, item->patches, item->npatches, err);

	if (!status && item->source && w.base.id.size != item->size)
		status = tb_fail(err, TB_EIO, "%s: has another size than a moment ago; nothing was "
				 "taken from it", item->source);
	if (!status)
		status = tb_out_open(&o, h->j.dir, err);
	if (!status && cloned(&w, &o))
		tb_job_step(h->job, item->size, 0);
	else if (!status)
		status = copy(h, &w, &o, err);
	heal_whole_close(&w);
	if (status) {
		tb_out_abort(&o);
		return status;
	}
	dress(item, o.fd);
	return tb_out_commit(&o, to, false, err);
}

/* The same of what comes from a registry. */
static enum tb_status
load_far(struct healing *h, const struct heal_item *item, const char *to, struct tb_err *err)
{
	struct tb_out o = { .fd = -1 };
	enum tb_status status = tb_out_open(&o, h->j.dir, err);

	if (!status)
		status = space_check(o.dir, item->size, err);
	if (!status)
		status = heal_bring(item, &o, h->job, err);
	if (status) {
		tb_out_abort(&o);
		return status;
	}
	dress(item, o.fd);
	return tb_out_commit(&o, to, false, err);
}

/* What the source had while it was hashed and what was written are two things. */
static enum tb_status
check(struct healing *h, const struct heal_item *item, const char *made, struct tb_err *err)
{
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, made, err);
	bool good = false;

	if (status)
		return status;
	/* the disk is asked, not the memory of what was written */
	(void)!posix_fadvise(f.fd, 0, 0, POSIX_FADV_DONTNEED);
	status = heal_has_digest(&f, item->digest, h->job, &good, err);
	tb_file_close(&f);
	if (status || good)
		return status;
	if (item->remote)
		return tb_fail(err, TB_EIO, "%s: what came does not have the digest: it is damaged there,"
			       " too, or on its way; the old file stays", item->source);
	return tb_fail(err, TB_EIO, "%s: what was copied does not have the digest: it was written"
		       " meanwhile, or the disk fails; the old file stays",
		       item->source ? item->source : item->path);
}

static enum tb_status
stage(struct healing *h, size_t i, struct tb_err *err)
{
	struct heal_item *item = h->by_store[i];
	struct tb_err why;
	char *made = NULL;
	enum tb_status status = journal_stage(&h->j, &h->slots[i], &made, &why);

	tb_job_what(h->job, "%s", item->model);
	if (!status)
		status = item->remote ? load_far(h, item, made, &why) : make(h, item, made, &why);
	if (!status && (status = check(h, item, made, &why))) {
		journal_unstage(&h->j, h->slots[i]);
		if (status == TB_EIO && item->nranges) {	/* the sums were of other bytes */
			item->nranges = 0;
			free(made);
			return stage(h, i, err);
		}
	}
	h->staged[i] = !status;
	free(made);
	return status ? item_fails(h, item, status, &why, err) : TB_OK;
}

/* ---- into its place ---- */

/* Is there still what was looked at?  Somebody may have healed, or removed it. */
static enum tb_status
is_as_before(const struct heal_item *item, struct tb_err *err)
{
	struct tb_ident now = { 0 };
	enum tb_status status = tb_file_ident(item->path, &now, NULL);

	if (item->wrong == HEAL_MISSING && status == TB_ENOENT)
		return TB_OK;
	/* a folder or pipe, which has no identity and no bytes: the journal looks what it is */
	if (item->wrong == HEAL_UNREADABLE && status && status != TB_ENOENT)
		return TB_OK;
	if (!status && item->wrong != HEAL_MISSING && now.dev == item->was.dev &&
	    now.ino == item->was.ino && now.size == item->was.size &&
	    now.mtime_ns == item->was.mtime_ns)
		return TB_OK;
	return tb_fail(err, TB_EIO, "%s: somebody has changed it meanwhile; run heal again",
		       item->path);
}

static enum tb_status
add_step(struct healing *h, size_t i, struct tb_err *err)
{
	const struct heal_item *item = h->by_store[i];
	const struct journal_note note = { .model = item->model, .digest = item->digest,
					   .bytes = item->was.size };
	const char *path = item->path + strlen(item->store);
	enum tb_status status = is_as_before(item, err);

	while (*path == '/')
		path++;
	if (status)
		return status;
	return item->wrong == HEAL_MISSING ? journal_put(&h->j, h->slots[i], path, &note, err)
					   : journal_swap(&h->j, h->slots[i], path, &note, err);
}

static enum tb_status
put_in_place(struct healing *h, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status = store_lock_alone(&lock, h->by_store[h->first]->store, err);
	size_t steps = 0;

	if (!status)
		status = journal_recover(h->by_store[h->first]->store, &lock, NULL, err);
	for (size_t i = h->first; !status && i < h->end; i++) {
		enum tb_status step = TB_OK;
		struct tb_err why;

		if (h->staged[i] && (step = add_step(h, i, &why))) {
			journal_unstage(&h->j, h->slots[i]);
			h->staged[i] = false;
			status = item_fails(h, h->by_store[i], step, &why, err);
		}
		steps += h->staged[i];
	}
	if (!status && steps)
		status = journal_commit(&h->j, &lock, err);
	store_unlock(&lock);
	for (size_t i = h->first; tb_written(status) && i < h->end; i++)
		h->by_store[i]->done = h->staged[i];
	if (tb_written(status) && steps)
		h->plan->undo[h->plan->nundo++] = h->j.n;
	return status;
}

static uint64_t
last_number(const struct healing *h)
{
	uint64_t last = home_last_operation(h->ctx, h->by_store[h->first]->store);

	for (size_t i = 0; i < h->plan->nundo; i++)
		last = h->plan->undo[i] > last ? h->plan->undo[i] : last;
	return last;
}

static enum tb_status
heal_store(struct healing *h, struct tb_err *err)
{
	const struct heal_item *first = h->by_store[h->first];
	struct tb_err why;
	enum tb_status status, failed = TB_OK;
	char what[300];
	bool any = false;

	snprintf(what, sizeof(what), h->end - h->first > 1 ? "heal %.200s and others" : "heal %.200s",
		 first->model);
	status = journal_begin(&h->j, first->store, what, last_number(h), &why);
	for (size_t i = h->first; !status && i < h->end; i++) {
		status = stage(h, i, &why);
		any |= h->staged[i];
	}
	if (!status && any)
		status = put_in_place(h, &why);
	journal_free(&h->j);
	if (status == TB_ENOMEM || status == TB_ECANCEL)
		return tb_pass(err, &why);
	/* one store that cannot be written to does not stop the others */
	for (size_t i = h->first; status && !failed && i < h->end; i++)
		if (!h->by_store[i]->why && !h->by_store[i]->done)
			failed = item_fails(h, h->by_store[i], status, &why, err);
	return failed;
}

static int
by_store(const void *a, const void *b)
{
	const struct heal_item *x = *(struct heal_item *const *)a, *y = *(struct heal_item *const *)b;
	int d = strcmp(x->store, y->store);

	return d ? d : strcmp(x->path, y->path);
}

enum tb_status
op_heal(struct op_ctx *ctx, struct heal_plan *plan, struct tb_job *job, struct tb_err *err)
{
	struct healing h = { .ctx = ctx, .plan = plan, .job = job };
	double from = tb_monotonic();
	size_t n = 0;
	enum tb_status status = TB_OK;

	h.by_store = tb_calloc(plan->n + 1, sizeof(*h.by_store));
	h.slots = tb_calloc(plan->n + 1, sizeof(*h.slots));
	h.staged = tb_calloc(plan->n + 1, sizeof(*h.staged));
	plan->undo = tb_arena_get(&plan->mem, (plan->n + 1) * sizeof(*plan->undo));
	if (!h.by_store || !h.slots || !h.staged || !plan->undo)
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < plan->n; i++)
		if (!plan->items[i].why)
			h.by_store[n++] = &plan->items[i];
	tb_job_total(job, 2 * plan->write, n);
	if (n > 1)
		qsort(h.by_store, n, sizeof(*h.by_store), by_store);
	for (; !status && h.first < n; h.first = h.end) {
		for (h.end = h.first + 1; h.end < n &&
		     !strcmp(h.by_store[h.end]->store, h.by_store[h.first]->store); h.end++)
			;
		status = heal_store(&h, err);
	}
	free(h.by_store);
	free(h.slots);
	free(h.staged);
	plan->healed = plan->failed = 0;
	for (size_t i = 0; i < plan->n; i++) {
		plan->healed += plan->items[i].done;
		plan->failed += !plan->items[i].done;
	}
	plan->seconds += tb_monotonic() - from;
	return status;
}
