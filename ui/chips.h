/* chips.h - long texts in the line that is typed, each as one character, shown as
 * "[40 lines]": readline moves over it, and Backspace takes it away, as one thing.
 *
 * The characters are those of the last private plane; whoever takes text from outside into
 * a line with chips makes something else of them before (chips_guard()). */
#ifndef TBTUI_UI_CHIPS_H
#define TBTUI_UI_CHIPS_H

#include <stdbool.h>
#include <stddef.h>

struct tb_buf;

struct chips {
	struct chip { char *text; size_t len, lines; } *v;	/* owned */
	size_t n, cap;
	int rows, cols;		/* what is larger is not shown as it is; 0: everything is */
};

/* Is it too large to be shown? */
bool chips_hide(const struct chips *c, const char *text);
/* Takes the text; out: the character that stands for it.  false: there is no room, and the
 * text is still the caller's. */
bool chips_add(struct chips *c, char *text, char out[5]);
/* Appends a line as it is shown; *point (may be NULL): a place in it, then in what is shown. */
void chips_show(const struct chips *c, const char *line, struct tb_buf *out, size_t *point);
/* The same with the texts themselves. */
void chips_unfold(const struct chips *c, const char *line, struct tb_buf *out);
/* In place: no character of it stands for a text. */
void chips_guard(char *text);
void chips_clear(struct chips *c);
#endif
