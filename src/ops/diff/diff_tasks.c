/* diff_tasks.c - reads what has to be read: large tensors in many tasks, small ones
 * each in one, all on the pool.
 *
 * Where both sides are stored alike, bytes are compared first, which needs no decoding;
 * of a tensor that turns out to differ, what was the same in it is added to its sums
 * in a second pass. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/ops/diff/diff_run.h"

#define CHUNK (4u << 20)		/* elements of a task */
#define TASKS_MAX 4096u			/* of one tensor */
#define STEP (256u << 10)		/* elements between two looks at the cancel flag */

enum task_state { TASK_TODO, TASK_EQUAL, TASK_SUMMED, TASK_SKIPPED };

struct task {
	uint32_t row;			/* index of diff_run.work */
	enum task_state state;
	uint64_t first, n;
	struct compare c;
};

/* A row that is being read. */
struct work {
	struct diff_row *row;
	struct diff_pair pair;
	size_t task, ntasks;		/* its tasks lie side by side */
	size_t left;			/* of them, in this pass */
	bool open;
	struct tb_err err;		/* code TB_OK: none */
	atomic_bool differs;
};

struct diff_run {
	const struct diff_request *req;
	struct tb_job *job;
	struct diff_result *out;
	struct work *work;		/* owned */
	size_t nwork;
	struct task *tasks;		/* owned */
	size_t ntasks;
	size_t *turn;			/* owned: the tasks of this pass */
	pthread_mutex_t lock;		/* guards opening and closing, and what is in *out */
	atomic_bool stop;
};

/* The pair of a task, opened by the first that comes; NULL: it cannot be read. */
static const struct diff_pair *
work_enter(struct diff_run *r, struct work *w)
{
	bool fine;

	pthread_mutex_lock(&r->lock);
	if (!w->open && !w->err.code)
		w->open = diff_pair_open(&w->pair, r->req, w->row, &w->err) == TB_OK;
	fine = w->open && !w->err.code;
	pthread_mutex_unlock(&r->lock);
	return fine ? &w->pair : NULL;
}

/* The last one looks whether the files are what they were, for all, and closes. */
static void
work_leave(struct diff_run *r, struct work *w, uint64_t read)
{
	struct tb_err err = { 0 };

	pthread_mutex_lock(&r->lock);
	r->out->read += read;
	w->left--;
	if (w->left == 0 && w->open) {
		if ((values_check(&w->pair.a, &err) || values_check(&w->pair.b, &err)) && !w->err.code)
			w->err = err;
		values_close(&w->pair.a);
		values_close(&w->pair.b);
		w->open = false;
	}
	pthread_mutex_unlock(&r->lock);
}

static uint64_t
bytes_of(const struct work *w, uint64_t n)
{
	const struct diff_row *row = w->row;

	if (diff_row_opaque(row))
		return 2 * n;
	return diff_side_bytes(&row->a, n) + diff_side_bytes(&row->b, n);
}

/* Does fn for [first, first + n) step by step until it says no; false then, or when
 * the job was cancelled. */
typedef bool step_fn(struct task *t, const struct diff_pair *p, uint64_t first, size_t n);

static bool
each_step(struct diff_run *r, struct task *t, const struct diff_pair *p, step_fn *fn)
{
	for (uint64_t i = 0, k; i < t->n; i += k) {
		k = t->n - i < STEP ? t->n - i : STEP;
		if (tb_job_cancelled(r->job))
			atomic_store(&r->stop, true);
		if (atomic_load_explicit(&r->stop, memory_order_relaxed) ||
		    !fn(t, p, t->first + i, (size_t)k))
			return false;
	}
	return true;
}

static bool
step_equal(struct task *t, const struct diff_pair *p, uint64_t first, size_t n)
{
	(void)t;
	return diff_pair_equal(p, first, n);
}

static bool
step_add(struct task *t, const struct diff_pair *p, uint64_t first, size_t n)
{
	diff_pair_add(p, first, n, &t->c);
	return true;
}

/* Is there nothing to be learned from reading the rest of it? */
static bool
decided(const struct diff_run *r, const struct work *w)
{
	return (r->req->mode == DIFF_BY_BYTES || diff_row_opaque(w->row)) &&
	       atomic_load(&w->differs);
}

static void
compare_task(struct diff_run *r, struct task *t, struct work *w, const struct diff_pair *p)
{
	bool bytes_only = r->req->mode == DIFF_BY_BYTES || p->opaque;

	if (decided(r, w)) {
		t->state = TASK_SKIPPED;
		return;
	}
	if (t->state == TASK_TODO && p->coding && each_step(r, t, p, step_equal)) {
		t->state = TASK_EQUAL;
		return;
	}
	atomic_store(&w->differs, true);
	t->state = TASK_SKIPPED;
	compare_init(&t->c);
	if (!bytes_only && each_step(r, t, p, step_add))
		t->state = TASK_SUMMED;
}

