#include "config.h"

#include "ui/term.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "ui/keys.h"

/* One terminal a process, and signal handlers that must reach it: static. */
static SCREEN *screen;
static struct termios before;
static char give_back[256];	/* what puts the terminal right, for dying in a hurry */
static size_t give_back_len;
static int wake_fd = -1;
static volatile sig_atomic_t got_signal, got_stop;
static bool tells_paste;	/* it was asked to mark what is pasted */

/* The terminal's private mode 2004: what is pasted comes between Esc [200~ and Esc [201~. */
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define KEY_PASTE (KEY_MAX + 1)

static void
on_signal(int sig)
{
	int saved = errno;

	if (sig == SIGTSTP)
		got_stop = 1;
	else
		got_signal = sig;
	if (wake_fd >= 0)
		(void)!write(wake_fd, "", 1);
	errno = saved;
}

/* Only calls that are safe in a handler. */
static void
on_crash(int sig)
{
	(void)!write(STDOUT_FILENO, give_back, give_back_len);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Adds a sequence without its padding, "$<5>". */
static void
give_back_add(const char *s)
{
	while (*s && give_back_len < sizeof(give_back)) {
		const char *end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;

		if (end)
			s = end + 1;
		else
			give_back[give_back_len++] = *s++;
	}
}

static void
give_back_fill(void)
{
	static const char *const caps[] = { "sgr0", "op", "rmkx", "rmcup", "cnorm" };

	give_back_len = 0;
	if (tells_paste)
		give_back_add(PASTE_OFF);
	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		const char *s = tigetstr(caps[i]);

		if (s && s != (char *)-1)
			give_back_add(s);
	}
}

/* Terminals that obey Esc [ take a mode that they do not know for nothing. */
static void
paste_mode(bool on)
{
	if (tells_paste)
		(void)!write(STDOUT_FILENO, on ? PASTE_ON : PASTE_OFF, sizeof(PASTE_ON) - 1);
}

