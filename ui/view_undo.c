/* view_undo.c - what was taken away from the stores, or replaced in them: it can come back,
 * or go for good. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/tidy.h"
#include "ui/view.h"

struct undo {
	struct tidy_ops ops, fresh;	/* owned; fresh: takes its place when all is read again */
	bool has_fresh;
	bool ready, loading, again;	/* again: something has changed while they were read */
	unsigned seen;			/* of the index */
	struct tb_err err;
	struct pager steps;		/* of one of them */
	bool steps_shown;
};

/* The worker's part: journals are files. */

struct undo_load {
	struct op_ctx *ctx;		/* borrowed */
	struct tidy_ops ops;
};

static enum tb_status
undo_load_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct undo_load *l = arg;

	(void)job;
	return tidy_ops(l->ctx, &l->ops, err);
}

static void
undo_load_free(void *arg)
{
	struct undo_load *l = arg;

	tidy_ops_free(&l->ops);
	free(l);
}

static void undo_load(struct view *v);

static void
undo_load_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct undo *s = v->state;
	struct undo_load *l = arg;

	s->loading = false;
	s->ready = true;
	s->err = *err;
	s->err.code = status;
	tidy_ops_free(&s->fresh);
	s->fresh = l->ops;
	s->has_fresh = true;
	l->ops = (struct tidy_ops){ 0 };
	view_refresh(v);
	if (s->again)
		undo_load(v);
}

static const struct job_ops undo_load_job = {
	.run = undo_load_run, .done = undo_load_done, .free = undo_load_free,
};

static void
undo_load(struct view *v)
{
	struct undo *s = v->state;
	struct undo_load *l;

	s->seen = view_index(v);
	s->again = s->loading;
	if (s->loading || !(l = view_alloc(v, sizeof(*l))))
		return;
	l->ctx = view_ctx(v);
	s->loading = view_job(v, &undo_load_job, l, "read journals") != NULL;
}

/* The list. */

enum { COL_NUMBER, COL_WHEN, COL_WHAT, COL_HOLDS, COL_STATE, COL_STORE };

static const struct column undo_cols[] = {
	[COL_NUMBER] = { "NO", 4, 0, true, SORTS_DOWN, 0 },
	[COL_WHEN] = { "WHEN", 12, 0, false, SORTS_DOWN, 2 },
	[COL_WHAT] = { "WHAT", 20, 60, false, SORTS_UP, 0, .middle = true },
	[COL_HOLDS] = { "HOLDS", 8, 0, true, SORTS_DOWN, 1 },
	[COL_STATE] = { "STATE", 12, 0, false, SORTS_UP, 1 },
	[COL_STORE] = { "STORE", 12, 40, false, SORTS_UP, 3, .middle = true },
};

static bool
undo_match(const struct view *v, const void *row)
{
	const struct tidy_op *op = row;

	return tb_contains(op->what, v->list.filter) || tb_contains(op->root, v->list.filter);
}

static int
undo_order(const struct view *v, const void *a, const void *b)
{
	const struct tidy_op *x = a, *y = b;

	switch (v->list.sort) {
	case COL_WHAT: return tb_natural_cmp(x->what, y->what);
	case COL_HOLDS: return (x->bytes < y->bytes) - (x->bytes > y->bytes);
	case COL_STATE: return (x->state > y->state) - (x->state < y->state);
	case COL_STORE: return tb_natural_cmp(x->root, y->root);
	default: return (x->when_ns < y->when_ns) - (x->when_ns > y->when_ns);
	}
}

/* A number is given once in a store, and mostly in all. */
static uint64_t
undo_id(struct view *v, size_t row)
{
	const struct tidy_op *op = rows_at(v, row);
	uint64_t id = 1469598103934665603u;

	for (const char *s = op ? op->root : ""; *s; s++)
		id = (id ^ (unsigned char)*s) * 1099511628211u;
	return op ? id << 32 | (op->n & UINT32_MAX) : 0;
}

static const struct rows_source undo_rows = {
	ROWS_IN(struct undo, ops.v, ops.n), .id = undo_id, .match = undo_match,
	.order = undo_order,
};

/* What became of it, in a word. */
static void
undo_state(const struct tidy_op *op, struct cell *out)
{
	if (op->in_use) {
		tb_buf_printf(&out->text, "%s under way", theme_sign(SIGN_PART));
	} else if (op->problem) {
		out->role = ROLE_BAD;
		tb_buf_printf(&out->text, "%s unreadable", theme_sign(SIGN_BAD));
	} else if (tidy_op_killed(op)) {
		out->role = ROLE_WARN;
		tb_buf_printf(&out->text, "%s unfinished", theme_sign(SIGN_WARN));
	} else {
		tb_buf_printf(&out->text, "%s %s", theme_sign(SIGN_NONE),
			      journal_state_word(op->state));
	}
}