static void
run_task(void *arg, size_t i, unsigned worker)
{
	struct diff_run *r = arg;
	struct task *t = &r->tasks[r->turn[i]];
	struct work *w = &r->work[t->row];
	const struct diff_pair *p;
	bool begins = t->state == TASK_TODO && w->task == r->turn[i];

	(void)worker;
	if (atomic_load_explicit(&r->stop, memory_order_relaxed))
		p = NULL;
	else if ((p = work_enter(r, w))) {
		compare_task(r, t, w, p);
		diff_pair_forget(p, t->first, (size_t)t->n);
	}
	tb_job_what(r->job, "%s", w->row->name);
	tb_job_step(r->job, bytes_of(w, t->n), begins);
	work_leave(r, w, p && t->state != TASK_SKIPPED ? bytes_of(w, t->n) : 0);
}

/* ---- what there is to do ---- */

static enum tb_status
make_tasks(struct diff_run *r, struct tb_err *err)
{
	size_t work_cap = 0, tasks_cap = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->out->n; i++) {
		struct diff_row *row = &r->out->rows[i];
		uint64_t n, chunks, chunk;

		if (row->verdict != DIFF_VALUES || row->known)
			continue;
		n = diff_row_length(row);
		chunks = (n + CHUNK - 1) / CHUNK;
		chunk = (chunks + TASKS_MAX - 1) / TASKS_MAX * CHUNK;
		if (!tb_grow(&r->work, &work_cap, r->nwork + 1, sizeof(*r->work)))
			return tb_nomem(err);
		r->work[r->nwork] = (struct work){ .row = row, .task = r->ntasks };
		for (uint64_t at = 0; at < n; at += chunk) {
			if (!tb_grow(&r->tasks, &tasks_cap, r->ntasks + 1, sizeof(*r->tasks)))
				return tb_nomem(err);
			r->tasks[r->ntasks++] = (struct task){ .row = (uint32_t)r->nwork,
				.first = at, .n = n - at < chunk ? n - at : chunk };
		}
		r->work[r->nwork].ntasks = r->ntasks - r->work[r->nwork].task;
		bytes += n ? bytes_of(&r->work[r->nwork], n) : 0;
		r->nwork++;
	}
	tb_job_total(r->job, bytes, r->nwork);
	r->turn = tb_calloc(r->ntasks, sizeof(*r->turn));
	return r->turn ? TB_OK : tb_nomem(err);
}

/* Tasks of the pass: of the second only what is the same in tensors that differ. */
static size_t
choose_tasks(struct diff_run *r, bool second)
{
	size_t n = 0;

	for (size_t i = 0; i < r->ntasks; i++) {
		struct work *w = &r->work[r->tasks[i].row];

		if (second && (r->tasks[i].state != TASK_EQUAL || !atomic_load(&w->differs) ||
			       decided(r, w) || w->err.code))
			continue;
		w->left++;
		r->turn[n++] = i;
	}
	return n;
}

/* ---- what came of it ---- */

/* Can double tell any two of its values apart? */
static bool
exact_in_double(const struct tensor *t)
{
	enum dtype d = t->scheme.dtype;

	return !scheme_is_plain(&t->scheme) || (d != DT_I64 && d != DT_U64 && d != DT_C64);
}

static void
judge(struct diff_run *r, struct work *w)
{
	struct diff_row *row = w->row;
	bool coding = diff_same_coding(row);

	if (w->err.code) {
		row->verdict = DIFF_UNREADABLE;
		row->message = tb_arena_str(&r->out->mem, w->err.msg);
		row->message = row->message ? row->message : "out of memory";
		return;
	}
	if (!atomic_load(&w->differs) && coding) {
		row->verdict = DIFF_SAME;
		return;
	}
	if (r->req->mode == DIFF_BY_BYTES || diff_row_opaque(row))
		return;
	for (size_t i = 0; i < w->ntasks; i++)
		compare_merge(&row->c, &r->tasks[w->task + i].c);
	compare_merge(&r->out->all, &row->c);
	if (row->c.unequal == 0 && exact_in_double(row->a.t) && exact_in_double(row->b.t))
		row->verdict = DIFF_SAME_VALUES;
}

static enum tb_status
run_tasks(struct diff_run *r, struct op_ctx *ctx, struct tb_err *err)
{
	size_t n = choose_tasks(r, false);
	uint64_t more = 0;
	enum tb_status status;

	tb_pool_each(ctx->pool, n, run_task, r);
	status = tb_job_check(r->job, err);
	n = status ? 0 : choose_tasks(r, true);
	for (size_t i = 0; i < n; i++)
		more += bytes_of(&r->work[r->tasks[r->turn[i]].row], r->tasks[r->turn[i]].n);
	if (n)
		tb_job_total(r->job, r->out->read + more, r->nwork);
	tb_pool_each(ctx->pool, n, run_task, r);
	if (!status)
		status = tb_job_check(r->job, err);
	for (size_t i = 0; i < r->nwork && !status; i++)
		judge(r, &r->work[i]);
	return status;
}

enum tb_status
diff_compare(struct op_ctx *ctx, const struct diff_request *req, struct tb_job *job,
	     struct diff_result *out, struct tb_err *err)
{
	struct diff_run r = { .req = req, .job = job, .out = out };
	enum tb_status status = make_tasks(&r, err);

	compare_init(&out->all);
	pthread_mutex_init(&r.lock, NULL);
	if (!status)
		status = run_tasks(&r, ctx, err);
	pthread_mutex_destroy(&r.lock);
	free(r.work);
	free(r.tasks);
	free(r.turn);
	return status;
}
