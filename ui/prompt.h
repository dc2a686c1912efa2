/* prompt.h - one line (or several) typed with readline inside the screen.
 *
 * Readline never sees the terminal: the loop feeds bytes, the prompt is drawn like
 * all else.  There is one prompt at a time. */
#ifndef TBTUI_UI_PROMPT_H
#define TBTUI_UI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/chips.h"
#include "ui/draw.h"

struct prompt_spec {
	const char *label;	/* "/", ":" */
	const char *text;	/* to begin with; NULL = nothing */
	const char *history;	/* prompts with the same word share one; NULL = none */
	bool selected;		/* what is typed takes the place of `text` */
	bool multiline;		/* Ctrl-J and Alt-Enter put a line end in */
	bool stays;		/* after Enter the prompt is still open, and empty (chat) */
	/* Each change while typing; may be NULL. */
	void (*changed)(void *arg, const char *text);
	/* Long texts of the line; borrowed, for longer than the prompt is open.  What the
	 * functions here get has them as characters.  NULL: all of it is shown. */
	struct chips *chips;
	/* Enter, and the text is not at its end: a line end follows.  NULL: it always is. */
	bool (*goes_on)(void *arg, const char *text);
	/* Up where nothing is typed: the text to go on with, the caller's to free; NULL: the
	 * history's. May be NULL. */
	char *(*before)(void *arg);
	/* Ctrl-G: the text, whole, in an editor; NULL: it stays. The caller frees. May be NULL. */
	char *(*edit)(void *arg, const char *text);
	/* Enter: the text; Esc or Ctrl-C: NULL. */
	void (*done)(void *arg, const char *text);
	bool words;		/* of what it can become only the last word is shown */
	/* The i-th way to go on with `word`, NULL at the end; borrowed. May be NULL. */
	const char *(*complete)(void *arg, const char *word, size_t i);
	void *arg;
};

/* spec is copied, its strings are borrowed while the prompt is open. */
void prompt_open(const struct prompt_spec *spec);
void prompt_close(void);	/* without done(); fine when none is open */
void prompt_cancel(void);	/* as if Esc were pressed */
bool prompt_is_open(void);
const void *prompt_owner(void);	/* spec.arg, NULL when none is open */

void prompt_byte(unsigned char c);
/* Text from elsewhere, with its line ends: blanks where one line is typed.  false: it
 * was too long, and the end is missing. */
bool prompt_paste(const char *s, size_t len);
/* Up to `a.h` rows, the end of the text shows; `tail` is put at the right of the
 * first ("3 of 12", or what Tab found); may be NULL. */
void prompt_draw(struct area a, const char *tail);
int prompt_rows(int w);		/* rows it would like, >= 1 */
const char *prompt_hint(void);	/* candidates after Tab, "" if none */
/* As if it were pasted; whole: as one thing, however short it is.  Nothing where no prompt is
 * open. */
void prompt_insert(const char *text, bool whole);
/* What was typed another day, the oldest first: Up brings it back in prompts with this
 * history.  Once is enough: nothing is done the second time. */
void prompt_remember(const char *history, char *const *lines, size_t n);
void prompt_free(void);
#endif
