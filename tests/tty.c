#include "config.h"

#include "tests/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "src/base/text.h"

#define SYNC "\035"		/* Ctrl-]: "tell me when you are idle" */
#define DRAWN "\036"		/* Ctrl-^: "tell me when you have drawn" */

static void
run_child(char *const *argv, int slave)
{
	if (login_tty(slave))
		_exit(126);
	setenv("TERM", "tbtest", 1);
	setenv("TBTUI_TEST", "1", 1);
	unsetenv("LINES");
	unsetenv("COLUMNS");
	execv(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

enum tb_status
tty_start(struct tty *t, char *const *argv, int rows, int cols, struct tb_err *err)
{
	struct winsize ws = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };
	int slave;

	if (!vt_init(&t->vt, rows, cols))
		return tb_nomem(err);
	if (openpty(&t->master, &slave, NULL, NULL, &ws))
		return tb_fail_errno(err, "cannot make a pseudo terminal");
	fcntl(t->master, F_SETFD, FD_CLOEXEC);
	if (tcgetattr(slave, &t->before) || (t->child = fork()) < 0) {
		t->child = 0;
		close(slave);
		return tb_fail_errno(err, "cannot start %s", argv[0]);
	}
	if (!t->child)
		run_child(argv, slave);
	close(slave);
	/* Once it draws, the terminal does not echo the mark any more. */
	for (double end = tb_monotonic() + t->timeout; tty_read(t, 100); )
		if (t->vt.y || t->vt.x || !t->vt.cursor_on)
			return t->busy ? tty_drawn(t, err) : tty_settle(t, err);
		else if (tb_monotonic() > end)
			return tb_fail(err, TB_EIO, "nothing was drawn in %d s", t->timeout);
	return TB_OK;
}

static enum tb_status
put(struct tty *t, const char *bytes, size_t len, struct tb_err *err)
{
	while (len) {
		ssize_t n = write(t->master, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tb_fail_errno(err, "cannot type");
		bytes += n;
		len -= (size_t)n;
	}
	return TB_OK;
}

bool
tty_read(struct tty *t, int ms)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	char buf[4096];
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return true;
	n = read(t->master, buf, sizeof(buf));
	if (n > 0)
		vt_feed(&t->vt, buf, (size_t)n);
	t->closed = n == 0 || (n < 0 && errno != EINTR);
	return !t->closed;
}

static enum tb_status
wait_mark(struct tty *t, const char *ask, struct tb_err *err)
{
	unsigned long want = t->vt.idle + 1;
	double end = tb_monotonic() + t->timeout;
	enum tb_status status = put(t, ask, 1, err);

	while (!status && t->vt.idle < want && tty_read(t, 100))
		if (tb_monotonic() > end)
			status = tb_fail(err, TB_EIO, "not idle after %d s", t->timeout);
	return status;
}

enum tb_status
tty_settle(struct tty *t, struct tb_err *err)
{
	return wait_mark(t, SYNC, err);
}

enum tb_status
tty_drawn(struct tty *t, struct tb_err *err)
{
	return wait_mark(t, DRAWN, err);
}

enum tb_status
tty_resize(struct tty *t, int rows, int cols, struct tb_err *err)
{
	struct winsize ws = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };

	if (!vt_resize(&t->vt, rows, cols))
		return tb_nomem(err);
	if (ioctl(t->master, TIOCSWINSZ, &ws))
		return tb_fail_errno(err, "cannot resize");
	return TB_OK;
}

static const struct { const char *name, *bytes; } named[] = {
	{ "Enter", "\r" }, { "Esc", "\033" }, { "Tab", "\t" }, { "S-Tab", "\033[Z" },
	{ "Space", " " }, { "BS", "\177" }, { "Del", "\033[3~" }, { "lt", "<" },
	{ "Up", "\033[A" }, { "Down", "\033[B" }, { "Right", "\033[C" }, { "Left", "\033[D" },
	{ "Home", "\033[1~" }, { "End", "\033[4~" }, { "PgUp", "\033[5~" }, { "PgDn", "\033[6~" },
	{ "F1", "\033[11~" }, { "F2", "\033[12~" }, { "F3", "\033[13~" }, { "F4", "\033[14~" },
	{ "F5", "\033[15~" }, { "Paste", "\033[200~" }, { "/Paste", "\033[201~" },
	{ "WheelUp", "\033[M`!!" },
};

/* One <name> of `len` characters. */
static enum tb_status
put_named(struct tty *t, const char *name, size_t len, struct tb_err *err)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strlen(named[i].name) == len && !strncmp(named[i].name, name, len))
			return put(t, named[i].bytes, strlen(named[i].bytes), err);
	if (len == 3 && tb_starts(name, "C-")) {
		char c = name[2] & 0x1f;

		return put(t, &c, 1, err);
	}
	return tb_fail(err, TB_EUSAGE, "no key <%.*s>", (int)len, name);
}

enum tb_status
tty_keys(struct tty *t, const char *s, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	while (*s && !status) {
		const char *end = *s == '<' ? strchr(s, '>') : NULL;

		if (end) {
			status = put_named(t, s + 1, (size_t)(end - s) - 1, err);
			s = end + 1;
		} else {
			status = put(t, s++, 1, err);
		}
	}
	return status;
}

static enum tb_status
check_restored(struct tty *t, struct tb_err *err)
{
	struct termios now;

	if (tcgetattr(t->master, &now))
		return tb_fail_errno(err, "tcgetattr");
	if (now.c_iflag != t->before.c_iflag || now.c_oflag != t->before.c_oflag ||
	    now.c_cflag != t->before.c_cflag || now.c_lflag != t->before.c_lflag ||
	    memcmp(now.c_cc, t->before.c_cc, sizeof(now.c_cc)))
		return tb_fail(err, TB_EIO, "the terminal's modes are not as they were");
	if (!t->vt.cursor_on)
		return tb_fail(err, TB_EIO, "the cursor is still hidden");
	if (t->vt.marks_paste)
		return tb_fail(err, TB_EIO, "the terminal still marks what is pasted");
	if (t->vt.modes)
		return tb_fail(err, TB_EIO, "the terminal is in modes 0x%x that nobody took back",
			       t->vt.modes);
	return TB_OK;
}

bool
tty_ended(struct tty *t)
{
	siginfo_t info = { 0 };

	return t->closed || (!waitid(P_PID, (id_t)t->child, &info, WEXITED | WNOHANG | WNOWAIT) &&
			     info.si_pid);
}

enum tb_status
tty_wait(struct tty *t, struct tb_err *err)
{
	double end = tb_monotonic() + t->timeout;
	int status;

	while (tty_read(t, 100))
		if (tb_monotonic() > end)
			return tb_fail(err, TB_EIO, "still running after %d s", t->timeout);
	if (waitpid(t->child, &status, 0) < 0)
		return tb_fail_errno(err, "waitpid");
	t->child = 0;
	t->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return check_restored(t, err);
}

void
tty_free(struct tty *t)
{
	if (t->child > 0) {
		kill(t->child, SIGKILL);
		waitpid(t->child, NULL, 0);
	}
	if (t->master >= 0)
		close(t->master);
	vt_free(&t->vt);
	*t = (struct tty){ .master = -1, .timeout = t->timeout };
}
