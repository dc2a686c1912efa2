/* markdown_table.c - a table: its columns side by side where they fit, else each row as
 * lines of "title: cell". */
#include "config.h"

#include "src/face/markdown_block.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define BETWEEN 3	/* columns between two cells */

void
mspan_skip(const struct spans *s, size_t n, size_t *run, size_t *off)
{
	while (n && *run < s->n) {
		size_t rest = s->run[*run].len - *off;

		if (n < rest) {
			*off += n;
			return;
		}
		n -= rest;
		++*run;
		*off = 0;
	}
}

void
mtable_begin(struct mblock *b, size_t cols)
{
	b->table.on = true;
	b->table.cols = cols;
	b->table.n = 0;
	mspan_cut(&b->table.cells, 0, 0);
}

void
mtable_free(struct mblock *b)
{
	mspan_free(&b->table.cells);
	free(b->table.cell);
}

/* Copies a part of a text with its styles. */
static void
copy_cell(struct spans *to, const struct spans *from, size_t at, size_t len, size_t run)
{
	for (size_t off = 0; len && run < from->n; run++, off = 0) {
		size_t n = from->run[run].len - off;

		n = n < len ? n : len;
		mspan_add(to, from->text.p + at, n, from->run[run].style);
		at += n;
		len -= n;
	}
}

void
mtable_cell(struct mblock *b, unsigned align)
{
	struct table_made *t = &b->table;
	struct cell *c;

	if (!tb_grow(&t->cell, &t->cap, t->n + 1, sizeof(*t->cell))) {
		b->r->failed = true;
		return;
	}
	c = &t->cell[t->n++];
	*c = (struct cell){ .text = t->cells.text.len, .len = b->line.text.len, .align = align };
	c->width = tb_width(tb_buf_cstr(&b->line.text));
	/* A cell's first run is its own. */
	c->run = t->cells.n;
	for (size_t i = 0, at = 0; i < b->line.n; at += b->line.run[i++].len) {
		if (!i && tb_grow(&t->cells.run, &t->cells.cap, t->cells.n + 1,
				  sizeof(*t->cells.run)))
			t->cells.run[t->cells.n++] = (struct mdown_run){ 0, b->line.run[0].style };
		mspan_add(&t->cells, b->line.text.p + at, b->line.run[i].len,
			  b->line.run[i].style);
	}
	mspan_cut(&b->line, 0, 0);
}

/* The columns that each column of the table needs; what all do. */
static size_t
widths(const struct table_made *t, size_t *width)
{
	size_t sum = t->cols ? (t->cols - 1) * BETWEEN : 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->cell[i].width > width[i % t->cols])
			width[i % t->cols] = t->cell[i].width;
	for (size_t k = 0; k < t->cols; k++)
		sum += width[k];
	return sum;
}

static void
blanks(struct mrow_made *r, size_t n)
{
	for (; n; n--)
		mrow_put(r, " ", 1, 0);
}

static void
put_cell(struct mblock *b, const struct cell *c, size_t width)
{
	size_t room = width - c->width, run = c->run, off = 0;
	size_t before = c->align == MD_ALIGN_RIGHT ? room : c->align == MD_ALIGN_CENTER ? room / 2 : 0;

	blanks(b->r, before);
	mrow_put_part(b->r, &b->table.cells, c->text, c->len, &run, &off);
	blanks(b->r, room - before);
}

static void
put_rule(struct mblock *b, const size_t *width)
{
	const char *dash = b->r->utf8 ? "─" : "-", *cross = b->r->utf8 ? "─┼─" : "-+-";

	mblock_put_prefix(b);
	for (size_t k = 0; k < b->table.cols; k++) {
		if (k)
			mrow_put(b->r, cross, strlen(cross), MDOWN_DIM);
		for (size_t i = 0; i < width[k]; i++)
			mrow_put(b->r, dash, strlen(dash), MDOWN_DIM);
	}
	mrow_end(b->r);
}

static void
side_by_side(struct mblock *b, const size_t *width)
{
	const struct table_made *t = &b->table;
	const char *bar = b->r->utf8 ? " │ " : " | ";

	for (size_t i = 0; i < t->n && !b->r->over && !b->r->failed; i += t->cols) {
		mblock_put_prefix(b);
		for (size_t k = 0; k < t->cols && i + k < t->n; k++) {
			if (k)
				mrow_put(b->r, bar, strlen(bar), MDOWN_DIM);
			put_cell(b, &t->cell[i + k], width[k]);
		}
		mrow_end(b->r);
		if (!i)
			put_rule(b, width);
	}
}

static void
as_lines(struct mblock *b)
{
	const struct table_made *t = &b->table;
	struct spans line = SPANS;

	for (size_t i = t->cols; i < t->n && !b->r->over && !b->r->failed; i++) {
		const struct cell *title = &t->cell[i % t->cols], *c = &t->cell[i];

		if (i > t->cols && i % t->cols == 0) {
			mblock_put_prefix(b);
			mrow_end(b->r);
		}
		if (!c->len)
			continue;
		copy_cell(&line, &t->cells, title->text, title->len, title->run);
		if (title->len)
			mspan_add(&line, ": ", 2, MDOWN_BOLD);
		copy_cell(&line, &t->cells, c->text, c->len, c->run);
		mblock_put_wrapped(b, &line);
		mspan_cut(&line, 0, 0);
	}
	mspan_free(&line);
}

void
mtable_end(struct mblock *b)
{
	struct table_made *t = &b->table;
	size_t *width = tb_calloc(t->cols + 1, sizeof(*width));
	int room = b->r->width - b->prefix_cols;

	t->on = false;
	if (!width || tb_buf_failed(&t->cells.text)) {
		b->r->failed = true;
	} else if (t->cols) {
		mblock_put_prefix(b);	/* how wide is it here? */
		room = b->r->width - b->prefix_cols;
		if (room > 0 && (widths(t, width) <= (size_t)room || t->n <= t->cols))
			side_by_side(b, width);
		else
			as_lines(b);
	}
	free(width);
}
