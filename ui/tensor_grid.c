/* tensor_grid.c - values and bytes of a tensor, in windows that a worker reads. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/face/words.h"
#include "ui/tensor.h"

#define VALUE_COLS 10		/* columns of one value with the gap before it */
#define LEAD_COLS 10		/* row number or offset */

void
grid_init(struct tensor_view *s)
{
	inspect_matrix(s->t, &s->values.rows, &s->values.cols);
	for (enum values_part p = 0; p < INSPECT_PARTS; p++) {
		const struct tensor_part *part = values_part_of(s->t, p);

		/* Bytes are a matrix, too: of 16 a row, the last one may be short. */
		s->bytes[p].cols = 16;
		s->bytes[p].rows = part ? (part->len + 15) / 16 : 0;
	}
}

static void
grid_drop(struct grid *g)
{
	free(g->data);
	free(g->block);
	g->data = NULL;
	g->block = NULL;
}

void
grid_free(struct tensor_view *s)
{
	grid_drop(&s->values);
	for (enum values_part p = 0; p < INSPECT_PARTS; p++)
		grid_drop(&s->bytes[p]);
}

static struct grid *
grid_of(const struct tensor_view *s)
{
	struct tensor_view *own = (struct tensor_view *)s;

	return s->pane == PANE_VALUES ? &own->values : &own->bytes[s->pane - PANE_BYTES];
}

/* The worker's part. */

struct fetch {
	struct opened *o;	/* a reference */
	const struct tensor *t;
	unsigned pane;
	struct inspect_window w;
	void *data;		/* owned */
	uint64_t block;		/* INSPECT_NONE: none */
	struct block *taken;	/* owned */
};

static enum tb_status
fetch_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct fetch *f = arg;
	bool values = f->pane == PANE_VALUES;
	size_t each = values ? f->w.cols * sizeof(float) : 16;
	const struct tensor_part *part;
	uint64_t off, len;
	enum tb_status status;

	(void)job;
	f->data = tb_calloc(f->w.rows, each);
	if (!f->data)
		return tb_nomem(err);
	if (values)
		return inspect_values(f->o->m, f->t, &f->w, f->data, err);
	part = values_part_of(f->t, f->pane - PANE_BYTES);
	off = f->w.row * each;
	len = f->w.rows * each;
	status = values_bytes(f->o->m, part, off, (size_t)(len > part->len - off ? part->len - off
								      : len), f->data, err);
	/* a block that cannot be read leaves its bytes, which show why */
	if (!status && f->block != INSPECT_NONE) {
		f->taken = tb_calloc(1, sizeof(*f->taken));
		if (f->taken && block_read(f->o->m, f->t, f->block, f->taken, NULL)) {
			free(f->taken);
			f->taken = NULL;
		}
	}
	return status;
}

static void
fetch_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct tensor_view *s = v->state;
	struct fetch *f = arg;
	struct grid *g = f->pane == PANE_VALUES ? &s->values : &s->bytes[f->pane - PANE_BYTES];

	g->loading = false;
	g->have = f->w;
	grid_drop(g);
	g->data = status ? NULL : f->data;
	g->block = f->taken;
	f->taken = NULL;
	if (status)
		snprintf(g->error, sizeof(g->error), "%s", err->msg);
	else
		f->data = NULL;
}

static void
fetch_free(void *arg)
{
	struct fetch *f = arg;

	opened_unref(f->o);
	free(f->data);
	free(f->taken);
	free(f);
}

static const struct job_ops fetch_job = { .run = fetch_run, .done = fetch_done, .free = fetch_free };

static struct inspect_window
wanted(const struct grid *g)
{
	uint64_t rows = g->rows - g->row, cols = g->cols - g->col;

	return (struct inspect_window){
		g->row, g->col, rows < g->show_rows ? rows : g->show_rows,
		cols < g->show_cols ? cols : g->show_cols,
	};
}

/* One worker at a time: when it is done, the next drawing asks for what is wanted
 * then, however far the person has moved meanwhile. */
static void
fetch(struct view *v, struct grid *g)
{
	struct tensor_view *s = v->state;
	struct inspect_window w = wanted(g);
	uint64_t block = s->pane == PANE_VALUES ? INSPECT_NONE : bytes_block(s, g);
	struct fetch *f;

	if (g->loading || !w.rows || !w.cols || (!memcmp(&w, &g->have, sizeof(w)) && block == g->asked))
		return;
	f = tb_calloc(1, sizeof(*f));
	if (!f)
		return;
	*f = (struct fetch){ .o = opened_ref(s->o), .t = s->t, .pane = s->pane, .w = w,
			     .block = block };
	g->asked = block;
	*g->error = 0;
	g->loading = view_job(v, &fetch_job, f, "read %s", s->name) != NULL;
}

