/* tidy_undo.c - what was done, back again; and the quarantine. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/tidy/tidy_parts.h"

/* ---- their operations ---- */

static enum tb_status
ops_add(struct tidy_ops *out, const char *root, uint64_t n, struct tb_err *err)
{
	struct tb_err why;
	struct journal j;
	struct tidy_op o = { .root = tb_strdup(root), .n = n };
	enum tb_status status;

	if (!o.root || !tb_grow(&out->v, &out->cap, out->n + 1, sizeof(o))) {
		free(o.root);
		return tb_nomem(err);
	}
	status = journal_read(&j, root, n, &why);
	if (!status) {
		o.when_ns = j.when_ns;
		o.state = j.state;
		o.in_use = journal_in_use(&j);
		o.what = tb_strdup(j.what);
		status = journal_held(&j, &o.things, &o.bytes, &why);
		journal_free(&j);
	}
	if (!o.what)
		o.what = tb_strdup("");
	if (status)
		o.problem = tb_strdup(why.msg);
	out->v[out->n++] = o;
	return status == TB_ENOMEM || !o.what || (status && !o.problem) ? tb_nomem(err) : TB_OK;
}

/* One that cannot be looked into hides no other. */
static enum tb_status
ops_unread(struct tidy_ops *out, const char *root, const struct tb_err *why, struct tb_err *err)
{
	struct tidy_op o = { .root = tb_strdup(root), .what = tb_strdup(""),
			     .problem = tb_strdup(why->msg) };

	if (o.root && o.what && o.problem && tb_grow(&out->v, &out->cap, out->n + 1, sizeof(o))) {
		out->v[out->n++] = o;
		return TB_OK;
	}
	free(o.root);
	free(o.what);
	free(o.problem);
	return tb_nomem(err);
}

static int
last_first(const void *a, const void *b)
{
	const struct tidy_op *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->root, y->root);
}

enum tb_status
tidy_ops(struct op_ctx *ctx, struct tidy_ops *out, struct tb_err *err)
{
	struct tb_names stores;
	enum tb_status status = home_quarantines(ctx, &stores, err);

	*out = (struct tidy_ops){ 0 };
	for (size_t i = 0; i < stores.n && !status; i++) {
		struct tb_err why;
		uint64_t *numbers;
		size_t n;

		status = journal_list(stores.v[i], &numbers, &n, &why);
		if (status)
			status = status == TB_ENOMEM ? tb_pass(err, &why)
			       : ops_unread(out, stores.v[i], &why, err);
		for (size_t k = 0; k < n && !status; k++)
			status = ops_add(out, stores.v[i], numbers[k], err);
		free(numbers);
	}
	tb_names_free(&stores);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), last_first);
	if (status)
		tidy_ops_free(out);
	return status;
}

void
tidy_ops_free(struct tidy_ops *o)
{
	while (o->n) {
		struct tidy_op *op = &o->v[--o->n];

		free(op->root);
		free(op->what);
		free(op->problem);
	}
	free(o->v);
	*o = (struct tidy_ops){ 0 };
}

/* ---- undo ---- */

/* Taken, and deleted by who began to empty the operation: neither here nor there. */
static bool
is_gone(const struct journal *j, const struct journal_step *s)
{
	char *path = tb_path_join(j->root, s->path), *slot = journal_slot_path(j, s->slot);
	bool gone = path && slot && s->what == JOURNAL_TAKE && !tb_exists(path) && !tb_exists(slot);

	free(path);
	free(slot);
	return gone;
}

static enum tb_status
add_restored(struct tidy *out, const struct journal *j, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	out->undo = j->n;
	for (size_t i = 0; i < j->nsteps && !status; i++) {
		const struct journal_step *s = &j->steps[i];
		bool gone = is_gone(j, s);
		struct tidy_action a = { .what = TIDY_RESTORE, .model = tb_strdup(s->model),
			.path = tb_path_join(j->root, s->path), .size = s->old.size };

		memcpy(a.digest, s->digest, sizeof(a.digest));
		status = tidy_root(out, j->root, &a.root, err);
		if (gone)
			tidy_stays(out, TIDY_GONE, s->old.size);
		else if (!status && a.model && a.path && tb_grow(&out->v, &out->cap, out->n + 1,
								 sizeof(a))) {
			out->models += *a.model && !*a.digest;
			out->v[out->n++] = a;
			continue;
		}
		free(a.model);
		free(a.path);
		status = status || gone ? status : tb_nomem(err);
	}
	return status;
}

