/* tty.h - a program on a pseudo terminal: started, fed with keys, watched, ended. */
#ifndef TBTUI_TESTS_TTY_H
#define TBTUI_TESTS_TTY_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "src/base/err.h"
#include "tests/vt.h"

struct tty {
	struct vt vt;
	int master;			/* -1 when closed */
	pid_t child;			/* 0 when there is none */
	bool closed;			/* by the program: it has ended or will */
	int status;			/* exit status, 128 + N after signal N */
	struct termios before;
	int timeout;			/* seconds to wait for anything */
	bool busy;			/* to start it, it needs to have drawn only */
};

/* The program runs with TERM=tbtest and TBTUI_TEST=1; argv ends with NULL. */
enum tb_status tty_start(struct tty *t, char *const *argv, int rows, int cols,
			 struct tb_err *err) TB_MUST_USE;
/* Keys as text: <Enter> <Esc> <Up> <PgDn> <F1> <C-X> <lt> ...; what is not in
 * angle brackets is sent as it is. */
enum tb_status tty_keys(struct tty *t, const char *keys, struct tb_err *err) TB_MUST_USE;
enum tb_status tty_resize(struct tty *t, int rows, int cols, struct tb_err *err) TB_MUST_USE;
/* Reads what the program draws until it says that nothing is left to do, or has ended. */
enum tb_status tty_settle(struct tty *t, struct tb_err *err) TB_MUST_USE;
/* The same until it has drawn, whatever jobs it has. */
enum tb_status tty_drawn(struct tty *t, struct tb_err *err) TB_MUST_USE;
/* Reads for at most `ms`; false once the program has closed the terminal. */
bool tty_read(struct tty *t, int ms);
bool tty_ended(struct tty *t);		/* by itself, and nobody has waited for it */
/* Waits until it has ended by itself; then the terminal must be as it was
 * before and the cursor visible. */
enum tb_status tty_wait(struct tty *t, struct tb_err *err) TB_MUST_USE;
void tty_free(struct tty *t);		/* kills what still runs */
#endif
