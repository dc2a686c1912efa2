/* docker_helper.c - running a program that keeps credentials. */
#include "config.h"

#include "src/net/docker_config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define ANSWER_MAX 65536u
#define SECONDS 10.0
#define WAIT_MS 40

extern char **environ;

/* A pipe for the words to it, filled at once, and one for its answer. */
struct pipes {
	int in[2], out[2];
};

static void
close_all(struct pipes *p)
{
	int *fds[] = { &p->in[0], &p->in[1], &p->out[0], &p->out[1] };

	for (size_t i = 0; i < 4; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static bool
open_pipes(struct pipes *p, const char *words)
{
	size_t n = strlen(words);

	*p = (struct pipes){ { -1, -1 }, { -1, -1 } };
	/* an address is shorter than what a pipe holds, and nobody has closed its other end */
	return !pipe2(p->in, O_CLOEXEC) && !pipe2(p->out, O_CLOEXEC) && n < 4096 &&
	       write(p->in[1], words, n) == (ssize_t)n;
}

/* Without a shell; it has no other files of ours, and the usual signals. */
static int
start(const char *program, const struct pipes *p, pid_t *pid)
{
	char *argv[] = { (char *)program, (char *)"get", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	int error;

	if ((error = posix_spawn_file_actions_init(&files)))
		return error;
	if ((error = posix_spawnattr_init(&attr))) {
		posix_spawn_file_actions_destroy(&files);
		return error;
	}
	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETPGROUP);
	error = posix_spawn_file_actions_adddup2(&files, p->in[0], 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&files, p->out[1], 1);
	if (!error)
		error = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawnp(pid, program, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return error;
}

/* All that it says until it closes its end. */
static enum tb_status
listen_to(int fd, const char *program, struct tb_job *job, struct tb_buf *said, struct tb_err *err)
{
	double end = tb_monotonic() + SECONDS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	enum tb_status status = TB_OK;
	char piece[4096];
	ssize_t n = 1;

	while (!status && n) {
		if ((status = tb_job_check(job, err)))
			break;
		if (tb_monotonic() > end)
			status = tb_fail(err, TB_EIO, "%s: no answer in %.0f seconds; does it wait for a"
					 " password?", program, SECONDS);
		else if (poll(&p, 1, WAIT_MS) <= 0)
			continue;
		else if ((n = read(fd, piece, sizeof(piece))) > 0)
			tb_buf_add(said, piece, (size_t)n);
		else if (n < 0 && errno != EINTR)
			status = tb_fail_errno(err, "%s", program);
		if (!status)
			status = tb_buf_status(said, program, err);
	}
	explicit_bzero(piece, sizeof(piece));
	return status;
}

/* It has ended: with what?  One that closed its answer and lives on is ended. */
static int
end_of(pid_t pid, bool at_once)
{
	double end = tb_monotonic() + (at_once ? 0 : 1);
	int how = -1;

	while (!waitpid(pid, &how, WNOHANG)) {
		if (tb_monotonic() >= end) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
				;
			break;
		}
		poll(NULL, 0, 5);
	}
	return how;
}

static enum tb_status
ask_program(const char *program, const char *server, struct tb_job *job, struct tb_buf *said,
	    int *how, struct tb_err *err)
{
	struct pipes p;
	enum tb_status status;
	pid_t pid;
	int error;

	if (!open_pipes(&p, server)) {
		close_all(&p);
		return tb_fail_errno(err, "%s: no pipe", program);
	}
	error = start(program, &p, &pid);
	close(p.in[0]);
	close(p.in[1]);
	close(p.out[1]);
	p.in[0] = p.in[1] = p.out[1] = -1;
	if (error) {
		close_all(&p);
		return tb_fail(err, TB_EIO, "%s: cannot be started: %s", program, strerror(error));
	}
	status = listen_to(p.out[0], program, job, said, err);
	close_all(&p);
	*how = end_of(pid, status != TB_OK);
	return status;
}

enum tb_status
docker_helper_ask(const char *helper, const char *server, struct tb_job *job,
		  struct credentials *out, struct tb_err *err)
{
	struct tb_buf said = TB_BUF(ANSWER_MAX);
	char *program = tb_asprintf("docker-credential-%s", helper);
	enum tb_status status;
	int how = 0;

	*out = (struct credentials){ 0 };
	if (!program)
		return tb_nomem(err);
	status = ask_program(program, server, job, &said, &how, err);
	if (!status && how == 0)
		status = docker_helper_read(tb_buf_cstr(&said), said.len, helper, out, err);
	else if (!status && !tb_contains(tb_buf_cstr(&said), "credentials not found"))
		status = tb_fail(err, TB_EIO, "%s: it fails; what does echo %.100s | %s get say?", program,
				 server, program);
	if (said.p)
		explicit_bzero(said.p, said.cap);
	tb_buf_free(&said);
	free(program);
	return status;
}
