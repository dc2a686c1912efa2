/* tensor_bytes.c - bytes as they are in the file, with a cursor, and what the block under
 * it is made of. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/face/words.h"
#include "ui/tensor.h"

#define LEAD_COLS 10		/* for the offset */
#define ROW 16u			/* bytes */
#define PANEL_ROWS 7		/* for the block */
#define HEX_MIN 8		/* rows of bytes that are left beside it */

static const struct tensor_part *
part_of(const struct tensor_view *s)
{
	return values_part_of(s->t, s->pane - PANE_BYTES);
}

/* Is there room for the block under the cursor? */
static bool
bytes_panel(const struct tensor_view *s, struct area a)
{
	return a.h >= PANEL_ROWS + HEX_MIN && block_count(s->t) > 0;
}

unsigned
bytes_rows(const struct tensor_view *s, struct area a)
{
	return a.h < 1 ? 1 : (unsigned)a.h - (bytes_panel(s, a) ? PANEL_ROWS : 0);
}

uint64_t
bytes_block(const struct tensor_view *s, const struct grid *g)
{
	return block_at(s->t, s->pane - PANE_BYTES, g->cur);
}

static int
column(unsigned i)
{
	return 1 + LEAD_COLS + (int)i * 3 + (i > 7);
}

static void
draw_row(struct area a, int y, const struct tensor_view *s, const struct grid *g, uint64_t row)
{
	const uint8_t *p = (const uint8_t *)g->data + (row - g->have.row) * ROW;
	uint64_t off = row * ROW, left = part_of(s)->len - off;
	unsigned n = left < ROW ? (unsigned)left : ROW;
	char text[ROW + 1];

	put_fmt(y, a.x + 1, LEAD_COLS, ROLE_DIM, "%08jx", (uintmax_t)off);
	for (unsigned i = 0; i < n; i++) {
		enum role role = off + i == g->cur ? ROLE_CURSOR
			       : g->block && block_at(s->t, s->pane - PANE_BYTES, off + i) == g->block->index
			       ? ROLE_MARK : ROLE_TEXT;

		put_fmt(y, a.x + column(i), 2, role, "%02x", p[i]);
		text[i] = p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.';
	}
	text[n] = 0;
	put_clip(y, a.x + column(ROW) + 1, a.w - column(ROW) - 1, text, ROLE_TEXT);
}

/* The block. */

static void
put_number(struct tb_buf *b, double v, bool whole)
{
	char text[WORD_MAX];

	if (whole)
		tb_buf_printf(b, "%.0f ", v);
	else
		tb_buf_printf(b, "%s ", word_number(v, text));
}

static void
panel_line(struct area *a, const char *name, const struct tb_buf *text)
{
	struct area row = area_top(a, 1);

	if (row.h < 1)
		return;
	put_clip(row.y, row.x + 1, LEAD_COLS, name, ROLE_DIM);
	put_clip(row.y, row.x + 1 + LEAD_COLS, row.w - 1 - LEAD_COLS, tb_buf_cstr(text), ROLE_TEXT);
}

/* Single numbers share a line; what has many takes one each. */
static void
draw_fields(struct area *a, const struct block *b)
{
	struct tb_buf ones = TB_BUF(4096);
	struct tb_buf many = TB_BUF(65536);

	for (unsigned i = 0; i < b->nfields; i++)
		if (b->field[i].n == 1) {
			tb_buf_printf(&ones, "%s ", b->field[i].name);
			put_number(&ones, b->field[i].v[0], b->field[i].whole);
			tb_buf_str(&ones, "  ");
		}
	if (ones.len)
		panel_line(a, "scale", &ones);
	for (unsigned i = 0; i < b->nfields; i++) {
		const struct block_field *f = &b->field[i];

		tb_buf_clear(&many);
		for (unsigned k = 0; f->n > 1 && k < f->n; k++)
			put_number(&many, f->v[k], f->whole);
		if (f->n > 1)
			panel_line(a, f->name, &many);
	}
	tb_buf_free(&ones);
	tb_buf_free(&many);
}

