/* view_diff.c - two models side by side: what is the same, how far the rest is apart. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/ops/diff/diff.h"
#include "ui/opened.h"
#include "ui/view.h"

#define HEAD_ROWS 4

/* What a worker makes; the screen has it once it is done. */
struct work {
	struct op_ctx *ctx;
	struct model_loc loc[2];	/* owned */
	struct model *m[2];		/* owned */
	bool reread;
	struct diff_result res;
};

struct diff {
	struct work got;		/* empty while it runs */
	struct model_loc loc[2];	/* owned */
	int64_t id[2];			/* in the index; 0: not there */
	struct ui_job *job;		/* NULL: none runs */
	size_t *shown, nshown;		/* owned: rows under filter and order */
	double worst;			/* the largest relative error */
	struct tb_err err;		/* why there is nothing; code TB_OK: there is */
};

enum { COL_NAME, COL_RESULT, COL_SCHEMES, COL_BAR, COL_NMSE, COL_MAX, COL_COS, COL_AT };

static const struct column cols[] = {
	[COL_NAME] = { "TENSOR", 34, 72, false, SORTS_UP, 0, .middle = true },
	[COL_RESULT] = { "RESULT", 13, 0, false, SORTS_DOWN, 0 },
	[COL_SCHEMES] = { "SCHEMES", 10, 18, false, SORTS_NOT, 4 },
	[COL_BAR] = { "ERROR", 6, 0, false, SORTS_NOT, 3 },
	[COL_NMSE] = { "NMSE", 8, 0, true, SORTS_DOWN, 1 },
	[COL_MAX] = { "MAX", 8, 0, true, SORTS_DOWN, 5 },
	[COL_COS] = { "COSINE", 9, 0, true, SORTS_DOWN, 6 },
	[COL_AT] = { "AT", 11, 0, true, SORTS_NOT, 7 },
};
static const char *const sort_keys[] = {
	[COL_NAME] = "name", [COL_RESULT] = "result", [COL_NMSE] = "nmse", [COL_MAX] = "max",
	[COL_COS] = "cos", [COL_AT] = "name",
};

/* ---- the job ---- */

static void
work_clear(struct work *w)
{
	diff_result_free(&w->res);
	for (unsigned i = 0; i < 2; i++) {
		model_free(w->m[i]);
		model_loc_free(&w->loc[i]);
	}
	*w = (struct work){ 0 };
}

static enum tb_status
work_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct work *w = arg;
	struct diff_request req = { .reread = w->reread };
	enum tb_status status = model_open(&w->m[0], &w->loc[0], err);

	if (!status)
		status = model_open(&w->m[1], &w->loc[1], err);
	if (status)
		return status;
	req.a = w->m[0];
	req.b = w->m[1];
	return op_diff(w->ctx, &req, job, &w->res, err);
}

static void
work_free(void *arg)
{
	work_clear(arg);
	free(arg);
}

static void
find_worst(struct diff *s)
{
	s->worst = 0;
	for (size_t i = 0; i < s->got.res.n; i++) {
		double error = sqrt(compare_nmse(&s->got.res.rows[i].c));

		if (isfinite(error) && error > s->worst)
			s->worst = error;
	}
}

static void
work_done(void *owner, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct view *v = owner;
	struct diff *s = v->state;
	struct work *w = arg;

	s->job = NULL;
	s->err = status ? *err : (struct tb_err){ 0 };
	if (!status) {
		work_clear(&s->got);
		s->got = *w;
		*w = (struct work){ 0 };
		find_worst(s);
	}
	view_refresh(v);
}

/* " · 37 same · 10 differs" */
static void
put_counts(const struct diff_result *r, struct tb_buf *out)
{
	for (enum diff_verdict i = DIFF_VERDICTS; i-- > 0;)
		if (r->count[i])
			tb_buf_printf(out, " %s %ju %s", theme_sign(SIGN_DOT),
				      (uintmax_t)r->count[i], diff_text(i));
}

static void
work_say(void *arg, struct tb_buf *out)
{
	const struct diff_result *r = &((struct work *)arg)->res;
	char text[WORD_MAX];

	tb_buf_str(out, word_count(r->n, "tensor", text));
	put_counts(r, out);
}

