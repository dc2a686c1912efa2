/* waiting.h - what was sent while nobody could answer, in order: it is said later, or taken
 * back. */
#ifndef TBTUI_UI_WAITING_H
#define TBTUI_UI_WAITING_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/chips.h"
#include "ui/draw.h"

struct waiting {
	char **v;		/* owned; they may have chips */
	size_t n, cap;
	bool held;		/* an answer was stopped: nothing is said until its person asks */
};

bool waiting_add(struct waiting *w, const char *text);	/* false: out of memory */
/* Out of it, the caller's; NULL: there is none. */
char *waiting_first(struct waiting *w);
char *waiting_last(struct waiting *w);
void waiting_clear(struct waiting *w);
/* Rows that they take, a few at most. */
int waiting_rows(const struct waiting *w);
void waiting_draw(struct area a, const struct waiting *w, const struct chips *chips);
#endif
