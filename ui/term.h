/* term.h - taking over the terminal and giving it back, whatever happens. */
#ifndef TBTUI_UI_TERM_H
#define TBTUI_UI_TERM_H

#include <stdbool.h>

#include "src/base/err.h"

/* Starts curses.  TB_EUSAGE with a sentence for people when there is no terminal
 * or it cannot place the cursor.  wake_fd gets a byte when a signal asks to end. */
enum tb_status term_start(int wake_fd, struct tb_err *err) TB_MUST_USE;
void term_stop(void);		/* fine when not started */

/* The signal that asked to end, 0 if none. */
int term_signal(void);
/* Dies of that signal, with the terminal given back before. */
void term_die(int sig) __attribute__((noreturn));

/* The terminal for another program, and back; not tidy: that one was killed. */
void term_leave(void);
void term_back(bool tidy);
void term_suspend(void);	/* stops the process; returns when it goes on */
bool term_stop_asked(void);	/* SIGTSTP from outside, once: term_suspend() is wanted */
void term_redraw(void);		/* the next refresh draws everything */

/* What was pressed: a key as in keys.h, or one of these.  After TERM_PASTE come the
 * bytes of what was pasted, then TERM_PASTE_END. */
enum { TERM_NONE = 0, TERM_RESIZE = -1, TERM_MOUSE = -2, TERM_PASTE = -3 };
#define TERM_PASTE_SEQ "[200~"		/* behind Esc */
#define TERM_PASTE_END "\033[201~"
int term_key(void);
/* Bytes as they come (for readline): off = keys again. */
void term_raw(bool on);
void term_unread(int c);		/* comes again as the next byte or key; < 0: nothing */
int term_byte(void);		/* -1 = none; TERM_RESIZE is not lost: see term_key() */

struct term_click {
	int y, x;
	int wheel;		/* -1 up, 1 down, 0 = button 1 */
};
bool term_click(struct term_click *out);	/* after TERM_MOUSE */
#endif