static void
undo_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct tidy_op *op = row;
	char text[WORD_MAX], bytes[16];

	(void)v;
	switch (col) {
	case COL_NUMBER: tb_buf_printf(&out->text, "%ju", (uintmax_t)op->n); break;
	case COL_WHEN: tb_buf_str(&out->text, word_time(op->when_ns, text)); break;
	case COL_WHAT: tb_buf_str(&out->text, op->what); break;
	case COL_HOLDS: tb_buf_str(&out->text, tb_human_bytes(op->bytes, bytes)); break;
	case COL_STATE: undo_state(op, out); break;
	case COL_STORE: word_path(op->root, &out->text); break;
	}
}

static const struct table undo_table = {
	TABLE_COLS(undo_cols), .rows = &undo_rows, .cell = undo_cell,
	.empty = "Nothing is held, so there is nothing to bring back.\n"
		 "What is deleted on Models (D) or pruned on Blobs (P) comes here first.",
	.no_match = "Nothing that was done has that in it; Esc shows all.",
};
static const struct table reading_table = {
	TABLE_COLS(undo_cols), .rows = &undo_rows, .cell = undo_cell, .empty = "Reading...",
};

static const struct table *
undo_table_of(const struct view *v)
{
	const struct undo *s = v->state;

	return s->steps_shown ? NULL : s->ready ? &undo_table : &reading_table;
}

static struct pager *
undo_pager(struct view *v)
{
	struct undo *s = v->state;

	return s->steps_shown ? &s->steps : NULL;
}

/* All that one of them did, a line a file: read by a worker. */

struct undo_steps { char *root; uint64_t n; struct tb_buf text; };

static enum tb_status
steps_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct undo_steps *l = arg;
	struct journal j;
	enum tb_status status = journal_read(&j, l->root, l->n, err);
	char bytes[16];

	(void)job;
	if (status)
		return status;
	for (size_t i = 0; i < j.nsteps; i++) {
		const struct journal_step *step = &j.steps[i];

		tb_buf_printf(&l->text, "%-5s %8s  %s", journal_do_word(step->what),
			      tb_human_bytes(step->bytes, bytes), step->path);
		if (step->to)
			tb_buf_printf(&l->text, " -> %s", step->to);
		if (*step->model)
			tb_buf_printf(&l->text, "  (%s)", step->model);
		tb_buf_chr(&l->text, '\n');
	}
	journal_free(&j);
	return tb_buf_status(&l->text, "its list", err);
}

static void
steps_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct undo *s = v->state;
	struct undo_steps *l = arg;

	if (status) {
		view_complain(v, err);
		return;
	}
	pager_set(&s->steps, tb_buf_take(&l->text), false);
	s->steps_shown = true;
}

static void
steps_free(void *arg)
{
	struct undo_steps *l = arg;

	tb_buf_free(&l->text);
	free(l->root);
	free(l);
}

static const struct job_ops steps_job = {
	.run = steps_run, .done = steps_done, .free = steps_free,
};

static void
show_steps(struct view *v, const struct tidy_op *op)
{
	struct undo_steps *l = view_alloc(v, sizeof(*l));
	struct cell state = { .text = TB_BUF(256) };
	char text[WORD_MAX], bytes[16];

	if (!l)
		return;
	*l = (struct undo_steps){ tb_strdup(op->root), op->n, TB_BUF(64u << 20) };
	undo_state(op, &state);
	tb_buf_printf(&l->text, "%s\n\n%-10s%ju\n%-10s%s\n", op->what, "number",
		      (uintmax_t)op->n, "when", word_time(op->when_ns, text));
	tb_buf_printf(&l->text, "%-10s%s\n%-10s", "state", tb_buf_cstr(&state.text), "store");
	word_path(op->root, &l->text);
	tb_buf_printf(&l->text, "\n%-10s%s, %s\n\n", "holds", word_count(op->things, "thing", text),
		      tb_human_bytes(op->bytes, bytes));
	tb_buf_free(&state.text);
	if (l->root)
		(void)view_job(v, &steps_job, l, "read %s", op->what);
	else
		steps_free(l);
}

/* Keys. */

