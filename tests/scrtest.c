/* scrtest.c - runs a program on a pseudo terminal and checks what it shows.
 *
 *	scrtest [-u] FILE.scr		-u rewrites the |lines with what was seen
 *
 *	need NAME		skip the file unless the environment has NAME
 *	env NAME=VALUE		for what is run from here on
 *	setup COMMAND		by the shell, in the fresh folder $TMP; must succeed
 *	serve COMMAND		by the shell, there too, and beside what follows: ended with the file
 *	port NUMBER FILE	what that file of the servers begins with is called NUMBER, of as many
 *				digits, in keys, env and on screens: waits for it
 *	size ROWS COLS		of the next run (24 80)
 *	run PROGRAM ARG...	words are split at blanks; $NAME is replaced in them
 *	keys TEXT		type <Esc>:q<Enter> and the like, then wait until idle;
 *				<Paste>text<Enter>text</Paste> as a terminal pastes it
 *	type TEXT		the same without waiting
 *	resize ROWS COLS
 *	screen, attrs		followed by one |line a row: all of them
 *	row N |TEXT		row N alone, counted from 0
 *	wait |TEXT		until TEXT stands somewhere on the screen
 *	absent |TEXT		TEXT stands nowhere
 *	copied |TEXT		what was copied last, in base64
 *	signal NAME		TERM, INT, HUP, ABRT, TSTP
 *	exit STATUS		the program ends by itself with this status
 *
 * A program that runs at the end of the file gets SIGTERM.  However it ends, the
 * terminal must be left as it was found. */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "tests/tty.h"

#define FILE_MAX (1u << 20)
#define ROW_MAX 8192
#define ARGS_MAX 32
#define SERVERS_MAX 4

struct scr {
	const char *path;
	int line;			/* number of the current one */
	char *next;			/* text of those that follow */
	struct tb_buf out;		/* the file as -u leaves it */
	bool update, skip;
	int failures;
	int rows, cols;
	char *tmp;
	pid_t servers[SERVERS_MAX];	/* each leads a group of its own */
	size_t nservers;
	struct { char shown[16], real[16]; } ports[SERVERS_MAX];
	size_t nports;
	struct tty tty;
};

/* The next line without its end, in place; NULL at the end of the file. */
static char *
take_line(struct scr *s)
{
	char *line = s->next, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	if (end) {
		*end = 0;
		s->next = end + 1;
	} else {
		s->next = line + strlen(line);
	}
	s->line++;
	return line;
}

static void
keep_line(struct scr *s, const char *line)
{
	tb_buf_printf(&s->out, "%s\n", line);
}

typedef void row_fn(const struct vt *vt, int y, char *out, size_t outlen);

/* The ports in a text, as the file calls them or (real) as they are. */
static void
name_ports(const struct scr *s, char *text, bool real)
{
	for (size_t i = 0; i < s->nports; i++) {
		const char *from = real ? s->ports[i].shown : s->ports[i].real;
		const char *to = real ? s->ports[i].real : s->ports[i].shown;

		for (char *p = text; (p = strstr(p, from)); p += strlen(to))
			memcpy(p, to, strlen(to));
	}
}

static void
read_row(const struct scr *s, row_fn *row, int y, char out[ROW_MAX])
{
	row(&s->tty.vt, y, out, ROW_MAX);
	name_ports(s, out, false);
}

static void
compare_row(struct scr *s, row_fn *row, int y, const char *want)
{
	char got[ROW_MAX] = "";

	if (y < s->tty.vt.rows)
		read_row(s, row, y, got);
	if (!strcmp(got, want))
		return;
	printf("%s:%d: row %d\n  -|%s\n  +|%s\n", s->path, s->line, y, want, got);
	s->failures++;
}

static void
update_rows(struct scr *s, row_fn *row)
{
	char got[ROW_MAX];

	while (*s->next == '|')
		take_line(s);
	for (int y = 0; y < s->tty.vt.rows; y++) {
		read_row(s, row, y, got);
		tb_buf_printf(&s->out, "|%s\n", got);
	}
}

