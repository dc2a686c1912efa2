#include "config.h"

#include "ui/draw.h"

#include <curses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define ROW_MAX 1024	/* columns; no terminal is wider */

/* s is clean and has `w` columns by our count.  Curses counts with the C library:
 * where that disagrees the row must still not run over its end. */
static void
emit(int y, int x, int w, const char *s)
{
	wchar_t row[ROW_MAX * 2];
	size_t n = 0, left = strlen(s);
	int used = 0;

	while (left && n + 1 < sizeof(row) / sizeof(*row)) {
		uint32_t cp;
		size_t len = tb_utf8_next(s, left, &cp);
		/* else what stands for a character that the locale cannot show */
		wchar_t wc = theme_utf8() || cp < 0x80 ? (wchar_t)cp : cp == 0x2026 ? L'~' : L'?';
		int cols = wcwidth(wc);

		if (cols < 0) {
			wc = L'?';
			cols = 1;
		}
		if (cols > w - used)
			break;
		row[n++] = wc;
		used += cols;
		s += len;
		left -= len;
	}
	mvaddnwstr(y, x, row, (int)n);
	for (; used < w; used++)
		addch(' ');
}

static void
draw_put(int y, int x, int w, const char *s, enum role role, bool right)
{
	struct tb_buf b = TB_BUF(ROW_MAX * 64);

	if (w > COLS - x)
		w = COLS - x;
	if (w > ROW_MAX)
		w = ROW_MAX;
	if (y < 0 || y >= LINES || x < 0 || w <= 0)
		return;
	if (right)
		tb_text_right(&b, s, (size_t)w);
	else
		tb_text_clip(&b, s, (size_t)w, true);
	attrset((attr_t)theme_attr(role));
	emit(y, x, w, tb_buf_cstr(&b));
	attrset(A_NORMAL);
	tb_buf_free(&b);
}

void
put_clip(int y, int x, int w, const char *s, enum role role)
{
	draw_put(y, x, w, s, role, false);
}

void
put_right(int y, int x, int w, const char *s, enum role role)
{
	draw_put(y, x, w, s, role, true);
}

void
put_middle(int y, int x, int w, const char *s, enum role role)
{
	struct tb_buf b = TB_BUF(ROW_MAX * 8);

	if (strlen(s) < ROW_MAX && w > 0)
		tb_text_middle(&b, s, (size_t)w, false);
	put_clip(y, x, w, b.len ? tb_buf_cstr(&b) : s, role);
	tb_buf_free(&b);
}

void
put_fmt(int y, int x, int w, enum role role, const char *fmt, ...)
{
	char line[ROW_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	put_clip(y, x, w, line, role);
}

void
put_blank(struct area a)
{
	for (int i = 0; i < a.h; i++)
		put_clip(a.y + i, a.x, a.w, "", ROLE_TEXT);
}

size_t
draw_row_bytes(const char *s, size_t len, int width)
{
	size_t i = 0, blank = 0;
	int cols = 0;

	while (i < len) {
		uint32_t cp;
		size_t n = tb_utf8_next(s + i, len - i, &cp);
		int w = cp == '\t' ? DRAW_TAB - cols % DRAW_TAB : tb_width_cp(cp);

		if (cols + w > width)
			return blank ? blank : i ? i : n;
		cols += w;
		i += n;
		if (cp == ' ' || cp == '\t')
			blank = i;
	}
	return len;
}

/* put: draws the rows, too. */
static int
draw_wrap(struct area a, const char *s, enum role role, bool put)
{
	int rows = 0;

	while (*s && rows < a.h) {
		size_t whole = strcspn(s, "\n"), len = draw_row_bytes(s, whole, a.w);
		bool cut = rows + 1 == a.h;

		if (put)
			put_fmt(a.y + rows, a.x, a.w, role, "%.*s", (int)(cut ? whole : len), s);
		rows++;
		s += len;
		if (len == whole && *s == '\n')
			s++;
	}
	return rows;
}

int
put_wrap(struct area a, const char *s, enum role role)
{
	return a.w > 0 ? draw_wrap(a, s, role, true) : 0;
}

int
wrap_rows(const char *s, int width)
{
	return draw_wrap((struct area){ .h = LINES, .w = width > 0 ? width : 1 }, s, ROLE_TEXT, false);
}

void
draw_waiting(struct area a, const char *error, const char *what)
{
	put_blank(a);
	a.x++;
	a.w -= 2;
	(void)put_wrap(a, *error ? error : what, *error ? ROLE_ERROR : ROLE_DIM);
}

void
draw_panes(struct area a, const char *const *title, unsigned n, unsigned on)
{
	unsigned first = 0, last = n - 1;
	int x = a.x + 1, end = a.x + a.w, need;

	while (last > on && !title[last])
		last--;
	need = on < last ? 1 : -1;	/* nothing is behind the last one, no sign either */
	for (unsigned i = 0; i <= on; i++)
		need += title[i] ? (int)strlen(title[i]) + 2 : 0;
	for (; first < on && need + (first ? 2 : 0) > a.w; first++)
		need -= title[first] ? (int)strlen(title[first]) + 2 : 0;
	put_clip(a.y, a.x, a.w, "", ROLE_TEXT);
	if (first) {
		put_clip(a.y, x, 1, theme_utf8() ? "‹" : "<", ROLE_DIM);
		x += 2;
	}
	for (unsigned i = first; i < n; i++) {
		int w = title[i] ? (int)strlen(title[i]) : 0;

		if (w && x + w > end - (i < last ? 2 : 0)) {
			put_clip(a.y, end - 1, 1, theme_utf8() ? "›" : ">", ROLE_DIM);
			break;
		}
		put_clip(a.y, x, w, w ? title[i] : "", i == on ? ROLE_CURSOR : ROLE_DIM);
		x += w ? w + 2 : 0;
	}
}

unsigned
draw_next_pane(const char *const *title, unsigned n, unsigned on, int by)
{
	do
		on = (on + n + (unsigned)by) % n;
	while (!title[on]);
	return on;
}

#define NOTE_ROWS 3

void
draw_note(struct area *a, const char *s, enum role role)
{
	struct area below = *a;
	int lines = wrap_rows(s, a->w - 1);

	if (!lines || a->h < 3 * NOTE_ROWS)
		return;
	below.h = lines < NOTE_ROWS ? lines : NOTE_ROWS;
	a->h -= below.h;
	below.y += a->h;
	put_blank(below);
	below.x++;
	below.w--;
	(void)put_wrap(below, s, role);
}

void
draw_bar(struct tb_buf *out, uint64_t part, uint64_t whole, int cols)
{
	double share = whole ? (double)part / (double)whole : 0;
	int full = (int)(share * cols + 0.5);

	if (!full && part)
		full = 1;	/* something is never nothing */
	for (int i = 0; i < cols; i++)
		tb_buf_str(out, theme_sign(i < full ? SIGN_FULL : SIGN_EMPTY));
}

struct area
area_top(struct area *a, int rows)
{
	struct area top = *a;

	if (rows > a->h)
		rows = a->h;
	top.h = rows;
	a->y += rows;
	a->h -= rows;
	return top;
}

void
draw_cursor(int y, int x)
{
	if (y < 0) {
		curs_set(0);
		return;
	}
	move(y < LINES ? y : LINES - 1, x < COLS ? x : COLS - 1);
	curs_set(1);
}
