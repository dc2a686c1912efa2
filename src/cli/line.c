#include "config.h"

#include "src/cli/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/editor.h"

#define BLOCK_MAX (16u << 20)
#define QUOTES "\"\"\""
#define KEY_EDIT 7		/* Ctrl-G */
/* The terminal marks what is pasted; readline asks for it only while it reads. */
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

static volatile sig_atomic_t interrupted, resumed;

/* One terminal a process, and handlers that must put it right: static. */
static struct {
	bool taken;
	struct termios usual, away;
	line_complete_fn *complete;
	void *arg;
	char *preset, *broken;	/* owned: of the next line, what ^C took */
	int woken[2];		/* 0: none */
	int early;		/* bytes that were typed before the terminal was ours */
} line;

/* It may come just before one waits for a byte: the pipe tells that, too. */
static void
on_sigint(int sig)
{
	int saved = errno;

	(void)sig;
	interrupted = 1;
	if (line.woken[1] > 0)
		(void)!write(line.woken[1], "", 1);
	errno = saved;
}

static void
forget_wakes(void)
{
	char bytes[16];

	while (line.woken[0] > 0 && read(line.woken[0], bytes, sizeof(bytes)) > 0)
		;
}

static void
say_paste(const char *mode)
{
	(void)!write(STDOUT_FILENO, mode, sizeof(PASTE_ON) - 1);
}

/* A byte for readline.  Its own function goes on waiting when a signal has come; here ^C ends
 * the line, empty. */
static int
get_byte(FILE *f)
{
	struct pollfd p[2] = { { fileno(f), POLLIN, 0 }, { line.woken[0], POLLIN, 0 } };
	unsigned char c;

	while (!interrupted && poll(p, line.woken[0] > 0 ? 2 : 1, -1) < 0 && errno == EINTR) {
		rl_check_signals();
		if (resumed)
			rl_forced_update_display();
		resumed = 0;
	}
	if (interrupted) {
		free(line.broken);
		line.broken = tb_strdup(rl_line_buffer);
		rl_replace_line("", 0);
		return '\r';
	}
	if (read(fileno(f), &c, 1) != 1)
		return EOF;
	/* Of what was typed before, the terminal has made each Enter a line end. */
	if (line.early > 0 && line.early-- && c == '\n')
		return '\r';
	return c;
}

/* ---- the terminal between two lines ---- */

static void
on_end(int sig)
{
	say_paste(PASTE_OFF);
	tcsetattr(STDIN_FILENO, TCSANOW, &line.usual);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
on_stop(int sig)
{
	struct sigaction sa = { .sa_handler = on_stop };
	int saved = errno;
	struct termios now;
	sigset_t stop;

	tcgetattr(STDIN_FILENO, &now);
	say_paste(PASTE_OFF);
	tcsetattr(STDIN_FILENO, TCSANOW, &line.usual);
	signal(sig, SIG_DFL);
	sigemptyset(&stop);
	sigaddset(&stop, sig);
	raise(sig);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);	/* stops here */
	sigaction(sig, &sa, NULL);
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
	say_paste(PASTE_ON);
	resumed = 1;
	errno = saved;
}