static enum tb_status
undo_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	(void)arg;
	(void)err;
	v->list.sort = COL_WHEN;
	undo_load(v);
	return TB_OK;
}

static void
undo_close(struct view *v)
{
	struct undo *s = v->state;

	tidy_ops_free(&s->ops);
	tidy_ops_free(&s->fresh);
	pager_free(&s->steps);
}

/* Others take away and bring back as well. */
static void
undo_entered(struct view *v)
{
	undo_load(v);
}

static void
undo_refresh(struct view *v)
{
	struct undo *s = v->state;

	if (s->seen != view_index(v))
		undo_load(v);
	if (!s->has_fresh)
		return;
	rows_free(&v->rows);		/* they point into what goes now */
	tidy_ops_free(&s->ops);
	s->ops = s->fresh;
	s->fresh = (struct tidy_ops){ 0 };
	s->has_fresh = false;
}

/* Has another store an operation of that number, which is no part of the same? */
static bool
number_taken(const struct undo *s, const struct tidy_op *op)
{
	for (size_t i = 0; i < s->ops.n; i++)
		if (s->ops.v[i].n == op->n && !tidy_op_same(&s->ops.v[i], op))
			return true;
	return false;
}

/* Those with a mark, else the one under the cursor. */
static void
free_chosen(struct view *v)
{
	const struct undo *s = v->state;
	const struct tidy_op **op = view_alloc(v, (s->ops.n + 1) * sizeof(*op));
	bool taken = false, one_store = true;
	size_t n = 0;

	for (size_t i = 0; op && i < v->list.n; i++) {
		const struct tidy_op *o = rows_at(v, i);

		if (v->list.nmarks ? list_marked(&v->list, rows_id(v, i)) : i == v->list.cur)
			op[n++] = o;
	}
	for (size_t i = 0; i < n; i++) {
		taken |= number_taken(s, op[i]);
		one_store &= !strcmp(op[i]->root, op[0]->root);
	}
	if (taken && !one_store)
		view_say(v, "Their numbers mean other operations in other stores: free those of one store.");
	else if (n)
		task_empty(v, op, n, taken);
	free(op);
}

static bool
undo_act(struct view *v, enum action a)
{
	struct undo *s = v->state;
	const struct tidy_op *op = s->steps_shown ? NULL : rows_current(v);

	switch (a) {
	case ACT_BACK:
	case ACT_QUIT:
		if (!s->steps_shown || (a == ACT_BACK && *s->steps.find))
			return false;
		s->steps_shown = false;
		view_refresh(v);
		return true;
	case ACT_OPEN:
		if (op)
			show_steps(v, op);
		return true;
	case ACT_BRING_BACK:
		if (op && op->state == JOURNAL_UNDONE)
			view_say(v, "That was undone already; D frees what it still holds.");
		else if (op && op->problem)
			view_say(v, "%s", op->problem);
		else if (op)
			task_undo(v, op, number_taken(s, op));
		return true;
	case ACT_FREE:
		if (op)
			free_chosen(v);
		return true;
	default:
		return false;
	}
}

static bool
undo_can(const struct view *v, enum action a)
{
	const struct undo *s = v->state;
	const struct tidy_op *op = s->steps_shown ? NULL : rows_seen(v);

	return op && (a != ACT_BRING_BACK || op->state != JOURNAL_UNDONE);
}

static void
undo_summary(struct view *v, struct tb_buf *out)
{
	const struct undo *s = v->state;
	const char *dot = theme_sign(SIGN_DOT);
	uint64_t held = 0, open = 0;
	char text[WORD_MAX];

	if (s->err.code) {
		tb_buf_str(out, s->err.msg);
		return;
	}
	for (size_t i = 0; i < s->ops.n; i++) {
		held += s->ops.v[i].bytes;
		open += tidy_op_killed(&s->ops.v[i]);
	}
	if (v->list.nmarks)
		tb_buf_printf(out, "%zu marked %s ", v->list.nmarks, dot);
	if (!view_count(v, "operation", out))
		tb_buf_printf(out, " %s %s held", dot, tb_human_bytes(held, text));
	if (open)
		tb_buf_printf(out, " %s %ju unfinished: the next writer deals with it", dot,
			      (uintmax_t)open);
}

const struct view_ops view_undo = {
	.size = sizeof(struct undo), .columns = &undo_table, .table = undo_table_of,
	.pager = undo_pager, .open = undo_open, .close = undo_close, .entered = undo_entered,
	.act = undo_act, .can = undo_can, .refresh = undo_refresh, .summary = undo_summary,
};
