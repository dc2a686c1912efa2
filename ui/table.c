#include "config.h"

#include "ui/table.h"

#include <ctype.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/view.h"

#define WANT_MAX 1000	/* columns; no terminal is wider */
#define LEAD 1		/* in front: the sign of the cursor or of a mark */

const char *
table_column_word(const struct column *c, char out[32])
{
	size_t n = 0;

	for (const char *s = c->title; *s && n < 31; s++)
		out[n++] = *s == ' ' ? '-' : (char)tolower((unsigned char)*s);
	out[n] = 0;
	return out;
}

/* What was not chosen needs no room.  A choice of which this table has nothing is none. */
static void
fit(const struct table *t, const struct list *l, int w, short *out)
{
	struct column cols[TABLE_COLS_MAX];
	char word[32];
	bool any = false;

	for (size_t i = 0; i < t->ncols; i++) {
		cols[i] = t->cols[i];
		table_column_word(&cols[i], word);
		if (l->columns && keys_has_word(l->columns, word, strlen(word)))
			any = true;
		else if (l->columns)
			cols[i].min = cols[i].max = 0;
	}
	columns_fit(any ? cols : t->cols, t->ncols, w - LEAD, l->want, out);
}

static void
draw_titles(struct area a, const struct table *t, const struct list *l, const short *w)
{
	int x = a.x + LEAD;

	put_clip(a.y, a.x, a.w, "", ROLE_HEAD);
	for (size_t i = 0; i < t->ncols; i++) {
		struct tb_buf b = TB_BUF(256);
		bool sorted = t->cols[i].sorts && l->sort == i, right = t->cols[i].right, down;
		int gap;

		if (!w[i])
			continue;
		tb_buf_str(&b, t->cols[i].title);
		down = (t->cols[i].sorts == SORTS_DOWN) != l->reverse;
		if (sorted)
			tb_buf_str(&b, theme_sign(down ? SIGN_DESC : SIGN_ASC));
		/* The sign of the order stands in the gap where the title fills its column. */
		gap = sorted && (int)tb_width(tb_buf_cstr(&b)) > w[i] &&
		      (right || x + w[i] < a.x + a.w);
		(right ? put_right : put_clip)(a.y, right ? x - gap : x, w[i] + gap,
					       tb_buf_cstr(&b), ROLE_HEAD);
		tb_buf_free(&b);
		x += w[i] + COLUMNS_GAP;
	}
}

/* A role for the whole row beats the cells' own. */
static void
draw_row(struct area a, const struct table *t, struct view *v, size_t i, const short *w)
{
	struct list *l = &v->list;
	bool on = i == l->cur, marked = l->nmarks && list_marked(l, rows_id(v, i));
	const void *row = rows_at(v, i);
	enum role whole = on ? ROLE_CURSOR : marked ? ROLE_MARK : ROLE_TEXT;
	struct cell cell = { .text = TB_BUF(1u << 16) };
	int x = a.x + LEAD;

	put_clip(a.y, a.x, a.w, "", whole);
	put_clip(a.y, a.x, LEAD, theme_sign(marked ? SIGN_MARK : SIGN_CURSOR),
		 on || marked ? whole : ROLE_TEXT);
	if (!on && !marked)
		put_clip(a.y, a.x, LEAD, "", ROLE_TEXT);
	for (size_t col = 0; row && col < t->ncols; col++) {
		const struct column *c = &t->cols[col];
		size_t text;

		if (!w[col])
			continue;
		tb_buf_clear(&cell.text);
		cell.role = ROLE_TEXT;
		t->cell(v, row, col, &cell);
		text = tb_width(tb_buf_cstr(&cell.text));
		if (text > (size_t)l->want[col])
			l->want[col] = (short)(text < WANT_MAX ? text : WANT_MAX);
		(c->right ? put_right : c->middle ? put_middle : put_clip)(
			a.y, x, w[col], tb_buf_cstr(&cell.text),
			whole != ROLE_TEXT ? whole : cell.role);
		x += w[col] + COLUMNS_GAP;
	}
	tb_buf_free(&cell.text);
}

static void
draw_rows(struct area a, const struct table *t, struct view *v, const short *w)
{
	const struct list *l = &v->list;

	for (size_t i = 0; i < l->height && l->top + i < l->n; i++)
		draw_row((struct area){ a.y + (int)i, a.x, 1, a.w }, t, v, l->top + i, w);
}

void
table_draw(struct area a, struct view *v)
{
	const struct table *t = view_table(v);
	struct list *l = &v->list;
	const char *none = *l->filter && t->no_match ? t->no_match : t->empty;
	short w[TABLE_COLS_MAX], again[TABLE_COLS_MAX];
	struct area titles = { 0 };

	if (l->want_of != t->cols || l->want_w != a.w)
		memset(l->want, 0, sizeof(l->want));
	l->want_of = t->cols;
	l->want_w = a.w;
	fit(t, l, a.w, w);
	if (a.h >= 3)
		titles = area_top(&a, 1);
	l->y = a.y;
	list_set_height(l, a.h > 0 ? (size_t)a.h : 1);
	put_blank(a);
	if (l->n)
		rows_hold(&v->rows, v, l->top,
			  l->n - l->top < l->height ? l->n - l->top : l->height);
	draw_rows(a, t, v, w);
	fit(t, l, a.w, again);
	if (memcmp(w, again, t->ncols * sizeof(*w)))
		draw_rows(a, t, v, again);
	if (titles.h)
		draw_titles(titles, t, l, again);
	if (l->n)
		return;
	/* What to do next, in the place of rows. */
	a.x += LEAD;
	a.w -= LEAD;
	(void)put_wrap(a, none ? none : "", ROLE_TEXT);
}

bool
table_sort_next(const struct table *t, struct list *l)
{
	for (size_t step = 1; step <= t->ncols; step++) {
		size_t i = (l->sort + step) % t->ncols;

		if (!t->cols[i].sorts)
			continue;
		l->sort = (unsigned)i;
		return true;
	}
	return false;
}

size_t
table_column_at(const struct table *t, const struct list *l, int w, int x)
{
	short widths[TABLE_COLS_MAX];
	int at = LEAD;

	fit(t, l, w, widths);
	for (size_t i = 0; i < t->ncols; i++) {
		if (!widths[i])
			continue;
		if (x >= at && x < at + widths[i])
			return i;
		at += widths[i] + COLUMNS_GAP;
	}
	return t->ncols;
}