static const struct job_ops work_job = {
	.flags = JOB_LISTED, .run = work_run, .done = work_done, .result = work_say,
	.free = work_free,
};

static void
start(struct view *v, bool reread)
{
	struct diff *s = v->state;
	struct work *w = tb_calloc(1, sizeof(*w));

	if (w && !model_loc_copy(&w->loc[0], &s->loc[0], NULL) &&
	    !model_loc_copy(&w->loc[1], &s->loc[1], NULL)) {
		w->ctx = view_ctx(v);
		w->reread = reread;
		s->job = view_job(v, &work_job, w, "diff %s %s", s->loc[0].name, s->loc[1].name);
		return;
	}
	if (w)
		work_free(w);
	view_say(v, "out of memory");
}

static enum tb_status
diff_open(struct view *v, const struct view_arg *arg, struct tb_err *err)
{
	struct diff *s = v->state;

	if (!arg->model || !arg->other)
		return tb_fail(err, TB_EUSAGE, "Mark two models with Space, then press =.");
	if (model_loc_copy(&s->loc[0], arg->model, NULL) ||
	    model_loc_copy(&s->loc[1], arg->other, NULL)) {
		model_loc_free(&s->loc[0]);
		return tb_nomem(err);
	}
	s->id[0] = arg->id;
	s->id[1] = arg->other_id;
	v->list.sort = COL_RESULT;
	start(v, false);
	return TB_OK;
}

static void
diff_close(struct view *v)
{
	struct diff *s = v->state;

	if (s->job)
		jobs_cancel(s->job);
	work_clear(&s->got);
	for (unsigned i = 0; i < 2; i++)
		model_loc_free(&s->loc[i]);
	free(s->shown);
}

static bool
same(const struct view *v, const struct view_arg *arg)
{
	const struct diff *s = v->state;

	return !arg->other || (arg->model && loc_same(&s->loc[0], arg->model) &&
			       loc_same(&s->loc[1], arg->other));
}

/* ---- the list ---- */

static const struct diff_row *
row_at(const struct view *v, size_t row)
{
	const struct diff *s = v->state;

	return row < s->nshown ? &s->got.res.rows[s->shown[row]] : NULL;
}

/* By result the worst come first among equals, else they stay in order of names. */
static int
by_order(const void *a, const void *b, void *arg)
{
	const struct view *v = arg;
	const struct diff_row *rows = ((const struct diff *)v->state)->got.res.rows;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int d = diff_order(sort_keys[v->list.sort])(&rows[x], &rows[y]);

	if (!d && v->list.sort == COL_RESULT)
		d = diff_order("nmse")(&rows[x], &rows[y]);
	if (!d)
		d = (x > y) - (x < y);
	return v->list.reverse ? -d : d;
}

static bool
matches(const char *filter, const struct diff_row *r)
{
	return tb_contains(r->name, filter) || (r->b.t && tb_contains(r->b.t->name, filter)) ||
	       tb_contains(diff_text(r->verdict), filter);
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct diff *s = v->state;

	s->nshown = 0;
	free(s->shown);
	s->shown = tb_calloc(s->got.res.n, sizeof(*s->shown));
	for (size_t i = 0; s->shown && i < s->got.res.n; i++)
		if (matches(v->list.filter, &s->got.res.rows[i]))
			s->shown[s->nshown++] = i;
	if (s->nshown > 1)
		qsort_r(s->shown, s->nshown, sizeof(*s->shown), by_order, v);
	return s->nshown;
}

static uint64_t
id_of(void *arg, size_t row)
{
	const struct diff *s = ((struct view *)arg)->state;

	return row < s->nshown ? s->shown[row] : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	const struct diff *s = ((struct view *)arg)->state;

	for (*row = 0; *row < s->nshown; ++*row)
		if (s->shown[*row] == id)
			return true;
	return false;
}