static enum tb_status
compare_all(struct scr *s, row_fn *row)
{
	int y = 0;

	if (!s->tty.vt.cell)
		return TB_EUSAGE;
	if (s->update) {
		update_rows(s, row);
		return TB_OK;
	}
	for (; *s->next == '|'; y++)
		compare_row(s, row, y, take_line(s) + 1);
	if (y != s->tty.vt.rows) {
		printf("%s:%d: %d rows expected, %d shown\n", s->path, s->line, y, s->tty.vt.rows);
		s->failures++;
	}
	return TB_OK;
}

static enum tb_status
cmd_screen(struct scr *s, char *arg, struct tb_err *err)
{
	(void)arg;
	return compare_all(s, vt_row) ? tb_fail(err, TB_EUSAGE, "nothing was run yet") : TB_OK;
}

static enum tb_status
cmd_attrs(struct scr *s, char *arg, struct tb_err *err)
{
	(void)arg;
	return compare_all(s, vt_row_attr) ? tb_fail(err, TB_EUSAGE, "nothing was run yet") : TB_OK;
}

static enum tb_status
cmd_row(struct scr *s, char *arg, struct tb_err *err)
{
	char *end, got[ROW_MAX];
	long y = strtol(arg, &end, 10);

	if (end == arg || *end != ' ' || end[1] != '|' || y < 0 || y >= s->tty.vt.rows)
		return tb_fail(err, TB_EUSAGE, "row N |text, N on the screen");
	if (!s->update) {
		compare_row(s, vt_row, (int)y, end + 2);
		return TB_OK;
	}
	read_row(s, vt_row, (int)y, got);
	while (s->out.len && s->out.p[s->out.len - 1] != '|')
		s->out.p[--s->out.len] = 0;
	/* "row N |" is what is left of the line just kept. */
	tb_buf_printf(&s->out, "%s\n", got);
	return TB_OK;
}

static bool
on_screen(const struct scr *s, const char *text)
{
	char got[ROW_MAX];

	for (int y = 0; y < s->tty.vt.rows; y++) {
		read_row(s, vt_row, y, got);
		if (strstr(got, text))
			return true;
	}
	return false;
}

static void
dump(const struct scr *s)
{
	char got[ROW_MAX];

	for (int y = 0; s->tty.vt.cell && y < s->tty.vt.rows; y++) {
		read_row(s, vt_row, y, got);
		printf("  +|%s\n", got);
	}
}

static enum tb_status
cmd_wait(struct scr *s, char *arg, struct tb_err *err)
{
	double end = tb_monotonic() + s->tty.timeout;

	if (*arg++ != '|')
		return tb_fail(err, TB_EUSAGE, "wait |text");
	while (!on_screen(s, arg))
		if (!tty_read(&s->tty, 100) || tb_monotonic() > end)
			return tb_fail(err, TB_EIO, "\"%s\" does not appear", arg);
	return TB_OK;
}

static enum tb_status
cmd_absent(struct scr *s, char *arg, struct tb_err *err)
{
	if (*arg++ != '|')
		return tb_fail(err, TB_EUSAGE, "absent |text");
	if (on_screen(s, arg))
		return tb_fail(err, TB_EIO, "\"%s\" is shown", arg);
	return TB_OK;
}

static enum tb_status
cmd_copied(struct scr *s, char *arg, struct tb_err *err)
{
	if (*arg++ != '|')
		return tb_fail(err, TB_EUSAGE, "copied |base64");
	if (strcmp(s->tty.vt.copied, arg))
		return tb_fail(err, TB_EIO, "\"%s\" was copied", s->tty.vt.copied);
	return TB_OK;
}

static enum tb_status
cmd_need(struct scr *s, char *arg, struct tb_err *err)
{
	const char *v = getenv(arg);

	(void)err;
	s->skip = !v || !*v;
	if (s->skip)
		printf("%s: skipped, no %s\n", s->path, arg);
	return TB_OK;
}

/* Appends arg with each $NAME replaced; fails on one that is not set. */
static enum tb_status
expand(struct tb_buf *out, const char *arg, struct tb_err *err)
{
	while (*arg) {
		size_t n = *arg == '$' ? strspn(arg + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
							 "abcdefghijklmnopqrstuvwxyz") : 0;
		char name[64];
		const char *value;

		if (!n || n >= sizeof(name)) {
			tb_buf_chr(out, *arg++);
			continue;
		}
		memcpy(name, arg + 1, n);
		name[n] = 0;
		value = getenv(name);
		if (!value)
			return tb_fail(err, TB_EUSAGE, "$%s is not set", name);
		tb_buf_str(out, value);
		arg += 1 + n;
	}
	return tb_buf_failed(out) ? tb_nomem(err) : TB_OK;
}

