/* dedupe.c - does what a plan says. */
#include "config.h"

#include "src/ops/dedupe/dedupe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/journal.h"

#define RANGE (16u << 20)	/* the most that some file systems take at once */
#define EXTENTS 128

/* ---- where bytes are ---- */

struct extents { struct fiemap head; struct fiemap_extent v[EXTENTS]; };

static bool
map_extents(int fd, uint64_t from, struct extents *x)
{
	*x = (struct extents){ .head = { .fm_start = from, .fm_length = FIEMAP_MAX_OFFSET - from,
					 .fm_flags = FIEMAP_FLAG_SYNC,
					 .fm_extent_count = EXTENTS } };
	return ioctl(fd, FS_IOC_FIEMAP, x) == 0;
}

bool
dedupe_is_shared(int a, int b)
{
	struct extents *x = malloc(2 * sizeof(*x)), *y = x ? x + 1 : NULL;
	bool same = x != NULL, last = false;
	uint64_t at = 0;

	while (same && !last) {
		same = map_extents(a, at, x) && map_extents(b, at, y) &&
		       x->head.fm_mapped_extents == y->head.fm_mapped_extents &&
		       x->head.fm_mapped_extents > 0;
		for (uint32_t i = 0; same && i < x->head.fm_mapped_extents; i++) {
			const struct fiemap_extent *p = &x->v[i], *q = &y->v[i];

			same = p->fe_logical == q->fe_logical && p->fe_length == q->fe_length &&
			       p->fe_physical == q->fe_physical && p->fe_physical &&
			       !(p->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE));
			at = p->fe_logical + p->fe_length;
			last = p->fe_flags & FIEMAP_EXTENT_LAST;
		}
	}
	free(x);
	return same;
}

/* ---- doing it ---- */

struct deduping {
	struct op_ctx *ctx;
	struct dedupe_plan *plan;
	struct tb_job *job;
	struct dedupe_item **links;	/* owned: by store */
	size_t first, end;
	struct journal j;
};

static enum tb_status
item_fails(struct deduping *d, struct dedupe_item *item, enum tb_status status,
	   const struct tb_err *why, struct tb_err *err)
{
	if (status == TB_ENOMEM || status == TB_ECANCEL)
		return tb_pass(err, why);
	item->why = tb_arena_str(&d->plan->mem, why->msg);
	return item->why ? TB_OK : tb_nomem(err);
}

/* Its bytes are those that were compared as long as nothing of this has changed. */
static enum tb_status
is_as_before(const struct dedupe_file *f, bool links, struct tb_err *err)
{
	struct stat st;

	if (!lstat(f->path, &st) && S_ISREG(st.st_mode) && st.st_dev == f->dev &&
	    st.st_ino == f->ino && (uint64_t)st.st_size == f->size &&
	    st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec == f->mtime_ns &&
	    /* a name more, or less, is a change as well */
	    (links || st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec == f->ctime_ns))
		return TB_OK;
	return tb_fail(err, TB_EIO, "%s: somebody has changed it meanwhile; run dedupe again", f->path);
}

/* The kernel compares what it shares, with both files locked. */
static enum tb_status
share_bytes(struct deduping *d, const struct dedupe_item *item, int from, int to, struct tb_err *err)
{
	struct { struct file_dedupe_range head; struct file_dedupe_range_info one; } ask;
	enum tb_status status = TB_OK;

	for (uint64_t off = 0, n; !status && off < item->file.size; off += n) {
		n = item->file.size - off < RANGE ? item->file.size - off : RANGE;
		memset(&ask, 0, sizeof(ask));
		ask.head.src_offset = off;
		ask.head.src_length = n;
		ask.head.dest_count = 1;
		ask.one.dest_fd = to;
		ask.one.dest_offset = off;
		status = tb_job_check(d->job, err);
		if (!status && ioctl(from, FIDEDUPERANGE, &ask))
			status = tb_fail_errno(err, "%s: sharing its bytes", item->file.path);
		else if (!status && ask.one.status < 0)
			errno = -ask.one.status,
			status = tb_fail_errno(err, "%s: sharing its bytes", item->file.path);
		else if (!status && ask.one.status == FILE_DEDUPE_RANGE_DIFFERS)
			status = tb_fail(err, TB_EIO, "%s: was changed meanwhile", item->file.path);
		if (!status)
			n = ask.one.bytes_deduped ? ask.one.bytes_deduped : n;
		tb_job_step(d->job, n, 0);
	}
	return status;
}

static enum tb_status
reflink(struct deduping *d, struct dedupe_item *item, struct tb_err *err)
{
	struct tb_file a, b;
	struct tb_err why;
	enum tb_status status = tb_file_open(&a, item->keep.path, &why);

	tb_job_what(d->job, "%s", item->file.path);
	if (!status) {
		status = tb_file_open(&b, item->file.path, &why);
		if (!status)
			status = share_bytes(d, item, a.fd, b.fd, &why);
		tb_file_close(&b);
	}
	tb_file_close(&a);
	item->done = !status;
	return status ? item_fails(d, item, status, &why, err) : TB_OK;
}