/* As many lines as there are left. */
static void
draw_values(struct area *a, const struct block *b)
{
	size_t room = a->w > LEAD_COLS + 2 ? (size_t)(a->w - LEAD_COLS - 2) : 1;
	struct tb_buf line = TB_BUF(4096);
	const char *name = "values";
	char text[WORD_MAX];

	for (unsigned i = 0; i < b->n && a->h > 0; i++) {
		const char *v = word_number((double)b->value[i], text);

		if (line.len && line.len + strlen(v) > room) {
			panel_line(a, name, &line);
			tb_buf_clear(&line);
			name = "";
		}
		tb_buf_printf(&line, "%s ", v);
	}
	panel_line(a, name, &line);
	tb_buf_free(&line);
}

static void
draw_block(struct area a, const struct tensor_view *s, const struct grid *g)
{
	const struct block *b = g->block;
	struct area head = area_top(&a, 1);

	if (!b)
		return;
	put_fmt(head.y, head.x + 1, head.w - 1, ROLE_TITLE,
		"block %ju of %ju: elements %ju to %ju", (uintmax_t)b->index,
		(uintmax_t)block_count(s->t), (uintmax_t)b->first,
		(uintmax_t)(b->first + b->n - 1));
	draw_fields(&a, b);
	draw_values(&a, b);
}

void
bytes_draw(struct area a, const struct tensor_view *s, const struct grid *g)
{
	bool panel = bytes_panel(s, a);
	struct area hex = area_top(&a, (int)bytes_rows(s, a));

	for (uint64_t r = 0; g->data && r < g->have.rows && r < (uint64_t)hex.h; r++)
		draw_row(hex, hex.y + (int)r, s, g, g->have.row + r);
	if (panel)
		draw_block(a, s, g);
}

/* Keys. */

bool
bytes_act(const struct tensor_view *s, struct grid *g, enum action a)
{
	uint64_t len = part_of(s)->len, last = len ? len - 1 : 0;
	long rows = view_rows_of(a, g->show_rows);
	uint64_t by = (uint64_t)labs(rows) * ROW;

	if (rows < 0 && g->cur < by)	/* in the first row, below where it was */
		g->cur %= ROW;
	else if (rows)
		g->cur = list_step(g->cur, rows * (long)ROW, last);
	else if (a == ACT_LEFT || a == ACT_RIGHT)
		g->cur = list_step(g->cur, a == ACT_LEFT ? -1 : 1, last);
	else if (a == ACT_FIRST || a == ACT_LAST)
		g->cur = a == ACT_FIRST ? 0 : last;
	else
		return false;
	return true;
}

/* As a finding calls it. */
static bool
is_file(const struct model_file *f, const char *blob)
{
	return !strcmp(f->digest, blob) || !strcmp(f->path, blob);
}

void
bytes_open_at(struct tensor_view *s)
{
	int found = -1;

	for (enum values_part p = 0; s->blob && p < INSPECT_PARTS; p++) {
		const struct tensor_part *part = values_part_of(s->t, p);

		if (!part || s->byte < part->off || s->byte - part->off >= part->len)
			continue;
		if (found < 0 || is_file(&s->o->m->files[part->file], s->blob))
			found = (int)p;
	}
	if (found < 0)
		return;
	s->pane = PANE_BYTES + (unsigned)found;
	s->bytes[found].cur = s->byte - values_part_of(s->t, (unsigned)found)->off;
	s->bytes[found].row = s->bytes[found].cur / ROW;	/* at the top */
}

void
bytes_follow(struct grid *g)
{
	uint64_t row = g->cur / ROW;

	if (row < g->row)
		g->row = row;
	else if (row - g->row >= g->show_rows)
		g->row = row - g->show_rows + 1;
}