/* Of all stores that the command worked in. */
static void
tell_job(struct tidy *out, struct journal *j, struct tb_job *job)
{
	j->job = job;
	out->job_things += j->nsteps;
	for (size_t i = 0; i < j->nsteps; i++)
		out->job_bytes += j->steps[i].old.size;
	tb_job_total(job, out->job_bytes, out->job_things);
	tb_job_what(job, "%s", j->what);
}

static enum tb_status
undo_one(const char *root, uint64_t n, bool dry, struct tb_job *job, struct tidy *out,
	 struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j = { 0 };
	enum tb_status status = TB_OK;

	if (!dry)
		status = store_lock_alone(&lock, root, err);
	if (!status && !dry)
		status = journal_recover(root, &lock, NULL, err);
	if (!status)
		status = journal_read(&j, root, n, err);
	if (!status) {
		tell_job(out, &j, job);
		status = journal_undo_check(&j, err);
	}
	if (!status)
		status = tidy_needs(&j, err);
	if (!status && !dry)
		status = journal_undo(&j, &lock, err);
	if (tb_written(status)) {
		enum tb_status late = add_restored(out, &j, err);

		out->done = !dry;
		status = late ? late : status;
	}
	journal_free(&j);
	store_unlock(&lock);
	return status;
}

bool
tidy_op_same(const struct tidy_op *a, const struct tidy_op *b)
{
	int64_t apart = a->when_ns - b->when_ns;

	return a->n == b->n && !strcmp(a->what, b->what) && apart < INT64_C(60000000000) &&
	       apart > -INT64_C(60000000000);
}

bool
tidy_op_killed(const struct tidy_op *o)
{
	return !o->in_use && !o->problem && o->state != JOURNAL_DONE && o->state != JOURNAL_UNDONE;
}

static enum tb_status
recover_store(const char *root, struct tidy *out, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	size_t dealt = 0;
	enum tb_status status = store_lock_alone(&lock, root, err);

	if (!status)
		status = journal_recover(root, &lock, &dealt, err);
	out->recovered += dealt;
	store_unlock(&lock);
	return status;
}

/* *ops: as it is afterwards.  *one: n was among them. */
static enum tb_status
recover_all(struct op_ctx *ctx, struct tidy_ops *ops, uint64_t n, bool *one, struct tidy *out,
	    struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool any = false;

	*one = false;
	for (size_t i = 0; i < ops->n && !status; i++) {
		if (!tidy_op_killed(&ops->v[i]))
			continue;
		any = true;
		*one |= ops->v[i].n == n;
		status = recover_store(ops->v[i].root, out, err);
	}
	if (!status && any) {
		tidy_ops_free(ops);
		status = tidy_ops(ctx, ops, err);
	}
	return status;
}

/* Operation n (0: the last number) that is done, else any of that number; NULL: none. */
static enum tb_status
find_op(const struct tidy_ops *ops, uint64_t n, const struct tidy_op **out, struct tb_err *err)
{
	const struct tidy_op *done = NULL, *any = NULL;

	for (size_t i = 0; i < ops->n; i++) {
		const struct tidy_op *o = &ops->v[i];

		if (n && o->n == n)
			any = any ? any : o;
		if (o->state != JOURNAL_DONE || (n ? o->n != n : done && o->n != done->n))
			continue;
		if (done && !tidy_op_same(done, o))
			return tb_fail(err, TB_EUSAGE, "%s and %s both have an operation %" PRIu64
				       ", and they are different ones; say which with --store",
				       done->root, o->root, o->n);
		done = done ? done : o;
	}
	*out = done ? done : any;
	return TB_OK;
}

enum tb_status
op_undo(struct op_ctx *ctx, uint64_t n, bool dry, struct tb_job *job, struct tidy *out,
	struct tb_err *err)
{
	struct tidy_ops ops;
	const struct tidy_op *first = NULL;
	enum tb_status status = tidy_ops(ctx, &ops, err);
	bool one = false;

	*out = (struct tidy){ 0 };
	if (!status && !dry)
		status = recover_all(ctx, &ops, n, &one, out, err);
	if (status || one || (!n && out->recovered)) {
		tidy_ops_free(&ops);
		return status;
	}
	status = find_op(&ops, n, &first, err);
	for (size_t i = 0; i < ops.n && !status && !first; i++)
		if (ops.v[i].problem && (!n || ops.v[i].n == n))	/* it may have been the one */
			status = tb_fail(err, TB_EFORMAT, "%s", ops.v[i].problem);
	if (!status && !first)
		status = n ? tb_fail(err, TB_ENOENT, "there is no operation %" PRIu64 "; \"tbtui undo "
				     "--list\" shows those there are", n)
			   : tb_fail(err, TB_ENOENT, "there is nothing to undo");
	for (size_t i = 0; i < ops.n && !status; i++)
		if (&ops.v[i] == first ||
		    (ops.v[i].state == JOURNAL_DONE && tidy_op_same(&ops.v[i], first)))
			status = undo_one(ops.v[i].root, ops.v[i].n, dry, job, out, err);
	tidy_ops_free(&ops);
	return status;
}

