/* tensor_facts.c - what a tensor is, its statistics, and their histogram. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "ui/plot.h"
#include "ui/tensor.h"

#define ROWS_MAX 16		/* of the histogram: higher says no more */
#define LABEL_COLS 10
#define HALF_MIN 38		/* columns below which facts and statistics are stacked */

/* The worker's part. */

struct compute {
	struct op_ctx *ctx;
	struct opened *o;	/* a reference */
	const struct tensor *t;
	bool again;
	struct inspect_result *result;	/* owned */
};

static enum tb_status
facts_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct compute *c = arg;
	struct inspect_request req = { .model = c->o->m, .tensor = c->t, .again = c->again,
				       .facts = inspect_facts(c->ctx) };
	enum tb_status status = op_inspect(c->ctx, &req, job, c->result, err);

	db_close(req.facts);
	return status;
}

static void
facts_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct tensor_view *s = v->state;
	struct compute *c = arg;

	s->computing = NULL;
	if (status) {
		snprintf(s->result_error, sizeof(s->result_error), "%s", err->msg);
		return;
	}
	free(s->result);
	s->result = c->result;
	c->result = NULL;
}

static void
compute_free(void *arg)
{
	struct compute *c = arg;

	opened_unref(c->o);
	free(c->result);
	free(c);
}

static const struct job_ops compute_job = { .run = facts_run, .done = facts_done, .free = compute_free };

void
facts_compute(struct view *v, bool again)
{
	struct tensor_view *s = v->state;
	struct compute *c = tb_calloc(1, sizeof(*c));

	if (c)
		c->result = tb_calloc(1, sizeof(*c->result));
	if (!c || !c->result) {
		free(c);
		snprintf(s->result_error, sizeof(s->result_error), "out of memory");
		return;
	}
	c->ctx = view_ctx(v);
	c->o = opened_ref(s->o);
	c->t = s->t;
	c->again = again;
	s->computing = view_job(v, &compute_job, c, "statistics %s", s->name);
}

/* Drawing: rows of a label and a value, one after the other in an area; a value that is
 * longer goes on in the next rows. */

static void
fact(struct area *a, const char *label, enum role role, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void
fact(struct area *a, const char *label, enum role role, const char *fmt, ...)
{
	struct area text = *a;
	char value[512];
	va_list ap;
	int rows;

	if (a->h < 1)
		return;
	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	put_clip(a->y, a->x, LABEL_COLS, label, ROLE_DIM);
	text.x += LABEL_COLS;
	text.w -= LABEL_COLS;
	rows = put_wrap(text, value, role);
	(void)area_top(a, rows ? rows : 1);
}

/* "U32 64×8 at 1,234 in model.safetensors", in two rows at most: a digest is cut. */
static void
part_fact(struct area *a, const struct tensor_view *s, enum values_part p)
{
	const struct tensor_part *part = values_part_of(s->t, p);
	bool blocks = p == PART_WEIGHT && scheme_form(&s->t->scheme) == FORM_BLOCKS;
	struct tb_buf file = TB_BUF(4096);
	char shape[WORD_MAX], bytes[16];

	if (!part)
		return;
	tb_text_clip(&file, tb_path_name(s->o->m->files[part->file].path),
		     a->w > LABEL_COLS ? (size_t)(a->w - LABEL_COLS) : 1, false);
	fact(a, inspect_part_word(s->t, p), ROLE_TEXT, "%s %s, %s at %ju in %s",
	     blocks ? tensor_dtype(s->t) : dtype_name(part->dtype),
	     word_shape(blocks ? s->t->dim : part->dim, part->ndim, theme_sign(SIGN_TIMES), shape),
	     tb_human_bytes(part->len, bytes), (uintmax_t)part->off, tb_buf_cstr(&file));
	tb_buf_free(&file);
}

static int
draw_facts(struct area a, const struct tensor_view *s)
{
	const struct tensor *t = s->t;
	char text[WORD_MAX], name[SCHEME_NAME_MAX];
	int y = a.y;

	fact(&a, "shape", ROLE_TEXT, "%s", word_shape(t->dim, t->ndim, theme_sign(SIGN_TIMES), text));
	fact(&a, "elements", ROLE_TEXT, "%s", word_count(t->elems, "value", text));
	fact(&a, "scheme", t->origin == ORIGIN_UNKNOWN ? ROLE_WARN : ROLE_TEXT, "%s (%s)",
	     scheme_name(&t->scheme, name), origin_name(t->origin));
	if (t->elems)
		fact(&a, "size", ROLE_TEXT, "%s, %.2f bits a value", tb_human_bytes(t->bytes, text),
		     8.0 * (double)t->bytes / (double)t->elems);
	for (enum values_part p = 0; p < INSPECT_PARTS; p++)
		part_fact(&a, s, p);
	return a.y - y;
}

static void
bad_fact(struct area *a, const struct tensor *t, const char *label, uint64_t n, uint64_t first)
{
	struct inspect_place p;

	if (!n) {
		fact(a, label, ROLE_TEXT, "none");
		return;
	}
	inspect_place(t, first, &p);
	fact(a, label, ROLE_BAD, "%ju, first in row %ju, column %ju", (uintmax_t)n,
	     (uintmax_t)p.row, (uintmax_t)p.col);
	fact(a, "", ROLE_BAD, "at offset %ju", (uintmax_t)p.off);
}

/* Three in a row. */
static void
quantile_facts(struct area *a, const struct inspect_dist *d)
{
	static const char *const label[] = { "p0.1 1 5", "p25 50 75", "p95-99.9" };
	char text[3][WORD_MAX];

	for (unsigned i = 0; i < INSPECT_QUANTILES; i += 3)
		fact(a, label[i / 3], ROLE_TEXT, "%s %s %s", word_number(d->quantile[i], text[0]),
		     word_number(d->quantile[i + 1], text[1]),
		     word_number(d->quantile[i + 2], text[2]));
}

static void
source_fact(struct area *a, const struct inspect_result *r)
{
	uint64_t finite = r->stats.count - r->stats.nans - r->stats.infs;
	char text[WORD_MAX], count[16];

	if (!r->dist.exact)
		fact(a, "quantiles", ROLE_DIM, r->dist.counted < finite ? "of %s values"
		     : "of %s values, +-0.8%%", tb_human_count(r->dist.counted, count));
	if (r->kept_ns)
		fact(a, "kept", ROLE_DIM, "%s; x computes again", word_age(r->kept_ns, text));
}

static void
draw_progress(struct area a, const struct tensor_view *s)
{
	const struct tb_progress *p = s->computing ? &s->computing->progress : NULL;

	if (*s->result_error)
		(void)put_wrap(a, s->result_error, ROLE_ERROR);
	else if (p && p->total)
		put_fmt(a.y, a.x, a.w, ROLE_DIM, "computing statistics... %u%%",
			tb_percent(p->done, p->total));
	else
		put_clip(a.y, a.x, a.w, "computing statistics...", ROLE_DIM);
}

static int
draw_stats(struct area a, const struct tensor_view *s)
{
	const struct value_stats *st = s->result ? &s->result->stats : NULL;
	char text[WORD_MAX], share[WORD_MAX];
	int y = a.y;

	if (!st) {
		if (a.h > 0)
			draw_progress(a, s);
		return 1;
	}
	fact(&a, "min", ROLE_TEXT, "%s", word_number(st->min, text));
	fact(&a, "max", ROLE_TEXT, "%s", word_number(st->max, text));
	fact(&a, "mean", ROLE_TEXT, "%s", word_number(st->mean, text));
	fact(&a, "std", ROLE_TEXT, "%s", word_number(st->std, text));
	fact(&a, "zeros", ROLE_TEXT, "%s (%s)", word_count(st->zeros, "value", text),
	     word_percent(st->zeros, st->count, share));
	bad_fact(&a, s->t, "NaN", st->nans, st->first_nan);
	bad_fact(&a, s->t, "infinite", st->infs, st->first_inf);
	quantile_facts(&a, &s->result->dist);
	source_fact(&a, s->result);
	return a.y - y;
}

static uint64_t
tallest(const struct inspect_hist *h)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (h->count[i] > most)
			most = h->count[i];
	return most;
}

