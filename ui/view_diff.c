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
#include "ui/view.h"

#define HEAD_ROWS 4

/* What a worker makes; the screen has it once it is done. */
struct diff_work {
	struct op_ctx *ctx;
	struct model_loc loc[2];	/* owned */
	struct model *m[2];		/* owned */
	bool reread;
	struct diff_result res;
};

struct diff {
	struct diff_work got;		/* empty while it runs */
	struct model_loc loc[2];	/* owned */
	struct ui_job *job;		/* NULL: none runs */
	double worst;			/* the largest relative error */
	struct tb_err err;		/* why there is nothing; code TB_OK: there is */
};

enum { COL_NAME, COL_RESULT, COL_SCHEMES, COL_BAR, COL_NMSE, COL_MAX, COL_COS, COL_AT };

static const struct column diff_cols[] = {
	[COL_NAME] = { "TENSOR", 34, 72, false, SORTS_UP, 0, .middle = true, .key = "name" },
	[COL_RESULT] = { "RESULT", 13, 0, false, SORTS_DOWN, 0, .key = "result" },
	[COL_SCHEMES] = { "SCHEMES", 10, 18, false, SORTS_NOT, 4 },
	[COL_BAR] = { "ERROR", 6, 0, false, SORTS_NOT, 3 },
	[COL_NMSE] = { "NMSE", 8, 0, true, SORTS_DOWN, 1, .key = "nmse" },
	[COL_MAX] = { "MAX", 8, 0, true, SORTS_DOWN, 5, .key = "max" },
	[COL_COS] = { "COSINE", 9, 0, true, SORTS_DOWN, 6, .key = "cos" },
	[COL_AT] = { "AT", 11, 0, true, SORTS_NOT, 7 },
};

/* ---- the job ---- */

static void
diff_job_clear(struct diff_work *w)
{
	diff_result_free(&w->res);
	for (unsigned i = 0; i < 2; i++) {
		model_free(w->m[i]);
		model_loc_free(&w->loc[i]);
	}
	*w = (struct diff_work){ 0 };
}

static enum tb_status
diff_job_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct diff_work *w = arg;
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
diff_job_free(void *arg)
{
	diff_job_clear(arg);
	free(arg);
}

