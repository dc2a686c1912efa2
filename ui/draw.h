/* draw.h - the only code that puts characters on the screen.
 *
 * Strings are UTF-8 from anywhere: they are cleaned and cut to the columns they
 * may have, so nothing a file says reaches the terminal as it is. */
#ifndef TBTUI_UI_DRAW_H
#define TBTUI_UI_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "ui/theme.h"

struct tb_buf;

struct area {
	int y, x, h, w;
};

/* Exactly `w` columns at (y, x): s, cut with "…" or padded with blanks.  What is
 * outside the screen is not drawn. */
void put_clip(int y, int x, int w, const char *s, enum role role);
void put_right(int y, int x, int w, const char *s, enum role role);
/* Cut in the middle: head…tail. */
void put_middle(int y, int x, int w, const char *s, enum role role);
/* printf to put_clip, for numbers and fixed words. */
void put_fmt(int y, int x, int w, enum role role, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void put_blank(struct area a);

#define DRAW_TAB 8
/* Bytes of [s, s + len) that go into one row of `width` columns: up to the last blank
 * that fits when there is one. */
size_t draw_row_bytes(const char *s, size_t len, int width);
/* A text in as many rows as it needs, those of `a` at most: then the last one is cut.
 * Its own line ends are kept.  Returns the rows it takes. */
int put_wrap(struct area a, const char *s, enum role role);
int wrap_rows(const char *s, int width);	/* how many that would be */
/* A text at the foot of *a, which becomes that much less: at most three rows, and none where
 * there is no room to spare. */
void draw_note(struct area *a, const char *s, enum role role);

/* What went wrong ("": nothing), else what is being waited for, in the place of a body. */
void draw_waiting(struct area a, const char *error, const char *what);

/* One line of panes, NULL where there is none.  Where they do not all fit, the first ones
 * go: the one we are in is seen. */
void draw_panes(struct area a, const char *const *title, unsigned n, unsigned on);
unsigned draw_next_pane(const char *const *title, unsigned n, unsigned on, int by);

/* A bar of `cols` columns, part/whole of it full, appended to a text. */
void draw_bar(struct tb_buf *out, uint64_t part, uint64_t whole, int cols);
/* Takes `rows` from the top of *a and returns them. */
struct area area_top(struct area *a, int rows);

/* Where the cursor stands when there is a prompt; negative y: none. */
void draw_cursor(int y, int x);
#endif