static void
draw_histogram(struct area a, const struct tensor_view *s)
{
	const struct inspect_hist *h = &s->result->dist.hist;
	int cols = plot_cols(h->n, a.w), rows = a.h - 2 < ROWS_MAX ? a.h - 2 : ROWS_MAX;
	char text[WORD_MAX];

	if (rows < 1 || !h->n)
		return;
	put_fmt(a.y, a.x, a.w, ROLE_DIM, "histogram, %u bins, tallest %ju%s", h->n,
		(uintmax_t)tallest(h), s->log_scale ? ", logarithmic" : "");
	for (int i = 0; i < rows; i++) {
		struct tb_buf line = TB_BUF(1u << 16);

		plot_row(&line, h->count, h->n, a.w, rows, i, s->log_scale);
		put_clip(a.y + 1 + i, a.x, a.w, tb_buf_cstr(&line), ROLE_BAR);
		tb_buf_free(&line);
	}
	put_clip(a.y + 1 + rows, a.x, a.w, "", ROLE_DIM);
	put_clip(a.y + 1 + rows, a.x, cols / 3, word_number(h->lo, text), ROLE_DIM);
	put_right(a.y + 1 + rows, a.x + cols - cols / 3, cols / 3, word_number(h->hi, text),
		  ROLE_DIM);
	word_number((h->lo + h->hi) / 2, text);
	put_clip(a.y + 1 + rows, a.x + (cols - (int)strlen(text)) / 2, (int)strlen(text), text,
		 ROLE_DIM);
}

void
facts_draw(struct area a, const struct tensor_view *s)
{
	struct area left = a, right = a;
	int used;

	put_blank(a);
	a.x++;
	a.w--;
	left = right = a;
	if (a.w >= 2 * HALF_MIN) {
		left.w = a.w / 2 + 4;
		right.x += left.w + 1;
		right.w -= left.w + 1;
		used = draw_facts(left, s);
		if (draw_stats(right, s) > used)
			used = draw_stats(right, s);
	} else {
		used = draw_facts(left, s);
		(void)area_top(&right, used);
		used += draw_stats(right, s);
	}
	(void)area_top(&a, used + (a.h > used + 6));
	if (s->result)
		draw_histogram(a, s);
}