static enum tb_status
cmd_env(struct scr *s, char *arg, struct tb_err *err)
{
	struct tb_buf value = TB_BUF(65536);
	char *eq = strchr(arg, '=');
	enum tb_status status;

	if (!eq || eq == arg)
		return tb_fail(err, TB_EUSAGE, "env NAME=VALUE");
	status = expand(&value, eq + 1, err);
	if (!status) {
		if (value.p)
			name_ports(s, value.p, true);
		char *name = tb_strndup(arg, (size_t)(eq - arg));

		if (!name || setenv(name, tb_buf_cstr(&value), 1))
			status = tb_nomem(err);
		free(name);
	}
	tb_buf_free(&value);
	return status;
}

/* A shell in the folder that does what is said there; *pid 0: it could not be started. */
static enum tb_status
start_shell(const struct scr *s, const char *command, pid_t *pid, struct tb_err *err)
{
	fflush(stdout);
	*pid = fork();
	if (*pid < 0)
		return tb_fail_errno(err, "fork");
	if (!*pid) {
		if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || chdir(s->tmp) || setpgid(0, 0) ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(126);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)setpgid(*pid, *pid);	/* whoever comes first */
	return TB_OK;
}

static enum tb_status
cmd_setup(struct scr *s, char *arg, struct tb_err *err)
{
	pid_t pid;
	int status;

	if (start_shell(s, arg, &pid, err))
		return err->code;
	if (waitpid(pid, &status, 0) < 0)
		return tb_fail_errno(err, "waitpid");
	if (status)
		return tb_fail(err, TB_EIO, "set-up fails (wait status 0x%x)", (unsigned)status);
	return TB_OK;
}

static enum tb_status
cmd_serve(struct scr *s, char *arg, struct tb_err *err)
{
	if (s->nservers == SERVERS_MAX)
		return tb_fail(err, TB_EUSAGE, "%d servers at most", SERVERS_MAX);
	if (start_shell(s, arg, &s->servers[s->nservers], err))
		return err->code;
	s->nservers++;
	return TB_OK;
}

/* The digits at the beginning of the file, as soon as there is a whole line of it. */
static bool
port_of(const char *path, char out[16])
{
	char *text;
	size_t n;

	if (tb_file_slurp(path, FILE_MAX, &text, NULL, NULL))
		return false;
	n = strspn(text, "0123456789");
	if (text[n] != '\n' || n >= 16)
		n = 0;
	memcpy(out, text, n);
	out[n] = 0;
	free(text);
	return n;
}

static enum tb_status
cmd_port(struct scr *s, char *arg, struct tb_err *err)
{
	size_t n = strspn(arg, "0123456789"), i = s->nports;
	double end = tb_monotonic() + s->tty.timeout;
	char *path;

	if (!n || n >= sizeof(s->ports[i].shown) || arg[n] != ' ' || i == SERVERS_MAX)
		return tb_fail(err, TB_EUSAGE, "port NUMBER FILE");
	path = tb_path_join(s->tmp, arg + n + 1);
	if (!path)
		return tb_nomem(err);
	while (!port_of(path, s->ports[i].real) && tb_monotonic() < end)
		usleep(20000);
	free(path);
	memcpy(s->ports[i].shown, arg, n);
	if (strlen(s->ports[i].real) != n)
		return tb_fail(err, TB_EIO, "%s: no port of %zu digits in it", arg + n + 1, n);
	s->nports++;
	return TB_OK;
}

