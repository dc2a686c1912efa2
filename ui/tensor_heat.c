/* tensor_heat.c - the map of a tensor: rows downwards, columns to the right, as much of
 * them as is wanted; read by a worker, which gives up when something else is wanted. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/face/words.h"
#include "ui/shade.h"
#include "ui/tensor.h"

#define LEAD_COLS 11		/* for the numbers of rows */
#define LABEL_ROWS 4		/* one number in so many */

void
heat_view_init(struct tensor_view *s)
{
	inspect_matrix(s->t, &s->heat.all_rows, &s->heat.all_cols);
	s->heat.want.of = (struct inspect_window){ .rows = s->heat.all_rows,
						   .cols = s->heat.all_cols };
}

void
heat_view_free(struct tensor_view *s)
{
	heat_free(&s->heat.map);
}

/* The worker's part. */

struct mapping {
	struct op_ctx *ctx;
	struct opened *o;	/* a reference */
	struct heat_request req;
	struct heat map;	/* owned */
};

static enum tb_status
map_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct mapping *k = arg;

	return op_heat(k->ctx, &k->req, job, &k->map, err);
}

static bool
same_request(const struct heat_request *a, const struct heat_request *b)
{
	return a->rows == b->rows && a->cols == b->cols &&
	       !memcmp(&a->of, &b->of, sizeof(a->of));
}

static void
map_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct heat_view *h = &((struct tensor_view *)v->state)->heat;
	struct mapping *k = arg;

	h->job = NULL;
	if (status == TB_ECANCEL)
		return;
	h->have = k->req;
	heat_free(&h->map);
	if (status) {
		snprintf(h->error, sizeof(h->error), "%s", err->msg);
		return;
	}
	h->map = k->map;
	k->map = (struct heat){ 0 };
}

static void
mapping_free(void *arg)
{
	struct mapping *k = arg;

	opened_unref(k->o);
	heat_free(&k->map);
	free(k);
}

static const struct job_ops map_job = { .run = map_run, .done = map_done, .free = mapping_free };

void
heat_leave(struct tensor_view *s)
{
	if (s->heat.job)
		jobs_cancel(s->heat.job);
}

static void
fetch(struct view *v)
{
	struct tensor_view *s = v->state;
	struct heat_view *h = &s->heat;
	struct mapping *k;

	if (same_request(&h->want, &h->have))
		return;
	if (h->job) {
		if (!same_request(&h->asked, &h->want))
			jobs_cancel(h->job);
		return;
	}
	k = tb_calloc(1, sizeof(*k));
	if (!k)
		return;
	k->ctx = view_ctx(v);
	k->o = opened_ref(s->o);
	k->req = h->want;
	k->req.model = s->o->m;
	k->req.tensor = s->t;
	*h->error = 0;
	h->asked = h->want;
	h->job = view_job(v, &map_job, k, "map %s", s->name);
}

/* Drawing. */

static unsigned
level(const struct heat_view *h, unsigned r, unsigned c, float lo, float hi)
{
	const struct heat_cell *cell = &h->map.cell[r * h->map.cols + c];

	return cell->bad ? SHADE_BAD : heat_level(cell, h->max, lo, hi, shade_levels());
}

/* A map of fewer cells than there are places is drawn larger. */
static void
draw_map(struct area a, const struct heat_view *h, float lo, float hi)
{
	unsigned each = shade_halves() ? 2 : 1, rows = (unsigned)a.h * each;
	unsigned cols = (unsigned)(a.w - LEAD_COLS);
	char text[WORD_MAX];

	for (unsigned y = 0; y < (unsigned)a.h; y++) {
		unsigned r = y * each * h->map.rows / rows;

		if (y % LABEL_ROWS == 0) {
			snprintf(text, sizeof(text), "%ju", (uintmax_t)heat_row(&h->map, r));
			put_right(a.y + (int)y, a.x, LEAD_COLS - 1, text, ROLE_DIM);
		}
		for (unsigned x = 0; x < cols; x++) {
			unsigned c = x * h->map.cols / cols;
			unsigned below = (y * each + each - 1) * h->map.rows / rows;

			shade_put(a.y + (int)y, a.x + LEAD_COLS + (int)x, level(h, r, c, lo, hi),
				  level(h, below, c, lo, hi));
		}
	}
}