static void
catch_ends(bool on)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on ? on_end : SIG_DFL }, old;

	for (size_t i = 0; i < 3; i++) {
		sigaction(ends[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	}
	sa.sa_handler = on ? on_stop : SIG_DFL;
	sigaction(SIGTSTP, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &sa, NULL);
}

static int
newline_key(int count, int key)
{
	(void)count;
	(void)key;
	rl_insert_text("\n");
	return 0;
}

static int
edit_key(int count, int key)
{
	struct tb_err err;
	char *text, clean[sizeof(err.msg)];
	bool tidy;

	(void)count;
	(void)key;
	rl_deprep_terminal();
	tcsetattr(STDIN_FILENO, TCSADRAIN, &line.usual);
	if (edit_text(rl_line_buffer, &text, &tidy, &err))
		fprintf(stderr, "\n%s\n", tb_text_clean(err.msg, clean, sizeof(clean)));
	rl_prep_terminal(1);
	if (text) {
		rl_begin_undo_group();
		rl_delete_text(0, rl_end);
		rl_point = 0;
		rl_insert_text(text);
		rl_end_undo_group();
	}
	free(text);
	rl_on_new_line();
	rl_forced_update_display();
	return 0;
}

/* ---- Tab ---- */

static char *
next_line(const char *text, int state)
{
	static size_t i;
	const char *s;

	if (!state)
		i = 0;
	s = line.complete ? line.complete(line.arg, text, i++) : NULL;
	return s ? tb_strdup(s) : NULL;
}

static char **
complete(const char *text, int start, int end)
{
	(void)start;
	(void)end;
	rl_attempted_completion_over = 1;	/* never file names */
	rl_completion_append_character = '\0';
	return rl_completion_matches(text, next_line);
}

/* Lines by the word that they differ in. */
static void
show_lines(char **matches, int n, int longest)
{
	const char *blank = strrchr(matches[0], ' '), *slash = blank ? strrchr(blank, '/') : NULL;
	size_t from = slash ? (size_t)(slash - matches[0]) + 1
			    : blank ? (size_t)(blank - matches[0]) + 1 : 0;
	char **words = tb_calloc((size_t)n + 2, sizeof(*words));

	for (int i = 0; words && i <= n; i++)
		words[i] = matches[i] + (i ? from : 0);
	if (words)
		rl_display_match_list(words, n, longest - (int)from);
	free(words);
	rl_forced_update_display();
}

static int
put_preset(void)
{
	if (line.preset)
		rl_insert_text(line.preset);
	free(line.preset);
	line.preset = NULL;
	return 0;
}

void
line_preset(const char *text)
{
	free(line.preset);
	line.preset = tb_strdup(text);
}

void
line_remember(const char *text)
{
	if (*text && isatty(STDIN_FILENO))
		add_history(text);
}

void
line_init(void)
{
	if (!line.woken[0] && pipe2(line.woken, O_CLOEXEC | O_NONBLOCK))
		line.woken[0] = line.woken[1] = 0;
	rl_catch_signals = 0;
	rl_catch_sigwinch = 1;
	rl_change_environment = 0;
	rl_getc_function = get_byte;
	rl_startup_hook = put_preset;
	rl_variable_bind("enable-bracketed-paste", "on");
	using_history();
	stifle_history(1000);
}

/* Bytes wait in the terminal as they were typed: a line end is still known from ^J, nothing is
 * dropped when many come, and ^C does not take away what was typed before it. */
void
line_take(line_complete_fn *fn, void *arg)
{
	if (line.taken || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &line.usual))
		return;
	line_init();
	line.complete = fn;
	line.arg = arg;
	rl_initialize();
	rl_attempted_completion_function = complete;
	rl_completion_display_matches_hook = show_lines;
	rl_completer_word_break_characters = (char *)(uintptr_t)"";
	rl_bind_key('\n', newline_key);
	rl_bind_keyseq("\\e\\C-m", newline_key);
	rl_bind_key(KEY_EDIT, edit_key);
	line.away = line.usual;
	line.away.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
	line.away.c_lflag |= NOFLSH;
	line.away.c_iflag &= ~(tcflag_t)ICRNL;
	line.away.c_cc[VMIN] = 1;
	line.away.c_cc[VTIME] = 0;
	line.taken = true;
	catch_ends(true);
	tcsetattr(STDIN_FILENO, TCSANOW, &line.away);
	if (ioctl(STDIN_FILENO, FIONREAD, &line.early))
		line.early = 0;
	say_paste(PASTE_ON);
	atexit(line_give);
}

void
line_give(void)
{
	if (!line.taken)
		return;
	line.taken = false;
	catch_ends(false);
	say_paste(PASTE_OFF);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &line.usual);
	rl_bind_key('\n', rl_newline);
	line.early = 0;
	line.complete = NULL;
	free(line.preset);
	line.preset = NULL;
}

/* What readline finds set is how it echoes, and what it leaves behind. */
static char *
read_line(const char *prompt)
{
	struct termios echoes = line.away;
	char *text;

	if (!line.taken)
		return readline(prompt);
	echoes.c_lflag |= ECHO;
	tcsetattr(STDIN_FILENO, TCSANOW, &echoes);
	text = readline(prompt);
	tcsetattr(STDIN_FILENO, TCSANOW, &line.away);
	say_paste(PASTE_ON);
	return text;
}

static char *
read_plain(void)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t n = getline(&text, &cap, stdin);

	if (n < 0) {
		free(text);
		return NULL;
	}
	if (n && text[n - 1] == '\n')
		text[n - 1] = 0;
	return text;
}

enum line_end
line_read(const char *prompt, char **out)
{
	struct sigaction sa = { .sa_handler = on_sigint }, old;

	interrupted = 0;
	forget_wakes();
	sigaction(SIGINT, &sa, &old);
	*out = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? read_line(prompt) : read_plain();
	sigaction(SIGINT, &old, NULL);
	if (interrupted && (line.broken || !*out)) {	/* else it came behind Enter */
		free(*out);
		*out = NULL;
		if (line.broken)	/* not before readline has done with its history */
			line_remember(line.broken);
		free(line.broken);
		line.broken = NULL;
		putchar('\n');
		return LINE_INTERRUPTED;
	}
	return *out ? LINE_TEXT : LINE_EOF;
}

enum line_end
line_read_block(char **out)
{
	struct tb_buf b = TB_BUF(BLOCK_MAX);
	enum line_end end = line_read(">>> ", out);
	char *text;

	if (end != LINE_TEXT || !tb_starts(*out, QUOTES))
		return end;
	text = *out;
	memmove(text, text + 3, strlen(text + 3) + 1);
	while (!tb_ends(text, QUOTES)) {
		if (*text || b.len)	/* nothing stands behind the first quotes */
			tb_buf_printf(&b, "%s\n", text);
		free(text);
		if ((end = line_read("... ", &text)) != LINE_TEXT)
			break;
	}
	if (end == LINE_TEXT) {
		tb_buf_add(&b, text, strlen(text) - 3);
		free(text);
	}
	*out = end == LINE_TEXT ? tb_buf_take(&b) : NULL;
	tb_buf_free(&b);
	return end == LINE_TEXT && !*out ? LINE_EOF : end;
}