static void
end_servers(struct scr *s)
{
	while (s->nservers) {
		pid_t pid = s->servers[--s->nservers];

		kill(-pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}

static enum tb_status
two_numbers(const char *arg, int *rows, int *cols, struct tb_err *err)
{
	char *end;
	long r = strtol(arg, &end, 10), c = strtol(end, &end, 10);

	if (*end || r < 1 || c < 1 || r > 1000 || c > 1000)
		return tb_fail(err, TB_EUSAGE, "ROWS COLS, 1 to 1000");
	*rows = (int)r;
	*cols = (int)c;
	return TB_OK;
}

static enum tb_status
cmd_size(struct scr *s, char *arg, struct tb_err *err)
{
	return two_numbers(arg, &s->rows, &s->cols, err);
}

/* An end that no "exit" announced is a failure; one that we cause is a test of
 * how the program takes SIGTERM. */
static enum tb_status
finish(struct scr *s, struct tb_err *err)
{
	bool child = s->tty.child, ended = child && tty_ended(&s->tty);
	enum tb_status status = TB_OK;

	if (child && !ended)
		kill(s->tty.child, SIGTERM);
	if (child)
		status = tty_wait(&s->tty, err);
	if (!status && ended)
		status = tb_fail(err, TB_EIO, "it ended by itself, status %d", s->tty.status);
	else if (!status && child && s->tty.status != 128 + SIGTERM)
		status = tb_fail(err, TB_EIO, "status %d after SIGTERM", s->tty.status);
	if (!status && *s->tty.vt.unknown)
		status = tb_fail(err, TB_EFORMAT, "the terminal got %s", s->tty.vt.unknown);
	tty_free(&s->tty);
	return status;
}

static enum tb_status
cmd_run(struct scr *s, char *arg, struct tb_err *err)
{
	struct tb_buf words[ARGS_MAX];
	char *argv[ARGS_MAX + 1];
	size_t n = 0;
	enum tb_status status = finish(s, err);

	while (!status && *(arg += strspn(arg, " ")) && n < ARGS_MAX) {
		size_t len = strcspn(arg, " ");
		char *word = tb_strndup(arg, len);

		words[n] = TB_BUF(65536);
		status = word ? expand(&words[n], word, err) : tb_nomem(err);
		free(word);
		argv[n] = words[n].p;
		n++;
		arg += len;
	}
	argv[n] = NULL;
	if (!status && (!n || *arg))
		status = tb_fail(err, TB_EUSAGE, "run PROGRAM ARG..., at most %d", ARGS_MAX);
	if (!status)
		status = tty_start(&s->tty, argv, s->rows, s->cols, err);
	while (n)
		tb_buf_free(&words[--n]);
	return status;
}

static enum tb_status
cmd_type(struct scr *s, char *arg, struct tb_err *err)
{
	if (!s->tty.child)
		return tb_fail(err, TB_EUSAGE, "nothing is running");
	name_ports(s, arg, true);
	return tty_keys(&s->tty, arg, err);
}

static enum tb_status
cmd_keys(struct scr *s, char *arg, struct tb_err *err)
{
	enum tb_status status = cmd_type(s, arg, err);

	return status ? status : tty_settle(&s->tty, err);
}

static enum tb_status
cmd_resize(struct scr *s, char *arg, struct tb_err *err)
{
	int rows, cols;
	enum tb_status status = two_numbers(arg, &rows, &cols, err);

	if (!status)
		status = tty_resize(&s->tty, rows, cols, err);
	return status ? status : tty_settle(&s->tty, err);
}

static enum tb_status
cmd_signal(struct scr *s, char *arg, struct tb_err *err)
{
	static const struct { const char *name; int sig; } known[] = {
		{ "TERM", SIGTERM }, { "INT", SIGINT }, { "HUP", SIGHUP }, { "ABRT", SIGABRT },
		{ "TSTP", SIGTSTP },
	};

	for (size_t i = 0; s->tty.child && i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(arg, known[i].name)) {
			kill(s->tty.child, known[i].sig);
			return TB_OK;
		}
	return tb_fail(err, TB_EUSAGE, "TERM, INT, HUP, ABRT or TSTP, to a running program");
}

static enum tb_status
cmd_exit(struct scr *s, char *arg, struct tb_err *err)
{
	uint64_t want;
	enum tb_status status;

	if (!tb_parse_u64(arg, &want) || !s->tty.child)
		return tb_fail(err, TB_EUSAGE, "exit STATUS, of a running program");
	status = tty_wait(&s->tty, err);
	if (!status && (uint64_t)s->tty.status != want)
		status = tb_fail(err, TB_EIO, "exit status %d", s->tty.status);
	return status;
}

static const struct {
	const char *name;
	enum tb_status (*run)(struct scr *s, char *arg, struct tb_err *err);
} commands[] = {
	{ "need", cmd_need }, { "env", cmd_env }, { "setup", cmd_setup }, { "serve", cmd_serve }, { "port", cmd_port },
	{ "size", cmd_size },
	{ "run", cmd_run }, { "keys", cmd_keys }, { "type", cmd_type }, { "resize", cmd_resize },
	{ "screen", cmd_screen }, { "attrs", cmd_attrs }, { "row", cmd_row },
	{ "wait", cmd_wait }, { "absent", cmd_absent }, { "signal", cmd_signal },
	{ "copied", cmd_copied },
	{ "exit", cmd_exit },
};

static enum tb_status
run_line(struct scr *s, char *line, struct tb_err *err)
{
	size_t n = strcspn(line, " ");
	char *arg = line + n + (line[n] == ' ');

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strlen(commands[i].name) == n && !strncmp(line, commands[i].name, n))
			return commands[i].run(s, arg, err);
	return tb_fail(err, TB_EUSAGE, "no command \"%.*s\"", (int)n, line);
}

static enum tb_status
run_script(struct scr *s, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char *line;

	while (!status && !s->skip && (line = take_line(s))) {
		keep_line(s, line);
		if (*line && *line != '#')
			status = run_line(s, line, err);
	}
	return status ? status : finish(s, err);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* A folder that is the program's whole world. */
static enum tb_status
make_world(struct scr *s, struct tb_err *err)
{
	static const char *const dirs[][2] = {
		{ "HOME", "home" }, { "XDG_DATA_HOME", "home/data" },
		{ "XDG_CONFIG_HOME", "home/config" }, { "XDG_CACHE_HOME", "home/cache" },
		{ "XDG_STATE_HOME", "home/state" },
	};
	const char *base = getenv("TMPDIR");
	enum tb_status status = TB_OK;

	s->tmp = tb_asprintf("%s/tbtui-scr-XXXXXX", base && *base ? base : "/tmp");
	if (!s->tmp)
		return tb_nomem(err);
	if (!mkdtemp(s->tmp))
		return tb_fail_errno(err, "%s", s->tmp);
	setenv("TMP", s->tmp, 1);
	for (size_t i = 0; !status && i < sizeof(dirs) / sizeof(*dirs); i++) {
		char *path = tb_path_join(s->tmp, dirs[i][1]);

		if (!path)
			return tb_nomem(err);
		setenv(dirs[i][0], path, 1);
		status = tb_mkdirs(path, err);
		free(path);
	}
	return status;
}

static enum tb_status
run_file(struct scr *s, struct tb_err *err)
{
	char *text;
	enum tb_status status = tb_file_slurp(s->path, FILE_MAX, &text, NULL, err);

	if (status)
		return status;
	s->next = text;
	status = make_world(s, err);
	if (!status)
		status = run_script(s, err);
	if (status)
		dump(s);
	if (!status && s->update)
		status = tb_out_file(s->path, tb_buf_cstr(&s->out), s->out.len, true, err);
	tty_free(&s->tty);
	end_servers(s);
	nftw(s->tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(text);
	free(s->tmp);
	tb_buf_free(&s->out);
	return status;
}

int
main(int argc, char **argv)
{
	struct scr s = { .path = argv[argc - 1], .out = TB_BUF(4 * FILE_MAX), .rows = 24, .cols = 80,
			 .tty = { .master = -1, .timeout = 30 } };
	struct tb_err err;

	s.update = argc == 3 && !strcmp(argv[1], "-u");
	if (argc != 2 && !s.update)
		return fputs("usage: scrtest [-u] FILE.scr\n", stderr), 99;
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return fputs("scrtest: no locale C.UTF-8\n", stderr), 99;
	signal(SIGPIPE, SIG_IGN);
	if (run_file(&s, &err)) {
		printf("%s:%d: %s\n", s.path, s.line, err.msg);
		return 1;
	}
	return s.skip ? 77 : s.failures != 0;
}