static void
result_cell(const struct diff_row *r, struct cell *out)
{
	static const struct { enum role role; enum sign sign; } looks[] = {
		[DIFF_UNREADABLE] = { ROLE_BAD, SIGN_BAD }, [DIFF_SHAPE] = { ROLE_WARN, SIGN_WARN },
		[DIFF_VALUES] = { ROLE_WARN, SIGN_WARN }, [DIFF_ONLY_A] = { ROLE_WARN, SIGN_NONE },
		[DIFF_ONLY_B] = { ROLE_WARN, SIGN_NONE }, [DIFF_SAME_VALUES] = { ROLE_OK, SIGN_OK },
		[DIFF_SAME] = { ROLE_OK, SIGN_OK },
	};

	out->role = looks[r->verdict].role;
	tb_buf_printf(&out->text, "%s %s", theme_sign(looks[r->verdict].sign),
		      diff_text(r->verdict));
}

static void
schemes_cell(const struct diff_row *r, struct cell *out)
{
	char name[SCHEME_NAME_MAX];

	if (r->a.t)
		tb_buf_str(&out->text, scheme_name(&r->a.t->scheme, name));
	if (r->b.t && (!r->a.t || r->recoded))
		tb_buf_printf(&out->text, "%s%s", r->a.t ? " " : "",
			      scheme_name(&r->b.t->scheme, name));
}

/* The share of the largest relative error. */
static void
bar_cell(const struct diff *s, const struct diff_row *r, struct cell *out)
{
	double error = sqrt(compare_nmse(&r->c));

	if (!r->c.unequal)
		return;
	out->role = ROLE_BAR;
	draw_bar(&out->text, isfinite(error) ? (uint64_t)(error / s->worst * 1000) : 1000, 1000, 6);
}

static void
place_cell(const struct diff_row *r, struct cell *out)
{
	uint64_t wide = r->a.ndim > 1 ? r->a.dim[r->a.ndim - 1] : 0, at = r->c.max_at;

	if (at != COMPARE_NONE && wide)
		tb_buf_printf(&out->text, "%ju,%ju", (uintmax_t)(at / wide),
			      (uintmax_t)(at % wide));
	else if (at != COMPARE_NONE)
		tb_buf_printf(&out->text, "%ju", (uintmax_t)at);
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	const struct view *v = arg;
	const struct diff_row *r = row_at(v, row);

	if (!r)
		return;
	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, r->name); break;
	case COL_RESULT: result_cell(r, out); break;
	case COL_SCHEMES: schemes_cell(r, out); break;
	case COL_BAR: bar_cell(v->state, r, out); break;
	case COL_AT: place_cell(r, out); break;
	case COL_NMSE:
		if (r->c.odd)
			tb_buf_str(&out->text, "NaN");
		else if (r->c.unequal)
			tb_buf_printf(&out->text, "%.2e", compare_nmse(&r->c));
		break;
	case COL_MAX:
		if (r->c.unequal)
			tb_buf_printf(&out->text, "%.3g", r->c.max);
		break;
	case COL_COS:
		if (r->c.unequal)
			tb_buf_printf(&out->text, "%.6f", compare_cos(&r->c));
		break;
	}
}

static const struct list_rows rows = { count, id_of, find };
#define TABLE(text) { .cols = cols, .ncols = sizeof(cols) / sizeof(*cols), .rows = &rows, \
	.cell = cell, .empty = text }
static const struct table diff_table = TABLE("Neither model has a tensor.");
static const struct table no_match_table = TABLE("No tensor has that in its name; Esc shows all.");
static const struct table running_table = TABLE("Comparing... Esc cancels.");
static const struct table failed_table = TABLE("");

static const struct table *
table(const struct view *v)
{
	const struct diff *s = v->state;

	return s->err.code ? &failed_table : !s->got.m[0] ? &running_table
	     : *v->list.filter ? &no_match_table : &diff_table;
}

/* ---- the screen ---- */

static void
draw_side(struct area a, const struct diff *s, unsigned i)
{
	const struct model *m = s->got.m[i];
	char size[16], count[WORD_MAX], text[64] = "";
	int w;

	if (m)
		snprintf(text, sizeof(text), "%s  %s  %s", m->scheme,
			 tb_human_bytes(m->bytes, size), word_count(m->ntensors, "tensor", count));
	w = (int)strlen(text);
	w = w < a.w / 2 ? w : a.w / 2;
	put_fmt(a.y, a.x, 4, ROLE_DIM, " %c", 'A' + (int)i);
	put_middle(a.y, a.x + 4, a.w - w - 7, s->loc[i].name, ROLE_TITLE);
	put_clip(a.y, a.x + a.w - w - 3, w + 3, "", ROLE_TEXT);
	put_right(a.y, a.x + a.w - w - 1, w, text, ROLE_TEXT);
}