/* ---- for good ---- */

static enum tb_status
add_deleted(struct tidy *out, const struct tidy_op *o, struct tb_err *err)
{
	struct tidy_action a = { .what = TIDY_DELETE, .model = tb_strdup(o->what), .bytes = o->bytes,
		.path = tb_asprintf("%s/" JOURNAL_DIR "/%" PRIu64, o->root, o->n), .size = o->bytes,
		.op = o->n };
	enum tb_status status = tidy_root(out, o->root, &a.root, err);

	if (!status && a.model && a.path && tb_grow(&out->v, &out->cap, out->n + 1, sizeof(a))) {
		out->v[out->n++] = a;
		out->bytes += o->bytes;
		return TB_OK;
	}
	free(a.model);
	free(a.path);
	return status ? status : tb_nomem(err);
}

static enum tb_status
empty_one(const struct tidy_op *o, struct tb_job *job, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	struct journal j;
	enum tb_status status = store_lock_alone(&lock, o->root, err);

	if (!status)
		status = journal_recover(o->root, &lock, NULL, err);
	if (!status)
		status = journal_read(&j, o->root, o->n, err);
	if (!status) {
		j.job = job;
		tb_job_what(job, "%s", j.what);
		status = journal_empty(&j, &lock, err);
		journal_free(&j);
	}
	store_unlock(&lock);
	return status;
}

static bool
is_shown(const struct tidy *shown, const struct tidy_op *o)
{
	for (size_t i = 0; i < shown->n; i++)
		if (shown->v[i].op == o->n && !strcmp(shown->roots.v[shown->v[i].root], o->root))
			return true;
	return false;
}

static bool
is_asked(const struct tidy_empty *req, const struct tidy_op *o)
{
	if (req->shown && !is_shown(req->shown, o))
		return false;
	if (!req->n)
		return !o->in_use && !o->problem &&
		       o->when_ns <= tb_now_ns() - (int64_t)(req->older * 1000000000);
	for (size_t i = 0; i < req->n; i++)
		if (req->numbers[i] == o->n)
			return true;
	return false;
}

enum tb_status
op_undo_empty(struct op_ctx *ctx, const struct tidy_empty *req, struct tb_job *job,
	      struct tidy *out, struct tb_err *err)
{
	struct tidy_ops ops;
	bool one;
	enum tb_status status = req->older > INT64_MAX / 1000000000
			      ? tb_fail(err, TB_EUSAGE, "that age is too large") : TB_OK;

	*out = (struct tidy){ 0 };
	if (!status)
		status = tidy_ops(ctx, &ops, err);
	if (status)
		return status;
	if (!req->dry)
		status = recover_all(ctx, &ops, 0, &one, out, err);
	for (size_t i = 0; i < req->n && !status; i++) {
		size_t k = 0;

		while (k < ops.n && ops.v[k].n != req->numbers[i])
			k++;
		if (k == ops.n)
			status = tb_fail(err, TB_ENOENT, "there is no operation %" PRIu64, req->numbers[i]);
		else if (ops.v[k].in_use || ops.v[k].problem)
			status = tb_fail(err, TB_EUSAGE, "operation %" PRIu64 ": %s", ops.v[k].n,
					 ops.v[k].problem ? ops.v[k].problem : "somebody works on it");
	}
	for (size_t i = 0; i < ops.n && !status; i++)
		if (is_asked(req, &ops.v[i])) {
			out->job_bytes += ops.v[i].bytes;
			out->job_things += ops.v[i].things;
		}
	tb_job_total(job, out->job_bytes, out->job_things);
	for (size_t i = 0; i < ops.n && !status; i++) {
		if (!is_asked(req, &ops.v[i]))
			continue;
		if (!req->dry)
			status = empty_one(&ops.v[i], job, err);
		if (status == TB_ENOENT)
			status = TB_OK;		/* was not finished, and went with that */
		else if (!status)
			status = add_deleted(out, &ops.v[i], err);
	}
	for (size_t i = 0; i < ops.n && !status && !req->n; i++)
		if (ops.v[i].problem)
			status = tb_names_add(&out->unread, ops.v[i].problem, err);
	out->done = !req->dry && out->n;
	tidy_ops_free(&ops);
	return status;
}
