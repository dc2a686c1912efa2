/* progress.c - one line on standard error while an operation runs; SIGINT, SIGTERM and
 * SIGHUP cancel it. */
#include "config.h"

#include "src/cli/cli.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/text.h"
#include "src/cli/table.h"

static struct tb_job *interrupted;	/* what a signal cancels; set before the handler is */
static volatile sig_atomic_t ending;	/* the signal that ends the program after that, or 0 */

static void
on_signal(int sig)
{
	if (sig != SIGINT)
		ending = sig;
	tb_job_cancel(interrupted);
}

static void
add_numbers(struct tb_buf *out, const struct tb_progress *p)
{
	char done[16], total[16], rate[16], eta[16];

	if (p->total)
		tb_buf_printf(out, "  %3d %%  %s of %s", (int)tb_percent(p->done, p->total),
			      tb_human_bytes(p->done, done), tb_human_bytes(p->total, total));
	else if (p->done)
		tb_buf_printf(out, "  %s", tb_human_bytes(p->done, done));
	if (p->items_total)
		tb_buf_printf(out, "  %ju/%ju", (uintmax_t)p->items, (uintmax_t)p->items_total);
	if (p->rate > 0)
		tb_buf_printf(out, "  %s/s", tb_human_bytes((uint64_t)p->rate, rate));
	if (p->eta >= 0)
		tb_buf_printf(out, "  ETA %s", tb_human_time(p->eta, eta));
}

#define WHAT_COLS 30
#define WHAT_MIN 8	/* less of a name says nothing */

void
cli_progress_line(struct tb_buf *out, const char *title, const struct tb_progress *p, size_t cols)
{
	struct tb_buf line = TB_BUF(4096);
	size_t used, what = WHAT_COLS;

	tb_buf_str(&line, title);
	add_numbers(&line, p);
	used = tb_width(tb_buf_cstr(&line)) + 2;
	if (cols < used + what)
		what = cols > used ? cols - used : 0;
	if (*p->what && what >= WHAT_MIN) {
		tb_buf_str(&line, "  ");
		tb_text_middle(&line, p->what, what, false);
	}
	tb_text_clip(out, tb_buf_cstr(&line), cols, false);
	tb_buf_free(&line);
}

/* Over the last one, or (plain) a line of its own.  The cursor goes back to the first
 * column: where a narrower terminal folds the line, it still stands in front of all. */
static void
draw(const char *title, const struct tb_progress *p, bool plain)
{
	struct tb_buf line = TB_BUF(4096);

	size_t cols = cli_columns(STDERR_FILENO);

	if (cols == SIZE_MAX)
		cols = 80;
	cli_progress_line(&line, title, p, plain ? SIZE_MAX : cols - 1);
	fprintf(stderr, plain ? "%s\n" : "\r\033[J%s\r", tb_buf_cstr(&line));
	fflush(stderr);
	tb_buf_free(&line);
}

struct ticker {
	const char *title;
	struct tb_job *job;
	int fd;			/* closed by the other side: the operation has ended */
	bool plain;
};

/* A line that is heard or printed on paper is worth less than one that is looked at. */
#define TICK_MS 250
#define PLAIN_TICK_MS 5000

static void *
tick(void *arg)
{
	struct ticker *t = arg;
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	bool drawn = false;

	while (poll(&p, 1, t->plain ? PLAIN_TICK_MS : TICK_MS) == 0) {
		struct tb_progress now;

		tb_job_progress(t->job, &now);
		draw(t->title, &now, t->plain);
		drawn = !t->plain;
	}
	if (drawn)
		fputs("\r\033[J", stderr);
	return NULL;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NSIGNALS (sizeof(signals) / sizeof(*signals))

enum tb_status
cli_run(const struct cli *cli, const char *title, cli_op *fn, void *arg, struct tb_err *err)
{
	return cli_run_to(cli, title, fn, arg, NULL, err);
}

enum tb_status
cli_run_to(const struct cli *cli, const char *title, cli_op *fn, void *arg, cli_last *last,
	   struct tb_err *err)
{
	bool show = cli->progress || (isatty(STDERR_FILENO) && !cli->quiet);
	struct sigaction sa = { .sa_handler = on_signal }, old[NSIGNALS];
	struct tb_job *job = tb_job_new(-1);
	struct ticker t = { title, job, -1, cli->plain };
	pthread_t thread;
	int fd[2] = { -1, -1 };
	enum tb_status status;

	if (!job)
		return tb_nomem(err);
	if (show && pipe(fd) == 0) {
		t.fd = fd[0];
		show = pthread_create(&thread, NULL, tick, &t) == 0;
	} else {
		show = false;
	}
	interrupted = job;
	ending = 0;
	/* A SIGHUP or SIGTERM that is ignored (nohup) stays so; SIGINT is ignored in what a
	 * shell runs in the background, and sent on purpose all the same. */
	for (size_t i = 0; i < NSIGNALS; i++) {
		sigaction(signals[i], &sa, &old[i]);
		if (old[i].sa_handler == SIG_IGN && signals[i] != SIGINT)
			sigaction(signals[i], &old[i], NULL);
	}
	tb_job_begin(job);
	status = fn(arg, job, err);
	tb_job_end(job, status, err);
	/* It has cleaned up behind itself: now the signal may do its work, after the last words. */
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaction(signals[i], &old[i], NULL);
	if (fd[1] >= 0)
		close(fd[1]);
	if (show)
		pthread_join(thread, NULL);
	if (fd[0] >= 0)
		close(fd[0]);
	if (ending && status && last)
		last(cli, arg, err);
	if (ending)
		raise(ending);
	interrupted = NULL;
	tb_job_free(job);
	return status;
}
