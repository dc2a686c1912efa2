/* editor.c - the file that an editor gets, and what is put right behind it. */
#include "config.h"

#include "src/face/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define EDIT_MAX (16u << 20)

extern char **environ;

/* What an editor may leave otherwise: a foreground of its own, modes, a descriptor that does
 * not wait. */
struct terminal {
	struct termios modes;
	int flags;
	bool is;		/* there is one */
};

static void
terminal_note(struct terminal *t)
{
	t->flags = fcntl(STDIN_FILENO, F_GETFL);
	t->is = tcgetattr(STDIN_FILENO, &t->modes) == 0;
}

static void
terminal_put_right(const struct terminal *t)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;

	if (!t->is)
		return;
	sigaction(SIGTTOU, &ignore, &old);	/* who is not in the foreground may not set modes */
	(void)tcsetpgrp(STDIN_FILENO, getpgrp());
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->modes);
	if (t->flags >= 0)
		(void)fcntl(STDIN_FILENO, F_SETFL, t->flags);
	sigaction(SIGTTOU, &old, NULL);
}

static const char *
editor_name(void)
{
	static const char *const names[] = { "VISUAL", "EDITOR" };

	for (size_t i = 0; i < 2; i++) {
		const char *s = getenv(names[i]);

		if (s && s[strspn(s, " \t")])
			return s;
	}
	return "vi";
}

/* Through a shell, as everybody does: the variable may have options, and blanks in quotes.
 * The path is no part of what the shell reads. */
static int
editor_start(const char *editor, const char *path, pid_t *pid)
{
	char *line = tb_asprintf("%s \"$@\"", editor);
	char *argv[] = { (char *)"sh", (char *)"-c", line, (char *)"sh", (char *)path, NULL };
	posix_spawnattr_t attr;
	sigset_t none, usual;
	int error;

	if (!line)
		return ENOMEM;
	if ((error = posix_spawnattr_init(&attr))) {
		free(line);
		return error;
	}
	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(pid, "/bin/sh", NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	free(line);
	return error;
}

/* ^C and ^\ are the editor's; stopped, both stop. */
static enum tb_status
editor_run(const char *path, bool *tidy, struct tb_err *err)
{
	static const int theirs[] = { SIGINT, SIGQUIT, SIGTSTP };
	const char *editor = editor_name();
	struct sigaction sa = { .sa_handler = SIG_IGN }, old[3];
	int status = 0, error;
	pid_t pid;

	for (size_t i = 0; i < 3; i++) {
		sa.sa_handler = theirs[i] == SIGTSTP ? SIG_DFL : SIG_IGN;
		sigaction(theirs[i], &sa, &old[i]);
	}
	error = editor_start(editor, path, &pid);
	while (!error && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			error = errno;
	for (size_t i = 0; i < 3; i++)
		sigaction(theirs[i], &old[i], NULL);
	*tidy = !error && WIFEXITED(status) && !WEXITSTATUS(status);
	if (error)
		return tb_fail(err, TB_EIO, "%.200s: cannot be started: %s", editor, strerror(error));
	if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128)
		return TB_OK;		/* by a signal: what it had saved counts */
	if (WEXITSTATUS(status) == 127)
		return tb_fail(err, TB_ENOENT, "%.200s: no such editor: set VISUAL or EDITOR to the "
			       "one that you use", editor);
	if (WEXITSTATUS(status))
		return tb_fail(err, TB_EIO, "%.200s ended with status %d: your text is as it was",
			       editor, WEXITSTATUS(status));
	return TB_OK;
}

static enum tb_status
edit_put(const char *path, const char *text, struct tb_err *err)
{
	size_t len = strlen(text), at = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return tb_fail_errno(err, "%s", path);
	while (at < len && ((n = write(fd, text + at, len - at)) > 0 || (n < 0 && errno == EINTR)))
		at += n > 0 ? (size_t)n : 0;
	if (at < len)
		(void)tb_fail_errno(err, "%s", path);
	if (close(fd) && at == len)
		return tb_fail_errno(err, "%s", path);
	return at < len ? err->code : TB_OK;
}

static enum tb_status
edit_take(const char *path, char **out, struct tb_err *err)
{
	struct tb_buf clean = TB_BUF(4 * EDIT_MAX);
	size_t len;
	char *text;
	enum tb_status status = tb_file_slurp(path, EDIT_MAX, &text, &len, err);

	if (status)
		return status;
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	tb_text_clean_lines(&clean, text, len);
	free(text);
	status = tb_buf_status(&clean, path, err);
	if (!status && !(*out = clean.len ? tb_buf_take(&clean) : tb_strdup("")))
		status = tb_nomem(err);
	tb_buf_free(&clean);
	return status;
}

/* With copies that the editor has left there. */
static void
edit_remove(const char *dir)
{
	struct tb_names names;
	struct tb_err ignored;

	if (!tb_names_read(&names, dir, &ignored)) {
		for (size_t i = 0; i < names.n; i++) {
			char *path = tb_path_join(dir, names.v[i]);

			if (path)
				(void)unlink(path);
			free(path);
		}
		tb_names_free(&names);
	}
	(void)rmdir(dir);
}

enum tb_status
edit_text(const char *text, char **out, bool *tidy, struct tb_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = tb_asprintf("%s/tbtui-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp"), *path = NULL;
	struct terminal terminal;
	enum tb_status status;

	*out = NULL;
	*tidy = true;
	if (!dir)
		return tb_nomem(err);
	if (!mkdtemp(dir)) {		/* its user's alone */
		status = tb_fail_errno(err, "%s", dir);
		free(dir);
		return status;
	}
	path = tb_path_join(dir, "message.md");
	status = path ? edit_put(path, text, err) : tb_nomem(err);
	if (!status) {
		terminal_note(&terminal);
		status = editor_run(path, tidy, err);
		terminal_put_right(&terminal);
	}
	if (!status)
		status = edit_take(path, out, err);
	edit_remove(dir);
	free(path);
	free(dir);
	return status;
}
