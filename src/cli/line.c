#include "config.h"

#include "src/cli/line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define BLOCK_MAX (16u << 20)
#define QUOTES "\"\"\""

static volatile sig_atomic_t interrupted;

static void
on_sigint(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* readline calls this when a signal woke its read(): end the line, empty. */
static int
on_wake(void)
{
	if (interrupted) {
		rl_replace_line("", 0);
		rl_done = 1;
	}
	return 0;
}

void
line_init(void)
{
	rl_catch_signals = 0;
	rl_catch_sigwinch = 1;
	rl_change_environment = 0;
	rl_signal_event_hook = on_wake;
	rl_variable_bind("enable-bracketed-paste", "on");
	using_history();
	stifle_history(1000);
}

static char *
read_plain(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n = getline(&line, &cap, stdin);

	if (n < 0) {
		free(line);
		return NULL;
	}
	if (n && line[n - 1] == '\n')
		line[n - 1] = 0;
	return line;
}

enum line_end
line_read(const char *prompt, char **out)
{
	struct sigaction sa = { .sa_handler = on_sigint }, old;

	interrupted = 0;
	sigaction(SIGINT, &sa, &old);
	*out = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? readline(prompt) : read_plain();
	sigaction(SIGINT, &old, NULL);
	if (interrupted) {
		free(*out);
		*out = NULL;
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
	char *line;

	if (end == LINE_TEXT && **out && isatty(STDIN_FILENO))
		add_history(*out);
	if (end != LINE_TEXT || !tb_starts(*out, QUOTES))
		return end;
	line = *out;
	memmove(line, line + 3, strlen(line + 3) + 1);
	while (!tb_ends(line, QUOTES)) {
		if (*line || b.len)	/* nothing stands behind the first quotes */
			tb_buf_printf(&b, "%s\n", line);
		free(line);
		if ((end = line_read("... ", &line)) != LINE_TEXT)
			break;
	}
	if (end == LINE_TEXT) {
		tb_buf_add(&b, line, strlen(line) - 3);
		free(line);
	}
	*out = end == LINE_TEXT ? tb_buf_take(&b) : NULL;
	tb_buf_free(&b);
	return end == LINE_TEXT && !*out ? LINE_EOF : end;
}
