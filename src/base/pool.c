#include "config.h"

#include "src/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/mem.h"

/* One call of tb_pool_each(). Lives on its caller's stack while parts are left. */
struct batch {
	struct batch *next;
	tb_pool_fn *fn;
	void *arg;
	size_t n, taken, ended;
};

struct tb_pool {
	pthread_mutex_t mu;
	pthread_cond_t more, ended;
	struct batch *batches;
	bool quit;
	unsigned threads;		/* incl. the caller */
	pthread_t *th;
};

struct worker_start { struct tb_pool *pool; unsigned id; };

unsigned
tb_cpus(void)
{
	cpu_set_t set;
	long n = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);

	if (n <= 0)		/* more cores than a cpu_set_t counts */
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

/* Takes and runs one part of b; the lock is held on entry and exit. */
static void
run_part(struct tb_pool *p, struct batch *b, unsigned worker)
{
	size_t i = b->taken++;

	pthread_mutex_unlock(&p->mu);
	b->fn(b->arg, i, worker);
	pthread_mutex_lock(&p->mu);
	if (++b->ended == b->n)
		pthread_cond_broadcast(&p->ended);
}

static void *
worker_main(void *arg)
{
	struct worker_start s = *(struct worker_start *)arg;
	struct tb_pool *p = s.pool;

	free(arg);
	pthread_mutex_lock(&p->mu);
	while (!p->quit) {
		struct batch *b = p->batches;

		while (b && b->taken == b->n)
			b = b->next;
		if (b)
			run_part(p, b, s.id);
		else
			pthread_cond_wait(&p->more, &p->mu);
	}
	pthread_mutex_unlock(&p->mu);
	return NULL;
}

void
tb_signals_block(sigset_t *before)
{
	static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_SETMASK, &set, before);
}

struct tb_pool *
tb_pool_new(unsigned threads)
{
	struct tb_pool *p = tb_calloc(1, sizeof(*p));
	unsigned want = threads ? threads : tb_cpus();
	sigset_t before;

	if (!p)
		return NULL;
	pthread_mutex_init(&p->mu, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->ended, NULL);
	p->threads = 1;
	p->th = tb_calloc(want, sizeof(*p->th));
	tb_signals_block(&before);
	while (p->th && p->threads < want) {
		struct worker_start *s = malloc(sizeof(*s));

		if (!s)
			break;
		*s = (struct worker_start){ p, p->threads };
		if (pthread_create(&p->th[p->threads - 1], NULL, worker_main, s)) {
			free(s);
			break;		/* fewer threads, same result */
		}
		p->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return p;
}

void
tb_pool_free(struct tb_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mu);
	p->quit = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->mu);
	for (unsigned i = 0; i + 1 < p->threads; i++)
		pthread_join(p->th[i], NULL);
	pthread_cond_destroy(&p->ended);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->mu);
	free(p->th);
	free(p);
}

unsigned
tb_pool_size(const struct tb_pool *p)
{
	return p ? p->threads : 1;
}

void
tb_pool_each(struct tb_pool *p, size_t n, tb_pool_fn *fn, void *arg)
{
	struct batch b = { NULL, fn, arg, n, 0, 0 }, **at;

	if (!p || p->threads == 1 || n == 1) {
		for (size_t i = 0; i < n; i++)
			fn(arg, i, 0);
		return;
	}
	if (!n)
		return;
	pthread_mutex_lock(&p->mu);
	b.next = p->batches;
	p->batches = &b;
	pthread_cond_broadcast(&p->more);
	while (b.taken < b.n)
		run_part(p, &b, 0);
	while (b.ended < b.n)
		pthread_cond_wait(&p->ended, &p->mu);
	for (at = &p->batches; *at != &b; at = &(*at)->next)
		;
	*at = b.next;
	pthread_mutex_unlock(&p->mu);
}

struct attempt {
	tb_try_fn *fn;
	void *arg;
	struct tb_job *job;
	atomic_bool failed;
	enum tb_status status;		/* of the first that failed, and why */
	struct tb_err err;
};

static void
try_part(void *arg, size_t i, unsigned worker)
{
	struct attempt *a = arg;
	struct tb_err err = { 0 };
	enum tb_status status;

	if (atomic_load(&a->failed) || tb_job_cancelled(a->job))
		return;
	status = a->fn(a->arg, i, worker, &err);
	if (status && !atomic_exchange(&a->failed, true)) {
		a->status = status;
		a->err = err;
	}
}

enum tb_status
tb_pool_try(struct tb_pool *p, size_t n, tb_try_fn *fn, void *arg, struct tb_job *job,
	    struct tb_err *err)
{
	struct attempt a = { .fn = fn, .arg = arg, .job = job };
	enum tb_status status;

	tb_pool_each(p, n, try_part, &a);
	status = tb_job_check(job, err);
	return status || !a.status ? status : tb_fail(err, a.status, "%s", a.err.msg);
}