/* Drawing. */

static void
draw_values(struct area a, const struct grid *g)
{
	const float *x = g->data;
	const struct inspect_window *w = &g->have;
	char text[WORD_MAX];

	if (a.h > 1) {
		struct area head = area_top(&a, 1);

		put_right(head.y, head.x, LEAD_COLS - 2, "row", ROLE_HEAD);
		for (uint64_t c = 0; x && c < w->cols; c++)
			put_fmt(head.y, head.x + LEAD_COLS + (int)c * VALUE_COLS, VALUE_COLS,
				ROLE_HEAD, "%*ju", VALUE_COLS - 1, (uintmax_t)(w->col + c));
	}
	for (uint64_t r = 0; x && r < w->rows && r < (uint64_t)a.h; r++) {
		snprintf(text, sizeof(text), "%ju", (uintmax_t)(w->row + r));
		put_right(a.y + (int)r, a.x, LEAD_COLS - 2, text, ROLE_DIM);
		for (uint64_t c = 0; c < w->cols; c++)
			put_right(a.y + (int)r, a.x + LEAD_COLS + (int)c * VALUE_COLS,
				  VALUE_COLS - 1,
				  word_number((double)x[r * w->cols + c], text), ROLE_TEXT);
	}
}

void
grid_draw(struct view *v, struct area a)
{
	struct tensor_view *s = v->state;
	struct grid *g = grid_of(s);
	bool values = s->pane == PANE_VALUES;

	g->show_rows = !values ? bytes_rows(s, a) : a.h > 1 ? (unsigned)(a.h - 1) : 1;
	g->show_cols = !values ? 16 : a.w > LEAD_COLS + VALUE_COLS
		     ? (unsigned)(a.w - LEAD_COLS) / VALUE_COLS : 1;
	if (!values)
		bytes_follow(g);
	put_blank(a);
	fetch(v, g);
	if (*g->error)
		put_clip(a.y, a.x + 1, a.w - 1, g->error, ROLE_ERROR);
	else if (!g->rows || !g->cols)
		put_clip(a.y, a.x + 1, a.w - 1, "It is empty.", ROLE_DIM);
	else if (!g->data)
		put_clip(a.y, a.x + 1, a.w - 1, "reading...", ROLE_DIM);
	else if (values)
		draw_values(a, g);
	else
		bytes_draw(a, s, g);
}

/* Moves *at by `by` so that the last `show` of n stay in sight. */
static void
grid_move(uint64_t *at, long by, uint64_t n, unsigned show)
{
	*at = list_step(*at, by, n > show ? n - show : 0);
}

bool
grid_act(struct tensor_view *s, enum action a)
{
	struct grid *g = grid_of(s);
	long by = view_rows_of(a, g->show_rows);

	if (s->pane != PANE_VALUES)
		return bytes_act(s, g, a);
	if (by)
		grid_move(&g->row, by, g->rows, g->show_rows);
	else if (a == ACT_LEFT || a == ACT_RIGHT)
		grid_move(&g->col, a == ACT_LEFT ? -1 : 1, g->cols, g->show_cols);
	else if (a == ACT_FIRST || a == ACT_LAST)
		grid_move(&g->row, a == ACT_FIRST ? LONG_MIN : LONG_MAX, g->rows, g->show_rows);
	else
		return false;
	return true;
}

void
grid_place(const struct tensor_view *s, struct tb_buf *out)
{
	const struct grid *g = grid_of(s);
	struct inspect_window w = wanted(g);

	if (!w.rows)
		return;
	if (s->pane == PANE_VALUES)
		tb_buf_printf(out, "rows %ju-%ju of %ju, columns %ju-%ju of %ju",
			      (uintmax_t)w.row, (uintmax_t)(w.row + w.rows - 1),
			      (uintmax_t)g->rows, (uintmax_t)w.col,
			      (uintmax_t)(w.col + w.cols - 1), (uintmax_t)g->cols);
	else
		tb_buf_printf(out, "%s byte %ju of %ju", inspect_part_name(s->pane - PANE_BYTES),
			      (uintmax_t)g->cur,
			      (uintmax_t)values_part_of(s->t, s->pane - PANE_BYTES)->len);
}