static void
draw_all(struct area a, const struct diff *s)
{
	const struct compare *c = &s->got.res.all;

	if (s->err.code)
		put_fmt(a.y, a.x, a.w, ROLE_ERROR, " %s", s->err.msg);
	else if (c->unequal)
		put_fmt(a.y, a.x, a.w, ROLE_TEXT, " all together: cosine %.6f  NMSE %.2e  max %.3g",
			compare_cos(c), compare_nmse(c), c->max);
	else if (s->got.m[0] && s->got.res.n && diff_same(&s->got.res))
		put_fmt(a.y, a.x, a.w, ROLE_OK, " %s the same values in all tensors",
			theme_sign(SIGN_OK));
	else
		put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
}

static void
draw(struct view *v, struct area a)
{
	const struct diff *s = v->state;

	if (a.h >= HEAD_ROWS + 5) {
		draw_side(area_top(&a, 1), s, 0);
		draw_side(area_top(&a, 1), s, 1);
		draw_all(area_top(&a, 1), s);
		put_blank(area_top(&a, 1));
	}
	table_draw(a, table(v), &v->list, v);
}

/* The tensor under the cursor, of A or of B. */
static void
open_tensor(struct view *v, bool second)
{
	const struct diff *s = v->state;
	const struct diff_row *r = v->list.n ? row_at(v, v->list.cur) : NULL;
	unsigned i = r && (second || !r->a.t);

	if (!r)
		return;
	if (!(i ? r->b.t : r->a.t))
		view_say(v, "%s does not have it.", s->loc[i].name);
	else
		view_open(v, VIEW_TENSOR, &(struct view_arg){
			.model = &s->loc[i], .tensor = i ? r->b.t->name : r->a.t->name,
			.id = s->id[i],
		});
}

static bool
act(struct view *v, enum action a)
{
	struct diff *s = v->state;

	switch (a) {
	case ACT_OPEN:
		open_tensor(v, false);
		return true;
	case ACT_OTHER:
		open_tensor(v, true);
		return true;
	case ACT_COMPARE:
		if (!s->job)
			start(v, true);
		return true;
	case ACT_BACK:
		if (!s->job)
			return false;
		jobs_cancel(s->job);
		return true;
	default:
		return false;
	}
}

static bool
can(const struct view *v, enum action a)
{
	const struct diff *s = v->state;
	const struct diff_row *r = v->list.n ? row_at(v, v->list.cur) : NULL;

	if (a == ACT_COMPARE)
		return !s->job;
	return r && (a != ACT_OTHER || r->b.t);
}

static void
summary(struct view *v, struct tb_buf *out)
{
	const struct diff *s = v->state;
	const struct diff_result *r = &s->got.res;
	const struct diff_row *row = v->list.n ? row_at(v, v->list.cur) : NULL;
	char text[WORD_MAX];

	if (row && *row->message) {
		tb_buf_str(out, row->message);
		return;
	}
	if (!s->got.m[0])
		return;
	tb_buf_str(out, word_count(v->list.n, "tensor", text));
	if (*v->list.filter)
		tb_buf_printf(out, " with \"%s\"", v->list.filter);
	else
		put_counts(r, out);
}

static void
where(struct view *v, struct tb_buf *out)
{
	const struct diff *s = v->state;

	tb_buf_printf(out, "%s = %s", s->loc[0].name, s->loc[1].name);
}

static bool
subject(const struct view *v, struct view_arg *out)
{
	const struct diff *s = v->state;

	*out = (struct view_arg){ .model = &s->loc[0], .id = s->id[0] };
	return true;
}

const struct view_ops view_diff = {
	.columns = &diff_table,
	.size = sizeof(struct diff), .open = diff_open, .close = diff_close, .same = same,
	.table = table, .draw = draw, .act = act, .can = can, .summary = summary, .where = where,
	.subject = subject,
};