/* "mean |w|  0.0012 ░▒▓█ 0.25  a cell is 32×8" */
static void
draw_legend(struct area a, const struct heat_view *h, float lo, float hi)
{
	const struct tb_progress *p = h->job ? &h->job->progress : NULL;
	const struct heat *m = &h->map;
	int x = a.x + 1, end = a.x + a.w;
	char text[WORD_MAX], low[WORD_MAX], size[96];

	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	snprintf(text, sizeof(text), "%s %s ", h->max ? "max |w|" : "mean |w|",
		 word_number((double)lo, low));
	put_clip(a.y, x, (int)strlen(text), text, ROLE_DIM);
	x += (int)strlen(text);
	for (unsigned i = 0; i < shade_levels() && x < end; i++)
		shade_put(a.y, x++, i, i);
	if (p && p->total)
		snprintf(size, sizeof(size), "reading... %u%%",
			 tb_percent(p->done, p->total));
	else if (h->job)
		snprintf(size, sizeof(size), "reading...");
	else
		snprintf(size, sizeof(size), "a cell: %ju x %ju values",
			 (uintmax_t)((m->of.rows + m->rows - 1) / m->rows),
			 (uintmax_t)((m->of.cols + m->cols - 1) / m->cols));
	if (x < end)
		put_fmt(a.y, x, end - x, ROLE_DIM, " %s  %s", word_number((double)hi, text), size);
}

void
heat_draw(struct view *v, struct area a)
{
	struct tensor_view *s = v->state;
	struct heat_view *h = &s->heat;
	unsigned each = shade_halves() ? 2 : 1;
	const struct tb_progress *p;
	struct area map;
	float lo, hi;

	put_blank(a);
	if (a.h < 2 || a.w <= LEAD_COLS + 1)
		return;
	h->want.rows = (unsigned)(a.h - 1) * each;
	h->want.cols = (unsigned)(a.w - LEAD_COLS);
	fetch(v);
	map = area_top(&a, a.h - 1);
	p = h->job ? &h->job->progress : NULL;
	if (h->map.rows && h->map.cols) {
		heat_range(&h->map, h->max, &lo, &hi);
		draw_map(map, h, lo, hi);
		draw_legend(a, h, lo, hi);
	} else if (*h->error) {
		put_clip(map.y, map.x + 1, map.w - 1, h->error, ROLE_ERROR);
	} else if (!h->all_rows || !h->all_cols) {
		put_clip(map.y, map.x + 1, map.w - 1, "It is empty.", ROLE_DIM);
	} else {
		put_fmt(map.y, map.x + 1, map.w - 1, ROLE_DIM, "reading... %u%%",
			p && p->total ? tb_percent(p->done, p->total) : 0);
	}
}

/* Keys. */

/* A side of the window, halved or doubled around its middle. */
static void
zoom_side(uint64_t *at, uint64_t *len, uint64_t all, bool in)
{
	uint64_t middle = *at + *len / 2, half;

	*len = in ? (*len + 1) / 2 : *len > all / 2 ? all : *len * 2;
	half = *len / 2;
	*at = middle > half ? middle - half : 0;
	*at = *at > all - *len ? all - *len : *at;
}

/* By a part of the window, at least by one. */
static void
pan(uint64_t *at, uint64_t len, uint64_t all, unsigned part, bool back)
{
	uint64_t by = len / part ? len / part : 1, last = all - len;

	if (back)
		*at = *at > by ? *at - by : 0;
	else
		*at = last - *at > by ? *at + by : last;
}

bool
heat_act(struct tensor_view *s, enum action a)
{
	struct heat_view *h = &s->heat;
	struct inspect_window *w = &h->want.of;

	switch (a) {
	case ACT_ZOOM_IN:
	case ACT_ZOOM_OUT:
		zoom_side(&w->row, &w->rows, h->all_rows, a == ACT_ZOOM_IN);
		zoom_side(&w->col, &w->cols, h->all_cols, a == ACT_ZOOM_IN);
		break;
	case ACT_UP:
	case ACT_DOWN: pan(&w->row, w->rows, h->all_rows, 8, a == ACT_UP); break;
	case ACT_PAGE_UP:
	case ACT_PAGE_DOWN: pan(&w->row, w->rows, h->all_rows, 1, a == ACT_PAGE_UP); break;
	case ACT_LEFT:
	case ACT_RIGHT: pan(&w->col, w->cols, h->all_cols, 8, a == ACT_LEFT); break;
	case ACT_FIRST: w->row = w->col = 0; break;
	case ACT_LAST:
		w->row = h->all_rows - w->rows;
		w->col = h->all_cols - w->cols;
		break;
	default: return false;
	}
	return true;
}

void
heat_place(const struct tensor_view *s, struct tb_buf *out)
{
	const struct heat_view *h = &s->heat;
	const struct inspect_window *w = &h->want.of;

	if (w->rows && w->cols)
		tb_buf_printf(out, "rows %ju-%ju of %ju, columns %ju-%ju of %ju",
			      (uintmax_t)w->row, (uintmax_t)(w->row + w->rows - 1),
			      (uintmax_t)h->all_rows, (uintmax_t)w->col,
			      (uintmax_t)(w->col + w->cols - 1), (uintmax_t)h->all_cols);
}