static void
diff_job_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct diff *s = v->state;
	struct diff_work *w = arg;

	s->job = NULL;
	s->err = status ? *err : (struct tb_err){ 0 };
	if (!status) {
		diff_job_clear(&s->got);
		s->got = *w;
		*w = (struct diff_work){ 0 };
		s->worst = 0;
		for (size_t i = 0; i < s->got.res.n; i++) {
			double error = sqrt(compare_nmse(&s->got.res.rows[i].c));

			if (isfinite(error) && error > s->worst)
				s->worst = error;
		}
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
diff_job_say(void *arg, struct tb_buf *out)
{
	const struct diff_result *r = &((struct diff_work *)arg)->res;
	char text[WORD_MAX];

	tb_buf_str(out, word_count(r->n, "tensor", text));
	put_counts(r, out);
}

static const struct job_ops diff_job = {
	.flags = JOB_LISTED, .run = diff_job_run, .done = diff_job_done, .result = diff_job_say,
	.free = diff_job_free,
};

static void
diff_start(struct view *v, bool reread)
{
	struct diff *s = v->state;
	struct diff_work *w = tb_calloc(1, sizeof(*w));

	if (w && !model_loc_copy(&w->loc[0], &s->loc[0], NULL) &&
	    !model_loc_copy(&w->loc[1], &s->loc[1], NULL)) {
		w->ctx = view_ctx(v);
		w->reread = reread;
		s->job = view_job(v, &diff_job, w, "diff %s %s", s->loc[0].name, s->loc[1].name);
		return;
	}
	if (w)
		diff_job_free(w);
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
	v->list.sort = COL_RESULT;
	diff_start(v, false);
	return TB_OK;
}

static void
diff_close(struct view *v)
{
	struct diff *s = v->state;

	if (s->job)
		jobs_cancel(s->job);
	diff_job_clear(&s->got);
	for (unsigned i = 0; i < 2; i++)
		model_loc_free(&s->loc[i]);
}

static bool
diff_shows(const struct view *v, const struct view_arg *arg)
{
	const struct diff *s = v->state;

	return !arg->other || (arg->model && loc_same(&s->loc[0], arg->model) &&
			       loc_same(&s->loc[1], arg->other));
}

/* ---- the list ---- */

/* By result the worst come first among equals, else they stay in order of names. */
static int
diff_compare(const struct view *v, const void *a, const void *b)
{
	int d = diff_order(diff_cols[v->list.sort].key)(a, b);

	return !d && v->list.sort == COL_RESULT ? diff_order("nmse")(a, b) : d;
}

static bool
diff_match(const struct view *v, const void *row)
{
	const struct diff_row *r = row;
	const char *filter = v->list.filter;

	return tb_contains(r->name, filter) || (r->b.t && tb_contains(r->b.t->name, filter)) ||
	       tb_contains(diff_text(r->verdict), filter);
}

static const struct rows_source diff_rows = {
	ROWS_IN(struct diff, got.res.rows, got.res.n), .match = diff_match,
	.order = diff_compare,
};

static void
diff_result(const struct diff_row *r, struct cell *out)
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
diff_schemes(const struct diff_row *r, struct cell *out)
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
diff_bar(const struct diff *s, const struct diff_row *r, struct cell *out)
{
	double error = sqrt(compare_nmse(&r->c));

	if (!r->c.unequal)
		return;
	out->role = ROLE_BAR;
	draw_bar(&out->text, isfinite(error) ? (uint64_t)(error / s->worst * 1000) : 1000, 1000, 6);
}

static void
diff_place(const struct diff_row *r, struct cell *out)
{
	uint64_t wide = r->a.ndim > 1 ? r->a.dim[r->a.ndim - 1] : 0, at = r->c.max_at;

	if (at != COMPARE_NONE && wide)
		tb_buf_printf(&out->text, "%ju,%ju", (uintmax_t)(at / wide),
			      (uintmax_t)(at % wide));
	else if (at != COMPARE_NONE)
		tb_buf_printf(&out->text, "%ju", (uintmax_t)at);
}

static void
diff_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct diff_row *r = row;

	switch (col) {
	case COL_NAME: tb_buf_str(&out->text, r->name); break;
	case COL_RESULT: diff_result(r, out); break;
	case COL_SCHEMES: diff_schemes(r, out); break;
	case COL_BAR: diff_bar(v->state, r, out); break;
	case COL_AT: diff_place(r, out); break;
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

#define TABLE(none, of) { TABLE_COLS(diff_cols), .rows = &diff_rows, .cell = diff_cell, \
	.empty = none, .no_match = of }
static const struct table diff_table = TABLE("Neither model has a tensor.",
					     "No tensor has that in its name; Esc shows all.");
static const struct table running_table = TABLE("Comparing... Esc cancels.", NULL);
static const struct table failed_table = TABLE("", NULL);

static const struct table *
diff_table_of(const struct view *v)
{
	const struct diff *s = v->state;

	return s->err.code ? &failed_table : s->got.m[0] ? &diff_table : &running_table;
}

/* ---- the screen ---- */

static void
diff_draw_side(struct area a, const struct diff *s, unsigned i)
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
diff_draw_all(struct area a, const struct diff *s)
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
diff_draw(struct view *v, struct area a)
{
	const struct diff *s = v->state;

	if (a.h >= HEAD_ROWS + 5) {
		diff_draw_side(area_top(&a, 1), s, 0);
		diff_draw_side(area_top(&a, 1), s, 1);
		diff_draw_all(area_top(&a, 1), s);
		put_blank(area_top(&a, 1));
	}
	table_draw(a, v);
}

/* The tensor under the cursor, of A or of B. */
static void
open_tensor(struct view *v, bool second)
{
	const struct diff *s = v->state;
	const struct diff_row *r = rows_current(v);
	unsigned i = r && (second || !r->a.t);

	if (!r)
		return;
	if (!(i ? r->b.t : r->a.t))
		view_say(v, "%s does not have it.", s->loc[i].name);
	else
		view_open(v, VIEW_TENSOR, &(struct view_arg){
			.model = &s->loc[i], .tensor = i ? r->b.t->name : r->a.t->name,
		});
}

static bool
diff_act(struct view *v, enum action a)
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
			diff_start(v, true);
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
diff_can(const struct view *v, enum action a)
{
	const struct diff *s = v->state;
	const struct diff_row *r = rows_current((struct view *)v);

	if (a == ACT_COMPARE)
		return !s->job;
	return r && (a != ACT_OTHER || r->b.t);
}

static void
diff_summary(struct view *v, struct tb_buf *out)
{
	const struct diff *s = v->state;
	const struct diff_result *r = &s->got.res;
	const struct diff_row *row = rows_current(v);

	if (row && *row->message) {
		tb_buf_str(out, row->message);
		return;
	}
	if (!s->got.m[0])
		return;
	if (!view_count(v, "tensor", out))
		put_counts(r, out);
}

static void
diff_where(struct view *v, struct tb_buf *out)
{
	const struct diff *s = v->state;

	tb_buf_printf(out, "%s = %s", s->loc[0].name, s->loc[1].name);
}

static bool
diff_subject(struct view *v, struct view_arg *out)
{
	const struct diff *s = v->state;

	*out = (struct view_arg){ .model = &s->loc[0] };
	return true;
}

const struct view_ops view_diff = {
	.size = sizeof(struct diff), .columns = &diff_table, .table = diff_table_of,
	.open = diff_open, .close = diff_close, .same = diff_shows, .draw = diff_draw,
	.act = diff_act, .can = diff_can, .summary = diff_summary, .where = diff_where,
	.subject = diff_subject,
};
