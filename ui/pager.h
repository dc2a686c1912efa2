/* pager.h - a text that scrolls, with search.  It may hold anything: what is drawn
 * is cleaned and cut. */
#ifndef TBTUI_UI_PAGER_H
#define TBTUI_UI_PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/draw.h"
#include "ui/list.h"

/* Rows that are made elsewhere, instead of a text. */
struct pager_rows {
	size_t (*lay)(void *arg, int width);	/* how many there are now, for so many columns */
	void (*put)(void *arg, size_t row, int y, int x, int w, bool found);
	bool (*has)(void *arg, size_t row, const char *find);
};

struct pager {
	const struct pager_rows *rows;	/* NULL: those of the text */
	void *rows_arg;
	char *text;		/* owned */
	size_t len, text_cap;	/* bytes of text; what it has room for */
	bool follow;		/* the end stays in sight */
	bool wrap;		/* long lines go on below; else Left and Right scroll */
	struct pager_line { size_t off, len; } *line;	/* for `width` columns; owned */
	size_t nlines, cap;
	int width;		/* 0 = lines not made yet */
	size_t top, left, height;
	char find[LIST_FILTER_MAX];	/* "" = none */
	bool seek;		/* to be found when the lines have been made */
	size_t hits;		/* lines that match */
};

/* Takes the text (NULL = empty); forgets place and search. */
void pager_set(struct pager *p, char *text, bool wrap);
void pager_free(struct pager *p);
void pager_draw(struct area a, struct pager *p);
void pager_scroll(struct pager *p, long by);	/* lines */
void pager_shift(struct pager *p, long by);	/* columns */
void pager_goto(struct pager *p, size_t line);
/* The first match from the top line on is shown. */
void pager_find(struct pager *p, const char *text);
bool pager_next(struct pager *p, int by);	/* next or previous match, round the end */
#endif