/* ---- hard links, through the journal ---- */

/* The kept file under one name more, beside; then the two change places. */
static enum tb_status
add_link(struct deduping *d, struct dedupe_item *item, struct tb_err *err)
{
	const struct journal_note note = { .model = item->file.model, .digest = item->digest,
					   .bytes = item->bytes };
	const char *path = item->file.path + strlen(item->file.store);
	char *made = NULL;
	unsigned slot;
	enum tb_status status = is_as_before(&item->keep, true, err);

	while (*path == '/')
		path++;
	if (!status)
		status = is_as_before(&item->file, item->file.nlink > 1, err);
	if (!status)
		status = journal_stage(&d->j, &slot, &made, err);
	if (!status && link(item->keep.path, made))
		status = tb_fail_errno(err, "%s: a further name of %s", made, item->keep.path);
	if (!status && (status = journal_swap(&d->j, slot, path, &note, err)))
		journal_unstage(&d->j, slot);
	free(made);
	return status;
}

static uint64_t
last_number(const struct deduping *d)
{
	uint64_t last = home_last_operation(d->ctx, d->links[d->first]->file.store);

	for (size_t i = 0; i < d->plan->nundo; i++)
		last = d->plan->undo[i] > last ? d->plan->undo[i] : last;
	return last;
}

static enum tb_status
link_store(struct deduping *d, struct tb_err *err)
{
	const char *store = d->links[d->first]->file.store;
	struct store_lock lock = STORE_UNLOCKED;
	struct tb_err why = { 0 };
	enum tb_status status = journal_begin(&d->j, store, "dedupe", last_number(d), &why);
	enum tb_status failed = TB_OK;
	size_t steps = 0;

	if (!status)
		status = store_lock_alone(&lock, store, &why);
	if (!status)
		status = journal_recover(store, &lock, NULL, &why);
	for (size_t i = d->first; !status && !failed && i < d->end; i++) {
		struct tb_err one;
		enum tb_status step = add_link(d, d->links[i], &one);

		d->links[i]->done = !step;
		steps += !step;
		if (step)
			failed = item_fails(d, d->links[i], step, &one, err);
	}
	if (!status && !failed && steps)
		status = journal_commit(&d->j, &lock, &why);
	store_unlock(&lock);
	if (!failed && steps && tb_written(status))
		d->plan->undo[d->plan->nundo++] = d->j.n;
	journal_free(&d->j);
	for (size_t i = d->first; (status || failed) && i < d->end; i++) {
		struct dedupe_item *item = d->links[i];

		item->done &= status == TB_ESYNC && !failed;
		if (!failed && !item->why && status != TB_ESYNC)
			failed = item_fails(d, item, status, &why, err);
	}
	return failed;
}

static int
by_store(const void *a, const void *b)
{
	const struct dedupe_item *x = *(struct dedupe_item *const *)a;
	const struct dedupe_item *y = *(struct dedupe_item *const *)b;
	int d = strcmp(x->file.store, y->file.store);

	return d ? d : (x > y) - (x < y);
}

enum tb_status
op_dedupe(struct op_ctx *ctx, struct dedupe_plan *plan, struct tb_job *job, struct tb_err *err)
{
	struct deduping d = { .ctx = ctx, .plan = plan, .job = job };
	double from = tb_monotonic();
	enum tb_status status = TB_OK;
	size_t n = 0;

	d.links = tb_calloc(plan->n + 1, sizeof(*d.links));
	plan->undo = tb_arena_get(&plan->mem, (plan->n + 1) * sizeof(*plan->undo));
	if (!d.links || !plan->undo)
		status = tb_nomem(err);
	tb_job_total(job, plan->bytes - plan->link_bytes, 0);
	for (size_t i = 0; !status && i < plan->n; i++)
		if (!plan->items[i].why && plan->items[i].how == DEDUPE_REFLINK)
			status = reflink(&d, &plan->items[i], err);
		else if (!plan->items[i].why)
			d.links[n++] = &plan->items[i];
	if (n > 1)
		qsort(d.links, n, sizeof(*d.links), by_store);
	for (; !status && d.first < n; d.first = d.end) {
		for (d.end = d.first + 1; d.end < n && !strcmp(d.links[d.end]->file.store,
							       d.links[d.first]->file.store); d.end++)
			;
		status = link_store(&d, err);
	}
	free(d.links);
	for (size_t i = 0; i < plan->n; i++) {
		const struct dedupe_item *item = &plan->items[i];

		plan->done += item->done;
		*(item->how == DEDUPE_LINK ? &plan->held : &plan->freed) += item->done ? item->bytes : 0;
	}
	plan->seconds += tb_monotonic() - from;
	return status;
}