static void
catch_signals(void)
{
	/* curses' own for the last knows nothing of pasting */
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGTSTP };
	static const int crashes[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction end = { .sa_handler = on_signal }, old;
	struct sigaction crash = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &end, NULL);
	/* A sanitizer's or anybody else's handler stays. */
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		if (sigaction(crashes[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(crashes[i], &crash, NULL);
}

static enum tb_status
check_terminal(struct tb_err *err)
{
	const char *name = getenv("TERM"), *cup;
	bool places;
	int found;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return tb_fail(err, TB_EUSAGE, "the screens need a terminal; the commands of "
			       "\"tbtui --help\" do not");
	if (!name || !*name)
		return tb_fail(err, TB_EUSAGE, "TERM is not set: which terminal is this?");
	if (setupterm(name, STDOUT_FILENO, &found) != OK && found <= 0)
		return tb_fail(err, TB_EUSAGE, "terminal \"%s\" is not known here; set TERM to "
			       "one that is, for example TERM=xterm", name);
	cup = tigetstr("cup");
	places = cup && cup != (char *)-1;
	del_curterm(cur_term);	/* newterm() reads it again */
	if (!places)
		return tb_fail(err, TB_EUSAGE, "terminal \"%s\" cannot place its cursor; the "
			       "commands of \"tbtui --help\" work on it", name);
	return TB_OK;
}

enum tb_status
term_start(int fd, struct tb_err *err)
{
	const char *cup;

	if (check_terminal(err))
		return err->code;
	if (tcgetattr(STDIN_FILENO, &before))
		return tb_fail_errno(err, "terminal");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return tb_fail(err, TB_EUSAGE, "terminal \"%s\" cannot be used", getenv("TERM"));
	cup = tigetstr("cup");
	tells_paste = cup && cup != (char *)-1 && cup[0] == '\033' && cup[1] == '[';
	give_back_fill();
	wake_fd = fd;
	catch_signals();
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	timeout(0);
	leaveok(stdscr, FALSE);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	define_key("\033" TERM_PASTE_SEQ, KEY_PASTE);
	paste_mode(true);
	return TB_OK;
}

void
term_stop(void)
{
	if (!screen)
		return;
	paste_mode(false);
	curs_set(1);
	endwin();
	delscreen(screen);
	screen = NULL;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

int
term_signal(void)
{
	return got_signal;
}

void
term_die(int sig)
{
	term_stop();
	signal(sig, SIG_DFL);
	raise(sig);
	_exit(128 + sig);
}

void
term_leave(void)
{
	paste_mode(false);
	endwin();
}

void
term_back(bool tidy)
{
	/* mice, pastes, cursor keys, a margin: what a program that was killed has left */
	static const char modes[] = "\033[?1000l\033[?1002l\033[?1003l\033[?1006l" PASTE_OFF
				    "\033[?1l\033[>4m\033[r";

	if (!tidy && tells_paste)
		(void)!write(STDOUT_FILENO, modes, sizeof(modes) - 1);
	if (!tidy)
		(void)!write(STDOUT_FILENO, give_back, give_back_len);
	paste_mode(true);
	term_redraw();
}

void
term_suspend(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, old;

	term_leave();
	sigaction(SIGTSTP, &dfl, &old);
	kill(0, SIGTSTP);	/* the whole job, as the terminal itself would */
	sigaction(SIGTSTP, &old, NULL);
	term_back(true);
}

bool
term_stop_asked(void)
{
	bool asked = got_stop;

	got_stop = 0;
	return asked;
}

void
term_redraw(void)
{
	clearok(curscr, TRUE);
}

static int
function_key(wint_t c)
{
	static const struct { int curses, key; } map[] = {
		{ KEY_UP, KEYS_UP }, { KEY_DOWN, KEYS_DOWN }, { KEY_LEFT, KEYS_LEFT },
		{ KEY_RIGHT, KEYS_RIGHT }, { KEY_HOME, KEYS_HOME }, { KEY_END, KEYS_END },
		{ KEY_PPAGE, KEYS_PGUP }, { KEY_NPAGE, KEYS_PGDN }, { KEY_BTAB, KEYS_STAB },
		{ KEY_DC, KEYS_DELETE }, { KEY_ENTER, '\r' }, { KEY_BACKSPACE, KEYS_BACKSPACE },
		{ KEY_RESIZE, TERM_RESIZE }, { KEY_MOUSE, TERM_MOUSE },
		{ KEY_PASTE, TERM_PASTE },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++)
		if (map[i].curses == (int)c)
			return map[i].key;
	if (c >= (wint_t)KEY_F(1) && c <= (wint_t)KEY_F(12))
		return KEYS_F1 + (int)c - KEY_F(1);
	return 0x7fffffff;	/* a key that nothing is bound to */
}

int
term_key(void)
{
	wint_t c;

	switch (get_wch(&c)) {
	case OK:
		return c == '\n' ? '\r' : c ? (int)c : 0x7fffffff;
	case KEY_CODE_YES:
		return function_key(c);
	}
	return TERM_NONE;
}

void
term_raw(bool on)
{
	/* asked for each byte of a paste; each time curses would tell the terminal */
	if (is_keypad(stdscr) == on)
		keypad(stdscr, !on);
}

int
term_byte(void)
{
	int c = getch();

	return c == ERR || c > 255 ? -1 : c;
}

void
term_unread(int c)
{
	if (c >= 0)
		ungetch(c);
}

bool
term_click(struct term_click *out)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return false;
	*out = (struct term_click){ .y = e.y, .x = e.x };
	if (e.bstate & BUTTON4_PRESSED)
		out->wheel = -1;
	else if (e.bstate & BUTTON5_PRESSED)
		out->wheel = 1;
	return out->wheel || e.bstate & BUTTON1_PRESSED;
}
