#include "config.h"

#include "ui/pager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define LINES_MAX ((size_t)1 << 22)

void
pager_set(struct pager *p, char *text, bool wrap)
{
	pager_free(p);
	p->text = text;
	p->len = text ? strlen(text) : 0;
	p->text_cap = text ? p->len + 1 : 0;
	p->wrap = wrap;
}

void
pager_free(struct pager *p)
{
	free(p->text);
	free(p->line);
	*p = (struct pager){ .rows = p->rows, .rows_arg = p->rows_arg, .height = 1 };
}

/* From the text at s on. */
static void
lines_add(struct pager *p, const char *s, int width)
{
	while (*s && p->nlines < LINES_MAX) {
		size_t whole = strcspn(s, "\n");
		size_t len = p->wrap ? draw_row_bytes(s, whole, width) : whole;

		if (!tb_grow(&p->line, &p->cap, p->nlines + 1, sizeof(*p->line)))
			return;
		p->line[p->nlines++] = (struct pager_line){ (size_t)(s - p->text), len };
		s += len;
		if (len == whole && *s == '\n')
			s++;
	}
}

/* One row as it is shown: tabs opened, `left` columns gone. */
static void
row_text(const struct pager *p, size_t i, struct tb_buf *out)
{
	const char *s = p->text + p->line[i].off;
	size_t left = p->line[i].len, col = 0;

	while (left) {
		uint32_t cp;
		size_t n = tb_utf8_next(s, left, &cp);
		size_t w = cp == '\t' ? DRAW_TAB - col % DRAW_TAB : (size_t)tb_width_cp(cp);

		for (size_t k = 0; cp == '\t' && k < w; k++)
			if (col + k >= p->left)
				tb_buf_chr(out, ' ');
		if (cp != '\t' && cp && col >= p->left)
			tb_buf_add(out, s, n);
		col += w;
		s += n;
		left -= n;
	}
}

static void
pager_settle(struct pager *p)
{
	size_t last = p->nlines > p->height ? p->nlines - p->height : 0;

	if (p->top > last)
		p->top = last;
}

static bool
row_matches(const struct pager *p, size_t i)
{
	struct tb_buf b = TB_BUF(1u << 20);
	bool hit;

	if (!*p->find)
		return false;
	if (p->rows)
		return p->rows->has(p->rows_arg, i, p->find);
	tb_buf_add(&b, p->text + p->line[i].off, p->line[i].len);
	hit = tb_contains(tb_buf_cstr(&b), p->find);
	tb_buf_free(&b);
	return hit;
}

static void
pager_seek(struct pager *p)
{
	size_t first = p->nlines;

	p->seek = false;
	p->hits = 0;
	for (size_t i = 0; i < p->nlines; i++) {
		if (!row_matches(p, i))
			continue;
		if (first == p->nlines || (first < p->top && i >= p->top))
			first = i;
		p->hits++;
	}
	if (p->hits)
		p->follow = false;	/* what was found stays in sight */
	if (p->hits && (first < p->top || first >= p->top + p->height))
		p->top = first;
	pager_settle(p);
}

void
pager_find(struct pager *p, const char *text)
{
	snprintf(p->find, sizeof(p->find), "%s", text);
	p->seek = true;
	if (p->width)
		pager_seek(p);
}

void
pager_draw(struct area a, struct pager *p)
{
	put_blank(a);
	if (a.w > 8) {		/* a margin, as the tables have */
		a.x++;
		a.w -= 2;
	}
	if (p->rows) {
		p->width = a.w > 0 ? a.w : 1;
		p->nlines = p->rows->lay(p->rows_arg, p->width);
	} else if (p->width != a.w) {
		p->nlines = 0;
		p->width = a.w > 0 ? a.w : 1;
		lines_add(p, p->text ? p->text : "", p->width);
	}
	p->height = a.h > 0 ? (size_t)a.h : 1;
	if (p->seek)
		pager_seek(p);
	if (p->follow)
		p->top = p->nlines;
	pager_settle(p);
	for (int i = 0; i < a.h; i++) {
		size_t row = p->top + (size_t)i;
		struct tb_buf b = TB_BUF(1u << 20);

		if (p->rows && row < p->nlines) {
			p->rows->put(p->rows_arg, row, a.y + i, a.x, a.w, row_matches(p, row));
			continue;
		}
		if (row < p->nlines)
			row_text(p, row, &b);
		put_clip(a.y + i, a.x, a.w, tb_buf_cstr(&b),
			 row < p->nlines && row_matches(p, row) ? ROLE_MARK : ROLE_TEXT);
		tb_buf_free(&b);
	}
}

void
pager_scroll(struct pager *p, long by)
{
	p->top = list_step(p->top, by, p->nlines);
	pager_settle(p);
}

void
pager_shift(struct pager *p, long by)
{
	if (!p->wrap)
		p->left = list_step(p->left, by, 4088);
}

void
pager_goto(struct pager *p, size_t line)
{
	p->top = line;
	pager_settle(p);
}

bool
pager_next(struct pager *p, int by)
{
	size_t at = p->top;

	for (size_t step = 0; step < p->nlines; step++) {
		at = by > 0 ? (at + 1) % p->nlines : (at ? at : p->nlines) - 1;
		if (!row_matches(p, at))
			continue;
		p->follow = false;
		pager_goto(p, at);
		return true;
	}
	return false;
}
